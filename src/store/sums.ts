import { isSqlite, table, type Db, type Transaction } from './engine/database';
import { rowToFields, type RowOf } from './engine/row-fields';
import {
  forceIndex,
  insertRows,
  orderedJoin,
  placeholders,
  rawChange,
  rawRows,
  tableBy,
} from './engine/statements';
import { toSqlTime } from './engine/time';

/**
 * Stored sums (rollup tables) for statistics: sums by UTC day, which are kept longer than the access log, and counts of
 * licences.
 */

export type SumKind = 'issued' | 'imported' | 'renewed' | 'activated' | 'download' | 'refused';

/** The product under which the sums of all products are kept. */
export const ALL_PRODUCTS = 0;

export interface DailySum {
  productId: number;
  /** `2026-11-24` */
  day: string;
  kind: SumKind;
  /** the version for downloads, the code for refusals; otherwise empty */
  name: string;
  times: number;
  /** the number of different licences that were refused */
  licenses: number;
}

/** A row to sum, with the number of its repetitions that the sums do not include yet. */
interface Unsummed {
  id: number;
  at: Date;
  times: number;
}

export interface UnsummedEvent extends Unsummed {
  licenseId: number;
  action: string;
  /** whether this event created the licence */
  isFirst: boolean;
}

export interface UnsummedAccess extends Unsummed {
  licenseId: number | null;
  productId: number | null;
  endpoint: string;
  outcome: string;
  version: string | null;
}

const COLUMNS = {
  events: ['license_id', 'action', 'before_json IS NULL AND after_json IS NOT NULL AS is_first'],
  access_log: ['license_id', 'product_id', 'endpoint', 'outcome', 'version'],
};

interface UnsummedOf {
  events: UnsummedEvent;
  access_log: UnsummedAccess;
}

export type SummedTable = keyof UnsummedOf;

/** Finds the next rows above the id `after` that the sums do not include yet, or that were repeated since, by id. */
export async function findUnsummed(
  db: Db,
  name: SummedTable,
  which: 'new' | 'repeated',
  after: number,
  limit: number,
): Promise<number[]> {
  const query = db(tableBy(db, name, 'unsummed'))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit);
  if (which === 'new') query.whereNull('unsummed');
  else query.where('unsummed', '>', 0);
  return query.pluck('id');
}

/**
 * Takes rows for the sums, so that no other process takes them again, or their repetitions up to now. Rows in use are
 * skipped, so that the caller does not wait while it holds others.
 */
export async function takeUnsummed<T extends SummedTable>(
  trx: Transaction,
  name: T,
  ids: number[],
): Promise<UnsummedOf[T][]> {
  const [full, index, isAnyOf] = [
    table(trx, name),
    forceIndex(trx, name),
    `id IN (${placeholders(ids.length)})`,
  ];
  const rows = await rawRows<RowOf<Unsummed>>(
    trx,
    `SELECT id, at, ${COLUMNS[name].join(', ')}, COALESCE(unsummed, times) AS times FROM ${full}${index}
      WHERE ${isAnyOf} AND (unsummed IS NULL OR unsummed > 0)
      ORDER BY id${isSqlite(trx) ? '' : ' FOR UPDATE SKIP LOCKED'}`,
    ids,
  );
  const taken = rows.map(rowToFields);
  if (taken.length > 0)
    await rawChange(
      trx,
      `UPDATE ${full}${index} SET unsummed = 0 WHERE id IN (${placeholders(taken.length)})`,
      taken.map(({ id }) => id),
    );
  return taken as UnsummedOf[T][];
}

/** Finds the products of licences, by licence id. */
export async function findProductsOf(db: Db, licenseIds: number[]): Promise<Map<number, number>> {
  if (licenseIds.length === 0) return new Map();
  const rows = await rawRows<{ id: number; product_id: number }>(
    db,
    `SELECT l.id, p.product_id FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses')}
       ${orderedJoin(db)} ${table(db, 'plans')} p${forceIndex(db, 'plans')} ON p.id = l.plan_id
      WHERE l.id IN (${placeholders(licenseIds.length)})`,
    licenseIds,
  );
  return new Map(rows.map(({ id, product_id }) => [id, product_id]));
}

/** Adds to the sums. The list names each sum once. */
export async function addSums(trx: Transaction, sums: DailySum[]): Promise<void> {
  if (sums.length === 0) return;
  const key = ['product_id', 'day', 'kind', 'name'];
  const added = (column: string) => (isSqlite(trx) ? `excluded.${column}` : `VALUES(${column})`);
  const onKey = isSqlite(trx) ? `ON CONFLICT (${key.join(', ')}) DO UPDATE SET` : 'ON DUPLICATE KEY UPDATE';
  await rawChange(
    trx,
    `INSERT INTO ${table(trx, 'daily_sums')} (${key.join(', ')}, times, licenses)
     VALUES (?, ?, ?, ?, ?, ?)${', (?, ?, ?, ?, ?, ?)'.repeat(sums.length - 1)}
     ${onKey} times = times + ${added('times')}, licenses = licenses + ${added('licenses')}`,
    sums.flatMap((one) => [one.productId, one.day, one.kind, one.name, one.times, one.licenses]),
  );
}

/** Records licences refused on a day. @returns how many of them were not recorded before */
export async function markRefusedThatDay(
  trx: Transaction,
  { day, productId, name: code }: Pick<DailySum, 'day' | 'productId' | 'name'>,
  licenseIds: number[],
): Promise<number> {
  return rawChange(
    trx,
    `INSERT ${isSqlite(trx) ? 'OR IGNORE' : 'IGNORE'} INTO ${table(trx, 'refused_licenses')} (day, product_id, code, license_id)
     VALUES (?, ?, ?, ?)${', (?, ?, ?, ?)'.repeat(licenseIds.length - 1)}`,
    licenseIds.flatMap((id) => [day, productId, code, id]),
  );
}

/** Deletes a few records of licences refused before a day. @returns how many were found */
export async function pruneRefused(db: Db, before: string, limit: number): Promise<number> {
  const found = await db(table(db, 'refused_licenses'))
    .where('day', '<', before)
    .orderBy(['day', 'product_id', 'code', 'license_id'])
    .limit(limit);
  if (found.length > 0)
    await rawChange(
      db,
      `DELETE FROM ${table(db, 'refused_licenses')}
        WHERE (day, product_id, code, license_id) IN (${isSqlite(db) ? 'VALUES ' : ''}(?, ?, ?, ?)${', (?, ?, ?, ?)'.repeat(found.length - 1)})`,
      found.flatMap((row) => [row.day, row.product_id, row.code, row.license_id]),
    );
  return found.length;
}

/** Lists the sums of a product, or of all products, from one day to another. */
export async function listSums(db: Db, productId: number, from: string, to: string): Promise<DailySum[]> {
  const rows = await rawRows<RowOf<DailySum>>(
    db,
    `SELECT * FROM ${table(db, 'daily_sums')} WHERE product_id = ? AND day >= ? AND day <= ? ORDER BY day, kind, name`,
    [productId, from, to],
  );
  return rows.map(rowToFields);
}

/** Counts the different licences that were refused on these days, by code. The records are kept as long as the access log. */
export async function countRefusedLicenses(
  db: Db,
  productId: number,
  days: string[],
): Promise<Map<string, number>> {
  const rows = await rawRows<{ code: string; n: number }>(
    db,
    `SELECT code, COUNT(DISTINCT license_id) AS n ${refusedOn(db, days)} GROUP BY code`,
    [...days, productId],
  );
  return new Map(rows.map(({ code, n }) => [code, n]));
}

/** Counts the different licences that were refused on these days, for any reason. */
export async function countAllRefusedLicenses(db: Db, productId: number, days: string[]): Promise<number> {
  const [counted] = await rawRows<{ n: number }>(
    db,
    `SELECT COUNT(DISTINCT license_id) AS n ${refusedOn(db, days)}`,
    [...days, productId],
  );
  return counted?.n ?? 0;
}

/** Returns FROM and WHERE with each day by name: with a range of days, the key would read the rows of all products. */
function refusedOn(db: Db, days: string[]): string {
  const isOf = `day IN (${placeholders(days.length)}) AND product_id = ?`;
  return `FROM ${table(db, 'refused_licenses')}${forceIndex(db, 'refused_licenses')} WHERE ${isOf}`;
}

interface VersionDownloads {
  productId: number;
  version: string;
  times: number;
}

/** Counts the downloads of these products from one day to another, by version, most downloads first. */
export async function sumDownloads(
  db: Db,
  productIds: number[],
  from: string,
  to: string,
): Promise<VersionDownloads[]> {
  if (productIds.length === 0) return [];
  const rows = await rawRows<{ product_id: number; name: string; n: number | string }>(
    db,
    `SELECT product_id, name, SUM(times) AS n FROM ${table(db, 'daily_sums')}
      WHERE product_id IN (${placeholders(productIds.length)}) AND day >= ? AND day <= ? AND kind = 'download'
      GROUP BY product_id, name ORDER BY n DESC, product_id, name`,
    [...productIds, from, to],
  );
  // MySQL's SUM is a decimal, which the driver returns as text.
  return rows.map(({ product_id, name, n }) => ({ productId: product_id, version: name, times: Number(n) }));
}

export interface LicenseCount {
  productId: number;
  planId: number;
  /** the live status */
  status: string;
  /** the month of an active licence's end, such as `2026-12`; empty: automatic renewal, a later end, or none */
  month: string;
  licenses: number;
}

/**
 * Counts a plan's licences by reading all their entries in an index: 0.3 s for 1,000,000.
 * @param until the first moment that is not counted by month
 */
export async function countLicensesOfPlan(
  db: Db,
  { id, productId }: { id: number; productId: number },
  now: Date,
  until: Date,
): Promise<LicenseCount[]> {
  const rows = await rawRows<{ status: string; month: string; n: number }>(
    db,
    `SELECT status, CASE WHEN status <> 'active' OR expires_at IS NULL OR expires_at >= ? THEN ''
                         WHEN expires_at <= ? THEN 'past' WHEN renews_itself = 1 THEN '' ELSE SUBSTR(expires_at, 1, 7) END AS month, COUNT(*) AS n
       FROM ${table(db, 'licenses')}${forceIndex(db, 'licenses', 'plan_id', 'status', 'expires_at', 'renews_itself')}
      WHERE plan_id = ? GROUP BY 1, 2`,
    [toSqlTime(until), toSqlTime(now), id],
  );
  return rows.map(({ status, month, n }) => ({
    productId,
    planId: id,
    ...(month === 'past' ? { status: 'expired', month: '' } : { status, month }),
    licenses: n,
  }));
}

/** Counts the active licences of these plans that end after `now`, no later than `until`: some 20 ms for 100,000. */
export async function countEnding(db: Db, planIds: number[], now: Date, until: Date): Promise<number> {
  if (planIds.length === 0) return 0;
  const [counted] = await rawRows<{ n: number }>(
    db,
    `SELECT COUNT(*) AS n FROM ${table(db, 'licenses')}${forceIndex(db, 'licenses', 'plan_id', 'status', 'expires_at', 'renews_itself')}
      WHERE plan_id IN (${placeholders(planIds.length)}) AND status = 'active' AND expires_at > ? AND expires_at <= ?
        AND renews_itself = 0`,
    [...planIds, toSqlTime(now), toSqlTime(until)],
  );
  return counted?.n ?? 0;
}

export interface LicenseMonth {
  licenseId: number;
  /** `2026-11` */
  month: string;
  downloads: number;
  refused: number;
}

/** Adds to the months of licences, each named once. Sorted by key, to avoid deadlocks. */
export async function addLicenseMonths(trx: Transaction, months: LicenseMonth[]): Promise<void> {
  if (months.length === 0) return;
  const rows = [...months].sort((a, b) => a.licenseId - b.licenseId || (a.month < b.month ? -1 : 1));
  const added = (column: string) => (isSqlite(trx) ? `excluded.${column}` : `VALUES(${column})`);
  const onKey = isSqlite(trx) ? 'ON CONFLICT (license_id, month) DO UPDATE SET' : 'ON DUPLICATE KEY UPDATE';
  await rawChange(
    trx,
    `INSERT INTO ${table(trx, 'license_months')} (license_id, month, downloads, refused)
     VALUES (?, ?, ?, ?)${', (?, ?, ?, ?)'.repeat(rows.length - 1)}
     ${onKey} downloads = downloads + ${added('downloads')}, refused = refused + ${added('refused')}`,
    rows.flatMap((one) => [one.licenseId, one.month, one.downloads, one.refused]),
  );
}

/** Lists a licence's months with any download or refusal, starting with a given month. */
export async function listLicenseMonths(db: Db, licenseId: number, from: string): Promise<LicenseMonth[]> {
  const rows = await db(tableBy(db, 'license_months'))
    .where({ license_id: licenseId })
    .where('month', '>=', from)
    .orderBy('month');
  return rows.map(rowToFields);
}

/** Deletes a few rows of months before a given month. @returns how many were found */
export async function pruneLicenseMonths(db: Db, before: string, limit: number): Promise<number> {
  const found = await db(tableBy(db, 'license_months', 'month'))
    .where('month', '<', before)
    .orderBy(['month', 'license_id'])
    .limit(limit)
    .select('license_id', 'month');
  if (found.length > 0)
    await rawChange(
      db,
      `DELETE FROM ${table(db, 'license_months')}
        WHERE (license_id, month) IN (${isSqlite(db) ? 'VALUES ' : ''}(?, ?)${', (?, ?)'.repeat(found.length - 1)})`,
      found.flatMap((row) => [row.license_id, row.month]),
    );
  return found.length;
}

export interface MonthlySum {
  /** `2026-11` */
  month: string;
  kind: SumKind;
  times: number;
}

/** Sums some kinds by month, for a product or all products, starting with a given day. */
export async function sumMonths(
  db: Db,
  productId: number,
  kinds: SumKind[],
  from: string,
): Promise<MonthlySum[]> {
  const rows = await rawRows<{ month: string; kind: SumKind; n: number | string }>(
    db,
    `SELECT SUBSTR(day, 1, 7) AS month, kind, SUM(times) AS n FROM ${table(db, 'daily_sums')}${forceIndex(db, 'daily_sums')}
      WHERE product_id = ? AND day >= ? AND kind IN (${placeholders(kinds.length)}) GROUP BY 1, 2`,
    [productId, from, ...kinds],
  );
  return rows.map(({ month, kind, n }) => ({ month, kind, times: Number(n) }));
}

export interface RefusedCount {
  /** ALL_PRODUCTS, or a product's id */
  productId: number;
  /** the length of the period, and of the one before */
  days: number;
  /** empty: refused for any reason */
  code: string;
  /** the number of different licences */
  licenses: number;
  /** the same number in the period before */
  licensesBefore: number;
}

/** Lists the stored counts of a product, or of all, for periods of a length in days. */
export async function listRefusedCounts(db: Db, productId: number, days: number): Promise<RefusedCount[]> {
  return (await db(table(db, 'refused_counts')).where({ product_id: productId, days })).map(rowToFields);
}

export async function replaceRefusedCounts(trx: Transaction, counts: RefusedCount[]): Promise<void> {
  await rawChange(trx, `DELETE FROM ${table(trx, 'refused_counts')}`, []);
  if (counts.length > 0)
    await insertRows(
      trx,
      'refused_counts',
      counts.map((one) => ({
        product_id: one.productId,
        days: one.days,
        code: one.code,
        licenses: one.licenses,
        licenses_before: one.licensesBefore,
      })),
    );
}

/** The number of a product's sites that reported a version. */
export interface VersionSiteCount {
  productId: number;
  version: string;
  sites: number;
}

/** Lists stored counts, the most frequent version of each product first. @param productId undefined: all products */
export async function listVersionSiteCounts(
  db: Db,
  productId: number | undefined,
): Promise<VersionSiteCount[]> {
  const query = db(table(db, 'told_counts')).orderBy([
    { column: 'product_id' },
    { column: 'sites', order: 'desc' },
    { column: 'version', order: 'desc' },
  ]);
  if (productId !== undefined) query.where({ product_id: productId });
  return (await query).map(rowToFields);
}

export async function replaceVersionSiteCounts(trx: Transaction, counts: VersionSiteCount[]): Promise<void> {
  await rawChange(trx, `DELETE FROM ${table(trx, 'told_counts')}`, []);
  if (counts.length > 0)
    await insertRows(
      trx,
      'told_counts',
      counts.map((one) => ({ product_id: one.productId, version: one.version, sites: one.sites })),
    );
}

export async function replaceLicenseCounts(trx: Transaction, counts: LicenseCount[]): Promise<void> {
  await rawChange(trx, `DELETE FROM ${table(trx, 'license_counts')}`, []);
  const rows = counts.map((one) => ({
    product_id: one.productId,
    plan_id: one.planId,
    status: one.status,
    month: one.month,
    licenses: one.licenses,
  }));
  if (rows.length > 0) await insertRows(trx, 'license_counts', rows);
}

export async function listLicenseCounts(db: Db, productId: number | undefined): Promise<LicenseCount[]> {
  const query = db(table(db, 'license_counts')).orderBy(['product_id', 'plan_id', 'status', 'month']);
  if (productId !== undefined) query.where({ product_id: productId });
  return (await query).map(rowToFields);
}
