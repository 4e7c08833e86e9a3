import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDatabaseLimiter } from '../../src/http/limits/database-limits';
import type { DownloadOutcome, Reservation } from '../../src/http/limits/download-limiter';
import { FIXED_LIMITS, type Limiter, type RateLimits } from '../../src/http/limits/rate-limit';
import { openServiceDatabase, table, type Db } from '../../src/store/engine/database';
import { parseDatabaseUrl } from '../../src/store/engine/database-url';
import { openLimitCounts, pruneLimitCounts } from '../../src/store/limit-counts';
import type { MysqlSettings } from '../../src/store/engine/mysql';
import { startMariaDb } from '../support/servers';
import { createMariaDbDatabase, migrateNew } from '../support/service';
import { eventually } from '../support/processes';

/** Tests limits that processes share through the database. A process is only a database handle here; test/hosting starts real ones. */

const LIMIT = 60;
const PREFIX = 'x_';

const shared = createMariaDbDatabase();
let database: MysqlSettings;
let settings: RateLimits;
let dbs: Db[] = [];
let limiters: (Limiter & { stop(): void })[] = [];
let changes: boolean[] = [];

/** @param timeoutFactor large by default, so that even a busy machine counts in the database */
async function open(
  count: number,
  url: string | Promise<string> = shared,
  timeoutFactor = 30,
): Promise<void> {
  database = { ...(parseDatabaseUrl(await url, tmpdir()) as MysqlSettings), timeoutFactor };
  settings = {
    limits: { api: LIMIT, download: LIMIT, manage: 600, ...FIXED_LIMITS },
    window: 60,
  };
  dbs = Array.from({ length: count }, () => openServiceDatabase(database, PREFIX));
  await migrateNew(dbs[0]!, database);
  changes = [];
  limiters = dbs.map((db) =>
    createDatabaseLimiter(
      settings,
      openLimitCounts(db, database),
      (away) => changes.push(away),
      timeoutFactor,
    ),
  );
}

async function close(): Promise<void> {
  for (const limiter of limiters) limiter.stop();
  await Promise.all(dbs.map((db) => db.destroy()));
}

beforeEach(async () => {
  await open(2);
  await dbs[0]!(table(dbs[0]!, 'limit_counts')).delete();
});
afterEach(close);

const pair = () => limiters as unknown as [Limiter, Limiter];
const stored = () => dbs[0]!(table(dbs[0]!, 'limit_counts')).select('key', 'points', 'expire');

test('of 200 requests at once over two processes 60 are let in, and one refusal is the first', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => limiters[i % 2]!('api', '198.51.100.7')),
  );
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(LIMIT);
  expect(answers.filter(({ first }) => first)).toHaveLength(1);
  expect(new Set(answers.map(({ retryAfter }) => retryAfter))).toEqual(new Set([60]));
  expect((await limiters[0]!('api', '198.51.100.8')).allowed).toBe(true);
  expect((await limiters[0]!('pages', '198.51.100.7')).allowed).toBe(true);
  expect(changes).toEqual([]);
});

test('a client over the limit is refused without a write, and let in once the limit is raised', async () => {
  const [one, other] = pair();
  for (let i = 0; i <= LIMIT; i++) await one('api', 'flood');
  const before = await stored();
  for (let i = 0; i < 20; i++)
    expect(await one('api', 'flood')).toMatchObject({ allowed: false, first: false });
  expect(await stored()).toEqual(before);
  expect(await other('api', 'flood')).toMatchObject({ allowed: false, first: false });
  settings.limits.api = 100;
  expect((await one('api', 'flood')).allowed).toBe(true);
});

test('a question for zero points counts nothing', async () => {
  const [one, other] = pair();
  const ask = () => one('hook_failures', 'peer', 0);
  expect(await ask()).toEqual({ allowed: true, retryAfter: 60, first: false });
  for (let i = 0; i < FIXED_LIMITS.hook_failures - 1; i++) await other('hook_failures', 'peer');
  expect((await ask()).allowed).toBe(true);
  expect(await other('hook_failures', 'peer')).toMatchObject({ allowed: true });
  expect((await ask()).allowed).toBe(false);
});

test('a window ends, the next one has the length that is set now, and ended rows are deleted', async () => {
  settings.window = 3;
  settings.limits.api = 1;
  const [one, other] = pair();
  for (let i = 0; i < 2; i++) await one('api', 'peer');
  expect((await other('api', 'peer')).allowed).toBe(false);
  await eventually(async () => expect((await other('api', 'peer')).allowed).toBe(true));
  settings.window = 60;
  const [row] = await stored();
  expect(await pruneLimitCounts(dbs[0]!, new Date(Number(row!.expire) - 1), 10)).toBe(0);
  expect(await pruneLimitCounts(dbs[0]!, new Date(Number(row!.expire) + 1), 10)).toBe(1);
  expect((await one('api', 'new')).retryAfter).toBe(60);
});

test('neither addresses nor keys are stored, and every key fits', async () => {
  const [one] = pair();
  const who = ['198.51.100.9', 'ada@shop.example', '2001:db8::/64', 'AAAA-BBBB-CCCC-DDDD'];
  for (const client of who) await one('manage', client);
  const asked = { client: who[0]!, key: who[3]!, isCheck: false };
  await one.downloads.take(asked);
  await one.downloads.settle(asked, { is: 'granted', unit: `42 ${'9'.repeat(200)}` });
  const rows = await stored();
  expect(rows.length).toBeGreaterThan(5);
  for (const word of who) expect(JSON.stringify(rows)).not.toContain(word);
  expect(rows.every(({ key }) => /^[a-z_]+:[\w-]{43}$/.test(key))).toBe(true);
});

describe('downloads', () => {
  const asked = (i: number, isCheck = false) => ({ client: '203.0.113.5', key: `key${i}`, isCheck });

  /**
   * Asks for a download, repeatedly while it is in doubt, and settles it. Returns the full count, if one refuses it. As
   * in the service, a request that is decided lets one other ask again: if all 80 did, a busy machine would need
   * thousands of transactions.
   */
  function requests(outcome: DownloadOutcome) {
    const waiting: (() => void)[] = [];
    let decided = 0;
    return async (i: number, key = i) => {
      const { downloads } = limiters[i % 2]!;
      for (;;) {
        const before = decided;
        const { full } = await downloads.take(asked(key));
        if (full === 'doubt') {
          if (decided === before) await new Promise<void>((resolve) => waiting.push(resolve));
          continue;
        }
        if (full === undefined) await downloads.settle(asked(key), outcome);
        decided++;
        waiting.shift()?.();
        return full;
      }
    };
  }

  const inParallel = (count: number, request: (i: number) => Promise<Reservation['full']>) =>
    Promise.all(Array.from({ length: count }, (_, i) => request(i)));

  test('of 60 guesses at once over two processes 20 are looked up', async () => {
    settings.limits.download = 20;
    const full = await inParallel(60, requests({ is: 'unknown' }));
    expect(full.filter((one) => one === undefined)).toHaveLength(20);
    expect(full.filter((one) => one === 'unknown')).toHaveLength(40);
    expect((await limiters[0]!('download', '203.0.113.5')).allowed).toBe(false);
    expect(changes).toEqual([]);
  });

  test.each([
    ['refused', { is: 'refused' } as const, 6],
    ['granted', { is: 'granted', unit: '42 2.1.0' } as const, 60],
  ])(
    'of too many at once over two processes, exactly the limit of a key is %s',
    async (full, outcome, most) => {
      settings.limits.download = 6;
      const request = requests(outcome);
      const statuses = await inParallel(most + 20, (i) => request(i, 1));
      expect(statuses.filter((one) => one === undefined)).toHaveLength(most);
      expect(statuses.filter((one) => one === full)).toHaveLength(20);
      expect(changes).toEqual([]);
    },
  );

  test('a look-up of a key by a page counts as a guess', async () => {
    for (let i = 0; i < LIMIT; i++) await limiters[0]!('download', '203.0.113.6');
    const taken = await limiters[1]!.downloads.take({ client: '203.0.113.6', key: 'k', isCheck: false });
    expect(taken).toMatchObject({ full: 'unknown', first: true, endsIn: expect.any(Number) });
    expect(taken.endsIn).toBeGreaterThan(50_000);
  });

  test('a download after its check does not count again, even in another process', async () => {
    settings.limits.download = 6;
    const [one, other] = pair();
    const granted = { is: 'granted', unit: '42 2.1.0' } as const;
    for (let i = 0; i < 10 * 6; i++) {
      expect((await one.downloads.take(asked(1, true))).full).toBeUndefined();
      await one.downloads.settle(asked(1, true), granted);
    }
    expect((await one.downloads.take(asked(1, true))).full).toBe('granted');
    expect((await other.downloads.take(asked(1))).full).toBeUndefined();
    await other.downloads.settle(asked(1), granted);
    for (let i = 0; i < 6; i++) {
      expect((await other.downloads.take(asked(2))).full).toBeUndefined();
      await other.downloads.settle(asked(2), { is: 'refused' });
    }
    expect(await one.downloads.take(asked(2))).toMatchObject({ full: 'refused', first: true });
    expect(await other.downloads.take(asked(2))).toMatchObject({ full: 'refused', first: false });
    const before = await stored();
    for (const { downloads } of [one, other])
      expect(await downloads.take(asked(2))).toMatchObject({ full: 'refused', first: false });
    expect(await stored()).toEqual(before);
    expect((await one.downloads.take(asked(3))).full).toBeUndefined();
  });
});

test('while another connection holds a row, requests are counted in memory after a second, and later in the database', async () => {
  await close();
  await open(2, undefined, 1);
  const [one] = pair();
  await one('api', 'peer');
  const inDoubt = Array.from({ length: LIMIT }, () => ({ client: 'peer', key: 'k', isCheck: false }));
  const holder = await dbs[1]!.transaction();
  await holder(table(dbs[1]!, 'limit_counts')).update({ points: 1 });
  try {
    const answers = await Promise.all(Array.from({ length: 100 }, () => one('api', 'peer')));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(LIMIT);
    expect(changes).toEqual([true]);
    // In doubt in memory, until they are settled: also after the database has returned.
    for (const asked of inDoubt) expect((await one.downloads.take(asked)).full).toBeUndefined();
    expect((await one.downloads.take({ ...inDoubt[0]! })).full).toBe('doubt');
  } finally {
    await holder.rollback();
  }
  await eventually(() => expect(changes).toEqual([true, false]));
  expect((await one('api', 'other')).allowed).toBe(true);
  for (const asked of inDoubt) await one.downloads.settle(asked, { is: 'open' });
  const again = await dbs[1]!.transaction();
  await again(table(dbs[1]!, 'limit_counts')).update({ points: 1 });
  try {
    expect((await one.downloads.take({ ...inDoubt[0]! })).full).toBeUndefined();
    expect(changes).toEqual([true, false, true]);
  } finally {
    await again.rollback();
  }
});

test('while the database is away, each process counts in its memory', async () => {
  const server = await startMariaDb();
  try {
    await close();
    await open(2, await server.createDatabase(), 1);
    await limiters[0]!('api', 'peer');
    await server.stop('SIGKILL');
    const answers: boolean[] = [];
    for (let i = 0; i < 2 * LIMIT; i++) answers.push((await limiters[0]!('api', 'peer')).allowed);
    expect(answers.filter(Boolean)).toHaveLength(LIMIT);
    await server.start();
    await eventually(() => expect(changes.at(-1)).toBe(false));
    expect((await limiters[0]!('api', 'other')).allowed).toBe(true);
  } finally {
    await server.stop('SIGKILL');
  }
});
