import { minorDigits } from '../../base/currency';
import type { Money } from '../message';

/** Amounts as senders write them, in minor units of ISO 4217. What is not an amount is missing. */

/** @param amount such as `49.00` */
export function decimalMoney(amount: unknown, currency: string | undefined): Money | undefined {
  return moneyOf(amount, currency, 0);
}

/** @param digits of the sender's minor unit; undefined: those of ISO 4217 */
export function minorMoney(
  amount: unknown,
  currency: string | undefined,
  digits: (currency: string) => number = minorDigits,
): Money | undefined {
  return moneyOf(amount, currency, currency === undefined ? 0 : digits(currency.toUpperCase()));
}

function moneyOf(amount: unknown, currency: string | undefined, digits: number): Money | undefined {
  const code = currency?.toUpperCase() ?? '';
  const isNumber = typeof amount === 'number' || (typeof amount === 'string' && /^\d+(\.\d+)?$/.test(amount));
  if (!isNumber || !/^[A-Z]{3}$/.test(code)) return undefined;
  // 19.99 * 100 is 1998.9999999999998.
  const minor = Math.round(Number((Number(amount) * 10 ** (minorDigits(code) - digits)).toPrecision(15)));
  return Number.isSafeInteger(minor) && minor >= 0 ? { amount: minor, currency: code } : undefined;
}
