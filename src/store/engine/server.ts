import { isSqlite, table, tablePrefix, type Db, type TableName } from './database';
import { driverCodeOf } from './errors';
import { placeholders, rawRows, withConnection } from './statements';

export interface ServerState {
  /** such as `10.11.6-MariaDB-1` or `8.0.36` */
  version: string;
  maxConnections: number;
  /** the user's own limit; 0 if there is none */
  maxUserConnections: number;
  /** the server's clock, in UTC */
  now: Date;
  /** the server's settings that this program overrides on its connections, such as `completion_type = CHAIN` */
  overridden: string[];
}

/** Reads the server's state. @returns undefined for SQLite, after checking that it can be used */
export async function readServerState(db: Db): Promise<ServerState | undefined> {
  if (isSqlite(db)) {
    await db.raw('SELECT 1');
    return undefined;
  }
  const [[row]] = (await db.raw(
    'SELECT VERSION() AS version, @@max_connections AS connections, @@max_user_connections AS mine, UTC_TIMESTAMP(3) AS now',
  )) as [[{ version: string; connections: number; mine: number; now: string }]];
  return {
    version: row.version,
    maxConnections: row.connections,
    maxUserConnections: row.mine,
    now: new Date(`${row.now.replace(' ', 'T')}Z`),
    overridden: await withConnection(db, ({ overridden = [] }) => Promise.resolve(overridden)),
  };
}

/** Reads a version. SKIP LOCKED needs MariaDB 10.6, expressions as defaults need MySQL 8.0.13. */
export function parseServerVersion(version: string): { name: string; isSupported: boolean } {
  const isMariaDb = /mariadb/i.test(version);
  // Remove 5.5.5-, which MariaDB's handshake puts before its version for old replicas.
  const numbers = version.replace(/^5\.5\.5-/, '').match(/\d+/g);
  const found = (numbers ?? []).slice(0, 3).map(Number);
  const needed = isMariaDb ? [10, 6, 0] : [8, 0, 13];
  const differing = needed.findIndex((part, i) => (found[i] ?? 0) !== part);
  return {
    name: `${isMariaDb ? 'MariaDB' : 'MySQL'} ${found.join('.')}`,
    isSupported: differing === -1 || (found[differing] ?? 0) > (needed[differing] ?? 0),
  };
}

export const SUPPORTED_SERVERS = 'MySQL 8.0.13 and MariaDB 10.6 and later';

/** Counts the other tables of the database, and finds our tables that are not InnoDB. MySQL only. */
export async function readTables(db: Db): Promise<{ foreign: number; wrongEngine: string[] }> {
  const [rows] = (await db.raw(
    `SELECT table_name AS name, engine AS engine FROM information_schema.tables
     WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'`,
  )) as [{ name: string; engine: string | null }[]];
  const own = `${tablePrefix(db)}licensing_`;
  const ours = rows.filter(({ name }) => name.startsWith(own));
  return {
    foreign: rows.length - ours.length,
    wrongEngine: ours.filter(({ engine }) => engine !== 'InnoDB').map(({ name }) => name),
  };
}

interface TableSize {
  /** the name without prefix; `database` for a whole SQLite file */
  name: string;
  bytes: number;
  /** the server's estimate; undefined for SQLite */
  rows: number | undefined;
}

/** Returns the sizes of this program's tables, largest first. MySQL's may be a day old; SQLite has only one size. */
export async function readTableSizes(db: Db): Promise<TableSize[]> {
  if (isSqlite(db)) {
    const [row] = await rawRows<{ bytes: number }>(
      db,
      'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
      [],
    );
    return [{ name: 'database', bytes: row?.bytes ?? 0, rows: undefined }];
  }
  const rows = await rawRows<{ name: string; bytes: number | string; rows: number }>(
    db,
    `SELECT table_name AS name, data_length + index_length AS bytes, table_rows AS \`rows\`
       FROM information_schema.tables
      WHERE table_schema = DATABASE() AND table_name IN (${placeholders(TABLES.length)})`,
    TABLES.map((name) => table(db, name)),
  );
  const prefix = `${tablePrefix(db)}licensing_`.length;
  return rows
    .map((row) => ({ name: row.name.slice(prefix), bytes: Number(row.bytes), rows: row.rows }))
    .sort((a, b) => b.bytes - a.bytes);
}

/** Lists this program's tables that are missing. */
export async function findMissingTables(db: Db): Promise<string[]> {
  const names = TABLES.map((name): string => table(db, name));
  const isOurs = `IN (${placeholders(names.length)})`;
  const found = await rawRows<{ name: string }>(
    db,
    isSqlite(db)
      ? `SELECT name FROM sqlite_master WHERE type = 'table' AND name ${isOurs}`
      : `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name ${isOurs}`,
    names,
  );
  const there = new Set(found.map(({ name }) => name));
  return names.filter((name) => !there.has(name));
}

const TABLES: TableName[] = [
  'products',
  'product_includes',
  'plans',
  'licenses',
  'license_keys',
  'activations',
  'releases',
  'release_sboms',
  'access_log',
  'license_refusals',
  'license_downloads',
  'exposures',
  'events',
  'tokens',
  'one_time_codes',
  'link_requests',
  'sessions',
  'operators',
  'leases',
  'limit_counts',
  'daily_sums',
  'refused_licenses',
  'license_counts',
  'license_months',
  'refused_counts',
  'told_counts',
  'end_sums',
  'state_sums',
  'money_sums',
  'outbox',
  'webhooks',
  'idempotency',
  'shops',
  'shop_skus',
  'shop_refusals',
  'orders',
  'order_events',
  'order_lines',
  'order_licenses',
  'customers',
  'search_words',
];
/** The first columns of the tables without an id. */
const FIRST_COLUMNS: Partial<Record<TableName, string>> = {
  product_includes: 'product_id',
  license_refusals: 'license_id',
  license_downloads: 'license_id',
  exposures: 'product_id',
  leases: 'name',
  limit_counts: 'points',
  one_time_codes: 'code_digest',
  link_requests: 'address_digest',
  daily_sums: 'product_id',
  shop_refusals: 'shop',
  refused_licenses: 'day',
  license_counts: 'product_id',
  license_months: 'license_id',
  search_words: 'license_id',
  refused_counts: 'product_id',
  told_counts: 'product_id',
  end_sums: 'day',
  state_sums: 'month',
  money_sums: 'month',
  idempotency: 'key_digest',
};
const REFUSED = new Set([
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_COLUMNACCESS_DENIED_ERROR',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'SQLITE_READONLY',
]);

/** Tests rights on the real tables, changing no row. @returns the missing ones, such as `INSERT on licensing_events` */
export async function tryTableRights(db: Db): Promise<string[]> {
  const missing: string[] = [];
  for (const name of TABLES) {
    const full = table(db, name);
    const column = FIRST_COLUMNS[name] ?? 'id';
    for (const [right, statement] of [
      ['SELECT', `SELECT ${column} FROM ${full} WHERE 1 = 0`],
      ['INSERT', `INSERT INTO ${full} SELECT * FROM ${full} WHERE 1 = 0`],
      ['UPDATE', `UPDATE ${full} SET ${column} = ${column} WHERE 1 = 0`],
      ['DELETE', `DELETE FROM ${full} WHERE 1 = 0`],
    ] as const)
      try {
        await db.raw(statement);
      } catch (error) {
        if (!REFUSED.has(driverCodeOf(error))) throw error;
        missing.push(`${right} on ${full}`);
      }
  }
  return missing;
}
