import { inChunks } from '../base/chunks';
import { customerDigest, DIGEST_DIGITS } from './customer-digest';
import type { LicenseTerms } from './licenses/licenses';
import { NOTICE_KEYS, type OutboxRow } from './outbox';
import { table, type Db, type Transaction } from './engine/database';
import { fieldsToRow, rowToFields, type RowOf } from './engine/row-fields';
import { forceIndex, placeholders, rawRows, tableBy } from './engine/statements';
import { toSqlTime } from './engine/time';

/** The progress of queueing the mails about a security release. */
export interface SecurityNotice {
  releaseId: number;
  /** the requester of the mails */
  actor: string;
  /** the last licence and its plan that were processed, plans in the order of their ids; 0: none yet */
  planId: number;
  licenseId: number;
  /** the mails queued so far */
  mails: number;
  /** the earliest time at which the next mail is sent */
  dueAt: Date;
  /** null: more mails are to be queued */
  doneAt: Date | null;
  /** the customers whose mails are being queued, or were queued last */
  audience: NoticeAudience;
  /** when the audience `everybody` was notified; null: not yet */
  everybodyAt: Date | null;
  /** the mails queued before that */
  earlierMails: number;
}

/** `everybody` includes customers whose licence does not cover the release. */
export const NOTICE_AUDIENCES = ['entitled', 'everybody'] as const;
export type NoticeAudience = (typeof NOTICE_AUDIENCES)[number];

/**
 * Claims a release, so that its customers are notified once, by the first process that asks.
 * @returns false if they were notified, or if it is not a published security release
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
  {
    audience = 'entitled',
    everybodyAt = null,
    ...notice
  }: Pick<SecurityNotice, 'releaseId' | 'actor' | 'dueAt'> &
    Partial<Pick<SecurityNotice, 'audience' | 'everybodyAt'>>,
): Promise<void> {
  const place = { planId: 0, licenseId: 0, mails: 0, doneAt: null };
  await trx(table(trx, 'security_notices')).insert(
    fieldsToRow({ ...notice, audience, everybodyAt, ...place, earlierMails: 0 }),
  );
}

/**
 * Extends a notice to the audience `everybody`, once. If its mails are all queued, it starts again.
 * @returns false if it was extended before, or if it does not exist
 */
export async function extendNotice(
  trx: Transaction,
  {
    releaseId,
    actor,
    dueAt,
    everybodyAt,
  }: Pick<SecurityNotice, 'releaseId' | 'actor' | 'dueAt' | 'everybodyAt'>,
): Promise<boolean> {
  const notices = () => trx(table(trx, 'security_notices')).where({ release_id: releaseId });
  // First, because this locks the row.
  const extended = await notices().whereNull('everybody_at').update(fieldsToRow({ everybodyAt }));
  const notice = await findNotice(trx, releaseId);
  if (extended === 0 || notice === undefined) return false;
  await notices().update({ earlier_mails: notice.mails });
  if (notice.doneAt !== null)
    await notices().update(
      fieldsToRow({ actor, dueAt, audience: 'everybody', planId: 0, licenseId: 0, doneAt: null }),
    );
  return true;
}

export async function findNotice(db: Db, releaseId: number): Promise<SecurityNotice | undefined> {
  const row = await db(table(db, 'security_notices')).where({ release_id: releaseId }).first();
  return row && rowToFields(row);
}

/** Lists the releases whose mails are not all queued. */
export async function listUnfinishedNotices(db: Db): Promise<number[]> {
  return db(tableBy(db, 'security_notices', 'done_at'))
    .whereNull('done_at')
    .orderBy('release_id')
    .pluck('release_id');
}

/** Returns when the last of all notices' mails is sent; null if no notice exists. */
export async function latestNoticeDue(db: Db): Promise<Date | null> {
  const row = await db(table(db, 'security_notices')).orderBy('due_at', 'desc').first();
  return row === undefined ? null : rowToFields(row).dueAt;
}

/**
 * Advances a notice from the position that was read. Must be the first statement: if another process has advanced it,
 * the same licences are not queued twice.
 * @returns false if another process has advanced it
 */
export async function advanceNotice(
  trx: Transaction,
  { releaseId, audience, planId, licenseId, everybodyAt }: SecurityNotice,
  to: Pick<SecurityNotice, 'audience' | 'planId' | 'licenseId' | 'mails' | 'dueAt' | 'doneAt'>,
): Promise<boolean> {
  const query = trx(table(trx, 'security_notices'))
    .where({ release_id: releaseId, audience, plan_id: planId, license_id: licenseId })
    .whereNull('done_at');
  // A notice that was extended meanwhile is not done after the last mail to entitled customers.
  if (everybodyAt === null) query.whereNull('everybody_at');
  return (await query.update(fieldsToRow(to))) === 1;
}

/** The columns of a licence that decide whether its customer is concerned. */
export type NoticeLicense = Pick<
  LicenseTerms,
  'id' | 'status' | 'expiresAt' | 'graceDays' | 'allReturned'
> & {
  customer: string;
};

/** Lists a plan's active and expired licences with a customer, by id, after one. */
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
    .select<RowOf<NoticeLicense>[]>('id', 'status', 'expires_at', 'grace_days', 'all_returned', 'customer');
  return rows.map(rowToFields);
}

/** Lists the versions of a product that sites of licences reported, by licence. Licences without such sites are absent. */
export async function listReportedVersions(
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

/** The mail about a security release to a customer, who gets one for all releases with the same fix. */
export interface NoticeMail extends Pick<OutboxRow, 'createdAt' | 'sentAt' | 'failedAt' | 'detailsJson'> {
  once: string;
}

/** Returns the deduplication key of this mail. @param digest the customer's (`customerDigest`) */
export function noticeKey(releaseId: number, digest: string): string {
  return `${keysBegin(releaseId)}${digest}`;
}

const keysBegin = (releaseId: number) => `${NOTICE_KEYS}${releaseId}:`;

/**
 * Finds the mails to customers about a release, by the digests of the customers. A customer without one was not notified.
 * @param releaseIds the release and those with the same fix (`withSameFix`)
 */
export async function findNoticeMails(
  db: Db,
  releaseIds: number[],
  digests: string[],
): Promise<Map<string, NoticeMail>> {
  const keys = digests.flatMap((digest) => releaseIds.map((id) => [noticeKey(id, digest), digest] as const));
  const digestOf = new Map(keys);
  const rows = await inChunks([...digestOf.keys()], (some) =>
    db(tableBy(db, 'outbox', 'once'))
      .whereIn('once', some)
      .select<RowOf<NoticeMail>[]>('once', 'created_at', 'sent_at', 'failed_at', 'details_json'),
  );
  return new Map(rows.map((row) => [digestOf.get(row.once) as string, rowToFields(row)]));
}

/**
 * Assigns the mails about security releases of licences to a customer's new address, which then gets no second one. An
 * address that was mailed itself keeps its own mail.
 */
export async function moveNoticeMails(
  trx: Transaction,
  licenseIds: number[],
  from: string,
  to: string,
): Promise<void> {
  const [old, digest] = [customerDigest(from), customerDigest(to)];
  const keys = await trx(tableBy(trx, 'outbox', 'license_id'))
    .whereIn('license_id', licenseIds)
    .where('once', 'like', `${NOTICE_KEYS}%:${old}`)
    .pluck<string[]>('once');
  for (const key of keys) {
    const once = key.replace(old, digest);
    const outbox = () => trx(table(trx, 'outbox'));
    if ((await outbox().where({ once }).first('id')) === undefined)
      await outbox().where({ once: key }).update({ once });
  }
}

/** The mails about a release: the numbers of customers, and the times of the first and the last mail that was sent. */
export interface NoticeSums {
  sent: number;
  failed: number;
  firstAt: Date | null;
  lastAt: Date | null;
}

/** The digits with which digests begin. */
const DIGITS = '0123456789abcdef';

/** Sums up the mails about a release. It reads all of them. @param releaseIds the release and those with the same fix */
export async function sumNoticeMails(db: Db, releaseIds: number[]): Promise<NoticeSums> {
  const sums: NoticeSums = { sent: 0, failed: 0, firstAt: null, lastAt: null };
  // One statement for each digit: over 333,000 mails, a single one took 8 s, longer than a service waits.
  for (const digit of DIGITS) {
    const part = await sumMailsOf(db, releaseIds, digit);
    for (const name of ['sent', 'failed'] as const) sums[name] += part[name];
    if (part.firstAt !== null && (sums.firstAt === null || part.firstAt < sums.firstAt))
      sums.firstAt = part.firstAt;
    if (part.lastAt !== null && (sums.lastAt === null || part.lastAt > sums.lastAt))
      sums.lastAt = part.lastAt;
  }
  return sums;
}

async function sumMailsOf(db: Db, releaseIds: number[], digit: string): Promise<NoticeSums> {
  const digests = (condition: string) =>
    `COUNT(DISTINCT CASE WHEN ${condition} THEN SUBSTR(once, -${DIGEST_DIGITS}) END)`;
  const next = String.fromCharCode(digit.charCodeAt(0) + 1);
  const [row] = await rawRows<RowOf<NoticeSums>>(
    db,
    `SELECT ${digests('sent_at IS NOT NULL')} AS sent,
            ${digests('failed_at IS NOT NULL')} AS failed, MIN(sent_at) AS first_at, MAX(sent_at) AS last_at
       FROM ${table(db, 'outbox')}${forceIndex(db, 'outbox', 'once')}
      WHERE ${releaseIds.map(() => '(once >= ? AND once < ?)').join(' OR ')}`,
    releaseIds.flatMap((id) => [`${keysBegin(id)}${digit}`, `${keysBegin(id)}${next}`]),
  );
  return rowToFields(row as RowOf<NoticeSums>);
}
