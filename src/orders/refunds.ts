import type { OrderEvent } from '../store/orders/orders';
import { isPayment, readEvent, sortEvents, type LineEvent, type ReadEvent } from './order-events';

/** Refunds: whether they are partial, and which payments they give back. */

/** Reports whether the amount of a stored refund decides if it is partial, because its sender did not state it. */
export function isJudgedByMoney({
  event,
  partial,
  effect,
}: Pick<OrderEvent, 'event' | 'partial' | 'effect'>) {
  return event === 'refunded' && partial && effect !== 'none';
}

/**
 * Parses stored events. A refund that is judged by its amount is partial while the refunds of its payment sum up to
 * less than the payment, or if its currency differs. If the payment has no amount, the refund counts as full.
 */
export function readEvents(stored: OrderEvent[]): ReadEvent[] {
  const events = stored.map(readEvent);
  if (!events.some(isJudgedByMoney)) return events;
  const returned = new Map<string | null, number>();
  const judged = new Map<ReadEvent, ReadEvent>();
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

/** Returns the amount of a payment, which several messages may report; without a name, the sum of all payments. */
function paidFor(
  events: ReadEvent[],
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
 * Returns the payments that refunds have given back, for refunds that name a payment. A failed refund gives nothing
 * back, and a refund that is older than the payment does not count.
 * @param sorted by time @returns the identity of the refund, by the identity of the payment's event
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
      // A confirmation pays for nothing, so a refund of the payment before it remains.
      before.push({ identity, payment });
      const by = returns.get(confirmed.identity);
      if (by !== undefined) returns.set(identity, by);
    } else if (isPayment(one)) {
      before.push({ identity, payment });
      if (payment !== null)
        for (const other of before) if (other.payment === payment) returns.delete(other.identity);
    } else if (effect !== 'none' && (event === 'refunded' || event === 'refund_failed')) {
      // If the shop named no payment when it was paid, the refund is for one of those payments.
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

const RETURNS = { refunded: 'refunded', charged_back: 'charged_back' } as const;
const RESTORES = { refund_failed: 'refunded', chargeback_reversed: 'charged_back' } as const;

/**
 * Reports whether all payments were refunded or charged back, under any rules of the shop.
 * @param sorted by time @returns undefined if nothing was paid
 */
export function areAllReturned(
  sorted: Pick<LineEvent, 'event' | 'effect' | 'payment' | 'confirms' | 'isMinor'>[],
): boolean | undefined {
  const payments: { payment: string | null; by: Set<string> }[] = [];
  for (const { event, effect, payment, confirms, isMinor } of sorted) {
    if (isPayment({ effect })) {
      if (!confirms) payments.push({ payment, by: new Set() });
      continue;
    }
    // A payment without a name may be any of the order's.
    const isNamed = payments.some((one) => one.payment !== null && one.payment === payment);
    const meant = payments.filter((one) => payment === null || one.payment === (isNamed ? payment : null));
    const returned: string | undefined = (RETURNS as Partial<Record<string, string>>)[event];
    const restored: string | undefined = (RESTORES as Partial<Record<string, string>>)[event];
    for (const { by } of meant) {
      if (returned !== undefined && !isMinor) by.add(returned);
      if (restored !== undefined) by.delete(restored);
    }
  }
  return payments.length === 0 ? undefined : payments.every(({ by }) => by.size > 0);
}
