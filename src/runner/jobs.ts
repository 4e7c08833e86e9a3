import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../store/engine/database';
import { reasonCode } from '../store/engine/errors';
import { acquireOrRenewLease, releaseLease, type Lease } from '../store/leases';
import { createLoop, type Stop } from './loop';

/**
 * A background job that one instance does for all, under a lease. A job with progress, such as the time that it has
 * checked (`webhooks.swept_at`), stores it in the database, where the next holder of the lease continues.
 */
export interface Job {
  name: string;
  /** the interval; by default the job runs in each round */
  everyMs?: number;
  /** reports whether there is work, before the lease is acquired */
  isDue?: () => Promise<boolean>;
  /** set if the job may take long, so that the following jobs do not wait for it */
  inBackground?: boolean;
  /** does the work; if it returns false, the round ends, and the following jobs wait for the next one */
  run: (turn: Turn) => Promise<unknown>;
  /** the log's message for a failure; without it, a failure ends the round */
  failure?: string;
}

export interface Turn {
  /** for transactions that must fail once another instance holds the lease (`lockLease`) */
  lease: Lease;
  /** waits, so that a small machine can answer requests; returns false if the service is stopping */
  pause: (ms: number) => Promise<boolean>;
  /** waits between two pieces of work; also returns false if another instance holds the lease now */
  goesOn: (pauseMs?: number) => Promise<boolean>;
}

const PAUSE_MS = 20;

/**
 * The scheduler: runs the due jobs one after the other, now and every `everyMs`.
 * @param list.lease the name of the lease
 * @param list.failure the message for a failed round, which is logged once until a round succeeds
 * @returns a function that stops the jobs
 */
export function startScheduler(
  db: Db,
  list: { lease: string; everyMs: number; jobs: Job[]; failure: string },
  log: Logger,
  now: () => Date,
): Stop {
  const lease: Lease = { name: list.lease, holder: randomBytes(16).toString('hex') };
  const loop = createLoop(log, list.failure);
  const isHeld = async () => !loop.stopping.aborted && (await acquireOrRenewLease(db, lease, now()));
  const pause = async (ms: number) => {
    if (ms > 0) await sleep(ms, undefined, { signal: loop.stopping }).catch(() => undefined);
    return !loop.stopping.aborted;
  };
  const turn: Turn = {
    lease,
    pause,
    goesOn: async (pauseMs = PAUSE_MS) => (await pause(pauseMs)) && (await isHeld()),
  };
  const next = new Map<Job, number>();
  const running = new Set<Job>();

  async function round(): Promise<void> {
    for (const job of list.jobs) {
      if (performance.now() < (next.get(job) ?? 0) || (await job.isDue?.()) === false) continue;
      if (!(await isHeld())) return;
      next.set(job, performance.now() + (job.everyMs ?? 0));
      if (running.has(job)) continue;
      const done = run(job);
      if (job.inBackground) loop.hold(done);
      else if ((await done) === false) return;
    }
  }

  async function run(job: Job): Promise<unknown> {
    running.add(job);
    try {
      return await job.run(turn);
    } catch (error) {
      if (job.failure === undefined && !job.inBackground) throw error;
      log.warn({ job: job.name, reason: reasonCode(error) }, job.failure);
      return undefined;
    } finally {
      running.delete(job);
    }
  }

  let isUnderWay = false;
  loop.start(list.everyMs, () => {
    if (isUnderWay) return;
    isUnderWay = true;
    loop.track(round().finally(() => (isUnderWay = false)));
  });
  const stop = async () => {
    await loop.stop();
    await releaseLease(db, lease).catch(() => undefined);
  };
  return Object.assign(stop, { idle: loop.idle });
}
