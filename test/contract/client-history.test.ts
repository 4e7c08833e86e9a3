import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** Tests that a client that changes the same activations again and again leaves a bounded history that still adds up. */

interface EventRow {
  license_id: number;
  at: string;
  actor: string;
  action: string;
  before_json: string | null;
  after_json: string | null;
  times: number;
  last_at: string | null;
}

const BACKENDS: [string, () => Promise<Settings>][] = [
  [
    'SQLite',
    () => Promise.resolve({ LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'test.sqlite')}` }),
  ],
  ['MariaDB', async () => ({ LICENSING_DATABASE_URL: await createMariaDbDatabase() })],
];

describe.each(BACKENDS)('on %s', (_name, backend) => {
  let settings: Settings;
  let service: TestService;
  beforeAll(async () => {
    settings = await backend();
    service = await startTestService(settings);
  });
  afterAll(() => service.stop());
  beforeEach(() => void at('10:00:00'));

  const at = (time: string) => (service.clock.now = new Date(`2026-03-20T${time}Z`));

  async function call(
    verb: string,
    { key }: TestLicense,
    body: object,
    ip = '203.0.113.7',
    status = 200,
  ): Promise<void> {
    const answer = await request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .set('X-Forwarded-For', ip)
      .send({ license_key: key, ...body });
    expect(answer.status).toBe(status);
  }

  async function history({ id }: TestLicense) {
    const events = (await rows<EventRow>(service.db, 'events')).filter(
      ({ license_id, action }) => license_id === id && action !== 'issue',
    );
    return events.map(({ at: first, actor, action, before_json, after_json, times, last_at }) => ({
      ...{ at: first.slice(11), actor, action, times, last: last_at?.slice(11) ?? null },
      before: JSON.parse(before_json ?? 'null') as Record<string, unknown>,
      after: JSON.parse(after_json ?? 'null') as Record<string, unknown>,
    }));
  }

  test('renames of an activation are one event per hour, from the first name to the latest', async () => {
    const license = await giveLicense(service.db, await givePlan(service.db));
    const rename = (name: string, ip?: string) =>
      call('activate', license, { identifier: 'a.example', name }, ip);
    await rename('Shop');
    for (let i = 0; i < 30; i++) {
      at(`10:${10 + i}:00`);
      await rename(`Shop ${i}`);
    }
    await rename('By another', '203.0.113.8');
    at('11:10:00');
    await rename('Next hour');
    const identifier = 'a.example';
    expect(await history(license)).toMatchObject([
      { action: 'activate', times: 1, last: null },
      {
        ...{ at: '10:10:00', actor: 'customer:203.0.113.7', action: 'rename-activation', times: 30 },
        ...{ last: '10:39:00', before: { identifier, name: 'Shop' }, after: { identifier, name: 'Shop 29' } },
      },
      { actor: 'customer:203.0.113.8', times: 1, last: null, after: { identifier, name: 'By another' } },
      { at: '11:10:00', times: 1, last: null, before: { name: 'By another' }, after: { name: 'Next hour' } },
    ]);
  });

  test('repeated activation and deactivation is two events per hour, whose counts add up to the slots', async () => {
    const license = await giveLicense(service.db, await givePlan(service.db), {}, service.clock.now);
    await call('activate', license, { identifier: 'stays.example' });
    for (let i = 0; i < 20; i++) {
      at(`10:20:${10 + i}`);
      await call('activate', license, { identifier: 'a.example' });
      await call('deactivate', license, { identifier: 'a.example' });
    }
    await call('activate', license, { identifier: 'a.example' });
    expect(await history(license)).toMatchObject([
      { action: 'activate', times: 1, after: { identifier: 'stays.example' } },
      { action: 'activate', times: 21, at: '10:20:10', last: '10:20:29', after: { identifier: 'a.example' } },
      {
        action: 'deactivate',
        times: 20,
        before: { identifier: 'a.example' },
        after: { activations_used: 1 },
      },
    ]);

    const { json, run } = operator(settings);
    expect(await json<object[]>(['license', 'history', String(license.id)])).toMatchObject([
      { action: 'issue', times: 1, last_at: null },
      { action: 'activate', times: 1 },
      { action: 'activate', times: 21, at: '2026-03-20T10:20:10Z', last_at: '2026-03-20T10:20:29Z' },
      { action: 'deactivate', times: 20 },
    ]);
    const { stdout } = await run(['license', 'history', String(license.id)]);
    expect(stdout).toContain('activate, 21 times until 2026-03-20T10:20:29Z');
  });

  test('each change by an operator is an event of its own', async () => {
    const license = await giveLicense(service.db, await givePlan(service.db));
    const { json } = operator(settings);
    for (let i = 0; i < 2; i++)
      for (const verb of ['add', 'remove']) await json(['activation', verb, String(license.id), 'a.example']);
    expect((await history(license)).map(({ action, times }) => [action, times])).toEqual([
      ['activate', 1],
      ['deactivate', 1],
      ['activate', 1],
      ['deactivate', 1],
    ]);
  });

  test('after 200 changes of different activations in an hour, further ones are counted without texts', async () => {
    const license = await giveLicense(service.db, await givePlan(service.db));
    const other = await giveLicense(service.db, await givePlan(service.db));
    for (let i = 0; i < 110; i++) {
      await call('activate', license, { identifier: `site-${i}.example`, name: `Site ${i}` });
      await call('deactivate', license, { identifier: `site-${i}.example` });
    }
    await call('activate', other, { identifier: 'a.example' });
    const events = await history(license);
    expect(events).toHaveLength(202);
    expect(events[199]).toMatchObject({ action: 'deactivate', before: { identifier: 'site-99.example' } });
    expect(events.slice(200)).toMatchObject([
      { action: 'activate', times: 10, before: { activations_used: 0 }, after: { activations_used: 1 } },
      { action: 'deactivate', times: 10, before: { activations_used: 1 }, after: { activations_used: 0 } },
    ]);
    expect(JSON.stringify(events.slice(200))).not.toContain('site-');
    expect(await history(other)).toMatchObject([{ after: { identifier: 'a.example' } }]);
  });

  test('the history is read a page at a time, the latest page first', async () => {
    const license = await giveLicense(service.db, await givePlan(service.db));
    // a and b have the same time. d, which is refused, comes after c with an earlier time.
    for (const [time, name] of [
      ['12:00:01', 'a'],
      ['12:00:01', 'b'],
      ['12:00:03', 'c'],
      ['12:00:02', 'd'],
    ] as const) {
      at(time);
      await call(
        'activate',
        license,
        { identifier: `${name}.example` },
        '203.0.113.7',
        name === 'd' ? 403 : 200,
      );
    }
    const { json, run } = operator(settings);
    const page = (...options: string[]) =>
      json<{ id: number; action: string; after: { identifier?: string } }[]>([
        ...['license', 'history', String(license.id), ...options],
      ]);
    const all = await page();
    expect(all.map(({ action, after }) => after.identifier ?? action)).toEqual([
      ...['a.example', 'b.example', 'c.example'],
      'issue',
    ]);
    const latest = await page('--limit', '2');
    expect(latest).toEqual(all.slice(2));
    expect(await page('--limit', '2', '--before', String(latest[0]!.id))).toEqual(all.slice(0, 2));
    expect(await page('--before', String(all[0]!.id))).toEqual([]);
    const { stderr } = await run(['license', 'history', String(license.id), '--limit', '2']);
    expect(stderr).toBe(`There may be earlier changes: --before ${latest[0]!.id}\n`);
    expect((await run(['license', 'history', String(license.id), '--limit', '1001'])).code).toBe(2);
  });
});
