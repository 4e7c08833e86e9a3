import { DAY_MS, dayOf, endOfDay } from '../base/days';
import { addDuration } from '../licensing/durations';
import type { Goods } from './first-steps';
import { OTHER_VERSIONS, type PERIODS } from '../figures/kept-figures';
import { readStatistics, type DayStatistics, type Statistics } from '../figures/statistics';
import { isMonthFinal, lastMonths } from '../figures/renewals';
import { sumEndsByMonth } from '../store/renewals';
import { findOffered } from '../licensing/updates';
import { compareVersions } from '../licensing/versions';
import type { Db } from '../store/engine/database';
import type { Release } from '../store/releases';
import {
  ALL_PRODUCTS,
  countEnding,
  listRefusedCounts,
  listVersionSiteCounts,
  sumDownloads,
  sumMonths,
} from '../store/sums';

/** The figures of the overview, the operators' dashboard, from stored sums that are at most a minute old. */

export interface OverviewQuery {
  /** undefined: all products */
  productId: number | undefined;
  /** the number of UTC days up to today */
  days: (typeof PERIODS)[number];
}

/** A figure of the period, and of the period before it. */
export interface Compared {
  now: number;
  before: number;
}

export interface Figures {
  sold: Compared;
  renewed: Compared;
  /** the number of refused requests */
  refused: Compared;
  /** the number of active licences */
  active: number;
  expiring: Statistics['expiring'];
  /** the days of the charts */
  days: DayStatistics[];
}

const MAX_VERSIONS = 12;

/** Returns the number of days that charts show: a week is too short for a trend. */
function chartDays({ days }: Pick<OverviewQuery, 'days'>): number {
  return Math.max(30, days);
}

export async function readFigures(db: Db, query: OverviewQuery, now: Date): Promise<Figures> {
  const { productId, days } = query;
  const shown = chartDays(query);
  const from = isoDayBefore(now, Math.max(2 * days, shown) - 1);
  const statistics = await readStatistics(db, { from, to: dayOf(now), productId }, now);
  const [period, before] = [statistics.days.slice(-days), statistics.days.slice(-2 * days, -days)];
  const compare = (count: (day: DayStatistics) => number): Compared => ({
    now: sum(period.map(count)),
    before: sum(before.map(count)),
  });
  return {
    sold: compare(({ issued }) => issued),
    renewed: compare(({ renewed }) => renewed),
    refused: compare(({ refused }) => sum(Object.values(refused).map(({ requests }) => requests))),
    active: statistics.licenses.active ?? 0,
    expiring: statistics.expiring,
    days: statistics.days.slice(-shown),
  };
}

/** Returns the number of different licences that were refused, as of the latest count. */
export async function refusedInDays(
  db: Db,
  { productId = ALL_PRODUCTS, days }: OverviewQuery,
): Promise<Compared> {
  const either = (await listRefusedCounts(db, productId, days)).find(({ code }) => code === '');
  return { now: either?.licenses ?? 0, before: either?.licensesBefore ?? 0 };
}

export interface TrendMonth {
  /** `2026-11`, UTC */
  month: string;
  sold: number;
  renewed: number;
}

/** Returns the sales and renewals of this month and the eleven before it, oldest first. */
export async function readTrend(
  db: Db,
  { productId = ALL_PRODUCTS }: Pick<OverviewQuery, 'productId'>,
  now: Date,
): Promise<TrendMonth[]> {
  const months = lastMonths(now);
  const sums = await sumMonths(db, productId, ['issued', 'renewed'], `${months[0] as string}-01`);
  const of = (month: string, kind: string) =>
    sums.find((one) => one.month === month && one.kind === kind)?.times ?? 0;
  return months.map((month) => ({ month, sold: of(month, 'issued'), renewed: of(month, 'renewed') }));
}

export interface RenewalRate {
  /** the ends in the settled months of the last twelve */
  ended: number;
  /** the number of them that were renewed, in time or within 30 days */
  renewed: number;
}

/** Returns the renewal rate as docs/renewals.md defines it: a month is settled if nothing in it can still be renewed. */
export async function readRenewalRate(
  db: Db,
  { plans }: Pick<Goods, 'plans'>,
  productId: number | undefined,
  now: Date,
): Promise<RenewalRate> {
  const months = lastMonths(now);
  const planIds =
    productId === undefined ? undefined : plans.filter((one) => isOf(one, productId)).map(({ id }) => id);
  if (planIds?.length === 0) return { ended: 0, renewed: 0 };
  const settled = new Set(months.filter((month) => isMonthFinal(month, now)));
  const sums = (
    await sumEndsByMonth(db, { planIds, from: `${months[0] as string}-01`, to: isoDayBefore(now, 1) })
  ).filter(({ month }) => settled.has(month));
  return {
    ended: sum(sums.map(({ licenses }) => licenses)),
    renewed: sum(
      sums
        .filter(({ outcome }) => outcome === 'in_time' || outcome === 'late')
        .map(({ licenses }) => licenses),
    ),
  };
}

export interface Installed {
  productId: number;
  product: string;
  /** the version that sites are offered; null: none */
  newest: string | null;
  /** the sites that reported a version in 180 days, as of the latest count */
  sites: number;
  /** the number of them with the newest version or a later one */
  upToDate: number;
  /** highest first */
  versions: { version: string; sites: number }[];
}

/** Returns the versions that sites reported, for each product with reports. */
export async function readInstalled(
  db: Db,
  { products }: Pick<Goods, 'products'>,
  productId: number | undefined,
): Promise<Installed[]> {
  const counts = await listVersionSiteCounts(db, productId);
  const told = products.filter(({ id }) => counts.some((one) => one.productId === id));
  const installed: Installed[] = [];
  for (const { id, name } of told) {
    const newest = (await findOffered(db, id))?.version ?? null;
    const all = counts.filter((one) => one.productId === id);
    const versions = all
      .filter(({ version }) => version !== OTHER_VERSIONS)
      .map(({ version, sites }) => ({ version, sites }))
      .sort((a, b) => compareVersions(b.version, a.version));
    const isCurrent = ({ version }: { version: string }) =>
      newest !== null && compareVersions(version, newest) >= 0;
    installed.push({
      productId: id,
      product: name,
      newest,
      versions,
      sites: sum(all.map(({ sites }) => sites)),
      upToDate: sum(versions.filter(isCurrent).map(({ sites }) => sites)),
    });
  }
  return installed.sort((a, b) => b.sites - a.sites || a.productId - b.productId);
}

/** Counts active licences that end within 30 days, as the list's filter does. */
export async function countEndingSoon(
  db: Db,
  { plans }: Pick<Goods, 'plans'>,
  productId: number | undefined,
  now: Date,
): Promise<number> {
  const ids = plans.filter((plan) => isOf(plan, productId)).map(({ id }) => id);
  return countEnding(db, ids, now, endOfDay(addDuration(now, '30d')));
}

interface Arrival {
  product: string;
  version: string;
  downloads: number;
}

export interface Arrivals {
  /** the most downloaded and the new versions, by product, highest version first */
  versions: Arrival[];
  /** the downloads of all other versions */
  others: number;
}

/** Counts downloads by version in the days of the charts. */
export async function readArrivals(
  db: Db,
  goods: Pick<Goods, 'products' | 'releases'>,
  query: OverviewQuery,
  now: Date,
): Promise<Arrivals> {
  const names = new Map(
    goods.products
      .filter(({ id }) => isOf({ productId: id }, query.productId))
      .map(({ id, name }) => [id, name]),
  );
  const sums = await sumDownloads(db, [...names.keys()], isoDayBefore(now, chartDays(query) - 1), dayOf(now));
  const isSame = (a: Versioned, b: Versioned) => a.productId === b.productId && a.version === b.version;
  const fresh = releasedLately(goods, query, now)
    .filter((release) => !sums.some((one) => isSame(one, release)))
    .map(({ productId, version }) => ({ productId, version, times: 0 }));
  const shown = [...sums.filter(({ version }) => version !== '').slice(0, MAX_VERSIONS), ...fresh];
  return {
    versions: shown
      .sort((a, b) => a.productId - b.productId || compareVersions(b.version, a.version))
      .map(({ productId, version, times }) => ({
        product: names.get(productId) ?? '',
        version,
        downloads: times,
      })),
    others: sum(sums.filter((one) => !shown.includes(one)).map(({ times }) => times)),
  };
}

interface Versioned {
  productId: number;
  version: string;
}

/** Lists the releases in the days of the charts, oldest first. */
export function releasedLately(
  { releases }: Pick<Goods, 'releases'>,
  query: OverviewQuery,
  now: Date,
): (Release & { publishedAt: Date })[] {
  const since = new Date(isoDayBefore(now, chartDays(query) - 1));
  return releases
    .filter((one): one is Release & { publishedAt: Date } => one.publishedAt !== null)
    .filter((one) => isOf(one, query.productId) && one.publishedAt >= since && one.publishedAt <= now)
    .sort((a, b) => a.publishedAt.getTime() - b.publishedAt.getTime());
}

function isOf({ productId }: { productId: number }, wanted: number | undefined): boolean {
  return wanted === undefined || productId === wanted;
}

/** Returns a UTC day, such as `2026-11-24`. */
export function isoDayBefore(now: Date, days: number): string {
  return dayOf(new Date(now.getTime() - days * DAY_MS));
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
