import { isSqlite, table, type Db } from '../engine/database';
import { rawChange, rawRows, tableBy } from '../engine/statements';

/** The number of messages that a receiver refused on a UTC day because of their signature. */

export interface RefusedDay {
  shop: string;
  /** such as `2026-11-24` */
  day: string;
  times: number;
}

/** Adds to a receiver's count of a day. */
export async function addRefused(db: Db, { shop, day, times }: RefusedDay): Promise<void> {
  const more = isSqlite(db)
    ? 'ON CONFLICT (shop, day) DO UPDATE SET times = times + excluded.times'
    : 'ON DUPLICATE KEY UPDATE times = times + VALUES(times)';
  await rawChange(
    db,
    `INSERT INTO ${table(db, 'shop_refusals')} (shop, day, times) VALUES (?, ?, ?) ${more}`,
    [shop, day, times],
  );
}

/** Lists the counts, newest day first. @param since the first day to list @param shop undefined: all shops */
export async function listRefusedDays(db: Db, since: string, shop?: string): Promise<RefusedDay[]> {
  const [where, values] = shop === undefined ? ['', []] : [' AND shop = ?', [shop]];
  return rawRows<RefusedDay>(
    db,
    `SELECT shop, day, times FROM ${table(db, 'shop_refusals')} WHERE day >= ?${where} ORDER BY day DESC, shop`,
    [since, ...values],
  );
}

/** Deletes a few counts of days before a given one. @returns how many */
export async function pruneRefusedDays(db: Db, before: string, limit: number): Promise<number> {
  const rows = await db(tableBy(db, 'shop_refusals', 'day'))
    .where('day', '<', before)
    .orderBy('day')
    .limit(limit)
    .select('shop', 'day');
  for (const { shop, day } of rows) await db(table(db, 'shop_refusals')).where({ shop, day }).delete();
  return rows.length;
}

export async function deleteRefusedDays(db: Db, shop: string): Promise<void> {
  await db(table(db, 'shop_refusals')).where({ shop }).delete();
}
