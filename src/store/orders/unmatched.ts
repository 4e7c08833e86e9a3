import { table, type Db, type Transaction } from '../engine/database';
import { isDuplicate } from '../engine/errors';
import { fieldsToRow, rowToFields } from '../engine/row-fields';
import { tableBy } from '../engine/statements';

/** An event or message about money for which no order or licence was found. */

export interface Unmatched {
  id: number;
  shop: string;
  /** a digest of the event or message (orders/names.ts) */
  digest: string;
  /** the order with this event; null: a message without an order */
  orderId: number | null;
  messageId: number | null;
  /** an OrderEventName, or the sender's name for a message */
  event: string;
  /** the missing part */
  reason: string;
  /** open until an operator acts */
  state: 'open' | 'assigned' | 'issued' | 'left';
  at: Date;
  actedBy: string | null;
  actedAt: Date | null;
  /** the licence that it was assigned to, or that was issued for it */
  licenseId: number | null;
}

/** Stores it once. */
export async function insertUnmatchedOnce(
  db: Db,
  given: Omit<Unmatched, 'id' | 'state' | 'actedBy' | 'actedAt' | 'licenseId'>,
): Promise<void> {
  const row = { ...given, state: 'open' as const, actedBy: null, actedAt: null };
  const found = await db(table(db, 'unmatched')).where({ digest: given.digest }).first();
  if (found !== undefined) return;
  await db(table(db, 'unmatched'))
    .insert(fieldsToRow(row))
    .catch((error: unknown) => {
      if (!isDuplicate(error)) throw error;
    });
}

export async function findUnmatched(db: Db, id: number): Promise<Unmatched | undefined> {
  const row = await db(table(db, 'unmatched')).where({ id }).first();
  return row && rowToFields(row);
}

/** Closes an open entry, which locks its row. @returns whether it was open */
export async function closeUnmatched(
  trx: Transaction,
  id: number,
  changes: Pick<Unmatched, 'state' | 'actedBy' | 'actedAt'>,
): Promise<boolean> {
  const changed = await trx(table(trx, 'unmatched'))
    .where({ id, state: 'open' })
    .update(fieldsToRow(changes));
  return changed > 0;
}

export async function setUnmatchedLicense(trx: Transaction, id: number, licenseId: number): Promise<void> {
  await trx(table(trx, 'unmatched')).where({ id }).update({ license_id: licenseId });
}

/** Deletes entries that were matched since; entries that an operator acted on stay. */
export async function deleteUnmatched(db: Db, ids: number[]): Promise<void> {
  if (ids.length > 0) await db(table(db, 'unmatched')).whereIn('id', ids).where({ state: 'open' }).delete();
}

export async function listUnmatchedOf(
  db: Db,
  by: { orderId: number } | { messageId: number },
): Promise<Unmatched[]> {
  const column = 'orderId' in by ? 'order_id' : 'message_id';
  const rows = await db(tableBy(db, 'unmatched', column))
    .where(fieldsToRow(by))
    .orderBy('id');
  return rows.map(rowToFields);
}

/** Lists entries, newest first. */
export async function listUnmatched(
  db: Db,
  { shop, state = 'open' }: { shop?: string | undefined; state?: Unmatched['state'] | undefined },
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<Unmatched[]> {
  const query = db(tableBy(db, 'unmatched', ...(shop === undefined ? ['state'] : ['shop', 'state'])))
    .where({ state })
    .orderBy('id', 'desc')
    .limit(limit);
  if (shop !== undefined) query.where({ shop });
  if (before !== undefined) query.where('id', '<', before);
  return (await query).map(rowToFields);
}

/** Counts the open entries of each shop. */
export async function countUnmatched(db: Db): Promise<{ shop: string; count: number }[]> {
  const rows = await db(tableBy(db, 'unmatched', 'state'))
    .where({ state: 'open' })
    .groupBy('shop')
    .orderBy('shop')
    .select<{ shop: string; count: number | string }[]>('shop', db.raw('COUNT(*) AS count'));
  return rows.map(({ shop, count }) => ({ shop, count: Number(count) }));
}
