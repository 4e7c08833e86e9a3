import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';

/** Waits for a reply from Redis for at most `timeoutMs`. @throws the error of Redis, or a timeout error */
export async function withTimeout<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      // Check the sockets first: after a pause of the process, timers run before sockets, and the reply may have arrived.
      void nextTurn().then(() => reject(new Error('Redis did not answer in time.')));
    }, timeoutMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Client options without `replyMapping`, which would change the types of replies. */
type Plain<Options> = Omit<Options, 'replyMapping'>;

/** Opens a client for one Redis, or for a cluster with the named nodes. The options also apply to discovered nodes. */
export function openRedis(
  urls: string[],
  options: Plain<RedisOptions>,
  clusterOptions: Plain<ClusterOptions>,
): Redis | Cluster {
  const [first = ''] = urls;
  if (urls.length === 1) return new Redis(first, options);
  // Use the first URL's credentials for all nodes: a URL's own apply to one node only, and discovered nodes need them too.
  const { protocol, username, password } = new URL(first);
  const redisOptions = {
    ...options,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
  return new Cluster(urls, { ...clusterOptions, redisOptions });
}
