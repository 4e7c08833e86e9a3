import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
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
const DEFAULT_POOL_SIZE = 10;

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
        ])
          connection.exec(`PRAGMA ${pragma}`);
        done(null, connection);
      },
    },
  };
}

interface LibsqlConnection {
  exec(sql: string): void;
}

/** Knex's better-sqlite3 dialect on libsql, which has the same interface and needs neither compiler nor download. */
function libsqlClient(): typeof Knex.Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the dialect has no types and is needed for SQLite alone
  const Dialect = require('knex/lib/dialects/better-sqlite3') as typeof Knex.Client;
  return class LibsqlDialect extends Dialect {
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
      return super.acquireRawConnection() as Promise<unknown>;
    }
  };
}
