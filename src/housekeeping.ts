import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { pruneAccesses } from './store/access-log';
import type { Db } from './store/database';
import { reasonCode } from './store/errors';

const EVERY_MS = 60 * 60 * 1000;
const ROWS_AT_ONCE = 1_000;
const LEAST_AT_ONCE = 10;
const PAUSE_MS = 100;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Keeps the access log to its days: now and every hour, in small deletes that hold no lock for long.
 *
 * @returns stops it, after the delete under way
 */
export function startHousekeeping(
  db: Db,
  logDays: number,
  log: Logger,
  now: () => Date,
): () => Promise<void> {
  let stopped = false;
  let running = Promise.resolve();
  const run = () => {
    running = prune().catch((error: unknown) => {
      log.warn(
        { reason: reasonCode(error) },
        'the access log could not be pruned; it is tried again in an hour',
      );
    });
  };
  async function prune(): Promise<void> {
    const before = new Date(now().getTime() - logDays * DAY_MS);
    for (let rows = ROWS_AT_ONCE; !stopped; await sleep(PAUSE_MS))
      try {
        if ((await pruneAccesses(db, before, rows)) < rows) return;
      } catch (error) {
        // A disk may be too slow for so many in the time a statement has, and as slow in an hour.
        if (rows <= LEAST_AT_ONCE) throw error;
        rows /= 10;
      }
  }
  run();
  const timer = setInterval(run, EVERY_MS).unref();
  return () => {
    stopped = true;
    clearInterval(timer);
    return running;
  };
}
