/** ISO 4217 currencies whose minor unit is not a hundredth. Intl.NumberFormat differs, for example for HUF, COP and IQD. */
const MINOR_DIGITS: Record<number, string> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};
const DIGITS = new Map(
  Object.entries(MINOR_DIGITS).flatMap(([digits, codes]) =>
    codes.split(' ').map((code) => [code, Number(digits)] as const),
  ),
);

/** Returns the decimals of a currency: 2 for `EUR`, 0 for `JPY`, 3 for `KWD`. */
export function minorDigits(currency: string): number {
  return DIGITS.get(currency) ?? 2;
}

/** Returns an amount in minor units as a decimal: `49.00`. */
export function asDecimal(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  const text = String(Math.abs(amount)).padStart(digits + 1, '0');
  const sign = amount < 0 ? '-' : '';
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
