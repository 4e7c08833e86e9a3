import { existsSync } from 'node:fs';
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
}
