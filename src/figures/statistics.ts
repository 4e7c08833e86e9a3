import { DAY_MS, dayOf, daysBetween } from '../base/days';
import { countDownloadsOf } from '../store/access-log';
import { listPlans, listProducts } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import { lockLease, type Lease } from '../store/leases';
import {
  addLicenseMonths,
  addSums,
  ALL_PRODUCTS,
  countLicensesOfPlan,
  findProductsOf,
  findUnsummed,
  listLicenseCounts,
  listSums,
  markRefusedThatDay,
  replaceLicenseCounts,
  takeUnsummed,
  type DailySum,
  type LicenseCount,
  type LicenseMonth,
  type SummedTable,
  type SumKind,
  type UnsummedAccess,
  type UnsummedEvent,
} from '../store/sums';
import { inTransaction } from '../store/engine/transaction';
import { OperatorError } from '../licensing/operator-error';
import { sumTimelines } from './renewal-sums';
import { parseMoment } from '../licensing/timestamps';

/** The rows of one transaction; changes of their licences wait for it, for some ms. */
const BATCH_SIZE = 500;
const USUAL_DAYS = 30;
const MAX_DAYS = 366;
/** The current month and the next 12. */
const MONTHS = 13;

export interface Statistics {
  /** the licences by live status, without empty statuses */
  licenses: Record<string, number>;
  /** active licences, by the month of their end: this month and the next 12 */
  expiring: { month: string; count: number }[];
  days: DayStatistics[];
}

export interface DayStatistics {
  day: string;
  issued: number;
  imported: number;
  renewed: number;
  activated: number;
  /** the number by version */
  downloads: Record<string, number>;
  /** the number by code */
  refused: Record<string, { requests: number; licenses: number }>;
}

interface StatisticsRequest {
  /** UTC days such as `2026-11-24`, both included; undefined: 30 days, up to today */
  from?: string | undefined;
  to?: string | undefined;
  productId?: number | undefined;
}

/** Reads only stored figures, at most a minute old. @throws OperatorError for invalid days, or too many */
export async function readStatistics(db: Db, request: StatisticsRequest, now: Date): Promise<Statistics> {
  const { productId } = request;
  const days = daysOf(request, now);
  const counts = await listLicenseCounts(db, productId);
  const sums = await listSums(db, productId ?? ALL_PRODUCTS, days[0] as string, days.at(-1) as string);
  return {
    licenses: totals(counts, ({ status }) => status),
    expiring: expiringOf(counts, now),
    days: dayStatistics(days, sums),
  };
}

/** The granted and refused downloads of a version. */
export interface VersionCounts {
  downloads: number;
  refused: number;
}

/** Counts the downloads of some versions of a product since a given time, from the access log. */
export async function countRollout(
  db: Db,
  productId: number,
  versions: string[],
  since: Date,
): Promise<Map<string, VersionCounts>> {
  const counts = new Map<string, VersionCounts>();
  for (const { version, outcome, times } of await countDownloadsOf(db, productId, versions, since)) {
    const sums = counts.get(version) ?? { downloads: 0, refused: 0 };
    sums[outcome === 'ok' ? 'downloads' : 'refused'] += times;
    counts.set(version, sums);
  }
  return counts;
}

/** Counts the licences of each plan of a product, from stored figures that are at most a minute old. */
export async function countLicensesByPlan(db: Db, productId: number): Promise<Map<number, number>> {
  const sums = totals(await listLicenseCounts(db, productId), ({ planId }) => String(planId));
  return new Map(Object.entries(sums).map(([id, count]) => [Number(id), count]));
}

/** Counts the licences by live status, from the same figures. */
export async function countLicensesByStatus(
  db: Db,
  { productId, planId }: { productId?: number | undefined; planId?: number | undefined },
): Promise<Record<string, number>> {
  const counts = await listLicenseCounts(db, productId);
  return totals(
    counts.filter((count) => planId === undefined || count.planId === planId),
    ({ status }) => status,
  );
}

function daysOf({ from, to }: StatisticsRequest, now: Date): string[] {
  const dayOfField = (text: string, field: string) =>
    new Date(dayOf(parseMoment(text, 'first', 'utc', field))).getTime();
  const last = to === undefined ? new Date(dayOf(now)).getTime() : dayOfField(to, 'to');
  const first = from === undefined ? last - (USUAL_DAYS - 1) * DAY_MS : dayOfField(from, 'from');
  const count = (last - first) / DAY_MS + 1;
  const refusal = (message: string) => new OperatorError(message, { code: 'INVALID_REQUEST', field: 'from' });
  if (count < 1) throw refusal('The first day is after the last.');
  if (count > MAX_DAYS) throw refusal(`From the first day to the last there may be ${MAX_DAYS} days.`);
  return daysBetween(new Date(first), new Date(last));
}

function totals(counts: LicenseCount[], by: (count: LicenseCount) => string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const count of counts) sums[by(count)] = (sums[by(count)] ?? 0) + count.licenses;
  return sums;
}

function expiringOf(counts: LicenseCount[], now: Date): Statistics['expiring'] {
  const byMonth = totals(counts, ({ month }) => month);
  return Array.from({ length: MONTHS }, (_, i) => {
    const month = dayOf(monthStart(now, i)).slice(0, 7);
    return { month, count: byMonth[month] ?? 0 };
  });
}

/** Returns the first moment of the month this number of months after the present one. */
function monthStart(now: Date, months: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));
}

function dayStatistics(days: string[], sums: DailySum[]): DayStatistics[] {
  const byDay = new Map(
    days.map((day): [string, DayStatistics] => [
      day,
      { day, issued: 0, imported: 0, renewed: 0, activated: 0, downloads: {}, refused: {} },
    ]),
  );
  for (const { day, kind, name, times, licenses } of sums) {
    const one = byDay.get(day) as DayStatistics;
    if (kind === 'download') one.downloads[name] = times;
    else if (kind === 'refused') one.refused[name] = { requests: times, licenses };
    else one[kind] = times;
  }
  return [...byDay.values()];
}

/**
 * Adds everything to the sums that they do not include yet. Rows and sums change in one transaction, so that nothing is
 * counted twice, even if several instances do this at the same time.
 *
 * @param pause lets requests go first on a small machine; false: stop
 * @returns false if another instance holds the lease now, or if it was stopped
 */
export async function aggregateNewRows(
  db: Db,
  lease: Lease,
  now: () => Date,
  pause: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<boolean> {
  for (const name of ['events', 'access_log'] as const)
    for (const which of ['new', 'repeated'] as const)
      for (let after = 0; ;) {
        const ids = await findUnsummed(db, name, which, after, BATCH_SIZE);
        if (ids.length > 0) {
          const isHeld = await inTransaction(db, async (trx) => {
            if (!(await lockLease(trx, lease, now()))) return false;
            await sumRows(trx, name, ids);
            return true;
          });
          if (!isHeld) return false;
        }
        if (ids.length < BATCH_SIZE) break;
        after = ids.at(-1) as number;
        if (!(await pause())) return false;
      }
  return true;
}

async function sumRows(trx: Transaction, name: SummedTable, ids: number[]): Promise<void> {
  let counted: SumEntry[];
  if (name === 'events') {
    const events = await takeUnsummed(trx, name, ids);
    await sumTimelines(trx, events);
    counted = events.flatMap(eventCount);
  } else counted = (await takeUnsummed(trx, name, ids)).flatMap(accessCount);
  const licenseIds = new Set(counted.flatMap(({ licenseId }) => licenseId ?? []));
  const productsOf = await findProductsOf(trx, [...licenseIds]);
  // Count an unknown product under the licence's product: clients may name any product, and sums are kept permanently.
  const known = new Set((await listProducts(trx)).map(({ id }) => id));
  const sums = new Map<string, DailySum & { refused: Set<number> }>();
  const months = new Map<string, LicenseMonth>();
  for (const { productId, licenseId, at, kind, name: what, times } of counted) {
    const isKnown = productId !== null && known.has(productId);
    const ofProduct = isKnown ? productId : licenseId === null ? undefined : productsOf.get(licenseId);
    for (const product of new Set([ALL_PRODUCTS, ofProduct ?? ALL_PRODUCTS])) {
      const one = { productId: product, day: dayOf(at), kind, name: what };
      const key = JSON.stringify(one);
      const sum = sums.get(key) ?? { ...one, times: 0, licenses: 0, refused: new Set<number>() };
      sums.set(key, sum);
      sum.times += times;
      if (kind === 'refused' && licenseId !== null) sum.refused.add(licenseId);
    }
  }
  for (const { licenseId, at, kind, times } of counted) {
    if (licenseId === null || (kind !== 'download' && kind !== 'refused')) continue;
    const month = dayOf(at).slice(0, 7);
    const key = `${licenseId} ${month}`;
    const one = months.get(key) ?? { licenseId, month, downloads: 0, refused: 0 };
    months.set(key, one);
    one[kind === 'download' ? 'downloads' : 'refused'] += times;
  }
  for (const sum of sums.values())
    if (sum.refused.size > 0) sum.licenses = await markRefusedThatDay(trx, sum, [...sum.refused]);
  await addSums(trx, [...sums.values()]);
  await addLicenseMonths(trx, [...months.values()]);
}

/** A row's contribution to the sums. */
interface SumEntry {
  /** null, or the id of a missing product: the licence's product counts */
  productId: number | null;
  licenseId: number | null;
  at: Date;
  kind: SumKind;
  name: string;
  times: number;
}

const KINDS: Record<string, SumKind> = {
  issue: 'issued',
  import: 'imported',
  renew: 'renewed',
  activate: 'activated',
};

/** Counts an event. An import also changes licences that already existed; these do not count. */
function eventCount({ licenseId, at, action, isFirst, times }: UnsummedEvent): SumEntry[] {
  const kind = action === 'import' && !isFirst ? undefined : KINDS[action];
  return kind === undefined ? [] : [{ productId: null, licenseId, at, kind, name: '', times }];
}

/** Counts an access. A check of a download (`check`) is neither a download nor a refusal. */
function accessCount({ endpoint, outcome, version, ...row }: UnsummedAccess): SumEntry[] {
  if (endpoint === 'check') return [];
  if (outcome !== 'ok') return [{ ...row, kind: 'refused', name: outcome }];
  return endpoint === 'download' ? [{ ...row, kind: 'download', name: version ?? '' }] : [];
}

/** Counts the licences by status and end. @returns false if another instance holds the lease now */
export async function countAllLicenses(db: Db, lease: Lease, now: () => Date): Promise<boolean> {
  const counts = await countNow(db, now());
  if (counts === undefined) return true;
  return inTransaction(db, async (trx) => {
    if (!(await lockLease(trx, lease, now()))) return false;
    await replaceLicenseCounts(trx, counts);
    return true;
  });
}

/** Counts them right after an import, so that pages do not show the earlier figures until the next housekeeping. */
export async function recountAfterImport(db: Db, at: Date): Promise<void> {
  const counts = await countNow(db, at);
  if (counts !== undefined) await inTransaction(db, (trx) => replaceLicenseCounts(trx, counts));
}

/** @returns undefined if the stored counts are right */
async function countNow(db: Db, at: Date): Promise<LicenseCount[] | undefined> {
  const keyOf = ({ planId, status, month }: LicenseCount) => `${planId} ${status} ${month}`;
  const counts = new Map<string, LicenseCount>();
  for (const plan of await listPlans(db))
    for (const count of await countLicensesOfPlan(db, plan, at, monthStart(at, MONTHS))) {
      const before = counts.get(keyOf(count))?.licenses ?? 0;
      counts.set(keyOf(count), { ...count, licenses: before + count.licenses });
    }
  const stored = await listLicenseCounts(db, undefined);
  const isSame = stored.every((one) => counts.get(keyOf(one))?.licenses === one.licenses);
  return isSame && stored.length === counts.size ? undefined : [...counts.values()];
}
