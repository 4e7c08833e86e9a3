import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Context } from '../../src/http/context';
import type { Operation } from '../../src/operations/kit/operation';
import { OPERATIONS } from '../../src/operations/operations';
import { clearSessionCookie, setSessionCookie } from '../../src/http/session-cookies';
import { endSession, openOperatorSession, createSession } from '../../src/access/sessions';
import { createAuthenticator } from '../../src/access/authenticate';
import { revokeToken } from '../../src/access/tokens';
import {
  expectNoSecrets,
  expectRefusal,
  NOW,
  startManaged,
  type Managed,
  type Sent,
} from '../support/manage';
import { giveRelease, makePackage } from '../support/packages';
import { ONE_BACKEND, givePlan } from '../support/service';

/** Tests the operator's API with a browser's session (docs/tokens.md). */

const MINUTE = 60_000;
/** The calls that need no recent sign-in (docs/pages.md), in that order. */
const GOES_ON = {
  issue: ['POST /licenses'],
  renew: ['POST /licenses/{id}/renew'],
  suspend: ['POST /licenses/{id}/suspend'],
  reinstate: ['POST /licenses/{id}/reinstate'],
  'add or remove a site': [
    'POST /licenses/{id}/activations',
    'DELETE /licenses/{id}/activations/{activation_id}',
  ],
  'mail a key to the address that is stored': ['POST /licenses/{id}/mails', 'POST /mails/{id}/again'],
  'take an undelivered mail off the list': ['POST /mails/{id}/dismiss'],
  'run or settle orders': ['POST /shops/{name}/run'],
};
/** The calls for which the operation decides that, by the fields that are sent. */
const GOES_ON_WITH = {
  notes: ['PATCH /licenses/{id}', 'PATCH /customers/{customer}'],
  drafts: ['POST /products/{id}/releases', 'PATCH /releases/{id}'],
  reading: ['POST /imports'],
};

/** Bodies for calls that are judged only after their body was read. */
const BODIES: Record<string, object> = {
  'PATCH /licenses/{id}': { customer: 'b@example.com' },
  'PATCH /customers/{customer}': { name: 'Another' },
  'PATCH /releases/{id}': { changelog: 'Another' },
};

describe.each(ONE_BACKEND)('the operator’s API by session, on %s', (_, settings) => {
  let service: Managed;
  let license: { id: number; key: string };
  beforeAll(async () => {
    service = await startManaged(await settings());
    const body = { plan_id: await givePlan(service.db), customer: 'ann@example.com' };
    const { id, license_key: key } = await service.write.ok('POST /licenses', body, 201);
    license = { id: id as number, key: key as string };
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  const root = (scope: 'read' | 'write' = 'write') =>
    createSession(
      service.db,
      { kind: 'operator', actor: 'operator:root', name: 'root', scope, operatorId: null },
      service.clock.now,
    );
  /** Sends a call with a session's cookie, from a page of the service unless the headers differ. */
  const send = (cookie: string, call: string, { headers = { Origin: service.url }, ...sent }: Sent = {}) =>
    service.as('').send(call, { ...sent, headers: { Cookie: `licensing=${cookie}`, ...headers } });

  it('acts as its opener, with its scope, and the history names it for its changes', async () => {
    const { cookie } = await root();
    expect((await send(cookie, 'GET /me', { headers: {} })).body.data).toEqual({
      name: 'root',
      scope: 'write',
      actor: 'operator:root',
    });
    expect((await send(cookie, `POST /licenses/${license.id}/suspend`)).status).toBe(200);
    const [event] = await service.read.all(`/licenses/${license.id}/events`);
    expect(event).toMatchObject({ action: 'suspend', actor: 'operator:root' });
    const reader = await root('read');
    expectRefusal(await send(reader.cookie, `POST /licenses/${license.id}/reinstate`), 'FORBIDDEN');
    expect((await send(cookie, `POST /licenses/${license.id}/reinstate`)).status).toBe(200);
  });

  it('answers a repeated Idempotency-Key of the same session once', async () => {
    const { cookie } = await root();
    const planId = await givePlan(service.db);
    const issue = (by: string) =>
      send(by, 'POST /licenses', {
        body: { plan_id: planId },
        headers: { Origin: service.url, 'Idempotency-Key': 'from-a-page' },
      });
    const [first, again] = [await issue(cookie), await issue(cookie)];
    expect(first.status).toBe(201);
    expect(again.text).toBe(first.text);
    const other = await root();
    expect((await issue(other.cookie)).body.data.id).not.toBe(first.body.data.id);
  });

  it('refuses a change from a page of another origin, or from none', async () => {
    const { cookie } = await root();
    const call = `POST /licenses/${license.id}/suspend`;
    const { host } = new URL(service.url);
    const foreign: Record<string, string>[] = [
      {},
      { Origin: 'null' },
      { Origin: 'https://shop.example' },
      { Origin: `https://${host}` },
      { Origin: `${service.url}.evil.example` },
      { Origin: 'http://127.0.0.1' },
      { Origin: service.url, 'X-Forwarded-Proto': 'https' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'none' },
      { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' },
    ];
    for (const headers of foreign) expectRefusal(await send(cookie, call, { headers }), 'FORBIDDEN');
    for (const method of ['PATCH', 'DELETE', 'PUT'])
      expectRefusal(await send(cookie, `${method} /licenses/${license.id}`, { headers: {} }), 'FORBIDDEN');
    expectRefusal(await send(cookie, 'POST /why', { headers: {}, body: { about: 'x' } }), 'FORBIDDEN');
    const own = [
      { Origin: service.url },
      { Origin: `https://${host.toUpperCase()}`, 'X-Forwarded-Proto': 'https' },
      { 'Sec-Fetch-Site': 'same-origin' },
    ];
    for (const headers of own)
      expect((await send(cookie, 'POST /why', { headers, body: { about: 'x' } })).status).toBe(200);
  });

  it('asks to sign in again after an hour, except for reading and for the calls that the contract names', async () => {
    const changing = OPERATIONS.filter(({ method, scope }) => method !== 'get' && scope === 'write');
    const nameOf = ({ method, path }: Operation) => `${method.toUpperCase()} ${path}`;
    const partly = changing.filter(({ noRecentSignInWith: goesOnWith }) => goesOnWith !== undefined);
    expect(partly.map(nameOf).sort()).toEqual(Object.values(GOES_ON_WITH).flat().sort());
    const goesOn = changing.filter((one) => !one.needsRecentSignIn && !partly.includes(one));
    expect(goesOn.map(nameOf).sort()).toEqual(Object.values(GOES_ON).flat().sort());
    const asks = changing.filter((one) => !goesOn.includes(one)).map(nameOf);
    expect(asks.length).toBeGreaterThan(30);
    const planId = await givePlan(service.db);
    const { release } = await giveRelease(service, { version: '1.0.0' });
    const start = service.clock.now;
    try {
      const { cookie } = await root();
      const reveal = `POST /licenses/${license.id}/reveal`;
      for (const minutes of [20, 40, 59]) {
        service.clock.now = new Date(start.getTime() + minutes * MINUTE);
        const revealed = await send(cookie, reveal, { body: {} });
        expect(revealed.body.data).toMatchObject({ license_key: license.key });
      }
      service.clock.now = new Date(start.getTime() + 60 * MINUTE);
      const before = await service.read.all(`/licenses/${license.id}/events`);
      for (const call of asks) {
        if (call === 'POST /imports' || call.endsWith('/releases')) continue;
        const id = call.includes('/releases/{id}') ? release.id : license.id;
        const answer = await send(cookie, call.replace('{id}', String(id)).replace(/\{\w+\}/g, '999999'), {
          body: BODIES[call] ?? {},
        });
        expect({ call, code: answer.body.error.code }).toEqual({ call, code: 'SIGN_IN_AGAIN' });
      }
      expect(await service.read.all(`/licenses/${license.id}/events`)).toEqual(before);
      const importing = (query: string) =>
        send(cookie, `POST /imports?map=key%3Dkey&plan=${planId}${query}`, {
          body: 'key\nOLD-KEY-1234\n',
          headers: { Origin: service.url, 'Content-Type': 'text/csv' },
        });
      expectRefusal(await importing(''), 'SIGN_IN_AGAIN');
      expect((await importing('&dry_run=1')).body.data).toMatchObject({ dry_run: true, new: 1 });
      const uploading = async (query: string) =>
        send(cookie, `POST /products/42/releases?version=1.1.0${query}`, {
          body: (await makePackage()).bytes,
          headers: { Origin: service.url, 'Content-Type': 'application/zip' },
        });
      expectRefusal(await uploading(''), 'SIGN_IN_AGAIN');
      const draft = await uploading('&draft=1');
      expect(draft.body.data).toMatchObject({ version: '1.1.0', state: 'draft' });
      const { id: draftId } = draft.body.data as { id: number };
      const editing = await send(cookie, `PATCH /releases/${draftId}`, { body: { changelog: 'New' } });
      expect(editing.body.data).toMatchObject({ changelog: 'New' });
      expectRefusal(await send(cookie, `POST /releases/${draftId}/publish`, { body: {} }), 'SIGN_IN_AGAIN');
      const noting = (body: object) => send(cookie, `PATCH /licenses/${license.id}`, { body });
      expect((await noting({ metadata: { note: 'called' } })).status).toBe(200);
      expectRefusal(await noting({ metadata: { note: 'x' }, customer: 'b@example.com' }), 'SIGN_IN_AGAIN');
      for (const call of ['suspend', 'reinstate'])
        expect((await send(cookie, `POST /licenses/${license.id}/${call}`)).status).toBe(200);
      const token = await service.withToken('write', 'no session');
      expect((await token.send('PATCH /products/42', { body: {} })).status).not.toBe(403);
      expect((await send(cookie, 'GET /tokens')).status).toBe(200);
      const reader = await root('read');
      expectRefusal(await send(reader.cookie, reveal), 'FORBIDDEN');
      const [by, replaces] = [{ caller: await callerOf(service.write.token) }, cookie];
      const again = await openOperatorSession(service.db, by, service.clock.now, { replaces });
      if ('refused' in again) throw new Error(again.refused);
      expect((await send(again.cookie, reveal, { body: {} })).status).toBe(200);
      expectRefusal(await send(cookie, 'GET /me'), 'UNAUTHORIZED');
    } finally {
      service.clock.now = start;
    }
  });

  async function callerOf(token: string) {
    const caller = await createAuthenticator({
      db: service.db,
      now: () => service.clock.now,
      database: { kind: 'sqlite', path: 'x' },
      joomlaRoot: undefined,
      operatorGroups: [8],
    })({ authorization: `Bearer ${token}`, joomlaToken: undefined });
    if ('refused' in caller) throw new Error(caller.refused);
    return caller;
  }

  it('is refused when it or its opener has ended, and next to a wrong token', async () => {
    const { id, token } = await service.withToken('write', 'pasted');
    const opened = await openOperatorSession(service.db, { caller: await callerOf(token) }, NOW);
    if ('refused' in opened) throw new Error(opened.refused);
    expect((await send(opened.cookie, 'GET /me')).body.data.actor).toBe('token:pasted');
    const headers = { Origin: service.url, Authorization: 'Bearer wrong' };
    expectRefusal(await send(opened.cookie, 'GET /me', { headers }), 'UNAUTHORIZED');
    await revokeToken(service.db, id, { actor: 'operator:test', now: NOW });
    expectRefusal(await send(opened.cookie, 'GET /me'), 'UNAUTHORIZED');
    const { cookie } = await root();
    await endSession(service.db, 'operator', cookie, NOW);
    expectRefusal(await send(cookie, 'GET /me'), 'UNAUTHORIZED');
    expectRefusal(await send('A'.repeat(43), 'GET /me'), 'UNAUTHORIZED');
    const customer = await createSession(
      service.db,
      { kind: 'customer', by: 'mail', email: 'ann@example.com' },
      NOW,
    );
    expectRefusal(await send(customer.cookie, 'GET /me'), 'UNAUTHORIZED');
  });

  it('may upload, and is checked again when the file has arrived', async () => {
    const { cookie } = await root();
    async function* body() {
      yield Buffer.from('PK');
      await endSession(service.db, 'operator', cookie, NOW);
      yield Buffer.from('rest');
    }
    const headers = { Origin: service.url, 'Content-Type': 'application/zip' };
    expectRefusal(
      await send(cookie, 'POST /products/42/releases', { stream: body(), headers }),
      'UNAUTHORIZED',
    );
  });
});

describe('the cookies', () => {
  const cookies = (origin: string, others: Record<string, string> = {}) => {
    const set: string[] = [];
    const headers = Object.fromEntries(
      Object.entries(others).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const ctx = {
      ...{ state: { origin }, req: { headers } },
      append: (_: string, value: string) => set.push(value),
    } as unknown as Context;
    setSessionCookie(ctx, 'operator', 'SECRET', () => true);
    clearSessionCookie(ctx, 'customer', () => true);
    return set;
  };
  const path = '/api/index.php/v1/licensing';

  it('are only for the pages, and for no script', () => {
    expect(cookies('https://shop.example')).toEqual([
      `licensing=SECRET; Path=${path}; HttpOnly; SameSite=Strict; Secure`,
      `licensing_my=; Path=${path}/pages/my; HttpOnly; SameSite=Strict; Secure; Max-Age=0`,
    ]);
    expect(cookies('http://127.0.0.1:3080')[0]).toBe(
      `licensing=SECRET; Path=${path}; HttpOnly; SameSite=Strict`,
    );
  });

  it('have the folder of the site, which the web server sends', () => {
    expect(cookies('https://shop.example', { 'X-Forwarded-Prefix': '/joomla' })).toEqual([
      `licensing=SECRET; Path=/joomla${path}; HttpOnly; SameSite=Strict; Secure`,
      `licensing_my=; Path=/joomla${path}/pages/my; HttpOnly; SameSite=Strict; Secure; Max-Age=0`,
    ]);
    expect(cookies('https://shop.example', { 'X-Forwarded-Prefix': '//evil.example' })[0]).toContain(
      `; Path=${path};`,
    );
  });
});
