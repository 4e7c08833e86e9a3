import type { Knex } from 'knex';
import { addIndex, fillInPieces } from './steps';
import { columnTypes, createTable, isSqlite, tableName } from './tables';

/**
 * The words by which licences are found. The store has the present rule from here: copy it there before you change it,
 * since a migration stays as it was.
 */

/** Each piece is a transaction of its own. */
export const config = { transaction: false };

/** The longest word that is kept and looked for, in code points. */
const MAX_WORD = 64;

/** Splits a text at every character that is not a letter or digit; case, accents and kinds of letters do not count. */
export function wordsOf(text: string): string[] {
  return [...new Set(folded(text).match(/[\p{L}\p{N}]+/gu) ?? [])].map(cut);
}

/**
 * Returns another system's number as a word with `#`, so that a beginning of a name does not find it. The number follows
 * the name of a system or shop (`edd-csv:4711`, `shop:310:1`). Otherwise it begins with the first digit (`order-77`).
 */
export function numberWord(reference: string): string | undefined {
  const [first = '', second] = folded(reference).split(':');
  const number = second ?? first.replace(/^[^\p{N}]*/u, '');
  return number === '' ? undefined : cut(`#${number.replace(/^#+/, '')}`);
}

function folded(text: string): string {
  const plain = text.normalize('NFKD').replace(/\p{M}+/gu, '');
  // Upper case first, which makes one of `ß` and `SS`.
  return plain.toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

function cut(word: string): string {
  return word.length <= MAX_WORD ? word : Array.from(word).slice(0, MAX_WORD).join('');
}

/** The texts that a licence's words come from. A licence may have several rows. */
export interface Named {
  id: number;
  text: string | null;
  name: string | null;
  chosen: string | null;
  reference: string | null;
}

/** Returns the SELECT of the texts that licences are found by. @param are such as `IN (?, ?)`, whose bindings are needed three times */
export function namedSql(named: (table: string) => string, are: string): string {
  return `SELECT l.id, l.customer AS text, c.name, c.chosen_name AS chosen, l.reference
       FROM ${named('licenses')} l LEFT JOIN ${named('customers')} c ON c.digest = l.customer_digest WHERE l.id ${are}
     UNION ALL SELECT license_id, label, NULL, NULL, NULL
       FROM ${named('license_keys')} WHERE license_id ${are} AND label IS NOT NULL
     UNION ALL SELECT s.license_id, o.customer_name, NULL, NULL, NULL
       FROM ${named('order_licenses')} s JOIN ${named('orders')} o ON o.id = s.order_id
      WHERE s.license_id ${are} AND o.customer_name IS NOT NULL`;
}

/** Returns the words of licences, by their ids. */
export function wordsById(rows: Named[]): Map<number, Set<string>> {
  const words = new Map<number, Set<string>>();
  for (const { id, text, name, chosen, reference } of rows) {
    const own = words.get(id) ?? new Set();
    words.set(id, own);
    for (const word of wordsOf(`${text ?? ''} ${name ?? ''} ${chosen ?? ''}`)) own.add(word);
    const number = reference === null ? undefined : numberWord(reference);
    if (number !== undefined) own.add(number);
  }
  return words;
}

/** Rows in one INSERT: SQLite takes 32,766 values. */
export const MOST_ROWS = 8_000;

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  const named = (name: string) => tableName(knex, name);
  await createTable(knex, 'search_words', {
    columns: { license_id: `${t.ref} NOT NULL`, word: `${t.text(MAX_WORD)} NOT NULL` },
    primary: ['license_id', 'word'],
    isClustered: true,
  });
  await fillInPieces(knex, 'licenses', async (trx, ids) => {
    const sql = namedSql(named, 'BETWEEN ? + 1 AND ?');
    const found = (await trx.raw(sql, [...ids, ...ids, ...ids])) as Named[] | [Named[]];
    const rows = isSqlite(knex) ? (found as Named[]) : (found as [Named[]])[0];
    const words = [...wordsById(rows)].flatMap(([id, own]) => [...own].map((word) => [id, word]));
    for (let i = 0; i < words.length; i += MOST_ROWS) {
      const some = words.slice(i, i + MOST_ROWS);
      await trx.raw(
        `INSERT ${isSqlite(knex) ? 'OR ' : ''}IGNORE INTO ${named('search_words')} (license_id, word)
          VALUES (?, ?)${', (?, ?)'.repeat(some.length - 1)}`,
        some.flat(),
      );
    }
  });
  // Last, in one pass: each row for itself would look for its place among all.
  await addIndex(knex, 'search_words', ['word', 'license_id']);
  // For the list of what was sold since a day.
  await addIndex(knex, 'licenses', ['created_at']);
}
