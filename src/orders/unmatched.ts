import type { Link } from './sold';
import type { Db } from '../store/engine/database';
import type { OrderLine } from '../store/orders/orders';
import type { ShopMessage } from '../store/orders/shop-messages';
import { deleteUnmatched, insertUnmatchedOnce, listUnmatchedOf } from '../store/orders/unmatched';
import { messageDigest } from './names';
import { concerns, isUnknownRefund, lineEvents, type ReadEvent } from './order-events';

/**
 * Unmatched money: unapplied payments. A payment or refund whose order, line or payment is unknown is stored until it is
 * found or a seller resolves it. A line whose article has no plan is not unmatched: its order waits.
 */

/** Returns the reason that an event matches nothing in its order; undefined if it matches. */
export function whyUnmatched(
  { lines, links }: { lines: OrderLine[]; links: Link[] },
  event: ReadEvent,
  events: ReadEvent[],
): string | undefined {
  if (event.effect === 'none' || !OF_MONEY.has(event.event)) return undefined;
  if (lines.length === 0) return 'not_paid';
  const stranger = event.items?.find(({ line }) => !lines.some((one) => one.line === line));
  if (stranger !== undefined) return stranger.problem ?? 'no_line';
  const concerned = lines.filter((line) => concerns(event, line));
  if (
    isUnknownRefund(
      event,
      concerned.flatMap((line) => lineEvents(events, line)),
    )
  )
    return 'unknown_payment';
  const isImpossible = concerned.some(({ id }) =>
    links.some((one) => one.lineId === id && one.plans.upgrades[event.identity] === null),
  );
  return isImpossible ? 'other_activation_type' : undefined;
}

/** Events about money. The others begin an order, change nothing, or report that nothing has to be paid. */
const OF_MONEY = new Set([
  'renewed',
  'upgraded',
  'refunded',
  'refund_failed',
  'charged_back',
  'chargeback_reversed',
]);

/** Lists a receiver's message as unmatched, or removes it from the list once it matches. */
export async function followMessage(
  db: Db,
  { id, shop, digest, type, reason, receivedAt }: ShopMessage,
  isUnmatched: boolean,
): Promise<void> {
  if (!isUnmatched) {
    const kept = await listUnmatchedOf(db, { messageId: id });
    await deleteUnmatched(
      db,
      kept.map((one) => one.id),
    );
    return;
  }
  await insertUnmatchedOnce(db, {
    shop,
    digest: messageDigest(shop, digest),
    orderId: null,
    messageId: id,
    event: type,
    reason: reason ?? 'unknown_payment',
    at: receivedAt,
  });
}
