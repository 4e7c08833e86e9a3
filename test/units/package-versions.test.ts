import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

/** Lists the files that rely on undocumented behaviour of a package. An update of the package has to confirm it. */

const root = join(__dirname, '../..');

test.each([
  [
    'src/store/engine/connections.ts',
    'knex',
    'Does the mysql2 dialect still send everything by query(sql, bindings, done) (lib/dialects/mysql/index.js, _query)? ' +
      'Does the client of a transaction still acquire its connection (lib/execution/transaction.js, makeTxClient)?',
    'TEST_FAULTS=all npx jest test/concurrency test/faults/database',
  ],
  [
    'src/store/engine/connections.ts',
    'mysql2',
    'Does an error of the socket still end the statement under way, as fatal (lib/base/connection.js, _handleNetworkError)?',
    'TEST_FAULTS=all npx jest test/concurrency/silent-connections test/operator/database-tls test/faults/database',
  ],
  [
    'src/store/limit-counts.ts',
    'rate-limiter-flexible',
    'Does RateLimiterMySQL still insert key, points and expire in this order, and send everything by query() of what acquireConnection() lends? Are the two stores still files of their own (src/http/limits/rate-limiters.d.ts)?',
    'npx jest test/contract/database-limits test/contract/rate-limit',
  ],
  [
    'src/store/engine/sqlite.ts',
    'knex',
    'Does the better-sqlite3 dialect still send everything by _query (lib/dialects/better-sqlite3/index.js)?',
    'npx jest test/concurrency test/contract',
  ],
  [
    'src/store/engine/sqlite.ts',
    'libsql',
    'Does a statement that met SQLITE_BUSY still keep the connection from committing? If not, the dialect can go.',
    'npx jest test/concurrency test/contract',
  ],
])('%s was checked with the installed %s', (file, name, question, command) => {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as {
    version: string;
  };
  const written = new RegExp(`\\b${name} (\\d+\\.\\d+\\.\\d+)`).exec(
    readFileSync(join(root, file), 'utf8'),
  )?.[1];
  const advice =
    written === version
      ? undefined
      : `${file} names ${name} ${written}, and ${version} is installed. ${question} Run: ${command}. Then name ${version} there.`;
  expect(advice).toBeUndefined();
});
