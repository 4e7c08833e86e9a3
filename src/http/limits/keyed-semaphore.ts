import type { Context } from '../context';
import { withDeadline } from '../faults';

type EndTurn = () => void;

/** Takes a turn of `who`. @returns a function that ends it, at once if a turn is free; undefined if too many wait already */
export type AcquirePermit = (who: string) => EndTurn | Promise<EndTurn> | undefined;

/**
 * Creates turns: of one client's requests only `atOnce` run at a time, while other clients' requests run in parallel.
 * @param most the maximum number of one client's requests that wait
 */
export function createKeyedSemaphore(most: number, atOnce = () => 1): AcquirePermit {
  /** The number of turns in use and the waiting requests, by client. */
  const lines = new Map<string, { running: number; waiting: (() => void)[] }>();

  return (who) => {
    const line = lines.get(who) ?? { running: 0, waiting: [] };
    lines.set(who, line);
    let hasEnded = false;
    const endTurn = () => {
      if (hasEnded) return;
      hasEnded = true;
      // Pass the turn on to the next waiting request.
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else if (--line.running === 0) lines.delete(who);
    };
    if (line.running < atOnce()) {
      line.running++;
      return endTurn;
    }
    if (line.waiting.length >= most) return undefined;
    return new Promise((resolve) => line.waiting.push(() => resolve(endTurn)));
  };
}

/** Waits for a turn until the request's deadline. A free turn needs no timer. @returns undefined if there is no turn */
export async function permitInTime(
  ctx: Context,
  turn: ReturnType<AcquirePermit>,
): Promise<EndTurn | undefined> {
  if (!(turn instanceof Promise)) return turn;
  try {
    return await withDeadline(ctx, turn);
  } catch {
    void turn.then((endTurn) => endTurn());
    return undefined;
  }
}
