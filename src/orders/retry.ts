import { CodedError } from '../base/errors';
import type { Db, Transaction } from '../store/engine/database';
import { inReadCommitted } from '../store/engine/transaction';
import { listReady, listRetried, listWaiting, lockOrder, setOrder } from '../store/orders/orders';
import { noOrder, processOrder, type ProcessedOrder } from './process';
import type { RecordContext } from './facts';

/** Orders that are tried again: those that wait, those that are ready by now, and those that failed. */

export interface Ran {
  /** orders that wait no more */
  done: number;
  waiting: number;
  /** by an unexpected error; they are tried again */
  failed: number;
  /** the first of them, with what became of each */
  orders: ProcessedOrder[];
}

const RUN_AT_ONCE = 100;
/** Orders that are listed one by one. */
const MOST_LISTED = 100;

/** The orders of a list by id, which is read in parts. */
async function* eachOf(list: (place: { after: number; limit: number }) => Promise<number[]>) {
  for (let after = 0; ;) {
    const ids = await list({ after, limit: RUN_AT_ONCE });
    yield* ids;
    if (ids.length < RUN_AT_ONCE) return;
    after = ids.at(-1) as number;
  }
}

/** Runs the orders of a shop that wait or failed: what is mapped by now issues. */
export async function runWaiting(db: Db, shop: string, context: RecordContext): Promise<Ran> {
  const ran: Ran = { done: 0, waiting: 0, failed: 0, orders: [] };
  for await (const id of eachOf((place) => listWaiting(db, { ...place, shop }))) {
    const processed = await processOrder(db, id, context);
    ran[processed.state]++;
    if (ran.orders.length < MOST_LISTED) ran.orders.push(processed);
  }
  return ran;
}

/**
 * Runs orders whose article or earlier order has come since, as the process that brought it may have been killed, and those
 * that failed and are due.
 * @throws CodedError that names the first order that failed, once the others are run
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

/** Confirms that an order has as many lines as it names, and processes it. @throws OperatorError (404) */
export async function confirmOrder(db: Db, id: number, context: RecordContext): Promise<ProcessedOrder> {
  await inReadCommitted(db, async (trx: Transaction) => {
    const order = await lockOrder(trx, id);
    if (order === undefined) throw noOrder();
    if (order.confirmedAt === null) await setOrder(trx, id, { confirmedAt: context.now });
  });
  return processOrder(db, id, context);
}
