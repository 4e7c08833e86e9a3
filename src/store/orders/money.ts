import { isSqlite, table, type Db, type Transaction } from '../engine/database';
import { forceIndex, inListSql, rawChange, rawRows } from '../engine/statements';
import { fromSqlTime } from '../engine/time';

/** Sums of payments and refunds by UTC month, shop and currency, so that no page adds up the events of all orders. */

export const PAYING_EVENTS: readonly string[] = ['paid', 'renewed', 'upgraded'];
export const RETURNING_EVENTS: readonly string[] = ['refunded', 'charged_back'];
/** Events that undo a refund or a chargeback. */
export const RESTORING_EVENTS: readonly string[] = ['refund_failed', 'chargeback_reversed'];

/** The largest amount that is summed; a larger one is a sender's mistake, and a thousand of them would overflow a column. */
export const MAX_AMOUNT = 10 ** 13;

export interface MoneySum {
  /** `2026-11`, UTC */
  month: string;
  shop: string;
  currency: string;
  /** in minor units of the currency, like all amounts */
  paid: number;
  refunded: number;
  /** when the first of these amounts was received */
  firstAt: Date;
}

/** Adds the amount of an event that was just inserted. */
export function addMoney(trx: Transaction, event: { orderId: number; identity: string }): Promise<void> {
  const index = forceIndex(trx, 'order_events', 'order_id', 'identity');
  return addMoneyOf(trx, index, 'e.order_id = ? AND e.identity = ?', [event.orderId, event.identity]);
}

/** Recounts all sums, such as after an import. */
export async function recountMoney(trx: Transaction): Promise<void> {
  await rawChange(trx, `DELETE FROM ${table(trx, 'money_sums')}`, []);
  await addMoneyOf(trx, '', '1 = 1', []);
}

/** Adds the amounts of events. A payment that two messages report counts once. Tests do not count. */
async function addMoneyOf(
  trx: Transaction,
  index: string,
  which: string,
  bindings: (string | number)[],
): Promise<void> {
  const events = table(trx, 'order_events');
  const [paying, returning, restoring] = [PAYING_EVENTS, RETURNING_EVENTS, RESTORING_EVENTS].map(
    (names) => `e.event ${inListSql(names.length)}`,
  );
  const [onKey, added, earlier] = isSqlite(trx)
    ? ['ON CONFLICT (month, shop, currency) DO UPDATE SET', (name: string) => `excluded.${name}`, 'MIN']
    : ['ON DUPLICATE KEY UPDATE', (name: string) => `VALUES(${name})`, 'LEAST'];
  await rawChange(
    trx,
    `INSERT INTO ${table(trx, 'money_sums')} (month, shop, currency, paid, refunded, first_at)
     SELECT SUBSTR(e.at, 1, 7), o.shop, e.currency,
            SUM(CASE WHEN ${paying} THEN CAST(e.amount AS SIGNED) ELSE 0 END),
            SUM(CASE WHEN ${returning} THEN CAST(e.amount AS SIGNED) WHEN ${restoring} THEN -CAST(e.amount AS SIGNED) ELSE 0 END),
            MIN(e.received_at)
       FROM ${events} e${index} JOIN ${table(trx, 'orders')} o ON o.id = e.order_id
      WHERE ${which} AND e.amount <= ? AND e.currency IS NOT NULL AND e.is_test = 0 AND o.is_test = 0
        AND (${paying} OR ${returning} OR ${restoring})
        AND NOT (${paying} AND EXISTS (
          SELECT 1 FROM ${events} p WHERE p.order_id = e.order_id AND p.payment = e.payment AND p.id < e.id
             AND p.event ${inListSql(PAYING_EVENTS.length)} AND p.amount IS NOT NULL AND p.is_test = 0))
      GROUP BY 1, 2, 3
     ${onKey} paid = paid + ${added('paid')}, refunded = refunded + ${added('refunded')},
       first_at = ${earlier}(first_at, ${added('first_at')})`,
    [
      ...PAYING_EVENTS,
      ...RETURNING_EVENTS,
      ...RESTORING_EVENTS,
      ...bindings,
      MAX_AMOUNT,
      ...PAYING_EVENTS,
      ...RETURNING_EVENTS,
      ...RESTORING_EVENTS,
      ...PAYING_EVENTS,
      ...PAYING_EVENTS,
    ],
  );
}

/** Sums all shops from a given month on, by month and currency. */
export async function sumMoney(
  db: Db,
  from: string,
): Promise<Pick<MoneySum, 'month' | 'currency' | 'paid' | 'refunded'>[]> {
  const rows = await rawRows<{
    month: string;
    currency: string;
    paid: number | string;
    refunded: number | string;
  }>(
    db,
    `SELECT month, currency, SUM(paid) AS paid, SUM(refunded) AS refunded FROM ${table(db, 'money_sums')}
      WHERE month >= ? GROUP BY month, currency ORDER BY month, currency`,
    [from],
  );
  // MySQL's SUM is a decimal, which the driver returns as text.
  return rows.map((row) => ({ ...row, paid: Number(row.paid), refunded: Number(row.refunded) }));
}

/** Returns when the first amount was received; undefined if none was received yet. */
export async function findFirstMoney(db: Db): Promise<Date | undefined> {
  const [row] = await rawRows<{ at: string | null }>(
    db,
    `SELECT MIN(first_at) AS at FROM ${table(db, 'money_sums')}`,
    [],
  );
  return row?.at ? fromSqlTime(row.at) : undefined;
}

/** An amount with its currency. */
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

/** The fields of an event (`OrderEvent`) that are summed. */
export interface MoneyEvent {
  id: number;
  event: string;
  payment: string | null;
  amount: number | null;
  currency: string | null;
  isTest: boolean;
}

/** Returns the amount of an event; undefined without one. */
export function moneyOf({ amount, currency }: Pick<MoneyEvent, 'amount' | 'currency'>): Money | undefined {
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

/** Finds refunds in another currency than their payment. Each counts as partial, because the two cannot be compared. */
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
