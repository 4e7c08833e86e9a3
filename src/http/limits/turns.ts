/** Takes a turn of `who`, once those before have ended theirs. @returns ends the turn; undefined: too many wait already */
export type TakeTurn = (who: string) => Promise<(() => void) | undefined>;

/**
 * Lets the requests of one client run one after another, or `atOnce`, while others' run beside them.
 * @param most how many of one may wait
 */
export function createTurns(most: number, atOnce = () => 1): TakeTurn {
  /** How many have a turn now, and those who wait, by client. */
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
      // The turn goes to the next one, if somebody waits.
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else if (--line.running === 0) lines.delete(who);
    };
  };
}
