import type { Knex } from 'knex';
import { inChunks } from '../../base/chunks';
import { isSqlite, table, type Db, type Transaction } from '../engine/database';
import { customerDigest } from '../customer-digest';
import { fieldsToRow, rowToFields, type FieldsOf, type RowOf } from '../engine/row-fields';
import { insertCounted, insertRows, tableBy } from '../engine/statements';
import { toSqlTime } from '../engine/time';
import { refreshWords, refreshWordsOf } from '../search-words';
import { addMoney } from './money';

/** Orders of shops, with their events, their lines, and what each line did to licences. */

export interface Order {
  id: number;
  shop: string;
  /** the shop's number of the order */
  number: string;
  /** a digest of shop and number (orders/names.ts) */
  digest: string;
  /** the name of the token that posted it first; null: a receiver, or a Joomla account */
  owner: string | null;
  /** whether an `issue` token posted it; such an order reaches only its own licences */
  ownOnly: boolean;
  customer: string | null;
  customerName: string | null;
  /** the customer's language, as the shop reported it */
  language: string | null;
  /** whether its shop mails keys (orders/shop-kinds.ts), at the time when the order issued; null: it has issued nothing */
  mail: string | null;
  isTest: boolean;
  /** waiting: a line waits; failed: an unexpected error stopped it, and it is retried at `retryAt` */
  state: 'done' | 'waiting' | 'failed';
  /** the reason for the failure */
  failure: string | null;
  /** when it first failed */
  failedAt: Date | null;
  retryAt: Date | null;
  /** when the seller confirmed an order with too many lines */
  confirmedAt: Date | null;
  createdAt: Date;
}

export interface OrderEvent {
  id: number;
  orderId: number;
  /** an OrderEventName (orders/order-events.ts) */
  event: string;
  eventId: string | null;
  /** idempotency: a digest that distinguishes the order's events */
  identity: string;
  /** with milliseconds, which are stored in their own column */
  at: Date;
  atMs: number;
  receivedAt: Date;
  actor: string;
  /** whether it refunds only a part of the amount */
  partial: boolean;
  /** the shop's name of the payment */
  payment: string | null;
  /** whether it reported automatic renewal; false: none, or the subscription ended; null: not reported */
  renewsItself: boolean | null;
  /** for an upgrade: the Effect (orders/order-events.ts) of the shop's rules on licences that it removes */
  reduced: string | null;
  /** the shop's grace period at its arrival */
  graceDays: number;
  /** whether the sender marked it as a test */
  isTest: boolean;
  /** the Effect (orders/order-events.ts) that the shop's rules gave it at its arrival */
  effect: string;
  /** its lines as they arrived; null: all lines of the order */
  linesJson: string | null;
  /** for a payment or refund: minor units of the currency (ISO 4217) */
  amount: number | null;
  currency: string | null;
  /** its outcome by line; null: its order has not been processed with it */
  outcomeJson: string | null;
}

export interface OrderLine {
  id: number;
  orderId: number;
  line: string;
  sku: string | null;
  planId: number | null;
  quantity: number;
  /** JSON: an order, `order:line`, or a licence's id; null: it issues licences */
  renewsJson: string | null;
  /** the reason for waiting; null: it does not wait */
  waitsFor: string | null;
  /** the digest of the article or the order that it waits for */
  awaited: string | null;
}

/** A licence that a line issued or renewed. */
export interface OrderLicense {
  id: number;
  orderId: number;
  lineId: number;
  licenseId: number;
  role: 'issued' | 'renewed';
  /** its latest state: for an issued licence whether its orders suspended it, for a renewed one whether that is in force */
  state: 'active' | 'suspended' | 'cancelled' | 'taken_back';
  /** for a renewed licence: the paid-through date before; null: none */
  baseEndsAt: Date | null;
  /** JSON: its first plan, and the plans of the order's upgrades, by the identity of the event */
  plansJson: string;
}

/** @throws a duplicate (`isDuplicate`) if the order exists */
export async function insertOrder(trx: Transaction, order: Omit<Order, 'id'>): Promise<number> {
  const row = { ...order, customerDigest: customerDigest(order.customer) };
  const [id] = await insertCounted(trx, 'orders', [fieldsToRow(row)]);
  return id as number;
}

export async function findOrder(db: Db, by: { id: number } | { digest: string }): Promise<Order | undefined> {
  const row = await db(table(db, 'orders')).where(by).first();
  return row && toOrder(row);
}

/** Finds orders by their digests, without a lock. */
export async function findOrdersByDigest(db: Db, digests: string[]): Promise<Order[]> {
  if (digests.length === 0) return [];
  const rows = await db(tableBy(db, 'orders', 'digest')).whereIn('digest', digests);
  return rows.map(toOrder);
}

/** Finds orders that shops give this number, newest first. */
export async function findOrdersNumbered(db: Db, number: string, limit: number): Promise<Order[]> {
  if (Array.from(number).length > MAX_ORDER_LENGTH) return [];
  return listOrders(db, { number }, { limit });
}

const MAX_ORDER_LENGTH = 100;

/** Locks an order's row; the transaction locks licences after it, never before. */
export async function lockOrder(trx: Transaction, id: number): Promise<Order | undefined> {
  const orders = table(trx, 'orders');
  // SQLite has no FOR UPDATE: a write takes the write lock.
  if (isSqlite(trx)) await trx(orders).where({ id }).update({ id });
  const query = trx(orders).where({ id });
  const row = await (isSqlite(trx) ? query : query.forUpdate()).first();
  return row && toOrder(row);
}

/** Lists the ids of an address's orders, by an index. */
export async function findOrderIdsOf(db: Db, address: string): Promise<number[]> {
  return db(tableBy(db, 'orders', 'customer_digest'))
    .where({ customer_digest: customerDigest(address) })
    .orderBy('id')
    .pluck<number[]>('id');
}

/** Moves the address's orders among these to another address. From then on they are locked, by id. */
export async function moveOrders(trx: Transaction, ids: number[], from: string, to: string): Promise<void> {
  await trx(tableBy(trx, 'orders'))
    .whereIn('id', ids)
    .where({ customer: from })
    .update({ customer: to, customer_digest: customerDigest(to) });
}

export async function updateOrder(
  trx: Transaction,
  id: number,
  changes: Partial<Omit<Order, 'id' | 'shop' | 'number' | 'digest'>>,
): Promise<void> {
  const { customer } = changes;
  const digest = customer === undefined ? {} : { customerDigest: customerDigest(customer) };
  await trx(table(trx, 'orders'))
    .where({ id })
    .update(fieldsToRow({ ...changes, ...digest }));
  if (changes.customerName !== undefined) await refreshWordsOf(trx, 'orders', [id]);
}

export async function insertOrderEvent(trx: Transaction, event: Omit<OrderEvent, 'id'>): Promise<void> {
  await insertRows(trx, 'order_events', [fieldsToRow(event)]);
  if (event.amount !== null) await addMoney(trx, event);
}

export async function setOrderEvent(
  trx: Transaction,
  id: number,
  changes: Partial<Pick<OrderEvent, 'outcomeJson' | 'payment' | 'linesJson'>>,
): Promise<void> {
  await trx(table(trx, 'order_events')).where({ id }).update(fieldsToRow(changes));
}

export async function listOrderEvents(db: Db, orderId: number): Promise<OrderEvent[]> {
  const rows = await db(tableBy(db, 'order_events', 'order_id', 'identity'))
    .where({ order_id: orderId })
    .orderBy('id');
  return rows.map(toOrderEvent);
}

export function toOrderEvent(row: RowOf<OrderEvent>): OrderEvent {
  const event: OrderEvent = rowToFields(row);
  event.at = new Date(event.at.getTime() + event.atMs);
  return event;
}

/** Lists the events of orders that have an amount. */
export async function listMoneyEvents(db: Db, orderIds: number[]): Promise<OrderEvent[]> {
  return rowsOf(orderIds, (some) =>
    db(tableBy(db, 'order_events', 'order_id', 'identity'))
      .whereIn('order_id', some)
      .whereNotNull('amount'),
  );
}

/** @returns the ids, in the order of the lines */
export async function insertOrderLines(trx: Transaction, lines: Omit<OrderLine, 'id'>[]): Promise<number[]> {
  return lines.length === 0 ? [] : insertCounted(trx, 'order_lines', lines.map(fieldsToRow));
}

/** Lists the lines of orders, by id. */
export async function listOrderLines(db: Db, orderIds: number[]): Promise<OrderLine[]> {
  return rowsOf(orderIds, (some) =>
    db(tableBy(db, 'order_lines', 'order_id'))
      .whereIn('order_id', some)
      .orderBy('id'),
  );
}

export async function setOrderLine(
  trx: Transaction,
  id: number,
  changes: Partial<Omit<OrderLine, 'id' | 'orderId' | 'line'>>,
): Promise<void> {
  await trx(table(trx, 'order_lines')).where({ id }).update(fieldsToRow(changes));
}

/** @returns the ids, in the same order */
export async function insertOrderLicenses(
  trx: Transaction,
  licenses: Omit<OrderLicense, 'id'>[],
): Promise<number[]> {
  if (licenses.length === 0) return [];
  const ids = await insertCounted(trx, 'order_licenses', licenses.map(fieldsToRow));
  await refreshWords(
    trx,
    licenses.map(({ licenseId }) => licenseId),
  );
  return ids;
}

/** Lists the licences of orders, in the order in which they were issued or renewed. */
export async function listOrderLicenses(db: Db, orderIds: number[]): Promise<OrderLicense[]> {
  return rowsOf(orderIds, (some) =>
    db(tableBy(db, 'order_licenses', 'order_id'))
      .whereIn('order_id', some)
      .orderBy('id'),
  );
}

/** Lists what orders did to a licence, oldest first. */
export async function findOrderLicenses(db: Db, licenseId: number): Promise<OrderLicense[]> {
  const rows = await db(tableBy(db, 'order_licenses', 'license_id'))
    .where({ license_id: licenseId })
    .orderBy('id');
  return rows.map(rowToFields);
}

export async function setOrderLicense(
  trx: Transaction,
  id: number,
  changes: Partial<Pick<OrderLicense, 'state' | 'plansJson'>>,
): Promise<void> {
  await trx(table(trx, 'order_licenses')).where({ id }).update(fieldsToRow(changes));
}

async function rowsOf<R extends object>(
  orderIds: number[],
  find: (some: number[]) => Promise<R[]>,
): Promise<FieldsOf<R>[]> {
  return (await inChunks(orderIds, find)).map((row) => rowToFields(row));
}

/** An order, and a licence that it issued or renewed. */
export type LicenseOrder = Order & Pick<OrderLicense, 'licenseId' | 'role'>;

/** Lists the orders of licences, oldest first. */
export async function findOrdersOfLicenses(db: Db, licenseIds: number[]): Promise<LicenseOrder[]> {
  if (licenseIds.length === 0) return [];
  const rows = await db(db.raw(`${table(db, 'order_licenses')} ol`))
    .joinRaw(`JOIN ${table(db, 'orders')} o ON o.id = ol.order_id`)
    .whereIn('ol.license_id', licenseIds)
    .orderBy('ol.id')
    .select<RowOf<LicenseOrder & { customerDigest: string | null }>[]>('o.*', 'ol.license_id', 'ol.role');
  return rows.map((row) => toOrder(row) as LicenseOrder);
}

export interface OrderFilter {
  shop?: string | undefined;
  number?: string | undefined;
  state?: string | undefined;
  owner?: string | undefined;
  /** only orders whose keys could not be mailed because the address is missing */
  withoutAddress?: true | undefined;
}

/** Assigns some orders of a shop to a token's name. @returns whether there may be more */
export async function giveOrders(db: Db, shop: string, owner: string, limit: number): Promise<boolean> {
  const ids = await db(tableBy(db, 'orders', 'shop'))
    .where({ shop })
    .where((query) => query.whereNull('owner').orWhereNot({ owner }))
    .limit(limit)
    .pluck('id');
  if (ids.length > 0) await db(table(db, 'orders')).whereIn('id', ids).update({ owner });
  return ids.length === limit;
}

/** Lists orders by id, newest first unless `isDown` is false. */
export async function listOrders(
  db: Db,
  filter: OrderFilter,
  { after, limit, isDown = true }: { after?: number | undefined; limit: number; isDown?: boolean },
): Promise<Order[]> {
  const { withoutAddress, ...columns } = filter;
  const query = db(tableBy(db, 'orders', ...indexOf(filter)))
    .orderBy('id', isDown ? 'desc' : 'asc')
    .limit(limit);
  for (const [column, value] of Object.entries(columns) as [keyof typeof columns, string | undefined][])
    if (value !== undefined) query.where(column, value);
  if (withoutAddress) query.where(lacksAddress(db));
  if (after !== undefined) query.where('id', isDown ? '<' : '>', after);
  return (await query).map(toOrder);
}

/** Returns the index that leaves the fewest rows to read. */
function indexOf({ shop, number, state, owner, withoutAddress }: OrderFilter): string[] {
  if (number !== undefined) return ['number'];
  if (withoutAddress) return ['mail', 'customer_digest'];
  const first = owner === undefined ? (shop === undefined ? [] : ['shop']) : ['owner'];
  return state === undefined ? first : [...first, 'state'];
}

/** Returns the condition for orders whose shop mails keys, with a licence in force and no address. Tests have no `mail`. */
function lacksAddress(db: Db): Knex.QueryCallback {
  const issued = db(tableBy(db, 'order_licenses', 'order_id'))
    .whereRaw(`order_id = ${table(db, 'orders')}.id`)
    .where({ role: 'issued', state: 'active' })
    .select(db.raw('1'));
  return (orders) => void orders.where({ mail: 'key' }).whereNull('customer_digest').whereExists(issued);
}

/** Counts orders whose keys could not be mailed because the address is missing, up to `most`. */
export async function countWithoutAddress(db: Db, most: number, shop?: string): Promise<number> {
  const orders = db(tableBy(db, 'orders', 'mail', 'customer_digest')).where(lacksAddress(db));
  if (shop !== undefined) orders.where({ shop });
  return (await orders.limit(most).pluck('id')).length;
}

/** Counts the waiting orders of each shop, by shop. */
export async function countWaitingOrders(db: Db): Promise<{ shop: string; orders: number }[]> {
  return db(tableBy(db, 'orders', 'state'))
    .where({ state: 'waiting' })
    .groupBy('shop')
    .orderBy('shop')
    .select<{ shop: string; orders: number }[]>('shop', db.raw('COUNT(*) AS orders'));
}

/** Finds shops that the seller set up before a time and that have posted nothing yet. */
export async function findSilentShops(db: Db, before: Date): Promise<string[]> {
  return db(db.raw(`${table(db, 'shops')} s`))
    .whereNotNull('s.created_by')
    .where('s.created_at', '<', toSqlTime(before))
    .whereNotExists(
      db(tableBy(db, 'orders', 'shop'))
        .whereRaw('shop = s.name')
        .select(db.raw('1')),
    )
    .orderBy('s.name')
    .pluck('s.name');
}

/** The number of latest events that are searched. */
const LATEST_EVENTS = 10_000;

/** Finds shops that recently reported failed payments and have no address where customers pay. */
export async function findShopsWithoutBilling(db: Db): Promise<string[]> {
  const [last] = await db(table(db, 'order_events')).max({ id: 'id' });
  const failed = await db(table(db, 'order_events'))
    .where('id', '>', (last?.id ?? 0) - LATEST_EVENTS)
    .where({ event: 'payment_failed', is_test: 0 })
    .distinct()
    .pluck('order_id');
  const shops = await db(tableBy(db, 'orders'))
    .whereIn('id', failed.slice(-MAX_FAILED))
    .distinct()
    .pluck('shop');
  if (shops.length === 0) return [];
  return db(table(db, 'shops')).whereIn('name', shops).whereNull('billing_url').orderBy('name').pluck('name');
}

const MAX_FAILED = 500;

/** Lists the oldest waiting or failed orders of a shop, after an id. */
export async function listWaiting(
  db: Db,
  { shop, after, limit }: { shop: string; after: number; limit: number },
): Promise<number[]> {
  return db(tableBy(db, 'orders', 'shop', 'state'))
    .where({ shop })
    .whereIn('state', ['waiting', 'failed'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .pluck('id');
}

/** Lists failed orders that are due for a retry, after an id. */
export async function listRetried(
  db: Db,
  { after, limit, now }: { after: number; limit: number; now: Date },
): Promise<number[]> {
  return db(tableBy(db, 'orders', 'state'))
    .where({ state: 'failed' })
    .where('retry_at', '<=', toSqlTime(now))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .pluck('id');
}

/** Finds the oldest failed orders, and counts all. */
export async function findFailed(
  db: Db,
  limit: number,
  shop?: string,
): Promise<{ orders: Order[]; count: number }> {
  const of = shop === undefined ? {} : { shop };
  const failed = () =>
    db(tableBy(db, 'orders', ...Object.keys(of), 'state')).where({ ...of, state: 'failed' });
  const [counted] = await failed().count({ count: '*' });
  const orders = await failed().orderBy('id').limit(limit);
  return { orders: orders.map(toOrder), count: Number(counted?.count ?? 0) };
}

/** Lists the articles that orders wait for by digest, with a count and one order, whose article number may differ. */
export async function listUnmapped(
  db: Db,
  limit: number,
): Promise<{ shop: string; awaited: string; sku: string; orderId: number; orders: number }[]> {
  return db(db.raw(`${table(db, 'order_lines')} l`))
    .joinRaw(`JOIN ${table(db, 'orders')} o ON o.id = l.order_id`)
    .whereNotNull('l.awaited')
    .where('l.waits_for', 'not_mapped')
    .where('o.state', 'waiting')
    .groupBy('o.shop', 'l.awaited')
    .orderBy(['o.shop', 'sku'])
    .limit(limit)
    .select<{ shop: string; awaited: string; sku: string; orderId: number; orders: number }[]>(
      'o.shop',
      'l.awaited',
      db.raw('MIN(l.sku) AS sku'),
      db.raw('MIN(l.order_id) AS orderId'),
      db.raw('COUNT(DISTINCT o.id) AS orders'),
    );
}

/** Lists waiting orders after an id whose article is mapped now, or whose earlier order has licences now, by id. */
export async function listReady(
  db: Db,
  { after, limit }: { after: number; limit: number },
): Promise<number[]> {
  const lines = () =>
    db(db.raw(`${table(db, 'order_lines')} l`))
      .joinRaw(`JOIN ${table(db, 'orders')} own ON own.id = l.order_id`)
      .where('own.state', 'waiting')
      .whereNotNull('l.awaited')
      .where('l.order_id', '>', after)
      .orderBy('l.order_id')
      .limit(limit)
      .distinct<{ id: number }[]>('l.order_id AS id');
  const mapped = await lines().joinRaw(`JOIN ${table(db, 'shop_skus')} s ON s.awaited = l.awaited`);
  const arrived = await lines()
    .joinRaw(`JOIN ${table(db, 'orders')} o ON o.digest = l.awaited`)
    .joinRaw(`JOIN ${table(db, 'order_licenses')} ol ON ol.order_id = o.id`);
  const ids = [...new Set([...mapped, ...arrived].map(({ id }) => id))];
  return ids.sort((a, b) => a - b).slice(0, limit);
}

/** Lists orders with a line that waits for this digest. */
export async function listAwaitingOrders(db: Db, awaited: string, limit: number): Promise<number[]> {
  const ids = await db(tableBy(db, 'order_lines', 'awaited'))
    .where({ awaited })
    .limit(limit)
    .pluck('order_id');
  return [...new Set(ids)];
}

function toOrder(row: RowOf<Order & { customerDigest: string | null }>): Order {
  const { customerDigest: _digest, ...order } = rowToFields(row);
  return order;
}
