import { table, type Db } from './engine/database';
import { rowToFields, type RowOf } from './engine/row-fields';
import { forceIndex, rawRows } from './engine/statements';
import { toSqlTime } from './engine/time';

/** Recent answers for which the access log has no row: activations, and the latest check of each licence. */

/** A site that a client has activated. Sites that an import or an operator entered have no address. */
export interface RecentActivation {
  id: number;
  licenseId: number;
  identifier: string;
  activatedAt: Date;
}

export interface RecentCheck {
  /** the licence's id */
  id: number;
  lastCheckAt: Date;
  lastCheckIp: string;
}

const PAGE = 5_000;

/** Yields some thousand rows at once, in the order of their ids. */
export async function* readRecentActivations(db: Db, since: Date): AsyncGenerator<RecentActivation[]> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const rows: RowOf<RecentActivation>[] = await rawRows(
      db,
      `SELECT id, license_id, identifier, activated_at
         FROM ${table(db, 'activations')}${forceIndex(db, 'activations')}
        WHERE id > ? AND activated_at >= ? AND ip IS NOT NULL ORDER BY id LIMIT ${PAGE}`,
      [after, toSqlTime(since)],
    );
    yield rows.map(rowToFields);
    after = rows.length < PAGE ? undefined : rows.at(-1)?.id;
  }
}

/** Yields some thousand rows at once, in the order of their ids. */
export async function* readRecentChecks(db: Db, since: Date): AsyncGenerator<RecentCheck[]> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const rows: RowOf<RecentCheck>[] = await rawRows(
      db,
      `SELECT id, last_check_at, last_check_ip FROM ${table(db, 'licenses')}${forceIndex(db, 'licenses')}
        WHERE id > ? AND last_check_at >= ? AND last_check_ip IS NOT NULL ORDER BY id LIMIT ${PAGE}`,
      [after, toSqlTime(since)],
    );
    yield rows.map(rowToFields);
    after = rows.length < PAGE ? undefined : rows.at(-1)?.id;
  }
}
