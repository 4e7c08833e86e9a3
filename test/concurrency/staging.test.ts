import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { editPlan } from '../../src/licensing/catalogue';
import { listEvents } from '../../src/licensing/licenses';
import { findMiscounts } from '../../src/store/counters';
import { listActivations } from '../../src/store/licenses/activations';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** Staging and local sites take no slot, and are removed with the production site that carries them. */

describe.each(BACKENDS)('on %s', (_name, settings) => {
  let service: TestService;
  let license: TestLicense;

  beforeAll(async () => {
    service = await startTestService(await settings());
  });
  afterAll(() => service.stop());

  const issue = async (limit: number, freeStaging = true) => {
    license = await giveLicense(service.db, await givePlan(service.db, { limit, freeStaging }));
  };
  const send = (verb: string, identifier: string) =>
    request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .send({ license_key: license.key, identifier })
      .then(({ body }) => {
        const { data, error } = body as { data?: { activations_used: number }; error?: { code: string } };
        return data?.activations_used ?? error?.code;
      });
  const activate = (identifier: string) => send('activate', identifier);
  const deactivate = (identifier: string) => send('deactivate', identifier);
  /** Returns the identifiers, with those without a slot in brackets. */
  const sites = async () =>
    (await listActivations(service.db, license.id)).map((one) =>
      one.free ? `(${one.identifier})` : one.identifier,
    );
  const actions = async () =>
    (await listEvents(service.db, license.id, { before: undefined, limit: 100 }))
      .filter(({ action }) => action !== 'issue')
      .map(({ action, before, after }) => `${action} ${(after?.identifier ?? before?.identifier) as string}`);

  it('takes no slot for a local site, nor for a staging site beside its production site', async () => {
    await issue(1);
    expect(await activate('localhost')).toBe(0);
    expect(await activate('example.com')).toBe(1);
    expect(await activate('staging.example.com')).toBe(1);
    expect(await activate('dev2.shop.example.com')).toBe(1);
    expect(await activate('staging.example.com')).toBe(1);
    expect(await activate('shop.example.com')).toBe('ACTIVATION_LIMIT_REACHED');
    expect(await activate('staging.example.org')).toBe('ACTIVATION_LIMIT_REACHED');
    expect(await sites()).toEqual([
      '(localhost)',
      'example.com',
      '(staging.example.com)',
      '(dev2.shop.example.com)',
    ]);
  });

  it('gives back the slots of staging sites that came first, before the limit is judged', async () => {
    await issue(2);
    expect(await activate('staging.example.com')).toBe(1);
    expect(await activate('test.example.com')).toBe(1);
    expect(await activate('other.example.org')).toBe(2);
    expect(await activate('example.com')).toBe(2);
    expect(await sites()).toEqual([
      '(staging.example.com)',
      '(test.example.com)',
      'other.example.org',
      'example.com',
    ]);
    expect(await actions()).toEqual([
      'activate staging.example.com',
      'activate test.example.com',
      'activate other.example.org',
      'free-activation staging.example.com',
      'activate example.com',
    ]);
    expect(await activate('third.example.net')).toBe('ACTIVATION_LIMIT_REACHED');
  });

  it('removes staging sites together with the last site that has a slot, whatever the plan says by then', async () => {
    await issue(3);
    for (const site of ['example.com', 'shop.example.com', 'staging.example.com', 'localhost'])
      await activate(site);
    const { plan_id: planId } = (await service
      .db('licensing_licenses')
      .where({ id: license.id })
      .first()) as {
      plan_id: number;
    };
    await editPlan(service.db, planId, { freeStaging: false });
    expect(await deactivate('example.com')).toBe(1);
    expect(await sites()).toEqual(['shop.example.com', '(staging.example.com)', '(localhost)']);
    expect(await deactivate('shop.example.com')).toBe(0);
    expect(await sites()).toEqual(['(localhost)']);
    expect((await actions()).slice(-2)).toEqual([
      'deactivate shop.example.com',
      'deactivate staging.example.com',
    ]);
    expect(await deactivate('localhost')).toBe(0);
  });

  it('bounds the free sites: five for each slot, and a thousand for unlimited ones', async () => {
    await issue(1);
    await activate('example.com');
    for (let i = 1; i <= 5; i++) expect(await activate(`staging${i}.example.com`)).toBe(1);
    expect(await activate('staging6.example.com')).toBe('ACTIVATION_LIMIT_REACHED');
    expect(await activate('localhost')).toBe('ACTIVATION_LIMIT_REACHED');
    expect(await deactivate('staging1.example.com')).toBe(1);
    expect(await activate('localhost')).toBe(1);
    await issue(2);
    await activate('example.com');
    for (let i = 1; i <= 10; i++) expect(await activate(`staging${i}.example.com`)).toBe(1);
    expect(await activate('staging11.example.com')).toBe(2);
  });

  it('stays exact while production and staging sites race to come and go', async () => {
    await issue(3);
    const names = [
      'example.com',
      'staging.example.com',
      'dev.example.com',
      'shop.example.com',
      'qa.example.org',
    ];
    await Promise.all(
      Array.from({ length: 10 }, async (_, worker) => {
        for (let round = 0; round < 8; round++) {
          const site = names[(worker * 3 + round) % names.length]!;
          await send((worker + round) % 3 === 0 ? 'deactivate' : 'activate', site);
        }
      }),
    );
    const left = await listActivations(service.db, license.id);
    const holders = left.filter(({ free }) => !free);
    expect(holders.length).toBeLessThanOrEqual(3);
    for (const one of left.filter(({ free }) => free))
      expect(holders.map(({ site }) => site)).toContain(one.site);
    expect(await findMiscounts(service.db, 1)).toEqual([]);
  });
});
