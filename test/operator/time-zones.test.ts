import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import type { Db } from '../../src/store/engine/database';
import { insertRelease } from '../../src/store/releases';
import { versionOrder } from '../../src/licensing/versions';
import { createMariaDbDatabase, giveLicense, givePlan, PREFIX, rows } from '../support/service';
import {
  openMigrated,
  startLicensing,
  startServiceProcess,
  type ServiceProcess,
} from '../support/service-process';

const TZ = 'America/New_York';

/** The service is in New York and the database server at +05:00 (test/support/servers.ts). Neither may matter. */
describe('a service process and a database server in different time zones', () => {
  let settings: { LICENSING_DATABASE_URL: string };
  let db: Db;
  let service: ServiceProcess;
  let planId: number;

  beforeAll(async () => {
    settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    db = await openMigrated(settings);
    planId = await givePlan(db, { limit: 0 });
    service = await startServiceProcess(settings, { TZ });
  });
  afterAll(async () => {
    await service.stop();
    await db.destroy();
  });

  const call = (verb: string, body: object) =>
    request(service.url).post(`${PREFIX}/licenses/${verb}`).send(body);

  test('the zones are as this file claims', async () => {
    const [[zone]] = (await db.raw('SELECT @@global.time_zone AS name')) as [{ name: string }[]];
    expect(zone?.name).toBe('+05:00');
    expect(new Date('2026-07-01T00:00:00Z').toLocaleString('en', { timeZone: TZ, hour: 'numeric' })).toBe(
      '8 PM',
    );
  });

  test('every stored time is UTC', async () => {
    const license = await giveLicense(db, planId);
    const before = Math.floor(Date.now() / 1000) * 1000;
    expect((await call('activate', { license_key: license.key, identifier: 'one.example' })).status).toBe(
      200,
    );
    expect((await call('validate', { license_key: license.key })).status).toBe(200);
    expect((await call('deactivate', { license_key: license.key, identifier: 'no.example' })).status).toBe(
      404,
    );
    const issued = await startLicensing(['license', 'issue', '--plan', `${planId}`, '--json'], settings, {
      TZ,
    }).ended;
    const issuedId = (JSON.parse(issued.stdout) as { id: number }).id;

    type Times = Record<string, string | number>;
    const of = (all: Times[], id: number, column = 'license_id') => all.filter((row) => row[column] === id);
    const accesses = async (): Promise<Times[]> => {
      for (;;) {
        const found = of(await rows<Times>(db, 'access_log'), license.id);
        if (found.length > 0) return found;
        await sleep(50);
      }
    };
    const licenses = await rows<Times>(db, 'licenses');
    const events = await rows<Times>(db, 'events');
    const stored = [
      ...of(await rows<Times>(db, 'activations'), license.id).map((row) => row.activated_at),
      ...of(licenses, license.id, 'id').map((row) => row.last_check_at),
      ...of(events, license.id)
        .slice(1)
        .map((row) => row.at),
      ...(await accesses()).map((row) => row.at),
      ...of(licenses, issuedId, 'id').map((row) => row.created_at),
      ...of(events, issuedId).map((row) => row.at),
    ];
    expect(stored).toHaveLength(6);
    for (const time of stored) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
      const at = Date.parse(`${String(time).replace(' ', 'T')}Z`);
      expect(at).toBeGreaterThanOrEqual(before);
      expect(at).toBeLessThanOrEqual(Date.now());
    }
    for (const { time } of service.log()) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  const ends: [string, string][] = [
    ['in the hour that spring skips in New York', '2027-03-14T02:30:00Z'],
    ['in the hour that spring skips there, as its clock would read', '2027-03-14T07:30:00Z'],
    ['in the hour that autumn repeats, the first time', '2027-11-07T05:30:00Z'],
    ['in the hour that autumn repeats, the second time', '2027-11-07T06:30:00Z'],
    ['after 2038', '2099-12-31T23:59:59Z'],
  ];
  test.each(ends)('an end %s is stored and answered to the second', async (_name, end) => {
    const issued = await startLicensing(
      ['license', 'issue', '--plan', `${planId}`, '--expires', end, '--json'],
      settings,
      { TZ },
    ).ended;
    const { id, license_key, expires_at } = JSON.parse(issued.stdout) as Record<string, string>;
    expect(expires_at).toBe(end);
    const stored = (await rows<{ id: number; expires_at: string }>(db, 'licenses')).find(
      (row) => row.id === Number(id),
    );
    expect(stored?.expires_at).toBe(end.replace('T', ' ').replace('Z', ''));
    const validated = await call('validate', { license_key });
    expect(validated.body).toMatchObject({ data: { expires_at: end, valid: true } });
    const activated = await call('activate', { license_key, identifier: 'example.com' });
    expect(activated.body).toMatchObject({ data: { expires_at: end } });
  });

  test('they are shown to the second', async () => {
    const { stdout } = await startLicensing(['license', 'list', '--json'], settings, { TZ }).ended;
    const shown = (JSON.parse(stdout) as { expires_at: string | null }[]).map((one) => one.expires_at);
    expect(shown.filter((end) => end !== null)).toEqual(ends.map(([, end]) => end));
  });

  test('a licence expires exactly at its second', async () => {
    const end = Math.ceil(Date.now() / 1000) * 1000 + 2_000;
    const license = await giveLicense(db, planId, { expiresAt: new Date(end) });
    const seen: { sent: number; received: number; valid: boolean; status: string; activated: number }[] = [];
    while (Date.now() < end + 300) {
      const sent = Date.now();
      const [validated, activated] = await Promise.all([
        call('validate', { license_key: license.key }),
        call('activate', { license_key: license.key, identifier: 'example.com' }),
      ]);
      const { data } = validated.body as { data: { valid: boolean; status: string } };
      seen.push({ sent, received: Date.now(), ...data, activated: activated.status });
    }
    const before = seen.filter(({ received }) => received < end);
    const after = seen.filter(({ sent }) => sent >= end);
    expect(before.length).toBeGreaterThan(0);
    expect(after.length).toBeGreaterThan(0);
    for (const one of before) expect(one).toMatchObject({ valid: true, status: 'active', activated: 200 });
    for (const one of after) expect(one).toMatchObject({ valid: false, status: 'expired', activated: 403 });
  });

  test("an update's date is the published one", async () => {
    await insertRelease(db, {
      productId: 42,
      version: '1.0.0',
      versionOrder: versionOrder('1.0.0'),
      state: 'published',
      changelog: '',
      publishedAt: new Date('2026-11-01T06:30:00Z'),
      fileName: 'example-1.0.0.zip',
      fileSize: 1,
      sha256: '0'.repeat(64),
      sha384: '0'.repeat(96),
      sha512: '0'.repeat(128),
      createdAt: new Date('2026-11-01T06:30:00Z'),
    });
    const answer = await request(service.url).get(`${PREFIX}/updates/42`);
    expect(answer.body).toMatchObject({ data: { date: '2026-11-01T06:30:00Z' } });
  });
});
