import type { Knex } from 'knex';
import { inChunks } from '../../base/chunks';
import { isSqlite, table, type Db, type Transaction } from '../engine/database';
import { customerDigest } from '../customer-digest';
import { toColumns, toFields, type FieldsOf, type RowOf } from '../engine/row-fields';
import { insertCounted, insertRows, tableBy } from '../engine/statements';
import { toSqlTime } from '../engine/time';
import { refreshWords, refreshWordsOf } from '../search-words';
import { addMoney } from './money';

/** Orders of shops, with their events, their lines, and what each line did to licences. */

export interface Order {
  id: number;
  shop: string;
  /** the shop's number of it */
  number: string;
  /** of shop and number (orders/names.ts) */
  digest: string;
  /** the name of the token that posted it first; null: a receiver, or a Joomla account */
  owner: string | null;
  /** an `issue` token posted it: it reaches no licences but its own */
  ownOnly: boolean;
  customer: string | null;
  customerName: string | null;
  /** the customer's, as the shop told it */
  language: string | null;
  /** whether its shop mails keys (orders/shop-kinds.ts), as it was when the order issued; null: it has issued nothing */
  mail: string | null;
  isTest: boolean;
  /** waiting: a line waits; failed: an unexpected error stopped it, and it is tried again at `retryAt` */
  state: 'done' | 'waiting' | 'failed';
  /** why it failed */
  failure: string | null;
  /** when it failed first */
  failedAt: Date | null;
  retryAt: Date | null;
  /** when the seller confirmed an order of too many lines */
  confirmedAt: Date | null;
  createdAt: Date;
}

export interface OrderEvent {
  id: number;
  orderId: number;
  /** an OrderEventName (orders/order-events.ts) */
  event: string;
  eventId: string | null;
  /** digest that tells the order's events apart */
  identity: string;
  /** with its milliseconds, which are a column of their own */
  at: Date;
  atMs: number;
  receivedAt: Date;
  actor: string;
  /** a part of the money only */
  partial: boolean;
  /** the shop's name of the payment that it is about */
  payment: string | null;
  /** whether it said that a subscription pays on by itself; false: it ended, too; null: it did not say */
  renewsItself: boolean | null;
  /** of an upgrade: what the shop's rules do with licences that it takes away, an Effect (orders/order-events.ts) */
  reduced: string | null;
  /** the shop's grace when it came */
  graceDays: number;
  /** the sender marked it as a test */
  isTest: boolean;
  /** what the shop's rules made of it when it came: an Effect (orders/order-events.ts) */
  effect: string;
  /** as they came; null: all lines of the order */
  linesJson: string | null;
  /** of a payment or refund: minor units of the currency (ISO 4217) */
  amount: number | null;
  currency: string | null;
  /** what it did, by line; null: its order has not been processed with it */
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
  /** why it waits; null: it does not */
  waitsFor: string | null;
  /** what it waits for: the digest of an article or an order */
  awaited: string | null;
}

/** A licence that a line issued or renewed. */
export interface OrderLicense {
  id: number;
  orderId: number;
  lineId: number;
  licenseId: number;
  role: 'issued' | 'renewed';
  /** what its orders last made of it: of an issued one whether they suspended it, of a renewed one whether it is in force */
  state: 'active' | 'suspended' | 'cancelled' | 'taken_back';
  /** of a renewed one: the paid end before; null: none */
  baseEndsAt: Date | null;
  /** JSON: the plan it began with, and those that the order's upgrades meant, by the identity of the event */
  plansJson: string;
}

/** @throws a duplicate (`isDuplicate`) when the order exists */
export async function insertOrder(trx: Transaction, order: Omit<Order, 'id'>): Promise<number> {
  const row = { ...order, customerDigest: customerDigest(order.customer) };
  const [id] = await insertCounted(trx, 'orders', [toColumns(row)]);
  return id as number;
}

export async function findOrder(db: Db, by: { id: number } | { digest: string }): Promise<Order | undefined> {
  const row = await db(table(db, 'orders')).where(by).first();
  return row && toOrder(row);
}

/** Orders by their digests, without a lock. */
export async function findOrdersByDigest(db: Db, digests: string[]): Promise<Order[]> {
  if (digests.length === 0) return [];
  const rows = await db(tableBy(db, 'orders', 'digest')).whereIn('digest', digests);
  return rows.map(toOrder);
}

/** Orders that shops give this number, the newest first. */
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

/** The ids of an address's orders. Reads by an index. */
export async function findOrderIdsOf(db: Db, address: string): Promise<number[]> {
  return db(tableBy(db, 'orders', 'customer_digest'))
    .where({ customer_digest: customerDigest(address) })
    .orderBy('id')
    .pluck<number[]>('id');
}

/** Gives an address's orders among these to another. They are locked from then on, by id. */
export async function moveOrders(trx: Transaction, ids: number[], from: string, to: string): Promise<void> {
  await trx(tableBy(trx, 'orders'))
    .whereIn('id', ids)
    .where({ customer: from })
    .update({ customer: to, customer_digest: customerDigest(to) });
}

export async function setOrder(
  trx: Transaction,
  id: number,
  changes: Partial<Omit<Order, 'id' | 'shop' | 'number' | 'digest'>>,
): Promise<void> {
  const { customer } = changes;
  const digest = customer === undefined ? {} : { customerDigest: customerDigest(customer) };
  await trx(table(trx, 'orders'))
    .where({ id })
    .update(toColumns({ ...changes, ...digest }));
  if (changes.customerName !== undefined) await refreshWordsOf(trx, 'orders', [id]);
}

export async function insertOrderEvent(trx: Transaction, event: Omit<OrderEvent, 'id'>): Promise<void> {
  await insertRows(trx, 'order_events', [toColumns(event)]);
  if (event.amount !== null) await addMoney(trx, event);
}

export async function setOrderEvent(
  trx: Transaction,
  id: number,
  changes: Partial<Pick<OrderEvent, 'outcomeJson' | 'payment' | 'linesJson'>>,
): Promise<void> {
  await trx(table(trx, 'order_events')).where({ id }).update(toColumns(changes));
}

export async function listOrderEvents(db: Db, orderId: number): Promise<OrderEvent[]> {
  const rows = await db(tableBy(db, 'order_events', 'order_id', 'identity'))
    .where({ order_id: orderId })
    .orderBy('id');
  return rows.map(toOrderEvent);
}

export function toOrderEvent(row: RowOf<OrderEvent>): OrderEvent {
  const event: OrderEvent = toFields(row);
  event.at = new Date(event.at.getTime() + event.atMs);
  return event;
}

/** The events of orders that have an amount. */
export async function listMoneyEvents(db: Db, orderIds: number[]): Promise<OrderEvent[]> {
  return rowsOf(orderIds, (some) =>
    db(tableBy(db, 'order_events', 'order_id', 'identity'))
      .whereIn('order_id', some)
      .whereNotNull('amount'),
  );
}

/** @returns the ids, in the order of the lines */
export async function insertOrderLines(trx: Transaction, lines: Omit<OrderLine, 'id'>[]): Promise<number[]> {
  return lines.length === 0 ? [] : insertCounted(trx, 'order_lines', lines.map(toColumns));
}

/** The lines of orders, by id. */
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
  await trx(table(trx, 'order_lines')).where({ id }).update(toColumns(changes));
}

/** @returns their ids, in the same order */
export async function insertOrderLicenses(
  trx: Transaction,
  licenses: Omit<OrderLicense, 'id'>[],
): Promise<number[]> {
  if (licenses.length === 0) return [];
  const ids = await insertCounted(trx, 'order_licenses', licenses.map(toColumns));
  await refreshWords(
    trx,
    licenses.map(({ licenseId }) => licenseId),
  );
  return ids;
}

/** The licences of orders, in the order they were issued or renewed. */
export async function listOrderLicenses(db: Db, orderIds: number[]): Promise<OrderLicense[]> {
  return rowsOf(orderIds, (some) =>
    db(tableBy(db, 'order_licenses', 'order_id'))
      .whereIn('order_id', some)
      .orderBy('id'),
  );
}

/** What orders did to a licence, the oldest first. */
export async function findOrderLicenses(db: Db, licenseId: number): Promise<OrderLicense[]> {
  const rows = await db(tableBy(db, 'order_licenses', 'license_id'))
    .where({ license_id: licenseId })
    .orderBy('id');
  return rows.map(toFields);
}

export async function setOrderLicense(
  trx: Transaction,
  id: number,
  changes: Partial<Pick<OrderLicense, 'state' | 'plansJson'>>,
): Promise<void> {
  await trx(table(trx, 'order_licenses')).where({ id }).update(toColumns(changes));
}

async function rowsOf<R extends object>(
  orderIds: number[],
  find: (some: number[]) => Promise<R[]>,
): Promise<FieldsOf<R>[]> {
  return (await inChunks(orderIds, find)).map((row) => toFields(row));
}

/** An order, and a licence that it issued or renewed. */
export type LicenseOrder = Order & Pick<OrderLicense, 'licenseId' | 'role'>;

/** The orders of licences, the oldest first. */
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
  /** only orders whose keys could not be mailed for want of an address */
  withoutAddress?: true | undefined;
}

/** Gives some orders of a shop to a token's name. @returns whether there may be more */
export async function giveOrders(db: Db, shop: string, owner: string, limit: number): Promise<boolean> {
  const ids = await db(tableBy(db, 'orders', 'shop'))
    .where({ shop })
    .where((query) => query.whereNull('owner').orWhereNot({ owner }))
    .limit(limit)
    .pluck('id');
  if (ids.length > 0) await db(table(db, 'orders')).whereIn('id', ids).update({ owner });
  return ids.length === limit;
}

/** By id, the newest first unless `isDown` is false. */
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

/** The index that leaves the fewest rows to look at. */
function indexOf({ shop, number, state, owner, withoutAddress }: OrderFilter): string[] {
  if (number !== undefined) return ['number'];
  if (withoutAddress) return ['mail', 'customer_digest'];
  const first = owner === undefined ? (shop === undefined ? [] : ['shop']) : ['owner'];
  return state === undefined ? first : [...first, 'state'];
}

/** Orders of shops that mail keys, with a licence in force and nobody to whom its key could be sent. Tests have no `mail`. */
function lacksAddress(db: Db): Knex.QueryCallback {
  const issued = db(tableBy(db, 'order_licenses', 'order_id'))
    .whereRaw(`order_id = ${table(db, 'orders')}.id`)
    .where({ role: 'issued', state: 'active' })
    .select(db.raw('1'));
  return (orders) => void orders.where({ mail: 'key' }).whereNull('customer_digest').whereExists(issued);
}

/** Counts orders whose keys could not be mailed for want of an address, up to `most`. */
export async function countWithoutAddress(db: Db, most: number, shop?: string): Promise<number> {
  const orders = db(tableBy(db, 'orders', 'mail', 'customer_digest')).where(lacksAddress(db));
  if (shop !== undefined) orders.where({ shop });
  return (await orders.limit(most).pluck('id')).length;
}

/** How many orders wait, of each shop; those of the most first. */
export async function countWaiting(db: Db): Promise<{ shop: string; orders: number }[]> {
  return db(tableBy(db, 'orders', 'state'))
    .where({ state: 'waiting' })
    .groupBy('shop')
    .orderBy('shop')
    .select<{ shop: string; orders: number }[]>('shop', db.raw('COUNT(*) AS orders'));
}

/** Shops that somebody set up before a time, and that have posted nothing yet. */
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

/** So many of the latest events are looked at. */
const LATEST_EVENTS = 10_000;

/** Shops that told of failed payments not long ago, and have no address where customers pay. */
export async function findShopsWithoutBilling(db: Db): Promise<string[]> {
  const [last] = await db(table(db, 'order_events')).max({ id: 'id' });
  const failed = await db(table(db, 'order_events'))
    .where('id', '>', (last?.id ?? 0) - LATEST_EVENTS)
    .where({ event: 'payment_failed', is_test: 0 })
    .distinct()
    .pluck('order_id');
  const shops = await db(tableBy(db, 'orders'))
    .whereIn('id', failed.slice(-MOST_FAILED))
    .distinct()
    .pluck('shop');
  if (shops.length === 0) return [];
  return db(table(db, 'shops')).whereIn('name', shops).whereNull('billing_url').orderBy('name').pluck('name');
}

const MOST_FAILED = 500;

/** The oldest orders of a shop that wait or failed, after an id. */
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

/** Orders that failed and are due to be tried again, after an id. */
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

/** The oldest orders that failed, and how many there are. */
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

/** Articles that orders wait for by their digests, how many wait, and one of them; its line may have been sold as another. */
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

/** Orders after an id with a line whose article is mapped by now, or whose earlier order has licences by now; by id. */
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

/** Orders with a line that waits for this digest. */
export async function listAwaiting(db: Db, awaited: string, limit: number): Promise<number[]> {
  const ids = await db(tableBy(db, 'order_lines', 'awaited'))
    .where({ awaited })
    .limit(limit)
    .pluck('order_id');
  return [...new Set(ids)];
}

function toOrder(row: RowOf<Order & { customerDigest: string | null }>): Order {
  const { customerDigest: _digest, ...order } = toFields(row);
  return order;
}
