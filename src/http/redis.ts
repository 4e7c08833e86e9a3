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
  watch(probe: () => Promise<void>): void;
  close(): void;
}

/** What one request may wait for Redis, also when it hangs instead of refusing. */
const COMMAND_TIMEOUT_MS = 150;
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
  let probe: () => Promise<void> = () => Promise.resolve();

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
    close() {
      clearInterval(probing);
      client.disconnect();
    },
  };
}

function openClient(urls: string[]): Redis | Cluster {
  const options = {
    // With its defaults a command waits for a connection for more than five seconds.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: 2_000,
    retryStrategy: () => 500,
    enableAutoPipelining: true,
  } satisfies RedisOptions;
  if (urls.length === 1) return new Redis(urls[0] as string, options);
  const clusterOptions = {
    redisOptions: options,
    enableOfflineQueue: false,
    clusterRetryStrategy: () => 500,
    enableAutoPipelining: true,
  } satisfies ClusterOptions;
  return new Cluster(urls, clusterOptions);
}
