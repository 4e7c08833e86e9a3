import { DAY_MS, daysBetween } from '../base/days';
import { listProducts } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import { lockLease, type Lease } from '../store/leases';
import {
  ALL_PRODUCTS,
  countAllRefusedLicenses,
  countRefusedLicenses,
  listLicenseMonths,
  listRefusedCounts,
  listVersionSiteCounts,
  replaceRefusedCounts,
  replaceVersionSiteCounts,
  type RefusedCount,
  type VersionSiteCount,
} from '../store/sums';
import { countReportedVersions } from '../store/reported-sites';
import { inTransaction } from '../store/engine/transaction';
import { lastMonths } from './renewals';

/**
 * Aggregates: figures that take long to count, such as different licences refused in a period, and sites by their
 * version. They are stored, so that a page that shows them does not count them.
 */

/** The lengths of periods, in UTC days up to today. */
export const PERIODS = [7, 30, 90] as const;
/** The versions of a product that are counted separately, because sites may report anything. */
export const MAX_REPORTED_VERSIONS = 200;
/** The version in `VersionSiteCount` for the sum of all others. */
export const OTHER_VERSIONS = '';

/**
 * Counts and stores the figures again.
 * @param lease undefined: no other instance counts them
 * @returns false if another instance holds the lease now
 */
export async function refreshFigures(db: Db, lease: Lease | undefined, now: () => Date): Promise<boolean> {
  const ids = (await listProducts(db)).map(({ id }) => id);
  const refused: RefusedCount[] = [];
  for (const productId of [ALL_PRODUCTS, ...ids])
    for (const days of PERIODS) refused.push(...(await countRefused(db, productId, days, now())));
  const told: VersionSiteCount[] = [];
  for (const productId of ids) told.push(...(await countTold(db, productId)));
  return inTransaction(db, async (trx) => {
    if (lease !== undefined && !(await lockLease(trx, lease, now()))) return false;
    await replaceChanged(trx, refused, told, ids);
    return true;
  });
}

async function countRefused(db: Db, productId: number, days: number, now: Date): Promise<RefusedCount[]> {
  const all = daysBetween(new Date(now.getTime() - (2 * days - 1) * DAY_MS), now);
  const [before, period] = [all.slice(0, days), all.slice(days)];
  const either: RefusedCount = {
    productId,
    days,
    code: '',
    licenses: await countAllRefusedLicenses(db, productId, period),
    licensesBefore: await countAllRefusedLicenses(db, productId, before),
  };
  if (either.licenses === 0 && either.licensesBefore === 0) return [];
  const byCode = await countRefusedLicenses(db, productId, period);
  return [
    either,
    // These are not shown for the period before.
    ...[...byCode].map(([code, licenses]) => ({ productId, days, code, licenses, licensesBefore: 0 })),
  ];
}

async function countTold(db: Db, productId: number): Promise<VersionSiteCount[]> {
  const counts = (await countReportedVersions(db, productId))
    .map(({ version, count }) => ({ productId, version, sites: count }))
    .sort((a, b) => b.sites - a.sites || (a.version < b.version ? -1 : 1));
  const others = counts.slice(MAX_REPORTED_VERSIONS).reduce((sum, { sites }) => sum + sites, 0);
  return [
    ...counts.slice(0, MAX_REPORTED_VERSIONS),
    ...(others === 0 ? [] : [{ productId, version: OTHER_VERSIONS, sites: others }]),
  ];
}

/** Replaces stored counts that changed: most of the time none has changed. */
async function replaceChanged(
  trx: Transaction,
  refused: RefusedCount[],
  told: VersionSiteCount[],
  productIds: number[],
): Promise<void> {
  const kept: RefusedCount[] = [];
  for (const productId of [ALL_PRODUCTS, ...productIds])
    for (const days of PERIODS) kept.push(...(await listRefusedCounts(trx, productId, days)));
  if (!isSame(kept, refused)) await replaceRefusedCounts(trx, refused);
  if (!isSame(await listVersionSiteCounts(trx, undefined), told)) await replaceVersionSiteCounts(trx, told);
}

function isSame<One extends object>(one: One[], other: One[]): boolean {
  const inOrder = (list: One[]) =>
    list.map((each) => JSON.stringify(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))).sort();
  const [a, b] = [inOrder(one), inOrder(other)];
  return a.length === b.length && a.every((text, i) => text === b[i]);
}

export interface LicenseMonthCounts {
  /** `2026-11`, UTC */
  month: string;
  /** downloads that were granted */
  downloads: number;
  /** refused requests */
  refused: number;
}

/** Returns a licence's downloads and refusals in this month and the eleven before, oldest first; at most a minute old. */
export async function readLicenseMonths(db: Db, licenseId: number, now: Date): Promise<LicenseMonthCounts[]> {
  const months = lastMonths(now);
  const kept = new Map(
    (await listLicenseMonths(db, licenseId, months[0] as string)).map((one) => [one.month, one]),
  );
  return months.map((month) => {
    const { downloads = 0, refused = 0 } = kept.get(month) ?? {};
    return { month, downloads, refused };
  });
}
