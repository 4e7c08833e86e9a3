import type { Cluster, Redis } from 'ioredis';
import { openRedis } from '../../process/redis';
import { createCircuitBreaker, type CircuitBreaker } from './circuit-breaker';

/** A connection to Redis with a circuit breaker. Redis may be away at any time: check isAway() and have a fallback. */
export interface RedisConnection extends CircuitBreaker {
  client: Redis | Cluster;
  /** Resolves when Redis is ready, is known to be away, or START_TIMEOUT_MS has passed. */
  started: Promise<void>;
  /** the maximum milliseconds that one request waits for Redis, even when Redis hangs */
  timeoutMs: number;
  close(): void;
}

const TIMEOUT_MS = 150;
/** The milliseconds of silence after which a connection is replaced. */
const SOCKET_TIMEOUT_MS = 400;
const CONNECT_TIMEOUT_MS = 400;
/** The maximum time that the service's start waits for Redis, so that the first requests find it connected. */
const START_TIMEOUT_MS = 1_000;

/** Connects to one server or to a cluster's nodes. `onChange` is called when Redis goes away and when it returns. */
export function connectRedis(
  urls: string[],
  onChange: (away: boolean, error?: unknown) => void,
  timeoutFactor = 1,
): RedisConnection {
  const client = openClient(urls, timeoutFactor);
  const standing = createCircuitBreaker(onChange);

  client.on('error', (error) => standing.setAway(error));
  const started = new Promise<void>((resolve) => {
    client.once('ready', resolve).once('error', () => resolve());
    setTimeout(resolve, START_TIMEOUT_MS * timeoutFactor).unref();
  });
  return {
    client,
    started,
    ...standing,
    timeoutMs: TIMEOUT_MS * timeoutFactor,
    close() {
      standing.stop();
      client.disconnect();
    },
  };
}

function openClient(urls: string[], timeoutFactor: number): Redis | Cluster {
  return openRedis(
    urls,
    {
      // Fail at once without a connection, because by default a command waits more than 5 s.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      socketTimeout: SOCKET_TIMEOUT_MS * timeoutFactor,
      connectTimeout: CONNECT_TIMEOUT_MS * timeoutFactor,
      retryStrategy: () => 500,
    },
    { enableOfflineQueue: false, clusterRetryStrategy: () => 500, enableAutoPipelining: true },
  );
}
