import { customerDigest } from './customer-digest';
import { table, type Db } from './engine/database';
import { forceIndex, orderedJoin, rawRows, tableBy } from './engine/statements';
import { fromSqlTime, toSqlTime } from './engine/time';

interface CustomerSum {
  customer: string;
  licenses: number;
  /** the first end among the active licences that do not renew themselves; null: none of them ends */
  nextEnd: Date | null;
}

export interface CustomerFilter {
  /** the beginning of an address, in lower case */
  beginning?: string | undefined;
  /** cursor: only addresses behind this one */
  after?: string | undefined;
  /** from Z to A */
  isDown?: boolean;
  limit: number;
}

/** By address. */
export async function listCustomerSums(
  db: Db,
  { beginning = '', after, isDown = false, limit }: CustomerFilter,
  now: Date,
): Promise<CustomerSum[]> {
  const [way, further] = isDown ? ['DESC', '<'] : ['ASC', '>'];
  const licenses = `${table(db, 'licenses')}${forceIndex(db, 'licenses', 'customer')}`;
  // Not LIKE, which uses no index on SQLite.
  const range = 'customer >= ? AND customer < ?';
  const addresses = await rawRows<{ customer: string }>(
    db,
    `SELECT DISTINCT customer FROM ${licenses}
      WHERE ${range}${after === undefined ? '' : ` AND customer ${further} ?`} ORDER BY customer ${way} LIMIT ?`,
    [beginning, `${beginning}\u{10ffff}`, ...(after === undefined ? [] : [after]), limit],
  );
  const ends = [addresses[0], addresses.at(-1)].flatMap((one) => one?.customer ?? []);
  if (ends.length === 0) return [];
  // Of these alone: sums downwards would be made of all before the first is known.
  const rows = await rawRows<{ customer: string; licenses: number; next_end: string | null }>(
    db,
    `SELECT customer, COUNT(*) AS licenses,
            MIN(CASE WHEN status = 'active' AND renews_itself = 0 AND expires_at > ? THEN expires_at END) AS next_end
       FROM ${licenses} WHERE customer >= ? AND customer <= ? GROUP BY customer ORDER BY customer`,
    [toSqlTime(now), ...(isDown ? ends.reverse() : ends)],
  );
  const sums = rows.map(({ next_end, ...row }) => ({
    ...row,
    nextEnd: next_end === null ? null : fromSqlTime(next_end),
  }));
  return isDown ? sums.reverse() : sums;
}

/** The address of the customer with an id. */
export async function findCustomerByDigest(db: Db, digest: string): Promise<string | undefined> {
  const found = await db(tableBy(db, 'licenses', 'customer_digest'))
    .where({ customer_digest: digest })
    .limit(1)
    .pluck('customer');
  return found[0] ?? undefined;
}

/** The address of somebody whose orders have issued nothing. */
export async function findBuyerByDigest(db: Db, digest: string): Promise<string | undefined> {
  const found = await db(tableBy(db, 'orders', 'customer_digest'))
    .where({ customer_digest: digest })
    .limit(1)
    .pluck('customer');
  return found[0] ?? undefined;
}

/** The ids of a customer's licences. */
export async function findLicenseIdsOf(db: Db, address: string): Promise<number[]> {
  return db(tableBy(db, 'licenses', 'customer_digest'))
    .where({ customer_digest: customerDigest(address) })
    .orderBy('id')
    .pluck('id');
}

/** The seats that an address has on licences of other customers, by licence id, with the licences' main keys. */
export async function findSeatRows(
  db: Db,
  address: string,
): Promise<Record<string, string | number | null>[]> {
  return rawRows(
    db,
    `SELECT a.*, l.main_key_id FROM ${table(db, 'activations')} a${forceIndex(db, 'activations', 'identifier', 'license_id')}
       ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = a.license_id
       ${orderedJoin(db)} ${table(db, 'plans')} p${forceIndex(db, 'plans')} ON p.id = l.plan_id
      WHERE a.identifier = ? AND p.activation_type = 'seat' AND (l.customer IS NULL OR l.customer <> ?)
      ORDER BY a.license_id`,
    [address, address],
  );
}
