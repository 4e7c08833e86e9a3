import { Redis, type Cluster } from 'ioredis';
import { answeredInTime } from './redis';

export interface Counted {
  count: number;
  /** ms until the window ends */
  endsIn: number;
}

/** KEYS, and their window in seconds; answers with two numbers for each. */
const SCRIPT = `
local answers, window = {}, ARGV[1]
for i, key in ipairs(KEYS) do
  local count = redis.call('INCR', key)
  local left = count == 1 and -1 or redis.call('PTTL', key)
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
  key: string;
  resolve: (counted: Counted) => void;
  reject: (error: unknown) => void;
}

/**
 * Counters in Redis that end with their window, for many requests by one command. In a cluster each key goes by itself:
 * no command may have keys that lie on several nodes.
 *
 * @param window in seconds
 * @returns adds one to a key's counter, which starts with its window
 */
export function createRedisCounters(
  client: Redis | Cluster,
  window: number,
): (key: string) => Promise<Counted> {
  client.defineCommand('licensingCount', { lua: SCRIPT });
  const most = client instanceof Redis ? MOST_TOGETHER : 1;
  let waiting: Waiting[] = [];

  async function countWaiting(): Promise<void> {
    const batch = waiting;
    if (batch.length === 0) return;
    waiting = [];
    try {
      const keys = batch.map(({ key }) => key);
      const answers = await answeredInTime((client as Counting).licensingCount(keys.length, ...keys, window));
      batch.forEach(({ resolve }, i) =>
        resolve({ count: answers[2 * i] as number, endsIn: answers[2 * i + 1] as number }),
      );
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (key) =>
    new Promise((resolve, reject) => {
      const together = waiting.push({ key, resolve, reject });
      if (together === most) void countWaiting();
      // When all sockets of this turn have been read.
      else if (together === 1) setImmediate(() => void countWaiting());
    });
}

/** A client with the command that was defined above. */
type Counting = (Redis | Cluster) & {
  licensingCount(keys: number, ...args: (string | number)[]): Promise<number[]>;
};
