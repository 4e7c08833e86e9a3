import { existsSync, mkdirSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { pino } from 'pino';
import { readConfig, type Config, type Settings } from '../../src/settings/config';
import { addProduct } from '../../src/licensing/catalogue';
import { insertPlan, PLAN_DEFAULTS, type PlanOptions } from '../../src/store/catalogue';
import { issueLicenses, type IssueRequest } from '../../src/licensing/issue';
import { startService } from '../../src/app/service';
import {
  openDatabase,
  table,
  tablePrefix,
  type DatabaseSettings,
  type Db,
  type TableName,
} from '../../src/store/engine/database';
import { migrate } from '../../src/setup/database';
import type { MysqlSettings } from '../../src/store/engine/mysql';
import type { SqliteSettings } from '../../src/store/engine/sqlite';
import { IS_QUICK, ON_BOTH, ON_PASSENGER } from './extent';
import { startHostedService } from './hosted-service';
import { ON_MYSQL } from './mysql/program';
import { freePort, temporaryFolder } from './processes';
import { REDIS_DATABASES } from './servers';

export const PREFIX = '/api/index.php/v1/licensing';

/** Creates an empty database on the shared MariaDB and returns its LICENSING_DATABASE_URL. */
export async function createMariaDbDatabase(): Promise<string> {
  const name = `test_${process.pid}_${Date.now()}_${Math.floor(Math.random() * 1e6)}`;
  const connection = await createConnection({
    socketPath: process.env.TEST_MARIADB_SOCKET as string,
    user: 'root',
  });
  await connection.query(`CREATE DATABASE ${name}`);
  await connection.end();
  return `mysql://root:@127.0.0.1:${process.env.TEST_MARIADB_PORT as string}/${name}`;
}

export type DatabaseKind = 'SQLite' | 'MariaDB';
/** The databases for tests that differ by SQL: locks, lists, transfers, sums. */
export const DATABASE_KINDS: DatabaseKind[] = IS_QUICK
  ? ['SQLite']
  : ON_MYSQL
    ? ['MariaDB']
    : ['SQLite', 'MariaDB'];
/** The database of all other tests; both in `npm run test:databases`. */
export const ONE_KIND = ON_BOTH ? DATABASE_KINDS : DATABASE_KINDS.slice(-1);

/** Creates a database and packages folder, which a service and the operator's command share. */
export async function newPlace(
  kind: DatabaseKind,
): Promise<{ LICENSING_DATABASE_URL: string; LICENSING_PACKAGES_DIR: string }> {
  const folder = temporaryFolder();
  const packagesDir = join(folder, 'packages');
  mkdirSync(packagesDir);
  return {
    LICENSING_DATABASE_URL:
      kind === 'SQLite' ? `sqlite:${join(folder, 'test.sqlite')}` : await createMariaDbDatabase(),
    LICENSING_PACKAGES_DIR: packagesDir,
  };
}

type Backend = [string, () => Promise<Settings>];

const ON_SQLITE: Backend = ['SQLite, limits in memory', () => Promise.resolve({})];
const ON_SERVERS: Backend = [
  'MariaDB, limits in Redis',
  async () => ({
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_REDIS_URL: `${process.env.TEST_REDIS_URL as string}/${Math.floor(Math.random() * REDIS_DATABASES)}`,
  }),
];

/** A service whose database comes from the site's configuration.php. */
const HOSTED: Backend = ['shared hosting, limits in the database', () => Promise.resolve({})];

export const BACKENDS = backends();

export const ONE_BACKEND = ON_BOTH ? BACKENDS : BACKENDS.slice(-1);

function backends(): Backend[] {
  if (ON_PASSENGER) return [HOSTED];
  if (IS_QUICK) return [ON_SQLITE];
  return ON_MYSQL ? [ON_SERVERS] : [ON_SQLITE, ON_SERVERS];
}

export interface TestService {
  url: string;
  /** the address of its metrics */
  admin: string;
  db: Db;
  packagesDir: string;
  /** its log, one JSON line each */
  logLines: string[];
  /** the service's clock, which a test can set */
  clock: { now: Date };
  stop(): Promise<void>;
}

/** Settings without a variable. */
export type OwnSettings = Pick<Config, 'shopApiUrl'>;

export const USUAL_TIMEOUTS: Settings = { LICENSING_TIMEOUT_FACTOR: '1' };
/**
 * Timeouts for a slow or busy machine. With the usual ones, it refuses requests and counts limits in memory although
 * nothing hangs. Tests of timeouts use the usual ones: `npm run test:faults`, which runs alone, and some others.
 */
export const TIMEOUTS: Settings =
  process.env.TEST_FAULTS === 'all' ? USUAL_TIMEOUTS : { LICENSING_TIMEOUT_FACTOR: '10' };

/** Returns a test's configuration from its settings, with the timeouts of tests and without a file. */
export function testConfig(settings: Settings): Config {
  return readConfig({ LICENSING_ENV_FILE: '/dev/null' }, { ...TIMEOUTS, ...settings });
}

/** Runs the service with its own migrated database and a settable clock: here, or with TEST_PASSENGER behind Apache. */
export async function startTestService(
  settings: Settings = {},
  now = new Date(),
  own: OwnSettings = {},
): Promise<TestService> {
  if (ON_PASSENGER) return startHostedService(settings, now);
  const folder = temporaryFolder();
  const config = testConfig({
    LICENSING_DATABASE_URL: `sqlite:${join(folder, 'test.sqlite')}`,
    LICENSING_PACKAGES_DIR: join(folder, 'packages'),
    LICENSING_LISTEN: '127.0.0.1:0',
    LICENSING_ADMIN_LISTEN: '127.0.0.1:0',
    LICENSING_RATE_LIMIT: '100000',
    LICENSING_LOG_LEVEL: 'debug',
    ...settings,
  });
  const db = openDatabase(config.database, config.tablePrefix, 4);
  await migrateNew(db, config.database);
  const logLines: string[] = [];
  const log = pino({ level: config.logLevel }, { write: (line: string) => void logLines.push(line) });
  const clock = { now };
  const service = await startService({ ...config, ...own }, log, () => clock.now);
  return {
    url: service.address,
    admin: service.adminAddress as string,
    db,
    packagesDir: config.packagesDir,
    logLines,
    clock,
    async stop() {
      await service.stop();
      await db.destroy();
    },
  };
}

/** Files in the folder TEST_SCHEMAS, which global-setup.ts writes. */
export const MARIADB_SCHEMA = 'mariadb.sql';
export const SQLITE_SCHEMA = 'migrated.sqlite';

/** Migrates a new database. In Jest, a SQLite file or a database of the shared MariaDB begins as a migrated copy. */
export async function migrateNew(db: Db, database: DatabaseSettings): Promise<void> {
  const folder = process.env.TEST_SCHEMAS;
  if (folder !== undefined && tablePrefix(db) === '')
    await (database.kind === 'sqlite' ? copySqlite(database, folder) : loadMariaDb(db, database, folder));
  await migrate(db, database);
}

async function copySqlite({ path }: SqliteSettings, folder: string): Promise<void> {
  if (existsSync(path)) return;
  await mkdir(dirname(path), { recursive: true });
  await copyFile(join(folder, SQLITE_SCHEMA), path);
}

async function loadMariaDb(db: Db, database: MysqlSettings, folder: string): Promise<void> {
  const { TEST_MARIADB_PORT, TEST_MARIADB_SOCKET } = process.env;
  if (!('port' in database) || database.port !== Number(TEST_MARIADB_PORT)) return;
  const [tables] = (await db.raw('SHOW TABLES')) as [unknown[]];
  if (tables.length > 0) return;
  const connection = await createConnection({
    ...{ socketPath: TEST_MARIADB_SOCKET!, user: 'root', database: database.database },
    multipleStatements: true,
  });
  await connection.query(await readFile(join(folder, MARIADB_SCHEMA), 'utf8'));
  await connection.end();
}

/** Returns all rows of a table by id, without the mark that a job sets some time later, when it adds a row to the sums. */
export async function rows<T = Record<string, unknown>>(db: Db, name: TableName): Promise<T[]> {
  const found = await db<Record<string, unknown>>(table(db, name) as string).orderBy('id');
  return found.map(({ unsummed: _unsummed, ...row }) => row as T);
}

/** Returns a licence's row, with the columns of its main key. */
export async function storedLicense(db: Db, id: number): Promise<Record<string, unknown>> {
  const license = (await rows(db, 'licenses')).find((row) => row.id === id);
  return { ...(await rows(db, 'license_keys')).find((key) => key.id === license?.main_key_id), ...license };
}

/** Returns the number of accesses or events in a table, in which equal ones share a row. */
export async function countTimes(
  db: Db,
  name: 'access_log' | 'events',
  where: Record<string, string | number> = {},
): Promise<number> {
  const times = await db(table(db, name)).where(where).pluck<number[]>('times');
  return times.reduce((sum, one) => sum + one, 0);
}

export interface TestLicense {
  id: number;
  key: string;
}

/** Creates product 42 with a plan. Each call adds a plan. */
export async function givePlan(
  db: Db,
  {
    type,
    limit,
    productId = 42,
    ...options
  }: {
    type?: 'domain' | 'device' | 'seat' | 'instance';
    limit?: number;
    productId?: number;
  } & Partial<PlanOptions> = {},
  now = new Date(),
): Promise<number> {
  if (!(await db(table(db, 'products')).where({ id: productId }).first()))
    await addProduct(
      db,
      { id: productId, name: productId === 42 ? 'Example Shop' : `Product ${productId}` },
      now,
    );
  // Give all plans the same name, which operators cannot do; tests refer to them by id.
  return insertPlan(db, {
    ...PLAN_DEFAULTS,
    ...options,
    productId,
    name: 'Developer',
    activationType: type ?? 'domain',
    activationLimit: limit ?? 3,
    duration: null,
    createdAt: now,
  });
}

/** Issues a licence on a plan like an operator. */
export async function giveLicense(
  db: Db,
  planId: number,
  request: Partial<IssueRequest> = {},
  now = new Date(),
): Promise<TestLicense> {
  const [issued] = await issueLicenses(
    db,
    {
      planId,
      customer: undefined,
      reference: undefined,
      expiresAt: undefined,
      activationLimit: undefined,
      key: undefined,
      count: 1,
      ...request,
    },
    'operator:test',
    undefined,
    now,
  );
  return { id: issued!.license.id, key: issued!.key! };
}

/** Returns an address without a listener. */
export async function unusedAddress(): Promise<string> {
  return `127.0.0.1:${await freePort()}`;
}
