import { chmodSync, existsSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installMariaDb, REDIS_DATABASES, startMariaDb, startRedis, type PrivateServer } from './servers';

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
  recordAnswers();
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
