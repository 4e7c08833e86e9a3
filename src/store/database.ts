import knex, { type Knex } from 'knex';
import { mysqlConfig, type ConnectionRules, type MysqlSettings } from './mysql';
import { sqliteConfig, type SqliteSettings } from './sqlite';

/** A Knex handle, or a transaction on it. */
export type Db = Knex;
export type Transaction = Knex.Transaction;

export type DatabaseSettings = MysqlSettings | SqliteSettings;

export type TableName =
  'products' | 'plans' | 'licenses' | 'activations' | 'releases' | 'access_log' | 'events' | 'migrations';

/** More connections than this only queue inside the server on the small machines this runs on. */
export const DEFAULT_POOL_SIZE = 10;
/** How long a caller can wait for one of them. */
const POOL_TIMEOUT_MS = 2_000;

/**
 * Opens the database. No connection is made before the first query.
 *
 * @param settings where it is
 * @param tablePrefix goes before `licensing_` in every table's name
 * @param poolSize connections at the most (MySQL only; SQLite has exactly one)
 * @param rules what its connections keep to (MySQL only)
 */
export function openDatabase(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
  rules: ConnectionRules = {},
): Db {
  return knex(knexConfig(settings, tablePrefix, poolSize, rules));
}

/** Longer than every lock wait, shorter than the deadline of a request. */
const REQUEST_STATEMENT_TIMEOUT_MS = 3_500;

/** The same for a service, whose requests end at a deadline. */
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

/** The configuration `openDatabase` uses, for Knex's own command line. */
export function knexConfig(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
  rules: ConnectionRules = {},
): Knex.Config {
  // Knex documents userParams, its type of the configuration does not.
  const common = {
    userParams: { tablePrefix },
    log: silentLog,
    acquireConnectionTimeout: POOL_TIMEOUT_MS,
  } as Knex.Config;
  return settings.kind === 'mysql'
    ? { ...common, ...mysqlConfig(settings, poolSize, rules) }
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

/** Where an SQLite database lies. */
export function sqliteFile(db: Db): string {
  return (db.client as { connectionSettings: { filename: string } }).connectionSettings.filename;
}

/** Knex prints to the console by default; everything worth knowing reaches the caller as an error. */
const silentLog = { warn: ignore, error: ignore, debug: ignore, deprecate: ignore };
function ignore(): void {
  // nothing to do
}
