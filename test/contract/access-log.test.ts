import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { startHousekeeping } from '../../src/runner/housekeeping';
import { createAccessLog, type ReportedAccess } from '../../src/licensing/access-log';
import { insertAccesses } from '../../src/store/access-log';
import type { Pool } from '../../src/store/engine/connections';
import { table, type Db } from '../../src/store/engine/database';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, hasEnded, temporaryFolder, untilTried } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import {
  BACKENDS,
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  ONE_BACKEND,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** Tests what the access log records, and that recording neither delays nor fails a request, even without the database. */

interface AccessRow {
  at: string;
  endpoint: string;
  outcome: string;
  license_id: number | null;
  key_id: number | null;
  key_hint: string | null;
  product_id: number | null;
  version: string | null;
  identifier: string | null;
  ip: string;
  user_agent: string | null;
  site: string | null;
  installed_version: string | null;
  times: number;
  last_at: string | null;
}

const UNKNOWN_KEY = 'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6';
const NO_FINAL_NEWS = () => undefined;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(settings: Settings = {}): Promise<TestService> {
  const service = await startTestService(settings);
  cleanups.push(() => service.stop());
  return service;
}

/** A server of its own, because the tests lock it, stop it and count its statements. */
let mariadb: MariaDb;
beforeAll(async () => {
  mariadb = await startMariaDb();
});
afterAll(() => mariadb.stop('SIGKILL'));

/** Stops MariaDB. The clean-up starts it again if the test does not. */
async function stopMariaDb(): Promise<void> {
  cleanups.push(async () => {
    if (hasEnded(mariadb.process)) await mariadb.start();
  });
  await mariadb.stop();
}

const logged = (db: Db) => rows<AccessRow>(db, 'access_log');
const count = async (db: Db) =>
  Number((await db(table(db, 'access_log')).sum<{ n: string }[]>({ n: 'times' }))[0]!.n);

function post(service: { url: string }, verb: string, body: object | string) {
  return request(service.url)
    .post(`${PREFIX}/licenses/${verb}`)
    .set('Content-Type', 'application/json')
    .send(body);
}

/** Asks for a download without a key, which the service refuses and logs before it queries the database. */
function downloadWithoutKey(service: { url: string }, path = '/downloads/42') {
  return request(service.url).get(PREFIX + path);
}

describe.each(ONE_BACKEND)('what is written, on %s', (_name, settings) => {
  test('every refused activation and deactivation, down to bodies that cannot be read', async () => {
    const service = await open(await settings());
    const plan = await givePlan(service.db, { limit: 1 });
    const good = await giveLicense(service.db, plan);
    const expired = await giveLicense(service.db, plan, {
      expiresAt: new Date(service.clock.now.getTime() - 1),
    });
    await post(service, 'activate', { license_key: good.key, identifier: 'a.example' }).expect(200);

    await post(service, 'activate', { license_key: good.key, identifier: 'b.example' }).expect(403);
    await post(service, 'activate', { license_key: expired.key, identifier: 'b.example' }).expect(403);
    await post(service, 'activate', { license_key: UNKNOWN_KEY, identifier: 'b.example' }).expect(403);
    await post(service, 'activate', { license_key: good.key, identifier: 'not a domain' }).expect(400);
    await post(service, 'activate', { license_key: good.key }).expect(400);
    await post(service, 'activate', { dlid: good.key, identifier: 7 }).expect(400);
    await post(service, 'activate', {
      license_key: good.key,
      identifier: 'b.example',
      name: 'x'.repeat(191),
    }).expect(400);
    await post(service, 'deactivate', { license_key: good.key, identifier: 'b.example' }).expect(404);
    await post(service, 'deactivate', { license_key: good.key }).expect(400);
    await post(service, 'deactivate', { identifier: 'b.example' }).expect(400);
    await post(service, 'activate', '{"license_key":').expect(400);
    await post(service, 'activate', 'null').expect(400);
    await post(service, 'activate', { license_key: 7, identifier: 'a.example' }).expect(400);

    const hint = good.key.slice(-8);
    const refused = (endpoint: string, outcome: string, more: Partial<AccessRow>) => ({
      endpoint,
      outcome,
      license_id: null,
      // Each licence here has one key, so the key has the id of its licence.
      key_id: more.license_id ?? null,
      key_hint: hint,
      identifier: null,
      ...more,
    });
    await eventually(async () => expect(await count(service.db)).toBe(13));
    const once = { times: 1, last_at: null };
    expect(await logged(service.db)).toMatchObject([
      refused('activate', 'ACTIVATION_LIMIT_REACHED', { license_id: good.id, identifier: 'b.example' }),
      refused('activate', 'LICENSE_EXPIRED', {
        license_id: expired.id,
        key_hint: expired.key.slice(-8),
        identifier: 'b.example',
      }),
      refused('activate', 'LICENSE_NOT_FOUND', { key_hint: 'A3B4C5D6', identifier: 'b.example' }),
      refused('activate', 'INVALID_REQUEST', { license_id: good.id, identifier: 'not a domain' }),
      refused('activate', 'INVALID_REQUEST', { times: 3 }),
      refused('deactivate', 'ACTIVATION_NOT_FOUND', {
        ...{ license_id: good.id, identifier: 'b.example', ...once },
      }),
      refused('deactivate', 'INVALID_REQUEST', {}),
      refused('deactivate', 'INVALID_REQUEST', { key_hint: null }),
      refused('activate', 'INVALID_REQUEST', { key_hint: null, times: 3 }),
    ]);
  });

  test('nothing of a successful activation, or of a validate call', async () => {
    const service = await open(await settings());
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    await post(service, 'activate', { license_key: key, identifier: 'a.example' }).expect(200);
    await post(service, 'validate', { license_key: key }).expect(200);
    await post(service, 'validate', '{"license_key":').expect(400);
    await post(service, 'validate', { license_key: UNKNOWN_KEY }).expect(403);
    await downloadWithoutKey(service).expect(400);
    await eventually(async () => expect(await logged(service.db)).toMatchObject([{ endpoint: 'download' }]));
  });

  test('no key, wherever in a request it was put', async () => {
    const service = await open(await settings());
    const { id, key } = await giveLicense(service.db, await givePlan(service.db));
    const imported = 'Imported/Key/of/another/system';
    await giveLicense(service.db, await givePlan(service.db), { key: imported });
    for (const one of [key, key.toLowerCase(), imported])
      await request(service.url)
        .get(`${PREFIX}/downloads/42`)
        .query({ dlid: one, identifier: one, version: one })
        .set('User-Agent', `updater/1.0 (${one})`)
        .expect(403);
    await eventually(async () => expect(await count(service.db)).toBe(3));
    const written = JSON.stringify(await logged(service.db));
    for (const one of [key, key.toLowerCase(), imported]) expect(written).not.toContain(one);
    expect((await logged(service.db))[0]).toMatchObject({
      license_id: id,
      key_hint: key.slice(-8),
      identifier: '[key]',
      user_agent: 'updater/1.0 ([key])',
    });
  });

  test('the site and the version that a download reports, if they are well-formed and contain no key', async () => {
    const service = await open(await settings());
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    const imported = 'Imported/Key/of/another/system';
    await giveLicense(service.db, await givePlan(service.db), { key: imported });
    const told: [dlid: string, site: string, installed: string, ...kept: (string | null)[]][] = [
      [key, 'https://www.Customer.example:8080/joomla?a#b', ' 1.0.0 ', 'customer.example', '1.0.0'],
      [key, '', '', null, null],
      [key, '<script>alert(1)</script>', '1.0<b>', null, null],
      [key, 'two.example, three.example', '1.0.0, 2.0.0', null, null],
      [key, `https://${'a.'.repeat(200)}example`, '1'.repeat(65), null, null],
      [key, `https://customer.example/${'a'.repeat(2_000)}`, '1.0.0-beta.1', null, '1.0.0-beta.1'],
      [key, key, key, null, null],
      [key, `https://customer.example/${key}`, `1.0.0-${key}`, null, null],
      [imported, imported, 'Imported', null, 'Imported'],
      [imported, 'b\u00fccher.example', '1.0.0', 'xn--bcher-kva.example', '1.0.0'],
    ];
    for (const [i, [dlid, site, installed]] of told.entries())
      await request(service.url)
        .get(`${PREFIX}/downloads/42`)
        .query({ dlid, version: `9.${i}` })
        .set({ 'X-Licensing-Site': site, 'X-Licensing-Version': installed })
        .expect(404);
    const kept = await eventually(async () => {
      const all = await logged(service.db);
      expect(all).toHaveLength(told.length);
      return all.map((row) => [row.version, row.site, row.installed_version]);
    });

    expect(kept.sort()).toEqual(told.map(([, , , ...one], i) => [`9.${i}`, ...one]));
  });

  test('that site and version are shown, exported and erased with the customer', async () => {
    const place = { ...(await settings()) };
    place.LICENSING_DATABASE_URL ??= `sqlite:${join(temporaryFolder(), 'test.sqlite')}`;
    const service = await open(place);
    const customer = 'jane@example.com';
    const { key } = await giveLicense(service.db, await givePlan(service.db), { customer });
    await request(service.url)
      .get(`${PREFIX}/downloads/42`)
      .query({ dlid: key })
      .set({ 'X-Licensing-Site': 'https://customer.example', 'X-Licensing-Version': '1.0.0' });
    const { run, json } = operator(place);
    const told = { site: 'customer.example', installed_version: '1.0.0' };
    await eventually(async () => expect(await logged(service.db)).toMatchObject([told]));

    expect(await json(['customer', 'show', customer])).toMatchObject({ accesses: [told] });
    expect((await run(['customer', 'show', customer])).stdout).toContain(
      'Sites that downloads named: customer.example (1.0.0 installed)',
    );
    const out = join(temporaryFolder(), 'jane.json');
    await json(['customer', 'export', customer, '--out', out]);
    const exported = JSON.parse(readFileSync(out, 'utf8')) as object;
    expect(exported).toMatchObject({ licenses: [{ accesses: [told] }] });
    expect((await run(['why', customer])).stdout).toMatch(
      /which says it is\s+customer\.example,\s+with\s+version\s+1\.0\.0\s+installed/,
    );
    await json(['customer', 'erase', customer, '--yes']);
    expect(await logged(service.db)).toMatchObject([{ ip: null, site: null, installed_version: null }]);
  });

  test('texts of refused requests, cut to 64 whole characters', async () => {
    const service = await open(await settings());
    const smile = '\u{1F642}';
    await request(service.url)
      .get(`${PREFIX}/downloads/42`)
      .query({ dlid: UNKNOWN_KEY, identifier: smile.repeat(300), version: 'v'.repeat(100) })
      .set('User-Agent', 'u'.repeat(1000))
      .expect(403);
    await eventually(async () =>
      expect(await logged(service.db)).toMatchObject([
        { identifier: smile.repeat(64), version: 'v'.repeat(64), user_agent: 'u'.repeat(64) },
      ]),
    );
  });

  test('a zero byte as the replacement character, because an export with a zero byte could not be imported', async () => {
    const service = await open(await settings());
    await request(service.url)
      .get(`${PREFIX}/downloads/42`)
      .query({ dlid: 'a-key-of-another-shop\0', identifier: '\0', version: '1\0' })
      .expect(403);
    await eventually(async () =>
      expect(await logged(service.db)).toMatchObject([
        { key_hint: null, identifier: '\uFFFD', version: '1\uFFFD' },
      ]),
    );
  });

  test('nothing of an unknown key in another format, because browsers fill passwords into key fields', async () => {
    const service = await open(await settings());
    const passwords = ['correct horse battery staple', 'hunter2', 'Tr0ub4dor&3-and-more-of-it'];
    for (const password of passwords) {
      await request(service.url)
        .get(`${PREFIX}/downloads/42`)
        .query({ dlid: password, identifier: password })
        .expect(403);
      await post(service, 'activate', { license_key: password, identifier: 'a.example' }).expect(403);
      await post(service, 'activate', { license_key: password }).expect(400);
    }
    await eventually(async () => expect(await count(service.db)).toBe(9));
    const written = await logged(service.db);
    expect(written.map(({ key_hint }) => key_hint)).toEqual(written.map(() => null));
    for (const password of passwords) {
      expect(JSON.stringify(written)).not.toContain(password.slice(-4));
      expect(JSON.stringify(written)).not.toContain(password.slice(0, 4));
    }
  });
});

describe.each(BACKENDS)('what shares a row, on %s', (_name, settings) => {
  test('equal refusals of a client share one row per hour, with their number and the latest time', async () => {
    const service = await open(await settings());
    const at = (time: string) => (service.clock.now = new Date(`2026-03-20T${time}Z`));
    const refuse = async (ip: string, identifier = 'a.example') => {
      await post(service, 'activate', { license_key: UNKNOWN_KEY, identifier })
        .set('X-Forwarded-For', ip)
        .expect(403);
      expected++;
      await eventually(async () => expect(await count(service.db)).toBe(expected));
    };
    let expected = 0;
    at('10:00:00');
    await refuse('203.0.113.7');
    await refuse('203.0.113.8');
    at('10:20:00');
    await refuse('203.0.113.7', 'b.example');
    await refuse('203.0.113.7');
    at('10:59:59');
    await refuse('203.0.113.7');
    at('11:00:00');
    await refuse('203.0.113.7');
    const row = (ip: string, time: string, more: Partial<AccessRow> = {}) =>
      expect.objectContaining({ ip, at: `2026-03-20 ${time}`, times: 1, last_at: null, ...more });
    expect(await logged(service.db)).toEqual([
      row('203.0.113.7', '10:00:00', { times: 3, last_at: '2026-03-20 10:59:59' }),
      row('203.0.113.8', '10:00:00'),
      row('203.0.113.7', '10:20:00', { identifier: 'b.example' }),
      row('203.0.113.7', '11:00:00'),
    ]);
  });

  test('an IPv6 network counts as one client, and a row that was removed meanwhile is written again', async () => {
    const service = await open(await settings());
    for (let host = 1; host <= 3; host++)
      await downloadWithoutKey(service).set('X-Forwarded-For', `2001:db8:1:2::${host}`).expect(400);
    await eventually(async () => expect(await count(service.db)).toBe(3));
    expect(await logged(service.db)).toMatchObject([{ ip: '2001:db8:1:2::1', times: 3 }]);
    await service.db(table(service.db, 'access_log')).update({ ip: null });
    await downloadWithoutKey(service).set('X-Forwarded-For', '2001:db8:1:2::4').expect(400);
    await eventually(async () => expect(await count(service.db)).toBe(4));
  });

  test('a client gets at most 20 rows in a minute; further entries are counted without their texts', async () => {
    const service = await open(await settings());
    service.clock.now = new Date('2026-03-20T10:00:00Z');
    const { id, key } = await giveLicense(service.db, await givePlan(service.db));
    await giveRelease(service, { version: '2.1.0' });
    const refuse = (i: number) =>
      post(service, 'activate', { license_key: UNKNOWN_KEY, identifier: `site-${i}.example` }).expect(403);
    for (let i = 0; i < 60; i++) await refuse(i);
    for (let i = 0; i < 3; i++)
      await request(service.url)
        .get(`${PREFIX}/downloads/42?dlid=${key}`)
        .set('User-Agent', `client ${i}`)
        .expect(200);
    await eventually(async () => expect(await count(service.db)).toBe(63));
    const written = await logged(service.db);
    expect(written).toHaveLength(22);
    expect(written.slice(0, 20).map(({ identifier }) => identifier)).toEqual(
      Array.from({ length: 20 }, (_, i) => `site-${i}.example`),
    );
    expect(written.slice(20)).toMatchObject([
      { endpoint: 'activate', outcome: 'OMITTED', key_hint: null, identifier: null, times: 40 },
      { endpoint: 'download', outcome: 'ok', license_id: id, version: '2.1.0', user_agent: null, times: 3 },
    ]);
    service.clock.now = new Date('2026-03-20T10:01:00Z');
    await refuse(60);
    await eventually(async () =>
      expect((await logged(service.db)).at(-1)?.identifier).toBe('site-60.example'),
    );
  });

  test('the metrics and the doctor report the size of the log on disk', async () => {
    const place = {
      LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'sizes.sqlite')}`,
      ...(await settings()),
    };
    const service = await open(place);
    const tables = place.LICENSING_DATABASE_URL.startsWith('sqlite:')
      ? ['database']
      : ['access_log', 'events'];
    await eventually(async () => {
      const { text } = await request(service.admin).get('/metrics').expect(200);
      for (const name of tables)
        expect(text).toMatch(new RegExp(`^licensing_table_bytes\\{table="${name}"\\} [1-9]\\d+$`, 'm'));
    });
    const { stdout } = await operator({ ...place, LICENSING_PACKAGES_DIR: service.packagesDir }).run([
      'doctor',
      '--json',
    ]);
    const { findings } = JSON.parse(stdout) as { findings: { code: string; what: string }[] };
    const { what } = findings.find(({ code }) => code === 'SIZES')!;
    for (const name of tables) expect(what).toMatch(new RegExp(`${name} \\d+\\.\\d MB`));
  });

  test('2,000 entries that arrive at once are all written, a few hundred at a time', async () => {
    const { db } = await open(await settings());
    const log = createAccessLog(db, NO_FINAL_NEWS);
    const statements = readStatements(db);
    for (let i = 0; i < 2_000; i++) log.record(entry(i));
    await log.flush();
    expect(await count(db)).toBe(2_000);
    expect(statements.filter((sql) => sql.startsWith('INSERT'))).toHaveLength(4);
    expect(log.dropped()).toBe(0);
  });
});

/** Collects the statements that are sent from now on, by wrapping the driver's method that sends them. */
function readStatements(db: Db): string[] {
  const statements: string[] = [];
  const known = new Set<unknown>();
  (db.client as { pool: Pool }).pool.on('acquireSuccess', (_event, connection: object) => {
    if (known.has(connection)) return;
    known.add(connection);
    const method = 'threadId' in connection ? 'query' : 'prepare';
    const driver = connection as Record<
      string,
      (sql: string | { sql: string }, ...more: unknown[]) => unknown
    >;
    const send = driver[method]!.bind(connection);
    driver[method] = (sql, ...more) => {
      statements.push(typeof sql === 'string' ? sql : sql.sql);
      return send(sql, ...more);
    };
  });
  return statements;
}

/** Returns an entry with a client of its own, because equal refusals of one client would share a row. */
function entry(i: number, at = new Date()): ReportedAccess {
  const ip = `198.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
  return {
    at,
    endpoint: 'download',
    outcome: 'LICENSE_NOT_FOUND',
    key: UNKNOWN_KEY,
    productId: 42,
    ip,
    client: ip,
    userAgent: 'Mozilla/5.0 Joomla!/5.3.0 Joomla',
  };
}

describe('under load', () => {
  test('every download is written once, in fewer statements than there are downloads', async () => {
    const service = await open({ LICENSING_DATABASE_URL: await mariadb.createDatabase() });
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    await giveRelease(service, { version: '2.1.0' });
    const before = await statements('Com_insert');
    const downloads = 300;
    for (let i = 0; i < downloads; i += 60)
      await Promise.all(
        Array.from({ length: 60 }, () =>
          request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}`).expect(200),
        ),
      );
    await eventually(async () => expect(await count(service.db)).toBe(downloads));
    // Alone, each would take three. A slow machine writes smaller batches: 88 statements were seen there.
    expect((await statements('Com_insert')) - before).toBeLessThan(downloads);
    // Entries are written in order: a second write of an earlier one would be counted before this one.
    await downloadWithoutKey(service).expect(400);
    await eventually(async () => expect(await count(service.db)).toBe(downloads + 1));
  });

  test('a locked access log delays no request and loses no entry', async () => {
    const url = await mariadb.createDatabase();
    const name = new URL(url).pathname.slice(1);
    const service = await open({ LICENSING_DATABASE_URL: url });
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    await giveRelease(service, { version: '2.1.0' });
    const other = await mariadb.connect(name);
    await other.query(`LOCK TABLES ${table(service.db, 'access_log')} WRITE`);
    try {
      for (let i = 0; i < 100; i++)
        await request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}`).expect(200);
    } finally {
      await other.end();
    }
    await eventually(async () => expect(await count(service.db)).toBe(100));
  });
});

describe('with the database gone', () => {
  test('entries wait, keep their times, and are written when it is back', async () => {
    const service = await open({ LICENSING_DATABASE_URL: await mariadb.createDatabase() });
    service.clock.now = new Date('2026-03-20T10:00:00Z');
    await downloadWithoutKey(service).expect(400);
    await eventually(async () => expect(await count(service.db)).toBe(1));

    // The service repeats a write whose answer is lost, so wait until the database has answered, too.
    await eventually(async () => expect(await statements('Threads_running')).toBe(1));
    await stopMariaDb();
    service.clock.now = new Date('2026-03-20T11:00:00Z');
    for (let i = 0; i < 50; i++) await downloadWithoutKey(service).expect(400);
    await untilTried(mariadb.port, 2);
    service.clock.now = new Date('2026-03-20T12:00:00Z');
    await mariadb.start();

    await eventually(async () => expect(await count(service.db)).toBe(51));
    const times = (await logged(service.db)).map(({ at }) => at);
    expect(times[0]).toBe('2026-03-20 10:00:00');
    expect(new Set(times.slice(1))).toEqual(new Set(['2026-03-20 11:00:00']));
    expect(service.logLines.join('')).not.toContain('access log entries were lost');
  });

  test('no more than 20,000 entries wait; what comes after them is counted as dropped', async () => {
    const db = await openMigrated({ LICENSING_DATABASE_URL: await mariadb.createDatabase() });
    cleanups.push(() => db.destroy());
    const log = createAccessLog(db, NO_FINAL_NEWS);
    await stopMariaDb();
    for (let i = 0; i < 25_000; i++) log.record(entry(i));
    expect(log.dropped()).toBe(5_000);
    await mariadb.start();
    await eventually(async () => expect(await count(db)).toBe(20_000));
    expect(log.dropped()).toBe(5_000);
    log.record(entry(0));
    await log.flush();
    expect(await count(db)).toBe(20_001);
  });
});

test('entries that the database refuses are counted in the metrics and logged, and fail no request', async () => {
  const url = await mariadb.createDatabase();
  const name = url.split('/').at(-1) as string;
  const db = await openMigrated({ LICENSING_DATABASE_URL: url });
  cleanups.push(() => db.destroy());
  const root = await mariadb.connect();
  await root.query(`CREATE USER reader@'127.0.0.1'`);
  await root.query(`GRANT SELECT ON ${name}.* TO reader@'127.0.0.1'`);
  await root.end();
  const service = await startServiceProcess({
    LICENSING_DATABASE_URL: `mysql://reader:@127.0.0.1:${mariadb.port}/${name}`,
  });
  cleanups.push(() => service.stop());
  for (let i = 0; i < 7; i++) await downloadWithoutKey(service).expect(400);
  const admin = service.log().find(({ msg }) => msg === 'listening')?.admin as string;
  await eventually(async () => {
    const { text } = await request(admin).get('/metrics').expect(200);
    expect(text).toMatch(/^licensing_access_log_dropped 7$/m);
  });
  expect(service.log()).toContainEqual(
    expect.objectContaining({ msg: 'access log entries were lost', reason: 'ER_TABLEACCESS_DENIED_ERROR' }),
  );
  expect(await count(db)).toBe(0);
});

test('what is waiting is written before the process ends', async () => {
  const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
  const db = await openMigrated(settings);
  cleanups.push(() => db.destroy());
  const service = await startServiceProcess(settings);
  const answered = Promise.all(Array.from({ length: 40 }, () => downloadWithoutKey(service).expect(400)));
  await answered;
  expect(await service.stop()).toBe(0);
  expect(await count(db)).toBe(40);
});

describe.each(BACKENDS)('pruning, on %s', (_name, settings) => {
  /** Opens a database without a service, whose housekeeping might hold the lease and prune too. */
  async function openBare(given: Settings): Promise<Db> {
    const db = await openMigrated({
      LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'test.sqlite')}`,
      ...given,
    });
    cleanups.push(() => db.destroy());
    return db;
  }

  test('removes only rows that are older than the days to keep, in small deletes', async () => {
    const db = await openBare(await settings());
    const now = new Date('2026-06-30T12:00:00Z');
    const day = 24 * 60 * 60 * 1000;
    const old = Array.from(
      { length: 500 },
      (_, i) => new Date(now.getTime() - 90 * day - 1_000 - i * 60_000),
    );
    const kept = [new Date(now.getTime() - 90 * day), new Date(now.getTime() - day), now];
    const all = [...kept, ...old].map((at) => ({
      ...{ at, endpoint: 'download', outcome: 'ok', licenseId: 1, keyId: 1, keyHint: null, productId: 42 },
      ...{ version: null, identifier: null, ip: '198.51.100.7', userAgent: null },
    })) as Parameters<typeof insertAccesses>[1];
    for (let i = 0; i < all.length; i += 500) await insertAccesses(db, all.slice(i, i + 500));

    const deleted: number[] = [];
    db.on('query', ({ sql, bindings }: { sql: string; bindings: unknown[] }) => {
      if (/^delete from \S*access_log/i.test(sql)) deleted.push(bindings.length);
    });
    const stop = startHousekeeping(
      db,
      () => 90,
      pino({ level: 'silent' }),
      () => now,
    );
    await eventually(async () => expect(await count(db)).toBe(kept.length));
    await stop();
    expect(deleted).toEqual(Array<number>(5).fill(100));
    expect((await logged(db)).map(({ at }) => at)).toEqual([
      '2026-04-01 12:00:00',
      '2026-06-29 12:00:00',
      '2026-06-30 12:00:00',
    ]);
  });

  test('deletes fewer rows at once when a delete takes too long', async () => {
    const db = await openBare(await settings());
    const old = new Date('2026-01-01T00:00:00Z');
    await insertAccesses(
      db,
      Array.from({ length: 150 }, () => ({
        ...{ at: old, endpoint: 'download' as const, outcome: 'ok' as const, licenseId: 1 },
        ...{
          keyId: 1,
          keyHint: null,
          productId: 42,
          version: null,
          identifier: null,
          ip: '198.51.100.7',
          userAgent: null,
        },
      })),
    );
    const deleted: number[] = [];
    db.on('query', ({ sql, bindings }: { sql: string; bindings: unknown[] }) => {
      if (!/^delete from \S*access_log/i.test(sql)) return;
      deleted.push(bindings.length);
      if (bindings.length > 10) throw new Error('The disk is slow.');
    });
    const stop = startHousekeeping(
      db,
      () => 90,
      pino({ level: 'silent' }),
      () => new Date('2026-06-30T12:00:00Z'),
    );
    await eventually(async () => expect(await count(db)).toBe(0));
    await stop();
    expect(deleted).toEqual([100, ...Array<number>(15).fill(10)]);
  });
});

async function statements(name: string): Promise<number> {
  const connection = await mariadb.connect();
  const [[row]] = (await connection.query(`SHOW GLOBAL STATUS LIKE '${name}'`)) as unknown as [
    [{ Value: string }],
  ];
  await connection.end();
  return Number(row.Value);
}
