import knex, { type Knex } from 'knex';
import type { Tables } from 'knex/types/tables';
import { LOCK_TIMEOUT_MS, type Pool } from './connections';
import { openMysqlPool, type ConnectionRules, type MysqlPool, type MysqlSettings } from './mysql';
import type { ClusterStatus } from './nodes';
import { sharePool } from './pool-share';
import { libsqlClient, openSqlitePool, type SqliteSettings } from './sqlite';

/** A Knex handle or transaction. */
export type Db = Knex;
export type Transaction = Knex.Transaction;

export type DatabaseSettings = MysqlSettings | SqliteSettings;

export type TableName =
  | 'products'
  | 'settings'
  | 'product_includes'
  | 'plans'
  | 'licenses'
  | 'license_keys'
  | 'activations'
  | 'releases'
  | 'release_sboms'
  | 'access_log'
  | 'license_refusals'
  | 'security_notices'
  | 'told_sites'
  | 'license_downloads'
  | 'exposures'
  | 'key_networks'
  | 'spreading_keys'
  | 'events'
  | 'idempotency'
  | 'tokens'
  | 'one_time_codes'
  | 'link_requests'
  | 'sessions'
  | 'operators'
  | 'signing_keys'
  | 'leases'
  | 'limit_counts'
  | 'daily_sums'
  | 'refused_licenses'
  | 'license_counts'
  | 'license_months'
  | 'refused_counts'
  | 'told_counts'
  | 'end_sums'
  | 'state_sums'
  | 'money_sums'
  | 'outbox'
  | 'webhooks'
  | 'shops'
  | 'shop_skus'
  | 'shop_messages'
  | 'unmatched'
  | 'shop_links'
  | 'shop_refusals'
  | 'orders'
  | 'order_events'
  | 'order_lines'
  | 'order_licenses'
  | 'customers'
  | 'imports'
  | 'imported'
  | 'search_words'
  | 'migrations';

/** The default number of connections. On the usual small machine, more would only queue inside the server. */
export const DEFAULT_POOL_SIZE = 10;
const POOL_TIMEOUT_MS = 2_000;
/** The time that a command waits for a connection. The site usually needs its own only briefly. */
const COMMAND_POOL_TIMEOUT_MS = 10_000;
const PAGES_SHARE = 0.4;

/** Opens a database; the first query connects. `poolSize` and `rules` are for MySQL only. SQLite has one connection. */
export function openDatabase(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
  rules: ConnectionRules = {},
): Db {
  const db = knex(knexConfig(settings, tablePrefix, poolSize, rules));
  // Set these, because Knex does not read them from a pool, and needs them for columnInfo() and its migrations table.
  if (settings.kind === 'mysql')
    Object.assign((db.client as Knex.Client).connectionSettings, {
      database: settings.database,
      charset: 'utf8mb4',
    });
  const { pool, nodes } = parameters(db);
  const forget = db.destroy.bind(db);
  const destroy = async () => {
    nodes?.stop();
    // Destroy the pool here, because Knex does not close a pool that was passed to it.
    await pool.destroy();
    await forget();
  };
  return Object.defineProperty(db, 'destroy', { value: destroy });
}

/**
 * Returns a handle that uses at most four tenths of the connections at once. It is for pages: their reads take far
 * longer than a customer's call, which must always find a connection. It need not be closed.
 */
export function shareOf(db: Db): Db {
  const { pool, poolTimeout } = parameters(db);
  const { config, connectionSettings } = db.client as Knex.Client;
  const most = Math.max(1, Math.floor(poolSize(db) * PAGES_SHARE));
  const shared = knex({ ...config, connectionPool: sharePool(pool, most, poolTimeout) } as Knex.Config);
  Object.assign((shared.client as Knex.Client).connectionSettings, connectionSettings);
  return shared;
}

/** The statement timeout of a service: longer than every lock wait, shorter than a request's deadline. */
const REQUEST_STATEMENT_TIMEOUT_MS = 3_500;

/** Opens a database like `openDatabase`, for a service whose requests have a deadline. */
export function openServiceDatabase(
  settings: DatabaseSettings,
  tablePrefix: string,
  connections = DEFAULT_POOL_SIZE,
  onSwitch: ConnectionRules['onSwitch'] = ignore,
): Db {
  return openDatabase(settings, tablePrefix, connections, {
    statementTimeout: REQUEST_STATEMENT_TIMEOUT_MS * (settings.timeoutFactor ?? 1),
    isService: true,
    onSwitch,
  });
}

/** Returns the configuration for `openDatabase` and for Knex's command line. */
export function knexConfig(
  settings: DatabaseSettings,
  tablePrefix: string,
  poolSize = DEFAULT_POOL_SIZE,
  rules: ConnectionRules = {},
): Knex.Config {
  const isMysql = settings.kind === 'mysql';
  const waits = isMysql && !rules.isService ? COMMAND_POOL_TIMEOUT_MS : POOL_TIMEOUT_MS;
  const poolTimeout = waits * (settings.timeoutFactor ?? 1);
  const opened = isMysql
    ? openMysqlPool(settings, poolSize, poolTimeout, rules)
    : { pool: openSqlitePool(settings.path, poolTimeout) };
  const userParams: Parameters = {
    ...opened,
    tablePrefix,
    poolTimeout,
    isService: rules.isService ?? false,
    ...(isMysql ? {} : { file: settings.path }),
  };
  // Cast the result, because Knex documents userParams, but its types lack it.
  return {
    client: isMysql ? 'mysql2' : libsqlClient(rules.isService ? undefined : LOCK_TIMEOUT_MS),
    connectionPool: opened.pool,
    useNullAsDefault: !isMysql,
    userParams,
    log: silentLog,
  } as Knex.Config;
}

interface Parameters extends Partial<MysqlPool> {
  tablePrefix: string;
  pool: Pool;
  /** the time in ms that a caller waits for a connection */
  poolTimeout: number;
  isService: boolean;
  file?: string;
}

function parameters(db: Db): Parameters {
  return db.userParams as Parameters;
}

/** Returns the object that a handle shares with its transactions, as the key for cached facts about the database. */
export function databaseIdentity(db: Db): object {
  return parameters(db);
}

/** The type of a table's full name, such as `jos_licensing_licenses`, from which Knex derives its columns (tables.ts). */
export type FullName<Name extends TableName> = `${string}licensing_${Name}`;

/** The type of a table's row. */
export type TableRow<Name extends TableName> = Tables[FullName<Name>];

export function table<Name extends TableName>(db: Db, name: Name): FullName<Name> {
  return `${tablePrefix(db)}licensing_${name}`;
}

export function tablePrefix(db: Db): string {
  return parameters(db).tablePrefix;
}

/** Returns the number of used and free connections, and of callers that wait for one. */
export function poolState(db: Db): { used: number; free: number; waiting: number } {
  const { pool } = parameters(db);
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}

/** Returns a function that shows which of several servers is in use; undefined if there is only one. */
export function clusterStatusOf(db: Db): (() => ClusterStatus) | undefined {
  const { nodes } = parameters(db);
  return nodes && (() => nodes.standing());
}

/** Returns the number of transactions that a Galera node rolled back because another node changed the same rows. */
export function conflictsOf(db: Db): number {
  return parameters(db).conflicts?.() ?? 0;
}

/** Returns the maximum number of connections. */
export function poolSize(db: Db): number {
  return parameters(db).size?.() ?? 1;
}

/** Returns the server's maximum of the user's connections; 0 if there is none. */
export function userLimitOf(db: Db): number {
  return parameters(db).userLimit?.() ?? 0;
}

/** Leaves half of the user's connections to the site, and divides the rest by the number of the service's processes. */
export function shareConnections(db: Db, processes: number): void {
  parameters(db).share?.(processes);
}

/** Reports whether the handle belongs to a service, whose callers wait for a response. A command has more time. */
export function isOfService(db: Db): boolean {
  return parameters(db).isService;
}

export function isSqlite(db: Db): boolean {
  return sqliteFile(db) !== undefined;
}

/** Returns the path of an SQLite database; undefined for MySQL. */
export function sqliteFile(db: Db): string | undefined {
  return parameters(db).file;
}

/** Disables Knex's console output, because every problem reaches the caller as an error. */
const silentLog = { warn: ignore, error: ignore, debug: ignore, deprecate: ignore };
function ignore(): void {
  // nothing to do
}
