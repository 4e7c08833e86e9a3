import { type Db } from '../engine/database';
import { rowToFields, type RowOf } from '../engine/row-fields';
import { tableBy } from '../engine/statements';
import { toSqlTime } from '../engine/time';

export interface LicenseEnd {
  id: number;
  expiresAt: Date;
}

/** Lists active licences that end within a time, by end and id, after a position. */
export async function listLicenseEnds(
  db: Db,
  { after, upTo }: { after: Date; upTo: Date },
  place: LicenseEnd | undefined,
  limit: number,
): Promise<LicenseEnd[]> {
  const from = place === undefined ? toSqlTime(after) : toSqlTime(place.expiresAt);
  const query = db(tableBy(db, 'licenses', 'expires_at'))
    .where('expires_at', place === undefined ? '>' : '>=', from)
    .where('expires_at', '<=', toSqlTime(upTo))
    .where({ status: 'active' })
    .orderBy(['expires_at', 'id'])
    .limit(limit)
    .select<RowOf<LicenseEnd>[]>('id', 'expires_at');
  if (place !== undefined)
    query.where((behind) => behind.where('expires_at', '>', from).orWhere('id', '>', place.id));
  return (await query).map(rowToFields);
}
