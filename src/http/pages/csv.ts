import { csvLine, type Cell } from '../../operations/kit/csv';
import type { Texts } from '../../texts/operators/texts';

export type { Cell };

/**
 * Writes tables as CSV (RFC 4180) for people: in UTF-8 with the byte order mark that Excel needs, with the separator
 * that Excel expects in the page's language, and headings in that language. The API has the stable names.
 */

/** The fields that have a heading in each language. */
export type CsvField = keyof Texts['csv']['headings'];

/** A row's cells by field. The compiler refuses a field without a heading. */
type Cells<Fields> = { [Name in keyof Fields]: Name extends CsvField ? Cell : never };

/**
 * Yields the rows of a list's file, reading one page of the list at a time.
 * @param load reads the page after a cursor; undefined for the first page
 * @param names the field names; by default those of the first row, so that a list without rows is an empty file
 */
export async function* csvRows<Item, Fields extends Cells<Fields>>(
  load: (after: string | undefined) => Promise<{ items: Item[]; next: string | null }>,
  toFields: (item: Item) => Fields,
  names?: CsvField[],
): AsyncIterable<Cell[]> {
  let after: string | undefined;
  let isFirst = true;
  do {
    const { items, next } = await load(after);
    if (isFirst && names !== undefined) {
      yield names;
      isFirst = false;
    }
    for (const fields of items.map(toFields)) {
      if (isFirst) yield Object.keys(fields);
      isFirst = false;
      yield Object.values<Cell>(fields);
    }
    after = next ?? undefined;
  } while (after !== undefined);
}

/** Yields the rows of a list that is already loaded. */
export function csvOf<Item, Fields extends Cells<Fields>>(
  items: Item[],
  toFields: (item: Item) => Fields,
): AsyncIterable<Cell[]> {
  return csvRows(() => Promise.resolve({ items, next: null }), toFields);
}

const ASCII: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', '\u00AD': '' };

/** Returns the file name of a list from its title. */
export function csvNameOf(title: string): string {
  const plain = title.toLowerCase().replace(/[äöüß\u00AD]/g, (letter) => ASCII[letter] ?? letter);
  return `${plain.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')}.csv`;
}

/** Yields the lines of a file. The first row has names of fields. */
export async function* csvFile(
  rows: AsyncIterable<Cell[]>,
  { separator, headings }: Texts['csv'],
): AsyncIterable<string> {
  yield '\uFEFF';
  let isFirst = true;
  for await (const row of rows) {
    const cells = isFirst ? row.map((name) => headings[name as CsvField]) : row;
    yield csvLine(cells, separator);
    isFirst = false;
  }
}
