import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { table } from '../../src/store/engine/database';
import { pagesClient } from '../pages/support/session';
import { note } from '../support/faults';
import { openStand, type Stand } from '../support/load';
import { freePort } from '../support/processes';
import { givePlan } from '../support/service';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
afterAll(() => stand.close());

const KILLS = 8;
/** The time after which a call that died is taken over (src/access/idempotency.ts). */
const LEASE_MS = 10_000;

test('the service is killed while it sells: the form, sent again as a reload does, sells once', async () => {
  const { db } = stand;
  const planId = await givePlan(db, { limit: 1 });
  const settings = {
    LICENSING_LISTEN: `127.0.0.1:${await freePort()}`,
    LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
  };
  let service = await stand.start(settings);
  const clock = {
    get now() {
      return new Date();
    },
  };
  const seller = await pagesClient({ url: service.url, db, clock });
  const sold = (customer: string) => db(table(db, 'licenses')).where({ customer }).pluck<number[]>('id');
  let lost = 0;
  for (let i = 0; i < KILLS; i++) {
    const fields = { plan_id: planId, customer: `customer-${i}@example.com`, once: `killed-${i}` };
    const first = seller.post('/licenses/new', fields).catch(() => undefined);
    // Kill half of them at a random moment, the others as soon as the change is committed
    if (i % 2 === 0) await sleep(Math.random() * 30);
    else while ((await sold(fields.customer)).length === 0);
    await service.stop('SIGKILL');
    if ((await first) === undefined) lost++;
    service = await stand.start(settings);

    let again = await seller.post('/licenses/new', fields);
    for (const end = Date.now() + 2 * LEASE_MS; again.status === 409 && Date.now() < end;)
      again = await seller.post('/licenses/new', fields);
    expect([i, again.status, await sold(fields.customer)]).toEqual([i, 200, [expect.any(Number)]]);
    expect(again.html).toMatch(/id="license-key"[^>]*value="[0-9A-F-]{35}"/);
  }
  expect(lost).toBeGreaterThan(0);
  note({ kills: KILLS, lost });
}, 180_000);
