import { inChunks } from '../base/chunks';
import { customerDigest } from './customer-digest';
import { table, type Db } from './engine/database';
import { forceIndex, inListSql, orderedJoin, rawRows, tableBy } from './engine/statements';
import { fromSqlTime, toSqlTime } from './engine/time';
import type { LicenseSearchText } from './licenses/license-filters';
import { listSortedPositions } from './licenses/license-lists';

interface CustomerSum {
  customer: string;
  licenses: number;
  /** the earliest end among the active licences without automatic renewal; null: none of them ends */
  nextEnd: Date | null;
}

export interface CustomerFilter {
  /** only customers with licences that this search finds */
  search?: LicenseSearchText | undefined;
  /** cursor: only addresses after this one */
  after?: string | undefined;
  /** from Z to A */
  isDown?: boolean;
  limit: number;
}

/** Lists customers with sums of their licences, by address. */
export async function listCustomerSums(db: Db, filter: CustomerFilter, now: Date): Promise<CustomerSum[]> {
  const { search, after, isDown = false, limit } = filter;
  if (search !== undefined) return sumCustomers(db, await findAddresses(db, search, filter, now), now);
  const [way, further] = isDown ? ['DESC', '<'] : ['ASC', '>'];
  const licenses = `${table(db, 'licenses')}${forceIndex(db, 'licenses', 'customer')}`;
  const addresses = await rawRows<{ customer: string }>(
    db,
    `SELECT DISTINCT customer FROM ${licenses}
      WHERE customer ${after === undefined ? 'IS NOT NULL' : `${further} ?`} ORDER BY customer ${way} LIMIT ?`,
    [...(after === undefined ? [] : [after]), limit],
  );
  return sumCustomers(
    db,
    addresses.map(({ customer }) => customer),
    now,
  );
}

/** Finds the addresses of a page by reading the licences in the order of their customers. */
async function findAddresses(
  db: Db,
  search: LicenseSearchText,
  { after, isDown = false, limit }: CustomerFilter,
  now: Date,
): Promise<string[]> {
  const sort = { column: 'customer', isDown } as const;
  // After all licences of the address, and after those without a customer, which come first in descending order.
  const id = isDown ? 0 : Number.MAX_SAFE_INTEGER;
  // Most customers have one or two licences.
  const most = 4 * limit;
  const found: string[] = [];
  for (let last = after ?? (isDown ? LAST_ADDRESS : undefined); found.length < limit;) {
    const page = { sort, after: last === undefined ? undefined : { id, value: last }, limit: most };
    const places = await listSortedPositions(db, { search }, page, now);
    const addresses = [...new Set(places.flatMap(({ value }) => value ?? []))];
    found.push(...addresses);
    last = addresses.at(-1);
    if (places.length < most || places.at(-1)?.value === null) break;
  }
  return found.slice(0, limit);
}

const LAST_ADDRESS = '\u{10ffff}';

/** Sums up the licences of customers, in the order of these addresses. */
export async function sumCustomers(db: Db, addresses: string[], now: Date): Promise<CustomerSum[]> {
  const rows = await inChunks(addresses, (some) =>
    rawRows<{ customer: string; licenses: number; next_end: string | null }>(
      db,
      `SELECT customer, COUNT(*) AS licenses,
              MIN(CASE WHEN status = 'active' AND renews_itself = 0 AND expires_at > ? THEN expires_at END) AS next_end
         FROM ${table(db, 'licenses')}${forceIndex(db, 'licenses', 'customer')}
        WHERE customer ${inListSql(some.length)} GROUP BY customer`,
      [toSqlTime(now), ...some],
    ),
  );
  const sums = new Map(rows.map((row) => [row.customer, row]));
  return addresses.flatMap((customer) => {
    const row = sums.get(customer);
    if (row === undefined) return [];
    const { licenses, next_end: end } = row;
    return [{ customer, licenses, nextEnd: end === null ? null : fromSqlTime(end) }];
  });
}

/** Finds the address of the customer with an id. */
export async function findCustomerByDigest(db: Db, digest: string): Promise<string | undefined> {
  const found = await db(tableBy(db, 'licenses', 'customer_digest'))
    .where({ customer_digest: digest })
    .limit(1)
    .pluck('customer');
  return found[0] ?? undefined;
}

/** Finds the address of a customer whose orders have issued nothing. */
export async function findBuyerByDigest(db: Db, digest: string): Promise<string | undefined> {
  const found = await db(tableBy(db, 'orders', 'customer_digest'))
    .where({ customer_digest: digest })
    .limit(1)
    .pluck('customer');
  return found[0] ?? undefined;
}

/** Lists the ids of a customer's licences. */
export async function findLicenseIdsOf(db: Db, address: string): Promise<number[]> {
  return db(tableBy(db, 'licenses', 'customer_digest'))
    .where({ customer_digest: customerDigest(address) })
    .orderBy('id')
    .pluck('id');
}

/** Finds the seats that an address has on licences of other customers, by licence id, with the licences' main keys. */
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
