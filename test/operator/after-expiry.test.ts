import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import request from 'supertest';
import { addPlan, operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { giveLicense, PREFIX, rows, startTestService, type TestService } from '../support/service';

/** The seller's side of plans whose expired licences can still download (test/contract/last-release.test.ts). */

let service: TestService;
let shop: Operator;

beforeAll(async () => {
  const settings = {
    LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'shop.sqlite')}`,
    LICENSING_PACKAGES_DIR: temporaryFolder(),
  };
  service = await startTestService(settings);
  shop = operator(settings);
  await shop.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
  await addPlan(shop, '42', 'Club', 'domain', '3', '--after-expiry', 'last-release');
});
afterAll(() => service.stop());

const afterExpiry = async () =>
  (await shop.json<{ after_expiry: string }[]>(['plan', 'list'])).map((plan) => plan.after_expiry);

it('is an option of a plan, set when it is added or later', async () => {
  expect(await afterExpiry()).toEqual(['last_release']);
  await shop.json(['plan', 'edit', '1', '--after-expiry', 'nothing']);
  expect(await afterExpiry()).toEqual(['nothing']);
  await shop.json(['plan', 'edit', '1', '--name', 'Club membership']);
  expect(await afterExpiry()).toEqual(['nothing']);
  expect(await shop.json(['plan', 'edit', '1', '--after-expiry', 'last-release'])).toMatchObject({
    after_expiry: 'last_release',
  });
});

it('refuses any other value', async () => {
  const { code, stderr } = await shop.run(['plan', 'edit', '1', '--after-expiry', 'all']);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/must be one of nothing, last-release/)]);
});

it('is explained by "why": the licence expired, and which versions it still gets', async () => {
  await giveRelease(service, { version: '1.0', date: new Date('2020-01-01T00:00:00Z') });
  await giveRelease(service, { version: '2.0' });
  const { id, key } = await giveLicense(service.db, 1, { expiresAt: new Date('2021-01-01T00:00:00Z') });
  const download = `${PREFIX}/downloads/42?dlid=${key}`;
  await request(service.url).get(`${download}&version=2.0`).expect(403);
  await request(service.url).get(`${download}&version=1.0`).expect(200);
  // The access log is written after the answer.
  await eventually(async () => expect(await rows(service.db, 'access_log')).toHaveLength(2));
  const { stdout } = await shop.run(['why', String(id)]);
  const told = stdout.replace(/\s+/g, ' ');
  expect(told).toContain('By its plan it still downloads what was published before that.');
  expect(told).toContain('the licence expired on 2021-01-01, and version 2.0 was published after that');
  await shop.json(['plan', 'edit', '1', '--after-expiry', 'security']);
  expect((await shop.run(['why', String(id)])).stdout.replace(/\s+/g, ' ')).toContain(
    'what was published before that, and the security releases of the branches that it had.',
  );
});
