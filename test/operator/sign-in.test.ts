import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createCode,
  CUSTOMER_CODE_TTL_MS,
  findCode,
  OPERATOR_CODE_TTL_MS,
  consumeCode,
  type OperatorCode,
} from '../../src/access/one-time-codes';
import {
  openOperatorSession,
  createSession,
  readSession,
  type IsAccountIn,
  endSession,
  isRecentSignIn,
} from '../../src/access/sessions';
import { requestCustomerLink, requestOperatorLink } from '../../src/access/link-requests';
import { addOperator, operatorCodeFor } from '../../src/access/operators';
import { startHousekeeping } from '../../src/runner/housekeeping';
import { operator, type Operator } from '../support/operator';
import { eventually } from '../support/processes';
import { addToken, revokeToken } from '../../src/access/tokens';
import { type Settings } from '../../src/settings/config';
import { setCustomer } from '../../src/licensing/amend';
import { rekey } from '../../src/licensing/license-keys';
import { openDatabase, table, type Db } from '../../src/store/engine/database';
import { ONE_KIND, giveLicense, givePlan, migrateNew, newPlace, rows, testConfig } from '../support/service';

/** Signing in with one-time links and tokens, without the pages. */

const NOW = new Date('2026-11-24T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const after = (ms: number) => new Date(NOW.getTime() + ms);

const ROOT: OperatorCode = {
  kind: 'operator',
  actor: 'operator:root',
  name: 'root',
  scope: 'write',
  operatorId: null,
};

describe.each(ONE_KIND)('on %s', (kind) => {
  let db: Db;
  let settings: Settings;
  let shop: Operator;
  let license: { id: number; key: string };
  beforeAll(async () => {
    settings = await newPlace(kind);
    shop = operator(settings);
    const { database, tablePrefix } = testConfig(settings);
    db = openDatabase(database, tablePrefix, 8);
    await migrateNew(db, database);
    license = await giveLicense(db, await givePlan(db), { customer: 'ann@example.com' }, NOW);
  });
  afterAll(() => db.destroy());

  describe('a one-time code', () => {
    it('is used once, even by 20 at the same time', async () => {
      const code = await createCode(db, ROOT, OPERATOR_CODE_TTL_MS, NOW);
      expect(code).toMatch(/^[\w-]{43}$/);
      expect(await findCode(db, 'operator', code, NOW)).toEqual(ROOT);
      expect(await findCode(db, 'customer', code, NOW)).toBeUndefined();
      expect(await consumeCode(db, 'customer', code, NOW)).toBeUndefined();
      const stored = JSON.stringify(await db('licensing_one_time_codes'));
      expect(stored).not.toContain(code);
      const used = await Promise.all(
        Array.from({ length: 20 }, () => openOperatorSession(db, { code }, NOW)),
      );
      expect(used.filter((one) => 'session' in one)).toHaveLength(1);
      expect(await findCode(db, 'operator', code, NOW)).toBeUndefined();
    });

    it('expires after ten minutes or an hour, and is then like an invented one', async () => {
      const code = await createCode(db, ROOT, OPERATOR_CODE_TTL_MS, NOW);
      expect(await findCode(db, 'operator', code, after(10 * MINUTE - 1_000))).toEqual(ROOT);
      expect(await consumeCode(db, 'operator', code, after(10 * MINUTE))).toBeUndefined();
      expect(await consumeCode(db, 'operator', 'made-up', NOW)).toBeUndefined();
      expect(await consumeCode(db, 'operator', 'A'.repeat(43), NOW)).toBeUndefined();
      const ann = { kind: 'customer', email: 'ann@example.com' } as const;
      const mailed = await createCode(db, ann, CUSTOMER_CODE_TTL_MS, NOW);
      expect(await consumeCode(db, 'customer', mailed, after(59 * MINUTE))).toEqual(ann);
      const nobodys = await createCode(db, { ...ann, email: 'eve@example.com' }, HOUR, NOW);
      expect(await consumeCode(db, 'customer', nobodys, NOW)).toBeUndefined();
      expect(JSON.stringify(await db('licensing_one_time_codes'))).not.toContain('@');
    });
  });

  describe("an operator's session", () => {
    const isIn: IsAccountIn = () => Promise.resolve(true);
    const read = (cookie: string, now: Date, isAccountIn = isIn) =>
      readSession(db, 'operator', cookie, now, isAccountIn);
    const open = (now = NOW) => createSession(db, ROOT, now);
    const caller = { scope: 'write', name: 'x', tokenId: null, joomlaUserId: null, credential: '' } as const;

    it('is found only by its cookie, which is not stored', async () => {
      const { cookie, session } = await open();
      expect(session.caller).toEqual({
        ...{ scope: 'write', name: 'root', actor: 'operator:root', tokenId: null, joomlaUserId: null },
        credential: cookie,
        session: { id: session.id, signedInAt: NOW },
      });
      expect(await read(cookie, NOW)).toEqual(session);
      expect(await readSession(db, 'customer', cookie, NOW)).toBeUndefined();
      expect(await read('A'.repeat(43), NOW)).toBeUndefined();
      expect(await read('', NOW)).toBeUndefined();
      expect(JSON.stringify(await rows(db, 'sessions'))).not.toContain(cookie);
    });

    it('ends after 30 minutes without use, after 12 hours, and by signing out', async () => {
      const idle = await open();
      expect(await read(idle.cookie, after(29 * MINUTE))).toMatchObject({ expiresAt: after(59 * MINUTE) });
      expect(await read(idle.cookie, after(58 * MINUTE))).toHaveProperty('caller');
      expect(await read(idle.cookie, after(88 * MINUTE))).toBe('ended');
      const long = await open();
      for (let at = 0; at < 12 * HOUR; at += 20 * MINUTE)
        expect(await read(long.cookie, after(at))).toHaveProperty('caller');
      expect(await read(long.cookie, after(12 * HOUR))).toBe('ended');
      const out = await open();
      await endSession(db, 'operator', out.cookie, NOW);
      expect(await read(out.cookie, NOW)).toBe('ended');
    });

    it('records its use at most once a minute', async () => {
      const { cookie, session } = await open();
      const usedAt = async () =>
        (await rows<{ id: number; used_at: string }>(db, 'sessions')).find(({ id }) => id === session.id)
          ?.used_at;
      await read(cookie, after(59_000));
      expect(await usedAt()).toBe('2026-11-24 12:00:00');
      await Promise.all(Array.from({ length: 5 }, () => read(cookie, after(61_000))));
      expect(await usedAt()).toBe('2026-11-24 12:01:01');
    });

    it('is replaced by signing in again, and is fresh for an hour', async () => {
      const first = await open();
      expect(isRecentSignIn(first.session, after(HOUR - 1))).toBe(true);
      expect(isRecentSignIn(first.session, after(HOUR))).toBe(false);
      const code = await createCode(db, ROOT, OPERATOR_CODE_TTL_MS, after(MINUTE));
      const replaces = first.cookie;
      const again = await openOperatorSession(db, { code }, after(MINUTE), { replaces });
      expect(again).toMatchObject({ session: { signedInAt: after(MINUTE) } });
      expect(await read(first.cookie, after(MINUTE))).toBe('ended');
      // A code that does not sign in keeps the session.
      const other = await open();
      expect(await openOperatorSession(db, { code }, NOW, { replaces: other.cookie })).toEqual({
        refused: 'CODE',
      });
      expect(await read(other.cookie, NOW)).toHaveProperty('caller');
    });

    it('ends with the token that opened it', async () => {
      const actor = 'operator:test';
      const sessionOf = async (name: string, expiresAt: Date | null) => {
        const { stored } = await addToken(db, { name, scope: 'read', expiresAt }, { actor, now: NOW });
        const by = {
          caller: { ...caller, scope: 'read', actor: `token:${name}`, tokenId: stored.id },
        } as const;
        const opened = await openOperatorSession(db, by, NOW);
        if ('refused' in opened) throw new Error(opened.refused);
        return { ...opened, id: stored.id };
      };
      const expiring = await sessionOf('expiring', after(10 * MINUTE));
      expect(await read(expiring.cookie, after(9 * MINUTE))).toMatchObject({
        caller: { actor: 'token:expiring', scope: 'read', tokenId: expiring.id },
      });
      expect(await read(expiring.cookie, after(10 * MINUTE))).toBe('ended');
      const revoked = await sessionOf('revoked', null);
      await revokeToken(db, revoked.id, { actor, now: NOW });
      expect(await read(revoked.cookie, NOW)).toBe('ended');
      expect(
        await openOperatorSession(db, { caller: { ...caller, scope: 'issue', actor: 'token:x' } }, NOW),
      ).toEqual({ refused: 'SCOPE' });
    });

    it('ends with the right of the Joomla account', async () => {
      const by = { caller: { ...caller, actor: 'joomla:ann', joomlaUserId: 7 } };
      const opened = await createSession(db, { kind: 'operator', ...by }, NOW);
      const asked: number[] = [];
      const answer = (isIn: boolean) => (id: number) => (asked.push(id), Promise.resolve(isIn));
      expect(await read(opened.cookie, NOW, answer(true))).toHaveProperty('caller.actor', 'joomla:ann');
      expect(await read(opened.cookie, NOW, answer(false))).toBe('ended');
      expect(asked).toEqual([7, 7]);
    });
  });

  describe("a customer's session", () => {
    const read = (cookie: string, now: Date) => readSession(db, 'customer', cookie, now);

    it('by key lasts 30 minutes, and ends with the key', async () => {
      const [{ key_digest: keyDigest }] = (await rows<{ key_digest: string }>(db, 'license_keys')) as [
        { key_digest: string },
      ];
      const opened = { kind: 'customer', by: 'key', licenseId: license.id, keyDigest } as const;
      const { cookie, session } = await createSession(db, opened, NOW);
      expect(await read(cookie, after(29 * MINUTE))).toEqual(session);
      expect(session).toMatchObject({
        by: 'key',
        licenseId: license.id,
        keyDigest,
        expiresAt: after(30 * MINUTE),
      });
      expect(await read(cookie, after(30 * MINUTE))).toBe('ended');
      await rekey(db, license.id, {}, undefined, { actor: 'operator:test', now: after(MINUTE) });
      expect(await read(cookie, after(2 * MINUTE))).toBe('ended');
    });

    it('by mail lasts two hours at most, and ends with the last licence of the address', async () => {
      const mail = { kind: 'customer', by: 'mail', email: 'ann@example.com' } as const;
      const { cookie, session } = await createSession(db, mail, NOW);
      expect(session).toMatchObject({ by: 'mail', email: mail.email });
      for (let at = 0; at < 2 * HOUR; at += 20 * MINUTE)
        expect(await read(cookie, after(at))).toMatchObject({ by: 'mail', email: mail.email });
      expect(await read(cookie, after(2 * HOUR))).toBe('ended');
      const idle = await createSession(db, mail, NOW);
      expect(await read(idle.cookie, after(30 * MINUTE))).toBe('ended');
      const erased = await createSession(db, mail, NOW);
      await setCustomer(db, license.id, 'bob@example.com', { actor: 'operator:test', now: NOW });
      expect(await read(erased.cookie, NOW)).toBe('ended');
      expect(JSON.stringify(await rows(db, 'sessions'))).not.toContain('@');
    });
  });

  describe('the command', () => {
    interface Link {
      url: string;
      expires_at: string;
    }
    const PATH = '/api/index.php/v1/licensing/pages/enter/';
    const publicUrl = 'https://shop.example/joomla';

    it('prints a link that signs in once', async () => {
      const before = Date.now();
      const link = await operator({ ...settings, LICENSING_PUBLIC_URL: publicUrl }).json<Link>(['sign-in']);
      const [, base, code = ''] = /^(.*)\/api\/.*\/enter\/([\w-]{43})$/.exec(link.url) ?? [];
      expect([base, Object.keys(link)]).toEqual([publicUrl, ['url', 'expires_at']]);
      const minutes = (Date.parse(link.expires_at) - before) / MINUTE;
      expect(minutes).toBeGreaterThan(9.9);
      expect(minutes).toBeLessThan(10.5);
      const found = await consumeCode(db, 'operator', code, new Date());
      expect(found).toMatchObject({ scope: 'write', operatorId: null, actor: `operator:${found?.name}` });
      expect(await consumeCode(db, 'operator', code, new Date())).toBeUndefined();
    });

    it('accepts another address and scope', async () => {
      const args = ['sign-in', '--base-url', 'http://127.0.0.1:3080/', '--scope', 'read'];
      const { code, stdout, stderr } = await shop.run(args);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:3080\/api\/\S{20,}\n$/);
      expect(stderr).toContain('works once');
      const found = await findCode(db, 'operator', stdout.trim().split(PATH)[1] as string, new Date());
      expect(found?.scope).toBe('read');
    });

    it('explains how to name the address if it is unknown', async () => {
      const installed = operator({ ...settings, LICENSING_LISTEN: 'unix:/run/licensing/1/http.sock' });
      const { code, stdout, stderr } = await installed.run(['sign-in', '--json']);
      expect([code, JSON.parse(stdout)]).toEqual([
        1,
        { error: { code: 'INVALID_REQUEST', field: 'base-url', message: expect.any(String) } },
      ]);
      expect(stderr).toMatch(/--base-url.*LICENSING_PUBLIC_URL/);
      for (const wrong of [
        ['--base-url', 'shop'],
        ['--scope', 'issue'],
      ])
        expect(await shop.run(['sign-in', ...wrong])).toMatchObject({ code: 2, stdout: '' });
    });

    it('names this machine in a trial without a site', async () => {
      const trial = operator({ ...settings, LICENSING_LISTEN: '127.0.0.1:3081' });
      const { code, stdout, stderr } = await trial.run(['sign-in']);
      if (kind !== 'SQLite') return expect([code, stdout]).toEqual([1, '']);
      expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:3081\/api\/\S{20,}\n$/);
      expect(stderr).toContain('only on this machine');
      const elsewhere = operator({ ...settings, LICENSING_LISTEN: '0.0.0.0:3081' });
      expect((await elsewhere.run(['sign-in'])).code).toBe(1);
    });

    it('adds, lists and removes operators, whose sessions then end', async () => {
      const added = await shop.json(['operator', 'add', 'Jane Roe <Jane@Example.com>']);
      expect(added).toEqual({
        id: expect.any(Number),
        email: 'jane@example.com',
        scope: 'read',
        created_at: expect.stringMatching(/Z$/),
      });
      expect(await shop.json(['operator', 'list'])).toEqual([added]);
      const twice = await shop.run(['operator', 'add', 'jane@example.com', '--scope', 'write']);
      expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('licensing operator remove') });
      expect(await shop.run(['operator', 'add', 'jane'])).toMatchObject({ code: 2 });
      const codeFor = (await operatorCodeFor(db, 'jane@example.com')) as OperatorCode;
      expect(codeFor).toMatchObject({ actor: 'operator:jane@example.com', scope: 'read' });
      const used = await createCode(db, codeFor, OPERATOR_CODE_TTL_MS, NOW);
      const left = await createCode(db, codeFor, OPERATOR_CODE_TTL_MS, NOW);
      const opened = await openOperatorSession(db, { code: used }, NOW);
      if ('refused' in opened) throw new Error(opened.refused);
      const isIn = () => Promise.resolve(true);
      const read = () => readSession(db, 'operator', opened.cookie, NOW, isIn);
      expect(await read()).toMatchObject({ caller: { actor: 'operator:jane@example.com', scope: 'read' } });
      expect(await shop.json(['operator', 'remove', 'jane@example.com'])).toEqual(added);
      expect(await read()).toBe('ended');
      expect(await consumeCode(db, 'operator', left, NOW)).toBeUndefined();
      expect(await operatorCodeFor(db, 'jane@example.com')).toBeUndefined();
      // A new operator with the same address does not get the old session.
      await shop.json(['operator', 'add', 'jane@example.com']);
      expect(await read()).toBe('ended');
      await shop.json(['operator', 'remove', 'jane@example.com']);
      const again = await shop.run(['operator', 'remove', 'jane@example.com', '--json']);
      expect(JSON.parse(again.stdout)).toMatchObject({ error: { code: 'NOT_FOUND' } });
      expect((await shop.run(['operator', 'list'])).stdout).toBe('No operators.\n');
    });
  });

  describe('a requested link', () => {
    const queued: object[] = [];
    const queue = (_: unknown, request: object) => Promise.resolve(queued.push(request));
    beforeEach(() => void queued.splice(0));

    it('is mailed only to operators, three times an hour', async () => {
      const email = 'mail@example.com';
      const ask = (text: string, now: Date) => requestOperatorLink(db, text, { now, queue });
      await Promise.all([ask('nobody@example.com', NOW), ask('no address', NOW)]);
      expect(queued).toEqual([]);
      await addOperator(db, { email, scope: 'write' }, { actor: 'operator:test', now: NOW });
      await Promise.all(Array.from({ length: 20 }, () => ask('Mail@example.com', NOW)));
      expect(queued).toEqual(Array(3).fill({ type: 'operator_link', email }));
      await ask(email, after(HOUR - 1_000));
      expect(queued).toHaveLength(3);
      await Promise.all(Array.from({ length: 5 }, () => ask(email, after(HOUR))));
      expect(queued).toHaveLength(6);
    });

    it('runs the same statements in the same time for a customer and for an unknown address', async () => {
      await giveLicense(db, await givePlan(db), { customer: 'carl@example.com' }, NOW);
      const ask = async (email: string) => {
        const statements: string[] = [];
        const listen = ({ sql }: { sql: string }) => statements.push(sql);
        db.on('query', listen);
        const started = performance.now();
        await requestCustomerLink(db, email, { now: NOW, queue });
        db.off('query', listen);
        expect(performance.now() - started).toBeGreaterThan(240);
        return statements;
      };
      const known = await ask('carl@example.com');
      expect(await ask('nobody@example.com')).toEqual(known);
      expect(queued).toEqual([
        { type: 'customer_link', email: 'carl@example.com' },
        { type: 'customer_link', email: 'nobody@example.com' },
      ]);
      await Promise.all(Array.from({ length: 5 }, () => ask('nobody@example.com')));
      expect(queued).toHaveLength(4);
      const stored = JSON.stringify(await db(table(db, 'link_requests')));
      expect(stored).not.toContain('@');
    });
  });

  it('old sessions, codes and requests are deleted', async () => {
    const left = async () => {
      const names = ['one_time_codes', 'sessions', 'link_requests'] as const;
      return Promise.all(names.map(async (name) => (await db(table(db, name))).length));
    };
    await createCode(db, ROOT, OPERATOR_CODE_TTL_MS, after(24 * 365 * HOUR));
    expect((await left()).every((count) => count > 0)).toBe(true);
    const housekeeping = (now: Date) =>
      startHousekeeping(
        db,
        () => 90,
        pino({ level: 'silent' }),
        () => now,
      );
    const stop = housekeeping(after(24 * 365 * HOUR));
    await eventually(async () => expect(await left()).toEqual([1, 0, 0]));
    await stop();
  });
});
