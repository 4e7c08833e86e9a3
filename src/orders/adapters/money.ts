import { minorDigits } from '../../base/currency';
import type { Money } from '../message';

/** Converts senders' amounts to minor units of ISO 4217. A value that is not an amount becomes undefined. */

/** Converts a decimal amount. @param amount such as `49.00` */
export function decimalMoney(amount: unknown, currency: string | undefined): Money | undefined {
  return moneyOf(amount, currency, 0);
}

/** Converts an amount in minor units. @param digits the decimals of the sender's minor unit; by default those of ISO 4217 */
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
  // Round to 15 digits first: 1.005 * 100 is 100.49999999999999, which would become 100 instead of 101.
  const minor = Math.round(Number((Number(amount) * 10 ** (minorDigits(code) - digits)).toPrecision(15)));
  return Number.isSafeInteger(minor) && minor >= 0 ? { amount: minor, currency: code } : undefined;
}
