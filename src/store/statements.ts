import type { Knex } from 'knex';
import { isSqlite, table, type Db, type TableName, type Transaction } from './database';
import type { Answered, Statement } from './mysql';

/** Statements that are written out, not built by Knex. */

export type StatementOptions = Pick<Statement, 'prepared'>;

/**
 * The rows of a statement that was written out. On MySQL it goes to the driver by Knex's pool alone: the way through
 * the query builder costs more than the driver does.
 */
export async function rawRows<Row>(
  db: Db,
  sql: string,
  bindings: Knex.RawBinding[],
  options?: StatementOptions,
): Promise<Row[]> {
  if (isSqlite(db)) return (await db.raw(sql, bindings)) as Row[];
  return withConnection(db, (connection) => runOn<Row[]>(db, connection, sql, bindings, options));
}

/**
 * Runs a write that was written out.
 *
 * @returns how many rows it met
 */
export async function rawChange(
  db: Db,
  sql: string,
  bindings: Knex.RawBinding[],
  options?: StatementOptions,
): Promise<number> {
  if (isSqlite(db)) return ((await db.raw(sql, bindings)) as unknown as { changes: number }).changes;
  return withConnection(
    db,
    async (connection) =>
      (await runOn<{ affectedRows: number }>(db, connection, sql, bindings, options)).affectedRows,
  );
}

/**
 * Inserts rows, all with the first one's columns, by one statement. Knex would write a chain of UNION ALL for SQLite,
 * which takes 500 of them.
 */
export async function insertRows(
  db: Db,
  name: TableName,
  rows: Record<string, Knex.RawBinding>[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = `(${placeholders(columns.length)})`;
  await rawChange(
    db,
    `INSERT INTO ${table(db, name)} (${columns.join(', ')}) VALUES ${values}${`, ${values}`.repeat(rows.length - 1)}`,
    rows.flatMap((row) => columns.map((column) => row[column] as Knex.RawBinding)),
  );
}

/** Lends one of the pool's MySQL connections; in a transaction, the transaction's. */
export async function withConnection<T>(db: Db, work: (connection: Connection) => Promise<T>): Promise<T> {
  const client = db.client as PoolingClient;
  const connection = await client.acquireConnection();
  try {
    return await work(connection);
  } finally {
    await client.releaseConnection(connection);
  }
}

/** @returns what the driver answers: rows, or what became of a write */
export async function runOn<Answer>(
  db: Db,
  connection: Connection,
  sql: string,
  bindings: Knex.RawBinding[] = [],
  options: StatementOptions = {},
): Promise<Answer> {
  // As Knex does for its own: the connection may be somebody else's by now.
  if (isEnded(db)) throw new Error('The transaction has ended.');
  const { response } = await (db.client as PoolingClient)._query(connection, { sql, bindings, ...options });
  return response[0] as Answer;
}

function isEnded(db: Db): boolean {
  return db.isTransaction === true && (db as Transaction).isCompleted();
}

export interface Connection {
  /** the server's number for it */
  threadId: number;
  /** what the server would have had otherwise, as `completion_type = CHAIN`; of a service's connections it is not asked */
  overridden?: string[];
}

/** What is used here of Knex's client, which has no types for it. */
interface PoolingClient {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  _query(connection: Connection, statement: Statement): Promise<Answered>;
}

/**
 * What follows a column that is to have one of so many values. One value is not written as a list of one: MariaDB then
 * looks its row up before it plans the rest of the statement.
 */
export function isOneOf(count: number): string {
  return count === 1 ? '= ?' : `IN (${placeholders(count)})`;
}

/**
 * What follows a table's name so that MySQL reads it by that index, PRIMARY without columns. The server plans by
 * statistics that an open table keeps, if need be from when it was empty, and of an empty table it would rather read
 * every row: at 200,000 licences 340 ms for what takes 10.
 */
export function forceIndex(db: Db, name: TableName, ...columns: string[]): string {
  if (isSqlite(db)) return '';
  return ` FORCE INDEX (${columns.length === 0 ? 'PRIMARY' : [table(db, name), ...columns].join('_')})`;
}

/** A table for the query builder, read by that index: `forceIndex`. */
export function tableBy(db: Db, name: TableName, ...columns: string[]): Knex.Raw {
  return db.raw(table(db, name) + forceIndex(db, name, ...columns));
}

/** The columns of the index by which a table's rows of one licence are found. */
export function licenseIndex(name: TableName): string[] {
  return ['license_id', name === 'activations' ? 'identifier' : 'at'];
}

/** Joins tables in the order in which they are written, for the reason of `forceIndex`. */
export function orderedJoin(db: Db): string {
  return isSqlite(db) ? 'JOIN' : 'STRAIGHT_JOIN';
}

/** `?, ?, ?` */
export function placeholders(count: number): string {
  return `?${', ?'.repeat(count - 1)}`;
}

/**
 * What finds a text anywhere in a column that is read in lower case, by LIKE with `ESCAPE '!'`; it may find more:
 * SQLite's LOWER knows ASCII alone, so anything else may stand for anything.
 *
 * @param text in lower case
 */
export function likePattern(text: string): string {
  return `%${text.replace(/[!%_]/g, '!$&').replace(/[^\x20-\x7e]+/g, '%')}%`;
}
