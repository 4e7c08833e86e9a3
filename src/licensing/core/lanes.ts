import { Semaphore, withTimeout } from 'async-mutex';
import { busy, createBatches, type BatchOptions } from './batches';

/**
 * Work on a locked licence waits in the licence's lane. A lane runs one batch at a time, and only a few lanes run at
 * once, so that the pool keeps connections for all other calls.
 */
export interface Lanes<Item, Answer> {
  /** whether work on this licence waits or runs; new work must then queue behind it */
  has(licenseId: number): boolean;
  submit(licenseId: number, item: Item): Promise<Answer>;
}

/** The longest wait for a lane's turn: less than a request's deadline. */
const TURN_TIMEOUT_MS = 3_000;
const LANE: BatchOptions = { maxItems: 200, maxWaiting: 500 };

/** @param work for one licence; answers in the order of the items */
export function createLanes<Item, Answer>(
  atOnce: number,
  work: (items: Item[]) => Promise<Answer[]>,
): Lanes<Item, Answer> {
  const turns = withTimeout(new Semaphore(atOnce), TURN_TIMEOUT_MS, busy());
  const lanes = new Map<number, { waiting: number; submit: (item: Item) => Promise<Answer> }>();
  const open = () => ({
    waiting: 0,
    submit: createBatches((items: Item[]) => turns.runExclusive(() => work(items)), LANE),
  });
  return {
    has: (licenseId) => lanes.has(licenseId),
    submit(licenseId, item) {
      const lane = lanes.get(licenseId) ?? open();
      lanes.set(licenseId, lane);
      lane.waiting++;
      return lane.submit(item).finally(() => {
        if (--lane.waiting === 0) lanes.delete(licenseId);
      });
    },
  };
}
