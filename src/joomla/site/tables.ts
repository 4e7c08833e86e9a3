import { isSqlite, type Db } from '../../store/engine/database';
import type { Row, SqlValue } from '../../store/export';
import { likePattern, rawRows } from '../../store/engine/statements';

/** Reads the site's own tables next to those of the service, without ever writing to them. */

/** Lists the tables whose names end with this text, with their prefixes. */
export async function listTablesLike(db: Db, end: string): Promise<string[]> {
  const pattern = likePattern(end).slice(0, -1);
  const rows = await rawRows<{ name: string }>(
    db,
    isSqlite(db)
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ? ESCAPE '!'"
      : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE ? ESCAPE '!'",
    [pattern],
  );
  return rows.map(({ name }) => name).sort();
}

interface SiteRows {
  columns: string[];
  /** the columns that are unique together */
  order: readonly string[];
  where: Row;
  after: Row | undefined;
  limit: number;
}

/** Returns the latest time in a column for each of the numbers, in the database's format. @param where selects the rows */
export async function readLatest(
  db: Db,
  table: string,
  { of, at, numbers, where }: { of: string; at: string; numbers: number[]; where: Row },
): Promise<Map<number, string>> {
  if (numbers.length === 0) return new Map();
  const rows = await db<Row, { of: number; at: string | null }[]>(table)
    .select({ of })
    .max({ at })
    .whereIn(of, numbers)
    .where(where)
    .groupBy(of);
  return new Map(rows.flatMap((row) => (row.at ? [[Number(row.of), String(row.at)] as const] : [])));
}

/** Returns the next rows of a table, in the given order. */
export async function readSiteRows(
  db: Db,
  table: string,
  { columns, order, where, after, limit }: SiteRows,
): Promise<Row[]> {
  const query = db<Row, Row[]>(table)
    .select([...new Set([...columns, ...order])])
    .where(where)
    .orderBy([...order])
    .limit(limit);
  const [first, second] = order as [string, string | undefined];
  if (after === undefined) return query;
  const value = (column: string) => after[column] as Exclude<SqlValue, null>;
  if (second === undefined) return query.where(first, '>', value(first));
  if (after[first] === null)
    // Null values come first.
    return query.where((any) =>
      any.whereNotNull(first).orWhere((both) => both.whereNull(first).where(second, '>', value(second))),
    );
  // Add the first condition, with which MySQL reads a range of an index.
  return query
    .where(first, '>=', value(first))
    .where((any) => any.where(first, '>', value(first)).orWhere(second, '>', value(second)));
}
