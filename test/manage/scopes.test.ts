import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateToken } from '../../src/access/token-text';
import { OPERATIONS } from '../../src/operations/operations';
import { expectNoSecrets, expectRefusal, manageClient, startManaged, type Managed } from '../support/manage';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  rows,
  storedLicense,
  startTestService,
} from '../support/service';

/** The calls that a shop's token may make (docs/tokens.md). */
const FOR_SHOPS = new Set([
  'GET /me',
  'GET /products',
  'GET /products/{id}',
  'GET /plans',
  'GET /plans/{id}',
  'GET /licenses',
  'POST /licenses',
  'GET /licenses/{id}',
  'POST /licenses/{id}/suspend',
  'POST /licenses/{id}/reinstate',
  'POST /licenses/{id}/cancel',
  'POST /licenses/{id}/renew',
  'GET /licenses/{id}/events',
  'GET /licenses/{id}/requests',
  'GET /licenses/{id}/activations',
  'GET /orders',
  'POST /orders',
  'GET /orders/{id}',
]);
/** The calls that only read, but need the scope `write`. */
const FOR_WRITERS = new Set([
  'GET /tokens',
  'GET /shops',
  'GET /shops/{name}',
  'GET /shops/{name}/map',
  'GET /shops/{name}/messages',
  'GET /shops/{name}/plugin',
  'GET /webhooks',
  'GET /webhooks/{id}',
  'GET /webhooks/{id}/deliveries',
]);
/** The calls for every scope but `issue`, although they are POST. */
const FOR_READERS = new Set(['POST /why', 'POST /mail-texts/{name}/{language}/preview']);

const CALLS = OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
/** Fills in an id that does not exist. */
const callNothing = (call: string) => call.replace(/\{\w+\}/g, '999999');

describe.each(ONE_BACKEND)('the scopes of tokens, on %s', (_, settings) => {
  let service: Managed;
  beforeAll(async () => {
    service = await startManaged(await settings());
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  /** Returns the status of each call, from a network of its own, because failures are counted by client. */
  const statuses = async (token: string, network: number) => {
    const found: Record<string, string> = {};
    for (const [i, call] of CALLS.entries()) {
      const { status, text, headers } = await service.as(token).send(callNothing(call), {
        headers: { 'X-Forwarded-For': `198.51.${network}.${Math.floor(i / 9)}` },
      });
      found[call] = `${status} ${/"code":"(\w+)/.exec(text)?.[1]} ${headers.get('www-authenticate')}`;
    }
    return found;
  };
  const all = (answer: string) => Object.fromEntries(CALLS.map((call) => [call, answer]));

  it('answers 401 to every call without a token, with a wrong, an expired and a revoked one', async () => {
    const expired = await service.withToken('write', 'old', new Date(service.clock.now.getTime() + 1_000));
    const revoked = await service.withToken('write', 'gone');
    await service.write.ok(`DELETE /tokens/${revoked.id}`, undefined, 204);
    service.clock.now = new Date(service.clock.now.getTime() + 2_000);
    const wrong = ['', 'wrong', generateToken(), expired.token, revoked.token];
    for (const [i, token] of wrong.entries())
      expect(await statuses(token, i)).toEqual(all('401 UNAUTHORIZED Bearer'));
  });

  it('lets each scope do what the contract says, and answers 403 to everything else', async () => {
    for (const { scope, client, may } of [
      { scope: 'issue', client: service.issue, may: (call: string) => FOR_SHOPS.has(call) },
      {
        scope: 'read',
        client: service.read,
        may: (call: string) => (call.startsWith('GET ') ? !FOR_WRITERS.has(call) : FOR_READERS.has(call)),
      },
    ]) {
      const found = await statuses(client.token, 0);
      const forbidden = CALLS.filter((call) => found[call] === '403 FORBIDDEN null');
      expect([scope, forbidden]).toEqual([scope, CALLS.filter((call) => !may(call))]);
      expect(Object.values(found).filter((answer) => answer.startsWith('401'))).toEqual([]);
    }
    const found = await statuses(service.write.token, 0);
    expect(Object.values(found).filter((answer) => /^40[13]/.test(answer))).toEqual([]);
  });

  it('accepts the word Bearer in any case, and no other scheme', async () => {
    const status = async (authorization: string) =>
      (await service.as('').send('GET /me', { headers: { Authorization: authorization } })).status;
    expect(await status(`bearer ${service.read.token}`)).toBe(200);
    expect(await status(`BEARER  ${service.read.token}`)).toBe(200);
    for (const other of [`Basic ${service.read.token}`, service.read.token, `Bearer ${service.read.token}x`])
      expect(await status(other)).toBe(401);
  });

  it('names the caller', async () => {
    expect(await service.read.ok('GET /me')).toEqual({
      name: 'reader',
      scope: 'read',
      actor: 'token:reader',
    });
    expect(await service.issue.ok('GET /me')).toEqual({ name: 'shop', scope: 'issue', actor: 'token:shop' });
  });

  it('shows a shop its own licences only', async () => {
    const planId = await givePlan(service.db);
    const own = await service.issue.ok('POST /licenses', { plan_id: planId, reference: 'own-1' }, 201);
    const others = [
      (await giveLicense(service.db, planId, { reference: 'command-1' }, service.clock.now)).id,
      (
        await (
          await service.withToken('issue', 'other shop')
        ).ok('POST /licenses', { plan_id: planId, reference: 'shop-2' }, 201)
      ).id as number,
      (await service.write.ok('POST /licenses', { plan_id: planId, reference: 'admin-1' }, 201)).id as number,
    ];
    expect(await storedLicense(service.db, own.id as number)).toMatchObject({ issued_by: 'shop' });

    expect((await service.issue.all('/licenses')).map(({ id }) => id as number)).toEqual([own.id]);
    for (const path of [own.id as number, 'reference:own-1']) {
      await service.issue.ok(`GET /licenses/${path}`);
      for (const part of ['events', 'requests', 'activations'])
        await service.issue.ok(`GET /licenses/${path}/${part}`);
      for (const action of ['suspend', 'reinstate', 'renew', 'cancel'])
        expect([action, (await service.issue.send(`POST /licenses/${path}/${action}`)).status]).not.toEqual([
          action,
          404,
        ]);
    }
    const before = await rows(service.db, 'licenses');
    for (const id of [...others, 'reference:command-1', 'reference:shop-2', 999_999, 'reference:none']) {
      for (const part of ['', '/events', '/requests', '/activations'])
        await service.issue.refused(`GET /licenses/${id}${part}`, undefined, 'NOT_FOUND');
      for (const action of ['suspend', 'reinstate', 'renew', 'cancel'])
        await service.issue.refused(`POST /licenses/${id}/${action}`, {}, 'NOT_FOUND');
      // The scope never allows these, even for the shop's own licence.
      for (const action of ['revoke', 'rekey', 'reveal'])
        await service.issue.refused(`POST /licenses/${id}/${action}`, {}, 'FORBIDDEN');
    }
    for (const call of [
      `POST /licenses/${own.id}/rekey`,
      `PATCH /licenses/${own.id}`,
      `GET /licenses/${own.id}/keys`,
    ])
      await service.issue.refused(call, call.startsWith('GET') ? undefined : {}, 'FORBIDDEN');
    expect(await rows(service.db, 'licenses')).toEqual(before);
  });

  it('does not reveal to a shop the reference of another shop', async () => {
    const planId = await givePlan(service.db);
    await giveLicense(service.db, planId, { reference: 'taken-1', customer: 'jane@example.com' });
    const message = await service.issue.refused(
      'POST /licenses',
      { plan_id: planId, reference: 'taken-1' },
      'CONFLICT',
      'reference',
    );
    expect(message).not.toMatch(/jane|licence \d/);
    // A write token sees the licences of all shops.
    await service.write.ok('POST /licenses', { plan_id: planId, reference: 'taken-1' });
  });

  it('keeps the licences of a shop whose token was renewed under the same name', async () => {
    const planId = await givePlan(service.db);
    const first = await service.withToken('issue', 'renewed');
    const { id } = await first.ok('POST /licenses', { plan_id: planId }, 201);
    await service.write.ok(`DELETE /tokens/${first.id}`, undefined, 204);
    const second = await service.withToken('issue', 'renewed');
    await second.ok(`GET /licenses/${id}`);
  });

  it('refuses the eleventh failure of a client in a minute, and no valid token for it', async () => {
    const from = (network: string) => ({ headers: { 'X-Forwarded-For': network } });
    const wrong = service.as('wrong');
    for (let i = 0; i < 10; i++) expect((await wrong.send('GET /me', from('203.0.113.7'))).status).toBe(401);
    const refused = await wrong.send('GET /me', from('203.0.113.7'));
    expectRefusal(refused, 'RATE_LIMITED');
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect((await service.read.send('GET /me', from('203.0.113.7'))).status).toBe(200);
    expect((await wrong.send('GET /me', from('203.0.113.8'))).status).toBe(401);
  });
});

describe.each(ONE_BACKEND)('limits and revocation, on %s', (_, settings) => {
  it('counts the calls of each token separately', async () => {
    const service = await startManaged({ ...(await settings()), LICENSING_MANAGE_RATE_LIMIT: '5' });
    try {
      const calls = async (client: typeof service.read, n: number) =>
        Promise.all(Array.from({ length: n }, async () => (await client.send('GET /me')).status));
      const found = await calls(service.read, 8);
      expect(found.filter((status) => status === 200)).toHaveLength(5);
      expect(found.filter((status) => status === 429)).toHaveLength(3);
      expectRefusal(await service.read.send('GET /nowhere'), 'RATE_LIMITED');
      expect(await calls(service.write, 5)).toEqual([200, 200, 200, 200, 200]);
    } finally {
      await service.stop();
    }
  });

  it('refuses a revoked token on another instance within two seconds', async () => {
    const shared = await settings();
    const first = await startManaged(shared);
    const second =
      shared.LICENSING_DATABASE_URL === undefined
        ? undefined
        : await startTestService(shared, first.clock.now);
    try {
      const { token, id } = await first.withToken('read', 'to be revoked');
      const clients = [first, second ?? first].map(({ url }) => manageClient(url, token));
      for (const client of clients) await client.ok('GET /me');
      await first.write.ok(`DELETE /tokens/${id}`, undefined, 204);
      await sleep(2_000);
      for (const client of clients) expect((await client.send('GET /me')).status).toBe(401);
    } finally {
      await second?.stop();
      await first.stop();
    }
  });
});
