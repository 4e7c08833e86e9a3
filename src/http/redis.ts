import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';

/** A connection to Redis that is expected to go away: whoever uses it asks first and has something else to do. */
export interface RedisConnection {
  client: Redis | Cluster;
  /** Resolves when it can be used, is known to be away, or lets us wait for too long. */
  started: Promise<void>;
  isAway(): boolean;
  /** A command failed: nobody tries again until the probe has succeeded. */
  setAway(error: unknown): void;
  /** While Redis is away, `probe` is tried every second; its success ends that. */
  watch(probe: () => Promise<unknown>): void;
  /** Tries the probe, for those who do not hear of failures from requests. */
  look(): Promise<void>;
  close(): void;
}

/** What one request may wait for Redis, also when it hangs instead of refusing. */
const PATIENCE_MS = 150;
/** After this long without a word the connection may be lost, and another one is tried. */
const SOCKET_TIMEOUT_MS = 400;
const CONNECT_TIMEOUT_MS = 400;
const PROBE_EVERY_MS = 1_000;
/** What the start of the service may wait for Redis: without, the first requests would find it not connected yet. */
const START_PATIENCE_MS = 1_000;

/**
 * @param urls one, or the nodes of a cluster
 * @param onChange told once when Redis goes and once when it comes back
 */
export function connectRedis(
  urls: string[],
  onChange: (away: boolean, error?: unknown) => void,
): RedisConnection {
  const client = openClient(urls);
  let away = false;
  let probing: NodeJS.Timeout | undefined;
  let probe: () => Promise<unknown> = () => Promise.resolve();

  function setAway(error: unknown): void {
    if (away) return;
    away = true;
    onChange(true, error);
    probing = setInterval(() => {
      probe().then(
        () => {
          if (!away) return;
          away = false;
          clearInterval(probing);
          onChange(false);
        },
        () => undefined,
      );
    }, PROBE_EVERY_MS).unref();
  }

  client.on('error', setAway);
  const started = new Promise<void>((resolve) => {
    client.once('ready', resolve).once('error', () => resolve());
    setTimeout(resolve, START_PATIENCE_MS).unref();
  });
  return {
    client,
    started,
    isAway: () => away,
    setAway,
    watch(next) {
      probe = next;
    },
    look: () => probe().then(() => undefined, setAway),
    close() {
      clearInterval(probing);
      client.disconnect();
    },
  };
}

/**
 * An answer that nobody has to wait for longer than a request may, or than `patience` ms.
 *
 * @throws what Redis refused it with, or an error in words when it is late
 */
export async function answeredInTime<T>(answer: Promise<T>, patience = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      // After a pause of this process timers come first: the answer may have been here for long, unread.
      void nextTurn().then(() => reject(new Error('Redis did not answer in time.')));
    }, patience);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Without what decides by its type how answers are typed. */
type Plain<Options> = Omit<Options, 'replyMapping'>;

/**
 * A client of the one Redis, or of the cluster whose nodes are named.
 *
 * @param options for every connection, also to nodes that the named ones tell of
 */
export function openRedis(
  urls: string[],
  options: Plain<RedisOptions>,
  clusterOptions: Plain<ClusterOptions>,
): Redis | Cluster {
  const [first = ''] = urls;
  if (urls.length === 1) return new Redis(first, options);
  // The nodes that these ones name are asked with the same credentials, which a URL gives to its own node alone.
  const { protocol, username, password } = new URL(first);
  const redisOptions = {
    ...options,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
  return new Cluster(urls, { ...clusterOptions, redisOptions });
}

/** For requests, none of which waits for a connection. */
function openClient(urls: string[]): Redis | Cluster {
  return openRedis(
    urls,
    {
      // With its defaults a command waits for a connection for more than five seconds.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      socketTimeout: SOCKET_TIMEOUT_MS,
      connectTimeout: CONNECT_TIMEOUT_MS,
      retryStrategy: () => 500,
    },
    { enableOfflineQueue: false, clusterRetryStrategy: () => 500, enableAutoPipelining: true },
  );
}
