import type { OrderEvent } from '../store/orders/orders';
import { isPayment, readEvent, sortEvents, type LineEvent, type ToldEvent } from './order-events';

/** What refunds give back: all of the money or a part of it, and of which payments. */

/** Marks a stored refund whose amount says whether it is a part: its sender did not. */
export function isJudgedByMoney({
  event,
  partial,
  effect,
}: Pick<OrderEvent, 'event' | 'partial' | 'effect'>) {
  return event === 'refunded' && partial && effect !== 'none';
}

/**
 * Reads stored events. A refund that says its amount, and not whether it is a part, is one while the refunds of its payment
 * come to less than the payment, or when it is in another currency. A payment without an amount was given back whole.
 */
export function readEvents(stored: OrderEvent[]): ToldEvent[] {
  const events = stored.map(readEvent);
  if (!events.some(isJudgedByMoney)) return events;
  const returned = new Map<string | null, number>();
  const judged = new Map<ToldEvent, ToldEvent>();
  const sorted = sortEvents(events);
  for (const event of sorted) {
    const { amount, currency, payment, partial } = event;
    if (event.event === 'refund_failed') returned.delete(payment);
    if (event.event !== 'refunded' || amount === null) continue;
    const paid = paidFor(sorted, payment);
    const isOther = paid !== undefined && paid.currency !== currency;
    const sum = (returned.get(payment) ?? 0) + (isOther ? 0 : amount);
    returned.set(payment, sum);
    if (!isJudgedByMoney(event)) continue;
    const part = isOther ? 'other_currency' : paid !== undefined && sum < paid.amount ? 'partial' : undefined;
    judged.set(
      event,
      part === undefined ? { ...event, partial: false } : { ...event, partial, part, effect: 'none' },
    );
  }
  return events.map((event) => judged.get(event) ?? event);
}

/** Returns what was paid as a payment, of which several messages may tell; as all payments, when none is named. */
function paidFor(
  events: ToldEvent[],
  payment: string | null,
): { amount: number; currency: string } | undefined {
  const amounts = new Map<string | null, number>();
  let currency: string | undefined;
  for (const one of events) {
    if (!PAYS.has(one.event) || one.amount === null || one.currency === null) continue;
    if (payment !== null && one.payment !== payment) continue;
    currency ??= one.currency;
    if (one.currency !== currency) continue;
    const name = one.payment ?? one.identity;
    amounts.set(name, Math.max(amounts.get(name) ?? 0, one.amount));
  }
  const amount = [...amounts.values()].reduce((sum, one) => sum + one, 0);
  return currency === undefined ? undefined : { amount, currency };
}

const PAYS = new Set(['paid', 'renewed', 'upgraded']);

/**
 * Returns the payments that refunds which name a payment have given back, each with its refund. A refund that failed gives
 * nothing back, nor does one that is older than the payment.
 * @param sorted by time @returns identities of payments' events, with those of the refunds
 */
export function findReturned(
  sorted: Pick<LineEvent, 'event' | 'identity' | 'effect' | 'payment' | 'confirms'>[],
): Map<string, string> {
  const named = new Set(sorted.filter(isPayment).flatMap(({ payment }) => payment ?? []));
  const returns = new Map<string, string>();
  const before: { identity: string; payment: string | null }[] = [];
  for (const one of sorted) {
    const { event, identity, effect } = one;
    const confirmed = one.confirms ? before.at(-1) : undefined;
    const payment = one.payment ?? confirmed?.payment ?? null;
    if (confirmed !== undefined) {
      // It pays for nothing, so what was given back stays so.
      before.push({ identity, payment });
      const by = returns.get(confirmed.identity);
      if (by !== undefined) returns.set(identity, by);
    } else if (isPayment(one)) {
      before.push({ identity, payment });
      if (payment !== null)
        for (const other of before) if (other.payment === payment) returns.delete(other.identity);
    } else if (effect !== 'none' && (event === 'refunded' || event === 'refund_failed')) {
      // A shop that named no payment when it was paid means one of those.
      const meant = before.filter((other) =>
        payment === null
          ? event === 'refund_failed'
          : other.payment === (named.has(payment) ? payment : null),
      );
      for (const other of meant)
        if (event === 'refund_failed') returns.delete(other.identity);
        else if (payment !== null) returns.set(other.identity, identity);
    }
  }
  return returns;
}
