import { table, type Db } from '../engine/database';
import { forceIndex, licenseIndex, orderedJoin, rawRows, tableBy } from '../engine/statements';
import { toSqlTime } from '../engine/time';

/** A page of one customer's licences, with those that need attention first. */

interface CustomerLicenses {
  /** the licences of the page, in its order */
  ids: number[];
  /** sums of the whole list; `attention`: licences that end soon, have ended or are full */
  total: { licenses: number; sites: number; attention: number };
  /** whether the customer has more licences than the list */
  more: boolean;
}

interface Wanted {
  from: number;
  limit: number;
  /** the maximum of licences in the list, oldest first */
  most: number;
  now: Date;
  /** a licence that ends by this time ends soon */
  soon: Date;
}

const FOR_LIFE = '9999-12-31 23:59:59';

/**
 * Finds a page of a customer's licences in this order: ending soon, soonest first; ended, latest first; full; working,
 * including full licences for a single site; suspended; others.
 */
export async function findCustomerLicenses(
  db: Db,
  customer: string,
  { from, limit, most, now, soon }: Wanted,
): Promise<CustomerLicenses> {
  const licenses = `${table(db, 'licenses')} l${forceIndex(db, 'licenses', 'customer')}`;
  const list = `(SELECT l.id, l.expires_at, CASE
      WHEN l.status = 'suspended' THEN 4
      WHEN l.status NOT IN ('active', 'expired') THEN 5
      WHEN l.status = 'expired' OR l.expires_at <= ? THEN 1
      WHEN l.expires_at <= ? AND l.renews_itself = 0 THEN 0
      WHEN l.activation_limit > 1 AND l.activations_used >= l.activation_limit THEN 2
      ELSE 3 END AS place
    FROM ${licenses} WHERE l.customer = ? ORDER BY l.id LIMIT ?) mine`;
  const bindings = [toSqlTime(now), toSqlTime(soon), customer, most];
  const page = await rawRows<{ id: number }>(
    db,
    `SELECT id FROM ${list}
      ORDER BY place, CASE WHEN place <> 1 THEN COALESCE(expires_at, '${FOR_LIFE}') END,
               CASE WHEN place = 1 THEN COALESCE(expires_at, '${FOR_LIFE}') END DESC, id
      LIMIT ? OFFSET ?`,
    [...bindings, limit, from],
  );
  const [counted] = await rawRows<{ licenses: number; attention: number | string | null }>(
    db,
    `SELECT COUNT(*) AS licenses, SUM(CASE WHEN place < 3 THEN 1 ELSE 0 END) AS attention FROM ${list}`,
    bindings,
  );
  const [sites] = await rawRows<{ n: number }>(
    db,
    `SELECT COUNT(*) AS n FROM (SELECT l.id FROM ${licenses} WHERE l.customer = ? ORDER BY l.id LIMIT ?) mine
       ${orderedJoin(db)} ${table(db, 'activations')} a${forceIndex(db, 'activations', ...licenseIndex('activations'))}
         ON a.license_id = mine.id`,
    [customer, most],
  );
  const total = counted?.licenses ?? 0;
  return {
    ids: page.map(({ id }) => id),
    total: { licenses: total, sites: sites?.n ?? 0, attention: Number(counted?.attention ?? 0) },
    more: total === most && (await findCustomerLicenseIds(db, customer, most + 1)).length > most,
  };
}

/** Lists the ids of a customer's oldest licences, by reading only the index. */
export async function findCustomerLicenseIds(db: Db, customer: string, most: number): Promise<number[]> {
  return db(tableBy(db, 'licenses', 'customer'))
    .where({ customer })
    .orderBy('id')
    .limit(most)
    .pluck('id');
}
