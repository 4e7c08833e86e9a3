import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import { readConfig, type Settings } from '../../src/config';
import { keyDigest } from '../../src/licensing/core/keys';
import { openDatabase, type Db } from '../../src/store/database';
import { migrationConfig } from '../../src/store/migrate';
import { migrationNames } from '../../migrations/index';
import { operator } from '../support/operator';
import { endProcess, startProcess, temporaryFolder } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import { processEnvironment, startServiceProcess } from '../support/service-process';
import { PREFIX } from '../support/service';

/**
 * The migration of a shop in use from one key a licence to several, while instances of the earlier version serve. Their
 * statements stand here as they were: a look-up by the key's digest, and the count of a check.
 */

const LICENCES = 40_000;
const CALLERS = 6;
/** The session's lock wait: a call that waits longer is refused. */
const LOCK_WAIT_MS = 1_000;
const BEFORE = migrationNames.slice(0, migrationNames.indexOf('012_bundles'));

let mariadb: MariaDb;
let settings: Settings;
let db: Db;
const connections: Connection[] = [];

const keyOf = (id: number) => `A1B2C3D4-E5F6A7B8-C9D0E1F2-${id.toString(16).toUpperCase().padStart(8, '0')}`;

beforeAll(async () => {
  mariadb = await startMariaDb();
  const admin = await mariadb.connect();
  connections.push(admin);
  await admin.query('CREATE DATABASE shop');
  settings = {
    LICENSING_DATABASE_URL: mariadb.url('shop'),
    LICENSING_PACKAGES_DIR: temporaryFolder(),
    LICENSING_LISTEN: '127.0.0.1:0',
    LICENSING_ADMIN_LISTEN: '127.0.0.1:0',
  };
  const config = readConfig({ LICENSING_ENV_FILE: '/dev/null' }, settings);
  db = openDatabase(config.database, config.tablePrefix);
  for (const name of BEFORE) await db.migrate.up({ ...migrationConfig(config.tablePrefix), name });
  await fill(admin);
}, 120_000);

afterAll(async () => {
  await db.destroy();
  for (const connection of connections) await connection.end();
  await endProcess(mariadb.process);
});

async function fill(admin: Connection): Promise<void> {
  await admin.query('USE shop');
  await admin.query(
    `INSERT INTO licensing_products (id, name, created_at) VALUES (42, 'Example Shop', '2026-01-01')`,
  );
  await admin.query(
    `INSERT INTO licensing_plans (id, product_id, name, activation_type, activation_limit, created_at)
     VALUES (1, 42, 'Developer', 'domain', 3, '2026-01-01'), (2, 42, 'Desk', 'device', 3, '2026-01-01')`,
  );
  const hint = `LPAD(HEX(seq), 8, '0')`;
  await admin.query(
    `INSERT INTO licensing_licenses (id, key_digest, key_hint, key_sealed, plan_id, status, activation_limit,
       activations_used, created_at)
     SELECT seq, SHA2(CONCAT('A1B2C3D4-E5F6A7B8-C9D0E1F2-', ${hint}), 256), ${hint}, 'c2VhbGVk', 1 + seq % 2, 'active', 3, 1,
       '2026-01-01' FROM seq_1_to_${LICENCES}`,
  );
  await admin.query(
    `INSERT INTO licensing_activations (license_id, identifier, activated_at)
     SELECT seq, CONCAT('www2.site-', seq, '.co.uk'), '2026-01-01' FROM seq_1_to_${LICENCES}`,
  );
}

interface Calls {
  answered: number;
  /** ms */
  slowest: number;
}

/** Calls of the earlier version until `stopped`; the first failure ends the test. */
async function call(calls: Calls, isStopped: () => boolean): Promise<void> {
  const connection = await mariadb.connect('shop');
  connections.push(connection);
  await connection.query('SET SESSION innodb_lock_wait_timeout = 1, SESSION lock_wait_timeout = 1');
  while (!isStopped()) {
    const id = 1 + Math.floor(Math.random() * LICENCES);
    const started = performance.now();
    const [found] = await connection.query(
      `SELECT l.id, a.identifier FROM licensing_licenses l FORCE INDEX (licensing_licenses_key_digest)
         LEFT JOIN licensing_activations a ON a.license_id = l.id AND a.identifier = ?
        WHERE l.key_digest = ?`,
      [`www2.site-${id}.co.uk`, keyDigest(keyOf(id))],
    );
    expect(found).toEqual([{ id, identifier: `www2.site-${id}.co.uk` }]);
    await connection.query('UPDATE licensing_licenses SET check_count = check_count + 1 WHERE id = ?', [id]);
    calls.answered++;
    calls.slowest = Math.max(calls.slowest, performance.now() - started);
    await sleep(2);
  }
}

/** Runs the command and kills it when `until` says so. */
async function migrateKilled(until: () => Promise<boolean>): Promise<void> {
  const child = startProcess(process.execPath, [join(__dirname, '../../dist/src/cli.js'), 'migrate'], {
    env: processEnvironment(settings),
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  while (!(await until())) await sleep(5);
  child.kill('SIGKILL');
  await ended;
}

const count = async (sql: string) => {
  const [[row]] = (await db.raw(`SELECT COUNT(*) AS n FROM ${sql}`)) as [[{ n: number }]];
  return row.n;
};
const has = async (table: string, column: string) => db.schema.hasColumn(`licensing_${table}`, column);

test('no call of the earlier version is lost, refused or late, although the migration is killed twice', async () => {
  const calls: Calls = { answered: 0, slowest: 0 };
  let stopped = false;
  const callers = Array.from({ length: CALLERS }, () => call(calls, () => stopped));
  await migrateKilled(
    async () => (await has('licenses', 'main_key_id')) && (await count('licensing_license_keys')) > 2_000,
  );
  const keys = await count('licensing_license_keys');
  expect(keys).toBeGreaterThan(2_000);
  expect(keys).toBeLessThan(LICENCES);
  await migrateKilled(
    async () =>
      (await has('activations', 'site')) &&
      (await count('licensing_activations WHERE site IS NOT NULL')) > 2_000,
  );
  const { stderr, code } = await operator(settings).run(['migrate']);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('licensing migrate --finish'),
  });
  const during = calls.answered;
  stopped = true;
  await Promise.all(callers);

  expect(during).toBeGreaterThan(200);
  expect(calls.slowest).toBeLessThan(LOCK_WAIT_MS);
  const [[{ checks }]] = (await db.raw('SELECT SUM(check_count) AS checks FROM licensing_licenses')) as [
    [{ checks: string }],
  ];
  expect(Number(checks)).toBe(calls.answered);
}, 180_000);

test('every licence has its key as the main key, and every site its registrable domain', async () => {
  expect(
    await count(
      `licensing_licenses l JOIN licensing_license_keys k ON k.id = l.main_key_id
        WHERE k.license_id = l.id AND k.key_digest = l.key_digest AND k.key_sealed = 'c2VhbGVk' AND k.key_hint = l.key_hint`,
    ),
  ).toBe(LICENCES);
  expect(await count('licensing_license_keys')).toBe(LICENCES);
  expect(
    await count(
      `licensing_activations WHERE site = SUBSTRING(identifier, 6) AND license_id % 2 = 0 AND free = 0 AND key_id IS NULL`,
    ),
  ).toBe(LICENCES / 2);
  expect(await count('licensing_activations WHERE site IS NULL AND license_id % 2 = 1')).toBe(LICENCES / 2);
});

test('this version serves before the rest is removed, and while it is; what the earlier version added meanwhile is taken over', async () => {
  const late = 'A1B2C3D4-E5F6A7B8-C9D0E1F2-FFFFFFFF';
  await db.raw(
    `INSERT INTO licensing_licenses (id, key_digest, key_hint, plan_id, status, activation_limit, activations_used, created_at)
     VALUES (?, ?, 'FFFFFFFF', 1, 'active', 3, 1, '2026-01-01')`,
    [LICENCES + 1, keyDigest(late)],
  );
  await db.raw(
    `INSERT INTO licensing_activations (license_id, identifier, activated_at) VALUES (?, 'late.example.com', '2026-01-01')`,
    [LICENCES + 1],
  );
  const service = await startServiceProcess(settings);
  const validate = async (key: string, identifier: string) => {
    const answer = await fetch(`${service.url}${PREFIX}/licenses/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: key, identifier }),
    });
    return { code: answer.status, ...((await answer.json()) as { data?: object }).data };
  };
  const works = { code: 200, valid: true, identifier_activated: true, activations_used: 1 };
  expect(await validate(keyOf(7), 'www2.site-7.co.uk')).toMatchObject(works);
  const shop = operator(settings);
  const issued = await shop.json<{ license_key: string }>(['license', 'issue', '--plan', '1']);
  expect(await validate(issued.license_key, 'a.example.com')).toMatchObject({ code: 200, valid: true });

  const finish = { ended: false };
  const finishing = shop
    .run(['migrate', '--finish'], { ownProcess: true })
    .finally(() => (finish.ended = true));
  while (!finish.ended) expect(await validate(keyOf(9), 'www2.site-9.co.uk')).toMatchObject(works);
  expect(await finishing).toMatchObject({ code: 0, stderr: '' });

  expect(await has('licenses', 'key_digest')).toBe(false);
  expect(await validate(late, 'late.example.com')).toMatchObject(works);
  expect(
    await count(`licensing_activations WHERE identifier = 'late.example.com' AND site = 'example.com'`),
  ).toBe(1);
  expect(await shop.json(['migrate', '--status'])).toMatchObject({ pending: [], contracting: [] });
  expect(await service.stop()).toBe(0);
}, 120_000);
