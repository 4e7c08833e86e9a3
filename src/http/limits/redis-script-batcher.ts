import { Redis } from 'ioredis';
import { withTimeout } from '../../process/redis';
import type { RedisConnection } from './redis';

/** The client that rate-limiter-flexible requires: it defines a script for one key, and calls it by name. */
interface ScriptClient {
  /** @param keys the number of keys of each call, the same for all; in a cluster they belong to one node */
  defineCommand(name: string, definition: { lua: string; keys?: number }): void;
  [script: string]: unknown;
}

type Run = (...keysAndArguments: (string | number)[]) => Promise<unknown[]>;

/** Returns a script that runs another script for several calls with the same number of keys and arguments. */
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

/**
 * The size at which a batch is sent at once, so that Redis counts it while the requests behind it are read. A download
 * has two calls: with 16, it needed half as many commands again.
 */
const MAX_BATCH_SIZE = 32;

/**
 * Batches a script's calls of one event-loop turn into one command. A command for each key took a fifth of a validate
 * call's CPU time. A cluster gets a command for each key, because no command may have keys of several nodes.
 */
export function batchScripts({
  client,
  timeoutMs,
}: Pick<RedisConnection, 'client' | 'timeoutMs'>): ScriptClient {
  const isCluster = !(client instanceof Redis);
  const most = isCluster ? 1 : MAX_BATCH_SIZE;
  const batching: ScriptClient = {
    defineCommand(name, { lua, keys = 1 }) {
      // ioredis selects a cluster's node by the first argument, so this must be the key and not the number of keys.
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
          const sent: (string | number)[] = isCluster ? [] : [batch.length * keys];
          for (const { call } of batch) for (let i = 0; i < keys; i++) sent.push(call[i] as string);
          for (const { call } of batch) for (let i = keys; i < call.length; i++) sent.push(call[i] as string);
          const answers = await withTimeout(run(...sent), timeoutMs);
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
