import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import { quantile, underFault, unhealthy } from '../support/faults';
import { openStand, slowest, tally, type Stand } from '../support/load';
import { eventually } from '../support/processes';
import { PREFIX } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

/** Redis only counts requests: whatever happens to it, answers continue, and limits apply. */

const LIMIT = 60;
/** the maximum time for which one request may wait for Redis */
const MAX_DELAY_MS = 200;
/** the delays of this machine itself */
const SLACK_MS = 400;

let stand: Stand;
let service: ServiceProcess;
let admin: Redis;
let addresses = 0;

beforeAll(async () => {
  stand = await openStand();
  service = await stand.start({ LICENSING_RATE_LIMIT: String(LIMIT) });
  admin = new Redis(stand.redis.url, { retryStrategy: () => 100, maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
});

afterAll(async () => {
  admin.disconnect();
  await stand.close();
});

/** Returns how many of a hundred requests from one address are allowed. */
async function allowed(url = service.url): Promise<number> {
  const address = `198.51.100.${++addresses}`;
  const statuses: number[] = [];
  for (let i = 0; i < LIMIT + 10; i++)
    statuses.push((await request(url).get(`${PREFIX}/updates/42`).set('X-Forwarded-For', address)).status);
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
  return statuses.filter((status) => status === 200).length;
}

const changes = (from = 0, of = service) =>
  of
    .log()
    .slice(from)
    .map(({ msg }) => /^Redis is (away|back)/.exec(msg)?.[1])
    .filter(Boolean);

describe.each<[string, () => unknown, () => unknown]>([
  ['is killed and started again, empty', () => stand.redis.stop('SIGKILL'), () => stand.redis.start()],
  ['hangs', () => stand.redis.hang(), () => stand.redis.resume()],
  [
    'refuses writes, its memory full',
    () => admin.config('SET', 'maxmemory', '1'),
    () => admin.config('SET', 'maxmemory', '0'),
  ],
  [
    'gets another password',
    async () => {
      await admin.config('SET', 'requirepass', 'another');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    },
    () => admin.config('SET', 'requirepass', ''),
  ],
])('Redis %s', (_what, begin, end) => {
  test('answers go on, limits go on in memory, one line tells of each change, nobody waits', async () => {
    const from = service.log().length;
    let meanwhileAllowed = 0;
    const { before, meanwhile, load } = await underFault({
      url: service.url,
      goods: await stand.newGoods(),
      db: stand.db,
      begin,
      lasts: 4,
      async end() {
        expect(changes(from)).toEqual(['away']);
        meanwhileAllowed = await allowed();
        await end();
      },
      patience: 3_000,
    });

    expect(tally(unhealthy(load.calls))).toEqual({});
    expect(meanwhileAllowed).toBe(LIMIT);
    expect(quantile(meanwhile, 0.99)).toBeLessThan(quantile(before, 0.99) + MAX_DELAY_MS + SLACK_MS);
    expect(slowest(meanwhile)).toBeLessThan(slowest(before) + MAX_DELAY_MS + 2 * SLACK_MS);
    await eventually(() => expect(changes(from)).toEqual(['away', 'back']));
    expect(await allowed()).toBe(LIMIT);
    expect(changes(from)).toEqual(['away', 'back']);
  });
});

test('with a password that is wrong from the start it starts, counts in memory and says so once', async () => {
  const { port } = stand.redis;
  await admin.config('SET', 'requirepass', 'right');
  const own = await stand.start({
    LICENSING_REDIS_URL: `redis://:wrong@127.0.0.1:${port}`,
    LICENSING_RATE_LIMIT: String(LIMIT),
  });
  expect(await allowed(own.url)).toBe(LIMIT);
  expect(changes(0, own)).toEqual(['away']);
  expect(own.lines.join('\n')).not.toMatch(/wrong@|:wrong|"wrong"/);
  await own.stop();
  await admin.config('SET', 'requirepass', '');
});
