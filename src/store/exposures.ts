import type { LicenseTerms } from './licenses/licenses';
import { isSqlite, table, type Db } from './engine/database';
import { rowToFields, type RowOf } from './engine/row-fields';
import { forceIndex, orderedJoin, placeholders, rawChange, rawRows } from './engine/statements';
import { toSqlTime } from './engine/time';

/** The licences of a product with the versions that their customers run, and the figures that are counted from them. */

/** A licence with the version and the time of its last download; null without a download. */
export type ExposedLicense = Pick<
  LicenseTerms,
  'id' | 'status' | 'expiresAt' | 'graceDays' | 'allReturned'
> & {
  customer: string | null;
  version: string | null;
  at: Date | null;
};

/** A place among the licences: a plan, and the last licence that was read. */
export interface ExposurePlace {
  planId: number;
  licenseId: number;
}

const BY_PLAN = ['plan_id', 'status', 'id', 'expires_at'];

/** Lists a plan's active and expired licences after one, by id, with their last download of a product. */
export async function listExposedLicenses(
  db: Db,
  productId: number,
  { planId, licenseId }: ExposurePlace,
  limit: number,
): Promise<ExposedLicense[]> {
  const rows = await rawRows<RowOf<ExposedLicense>>(
    db,
    // The ids are read first, in the index, because the join would otherwise read the rows of the whole plan.
    `SELECT l.id, l.status, l.expires_at, l.grace_days, l.all_returned, l.customer, d.version, d.at
       FROM (SELECT id FROM ${table(db, 'licenses')}${forceIndex(db, 'licenses', ...BY_PLAN)}
              WHERE plan_id = ? AND status = 'active' AND id > ? ORDER BY id LIMIT ${limit}) i
       ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = i.id
       LEFT JOIN ${table(db, 'license_downloads')} d${forceIndex(db, 'license_downloads')}
         ON d.license_id = i.id AND d.product_id = ?
      ORDER BY i.id`,
    [planId, licenseId, productId],
  );
  return rows.map(rowToFields);
}

/** The sites of a licence that reported a version. */
export interface ReportedSites {
  licenseId: number;
  version: string;
  sites: number;
  /** the latest of their reports */
  at: Date;
}

/** Counts the sites of a plan's licences that reported a version since a time. @param upTo the last licence */
export async function countSitesOfPlan(
  db: Db,
  productId: number,
  { planId, licenseId }: ExposurePlace,
  upTo: number,
  since: Date,
): Promise<ReportedSites[]> {
  const rows = await rawRows<RowOf<ReportedSites>>(
    db,
    `SELECT t.license_id, t.version, COUNT(*) AS sites, MAX(t.at) AS at
       FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses', ...BY_PLAN)}
       ${orderedJoin(db)} ${table(db, 'told_sites')} t${forceIndex(db, 'told_sites')}
         ON t.license_id = l.id AND t.product_id = ?
      WHERE l.plan_id = ? AND l.status = 'active' AND l.id > ? AND l.id <= ? AND t.at >= ?
      GROUP BY t.license_id, t.version`,
    [productId, planId, licenseId, upTo, toSqlTime(since)],
  );
  return rows.map(rowToFields);
}

/** Reports whether these plans have more active and expired licences than a number. It reads no more of them. */
export async function hasMoreLicenses(db: Db, planIds: number[], count: number): Promise<boolean> {
  if (planIds.length === 0) return false;
  const rows = await rawRows(
    db,
    `SELECT id FROM ${table(db, 'licenses')}${forceIndex(db, 'licenses', ...BY_PLAN)}
      WHERE plan_id IN (${placeholders(planIds.length)}) AND status = 'active' LIMIT 1 OFFSET ${count}`,
    planIds,
  );
  return rows.length > 0;
}

/** The stored figures of a product for a list of fixed versions. */
export interface StoredExposure {
  productId: number;
  /** the fixed versions, joined by blanks */
  fixedIn: string;
  /** null if they are not counted yet */
  figuresJson: string | null;
  computedAt: Date | null;
  /** the time at which they were last asked for, in steps of an hour */
  askedAt: Date;
}

export async function findExposure(
  db: Db,
  productId: number,
  fixedIn: string,
): Promise<StoredExposure | undefined> {
  const row = await db(table(db, 'exposures')).where({ product_id: productId, fixed_in: fixedIn }).first();
  return row && rowToFields(row);
}

/** Notes that figures are asked for. The next count of the job includes them. */
export async function askForExposure(db: Db, productId: number, fixedIn: string, now: Date): Promise<void> {
  await rawChange(
    db,
    `INSERT INTO ${table(db, 'exposures')} (product_id, fixed_in, asked_at) VALUES (?, ?, ?)
     ${isSqlite(db) ? 'ON CONFLICT (product_id, fixed_in) DO UPDATE SET asked_at = excluded.asked_at' : 'ON DUPLICATE KEY UPDATE asked_at = VALUES(asked_at)'}`,
    [productId, fixedIn, toSqlTime(now)],
  );
}

export async function setExposure(
  db: Db,
  { productId, fixedIn, figuresJson, computedAt }: Omit<StoredExposure, 'askedAt'> & { computedAt: Date },
): Promise<void> {
  await db(table(db, 'exposures'))
    .where({ product_id: productId, fixed_in: fixedIn })
    .update({ figures_json: figuresJson, computed_at: toSqlTime(computedAt) });
}

/** Lists all stored figures, those that were asked for last first. */
export async function listExposures(db: Db): Promise<StoredExposure[]> {
  return (await db(table(db, 'exposures')).orderBy('asked_at', 'desc')).map(rowToFields);
}

export async function deleteExposure(db: Db, { productId, fixedIn }: StoredExposure): Promise<void> {
  await db(table(db, 'exposures')).where({ product_id: productId, fixed_in: fixedIn }).delete();
}
