import { canonicalKey, keyDigest } from '../../licensing/core/keys';
import { MAX_UINT32 } from '../../licensing/core/columns';
import { readStatus, textOf } from '../cells';
import { readCsv, type CsvPart, type CsvRow } from '../csv';
import { refusal } from '../refusals';
import { DateColumn, readDate, type Edge } from './dates';
import type { LeftOutCode, LeftOutReason } from './sayings';
import type { DateForm, SourceLicense } from './source';

/** A former system's table as a file: columns by the names that its exporter gives them, and cells as what they mean. */

/** By field, the names that the column goes by; the exporter's own first. Case, blanks and signs do not count. */
export type ColumnNames<F extends string> = Record<F, readonly string[]>;

export interface TableRules<F extends string> {
  /** of the system, for messages */
  title: string;
  /** a function where the columns have names of their own */
  columns: ColumnNames<F> | ((heading: string[]) => Map<F, number>);
  /** without these the table is another one; one of each list is enough */
  needed: readonly (readonly F[])[];
  /** columns of another system that has the needed ones as well */
  foreign?: readonly string[];
  /** columns with dates, and the second of the day that one without a time means */
  dates: Partial<Record<F, Edge>>;
  asked: DateForm | undefined;
  /** the second table of a move; undefined: the first one */
  part?: CsvPart;
}

/** A row that becomes no licence. */
export class LeftOut extends Error {
  readonly reason: LeftOutReason;

  constructor(code: LeftOutCode, ...facts: string[]) {
    super(code);
    this.reason = [code, ...facts];
  }
}

/** A file is read twice: the second time its dates' form is known, and which rows belong together. */
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_ODD_LINES = 10_000;

export class FormerTable<F extends string> {
  readonly #rules: TableRules<F>;
  readonly #chunks: Buffer[];
  readonly #at: ReadonlyMap<F, number>;
  readonly #forms = new Map<F, DateForm>();
  /** the heading */
  readonly names: readonly string[];
  /** lines of rows with another number of cells, the first ones */
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
   * @param note called for each row that has as many cells as the heading
   * @throws OperatorError when a column is missing, or a form of dates has to be asked for
   */
  static async open<F extends string>(
    file: AsyncIterable<Buffer> | undefined,
    rules: TableRules<F>,
    note: (row: FormerRow<F>, table: FormerTable<F>) => void,
  ): Promise<FormerTable<F>> {
    if (file === undefined) throw refusal('no-file', [rules.title], { field: 'file' });
    const chunks = await hold(file, rules.part);
    let table: FormerTable<F> | undefined;
    const dates = new Map<F, DateColumn>();
    for await (const row of readCsv(replay(chunks), rules.part)) {
      if (table === undefined) {
        table = new FormerTable(rules, chunks, row.cells, findColumns(row.cells, rules));
        for (const field of Object.keys(rules.dates) as F[])
          if (table.has(field)) dates.set(field, new DateColumn(table.nameOf(field)));
        continue;
      }
      if (!table.#isWhole(row)) {
        if (table.oddLines.length < MAX_ODD_LINES) table.oddLines.push(row.line);
        continue;
      }
      const read = new FormerRow(table, row);
      for (const [field, column] of dates) {
        const text = read.text(field);
        if (!isLifetime(text)) column.note(text);
      }
      note(read, table);
    }
    if (table === undefined) throw refusal('empty-file', [], { field: rules.part ?? 'file' });
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

  /** @throws LeftOut when the text is no date of the column's form */
  dateOf(text: string, field: F): Date {
    const edge = this.#rules.dates[field] ?? 'first';
    // Dates with the year first, and unix seconds, can be read in one way only.
    const date =
      readDate(text, this.#forms.get(field) ?? 'iso', edge) ??
      readDate(text, 'iso', edge) ??
      readDate(text, 'unix', edge);
    if (date === undefined) throw new LeftOut('no-date', this.nameOf(field));
    return date;
  }

  /** All rows; undefined in the place of one that has another number of cells than the heading. */
  async *rows(): AsyncGenerator<{ line: number; row: FormerRow<F> | undefined }> {
    let isHeading = true;
    for await (const row of readCsv(replay(this.#chunks))) {
      if (!isHeading)
        yield { line: row.line, row: this.#isWhole(row) ? new FormerRow(this, row) : undefined };
      isHeading = false;
    }
  }

  #isWhole({ cells }: CsvRow): boolean {
    return cells.length >= this.names.length && cells.slice(this.names.length).every((cell) => !cell.trim());
  }
}

export class FormerRow<F extends string> {
  readonly #table: FormerTable<F>;
  readonly #row: CsvRow;

  constructor(table: FormerTable<F>, row: CsvRow) {
    this.#table = table;
    this.#row = row;
  }

  get line(): number {
    return this.#row.line;
  }

  /** Empty for what systems write for nothing, and where there is no such column. */
  text(field: F): string {
    return textOf(this.#table.cellOf(this.#row, field));
  }

  /** undefined: empty. @throws LeftOut */
  date(field: F): Date | undefined {
    const text = this.text(field);
    return text === '' || text === '0' ? undefined : this.#table.dateOf(text, field);
  }

  /** null: for life, as an empty cell is. @throws LeftOut */
  end(field: F): Date | null {
    const text = this.text(field);
    return isLifetime(text) ? null : this.#table.dateOf(text, field);
  }

  /** undefined: empty; 0: any number. @throws LeftOut */
  limit(field: F): number | undefined {
    const limit = limitOf(this.text(field));
    if (limit === null) throw new LeftOut('no-number', this.#table.nameOf(field));
    return limit;
  }

  isSet(field: F): boolean {
    return ['1', 'true', 'yes', 'ja', 'wahr'].includes(this.text(field).toLowerCase());
  }

  /** Whether the cell says no, which an empty one does not. */
  isDenied(field: F): boolean {
    return ['0', 'false', 'no', 'nein', 'falsch'].includes(this.text(field).toLowerCase());
  }

  /** @param own what the system's words mean where it uses them otherwise than others. @throws LeftOut */
  status(field: F, own: Record<string, SourceLicense['status']>): SourceLicense['status'] | undefined {
    const text = this.text(field).toLowerCase();
    const status = Object.hasOwn(own, text) ? own[text] : readStatus(text);
    if (status === undefined && text !== '') throw new LeftOut('unknown-state', this.#table.nameOf(field));
    return status;
  }
}

/** Of sites: undefined: empty; 0: any number; null: no number. */
export function limitOf(text: string): number | undefined | null {
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

/** For a reference where the export has no ids: which key it is, without the key. */
export function idOfKey(key: string): string {
  return `key-${keyDigest(canonicalKey(key)).slice(0, 16)}`;
}

export function isIdOfKey(id: string): boolean {
  return id.startsWith('key-');
}

/** More of a licence are a mistake, and would be inserted in one go. */
const MAX_SITES = 2_000;

/**
 * Splits a cell with sites: also at blanks between addresses, which the name of a device may have.
 * @throws LeftOut when there are too many
 */
export function sitesOf(text: string): string[] {
  const parts = text.split(/[\s,;|]+/);
  if (parts.length > MAX_SITES) throw new LeftOut('many-sites', String(MAX_SITES));
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
    if (length > MAX_BYTES) throw refusal('large-file', [], { field: part });
  }
  return chunks;
}

async function* replay(chunks: Buffer[]): AsyncGenerator<Buffer, void> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

/** The first column of a name counts: sellers' own fields, which may have the same, stand behind. */
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
  if (other !== undefined) throw refusal('foreign-column', [title, other], { field: 'file' });
  const missing = needed.filter((fields) => !fields.some((field) => found.has(field)));
  // The heading itself is not shown: without one, the first line has a key.
  if (missing.length > 0) {
    const names = missing.map((fields) => fields.map((field) => `"${columns[field][0] ?? field}"`).join('|'));
    throw part === 'users'
      ? refusal('other-people', names, { field: 'users' })
      : refusal('other-table', [title, ...names], { field: 'file' });
  }
  return found;
}
