import { Redis } from 'ioredis';
import { answeredInTime } from '../../process/redis';
import type { RedisConnection } from './redis';

/** What rate-limiter-flexible asks of a client: it defines a script for one key, and calls it by its name. */
interface ScriptClient {
  /** @param keys of each call, the same for all; in a cluster they belong to one node */
  defineCommand(name: string, definition: { lua: string; keys?: number }): void;
  [script: string]: unknown;
}

type Run = (...keysAndArguments: (string | number)[]) => Promise<unknown[]>;

/** A script for one call, run for several: each has as many keys and arguments as the others. */
const forEachCall = (lua: string, keys: number) => `
local function one(KEYS, ARGV)
  ${lua}
end
local answers, calls = {}, #KEYS / ${keys}
local width = #ARGV / calls
for i = 1, calls do
  answers[i] = one(
    { unpack(KEYS, (i - 1) * ${keys} + 1, i * ${keys}) },
    { unpack(ARGV, (i - 1) * width + 1, i * width) })
end
return answers`;

/** These go at once, so that Redis counts them while the requests behind them are being read. */
const MOST_TOGETHER = 16;

/**
 * Runs a script for all calls of one turn of the event loop by one command. A command for each key took a fifth of a
 * validate call's CPU time. In a cluster each key goes by itself: no command may have keys of several nodes.
 */
export function batchScripts({
  client,
  patience,
}: Pick<RedisConnection, 'client' | 'patience'>): ScriptClient {
  const isCluster = !(client instanceof Redis);
  const most = isCluster ? 1 : MOST_TOGETHER;
  const batching: ScriptClient = {
    defineCommand(name, { lua, keys = 1 }) {
      // ioredis chooses a cluster's node by the first argument, so that must be the key and not the number of keys.
      client.defineCommand(name, {
        lua: forEachCall(lua, keys),
        ...(isCluster ? { numberOfKeys: keys } : {}),
      });
      const run = (client as unknown as Record<string, Run>)[name]?.bind(client) as Run;
      let waiting: {
        call: string[];
        resolve: (answer: unknown) => void;
        reject: (error: unknown) => void;
      }[] = [];

      async function send(): Promise<void> {
        const batch = waiting;
        if (batch.length === 0) return;
        waiting = [];
        try {
          const named = batch.flatMap(({ call }) => call.slice(0, keys));
          const rest = batch.flatMap(({ call }) => call.slice(keys));
          const count = isCluster ? [] : [named.length];
          const answers = await answeredInTime(run(...count, ...named, ...rest), patience);
          batch.forEach(({ resolve }, i) => resolve(answers[i]));
        } catch (error) {
          for (const { reject } of batch) reject(error);
        }
      }

      batching[name] = (call: string[]) =>
        new Promise((resolve, reject) => {
          const together = waiting.push({ call, resolve, reject });
          if (together === most) void send();
          else if (together === 1) setImmediate(() => void send());
        });
    },
  };
  return batching;
}
