/** Writes tables as CSV (RFC 4180), in UTF-8 with the byte order mark that Excel needs. */

export type Cell = string | number | boolean | null | undefined;

/**
 * The places where a spreadsheet may find a formula (CSV injection): at the start of a text, and after a semicolon, tab
 * or line end in it. German Excel and LibreOffice split there, and miss quotation marks after a comma. Blanks and
 * quotation marks before a formula do not make it a text. Excel accepts full-width signs too.
 */
const FORMULA =
  /(^|[;\t\r\n\v\f\u0085\u2028\u2029])([\s"\p{Default_Ignorable_Code_Point}]*)(?=[=+\-@＝＋－＠])/gu;

/** Writes a line. Texts are quoted, and formulas get an apostrophe, because customers type some of the texts. */
export function csvLine(cells: Cell[]): string {
  return `${cells.map((cell) => (typeof cell === 'string' ? quoted(cell) : String(cell ?? ''))).join(',')}\r\n`;
}

function quoted(text: string): string {
  const safe = text.replace(FORMULA, "$1$2'");
  // Some programs drop these characters at the start of a cell, together with the apostrophe after them.
  return `"${(/^[\t\r\n]/.test(safe) ? `'${safe}` : safe).replaceAll('"', '""')}"`;
}

/**
 * Yields the rows of a list's file, reading one page of the list at a time.
 * @param load reads the page after a cursor; undefined for the first page
 * @param names the field names; by default those of the first row, so that a list without rows is an empty file
 */
export async function* csvRows<Item>(
  load: (after: string | undefined) => Promise<{ items: Item[]; next: string | null }>,
  toFields: (item: Item) => Record<string, Cell>,
  names?: string[],
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
      yield Object.values(fields);
    }
    after = next ?? undefined;
  } while (after !== undefined);
}

/** Yields the rows of a list that is already loaded. */
export function csvOf<Item>(
  items: Item[],
  toFields: (item: Item) => Record<string, Cell>,
): AsyncIterable<Cell[]> {
  return csvRows(() => Promise.resolve({ items, next: null }), toFields);
}

const ASCII: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', '\u00AD': '' };

/** Returns the file name of a list from its title. */
export function csvNameOf(title: string): string {
  const plain = title.toLowerCase().replace(/[äöüß\u00AD]/g, (letter) => ASCII[letter] ?? letter);
  return `${plain.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')}.csv`;
}

export async function* csvFile(rows: AsyncIterable<Cell[]>): AsyncIterable<string> {
  yield '\uFEFF';
  for await (const row of rows) yield csvLine(row);
}
