import { randomBytes } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { findInstances } from '../process/instances';
import { withTimeout, openRedis } from '../process/redis';
import { ok, problem, shortReason, warning, type Check, type CheckFinding } from './finding';

const TIMEOUT_MS = 3_000;
/** The deadline, because ioredis's cluster client tries several nodes and may never give up. */
const DEADLINE_MS = 3 * TIMEOUT_MS;

/** Checks that Redis can be reached and written to. Leaves at most a few keys that expire after ten seconds. */
export const checkRedis: Check = async ({ config }) => {
  const { redisUrls, listen } = config;
  if (redisUrls.length === 0 && 'passenger' in listen) return [ok('REDIS', (t) => t.limitsInDatabase)];
  if (redisUrls.length === 0) return [checkWithoutRedis(findInstances())];
  const client = openRedis(
    redisUrls,
    {
      lazyConnect: true,
      connectTimeout: TIMEOUT_MS,
      commandTimeout: TIMEOUT_MS,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    },
    { lazyConnect: true, clusterRetryStrategy: () => null },
  );
  let last: unknown;
  client.on('error', (error: unknown) => (last = error));
  try {
    try {
      await withTimeout(client.connect(), DEADLINE_MS);
    } catch (error) {
      const reason = shortReason(ofNode(last ?? error));
      return [
        /^(NOAUTH|WRONGPASS|NOPERM)/.test(reason)
          ? problem('REDIS_PASSWORD', (t) => t.redisPassword(reason))
          : problem('REDIS_UNREACHABLE', (t) => t.redisUnreachable(reason)),
      ];
    }
    const key = `licensing:doctor:${randomBytes(8).toString('hex')}`;
    try {
      await withTimeout(tryToWrite(client, key), DEADLINE_MS);
    } catch (error) {
      return [problem('REDIS_NOT_WRITABLE', (t) => t.redisNotWritable(shortReason(ofNode(error))))];
    }
    return [ok('REDIS', (t) => t.redisWorks)];
  } finally {
    client.disconnect();
  }
};

function checkWithoutRedis(instances: string[]): CheckFinding {
  const count = instances.length;
  return count < 2
    ? ok('REDIS', (t) => t.redisUnset)
    : warning('REDIS', (t) =>
        t.redisPerInstance(count, instances.map((name) => `licensing@${name}`).join(', ')),
      );
}

/** The number of keys that is enough to reach every node of a cluster. */
const KEYS_IN_CLUSTER = 32;

async function tryToWrite(client: Redis | Cluster, name: string): Promise<void> {
  const count = client instanceof Cluster ? KEYS_IN_CLUSTER : 1;
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const key = `${name}:${i}`;
      await client.set(key, '1', 'EX', 10);
      if ((await client.get(key)) !== '1') throw new Error('a value that was written cannot be read back');
      await client.del(key);
    }),
  );
}

/** Returns the node's own error, because the cluster client only reports that every node failed. */
function ofNode(error: unknown): unknown {
  return (error as { lastNodeError?: Error }).lastNodeError ?? error;
}
