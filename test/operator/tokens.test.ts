import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAuthenticator, type Authenticate } from '../../src/access/authenticate';
import { callerKey, type Caller } from '../../src/access/caller';
import { addToken, listTokens, revokeToken, type NewToken } from '../../src/access/tokens';
import { type Settings } from '../../src/settings/config';
import {
  createMemoryLimiter,
  createRedisLimiter,
  FIXED_LIMITS,
  type Limiter,
} from '../../src/http/limits/rate-limit';
import { connectRedis } from '../../src/http/limits/redis';
import { addPlan, addProduct } from '../../src/licensing/catalogue';
import { issueLicenses, type IssueRequest } from '../../src/licensing/issue';
import { OperatorError } from '../../src/licensing/operator-error';
import { openDatabase, table, type Db } from '../../src/store/engine/database';
import { operator, type Operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import { ONE_KIND, migrateNew, newPlace, rows, testConfig } from '../support/service';
import { startLicensing } from '../support/service-process';

/** Tokens of the operator's API: the command, and who gets access with them. */

const NOW = new Date('2026-11-24T12:00:00Z');
const TOKEN = /^lgw_[A-Za-z0-9_-]{49}$/;

interface Added {
  id: number;
  name: string;
  scope: string;
  token: string;
}

describe.each(ONE_KIND)('on %s', (kind) => {
  let settings: Settings;
  let db: Db;
  let shop: Operator;
  const clock = { now: NOW };
  let names = 0;

  beforeAll(async () => {
    settings = await newPlace(kind);
    const { database, tablePrefix } = testConfig(settings);
    db = openDatabase(database, tablePrefix, 4);
    await migrateNew(db, database);
    shop = operator(settings);
  });
  afterAll(() => db.destroy());
  beforeEach(() => void (clock.now = NOW));

  /** Makes the authenticator of another instance, with an empty cache. */
  function authenticator(): Authenticate {
    const { database } = testConfig(settings);
    return createAuthenticator({
      db,
      now: () => clock.now,
      database,
      joomlaRoot: undefined,
      operatorGroups: [8],
    });
  }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}`, joomlaToken: undefined });
  const newName = () => `shop${++names}`;
  const add = (token: Partial<NewToken> = {}, now = NOW) =>
    addToken(
      db,
      { name: newName(), scope: 'write', expiresAt: null, ...token },
      { actor: 'operator:test', now },
    );
  async function refusal(promise: Promise<unknown>) {
    const error = await promise.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OperatorError);
    const { code, field } = error as OperatorError;
    return { code, field };
  }

  describe('the command', () => {
    it('prints a token once, and lists tokens without it', async () => {
      const added = await shop.json<Added>(['token', 'add', '--name', ' Fair shop ', '--scope', 'issue']);
      expect(added).toMatchObject({
        id: expect.any(Number),
        name: 'Fair shop',
        scope: 'issue',
        token: expect.stringMatching(TOKEN),
      });
      const [listed] = (await shop.json<{ id: number }[]>(['token', 'list'])).filter(
        ({ id }) => id === added.id,
      );
      expect(listed).toEqual({
        id: added.id,
        name: 'Fair shop',
        scope: 'issue',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        expires_at: null,
        last_used_at: null,
      });
      expect(await authenticator()(bearer(added.token))).toEqual({
        scope: 'issue',
        name: 'Fair shop',
        actor: 'token:Fair shop',
        tokenId: added.id,
        joomlaUserId: null,
        credential: added.token,
      });
      const stored = JSON.stringify(await rows(db, 'tokens'));
      expect(stored).not.toContain(added.token.slice(4, 20));
      expect(stored).toContain('operator:');
    });

    it('explains on standard error what to do with it, and prints nothing else', async () => {
      const { code, stdout, stderr } = await shop.run([
        'token',
        'add',
        '--name',
        newName(),
        '--scope',
        'read',
        '--expires',
        '2090-06-30',
      ]);
      expect(code).toBe(0);
      expect(stdout.trim()).toMatch(TOKEN);
      expect(stderr).toMatch(
        /cannot be shown again.*expires on 2090-06-30T23:59:59Z\. To revoke it: licensing token revoke \d+/,
      );
      expect(stderr).toContain('change nothing');
      expect(stderr).not.toContain('lgw_');
      const text = (await shop.run(['token', 'list'])).stdout;
      expect(text).toMatch(/^ID +NAME +SCOPE +EXPIRES +LAST USED\n/);
      expect(text).toContain('2090-06-30T23:59:59Z');
      expect(text).not.toContain('lgw_');
    });

    it('revokes a token, once', async () => {
      const { id, token, name } = await shop.json<Added>([
        'token',
        'add',
        '--name',
        newName(),
        '--scope',
        'write',
      ]);
      expect(await shop.json(['token', 'revoke', String(id)])).toMatchObject({ id, name });
      expect(await authenticator()(bearer(token))).toEqual({ refused: 'UNAUTHORIZED' });
      expect((await shop.json<Added[]>(['token', 'list'])).map((one) => one.id)).not.toContain(id);
      const { code, stdout, stderr } = await shop.run(['token', 'revoke', String(id), '--json']);
      expect({ code, answer: JSON.parse(stdout) as object }).toMatchObject({
        code: 1,
        answer: { error: { code: 'NOT_FOUND' } },
      });
      expect(stderr).toContain('"licensing token list"');
      // Its row stays, with the time of its end and the operator who ended it.
      const [row] = (await rows(db, 'tokens')).filter((one) => one.id === id);
      expect(row).toMatchObject({ name, live_name: null, revoked_by: expect.stringMatching(/^operator:/) });
      expect(row?.revoked_at).not.toBeNull();
    });

    it.each<[string[], number, object]>([
      [['--name', 'taken', '--scope', 'read'], 1, { code: 'CONFLICT', field: 'name' }],
      [['--name', 'TAKEN', '--scope', 'write'], 1, { code: 'CONFLICT', field: 'name' }],
      [
        ['--name', 'late', '--scope', 'read', '--expires', '2020-01-01'],
        1,
        { code: 'INVALID_REQUEST', field: 'expires' },
      ],
      [['--name', 'x'.repeat(101), '--scope', 'read'], 1, { code: 'INVALID_REQUEST', field: 'name' }],
      [['--name', 'ann@example.com', '--scope', 'read'], 1, { code: 'INVALID_REQUEST', field: 'name' }],
      [['--name', '', '--scope', 'read'], 2, { code: 'INVALID_REQUEST', field: 'name' }],
      [['--name', 'some', '--scope', 'admin'], 2, { code: 'INVALID_REQUEST', field: 'scope' }],
      [
        ['--name', 'some', '--scope', 'read', '--expires', 'soon'],
        2,
        { code: 'INVALID_REQUEST', field: 'expires' },
      ],
      [['--scope', 'read'], 2, { code: 'INVALID_REQUEST', field: 'name' }],
      [['--name', 'some'], 2, { code: 'INVALID_REQUEST', field: 'scope' }],
    ])('refuses %j', async (args, code, error) => {
      await shop.run(['token', 'add', '--name', 'taken', '--scope', 'read']);
      const ended = await shop.run(['token', 'add', ...args, '--json']);
      expect({ code: ended.code, answer: JSON.parse(ended.stdout) as object }).toMatchObject({
        code,
        answer: { error },
      });
    });

    it('repeats no token that was typed in the wrong place', async () => {
      const { token } = await shop.json<Added>(['token', 'add', '--name', newName(), '--scope', 'read']);
      for (const args of [
        ['token', 'revoke', token],
        ['token', 'add', '--name', token, '--scope', 'read'],
        ['token', 'add', '--name', 'x', '--scope', token],
        ['token', token],
        ['token', 'list', token],
        [token],
        ['license', 'show', token],
        ['why', token],
      ]) {
        const { stdout, stderr } = await shop.run([...args, '--json']);
        expect(stdout + stderr).not.toContain(token);
      }
    });
  });

  it('stores no part of a token, in no table and no export', async () => {
    const { token } = await add();
    await authenticator()(bearer(token));
    const file = `${temporaryFolder()}/export.jsonl`;
    const { code } = await shop.run(['export', '--out', file]);
    expect(code).toBe(0);
    const dump = JSON.stringify(await rows(db, 'tokens')) + JSON.stringify(await rows(db, 'events'));
    for (const part of [token, token.slice(4, 16), token.slice(-20)]) expect(dump).not.toContain(part);
  });

  it('refuses a mistyped or foreign token without the database', async () => {
    const { token } = await add();
    const closed = openDatabase({ kind: 'sqlite', path: '/dev/null/x.sqlite' }, '');
    const who = createAuthenticator({
      db: closed,
      now: () => NOW,
      database: { kind: 'sqlite', path: '/dev/null/x.sqlite' },
      joomlaRoot: undefined,
      operatorGroups: [],
    });
    const swapped = `${token.slice(0, 10)}${token.charAt(10) === 'A' ? 'B' : 'A'}${token.slice(11)}`;
    const random = randomBytes(32).toString('base64url');
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(random));
    for (const wrong of [
      swapped,
      token.slice(0, -1),
      `${token}A`,
      token.toUpperCase(),
      token.slice(4),
      `lgw_${random}AAAAAA`,
      'lgw_',
      '',
    ])
      expect(await who(bearer(wrong))).toEqual({ refused: 'UNAUTHORIZED' });
    // As a control, a token with a valid checksum queries the database.
    await expect(who(bearer(`lgw_${random}${sum.toString('base64url')}`))).rejects.toThrow();
    await closed.destroy();
    expect(await authenticator()(bearer(`lgw_${random}${sum.toString('base64url')}`))).toEqual({
      refused: 'UNAUTHORIZED',
    });
  });

  it('accepts the name of the scheme in any case, and ignores X-Joomla-Token', async () => {
    const { token } = await add();
    const who = authenticator();
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  '])
      expect(await who({ authorization: `${scheme} ${token} `, joomlaToken: 'x' })).toMatchObject({
        scope: 'write',
      });
    for (const authorization of [undefined, token, `Basic ${token}`, `Token ${token}`])
      expect(await who({ authorization, joomlaToken: token })).toEqual({ refused: 'UNAUTHORIZED' });
  });

  it('refuses a token from the second of its end, even if it is cached', async () => {
    const expiresAt = new Date(NOW.getTime() + 60_000);
    const { token } = await add({ expiresAt });
    const who = authenticator();
    clock.now = new Date(expiresAt.getTime() - 1);
    expect(await who(bearer(token))).toMatchObject({ scope: 'write' });
    clock.now = expiresAt;
    expect(await who(bearer(token))).toEqual({ refused: 'UNAUTHORIZED' });
  });

  it('frees the name of an expired token, which can then not be restored', async () => {
    const expiresAt = new Date(NOW.getTime() + 1_000);
    const first = await add({ name: 'Seasonal', expiresAt });
    expect(await refusal(add({ name: 'seasonal' }))).toEqual({ code: 'CONFLICT', field: 'name' });
    const second = await add({ name: 'seasonal' }, expiresAt);
    const who = authenticator();
    expect(await who(bearer(first.token))).toEqual({ refused: 'UNAUTHORIZED' });
    expect(await who(bearer(second.token))).toMatchObject({ name: 'seasonal' });
    const listed = (await listTokens(db)).map(({ id }) => id);
    expect(listed).toContain(second.stored.id);
    expect(listed).not.toContain(first.stored.id);
  });

  it('keeps an expired token in the list, and lets it be revoked', async () => {
    const { stored } = await add({ expiresAt: new Date(NOW.getTime() + 1_000) });
    const later = new Date(NOW.getTime() + 5_000);
    expect((await listTokens(db)).map(({ id }) => id)).toContain(stored.id);
    await revokeToken(db, stored.id, { actor: 'operator:test', now: later });
    expect(await refusal(revokeToken(db, stored.id, { actor: 'operator:test', now: later }))).toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('lists pages by id', async () => {
    const ids = (await listTokens(db)).map(({ id }) => id);
    const [first, second, third] = ids;
    expect((await listTokens(db, { limit: 2 })).map(({ id }) => id)).toEqual([first, second]);
    expect((await listTokens(db, { after: second, limit: 1 })).map(({ id }) => id)).toEqual([third]);
  });

  it('gives a name to one of 20 simultaneous requests', async () => {
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        add({ name: i % 2 ? 'Race' : 'race' }).catch((error: unknown) => error),
      ),
    );
    const refused = started.filter((one) => one instanceof OperatorError && one.code === 'CONFLICT');
    expect(refused).toHaveLength(19);
    expect((await listTokens(db)).filter(({ liveName }) => liveName === 'race')).toHaveLength(1);
    // The same after the previous token has expired: the search for it must not lock out the others.
    const expired = new Date(NOW.getTime() + 1_000);
    await revokeToken(db, (await listTokens(db)).find(({ liveName }) => liveName === 'race')!.id, {
      actor: 'operator:test',
      now: NOW,
    });
    await add({ name: 'race', expiresAt: expired });
    const again = await Promise.all(
      Array.from({ length: 20 }, () => add({ name: 'race' }, expired).catch((error: unknown) => error)),
    );
    expect(again.filter((one) => one instanceof OperatorError)).toHaveLength(19);
    expect(again.filter((one) => !(one instanceof Error))).toHaveLength(1);
  });

  it('is refused within two seconds of its revocation in every instance, however often it is used', async () => {
    const { token, stored } = await add();
    const instances = [authenticator(), authenticator(), authenticator()];
    for (const who of instances) expect(await who(bearer(token))).toMatchObject({ scope: 'write' });
    await revokeToken(db, stored.id, { actor: 'operator:test', now: NOW });
    const revoked = performance.now();
    while (performance.now() - revoked < 2_000) {
      for (const who of instances) await who(bearer(token));
      await sleep(20);
    }
    for (const who of instances) expect(await who(bearer(token))).toEqual({ refused: 'UNAUTHORIZED' });
  });

  describe('the last use', () => {
    const lastUse = async (id: number) =>
      (await listTokens(db)).find((one) => one.id === id)?.lastUsedAt?.toISOString() ?? null;

    it('is recorded at most once a minute, by all instances together', async () => {
      const { token, stored } = await add();
      const [one, other] = [authenticator(), authenticator()];
      const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
      await one(bearer(token));
      await eventually(async () => expect(await lastUse(stored.id)).toBe(at(0).toISOString()));
      clock.now = at(59);
      await one(bearer(token));
      await other(bearer(token));
      await sleep(50);
      expect(await lastUse(stored.id)).toBe(at(0).toISOString());
      clock.now = at(61);
      await other(bearer(token));
      await eventually(async () => expect(await lastUse(stored.id)).toBe(at(61).toISOString()));
    });

    it('neither delays nor fails a call', async () => {
      const { token, stored } = await add();
      const who = authenticator();
      const name = table(db, 'tokens');
      if (kind === 'SQLite')
        await db.raw(
          `CREATE TRIGGER refuse_use BEFORE UPDATE OF last_used_at ON ${name} BEGIN SELECT RAISE(ABORT, 'no'); END`,
        );
      else
        await db.raw(
          `CREATE TRIGGER refuse_use BEFORE UPDATE ON ${name} FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'`,
        );
      try {
        expect(await who(bearer(token))).toMatchObject({ tokenId: stored.id });
        await sleep(50);
        expect(await lastUse(stored.id)).toBeNull();
      } finally {
        await db.raw('DROP TRIGGER refuse_use');
      }
      if (kind === 'SQLite') return;
      // Its row is locked: the write waits, but the call does not.
      const trx = await db.transaction();
      await trx(name).where({ id: stored.id }).forUpdate();
      expect(await authenticator()(bearer(token))).toMatchObject({ tokenId: stored.id });
      expect(await lastUse(stored.id)).toBeNull();
      await trx.rollback();
    });
  });

  it("throws the database's errors", async () => {
    const { token } = await add();
    const gone = openDatabase(
      kind === 'SQLite'
        ? { kind: 'sqlite', path: '/dev/null/x.sqlite' }
        : { kind: 'mysql', host: '127.0.0.1', port: 1, user: 'x', password: '', database: 'x' },
      '',
    );
    const who = createAuthenticator({
      db: gone,
      now: () => NOW,
      database: { kind: 'sqlite', path: 'x' },
      joomlaRoot: undefined,
      operatorGroups: [],
    });
    await expect(who(bearer(token))).rejects.toThrow();
    await gone.destroy();
  });

  describe('a licence', () => {
    let plan: number;
    beforeAll(async () => {
      await addProduct(db, { id: 42, name: 'Example' }, NOW);
      const terms = { activationType: 'domain', activationLimit: 3, duration: '1y' } as const;
      plan = (await addPlan(db, { productId: 42, name: 'Developer', ...terms }, NOW)).id;
    });
    const issue = (request: Partial<IssueRequest>) =>
      issueLicenses(
        db,
        {
          planId: plan,
          customer: undefined,
          reference: undefined,
          expiresAt: undefined,
          activationLimit: undefined,
          key: undefined,
          count: 1,
          ownOnly: request.issuedBy !== undefined,
          ...request,
        },
        'token:fair',
        Buffer.alloc(32, 7),
        NOW,
      );

    it('names the token that issued it, and only that token gets it again by its reference', async () => {
      const [mine] = await issue({ reference: 'f-1', issuedBy: 'fair', customer: 'ann@example.com' });
      expect(mine?.license.issuedBy).toBe('fair');
      const [again] = await issue({ reference: 'f-1', issuedBy: 'fair' });
      expect(again).toMatchObject({ license: mine!.license, key: mine!.key });
      for (const request of [
        { issuedBy: 'other' },
        { issuedBy: 'other', planId: 99 },
        { issuedBy: 'Fair' },
      ]) {
        const error = (await issue({ reference: 'f-1', ...request }).catch(
          (thrown: unknown) => thrown,
        )) as OperatorError;
        expect(error).toMatchObject({ code: 'CONFLICT', field: 'reference' });
        // The message contains nothing about the other licence.
        expect(error.message).not.toMatch(/\d|ann/);
      }
      // A caller who can see everything gets it.
      expect((await issue({ reference: 'f-1' }))[0]?.license.id).toBe(mine?.license.id);
      await issue({ reference: 'o-1' });
      expect(await refusal(issue({ reference: 'o-1', issuedBy: 'fair' }))).toEqual({
        code: 'CONFLICT',
        field: 'reference',
      });
    });

    it('keeps the name in an export and import, and adds it to no earlier JSON', async () => {
      const [issued] = await issue({ reference: 'f-2', issuedBy: 'fair', count: 1 });
      expect(await shop.json(['license', 'show', String(issued?.license.id)])).not.toHaveProperty(
        'issued_by',
      );
      const file = `${temporaryFolder()}/all.jsonl`;
      await shop.json(['export', '--out', file]);
      const other = operator(await newPlace('SQLite'));
      await other.json(['migrate']);
      await other.json(['import', file, '--without-sealed-keys']);
      const copy = `${temporaryFolder()}/copy.jsonl`;
      await other.json(['export', '--out', copy]);
      const licenses = (path: string) =>
        readFileSync(path, 'utf8')
          .split('\n')
          .filter((line) => line.startsWith('{"type":"license"'))
          .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(licenses(copy).map(({ reference, issued_by }) => [reference, issued_by])).toEqual(
        licenses(file).map(({ reference, issued_by }) => [reference, issued_by]),
      );
      expect(licenses(copy).find(({ reference }) => reference === 'f-2')).toMatchObject({
        issued_by: 'fair',
      });
    });
  });

  it('is in the doctor, with those that expire soon', async () => {
    await shop.json(['token', 'add', '--name', 'ending', '--scope', 'read', '--expires', inDays(20)]);
    await shop.json(['token', 'add', '--name', 'lasting', '--scope', 'read', '--expires', inDays(40)]);
    const { stdout } = await shop.run(['doctor', '--json']);
    const { findings } = JSON.parse(stdout) as { findings: { code: string; level: string; what: string }[] };
    const of = (code: string) => findings.find((one) => one.code === code);
    expect(of('API_TOKENS')).toMatchObject({ level: 'ok', what: expect.stringContaining('of its own') });
    expect(of('API_TOKENS_ENDING')).toMatchObject({
      level: 'warning',
      what: expect.stringContaining('ending ('),
    });
    expect(of('API_TOKENS_ENDING')?.what).not.toContain('lasting');
    expect(of('API_JOOMLA_TOKENS')).toMatchObject({
      level: 'ok',
      what: expect.stringContaining('JOOMLA_ROOT'),
    });
  });
});

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

it('a token that one process makes is valid in another, even in a race of processes', async () => {
  const settings = await newPlace('MariaDB');
  expect(await startLicensing(['migrate'], settings).ended).toMatchObject({ code: 0 });
  const args = ['token', 'add', '--name', 'shop', '--scope', 'read', '--json'];
  const ended = await Promise.all(Array.from({ length: 4 }, () => startLicensing(args, settings).ended));
  expect(ended.map(({ code }) => code).sort()).toEqual([0, 1, 1, 1]);
});

describe('the key by which calls are counted', () => {
  const caller: Caller = {
    scope: 'write',
    name: 'shop',
    actor: 'token:shop',
    tokenId: 3,
    joomlaUserId: null,
    credential: 'lgw_secret',
  };

  it('is stable for a token, and differs from any other and from its secret', () => {
    const key = callerKey(caller);
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(callerKey({ ...caller, credential: 'other', name: 'other' })).toBe(key);
    const others = [
      { ...caller, tokenId: 4 },
      { ...caller, tokenId: null, joomlaUserId: 3 },
      { ...caller, tokenId: null, joomlaUserId: 4 },
    ];
    expect(new Set([key, ...others.map(callerKey)]).size).toBe(4);
  });

  it.each(['memory', 'Redis'])('in %s has separate buckets, with a window of a minute', async (where) => {
    const limits = { api: 1, download: 1, manage: 3, ...FIXED_LIMITS };
    const rules = { limits, window: 5 };
    const redis =
      where === 'Redis'
        ? connectRedis(
            [`${process.env.TEST_REDIS_URL as string}/${Math.floor(Math.random() * 4_096)}`],
            () => undefined,
          )
        : undefined;
    await redis?.started;
    const limiter: Limiter = redis ? createRedisLimiter(rules, redis) : createMemoryLimiter(rules);
    const client = randomBytes(8).toString('hex');
    const spend = async (bucket: Parameters<Limiter>[0], times: number) => {
      const allowances = [];
      for (let i = 0; i < times; i++) allowances.push(await limiter(bucket, client));
      return allowances;
    };
    const manage = await spend('manage', 4);
    expect(manage.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    expect(manage[3]?.retryAfter).toBeGreaterThan(50);
    const failures = await spend('manage_failures', 11);
    expect(failures.map(({ allowed }) => allowed)).toEqual([...Array<boolean>(10).fill(true), false]);
    const api = await spend('api', 2);
    expect(api.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(api[1]?.retryAfter).toBeLessThanOrEqual(5);
    expect((await limiter('manage', `${client}2`)).allowed).toBe(true);
    redis?.close();
  });
});
