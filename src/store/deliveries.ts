import { isSqlite, table, type Db, type Transaction } from './engine/database';
import { updateClaimedRow, claimOutboxRow, type OutboxRow } from './outbox';
import { fieldsToRow, rowToFields, type RowOf } from './engine/row-fields';
import { forceIndex, rawRows, tableBy } from './engine/statements';
import { toSqlTime } from './engine/time';
import { inTransaction } from './engine/transaction';

/**
 * Rows of the outbox for webhook receivers. The rows of one licence for one receiver are a lane: only its first waiting
 * row, by the licence's revision, may be sent. Rows that wait behind a row being sent or retried are postponed to that
 * row's next attempt, so that a search for due rows does not find them each time.
 */

/** The columns that a webhook delivery uses; they are empty in the row of a mail. */
export interface DeliveryColumns {
  webhookId: number | null;
  /** null: delivered, or sent in no particular order */
  lane: number | null;
  /** the licence's revision when the row was queued */
  revision: number | null;
  /** failed attempts of the present retry schedule */
  failures: number;
  /** the HTTP status of the latest answer */
  answerStatus: number | null;
  answer: string | null;
}

export interface Delivery extends OutboxRow, DeliveryColumns {
  kind: 'webhook' | 'webhook_now';
  webhookId: number;
}

/** The duration of a claim. An attempt takes up to 15 s; the deliveries of a killed process wait until the claim ends. */
const CLAIM_MS = 45_000;
const CANDIDATES = 32;
/** The number of rows that one statement postpones. */
const BATCH_SIZE = 500;
/** The maximum number of rounds of one claim; the next claim takes the remaining rows. */
const MAX_ROUNDS = 50;

/**
 * The columns that decide a row's turn. Searches read only these columns, and whole rows are read by their ids: a union
 * of rows with long texts makes MariaDB write a table to disk for each search.
 */
type Place = Pick<
  OutboxRow & DeliveryColumns,
  'id' | 'kind' | 'lane' | 'revision' | 'attempts' | 'failures' | 'nextAttemptAt'
>;
const PLACE = ['id', 'kind', 'lane', 'revision', 'attempts', 'failures', 'next_attempt_at'] as const;

/** Converts a row that has a receiver. */
const toDelivery = (row: object): Delivery =>
  rowToFields(row as RowOf<Omit<Delivery, 'attemptedBefore' | 'dueAt'>>);

/** Claims the due rows of a receiver, only the first of each lane. @param limit the maximum number of rows */
export async function claimDeliveries(
  db: Db,
  webhookId: number,
  { now, limit }: { now: Date; limit: number },
): Promise<Delivery[]> {
  const claimed: Delivery[] = [];
  for (let round = 0; round < MAX_ROUNDS && claimed.length < limit; round++) {
    const due = (
      await db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
        .where({ webhook_id: webhookId, kind: 'webhook' })
        .where('next_attempt_at', '<=', toSqlTime(now))
        .orderBy(['next_attempt_at', 'id'])
        .limit(CANDIDATES)
        .select(...PLACE)
    ).map(rowToFields);
    const lanes = new Set(due.flatMap(({ lane }) => lane ?? []));
    const firsts = await findFirsts(db, webhookId, [...lanes]);
    const wanted = new Map<number, Place>();
    const blocked = new Set<number>();
    for (const row of due) {
      const first = row.lane === null ? row : firsts.get(row.lane);
      // The lane's rows were delivered meanwhile.
      if (first === undefined) continue;
      if (first.id !== row.id) blocked.add(first.lane as number);
      // The lane's first row may also be due without being among these candidates.
      if (isDue(first, now)) wanted.set(first.id, first);
    }
    const won = await claimRows(db, [...wanted.values()].slice(0, limit - claimed.length), now);
    claimed.push(...won);
    if (claimed.length === limit) return claimed;
    for (const row of won) if (row.lane !== null) firsts.set(row.lane, row);
    for (const lane of blocked) await putOffBehind(db, webhookId, firsts.get(lane) as Place, now);
    if (due.length < CANDIDATES) break;
  }
  return claimed;
}

function isDue({ kind, nextAttemptAt }: Place, now: Date): boolean {
  return kind === 'webhook' && nextAttemptAt !== null && nextAttemptAt <= now;
}

/**
 * Claims rows in the state in which they were read, in one commit.
 * @returns the rows that no other instance has claimed or is claiming at this moment
 */
async function claimRows(db: Db, wanted: Place[], now: Date): Promise<Delivery[]> {
  if (wanted.length === 0) return [];
  const attempts = new Map(wanted.map((row) => [row.id, row.attempts]));
  const until = claimEnd(now);
  return inTransaction(db, async (trx) => {
    const held = await lockRows(trx, [...attempts.keys()], { skipLocked: true });
    const won = held.filter((row) => row.nextAttemptAt !== null && row.attempts === attempts.get(row.id));
    const ids = won.map(({ id }) => id);
    if (ids.length > 0)
      await trx(tableBy(trx, 'outbox'))
        .whereIn('id', ids)
        .update({
          ...fieldsToRow({ nextAttemptAt: until, attemptedAt: now }),
          attempts: trx.raw('attempts + 1'),
        });
    return won.map((row) => ({
      ...row,
      attempts: row.attempts + 1,
      nextAttemptAt: until,
      attemptedAt: now,
      attemptedBefore: row.attemptedAt,
    }));
  });
}

/** Locks rows by known ids, because changes insert into the gaps that a search would lock. SQLite has one write lock. */
async function lockRows(trx: Transaction, ids: number[], { skipLocked = false } = {}): Promise<Delivery[]> {
  const rows = trx(tableBy(trx, 'outbox')).whereIn('id', ids).orderBy('id');
  if (!isSqlite(trx)) rows.forUpdate();
  if (skipLocked && !isSqlite(trx)) rows.skipLocked();
  return (await rows).map(toDelivery);
}

export interface Lane {
  webhookId: number;
  lane: number;
}

/** Claims the next rows of lanes whose previous rows were delivered, unless these wait for a retry of their own. */
export async function claimNextInLanes(db: Db, lanes: Lane[], now: Date): Promise<Delivery[]> {
  const wanted: Place[] = [];
  for (const [webhookId, some] of groupByReceiver(lanes))
    for (const first of (await findFirsts(db, webhookId, some)).values()) {
      const isPutOff = first.failures === 0 && first.attempts === 0;
      if (isDue(first, now) || (first.kind === 'webhook' && isPutOff)) wanted.push(first);
    }
  return claimRows(db, wanted, now);
}

function groupByReceiver(lanes: Lane[]): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const { webhookId, lane } of lanes) groups.set(webhookId, [...(groups.get(webhookId) ?? []), lane]);
  return groups;
}

/**
 * Records the outcomes of claimed rows, in one commit. An answer is not stored if an erasure has changed its row since
 * the claim, because the answer may repeat what was erased.
 * @returns for each row whether the claim still held: another instance may have claimed it, or an erasure deleted it
 */
export function recordOutcomes(
  db: Db,
  outcomes: { row: Delivery; outcome: Partial<Delivery> }[],
): Promise<boolean[]> {
  return inTransaction(db, async (trx) => {
    const ids = outcomes.map(({ row }) => row.id);
    const held = new Map((await lockRows(trx, ids)).map((row) => [row.id, row]));
    // Rows with the same outcome are one statement.
    const alike = new Map<string, { columns: ReturnType<typeof fieldsToRow>; ids: number[] }>();
    const isRecorded = outcomes.map(({ row, outcome }) => {
      const { attempts, nextAttemptAt, detailsJson } = held.get(row.id) ?? {};
      if (attempts !== row.attempts || nextAttemptAt === null) return false;
      const columns = fieldsToRow(detailsJson === row.detailsJson ? outcome : { ...outcome, answer: null });
      const name = JSON.stringify(columns);
      const some = alike.get(name) ?? { columns, ids: [] };
      some.ids.push(row.id);
      alike.set(name, some);
      return true;
    });
    for (const some of alike.values())
      await trx(tableBy(trx, 'outbox')).whereIn('id', some.ids).update(some.columns);
    return isRecorded;
  });
}

/** Claims a row that is sent at once, regardless of its lane: a test, or a replay. */
export function claimDeliveryNow(db: Db, now: Date): Promise<Delivery | undefined> {
  return claimOutboxRow(db, 'webhook_now', now, claimEnd(now)) as Promise<Delivery | undefined>;
}

function claimEnd(now: Date): Date {
  return new Date(now.getTime() + CLAIM_MS);
}

/** Finds the first waiting row of each lane. */
async function findFirsts(db: Db, webhookId: number, lanes: number[]): Promise<Map<number, Place>> {
  if (lanes.length === 0) return new Map();
  const first = `SELECT ${PLACE.join(', ')}
      FROM ${table(db, 'outbox')}${forceIndex(db, 'outbox', 'webhook_id', 'lane', 'revision')}
     WHERE webhook_id = ? AND lane = ? AND next_attempt_at IS NOT NULL ORDER BY revision, id LIMIT 1`;
  // SQLite allows no parentheses there, and without them ORDER BY would sort the whole union.
  const one = isSqlite(db) ? `SELECT * FROM (${first})` : `(${first})`;
  const rows = await rawRows<RowOf<Place>>(
    db,
    lanes.map(() => one).join(' UNION ALL '),
    lanes.flatMap((lane) => [webhookId, lane]),
  );
  return new Map(rows.map(rowToFields).map((row) => [row.lane as number, row]));
}

/** Postpones a lane's other rows. By ids: a search in the same statement would lock the gaps that changes insert into. */
async function putOffBehind(db: Db, webhookId: number, first: Place, now: Date): Promise<void> {
  const { lane, id, nextAttemptAt } = first;
  if (nextAttemptAt === null || nextAttemptAt <= now) return;
  const until = toSqlTime(nextAttemptAt);
  for (let after = { revision: -1, id: 0 }; ;) {
    const rows = await db(tableBy(db, 'outbox', 'webhook_id', 'lane', 'revision'))
      .where({ webhook_id: webhookId, lane, kind: 'webhook' })
      .where('revision', '>=', after.revision)
      .where((later) => later.where('revision', '>', after.revision).orWhere('id', '>', after.id))
      .where('next_attempt_at', '<', until)
      .whereNot({ id })
      .orderBy(['revision', 'id'])
      .limit(BATCH_SIZE)
      .select<{ id: number; revision: number }[]>('id', 'revision');
    const last = rows.at(-1);
    if (last === undefined) return;
    await db(table(db, 'outbox'))
      .whereIn(
        'id',
        rows.map((row) => row.id),
      )
      .where('next_attempt_at', '<', until)
      .update({ next_attempt_at: until });
    if (rows.length < BATCH_SIZE) return;
    after = last;
  }
}

/** Makes the first row of a lane due now if it only waited for another row. */
export async function releaseLane(db: Db, { webhookId, lane }: Lane, now: Date): Promise<void> {
  const first = (await findFirsts(db, webhookId, [lane])).get(lane);
  if (first === undefined || first.attempts > 0) return;
  await updateClaimedRow(db, first, { nextAttemptAt: now });
}

/** Makes all rows due now that wait for a receiver's next attempts. Claimed rows are left alone: claims end sooner. */
export async function resumeDeliveries(db: Db, webhookId: number, now: Date): Promise<void> {
  const beyond = toSqlTime(claimEnd(now));
  for (let ids: number[]; ;) {
    ids = await db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
      .where({ webhook_id: webhookId })
      .where('next_attempt_at', '>', beyond)
      .orderBy('next_attempt_at')
      .limit(BATCH_SIZE)
      .pluck('id');
    if (ids.length === 0) return;
    await db(table(db, 'outbox'))
      .whereIn('id', ids)
      .where('next_attempt_at', '>', beyond)
      .update({ next_attempt_at: toSqlTime(now) });
  }
}

export async function findDelivery(db: Db, webhookId: number, id: number): Promise<Delivery | undefined> {
  const row = await db(table(db, 'outbox')).where({ id, webhook_id: webhookId }).first();
  return row && toDelivery(row);
}

/** Sends a row at once, again or before its time. @returns false if it was claimed meanwhile */
export async function sendNow(db: Db, { id, attempts }: Delivery, now: Date): Promise<boolean> {
  const changed = await db(table(db, 'outbox'))
    .where({ id, attempts })
    .update(fieldsToRow({ kind: 'webhook_now', nextAttemptAt: now, failures: 0, failedAt: null }));
  return changed === 1;
}

/** Lists a receiver's rows, newest first. */
export async function listDeliveries(
  db: Db,
  webhookId: number,
  { after, limit }: { after: { at: string; id: number } | undefined; limit: number },
): Promise<Delivery[]> {
  const query = db(tableBy(db, 'outbox', 'webhook_id', 'created_at'))
    .where({ webhook_id: webhookId })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit);
  if (after !== undefined)
    query.where('created_at', '<=', after.at).whereRaw('(created_at < ? OR id < ?)', [after.at, after.id]);
  return (await query).map(toDelivery);
}

/** Lists a receiver's waiting rows, sorted by their next attempt. */
export async function listWaitingDeliveries(
  db: Db,
  webhookId: number,
  { after, limit }: { after: { at: string; id: number } | undefined; limit: number },
): Promise<Delivery[]> {
  const query = db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
    .where({ webhook_id: webhookId })
    .whereNotNull('next_attempt_at')
    .orderBy(['next_attempt_at', 'id'])
    .limit(limit);
  if (after !== undefined)
    query
      .where('next_attempt_at', '>=', after.at)
      .whereRaw('(next_attempt_at > ? OR id > ?)', [after.at, after.id]);
  return (await query).map(toDelivery);
}

/** Counts the waiting rows of a receiver, up to `most`. */
export async function countWaitingDeliveries(db: Db, webhookId: number, most: number): Promise<number> {
  const waiting = db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
    .where({ webhook_id: webhookId })
    .whereNotNull('next_attempt_at')
    .limit(most)
    .select('id');
  const [row] = await db.from(waiting.as('waiting')).count<{ rows: number }[]>({ rows: '*' });
  return Number(row?.rows);
}

/** Returns when the oldest due row was due; undefined if no row is due. */
export async function findOldestDue(db: Db, webhookId: number, now: Date): Promise<Date | undefined> {
  const row = await db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
    .where({ webhook_id: webhookId })
    .where('next_attempt_at', '<=', toSqlTime(now))
    .orderBy('next_attempt_at')
    .select<RowOf<{ nextAttemptAt: Date }>[]>('next_attempt_at')
    .first();
  return row && rowToFields(row).nextAttemptAt;
}

/** Lists the receivers that have rows, including deleted receivers. */
export async function listReceiversOfRows(db: Db): Promise<number[]> {
  return db(table(db, 'outbox'))
    .distinct('webhook_id')
    .whereNotNull('webhook_id')
    .pluck<number[]>('webhook_id');
}

/** Deletes a few rows of a deleted receiver. @returns how many */
export async function deleteDeliveries(db: Db, webhookId: number, limit: number): Promise<number> {
  const ids = await db(tableBy(db, 'outbox', 'webhook_id', 'created_at'))
    .where({ webhook_id: webhookId })
    .limit(limit)
    .pluck('id');
  if (ids.length > 0) await db(table(db, 'outbox')).whereIn('id', ids).delete();
  return ids.length;
}

/** Lists the webhook rows of licences, by id, for an erasure and a person's export. */
export async function listDeliveriesOfLicenses(
  db: Db,
  licenseIds: number[],
  after: number,
  limit: number,
): Promise<Delivery[]> {
  if (licenseIds.length === 0) return [];
  const rows = await db(tableBy(db, 'outbox', 'license_id'))
    .whereIn('license_id', licenseIds)
    .whereNotNull('webhook_id')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit);
  return rows.map(toDelivery);
}

/** Replaces the texts of a row. */
export async function setDeliveryTexts(
  trx: Transaction,
  id: number,
  texts: { detailsJson: string; answer: null; once: string | null },
): Promise<void> {
  await trx(table(trx, 'outbox')).where({ id }).update(fieldsToRow(texts));
}
