import { formatTimestamp } from '../base/days';
import type { Order, OrderEvent } from '../store/orders/orders';
import type { Shop } from '../store/orders/shops';
import { eventIdentity } from './event-identity';
import type { RecordContext } from './facts';
import type { LineMessage, OrderMessage } from './message';
import type { OrderEventName, StoredLine } from './order-events';
import { effectOf, readRules } from './rules';
import { graceOf } from './shop-kinds';

/** Returns an unprocessed event of an order, with the effect that the shop's rules give it now. */
export function newEvent(
  order: Order,
  shop: Shop,
  message: Omit<OrderMessage, 'shop' | 'order'>,
  { actor, now, graceDays }: Pick<RecordContext, 'actor' | 'now' | 'graceDays'>,
): OrderEvent {
  const { event, at, eventId = null, test = false, payment = null, money, renewsItself, lines } = message;
  const rules = readRules(shop);
  // A test event does not change what was sold.
  const isIgnored = message.partial === true || (test && !order.isTest);
  const effect = isIgnored ? 'none' : effectOf(event, rules);
  const isJudged = event === 'refunded' && message.partial === undefined && money !== undefined;
  return {
    id: 0,
    orderId: order.id,
    event,
    eventId,
    at,
    atMs: at.getUTCMilliseconds(),
    actor,
    // An effect marks a refund whose amount decides whether it is partial (refunds.ts).
    partial: message.partial ?? (isJudged && effect !== 'none'),
    isTest: test,
    identity: eventIdentity(message),
    receivedAt: now,
    payment,
    renewsItself: isIgnored ? null : (SAYS_WHETHER_IT_RENEWS[event] ?? renewsItself ?? null),
    graceDays: graceOf(shop, { graceDays }),
    amount: money?.amount ?? null,
    currency: money?.currency ?? null,
    effect,
    reduced: event === 'upgraded' || event === 'renewed' ? rules.reduced : null,
    linesJson: lines === undefined ? null : JSON.stringify(lines.map(storedLine)),
    outcomeJson: null,
  };
}

const SAYS_WHETHER_IT_RENEWS: Partial<Record<OrderEventName, boolean>> = {
  subscription_ended: false,
  renewal_stopped: false,
  renewal_resumed: true,
};

/** Returns a line in the form that is stored. JSON omits undefined fields. */
function storedLine({ planId, paidUntil, ...line }: LineMessage): StoredLine {
  return { ...line, plan_id: planId, paid_until: paidUntil && formatTimestamp(paidUntil) };
}
