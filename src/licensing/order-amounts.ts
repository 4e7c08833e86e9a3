import { PAYING_EVENTS, RESTORING_EVENTS, RETURNING_EVENTS } from '../store/orders/money';
import type { OrderEvent } from '../store/orders/orders';

/** What an order's events report of money. */

/** What was paid or given back. */
export interface Money {
  /** in minor units of the currency, such as cents */
  amount: number;
  /** ISO 4217, such as `EUR` */
  currency: string;
}

/** The sums of one currency, in its minor units. */
export interface Amounts {
  currency: string;
  paid: number;
  refunded: number;
}

export type MoneyEvent = Pick<OrderEvent, 'id' | 'event' | 'payment' | 'amount' | 'currency' | 'isTest'>;

/** Returns the amount of an event; undefined: it has none. */
export function moneyOf({ amount, currency }: Pick<OrderEvent, 'amount' | 'currency'>): Money | undefined {
  return amount === null || currency === null ? undefined : { amount, currency };
}

/** Sums an order's events by currency, as `money_sums` does for all orders: a payment that two events report counts once. */
export function amountsOf(events: MoneyEvent[]): Amounts[] {
  const sums = new Map<string, Amounts>();
  const payments = new Set<string>();
  for (const one of [...events].sort((a, b) => a.id - b.id)) {
    const money = moneyOf(one);
    const isPaid = PAYING_EVENTS.includes(one.event);
    const sign = RETURNING_EVENTS.includes(one.event) ? 1 : RESTORING_EVENTS.includes(one.event) ? -1 : 0;
    if (money === undefined || (!isPaid && sign === 0)) continue;
    if (isPaid && one.payment !== null && payments.has(one.payment)) continue;
    if (isPaid && one.payment !== null) payments.add(one.payment);
    const { currency, amount } = money;
    const sum = sums.get(currency) ?? { currency, paid: 0, refunded: 0 };
    sums.set(currency, sum);
    if (isPaid) sum.paid += amount;
    else sum.refunded += sign * amount;
  }
  return [...sums.values()];
}

/** Finds refunds in another currency than their payment: each counts as a part, because the two cannot be compared. */
export function foreignRefunds(events: MoneyEvent[]): { refund: Money; payment: Money }[] {
  const paid = events.filter((one) => PAYING_EVENTS.includes(one.event));
  return events.flatMap((one) => {
    const refund = RETURNING_EVENTS.includes(one.event) ? moneyOf(one) : undefined;
    const own = paid.filter(({ payment }) => payment !== null && payment === one.payment);
    const payments = (own.length > 0 ? own : paid).flatMap((each) => moneyOf(each) ?? []);
    const [first] = payments;
    if (refund === undefined || first === undefined) return [];
    return payments.some(({ currency }) => currency === refund.currency) ? [] : [{ refund, payment: first }];
  });
}
