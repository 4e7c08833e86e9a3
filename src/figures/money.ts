import type { Db } from '../store/engine/database';
import { findFirstMoney, sumMoney, type MoneySum } from '../store/orders/money';
import { lastMonths } from './renewals';

/** Payments and refunds that shops reported in twelve months. */
export interface MoneyFigures {
  /** when the first amount was received: earlier payments are missing; null: none was received */
  since: Date | null;
  /** sums by month, oldest first, and currency */
  sums: Omit<MoneySum, 'shop' | 'firstAt'>[];
}

/** Reads stored sums, which are up to date. */
export async function readMoney(db: Db, now: Date): Promise<MoneyFigures> {
  const [first] = lastMonths(now) as [string, ...string[]];
  return { since: (await findFirstMoney(db)) ?? null, sums: await sumMoney(db, first) };
}
