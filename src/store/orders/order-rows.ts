import { table, type Db } from '../engine/database';
import { toFields } from '../engine/row-fields';
import { tableBy } from '../engine/statements';
import type { OrderEvent, OrderLicense } from './orders';
import { toOrderEvent } from './orders';

/** What an order's decision reads about several orders or licences at once. */

/** Lists what orders did to licences, the oldest first. */
export async function listLinks(
  db: Db,
  by: 'license_id' | 'order_id',
  ids: number[],
): Promise<OrderLicense[]> {
  if (ids.length === 0) return [];
  const rows = await db(tableBy(db, 'order_licenses', by))
    .whereIn(by, ids)
    .orderBy('id');
  return rows.map(toFields);
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
