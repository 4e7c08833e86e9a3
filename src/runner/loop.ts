import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { reasonCode } from '../store/engine/errors';

/** At the stop, what is under way may go on for so long before it is cut. */
const STOP_LIMIT_MS = 5_000;

/** Call it to stop; `idle` resolves once nothing is under way, and so nothing that was found is due any more. */
export interface Stop {
  (): Promise<void>;
  idle: () => Promise<void>;
}

export type Loop = ReturnType<typeof createLoop>;

/**
 * The life of work that is done later: it is begun from time to time, and the stop waits for it.
 * @param failure what the log says when work fails, once until other work succeeds
 */
export function createLoop(log: Logger, failure: string, stopLimitMs = STOP_LIMIT_MS) {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  const cuts = new Set<AbortController>();
  let isCut = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;

  /** The stop waits for this work, which never fails. */
  function hold(work: Promise<unknown>): void {
    const held = work.finally(() => running.delete(held));
    running.add(held);
  }

  /** The stop waits for this work. A failure is logged. */
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

  /** Gives work a signal that ends it after `limitMs`, or when the stop has waited long enough. */
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
    timer = setInterval(poll, everyMs).unref();
    poll();
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running);
  }

  /** Waits for what is under way. What takes too long is cut. */
  async function stop(): Promise<void> {
    stopping.abort();
    clearInterval(timer);
    await Promise.race([idle(), sleep(stopLimitMs, undefined, { ref: false })]);
    isCut = true;
    for (const cut of cuts) cut.abort();
    await idle();
  }

  /** `stopping` is aborted at the stop: nothing more is begun. */
  return { stopping: stopping.signal, start, track, hold, cuttable, idle, stop };
}
