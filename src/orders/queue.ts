import { DAY_MS } from '../base/days';
import type { Db } from '../store/engine/database';
import { findMessage, listMessages, setMessage } from '../store/orders/shop-messages';
import { listReceiverShops } from '../store/orders/shops';
import { ADAPTERS } from './adapters';
import { fromStored, takeDelivery, type TakeContext } from './take-message';

/** The retry queue of received messages: the rest of long lists, and messages that failed for a temporary reason. */

/** The time for which a message is retried. Senders also give up after three days. */
const TRIED_FOR_MS = 3 * DAY_MS;
const BATCH_SIZE = 100;

/** Processes the queue. @param goesOn see `Turn` (runner/jobs.ts) */
export async function workOnQueued(
  db: Db,
  given: Omit<TakeContext, 'now'>,
  now: () => Date,
  goesOn: () => Promise<boolean>,
): Promise<void> {
  for (const { name: shop, kind } of await listReceiverShops(db)) {
    const adapter = ADAPTERS[kind as keyof typeof ADAPTERS];
    for (let before: number | undefined, hasMore = false; ;) {
      const rows = await listMessages(db, { shop, result: 'queued', before, limit: BATCH_SIZE });
      for (const { id, pendingJson, receivedAt, reason } of rows) {
        if (!(await goesOn())) return;
        const delivery = fromStored(pendingJson);
        const isOver = receivedAt.getTime() < now().getTime() - TRIED_FOR_MS;
        if (delivery === undefined || isOver) {
          await setMessage(db, id, { result: 'unreadable', reason, pendingJson: null });
          continue;
        }
        await takeDelivery(db, { shop, adapter, delivery }, { ...given, now: now() });
        // A single message has already stored its own result.
        const after = reason === 'many' ? await findMessage(db, id) : undefined;
        if (after?.pendingJson === pendingJson)
          await setMessage(db, id, { result: 'noted', reason: 'many', pendingJson: null });
        hasMore ||= after !== undefined;
      }
      before = rows.at(-1)?.id;
      if (rows.length === BATCH_SIZE) continue;
      // Begin again, because the rest of a list is stored as a newer message.
      if (!hasMore) break;
      [before, hasMore] = [undefined, false];
    }
  }
}
