import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { addKey, editKey, endKey, rekey } from '../../src/licensing/license-keys';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  storedLicense,
  type TestService,
} from '../support/service';

/** Tests the answers to a licence's other keys: keys that have ended, that overlap, or that have a limit of their own. */

const NOW = new Date('2026-08-01T12:00:00Z');
/** A well-formed key that belongs to no licence. */
const UNKNOWN = 'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6';

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

interface Logged {
  license_id: number | null;
  key_id: number | null;
  key_hint: string;
  outcome: string;
}

interface ActivationRow {
  license_id: number;
  identifier: string;
  key_id: number | null;
}

describe.each(ONE_BACKEND)('on %s', (_name, settings) => {
  let service: TestService;
  let plan: number;
  const context = () => ({ actor: 'operator:test', now: service.clock.now });

  beforeAll(async () => {
    service = await startTestService(await settings(), NOW);
    plan = await givePlan(service.db, { limit: 3 });
    await giveRelease(service, { version: '1.0' });
  });
  afterAll(() => service.stop());

  /** Each key gets its own client, because only the first of a client's many different refusals are logged one by one. */
  const clients: string[] = [];
  const clientOf = (key: string) =>
    `198.51.100.${clients.includes(key) ? clients.indexOf(key) + 1 : clients.push(key)}`;

  const license = async (limit?: number) => {
    const { id, key } = await giveLicense(service.db, plan, { activationLimit: limit });
    return { id, key, main: (await storedLicense(service.db, id)).main_key_id as number };
  };
  const add = (id: number, terms: Parameters<typeof addKey>[2] = {}) =>
    addKey(service.db, id, terms, undefined, context());

  async function call(verb: string, license_key: string, identifier?: string) {
    const answer = await request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .set('X-Forwarded-For', clientOf(license_key))
      .send({ license_key, identifier });
    const { data, error } = answer.body as Record<'data' | 'error', Record<string, unknown> | undefined>;
    return { ...data, ...error };
  }

  /** Builds every request that can carry a key. */
  function requests(key: string): Record<string, request.Test> {
    const client = { 'X-Forwarded-For': clientOf(key) };
    const post = (verb: string, body: object) =>
      request(service.url).post(`${PREFIX}/licenses/${verb}`).set(client).send(body);
    const download = (query: object) =>
      request(service.url).get(`${PREFIX}/downloads/42`).set(client).query(query);
    return {
      activate: post('activate', { license_key: key, identifier: 'held.example' }),
      'activate, dlid': post('activate', { dlid: key, identifier: 'new.example', name: 'Shop' }),
      'activate, no domain': post('activate', { license_key: key, identifier: 'not a domain' }),
      'activate, nothing': post('activate', { license_key: key }),
      validate: post('validate', { license_key: key }),
      'validate, activated': post('validate', { license_key: key, identifier: 'held.example' }),
      'validate, form': post('validate', { dlid: key }).type('form'),
      deactivate: post('deactivate', { license_key: key, identifier: 'held.example' }),
      'deactivate, none': post('deactivate', { license_key: key, identifier: 'none.example' }),
      'download, text': download({ dlid: key }),
      'download, JSON': download({ license_key: key }),
      'download, version': download({ dlid: key, version: '1.0' }),
      'download, other product': download({ license_key: key, identifier: 'held.example', version: '9' }),
    };
  }

  async function answers(key: string): Promise<Record<string, Answer>> {
    const all: Record<string, Answer> = {};
    for (const [name, sent] of Object.entries(requests(key))) {
      const { status, headers, text } = await sent;
      const others = { ...(headers as Record<string, string>), date: '', 'x-request-id': '' };
      all[name] = { status, headers: others, body: text.replaceAll(key, 'KEY') };
    }
    return all;
  }

  it('answers an ended key in every endpoint like an unknown one, and counts nothing', async () => {
    const unknown = await answers(UNKNOWN);
    for (const [name, { status }] of Object.entries(unknown))
      expect([name, status]).toEqual([name, name === 'activate, nothing' ? 400 : 403]);
    expect(unknown['download, text']?.body).toBe('License not found');

    const { id, key } = await license();
    const ended = await add(id, { label: 'Ended' });
    const limited = await add(id, { activationLimit: 1 });
    const dated = await add(id, { endsAt: new Date(service.clock.now.getTime() + 1_000) });
    await call('activate', ended.key, 'held.example');
    await endKey(service.db, id, ended.stored.id, { free: false }, context());
    await endKey(service.db, id, limited.stored.id, { free: false }, context());
    await rekey(service.db, id, {}, undefined, context());
    service.clock.now = new Date(service.clock.now.getTime() + 1_000);
    const before = await storedLicense(service.db, id);
    const activations = await rows(service.db, 'activations');
    for (const one of [ended.key, limited.key, dated.key, key]) expect(await answers(one)).toEqual(unknown);
    expect(await storedLicense(service.db, id)).toEqual(before);
    expect(before).toMatchObject({ check_count: 0, activations_used: 1 });
    expect(await rows(service.db, 'activations')).toEqual(activations);

    // The log names the licence and the key, which the answers conceal.
    await eventually(async () => {
      const logged = (await rows<Logged>(service.db, 'access_log')).filter(
        ({ key_hint: hint, outcome }) => hint === ended.key.slice(-8) && outcome === 'LICENSE_NOT_FOUND',
      );
      expect(logged.length).toBeGreaterThanOrEqual(8);
      for (const one of logged) expect(one).toMatchObject({ license_id: id, key_id: ended.stored.id });
    });
    const strangers = (await rows<Logged>(service.db, 'access_log')).filter(
      ({ key_hint: hint }) => hint === UNKNOWN.slice(-8),
    );
    for (const one of strangers) expect(one).toMatchObject({ license_id: null, key_id: null });
  });

  it('knows both keys while they overlap, the old one until its end and no longer', async () => {
    const { id, key: old } = await license(2);
    const { key, oldEndsAt } = await rekey(service.db, id, { overlap: '14d' }, undefined, context());
    const start = service.clock.now;
    expect(oldEndsAt.getTime() - start.getTime()).toBe(14 * 86_400_000);
    for (const one of [old, key]) {
      expect(await call('validate', one)).toMatchObject({ status: 'active', valid: true });
      await request(service.url).get(`${PREFIX}/downloads/42?dlid=${one}`).expect(200);
    }
    expect(await call('activate', old, 'a.example')).toMatchObject({ activations_used: 1 });
    expect(await call('activate', key, 'a.example')).toMatchObject({ activations_used: 1 });
    expect(await call('activate', key, 'b.example')).toMatchObject({ activations_used: 2 });
    expect(await call('activate', old, 'c.example')).toMatchObject({ code: 'ACTIVATION_LIMIT_REACHED' });
    expect(await call('deactivate', old, 'b.example')).toMatchObject({ activations_used: 1 });

    service.clock.now = new Date(oldEndsAt.getTime() - 1_000);
    expect(await call('validate', old, 'a.example')).toMatchObject({ identifier_activated: true });
    service.clock.now = oldEndsAt;
    expect(await call('validate', old, 'a.example')).toMatchObject({ code: 'LICENSE_NOT_FOUND' });
    expect(await call('validate', key, 'a.example')).toMatchObject({ identifier_activated: true });
    service.clock.now = start;
  });

  it('records activations by a key that is being replaced under its replacement, with one limit for both', async () => {
    const { id, main } = await license(5);
    const given = await add(id, { activationLimit: 2, label: 'Bakery' });
    await call('activate', given.key, 'a.example');
    const next = await rekey(service.db, id, { keyId: given.stored.id, overlap: '7d' }, undefined, context());
    expect(await call('activate', given.key, 'b.example')).toMatchObject({
      ...{ activations_used: 2, activation_limit: 2 },
    });
    const recorded = (await rows<ActivationRow>(service.db, 'activations')).filter(
      ({ license_id }) => license_id === id,
    );
    expect(recorded.map(({ key_id }) => key_id)).toEqual([next.stored.id, next.stored.id]);
    for (const one of [given.key, next.key])
      expect(await call('activate', one, 'c.example')).toMatchObject({
        code: 'ACTIVATION_LIMIT_REACHED',
        ...{ activation_limit: 2, activations_used: 2 },
      });
    await editKey(service.db, id, next.stored.id, { activationLimit: 3 }, context());
    expect(await call('activate', given.key, 'c.example')).toMatchObject({ activations_used: 3 });
    await eventually(async () =>
      expect(
        (await rows<Logged>(service.db, 'access_log'))
          .filter(({ license_id }) => license_id === id)
          .map(({ key_id }) => key_id),
      ).toEqual([next.stored.id, next.stored.id]),
    );
    expect(main).not.toBe(next.stored.id);
  });

  it('answers a key that has a limit with the smaller limit and the key’s own use', async () => {
    const { id, key: main } = await license(3);
    const small = await add(id, { activationLimit: 1 });
    const large = await add(id, { activationLimit: 9 });
    expect(await call('validate', small.key)).toMatchObject({ activation_limit: 1, activations_used: 0 });
    expect(await call('activate', main, 'a.example')).toMatchObject({
      ...{ activation_limit: 3, activations_used: 1 },
    });
    expect(await call('activate', small.key, 'b.example')).toMatchObject({
      ...{ activation_limit: 1, activations_used: 1 },
    });
    expect(await call('validate', large.key)).toMatchObject({ activation_limit: 3, activations_used: 0 });
    expect(await call('validate', main)).toMatchObject({ activation_limit: 3, activations_used: 2 });
    // Activating an active site again succeeds with any key, and takes no slot.
    expect(await call('activate', small.key, 'a.example')).toMatchObject({ status: 'active' });
    expect(await call('activate', small.key, 'c.example')).toMatchObject({
      ...{ code: 'ACTIVATION_LIMIT_REACHED', activation_limit: 1, activations_used: 1 },
    });
    expect(await call('activate', large.key, 'c.example')).toMatchObject({
      ...{ activation_limit: 3, activations_used: 1 },
    });
    // Both limits are reached, and the answer has the licence's.
    expect(await call('activate', small.key, 'd.example')).toMatchObject({
      ...{ code: 'ACTIVATION_LIMIT_REACHED', activation_limit: 3, activations_used: 3 },
    });
    expect(await call('deactivate', small.key, 'a.example')).toMatchObject({ code: 'ACTIVATION_NOT_FOUND' });
    expect(await call('deactivate', small.key, 'b.example')).toMatchObject({ activations_used: 0 });
    expect(await call('deactivate', main, 'c.example')).toMatchObject({ activations_used: 1 });

    const open = await license(0);
    const unlimited = await add(open.id, { activationLimit: 4 });
    expect(await call('validate', unlimited.key)).toMatchObject({ activation_limit: 4 });
  });
});
