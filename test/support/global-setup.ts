import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, statfsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseDatabaseUrl } from '../../src/store/engine/database-url';
import { migrate } from '../../src/setup/database';
import { openDatabase, type DatabaseSettings } from '../../src/store/engine/database';
import { diskTableOptions } from './disk-tables';
import { IS_QUICK } from './extent';
import { temporaryFolder } from './processes';
import { PROGRAM } from './program';
import { MARIADB_SCHEMA, SQLITE_SCHEMA, TIMEOUTS } from './service';
import {
  installMariaDb,
  REDIS_DATABASES,
  startMariaDb,
  startRedis,
  type MariaDb,
  type PrivateServer,
} from './servers';

declare global {
  var sharedServers: PrivateServer[];
}

/**
 * Starts one MariaDB and one Redis for all test files, except for `npm run test:quick`; each file gets its own database.
 * Tests that stop servers start their own.
 */
export default async function setup(): Promise<void> {
  if (!existsSync(join(__dirname, '../../dist/src/main.js')))
    throw new Error('The tests run the build too. Run "npm run build" first (or "npm test", which does).');
  const schemas = temporaryFolder('licensing-schemas');
  process.env.TEST_SCHEMAS = schemas;
  globalThis.sharedServers = [];
  const programIsWritten = promisify(execFile)(process.execPath, [
    join(__dirname, 'write-program.mjs'),
    PROGRAM,
  ]);
  await Promise.all([programIsWritten, IS_QUICK || startServers(schemas)]);
  // New databases begin as copies of this, which is faster than making the tables.
  await migrated({ kind: 'sqlite', path: join(schemas, SQLITE_SCHEMA) });
  recordAnswers();
}

async function startServers(schemas: string): Promise<void> {
  process.env.TEST_MARIADB_DATA = installMariaDb();
  const [mariadb, redis] = await Promise.all([
    // Do not flush to disk: no data here need survive, and commits and new databases mostly wait for it. A file for
    // each table would make a new database cost half as much again, and so would persistent statistics.
    startMariaDb(
      [
        ...['--innodb-flush-method=nosync', '--innodb-file-per-table=0', '--innodb-stats-persistent=0'],
        ...diskTableOptions(temporaryFolder()),
      ],
      { parent: inMemory() },
    ),
    startRedis(['--databases', String(REDIS_DATABASES)]),
  ]);
  process.env.TEST_MARIADB_SOCKET = mariadb.socket;
  process.env.TEST_MARIADB_PORT = String(mariadb.port);
  process.env.TEST_REDIS_URL = redis.url;
  globalThis.sharedServers = [mariadb, redis];
  await writeMariaDbSchema(mariadb, schemas);
}

/**
 * Returns a folder in memory, if there is enough. MariaDB flushes each new table's files to disk with all settings: a
 * new database of 49 tables, 5 MB, takes 0.8 to 3 s and 0.13 s of CPU on a disk, and 0.2 s and 0.06 s of CPU in memory.
 */
function inMemory(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 8 * 2 ** 30 ? memory : tmpdir();
}

async function writeMariaDbSchema(mariadb: MariaDb, folder: string): Promise<void> {
  const url = await mariadb.createDatabase();
  await migrated(parseDatabaseUrl(url, tmpdir()));
  const database = new URL(url).pathname.slice(1);
  // Leave out locks, and statements that drop tables.
  const args = ['--user=root', `--socket=${mariadb.socket}`, '--compact', database];
  const dump = execFileSync('mariadb-dump', args, { encoding: 'utf8' });
  const before = "SET NAMES utf8mb4, foreign_key_checks = 0, time_zone = '+00:00';";
  writeFileSync(join(folder, MARIADB_SCHEMA), `${before}\n${dump}`);
}

async function migrated(settings: DatabaseSettings): Promise<void> {
  const db = openDatabase({ ...settings, timeoutFactor: Number(TIMEOUTS.LICENSING_TIMEOUT_FACTOR) }, '');
  await migrate(db, settings);
  await db.destroy();
}

/** Compares the service's answers with its document, in this process and in Jest's workers. */
function recordAnswers(): void {
  const folder = mkdtempSync(join(tmpdir(), 'licensing-answers-'));
  // Let all users write, because some tests run the service as another user.
  chmodSync(folder, 0o777);
  process.env.TEST_ANSWERS = folder;
  createRequire(__filename)('./answer-recorder.cjs');
  process.env.NODE_OPTIONS = `--require ${JSON.stringify(join(__dirname, 'answer-recorder.cjs'))}`;
}
