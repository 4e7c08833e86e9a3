import type { Link } from './sold';
import type { Db } from '../store/engine/database';
import type { OrderLine } from '../store/orders/orders';
import type { ShopMessage } from '../store/orders/shop-messages';
import { dropUnmatched, keepUnmatched, listUnmatchedOf } from '../store/orders/unmatched';
import { messageDigest } from './names';
import { concerns, isUnknownRefund, lineEvents, type ToldEvent } from './order-events';

/**
 * Nothing that was paid is only noted: what finds no order, no line or no payment is kept until it finds it or somebody
 * acts. What waits for an article's plan is an order that waits.
 */

/** Why an event finds nothing in its order; undefined: it finds it. */
export function whyUnmatched(
  { lines, links }: { lines: OrderLine[]; links: Link[] },
  event: ToldEvent,
  events: ToldEvent[],
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

/** The others begin an order, change nothing by themselves, or say that there is nothing to pay. */
const OF_MONEY = new Set([
  'renewed',
  'upgraded',
  'refunded',
  'refund_failed',
  'charged_back',
  'chargeback_reversed',
]);

/** Keeps that a receiver's message found nothing, or forgets it once it has. */
export async function followMessage(
  db: Db,
  { id, shop, digest, type, reason, receivedAt }: ShopMessage,
  isUnmatched: boolean,
): Promise<void> {
  if (!isUnmatched) {
    const kept = await listUnmatchedOf(db, { messageId: id });
    await dropUnmatched(
      db,
      kept.map((one) => one.id),
    );
    return;
  }
  await keepUnmatched(db, {
    shop,
    digest: messageDigest(shop, digest),
    orderId: null,
    messageId: id,
    event: type,
    reason: reason ?? 'unknown_payment',
    at: receivedAt,
  });
}
