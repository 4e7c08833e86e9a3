import { table, type Db } from '../engine/database';
import { rowToFields } from '../engine/row-fields';
import { tableBy } from '../engine/statements';
import { findEvents } from '../events';
import {
  findOrdersByDigest,
  listOrderLines,
  toOrderEvent,
  type OrderEvent,
  type OrderLicense,
  type OrderLine,
} from './orders';

/** Reads of several orders or licences at once, for the decision about an order. */

/** Lists what orders did to licences, oldest first. */
export async function listLinks(
  db: Db,
  by: 'license_id' | 'order_id',
  ids: number[],
): Promise<OrderLicense[]> {
  if (ids.length === 0) return [];
  const rows = await db(tableBy(db, 'order_licenses', by))
    .whereIn(by, ids)
    .orderBy('id');
  return rows.map(rowToFields);
}

/** Lists the events of orders, in the order of their arrival. */
export async function listEventsOf(db: Db, orderIds: number[]): Promise<OrderEvent[]> {
  if (orderIds.length === 0) return [];
  const rows = await db(tableBy(db, 'order_events', 'order_id', 'identity'))
    .whereIn('order_id', orderIds)
    .orderBy('id');
  return rows.map(toOrderEvent);
}

/** Returns which licences have activations. */
export async function findActivated(db: Db, licenseIds: number[]): Promise<number[]> {
  if (licenseIds.length === 0) return [];
  return db(table(db, 'activations')).whereIn('license_id', licenseIds).distinct().pluck('license_id');
}

/** Finds the licences whose latest suspension came from an order. Only the seller lifts a suspension by the seller. */
export async function findSuspendedByOrder(db: Db, licenseIds: number[]): Promise<number[]> {
  const held: number[] = [];
  for (const licenseId of licenseIds) {
    const [latest] = await findEvents(db, ['suspend', 'reinstate'], { licenseId, isWhole: true }, 1);
    if (latest?.action === 'suspend' && latest.after?.order !== undefined) held.push(licenseId);
  }
  return held;
}

/** The stored data of another order. */
export interface OtherOrder {
  id: number;
  lines: OrderLine[];
  events: OrderEvent[];
}

/** Reads what orders did to licences, and the data of the other orders. */
export async function readLinks(
  db: Db,
  orderId: number,
  own: OrderLicense[],
  licenseIds: number[],
): Promise<{ links: OrderLicense[]; others: OtherOrder[] }> {
  const of = await listLinks(db, 'license_id', licenseIds);
  const ids = [...new Set(of.map((link) => link.orderId))].filter((id) => id !== orderId);
  const theirs = await listLinks(db, 'order_id', ids);
  const byId = new Map([...own, ...of, ...theirs].map((one) => [one.id, one]));
  const lines = await listOrderLines(db, ids);
  const events = await listEventsOf(db, ids);
  const isOf = (id: number) => (row: { orderId: number }) => row.orderId === id;
  return {
    links: [...byId.values()].sort((a, b) => a.id - b.id),
    others: ids.map((id) => ({ id, lines: lines.filter(isOf(id)), events: events.filter(isOf(id)) })),
  };
}

/** Finds the licences of the first of these lines that exists in another order, with that order's digest. */
export async function findLicensesOfLine(
  db: Db,
  named: { digest: string; line: string | undefined }[],
  except: number,
): Promise<{ ids: number[]; awaited: string } | undefined> {
  const digests = named.map(({ digest }) => digest);
  const orders = await findOrdersByDigest(db, digests);
  for (const { digest, line: wanted } of named) {
    const order = orders.find((one) => one.digest === digest && one.id !== except);
    const lines = order === undefined ? [] : await listOrderLines(db, [order.id]);
    const of = lines.filter(({ line }) => wanted === undefined || line === wanted).map(({ id }) => id);
    if (order === undefined || of.length === 0) continue;
    const links = await listLinks(db, 'order_id', [order.id]);
    const ids = links.filter(({ lineId }) => of.includes(lineId)).map(({ licenseId }) => licenseId);
    return { ids: [...new Set(ids)].sort((a, b) => a - b), awaited: digest };
  }
  return undefined;
}
