import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { reasonCode } from '../store/engine/errors';

/** The time that running work gets after a stop, before it is aborted. */
const STOP_LIMIT_MS = 5_000;

/** Stops a loop. `idle` resolves when no work is running, so that all work that was due is done. */
export interface Stop {
  (): Promise<void>;
  idle: () => Promise<void>;
}

export type Loop = ReturnType<typeof createLoop>;

/**
 * Creates the life cycle of background work: it polls at intervals, and a stop waits for running work.
 * @param failure the message for a failure, which is logged once until work succeeds
 */
export function createLoop(log: Logger, failure: string, stopLimitMs = STOP_LIMIT_MS) {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  const cuts = new Set<AbortController>();
  let isCut = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Lets the stop wait for work that never rejects. */
  function hold(work: Promise<unknown>): void {
    const held = work.finally(() => running.delete(held));
    running.add(held);
  }

  /** Lets the stop wait for work, and logs its failure. */
  function track(work: Promise<unknown>): void {
    hold(
      work.then(
        () => void (failures = 0),
        (error: unknown) => {
          if (failures++ === 0) log.warn({ reason: reasonCode(error) }, failure);
        },
      ),
    );
  }

  /** Runs work with a signal that aborts it after `limitMs`, or when the stop has waited long enough. */
  async function cuttable<T>(work: (cut: AbortSignal) => Promise<T>, limitMs?: number): Promise<T> {
    const cut = new AbortController();
    const limit = limitMs === undefined ? undefined : setTimeout(() => cut.abort(), limitMs).unref();
    cuts.add(cut);
    if (isCut) cut.abort();
    try {
      return await work(cut.signal);
    } finally {
      clearTimeout(limit);
      cuts.delete(cut);
    }
  }

  /** Polls now and every `everyMs`. */
  function start(everyMs: number, poll: () => void): void {
    // Spread the polls of several loops: at the same moment, each would need a database connection of its own.
    timer = setInterval(poll, everyMs * (1 - Math.random() / 10)).unref();
    poll();
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running);
  }

  /** Waits for running work, and aborts it after the limit. */
  async function stop(): Promise<void> {
    stopping.abort();
    clearInterval(timer);
    await Promise.race([idle(), sleep(stopLimitMs, undefined, { ref: false })]);
    isCut = true;
    for (const cut of cuts) cut.abort();
    await idle();
  }

  /** `stopping` is aborted when the loop stops; no work must begin then. */
  return { stopping: stopping.signal, start, track, hold, cuttable, idle, stop };
}
