import { inChunks } from '../../base/chunks';
import { tablePrefix, type Db } from '../../store/engine/database';
import type { Row, SqlValue } from '../../store/export';
import { importError } from '../refusals';
import { readDate, type Edge } from './dates';
import { listTablesLike, readLatest, readSiteRows } from '../../joomla/site/tables';

/** The tables of a Joomla site, which are only read. */
export interface SiteTables {
  /** the prefix of the tables, such as `jos_` */
  prefix: string;
  /** the names of the columns of each table that was looked for; a missing table has no entry */
  columns: Map<string, Set<string>>;
  has(name: string, column?: string): boolean;
  /**
   * Yields all rows, page by page, in the order of columns that are unique together. A row contains only the wanted
   * columns, and null for columns that the site does not have.
   */
  read(name: string, wanted: readonly string[], order: readonly string[], where?: Row): AsyncGenerator<Row>;
  /** Returns the rows with one of these values */
  find(name: string, wanted: readonly string[], column: string, values: SqlValue[]): Promise<Row[]>;
  /** Returns the latest time in `at` for each of these numbers in `of`, among the rows that match `where` */
  latest(name: string, of: string, at: string, numbers: number[], where: Row): Promise<Map<number, Date>>;
}

/** The number of rows in a page. */
const PAGE = 1_000;

/**
 * Finds a site's tables, by those that a system always has.
 * @param needed the required columns of each table, without its prefix
 * @param optional the tables that may exist
 * @throws OperatorError when a table or column is missing, or when several sites have such tables
 */
export async function openSiteTables(
  db: Db,
  title: string,
  sitePrefix: string | undefined,
  needed: Record<string, readonly string[]>,
  optional: readonly string[] = [],
): Promise<SiteTables> {
  if (sitePrefix !== undefined && !/^[A-Za-z0-9_]*$/.test(sitePrefix))
    throw importError('bad-prefix', [], { field: 'site_prefix' });
  const names = Object.keys(needed);
  const prefix = sitePrefix ?? (await findPrefix(db, title, names[0] as string));
  const columns = new Map<string, Set<string>>();
  for (const name of [...names, ...optional]) {
    const found = Object.keys(await db(`${prefix}${name}`).columnInfo());
    if (found.length > 0) columns.set(name, new Set(found));
  }
  const missing = names.flatMap((name) => {
    const there = columns.get(name);
    if (there === undefined) return [`${prefix}${name}`];
    return (needed[name] ?? []).filter((one) => !there.has(one)).map((one) => `${prefix}${name}.${one}`);
  });
  if (missing.length > 0)
    throw importError('missing-columns', [title, missing.join(', ')], { field: 'from' });
  const list = (name: string, wanted: readonly string[]) => {
    const there = columns.get(name);
    return { is: wanted.filter((one) => there?.has(one)), lacks: wanted.filter((one) => !there?.has(one)) };
  };
  const complete = (row: Row, lacks: string[]): Row => {
    for (const one of lacks) row[one] = null;
    return row;
  };
  return {
    prefix,
    columns,
    has: (name, column) =>
      column === undefined ? columns.has(name) : (columns.get(name)?.has(column) ?? false),
    async *read(name, wanted, order, where = {}) {
      const { is, lacks } = list(name, wanted);
      for (let last: Row | undefined; ;) {
        const rows = await readSiteRows(db, `${prefix}${name}`, {
          columns: is,
          order,
          where,
          after: last,
          limit: PAGE,
        });
        for (const row of rows) yield complete(row, lacks);
        if (rows.length < PAGE) return;
        last = rows.at(-1);
      }
    },
    async find(name, wanted, column, values) {
      const { is, lacks } = list(name, wanted);
      const read = (some: (string | number)[]): Promise<Row[]> =>
        db<Row, Row[]>(`${prefix}${name}`).select(is).whereIn(column, some);
      const rows = await inChunks(values as (string | number)[], read, PAGE);
      return rows.map((row) => complete(row, lacks));
    },
    async latest(name, of, at, numbers, where) {
      const found = await readLatest(db, `${prefix}${name}`, { of, at, numbers, where });
      return new Map(
        [...found].flatMap(([one, text]) => {
          const moment = momentOf(text);
          return moment === undefined ? [] : [[one, moment] as const];
        }),
      );
    },
  };
}

/** Returns the service's own prefix if it has the table, otherwise the only prefix that has it. */
async function findPrefix(db: Db, title: string, name: string): Promise<string> {
  const prefixes = (await listTablesLike(db, name)).map((table) => table.slice(0, -name.length));
  if (prefixes.includes(tablePrefix(db))) return tablePrefix(db);
  if (prefixes.length === 1) return prefixes[0] as string;
  throw prefixes.length === 0
    ? importError('no-tables', [title, name], { field: 'from' })
    : importError('several-sites', prefixes, { field: 'site_prefix' });
}

/** Parses a DATETIME or DATE of a Joomla site, in UTC, or unix seconds; undefined if it is empty or not a date. */
export function momentOf(value: SqlValue | undefined): Date | undefined {
  return readMoment(value, 'first');
}

/** Parses an end, for a DATE the end of that day. Returns null for an empty value, undefined if it is not a date. */
export function parseEnd(value: SqlValue | undefined): Date | null | undefined {
  const text = trimmed(value);
  return text === '' || text === '0' || text.startsWith('0000') ? null : readMoment(value, 'last');
}

function readMoment(value: SqlValue | undefined, edge: Edge): Date | undefined {
  const text = trimmed(value);
  return readDate(text, 'iso', edge) ?? readDate(text, 'unix', edge);
}

/** Returns the trimmed text of a column; empty for null. */
export function trimmed(value: SqlValue | undefined): string {
  return value === null || value === undefined ? '' : String(value).trim();
}
