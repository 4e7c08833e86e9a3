import knex, { type Knex } from 'knex';
import { mysqlConfig, type ConnectionRules, type MysqlSettings } from './mysql';
import { sqliteConfig, type SqliteSettings } from './sqlite';

/** A Knex handle or transaction. */
export type Db = Knex;
export type Transaction = Knex.Transaction;

export type DatabaseSettings = MysqlSettings | SqliteSettings;

export type TableName =
  'products' | 'plans' | 'licenses' | 'activations' | 'releases' | 'access_log' | 'events' | 'migrations';

/** On the small machines this runs on, more connections would only queue inside the server. */
export const DEFAULT_POOL_SIZE = 10;
/** How long a caller may wait for a connection. */
const POOL_TIMEOUT_MS = 2_000;

/**
 * Opens the database; the first query makes the first connection.
 *
 * @param tablePrefix precedes `licensing_` in every table's name
 * @param poolSize most connections (MySQL only; SQLite has one)
 * @param rules for its connections (MySQL only)
 */
export function openDatabase(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
  rules: ConnectionRules = {},
): Db {
  return knex(knexConfig(settings, tablePrefix, poolSize, rules));
}

/** Longer than every lock wait, shorter than a request's deadline. */
const REQUEST_STATEMENT_TIMEOUT_MS = 3_500;

/** `openDatabase` for a service, whose requests have a deadline. */
export function openServiceDatabase(
  settings: DatabaseSettings,
  tablePrefix: string,
  connections = DEFAULT_POOL_SIZE,
): Db {
  return openDatabase(settings, tablePrefix, connections, {
    statementTimeout: REQUEST_STATEMENT_TIMEOUT_MS,
    isService: true,
  });
}

/** The configuration for `openDatabase`, and for Knex's own command line. */
export function knexConfig(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
  rules: ConnectionRules = {},
): Knex.Config {
  // Knex documents userParams, but its types lack it.
  const common = {
    userParams: { tablePrefix },
    log: silentLog,
    acquireConnectionTimeout: POOL_TIMEOUT_MS,
  } as Knex.Config;
  return settings.kind === 'mysql'
    ? { ...common, ...mysqlConfig(settings, poolSize, rules) }
    : { ...common, ...sqliteConfig(settings) };
}

/** A table's full name, such as `jos_licensing_licenses`. */
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

/** How many connections it may have. */
export function poolSize(db: Db): number {
  return (db.client as { config: { pool: { max: number } } }).config.pool.max;
}

export function isSqlite(db: Db): boolean {
  return (db.client as { driverName: string }).driverName === 'better-sqlite3';
}

/** The path of an SQLite database. */
export function sqliteFile(db: Db): string {
  return (db.client as { connectionSettings: { filename: string } }).connectionSettings.filename;
}

/** Knex prints to the console by default, but every problem already reaches the caller as an error. */
const silentLog = { warn: ignore, error: ignore, debug: ignore, deprecate: ignore };
function ignore(): void {
  // nothing to do
}
