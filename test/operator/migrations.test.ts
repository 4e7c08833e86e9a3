import { chmodSync, chownSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { pino } from 'pino';
import request from 'supertest';
import { migrationNames } from '../../migrations';
import { type Settings } from '../../src/settings/config';
import { startService } from '../../src/app/service';
import { openDatabase, type Db } from '../../src/store/engine/database';
import { lockMigrations } from '../../src/store/engine/migrate';
import { IS_WHOLE } from '../support/extent';
import { NEXT_MIGRATION, NEXT_VERSION } from '../support/next-version';
import { operator } from '../support/operator';
import { endProcess, eventually, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { startRefusingServer } from '../support/refusing-server';
import { createMariaDbDatabase, giveLicense, givePlan, PREFIX, rows, testConfig } from '../support/service';
import {
  processEnvironment,
  startLicensing,
  startProgram,
  startServiceProcess,
  type Ended,
  type Running,
} from '../support/service-process';

const ALL = migrationNames();
const [SCHEMA, ...LATER] = ALL as [string, ...string[]];

/** Runs Knex with the knexfile of the build. The other knexfile has the same configuration, but compiling it takes a second. */
const startKnex = (args: string[], settings: Settings, knexfile = 'dist/knexfile.js'): Running =>
  startProgram(
    process.execPath,
    [join(__dirname, '../../node_modules/knex/bin/cli.js'), ...args, '--knexfile', knexfile],
    processEnvironment(settings),
  );
const startMigrate = (settings: Settings) => startLicensing(['migrate', '--json'], settings);
/** Migrates in this process, for tests in which no other process migrates and nothing is killed. */
const migrate = (settings: Settings) => operator(settings).run(['migrate', '--json']);
const startKnexLatest = (settings: Settings) => startKnex(['migrate:latest'], settings);

const onMariaDb = async (): Promise<Settings> => ({ LICENSING_DATABASE_URL: await createMariaDbDatabase() });
const onSqlite = (): Promise<Settings> =>
  Promise.resolve({ LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'test.sqlite')}` });
/** Each database with one of the two knexfiles and one of the two first migrations before 1.0.0, which work alike on both. */
const DATABASES: [string, () => Promise<Settings>, string, string][] = [
  ['MariaDB', onMariaDb, 'knexfile.ts', '001_products'],
  ['SQLite', onSqlite, 'dist/knexfile.js', '001_schema_0'],
];

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Opens the database without migrating it. */
function open(settings: Settings): Db {
  const { database, tablePrefix } = testConfig(settings);
  const db = openDatabase(database, tablePrefix, 2);
  closing.push(() => db.destroy());
  return db;
}

async function connect(settings: Settings): Promise<Connection> {
  const connection = await createConnection({ uri: settings.LICENSING_DATABASE_URL! });
  closing.push(() => connection.end());
  return connection;
}

async function recorded(db: Db): Promise<string[]> {
  return (await rows<{ name: string }>(db, 'migrations')).map(({ name }) => name);
}

/** Starts a service in this process, which migrates nothing. */
function startServing(settings: Settings): ReturnType<typeof startService> {
  const listen = { LICENSING_LISTEN: '127.0.0.1:0', LICENSING_ADMIN_LISTEN: '127.0.0.1:0' };
  const own = { ...listen, LICENSING_PACKAGES_DIR: temporaryFolder() };
  const config = testConfig({ ...settings, ...own });
  return startService(config, pino({ level: 'silent' }));
}

/** Expects that the database works by using it. */
async function expectToServe(settings: Settings): Promise<void> {
  const db = open(settings);
  const license = await giveLicense(db, await givePlan(db));
  const service = await startServing(settings);
  const answer = await request(service.address)
    .post(`${PREFIX}/licenses/activate`)
    .send({ license_key: license.key, identifier: 'example.com' });
  expect(answer.status).toBe(200);
  await service.stop();
}

function expectSuccess(ended: Ended[]): void {
  for (const { code, stderr, stdout } of ended)
    expect({ code, stderr, failed: /fail|error/i.test(stdout) }).toEqual({
      code: 0,
      stderr: '',
      failed: false,
    });
}

describe.each(DATABASES)('on an empty %s database', (_name, createSettings, knexfile, old) => {
  test.each<[string, ((settings: Settings) => Running)[]]>([
    // Each command runs next to the other and to itself.
    ['both commands', [startMigrate, startKnexLatest, startMigrate, startKnexLatest, startMigrate]],
    ...(IS_WHOLE
      ? ([
          ['"licensing migrate"', Array(5).fill(startMigrate)],
          ['"knex migrate:latest"', Array(5).fill(startKnexLatest)],
        ] as [string, ((settings: Settings) => Running)[]][])
      : []),
  ])('five processes migrate at once, with %s, and all succeed', async (_command, starts) => {
    const settings = await createSettings();
    const ended = await Promise.all(starts.map((start) => start(settings).ended));
    expectSuccess(ended);
    expect(await recorded(open(settings))).toEqual(ALL);
    // One process did all the work.
    const ran = ended.filter(({ stdout }) => stdout.includes(SCHEMA) || stdout.includes('Batch 1 run'));
    expect(ran).toHaveLength(1);
    await expectToServe(settings);
  });

  test('"licensing migrate" and Knex use the same record of migrations, whichever wrote it', async () => {
    const first = await createSettings();
    expectSuccess([await migrate(first)]);
    const knex = await startKnex(['migrate:latest'], first, knexfile).ended;
    expect(knex).toMatchObject({ code: 0, stderr: '' });
    expect(knex.stdout).toContain('Already up to date');

    const second = await createSettings();
    expectSuccess([await startKnexLatest(second).ended]);
    expect(JSON.parse((await migrate(second)).stdout)).toEqual({ run: [] });
    const status = await operator(second).run(['migrate', '--status', '--json']);
    expect(JSON.parse(status.stdout)).toEqual({ pending: [], completed: ALL });
  });

  test('everything refuses a database that is newer than the code, with a reason and without changes', async () => {
    const settings = await createSettings();
    expectSuccess([await migrate(settings)]);
    const db = open(settings);
    await db('licensing_migrations').insert({ name: '999_from_the_future', batch: 2 });
    const before = await recorded(db);

    const refused = [
      await migrate(settings),
      await operator(settings).run(['migrate', '--status']),
      await startKnexLatest(settings).ended,
      await operator(settings).run(['product', 'list']),
    ];
    for (const { code, stdout, stderr } of refused) {
      expect(code).toBe(1);
      expect(stdout + stderr).toMatch(/migrated by a newer version .*999_from_the_future/);
    }
    await expect(startServiceProcess(settings)).rejects.toThrow(
      /licensing-gateway cannot start: .*newer version .*999_from_the_future/,
    );
    expect(await recorded(db)).toEqual(before);
  });

  test('a database that is older than the code is refused at the start, with the remedy', async () => {
    const settings = await createSettings();
    await expect(startServiceProcess(settings)).rejects.toThrow(
      /cannot start: .*(?:001_schema.*Run|There is no database .* make a new database there:) "licensing migrate"/,
    );
    expectSuccess([await migrate(settings)]);
    await expect(startServiceProcess(settings, NEXT_VERSION)).rejects.toThrow(
      /cannot start: .*\(missing: 999_notes\)\. Run "licensing migrate"/,
    );
    const next = (...args: string[]) => operator(settings).run(args, { env: NEXT_VERSION });
    const command = await next('product', 'list');
    expect(command).toMatchObject({ code: 1, stdout: '' });
    expect(command.stderr).toContain('Run "licensing migrate"');
    const status = await next('migrate', '--status', '--json');
    expect(JSON.parse(status.stdout)).toEqual({ pending: [NEXT_MIGRATION], completed: ALL });
    const { stdout } = await next('migrate', '--json');
    expect(JSON.parse(stdout)).toEqual({ run: [NEXT_MIGRATION] });
    expect(await recorded(open(settings))).toEqual([...ALL, NEXT_MIGRATION]);
  });

  test(`tables of another version before 1.0.0 (${old}) are refused in words by everything, and not changed`, async () => {
    const settings = await createSettings();
    expectSuccess([await migrate(settings)]);
    const db = open(settings);
    await db('licensing_migrations').where({ name: SCHEMA }).update({ name: old });
    await db('licensing_migrations').insert({ name: '002_plans', batch: 1 });
    const words = new RegExp(`tables of another version before 1\\.0\\.0 \\(${old}\\)`);
    const remedy =
      /"licensing export" with the version that made them, .*"licensing import" .* on a new database \(docs\/upgrade\.md, "Tables of another version"\)/;
    for (const args of [['migrate'], ['migrate', '--status'], ['product', 'list'], ['init']]) {
      const { code, stderr } = await operator(settings).run(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(words);
      expect(stderr).toMatch(remedy);
    }
    const knex = await startKnexLatest(settings).ended;
    expect([knex.code, knex.stdout + knex.stderr]).toEqual([1, expect.stringMatching(words)]);
    const start = startServiceProcess(settings);
    await expect(start).rejects.toThrow(words);
    await expect(start).rejects.toThrow(remedy);
    const { stdout } = await operator(settings).run(['doctor', '--json']);
    const { findings } = JSON.parse(stdout) as { findings: Record<string, string>[] };
    expect(findings.find(({ code }) => code === 'SCHEMA_OTHER')).toMatchObject({ level: 'problem' });
    expect(await recorded(db)).toEqual([old, ...LATER, '002_plans']);
  });

  test('a table prefix of 15 characters works, next to other tables of the same names', async () => {
    const settings = await createSettings();
    const prefixed = { ...settings, LICENSING_TABLE_PREFIX: 'abcdefghijklmn_' };
    expectSuccess([await migrate(settings)]);
    expect((await migrate(prefixed)).code).toBe(0);
    const knex = await startKnexLatest(prefixed).ended;
    expect(knex.stdout).toContain('Already up to date');
    await expectToServe(prefixed);
    expect(await rows(open(prefixed), 'activations')).toHaveLength(1);
    expect(await rows(open(settings), 'activations')).toHaveLength(0);
  });

  test('the first tables next to those of another prefix are created only under a prefix that is set', async () => {
    const settings = await createSettings();
    expectSuccess([await migrate({ ...settings, LICENSING_TABLE_PREFIX: 'jos_' })]);
    const refused = [
      await migrate(settings),
      await operator(settings).run(['migrate', '--status']),
      await startKnexLatest(settings).ended,
    ];
    for (const { code, stdout, stderr } of refused) {
      expect(code).toBe(1);
      expect(stdout + stderr).toMatch(/jos_licensing_.*LICENSING_TABLE_PREFIX=jos_/s);
    }
    const db = open(settings);
    for (const name of ['licensing_products', 'licensing_migrations'])
      expect(await db.schema.hasTable(name)).toBe(false);

    const second = { ...settings, LICENSING_TABLE_PREFIX: 'second_' };
    const made = await migrate(second);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(SCHEMA) });
    // The prefix could be a mistyped one.
    expect(made.stderr).toMatch(
      /^note: .*\(jos_licensing_\.\.\.\)\. If you want to use those, correct LICENSING/,
    );
    expectSuccess([await migrate(second)]);
    await expectToServe(second);
  });
});

describe('a migration that was killed half-way', () => {
  test.each([
    ['"licensing migrate"', startMigrate],
    ['"knex migrate:latest"', startKnexLatest],
  ])('is completed by the next %s on MariaDB, although it left Knex locked', async (_name, next) => {
    const settings = await onMariaDb();
    const connection = await connect(settings);
    expectSuccess([await startKnex(['migrate:list'], settings).ended]);
    await connection.query(
      `CREATE TRIGGER slow BEFORE INSERT ON licensing_migrations FOR EACH ROW
       IF NEW.name = '${SCHEMA}' THEN DO SLEEP(60); END IF`,
    );
    const killed = startMigrate(settings);
    const sleeper = await eventually(async () => {
      const [[found]] = await connection.query<RowDataPacket[]>(
        `SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE = 'User sleep'`,
      );
      if (!found) throw new Error('It is not half-way yet.');
      return found.ID as number;
    });
    await endProcess(killed.process, 'SIGKILL');
    // Without this, the server notices only at the end of the statement that its client is gone.
    await connection.query(`KILL ${sleeper}`);
    await connection.query('SET SESSION lock_wait_timeout = 1');
    await eventually(() => connection.query('DROP TRIGGER slow'));

    const db = open(settings);
    expect(await recorded(db)).toEqual([]);
    expect(await db('licensing_migrations_lock').pluck('is_locked')).toEqual([1]);
    expect(await db.schema.hasTable('licensing_activations')).toBe(true);
    // This is the state after a kill some tables earlier.
    for (const last of ['idempotency', 'leases', 'order_licenses'])
      await db.schema.dropTable(`licensing_${last}`);

    expect(await next(settings).ended).toMatchObject({ code: 0 });
    expect(await recorded(db)).toEqual(ALL);
    expect(await db.schema.hasTable('licensing_idempotency')).toBe(true);
    expect(await db('licensing_migrations_lock').pluck('is_locked')).toEqual([0]);
    await expectToServe(settings);
  });

  test('is completed by the next run on SQLite, even if Knex is locked', async () => {
    const settings = await onSqlite();
    expectSuccess([await startKnex(['migrate:list'], settings).ended]);
    const db = open(settings);
    await db.raw(
      `CREATE TRIGGER slow BEFORE INSERT ON licensing_migrations WHEN NEW.name = '${SCHEMA}' BEGIN
         SELECT max(i) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 1e12);
       END`,
    );
    await db('licensing_migrations_lock').update({ is_locked: 1 });
    await db.raw('PRAGMA busy_timeout = 0');
    const killed = startMigrate(settings);
    // Half-way means that the write lock is held, and still is after a while.
    const isWriting = () =>
      db.raw('BEGIN IMMEDIATE').then(
        async () => {
          await db.raw('ROLLBACK');
          throw new Error('It does not write yet.');
        },
        () => undefined,
      );
    await eventually(isWriting);
    await sleep(300);
    await isWriting();
    await endProcess(killed.process, 'SIGKILL');
    await db.raw('PRAGMA busy_timeout = 5000');
    await db.raw('DROP TRIGGER slow');
    expect(await recorded(db)).not.toContain(SCHEMA);

    expectSuccess([await migrate(settings)]);
    expect(await recorded(db)).toEqual(ALL);
    expect(await db('licensing_migrations_lock').pluck('is_locked')).toEqual([0]);
    await expectToServe(settings);
  });
});

describe('the files of a SQLite database', () => {
  const modesIn = (folder: string) =>
    Object.fromEntries(
      readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
    );
  const startMigrateOpenly = (settings: Settings, ...as: string[]) =>
    startProgram(
      'sh',
      ['-c', 'umask 022; exec "$@"', 'sh', ...as, process.execPath, CLI, 'migrate'],
      processEnvironment(settings),
    );

  test('are private to their owner, even if the umask would let all users read, and behind a link', async () => {
    const folder = temporaryFolder();
    symlinkSync(join(folder, 'data.sqlite'), join(folder, 'link.sqlite'));
    const settings = { LICENSING_DATABASE_URL: `sqlite:${join(folder, 'link.sqlite')}` };
    expectSuccess([await startMigrateOpenly(settings).ended]);
    await open(settings)('licensing_products').update({ id: 1 });
    expect(modesIn(folder)).toEqual({
      'data.sqlite': '600',
      'data.sqlite-shm': '600',
      'data.sqlite-wal': '600',
      'link.sqlite': '600',
      'link.sqlite.migrate-lock': '600',
    });
  });

  test('keep the mode they have', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'data.sqlite');
    writeFileSync(path, '');
    chmodSync(path, 0o660);
    expectSuccess([await startMigrateOpenly({ LICENSING_DATABASE_URL: `sqlite:${path}` }).ended]);
    expect(modesIn(folder)).toMatchObject({ 'data.sqlite': '660' });
  });

  (process.getuid?.() === 0 ? test : test.skip)(
    'that this user cannot create, read or write are reported with a reason, and left unchanged',
    async () => {
      const folder = temporaryFolder();
      chmodSync(folder, 0o755);
      const attempt = async (name: string) => {
        const settings = { LICENSING_DATABASE_URL: `sqlite:${join(folder, name)}` };
        const { ended } = startMigrateOpenly(settings, 'setpriv', '--reuid=65534', '--clear-groups');
        const { code, stderr } = await ended;
        expect(code).toBe(1);
        return stderr;
      };
      const at = (name: string) => `The database (SQLite, ${join(folder, name)}) cannot be used: `;
      const notMade =
        'the file cannot be opened or created. It must be a file in a folder that this user may write to';
      expect(await attempt('new.sqlite')).toContain(at('new.sqlite') + notMade);
      expect(readdirSync(folder)).toEqual([]);

      const path = join(folder, 'data.sqlite');
      expectSuccess([await startMigrateOpenly({ LICENSING_DATABASE_URL: `sqlite:${path}` }).ended]);
      const readOnly = 'this user may not write to the file or its folder';
      const unreadable = `this user may not use ${path}. Run this as the user that runs the service, who must own it.`;
      expect(await attempt('data.sqlite')).toContain(at('data.sqlite') + unreadable);
      chmodSync(path, 0o644);
      expect(await attempt('data.sqlite')).toContain(at('data.sqlite') + readOnly);
      // The files belong to the service after root has migrated the database.
      chownSync(folder, 65534, -1);
      chownSync(path, 65534, -1);
      expect(await attempt('data.sqlite')).toContain(`this user may not use ${path}.migrate-lock. Run this`);
    },
  );
});

describe('the character set and collation of a MariaDB database', () => {
  test.each([
    ['latin1', 'latin1_german1_ci'],
    ['utf8mb4', 'utf8mb4_general_ci'],
    ['utf16', 'utf16_unicode_ci'],
  ])(
    '%s, %s do not matter: text is compared byte by byte and contains any character',
    async (charset, collation) => {
      const settings = await onMariaDb();
      const connection = await connect(settings);
      const name = settings.LICENSING_DATABASE_URL!.split('/').at(-1)!;
      await connection.query(`ALTER DATABASE ${name} CHARACTER SET ${charset} COLLATE ${collation}`);
      expectSuccess([await migrate(settings)]);

      const [columns] = await connection.query<RowDataPacket[]>(
        `SELECT DISTINCT COLLATION_NAME AS name FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = ? AND COLLATION_NAME IS NOT NULL AND TABLE_NAME NOT LIKE 'licensing_migrations%'`,
        [name],
      );
      expect(columns.map((column) => column.name as string).sort()).toEqual(['ascii_bin', 'utf8mb4_bin']);
      const [tables] = await connection.query<RowDataPacket[]>(
        `SELECT DISTINCT ENGINE AS engine FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?`,
        [name],
      );
      expect(tables.map((one) => one.engine as string)).toEqual(['InnoDB']);
      const [times] = await connection.query<RowDataPacket[]>(
        `SELECT DISTINCT DATA_TYPE AS type FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = ? AND COLUMN_NAME LIKE '%\\_at' AND TABLE_NAME NOT LIKE 'licensing_migrations%'`,
        [name],
      );
      expect(times.map((one) => one.type as string)).toEqual(['datetime']);

      const db = open(settings);
      const license = await giveLicense(db, await givePlan(db, { type: 'instance', limit: 0 }));
      const service = await startServing(settings);
      const identifiers = 'Straße Strasse STRASSE A a ä Ä a\u0308 бюро 東京 🚀 🛰'.split(' ');
      for (const [index, identifier] of identifiers.entries()) {
        const answer = await request(service.address)
          .post(`${PREFIX}/licenses/activate`)
          .send({ license_key: license.key, identifier, name: `${identifier} – 🚀` });
        expect(answer.body).toMatchObject({ data: { identifier, activations_used: index + 1 } });
      }
      await service.stop();
      const stored = await rows<{ identifier: string; name: string }>(db, 'activations');
      expect(stored.map(({ identifier }) => identifier)).toEqual(identifiers);
      expect(stored[0]?.name).toBe('Straße – 🚀');
    },
  );
});

describe('a node of a cluster that refuses the lock is named, with the remedy:', () => {
  test.each([
    [
      'MariaDB',
      {
        code: 1235,
        message: "This version of MariaDB doesn't yet support 'GET_LOCK in cluster (WSREP_ON=ON)'",
      },
      /GET_LOCK in cluster \(WSREP_ON=ON\)'\. Update MariaDB: .*10\.6\.14, 10\.11\.4/,
    ],
    [
      'Percona XtraDB Cluster',
      {
        code: 1105,
        message: 'Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING',
      },
      /SET GLOBAL pxc_strict_mode = MASTER;/,
    ],
  ])('%s', async (_name, refusal, expected) => {
    const server = await startRefusingServer({
      statement: (sql) => (sql.includes('GET_LOCK') ? refusal : undefined),
    });
    closing.push(() => server.stop());
    const settings = { LICENSING_DATABASE_URL: server.url };
    const { database, tablePrefix } = testConfig(settings);
    const locked = lockMigrations(database, tablePrefix);
    await expect(locked).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE' });
    await expect(locked).rejects.toThrow(expected);
    await expect(locked).rejects.toThrow(
      /^The database \(shop as shop at 127\.0\.0\.1:\d+\) refuses the lock/,
    );
    await expect(locked).rejects.not.toThrow('S3cret');
  });
});
