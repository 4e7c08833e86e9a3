import { execFile } from 'node:child_process';
import { createPublicKey, randomBytes, verify, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import type { Settings } from '../../src/settings/config';
import { addActivation, removeActivation } from '../../src/licensing/activations';
import { editProduct } from '../../src/licensing/catalogue';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { addKey, endKey, rekey } from '../../src/licensing/license-keys';
import {
  addSigningKey,
  listKeysInUse,
  openSigningKey,
  retireSigningKey,
  type PublicJwk,
} from '../../src/licensing/signing-keys';
import { table } from '../../src/store/engine/database';
import { findLicense, type License } from '../../src/store/licenses/licenses';
import { eventually, temporaryFolder } from '../support/processes';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';

/** Tests signed answers, files and keys over HTTP. Node and PHP's sodium verify the signatures. */

const NOW = new Date('2026-03-01T12:00:10.999Z');
const IAT = Date.parse('2026-03-01T12:00:10Z') / 1000;
const DAY = 86_400;
const SECRET = randomBytes(32).toString('base64');
const context = { actor: 'operator:test', now: NOW };

type Fields = Record<string, unknown>;
interface Answer {
  status: number;
  text: string;
  data: Fields & { token: string | null };
  error: Fields & { code: string; held_until?: string };
}

interface Verified {
  header: Fields;
  claims: Fields & { iat: number; exp: number; aud: string[]; jti: string };
}

const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Fields;

/** Verifies a token's signature, and returns its header and claims. */
function verified(token: unknown, keys: PublicJwk[]): Verified {
  const [header = '', claims = '', signature = ''] = String(token).split('.');
  const key = keys.find(({ kid }) => kid === decode(header).kid);
  if (key === undefined) throw new Error(`No key of this kid: ${header}`);
  const isRight = verify(
    null,
    Buffer.from(`${header}.${claims}`),
    createPublicKey({ key: { ...key }, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  );
  expect(isRight).toBe(true);
  return { header: decode(header), claims: decode(claims) as Verified['claims'] };
}

interface Shop extends TestService {
  post(path: string, body: object | string, headers?: Record<string, string>): Promise<Answer>;
  keys(): Promise<PublicJwk[]>;
  verified(token: unknown): Promise<Verified>;
}

const started: TestService[] = [];
afterAll(async () => {
  for (const one of started) await one.stop();
});

async function startShop(settings: Settings): Promise<Shop> {
  const service = await startTestService({ LICENSING_KEY_SECRET: SECRET, ...settings }, NOW);
  started.push(service);
  const keys = async () => {
    const answer = await fetch(`${service.url}${PREFIX}/keys.json`);
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { keys: PublicJwk[] }).keys;
  };
  return {
    ...service,
    keys,
    verified: async (token) => verified(token, await keys()),
    async post(path, body, headers = {}) {
      const isForm = typeof body === 'string';
      const answer = await fetch(`${service.url}${PREFIX}/licenses/${path}`, {
        method: 'POST',
        headers: {
          'Content-Type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
          ...headers,
        },
        body: isForm ? body : JSON.stringify(body),
      });
      const text = await answer.text();
      return { status: answer.status, text, ...(JSON.parse(text) as Pick<Answer, 'data' | 'error'>) };
    },
  };
}

describe.each(ONE_BACKEND)('Signed answers on %s', (_name, backend) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({
      ...(await backend()),
      LICENSING_PUBLIC_URL: 'https://shop.example:8443/joomla',
    });
    await addSigningKey(shop.db, Buffer.from(SECRET, 'base64'), context);
  });

  const post: Shop['post'] = (...args) => shop.post(...args);
  async function give(
    plan: Parameters<typeof givePlan>[1] = {},
    license: Parameters<typeof giveLicense>[2] = {},
  ) {
    const given = await giveLicense(shop.db, await givePlan(shop.db, plan, NOW), license, NOW);
    return { ...given, request: { license_key: given.key, identifier: 'www.Example.com' } };
  }
  const licenseOf = async (id: number) => (await findLicense(shop.db, id)) as License;
  const holdOf = async (id: number, identifier = 'example.com') =>
    (
      (await shop.db(table(shop.db, 'activations')).where({ license_id: id, identifier }).first()) as {
        held_until: string | null;
      }
    ).held_until;

  test('an answer without a request for a token is the same to the byte, and has no token', async () => {
    const { request } = await give();
    const plain = await post('activate', request);
    const unsigned = await post('activate', { ...request, signed: false, nonce: '' });
    const signed = await post('activate', { ...request, signed: true });
    expect(plain.data).not.toHaveProperty('token');
    expect(unsigned.text).toBe(plain.text);
    expect(signed.text).toBe(plain.text.replace('}}', `,"token":"${String(signed.data.token)}"}}`));
    const asked = await post('validate', request);
    const alsoSigned = await post('validate', { ...request, signed: true });
    expect(asked.data).not.toHaveProperty('token');
    expect(alsoSigned.text).toBe(asked.text.replace('}}', `,"token":"${String(alsoSigned.data.token)}"}}`));
  });

  test('header and claims of activate and validate', async () => {
    const { id, key, request } = await give({ limit: 5 });
    const activated = await post('activate', { ...request, signed: true });
    const { header, claims } = await shop.verified(activated.data.token);
    expect(header).toEqual({ alg: 'EdDSA', kid: '2026-1', typ: 'license+jwt' });
    expect(claims).toEqual({
      iss: 'shop.example',
      sub: String(id),
      aud: ['42'],
      valid: true,
      status: 'active',
      plan: 'Developer',
      limit: 5,
      identifier: 'example.com',
      activated: true,
      license_exp: null,
      iat: IAT,
      nbf: IAT,
      exp: IAT + 14 * DAY,
      jti: expect.stringMatching(/^[\w-]{22}$/),
    });
    const bare = await shop.verified((await post('validate', { dlid: key, signed: true })).data.token);
    expect(bare.claims).not.toHaveProperty('identifier');
    expect(bare.claims).not.toHaveProperty('activated');
    const other = await shop.verified(
      (await post('validate', { ...request, identifier: 'other.example', signed: true })).data.token,
    );
    expect(other.claims).toMatchObject({ identifier: 'other.example', activated: false, valid: true });
    const odd = await shop.verified(
      (await post('validate', { ...request, identifier: 'not a domain', signed: true })).data.token,
    );
    expect(odd.claims).toMatchObject({ identifier: null, activated: false });
    const ownKey = await shop.verified(
      (await post('validate', { ...request, identifier: key, signed: true })).data.token,
    );
    expect(ownKey.claims).toMatchObject({ identifier: null, activated: false });
    for (const { token } of [activated.data]) expect(atob(String(token).split('.')[1]!)).not.toContain(key);
  });

  test('a form sends texts; anything but a boolean or a nonce is refused, and so is a nonce on its own', async () => {
    const { key, request } = await give();
    const form = (fields: Record<string, string>) =>
      post('validate', String(new URLSearchParams({ license_key: key, ...fields })));
    const { data } = await form({ signed: 'true', nonce: 'a b' });
    expect((await shop.verified(data.token)).claims.nonce).toBe('a b');
    expect((await form({ signed: 'false' })).data).not.toHaveProperty('token');
    for (const signed of ['1', 'TRUE', 'yes', ''])
      expect([signed, (await form({ signed })).error.code]).toEqual([signed, 'INVALID_REQUEST']);
    const nonce128 = '😀'.repeat(128);
    const long = await post('activate', { ...request, signed: true, nonce: nonce128 });
    expect((await shop.verified(long.data.token)).claims.nonce).toBe(nonce128);
    const none = await post('activate', { ...request, signed: true, nonce: '' });
    expect((await shop.verified(none.data.token)).claims).not.toHaveProperty('nonce');
    for (const wrong of [
      { signed: 'true' },
      { signed: 1 },
      { signed: [true] },
      { signed: true, nonce: 7 },
      { signed: true, nonce: `${nonce128}x` },
      { signed: true, nonce: 'a\u0000b' },
      { signed: true, nonce: '\uD800' },
      { signed: true, nonce: key },
      { nonce: 'alone' },
      { signed: false, nonce: 'alone' },
      { nonce: 7 },
    ])
      for (const path of ['activate', 'validate']) {
        const { status, error } = await post(path, { ...request, ...wrong });
        expect([path, wrong, status, error]).toEqual([
          ...[path, wrong, 400],
          { code: 'INVALID_REQUEST', message: expect.stringMatching(/"(?:signed|nonce)"/) },
        ]);
      }
  });

  test('a token ends with the licence, and with the key; an answer that is not valid counts for an hour', async () => {
    const soon = new Date(NOW.getTime() + 3 * DAY * 1000);
    const { id, key, request } = await give({}, { expiresAt: soon });
    const ofLicense = await shop.verified((await post('activate', { ...request, signed: true })).data.token);
    expect(ofLicense.claims).toMatchObject({ exp: IAT + 3 * DAY, license_exp: IAT + 3 * DAY });
    const further = await addKey(
      shop.db,
      id,
      { label: null, activationLimit: 2, endsAt: new Date(NOW.getTime() + 2 * DAY * 1000) },
      undefined,
      context,
    );
    const ofKey = await shop.verified(
      (await post('validate', { license_key: further.key, signed: true })).data.token,
    );
    expect(ofKey.claims).toMatchObject({ exp: IAT + 2 * DAY, license_exp: IAT + 3 * DAY, limit: 2 });
    await changeState(shop.db, id, 'suspend', context);
    const suspended = await post('validate', { license_key: key, signed: true });
    expect((await shop.verified(suspended.data.token)).claims).toMatchObject({
      ...{ valid: false, status: 'suspended', exp: IAT + 3600 },
    });
    const refused = await post('activate', { ...request, signed: true });
    expect([refused.status, refused.error.code]).toEqual([403, 'LICENSE_INACTIVE']);
    expect(refused.text).not.toContain('token');
  });

  test('all covered products are the audience, and the product that is asked for decides', async () => {
    const { db } = shop;
    await givePlan(db, { productId: 61 }, NOW);
    await givePlan(db, { productId: 62 }, NOW);
    await givePlan(db, { productId: 63 }, NOW);
    const { key } = await give({ productId: 60 });
    await editProduct(db, 60, { includes: [61, 62] });
    const ask = async (product_id: number) =>
      (
        await shop.verified(
          (await post('validate', { license_key: key, product_id, signed: true })).data.token,
        )
      ).claims;
    expect(await ask(61)).toMatchObject({ aud: ['60', '61', '62'], valid: true });
    expect(await ask(63)).toMatchObject({ aud: ['60', '61', '62'], valid: false, exp: IAT + 3600 });
    await editProduct(db, 60, { includes: [61] });
    expect(await ask(61)).toMatchObject({ aud: ['60', '61'], valid: true });
    expect(await ask(62)).toMatchObject({ aud: ['60', '61'], valid: false });
    await editProduct(db, 60, { includes: 'all' });
    expect((await ask(63)).aud).toEqual(expect.arrayContaining(['42', '60', '61', '62', '63']));
  });

  test('a token without a nonce is reused within a minute, and never across a change', async () => {
    const { id, request } = await give({ limit: 2 });
    const other = await give();
    const ask = async (body: object = {}) => {
      const { data } = await post('validate', { ...request, signed: true, ...body });
      return data.token;
    };
    await post('activate', request);
    const first = await ask();
    expect(await ask()).toBe(first);
    expect(await ask({ identifier: 'example.com' })).toBe(first);
    const different = [
      await ask({ identifier: 'other.example' }),
      await ask({ product_id: 42 }),
      await ask({ nonce: 'n' }),
      await ask({ nonce: 'n' }),
      await ask({ license_key: other.key }),
      (await post('token', request)).data.token,
    ];
    expect(new Set([first, ...different]).size).toBe(different.length + 1);
    const before = await ask();
    shop.clock.now = new Date(NOW.getTime() + 60_000);
    const nextMinute = await ask();
    expect(nextMinute).not.toBe(before);
    shop.clock.now = NOW;
    // A change that is undone is still a change.
    const kept = await ask();
    await changeState(shop.db, id, 'suspend', context);
    expect((await shop.verified(await ask())).claims.status).toBe('suspended');
    await changeState(shop.db, id, 'reinstate', context);
    expect(await ask()).not.toBe(kept);
    const further = await addKey(
      shop.db,
      id,
      { label: null, activationLimit: null, endsAt: null },
      undefined,
      context,
    );
    const byFurther = await ask({ license_key: further.key });
    expect(byFurther).not.toBe(await ask());
    const day = new Date(NOW.getTime() + DAY * 1000);
    await renew(shop.db, id, { until: day }, context).catch(() => undefined);
    expect(await ask()).not.toBe(kept);
  });

  describe('a file for a machine without network', () => {
    test('holds its activation until its end, whatever happens in between', async () => {
      const { id, key, request } = await give({ limit: 1 });
      expect((await post('token', request)).error.code).toBe('ACTIVATION_NOT_FOUND');
      await post('activate', request);
      const { status, data } = await post('token', request);
      expect([status, Object.keys(data)]).toEqual([200, ['token', 'expires_at']]);
      const { header, claims } = await shop.verified(data.token);
      expect(header).toEqual({ alg: 'EdDSA', kid: '2026-1', typ: 'license-file+jwt' });
      expect(claims).toMatchObject({
        ...{ sub: String(id), aud: ['42'], valid: true, identifier: 'example.com', activated: true },
        ...{ iat: IAT, exp: IAT + 30 * DAY },
      });
      expect(data.expires_at).toBe('2026-03-31T12:00:10Z');
      const held = async () => {
        const { status: refused, error } = await post('deactivate', request);
        return [refused, error.code, error.held_until];
      };
      expect(await held()).toEqual([403, 'ACTIVATION_HELD', '2026-03-31T12:00:10Z']);
      // Within a minute the file stays the same. Later, the hold is extended.
      shop.clock.now = new Date(NOW.getTime() + 40_000);
      expect((await post('token', request)).data).toEqual(data);
      expect(await holdOf(id)).toBe('2026-03-31 12:00:10');
      shop.clock.now = new Date(NOW.getTime() + DAY * 1000);
      const later = await post('token', request);
      expect(later.data.expires_at).toBe('2026-04-01T12:00:10Z');
      expect(await held()).toEqual([403, 'ACTIVATION_HELD', '2026-04-01T12:00:10Z']);
      // If the licence ends earlier, so does the file, but the hold stays.
      await shop.db(table(shop.db, 'licenses')).where({ id }).update({ expires_at: '2026-03-05 00:00:00' });
      const shorter = await post('token', request);
      expect((await shop.verified(shorter.data.token)).claims.exp).toBe(
        Date.parse('2026-03-05T00:00:00Z') / 1000,
      );
      expect(await held()).toEqual([403, 'ACTIVATION_HELD', '2026-04-01T12:00:10Z']);
      const rekeyed = await rekey(shop.db, id, {}, undefined, context);
      expect((await post('deactivate', { ...request, license_key: key })).error.code).toBe(
        'LICENSE_NOT_FOUND',
      );
      request.license_key = rekeyed.key;
      expect((await held())[1]).toBe('ACTIVATION_HELD');
      expect((await post('activate', { ...request, identifier: 'other.example' })).error.code).toBe(
        'ACTIVATION_LIMIT_REACHED',
      );
      shop.clock.now = new Date('2026-04-01T12:00:10Z');
      expect((await post('deactivate', request)).status).toBe(200);
      shop.clock.now = NOW;
    });

    test('the operator may free it', async () => {
      const { id, request } = await give({ limit: 1 });
      await post('activate', request);
      await post('token', request);
      await removeActivation(shop.db, await licenseOf(id), 'example.com', context);
      await post('activate', request);
      expect(await holdOf(id)).toBeNull();
      expect((await post('deactivate', request)).status).toBe(200);
      await post('activate', request);
      const first = await post('token', request);
      await removeActivation(shop.db, await licenseOf(id), 'example.com', context);
      await addActivation(shop.db, await licenseOf(id), { identifier: 'example.com' }, context);
      const second = await post('token', request);
      expect(second.data.token).not.toBe(first.data.token);
      const actions = (await rows<{ license_id: number; action: string }>(shop.db, 'events'))
        .filter((event) => event.license_id === id)
        .map(({ action }) => action);
      expect(actions).toContain('hold-activation');
    });

    test('a site that carries a held staging site stays too, until another one carries it', async () => {
      const { id, request } = await give({ limit: 3, freeStaging: true });
      await post('activate', request);
      const staging = { ...request, identifier: 'staging.example.com' };
      await post('activate', staging);
      const { data } = await post('token', staging);
      const refused = await post('deactivate', request);
      expect([refused.status, refused.error.code, refused.error.held_until]).toEqual([
        ...[403, 'ACTIVATION_HELD', data.expires_at],
      ]);
      await post('activate', { ...request, identifier: 'shop.example.com' });
      expect((await post('deactivate', request)).status).toBe(200);
      expect((await post('deactivate', { ...request, identifier: 'shop.example.com' })).error.code).toBe(
        'ACTIVATION_HELD',
      );
      await removeActivation(shop.db, await licenseOf(id), 'shop.example.com', context);
      expect(await shop.db(table(shop.db, 'activations')).where({ license_id: id })).toEqual([]);
    });

    test('a key with a limit of its own gets files only for its own activations', async () => {
      const { id, request } = await give({ limit: 3 });
      await post('activate', request);
      const { key: small, stored } = await addKey(
        shop.db,
        id,
        { label: null, activationLimit: 1, endsAt: null },
        undefined,
        context,
      );
      const own = { license_key: small, identifier: 'own.example' };
      await post('activate', own);
      expect((await post('token', { ...request, license_key: small })).error.code).toBe(
        'ACTIVATION_NOT_FOUND',
      );
      expect((await post('token', own)).status).toBe(200);
      await endKey(shop.db, id, stored.id, { free: true }, context);
      expect((await post('token', own)).error.code).toBe('LICENSE_NOT_FOUND');
      expect(await holdOf(id)).toBeNull();
    });

    test('is refused in the order of the specification', async () => {
      const refusal = async (body: object) => {
        const { status, error } = await post('token', body);
        return [status, error.code];
      };
      const { id, request } = await give();
      expect(await refusal({ license_key: request.license_key })).toEqual([400, 'INVALID_REQUEST']);
      expect(await refusal({ identifier: 'example.com' })).toEqual([400, 'INVALID_REQUEST']);
      expect(await refusal({ ...request, license_key: 'UNKNOWN-KEY-1234' })).toEqual([
        403,
        'LICENSE_NOT_FOUND',
      ]);
      expect(await refusal({ ...request, identifier: 'not a domain' })).toEqual([400, 'INVALID_REQUEST']);
      expect(await refusal(request)).toEqual([404, 'ACTIVATION_NOT_FOUND']);
      await shop.db(table(shop.db, 'licenses')).where({ id }).update({ expires_at: '2026-01-01 00:00:00' });
      expect(await refusal({ ...request, identifier: 'not a domain' })).toEqual([403, 'LICENSE_EXPIRED']);
      await shop.db(table(shop.db, 'licenses')).where({ id }).update({ status: 'suspended' });
      expect(await refusal({ ...request, identifier: 'not a domain' })).toEqual([403, 'LICENSE_INACTIVE']);
      const get = await fetch(`${shop.url}${PREFIX}/licenses/token`);
      expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
      await eventually(async () => {
        const accesses = await rows<{ endpoint: string; license_id: number; outcome: string }>(
          shop.db,
          'access_log',
        );
        expect(
          accesses.filter(({ license_id, endpoint }) => license_id === id && endpoint === 'token').length,
        ).toBeGreaterThan(2);
      });
    });
  });

  test('no token and no private key is logged, or stored in clear', async () => {
    const { request } = await give();
    const tokens = [
      (await post('activate', { ...request, signed: true })).data.token,
      (await post('validate', { ...request, signed: true, nonce: 'secret-nonce' })).data.token,
      (await post('token', request)).data.token,
    ];
    const [signing] = await listKeysInUse(shop.db);
    const opened = openSigningKey(signing!, Buffer.from(SECRET, 'base64')) as KeyObject;
    const d = opened.export({ format: 'jwk' }).d as string;
    const secrets = [...tokens.map((token) => String(token).split('.')[2]!), d, 'secret-nonce', SECRET];
    const stored = JSON.stringify([await rows(shop.db, 'signing_keys'), await rows(shop.db, 'events')]);
    expect(shop.logLines.length).toBeGreaterThan(10);
    for (const text of [shop.logLines.join(''), stored])
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  test('the keys are public, may be kept for an hour, and hold nothing private', async () => {
    const answer = await fetch(`${shop.url}${PREFIX}/keys.json`);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=3600');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await answer.json()).toEqual({
      keys: [
        {
          ...{ kty: 'OKP', crv: 'Ed25519', kid: '2026-1', alg: 'EdDSA', use: 'sig' },
          x: expect.stringMatching(/^[\w-]{43}$/),
        },
      ],
    });
    const head = await fetch(`${shop.url}${PREFIX}/keys.json`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    // With If-None-Match, Node's fetch() asks to bypass caches.
    const again = await supertest(shop.url)
      .get(`${PREFIX}/keys.json`)
      .set('If-None-Match', answer.headers.get('etag') ?? '');
    expect(again.status).toBe(304);
  });
});

describe.each(ONE_BACKEND)('The life of signing keys on %s', (_name, backend) => {
  test('added, rotated, compromised; running services follow', async () => {
    const shop = await startShop(await backend());
    const { db } = shop;
    const secret = Buffer.from(SECRET, 'base64');
    const { key } = await giveLicense(db, await givePlan(db, {}, NOW), {}, NOW);
    const request = { license_key: key, identifier: 'example.com', signed: true };
    const kidOf = (token: unknown) => decode(String(token).split('.')[0]!).kid;
    const kids = async () => (await shop.keys()).map(({ kid }) => kid);
    const state = async () => (await listKeysInUse(db)).map((one) => `${one.kid} ${one.state}`);

    // Without a signing key, the token is null, a file is 404 even if the body is malformed, and the key set is empty.
    expect((await shop.post('activate', request)).data.token).toBeNull();
    expect((await shop.post('validate', { ...request, nonce: 'n' })).data.token).toBeNull();
    const none = await shop.post('token', {});
    expect([none.status, none.error.code]).toEqual([404, 'NOT_FOUND']);
    expect((await shop.post('token', '%%%', { 'Content-Type': 'application/json' })).status).toBe(404);
    expect(await kids()).toEqual([]);

    await expect(addSigningKey(db, undefined, context)).rejects.toThrow('LICENSING_KEY_SECRET is not set');
    await addSigningKey(db, secret, context);
    await eventually(async () => expect((await shop.post('validate', request)).data.token).not.toBeNull());
    const file = (await shop.post('token', request)).data.token;
    const first = (await shop.post('validate', request)).data.token;
    await expect(retireSigningKey(db, '2026-1', {}, context)).rejects.toThrow('only one');
    await Promise.all([addSigningKey(db, secret, context), addSigningKey(db, secret, context)]);
    expect(await state()).toEqual(['2026-1 current', '2026-2 next', '2026-3 next']);
    await eventually(async () => expect(await kids()).toEqual(['2026-1', '2026-2', '2026-3']));
    expect((await shop.post('validate', request)).data.token).toBe(first);

    await retireSigningKey(db, '2026-1', {}, context);
    await expect(retireSigningKey(db, '2026-1', {}, context)).rejects.toThrow('already retired');
    await expect(retireSigningKey(db, '2025-9', {}, context)).rejects.toThrow('no signing key');
    expect(await state()).toEqual(['2026-1 retired', '2026-2 current', '2026-3 next']);
    await eventually(async () =>
      expect(kidOf((await shop.post('validate', request)).data.token)).toBe('2026-2'),
    );
    // The retired key is published until the last file that it signed ends, and at most a minute longer.
    expect((await shop.verified(first)).header.kid).toBe('2026-1');
    shop.clock.now = new Date(NOW.getTime() + 30 * DAY * 1000);
    expect(verified(file, await shop.keys()).claims.exp).toBe(IAT + 30 * DAY);
    shop.clock.now = new Date(NOW.getTime() + 30 * DAY * 1000 + 60_000);
    expect(await kids()).toEqual(['2026-2', '2026-3']);
    shop.clock.now = NOW;
    expect(await kids()).toEqual(['2026-1', '2026-2', '2026-3']);

    await retireSigningKey(db, '2026-1', { compromised: true }, context);
    await eventually(async () => expect(await kids()).toEqual(['2026-2', '2026-3']));
    await retireSigningKey(db, '2026-2', { compromised: true }, context);
    await eventually(async () =>
      expect(kidOf((await shop.post('validate', request)).data.token)).toBe('2026-3'),
    );
    expect(await kids()).toEqual(['2026-3']);
    await Promise.allSettled([
      retireSigningKey(db, '2026-3', {}, context),
      retireSigningKey(db, '2026-3', {}, context),
    ]);
    expect(await state()).toEqual(['2026-1 retired', '2026-2 retired', '2026-3 current']);
    // A kid is never reused.
    expect((await addSigningKey(db, secret, context)).kid).toBe('2026-4');
  });

  test('of two keys that are retired at once, one stays', async () => {
    const shop = await startShop(await backend());
    const secret = Buffer.from(SECRET, 'base64');
    for (let i = 0; i < 2; i++) await addSigningKey(shop.db, secret, context);
    const tried = await Promise.allSettled(
      ['2026-1', '2026-2'].map((kid) => retireSigningKey(shop.db, kid, {}, context)),
    );
    expect(tried.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('the files share the bucket of activate, and are refused over it before all else', async () => {
    const shop = await startShop({ ...(await backend()), LICENSING_RATE_LIMIT: '2' });
    const ip = { 'X-Forwarded-For': `198.51.${Math.floor(Math.random() * 256)}.7` };
    expect((await shop.post('activate', {}, ip)).status).toBe(400);
    expect((await shop.post('token', {}, ip)).status).toBe(404);
    expect((await shop.post('token', {}, ip)).status).toBe(429);
    expect((await shop.post('activate', {}, ip)).status).toBe(429);
  });

  test.each([
    ['without its secret', undefined, 'LICENSING_KEY_SECRET is not set'],
    ['with another secret', randomBytes(32).toString('base64'), 'another LICENSING_KEY_SECRET'],
  ])('a service %s signs nothing, and its log says so', async (_how, secret, said) => {
    const shop = await startShop({ ...(await backend()), LICENSING_KEY_SECRET: secret ?? '' });
    const { db } = shop;
    await addSigningKey(db, Buffer.from(SECRET, 'base64'), context);
    const { key } = await giveLicense(db, await givePlan(db, {}, NOW), {}, NOW);
    expect((await shop.post('validate', { license_key: key, signed: true })).data.token).toBeNull();
    expect((await shop.post('token', { license_key: key })).error.code).toBe('NOT_FOUND');
    // Another instance that has the secret may still sign with the key.
    expect(await shop.keys()).toHaveLength(1);
    expect(shop.logLines.filter((line) => line.includes(said))).toHaveLength(1);
  });

  test('LICENSING_TOKEN_DAYS and LICENSING_OFFLINE_DAYS say how long they count', async () => {
    const shop = await startShop({
      ...(await backend()),
      ...{ LICENSING_TOKEN_DAYS: '2', LICENSING_OFFLINE_DAYS: '400' },
    });
    const { db } = shop;
    await addSigningKey(db, Buffer.from(SECRET, 'base64'), context);
    const { key } = await giveLicense(db, await givePlan(db, {}, NOW), {}, NOW);
    const request = { license_key: key, identifier: 'example.com', signed: true };
    const answer = await shop.verified((await shop.post('activate', request)).data.token);
    expect(answer.claims).toMatchObject({ iss: 'licensing', exp: IAT + 2 * DAY });
    const file = await shop.verified((await shop.post('token', request)).data.token);
    expect(file.claims.exp).toBe(IAT + 400 * DAY);
  });
});

describe('docs/signed-answers.md', () => {
  const guide = readFileSync(join(__dirname, '../../docs/signed-answers.md'), 'utf8');
  const program = join(temporaryFolder(), 'verify.php');
  let shop: Shop;
  let request: { license_key: string; identifier: string };
  beforeAll(async () => {
    const [, php = ''] = /```php\n([^]*?)```/.exec(guide) ?? [];
    writeFileSync(
      program,
      `<?php\n${php}\n[$given] = [json_decode(stream_get_contents(STDIN), true)];\necho json_encode(licenceClaims(...$given));\n`,
    );
    shop = await startShop({});
    await addSigningKey(shop.db, Buffer.from(SECRET, 'base64'), context);
    const { key } = await giveLicense(shop.db, await givePlan(shop.db, {}, NOW), {}, NOW);
    request = { license_key: key, identifier: 'example.com' };
  });

  async function php(
    token: unknown,
    {
      keys,
      type = 'license+jwt',
      domain = 'example.com',
      product = '42',
      now = IAT,
      nonce = null,
    }: {
      keys?: Record<string, string>;
      type?: string;
      domain?: string;
      product?: string;
      now?: number;
      nonce?: string | null;
    } = {},
  ): Promise<Fields | null> {
    const pinned = keys ?? Object.fromEntries((await shop.keys()).map(({ kid, x }) => [kid, x]));
    const running = promisify(execFile)('php', [program]);
    running.child.stdin!.end(JSON.stringify([token, pinned, type, domain, product, now, nonce]));
    return JSON.parse((await running).stdout) as Fields | null;
  }

  test('its PHP accepts what is signed for this site and product, now, and nothing else', async () => {
    const { token } = (await shop.post('activate', { ...request, signed: true })).data;
    const { claims } = await shop.verified(token);
    expect(await php(token)).toEqual(claims);
    expect(await php(token, { now: claims.exp - 1 })).toEqual(claims);
    expect(await php(token, { now: IAT - 300 })).toEqual(claims);
    const [head = '', body = '', signature = ''] = String(token).split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const withHead = (changes: object) => `${encode({ ...decode(head), ...changes })}.${body}.${signature}`;
    const otherKey = randomBytes(32).toString('base64url');
    for (const [what, refused] of Object.entries({
      expired: php(token, { now: claims.exp }),
      early: php(token, { now: IAT - 301 }),
      'other site': php(token, { domain: 'other.example' }),
      'other product': php(token, { product: '43' }),
      'as a file': php(token, { type: 'license-file+jwt' }),
      'another nonce': php(token, { nonce: 'n' }),
      'unknown key': php(token, { keys: { '2025-1': otherKey } }),
      'another key': php(token, { keys: { '2026-1': otherKey } }),
      'changed claims': php(`${head}.${encode({ ...claims, exp: claims.exp + DAY })}.${signature}`),
      'alg none': php(withHead({ alg: 'none' })),
      'alg HS256': php(withHead({ alg: 'HS256' })),
      'no signature': php(`${head}.${body}.`),
      'short signature': php(`${head}.${body}.${signature.slice(4)}`),
      'two parts': php(`${head}.${body}`),
      nothing: php(''),
      text: php('not a token'),
    }))
      expect([what, await refused]).toEqual([what, null]);
  });

  test('its PHP checks the type of a token, its nonce, and whether it is for this site', async () => {
    const { token: file } = (await shop.post('token', request)).data;
    expect(await php(file, { type: 'license-file+jwt' })).toMatchObject({ valid: true });
    expect(await php(file)).toBeNull();
    const { token } = (await shop.post('validate', { ...request, signed: true, nonce: 'n 1' })).data;
    expect(await php(token, { nonce: 'n 1' })).toMatchObject({ nonce: 'n 1' });
    expect(await php(token)).toBeNull();
    const bare = (await shop.post('validate', { license_key: request.license_key, signed: true })).data;
    expect(await php(bare.token)).toBeNull();
    const elsewhere = { ...request, identifier: 'other.example', signed: true };
    const { data } = await shop.post('validate', elsewhere);
    expect(await php(data.token, { domain: 'other.example' })).toBeNull();
  });
});
