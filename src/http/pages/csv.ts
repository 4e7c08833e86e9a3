/** Tables as CSV (RFC 4180), in UTF-8 with a mark that Excel needs to know it. */

export type Cell = string | number | boolean | null | undefined;

/** A cell that begins like a formula gets an apostrophe: spreadsheets would run what a customer typed. */
export function csvLine(cells: Cell[]): string {
  return `${cells
    .map((cell) => {
      const text = String(cell ?? '');
      const safe = typeof cell === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    })
    .join(',')}\r\n`;
}

export async function* csvFile(rows: AsyncIterable<Cell[]>): AsyncIterable<string> {
  yield '\uFEFF';
  for await (const row of rows) yield csvLine(row);
}
