import { quantity } from '../quantity';
import { normalizeIdentifier } from '../licensing/core/identifiers';
import { EMAIL_EXPECTED, findEmail } from '../licensing/customer-email';
import { requireKey } from '../licensing/issue';
import { foldedDigest, keyDigest, LEAST_KEY } from '../licensing/core/keys';
import {
  MAX_METADATA_NAMES,
  MAX_METADATA_TEXT,
  requireMetadataChange,
  type Metadata,
} from '../licensing/metadata';
import { OperatorError } from '../licensing/operator-error';
import { findNamed } from '../licensing/find-or-refuse';
import type { StoredStatus } from '../licensing/core/states';
import { dayOf, parseMoment } from '../licensing/timestamps';
import type { Plan, Product } from '../store/catalogue';
import { MAX_LABEL_LENGTH, MAX_UINT32 } from '../store/columns';
import type { CsvRow } from './csv';
import { noteLine } from './lines';
import { refusal } from './refusals';

/** Reads another system's licences from table rows. Messages never repeat a cell, which may contain a key. */

export const CSV_FIELDS = [
  'key',
  'product',
  'plan',
  'status',
  'limit',
  'expiry',
  'customer',
  'reference',
  'activations',
] as const;
export type CsvField = (typeof CSV_FIELDS)[number];

const METADATA = 'metadata.';
/** What a column may fill: a field, or a name of the licence's metadata. */
export type CsvTarget = CsvField | `${typeof METADATA}${string}`;

export interface CsvTableOptions {
  /** column names in the heading, by field */
  map: Map<CsvTarget, string>;
  /** names of columns left out on purpose */
  ignore: string[];
  /** separates the activations in a cell; undefined: see `splitIdentifiers` */
  separator: string | undefined;
  /** id or name, for rows without one */
  product: string | undefined;
  plan: string | undefined;
  now: Date;
}

export interface CsvTable {
  options: CsvTableOptions;
  columns: Columns;
  width: number;
  /** names of columns neither mapped nor ignored */
  unmapped: string[];
  products: Product[];
  plans: Plan[];
  /** the lines of values that must be unique */
  digests: Map<string, number>;
  /** the first lines of keys, without regard to case and kinds of hyphens */
  folded: Map<string, number>;
  references: Map<string, number>;
}

type Columns = Map<CsvTarget, { at: number; name: string }>;

/** A valid row. Absent values are undefined. */
export interface Candidate {
  line: number;
  key: string;
  digest: string;
  /** undefined: the key has our own shape */
  folded: string | undefined;
  /** the line of the first key that differs in case or hyphens alone */
  twinLine: number | undefined;
  plan: Plan;
  status: StoredStatus | 'expired' | undefined;
  limit: number | undefined;
  expiresAt: Date | null | undefined;
  customer: string | null;
  reference: string | null;
  metadata: Metadata;
  identifiers: string[];
}

/** What is wrong with a row. */
export interface RowFault {
  /** null: it is not one field's */
  field: CsvTarget | null;
  text: string;
}

/** Why a text is no key, for those who word it themselves. */
export type KeyFault = 'no-key' | 'key-as-number' | 'key-too-short' | 'key-of-digits' | 'key-not-typed';

export class Fault {
  constructor(
    readonly text: string,
    readonly parts: RowFault[] = [{ field: null, text }],
    /** of a key that is none */
    readonly code?: KeyFault,
  ) {}
}

/** Reads a table's first line as its heading. @throws OperatorError when a column is missing or overlooked */
export function readHeading(
  heading: string[],
  { products, plans }: Pick<CsvTable, 'products' | 'plans'>,
  options: CsvTableOptions,
): CsvTable {
  const columns = findColumns(heading, options.map);
  const unmapped = findUnmapped(heading, columns, options.ignore);
  refuseOverlooked(unmapped, options.map);
  return {
    options,
    columns,
    width: heading.length,
    unmapped,
    products,
    plans,
    digests: new Map(),
    folded: new Map(),
    references: new Map(),
  };
}

/** Messages omit the names in the file: without a heading, its first line contains a key. */
function findColumns(heading: string[], map: Map<CsvTarget, string>): Columns {
  const names = heading.map((name) => name.trim());
  return new Map(
    [...map].map(([field, name]) => {
      const at = requireColumn(names, name);
      if (names.includes(names[at] as string, at + 1))
        throw refusal('column-twice', [name], { field: 'file' });
      return [field, { at, name }];
    }),
  );
}

function requireColumn(names: string[], name: string): number {
  const exact = names.indexOf(name);
  const at = exact === -1 ? names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) : exact;
  if (at === -1) throw refusal('no-column', [name, String(names.length)], { field: 'file' });
  return at;
}

/** These names may be shown: a line with all columns that the map names is a heading. */
function findUnmapped(heading: string[], columns: Columns, ignore: string[]): string[] {
  const names = heading.map((name) => name.trim());
  for (const name of ignore) requireColumn(names, name);
  const mapped = new Set([...columns.values()].map(({ at }) => at));
  const ignored = new Set(['', ...ignore.map((name) => name.toLowerCase())]);
  return names
    .filter((name, at) => !mapped.has(at) && !ignored.has(name.toLowerCase()))
    .map((name) => name.replace(/\p{Cc}/gu, '\uFFFD'));
}

/** Without these, a refunded licence would work, an expired licence would never end, or its owner would be unknown. */
const NEEDED: [CsvField, RegExp][] = [
  ['status', /stat(us|e)|zustand/i],
  ['expiry', /expir|until|ablauf|gültig bis|läuft ab/i],
  ['customer', /customer|e-?mail|kunde/i],
];

/** An import cannot be undone, so columns that look like these fields must be mapped or ignored explicitly. */
function refuseOverlooked(unmapped: string[], map: Map<CsvTarget, string>): void {
  const overlooked = NEEDED.filter(([field]) => !map.has(field)).flatMap(([field, pattern]) =>
    unmapped.filter((name) => pattern.test(name)).map((name) => ({ field, name })),
  );
  if (overlooked.length === 0) return;
  throw new OperatorError(
    `Nothing was imported: the map leaves out what licences may need: ${overlooked.map((one) => `${one.field} in column "${one.name}"`).join(', ')}.`,
    { code: 'INVALID_REQUEST', field: 'map', facts: { reason: 'overlooked-columns', columns: overlooked } },
  );
}

/** @returns the row's licence, or all its faults */
export function readRow(table: CsvTable, { line, cells }: CsvRow): Candidate | Fault {
  const { columns, width, options } = table;
  const faults: RowFault[] = [];
  const fault = (text: string, field: CsvTarget | null = null) => faults.push({ field, text });
  const cell = (field: CsvTarget) => textOf(cells[columns.get(field)?.at ?? -1] ?? '');
  const read = <T>(field: CsvTarget, reader: (text: string) => T | Fault): T | undefined => {
    const value = reader(cell(field));
    if (!(value instanceof Fault)) return value;
    const name = columns.get(field)?.name;
    fault(name === undefined ? value.text : `${name}: ${value.text}`, field);
    return undefined;
  };
  if (cells.length < width || cells.slice(width).some((extra) => extra.trim() !== ''))
    fault(`the row has ${quantity(cells.length, 'cell')}, and the first line ${quantity(width, 'column')}`);
  const key = read('key', readKey);
  const plan = read('plan', (text) => findRowPlan(table, text, cell('product')));
  const status = read('status', readStatus);
  const limit = read('limit', readLimit);
  const expiresAt = columns.has('expiry') ? read('expiry', readExpiry) : undefined;
  const customer = read('customer', readCustomer);
  const reference = read('reference', (text) => readLabel(text || null));
  const metadata: Metadata = {};
  for (const field of columns.keys()) {
    const name = metadataName(field);
    const text = name === undefined ? undefined : read(field, readMetadataText);
    if (name !== undefined && text) metadata[name] = text;
  }
  const identifiers = plan && read('activations', (text) => readIdentifiers(plan, text, options.separator));
  // Systems differ in whether a licence still works on its last day.
  if (status === 'expired' && expiresAt && dayOf(expiresAt) > dayOf(options.now))
    fault('the status says expired, and the date is in the future', 'status');
  const digest = key === undefined ? '' : keyDigest(key);
  if (key !== undefined) {
    const twin = noteLine(table.digests, digest, line);
    if (twin !== undefined) fault(`the key is the same as in line ${twin}`, 'key');
  }
  const folded = key === undefined ? undefined : foldedDigest(key);
  const twinLine = folded === undefined ? undefined : noteLine(table.folded, folded, line);
  if (reference) {
    const twin = noteLine(table.references, reference, line);
    if (twin !== undefined) fault(`the reference is the same as in line ${twin}`, 'reference');
  }
  if (faults.length > 0 || key === undefined || plan === undefined || identifiers === undefined)
    return new Fault(faults.map(({ text }) => text).join('; '), faults);
  return {
    line,
    key,
    digest,
    folded,
    twinLine,
    plan,
    status,
    limit,
    expiresAt,
    customer: customer ?? null,
    reference: reference ?? null,
    metadata,
    identifiers,
  };
}

/** What systems write for nothing, in any column. */
const EMPTY = new Set(['null', '\\n', '-', '–', '—', 'n/a', 'none', 'never', 'undefined']);

/** A cell's text. Tables for spreadsheets have an apostrophe before what would be a formula. */
export function textOf(cell: string): string {
  const text = cell.trim().replace(/^'(?=[=+\-@])/, '');
  return EMPTY.has(text.toLowerCase()) ? '' : text;
}

/** A number as a spreadsheet shows it: the key's digits are lost. */
const SHOWN_NUMBER = /^[+-]?(?:\d+[.,]\d+|\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|\d(?:[.,]\d+)?e[+-]\d+)$/i;
/** Fewer digits are an id or an amount. */
const LEAST_DIGITS = 12;

function keyFault(code: KeyFault, text: string): Fault {
  return new Fault(text, undefined, code);
}

/** Refuses what stands in a column of keys and is none: anybody could guess it. */
function faultOfKey(key: string): Fault | undefined {
  if (SHOWN_NUMBER.test(key))
    return keyFault(
      'key-as-number',
      'this is no key: it is a number as a spreadsheet shows it. Export the table again, with the column as text',
    );
  if (Array.from(key).length < LEAST_KEY)
    return keyFault('key-too-short', `this is no key: it has fewer than ${LEAST_KEY} characters`);
  if (/^\d+$/.test(key) && key.length < LEAST_DIGITS)
    return keyFault('key-of-digits', `this is no key: it has digits alone, and fewer than ${LEAST_DIGITS}`);
  return undefined;
}

/** @returns the canonical key; a fault's text never repeats it */
export function readKey(text: string): string | Fault {
  if (text === '') return keyFault('no-key', 'there is no key');
  try {
    const key = requireKey(text);
    return faultOfKey(key) ?? key;
  } catch (error) {
    if (error instanceof OperatorError)
      return keyFault(
        'key-not-typed',
        'this is no key: it is longer than 350 bytes, or has characters that cannot be typed',
      );
    throw error;
  }
}

function findRowPlan(table: CsvTable, planText: string, productText: string): Plan | Fault {
  const { products, plans, options } = table;
  const [plan, product] = [planText || options.plan, productText || options.product];
  if (plan === undefined) return new Fault('there is no plan');
  const found = product === undefined ? undefined : findNamed(products, product);
  if (product !== undefined && found === undefined)
    return new Fault(`there is no product of this id or name; there ${theyAre(products)}`);
  const possible = found ? plans.filter(({ productId }) => productId === found.id) : plans;
  return (
    findNamed(possible, plan) ??
    new Fault(
      found
        ? `product ${found.id} has no plan, or several, of this id or name; there ${theyAre(possible)}`
        : `there is no plan of this id, and no single one of this name; there ${theyAre(possible)}`,
    )
  );
}

const MAX_NAMED = 5;

function theyAre(all: { id: number; name: string }[]): string {
  const named = all.slice(0, MAX_NAMED).map(({ id, name }) => `${name} (${id})`);
  const more = all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : '';
  return named.length === 0 ? 'are none' : `${named.length === 1 ? 'is' : 'are'} ${named.join(', ')}${more}`;
}

/** Other systems' names of states. A temporary state is never read as a final one. */
const STATUSES: Record<StoredStatus | 'expired', string[]> = {
  active: [
    ...['active', 'activated', 'enabled', 'valid', 'ok', 'delivered', 'sold', 'paid', '1', 'yes', 'true'],
    ...['aktiv', 'aktiviert', 'gültig', 'bezahlt', 'verkauft', 'ja'],
  ],
  expired: ['expired', 'abgelaufen'],
  suspended: [
    'suspended',
    'inactive',
    'disabled',
    'deactivated',
    'paused',
    'blocked',
    'on-hold',
    'on hold',
    '0',
    'no',
    'false',
    ...['inaktiv', 'deaktiviert', 'gesperrt', 'pausiert', 'nein'],
  ],
  revoked: ['revoked', 'banned', 'terminated', 'widerrufen', 'entzogen'],
  cancelled: ['cancelled', 'canceled', 'refunded', 'storniert', 'erstattet'],
};
const STATUS_BY_SPELLING = new Map(
  Object.entries(STATUSES).flatMap(([status, spellings]) =>
    spellings.map((spelling) => [spelling, status as StoredStatus | 'expired'] as const),
  ),
);

export function readStatus(text: string): StoredStatus | 'expired' | undefined | Fault {
  if (text === '') return undefined;
  return (
    STATUS_BY_SPELLING.get(text.toLowerCase()) ??
    new Fault('this status is not known; active, expired, suspended, revoked and cancelled are')
  );
}

function readLimit(text: string): number | undefined | Fault {
  if (text === '') return undefined;
  if (text === '-1' || text === '∞' || text.toLowerCase() === 'unlimited') return 0;
  return /^\d{1,10}$/.test(text) && Number(text) <= MAX_UINT32
    ? Number(text)
    : new Fault('the limit must be a whole number, 0 or "unlimited" for no limit');
}

const LIFETIME = new Set([
  '',
  '0',
  'lifetime',
  'lebenslang',
  'unbefristet',
  '0000-00-00',
  '0000-00-00 00:00:00',
]);

/** Without a zone: UTC. Without a time: the end of the day. null: lifetime */
function readExpiry(text: string): Date | null | Fault {
  if (LIFETIME.has(text.toLowerCase())) return null;
  try {
    return parseMoment(text, 'last', 'utc');
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return new Fault('this is no date as 2027-01-31 or 2027-01-31 12:00:00 (empty for lifetime)');
  }
}

function readCustomer(text: string): string | null | Fault {
  return text === '' ? null : (findEmail(text) ?? new Fault(`the customer must be ${EMAIL_EXPECTED}`));
}

function readLabel(text: string | null): string | null | Fault {
  if (text === null) return null;
  return Array.from(text).length <= MAX_LABEL_LENGTH && !/\p{Cc}/u.test(text)
    ? text
    : new Fault(`the text has more than ${MAX_LABEL_LENGTH} characters, or more than one line`);
}

/**
 * Reads `field=Column,...`.
 * @param before earlier parts, which are added to
 * @throws OperatorError for an unknown field, or one that is there twice
 */
export function readCsvMap(text: string, before = new Map<CsvTarget, string>()): Map<CsvTarget, string> {
  const wrong = (message: string) => new OperatorError(message, { code: 'INVALID_REQUEST', field: 'map' });
  for (const part of text.split(',')) {
    const [, field = '', column = ''] = /^\s*([a-z]+(?:\.[^=\s]*)?)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    const isField = (CSV_FIELDS as readonly string[]).includes(field);
    if ((!isField && metadataName(field) === undefined) || column === '')
      throw wrong(`It must be FIELD=COLUMN, with commas between; the fields are ${CSV_FIELDS.join(', ')}.`);
    if (before.has(field as CsvTarget)) throw wrong(`${field} is there twice.`);
    before.set(field as CsvTarget, column);
  }
  if ([...before.keys()].filter(metadataName).length > MAX_METADATA_NAMES)
    throw wrong(`A licence has at most ${MAX_METADATA_NAMES} names in its metadata.`);
  return before;
}

/** The name of the licence's metadata that a column fills. @throws OperatorError when it cannot be one */
function metadataName(target: string): string | undefined {
  return target.startsWith(METADATA)
    ? requireMetadataChange(target.slice(METADATA.length), null)[0]
    : undefined;
}

function readMetadataText(text: string): string | null | Fault {
  try {
    return requireMetadataChange('text', text)[1];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return new Fault(
      `the text has more than ${MAX_METADATA_TEXT} characters, more than one line, or a licence key`,
    );
  }
}

function readIdentifiers(plan: Plan, text: string, separator: string | undefined): string[] | Fault {
  const type = plan.activationType;
  const identifiers = new Set<string>();
  for (const [index, part] of splitIdentifiers(type, text, separator).entries()) {
    const identifier = normalizeIdentifier(type, part);
    if (identifier === undefined || /\p{Cc}/u.test(identifier))
      return new Fault(`number ${index + 1} is no valid ${type}`);
    identifiers.add(identifier);
  }
  return [...identifiers];
}

/** Split at line breaks and `|`; domains also at commas and semicolons, which no domain contains. */
function splitIdentifiers(type: string, text: string, separator: string | undefined): string[] {
  const parts = text.split(separator ?? (type === 'domain' ? /[\n|,;]/ : /[\n|]/));
  return parts.map(textOf).filter((part) => part !== '');
}
