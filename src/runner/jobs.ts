import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../store/engine/database';
import { reasonCode } from '../store/engine/errors';
import { holdLease, releaseLease, type Lease } from '../store/leases';
import { createLoop, type Stop } from './loop';

/**
 * Work that one instance does for all. A job that keeps a place, such as the time up to which it has looked
 * (`webhooks.swept_at`), keeps it in the database, where the next holder of the lease finds it.
 */
export interface Job {
  name: string;
  /** undefined: in each round */
  everyMs?: number;
  /** Asked besides, before the lease is taken. */
  isDue?: () => Promise<boolean>;
  /** true: the jobs below do not wait for it, because it may take long */
  inBackground?: boolean;
  /** @returns false: the round ends, and the jobs below wait for the next one */
  run: (turn: Turn) => Promise<unknown>;
  /** Logged at each failure. A failure of a job without it ends the round. */
  failure?: string;
}

export interface Turn {
  /** for transactions that must not be another holder's (`lockLease`) */
  lease: Lease;
  /** Lets requests go first on a small machine. @returns false: the service stops */
  pause: (ms: number) => Promise<boolean>;
  /** Pauses between two pieces of work. @returns false also when another instance has the lease by now */
  goesOn: (pauseMs?: number) => Promise<boolean>;
}

const PAUSE_MS = 20;

/**
 * Runs the jobs that are due in a round, one after the other, now and every `everyMs`.
 * @param list.lease its name
 * @param list.failure logged when a round fails, once until one succeeds
 * @returns call it to stop
 */
export function startJobs(
  db: Db,
  list: { lease: string; everyMs: number; jobs: Job[]; failure: string },
  log: Logger,
  now: () => Date,
): Stop {
  const lease: Lease = { name: list.lease, holder: randomBytes(16).toString('hex') };
  const loop = createLoop(log, list.failure);
  const isHeld = async () => !loop.stopping.aborted && (await holdLease(db, lease, now()));
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
