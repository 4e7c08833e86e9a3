import type { Loop } from './loop';

export interface PoolSettings<Item> {
  /** returns the maximum number of items that are processed at once; called for each claim */
  limit: () => number;
  /** claims at most `most` due items; fewer mean that no more are due */
  claim: (most: number) => Promise<Item[]>;
  /** the maximum size of one claim; by default as many as may be processed */
  claimMost?: number;
  /** processes an item; returns the item to process next instead of it */
  work: (item: Item) => Promise<Item | undefined>;
  /** runs a claim after the claims of other pools */
  inTurn?: (claim: () => Promise<Item[]>) => Promise<Item[]>;
}

/**
 * Creates a worker pool, which processes several items at once and claims more as soon as some are done.
 * @returns a function to call when an item may be due
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
        // Wait, so that items that end together are replaced by one claim.
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
