import { table, type Db } from './engine/database';
import { rowToFields, type RowOf } from './engine/row-fields';
import { tableBy } from './engine/statements';
import { toSqlTime } from './engine/time';

/** A licence whose customer may be reminded that it ends. */
export interface EndingLicense {
  id: number;
  expiresAt: Date;
  createdAt: Date;
  /** all its payments were refunded or charged back */
  allReturned: boolean;
}

/** Lists the plans of the products whose customers are reminded. */
export async function listPlansToRemind(db: Db): Promise<number[]> {
  return db({ p: table(db, 'plans') })
    .join({ r: table(db, 'products') }, 'r.id', 'p.product_id')
    .where('r.reminders', 1)
    .pluck('p.id');
}

/** Lists active licences of these plans with a customer, without automatic renewal, by end and id, after a position. */
export async function listEnds(
  db: Db,
  planIds: number[],
  { after, upTo }: { after: Date; upTo: Date },
  place: Pick<EndingLicense, 'id' | 'expiresAt'> | undefined,
  limit: number,
): Promise<EndingLicense[]> {
  const query = db(tableBy(db, 'licenses', 'expires_at'))
    .where('expires_at', '>', toSqlTime(after))
    .where('expires_at', '<=', toSqlTime(upTo))
    .where({ status: 'active', renews_itself: 0 })
    .whereNotNull('customer')
    .whereIn('plan_id', planIds)
    .orderBy(['expires_at', 'id'])
    .limit(limit)
    .select<RowOf<EndingLicense>[]>('id', 'expires_at', 'created_at', 'all_returned');
  if (place !== undefined) {
    const end = toSqlTime(place.expiresAt);
    query
      .where('expires_at', '>=', end)
      .where((either) => either.where('expires_at', '>', end).orWhere('id', '>', place.id));
  }
  return (await query).map(rowToFields);
}
