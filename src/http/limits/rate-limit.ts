import RateLimiterRedis from 'rate-limiter-flexible/lib/RateLimiterRedis.js';
import { createMemoryCounters, type WindowCount } from './memory-counters';
import { batchScripts } from './redis-script-batcher';
import { countInMemory, countInEither, countInRedis, type DownloadLimiter } from './download-limiter';
import type { RedisConnection } from './redis';

/**
 * The name of a rate limit. Activate, deactivate, validate and updates share `api`. `download` counts unknown keys
 * (download-limiter.ts) and the requests of customers' pages with a key or link. The operator's API counts callers by
 * `callerKey` (manage), and refused credentials by network (manage_failures). Receivers of shops' messages count by
 * name (hooks), and wrong signatures by network (hook_failures). Public pages and customers' pages count by network
 * (pages), the latter also by session (my_sessions).
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
 * The fixed limits for a minute: a client's requests without a valid credential, a client's wrong signatures, a
 * receiver's messages, and page views of a network, which may be an office, and of a customer's session.
 */
export const FIXED_LIMITS = {
  manage_failures: 10,
  hook_failures: 60,
  hooks: 600,
  pages: 300,
  my_sessions: 120,
};
/** The window in seconds of all buckets except those of the customers' API. */
const MINUTE = 60;

/** Returns the length of a bucket's window in seconds. */
export function windowOf(bucket: Bucket, { window }: Readonly<RateLimits>): number {
  return BUCKETS[bucket] === 'customers' ? window : MINUTE;
}

/** The maximum number of clients whose failures are counted in memory. */
const MAX_FAILING = 20_000;
/** The maximum number of networks whose page views are counted in memory. */
const MAX_VISITORS = 20_000;

export interface RateLimits {
  /** the maximum of requests in each window */
  limits: Record<Bucket, number>;
  /** the window of `api` and `download` in seconds */
  window: number;
}

export interface LimitResult {
  allowed: boolean;
  /** the seconds until the window ends */
  retryAfter: number;
  /** true for the first refusal of this client in the window */
  first: boolean;
}

/** Counts a request; with 0 `points`, only reports whether one more is allowed. Never fails, never waits long. */
export interface Limiter {
  (bucket: Bucket, client: string, points?: 0 | 1): Promise<LimitResult>;
  /** the limits of downloads, which never fail and never wait long either */
  downloads: DownloadLimiter;
  /** the maximum of unknown keys of an address, and of refusals of a key there, in a window */
  downloadLimit: () => number;
}

/** Counts in this process only. @param settings read for each request; a new window restarts customers' counts */
export function createMemoryLimiter(settings: Readonly<RateLimits>): Limiter {
  let { window } = settings;
  // Keep the counters separate, so that a flood from many networks cannot evict the counters of tokens.
  const counters = {
    customers: createMemoryCounters(window * 1000),
    minute: createMemoryCounters(MINUTE * 1000),
    failures: createMemoryCounters(MINUTE * 1000, MAX_FAILING),
    pages: createMemoryCounters(MINUTE * 1000, MAX_VISITORS),
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
    Promise.resolve(limitResult(countOf(bucket, client, points), settings.limits[bucket], points));
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
  // Probe by counting: a Redis that answers PING may be unable to count, because its memory is full or it is a
  // read-only replica. In a cluster, the text in braces selects the node that could not count.
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
        limitResult(await count(limiters[bucket], nameOf(bucket, client), points), limits[bucket], points),
      () => memory(bucket, client, points),
    );
  };
  const inRedis = countInRedis(
    () => ({ limit: settings.limits.download, window: settings.window }),
    client,
    (address) => `licensing:download:{${address}}`,
  );
  return Object.assign(limiter, {
    downloads: countInEither(inRedis, memory.downloads, ({ client: address }, ...asks) =>
      orInMemory(address, ...asks),
    ),
    downloadLimit: () => settings.limits.download,
  });
}

/** Returns a client's key. In a cluster, the text in braces selects the node: one for all downloads of an address. */
function nameOf(bucket: Bucket, client: string): string {
  return bucket === 'download' ? `{${client}}` : client;
}

/** Counts by penalty(), which unlike consume() returns a count above the limit. @throws Redis's or a time-out error */
async function count(limiter: RateLimiterRedis, client: string, points = 1): Promise<WindowCount> {
  const { consumedPoints, msBeforeNext } = await limiter.penalty(client, points);
  return { count: consumedPoints, endsIn: msBeforeNext };
}

export function limitResult({ count, endsIn }: WindowCount, limit: number, points: 0 | 1): LimitResult {
  return {
    allowed: count - points < limit,
    retryAfter: Math.max(1, Math.ceil(endsIn / 1000)),
    first: points === 1 && count === limit + 1,
  };
}
