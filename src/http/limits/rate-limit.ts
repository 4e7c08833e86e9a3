import RateLimiterRedis from 'rate-limiter-flexible/lib/RateLimiterRedis.js';
import { createMemoryCounters, type Counted } from './memory-counters';
import { batchScripts } from './batched-scripts';
import {
  countInMemory,
  countInRedis,
  type Asked,
  type DownloadCounts,
  type Outcome,
} from './download-counts';
import type { RedisConnection } from './redis';

/**
 * Activate, deactivate, validate and updates share one bucket. In that of downloads, unknown keys count
 * (download-counts.ts), and what the customers' pages ask with a key or a link. The operator's API counts its
 * callers by `callerKey` (manage), and refused credentials by the client's network (manage_failures). Receivers of
 * shops' messages count by their name (hooks), and wrong signatures by the client's network (hook_failures). The pages
 * that everybody may open and the customers' count by network (pages), the customers' also by session (my_sessions).
 */
export type Bucket = keyof typeof BUCKETS;

const BUCKETS = {
  api: 'customers',
  download: 'customers',
  manage: 'minute',
  manage_failures: 'failures',
  hooks: 'minute',
  hook_failures: 'failures',
  pages: 'pages',
  my_sessions: 'minute',
} as const;
export const BUCKET_NAMES = Object.keys(BUCKETS) as Bucket[];

/**
 * In a minute: requests of a client without a valid credential, wrong signatures of a client, messages of a receiver, and
 * views of pages by a network, which may be an office, and by a customer's session.
 */
export const FIXED_LIMITS = {
  manage_failures: 10,
  hook_failures: 60,
  hooks: 600,
  pages: 300,
  my_sessions: 120,
};
/** All but the customers' API count in minutes, whatever its window. */
const MINUTE = 60;

/** Seconds. */
export function windowOf(bucket: Bucket, { window }: Readonly<RateLimits>): number {
  return BUCKETS[bucket] === 'customers' ? window : MINUTE;
}

/** Clients whose failures are counted in memory. */
const MOST_FAILING = 20_000;
/** Networks whose views of pages are counted in memory. */
const MOST_VISITORS = 20_000;

export interface RateLimits {
  /** requests in each window */
  limits: Record<Bucket, number>;
  /** seconds, for `api` and `download` */
  window: number;
}

export interface Allowance {
  allowed: boolean;
  /** seconds until the window ends */
  retryAfter: number;
  /** the first refusal of this client in the window */
  first: boolean;
}

/** Counts one request of a client; with 0 `points`, only tells whether one more is allowed. Never fails, never waits long. */
export interface Limiter {
  (bucket: Bucket, client: string, points?: 0 | 1): Promise<Allowance>;
  /** never fails, and never waits long, either */
  downloads: DownloadCounts;
  /** unknown keys of an address, and refusals of a key there, in a window */
  downloadLimit: () => number;
}

/** Counts in this process only. @param settings read for each request; with another window, customers count anew */
export function createMemoryLimiter(settings: Readonly<RateLimits>): Limiter {
  let { window } = settings;
  // Apart, so that a flood from many networks cannot push out the counters of tokens.
  const counters = {
    customers: createMemoryCounters(window * 1000),
    minute: createMemoryCounters(MINUTE * 1000),
    failures: createMemoryCounters(MINUTE * 1000, MOST_FAILING),
    pages: createMemoryCounters(MINUTE * 1000, MOST_VISITORS),
    keys: createMemoryCounters(window * 1000),
  };
  const countOf = (bucket: Bucket, client: string, points: 0 | 1) => {
    const { window: wanted } = settings;
    if (wanted !== window) {
      window = wanted;
      counters.customers = createMemoryCounters(window * 1000);
      counters.keys = createMemoryCounters(window * 1000);
    }
    return counters[BUCKETS[bucket]](`${bucket}:${client}`, points);
  };
  const limiter = (bucket: Bucket, client: string, points: 0 | 1 = 1) =>
    Promise.resolve(allowance(countOf(bucket, client, points), settings.limits[bucket], points));
  const unknown = (client: string, points: 0 | 1) => countOf('download', client, points);
  const ofKeys: typeof counters.keys = (name, points) => counters.keys(name, points);
  return Object.assign(limiter, {
    downloads: countInMemory(() => settings.limits.download, unknown, ofKeys),
    downloadLimit: () => settings.limits.download,
  });
}

/** Counts in Redis, shared by all instances. While Redis is away, each instance counts in its own memory. */
export function createRedisLimiter(settings: Readonly<RateLimits>, redis: RedisConnection): Limiter {
  const { limits: atStart } = settings;
  const client = batchScripts(redis);
  const limiterOf = (bucket: Bucket) =>
    new RateLimiterRedis({
      storeClient: client,
      keyPrefix: `licensing:${bucket}`,
      points: atStart[bucket],
      duration: windowOf(bucket, settings),
    });
  const limiters = Object.fromEntries(BUCKET_NAMES.map((bucket) => [bucket, limiterOf(bucket)])) as Record<
    Bucket,
    RateLimiterRedis
  >;
  const memory = createMemoryLimiter(settings);
  let failed = '';
  // A Redis that answers PING may still be unable to count: its memory is full, or it is a read-only replica. In a
  // cluster, the text in braces leads to the node that could not count.
  redis.watch(() => count(limiters.api, `probe{${failed}}`));
  const orInMemory = async <T>(
    key: string,
    ask: () => Promise<T>,
    inMemory: () => Promise<T>,
  ): Promise<T> => {
    if (redis.isAway()) return inMemory();
    try {
      return await ask();
    } catch (error) {
      failed = key;
      redis.setAway(error);
      return inMemory();
    }
  };
  const limiter = (bucket: Bucket, client: string, points: 0 | 1 = 1) => {
    const { limits, window: wanted } = settings;
    if (BUCKETS[bucket] === 'customers' && limiters[bucket].duration !== wanted)
      limiters[bucket].duration = wanted;
    return orInMemory(
      bucket === 'download' ? client : `${limiters[bucket].keyPrefix}:${client}`,
      async () =>
        allowance(await count(limiters[bucket], nameOf(bucket, client), points), limits[bucket], points),
      () => memory(bucket, client, points),
    );
  };
  const inRedis = countInRedis(
    () => ({ limit: settings.limits.download, window: settings.window }),
    client,
    (address) => `licensing:download:{${address}}`,
  );
  return Object.assign(limiter, {
    downloads: {
      take: (asked: Asked) =>
        orInMemory(
          asked.client,
          () => inRedis.take(asked),
          () => memory.downloads.take(asked),
        ),
      settle: (asked: Asked, outcome: Outcome) =>
        orInMemory(
          asked.client,
          () => inRedis.settle(asked, outcome),
          () => memory.downloads.settle(asked, outcome),
        ),
    },
    downloadLimit: () => settings.limits.download,
  });
}

/** In a cluster, the text in braces leads to a key's node: all counts of downloads of an address are on one. */
function nameOf(bucket: Bucket, client: string): string {
  return bucket === 'download' ? `{${client}}` : client;
}

/** Counts by penalty(), which unlike consume() returns a count above the limit. @throws Redis's or a time-out error */
async function count(limiter: RateLimiterRedis, client: string, points = 1): Promise<Counted> {
  const { consumedPoints, msBeforeNext } = await limiter.penalty(client, points);
  return { count: consumedPoints, endsIn: msBeforeNext };
}

export function allowance({ count, endsIn }: Counted, limit: number, points: 0 | 1): Allowance {
  return {
    allowed: count - points < limit,
    retryAfter: Math.max(1, Math.ceil(endsIn / 1000)),
    first: points === 1 && count === limit + 1,
  };
}
