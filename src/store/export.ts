import { chunksOf } from '../base/chunks';
import type { Db, TableName } from './engine/database';
import { idIndex, licenseIndex, tableBy } from './engine/statements';

export type SqlValue = string | number | null;
export type Row = Record<string, SqlValue>;

export interface TableLayout {
  table: TableName;
  columns: string[];
  /** columns that are unique together and have an index */
  order: readonly string[];
}

/** Reads a table in the layout's order, `size` rows at a time; with `only`, the rows that have these values. */
export async function* readPages(
  db: Db,
  layout: TableLayout,
  size: number,
  only?: Row,
): AsyncGenerator<Row[]> {
  let last: Row | undefined;
  do {
    const rows = await readPage(db, layout, last, size, only);
    if (rows.length > 0) yield rows;
    last = rows.length === size ? rows.at(-1) : undefined;
  } while (last);
}

/** Adds to each licence's row the rows of its keys, oldest first. */
export async function withKeys<R extends Row>(db: Db, licenses: R[]): Promise<(R & { keys: Row[] })[]> {
  const keys = await rowsBy(db, 'license_keys', 'license_id', licenses);
  return licenses.map((license) => ({ ...license, keys: keys.get(license.id) ?? [] }));
}

/** Adds to each order's row the rows of its lines, events and licences, oldest first. */
export async function withOrderRows<R extends Row>(
  db: Db,
  orders: R[],
): Promise<(R & Record<'lines' | 'events' | 'licenses', Row[]>)[]> {
  const lines = await rowsBy(db, 'order_lines', 'order_id', orders);
  const events = await rowsBy(db, 'order_events', 'order_id', orders);
  const licenses = await rowsBy(db, 'order_licenses', 'order_id', orders);
  return orders.map((order) => ({
    ...order,
    lines: lines.get(order.id) ?? [],
    events: events.get(order.id) ?? [],
    licenses: licenses.get(order.id) ?? [],
  }));
}

/** Reads the rows of a table that belong to these owners, by the owner's id. */
async function rowsBy(
  db: Db,
  name: TableName,
  column: string,
  owners: Row[],
): Promise<Map<SqlValue | undefined, Row[]>> {
  const found = new Map<SqlValue | undefined, Row[]>();
  const index = name === 'order_events' ? [column, 'identity'] : [column];
  for (const some of chunksOf(owners)) {
    const ids = some.map(({ id }) => id as number);
    const rows = db<Row, Row[]>(tableBy(db, name, ...index))
      .whereIn(column, ids)
      .orderBy('id');
    for (const row of await rows) {
      const owner = row[column];
      const listed = found.get(owner);
      if (listed === undefined) found.set(owner, [row]);
      else listed.push(row);
    }
  }
  return found;
}

async function readPage(
  db: Db,
  { table: name, columns, order }: TableLayout,
  after: Row | undefined,
  limit: number,
  only: Row = {},
): Promise<Row[]> {
  // InnoDB appends the id to every index anyway.
  const ordered = order.filter((column) => column !== 'id');
  const index = 'license_id' in only ? licenseIndex(name) : ordered.length === 0 ? idIndex(name) : ordered;
  const query = db<Row, Row[]>(tableBy(db, name, ...index))
    .select(columns)
    .where(only)
    .orderBy([...order])
    .limit(limit);
  if (after !== undefined) {
    // `a >= x AND (a > x OR b > y ...)`: MySQL and SQLite read this as an index range, unlike the bare OR.
    const [first, ...rest] = order as [string, ...string[]];
    if (rest.length > 0) query.where(first, '>=', after[first] as SqlValue);
    query.whereRaw(...beyond(order, after));
  }
  return query;
}

/** Returns `(a > x OR (a = x AND (b > y OR ...)))`, the condition for rows after this one. */
function beyond(order: readonly string[], after: Row): [sql: string, bindings: SqlValue[]] {
  const [first, ...rest] = order as [string, ...string[]];
  const value = after[first] as SqlValue;
  if (rest.length === 0) return [`${first} > ?`, [value]];
  const [sql, bindings] = beyond(rest, after);
  return [`(${first} > ? OR (${first} = ? AND ${sql}))`, [value, value, ...bindings]];
}
