import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunksOf } from '../base/chunks';
import { customerDigest } from './customer-digest';
import { sharedBy, table, type Db, type FullName, type Transaction } from './engine/database';
import { toColumns, toFields, type RowOf } from './engine/row-fields';
import { forceIndex, insertCounted, insertRows, isOneOf, rawRows, tableBy } from './engine/statements';
import { toSqlTime } from './engine/time';
import { afterCommit } from './engine/transaction';

/**
 * What has to be sent, as rows that the transaction of the change inserts. Whoever sends a row claims it first, and a claim
 * ends by itself, so that another instance takes over what a killed one had begun: at least once.
 */

/** Each kind has its own sender; `webhook_now` is a webhook's row that goes before all others (deliveries.ts). */
export type OutboxKind = 'mail' | 'webhook' | 'webhook_now';

export interface NewOutboxRow {
  kind: OutboxKind;
  type: string;
  licenseId: number | null;
  orderId?: number | undefined;
  /** an e-mail address; null: found when it is sent, or nobody's */
  recipient: string | null;
  /** the address by whose digest the row is found and counted */
  address: string | null;
  details: object | null;
  language: string;
  /** unique among all rows; null: it may be queued again */
  once: string | null;
  createdAt: Date;
  nextAttemptAt: Date;
  /** of webhooks alone */
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
  /** null: sent or given up; of a claimed row the end of its claim */
  nextAttemptAt: Date | null;
  attempts: number;
  attemptedAt: Date | null;
  /** of a claimed row: the attempt before */
  attemptedBefore?: Date | null;
  /** of a claimed row: since when it was due */
  dueAt?: Date | null;
  sentAt: Date | null;
  failedAt: Date | null;
  /** of a mail that was given up: when the seller sent it again, or dismissed it */
  settledAt: Date | null;
  /** why the latest attempt failed: a code, without addresses */
  lastError: string | null;
  once: string | null;
}

/** @returns its id. Tells this process's sender (`onQueued`) once the transaction is committed. */
export async function insertOutboxRow(trx: Transaction, row: NewOutboxRow): Promise<number> {
  const [id] = await insertCounted(trx, 'outbox', [columnsOf(row)]);
  tellOnCommit(trx, row.kind);
  return id as number;
}

/** `insertOutboxRow` for several rows of one kind. */
export async function insertOutboxRows(trx: Transaction, rows: NewOutboxRow[]): Promise<void> {
  for (const some of chunksOf(rows)) await insertRows(trx, 'outbox', some.map(columnsOf));
  if (rows[0] !== undefined) tellOnCommit(trx, rows[0].kind);
}

/** `insertOutboxRow` for a row that may be there already, by its `once`. */
export async function insertOutboxRowOnce(trx: Transaction, row: NewOutboxRow): Promise<void> {
  await trx(table(trx, 'outbox')).insert(columnsOf(row)).onConflict('once').ignore();
  tellOnCommit(trx, row.kind);
}

function columnsOf({ address, details, webhookId, lane, revision, orderId, ...row }: NewOutboxRow) {
  return toColumns({
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
  const heard = listeners.get(sharedBy(trx))?.get(kind);
  if (heard) afterCommit(trx, heard);
}

/** Calls the listener after each commit of this process that has queued something of a kind. @returns ends that */
export function onQueued(db: Db, kind: OutboxKind, listener: () => void): () => void {
  const ofKinds = listeners.get(sharedBy(db)) ?? new Map<OutboxKind, () => void>();
  listeners.set(sharedBy(db), ofKinds.set(kind, listener));
  return () => void ofKinds.delete(kind);
}

const CANDIDATES = 16;

/**
 * Claims the row that is due first. Without a lock: the condition on the attempts lets one instance win each row, and nobody
 * who queues waits for it, as they would for the gap locks of a locking read.
 * @param until when others may take it over
 * @returns undefined: nothing is due
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
      const claimed = await claimRow(db, toFields(candidate), now, until);
      if (claimed !== undefined) return claimed;
    }
    if (due.length < CANDIDATES) return undefined;
  }
}

/** Claims a row as it was read. @returns undefined: another instance has */
async function claimRow(db: Db, row: OutboxRow, now: Date, until: Date): Promise<OutboxRow | undefined> {
  const changes = { attempts: row.attempts + 1, nextAttemptAt: until, attemptedAt: now };
  if (!(await changeClaimed(db, row, changes))) return undefined;
  return { ...row, ...changes, attemptedBefore: row.attemptedAt, dueAt: row.nextAttemptAt };
}

const RECORD_PAUSE_MS = 1_000;

/**
 * Records something about a claimed row. Tries until the claim ends when the database is away, because a row that is not
 * recorded is sent again.
 * @throws the database's error
 */
export async function untilRecorded<T>(
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

/** Changes a waiting row that has had no attempt since it was read. */
export async function changeClaimed(
  db: Db,
  { id, attempts }: Pick<OutboxRow, 'id' | 'attempts'>,
  changes: object,
): Promise<boolean> {
  const rows = db(table(db, 'outbox')).where({ id, attempts }).whereNotNull('next_attempt_at');
  return (await rows.update(toColumns(changes))) === 1;
}

/** Notes why rows that are due are not tried now, on those without a reason; the first ones. It is not an attempt. */
export async function noteOnDueRows(
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
  // Another instance may have sent one meanwhile.
  if (ids.length > 0)
    await db(table(db, 'outbox'))
      .whereIn('id', ids)
      .whereNotNull('next_attempt_at')
      .update({ last_error: lastError });
}

/** Removes a row that is not to be sent any more. */
export async function deleteOutboxRow(db: Db, id: number): Promise<void> {
  await db(table(db, 'outbox')).where({ id }).delete();
}

/** A licence's rows, the newest first. @param before only ids below this one */
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
  return (await query).map(toFields);
}

export async function findOutboxRow(db: Db, kind: OutboxKind, id: number): Promise<OutboxRow | undefined> {
  const row = await db(table(db, 'outbox')).where({ id, kind }).first();
  return row && toFields(row);
}

/** Marks a row that was given up as settled, for good. */
export async function settleOutboxRow(trx: Transaction, id: number, now: Date): Promise<void> {
  await trx(table(trx, 'outbox'))
    .where({ id })
    .whereNull('settled_at')
    .update(toColumns({ settledAt: now }));
}

/** Whose mails: all that were given up since a time, or those of an order, of licences, or to an address. */
export type FailuresOf = { since: Date } | { orderIds?: number[]; licenseIds?: number[]; address?: string };

/** The mails that were given up and are not settled, the newest first. */
export async function listOpenFailures(db: Db, of: FailuresOf, limit: number): Promise<OutboxRow[]> {
  if ('since' in of) return openFailures(db, ['failed_at'], 'o.failed_at >= ?', [toSqlTime(of.since)], limit);
  const { orderIds = [], licenseIds = [], address } = of;
  const found = [
    ...(orderIds.length === 0
      ? []
      : await openFailures(db, ['order_id'], `o.order_id ${isOneOf(orderIds.length)}`, orderIds, limit)),
    ...(licenseIds.length === 0
      ? []
      : await openFailures(
          db,
          ['license_id'],
          `o.license_id ${isOneOf(licenseIds.length)}`,
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
  return rows.map((row) => toFields(row));
}

/** Whether nobody has settled a mail `o`, and no later one of the same kind for the same order, licence or address was sent. */
function isUnsettled(db: Db): string {
  const later = (column: string, ...index: string[]) =>
    `EXISTS (SELECT 1 FROM ${table(db, 'outbox')} l${forceIndex(db, 'outbox', column, ...index)}
      WHERE l.${column} = o.${column} AND l.type = o.type AND l.id > o.id AND l.sent_at IS NOT NULL)`;
  // Nobody can correct a former address.
  return `o.settled_at IS NULL AND o.type <> 'address_old' AND NOT ${later('order_id')}
    AND NOT (o.order_id IS NULL AND ${later('license_id')})
    AND NOT (o.order_id IS NULL AND o.license_id IS NULL AND ${later('recipient_digest', 'created_at')})`;
}

/** A licence's latest row of a type. */
export async function findLatestOutboxRow(
  db: Db,
  type: string,
  licenseId: number,
): Promise<OutboxRow | undefined> {
  const row = await db(tableBy(db, 'outbox', 'license_id'))
    .where({ license_id: licenseId, type })
    .orderBy('id', 'desc')
    .first();
  return row && toFields(row);
}

/** The latest mails of an order's keys, the newest first. */
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
  return rows.map(toFields);
}

/** The newest mails, or those that were given up and are not settled or wait for another attempt after a failed one. */
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
    return (await rows(tableBy(db, 'outbox', 'kind', 'created_at')).orderBy(newestFirst)).map(toFields);
  const waiting = rows(table(db, 'outbox')).whereNotNull('next_attempt_at').whereNotNull('last_error');
  const found = [
    ...(await listOpenFailures(db, { since: new Date(0) }, limit)),
    ...(await waiting.orderBy(newestFirst)).map(toFields),
  ];
  return found.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || b.id - a.id).slice(0, limit);
}

/** How many mails were given up since then and are not settled, up to a thousand, and how many are tried again after a failure. */
export async function countUndelivered(db: Db, since: Date): Promise<{ failed: number; waiting: number }> {
  const waiting = db<object>(table(db, 'outbox')).where({ kind: 'mail' }).whereNotNull('next_attempt_at');
  const [row] = await waiting.whereNotNull('last_error').count<{ rows: number }[]>({ rows: '*' });
  return {
    failed: (await listOpenFailures(db, { since }, MOST_FAILURES)).length,
    waiting: Number(row?.rows),
  };
}

const MOST_FAILURES = 1_000;

/** How many rows of a kind were due before a time, and are still not sent. Nobody has looked at them since. */
export async function countDueBefore(db: Db, kind: OutboxKind, before: Date): Promise<number> {
  const [row] = await db<object>(tableBy(db, 'outbox', 'kind', 'next_attempt_at'))
    .where({ kind })
    .where('next_attempt_at', '<', toSqlTime(before))
    .count<{ rows: number }[]>({ rows: '*' });
  return Number(row?.rows);
}

/** Those of these unique names that are queued, or were sent. */
export async function findQueuedOnce(db: Db, names: string[]): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  return new Set(await db(table(db, 'outbox')).whereIn('once', names).pluck<string[]>('once'));
}

/** Deletes a few rows of a kind older than `before`, which nobody tries any more. @returns how many */
export async function pruneOutbox(db: Db, kind: OutboxKind, before: Date, limit: number): Promise<number> {
  const ids = await db(tableBy(db, 'outbox', 'kind', 'created_at'))
    .where({ kind })
    .where('created_at', '<', toSqlTime(before))
    .orderBy('created_at')
    .limit(limit)
    .pluck('id');
  if (ids.length > 0) await db(table(db, 'outbox')).whereIn('id', ids).delete();
  return ids.length;
}

/** Sends an address's waiting mails of a type to another. One that is on its way now goes where it was going. */
export async function moveWaitingMails(
  trx: Transaction,
  type: string,
  from: string,
  to: string,
): Promise<void> {
  await waitingMails(trx, type, from).update({ recipient: to, recipient_digest: customerDigest(to) });
}

/** Says that the mails to an address are another's from now on. They go where they were going. */
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

/** Deletes the mails about licences, and those for addresses. @returns how many */
export async function deleteOutboxOf(
  db: Db,
  { licenseIds = [], addresses = [] }: { licenseIds?: number[]; addresses?: string[] },
): Promise<number> {
  const ids = new Set<number>();
  if (licenseIds.length > 0)
    for (const id of await db(tableBy(db, 'outbox', 'license_id'))
      .whereIn('license_id', licenseIds)
      .where({ kind: 'mail' })
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
