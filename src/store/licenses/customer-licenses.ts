import { table, type Db } from '../engine/database';
import { forceIndex, licenseIndex, orderedJoin, rawRows, tableBy } from '../engine/statements';
import { toSqlTime } from '../engine/time';

/** The licences of one customer in the order of what needs attention, of which only a page is read. */

interface CustomerLicenses {
  /** of the page, in its order */
  ids: number[];
  /** of the list; `attention`: ends soon, has ended or is full */
  total: { licenses: number; sites: number; attention: number };
  /** whether the customer has more than the list */
  more: boolean;
}

interface Wanted {
  from: number;
  limit: number;
  /** licences of the list, the oldest */
  most: number;
  now: Date;
  /** a licence that ends by then ends soon */
  soon: Date;
}

const FOR_LIFE = '9999-12-31 23:59:59';

/**
 * What ends soon, the soonest first; what has ended, the latest first; what is full;
 * what works, and the full licences for one site; suspended; the others.
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

/** The ids of a customer's oldest licences, from the index alone. */
export async function findCustomerLicenseIds(db: Db, customer: string, most: number): Promise<number[]> {
  return db(tableBy(db, 'licenses', 'customer'))
    .where({ customer })
    .orderBy('id')
    .limit(most)
    .pluck('id');
}
