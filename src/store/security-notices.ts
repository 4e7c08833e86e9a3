import type { LicenseTerms } from './licenses/licenses';
import { table, type Db, type Transaction } from './engine/database';
import { toColumns, toFields, type RowOf } from './engine/row-fields';
import { placeholders, rawRows, tableBy } from './engine/statements';
import { toSqlTime } from './engine/time';

/** How far the mails about a security release are queued. */
export interface SecurityNotice {
  releaseId: number;
  /** who asked for it */
  actor: string;
  /** up to this licence of this plan, plans in the order of their ids; 0: none yet */
  planId: number;
  licenseId: number;
  /** queued so far */
  mails: number;
  /** when the next mail is sent at the earliest */
  dueAt: Date;
  /** null: more are to be queued */
  doneAt: Date | null;
}

/**
 * Claims a release: its customers are told once, whichever process asks first.
 * @returns false when they were told, or it is no published security release
 */
export async function claimNotice(trx: Transaction, id: number, now: Date): Promise<boolean> {
  const claimed = await trx(table(trx, 'releases'))
    .where({ id, state: 'published', security: 1 })
    .whereNull('notified_at')
    .update({ notified_at: toSqlTime(now) });
  return claimed === 1;
}

export async function insertNotice(
  trx: Transaction,
  { releaseId, actor, dueAt }: Pick<SecurityNotice, 'releaseId' | 'actor' | 'dueAt'>,
): Promise<void> {
  await trx(table(trx, 'security_notices')).insert(
    toColumns({ releaseId, actor, planId: 0, licenseId: 0, mails: 0, dueAt, doneAt: null }),
  );
}

export async function findNotice(db: Db, releaseId: number): Promise<SecurityNotice | undefined> {
  const row = await db(table(db, 'security_notices')).where({ release_id: releaseId }).first();
  return row && toFields(row);
}

/** The releases whose mails are not all queued. */
export async function listUnfinishedNotices(db: Db): Promise<number[]> {
  return db(tableBy(db, 'security_notices', 'done_at'))
    .whereNull('done_at')
    .orderBy('release_id')
    .pluck('release_id');
}

/** When the last of all notices' mails is sent; null: there is none. */
export async function latestNoticeDue(db: Db): Promise<Date | null> {
  const row = await db(table(db, 'security_notices')).orderBy('due_at', 'desc').first();
  return row === undefined ? null : toFields(row).dueAt;
}

/**
 * Moves a notice on from the place where it was seen. Must be the first statement: whoever else has moved it keeps this one
 * from queueing the same licences.
 * @returns false when somebody else has
 */
export async function advanceNotice(
  trx: Transaction,
  { releaseId, planId, licenseId }: SecurityNotice,
  to: Pick<SecurityNotice, 'planId' | 'licenseId' | 'mails' | 'dueAt' | 'doneAt'>,
): Promise<boolean> {
  const moved = await trx(table(trx, 'security_notices'))
    .where({ release_id: releaseId, plan_id: planId, license_id: licenseId })
    .whereNull('done_at')
    .update(toColumns(to));
  return moved === 1;
}

/** As much of a licence as tells whether its customer is concerned. */
export type NoticeLicense = Pick<LicenseTerms, 'id' | 'status' | 'expiresAt' | 'graceDays'> & {
  customer: string;
};

/** A plan's active and expired licences with a customer, by id, behind one. */
export async function listNoticeLicenses(
  db: Db,
  planId: number,
  after: number,
  limit: number,
): Promise<NoticeLicense[]> {
  const rows = await db(tableBy(db, 'licenses', 'plan_id', 'status', 'id', 'expires_at'))
    .where({ plan_id: planId, status: 'active' })
    .where('id', '>', after)
    .whereNotNull('customer')
    .orderBy('id')
    .limit(limit)
    .select<RowOf<NoticeLicense>[]>('id', 'status', 'expires_at', 'grace_days', 'customer');
  return rows.map(toFields);
}

/** The versions of a product that sites of licences said they have, by licence; those without a site are left out. */
export async function listToldVersions(
  db: Db,
  productId: number,
  licenseIds: number[],
): Promise<Map<number, string[]>> {
  const versions = new Map<number, string[]>();
  if (licenseIds.length === 0) return versions;
  const rows = await rawRows<{ license_id: number; version: string }>(
    db,
    `SELECT DISTINCT license_id, version FROM ${table(db, 'told_sites')}
      WHERE license_id IN (${placeholders(licenseIds.length)}) AND product_id = ?`,
    [...licenseIds, productId],
  );
  for (const { license_id: id, version } of rows) versions.set(id, [...(versions.get(id) ?? []), version]);
  return versions;
}
