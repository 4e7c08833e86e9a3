import {
  RateLimiterMemory,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible';
import type { RedisConnection } from './redis';
import { createRedisCounters, type Counted } from './redis-counters';

/** Activate, deactivate, validate and updates share one bucket; downloads have one of their own. */
export type Bucket = 'api' | 'download';

export interface RateLimits {
  /** requests in a window */
  limits: Record<Bucket, number>;
  /** seconds */
  window: number;
}

export interface Allowance {
  allowed: boolean;
  /** seconds until the window ends */
  retryAfter: number;
  /** the first refusal of this client in the window */
  first: boolean;
}

/** Counts one request of a client; never fails, and never waits for long. */
export type Limiter = (bucket: Bucket, client: string) => Promise<Allowance>;

/** Counts in this process alone. */
export function createMemoryLimiter(settings: RateLimits): Limiter {
  const limiters = eachBucket((bucket) => new RateLimiterMemory(bucketOptions(bucket, settings)));
  return (bucket, client) => consume(limiters[bucket], client);
}

/**
 * Counts in Redis, for all processes and hosts together. While Redis is away (or slower than its client's time
 * limit), each process counts in its own memory.
 */
export function createRedisLimiter(settings: RateLimits, redis: RedisConnection): Limiter {
  const { limits, window } = settings;
  const countInRedis = createWatchedCounters(redis, window);
  const memory = createMemoryLimiter(settings);
  return (bucket, client) =>
    redis.isAway()
      ? memory(bucket, client)
      : countInRedis(counterName(bucket, client)).then(
          ({ count, endsIn }) => allowance(count, limits[bucket], endsIn),
          (error: unknown) => {
            redis.setAway(error);
            return memory(bucket, client);
          },
        );
}

/**
 * Counters in Redis, which is looked after by a count like every other: one that answers PING may still refuse those
 * (memory full, read-only replica).
 *
 * @param window in seconds
 */
export function createWatchedCounters(
  redis: RedisConnection,
  window: number,
): (key: string) => Promise<Counted> {
  const count = createRedisCounters(redis.client, window);
  redis.watch(() => count(counterName('api', 'probe')));
  return count;
}

/** Instances of several versions may count together: they all spell it like this, as the library does too. */
function counterName(bucket: Bucket, client: string): string {
  return `${prefix(bucket)}:${client}`;
}

function prefix(bucket: Bucket): string {
  return `licensing:${bucket}`;
}

function bucketOptions(bucket: Bucket, { limits, window }: RateLimits) {
  return { keyPrefix: prefix(bucket), points: limits[bucket], duration: window };
}

/** @throws what the store threw when it could not count */
async function consume(limiter: RateLimiterAbstract, client: string): Promise<Allowance> {
  const { consumedPoints, msBeforeNext } = await limiter.consume(client).catch((refusal: unknown) => {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  });
  return allowance(consumedPoints, limiter.points, msBeforeNext);
}

/** @param endsIn ms until the window ends */
function allowance(count: number, limit: number, endsIn: number): Allowance {
  return {
    allowed: count <= limit,
    retryAfter: Math.max(1, Math.ceil(endsIn / 1000)),
    first: count === limit + 1,
  };
}

function eachBucket<T>(make: (bucket: Bucket) => T): Record<Bucket, T> {
  return { api: make('api'), download: make('download') };
}
