/** Writes lines of CSV (RFC 4180), for pages, the API and the command. */

export type Cell = string | number | boolean | null | undefined;

/**
 * The places where a spreadsheet may find a formula (CSV injection): at the start of a text, and after a semicolon, tab
 * or line end in it. German Excel and LibreOffice split there, and miss quotation marks after a comma. Blanks and
 * quotation marks before a formula do not make it a text. Excel accepts full-width signs too.
 */
const FORMULA =
  /(^|[;\t\r\n\v\f\u0085\u2028\u2029])([\s"\p{Default_Ignorable_Code_Point}]*)(?=[=+\-@＝＋－＠])/gu;

/** Writes a line. Texts are quoted, and formulas get an apostrophe, because customers type some of the texts. */
export function csvLine(cells: Cell[], separator: string): string {
  return `${cells.map((cell) => (typeof cell === 'string' ? quoted(cell) : String(cell ?? ''))).join(separator)}\r\n`;
}

function quoted(text: string): string {
  const safe = text.replace(FORMULA, "$1$2'");
  // Some programs drop these characters at the start of a cell, together with the apostrophe after them.
  return `"${(/^[\t\r\n]/.test(safe) ? `'${safe}` : safe).replaceAll('"', '""')}"`;
}
