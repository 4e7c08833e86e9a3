import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Operation } from '../../src/operations/kit/operation';
import { OPERATIONS } from '../../src/operations/operations';
import { expectNoSecrets, expectRefusal, MANAGE, startManaged, type Managed } from '../support/manage';
import { sendRaw } from '../support/raw-http';
import { ONE_BACKEND, giveLicense, givePlan, rows } from '../support/service';

/** Tests the form of requests and answers (docs/operator-api.md). */

const NOTHING = '999999';
/** Returns a call of an operation with every parameter that its query requires. */
const callOf = (
  { method, path, query }: { method: string; path: string; query?: Operation['query'] },
  id = NOTHING,
  given: string[] = [],
) => {
  const { required = [] } = (query ?? {}) as { required?: string[] };
  const fields = [...given, ...required.map((name) => `${name}=Acme`)];
  const asked = fields.length === 0 ? '' : `?${fields.join('&')}`;
  return `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, id)}${asked}`;
};
/** Lists without pages, because they are short. */
const WHOLE = ['/doctor', '/settings', '/mail-texts'];
const LISTS = OPERATIONS.filter(({ isList, path }) => isList && !WHOLE.includes(path));
const WITH_BODY = OPERATIONS.filter(({ method, upload }) => !['get', 'delete'].includes(method) && !upload);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

describe.each(ONE_BACKEND)('the form of the operator’s API, on %s', (_, settings) => {
  let service: Managed;
  let planId: number;
  let license: { id: number; key: string };
  beforeAll(async () => {
    service = await startManaged(await settings());
    planId = await givePlan(service.db, {}, service.clock.now);
    const request = { customer: 'jane@example.com', expiresAt: new Date('2027-11-24T12:00:00Z') };
    license = await giveLicense(service.db, planId, request, service.clock.now);
    // Lists below a shop and a webhook are read by the licence's id, too, so both get it.
    await service.write.ok('POST /shops', { name: String(license.id), kind: 'api' }, 201);
    await service.write.ok('POST /webhooks', { url: 'https://9.9.9.9/hook', events: ['webhook.test'] }, 201);
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  it('refuses unknown fields of every query and body, and names them', async () => {
    for (const operation of OPERATIONS)
      await service.write.refused(
        callOf(operation, NOTHING, ['custmer=1']),
        operation.method === 'get' || operation.method === 'delete' ? undefined : {},
        'INVALID_REQUEST',
        'custmer',
      );
    for (const operation of WITH_BODY) {
      const { required = [], properties = {} } = (operation.body ?? {}) as unknown as {
        required?: string[];
        properties?: Record<string, object>;
      };
      // The body has every required field, so that nothing else is wrong.
      const body = Object.fromEntries(required.map((name) => [name, valueOf(properties[name])]));
      await service.write.refused(
        callOf(operation),
        { ...body, reson: 'typo' },
        'INVALID_REQUEST',
        required.length === 0 ? 'reson' : undefined,
      );
    }
  });

  it('refuses wrong types and missing fields, and names them', async () => {
    const cases: [call: string, body: unknown, field: string][] = [
      ['POST /licenses', {}, 'plan_id'],
      ['POST /licenses', { plan_id: String(planId) }, 'plan_id'],
      ['POST /licenses', { plan_id: 1.5 }, 'plan_id'],
      ['POST /licenses', { plan_id: 0 }, 'plan_id'],
      ['POST /licenses', { plan_id: 2 ** 32 }, 'plan_id'],
      ['POST /licenses', { plan_id: null }, 'plan_id'],
      ['POST /licenses', { plan_id: planId, customer: 7 }, 'customer'],
      ['POST /licenses', { plan_id: planId, customer: 'nobody' }, 'customer'],
      ['POST /licenses', { plan_id: planId, reference: '' }, 'reference'],
      ['POST /licenses', { plan_id: planId, reference: 'a\nb' }, 'reference'],
      ['POST /licenses', { plan_id: planId, reference: 'x'.repeat(300) }, 'reference'],
      ['POST /licenses', { plan_id: planId, lifetime: 'yes' }, 'lifetime'],
      ['POST /licenses', { plan_id: planId, lifetime: true, expires_at: '2027-01-01' }, 'lifetime'],
      ['POST /licenses', { plan_id: planId, expires_at: 'soon' }, 'expires_at'],
      ['POST /licenses', { plan_id: planId, expires_at: '2027-02-30' }, 'expires_at'],
      ['POST /licenses', { plan_id: planId, expires_at: 1 }, 'expires_at'],
      ['POST /licenses', { plan_id: planId, activation_limit: -1 }, 'activation_limit'],
      ['POST /licenses', { plan_id: planId, activation_limit: 2 ** 32 }, 'activation_limit'],
      ['POST /licenses', { plan_id: planId, count: 0 }, 'count'],
      ['POST /licenses', { plan_id: planId, count: 10_001 }, 'count'],
      ['POST /licenses', { plan_id: planId, count: 2, reference: 'a' }, 'reference'],
      ['POST /licenses', { plan_id: planId, count: 1, reference: 'a' }, 'reference'],
      ['POST /licenses', { plan_id: planId, count: 1, key: 'My-Own-Key' }, 'key'],
      ['POST /licenses', { plan_id: planId, key: '"' }, 'key'],
      ['POST /licenses', { plan_id: planId, metadata: { shop: 1 } }, 'metadata.shop'],
      ['POST /licenses', { plan_id: planId, metadata: [] }, 'metadata'],
      ['POST /licenses', { plan_id: planId, metadata: { '': 'x' } }, 'metadata'],
      ['POST /licenses', { plan_id: 999 }, 'plan_id'],
      [`PATCH /licenses/${license.id}`, { plan_id: 999 }, 'plan_id'],
      [`PATCH /licenses/${license.id}`, { customer: null }, 'customer'],
      [`PATCH /licenses/${license.id}`, { expires_at: '2020-01-01' }, 'expires_at'],
      [`POST /licenses/${license.id}/suspend`, { reason: '' }, 'reason'],
      [`POST /licenses/${license.id}/suspend`, { reason: license.key }, 'reason'],
      [`POST /licenses/${license.id}/renew`, { for: 'year' }, 'for'],
      [`POST /licenses/${license.id}/renew`, { for: '9999y' }, 'for'],
      [`POST /licenses/${license.id}/renew`, { for: '1y', until: '2030-01-01' }, 'until'],
      [`POST /licenses/${license.id}/renew`, { until: '2020-01-01' }, 'until'],
      [`POST /licenses/${license.id}/rekey`, { overlap: '2w' }, 'overlap'],
      [`POST /licenses/${license.id}/rekey`, { overlap: '9999y' }, 'overlap'],
      [`POST /licenses/${license.id}/rekey`, { key_id: 999 }, 'key_id'],
      [`POST /licenses/${license.id}/reveal`, { key_id: 999 }, 'key_id'],
      [`POST /licenses/${license.id}/keys`, { activation_limit: 0 }, 'activation_limit'],
      [`POST /licenses/${license.id}/keys`, { ends_at: '2020-01-01' }, 'ends_at'],
      [`POST /licenses/${license.id}/keys`, { label: license.key }, 'label'],
      [`POST /licenses/${license.id}/activations`, {}, 'identifier'],
      [`POST /licenses/${license.id}/activations`, { identifier: 'not a domain' }, 'identifier'],
      ['POST /products', { name: ' ' }, 'name'],
      ['POST /products', { name: 'A', includes: [999] }, 'includes'],
      ['POST /products', { name: 'A', includes: 'some' }, 'includes'],
      ['POST /products', { name: 'A', renew_url: 'http://shop.example' }, 'renew_url'],
      ['POST /products', { name: 'A', element: 'a b' }, 'element'],
      ['POST /products', { name: 'A', element: '' }, 'element'],
      ['PATCH /products/42', { support_url: '' }, 'support_url'],
      ['PATCH /products/42', { includes: [42] }, 'includes'],
      [
        'POST /plans',
        { product_id: 999, name: 'A', activation_type: 'domain', activation_limit: 1 },
        'product_id',
      ],
      [
        'POST /plans',
        { product_id: 42, name: 'A', activation_type: 'site', activation_limit: 1 },
        'activation_type',
      ],
      [
        'POST /plans',
        { product_id: 42, name: 'A', activation_type: 'seat', activation_limit: 1, free_staging: true },
        'free_staging',
      ],
      [
        'POST /plans',
        { product_id: 42, name: 'A', activation_type: 'seat', activation_limit: 1, duration: '1 year' },
        'duration',
      ],
      ['POST /tokens', { name: 'x', scope: 'admin' }, 'scope'],
      ['POST /tokens', { name: 'x', scope: 'read', expires_at: '2020-01-01' }, 'expires_at'],
    ];
    const before = await rows(service.db, 'licenses');
    for (const [call, body, field] of cases)
      await service.write.refused(call, body, 'INVALID_REQUEST', field);
    expect(await rows(service.db, 'licenses')).toEqual(before);
  });

  it('refuses wrong values of queries, and names them', async () => {
    const cases: [path: string, field: string][] = [
      ['/licenses?product_id=x', 'product_id'],
      ['/licenses?product_id=', 'product_id'],
      ['/licenses?covers=999', 'covers'],
      ['/licenses?status=gone', 'status'],
      ['/licenses?expiring=soon', 'expiring'],
      ['/licenses?expiring=99999y', 'expiring'],
      ['/licenses?refused=week', 'refused'],
      ['/licenses?customer=a&customer=b', 'customer'],
      ['/requests?since=yesterday', 'since'],
      ['/plans?product_id=999', 'product_id'],
      ['/statistics?from=today', 'from'],
      ['/statistics?to=2026-02-30', 'to'],
    ];
    for (const [path, field] of cases)
      await service.write.refused(`GET ${path}`, undefined, 'INVALID_REQUEST', field);
    for (const operation of LISTS) {
      const call = callOf(operation, operation.path.startsWith('/products/') ? '42' : String(license.id));
      for (const limit of ['0', '501', '-1', '1.5', '1e2', '0x10', '+5', '%205', 'many', ''])
        await service.write.refused(`${call}?limit=${limit}`, undefined, 'INVALID_REQUEST', 'limit');
      for (const after of [
        'x',
        '',
        'WzFd!',
        Buffer.from('["a","b","c"]').toString('base64url'),
        'W10',
        'bnVsbA',
      ])
        await service.write.refused(
          `${call}?after=${encodeURIComponent(after)}`,
          undefined,
          'INVALID_REQUEST',
          'after',
        );
      for (const limit of ['1', '500'])
        expect((await service.write.send(`${call}?limit=${limit}`)).status).toBe(200);
    }
  });

  it('answers 404 for an unknown or malformed id in a path', async () => {
    const withId = OPERATIONS.filter(({ path }) => path.includes('{'));
    for (const operation of withId) {
      if (operation.upload !== undefined) continue;
      const { required = [], properties = {} } = (operation.body ?? {}) as unknown as {
        required?: string[];
        properties?: Record<string, object>;
      };
      const body = ['get', 'delete'].includes(operation.method)
        ? undefined
        : Object.fromEntries(required.map((name) => [name, valueOf(properties[name])]));
      for (const id of [NOTHING, 'x', '0', '01', '-1', '1.0', '1e3', '9'.repeat(30), '%00', '%E2%82%AC'])
        await service.write.refused(callOf(operation, id), body, 'NOT_FOUND');
    }
    for (const path of ['keys/999', 'keys/x', 'activations/999', 'activations/x'])
      await service.write.refused(`DELETE /licenses/${license.id}/${path}`, undefined, 'NOT_FOUND');
    await service.write.refused(`PATCH /licenses/${license.id}/keys/999`, {}, 'NOT_FOUND');
  });

  it('answers 404 for an unknown path, and 405 with Allow for another method', async () => {
    for (const path of [
      '',
      '/',
      '/license',
      '/licenses/1/2/3',
      '/Licenses',
      '/licenses/1/Suspend',
      '/../manage/x',
    ])
      await service.write.refused(`GET ${path}`, undefined, 'NOT_FOUND');
    const methods = new Map<string, string[]>();
    for (const { path, method } of OPERATIONS)
      methods.set(path, [
        ...(methods.get(path) ?? []),
        ...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]),
      ]);
    for (const [path, allowed] of methods)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (allowed.includes(method)) continue;
        const answer = await service.write.send(callOf({ method, path }));
        expectRefusal(answer, 'METHOD_NOT_ALLOWED', undefined, `${method} ${path}`);
        expect(answer.headers.get('allow')?.split(', ').sort()).toEqual([...allowed].sort());
      }
  });

  it('answers HEAD as GET, without the body', async () => {
    const { status, text, headers } = await service.write.send(`HEAD /licenses/${license.id}`);
    expect([status, text]).toEqual([200, '']);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(100);
    expect((await service.write.send(`HEAD /licenses/${NOTHING}`)).status).toBe(404);
    expect((await service.as('wrong').send('HEAD /licenses')).status).toBe(401);
  });

  it('reads JSON of any JSON type, and refuses anything but an object', async () => {
    const post = (body: string, type = 'application/json') =>
      service.write.send('POST /licenses', { body, headers: { 'Content-Type': type } });
    const body = JSON.stringify({ plan_id: planId });
    for (const type of ['application/json; charset=utf-8', 'application/vnd.api+json', 'APPLICATION/JSON'])
      expect((await post(body, type)).status).toBe(201);
    for (const wrong of [
      '{',
      '[]',
      '[{"plan_id":1}]',
      '"text"',
      '1',
      'null',
      'true',
      '{"plan_id":1,}',
      '\u0000',
    ])
      expectRefusal(await post(wrong), 'INVALID_REQUEST', undefined, wrong);
    for (const name of ['__proto__', 'constructor', 'prototype'])
      expectRefusal(await post(`{"plan_id":${planId},"${name}":{"plan_id":1}}`), 'INVALID_REQUEST');
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'nonsense',
    ])
      expectRefusal(await post(body, type), 'UNSUPPORTED_MEDIA_TYPE', undefined, type);
    expect(({} as { plan_id?: number }).plan_id).toBeUndefined();
  });

  it('refuses JSON over 1 MiB, and serves the connection afterwards', async () => {
    const ofSize = (bytes: number) => {
      const start = `{"plan_id":${planId},"customer":"`;
      return `${start}${'x'.repeat(bytes - start.length - 2)}"}`;
    };
    const post = (body: string, headers = {}) =>
      service.write.send('POST /licenses', {
        body,
        headers: { 'Content-Type': 'application/json', ...headers },
      });
    expectRefusal(await post(ofSize(1024 * 1024)), 'INVALID_REQUEST', 'customer');
    expectRefusal(await post(ofSize(1024 * 1024 + 1)), 'PAYLOAD_TOO_LARGE');
    await service.write.ok('GET /me');
    expectRefusal(await post(ofSize(5 * 1024 * 1024)), 'PAYLOAD_TOO_LARGE');
    await service.write.ok('GET /me');
  });

  it('treats a call without a body as {}, with and without a type', async () => {
    const { id } = await giveLicense(service.db, planId);
    const send = (action: string, lines: string[]) =>
      sendRaw(
        service.url,
        [
          `POST ${MANAGE}/licenses/${id}/${action} HTTP/1.1`,
          'Host: localhost',
          `Authorization: Bearer ${service.write.token}`,
          ...lines,
          '',
          '',
        ].join('\r\n'),
      );
    expect((await send('suspend', []))?.status).toBe(200);
    expect((await send('reinstate', ['Content-Length: 0']))?.status).toBe(200);
    expect((await send('suspend', ['Content-Type: application/json', 'Content-Length: 0']))?.status).toBe(
      200,
    );
    expect((await send('reinstate', ['Content-Type: text/plain', 'Content-Length: 0']))?.status).toBe(200);
  });

  it('accepts {} as the body of a DELETE, and refuses fields in it', async () => {
    const { id } = await giveLicense(service.db, planId);
    const [site, other] = [
      await service.write.ok(`POST /licenses/${id}/activations`, { identifier: 'a.example' }, 201),
      await service.write.ok(`POST /licenses/${id}/activations`, { identifier: 'b.example' }, 201),
    ];
    await service.write.refused(
      `DELETE /licenses/${id}/activations/${site.id}`,
      { reason: 'x' },
      'INVALID_REQUEST',
      'reason',
    );
    await service.write.ok(`DELETE /licenses/${id}/activations/${site.id}`, {}, 204);
    await service.write.ok(`DELETE /licenses/${id}/activations/${other.id}`, undefined, 204);
  });

  it('answers any Accept with JSON, and sends no CORS header', async () => {
    for (const accept of ['application/vnd.api+json', 'text/html', 'image/png', 'nonsense', '*/*']) {
      const { status, headers } = await service.write.send('GET /me', {
        headers: { Accept: accept, Origin: 'https://elsewhere.example' },
      });
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    const preflight = await service.as('').send('OPTIONS /licenses', {
      headers: { Origin: 'https://elsewhere.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.status).toBe(401);
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('gives times in whole seconds of UTC, and a day until its last second', async () => {
    const { id, created_at, expires_at } = await service.write.ok(
      'POST /licenses',
      { plan_id: planId, expires_at: '2027-06-30' },
      201,
    );
    expect([created_at, expires_at]).toEqual(['2026-11-24T12:00:00Z', '2027-06-30T23:59:59Z']);
    for (const [given, stored] of [
      ['2027-06-30T12:00:00Z', '2027-06-30T12:00:00Z'],
      ['2027-06-30T12:00:00+02:00', '2027-06-30T10:00:00Z'],
    ])
      expect((await service.write.ok(`PATCH /licenses/${id}`, { expires_at: given })).expires_at).toBe(
        stored,
      );
    const texts =
      JSON.stringify(await service.write.ok(`GET /licenses/${id}`)).match(/"\w+_at":"[^"]*"/g) ?? [];
    expect(texts.length).toBeGreaterThan(2);
    for (const text of texts) expect(text.split(':"')[1]?.slice(0, -1)).toMatch(TIME);
  });

  it('answers broken paths with a refusal, and continues to work', async () => {
    for (const path of ['/licenses/%zz', '/licenses/reference:%', '/customers/%ff', '/licenses/reference:']) {
      const { status } = await service.write.send(`GET ${path}`);
      expect([path, [400, 404].includes(status)]).toEqual([path, true]);
    }
    await service.write.ok('GET /me');
  });

  it('survives a client that leaves in the middle of a body', async () => {
    const { port } = new URL(service.url);
    const lines = [
      `POST ${MANAGE}/licenses HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${service.write.token}`,
      'Content-Type: application/json',
      'Content-Length: 100',
      '',
      '{"plan_id"',
    ];
    const faults = service.logLines.filter((line) => line.includes('"level":50')).length;
    for (let i = 0; i < 5; i++)
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () => {
          socket.write(lines.join('\r\n'), () => setTimeout(() => socket.destroy(), 20));
        });
        socket.on('close', () => resolve());
        socket.on('error', () => undefined);
      });
    await service.write.ok('GET /me');
    expect(service.logLines.filter((line) => line.includes('"level":50'))).toHaveLength(faults);
  });

  it('lists everything once while rows come and go, in each list', async () => {
    const { db, clock, write } = service;
    const { id } = await giveLicense(db, planId, { activationLimit: 0 }, clock.now);
    for (let i = 0; i < 7; i++) {
      await write.ok('POST /products', { name: `Listed ${i}` }, 201);
      await write.ok(
        'POST /plans',
        { product_id: 42, name: `Listed ${i}`, activation_type: 'seat', activation_limit: i },
        201,
      );
      await write.ok('POST /licenses', { plan_id: planId, customer: `listed${i}@example.com` }, 201);
      await write.ok(`POST /licenses/${id}/keys`, { label: `Listed ${i}` }, 201);
      await write.ok(`POST /licenses/${id}/activations`, { identifier: `listed${i}.example` }, 201);
      await write.ok('POST /tokens', { name: `Listed ${i}`, scope: 'read' }, 201);
    }
    const paths = ['/products', '/plans', '/licenses', '/customers', '/tokens'];
    for (const path of [
      ...paths,
      ...['keys', 'activations', 'events'].map((part) => `/licenses/${id}/${part}`),
    ]) {
      const idsOf = async (limit: number) =>
        (await write.all(path, limit)).map((thing) => thing.id as number);
      const whole = await idsOf(500);
      expect([path, new Set(whole).size]).toEqual([path, whole.length]);
      expect(whole.length).toBeGreaterThan(6);
      for (const limit of [1, 3, whole.length]) expect(await idsOf(limit)).toEqual(whole);
    }

    // The newest licence is first: a new one comes before the cursor, and a deleted one hides no other.
    const first = (await write.send('GET /licenses?limit=3')).body;
    const seen = (first.data as { id: number }[]).map((one) => one.id);
    await giveLicense(db, planId, {}, clock.now);
    const rest = await write.all(`/licenses`, 500);
    const next = (await write.send(`GET /licenses?limit=500&after=${first.next}`)).body;
    const after = (next.data as { id: number }[]).map((one) => one.id);
    expect([...seen, ...after]).toEqual(rest.slice(1).map((one) => one.id as number));
    expect(next.next).toBeNull();
    const keys = (await write.send(`GET /products?limit=3`)).body;
    const last = (keys.data as { id: number }[]).at(-1)?.id;
    await write.ok(`DELETE /products/${last}`, undefined, 204);
    const others = (await write.send(`GET /products?limit=3&after=${keys.next}`)).body.data as {
      id: number;
    }[];
    expect(others.map((one) => one.id)).toEqual([(last ?? 0) + 1, (last ?? 0) + 2, (last ?? 0) + 3]);
  });

  it('refuses the cursor of another list', async () => {
    for (const other of ['/licenses?expiring=99y&limit=1', '/customers?limit=1']) {
      const { next } = (await service.write.send(`GET ${other}`)).body;
      expect(next).not.toBeNull();
      await service.write.refused(`GET /licenses?after=${next}`, undefined, 'INVALID_REQUEST', 'after');
    }
  });
});

/** Returns a value that a schema allows. */
function valueOf(schema: object | undefined): unknown {
  const {
    type,
    enum: values,
    required = [],
    properties = {},
  } = schema as {
    type?: string;
    enum?: unknown[];
    required?: string[];
    properties?: Record<string, object>;
  };
  if (values) return values[0];
  if (type === 'object') return Object.fromEntries(required.map((name) => [name, valueOf(properties[name])]));
  return { integer: 1, string: 'x', boolean: true }[type ?? ''] ?? {};
}
