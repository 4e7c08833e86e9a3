import { rmSync, symlinkSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { withdrawRelease } from '../../src/packages/releases';
import { table, type TableName } from '../../src/store/engine/database';
import { ON_PASSENGER, whereNotHosted } from '../support/extent';
import { giveRelease, makePackage } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/**
 * Tests docs/contract.md: each promise of its sections is a row here.
 */

/** The last millisecond of a second: code that rounds instead of truncating is a second off. */
const NOW = new Date('2026-03-01T12:00:00.999Z');
const NOW_IN_SQL = '2026-03-01 12:00:00';
const DAY = 24 * 60 * 60 * 1000;

const UNKNOWN_KEY = 'FFFFFFFF-FFFFFFFF-FFFFFFFF-FFFFFFFF';
const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

type Type = 'domain' | 'device' | 'seat' | 'instance';
type Headers = Record<string, string>;
const dataOf = (response: request.Response) => (response.body as { data: Record<string, unknown> }).data;
interface ErrorBody {
  error: { code: string; message: string } & Record<string, unknown>;
}

/** Reports whether the service sees a path: Apache refuses these two escapes itself. */
const reachesService = (path: string) => !(ON_PASSENGER && /%(?:00|ZZ)/.test(path));
/** The headers that Apache and Passenger add to every answer. */
const ofWebServer = ON_PASSENGER && {
  server: expect.stringContaining('Apache') as unknown,
  status: expect.any(String) as unknown,
  'x-powered-by': expect.stringContaining('Passenger') as unknown,
};

/** The network of addresses that no other test file uses, because the files share a Redis. */
const clients = `10.${Math.floor(Math.random() * 256)}`;
let clientsGiven = 0;
function newClient(): string {
  clientsGiven++;
  return `${clients}.${clientsGiven >> 8}.${clientsGiven & 255}`;
}
const from = (ip: string): Headers => ({ 'X-Forwarded-For': ip });

describe.each(BACKENDS)('The contract on %s', (_name, backend) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await backend(), NOW);
    await givePlan(service.db, {}, NOW);
    await giveRelease(service, { version: '2.1.0' });
  });
  afterAll(() => service.stop());

  const post = (path: string, body: object, headers: Headers = {}) =>
    request(service.url)
      .post(PREFIX + path)
      .set(headers)
      .send(body);
  /** Sends a body without encoding it. */
  const postRaw = (path: string, type: string, body: string) => {
    const sent = request(service.url).post(PREFIX + path);
    return (type === '' ? sent.unset('Content-Type') : sent.set('Content-Type', type)).send(body);
  };
  const get = (path: string, headers: Headers = {}) =>
    request(service.url)
      .get(PREFIX + path)
      .set(headers);
  const head = (path: string) => request(service.url).head(PREFIX + path);
  /** Reads the answer as bytes. */
  const getPackage = (path: string, headers: Headers = {}) => get(path, headers).responseType('blob');
  const activate = (body: object) => post('/licenses/activate', body);
  const validate = (body: object) => post('/licenses/validate', body);
  const deactivate = (body: object) => post('/licenses/deactivate', body);

  const select = (name: TableName) => service.db(table(service.db, name));
  async function storedLicense(id: number): Promise<Record<string, unknown>> {
    return (await select('licenses').where({ id }).first()) as Record<string, unknown>;
  }
  async function storedIdentifiers(id: number): Promise<string[]> {
    return select('activations').where({ license_id: id }).orderBy('id').pluck<string[]>('identifier');
  }

  /** Creates an active lifetime licence on a plan of its own. */
  async function give(
    plan: { type?: Type; limit?: number; productId?: number } = {},
    license: Parameters<typeof giveLicense>[2] = {},
  ): Promise<TestLicense> {
    return giveLicense(service.db, await givePlan(service.db, plan, NOW), license, NOW);
  }
  async function giveActivated(
    identifier: string,
    plan: Parameters<typeof give>[0] = {},
  ): Promise<TestLicense> {
    const license = await give(plan);
    expect((await activate({ license_key: license.key, identifier })).status).toBe(200);
    return license;
  }

  function expectError(
    response: request.Response,
    status: number,
    code: string,
    details: Record<string, unknown> = {},
  ): void {
    expect(response.body).toEqual({
      error: { code, message: expect.stringMatching(/\w{3}/) as unknown, ...details },
    });
    expect(response.status).toBe(status);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.headers['cache-control']).toBe('no-store');
  }
  function expectText(response: request.Response, status: number, text: string): void {
    expect(response.text).toBe(text);
    expect(response.status).toBe(status);
    expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(response.headers['content-length']).toBe(String(text.length));
    expect(response.headers['cache-control']).toBe('no-store');
  }

  describe('6 activate', () => {
    it('answers with exactly the fields of its table, and stores the activation', async () => {
      const { id, key } = await give({ limit: 5 }, { expiresAt: new Date('2027-03-01T00:00:00.999Z') });
      const response = await post(
        '/licenses/activate',
        { license_key: key, identifier: 'https://www.Shop.example/', name: 'Main shop' },
        from('203.0.113.9'),
      );
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        data: {
          status: 'active',
          license_key: key,
          product: 'Example Shop',
          plan: 'Developer',
          activation_type: 'domain',
          activation_limit: 5,
          activations_used: 1,
          expires_at: '2027-03-01T00:00:00Z',
          identifier: 'shop.example',
        },
      });
      expect(await select('activations').where({ license_id: id })).toEqual([
        expect.objectContaining({
          identifier: 'shop.example',
          name: 'Main shop',
          ip: '203.0.113.9',
          activated_at: NOW_IN_SQL,
        }),
      ]);
      expect(await storedLicense(id)).toMatchObject({
        activations_used: 1,
        check_count: 0,
        last_check_at: null,
      });
    });

    it('answers a lifetime licence with expires_at null', async () => {
      const { key } = await give();
      const response = await activate({ dlid: key, identifier: 'a.example' });
      expect(dataOf(response)).toMatchObject({ expires_at: null });
    });

    it('is idempotent: the same identifier again, in any spelling, takes no slot', async () => {
      const { id, key } = await give({ limit: 1 });
      for (const identifier of ['a.example', 'a.example', 'HTTP://www.A.example:80/x']) {
        const response = await activate({ license_key: key, identifier });
        expect(response.status).toBe(200);
        expect(dataOf(response)).toMatchObject({
          activations_used: 1,
          identifier: 'a.example',
        });
      }
      expect(await storedIdentifiers(id)).toEqual(['a.example']);
    });

    it('stores a new name of an identifier that is activated already, and keeps the old one without', async () => {
      const { id, key } = await give({ limit: 1 });
      const name = async () =>
        (await select('activations').where({ license_id: id }).pluck<string[]>('name'))[0];
      await activate({ license_key: key, identifier: 'a.example', name: 'Old' });
      await activate({ license_key: key, identifier: 'a.example' });
      expect(await name()).toBe('Old');
      const response = await activate({ license_key: key, identifier: 'a.example', name: 'Neu \u{1f600}' });
      expect(dataOf(response)).toMatchObject({ activations_used: 1 });
      expect(await name()).toBe('Neu \u{1f600}');
      expect(await storedLicense(id)).toMatchObject({ activations_used: 1 });
    });

    it('stores a new name for that identifier, and for no other', async () => {
      const { id, key } = await give();
      for (const identifier of ['a.example', 'b.example'])
        await activate({ license_key: key, identifier, name: 'Old' });
      await activate({ license_key: key, identifier: 'a.example', name: 'New' });
      expect(await select('activations').where({ license_id: id }).orderBy('identifier')).toMatchObject([
        { identifier: 'a.example', name: 'New' },
        { identifier: 'b.example', name: 'Old' },
      ]);
    });

    it('refuses a new identifier when all slots are used, and says how many', async () => {
      const { id, key } = await give({ limit: 2 });
      for (const identifier of ['a.example', 'b.example']) await activate({ license_key: key, identifier });
      expectError(
        await activate({ license_key: key, identifier: 'c.example' }),
        403,
        'ACTIVATION_LIMIT_REACHED',
        {
          activation_limit: 2,
          activations_used: 2,
        },
      );
      expect(await storedIdentifiers(id)).toEqual(['a.example', 'b.example']);
      expect(await storedLicense(id)).toMatchObject({ activations_used: 2 });
    });

    it('takes an activation_limit of 0 as unlimited', async () => {
      const { id, key } = await give({ limit: 0 });
      for (let used = 1; used <= 4; used++) {
        const response = await activate({ license_key: key, identifier: `${used}.example` });
        expect(dataOf(response)).toMatchObject({
          activation_limit: 0,
          activations_used: used,
        });
      }
      expect(await storedIdentifiers(id)).toHaveLength(4);
    });

    it('refuses an unknown key', async () => {
      expectError(
        await activate({ license_key: UNKNOWN_KEY, identifier: 'a.example' }),
        403,
        'LICENSE_NOT_FOUND',
      );
    });

    // Decisions, "Order in activate": if several conditions hold, the first one decides the answer.
    it.each<[string, { status?: string; expired?: boolean; full?: boolean }, object, string | undefined]>([
      ['no identifier, unknown key', {}, { license_key: UNKNOWN_KEY }, 'INVALID_REQUEST'],
      [
        'unknown key, unfit identifier',
        {},
        { license_key: UNKNOWN_KEY, identifier: '*' },
        'LICENSE_NOT_FOUND',
      ],
      ['suspended, expired', { status: 'suspended', expired: true }, {}, 'LICENSE_INACTIVE'],
      ['revoked, expired', { status: 'revoked', expired: true }, {}, 'LICENSE_INACTIVE'],
      ['cancelled, expired', { status: 'cancelled', expired: true }, {}, 'LICENSE_INACTIVE'],
      ['suspended, unfit identifier', { status: 'suspended' }, { identifier: '*' }, 'LICENSE_INACTIVE'],
      ['expired, unfit identifier', { expired: true }, { identifier: '*' }, 'LICENSE_EXPIRED'],
      ['expired, no free slot', { expired: true, full: true }, {}, 'LICENSE_EXPIRED'],
      [
        'suspended, already activated',
        { status: 'suspended' },
        { identifier: 'old.example' },
        'LICENSE_INACTIVE',
      ],
      ['expired, already activated', { expired: true }, { identifier: 'old.example' }, 'LICENSE_EXPIRED'],
      ['unfit identifier, no free slot', { full: true }, { identifier: '*' }, 'INVALID_REQUEST'],
      ['already activated, no free slot', { full: true }, { identifier: 'old.example' }, undefined],
      ['not activated, no free slot', { full: true }, {}, 'ACTIVATION_LIMIT_REACHED'],
    ])('%s', async (_conditions, { status = 'active', expired = false, full = false }, body, code) => {
      const { id, key } = await giveActivated('old.example', { limit: full ? 1 : 2 });
      await select('licenses')
        .where({ id })
        .update({ status, expires_at: expired ? '2026-02-01 00:00:00' : null });
      const given = 'license_key' in body ? {} : { identifier: 'new.example' };
      const response = await activate({ license_key: key, ...given, ...body });
      expect((response.body as Partial<ErrorBody>).error?.code).toBe(code);
      expect(await storedIdentifiers(id)).toEqual(['old.example']);
      expect(await storedLicense(id)).toMatchObject({ activations_used: 1 });
    });
  });

  describe('6 validate', () => {
    it('answers with exactly the fields of its table', async () => {
      const { key } = await give({ limit: 5 }, { expiresAt: new Date('2027-03-01T00:00:00Z') });
      await activate({ license_key: key, identifier: 'a.example' });
      const response = await validate({ license_key: key, identifier: 'www.a.example' });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        data: {
          valid: true,
          status: 'active',
          license_key: key,
          product: 'Example Shop',
          plan: 'Developer',
          activation_type: 'domain',
          activation_limit: 5,
          activations_used: 1,
          expires_at: '2027-03-01T00:00:00Z',
          identifier_activated: true,
        },
      });
    });

    it('updates last_check_at and last_check_ip and increments check_count on every call', async () => {
      const { id, key } = await give();
      const calls: [string, Date, string][] = [
        ['203.0.113.1', NOW, NOW_IN_SQL],
        ['203.0.113.2', new Date(NOW.getTime() + DAY), '2026-03-02 12:00:00'],
        ['2001:db8::7', new Date(NOW.getTime() + 2 * DAY), '2026-03-03 12:00:00'],
      ];
      try {
        for (const [i, [ip, at, stored]] of calls.entries()) {
          service.clock.now = at;
          await post('/licenses/validate', { license_key: key }, from(ip));
          expect(await storedLicense(id)).toMatchObject({
            check_count: i + 1,
            last_check_at: stored,
            last_check_ip: ip,
          });
        }
      } finally {
        service.clock.now = NOW;
      }
    });

    it('counts every one of many calls at once', async () => {
      const { id, key } = await give();
      const other = await give();
      await Promise.all(
        Array.from({ length: 40 }, (_, i) => validate({ license_key: i % 4 === 0 ? other.key : key })),
      );
      expect(await storedLicense(id)).toMatchObject({ check_count: 30 });
      expect(await storedLicense(other.id)).toMatchObject({ check_count: 10 });
    });

    it.each<[string, object, boolean]>([
      ['no identifier', {}, true],
      ['a null identifier', { identifier: null }, true],
      ['a blank identifier', { identifier: ' \t ' }, true],
      ['an activated one', { identifier: 'a.example' }, true],
      ['another spelling of it', { identifier: 'https://WWW.A.example/x' }, true],
      ['one that is not activated', { identifier: 'b.example' }, false],
      ['one activated on another licence', { identifier: 'other.example' }, false],
      ['one that is none of its type', { identifier: '*.a.example' }, false],
    ])('identifier_activated with %s, counted', async (_situation, body, activated) => {
      await giveActivated('other.example');
      const { id, key } = await giveActivated('a.example');
      const response = await validate({ license_key: key, ...body });
      expect(response.status).toBe(200);
      expect(dataOf(response)).toMatchObject({
        valid: true,
        identifier_activated: activated,
      });
      expect(await storedLicense(id)).toMatchObject({ check_count: 1 });
    });

    it('refuses an unknown key', async () => {
      expectError(await validate({ license_key: UNKNOWN_KEY }), 403, 'LICENSE_NOT_FOUND');
    });

    it('does not count a request it refuses', async () => {
      const { id, key } = await give();
      expectError(await validate({ license_key: key, identifier: 7 }), 400, 'INVALID_REQUEST');
      expect(await storedLicense(id)).toMatchObject({
        check_count: 0,
        last_check_at: null,
        last_check_ip: null,
      });
    });
  });

  describe('Deactivate', () => {
    it('frees the slot of the identifier, and of no other', async () => {
      const { id, key } = await give({ limit: 2 });
      for (const identifier of ['a.example', 'b.example']) await activate({ license_key: key, identifier });
      const response = await deactivate({ dlid: key, identifier: 'https://www.A.example/' });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        data: { status: 'deactivated', license_key: key, identifier: 'a.example', activations_used: 1 },
      });
      expect(await storedIdentifiers(id)).toEqual(['b.example']);
      expect(await storedLicense(id)).toMatchObject({ activations_used: 1 });
      expect((await activate({ license_key: key, identifier: 'c.example' })).status).toBe(200);
    });

    it('leaves the name that the identifier had in the history', async () => {
      const { id, key } = await give({ limit: 1 });
      await activate({ license_key: key, identifier: 'a.example', name: 'My shop' });
      expect((await deactivate({ license_key: key, identifier: 'a.example' })).status).toBe(200);
      const [removed] = (await select('events').where({ license_id: id, action: 'deactivate' })) as {
        before_json: string;
      }[];
      expect(JSON.parse(removed!.before_json)).toEqual({
        activations_used: 1,
        identifier: 'a.example',
        name: 'My shop',
      });
    });

    it.each<[string, object, number, string]>([
      ['no identifier', {}, 400, 'INVALID_REQUEST'],
      ['a blank identifier', { identifier: '  ' }, 400, 'INVALID_REQUEST'],
      ['one that is none of its type', { identifier: '*.a.example' }, 400, 'INVALID_REQUEST'],
      ['an unknown key', { license_key: UNKNOWN_KEY, identifier: 'a.example' }, 403, 'LICENSE_NOT_FOUND'],
      ['one that is not activated', { identifier: 'b.example' }, 404, 'ACTIVATION_NOT_FOUND'],
    ])('refuses %s', async (_situation, body, status, code) => {
      const { id, key } = await giveActivated('a.example');
      expectError(await deactivate({ license_key: key, ...body }), status, code);
      expect(await storedIdentifiers(id)).toEqual(['a.example']);
      expect(await storedLicense(id)).toMatchObject({ activations_used: 1 });
    });

    it('refuses the second of two', async () => {
      const { id, key } = await giveActivated('a.example');
      expect((await deactivate({ license_key: key, identifier: 'a.example' })).status).toBe(200);
      expectError(
        await deactivate({ license_key: key, identifier: 'a.example' }),
        404,
        'ACTIVATION_NOT_FOUND',
      );
      expect(await storedLicense(id)).toMatchObject({ activations_used: 0 });
    });
  });

  describe('3 States', () => {
    const past = '2026-03-01 11:59:59';
    const thisSecond = '2026-03-01 12:00:00';
    const nextSecond = '2026-03-01 12:00:01';
    /** Rows of: stored status, stored expiry, live state, answer of activate, answer of a download. */
    const STATES: [string, string | null, string, string, string][] = [
      ['active', null, 'active', 'ok', 'ok'],
      ['active', nextSecond, 'active', 'ok', 'ok'],
      ['active', thisSecond, 'expired', 'LICENSE_EXPIRED', 'License has expired'],
      ['active', past, 'expired', 'LICENSE_EXPIRED', 'License has expired'],
      ['expired', null, 'expired', 'LICENSE_EXPIRED', 'License has expired'],
      ['expired', nextSecond, 'expired', 'LICENSE_EXPIRED', 'License has expired'],
      ['suspended', null, 'suspended', 'LICENSE_INACTIVE', 'License is not active'],
      ['suspended', past, 'suspended', 'LICENSE_INACTIVE', 'License is not active'],
      ['revoked', null, 'revoked', 'LICENSE_INACTIVE', 'License is not active'],
      ['revoked', past, 'revoked', 'LICENSE_INACTIVE', 'License is not active'],
      ['cancelled', null, 'cancelled', 'LICENSE_INACTIVE', 'License is not active'],
      ['cancelled', past, 'cancelled', 'LICENSE_INACTIVE', 'License is not active'],
    ];

    beforeAll(async () => {
      await givePlan(service.db, { productId: 50 }, NOW);
      await giveRelease(service, { productId: 50, version: '1.0.0' });
    });
    async function giveState(status: string, expiresAt: string | null): Promise<TestLicense> {
      const license = await giveActivated('a.example', { productId: 50 });
      await select('licenses').where({ id: license.id }).update({ status, expires_at: expiresAt });
      return license;
    }

    it.each(STATES)('activate: stored %s until %s is %s', async (status, expiresAt, _live, outcome) => {
      const { id, key } = await giveState(status, expiresAt);
      const response = await activate({ license_key: key, identifier: 'b.example' });
      if (outcome === 'ok') expect(response.status).toBe(200);
      else expectError(response, 403, outcome);
      expect(await storedIdentifiers(id)).toHaveLength(outcome === 'ok' ? 2 : 1);
    });

    it.each(STATES)(
      'validate: stored %s until %s is %s, HTTP 200, counted',
      async (status, expiresAt, live) => {
        const { id, key } = await giveState(status, expiresAt);
        for (const [identifier, activated] of [
          ['a.example', true],
          ['b.example', false],
        ]) {
          const response = await validate({ license_key: key, identifier });
          expect(response.status).toBe(200);
          expect(dataOf(response)).toMatchObject({
            valid: live === 'active',
            status: live,
            identifier_activated: activated,
            activations_used: 1,
            expires_at: expiresAt && `${expiresAt.replace(' ', 'T')}Z`,
          });
        }
        expect(await storedLicense(id)).toMatchObject({ check_count: 2, last_check_at: NOW_IN_SQL, status });
      },
    );

    it.each(STATES)(
      'download: stored %s until %s is %s',
      async (status, expiresAt, _live, _code, outcome) => {
        const { key } = await giveState(status, expiresAt);
        const response = await get(`/downloads/50?dlid=${key}`);
        if (outcome === 'ok') expect(response.status).toBe(200);
        else expectText(response, 403, outcome);
      },
    );

    it.each(STATES)('deactivate works: stored %s until %s', async (status, expiresAt) => {
      const { id, key } = await giveState(status, expiresAt);
      expect((await deactivate({ license_key: key, identifier: 'a.example' })).status).toBe(200);
      expect(await storedIdentifiers(id)).toEqual([]);
    });

    it('expires by the clock alone, at the second of its date', async () => {
      const { key } = await give({}, { expiresAt: new Date('2026-06-01T00:00:00Z') });
      const valid = async (now: string) => {
        service.clock.now = new Date(now);
        const response = await validate({ license_key: key });
        return dataOf(response);
      };
      try {
        expect(await valid('2026-05-31T23:59:59.999Z')).toMatchObject({ valid: true, status: 'active' });
        expect(await valid('2026-06-01T00:00:00.000Z')).toMatchObject({ valid: false, status: 'expired' });
      } finally {
        service.clock.now = NOW;
      }
    });

    // Decisions, "Transitions".
    it.each<[string, 'suspend' | 'reinstate' | 'revoke' | 'cancel' | 'renew', string | undefined]>([
      ['active', 'suspend', 'suspended'],
      ['active', 'reinstate', undefined],
      ['active', 'renew', 'active'],
      ['active', 'revoke', 'revoked'],
      ['active', 'cancel', 'cancelled'],
      ['suspended', 'reinstate', 'active'],
      ['suspended', 'renew', 'active'],
      ['suspended', 'revoke', 'revoked'],
      ['suspended', 'cancel', 'cancelled'],
      ['expired', 'renew', 'active'],
      ['expired', 'revoke', 'revoked'],
      ['expired', 'cancel', 'cancelled'],
      ['revoked', 'reinstate', undefined],
      ['revoked', 'renew', undefined],
      ['revoked', 'cancel', undefined],
      ['revoked', 'suspend', undefined],
      ['cancelled', 'reinstate', undefined],
      ['cancelled', 'renew', undefined],
      ['cancelled', 'revoke', undefined],
      ['cancelled', 'suspend', undefined],
    ])('a licence that is %s: %s makes it %s', async (live, transition, target) => {
      const { id, key } = await give();
      const expiresAt = live === 'expired' ? past : '2026-04-01 00:00:00';
      const status = live === 'expired' ? 'active' : live;
      await select('licenses').where({ id }).update({ status, expires_at: expiresAt });
      const context = { actor: 'operator:test', now: NOW };
      const change =
        transition === 'renew'
          ? renew(service.db, id, { for: '1y' }, context)
          : changeState(service.db, id, transition, context);
      if (target === undefined) await expect(change).rejects.toThrow(live);
      else await change;

      const data = dataOf(await validate({ license_key: key }));
      expect(data.status).toBe(target ?? live);
      if (transition === 'renew' && target)
        expect(data.expires_at).toBe(live === 'expired' ? '2027-03-01T12:00:00Z' : '2027-04-01T00:00:00Z');
      const events = (await select('events').where({ license_id: id }).orderBy('id')) as Record<
        string,
        string
      >[];
      expect(events.map(({ action }) => action)).toEqual(target ? ['issue', transition] : ['issue']);
      if (target) {
        expect(events[1]).toMatchObject({ actor: 'operator:test', at: NOW_IN_SQL });
        expect(JSON.parse(events[1]!.before_json!)).toMatchObject({ status: live });
        expect(JSON.parse(events[1]!.after_json!)).toMatchObject({ status: target });
      }
    });
  });

  describe('Requests', () => {
    /** Rows of: situation, fields with the key, status (403 if the licence is not found, 400 if the request is wrong). */
    const ALIASES: [string, (key: string) => Record<string, unknown>, number][] = [
      ['license_key', (key) => ({ license_key: key }), 200],
      ['dlid', (key) => ({ dlid: key }), 200],
      ['both: license_key wins', (key) => ({ license_key: key, dlid: UNKNOWN_KEY }), 200],
      ['both: license_key wins, known or not', (key) => ({ license_key: UNKNOWN_KEY, dlid: key }), 403],
      ['an empty license_key leaves it to dlid', (key) => ({ license_key: '', dlid: key }), 200],
      ['a blank license_key leaves it to dlid', (key) => ({ license_key: ' \t', dlid: key }), 200],
      ['both blank', () => ({ license_key: ' ', dlid: '' }), 400],
    ];
    it.each([
      ...ALIASES,
      ['a null license_key is absent', (key) => ({ license_key: null, dlid: key }), 200],
      ['a null dlid is absent', (key) => ({ license_key: key, dlid: null }), 200],
      ['both null', () => ({ license_key: null, dlid: null }), 400],
    ] satisfies typeof ALIASES)('key in JSON: %s', async (_situation, body, status) => {
      const { key } = await give();
      expect((await validate(body(key))).status).toBe(status);
    });
    it.each(ALIASES)('key in a form: %s', async (_situation, body, status) => {
      const { key } = await give();
      const form = new URLSearchParams(body(key) as Record<string, string>).toString();
      const response = await postRaw('/licenses/validate', 'application/x-www-form-urlencoded', form);
      expect(response.status).toBe(status);
    });
    it.each(ALIASES)('key in the query: %s', async (_situation, body, status) => {
      const { key } = await give({ productId: 51 });
      const query = new URLSearchParams(body(key) as Record<string, string>).toString();
      const response = await get(`/downloads/51?${query}`);
      // This product has no release, so a key that is found gets 404.
      expect(response.status).toBe(status === 200 ? 404 : status);
    });
    it.each<[string, (key: string) => string, number]>([
      ['of a repeated dlid the last counts', (key) => `dlid=${UNKNOWN_KEY}&dlid=${key}`, 404],
      ['of a repeated dlid not the first', (key) => `dlid=${key}&dlid=${UNKNOWN_KEY}`, 403],
      ['of a repeated license_key the last', (key) => `license_key=x&license_key=${key}`, 404],
      ['also when it is empty', (key) => `dlid=${key}&dlid=`, 400],
      ['the + of a form is a blank around a key of our own', (key) => `dlid=+${key}+`, 404],
      ['a key of nothing but + is blank', () => 'dlid=++', 400],
    ])('%s', async (_situation, query, status) => {
      const { key } = await give({ productId: 51 });
      expect((await get(`/downloads/51?${query(key)}`)).status).toBe(status);
    });

    it.each<[string, (key: string) => string]>([
      ['as issued', (key) => key],
      ['in lower case', (key) => key.toLowerCase()],
      ['with blanks around it', (key) => `  ${key}\t\r\n`],
      ['with blanks inside', (key) => key.replaceAll('-', ' - ')],
      ['with a no-break space', (key) => `${key}\u00a0`],
      ['with zero-width characters', (key) => `\ufeff${key.slice(0, 9)}\u200b${key.slice(9)}\u200d`],
      ['in quotes', (key) => `"${key}"`],
      ['in single quotes', (key) => `'${key}'`],
      ['in typographic quotes', (key) => `\u201c${key}\u201d`],
      ['with underscores around it', (key) => `_${key}__`],
      ['with its name pasted in front', (key) => `dlid=${key}`],
      ['with its name pasted twice', (key) => `dlid=dlid=${key}`],
      ['with all of that', (key) => ` "dlid= '${key.toLowerCase()}'_" `],
      ['in a sentence', (key) => `Your key is ${key}.`],
      ['twice', (key) => key + key],
      ['without hyphens', (key) => key.replaceAll('-', '').toLowerCase()],
    ])('a key of our own is found %s, and answered in its one spelling', async (_how, spell) => {
      const { key } = await give();
      expect(key).toMatch(/^[0-9A-F]{8}(-[0-9A-F]{8}){3}$/);
      const response = await validate({ license_key: spell(key) });
      expect(dataOf(response)).toMatchObject({ valid: true, license_key: key });
    });

    it.each<[string, string, string, number]>([
      ['as it is', 'Old-Key-1', 'Old-Key-1', 200],
      ['with blanks, quotes and its name', 'Old-Key-2', ' "dlid=Old-Key-2" ', 200],
      ['issued with blanks around it', ' Old-Key-3\n', 'Old-Key-3', 200],
      ['in lower case', 'Old-Key-4', 'old-key-4', 200],
      ['in upper case', 'Old-Key-5', 'OLD-KEY-5', 200],
      ['with other hyphens', 'Old-Key-8', 'Old\u2011Key\u20138', 200],
      ['without its hyphens', 'Old-Key-9', 'OldKey9', 403],
      ['without its accent', 'Olé-6', 'Ole-6', 403],
      ['with its accent', 'Olé-7', 'Olé-7', 200],
      [
        'of our own shape, issued in lower case',
        `${'ab'.repeat(4)}-`.repeat(4).slice(0, -1),
        `${'AB'.repeat(4)}-`.repeat(4).slice(0, -1),
        200,
      ],
    ])('an imported key is found, or not: %s', async (_how, issued, sent, status) => {
      await give({}, { key: issued });
      expect((await validate({ license_key: sent })).status).toBe(status);
    });

    it('accepts a form, as PHP clients post one', async () => {
      const { id, key } = await give();
      const form = new URLSearchParams({ license_key: key, identifier: 'a.example', name: 'Müller & Söhne' });
      const response = await postRaw(
        '/licenses/activate',
        'application/x-www-form-urlencoded; charset=UTF-8',
        form.toString(),
      );
      expect(response.status).toBe(200);
      expect(await select('activations').where({ license_id: id }).pluck<string[]>('name')).toEqual([
        'Müller & Söhne',
      ]);
    });

    it('ignores unknown fields, whatever they are called', async () => {
      const { key } = await give();
      const response = await postRaw(
        '/licenses/activate',
        'application/json',
        `{"constructor":1,"toString":{},"extra":[1],"license_key":"${key}","identifier":"a.example"}`,
      );
      expect(response.status).toBe(200);
    });

    it.each([
      ['with dots in their names', 'name.full=Jane&identifier.x=1&dlid.y[]=2&'],
      ['with brackets in their names', 'name[full]=Jane&identifier[]=x&license_key[0]=1&'],
      ['as many as may be', 'x&'.repeat(998)],
    ])('ignores unknown fields of a form: %s', async (_what, unknown) => {
      const { key } = await give();
      const response = await postRaw(
        '/licenses/activate',
        'application/x-www-form-urlencoded',
        `${unknown}license_key=${key}&identifier=a.example`,
      );
      expect(response.status).toBe(200);
    });

    it('accepts a name of 190 and an identifier of 255 characters, outside the first plane too', async () => {
      const { id, key } = await give({ type: 'device' });
      const [name, identifier] = ['\u{1f600}'.repeat(190), '\u{1f680}'.repeat(255)];
      const response = await activate({ license_key: key, identifier, name });
      expect(response.status).toBe(200);
      expect(await select('activations').where({ license_id: id })).toEqual([
        expect.objectContaining({ identifier, name }),
      ]);
    });

    const json = 'application/json';
    const form = 'application/x-www-form-urlencoded';
    const good = { license_key: UNKNOWN_KEY, identifier: 'a.example' };
    const endpoints = ['activate', 'validate', 'deactivate'];
    /** Rows of: what is wrong, content type, body, what the message names. */
    const MALFORMED: [string, string, object | string, RegExp][] = [
      ['nothing', json, '', /license_key/],
      ['an empty object', json, {}, /license_key/],
      ['malformed JSON', json, '{"license_key":', /is not valid JSON/],
      ['an array', json, [good], /object/],
      ['a string', json, '"key"', /must be a JSON object/],
      ['a number', json, '42', /must be a JSON object/],
      ['null', json, 'null', /must be a JSON object/],
      ['no key', json, { identifier: 'a.example' }, /license_key/],
      ['a blank key', json, { ...good, license_key: ' \u200b' }, /license_key/],
      ['a null key', json, { ...good, license_key: null }, /license_key/],
      ['a number as key', json, { ...good, license_key: 42 }, /license_key/],
      ['true as key', json, { ...good, license_key: true }, /license_key/],
      ['an object as key, dlid good', json, { ...good, license_key: {}, dlid: UNKNOWN_KEY }, /license_key/],
      ['an array as dlid, license_key good', json, { ...good, dlid: [UNKNOWN_KEY] }, /dlid/],
      ['false as dlid, license_key good', json, { ...good, dlid: false }, /dlid/],
      ['a control character in the key', json, { ...good, license_key: 'AB\u0000CD' }, /license_key/],
      ['a lone surrogate in the key', json, '{"license_key":"AB\\ud800CD","identifier":"a"}', /license_key/],
      ['a number as identifier', json, { ...good, identifier: 1 }, /identifier/],
      ['an array as identifier', json, { ...good, identifier: ['a.example'] }, /identifier/],
      ['an identifier of 256 characters', json, { ...good, identifier: 'a'.repeat(256) }, /identifier.*255/],
      ['a control character in the identifier', json, { ...good, identifier: 'a\u0007b' }, /identifier/],
      ['a C1 control in the identifier', json, { ...good, identifier: 'a\u0085b' }, /identifier/],
      [
        'a lone surrogate in the identifier',
        json,
        '{"license_key":"K","identifier":"a\\udc00b"}',
        /identifier/,
      ],
      ['a damaged key', json, { ...good, license_key: 'caf\ufffd' }, /"license_key".*UTF-8/],
      ['a damaged dlid', json, { dlid: 'caf\ufffd', identifier: 'a.example' }, /"dlid".*UTF-8/],
      [
        'a member named __proto__',
        json,
        `{"license_key":"${UNKNOWN_KEY}","x":{"__proto__":1}}`,
        /"__proto__"/,
      ],
      ['a word that is no JSON', json, '{"license_key":prototype}', /not valid JSON/],
      ['a body of another type', 'text/plain', JSON.stringify(good), /license_key|Content-Type/],
      ['a multipart body', 'multipart/form-data; boundary=x', '--x--\r\n', /license_key|Content-Type/],
      ['a body of no type', '', JSON.stringify(good), /license_key|Content-Type/],
      ['a form without a key', form, 'identifier=a.example', /license_key/],
      ['an array as key in a form', form, 'license_key[]=a&identifier=a.example', /license_key/],
      ['an empty form', form, '', /license_key/],
      [
        'a form of a thousand fields and more',
        form,
        `${'x&'.repeat(999)}license_key=a&identifier=b`,
        /1,000 fields/,
      ],
      ['a body over 64 KiB', json, `{"license_key":"${'k'.repeat(65_536)}"}`, /64 KiB/],
      ['a form over 64 KiB', form, `license_key=${'k'.repeat(65_536)}`, /64 KiB/],
    ];
    describe.each(endpoints)('%s refuses', (endpoint) => {
      it.each(MALFORMED)('%s', async (_what, type, body, message) => {
        const response = await postRaw(
          `/licenses/${endpoint}`,
          type,
          typeof body === 'string' ? body : JSON.stringify(body),
        );
        expectError(response, 400, 'INVALID_REQUEST');
        expect((response.body as ErrorBody).error.message).toMatch(message);
      });
    });
    it.each(endpoints)(
      '%s refuses an identifier that is not UTF-8, because two devices could become one',
      async (endpoint) => {
        const { id, key } = await give();
        const response = await fetch(`${service.url}${PREFIX}/licenses/${endpoint}`, {
          method: 'POST',
          headers: { 'Content-Type': json, ...from(newClient()) },
          body: Buffer.from(`{"license_key":"${key}","identifier":"M\xfcller-PC"}`, 'latin1'),
        });
        expect({ status: response.status, body: await response.json() }).toEqual({
          status: 400,
          body: {
            error: {
              code: 'INVALID_REQUEST',
              message: '"identifier" was damaged on its way: the body must be in UTF-8.',
            },
          },
        });
        expect(await storedIdentifiers(id)).toEqual([]);
      },
    );
    it.each<[string, unknown]>([
      ['no identifier', undefined],
      ['a null identifier', null],
      ['an empty identifier', ''],
      ['a blank identifier', ' \t\u00a0'],
    ])('activate and deactivate refuse %s', async (_what, identifier) => {
      for (const endpoint of ['activate', 'deactivate']) {
        const response = await post(`/licenses/${endpoint}`, { ...good, identifier });
        expectError(response, 400, 'INVALID_REQUEST');
        expect((response.body as ErrorBody).error.message).toMatch(/identifier/);
      }
    });
    it.each<[string, string]>([
      ['a number as name', '7'],
      ['an array as name', '["a"]'],
      ['a name of 191 characters', JSON.stringify('a'.repeat(191))],
      ['a control character in the name', '"a\\u0000b"'],
      ['a line break in the name', '"a\\nb"'],
      ['a lone surrogate in the name', '"a\\ud83db"'],
      ['a name that was not UTF-8', '"M\\ufffdller"'],
    ])('activate refuses %s, and the other calls ignore the field', async (_what, name) => {
      const { id, key } = await give();
      const body = `{"license_key":"${key}","identifier":"a.example","name":${name}}`;
      const response = await postRaw('/licenses/activate', json, body);
      expectError(response, 400, 'INVALID_REQUEST');
      expect((response.body as ErrorBody).error.message).toMatch(/name/);
      expect(await storedIdentifiers(id)).toEqual([]);
      expect((await postRaw('/licenses/validate', json, body)).status).toBe(200);
      expect((await postRaw('/licenses/deactivate', json, body)).status).toBe(404);
    });
    it.each<[string, unknown]>([
      ['null', null],
      ['blank', '  '],
    ])('a name that is %s counts as absent', async (_what, name) => {
      const { id, key } = await give();
      expect((await activate({ license_key: key, identifier: 'a.example', name })).status).toBe(200);
      expect(await select('activations').where({ license_id: id }).pluck('name')).toEqual([null]);
    });
    it('reads a body of 64 KiB to the byte', async () => {
      const { key } = await give();
      const body = `{"license_key":"${key}","padding":"`;
      const whole = `${body}${'x'.repeat(65_536 - body.length - 2)}"}`;
      expect(whole).toHaveLength(65_536);
      expect((await postRaw('/licenses/validate', json, whole)).status).toBe(200);
      expectError(await postRaw('/licenses/validate', json, `${whole} `), 400, 'INVALID_REQUEST');
    });
  });

  describe('Activation types and normalisation', () => {
    it.each<[Type, string, string]>([
      ['domain', 'https://www.Example.com:8443/shop/?a=1', 'example.com'],
      ['domain', 'MÜNCHEN.de.', 'xn--mnchen-3ya.de'],
      ['domain', ' http://user:secret@example.com/#top ', 'example.com'],
      ['domain', 'example.com?x', 'example.com'],
      ['domain', 'example.com#x', 'example.com'],
      ['domain', 'www.com', 'www.com'],
      ['domain', 'www.localhost', 'www.localhost'],
      ['domain', 'wwww.example.com', 'wwww.example.com'],
      ['domain', 'localhost:8080', 'localhost'],
      ['domain', 'Intranet', 'intranet'],
      ['domain', 'my_site.example', 'my_site.example'],
      ['domain', 'http://192.0.2.1:81/', '192.0.2.1'],
      ['domain', '[2001:DB8:0:0::1]:443', '2001:db8::1'],
      ['domain', '2001:DB8::1', '2001:db8::1'],
      ['seat', ' User@Example.com ', 'user@example.com'],
      ['device', ' Ab-12 ', 'Ab-12'],
      ['instance', ' Shop West ', 'Shop West'],
    ])('%s: %j is activated, stored and answered as %j', async (type, identifier, stored) => {
      const { id, key } = await give({ type, limit: 1 });
      const data = dataOf(await activate({ license_key: key, identifier }));
      expect(data).toMatchObject({ activation_type: type, identifier: stored });
      expect(await storedIdentifiers(id)).toEqual([stored]);
      for (const spelling of [identifier, stored])
        expect(dataOf(await validate({ license_key: key, identifier: spelling }))).toMatchObject({
          activation_type: type,
          identifier_activated: true,
        });
      expect((await deactivate({ license_key: key, identifier })).status).toBe(200);
    });

    it('drops one leading www. of a domain and no more', async () => {
      const { key } = await give();
      const response = await activate({ license_key: key, identifier: 'www.www.example.com' });
      expect(dataOf(response).identifier).toBe('www.example.com');
    });

    it.each([
      '*.example.com',
      'ex%61mple.com',
      'exa mple.com',
      'example..com',
      '.example.com',
      'example.com,example.org',
      'user@',
      'https://',
      'http:///path',
      '12345',
      '127.1',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '256.1.1.1',
      '1.2.3.4.5',
      '[2001:db8::1',
      '2001:db8::zz',
      'fe80::1%eth0',
    ])(
      'domain: %j is not one: 400 on activate and deactivate, not activated on validate',
      async (identifier) => {
        const { id, key } = await give();
        for (const endpoint of ['activate', 'deactivate'])
          expectError(
            await post(`/licenses/${endpoint}`, { license_key: key, identifier }),
            400,
            'INVALID_REQUEST',
          );
        expect(await storedIdentifiers(id)).toEqual([]);
        const response = await validate({ license_key: key, identifier });
        expect(response.status).toBe(200);
        expect(dataOf(response)).toMatchObject({ identifier_activated: false });
      },
    );

    it.each<[string, Type, string, string]>([
      ['case', 'device', 'ABC', 'abc'],
      ['case', 'instance', 'Shop', 'shop'],
      ['accents', 'instance', 'café', 'cafe'],
      ['sharp s', 'device', 'straße', 'strasse'],
      ['composed and decomposed', 'device', 'é', 'e\u0301'],
      ['blanks inside', 'instance', 'a b', 'a  b'],
      ['emoji', 'device', '\u{1f600}', '\u{1f601}'],
    ])('compares byte by byte: %s makes two identifiers', async (_difference, type, one, other) => {
      const { id, key } = await give({ type, limit: 2 });
      await activate({ license_key: key, identifier: one });
      const response = await validate({ license_key: key, identifier: other });
      expect(dataOf(response)).toMatchObject({ identifier_activated: false });
      const data = dataOf(await activate({ license_key: key, identifier: other }));
      expect(data).toMatchObject({ activations_used: 2, identifier: other });
      expect(await storedIdentifiers(id)).toEqual([one, other]);
    });
  });

  describe('7 updates', () => {
    let product = 100;
    const newProduct = async () => {
      await givePlan(service.db, { productId: ++product }, NOW);
      return product;
    };

    it('answers with exactly the fields of 7.1', async () => {
      const productId = await newProduct();
      const { bytes } = await giveRelease(service, {
        productId,
        version: '2.1.0',
        changelog: 'First line\nSecond line: "Füße"\n',
        date: new Date('2026-02-03T04:05:06.999Z'),
      });
      const response = await get(`/updates/${productId}`);
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        data: {
          update_available: true,
          name: `Product ${productId}`,
          version: '2.1.0',
          download_url: `/api/index.php/v1/licensing/downloads/${productId}`,
          changelog: 'First line\nSecond line: "Füße"\n',
          date: '2026-02-03T04:05:06Z',
          file_size: bytes.length,
        },
      });
    });

    it('has "" as the changelog of a release without one, and now as its date', async () => {
      const productId = await newProduct();
      await giveRelease(service, { productId, version: '1.0' });
      const data = dataOf(await get(`/updates/${productId}`));
      expect(data).toMatchObject({ changelog: '', date: '2026-03-01T12:00:00Z' });
    });

    it.each<[string, string[], string | undefined]>([
      ['nothing published', [], undefined],
      ['by number, not by letter', ['1.10.0', '1.9.0'], '1.10.0'],
      ['not by date', ['2.0.0', '1.9.9'], '2.0.0'],
      ['a longer version is higher', ['1.0', '1.0.0'], '1.0.0'],
      ['no beta is pushed to everybody', ['1.0.0', '1.1.0-beta1'], '1.0.0'],
      ['no release candidate either', ['1.1.0-rc2', '1.0.0'], '1.0.0'],
      [
        'beta, while there is nothing better',
        ['1.0.0-beta2', '1.0.0-beta10', '1.0.0-alpha3'],
        '1.0.0-beta10',
      ],
      ['dev < alpha < beta < rc', ['1.0-rc', '1.0-beta', '1.0-alpha', '1.0-dev'], '1.0-rc'],
      ['rc < release', ['1.0.0', '1.0.0-rc9'], '1.0.0'],
      ['release < patch level', ['1.0.0pl1', '1.0.0'], '1.0.0pl1'],
      ['a draft is none', ['1.0.0', 'draft 2.0.0'], '1.0.0'],
      ['nothing but a draft', ['draft 1.0.0'], undefined],
      ['a withdrawn one is none', ['1.0.0', 'withdrawn 2.0.0'], '1.0.0'],
      ['all withdrawn', ['withdrawn 1.0.0'], undefined],
      ['a beta, when the release was withdrawn', ['withdrawn 1.0.0', '1.1.0-beta'], '1.1.0-beta'],
    ])('the latest: %s', async (_rule, published, latest) => {
      const productId = await newProduct();
      const { path: file } = await makePackage();
      for (const entry of published) {
        const [version, state] = entry.split(' ').reverse() as [string, string?];
        await giveRelease(service, { productId, version, file, draft: state === 'draft' });
        if (state === 'withdrawn') await withdrawRelease(service.db, productId, version, new Date());
      }
      const response = await get(`/updates/${productId}`);
      if (latest === undefined) expect(response.body).toEqual({ data: { update_available: false } });
      else expect(dataOf(response)).toMatchObject({ update_available: true, version: latest });
    });

    it('sees a release published later', async () => {
      const productId = await newProduct();
      const version = async () => dataOf(await get(`/updates/${productId}`)).version;
      await giveRelease(service, { productId, version: '1.0' });
      expect(await version()).toBe('1.0');
      await giveRelease(service, { productId, version: '1.1' });
      await eventually(async () => expect(await version()).toBe('1.1'));
    });

    it('needs no licence key', async () => {
      expect((await get('/updates/42', { Authorization: 'Bearer nonsense' })).status).toBe(200);
    });
  });

  describe('product_id', () => {
    /** Rows of: path after `/updates` or `/downloads`, and whether it names product 42, no product or nothing valid. */
    const IDS: [string, 42 | 'none' | 'invalid'][] = [
      ['/42', 42],
      ['/42/', 42],
      ['/042', 42],
      ['/00000000000000000000000042', 42],
      ['/0', 'none'],
      ['/-1', 'none'],
      ['/-42', 'none'],
      ['/41999', 'none'],
      ['/4294967296', 'none'],
      // These would be 42 if they were truncated to 32 or 64 bits.
      ['/4294967338', 'none'],
      ['/18446744073709551658', 'none'],
      [`/${'9'.repeat(400)}`, 'none'],
      ['', 'invalid'],
      ['/', 'invalid'],
      ['/abc', 'invalid'],
      ['/4.0', 'invalid'],
      ['/42abc', 'invalid'],
      ['/abc42', 'invalid'],
      ['/0x2a', 'invalid'],
      ['/4e1', 'invalid'],
      ['/+42', 'invalid'],
      ['/--42', 'invalid'],
      ['/-', 'invalid'],
      ['/%20', 'invalid'],
      ['/42%20', 'invalid'],
      ['/42%0a', 'invalid'],
      ['/42%00', 'invalid'],
      ['/%D9%A4%D9%A2', 'invalid'],
      ['/%ZZ', 'invalid'],
    ];
    const reaching = IDS.filter(([path]) => reachesService(path));
    it.each(reaching)('updates%s: %s', async (path, expected) => {
      const response = await get(`/updates${path}`);
      if (expected === 'invalid') expectError(response, 400, 'INVALID_REQUEST');
      else if (expected === 'none') expect(response.body).toEqual({ data: { update_available: false } });
      else
        expect(dataOf(response)).toMatchObject({
          update_available: true,
          download_url: `${PREFIX}/downloads/42`,
        });
      expect(response.status).toBe(expected === 'invalid' ? 400 : 200);
    });
    it.each(reaching)('downloads%s: %s', async (path, expected) => {
      const { key } = await give();
      const text = await get(`/downloads${path}?dlid=${key}`);
      const json = await get(`/downloads${path}?license_key=${key}`);
      if (expected === 42) expect([text.status, json.status]).toEqual([200, 200]);
      else if (expected === 'none') {
        expectText(text, 403, 'License does not match this product');
        expectError(json, 403, 'PRODUCT_MISMATCH');
      } else {
        expectText(text, 400, 'Product ID must be an integer');
        expectError(json, 400, 'INVALID_REQUEST');
      }
    });
  });

  describe('8 downloads', () => {
    const keys: Record<string, string> = { unknown: UNKNOWN_KEY };
    let release: Awaited<ReturnType<typeof giveRelease>>;
    beforeAll(async () => {
      const at = (productId: number, expiresAt?: Date) =>
        giveLicense(service.db, plans[productId]!, { expiresAt }, NOW);
      const plans: Record<number, number> = {};
      for (const productId of [60, 61, 62, 63, 64])
        plans[productId] = await givePlan(service.db, { productId }, NOW);
      const past = new Date('2026-02-28T00:00:00Z');

      release = await giveRelease(service, { productId: 60, version: '2.1.0' });
      await giveRelease(service, { productId: 60, version: '2.0.0' });
      await giveRelease(service, { productId: 60, version: '3.0.0-beta1' });
      await giveRelease(service, { productId: 60, version: '3.0.0', draft: true });
      await giveRelease(service, { productId: 60, version: '1.0.0' });
      await withdrawRelease(service.db, 60, '1.0.0', new Date());
      // 61 has no release. The packages of 62, 63 and 64 are missing, a link out of the folder, and a broken link.
      for (const [productId, replace] of [
        [62, () => undefined],
        [63, (path: string) => symlinkSync(temporaryFolder(), path)],
        [64, (path: string) => symlinkSync(join(path, '..', 'nowhere'), path)],
      ] as [number, (path: string) => void][]) {
        const gone = await giveRelease(service, { productId, version: '1.0.0' });
        const path = join(service.packagesDir, `${gone.release.sha256}.zip`);
        rmSync(path);
        replace(path);
      }
      const states: [string, number, string, Date?][] = [
        ['good', 60, 'active'],
        ['suspended', 60, 'suspended'],
        ['revoked', 60, 'revoked'],
        ['cancelled', 60, 'cancelled'],
        ['expired', 60, 'active', past],
        ['suspended, expired', 60, 'suspended', past],
        ['unpublished', 61, 'active'],
        ['file gone', 62, 'active'],
        ['a folder', 63, 'active'],
        ['a link to nowhere', 64, 'active'],
      ];
      for (const [name, productId, status, expiresAt] of states) {
        const { id, key } = await at(productId, expiresAt);
        keys[name] = key;
        if (status !== 'active') await select('licenses').where({ id }).update({ status });
      }
      await activate({ license_key: keys.good, identifier: 'a.example' });
    });

    type Answer = readonly [status: number, text: string, code: string];
    const NO_KEY: Answer = [400, 'Download ID (license key) is required', 'INVALID_REQUEST'];
    const NO_PRODUCT_ID: Answer = [400, 'Product ID must be an integer', 'INVALID_REQUEST'];
    const NOT_FOUND: Answer = [403, 'License not found', 'LICENSE_NOT_FOUND'];
    const INACTIVE: Answer = [403, 'License is not active', 'LICENSE_INACTIVE'];
    const EXPIRED: Answer = [403, 'License has expired', 'LICENSE_EXPIRED'];
    const OTHER_PRODUCT: Answer = [403, 'License does not match this product', 'PRODUCT_MISMATCH'];
    const NOT_ACTIVATED: Answer = [403, 'Activation not found', 'ACTIVATION_NOT_FOUND'];
    const NO_RELEASE: Answer = [404, 'No download is available for this product', 'DOWNLOAD_NOT_FOUND'];
    const NO_FILE: Answer = [404, 'The package file is missing', 'FILE_NOT_FOUND'];

    /** Rows of: situation, path, key, further query, answer. The first of several situations, in the decided order, answers. */
    const REFUSALS: [string, string, string, string, Answer][] = [
      ['no key', '/60', '', '', NO_KEY],
      ['no key, product_id not an integer', '/abc', '', '', NO_KEY],
      ['product_id missing', '', 'good', '', NO_PRODUCT_ID],
      ['product_id not an integer', '/abc', 'good', '', NO_PRODUCT_ID],
      ['product_id not an integer, unknown key', '/abc', 'unknown', '', NO_PRODUCT_ID],
      ['unknown key', '/60', 'unknown', '', NOT_FOUND],
      ['suspended', '/60', 'suspended', '', INACTIVE],
      ['revoked', '/60', 'revoked', '', INACTIVE],
      ['cancelled', '/60', 'cancelled', '', INACTIVE],
      ['suspended, expired', '/60', 'suspended, expired', '', INACTIVE],
      ['suspended, other product', '/61', 'suspended', '', INACTIVE],
      ['expired', '/60', 'expired', '', EXPIRED],
      ['expired, other product', '/61', 'expired', '', EXPIRED],
      ['other product', '/61', 'good', '', OTHER_PRODUCT],
      ['no such product', '/99', 'good', '', OTHER_PRODUCT],
      ['other product, not activated', '/61', 'good', '&identifier=b.example', OTHER_PRODUCT],
      ['not activated', '/60', 'good', '&identifier=b.example', NOT_ACTIVATED],
      ['identifier of no type', '/60', 'good', '&identifier=*', NOT_ACTIVATED],
      ['not activated, nothing published', '/61', 'unpublished', '&identifier=b.example', NOT_ACTIVATED],
      ['nothing published', '/61', 'unpublished', '', NO_RELEASE],
      ['not that version', '/60', 'good', '&version=9.9.9', NO_RELEASE],
      ['that version in other letters', '/60', 'good', '&version=3.0.0-BETA1', NO_RELEASE],
      ['that version, cut off', '/60', 'good', '&version=2.1', NO_RELEASE],
      ['that version to PHP alone', '/60', 'good', '&version=2-1-0', NO_RELEASE],
      ['no version at all', '/60', 'good', '&version=%C3%BC%F0%9F%98%80', NO_RELEASE],
      ['a long version', '/60', 'good', `&version=${'1'.repeat(1000)}`, NO_RELEASE],
      ['a draft', '/60', 'good', '&version=3.0.0', NO_RELEASE],
      ['a withdrawn version', '/60', 'good', '&version=1.0.0', NO_RELEASE],
      ['file gone', '/62', 'file gone', '', NO_FILE],
      ['a folder in its place', '/63', 'a folder', '', NO_FILE],
      ['a dangling link in its place', '/64', 'a link to nowhere', '', NO_FILE],
    ];
    const query = (parameter: string, key: string, more: string) => `?${parameter}=${keys[key] ?? ''}${more}`;

    it.each(REFUSALS)('%s, called with dlid: text', async (_situation, path, key, more, [status, text]) => {
      expectText(await get(`/downloads${path}${query('dlid', key, more)}`), status, text);
    });
    it.each(REFUSALS)('%s, called with license_key: JSON', async (_situation, path, key, more, answer) => {
      const [status, , code] = answer;
      expectError(await get(`/downloads${path}${query('license_key', key, more)}`), status, code);
    });
    it.each(REFUSALS)('%s, HEAD: the same, no body', async (_situation, path, key, more, [status, text]) => {
      const response = await head(`/downloads${path}${query('dlid', key, more)}`);
      expect(response.status).toBe(status);
      expect(response.headers['content-length']).toBe(String(text.length));
      expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(response.text).toBeFalsy();
    });

    it.each<[string, string, 'text' | 'json']>([
      ['no key parameter', '', 'text'],
      ['no key parameter, others', '?version=1', 'text'],
      ['dlid empty', '?dlid=', 'text'],
      ['dlid blank', '?dlid=%20%09', 'text'],
      ['dlid without =', '?dlid', 'text'],
      ['license_key empty', '?license_key=', 'json'],
      ['both empty', '?license_key=&dlid=', 'text'],
      ['amp;dlid empty', '?format=zip&amp;dlid=', 'text'],
    ])('key missing: %s is answered as %3$s', async (_situation, search, form) => {
      const response = await get(`/downloads/60${search}`);
      if (form === 'text') expectText(response, 400, 'Download ID (license key) is required');
      else expectError(response, 400, 'INVALID_REQUEST');
    });
    it('called with both names is answered in text', async () => {
      expectText(
        await get(`/downloads/60?license_key=${UNKNOWN_KEY}&dlid=${UNKNOWN_KEY}`),
        403,
        'License not found',
      );
    });

    it('sends the package with exactly these headers', async () => {
      const response = await getPackage(`/downloads/60?dlid=${keys.good}`);
      expect(response.status).toBe(200);
      expect(release.bytes.equals(response.body as Buffer)).toBe(true);
      expect(response.headers).toEqual({
        'content-type': 'application/zip',
        'content-disposition': 'attachment; filename="product-60-2.1.0.zip"',
        'content-length': String(release.bytes.length),
        'accept-ranges': 'bytes',
        etag: expect.stringMatching(/^"[^"]+"$/) as unknown,
        'cache-control': 'private, no-store, no-transform',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(REQUEST_ID) as unknown,
        date: expect.any(String) as unknown,
        connection: expect.any(String) as unknown,
        ...(response.headers['keep-alive'] && { 'keep-alive': expect.any(String) as unknown }),
        ...ofWebServer,
      });
    });
    it('answers HEAD with the same headers and no body', async () => {
      const path = `/downloads/60?dlid=${keys.good}`;
      const [bare, whole] = [await head(path), await getPackage(path)];
      const without = ({ headers }: request.Response) =>
        Object.entries(headers)
          .filter(([name]) => !['date', 'x-request-id'].includes(name))
          .sort();
      expect(bare.status).toBe(200);
      expect(without(bare)).toEqual(without(whole));
      expect(bare.text).toBeFalsy();
    });
    it('sends the same bytes under the same ETag for every key', async () => {
      const other = await give({ productId: 60 });
      const [one, two] = [
        await getPackage(`/downloads/60?dlid=${keys.good}`),
        await getPackage(`/downloads/60?license_key=${other.key}`),
      ];
      expect((one.body as Buffer).equals(two.body as Buffer)).toBe(true);
      expect(one.headers.etag).toBe(two.headers.etag);
    });

    it.each<[string, number, string]>([
      ['Example Shop', 70, 'example-shop-1.0.zip'],
      ['Füße; "fein" / Größe', 71, 'fu-e-fein-gro-e-1.0.zip'],
      ['拡張機能', 72, 'product-72-1.0.zip'],
      ['... ;', 73, 'product-73-1.0.zip'],
    ])('the file of a product called %j has a name Joomla can use', async (name, productId, fileName) => {
      await givePlan(service.db, { productId }, NOW);
      await select('products').where({ id: productId }).update({ name });
      await giveRelease(service, { productId, version: '1.0' });
      const { key } = await give({ productId });
      const response = await get(`/downloads/${productId}?dlid=${key}`);
      const [, sent] =
        /^attachment; filename="([ -:<-~]+\.zip)"$/.exec(response.headers['content-disposition'] ?? '') ?? [];
      expect(sent).toMatch(/-1\.0\.zip$/);
      if (fileName.startsWith('product-')) expect(sent).toBe(fileName);
    });

    it.each<[string, string, string]>([
      ['the latest without one', '', '2.1.0'],
      ['that one', '&version=2.1.0', '2.1.0'],
      ['an earlier one', '&version=2.0.0', '2.0.0'],
      ['a pre-release', '&version=3.0.0-beta1', '3.0.0-beta1'],
      ['named amp;version', '&amp;version=2.0.0', '2.0.0'],
      ['the last of two', '&version=2.1.0&version=2.0.0', '2.0.0'],
    ])('version: %s', async (_situation, more, version) => {
      const response = await get(`/downloads/60?dlid=${keys.good}${more}`);
      expect(response.status).toBe(200);
      expect(response.headers['content-disposition']).toBe(
        `attachment; filename="product-60-${version}.zip"`,
      );
    });

    it.each(['a.example', 'A.Example', 'https%3A%2F%2Fwww.a.example%2Fshop'])(
      'identifier=%s is activated',
      async (identifier) => {
        expect((await get(`/downloads/60?dlid=${keys.good}&identifier=${identifier}`)).status).toBe(200);
      },
    );

    describe('conditions and ranges', () => {
      /** Rows of: headers, status, Content-Range, first and last byte sent. E is the ETag, N the size, L the last position. */
      const RANGES: [Headers, number, string | undefined, [string, string] | undefined][] = [
        [{ Range: 'bytes=0-9' }, 206, 'bytes 0-9/N', ['0', '9']],
        [{ Range: 'bytes=10-10' }, 206, 'bytes 10-10/N', ['10', '10']],
        [{ Range: 'bytes=100-' }, 206, 'bytes 100-L/N', ['100', 'L']],
        [{ Range: 'bytes=0-99999999' }, 206, 'bytes 0-L/N', ['0', 'L']],
        [{ Range: 'bytes=-1' }, 206, 'bytes L-L/N', ['L', 'L']],
        [{ Range: 'bytes=-N' }, 206, 'bytes 0-L/N', ['0', 'L']],
        [{ Range: 'bytes=-99999999' }, 206, 'bytes 0-L/N', ['0', 'L']],
        [{ Range: 'bytes=-0' }, 416, 'bytes */N', undefined],
        [{ Range: 'bytes=N-' }, 416, 'bytes */N', undefined],
        [{ Range: 'bytes=99999999-' }, 416, 'bytes */N', undefined],
        [{ Range: 'items=0-9' }, 200, undefined, ['0', 'L']],
        [{ Range: 'bytes=nonsense' }, 200, undefined, ['0', 'L']],
        [{ Range: 'bytes=0-1,5-6' }, 200, undefined, ['0', 'L']],
        [{ Range: 'bytes=0-9', 'If-Range': 'E' }, 206, 'bytes 0-9/N', ['0', '9']],
        [{ Range: 'bytes=0-9', 'If-Range': '"other"' }, 200, undefined, ['0', 'L']],
        [{ Range: 'bytes=0-9', 'If-Range': 'Sun, 01 Mar 2026 12:00:00 GMT' }, 200, undefined, ['0', 'L']],
        [{ Range: 'bytes=N-', 'If-Range': '"other"' }, 200, undefined, ['0', 'L']],
        [{ 'If-None-Match': 'E' }, 304, undefined, undefined],
        [{ 'If-None-Match': '"other", E' }, 304, undefined, undefined],
        [{ 'If-None-Match': '"other"' }, 200, undefined, ['0', 'L']],
        [{ 'If-None-Match': 'E', Range: 'bytes=0-9' }, 304, undefined, undefined],
        [{ 'If-Match': '"other"' }, 412, undefined, undefined],
        [{ 'If-Match': 'E' }, 200, undefined, ['0', 'L']],
      ];
      it.each(RANGES)('%j: %i', async (headers, status, contentRange, span) => {
        const size = release.bytes.length;
        const path = `/downloads/60?dlid=${keys.good}`;
        const etag = (await head(path)).headers.etag as string;
        const fill = (text: string) =>
          text
            .replace(/\bE\b/, etag)
            .replace(/\bN\b/g, String(size))
            .replace(/\bL\b/g, String(size - 1));
        const filled = Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, fill(value)]),
        );
        const response = await getPackage(path, filled);
        expect(response.status).toBe(status);
        expect(response.headers['content-range']).toBe(contentRange && fill(contentRange));
        expect(response.headers['cache-control']).toBe('private, no-store, no-transform');
        const bytes = span
          ? release.bytes.subarray(Number(fill(span[0])), Number(fill(span[1])) + 1)
          : Buffer.alloc(0);
        expect(Buffer.from((response.body as Buffer | undefined) ?? []).equals(bytes)).toBe(true);
        if (span) {
          expect(response.headers['content-length']).toBe(String(bytes.length));
          expect(response.headers['content-disposition']).toMatch(/filename=".*\.zip"$/);
        }
      });
    });

    it('leaves a line in the access log for every one, granted or refused, and no key', async () => {
      const expected = new Map<string, string>();
      for (const [, path, key, more, [, , code]] of REFUSALS) {
        const ip = newClient();
        expected.set(ip, code);
        await get(`/downloads${path}${query('dlid', key, more)}`, from(ip));
      }
      const granted = newClient();
      expected.set(granted, 'ok');
      await get(`/downloads/60?dlid=${keys.good}`, { ...from(granted), 'User-Agent': 'Joomla' });
      await eventually(async () => {
        const logged = (await select('access_log').whereIn('ip', [...expected.keys()])) as Record<
          string,
          string
        >[];
        expect(new Map(logged.map(({ ip, outcome }) => [ip, outcome]))).toEqual(expected);
        expect(logged).toHaveLength(expected.size);
        expect(logged.find(({ ip }) => ip === granted)).toMatchObject({
          at: NOW_IN_SQL,
          endpoint: 'download',
          product_id: 60,
          version: '2.1.0',
          key_hint: keys.good!.slice(-8),
          user_agent: 'Joomla',
        });
        for (const key of Object.values(keys)) expect(JSON.stringify(logged)).not.toContain(key);
      });
    });
  });

  describe('The access log', () => {
    it.each<[string, string, object, string]>([
      ['activation', 'activate', { identifier: 'b.example' }, 'ACTIVATION_LIMIT_REACHED'],
      ['activation', 'activate', { identifier: '*' }, 'INVALID_REQUEST'],
      ['activation', 'activate', { license_key: UNKNOWN_KEY, identifier: 'b.example' }, 'LICENSE_NOT_FOUND'],
      ['deactivation', 'deactivate', { identifier: 'b.example' }, 'ACTIVATION_NOT_FOUND'],
      [
        'deactivation',
        'deactivate',
        { license_key: UNKNOWN_KEY, identifier: 'a.example' },
        'LICENSE_NOT_FOUND',
      ],
    ])('names a refused %s (%s %j): %s', async (_what, endpoint, body, outcome) => {
      const { id, key } = await giveActivated('a.example', { limit: 1 });
      const ip = newClient();
      await post(`/licenses/${endpoint}`, { license_key: key, ...body }, from(ip));
      await eventually(async () => {
        expect(await select('access_log').where({ ip })).toEqual([
          expect.objectContaining({ endpoint, outcome, license_id: 'license_key' in body ? null : id }),
        ]);
      });
    });
  });

  describe('Paths, methods and headers', () => {
    it.each<[string, string]>([
      ['POST', '/licenses/activate'],
      ['POST', '/licenses/validate'],
      ['POST', '/licenses/deactivate'],
      ['GET, HEAD', '/updates/42'],
      ['GET, HEAD', '/updates'],
      ['GET, HEAD', '/downloads/42?license_key=x'],
      ['GET, HEAD', '/downloads/42?dlid=x'],
    ])('only %s at %s: anything else is 405 with Allow', async (allow, path) => {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (allow.split(', ').includes(method)) continue;
        const response = await new Promise<{ status: number; allow: unknown; body: string }>(
          (resolve, reject) => {
            httpRequest(service.url + PREFIX + path, { method }, (answer) => {
              const { statusCode = 0, headers } = answer;
              let body = '';
              answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
              answer.on('end', () => resolve({ status: statusCode, allow: headers.allow, body }));
            })
              .on('error', reject)
              .end();
          },
        );
        expect({ method, status: response.status, allow: response.allow }).toEqual({
          method,
          status: 405,
          allow,
        });
        if (method !== 'HEAD' && !path.includes('dlid'))
          expect((JSON.parse(response.body) as ErrorBody).error.code).toBe('METHOD_NOT_ALLOWED');
      }
    });

    const NOTHING = [
      '',
      '/',
      '/licenses',
      '/licenses/',
      '/licenses/unknown',
      '/licenses/activate/now',
      '/updates/42/extra',
      '/downloads/42/x.zip',
      '/Updates/42',
      '/licenses/Activate',
      '/healthz',
      '/metrics',
      '/%ZZ',
    ].filter(reachesService);
    it.each(NOTHING)('there is nothing at %j: 404 NOT_FOUND, whatever the method', async (path) => {
      expectError(await get(path), 404, 'NOT_FOUND');
      expectError(await post(path, {}), 404, 'NOT_FOUND');
    });

    it.each(['', '/'])(
      'a browser that opens the API itself (%j) reads what it is, without a script',
      async (path) => {
        const page = await get(path, { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
        expect(page.status).toBe(200);
        expect(page.headers).toMatchObject({
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': expect.stringMatching(/^default-src 'none';/),
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'x-request-id': expect.stringMatching(REQUEST_ID),
        });
        expect(page.text).toContain('This is a licence service');
        expect(page.text).not.toMatch(/<script|<style|style=|https?:/);
      },
    );
    // On shared hosting the site answers these addresses (test/hosting/passenger.ts).
    whereNotHosted(it).each([
      '/api/index.php/v1/licensingx/updates/42',
      '/updates/42',
      '/api/v1/licensing/updates/42',
      '/',
    ])('there is nothing outside the prefix: %s', async (path) => {
      expectError(await request(service.url).get(path), 404, 'NOT_FOUND');
    });

    it('answers HEAD of an update check with the headers of its GET', async () => {
      const [bare, whole] = [await head('/updates/42'), await get('/updates/42')];
      expect(bare.status).toBe(200);
      for (const name of ['content-type', 'content-length', 'cache-control'])
        expect(bare.headers[name]).toBe(whole.headers[name]);
      expect(bare.text).toBeFalsy();
    });

    it('answers JSON with exactly these headers', async () => {
      const { key } = await give();
      for (const response of [
        await validate({ license_key: key }),
        await validate({ license_key: UNKNOWN_KEY }),
        await get('/updates/42'),
        await get('/nothing'),
      ])
        expect(response.headers).toEqual({
          'content-type': 'application/json; charset=utf-8',
          'content-length': String(Buffer.byteLength(response.text)),
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'x-request-id': expect.stringMatching(REQUEST_ID) as unknown,
          date: expect.any(String) as unknown,
          connection: expect.any(String) as unknown,
          ...(response.headers['keep-alive'] && { 'keep-alive': expect.any(String) as unknown }),
          ...ofWebServer,
        });
    });
  });

  describe('Request ids', () => {
    const idOf = (response: request.Response) => response.headers['x-request-id'] as string;

    it('names every request differently', async () => {
      const ids = [
        idOf(await get('/updates/42')),
        idOf(await get('/updates/42')),
        idOf(await get('/nothing')),
      ];
      expect(new Set(ids).size).toBe(3);
    });
    // On shared hosting, the seller has no proxy that removes an id sent by a visitor.
    whereNotHosted(it)('adopts a well-formed id from a trusted proxy', async () => {
      expect(idOf(await get('/updates/42', { 'X-Request-Id': 'proxy-1234.abc' }))).toBe('proxy-1234.abc');
      for (const given of ['two words', 'x'.repeat(200), 'a"b'])
        expect(idOf(await get('/updates/42', { 'X-Request-Id': given }))).not.toBe(given);
    });
    it('has the id of the answer in the log, for a refusal and for a fault', async () => {
      const { id, key } = await give();
      const refused = await validate({ license_key: UNKNOWN_KEY });
      // No command writes such values, so the code does not expect them.
      const { plan_id } = await storedLicense(id);
      await select('plans').where('id', Number(plan_id)).update({ activation_type: 'nonsense' });
      const failed = await activate({ license_key: key, identifier: 'a.example' });
      expectError(failed, 500, 'INTERNAL_ERROR');
      expect(failed.text).not.toMatch(/nonsense|normaliz|TypeError|\bat /);
      await select('plans').where('id', Number(plan_id)).update({ activation_type: 'domain' });
      await select('releases').where({ product_id: 42 }).update({ file_name: 'a\nb.zip' });
      const text = await get(`/downloads/42?dlid=${key}`);
      expectText(text, 500, (failed.body as ErrorBody).error.message);
      for (const response of [refused, failed, text])
        await eventually(() =>
          expect(service.logLines.filter((line) => line.includes(idOf(response)))).toHaveLength(1),
        );
      for (const line of service.logLines) expect(line).not.toContain(key);
    });
  });

  describe('7, 8 The rate limit', () => {
    /** Smaller than the default, which one test tries too. */
    const LIMIT = 6;
    let limited: TestService;
    let planId: number;
    beforeAll(async () => {
      const limits = { LICENSING_RATE_LIMIT: String(LIMIT), LICENSING_DOWNLOAD_RATE_LIMIT: String(LIMIT) };
      limited = await startTestService(
        { ...(await backend()), ...limits, LICENSING_TRUSTED_PROXIES: '127.0.0.1' },
        NOW,
      );
      planId = await givePlan(limited.db, {}, NOW);
      await giveRelease(limited, { version: '1.0.0' });
    });
    afterAll(() => limited.stop());

    type Call = (headers: Headers, service?: TestService) => request.Test;
    const call =
      (method: 'get' | 'post' | 'head' | 'put' | 'delete', path: string, body?: object | string): Call =>
      (headers, service = limited) => {
        const client = request(service.url);
        const sent = client[method](PREFIX + path).set(headers);
        if (body === undefined) return sent;
        return typeof body === 'string' ? sent.type('json').send(body) : sent.send(body);
      };
    const updates = call('get', '/updates/42');
    const download = call('get', '/downloads/42?dlid=x');
    async function times(
      count: number,
      one: Call,
      headers: Headers,
      service?: TestService,
    ): Promise<Set<number>> {
      const statuses = new Set<number>();
      for (let i = 0; i < count; i++) statuses.add((await one(headers, service)).status);
      return statuses;
    }
    function expectRetryAfter(response: request.Response): void {
      expect(response.headers['retry-after']).toMatch(/^[0-9]+$/);
      expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(response.headers['retry-after'])).toBeLessThanOrEqual(60);
    }

    it.each<[string, Call, number]>([
      [
        'activate',
        call('post', '/licenses/activate', { license_key: UNKNOWN_KEY, identifier: 'a.example' }),
        403,
      ],
      [
        'deactivate',
        call('post', '/licenses/deactivate', { license_key: UNKNOWN_KEY, identifier: 'a' }),
        403,
      ],
      ['validate', call('post', '/licenses/validate', { license_key: UNKNOWN_KEY }), 403],
      ['updates', updates, 200],
      ['updates, HEAD', call('head', '/updates/42'), 200],
      ['updates with a bad id', call('get', '/updates/abc'), 400],
      ['updates without an id', call('get', '/updates'), 400],
      ['malformed JSON', call('post', '/licenses/validate', '{'), 400],
      ['a missing field', call('post', '/licenses/activate', {}), 400],
      ['a body that is too large', call('post', '/licenses/validate', `"${'x'.repeat(70_000)}"`), 400],
      ['activate by a wrong method', call('put', '/licenses/activate', {}), 405],
      ['deactivate by a wrong method', call('delete', '/licenses/deactivate'), 405],
      ['validate by a wrong method', call('get', '/licenses/validate'), 405],
      ['updates by a wrong method', call('post', '/updates/42', {}), 405],
    ])('as many requests to %s, and all four are 429', async (_what, one, status) => {
      const { id, key } = await giveLicense(limited.db, planId, {}, NOW);
      const client = from(newClient());
      expect(await times(LIMIT, one, client)).toEqual(new Set([status]));
      for (const over of [
        call('post', '/licenses/activate', { license_key: key, identifier: 'a.example' }),
        call('post', '/licenses/deactivate', { license_key: key, identifier: 'a.example' }),
        call('post', '/licenses/validate', { license_key: key }),
        call('post', '/licenses/validate', '{'),
        updates,
      ]) {
        const response = await over(client);
        expectError(response, 429, 'RATE_LIMITED');
        expectRetryAfter(response);
      }
      expect((await download(client)).status).toBe(403);
      expect((await updates(from(newClient()))).status).toBe(200);
      // The refused calls changed nothing.
      expect(await limited.db(table(limited.db, 'licenses')).where({ id }).first()).toMatchObject({
        check_count: 0,
        activations_used: 0,
      });
    });

    it('counts the four together: 60 by default, and as many downloads', async () => {
      const usual = await startTestService({ ...(await backend()), LICENSING_RATE_LIMIT: '' }, NOW);
      const client = from(newClient());
      const four = [
        call('post', '/licenses/activate', {}),
        call('post', '/licenses/deactivate', {}),
        call('post', '/licenses/validate', {}),
        updates,
      ];
      for (const one of four) expect(await times(15, one, client, usual)).not.toContain(429);
      for (const one of four) expect((await one(client, usual)).status).toBe(429);
      expect(await times(60, download, client, usual)).toEqual(new Set([403]));
      expect((await download(client, usual)).status).toBe(429);
      await usual.stop();
    });

    it.each<[string, Call, number]>([
      ['with an unknown key', download, 403],
      ['without a key', call('get', '/downloads/42'), 400],
      ['without a product', call('get', '/downloads'), 400],
      ['HEAD', call('head', '/downloads/42?dlid=x'), 403],
      ['with a wrong method', call('delete', '/downloads/42'), 405],
    ])('downloads %s have a bucket of their own', async (_what, one, status) => {
      const { key } = await giveLicense(limited.db, planId, {}, NOW);
      const client = from(newClient());
      expect(await times(LIMIT, one, client)).toEqual(new Set([status]));
      const text = await call('get', `/downloads/42?dlid=${key}`)(client);
      expectText(text, 429, 'Too many requests');
      expectRetryAfter(text);
      expectText(await call('get', '/downloads/42')(client), 429, 'Too many requests');
      const json = await call('get', `/downloads/42?license_key=${key}`)(client);
      expectError(json, 429, 'RATE_LIMITED');
      expectRetryAfter(json);
      expect((await updates(client)).status).toBe(200);
    });

    it('logs the first refusal of an address in a window, and no other', async () => {
      const ip = newClient();
      await times(LIMIT + 5, updates, from(ip));
      const logged = (of = ip) => limited.db(table(limited.db, 'access_log')).where({ ip: of });
      await eventually(async () => expect(await logged()).toHaveLength(1));
      await times(5, updates, from(ip));
      // Entries are written in order, so a second one of the first address would be stored before this one.
      const later = newClient();
      await times(LIMIT + 5, updates, from(later));
      await eventually(async () => expect(await logged(later)).toHaveLength(1));
      expect(await logged()).toEqual([
        expect.objectContaining({ endpoint: 'updates', outcome: 'RATE_LIMITED' }),
      ]);
    });

    it('counts an IPv6 /64 as one client, and the next /64 as another', async () => {
      const site = `2001:db8:${Math.floor(Math.random() * 0xffff).toString(16)}`;
      expect(await times(3, updates, from(`${site}:1::1`))).toEqual(new Set([200]));
      expect(await times(3, updates, from(`${site}:1:ffff:ffff:ffff:ffff`))).toEqual(new Set([200]));
      expect((await updates(from(`${site}:1:0:0:1:2`))).status).toBe(429);
      expect((await updates(from(`${site}:2::1`))).status).toBe(200);
    });

    it('counts an IPv4 address mapped into IPv6 as itself', async () => {
      const ip = newClient();
      expect(await times(3, updates, from(ip))).toEqual(new Set([200]));
      expect(await times(3, updates, from(`::ffff:${ip}`))).toEqual(new Set([200]));
      expect((await updates(from(ip))).status).toBe(429);
    });

    it('cannot be evaded by a header from an untrusted peer', async () => {
      const agent = new Agent({ localAddress: `127.${clients.slice(3)}.0.77`, keepAlive: true });
      try {
        const statuses = [];
        for (let i = 0; i <= LIMIT; i++) {
          const headers = { ...from(newClient()), Forwarded: `for=${newClient()}`, 'X-Real-IP': newClient() };
          statuses.push((await updates(headers).agent(agent)).status);
        }
        expect(statuses).toEqual([...Array<number>(LIMIT).fill(200), 429]);
      } finally {
        agent.destroy();
      }
    });

    it('ends with its window; size, window and the bucket of downloads are settings', async () => {
      const small = await startTestService({
        ...(await backend()),
        LICENSING_RATE_LIMIT: '2',
        LICENSING_RATE_WINDOW: '2',
        LICENSING_DOWNLOAD_RATE_LIMIT: '3',
      });
      try {
        const client = from(newClient());
        const count = async (path: string) => {
          for (let allowed = 0; ; allowed++) {
            const { status, headers } = await request(small.url)
              .get(PREFIX + path)
              .set(client);
            if (status === 429) return { allowed, wait: Number(headers['retry-after']) };
          }
        };
        expect((await count('/downloads/42')).allowed).toBe(3);
        const { allowed, wait } = await count('/updates/42');
        expect(allowed).toBe(2);
        expect(wait).toBeGreaterThanOrEqual(1);
        expect(wait).toBeLessThanOrEqual(2);
        // The window ends in real time.
        await sleep(wait * 1000 + 50);
        expect((await request(small.url).get(`${PREFIX}/updates/42`).set(client)).status).toBe(200);
      } finally {
        await small.stop();
      }
    });
  });
});

describe('The client address', () => {
  /** The trusted proxies, and rows of: situation, peer, X-Forwarded-For, address of the client. */
  const PROXIES = '127.0.0.1,10.0.0.0/8,2001:db8:aaaa::/48';
  const ADDRESSES: [string, string, string | undefined, string][] = [
    ['a trusted peer without the header', '127.0.0.1', undefined, '127.0.0.1'],
    ['a trusted peer', '127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['what a client sent before is not believed', '127.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['two trusted hops', '127.0.0.1', '203.0.113.7, 10.1.2.3', '203.0.113.7'],
    ['forged trusted hops in front', '127.0.0.1', '10.9.9.9, 203.0.113.7, 10.1.2.3', '203.0.113.7'],
    ['nobody but trusted hops', '127.0.0.1', '10.1.2.3, 10.4.5.6', '10.1.2.3'],
    ['IPv4 mapped into IPv6', '127.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
    ['a trusted hop mapped into IPv6', '127.0.0.1', '203.0.113.7, ::FFFF:10.1.2.3', '203.0.113.7'],
    ['IPv6 in its one spelling', '127.0.0.1', '2001:DB8:0:0:0:0:0:7', '2001:db8::7'],
    ['a trusted IPv6 network', '127.0.0.1', '203.0.113.7, 2001:db8:aaaa:1::1', '203.0.113.7'],
    ['no address at all', '127.0.0.1', 'unknown', '127.0.0.1'],
    ['no address behind a trusted hop', '127.0.0.1', 'nonsense, 10.1.2.3', '10.1.2.3'],
    ['what a client sent before no address', '127.0.0.1', '198.51.100.1, nonsense, 10.1.2.3', '10.1.2.3'],
    ['what a client sent before nothing', '127.0.0.1', '198.51.100.1, , 10.1.2.3', '10.1.2.3'],
    ['a port behind the address', '127.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
    ['a port behind an IPv6 address', '127.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['an untrusted peer without the header', '127.0.0.9', undefined, '127.0.0.9'],
    ['an untrusted peer is not believed', '127.0.0.9', '203.0.113.7', '127.0.0.9'],
  ];
  let service: TestService;
  let license: TestLicense;
  beforeAll(async () => {
    service = await startTestService({ LICENSING_TRUSTED_PROXIES: PROXIES });
    license = await giveLicense(service.db, await givePlan(service.db));
  });
  afterAll(() => service.stop());
  const lastCheckIp = async ({ db }: TestService, { id }: TestLicense) =>
    (await db(table(db, 'licenses')).where({ id }).pluck<string[]>('last_check_ip'))[0];

  it.each(ADDRESSES)('%s (%s, %s) is %s', async (_situation, peer, forwarded, expected) => {
    const agent = new Agent({ localAddress: peer });
    const response = await request(service.url)
      .post(`${PREFIX}/licenses/validate`)
      .agent(agent)
      .set(forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded })
      .send({ license_key: license.key });
    expect(response.status).toBe(200);
    expect(await lastCheckIp(service, license)).toBe(expected);
  });

  it('does not take over the request id of an untrusted peer', async () => {
    const response = await request(service.url)
      .get(`${PREFIX}/updates/42`)
      .agent(new Agent({ localAddress: '127.0.0.9' }))
      .set('X-Request-Id', 'mine-1234');
    expect(response.headers['x-request-id']).not.toBe('mine-1234');
  });

  // Under Passenger, Apache decides on the address to listen at.
  whereNotHosted(it).each<[string, Settings, string]>([
    [
      'a peer whose IPv4 address comes mapped into IPv6',
      { LICENSING_LISTEN: '[::ffff:127.0.0.1]:0' },
      '127.0.0.1',
    ],
    ['a peer over IPv6', { LICENSING_LISTEN: '[::1]:0' }, '::1'],
  ])('%s is known by its one spelling, and trusted as loopback', async (_situation, settings, expected) => {
    const local = await startTestService(settings);
    try {
      const { key, ...rest } = await giveLicense(local.db, await givePlan(local.db));
      const send = (headers: Headers) =>
        request(local.url).post(`${PREFIX}/licenses/validate`).set(headers).send({ license_key: key });
      expect((await send({})).status).toBe(200);
      expect(await lastCheckIp(local, { key, ...rest })).toBe(expected);
      await send(from('203.0.113.7'));
      expect(await lastCheckIp(local, { key, ...rest })).toBe('203.0.113.7');
    } finally {
      await local.stop();
    }
  });

  whereNotHosted(it)(
    'believes what comes over a Unix socket, whose peer can only be a proxy of this machine',
    async () => {
      const socketPath = join(temporaryFolder(), 'http.sock');
      const local = await startTestService({ LICENSING_LISTEN: `unix:${socketPath}` });
      try {
        const license = await giveLicense(local.db, await givePlan(local.db));
        await new Promise<void>((resolve, reject) => {
          httpRequest(
            {
              socketPath,
              path: `${PREFIX}/licenses/validate`,
              method: 'POST',
              headers: { 'Content-Type': 'application/json', ...from('203.0.113.7') },
            },
            (answer) => answer.resume().on('end', resolve),
          )
            .on('error', reject)
            .end(JSON.stringify({ license_key: license.key }));
        });
        expect(await lastCheckIp(local, license)).toBe('203.0.113.7');
      } finally {
        await local.stop();
      }
    },
  );
});
