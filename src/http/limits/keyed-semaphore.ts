/** Waits for a turn of `who`. @returns a function that ends the turn; undefined if too many wait already */
export type AcquirePermit = (who: string) => Promise<(() => void) | undefined>;

/**
 * Creates turns: of one client's requests only `atOnce` run at a time, while other clients' requests run in parallel.
 * @param most the maximum number of one client's requests that wait
 */
export function createKeyedSemaphore(most: number, atOnce = () => 1): AcquirePermit {
  /** The number of turns in use and the waiting requests, by client. */
  const lines = new Map<string, { running: number; waiting: (() => void)[] }>();

  return async (who) => {
    const line = lines.get(who) ?? { running: 0, waiting: [] };
    lines.set(who, line);
    if (line.running < atOnce()) line.running++;
    else if (line.waiting.length >= most) return undefined;
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      // Pass the turn on to the next waiting request.
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else if (--line.running === 0) lines.delete(who);
    };
  };
}
