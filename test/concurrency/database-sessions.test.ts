import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RowDataPacket } from 'mysql2/promise';
import request from 'supertest';
import { readConfig } from '../../src/settings/config';
import { openDatabase, type Db } from '../../src/store/engine/database';
import { isUnavailable, reasonCode } from '../../src/store/engine/errors';
import type { ConnectionRules } from '../../src/store/engine/mysql';
import { lockLicenses } from '../../src/store/licenses/licenses';
import { inTransaction, isOutcomeUnknown } from '../../src/store/engine/transaction';
import { ON_MYSQL } from '../support/mysql/program';
import { operator } from '../support/operator';
import { eventually } from '../support/processes';
import { startRefusingServer } from '../support/refusing-server';
import { startMariaDb, type MariaDb } from '../support/servers';
import { giveLicense, givePlan, PREFIX, rows } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** The session settings of a database connection, whatever the defaults of its server are. */

let mariadb: MariaDb;
let url: string;
let db: Db;
beforeAll(async () => {
  mariadb = await startMariaDb([
    '--autocommit=0',
    '--transaction-isolation=SERIALIZABLE',
    '--completion-type=CHAIN',
    // MySQL 9 no longer has this option.
    '--loose-skip-character-set-client-handshake',
  ]);
  url = await mariadb.createDatabase();
  db = await openMigrated({ LICENSING_DATABASE_URL: url });
});
afterAll(async () => {
  await db.destroy();
  await mariadb.stop('SIGKILL');
});

function open(databaseUrl: string, rules: ConnectionRules = {}): Db {
  const { database, tablePrefix } = readConfig(
    { LICENSING_ENV_FILE: '/dev/null' },
    { LICENSING_DATABASE_URL: databaseUrl },
  );
  return openDatabase(database, tablePrefix, 4, rules);
}

async function asRoot<Row>(sql: string): Promise<Row[]> {
  const connection = await mariadb.connect();
  try {
    const [result] = await connection.query<RowDataPacket[]>(sql);
    return result as unknown as Row[];
  } finally {
    await connection.end();
  }
}

test('what was acknowledged is kept where a server commits nothing by itself', async () => {
  const { key } = await giveLicense(db, await givePlan(db));
  const service = await startServiceProcess({ LICENSING_DATABASE_URL: url });
  try {
    for (const verb of ['activate', 'validate'])
      await request(service.url)
        .post(`${PREFIX}/licenses/${verb}`)
        .send({ license_key: key, identifier: 'example.com' })
        .expect(200);
    await request(service.url).get(`${PREFIX}/downloads/1?dlid=unknown`).expect(403);
    await eventually(async () => expect(await rows(db, 'access_log')).toHaveLength(1));
  } finally {
    await service.stop('SIGKILL');
  }
  expect(await rows(db, 'licenses')).toMatchObject([{ check_count: 1, activations_used: 1 }]);
  expect(await rows(db, 'access_log')).toHaveLength(1);
});

test('text is stored as it was sent where a server ignores what character set it has', async () => {
  const { id } = await giveLicense(db, await givePlan(db), { customer: 'zoë🙂@example.com' });
  expect(
    await asRoot(
      `SELECT HEX(customer) AS hex FROM ${new URL(url).pathname.slice(1)}.licensing_licenses WHERE id = ${id}`,
    ),
  ).toEqual([{ hex: Buffer.from('zoë🙂@example.com').toString('hex').toUpperCase() }]);
});

test('the doctor names what the server would have had otherwise', async () => {
  const { stdout } = await operator({ LICENSING_DATABASE_URL: url }).run(['doctor', '--json']);
  for (const named of [
    'autocommit = OFF',
    ...(ON_MYSQL ? [] : ['character_set_client = latin1']),
    'completion_type = CHAIN',
    'SERIALIZABLE',
  ])
    expect(stdout).toContain(named);
});

test('a plain read takes no locks, whatever the server prefers', async () => {
  const { level } = (await db
    .select({ level: db.raw(ON_MYSQL ? '@@transaction_isolation' : '@@tx_isolation') })
    .first()) as { level: string };
  expect(level).toBe('REPEATABLE-READ');
});

test('a connection that the server takes and lets do nothing is not left open', async () => {
  await asRoot("CREATE USER limited@'%' IDENTIFIED BY 'secret' WITH MAX_QUERIES_PER_HOUR 1");
  await asRoot("GRANT ALL ON *.* TO limited@'%'");
  const limited = open(url.replace('root:', 'limited:secret'), { isService: true });
  try {
    for (let i = 0; i < 3; i++)
      await expect(limited.raw('SELECT 1')).rejects.toMatchObject({ code: 'ER_USER_LIMIT_REACHED' });
    await eventually(async () =>
      expect(await asRoot("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'limited'")).toEqual(
        [],
      ),
    );
  } finally {
    await limited.destroy();
  }
});

const MANY_ROWS = ['a', 'b', 'c']
  .map((name, i) => `${i === 0 ? 'FROM' : ','} information_schema.COLUMNS ${name}`)
  .join('');
/** The beginning of a statement that the server ends after 0.1 s. */
const LIMITED = ON_MYSQL
  ? 'SELECT /*+ MAX_EXECUTION_TIME(100) */'
  : 'SET STATEMENT max_statement_time = 0.1 FOR SELECT';

test.each([
  ['a killed connection', (id: number) => `KILL ${id}`, 'SELECT'],
  ["a statement past the server's time limit", undefined, LIMITED],
])('%s is no fault of ours, and may be tried again', async (_what, kill, before) => {
  const own = open(url);
  try {
    const failing = own
      .raw(
        `${before} SUM(a.ORDINAL_POSITION * b.ORDINAL_POSITION * c.ORDINAL_POSITION) AS endless ${MANY_ROWS}`,
      )
      .then(
        (answer) => Promise.reject(new Error(JSON.stringify(answer))),
        (error: unknown) => error,
      );
    if (kill)
      await eventually(async () => {
        const [found] = await asRoot<{ ID: number }>(
          "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SUM(a.%'",
        );
        expect(found).toBeDefined();
        await asRoot(kill(found!.ID));
      });
    expect(isUnavailable(await failing)).toBe(true);
  } finally {
    await own.destroy();
  }
});

test('an error that the driver has no name for is known by its class, and named by its number', async () => {
  await asRoot("CREATE USER locked@'%' IDENTIFIED BY 'secret' ACCOUNT LOCK");
  const own = open(url.replace('root:', 'locked:secret'));
  try {
    const refused = await own.raw('SELECT 1').then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(isUnavailable(refused)).toBe(true);
    expect(reasonCode(refused)).toBe(ON_MYSQL ? 'ER_ACCOUNT_HAS_BEEN_LOCKED' : 'error 4151');
    // Do not retry a wrong statement, which remains wrong.
    const wrong = Object.assign(new Error('as the server says it'), { errno: 4161, sqlState: '42000' });
    expect(isUnavailable(wrong)).toBe(false);
  } finally {
    await own.destroy();
  }
});

test('an account that is locked while the service runs is answered 503, to be tried again', async () => {
  await asRoot("CREATE USER shop@'%' IDENTIFIED BY 'secret'");
  await asRoot("GRANT ALL ON *.* TO shop@'%'");
  const service = await startServiceProcess({ LICENSING_DATABASE_URL: url.replace('root:', 'shop:secret') });
  try {
    await asRoot("ALTER USER shop@'%' ACCOUNT LOCK");
    for (const { ID } of await asRoot<{ ID: number }>(
      "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'shop'",
    ))
      await asRoot(`KILL ${ID}`);
    const answer = () =>
      request(service.url).post(`${PREFIX}/licenses/validate`).send({ license_key: 'UNKNOWN' });
    await answer();
    const { status, headers } = await answer();
    expect({ status, retry: headers['retry-after'] }).toEqual({ status: 503, retry: expect.any(String) });
  } finally {
    await service.stop('SIGKILL');
  }
});

test('where the server has no connection to spare, callers wait for one that is here', async () => {
  await asRoot("CREATE USER few@'%' IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 2");
  await asRoot("GRANT ALL ON *.* TO few@'%'");
  const few = open(url.replace('root:', 'few:secret'));
  const other = open(url.replace('root:', 'few:secret'), { isService: true });
  try {
    await Promise.all(Array.from({ length: 100 }, () => few.raw('SELECT SLEEP(0.005)')));
    // Another process waits, and then names the cause.
    await Promise.all([few.raw('SELECT SLEEP(0.005)'), few.raw('SELECT SLEEP(0.005)')]);
    await expect(other.raw('SELECT 1')).rejects.toMatchObject({ code: 'ER_USER_LIMIT_REACHED' });
  } finally {
    await few.destroy();
    await other.destroy();
  }
});

// Errors in the driver's form. A cluster, or a server that reports this during its shutdown, is not available here.
test.each([
  ['MariaDB: the connection was killed', { errno: 1927, code: undefined }],
  ['Galera: this node has lost the others', { errno: 1047, code: 'ER_UNKNOWN_COM_ERROR' }],
  [
    'Group Replication: the others have changed the same',
    { errno: 3101, code: 'ER_TRANSACTION_ROLLBACK_DURING_COMMIT' },
  ],
  ['Galera: this node has lost the others during a COMMIT', { errno: 1180, code: 'ER_ERROR_DURING_COMMIT' }],
  ['MySQL: the statement took longer than may be', { errno: 3024, code: 'ER_QUERY_TIMEOUT' }],
  ['MySQL: nobody but administrators may come', { errno: 3032, code: 'ER_SERVER_OFFLINE_MODE' }],
])('%s is no fault of ours, and may be tried again', (_what, { errno, code }) => {
  expect(isUnavailable(Object.assign(new Error('as the server says it'), { errno, code }))).toBe(true);
});

// test/cluster has a Galera node, whose 1213 is a rollback.
test.each([
  ['1213: nobody promises that nothing was written', 1213, false],
  ['1180: others may have received it', 1180, true],
])('a COMMIT that fails is not tried again (%s)', async (_what, code, isUnknown) => {
  let commits = 0;
  const server = await startRefusingServer({
    statement: (sql) => (sql.startsWith('COMMIT') && ++commits ? { code, message: 'refused' } : undefined),
  });
  const refused = open(server.url);
  let runs = 0;
  try {
    const failure: unknown = await inTransaction(refused, () => Promise.resolve(runs++)).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ errno: code });
    expect(isOutcomeUnknown(failure)).toBe(isUnknown);
    expect([runs, commits]).toEqual([1, 1]);
  } finally {
    await refused.destroy();
    await server.stop();
  }
});

test('nothing is written in the name of a transaction that has ended', async () => {
  const trx = await db.transaction();
  await trx.rollback();
  await expect(lockLicenses(trx, [1])).rejects.toThrow('The transaction has ended.');
});
