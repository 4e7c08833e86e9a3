import { chunksOf, inChunks } from '../base/chunks';
import { table, type Db, type TableName, type Transaction } from './engine/database';
import type { Row, SqlValue } from './export';
import {
  forceIndex,
  idIndex,
  insertCounted,
  insertRows,
  licenseIndex,
  placeholders,
  rawChange,
  tableBy,
} from './engine/statements';
import { refreshWords } from './search-words';

/** The maximum number of values in one INSERT: SQLite allows 32,766. */
const MAX_VALUES = 16_000;

export async function isEmptyTable(db: Db, name: TableName): Promise<boolean> {
  return (await db(table(db, name)).first('id')) === undefined;
}

/** Inserts rows with the same columns. @throws a duplicate (`isDuplicate`) if a row already exists */
export async function insertInChunks(trx: Transaction, name: TableName, rows: Row[]): Promise<void> {
  for (const some of chunksOf(rows, rowsAtOnce(rows))) await insertRows(trx, name, some);
}

/** `insertInChunks` for rows without ids. @returns their ids, in the order of the rows */
export function insertCountedInChunks(trx: Transaction, name: TableName, rows: Row[]): Promise<number[]> {
  return inChunks(rows, (some) => insertCounted(trx, name, some), rowsAtOnce(rows));
}

function rowsAtOnce([first = {}]: Row[]): number {
  return Math.max(1, Math.floor(MAX_VALUES / Object.keys(first).length));
}

/** Finds rows with one of these values in the column. */
export async function findRows(db: Db, name: TableName, column: string, values: SqlValue[]): Promise<Row[]> {
  if (values.length === 0) return [];
  return rowsWith(db, name, column, values);
}

/** Like `findRows`, but locks the rows until the transaction ends, by id, the order in which all code locks several rows. */
export async function lockRows(
  trx: Transaction,
  name: TableName,
  column: string,
  values: number[],
): Promise<Row[]> {
  if (values.length === 0) return [];
  return rowsWith(trx, name, column, values).orderBy('id').forUpdate();
}

/** Further columns of the index whose first column finds rows of the table. */
const LONGER: Partial<Record<TableName, string[]>> = { releases: ['version'], shop_skus: ['plan_id'] };

function rowsWith(db: Db, name: TableName, column: string, values: SqlValue[]) {
  const index = column === 'id' ? idIndex(name) : [column, ...(LONGER[name] ?? [])];
  return db<Row, Row[]>(tableBy(db, name, ...index)).whereIn(column, values as (string | number)[]);
}

/** The number of licences in a query: MySQL plans each combination with a time, and above 8 MB scans the whole table. */
const MAX_LICENSES = 50;

/** Finds the events of these licences at these times, in every combination of both. */
export function findEventRows(db: Db, licenseIds: number[], times: string[]): Promise<Row[]> {
  const find = (ids: number[]): Promise<Row[]> =>
    db<Row, Row[]>(tableBy(db, 'events', ...licenseIndex('events')))
      .whereIn('license_id', ids)
      .whereIn('at', times);
  return inChunks(licenseIds, find, MAX_LICENSES);
}

/** The maximum number of rows in one UPDATE, which searches the ids for each row. */
const MAX_UPDATED = 500;

/** Changes rows, with one statement for those with the same columns, because a request may wait for each of them. */
export async function updateRows(
  trx: Transaction,
  name: TableName,
  rows: [id: number, changes: Row][],
): Promise<void> {
  const groups = new Map<string, [number, Row][]>();
  for (const row of rows) {
    const columns = Object.keys(row[1]).join();
    groups.set(columns, [...(groups.get(columns) ?? []), row]);
  }
  const chunks = [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / MAX_UPDATED) }, (_, i) =>
      group.slice(i * MAX_UPDATED, (i + 1) * MAX_UPDATED),
    ),
  );
  for (const group of chunks) {
    const bindings: SqlValue[] = [];
    const set = Object.keys(group[0]?.[1] ?? {}).map((column) => {
      for (const [, changes] of group) bindings.push(changes[column] as SqlValue);
      return `${column} = CASE id ${group.map(([id]) => `WHEN ${id} THEN ?`).join(' ')} END`;
    });
    const ids = group.map(([id]) => id);
    await rawChange(
      trx,
      `UPDATE ${table(trx, name)}${forceIndex(trx, name, ...idIndex(name))} SET ${set.join(', ')} WHERE id IN (${placeholders(ids.length)})`,
      [...bindings, ...ids],
    );
  }
  if (name === 'licenses')
    await refreshWords(
      trx,
      rows.flatMap(([id, changes]) => ('customer' in changes || 'reference' in changes ? [id] : [])),
    );
}

export async function deleteRow(trx: Transaction, name: TableName, id: number): Promise<void> {
  await trx(table(trx, name)).where({ id }).delete();
}

export async function updateRow(trx: Transaction, name: TableName, id: number, changes: Row): Promise<void> {
  await trx(table(trx, name)).where({ id }).update(changes);
}
