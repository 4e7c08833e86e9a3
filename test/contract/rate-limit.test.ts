import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { createMemoryCounters } from '../../src/http/limits/memory-counters';
import { IS_WHOLE, runs } from '../support/extent';
import { eventually, freePort, untilTried } from '../support/processes';
import { startRedis, startRedisCluster } from '../support/servers';
import { newPlace, PREFIX } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** A Redis that begins to hang may cost a request 150 ms (http/limits/redis.ts). Without that timeout it would cost seconds. */
const SLOW_MS = 1_000;

const AWAY = 'Redis is away: limits are counted in memory';
const BACK = 'Redis is back: limits are counted there again';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function startLimited(settings: Settings, count = 1): Promise<ServiceProcess[]> {
  const services = await Promise.all(
    Array.from({ length: count }, async () => {
      const database = await newPlace('SQLite');
      await (await openMigrated(database)).destroy();
      return startServiceProcess({ ...database, LICENSING_RATE_LIMIT: '60', ...settings });
    }),
  );
  for (const service of services) closing.push(() => service.stop('SIGKILL'));
  return services;
}

async function startLimitedWith(redisUrl: string): Promise<ServiceProcess> {
  const [service] = await startLimited({ LICENSING_REDIS_URL: redisUrl });
  return service!;
}

async function startPrivateRedis() {
  const redis = await startRedis();
  closing.push(() => redis.stop('SIGKILL'));
  const commander = new Redis(redis.url, { retryStrategy: () => 100 });
  commander.on('error', () => undefined);
  closing.push(() => commander.disconnect());
  return { ...redis, commander };
}

/** Starts a proxy to `port` that delays its answers. @returns the port of the proxy */
async function delay(port: number, ms: number): Promise<number> {
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    near.pipe(far);
    far.on('data', (data) => setTimeout(() => near.write(data), ms));
    for (const socket of [near, far])
      socket.on('error', () => undefined).on('close', () => [near, far].forEach((one) => one.destroy()));
    closing.push(() => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0);

let clients = 0;
/** Returns an address that no request has used before. */
function newClient(): string {
  clients++;
  return `198.18.${clients >> 8}.${clients & 255}`;
}

async function ask(service: ServiceProcess, client: string): Promise<number> {
  const { status } = await request(service.url).get(`${PREFIX}/updates/42`).set('X-Forwarded-For', client);
  return status;
}

/** Sends `count` requests at once. @returns the number that was let in */
async function allowedAtOnce(services: ServiceProcess[], client: string, count: number): Promise<number> {
  const statuses = await Promise.all(
    Array.from({ length: count }, (_, i) => ask(services[i % services.length]!, client)),
  );
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  return statuses.filter((status) => status === 200).length;
}

/** Sends one request after another until stopped, each from a new client. Each must be answered. */
function steadyTraffic(service: ServiceProcess) {
  const end = new AbortController();
  const answers: { status: number; ms: number }[] = [];
  const running = (async () => {
    while (!end.signal.aborted) {
      const started = performance.now();
      const status = await ask(service, newClient());
      answers.push({ status, ms: performance.now() - started });
      await sleep(50);
    }
  })();
  return {
    /** Waits for more answers. In a whole run, which has the machine to itself, most of them must come soon. */
    async staysQuick() {
      const before = answers.length;
      await eventually(() => expect(answers.length).toBeGreaterThan(before + 10));
      const more = answers.slice(before);
      const slow = more.filter(({ ms }) => ms > SLOW_MS);
      if (IS_WHOLE) expect(slow.length).toBeLessThan(more.length / 2);
    },
    async stop() {
      end.abort();
      await running;
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    },
  };
}

/** Returns the log messages about Redis, in order. */
function changes(service: ServiceProcess): string[] {
  return service
    .log()
    .filter(({ level }) => (level as number) >= 30)
    .map(({ msg }) => msg)
    .filter((msg) => msg.includes('Redis'));
}

async function isCountedInRedis(commander: Redis, client: string): Promise<boolean> {
  return (await commander.exists(`licensing:api:${client}`)) === 1;
}

describe('counts in memory', () => {
  const MINUTE = 60_000;

  test('at most so many clients are kept, and the oldest go', () => {
    const count = createMemoryCounters(MINUTE, 1_000);
    for (let i = 0; i < 1_000; i++) count(`api:${i}`);
    expect(count('api:0').count).toBe(2);
    count('api:1000');
    // A hundredth of the clients was dropped.
    expect([10, 11, 999].map((i) => count(`api:${i}`).count)).toEqual([2, 2, 2]);
    expect(count('api:5').count).toBe(1);
  });

  test('while there are too many, new clients of one IPv6 /48 count as one', () => {
    const count = createMemoryCounters(MINUTE, 1_000);
    const network = (i: number) => `api:2001:db8:7:${i.toString(16)}::/64`;
    expect([1, 2, 3].map((i) => count(network(i)).count)).toEqual([1, 1, 1]);
    for (let i = 0; i < 1_000; i++) count(`api:${i}`);
    expect([4, 5, 6].map((i) => count(network(i)).count)).toEqual([1, 2, 3]);
    expect(count('api:2001:db8:8:1::/64').count).toBe(1);
    expect([1, 2].map((i) => count(`api:192.0.2.${i}`).count)).toEqual([1, 1]);
  });

  test('a window ends its length after the first request, and then there is room again', () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    try {
      const count = createMemoryCounters(MINUTE, 100);
      expect(count('a')).toEqual({ count: 1, endsIn: MINUTE });
      jest.advanceTimersByTime(40_000);
      expect(count('a')).toEqual({ count: 2, endsIn: 20_000 });
      for (let i = 0; i < 99; i++) count(`other-${i}`);
      jest.advanceTimersByTime(20_000);
      expect(count('a')).toEqual({ count: 1, endsIn: MINUTE });
      jest.advanceTimersByTime(40_000);
      // Ended windows are dropped first, so that no client is counted by its network.
      for (let i = 0; i < 99; i++) count(`api:2001:db8:7:${i}::/64`);
      expect(count('api:2001:db8:7:1::/64').count).toBe(2);
      expect(count('a').count).toBe(2);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('100 requests of one client at once', () => {
  test.each<[string, () => Promise<{ settings: Settings; processes: number }>]>([
    ['in memory', () => Promise.resolve({ settings: {}, processes: 1 })],
    [
      'in Redis, shared by two processes',
      async () => ({ settings: { LICENSING_REDIS_URL: (await startPrivateRedis()).url }, processes: 2 }),
    ],
  ])('are counted exactly %s: 60 are let in', async (_where, given) => {
    const { settings, processes } = await given();
    const services = await startLimited(settings, processes);
    expect(await allowedAtOnce(services, newClient(), 100)).toBe(60);

    // Malformed requests count like all others.
    const client = newClient();
    const statuses = await Promise.all(
      Array.from({ length: 70 }, async (_, i) => {
        const call = request(services[i % services.length]!.url);
        const { status } =
          i % 2 === 0
            ? await call
                .post(`${PREFIX}/licenses/validate`)
                .set('X-Forwarded-For', client)
                .set('Content-Type', 'application/json')
                .send('{"license_key":')
            : await call.get(`${PREFIX}/updates/4.0`).set('X-Forwarded-For', client);
        return status;
      }),
    );
    expect(statuses.filter((status) => status === 400)).toHaveLength(60);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  });

  test('are counted by each process for itself without Redis', async () => {
    const services = await startLimited({}, 2);
    expect(await allowedAtOnce(services, newClient(), 200)).toBe(120);
  });
});

describe('while Redis', () => {
  type PrivateRedis = Awaited<ReturnType<typeof startPrivateRedis>>;
  const FAULTS: [string, (redis: PrivateRedis) => unknown, (redis: PrivateRedis) => unknown][] = [
    ['is killed, until it is started again, empty', (r) => r.stop('SIGKILL'), (r) => r.start()],
    ['hangs', (r) => r.hang(), (r) => r.resume()],
    ['is stopped in order, until it is started again', (r) => r.stop(), (r) => r.start()],
    [
      'has no memory left for writes',
      (r) => r.commander.config('SET', 'maxmemory', '1'),
      (r) => r.commander.config('SET', 'maxmemory', '0'),
    ],
    [
      'is a read-only replica',
      async (r) => r.commander.replicaof('127.0.0.1', await freePort()),
      (r) => r.commander.replicaof('NO', 'ONE'),
    ],
    [
      'asks for a password that nobody gave',
      async (r) => {
        await r.commander.config('SET', 'requirepass', 'changed');
        await r.commander.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      },
      (r) => r.commander.config('SET', 'requirepass', ''),
    ],
  ];

  test.each(FAULTS.slice(0, runs(2, FAULTS.length)))(
    '%s: answers continue without delay, limits are counted in memory, and later in Redis again',
    async (_what, breaks, heals) => {
      const redis = await startPrivateRedis();
      const service = await startLimitedWith(redis.url);
      const before = newClient();
      expect(await allowedAtOnce([service], before, 61)).toBe(60);
      expect(await isCountedInRedis(redis.commander, before)).toBe(true);
      const earlier = changes(service);

      const traffic = steadyTraffic(service);
      await sleep(200);
      await breaks(redis);
      await eventually(() => expect(changes(service)).toEqual([...earlier, AWAY]));
      expect(await allowedAtOnce([service], newClient(), 100)).toBe(60);
      // The service retries Redis once a second and does not log a failed attempt: wait for two.
      await sleep(2_500);
      expect(await allowedAtOnce([service], newClient(), 100)).toBe(60);
      await traffic.staysQuick();
      expect(changes(service)).toEqual([...earlier, AWAY]);

      await heals(redis);
      await eventually(() => expect(changes(service)).toEqual([...earlier, AWAY, BACK]));
      const after = newClient();
      expect(await allowedAtOnce([service], after, 100)).toBe(60);
      expect(await isCountedInRedis(redis.commander, after)).toBe(true);
      // A probe or a connection that was under way at the change ends within a second, and must change nothing.
      await sleep(1_200);
      expect(changes(service)).toEqual([...earlier, AWAY, BACK]);
      await traffic.stop();
      // A line that a library wrote to the console would not be a log entry.
      expect(service.lines).toHaveLength(service.log().length);
    },
  );

  test('forgets its scripts, no client notices', async () => {
    const redis = await startPrivateRedis();
    const service = await startLimitedWith(redis.url);
    const client = newClient();
    expect(await allowedAtOnce([service], client, 30)).toBe(30);
    await redis.commander.script('FLUSH');
    expect(await allowedAtOnce([service], client, 100)).toBe(30);
    expect(await isCountedInRedis(redis.commander, client)).toBe(true);
  });
});

describe('at the start', () => {
  test('even the first requests are counted in Redis, and even if Redis is slow', async () => {
    const redis = await startPrivateRedis();
    const service = await startLimitedWith(`redis://127.0.0.1:${await delay(redis.port, 60)}`);
    const client = newClient();
    expect(await ask(service, client)).toBe(200);
    expect(await isCountedInRedis(redis.commander, client)).toBe(true);
    expect(changes(service)).toEqual([]);
  });

  test('a Redis that does not run yet does not delay the start, and is used once it runs', async () => {
    const redis = await startPrivateRedis();
    await redis.stop();
    const service = await startLimitedWith(redis.url);
    const traffic = steadyTraffic(service);
    await eventually(() => expect(changes(service)).toEqual([AWAY]));
    expect(await allowedAtOnce([service], newClient(), 100)).toBe(60);
    await untilTried(redis.port, 2);
    await traffic.staysQuick();
    await redis.start();
    await eventually(() => expect(changes(service)).toEqual([AWAY, BACK]));
    const client = newClient();
    expect(await allowedAtOnce([service], client, 100)).toBe(60);
    expect(await isCountedInRedis(redis.commander, client)).toBe(true);
    await traffic.stop();
  });

  test('a wrong password is reported once and never shown, and limits are counted in memory', async () => {
    const redis = await startPrivateRedis();
    await redis.commander.config('SET', 'requirepass', 'the-right-one');
    const service = await startLimitedWith(redis.url.replace('//', '//:the-wrong-one@'));
    const traffic = steadyTraffic(service);
    await eventually(() => expect(changes(service)).toEqual([AWAY]));
    expect(await allowedAtOnce([service], newClient(), 100)).toBe(60);
    await eventually(async () => {
      const refused = /errorstat_WRONGPASS:count=(\d+)/.exec(await redis.commander.info('errorstats'));
      expect(Number(refused?.[1])).toBeGreaterThanOrEqual(4);
    });
    await traffic.staysQuick();
    await traffic.stop();
    expect(changes(service)).toEqual([AWAY]);
    expect(service.lines.join('\n')).not.toMatch(/the-(right|wrong)-one/);
    expect(service.lines).toHaveLength(service.log().length);
  });

  test('a password for a Redis that has none does no harm', async () => {
    const redis = await startPrivateRedis();
    const service = await startLimitedWith(redis.url.replace('//', '//:needless@'));
    expect(await allowedAtOnce([service], newClient(), 100)).toBe(60);
    expect(service.lines.join('\n')).not.toContain('needless');
  });
});

describe('in a Redis Cluster', () => {
  test('all processes together count a client, even on a node that no setting names', async () => {
    const nodes = await startRedisCluster(2, 'together');
    closing.push(() => Promise.all(nodes.map((node) => node.stop('SIGKILL'))));
    const [named] = nodes;
    const services = await startLimited({ LICENSING_REDIS_URL: `${named!.url},${named!.url}` }, 2);
    const stored = async () => await Promise.all(nodes.map((node) => node.commander.dbsize()));
    const before = sum(await stored());
    await Promise.all(Array.from({ length: 40 }, () => ask(services[0]!, newClient())));
    expect(sum(await stored()) - before).toBe(40);
    for (let i = 0; i < 2; i++) expect(await allowedAtOnce(services, newClient(), 100)).toBe(60);
    expect(Math.min(...(await stored()))).toBeGreaterThan(0);
    expect(services.flatMap(({ lines }) => lines).join('\n')).not.toContain('together');
  });
});
