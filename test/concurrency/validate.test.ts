import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RowDataPacket } from 'mysql2/promise';
import request from 'supertest';
import { generateKey } from '../../src/licensing/core/keys';
import type { Db } from '../../src/store/engine/database';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';
import { startMariaDb, type MariaDb } from '../support/servers';
import { startServicesOnMariaDb, type ServiceProcess } from '../support/service-process';

interface LicenseRow {
  id: number;
  check_count: number;
  last_check_at: string | null;
  last_check_ip: string | null;
}

async function validate(url: string, body: object, ip = '203.0.113.1') {
  const answer = await request(url).post(`${PREFIX}/licenses/validate`).set('X-Forwarded-For', ip).send(body);
  return { status: answer.status, body: answer.body as { data?: unknown; error?: { code: string } } };
}

async function licenseRow(db: Db, { id }: TestLicense): Promise<LicenseRow> {
  return (await rows<LicenseRow>(db, 'licenses')).find((row) => row.id === id)!;
}

describe.each(BACKENDS)('validate calls at the same time, on %s', (_name, settings) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await settings(), new Date('2026-05-01T12:00:00Z'));
  });
  afterAll(() => service.stop());

  test('each of 40 gets its own answer, and each is counted on its own licence', async () => {
    const { db, url } = service;
    const domains = await givePlan(db, { type: 'domain', limit: 3 });
    const devices = await givePlan(db, { type: 'device', limit: 5 });
    const active = await giveLicense(db, domains);
    const ended = await giveLicense(db, domains, { expiresAt: new Date('2026-04-30T00:00:00Z') });
    const suspended = await giveLicense(db, devices);
    const unseen = await giveLicense(db, devices);
    const activate = (license: TestLicense, identifier: string) =>
      request(url).post(`${PREFIX}/licenses/activate`).send({ license_key: license.key, identifier });
    expect((await activate(active, 'example.com')).status).toBe(200);
    expect((await activate(suspended, 'Device-A')).status).toBe(200);
    await db('licensing_licenses').where({ id: suspended.id }).update({ status: 'suspended' });

    // The requests with the expected answers, interleaved so that neighbours in a batch differ.
    const cases: [object, object][] = [
      [
        { license_key: active.key, identifier: 'https://www.example.com/shop' },
        { status: 'active', valid: true, identifier_activated: true, activations_used: 1 },
      ],
      [
        { dlid: active.key.toLowerCase(), identifier: 'other.example' },
        { status: 'active', valid: true, identifier_activated: false, activation_type: 'domain' },
      ],
      [{ license_key: active.key }, { status: 'active', valid: true, identifier_activated: true }],
      [
        { license_key: ended.key, identifier: 'example.com' },
        { status: 'expired', valid: false, identifier_activated: false, expires_at: '2026-04-30T00:00:00Z' },
      ],
      [
        { license_key: suspended.key, identifier: 'Device-A' },
        { status: 'suspended', valid: false, identifier_activated: true, activation_type: 'device' },
      ],
      [
        { license_key: suspended.key, identifier: 'device-a' },
        { status: 'suspended', valid: false, identifier_activated: false, activation_limit: 5 },
      ],
      [{ license_key: generateKey(), identifier: 'example.com' }, { code: 'LICENSE_NOT_FOUND' }],
      [{ license_key: 7 }, { code: 'INVALID_REQUEST' }],
    ];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => validate(url, cases[i % cases.length]![0], `203.0.113.${i + 1}`)),
    );
    answers.forEach((answer, i) => {
      const [asked, expected] = cases[i % cases.length]!;
      expect({ asked, told: answer.body.data ?? answer.body.error }).toMatchObject({ asked, told: expected });
    });

    const counts = await Promise.all(
      [active, ended, suspended, unseen].map(async (license) => (await licenseRow(db, license)).check_count),
    );
    expect(counts).toEqual([15, 5, 10, 0]);
    // The address must belong to a call of this licence, which the position in the row of eight shows.
    const place = async (license: TestLicense) => {
      const { last_check_ip, last_check_at } = await licenseRow(db, license);
      expect(last_check_at).toBe('2026-05-01 12:00:00');
      return (Number(last_check_ip!.split('.')[3]) - 1) % cases.length;
    };
    expect([0, 1, 2]).toContain(await place(active));
    expect(await place(ended)).toBe(3);
    expect([4, 5]).toContain(await place(suspended));
    expect(await licenseRow(db, unseen)).toMatchObject({ last_check_at: null, last_check_ip: null });
  });

  test('the latest call leaves its time and address, and a call with an earlier clock does not undo that', async () => {
    const { db, url, clock } = service;
    const license = await giveLicense(db, await givePlan(db));
    const seen = async () => {
      const { last_check_at, last_check_ip, check_count } = await licenseRow(db, license);
      return [last_check_at, last_check_ip, check_count];
    };
    clock.now = new Date('2026-05-02T08:00:00.999Z');
    await validate(url, { license_key: license.key }, '198.51.100.1');
    expect(await seen()).toEqual(['2026-05-02 08:00:00', '198.51.100.1', 1]);
    clock.now = new Date('2026-05-02T08:00:05Z');
    await validate(url, { license_key: license.key }, '2001:db8::1');
    expect(await seen()).toEqual(['2026-05-02 08:00:05', '2001:db8::1', 2]);
    // another host's clock, which is behind
    clock.now = new Date('2026-05-02T08:00:03Z');
    await validate(url, { license_key: license.key }, '198.51.100.3');
    expect(await seen()).toEqual(['2026-05-02 08:00:05', '2001:db8::1', 3]);
    // in the same second the later call counts
    clock.now = new Date('2026-05-02T08:00:05.500Z');
    await validate(url, { license_key: license.key }, '198.51.100.4');
    expect(await seen()).toEqual(['2026-05-02 08:00:05', '198.51.100.4', 4]);
  });
});

describe('a call that is alone', () => {
  let mariadb: MariaDb;
  let service: TestService;
  beforeAll(async () => {
    mariadb = await startMariaDb();
    service = await startTestService({ LICENSING_DATABASE_URL: await mariadb.createDatabase() });
  });
  afterAll(async () => {
    await service.stop();
    await mariadb.stop('SIGKILL');
  });

  /** Returns how many prepared statements were executed. */
  async function executed(): Promise<number> {
    const connection = await mariadb.connect();
    const [[row]] = await connection.query<(RowDataPacket & { Value: string })[]>(
      "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'",
    );
    await connection.end();
    return Number(row?.Value);
  }

  test('is answered by two prepared statements, and by plain ones where the server has no room for more', async () => {
    const { db, url } = service;
    const license = await giveLicense(db, await givePlan(db));
    const call = { license_key: license.key, identifier: 'example.com' };
    const before = await executed();
    expect(await validate(url, call)).toMatchObject({ status: 200 });
    expect(await validate(url, call)).toMatchObject({ status: 200 });
    expect((await executed()) - before).toBe(4);

    const connection = await mariadb.connect();
    await connection.query('SET GLOBAL max_prepared_stmt_count = 0');
    await connection.end();
    // Those two remain prepared; an identifier that the types normalise differently makes a third.
    const third = { ...call, identifier: 'www.example.com' };
    expect(await validate(url, third)).toMatchObject({ status: 200 });
    expect(await validate(url, third)).toMatchObject({ status: 200 });
    expect((await licenseRow(db, license)).check_count).toBe(4);
  });
});

describe('two service processes on one MariaDB', () => {
  let db: Db;
  let services: ServiceProcess[];
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ db, services, stop } = await startServicesOnMariaDb(2));
  });
  afterAll(() => stop());

  test('400 validates of the same ten licences at once are all counted, and none is refused', async () => {
    const planId = await givePlan(db);
    const licenses: TestLicense[] = [];
    for (let i = 0; i < 10; i++) licenses.push(await giveLicense(db, planId));
    const started = Math.floor(Date.now() / 1000) * 1000;
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, i) =>
        validate(
          services[i % 2]!.url,
          // in opposite orders, to the extent that requests arrive in the order of sending
          { license_key: licenses[(i % 2 === 0 ? i >> 1 : 1_000 - (i >> 1)) % 10]!.key },
          `203.0.113.${i % 250}`,
        ),
      ),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    for (const license of licenses) {
      const row = await licenseRow(db, license);
      expect(row.check_count).toBe(40);
      expect(row.last_check_ip).toMatch(/^203\.0\.113\.\d+$/);
      const at = Date.parse(`${row.last_check_at!.replace(' ', 'T')}Z`);
      expect(at).toBeGreaterThanOrEqual(started);
      expect(at).toBeLessThanOrEqual(Date.now());
    }
  });

  test('validates and activations of one licence at once neither lose a count nor a slot', async () => {
    const license = await giveLicense(db, await givePlan(db, { limit: 0 }));
    const answers = await Promise.all(
      Array.from({ length: 80 }, async (_, i) => {
        const { url } = services[i % 2]!;
        const body = { license_key: license.key, identifier: `site-${i}.example` };
        if (i % 4 < 2) return validate(url, body);
        const { status } = await request(url).post(`${PREFIX}/licenses/activate`).send(body);
        return { status };
      }),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await licenseRow(db, license)).toMatchObject({ check_count: 40, activations_used: 40 });
    expect(await rows(db, 'activations')).toHaveLength(40);
  });
});
