import type { CsvField } from './csv-licenses';

/** Guesses which column of another system's table is what. Whoever imports it looks at the guess. */

/** By field, the best pattern first. A column is used once, so the order of the fields counts too. */
const PATTERNS: [CsvField, RegExp[]][] = [
  [
    'key',
    [
      /^(licen[cs]e )?key$/,
      /(licen[cs]e|serial|purchase|activation) ?(key|code|number)/,
      /key|serial|schlüssel|seriennummer/,
    ],
  ],
  ['customer', [/e ?mail/, /customer|kunde/]],
  ['expiry', [/expir/, /until|gültig bis|ablauf|läuft ab/, /^ends?( at| on| date)?$/]],
  ['limit', [/limit/, /max/, /^(slots|seats|plätze)$/]],
  ['reference', [/order|bestell/, /reference|referenz/, /invoice|rechnung|payment/]],
  ['status', [/^status$/, /status/, /^state$/, /^zustand$/]],
  ['plan', [/^(plan|tarif)/, /plan|tier|variation|tarif/]],
  ['product', [/^(product|produkt)/, /product|produkt|extension|erweiterung/]],
  ['activations', [/^(sites|domains|websites|activations|urls)$/, /domain|website|webseite|active sites/]],
];

/** Of how many there are, not of what they are */
const COUNTED = /count|number of|left|remaining|used|anzahl/;

/** @returns the names of columns, by field; what cannot be told is missing */
export function guessCsvColumns(heading: string[]): Partial<Record<CsvField, string>> {
  const left = heading.map((name) => ({
    name,
    plain: name
      .toLowerCase()
      .replace(/[\s_\-.]+/g, ' ')
      .trim(),
  }));
  const guessed: Partial<Record<CsvField, string>> = {};
  for (const [field, patterns] of PATTERNS) {
    const fits = patterns.flatMap((pattern) =>
      left.filter(({ plain }) => pattern.test(plain) && !COUNTED.test(plain)),
    );
    const [best] = fits;
    if (best === undefined) continue;
    guessed[field] = best.name;
    left.splice(left.indexOf(best), 1);
  }
  return guessed;
}
