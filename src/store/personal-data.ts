import { isSqlite, table, type Db, type TableName, type Transaction } from './database';
import type { Row, SqlValue } from './export';

/** Where customers may be named, or their addresses stand: what is exported and erased for them. */

/** Every column in which a text can stand that somebody typed. */
export const TEXT_COLUMNS = {
  products: ['name', 'element', 'update_xml'],
  plans: ['name'],
  licenses: ['customer', 'reference'],
  activations: ['identifier', 'name'],
  releases: ['changelog', 'file_name'],
  access_log: ['identifier', 'user_agent', 'version'],
  events: ['actor', 'before_json', 'after_json'],
} as const satisfies Partial<Record<TableName, readonly string[]>>;
export type TextTable = keyof typeof TEXT_COLUMNS;

/**
 * Rows in whose texts one of the patterns may stand, in the order of their ids. Without an index: it reads the
 * table once.
 *
 * @param patterns for LIKE, in lower case, with `!` before what is meant literally
 * @param only of one licence; null: of none
 */
export async function findTextRows(
  db: Db,
  name: TextTable,
  patterns: string[],
  after: number,
  limit: number,
  only?: { licenseId: number | null },
): Promise<Row[]> {
  // MySQL will not compare a column of ASCII with what is not.
  const lower = (column: string) =>
    isSqlite(db) ? `LOWER(${column})` : `LOWER(CONVERT(${column} USING utf8mb4))`;
  const query = db(table(db, name)).where('id', '>', after).orderBy('id').limit(limit);
  query.where((any) => {
    for (const column of TEXT_COLUMNS[name])
      for (const pattern of patterns) any.orWhereRaw(`${lower(column)} LIKE ? ESCAPE '!'`, [pattern]);
  });
  if (only) query.where({ license_id: only.licenseId });
  return (await query) as Row[];
}

/** Changes a row whose columns still are what the caller saw; one that somebody changed meanwhile stays as it is. */
export async function setTexts(
  trx: Transaction,
  name: TextTable,
  seen: Row,
  changes: Record<string, SqlValue>,
): Promise<void> {
  const before = Object.fromEntries(['id', ...Object.keys(changes)].map((column) => [column, seen[column]]));
  await trx(table(trx, name)).where(before).update(changes);
}

/** The addresses a licence was used from: of its activations, its checks, its accesses and its history. */
export async function removeIps(trx: Transaction, licenseId: number): Promise<void> {
  await trx(table(trx, 'licenses')).where({ id: licenseId }).update({ last_check_ip: null });
  await trx(table(trx, 'activations'))
    .where({ license_id: licenseId })
    .whereNotNull('ip')
    .update({ ip: null });
  await trx(table(trx, 'access_log'))
    .where({ license_id: licenseId })
    .whereNotNull('ip')
    .update({ ip: null });
  await trx(table(trx, 'events'))
    .where({ license_id: licenseId })
    .where('actor', 'like', 'customer:%')
    .update({ actor: 'customer' });
}
