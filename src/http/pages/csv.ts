/** Tables as CSV (RFC 4180), in UTF-8 with a mark that Excel needs to know it. */

export type Cell = string | number | boolean | null | undefined;

/**
 * Where a spreadsheet may begin a cell: at the text's own beginning, and after a semicolon, a tab or a line end inside it.
 * Excel in German and LibreOffice split at those, and do not see quotation marks behind a comma. Blanks and quotation marks
 * before the formula do not make it a text. Excel takes full-width signs for formulas too.
 */
const FORMULA =
  /(^|[;\t\r\n\v\f\u0085\u2028\u2029])([\s"\p{Default_Ignorable_Code_Point}]*)(?=[=+\-@＝＋－＠])/gu;

/** Every text is quoted. What a spreadsheet would run as a formula gets an apostrophe: customers type texts too. */
export function csvLine(cells: Cell[]): string {
  return `${cells.map((cell) => (typeof cell === 'string' ? quoted(cell) : String(cell ?? ''))).join(',')}\r\n`;
}

function quoted(text: string): string {
  const safe = text.replace(FORMULA, "$1$2'");
  // These are dropped in front of a cell by some programs, with what they guard.
  return `"${(/^[\t\r\n]/.test(safe) ? `'${safe}` : safe).replaceAll('"', '""')}"`;
}

/**
 * The rows of a list's file, read a page of the list at a time.
 * @param load reads the page behind a cursor; undefined: the first
 * @param names of the fields; without them, those of the first row: a list without rows is an empty file
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

/** A list that is read at once. */
export function csvOf<Item>(
  items: Item[],
  toFields: (item: Item) => Record<string, Cell>,
): AsyncIterable<Cell[]> {
  return csvRows(() => Promise.resolve({ items, next: null }), toFields);
}

const ASCII: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', '\u00AD': '' };

/** The name of a list's file, from its title. */
export function csvNameOf(title: string): string {
  const plain = title.toLowerCase().replace(/[äöüß\u00AD]/g, (letter) => ASCII[letter] ?? letter);
  return `${plain.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')}.csv`;
}

export async function* csvFile(rows: AsyncIterable<Cell[]>): AsyncIterable<string> {
  yield '\uFEFF';
  for await (const row of rows) yield csvLine(row);
}
