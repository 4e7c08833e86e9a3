import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { pruneAccesses } from '../store/access-log';
import type { Db } from '../store/database';
import { reasonCode } from '../store/errors';

const EVERY_MS = 60 * 60 * 1000;
/** With more than 200 ids MariaDB plans from its statistics, and may read and lock the whole log. */
const ROWS_AT_ONCE = 100;
const LEAST_AT_ONCE = 10;
const PAUSE_MS = 100;
/** A cancelled DELETE rolls back first, and holds its row locks until then. */
const PAUSE_AFTER_FAILURE_MS = 3_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Deletes access log entries older than `logDays`, now and every hour, in small deletes. Call the result to stop. */
export function startHousekeeping(
  db: Db,
  logDays: number,
  log: Logger,
  now: () => Date,
): () => Promise<void> {
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  let running: Promise<void> | undefined;
  const run = () => {
    running ??= prune()
      .catch((error: unknown) => {
        log.warn(
          { reason: reasonCode(error) },
          'the access log could not be pruned; it is tried again in an hour',
        );
      })
      .finally(() => (running = undefined));
  };
  async function prune(): Promise<void> {
    const before = new Date(now().getTime() - logDays * DAY_MS);
    for (let rows = ROWS_AT_ONCE; !stopping.signal.aborted;)
      try {
        if ((await pruneAccesses(db, before, rows)) < rows) return;
        await pause(PAUSE_MS);
      } catch (error) {
        // A slow disk may not manage this many rows within the statement time-out, now or in an hour.
        if (rows <= LEAST_AT_ONCE) throw error;
        rows /= 10;
        await pause(PAUSE_AFTER_FAILURE_MS);
      }
  }
  run();
  const timer = setInterval(run, EVERY_MS).unref();
  return async () => {
    stopping.abort();
    clearInterval(timer);
    await running;
  };
}
