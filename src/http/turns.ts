/** Takes a turn of `who`, once those before have ended theirs. @returns ends the turn; undefined: too many wait already */
export type TakeTurn = (who: string) => Promise<(() => void) | undefined>;

/** Lets the requests of one client run one after another, while others' run beside them. `most`: how many of one may wait. */
export function createTurns(most: number): TakeTurn {
  /** Those who wait, by the client that has a turn now. */
  const lines = new Map<string, (() => void)[]>();

  return async (who) => {
    const line = lines.get(who);
    if (line === undefined) lines.set(who, []);
    else if (line.length >= most) return undefined;
    else await new Promise<void>((resolve) => line.push(resolve));
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      const next = lines.get(who)?.shift();
      if (next === undefined) lines.delete(who);
      else next();
    };
  };
}
