import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';

/** Gives up waiting for an answer after `patience` ms. @throws Redis's error, or a time-out error */
export async function answeredInTime<T>(answer: Promise<T>, patience: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      // After a pause of this process timers fire before sockets are read: the answer may already be here.
      void nextTurn().then(() => reject(new Error('Redis did not answer in time.')));
    }, patience);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Without `replyMapping`, which changes the types of answers. */
type Plain<Options> = Omit<Options, 'replyMapping'>;

/** A client of one Redis, or of the named nodes' cluster. The options apply to discovered nodes too. */
export function openRedis(
  urls: string[],
  options: Plain<RedisOptions>,
  clusterOptions: Plain<ClusterOptions>,
): Redis | Cluster {
  const [first = ''] = urls;
  if (urls.length === 1) return new Redis(first, options);
  // A URL's credentials apply to its own node only; discovered nodes need the same ones.
  const { protocol, username, password } = new URL(first);
  const redisOptions = {
    ...options,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
  return new Cluster(urls, { ...clusterOptions, redisOptions });
}
