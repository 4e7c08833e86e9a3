import { randomBytes } from 'node:crypto';
import { Cluster, Redis } from 'ioredis';
import { ok, problem, reasonOf, type Check } from './finding';

const PATIENCE_MS = 3_000;

/** Whether Redis can be reached and written to. A key that lives for ten seconds is all it leaves. */
export const checkRedis: Check = async ({ config }) => {
  const { redisUrls, workers } = config;
  if (redisUrls.length === 0)
    return [
      ok(
        'REDIS',
        `Redis is not configured: requests are counted in memory, over ${workers === 1 ? 'the one process' : `all ${workers} workers`} of this machine.`,
      ),
    ];
  const options = { lazyConnect: true, connectTimeout: PATIENCE_MS, commandTimeout: PATIENCE_MS };
  const client =
    redisUrls.length === 1
      ? new Redis(redisUrls[0] as string, { ...options, retryStrategy: () => null, maxRetriesPerRequest: 0 })
      : new Cluster(redisUrls, {
          lazyConnect: true,
          clusterRetryStrategy: () => null,
          redisOptions: { connectTimeout: PATIENCE_MS, commandTimeout: PATIENCE_MS },
        });
  let last: unknown;
  client.on('error', (error: unknown) => (last = error));
  const why = 'Meanwhile every process counts requests by itself: limits are as many times too high.';
  try {
    try {
      await client.connect();
    } catch (error) {
      const reason = reasonOf(last ?? error);
      return [
        /^(NOAUTH|WRONGPASS|NOPERM)/.test(reason)
          ? problem('REDIS_PASSWORD', `Redis refuses this user: ${reason}.`, {
              why,
              remedy: 'Give the right user and password: LICENSING_REDIS_URL=redis://user:password@host:6379',
            })
          : problem('REDIS_UNREACHABLE', `Redis does not answer: ${reason}.`, {
              why,
              remedy: 'Check that it runs, and the host and port in LICENSING_REDIS_URL.',
            }),
      ];
    }
    const key = `licensing:doctor:${randomBytes(8).toString('hex')}`;
    try {
      await client.set(key, '1', 'EX', 10);
      if ((await client.get(key)) !== '1') throw new Error('what was written cannot be read');
      await client.del(key);
    } catch (error) {
      return [
        problem('REDIS_NOT_WRITABLE', `Redis answers but takes no writes: ${reasonOf(error)}.`, {
          why,
          remedy:
            'A replica (READONLY): name the primary in LICENSING_REDIS_URL. Full (OOM): raise maxmemory. No right (NOPERM): allow this user the keys licensing:*.',
        }),
      ];
    }
    return [ok('REDIS', 'Redis answers and takes writes.')];
  } finally {
    client.disconnect();
  }
};
