import { RateLimiterRedis } from 'rate-limiter-flexible';
import { createMemoryCounters, type Counted } from './memory-counters';
import { batchScripts } from './batched-scripts';
import type { RedisConnection } from './redis';

/**
 * Activate, deactivate, validate and updates share one bucket; downloads have their own. The operator's API counts its
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
const BUCKET_NAMES = Object.keys(BUCKETS) as Bucket[];

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
export type Limiter = (bucket: Bucket, client: string, points?: 0 | 1) => Promise<Allowance>;

/** Counts in this process only. @param settings read for each request; with another window, customers count anew */
export function createMemoryLimiter(settings: Readonly<RateLimits>): Limiter {
  let { window } = settings;
  // Apart, so that a flood from many networks cannot push out the counters of tokens.
  const counters = {
    customers: createMemoryCounters(window * 1000),
    minute: createMemoryCounters(MINUTE * 1000),
    failures: createMemoryCounters(MINUTE * 1000, MOST_FAILING),
    pages: createMemoryCounters(MINUTE * 1000, MOST_VISITORS),
  };
  return (bucket, client, points = 1) => {
    const { limits, window: wanted } = settings;
    if (wanted !== window) counters.customers = createMemoryCounters((window = wanted) * 1000);
    return Promise.resolve(
      allowance(counters[BUCKETS[bucket]](`${bucket}:${client}`, points), limits[bucket], points),
    );
  };
}

/** Counts in Redis, shared by all instances. While Redis is away, each instance counts in its own memory. */
export function createRedisLimiter(settings: Readonly<RateLimits>, redis: RedisConnection): Limiter {
  const { limits: atStart, window } = settings;
  const client = batchScripts(redis.client);
  const limiterOf = (bucket: Bucket) =>
    new RateLimiterRedis({
      storeClient: client,
      keyPrefix: `licensing:${bucket}`,
      points: atStart[bucket],
      duration: BUCKETS[bucket] === 'customers' ? window : MINUTE,
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
  return async (bucket, client, points = 1) => {
    const { limits, window: wanted } = settings;
    if (BUCKETS[bucket] === 'customers' && limiters[bucket].duration !== wanted)
      limiters[bucket].duration = wanted;
    if (redis.isAway()) return memory(bucket, client, points);
    try {
      return allowance(await count(limiters[bucket], client, points), limits[bucket], points);
    } catch (error) {
      failed = `${limiters[bucket].keyPrefix}:${client}`;
      redis.setAway(error);
      return memory(bucket, client, points);
    }
  };
}

/** Counts by penalty(), which unlike consume() returns a count above the limit. @throws Redis's or a time-out error */
async function count(limiter: RateLimiterRedis, client: string, points = 1): Promise<Counted> {
  const { consumedPoints, msBeforeNext } = await limiter.penalty(client, points);
  return { count: consumedPoints, endsIn: msBeforeNext };
}

function allowance({ count, endsIn }: Counted, limit: number, points: 0 | 1): Allowance {
  return {
    allowed: count - points < limit,
    retryAfter: Math.max(1, Math.ceil(endsIn / 1000)),
    first: points === 1 && count === limit + 1,
  };
}
