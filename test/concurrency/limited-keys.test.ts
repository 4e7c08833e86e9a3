import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { addKey, endKey, rekey } from '../../src/licensing/license-keys';
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

/** Races through several keys of one licence: no limit of the licence or of a key is exceeded. */

const context = () => ({ actor: 'operator:test', now: new Date() });

describe.each(BACKENDS)('on %s', (_name, settings) => {
  let service: TestService;
  let license: TestLicense;

  beforeAll(async () => {
    service = await startTestService(await settings());
  });
  afterAll(() => service.stop());

  const send = (verb: string, key: string, identifier: string) =>
    request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .send({ license_key: key, identifier })
      .then(({ status, body }) => ({ status, body: body as { data?: object; error?: { code: string } } }));
  const giveKey = (limit?: number) =>
    addKey(service.db, license.id, { activationLimit: limit }, undefined, context());
  const slotsBy = async (keyId: number | null) =>
    (await listActivations(service.db, license.id)).filter((one) => one.keyId === keyId && !one.free).length;

  it('gives 50 racing activations through three keys no slot too many', async () => {
    license = await giveLicense(service.db, await givePlan(service.db, { limit: 12 }));
    const [client, agency] = [await giveKey(3), await giveKey(7)];
    const keys = [license.key, client.key, agency.key];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => send('activate', keys[i % 3]!, `site-${i}.example.com`)),
    );
    const activated = answers.filter(({ status }) => status === 200);
    expect(activated).toHaveLength(12);
    for (const { body } of answers.filter(({ status }) => status !== 200))
      expect(body.error?.code).toBe('ACTIVATION_LIMIT_REACHED');
    expect(await slotsBy(client.stored.id)).toBeLessThanOrEqual(3);
    expect(await slotsBy(agency.stored.id)).toBeLessThanOrEqual(7);
    expect(await listActivations(service.db, license.id)).toHaveLength(12);
    expect(await findMiscounts(service.db, 1)).toEqual([]);
  });

  it('fills each key to its own limit when the licence has slots for more', async () => {
    license = await giveLicense(service.db, await givePlan(service.db, { limit: 0 }));
    const keys = [await giveKey(1), await giveKey(4), await giveKey(9)];
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => send('activate', keys[i % 3]!.key, `site-${i}.example.com`)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(14);
    expect(await Promise.all(keys.map(({ stored }) => slotsBy(stored.id)))).toEqual([1, 4, 9]);
    for (const { body } of answers.filter(({ status }) => status === 403))
      expect(body.error).toMatchObject({ code: 'ACTIVATION_LIMIT_REACHED' });
  });

  it('never goes above the limit of a key while sites come and go by it', async () => {
    license = await giveLicense(service.db, await givePlan(service.db, { limit: 50 }));
    const client = await giveKey(2);
    const rounds = Array.from({ length: 12 }, (_, i) => i);
    await Promise.all(
      rounds.map(async (i) => {
        for (let round = 0; round < 3; round++) {
          await send('activate', client.key, `site-${i}.example.com`);
          expect(await slotsBy(client.stored.id)).toBeLessThanOrEqual(2);
          await send(
            i % 2 === 0 ? 'deactivate' : 'activate',
            i % 3 === 0 ? license.key : client.key,
            `site-${i}.example.com`,
          );
        }
      }),
    );
    expect(await slotsBy(client.stored.id)).toBeLessThanOrEqual(2);
    expect(await findMiscounts(service.db, 1)).toEqual([]);
  });

  it('holds one limit for a key and the one that replaces it meanwhile', async () => {
    license = await giveLicense(service.db, await givePlan(service.db, { limit: 50 }));
    const old = await giveKey(5);
    const activations = Array.from({ length: 20 }, (_, i) =>
      send('activate', old.key, `site-${i}.example.com`),
    );
    const replacing = rekey(
      service.db,
      license.id,
      { keyId: old.stored.id, overlap: '14d' },
      undefined,
      context(),
    );
    const { key, stored } = await replacing;
    const later = Array.from({ length: 10 }, (_, i) => send('activate', key, `shop-${i}.example.com`));
    await Promise.all([...activations, ...later]);
    expect(await slotsBy(old.stored.id)).toBe(0);
    expect(await slotsBy(stored.id)).toBe(5);
    expect(await findMiscounts(service.db, 1)).toEqual([]);
  });

  it('frees what came by an ended key and nothing else, also a name that is normalised to another', async () => {
    license = await giveLicense(service.db, await givePlan(service.db, { limit: 50 }));
    await send('activate', license.key, 'example.com');
    const client = await giveKey(1);
    // Only one leading "www." is dropped, so one is stored.
    await send('activate', client.key, 'www.www.example.com');
    const { freed } = await endKey(service.db, license.id, client.stored.id, { free: true }, context());
    expect(freed).toEqual(['www.example.com']);
    expect((await listActivations(service.db, license.id)).map((one) => one.identifier)).toEqual([
      'example.com',
    ]);
    expect(await findMiscounts(service.db, 1)).toEqual([]);
  });

  it('leaves nothing that came by a key which is ended with its slots', async () => {
    license = await giveLicense(service.db, await givePlan(service.db, { limit: 50 }));
    await send('activate', license.key, 'own.example.com');
    const client = await giveKey(20);
    const first = Array.from({ length: 10 }, (_, i) => send('activate', client.key, `site-${i}.example.com`));
    await first[0];
    service.clock.now = new Date(Date.now() + 1_000);
    const ending = endKey(service.db, license.id, client.stored.id, { free: true }, context());
    const second = Array.from({ length: 10 }, (_, i) =>
      send('activate', client.key, `late-${i}.example.com`),
    );
    const [, ...answers] = await Promise.all([ending, ...first, ...second]);
    for (const { status, body } of answers)
      if (status !== 200) expect(body.error?.code).toBe('LICENSE_NOT_FOUND');
    expect((await listActivations(service.db, license.id)).map((one) => one.identifier)).toEqual([
      'own.example.com',
    ]);
    expect(await findMiscounts(service.db, 1)).toEqual([]);
  });
});
