import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { DownloadOutcome } from '../../src/http/limits/download-limiter';
import {
  createMemoryLimiter,
  createRedisLimiter,
  FIXED_LIMITS,
  type Limiter,
} from '../../src/http/limits/rate-limit';
import { connectRedis, type RedisConnection } from '../../src/http/limits/redis';
import { generateKey } from '../../src/licensing/core/keys';
import { rekey } from '../../src/licensing/license-keys';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';

/** Tests that downloads and checks count by their outcomes (docs/api-errors.md, "Limits"). */

const newRedisUrl = () => `${process.env.TEST_REDIS_URL as string}/${Math.floor(Math.random() * 4_096)}`;

const STORES: [string, () => string | undefined][] = [
  ['memory', () => undefined],
  ['Redis', newRedisUrl],
];

describe.each(STORES)('the counts in %s', (_name, newUrl) => {
  const LIMIT = 3;
  const open: RedisConnection[] = [];
  afterAll(() => open.forEach((one) => one.close()));

  async function newLimiter(url = newUrl(), window = 60): Promise<Limiter> {
    const rules = { limits: { api: 1, download: LIMIT, manage: 1, ...FIXED_LIMITS }, window };
    if (url === undefined) return createMemoryLimiter(rules);
    const redis = connectRedis([url], () => undefined);
    open.push(redis);
    await redis.started;
    return createRedisLimiter(rules, redis);
  }
  const newAddress = () => `2001:db8:${randomBytes(2).toString('hex')}:1::/64`;

  /** A request and its outcome, which is the unit if it is granted; or the count that is full. */
  type Step = [key: string | undefined, kind: 'check' | 'download', outcome: string, full?: string];
  const granted = (unit: string): DownloadOutcome => ({ is: 'granted', unit });

  async function follow({ downloads }: Limiter, client: string, steps: Step[]) {
    for (const [i, [key, kind, outcome, full]] of steps.entries()) {
      const asked = { client, key, isCheck: kind === 'check' };
      const taken = await downloads.take(asked);
      expect([i, taken.full]).toEqual([i, full]);
      if (taken.full !== undefined) continue;
      const settled: DownloadOutcome =
        outcome === 'unknown' || outcome === 'refused' || outcome === 'open'
          ? { is: outcome }
          : granted(outcome);
      await downloads.settle(asked, settled);
    }
  }
  const times = (count: number, step: Step) => Array.from({ length: count }, () => step);

  it.each<[string, Step[]]>([
    [
      'so many unknown keys, and then nothing from there',
      [
        ...times(LIMIT, ['a', 'download', 'unknown']),
        ['good', 'check', '', 'unknown'],
        [undefined, 'download', '', 'unknown'],
      ],
    ],
    [
      'malformed ones count with them',
      [
        [undefined, 'download', 'unknown'],
        [undefined, 'check', 'unknown'],
        ['a', 'download', 'unknown'],
        ['good', 'check', '', 'unknown'],
      ],
    ],
    [
      'refusals of a key hurt no other key',
      [
        ...times(LIMIT, ['ended', 'check', 'refused']),
        ['ended', 'download', '', 'refused'],
        ...times(5, ['good', 'download', '42 1.0']),
      ],
    ],
    [
      'as many refusals as keys',
      ['a', 'b', 'c', 'd', 'e', 'f'].map((key): Step => [key, 'download', 'refused']),
    ],
    [
      'ten times as many are granted',
      [
        ...times(10 * LIMIT, ['a', 'download', '42 1.0']),
        ['a', 'download', '', 'granted'],
        ['a', 'check', '', 'granted'],
        ['b', 'check', '42 1.0'],
      ],
    ],
    [
      'a check and the download of that version are one',
      [
        ...Array.from({ length: 10 * LIMIT }, (): Step[] => [
          ['a', 'check', '42 1.0'],
          ['a', 'download', '42 1.0'],
        ]).flat(),
        ['a', 'check', '', 'granted'],
        ['a', 'download', '', 'granted'],
      ],
    ],
    [
      'a check and the download of another version are two',
      [
        ...times(10 * LIMIT - 1, ['a', 'download', '42 1.0']),
        ['a', 'check', '42 1.0'],
        ['a', 'download', '42 2.0'],
        ['a', 'download', '', 'granted'],
      ],
    ],
    [
      'what was not answered counts nowhere',
      [...times(20, ['a', 'download', 'open']), ['a', 'download', '42 1.0']],
    ],
  ])('%s', async (_what, steps) => {
    await follow(await newLimiter(), newAddress(), steps);
  });

  it('belong to one address, and end with the window', async () => {
    const limiter = await newLimiter(undefined, 1);
    const [one, other] = [newAddress(), newAddress()];
    await follow(limiter, one, times(LIMIT, ['a', 'download', 'unknown']));
    const taken = await limiter.downloads.take({ client: one, key: 'good', isCheck: false });
    expect(taken).toMatchObject({ full: 'unknown', first: true });
    expect(taken.endsIn).toBeGreaterThan(0);
    expect(taken.endsIn).toBeLessThanOrEqual(1_000);
    expect(await limiter.downloads.take({ client: one, key: 'good', isCheck: false })).toMatchObject({
      first: false,
    });
    await follow(limiter, other, [['good', 'download', '42 1.0']]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await follow(limiter, one, [['good', 'download', '42 1.0']]);
  });

  it('are shared with the look-ups of keys by the pages', async () => {
    const limiter = await newLimiter();
    const client = newAddress();
    for (let i = 0; i < LIMIT; i++) expect((await limiter('download', client)).allowed).toBe(true);
    await follow(limiter, client, [['good', 'download', '', 'unknown']]);
  });

  it('let in no more requests at once than the limit has room for', async () => {
    const url = newUrl();
    const limiters = [await newLimiter(url), url === undefined ? undefined : await newLimiter(url)];
    const asked = { client: newAddress(), key: 'guess', isCheck: false };
    const [first] = limiters as [Limiter];
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (limiters[i % 2] ?? first).downloads.take(asked)),
    );
    expect(all.filter(({ full }) => full === undefined)).toHaveLength(LIMIT);
    expect(all.filter(({ full }) => full === 'doubt')).toHaveLength(20 - LIMIT);
    await first.downloads.settle(asked, { is: 'unknown' });
    expect((await first.downloads.take(asked)).full).toBe('doubt');
    await first.downloads.settle(asked, granted('42 1.0'));
    expect((await first.downloads.take(asked)).full).toBeUndefined();
  });

  it.each<[string, DownloadOutcome, number]>([
    ['refused', { is: 'refused' }, LIMIT],
    ['granted', granted('42 1.0'), 10 * LIMIT],
  ])(
    'of too many at once over two processes, exactly the limit of a key is %s',
    async (full, outcome, most) => {
      const url = newUrl();
      const one = await newLimiter(url);
      const other = url === undefined ? one : await newLimiter(url);
      const asked = { client: newAddress(), key: 'own', isCheck: false };
      const letIn = await Promise.all(
        Array.from({ length: 2 * most }, async (_, i) => {
          const { downloads } = i % 2 === 0 ? one : other;
          for (;;) {
            const taken = await downloads.take(asked);
            if (taken.full === undefined) {
              await sleep(Math.random() * 3);
              await downloads.settle(asked, outcome);
              return true;
            }
            if (taken.full !== 'doubt') return taken.full;
            await sleep(1);
          }
        }),
      );
      expect(letIn.filter((one) => one === true)).toHaveLength(most);
      expect(letIn.filter((one) => one === full)).toHaveLength(most);
    },
  );

  it('let in one download for a check, though several arrive at once', async () => {
    const { downloads } = await newLimiter();
    const client = newAddress();
    const ask = (isCheck: boolean) => ({ client, key: 'a', isCheck });
    for (let i = 0; i < 10 * LIMIT; i++) {
      expect((await downloads.take(ask(true))).full).toBeUndefined();
      await downloads.settle(ask(true), granted(i === 0 ? '42 1.0' : '42 2.0'));
    }
    for (let i = 1; i < 10 * LIMIT; i++) {
      expect((await downloads.take(ask(false))).full).toBeUndefined();
      await downloads.settle(ask(false), granted('42 2.0'));
    }
    const first = await downloads.take(ask(false));
    expect([first.full, (await downloads.take(ask(false))).full]).toEqual([undefined, 'doubt']);
    await downloads.settle(ask(false), granted('42 1.0'));
    expect((await downloads.take(ask(false))).full).toBe('granted');
  });
});

describe('two services that share their counts in Redis', () => {
  const LIMIT = 20;

  it('answer exactly as many refusals and downloads of a key, one by one and at once', async () => {
    const settings = {
      LICENSING_DATABASE_URL: await createMariaDbDatabase(),
      LICENSING_REDIS_URL: newRedisUrl(),
      LICENSING_TRUSTED_PROXIES: '127.0.0.1',
      LICENSING_DOWNLOAD_RATE_LIMIT: String(LIMIT),
      LICENSING_PACKAGES_DIR: temporaryFolder(),
    };
    const services = [await startTestService(settings), await startTestService(settings)] as const;
    try {
      const [{ db }] = services;
      const plan = await givePlan(db);
      await giveRelease(services[0], { version: '2.0.0' });
      const ask = async (i: number, key: string, address: string) => {
        const { url } = services[i % 2]!;
        const asked = request(url).get(`${PREFIX}/downloads/42?dlid=${key}&check=1`);
        return (await asked.set('X-Forwarded-For', address)).status;
      };
      const ended = (await giveLicense(db, plan, { expiresAt: new Date(Date.now() - 86_400_000) })).key;
      const { key } = await giveLicense(db, plan);
      const all = (count: number, of: string, address: string) =>
        Promise.all(Array.from({ length: count }, (_, i) => ask(i, of, address)));
      const letIn = (statuses: number[]) => statuses.filter((status) => status !== 429).length;
      const slow: number[] = [];
      for (let i = 0; i < LIMIT + 5; i++) slow.push(await ask(i, ended, '198.18.8.1'));
      expect(letIn(slow)).toBe(LIMIT);
      expect(letIn(await all(3 * LIMIT, ended, '198.18.8.2'))).toBe(LIMIT);
      expect(letIn(await all(11 * LIMIT, key, '198.18.8.3'))).toBe(10 * LIMIT);
    } finally {
      for (const service of services) await service.stop();
    }
  });
});

describe.each(STORES)('a service that counts in %s', (_name, newUrl) => {
  const LIMIT = 20;
  let service: TestService;
  let plan: number;
  beforeAll(async () => {
    const [, settings] = ONE_BACKEND.at(-1)!;
    const url = newUrl();
    service = await startTestService({
      ...(await settings()),
      LICENSING_TRUSTED_PROXIES: '127.0.0.1',
      LICENSING_DOWNLOAD_RATE_LIMIT: String(LIMIT),
      ...(url === undefined ? {} : { LICENSING_REDIS_URL: url }),
    });
    plan = await givePlan(service.db);
    await giveRelease(service, { version: '2.0.0' });
  });
  afterAll(() => service.stop());

  let addresses = 0;
  const newAddress = () => `198.18.7.${++addresses}`;
  const ask = async (address: string, query: string, path = '42') => {
    const { status, headers } = await request(service.url)
      .get(`${PREFIX}/downloads/${path}?${query}`)
      .set('X-Forwarded-For', address);
    if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    return status;
  };
  const give = async (count: number, terms: Parameters<typeof giveLicense>[2] = {}) => {
    const keys: string[] = [];
    for (let i = 0; i < count; i++) keys.push((await giveLicense(service.db, plan, terms)).key);
    return keys;
  };
  const ended = { expiresAt: new Date(Date.now() - 86_400_000) };
  const update = async (address: string, key: string) => [
    await ask(address, `dlid=${key}&check=1`),
    await ask(address, `dlid=${key}&version=2.0.0`),
  ];

  it('lets 30 customers of one host update at once, and each of them many times', async () => {
    const address = newAddress();
    const keys = await give(30);
    const all = await Promise.all(keys.map((key) => update(address, key)));
    expect(all.filter(([check, download]) => check !== 200 || download !== 200)).toEqual([]);
    const [key = ''] = keys;
    for (let i = 0; i <= LIMIT; i++) expect(await update(address, key)).toEqual([200, 200]);
  });

  it('lets in as many guesses as before, at once or one by one, and then nothing from there', async () => {
    const address = newAddress();
    const [key = ''] = await give(1);
    const statuses = await Promise.all(
      Array.from({ length: 2 * LIMIT }, (_, i) =>
        ask(address, `dlid=${generateKey()}${i % 2 === 0 ? '&check=1' : ''}`),
      ),
    );
    // With an unknown key, a check answers 200 and a download 403: all but 429 were let in.
    const letIn = statuses.filter((status) => status !== 429);
    expect(letIn).toHaveLength(LIMIT);
    expect(await update(address, key)).toEqual([429, 429]);
    expect(await update(newAddress(), key)).toEqual([200, 200]);
    await eventually(async () => {
      const logged = await rows<{ ip: string; outcome: string }>(service.db, 'access_log');
      expect(logged.filter(({ ip, outcome }) => ip === address && outcome === 'RATE_LIMITED')).toHaveLength(
        1,
      );
    });
    // Send them one by one, some of them malformed.
    const slow = newAddress();
    const sent = ['', 'dlid=', `dlid=${generateKey()}`];
    for (let i = 0; i < LIMIT; i++)
      expect(await ask(slow, sent[i % 3]!, i % 2 === 0 ? '42' : 'abc')).not.toBe(429);
    expect(await ask(slow, `dlid=${key}`)).toBe(429);
  });

  it('does not let many ended licences on a host affect the other licences there', async () => {
    const address = newAddress();
    const [good = ''] = await give(1);
    const keys = await give(10, ended);
    for (let round = 0; round < 5; round++) {
      const statuses = await Promise.all(keys.map((key) => ask(address, `dlid=${key}`)));
      expect(new Set(statuses)).toEqual(new Set([403]));
    }
    expect(await update(address, good)).toEqual([200, 200]);
    // A replaced key is answered like an unknown one, but does not count as a guess.
    const replaced = await giveLicense(service.db, plan);
    await rekey(service.db, replaced.id, {}, undefined, {
      actor: 'operator:test',
      now: new Date(service.clock.now.getTime() - 60_000),
    });
    for (let i = 0; i < LIMIT; i++) expect(await ask(address, `dlid=${replaced.key}`)).toBe(403);
    expect(await ask(address, `dlid=${replaced.key}`)).toBe(429);
    expect(await update(address, good)).toEqual([200, 200]);
    const [worst = ''] = keys;
    for (let i = 5; i < LIMIT; i++) expect(await ask(address, `dlid=${worst}`)).toBe(403);
    expect(await ask(address, `dlid=${worst}`)).toBe(429);
    // Another spelling is still the same key.
    expect(await ask(address, `dlid=${worst.toLowerCase().replaceAll('-', '')}`)).toBe(429);
    expect(await ask(address, `dlid=${keys[1]}`)).toBe(403);
    expect(await update(address, good)).toEqual([200, 200]);
  });
});
