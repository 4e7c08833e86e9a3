import { expect, test } from '@jest/globals';
import request from 'supertest';
import { underFault, unhealthy } from '../support/faults';
import { giveGoods, tally } from '../support/load';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
} from '../support/service';

const HOUR_MS = 60 * 60 * 1000;

test('the clock goes an hour forward and back under load: expiry by the clock, nothing crashes, nothing lost', async () => {
  const start = new Date('2030-03-31T00:30:00Z');
  const service = await startTestService({ LICENSING_DATABASE_URL: await createMariaDbDatabase() }, start);
  const { db, clock, url } = service;
  const at = (ms: number) => new Date(start.getTime() + ms);
  const goods = await giveGoods(db, service.packagesDir);
  const license = await giveLicense(db, await givePlan(db), { expiresAt: at(HOUR_MS / 2) }, start);
  const answer = async () => {
    const body = { license_key: license.key, identifier: 'example.com' };
    const validated = await request(url).post(`${PREFIX}/licenses/validate`).send(body);
    const activated = await request(url).post(`${PREFIX}/licenses/activate`).send(body);
    const download = await request(url).get(`${PREFIX}/downloads/42?dlid=${license.key}`);
    return {
      status: (validated.body as { data: { status: string } }).data.status,
      activate: activated.status,
      download: download.status,
    };
  };
  const active = { status: 'active', activate: 200, download: 200 };
  const expired = { status: 'expired', activate: 403, download: 403 };
  const lastCheck = async () =>
    (await rows<{ id: number; last_check_at: string }>(db, 'licenses')).find(({ id }) => id === license.id)!
      .last_check_at;

  const { load } = await underFault({
    url,
    goods,
    db,
    async begin() {
      expect(await answer()).toEqual(active);
      clock.now = at(HOUR_MS);
      expect(await answer()).toEqual(expired);
    },
    lasts: 1,
    async end() {
      clock.now = start;
      expect(await answer()).toEqual(active);
      // The latest check must remain the latest.
      expect(await lastCheck()).toBe('2030-03-31 01:30:00');
      clock.now = at(-HOUR_MS);
      expect(await answer()).toEqual(active);
    },
    recovers: 0,
  });

  expect(tally(unhealthy(load.calls))).toEqual({});
  expect(service.logLines.filter((line) => (JSON.parse(line) as { level: number }).level >= 50)).toEqual([]);
  await service.stop();
});
