import { table, type Db, type Transaction } from '../engine/database';
import { isDuplicate } from '../engine/errors';
import { fieldsToRow, rowToFields, type RowOf } from '../engine/row-fields';
import { tableBy } from '../engine/statements';
import { toSqlTime } from '../engine/time';

/** Messages that receivers accepted, and the links between a shop's own ids that they reported. */

export interface ShopMessage {
  id: number;
  shop: string;
  /** idempotency: a digest of shop and the sender's id of the message (orders/names.ts) */
  digest: string;
  /** the sender's name for this type of message */
  type: string;
  /** a MessageResult (orders/inbox.ts) */
  result: string;
  reason: string | null;
  orderId: number | null;
  /** the digest of the link that it waits for; null: it does not wait */
  awaits: string | null;
  /** the work to do once the link exists */
  pendingJson: string | null;
  receivedAt: Date;
}

/** Stores a message once. @returns the stored message */
export async function insertMessageOnce(
  db: Db,
  message: Omit<ShopMessage, 'id'>,
): Promise<{ kept: ShopMessage; isNew: boolean }> {
  const find = () => db(table(db, 'shop_messages')).where({ digest: message.digest }).first();
  const found = await find();
  if (found !== undefined) return { kept: rowToFields(found), isNew: false };
  const isNew = await db(table(db, 'shop_messages'))
    .insert(fieldsToRow(message))
    .then(
      () => true,
      (error: unknown) => {
        if (!isDuplicate(error)) throw error;
        return false;
      },
    );
  return { kept: rowToFields((await find()) as RowOf<ShopMessage>), isNew };
}

export async function findMessage(db: Db, id: number): Promise<ShopMessage | undefined> {
  const row = await db(table(db, 'shop_messages')).where({ id }).first();
  return row && rowToFields(row);
}

export async function findMessageBy(db: Db, digest: string): Promise<ShopMessage | undefined> {
  const row = await db(table(db, 'shop_messages')).where({ digest }).first();
  return row && rowToFields(row);
}

export type MessageChanges = {
  [Field in 'result' | 'reason' | 'orderId' | 'awaits' | 'pendingJson']?: ShopMessage[Field] | undefined;
};

/** Changes a message: undefined keeps a value, null clears it. */
export async function setMessage(db: Db, id: number, changes: MessageChanges): Promise<void> {
  await db(table(db, 'shop_messages')).where({ id }).update(fieldsToRow(changes));
}

/** Lists the messages that wait for these links by id, oldest first. */
export async function listAwaitingMessages(db: Db, digests: string[]): Promise<ShopMessage[]> {
  if (digests.length === 0) return [];
  const rows = await db(tableBy(db, 'shop_messages', 'awaits'))
    .whereIn('awaits', digests)
    .orderBy('id');
  return rows.map(rowToFields);
}

/** Lists a shop's messages, newest first. */
export async function listMessages(
  db: Db,
  {
    shop,
    result,
    before,
    limit,
  }: { shop: string; result?: string | undefined; before?: number | undefined; limit: number },
): Promise<ShopMessage[]> {
  const query = db(tableBy(db, 'shop_messages', 'shop', ...(result === undefined ? [] : ['result'])))
    .where({ shop })
    .orderBy('id', 'desc')
    .limit(limit);
  if (result !== undefined) query.where({ result });
  if (before !== undefined) query.where('id', '<', before);
  return (await query).map(rowToFields);
}

/** Counts the messages with one of these results since a given time, by shop and result. */
export async function countMessages(
  db: Db,
  results: string[],
  since: Date,
): Promise<{ shop: string; result: string; messages: number }[]> {
  return db(tableBy(db, 'shop_messages', 'received_at'))
    .where('received_at', '>=', toSqlTime(since))
    .whereIn('result', results)
    .groupBy('shop', 'result')
    .orderBy('shop')
    .select<{ shop: string; result: string; messages: number }[]>(
      'shop',
      'result',
      db.raw('COUNT(*) AS messages'),
    );
}

/** Deletes messages that were received before a time, except for unmatched ones. @returns how many */
export async function pruneMessages(db: Db, before: Date, limit: number): Promise<number> {
  const ids = await db(tableBy(db, 'shop_messages', 'received_at'))
    .where('received_at', '<', toSqlTime(before))
    .whereNot({ result: 'unmatched' })
    .orderBy('received_at')
    .limit(limit)
    .pluck('id');
  return ids.length === 0 ? 0 : db(table(db, 'shop_messages')).whereIn('id', ids).delete();
}

/** A link from one of a shop's own ids. */
export interface ShopLink {
  id: number;
  shop: string;
  /** a digest of shop and id (orders/names.ts) */
  digest: string;
  /** key: a link to another id */
  kind: 'order' | 'key' | 'customer';
  /** the order's number, the other id, or the customer's address; null: the address was erased */
  target: string | null;
  /** for an order: the amount paid, in minor units of the currency (ISO 4217); null: unknown */
  paid: number | null;
  currency: string | null;
  /** for a customer: the time of the message with this address */
  createdAt: Date;
}

/** Stores a link. A newer message may change a customer's address; other links stay as first reported. */
export async function insertLinkOnce(db: Db, link: Omit<ShopLink, 'id'>): Promise<void> {
  const { digest, kind, target, createdAt } = link;
  try {
    await db(table(db, 'shop_links')).insert(fieldsToRow(link));
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    if (kind !== 'customer') return;
    await db(table(db, 'shop_links'))
      .where({ digest, kind })
      .where('created_at', '<=', toSqlTime(createdAt))
      .update(fieldsToRow({ target, createdAt }));
  }
}

/** Redirects the links to one customer's address to another address. */
export async function moveLinks(trx: Transaction, from: string, to: string): Promise<void> {
  await trx(tableBy(trx, 'shop_links', 'target'))
    .where({ kind: 'customer', target: from })
    .update({ target: to });
}

export async function findLink(db: Db, digest: string): Promise<ShopLink | undefined> {
  const row = await db(table(db, 'shop_links')).where({ digest }).first();
  return row && rowToFields(row);
}
