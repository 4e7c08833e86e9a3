import type { Db } from '../store/engine/database';
import { listOrderLicenses, type OrderEvent, type OrderLicense } from '../store/orders/orders';
import type { ShopMessage } from '../store/orders/shop-messages';
import { dropUnmatched, keepUnmatched, listUnmatchedOf } from '../store/orders/unmatched';
import { messageDigest, unmatchedDigest } from './names';
import { placeLines } from './same-lines';
import type { Plans } from './sold';
import { concerning, isUnknownRefund, type StoredLine, type Work } from './work';

/**
 * Nothing that was paid is only noted: what finds no order, no line or no payment is kept until it finds it or somebody
 * acts. What waits for an article's plan is an order that waits.
 */

/** Why an event finds nothing in its order; undefined: it finds it. */
export function whyUnmatched(
  { lines, licenses }: Pick<Work, 'lines' | 'licenses'>,
  event: OrderEvent,
  events: OrderEvent[],
): string | undefined {
  if (event.effect === 'none' || !OF_MONEY.has(event.event)) return undefined;
  const named = event.linesJson === null ? undefined : (JSON.parse(event.linesJson) as StoredLine[]);
  if (
    named === undefined
      ? lines.length === 0
      : named.some(({ line }) => !lines.some((one) => one.line === line))
  )
    return lines.length === 0 ? 'not_paid' : 'no_line';
  const concerned = lines.filter((line) => concerning(event, line).length > 0);
  const all = concerned.flatMap((line) => events.flatMap((one) => concerning(one, line)));
  if (isUnknownRefund(event, all)) return 'unknown_payment';
  const isImpossible = concerned.some(({ id }) =>
    licenses.some((one) => one.lineId === id && upgradesOf(one)[event.identity] === null),
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

function upgradesOf({ plansJson }: OrderLicense): Plans['upgrades'] {
  return (JSON.parse(plansJson) as Plans).upgrades;
}

/** Keeps which events of an order find nothing, under its lock. A test's are not money. */
export async function followUnmatched(
  { trx, order, lines, licenses: read }: Work,
  told: OrderEvent[],
): Promise<void> {
  if (order.isTest) return;
  // What upgrades mean for them may have been stored just now.
  const licenses = told.some(({ event }) => event === 'upgraded' || event === 'renewed')
    ? await listOrderLicenses(trx, [order.id])
    : read;
  const events = placeLines(told, lines);
  const kept = await listUnmatchedOf(trx, { orderId: order.id });
  const found = new Set<string>();
  for (const event of events) {
    const reason = whyUnmatched({ lines, licenses }, event, events);
    if (reason === undefined) continue;
    const digest = unmatchedDigest(order.digest, event.identity);
    found.add(digest);
    if (!kept.some((one) => one.digest === digest))
      await keepUnmatched(trx, {
        shop: order.shop,
        digest,
        orderId: order.id,
        messageId: null,
        reason,
        event: event.event,
        at: event.at,
      });
  }
  await dropUnmatched(
    trx,
    kept.filter(({ digest }) => !found.has(digest)).map(({ id }) => id),
  );
}

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
