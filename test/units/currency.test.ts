import { expect, it } from '@jest/globals';
import { asDecimal, minorDigits } from '../../src/base/currency';
import { amountsOf, foreignRefunds, type MoneyEvent } from '../../src/store/orders/money';
import { OPERATORS } from '../../src/texts/operators/languages';

it.each([
  [4900, 'EUR', '49.00', '€49.00', '49,00 €'],
  [123456, 'HUF', '1234.56', 'HUF 1,234.56', '1.234,56 HUF'],
  [4900, 'JPY', '4900', '¥4,900', '4.900 ¥'],
  [1234567, 'KWD', '1234.567', 'KWD 1,234.567', '1.234,567 KWD'],
  [5, 'USD', '0.05', '$0.05', '0,05 $'],
  [-5, 'USD', '-0.05', '-$0.05', '-0,05 $'],
  [0, 'KWD', '0.000', 'KWD 0.000', '0,000 KWD'],
])('%i minor units of %s are %s', (amount, currency, decimal, english, german) => {
  expect(asDecimal(amount, currency)).toBe(decimal);
  const written = (['en', 'de'] as const).map((one) => OPERATORS[one].language.money(amount, currency));
  expect(written.map((text) => text.replace('\u00A0', ' '))).toEqual([english, german]);
});

it('writes currencies that share a sign apart, and sums without zeros', () => {
  const [en, de] = [OPERATORS.en.language, OPERATORS.de.language];
  const codes = ['USD', 'CAD', 'AUD', 'CHF', 'SEK', 'NOK', 'CNY', 'JPY'];
  for (const { sum } of [en, de])
    expect(new Set(codes.map((code) => sum(100_000, code).replace(/[\d.,\s]/g, ''))).size).toBe(codes.length);
  const sums = [421_800, 421_850].flatMap((amount) => [en.sum(amount, 'EUR'), de.sum(amount, 'EUR')]);
  expect(sums.map((text) => text.replace('\u00A0', ' '))).toEqual([
    '€4,218',
    '4.218 €',
    '€4,218.50',
    '4.218,50 €',
  ]);
});

it('knows the decimals of ISO 4217 for currencies of which Intl has others', () => {
  expect(['IQD', 'COP', 'ISK', 'UGX', 'CLF', 'ZZZ'].map(minorDigits)).toEqual([3, 2, 0, 0, 4, 2]);
});

let id = 0;
const event = (name: string, amount: number | null, currency: string | null, payment: string | null = null) =>
  ({ id: ++id, event: name, amount, currency, payment, isTest: false }) satisfies MoneyEvent;

it('finds refunds in another currency than their payment', () => {
  const [first, second] = [event('paid', 4900, 'USD', 'a'), event('renewed', 4500, 'EUR', 'b')];
  const refund = event('refunded', 4500, 'EUR', 'a');
  const found = [{ refund: { amount: 4500, currency: 'EUR' }, payment: { amount: 4900, currency: 'USD' } }];
  expect(foreignRefunds([first, second, refund])).toEqual(found);
  expect(foreignRefunds([first, second, { ...refund, payment: 'b' }])).toEqual([]);
  // A refund that names no payment is compared with all payments.
  expect(foreignRefunds([first, second, { ...refund, payment: null }])).toEqual([]);
  expect(foreignRefunds([first, { ...refund, payment: null }])).toEqual(found);
  expect(foreignRefunds([event('paid', null, null), refund])).toEqual([]);
});

it('sums only money that moved', () => {
  expect(amountsOf([event('payment_failed', 100, 'EUR'), event('subscription_ended', null, null)])).toEqual(
    [],
  );
});
