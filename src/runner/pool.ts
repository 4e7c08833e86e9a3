import type { Loop } from './loop';

export interface PoolSettings<Item> {
  /** how many may be worked on at once; asked each time */
  limit: () => number;
  /** Claims what is due, at most so much. Less means that nothing more is due. */
  claim: (most: number) => Promise<Item[]>;
  /** the most that one claim takes; undefined: as much as may be worked on */
  claimMost?: number;
  /** @returns what to work on next in this one's place */
  work: (item: Item) => Promise<Item | undefined>;
  /** Runs a claim, after those that other pools wait for. */
  inTurn?: (claim: () => Promise<Item[]>) => Promise<Item[]>;
}

/**
 * Works on several items at once, and claims more as soon as some are done.
 * @returns call it when something may be due
 */
export function createPool<Item>(
  loop: Loop,
  { limit, claim, claimMost = Infinity, work, inTurn = (now) => now() }: PoolSettings<Item>,
): () => void {
  let busy = 0;
  let isClaiming = false;
  let mayBeMore = false;

  async function fill(): Promise<void> {
    isClaiming = true;
    try {
      do {
        mayBeMore = false;
        let most = 0;
        // What ends together is replaced by one claim.
        await endOfTurn();
        const items = await inTurn(async () => {
          most = Math.max(0, Math.min(claimMost, limit() - busy));
          return most === 0 ? [] : claim(most);
        });
        for (const item of items) {
          busy++;
          loop.track(
            follow(item).finally(() => {
              busy--;
              if (mayBeMore) wake();
            }),
          );
        }
        mayBeMore ||= items.length === most;
      } while (mayBeMore && busy < limit() && !loop.stopping.aborted);
    } finally {
      isClaiming = false;
    }
  }

  async function follow(first: Item): Promise<void> {
    for (let item: Item | undefined = first; item !== undefined;) item = await work(item);
  }

  function wake(): void {
    mayBeMore = true;
    if (!isClaiming && busy < limit() && !loop.stopping.aborted) loop.track(fill());
  }
  return wake;
}

const endOfTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));
