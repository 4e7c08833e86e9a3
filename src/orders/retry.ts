import { CodedError } from '../base/errors';
import type { Db, Transaction } from '../store/engine/database';
import { inReadCommitted } from '../store/engine/transaction';
import { listReady, listRetried, listWaiting, lockOrder, updateOrder } from '../store/orders/orders';
import { orderNotFoundError, processOrder, type ProcessedOrder } from './process';
import type { RecordContext } from './facts';

/** Retries orders: those that wait, those whose missing data has arrived, and those that failed. */

export interface RetriedOrders {
  /** the number of orders that no longer wait */
  done: number;
  waiting: number;
  /** the number of orders that failed with an unexpected error and are retried later */
  failed: number;
  /** the results of the first orders */
  orders: ProcessedOrder[];
}

const BATCH_SIZE = 100;
/** The maximum number of orders with a listed result. */
const MAX_LISTED = 100;

/** Iterates over the ids of a list, which it reads in parts. */
async function* eachOf(list: (place: { after: number; limit: number }) => Promise<number[]>) {
  for (let after = 0; ;) {
    const ids = await list({ after, limit: BATCH_SIZE });
    yield* ids;
    if (ids.length < BATCH_SIZE) return;
    after = ids.at(-1) as number;
  }
}

/** Processes the waiting and failed orders of a shop, for example after an article was mapped. */
export async function runWaiting(db: Db, shop: string, context: RecordContext): Promise<RetriedOrders> {
  const ran: RetriedOrders = { done: 0, waiting: 0, failed: 0, orders: [] };
  for await (const id of eachOf((place) => listWaiting(db, { ...place, shop }))) {
    const processed = await processOrder(db, id, context);
    ran[processed.state]++;
    if (ran.orders.length < MAX_LISTED) ran.orders.push(processed);
  }
  return ran;
}

/**
 * Processes the orders whose article or earlier order has arrived, because the process that stored it may have been
 * killed, and the failed orders that are due.
 * @throws CodedError for the first order that failed, after the others were processed
 */
export async function runReady(
  db: Db,
  context: RecordContext,
  goesOn: () => Promise<boolean>,
): Promise<void> {
  let failed: ProcessedOrder | undefined;
  for (const list of [listReady, listRetried])
    for await (const id of eachOf((place) => list(db, { ...place, now: context.now }))) {
      if (!(await goesOn())) return;
      const processed = await processOrder(db, id, context);
      if (processed.state === 'failed') failed ??= processed;
    }
  if (failed !== undefined) throw new CodedError<string>(`order ${failed.id}: ${failed.reason ?? ''}`, '');
}

/** Confirms that an order may have as many lines as it names, and processes it. @throws OperatorError (404) */
export async function confirmOrder(db: Db, id: number, context: RecordContext): Promise<ProcessedOrder> {
  await inReadCommitted(db, async (trx: Transaction) => {
    const order = await lockOrder(trx, id);
    if (order === undefined) throw orderNotFoundError();
    if (order.confirmedAt === null) await updateOrder(trx, id, { confirmedAt: context.now });
  });
  return processOrder(db, id, context);
}
