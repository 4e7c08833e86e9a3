import { canonicalKey, keyDigest } from '../../licensing/core/keys';
import { MAX_UINT32 } from '../../licensing/core/columns';
import { readStatus, cellText } from '../cells';
import { readCsv, type CsvPart, type CsvRow } from '../csv';
import { importError } from '../refusals';
import { DateColumn, readDate, type Edge } from './dates';
import type { SkipCode, SkipReason } from './import-messages';
import type { DateForm, SourceLicense } from './source';

/** Reads a former system's table from a file: finds columns by its exporter's names, and converts cells to values. */

/** The possible names of each field's column, the exporter's own first. Case, blanks and signs are ignored. */
export type ColumnNames<F extends string> = Record<F, readonly string[]>;

export interface TableRules<F extends string> {
  /** the system's name, for messages */
  title: string;
  /** the columns' names, or a function that finds the columns if their names vary */
  columns: ColumnNames<F> | ((heading: string[]) => Map<F, number>);
  /** the required columns, at least one of each list; a table without them is not this system's */
  needed: readonly (readonly F[])[];
  /** columns of another system that also has the required ones */
  foreign?: readonly string[];
  /** the columns with dates, each with the second of the day for a date without a time */
  dates: Partial<Record<F, Edge>>;
  asked: DateForm | undefined;
  /** the table in the move; undefined for the first one */
  part?: CsvPart;
}

/** The error for a row that does not become a licence. */
export class SkippedRow extends Error {
  readonly reason: SkipReason;

  constructor(code: SkipCode, ...facts: string[]) {
    super(code);
    this.reason = [code, ...facts];
  }
}

/** The maximum size of a file. It is kept and read twice: then its dates' form and each licence's rows are known. */
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_ODD_LINES = 10_000;

export class SourceTable<F extends string> {
  readonly #rules: TableRules<F>;
  readonly #chunks: Buffer[];
  readonly #at: ReadonlyMap<F, number>;
  readonly #forms = new Map<F, DateForm>();
  /** the names in the heading */
  readonly names: readonly string[];
  /** the first lines whose number of cells differs from the heading */
  readonly oddLines: number[] = [];

  private constructor(
    rules: TableRules<F>,
    chunks: Buffer[],
    names: readonly string[],
    at: ReadonlyMap<F, number>,
  ) {
    this.#rules = rules;
    this.#chunks = chunks;
    this.names = names;
    this.#at = at;
  }

  /**
   * Opens a table. @param note called for each row that has as many cells as the heading
   * @throws OperatorError when a column is missing, or when the caller must state the form of dates
   */
  static async open<F extends string>(
    file: AsyncIterable<Buffer> | undefined,
    rules: TableRules<F>,
    note: (row: SourceRow<F>, table: SourceTable<F>) => void,
  ): Promise<SourceTable<F>> {
    if (file === undefined) throw importError('no-file', [rules.title], { field: 'file' });
    const chunks = await hold(file, rules.part);
    let table: SourceTable<F> | undefined;
    const dates = new Map<F, DateColumn>();
    for await (const row of readCsv(replay(chunks), rules.part)) {
      if (table === undefined) {
        table = new SourceTable(rules, chunks, row.cells, findColumns(row.cells, rules));
        for (const field of Object.keys(rules.dates) as F[])
          if (table.has(field)) dates.set(field, new DateColumn(table.nameOf(field)));
        continue;
      }
      if (!table.#isWhole(row)) {
        if (table.oddLines.length < MAX_ODD_LINES) table.oddLines.push(row.line);
        continue;
      }
      const read = new SourceRow(table, row);
      for (const [field, column] of dates) {
        const text = read.text(field);
        if (!isLifetime(text)) column.note(text);
      }
      note(read, table);
    }
    if (table === undefined) throw importError('empty-file', [], { field: rules.part ?? 'file' });
    for (const [field, column] of dates) table.#forms.set(field, column.form(rules.asked));
    return table;
  }

  has(field: F): boolean {
    return this.#at.has(field);
  }

  nameOf(field: F): string {
    return this.names[this.#at.get(field) ?? -1]?.trim() ?? '';
  }

  cellOf(row: CsvRow, field: F): string {
    return row.cells[this.#at.get(field) ?? -1] ?? '';
  }

  /** Parses a date of a column. @throws SkippedRow for a text that does not have the column's form */
  dateOf(text: string, field: F): Date {
    const edge = this.#rules.dates[field] ?? 'first';
    // Dates with the year first, and unix seconds, are unambiguous.
    const date =
      readDate(text, this.#forms.get(field) ?? 'iso', edge) ??
      readDate(text, 'iso', edge) ??
      readDate(text, 'unix', edge);
    if (date === undefined) throw new SkippedRow('no-date', this.nameOf(field));
    return date;
  }

  /** Yields all rows; undefined for a row whose number of cells differs from the heading. */
  async *rows(): AsyncGenerator<{ line: number; row: SourceRow<F> | undefined }> {
    let isHeading = true;
    for await (const row of readCsv(replay(this.#chunks))) {
      if (!isHeading)
        yield { line: row.line, row: this.#isWhole(row) ? new SourceRow(this, row) : undefined };
      isHeading = false;
    }
  }

  #isWhole({ cells }: CsvRow): boolean {
    return cells.length >= this.names.length && cells.slice(this.names.length).every((cell) => !cell.trim());
  }
}

export class SourceRow<F extends string> {
  readonly #table: SourceTable<F>;
  readonly #row: CsvRow;

  constructor(table: SourceTable<F>, row: CsvRow) {
    this.#table = table;
    this.#row = row;
  }

  get line(): number {
    return this.#row.line;
  }

  /** Returns a cell's text; empty for a system's word for an empty cell, or without the column. */
  text(field: F): string {
    return cellText(this.#table.cellOf(this.#row, field));
  }

  /** Returns a cell's date; undefined if it is empty. @throws SkippedRow */
  date(field: F): Date | undefined {
    const text = this.text(field);
    return text === '' || text === '0' ? undefined : this.#table.dateOf(text, field);
  }

  /** Returns a cell's end; null if it never ends, which an empty cell means too. @throws SkippedRow */
  end(field: F): Date | null {
    const text = this.text(field);
    return isLifetime(text) ? null : this.#table.dateOf(text, field);
  }

  /** Returns a cell's limit; undefined if it is empty, 0 for any number. @throws SkippedRow */
  limit(field: F): number | undefined {
    const limit = parseSiteLimit(this.text(field));
    if (limit === null) throw new SkippedRow('no-number', this.#table.nameOf(field));
    return limit;
  }

  isSet(field: F): boolean {
    return ['1', 'true', 'yes', 'ja', 'wahr'].includes(this.text(field).toLowerCase());
  }

  /** Reports whether the cell means no, which an empty cell does not. */
  isDenied(field: F): boolean {
    return ['0', 'false', 'no', 'nein', 'falsch'].includes(this.text(field).toLowerCase());
  }

  /** Returns a cell's status. @param own the system's words whose meaning differs from other systems' @throws SkippedRow */
  status(field: F, own: Record<string, SourceLicense['status']>): SourceLicense['status'] | undefined {
    const text = this.text(field).toLowerCase();
    const status = Object.hasOwn(own, text) ? own[text] : readStatus(text);
    if (status === undefined && text !== '') throw new SkippedRow('unknown-state', this.#table.nameOf(field));
    return status;
  }
}

/** Parses a number of sites: undefined if it is empty, 0 for any number, null if it is not a number. */
export function parseSiteLimit(text: string): number | undefined | null {
  if (text === '') return undefined;
  if (UNLIMITED.has(text.toLowerCase())) return 0;
  return /^\d{1,10}$/.test(text) && Number(text) <= MAX_UINT32 ? Number(text) : null;
}

const UNLIMITED = new Set(['-1', '∞', 'unlimited', 'unbegrenzt', 'unendlich']);
const LIFETIME = new Set([
  ...['', '0', 'lifetime', 'lebenslang', 'unbefristet', 'nie', 'unlimited', 'unbegrenzt', 'perpetual'],
  ...['0000-00-00', '0000-00-00 00:00:00', '00.00.0000'],
]);

function isLifetime(text: string): boolean {
  return LIFETIME.has(text.toLowerCase());
}

/** Returns the id of a row in an export without ids: it identifies the key without containing it. */
export function referenceFromKey(key: string): string {
  return `key-${keyDigest(canonicalKey(key)).slice(0, 16)}`;
}

export function isIdOfKey(id: string): boolean {
  return id.startsWith('key-');
}

/** The maximum number of a licence's sites. More are a mistake, and would be inserted at once. */
const MAX_SITES = 2_000;

/**
 * Splits a cell with sites. Blanks separate only addresses, because the name of a device may contain blanks.
 * @throws SkippedRow for too many sites
 */
export function sitesOf(text: string): string[] {
  const parts = text.split(/[\s,;|]+/);
  if (parts.length > MAX_SITES) throw new SkippedRow('many-sites', String(MAX_SITES));
  return text.split(/[\n,;|]+/).flatMap((part) => {
    const words = part.split(/\s+/).filter((word) => word !== '');
    return words.every((word) => word.includes('.') || word === 'localhost') ? words : [words.join(' ')];
  });
}

async function hold(file: AsyncIterable<Buffer>, part: CsvPart = 'file'): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of file) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BYTES) throw importError('large-file', [], { field: part });
  }
  return chunks;
}

async function* replay(chunks: Buffer[]): AsyncGenerator<Buffer, void> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

/** Finds the columns. The first of several equal names counts, because a seller's own fields follow the system's. */
function findColumns<F extends string>(
  heading: string[],
  { title, columns, needed, part, foreign = [] }: TableRules<F>,
): Map<F, number> {
  if (typeof columns === 'function') return columns(heading);
  const names = heading.map(plain);
  const found = new Map<F, number>();
  for (const field of Object.keys(columns) as F[]) {
    const at = columns[field].map((name) => names.indexOf(plain(name))).find((index) => index !== -1);
    if (at !== undefined) found.set(field, at);
  }
  const other = foreign.find((name) => names.includes(plain(name)));
  if (other !== undefined) throw importError('foreign-column', [title, other], { field: 'file' });
  const missing = needed.filter((fields) => !fields.some((field) => found.has(field)));
  // Do not show the heading: in a table without one, the first line contains a key.
  if (missing.length > 0) {
    const names = missing.map((fields) => fields.map((field) => `"${columns[field][0] ?? field}"`).join('|'));
    throw part === 'users'
      ? importError('other-people', names, { field: 'users' })
      : importError('other-table', [title, ...names], { field: 'file' });
  }
  return found;
}
