import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import knex, { type Knex } from 'knex';

/** A Knex handle, or a transaction on it. */
export type Db = Knex;
export type Transaction = Knex.Transaction;

export interface MysqlSettings {
  kind: 'mysql';
  host: string;
  port: number;
  /** A Unix socket; goes before host and port. */
  socketPath?: string;
  user: string;
  password: string;
  database: string;
  /** PEM texts; without `verifyIdentity` a certificate for any name will do. */
  ssl?: {
    ca?: string;
    cert?: string;
    key?: string;
    ciphers?: string;
    rejectUnauthorized: boolean;
    verifyIdentity?: boolean;
  };
}

export interface SqliteSettings {
  kind: 'sqlite';
  /** Absolute path of the database file. */
  path: string;
}

export type DatabaseSettings = MysqlSettings | SqliteSettings;

export type TableName =
  'products' | 'plans' | 'licenses' | 'activations' | 'releases' | 'access_log' | 'events' | 'migrations';

/** How long a caller can wait before "not reachable" is the honest answer. */
const CONNECT_TIMEOUT_MS = 2_000;
const POOL_TIMEOUT_MS = 2_000;
/** More connections than this only queue inside the server on the small machines this runs on. */
export const DEFAULT_POOL_SIZE = 10;

/**
 * Strict, so that a value which does not fit is an error and never cut; one second of lock wait, so that a row
 * held by somebody else delays its own callers and nobody else.
 */
const MYSQL_SESSION = `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 1`;

/**
 * Opens the database. No connection is made before the first query.
 *
 * @param settings where it is
 * @param tablePrefix goes before `licensing_` in every table's name
 * @param poolSize connections at the most (MySQL only; SQLite has exactly one)
 */
export function openDatabase(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
): Db {
  return knex(knexConfig(settings, tablePrefix, poolSize));
}

/**
 * The same for a service, whose requests end at a deadline: a statement that has no answer by then has lost its
 * connection, though nothing said so (a firewall forgot it, a host died). It fails, and the connection is thrown away.
 */
export function openServiceDatabase(settings: DatabaseSettings, tablePrefix: string): Db {
  const config = knexConfig(settings, tablePrefix);
  return knex(settings.kind === 'mysql' ? { ...config, client: timedMysqlClient() } : config);
}

/** Longer than every lock wait, shorter than the deadline of a request. */
const STATEMENT_TIMEOUT_MS = 3_500;

function timedMysqlClient(): typeof Knex.Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the dialect has no types
  const Dialect = require('knex/lib/dialects/mysql2') as new (config: Knex.Config) => QueryingClient;
  /** When the latest statement was sent that had no answer in time. */
  let silentSince = -Infinity;
  return class TimedMysql2Dialect extends Dialect {
    /** What makes one connection silent does it to its neighbours: a request each would find that out one by one. */
    override validateConnection(connection: TimedConnection): Promise<boolean> {
      const { answeredAt = Infinity } = connection;
      return answeredAt >= silentSince ? super.validateConnection(connection) : Promise.resolve(false);
    }

    override async _query(connection: TimedConnection, query: Query): Promise<unknown> {
      const sentAt = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => {
          const error = Object.assign(new Error('The database did not answer in time.'), {
            code: 'ETIMEDOUT',
          });
          // Knex's mark for a connection that must not go back to the pool.
          connection.__knex__disposed = error;
          connection.destroy();
          silentSince = Math.max(silentSince, sentAt);
          reject(error);
        }, STATEMENT_TIMEOUT_MS);
      });
      try {
        const asText = () => super._query(connection, query);
        const sent = query.prepared ? execute(connection, query).catch(ifNoRoom(asText)) : asText();
        const answer = await Promise.race([sent, late]);
        connection.answeredAt = performance.now();
        return answer;
      } finally {
        clearTimeout(timer);
      }
    }
  } as unknown as typeof Knex.Client;
}

/** What Knex's dialect does with a query, by a prepared statement, which the connection keeps. */
function execute(connection: TimedConnection, { sql, bindings }: Query): Promise<Answered> {
  return new Promise((resolve, reject) => {
    connection.execute(sql, bindings, (error, answer) => {
      if (error) reject(error);
      else resolve({ response: [answer] });
    });
  });
}

/** The server holds as many prepared statements as it may (ER_MAX_PREPARED_STMT_COUNT_REACHED), the site's with ours. */
function ifNoRoom<T>(otherwise: () => T): (error: Error & { errno?: number }) => T {
  return (error) => {
    if (error.errno === 1461) return otherwise();
    throw error;
  };
}

interface QueryingClient extends Knex.Client {
  _query(connection: unknown, query: Query): Promise<unknown>;
}

interface TimedConnection {
  answeredAt?: number;
  __knex__disposed?: Error;
  destroy(): void;
  execute(
    sql: string,
    bindings: Knex.RawBinding[],
    done: (error: Error | null, answer: unknown) => void,
  ): void;
}

interface Query {
  sql: string;
  bindings: Knex.RawBinding[];
  prepared?: boolean;
}

interface Answered {
  response: unknown[];
}

export interface StatementOptions {
  /**
   * Saves a tenth of a millisecond, on the connections of a service, which last. For few texts only: the server has
   * room for so many prepared statements, and shares it with the site.
   */
  prepared?: boolean;
}

/** The configuration `openDatabase` uses, for Knex's own command line. */
export function knexConfig(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
): Knex.Config {
  // Knex documents userParams, its type of the configuration does not.
  const common = { userParams: { tablePrefix }, log: silentLog } as Knex.Config;
  return settings.kind === 'mysql'
    ? { ...common, ...mysqlConfig(settings, poolSize) }
    : { ...common, ...sqliteConfig(settings) };
}

/** A table's whole name, for example `jos_licensing_licenses`. */
export function table(db: Db, name: TableName): string {
  return `${tablePrefix(db)}licensing_${name}`;
}

export function tablePrefix(db: Db): string {
  return (db.userParams as { tablePrefix: string }).tablePrefix;
}

/** Connections in use and free, and callers waiting for one. */
export function poolState(db: Db): { used: number; free: number; waiting: number } {
  const { pool } = db.client as {
    pool: { numUsed(): number; numFree(): number; numPendingAcquires(): number } | undefined;
  };
  return pool
    ? { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() }
    : { used: 0, free: 0, waiting: 0 };
}

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
export async function rawChange(db: Db, sql: string, bindings: Knex.RawBinding[]): Promise<number> {
  if (isSqlite(db)) return ((await db.raw(sql, bindings)) as unknown as { changes: number }).changes;
  return withConnection(
    db,
    async (connection) => (await runOn<{ affectedRows: number }>(db, connection, sql, bindings)).affectedRows,
  );
}

/** Inserts rows, all with the first one's columns, by one statement. */
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
  const { response } = await (db.client as PoolingClient)._query(connection, { sql, bindings, ...options });
  return response[0] as Answer;
}

export interface Connection {
  /** the server's number for it */
  threadId: number;
}

/** What is used here of Knex's client, which has no types for it. */
interface PoolingClient {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  _query(connection: Connection, query: Query): Promise<Answered>;
}

/**
 * What follows a column that is to have one of so many values. One value is not written as a list of one: MariaDB then
 * looks its row up before it plans the rest of the statement.
 */
export function isOneOf(count: number): string {
  return count === 1 ? '= ?' : `IN (${placeholders(count)})`;
}

/** `?, ?, ?` */
export function placeholders(count: number): string {
  return `?${', ?'.repeat(count - 1)}`;
}

export function isSqlite(db: Db): boolean {
  return (db.client as { driverName: string }).driverName === 'better-sqlite3';
}

/** Knex prints to the console by default; everything worth knowing reaches the caller as an error. */
const silentLog = { warn: ignore, error: ignore, debug: ignore, deprecate: ignore };
function ignore(): void {
  // nothing to do
}

function mysqlConfig(settings: MysqlSettings, poolSize: number): Knex.Config {
  const { host, port, socketPath, user, password, database, ssl } = settings;
  return {
    client: 'mysql2',
    connection: {
      ...(socketPath === undefined ? { host, port } : { socketPath }),
      ...(ssl === undefined ? {} : { ssl }),
      user,
      password,
      database,
      charset: 'utf8mb4',
      timezone: 'Z',
      // Times travel as text (see time.ts): no driver's idea of a time zone comes between.
      dateStrings: true,
      supportBigNumbers: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
    },
    acquireConnectionTimeout: POOL_TIMEOUT_MS,
    pool: {
      min: 0,
      max: poolSize,
      createTimeoutMillis: CONNECT_TIMEOUT_MS,
      createRetryIntervalMillis: 100,
      // The first refusal to connect is the answer; otherwise Knex repeats it until the pool's time is up.
      propagateCreateError: true,
      afterCreate(connection: MysqlConnection, done: (error: Error | null, connection: unknown) => void) {
        connection.query(MYSQL_SESSION, (error) => done(error, connection));
      },
    },
  };
}

interface MysqlConnection {
  query(sql: string, done: (error: Error | null) => void): void;
}

/** One process, one connection: the driver is synchronous, so a second would only wait for the first. */
function sqliteConfig(settings: SqliteSettings): Knex.Config {
  return {
    client: libsqlClient(),
    connection: { filename: settings.path },
    useNullAsDefault: true,
    acquireConnectionTimeout: POOL_TIMEOUT_MS,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: LibsqlConnection, done: (error: Error | null, connection: unknown) => void) {
        // WAL with FULL: a commit that was acknowledged survives a power cut, and the command line reads meanwhile.
        for (const pragma of [
          'busy_timeout = 5000',
          'journal_mode = WAL',
          'synchronous = FULL',
          'foreign_keys = ON',
          `busy_timeout = ${SQLITE_BUSY_TIMEOUT_MS}`,
        ])
          connection.exec(`PRAGMA ${pragma}`);
        done(null, connection);
      },
    },
  };
}

interface LibsqlConnection {
  exec(sql: string): void;
  inTransaction: boolean;
}

/** The whole process stands still while the driver waits, so it waits for a moment at a time ... */
const SQLITE_BUSY_TIMEOUT_MS = 50;
/** ... until this is over, which is MySQL's lock wait above. */
const SQLITE_LOCK_WAIT_MS = 1_000;

const WRITES = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP)\b/i;

/**
 * Knex's better-sqlite3 dialect on libsql, which has the same interface and needs neither compiler nor download.
 *
 * One thing it does not do: a prepared statement that met SQLITE_BUSY stays open until it is garbage-collected, and
 * until then the connection commits nothing, though every write is answered as if it did (libsql 0.5.29). Its exec()
 * closes what it opens. So SQLite's one write lock is taken through exec() before anything is written: by a
 * transaction whose first statement writes, and by a write that is its own transaction.
 */
function libsqlClient(): typeof Knex.Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the dialect has no types and is needed for SQLite alone
  const Dialect = require('knex/lib/dialects/better-sqlite3') as new (config: Knex.Config) => SqliteDialect;
  /** Those that were told to begin and have had no statement since. Knex copies no fields to a transaction's client. */
  const beginning = new WeakSet<LibsqlConnection>();
  class LibsqlDialect extends Dialect {
    _driver(): unknown {
      try {
        // eslint-disable-next-line @typescript-eslint/no-require-imports -- an installation on MySQL works without it
        return require('libsql');
      } catch (cause) {
        throw new Error(
          'The embedded database driver (the npm package libsql) could not be loaded on this machine. ' +
            'Run "npm ci" again without --omit=optional, or set LICENSING_DATABASE_URL to a MySQL or MariaDB database.',
          { cause },
        );
      }
    }

    override acquireRawConnection(): Promise<unknown> {
      mkdirSync(dirname((this.connectionSettings as { filename: string }).filename), { recursive: true });
      return super.acquireRawConnection();
    }

    override async _query(connection: LibsqlConnection, query: { sql: string }): Promise<unknown> {
      const { sql } = query;
      if (sql === 'BEGIN;') {
        beginning.add(connection);
        return query;
      }
      if (sql.startsWith('BEGIN')) {
        connection.exec(sql);
        return query;
      }
      if (beginning.delete(connection)) {
        if (/^(?:COMMIT|ROLLBACK)/.test(sql)) return query;
        if (WRITES.test(sql)) await takeWriteLock(connection);
        else connection.exec('BEGIN');
      }
      // A full disk ends a transaction by itself.
      if (sql.startsWith('ROLLBACK') && !connection.inTransaction) return query;
      return WRITES.test(sql) && !connection.inTransaction
        ? this.writeAlone(connection, query)
        : super._query(connection, query);
    }

    private async writeAlone(connection: LibsqlConnection, query: { sql: string }): Promise<unknown> {
      await takeWriteLock(connection);
      try {
        const result = await super._query(connection, query);
        connection.exec('COMMIT');
        return result;
      } catch (error) {
        if (connection.inTransaction) connection.exec('ROLLBACK');
        throw error;
      }
    }
  }
  return LibsqlDialect as unknown as typeof Knex.Client;
}

/** What is used here of the dialect, which has no types. */
declare class SqliteDialect {
  connectionSettings: unknown;
  acquireRawConnection(): Promise<unknown>;
  _query(connection: LibsqlConnection, query: { sql: string }): Promise<unknown>;
}

/** @throws SQLITE_BUSY (`isLockConflict`) when another process holds it for too long */
async function takeWriteLock(connection: LibsqlConnection): Promise<void> {
  const until = performance.now() + SQLITE_LOCK_WAIT_MS;
  for (;;) {
    try {
      connection.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY' || performance.now() > until) throw error;
      await sleep(Math.random() * 10);
    }
  }
}
