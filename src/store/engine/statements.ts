import type { Knex } from 'knex';
import { indexName } from '../../../migrations/tables';
import { isSqlite, table, type Db, type FullName, type TableName, type Transaction } from './database';
import { sendStatement, type Connection, type StatementOptions } from './connections';

/** Runs a SELECT, on MySQL without Knex's query builder, which takes more time than the driver. */
export async function rawRows<Row>(
  db: Db,
  sql: string,
  bindings: Knex.RawBinding[],
  options?: StatementOptions,
): Promise<Row[]> {
  if (isSqlite(db)) return (await db.raw(sql, bindings)) as Row[];
  return run<Row[]>(db, sql, bindings, options);
}

/** Runs a hand-written write. @returns the number of affected rows */
export async function rawChange(
  db: Db,
  sql: string,
  bindings: Knex.RawBinding[],
  options?: StatementOptions,
): Promise<number> {
  if (isSqlite(db)) return ((await db.raw(sql, bindings)) as unknown as { changes: number }).changes;
  return (await run<{ affectedRows: number }>(db, sql, bindings, options)).affectedRows;
}

function run<Answer>(
  db: Db,
  sql: string,
  bindings: Knex.RawBinding[],
  options?: StatementOptions,
): Promise<Answer> {
  return withConnection(db, (connection) => {
    // Check this like Knex: the connection may already belong to another caller.
    if (db.isTransaction && (db as Transaction).isCompleted()) throw new Error('The transaction has ended.');
    return sendStatement<Answer>(connection, sql, bindings, options);
  });
}

/** Inserts rows with the columns of the first row. On SQLite, Knex would write a UNION ALL chain, limited to 500. */
export async function insertRows(
  db: Db,
  name: TableName,
  rows: Record<string, Knex.RawBinding>[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = `(${placeholders(columns.length)})`;
  const bindings: Knex.RawBinding[] = [];
  for (const row of rows) for (const column of columns) bindings.push(row[column] as Knex.RawBinding);
  await rawChange(
    db,
    `INSERT INTO ${table(db, name)} (${columns.join(', ')}) VALUES ${values}${`, ${values}`.repeat(rows.length - 1)}`,
    bindings,
  );
}

/**
 * Inserts rows into a table with an auto-increment id.
 * @returns the ids, in the order of the rows. InnoDB numbers the rows of a statement consecutively, even during other
 * inserts, and returns the first id; SQLite returns the last one. A cluster counts in steps.
 */
export async function insertCounted(
  trx: Transaction,
  name: TableName,
  rows: Record<string, Knex.RawBinding>[],
): Promise<number[]> {
  await insertRows(trx, name, rows);
  const [counted] = await rawRows<{ id: number; step: number }>(
    trx,
    isSqlite(trx)
      ? `SELECT last_insert_rowid() - ${rows.length - 1} AS id, 1 AS step`
      : 'SELECT LAST_INSERT_ID() AS id, @@auto_increment_increment AS step',
    [],
  );
  const { id, step } = counted as { id: number; step: number };
  return rows.map((_, i) => id + i * step);
}

/** Lends a MySQL connection of the pool; in a transaction, the transaction's own. */
export async function withConnection<T>(db: Db, work: (connection: Connection) => Promise<T>): Promise<T> {
  const client = db.client as Knex.Client;
  const connection = (await client.acquireConnection()) as Connection;
  try {
    return await work(connection);
  } finally {
    await client.releaseConnection(connection);
  }
}

/** Returns the condition for one of several values. A single value gets `=`, with which MariaDB plans better. */
export function inListSql(count: number): string {
  return count === 1 ? '= ?' : `IN (${placeholders(count)})`;
}

/**
 * Returns an index hint for MySQL; PRIMARY without columns. MySQL plans by the statistics of the moment when it opened
 * a table, and scans a table that was empty then: 340 ms instead of 10 at 200,000 licences.
 */
export function forceIndex(db: Db, name: TableName, ...columns: string[]): string {
  if (isSqlite(db)) return '';
  return ` FORCE INDEX (${columns.length === 0 ? 'PRIMARY' : indexName(table(db, name), columns)})`;
}

/** Returns a table with an index hint (`forceIndex`) for the query builder. It is not a text, but has the type of the name. */
export function tableBy<Name extends TableName>(db: Db, name: Name, ...columns: string[]): FullName<Name> {
  return db.raw(table(db, name) + forceIndex(db, name, ...columns)) as unknown as FullName<Name>;
}

/** Returns the columns of the index that finds a licence's rows in a table. */
export function licenseIndex(name: TableName): string[] {
  if (name === 'license_keys' || name === 'outbox') return ['license_id'];
  return ['license_id', name === 'activations' ? 'identifier' : 'at'];
}

/** Returns the columns of the index that finds rows by their ids; empty for the primary key. */
export function idIndex(name: TableName): string[] {
  return name === 'license_keys' ? ['id'] : [];
}

/**
 * Returns the keyword that joins tables in the written order, for the same reason as `forceIndex`. SQLite keeps the order of a
 * CROSS JOIN.
 */
export function orderedJoin(db: Db): string {
  return isSqlite(db) ? 'CROSS JOIN' : 'STRAIGHT_JOIN';
}

/** Returns placeholders: `?, ?, ?`. */
export function placeholders(count: number): string {
  return `?${', ?'.repeat(count - 1)}`;
}

/** Returns a lower-case pattern for LIKE with `ESCAPE '!'`. SQLite's LOWER is ASCII only: other characters match anything. */
export function likePattern(text: string): string {
  return `%${text.replace(/[!%_]/g, '!$&').replace(/[^\x20-\x7e]+/g, '%')}%`;
}
