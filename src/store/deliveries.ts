import { table, type Db, type Transaction } from './database';
import { changeClaimed, claimOutboxRow, claimRow, type OutboxRow } from './outbox';
import { toColumns, toFields } from './row-fields';
import { tableBy } from './statements';
import { toSqlTime } from './time';

/**
 * Rows of the outbox for receivers of webhooks. A licence's rows for a receiver are a lane: only its first waiting row, by
 * the licence's revision, may be sent. What waits behind a row that is sent, or tried again later, is put off to that row's
 * next attempt, so that a search for what is due does not meet it each time.
 */

export interface Delivery extends OutboxRow {
  kind: 'webhook' | 'webhook_now';
  webhookId: number;
  /** null: delivered, or in no order */
  lane: number | null;
  /** failed attempts of its present schedule */
  failures: number;
  /** the HTTP status of the latest answer */
  answerStatus: number | null;
  answer: string | null;
}

/** An attempt takes up to 15 s; a killed process's deliveries wait for the rest. */
const CLAIM_MS = 45_000;
const CANDIDATES = 32;
/** Put off in one statement. */
const AT_ONCE = 500;
/** Of one claim; what is left is claimed by the next. */
const MAX_ROUNDS = 50;

const toDelivery = (row: object): Delivery => toFields(row) as Delivery;

/**
 * Claims what is due for a receiver, each lane's first alone.
 * @param limit at most so many
 */
export async function claimDeliveries(
  db: Db,
  webhookId: number,
  { now, limit }: { now: Date; limit: number },
): Promise<Delivery[]> {
  const claimed: Delivery[] = [];
  for (let round = 0; round < MAX_ROUNDS && claimed.length < limit; round++) {
    const due = (
      (await db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
        .where({ webhook_id: webhookId, kind: 'webhook' })
        .where('next_attempt_at', '<=', toSqlTime(now))
        .orderBy(['next_attempt_at', 'id'])
        .limit(CANDIDATES)) as object[]
    ).map(toDelivery);
    const lanes = new Set(due.flatMap(({ lane }) => lane ?? []));
    const firsts = await findFirsts(db, webhookId, [...lanes]);
    const blocked = new Set<number>();
    for (const row of due) {
      const first = row.lane === null ? row : firsts.get(row.lane);
      // It was delivered meanwhile.
      if (first === undefined) continue;
      if (first.id !== row.id) blocked.add(first.lane as number);
      // The first may be due too without being among these candidates.
      if (first.nextAttemptAt === null || first.nextAttemptAt > now || first.kind !== 'webhook') continue;
      if (claimed.length === limit) return claimed;
      const won = await claimRow(db, first, now, claimEnd(now));
      if (won !== undefined) claimed.push(won);
      if (row.lane !== null) firsts.set(row.lane, won ?? { ...first, nextAttemptAt: null });
    }
    for (const lane of blocked) await putOffBehind(db, webhookId, firsts.get(lane) as Delivery, now);
    if (due.length < CANDIDATES) break;
  }
  return claimed;
}

/** The next of a lane whose row was delivered, unless it waits for its own next attempt. */
export async function claimNextOfLane(
  db: Db,
  { webhookId, lane }: { webhookId: number; lane: number },
  now: Date,
): Promise<Delivery | undefined> {
  const first = (await findFirsts(db, webhookId, [lane])).get(lane);
  if (first?.kind !== 'webhook') return undefined;
  const isPutOff = first.failures === 0 && first.attempts === 0;
  if (!isPutOff && (first.nextAttemptAt === null || first.nextAttemptAt > now)) return undefined;
  return claimRow(db, first, now, claimEnd(now));
}

/** Claims a row that is sent at once, whatever its order: a test, or a replay. */
export function claimDeliveryNow(db: Db, now: Date): Promise<Delivery | undefined> {
  return claimOutboxRow(db, 'webhook_now', now, claimEnd(now)) as Promise<Delivery | undefined>;
}

function claimEnd(now: Date): Date {
  return new Date(now.getTime() + CLAIM_MS);
}

/** The first waiting row of each lane. */
async function findFirsts(db: Db, webhookId: number, lanes: number[]): Promise<Map<number, Delivery>> {
  const [some, ...others] = lanes.map((lane) =>
    db.select('*').from(
      db(tableBy(db, 'outbox', 'webhook_id', 'lane', 'revision'))
        .where({ webhook_id: webhookId, lane })
        .whereNotNull('next_attempt_at')
        .orderBy(['revision', 'id'])
        .limit(1)
        .as('first'),
    ),
  );
  if (some === undefined) return new Map();
  const rows = ((await some.unionAll(others)) as object[]).map(toDelivery);
  return new Map(rows.map((row) => [row.lane as number, row]));
}

/** By ids: a search in the same statement would lock the gaps that changes insert into. */
async function putOffBehind(db: Db, webhookId: number, first: Delivery, now: Date): Promise<void> {
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
      .limit(AT_ONCE)
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
    if (rows.length < AT_ONCE) return;
    after = last;
  }
}

/** Lets the first of a lane go now if it only waited for another row. */
export async function releaseLane(
  db: Db,
  { webhookId, lane }: { webhookId: number; lane: number },
  now: Date,
): Promise<void> {
  const first = (await findFirsts(db, webhookId, [lane])).get(lane);
  if (first === undefined || first.attempts > 0) return;
  await changeClaimed(db, first, { nextAttemptAt: now });
}

/** Lets all that waits for a receiver's next attempts go now. What is claimed ends sooner, and is left alone. */
export async function resumeDeliveries(db: Db, webhookId: number, now: Date): Promise<void> {
  const beyond = toSqlTime(claimEnd(now));
  for (let ids: number[]; ;) {
    ids = await db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
      .where({ webhook_id: webhookId })
      .where('next_attempt_at', '>', beyond)
      .orderBy('next_attempt_at')
      .limit(AT_ONCE)
      .pluck<number[]>('id');
    if (ids.length === 0) return;
    await db(table(db, 'outbox'))
      .whereIn('id', ids)
      .where('next_attempt_at', '>', beyond)
      .update({ next_attempt_at: toSqlTime(now) });
  }
}

export async function findDelivery(db: Db, webhookId: number, id: number): Promise<Delivery | undefined> {
  const row = (await db(table(db, 'outbox')).where({ id, webhook_id: webhookId }).first()) as
    object | undefined;
  return row && toDelivery(row);
}

/** Sends a row at once, again or before its time. @returns false when it was claimed meanwhile */
export async function sendNow(db: Db, { id, attempts }: Delivery, now: Date): Promise<boolean> {
  const changed = await db(table(db, 'outbox'))
    .where({ id, attempts })
    .update(toColumns({ kind: 'webhook_now', nextAttemptAt: now, failures: 0, failedAt: null }));
  return changed === 1;
}

/** A receiver's rows, the newest first. */
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
  return ((await query) as object[]).map(toDelivery);
}

/** A receiver's rows that wait, those that go first at the front. */
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
  return ((await query) as object[]).map(toDelivery);
}

/** Waiting rows of a receiver, at most `most`. */
export async function countWaiting(db: Db, webhookId: number, most: number): Promise<number> {
  const waiting = db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
    .where({ webhook_id: webhookId })
    .whereNotNull('next_attempt_at')
    .limit(most)
    .select('id');
  const [row] = await db.from(waiting.as('waiting')).count<{ rows: number }[]>({ rows: '*' });
  return Number(row?.rows);
}

/** When the oldest row that is due was due; undefined: none is. */
export async function findOldestDue(db: Db, webhookId: number, now: Date): Promise<Date | undefined> {
  const row = (await db(tableBy(db, 'outbox', 'webhook_id', 'next_attempt_at'))
    .where({ webhook_id: webhookId })
    .where('next_attempt_at', '<=', toSqlTime(now))
    .orderBy('next_attempt_at')
    .select('next_attempt_at')
    .first()) as object | undefined;
  return row && ((toFields(row) as Delivery).nextAttemptAt as Date);
}

/** The receivers that rows are for, those that are gone too. */
export async function listReceiversOfRows(db: Db): Promise<number[]> {
  return db(table(db, 'outbox')).distinct('webhook_id').whereNotNull('webhook_id').pluck('webhook_id');
}

/** Removes a few rows of a receiver that is gone. @returns how many */
export async function deleteDeliveries(db: Db, webhookId: number, limit: number): Promise<number> {
  const ids = await db(tableBy(db, 'outbox', 'webhook_id', 'created_at'))
    .where({ webhook_id: webhookId })
    .limit(limit)
    .pluck<number[]>('id');
  if (ids.length > 0) await db(table(db, 'outbox')).whereIn('id', ids).delete();
  return ids.length;
}

/** The rows of licences for receivers, by id, for an erasure and a person's export. */
export async function listDeliveriesOfLicenses(
  db: Db,
  licenseIds: number[],
  after: number,
  limit: number,
): Promise<Delivery[]> {
  if (licenseIds.length === 0) return [];
  const rows = (await db(tableBy(db, 'outbox', 'license_id'))
    .whereIn('license_id', licenseIds)
    .whereNotNull('webhook_id')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)) as object[];
  return rows.map(toDelivery);
}

/** Drops an answer that was recorded after an erasure: it may repeat what was erased between the claim and the answer. */
export async function dropErasedAnswer(
  db: Db,
  { id, detailsJson }: Pick<Delivery, 'id' | 'detailsJson'>,
): Promise<void> {
  await db(table(db, 'outbox'))
    .where({ id })
    .whereNot({ details_json: detailsJson })
    .update({ answer: null });
}

/** Replaces what a row says. */
export async function setDeliveryTexts(
  trx: Transaction,
  id: number,
  texts: { detailsJson: string; answer: null; once: string | null },
): Promise<void> {
  await trx(table(trx, 'outbox')).where({ id }).update(toColumns(texts));
}
