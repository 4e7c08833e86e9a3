import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunksOf } from '../base/chunks';
import { customerDigest } from './customer-digest';
import { databaseIdentity, table, type Db, type FullName, type Transaction } from './engine/database';
import { fieldsToRow, rowToFields, type RowOf } from './engine/row-fields';
import { forceIndex, insertCounted, insertRows, inListSql, rawRows, tableBy } from './engine/statements';
import { toSqlTime } from './engine/time';
import { afterCommit } from './engine/transaction';

/**
 * The outbox: messages to send, as rows that the transaction of the change inserts. A sender first claims a row. A
 * claim is a lease: after its end, another instance takes over, so each message is sent at least once.
 */

/**
 * The kinds, each with its own sender. `webhook_now` is a webhook's row that is sent before all others (deliveries.ts).
 * `notice` has no sender: it is an old mail about a security release, kept as proof, and so that no second one is sent.
 */
export type OutboxKind = 'mail' | 'webhook' | 'webhook_now' | 'notice';

/** The beginning of the deduplication keys of mails about security releases. */
export const NOTICE_KEYS = 'security:';

export interface NewOutboxRow {
  kind: OutboxKind;
  type: string;
  licenseId: number | null;
  orderId?: number | undefined;
  /** an e-mail address; null: looked up when it is sent, or no recipient */
  recipient: string | null;
  /** the address whose digest finds and counts the row */
  address: string | null;
  details: object | null;
  language: string;
  /** deduplication key, unique among all rows; null: the message may be queued again */
  once: string | null;
  createdAt: Date;
  nextAttemptAt: Date;
  /** for webhooks only */
  webhookId?: number | undefined;
  lane?: number | null | undefined;
  revision?: number | null | undefined;
}

export interface OutboxRow {
  id: number;
  kind: OutboxKind;
  type: string;
  licenseId: number | null;
  orderId: number | null;
  recipient: string | null;
  detailsJson: string | null;
  language: string;
  /** a random text, the same for each attempt */
  messageId: string;
  createdAt: Date;
  /** null: sent or given up; for a claimed row, the end of the claim */
  nextAttemptAt: Date | null;
  attempts: number;
  attemptedAt: Date | null;
  /** for a claimed row: the time of the previous attempt */
  attemptedBefore?: Date | null;
  /** for a claimed row: its former `nextAttemptAt` */
  dueAt?: Date | null;
  sentAt: Date | null;
  failedAt: Date | null;
  /** for a mail that was given up: when the seller sent it again or dismissed it */
  settledAt: Date | null;
  /** the reason for the latest failure: a code, without addresses */
  lastError: string | null;
  once: string | null;
}

/** Inserts a row and returns its id. Notifies this process's sender (`onEnqueued`) after the commit. */
export async function insertOutboxRow(trx: Transaction, row: NewOutboxRow): Promise<number> {
  const [id] = await insertCounted(trx, 'outbox', [columnsOf(row)]);
  tellOnCommit(trx, row.kind);
  return id as number;
}

/** Inserts several rows of one kind, like `insertOutboxRow`. */
export async function insertOutboxRows(trx: Transaction, rows: NewOutboxRow[]): Promise<void> {
  for (const some of chunksOf(rows)) await insertRows(trx, 'outbox', some.map(columnsOf));
  if (rows[0] !== undefined) tellOnCommit(trx, rows[0].kind);
}

/** Inserts a row like `insertOutboxRow`, unless a row with its `once` exists. */
export async function insertOutboxRowIfNew(trx: Transaction, row: NewOutboxRow): Promise<void> {
  await trx(table(trx, 'outbox')).insert(columnsOf(row)).onConflict('once').ignore();
  tellOnCommit(trx, row.kind);
}

function columnsOf({ address, details, webhookId, lane, revision, orderId, ...row }: NewOutboxRow) {
  return fieldsToRow({
    ...row,
    recipientDigest: customerDigest(address),
    detailsJson: details && JSON.stringify(details),
    messageId: randomBytes(16).toString('hex'),
    orderId: orderId ?? null,
    webhookId: webhookId ?? null,
    lane: lane ?? null,
    revision: revision ?? null,
  });
}

const listeners = new WeakMap<object, Map<OutboxKind, () => void>>();

function tellOnCommit(trx: Transaction, kind: OutboxKind): void {
  const heard = listeners.get(databaseIdentity(trx))?.get(kind);
  if (heard) afterCommit(trx, heard);
}

/** Calls the listener after each commit of this process that queued a row of a kind. @returns removes the listener */
export function onEnqueued(db: Db, kind: OutboxKind, listener: () => void): () => void {
  const ofKinds = listeners.get(databaseIdentity(db)) ?? new Map<OutboxKind, () => void>();
  listeners.set(databaseIdentity(db), ofKinds.set(kind, listener));
  return () => void ofKinds.delete(kind);
}

const CANDIDATES = 16;

/**
 * Claims the row that has been due longest. It takes no lock: the condition on the attempts lets one instance win each
 * row, and a transaction that queues a row does not wait, as it would for the gap locks of a locking read.
 * @param until when other instances may take the row over
 * @returns undefined if no row is due
 */
export async function claimOutboxRow(
  db: Db,
  kind: OutboxKind,
  now: Date,
  until: Date,
): Promise<OutboxRow | undefined> {
  for (;;) {
    const due = await db(tableBy(db, 'outbox', 'kind', 'next_attempt_at'))
      .where({ kind })
      .where('next_attempt_at', '<=', toSqlTime(now))
      .orderBy(['next_attempt_at', 'id'])
      .limit(CANDIDATES);
    for (const candidate of due) {
      const claimed = await claimRow(db, rowToFields(candidate), now, until);
      if (claimed !== undefined) return claimed;
    }
    if (due.length < CANDIDATES) return undefined;
  }
}

/** Claims a row in the state in which it was read. @returns undefined if another instance has claimed it */
async function claimRow(db: Db, row: OutboxRow, now: Date, until: Date): Promise<OutboxRow | undefined> {
  const changes = { attempts: row.attempts + 1, nextAttemptAt: until, attemptedAt: now };
  if (!(await updateClaimedRow(db, row, changes))) return undefined;
  return { ...row, ...changes, attemptedBefore: row.attemptedAt, dueAt: row.nextAttemptAt };
}

const RECORD_PAUSE_MS = 1_000;

/**
 * Records something about a claimed row. If the database is unavailable, it retries until the claim ends, because a row
 * without a record is sent again.
 * @throws the database's error
 */
export async function retryUntilRecorded<T>(
  record: () => Promise<T>,
  { nextAttemptAt }: Pick<OutboxRow, 'nextAttemptAt'>,
  { now, stopping }: { now: () => Date; stopping: AbortSignal },
): Promise<T> {
  for (;;)
    try {
      return await record();
    } catch (error) {
      if (stopping.aborted || nextAttemptAt === null || now() >= nextAttemptAt) throw error;
      await sleep(RECORD_PAUSE_MS, undefined, { signal: stopping }).catch(() => undefined);
    }
}

/** Changes a waiting row unless it has been attempted since it was read. */
export async function updateClaimedRow(
  db: Db,
  { id, attempts }: Pick<OutboxRow, 'id' | 'attempts'>,
  changes: object,
): Promise<boolean> {
  const rows = db(table(db, 'outbox')).where({ id, attempts }).whereNotNull('next_attempt_at');
  return (await rows.update(fieldsToRow(changes))) === 1;
}

/** Records the reason why due rows are not attempted now, on the first rows without a reason. This is not an attempt. */
export async function setErrorOnDueRows(
  db: Db,
  kind: OutboxKind,
  now: Date,
  lastError: string,
  limit: number,
): Promise<void> {
  const ids = await db(tableBy(db, 'outbox', 'kind', 'next_attempt_at'))
    .where({ kind })
    .where('next_attempt_at', '<=', toSqlTime(now))
    .whereNull('last_error')
    .orderBy(['next_attempt_at', 'id'])
    .limit(limit)
    .pluck('id');
  // Another instance may have sent a row meanwhile.
  if (ids.length > 0)
    await db(table(db, 'outbox'))
      .whereIn('id', ids)
      .whereNotNull('next_attempt_at')
      .update({ last_error: lastError });
}

/** Deletes a row that must no longer be sent. */
export async function deleteOutboxRow(db: Db, id: number): Promise<void> {
  await db(table(db, 'outbox')).where({ id }).delete();
}

/** Lists a licence's rows, newest first. @param before only ids below this one */
export async function listOutboxOfLicense(
  db: Db,
  kind: OutboxKind,
  licenseId: number,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<OutboxRow[]> {
  const query = db(tableBy(db, 'outbox', 'license_id'))
    .where({ license_id: licenseId, kind })
    .orderBy('id', 'desc')
    .limit(limit);
  if (before !== undefined) query.where('id', '<', before);
  return (await query).map(rowToFields);
}

export async function findOutboxRow(db: Db, kind: OutboxKind, id: number): Promise<OutboxRow | undefined> {
  const row = await db(table(db, 'outbox')).where({ id, kind }).first();
  return row && rowToFields(row);
}

/** Marks a row that was given up as settled, permanently. */
export async function settleOutboxRow(trx: Transaction, id: number, now: Date): Promise<void> {
  await trx(table(trx, 'outbox'))
    .where({ id })
    .whereNull('settled_at')
    .update(fieldsToRow({ settledAt: now }));
}

/** Takes the deduplication key from a row, for the row that replaces it. @returns null if the row has no key, or another call took it */
export async function takeDedupKey(
  trx: Transaction,
  { id, once }: Pick<OutboxRow, 'id' | 'once'>,
): Promise<string | null> {
  if (once === null) return null;
  return (await trx(table(trx, 'outbox')).where({ id, once }).update({ once: null })) === 1 ? once : null;
}

/** The failed mails to find: all given up since a time, or those of an order, of licences, or to an address. */
export type FailuresOf = { since: Date } | { orderIds?: number[]; licenseIds?: number[]; address?: string };

/** Lists the mails that were given up and are not settled, newest first. */
export async function listOpenFailures(db: Db, of: FailuresOf, limit: number): Promise<OutboxRow[]> {
  if ('since' in of) return openFailures(db, ['failed_at'], 'o.failed_at >= ?', [toSqlTime(of.since)], limit);
  const { orderIds = [], licenseIds = [], address } = of;
  const found = [
    ...(orderIds.length === 0
      ? []
      : await openFailures(db, ['order_id'], `o.order_id ${inListSql(orderIds.length)}`, orderIds, limit)),
    ...(licenseIds.length === 0
      ? []
      : await openFailures(
          db,
          ['license_id'],
          `o.license_id ${inListSql(licenseIds.length)}`,
          licenseIds,
          limit,
        )),
    ...(address === undefined
      ? []
      : await openFailures(
          db,
          ['recipient_digest', 'created_at'],
          'o.recipient_digest = ?',
          [customerDigest(address)],
          limit,
        )),
  ];
  const byId = new Map(found.map((row) => [row.id, row]));
  return [...byId.values()].sort((a, b) => b.id - a.id).slice(0, limit);
}

async function openFailures(
  db: Db,
  index: string[],
  which: string,
  bindings: (string | number)[],
  limit: number,
): Promise<OutboxRow[]> {
  const rows = await rawRows<RowOf<Omit<OutboxRow, 'attemptedBefore' | 'dueAt'>>>(
    db,
    `SELECT o.* FROM ${table(db, 'outbox')} o${forceIndex(db, 'outbox', ...index)}
      WHERE ${which} AND o.kind = 'mail' AND o.failed_at IS NOT NULL AND ${isUnsettled(db)}
      ORDER BY o.failed_at DESC, o.id DESC LIMIT ${limit}`,
    bindings,
  );
  return rows.map((row) => rowToFields(row));
}

/** Returns the condition that mail `o` is open: not settled, and not sent later to the same order, licence or address. */
function isUnsettled(db: Db): string {
  const later = (column: string, ...index: string[]) =>
    `EXISTS (SELECT 1 FROM ${table(db, 'outbox')} l${forceIndex(db, 'outbox', column, ...index)}
      WHERE l.${column} = o.${column} AND l.type = o.type AND l.id > o.id AND l.sent_at IS NOT NULL)`;
  // A former address cannot be corrected.
  return `o.settled_at IS NULL AND o.type <> 'address_old' AND NOT ${later('order_id')}
    AND NOT (o.order_id IS NULL AND ${later('license_id')})
    AND NOT (o.order_id IS NULL AND o.license_id IS NULL AND ${later('recipient_digest', 'created_at')})`;
}

/** Finds a licence's latest row of a type. */
export async function findLatestOutboxRow(
  db: Db,
  type: string,
  licenseId: number,
): Promise<OutboxRow | undefined> {
  const row = await db(tableBy(db, 'outbox', 'license_id'))
    .where({ license_id: licenseId, type })
    .orderBy('id', 'desc')
    .first();
  return row && rowToFields(row);
}

/** Finds the latest mails with an order's keys, newest first. */
export async function findMailsOfOrder(
  db: Db,
  orderId: number,
  type: string,
  limit: number,
): Promise<OutboxRow[]> {
  const rows = await db(tableBy(db, 'outbox', 'order_id'))
    .where({ order_id: orderId, type })
    .orderBy('id', 'desc')
    .limit(limit);
  return rows.map(rowToFields);
}

/** Lists the newest mails, or with `failed` those given up and not settled, and those retried after a failure. */
export async function listOutbox(
  db: Db,
  kind: 'mail',
  { failed, limit }: { failed: boolean; limit: number },
): Promise<OutboxRow[]> {
  const rows = (from: FullName<'outbox'>) => db(from).where({ kind }).limit(limit);
  const newestFirst = [
    { column: 'created_at', order: 'desc' },
    { column: 'id', order: 'desc' },
  ];
  if (!failed)
    return (await rows(tableBy(db, 'outbox', 'kind', 'created_at')).orderBy(newestFirst)).map(rowToFields);
  const waiting = rows(table(db, 'outbox')).whereNotNull('next_attempt_at').whereNotNull('last_error');
  const found = [
    ...(await listOpenFailures(db, { since: new Date(0) }, limit)),
    ...(await waiting.orderBy(newestFirst)).map(rowToFields),
  ];
  return found.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || b.id - a.id).slice(0, limit);
}

/** Counts the unsettled mails given up since a time, up to a thousand, and the mails that are retried after a failure. */
export async function countUndelivered(db: Db, since: Date): Promise<{ failed: number; waiting: number }> {
  const waiting = db<object>(table(db, 'outbox')).where({ kind: 'mail' }).whereNotNull('next_attempt_at');
  const [row] = await waiting.whereNotNull('last_error').count<{ rows: number }[]>({ rows: '*' });
  return {
    failed: (await listOpenFailures(db, { since }, MAX_FAILURES)).length,
    waiting: Number(row?.rows),
  };
}

const MAX_FAILURES = 1_000;

/** Counts the rows of a kind that were due before a time and are not sent: no sender has handled them since. */
export async function countOverdue(db: Db, kind: OutboxKind, before: Date): Promise<number> {
  const [row] = await db<object>(tableBy(db, 'outbox', 'kind', 'next_attempt_at'))
    .where({ kind })
    .where('next_attempt_at', '<', toSqlTime(before))
    .count<{ rows: number }[]>({ rows: '*' });
  return Number(row?.rows);
}

/** Returns which of these unique names are queued or were sent. */
export async function findByDedupKeys(db: Db, names: string[]): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  return new Set(await db(table(db, 'outbox')).whereIn('once', names).pluck<string[]>('once'));
}

/** Deletes a few rows of a kind that are older than `before` and no longer attempted, or keeps them as proof. @returns how many */
export async function pruneOutbox(db: Db, kind: OutboxKind, before: Date, limit: number): Promise<number> {
  const rows = await db(tableBy(db, 'outbox', 'kind', 'created_at'))
    .where({ kind })
    .where('created_at', '<', toSqlTime(before))
    // A notice to very many customers waits for days.
    .where((row) => row.whereNull('next_attempt_at').orWhere('next_attempt_at', '<=', toSqlTime(before)))
    .orderBy('created_at')
    .limit(limit)
    .select('id', 'once');
  const isProof = ({ once }: { once: string | null }) => once?.startsWith(NOTICE_KEYS) ?? false;
  const among = (some: { id: number }[]) =>
    db(table(db, 'outbox')).whereIn(
      'id',
      some.map(({ id }) => id),
    );
  const kept = rows.filter(isProof);
  if (kept.length > 0) await among(kept).update({ kind: 'notice', next_attempt_at: null });
  if (kept.length < rows.length) await among(rows.filter((row) => !isProof(row))).delete();
  return rows.length;
}

/** Redirects an address's waiting mails of a type to another. A mail that is being sent still goes to the old one. */
export async function moveWaitingMails(
  trx: Transaction,
  type: string,
  from: string,
  to: string,
): Promise<void> {
  await waitingMails(trx, type, from).update({ recipient: to, recipient_digest: customerDigest(to) });
}

/** Assigns the mails of an address to another address. Their recipients stay unchanged. */
export async function moveMails(trx: Transaction, from: string, to: string): Promise<void> {
  await trx(tableBy(trx, 'outbox', 'recipient_digest', 'created_at'))
    .where({ recipient_digest: customerDigest(from) })
    .update({ recipient_digest: customerDigest(to) });
}

/** Deletes an address's waiting mails of a type. */
export async function deleteWaitingMails(trx: Transaction, type: string, address: string): Promise<void> {
  await waitingMails(trx, type, address).delete();
}

function waitingMails(trx: Transaction, type: string, address: string) {
  return trx(table(trx, 'outbox'))
    .where({ recipient_digest: customerDigest(address), kind: 'mail', type })
    .whereNotNull('next_attempt_at');
}

/** Deletes the mails about licences and the mails to addresses. @returns how many */
export async function deleteOutboxOf(
  db: Db,
  { licenseIds = [], addresses = [] }: { licenseIds?: number[]; addresses?: string[] },
): Promise<number> {
  const ids = new Set<number>();
  if (licenseIds.length > 0)
    for (const id of await db(tableBy(db, 'outbox', 'license_id'))
      .whereIn('license_id', licenseIds)
      .whereIn('kind', ['mail', 'notice'])
      .pluck('id'))
      ids.add(id);
  if (addresses.length > 0)
    for (const id of await db(tableBy(db, 'outbox', 'recipient_digest', 'created_at'))
      .whereIn('recipient_digest', addresses.map(customerDigest))
      .pluck('id'))
      ids.add(id);
  if (ids.size > 0)
    await db(table(db, 'outbox'))
      .whereIn('id', [...ids])
      .delete();
  return ids.size;
}
