import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { NOW, startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import { DATABASE_KINDS, giveLicense, givePlan, newPlace, PREFIX, rows } from '../support/service';

/** Tests the check after a move from another system: which sites are answered or refused, and which keys are unknown. */

const DAY_MS = 24 * 60 * 60 * 1000;

describe.each(DATABASE_KINDS)('the check of a move, on %s', (kind) => {
  let service: Managed;
  let key: string;
  let id: number;
  beforeAll(async () => {
    service = await startManaged(await newPlace(kind));
    ({ key, id } = await giveLicense(service.db, await givePlan(service.db), { customer: 'jo@example.com' }));
    await giveRelease(service, { version: '2.1.0' });
  });
  afterAll(() => service.stop());

  const check = () => service.read.ok('GET /move-in');
  const download = (dlid: string, site?: string) =>
    request(service.url)
      .get(`${PREFIX}/downloads/42`)
      .query({ dlid })
      .set(site === undefined ? {} : { 'X-Licensing-Site': site });

  it('says that nothing was asked, and that there is no log of a former system', async () => {
    expect(await check()).toEqual({
      days: 30,
      now: { sites: 0, answered: 0, refused: 0, refusals: [], more: false },
      before: [],
      unknown_keys: [],
    });
  });

  it('counts each site by its latest request, and names the nearest licence of an unknown key, never a whole key', async () => {
    const mistyped = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    service.clock.now = new Date(NOW.getTime() - 31 * DAY_MS);
    await download(key, 'long-ago.example');
    service.clock.now = new Date(NOW.getTime() - DAY_MS);
    await download(mistyped, 'mended.example');
    await download(mistyped, 'wrong.example');
    service.clock.now = NOW;
    await download(key, 'mended.example');
    await download(key, 'good.example');
    await download(key);
    await download(mistyped);
    await download('ZZZZ-unlike-any-other-key-of-the-shop', 'other.example');
    await eventually(async () => expect(await rows(service.db, 'access_log')).toHaveLength(8));

    // If a text is unlike any key, the log does not even keep its end.
    const found = await check();
    expect(found).toMatchObject({
      now: {
        ...{ sites: 6, answered: 3, refused: 3, more: false },
        refusals: [{ code: 'LICENSE_NOT_FOUND', sites: 3 }],
      },
      unknown_keys: [
        {
          key_hint: mistyped.slice(-8),
          ...{ times: 3, sites: 3, at: '2026-11-24T12:00:00Z' },
          nearest: [{ license_id: id, customer: 'jo@example.com', slip: 'one-character' }],
        },
      ],
    });
    for (const one of [key, mistyped]) expect(JSON.stringify(found)).not.toContain(one.slice(0, 17));
  });

  it('counts sites that only activate or check, and each once, however it writes its address', async () => {
    const { db } = service;
    const before = (await check()).now as { sites: number; answered: number };
    const post = (call: string, body: object) =>
      request(service.url).post(`${PREFIX}/licenses/${call}`).send(body);
    const more = await giveLicense(db, await givePlan(db, { limit: 1 }));
    const checked = await giveLicense(db, await givePlan(db));
    const active = { license_key: more.key };
    await post('activate', { ...active, identifier: 'https://www.Only-Activates.example/' }).expect(200);
    await post('validate', { ...active, identifier: 'only-activates.example' }).expect(200);
    await post('validate', { license_key: checked.key }).expect(200);
    await post('validate', { license_key: checked.key }).expect(200);
    // Two spellings of a refused site count as one site.
    await post('activate', { ...active, identifier: 'https://www.No-Slot.example/' }).expect(403);
    await post('activate', { ...active, identifier: 'no-slot.example' }).expect(403);
    // A site that an operator enters has not asked the service.
    await service.write.ok(
      `POST /licenses/${checked.id}/activations`,
      { identifier: 'entered.example' },
      201,
    );
    await eventually(async () => {
      const now = (await check()).now as { refusals: unknown[] };
      expect(now).toMatchObject({ sites: before.sites + 3, answered: before.answered + 2 });
      expect(now.refusals).toContainEqual({ code: 'ACTIVATION_LIMIT_REACHED', sites: 1 });
    });
    // A month later, no request is recent enough to count.
    service.clock.now = new Date(NOW.getTime() + 31 * DAY_MS);
    expect((await check()).now).toMatchObject({ sites: 0 });
    service.clock.now = NOW;
  });

  it("reads the former system's own log of its last days, and writes nothing to it", async () => {
    const { db } = service;
    await db.schema.createTable('ars_log', (t) => {
      t.increments('id');
      t.bigInteger('user_id');
      t.bigInteger('item_id');
      t.dateTime('accessed_on');
      t.string('ip');
      t.integer('authorized');
    });
    const ars = (user_id: number, accessed_on: string, ip: string, authorized: number) => ({
      ...{ user_id, item_id: 12, accessed_on, ip, authorized },
    });
    await db('ars_log').insert([
      ars(1, '2026-08-01 10:00:00', '198.51.100.1', 1),
      ars(1, '2026-10-30 10:00:00', '198.51.100.1', 1),
      ars(2, '2026-10-30 10:00:00', '198.51.100.2', 1),
      ars(2, '2026-10-31 10:00:00', '198.51.100.2', 0),
      ars(3, '2026-10-31 11:00:00', '2001:db8::1', 1),
      ars(3, '2026-10-31 12:00:00', '2001:db8::2', 1),
      ars(4, '2026-10-31 12:00:00', 'not an address', 0),
    ]);
    await db.schema.createTable('osmembership_downloadlogs', (t) => {
      t.increments('id');
      t.integer('download_id');
      t.dateTime('download_date');
      t.string('domain');
      t.string('server_ip');
    });
    const pro = (download_id: number, download_date: string, domain: string | null, server_ip: string) => ({
      ...{ download_id, download_date, domain, server_ip },
    });
    await db('osmembership_downloadlogs').insert([
      pro(1, '2026-10-01 10:00:00', 'one.example', '198.51.100.1'),
      pro(1, '2026-10-02 10:00:00', 'WWW.One.example', '198.51.100.2'),
      pro(2, '2026-10-02 10:00:00', '', '198.51.100.3'),
      pro(2, '2026-10-03 10:00:00', null, '198.51.100.3'),
    ]);

    expect(await check()).toMatchObject({
      before: [
        {
          ...{ source: 'ars', from: '2026-10-01T12:00:00Z', to: '2026-10-31T12:00:00Z' },
          ...{ sites: 4, answered: 2, refused: 2, refusals: [] },
        },
        {
          ...{ source: 'membershippro', from: '2026-09-03T10:00:00Z', to: '2026-10-03T10:00:00Z' },
          ...{ sites: 2, answered: 2, refused: 0, refusals: [] },
        },
      ],
    });
    expect(await db('ars_log').count({ n: '*' })).toEqual([{ n: 7 }]);
  });
});
