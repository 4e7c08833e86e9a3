import { Redis, type Cluster } from 'ioredis';
import { answeredInTime } from './redis';

/**
 * What a RateLimiterRedis asks of its client, answered for many requests of one turn of the event loop at once: one
 * command instead of a dozen.
 */
export interface RedisCounters {
  /**
   * Adds points to a key's counter, which starts with the window.
   *
   * @param args the key, the points, the window in seconds; more is not looked at
   * @returns the counter, and the ms until the window ends
   */
  rlflxIncr(args: string[]): Promise<[count: number, endsIn: number]>;
}

/** KEYS, and for each of them its points and its window in ARGV; answers with two numbers for each. */
const SCRIPT = `
local answers = {}
for i, key in ipairs(KEYS) do
  local points, window = ARGV[2 * i - 1], ARGV[2 * i]
  local count = redis.call('INCRBY', key, points)
  local left = count == tonumber(points) and -1 or redis.call('PTTL', key)
  if left == -1 then
    redis.call('EXPIRE', key, window)
    left = window * 1000
  end
  answers[2 * i - 1], answers[2 * i] = count, left
end
return answers`;

/** These go without waiting for the turn's end: Redis counts them while the requests behind them are being read. */
const MOST_TOGETHER = 16;

interface Waiting {
  args: string[];
  resolve: (answer: [number, number]) => void;
  reject: (error: unknown) => void;
}

/** In a cluster each key goes by itself: no command may have keys that lie on several nodes. */
export function createRedisCounters(client: Redis | Cluster): RedisCounters {
  client.defineCommand('licensingCount', { lua: SCRIPT });
  const count = (batch: string[][]): Promise<number[]> =>
    answeredInTime(
      (client as Counting).licensingCount(
        batch.length,
        ...batch.map(([key]) => key as string),
        ...batch.flatMap(([, points, window]) => [points as string, window as string]),
      ),
    );
  let waiting: Waiting[] = [];

  async function countWaiting(): Promise<void> {
    const batch = waiting;
    if (batch.length === 0) return;
    waiting = [];
    try {
      const answers = await count(batch.map(({ args }) => args));
      batch.forEach(({ resolve }, i) => resolve([answers[2 * i] as number, answers[2 * i + 1] as number]));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    rlflxIncr: (args) =>
      client instanceof Redis
        ? new Promise((resolve, reject) => {
            const together = waiting.push({ args, resolve, reject });
            if (together === MOST_TOGETHER) void countWaiting();
            // When all sockets of this turn have been read.
            else if (together === 1) setImmediate(() => void countWaiting());
          })
        : (count([args]) as Promise<[number, number]>),
  };
}

/** A client with the command that was defined above. */
type Counting = (Redis | Cluster) & {
  licensingCount(keys: number, ...args: string[]): Promise<number[]>;
};
