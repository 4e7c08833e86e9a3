import { Semaphore, withTimeout } from 'async-mutex';
import { overloadedError, createBatches, type BatchOptions } from './batches';

/**
 * Keyed queues: the work on a licence whose row is locked waits in the licence's lane. A lane runs one batch at a time.
 * Only a few lanes run at once, so that the pool keeps connections for all other calls.
 */
export interface Lanes<Item, Answer> {
  /** reports whether work on this licence waits or runs; if so, new work must also be submitted here */
  has(licenseId: number): boolean;
  submit(licenseId: number, item: Item): Promise<Answer>;
}

/** The maximum time that a lane waits for its turn, which is less than a request's deadline. */
const TURN_TIMEOUT_MS = 3_000;
const LANE: BatchOptions = { maxItems: 200, maxWaiting: 500 };

/** @param atOnce the number of lanes that may run at once @param work answers a lane's batch, in the order of its items */
export function createLanes<Item, Answer>(
  atOnce: number,
  work: (items: Item[]) => Promise<Answer[]>,
): Lanes<Item, Answer> {
  const turns = withTimeout(new Semaphore(atOnce), TURN_TIMEOUT_MS, overloadedError());
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
