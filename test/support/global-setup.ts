import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDatabaseUrl } from '../../src/store/database-url';
import { migrate } from '../../src/store/migrate';
import { openDatabase } from '../../src/store/database';
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
 * Starts one MariaDB and one Redis for all test files; each file gets its own database. Tests that stop servers start
 * their own.
 */
export default async function setup(): Promise<void> {
  if (!existsSync(join(__dirname, '../../dist/src/main.js')))
    throw new Error('The tests run the build too. Run "npm run build" first (or "npm test", which does).');
  process.env.TEST_MARIADB_DATA = installMariaDb();
  const [mariadb, redis] = await Promise.all([
    startMariaDb(),
    startRedis(['--databases', String(REDIS_DATABASES)]),
  ]);
  process.env.TEST_MARIADB_SOCKET = mariadb.socket;
  process.env.TEST_MARIADB_PORT = String(mariadb.port);
  process.env.TEST_REDIS_URL = redis.url;
  globalThis.sharedServers = [mariadb, redis];
  process.env.TEST_SCHEMA = await writeSchema(mariadb);
  recordAnswers();
}

/** The tables of a migrated database as SQL: making them takes a tenth of the time of all migrations. */
async function writeSchema(mariadb: MariaDb): Promise<string> {
  const url = new URL(await mariadb.createDatabase());
  const database = url.pathname.slice(1);
  const settings = parseDatabaseUrl(url.href, tmpdir());
  const db = openDatabase(settings, '');
  await migrate(db, settings);
  await db.destroy();
  const dump = ['--user=root', `--socket=${mariadb.socket}`, '--skip-comments', database];
  const file = join(mkdtempSync(join(tmpdir(), 'licensing-schema-')), 'schema.sql');
  writeFileSync(file, execFileSync('mariadb-dump', dump));
  return file;
}

/** The service's answers are compared with its document, in this process and in Jest's workers. */
function recordAnswers(): void {
  const folder = mkdtempSync(join(tmpdir(), 'licensing-answers-'));
  // Some tests run the service as another user.
  chmodSync(folder, 0o777);
  process.env.TEST_ANSWERS = folder;
  createRequire(__filename)('./answer-recorder.cjs');
  process.env.NODE_OPTIONS = `--require ${JSON.stringify(join(__dirname, 'answer-recorder.cjs'))}`;
}
