import type { Static, TProperties, TSchema } from '@sinclair/typebox';
import { formatTimestamp } from '../base/days';
import type { Includes } from '../licensing/bundles';
import { DURATION } from '../licensing/durations';
import { CVE, isHttpsUrl, MAX_ADVISORY_LENGTH, MAX_CVES, MONTH } from '../licensing/fields';
import { isMetadata, readMetadata, storedMetadata, type Metadata } from '../licensing/metadata';
import { STORED_STATUSES } from '../licensing/core/states';
import { isStorable } from '../licensing/timestamps';
import {
  MAX_IDENTIFIER_LENGTH,
  MAX_LABEL_LENGTH,
  MAX_UINT32,
  MAX_URL_LENGTH,
  MAX_USER_AGENT_LENGTH,
} from '../licensing/core/columns';
import { PLAN, PRODUCT } from '../store/columns/catalogue';
import { kindOf, type Kind } from '../store/columns/kinds';
import type { TableName } from '../store/engine/database';
import { readCves, storedCves } from '../store/engine/row-fields';
import type { Row, SqlValue, TableLayout } from '../store/export';
import { RELEASE_STATES, FULL_ROLLOUT } from '../store/releases';
import { MAX_SBOM_BYTES } from '../packages/sbom';

/** The fields of an export file (docs/export-format.md), and their columns in the database. */

export const FORMAT = 'licensing-gateway export';
/** The format's version, which each change of the fields raises. */
export const FORMAT_VERSION = 11;

const MAX_SETTING_LENGTH = 400_000;

interface Field<T> {
  /** a description of the allowed values */
  expected: string;
  fits(value: unknown): value is T;
  toSql(value: T): SqlValue;
  fromSql(value: SqlValue): T;
  /** rows of another table, which belong to the record's own row */
  isList?: true;
}

/** A row, with the rows of a licence's keys, or of an order's lines, events and licences. */
export type RowWithChildren = Record<string, SqlValue | Row[]>;

interface RecordLayout<F> {
  table: TableName;
  fields: F;
  /** columns whose names differ from those of the fields */
  columns: Record<string, string>;
  /** the fields that sort the records, ascending */
  order: readonly string[];
}

const smallId = integer(1, MAX_UINT32);
const id = integer(1, Number.MAX_SAFE_INTEGER);
const count = integer(0, MAX_UINT32);
const bigCount = integer(0, Number.MAX_SAFE_INTEGER);

const KEY = record('license_keys', ['id'], {
  id,
  key_digest: hex(64),
  key_hint: nullable(text(16)),
  key_start: nullable(matching(/^[0-9A-F]{6}$/, '6 hexadecimal digits')),
  folded_digest: nullable(hex(64)),
  key_sealed: nullable(matching(/^[A-Za-z0-9+/=]{1,512}$/, 'base64 of at most 512 characters')),
  label: nullable(text(MAX_LABEL_LENGTH)),
  activation_limit: nullable(integer(1, MAX_UINT32)),
  ends_at: nullable(time()),
  replaced_by: nullable(id),
  created_at: time(),
});

const ORDER_LINE = record(
  'order_lines',
  ['id'],
  {
    id,
    line: text(100, 1),
    sku: nullable(text(MAX_LABEL_LENGTH, 1)),
    plan_id: nullable(smallId),
    quantity: integer(1, MAX_UINT32),
    renews: nullable(orderOrLicense()),
    waits_for: nullable(ascii(32)),
    awaited: nullable(hex(64)),
  },
  { renews: 'renews_json' },
);

const ORDER_EVENT = record(
  'order_events',
  ['id'],
  {
    id,
    event: ascii(32),
    event_id: nullable(text(MAX_LABEL_LENGTH, 1)),
    identity: hex(64),
    at: time(),
    at_ms: integer(0, 999),
    received_at: time(),
    actor: text(MAX_LABEL_LENGTH),
    partial: flag(),
    payment: nullable(text(MAX_LABEL_LENGTH, 1)),
    renews_itself: nullable(flag()),
    reduced: nullable(ascii(16)),
    grace_days: count,
    test: flag(),
    effect: ascii(16),
    lines: nullable(array()),
    amount: nullable(bigCount),
    currency: nullable(ascii(3)),
    outcomes: nullable(array()),
  },
  { test: 'is_test', lines: 'lines_json', outcomes: 'outcome_json' },
);

const ORDER_LICENSE = record(
  'order_licenses',
  ['id'],
  {
    id,
    line_id: id,
    license_id: id,
    role: oneOf(['issued', 'renewed']),
    state: oneOf(['active', 'suspended', 'cancelled', 'taken_back']),
    base_ends_at: nullable(time()),
    plans: object(),
  },
  { plans: 'plans_json' },
);

export const RECORDS = {
  product: record(
    'products',
    ['id'],
    { ...exported(PRODUCT), includes: includes(), update_xml: nullable(object()) },
    { includes: 'includes_all' },
  ),
  plan: record('plans', ['id'], exported(PLAN)),
  release: record('releases', ['id'], {
    id: smallId,
    product_id: smallId,
    version: ascii(64),
    state: oneOf(RELEASE_STATES),
    changelog: text(4_000_000),
    rollout: integer(1, FULL_ROLLOUT),
    security: flag(),
    notified_at: nullable(time()),
    published_at: nullable(time()),
    // The name is sent in a header unescaped, and Joomla unpacks by its extension.
    file_name: matching(
      /^[A-Za-z0-9._+-]{1,251}\.zip$/,
      'a name of letters, digits, ".", "_", "+" and "-" that ends in .zip, of at most 255 characters',
    ),
    file_size: bigCount,
    sha256: hex(64),
    sha384: hex(96),
    sha512: hex(128),
    created_at: time(),
    advisory: nullable(text(MAX_ADVISORY_LENGTH, 1)),
    cve: cveNames(),
    same_fix_as: nullable(smallId),
  }),
  sbom: record(
    'release_sboms',
    ['id'],
    {
      id: smallId,
      release_id: smallId,
      format: ascii(32),
      origin: oneOf(['given', 'generated']),
      // The export unpacks the column, and the import packs it again.
      json: text(MAX_SBOM_BYTES, 1),
      created_at: time(),
    },
    { json: 'packed' },
  ),
  license: record('licenses', ['id'], {
    id,
    main_key_id: id,
    keys: list<KeyRecord>('key'),
    plan_id: smallId,
    status: oneOf(STORED_STATUSES),
    activation_limit: count,
    customer: nullable(text(MAX_LABEL_LENGTH)),
    reference: nullable(text(MAX_LABEL_LENGTH)),
    expires_at: nullable(time()),
    last_check_at: nullable(time()),
    last_check_ip: nullable(ascii(45)),
    check_count: bigCount,
    created_at: time(),
    metadata: metadata(),
    revision: bigCount,
    issued_by: nullable(tokenName()),
    grace_days: count,
    renews_itself: flag(),
    all_returned: flag(),
  }),
  shop: record(
    'shops',
    ['id'],
    {
      id: smallId,
      name: matching(/^[a-z0-9_-]{1,40}$/, '1 to 40 characters of a-z, 0-9, _ and -'),
      kind: ascii(16),
      secret_sealed: nullable(matching(/^[A-Za-z0-9+/=]{1,2048}$/, 'base64 of at most 2048 characters')),
      test: flag(),
      test_plan_id: nullable(smallId),
      rules: nullable(object()),
      owner: nullable(tokenName()),
      mail: nullable(oneOf(['key', 'none'])),
      api_key_sealed: nullable(matching(/^[A-Za-z0-9+/=]{1,2048}$/, 'base64 of at most 2048 characters')),
      site_url: nullable(webAddress()),
      caught_up_until: nullable(time()),
      caught_up_at: nullable(time()),
      grace_days: nullable(count),
      billing_url: nullable(webAddress()),
      created_by: nullable(text(MAX_LABEL_LENGTH)),
      created_at: time(),
    },
    { test: 'is_test', rules: 'rules_json' },
  ),
  sku: record('shop_skus', ['id'], {
    id: smallId,
    shop: ascii(40),
    sku: text(MAX_LABEL_LENGTH, 1),
    awaited: hex(64),
    plan_id: smallId,
    quantity: oneOf(['licenses', 'slots']),
    created_at: time(),
  }),
  order: record(
    'orders',
    ['id'],
    {
      id,
      shop: ascii(40),
      number: text(100, 1),
      digest: hex(64),
      owner: nullable(tokenName()),
      own_only: flag(),
      customer: nullable(text(MAX_LABEL_LENGTH)),
      customer_name: nullable(text(MAX_LABEL_LENGTH)),
      language: nullable(ascii(8)),
      mail: nullable(oneOf(['key', 'none'])),
      test: flag(),
      state: oneOf(['done', 'waiting', 'failed']),
      failure: nullable(text(MAX_LABEL_LENGTH)),
      failed_at: nullable(time()),
      retry_at: nullable(time()),
      confirmed_at: nullable(time()),
      created_at: time(),
      lines: list<OrderLineRecord>('order_line', 0),
      events: list<OrderEventRecord>('order_event', 0),
      licenses: list<OrderLicenseRecord>('order_license', 0),
    },
    { test: 'is_test' },
  ),
  shop_link: record('shop_links', ['id'], {
    id,
    shop: ascii(40),
    digest: hex(64),
    kind: oneOf(['order', 'key', 'customer']),
    target: nullable(text(MAX_LABEL_LENGTH, 1)),
    paid: nullable(bigCount),
    currency: nullable(ascii(3)),
    created_at: time(),
  }),
  customer: record('customers', ['id'], {
    id,
    digest: hex(32),
    address: text(MAX_LABEL_LENGTH, 1),
    name: nullable(text(MAX_LABEL_LENGTH)),
    language: nullable(ascii(8)),
    told_at: nullable(time()),
    chosen_name: nullable(text(MAX_LABEL_LENGTH)),
    chosen_language: nullable(ascii(8)),
    note: nullable(text(1_000)),
  }),
  activation: record('activations', ['license_id', 'identifier'], {
    id,
    license_id: id,
    identifier: text(MAX_IDENTIFIER_LENGTH, 1),
    name: nullable(text(MAX_LABEL_LENGTH)),
    ip: nullable(ascii(45)),
    key_id: nullable(id),
    free: flag(),
    site: nullable(text(255)),
    activated_at: time(),
    held_until: nullable(time()),
  }),
  event: record(
    'events',
    ['license_id', 'at', 'id'],
    {
      id,
      license_id: id,
      at: time(),
      actor: text(MAX_LABEL_LENGTH),
      action: ascii(32),
      before: nullable(object()),
      after: nullable(object()),
      times: integer(1, MAX_UINT32),
      last_at: nullable(time()),
    },
    { before: 'before_json', after: 'after_json' },
  ),
  access: record('access_log', ['at', 'id'], {
    id,
    at: time(),
    endpoint: ascii(16),
    outcome: ascii(32),
    license_id: nullable(id),
    key_id: nullable(id),
    key_hint: nullable(text(16)),
    product_id: nullable(bigCount),
    version: nullable(text(64)),
    identifier: nullable(text(MAX_IDENTIFIER_LENGTH)),
    ip: nullable(ascii(45)),
    user_agent: nullable(text(MAX_USER_AGENT_LENGTH)),
    site: nullable(text(MAX_IDENTIFIER_LENGTH)),
    installed_version: nullable(ascii(64)),
    times: integer(1, MAX_UINT32),
    last_at: nullable(time()),
  }),
  signing_key: record('signing_keys', ['id'], {
    id: smallId,
    kid: matching(/^[A-Za-z0-9_-]{1,32}$/, 'a name of at most 32 letters, digits, "-" and "_"'),
    x: matching(/^[A-Za-z0-9_-]{43}$/, '32 bytes in base64url'),
    sealed: nullable(matching(/^[A-Za-z0-9+/=]{1,255}$/, 'base64 of at most 255 characters')),
    token_days: count,
    created_by: text(MAX_LABEL_LENGTH),
    created_at: time(),
    retired_by: nullable(text(MAX_LABEL_LENGTH)),
    retired_at: nullable(time()),
    compromised: flag(),
  }),
  /** without the mail server */
  setting: record('settings', ['id'], {
    id: smallId,
    name: ascii(64),
    // A picture of 256 KiB in base64.
    value: text(MAX_SETTING_LENGTH),
    changed_by: text(MAX_LABEL_LENGTH),
    changed_at: time(),
  }),
} as const;

export type RecordType = keyof typeof RECORDS;
/** The layouts of all records, including those in lists inside of records. */
const LAYOUTS = {
  ...RECORDS,
  key: KEY,
  order_line: ORDER_LINE,
  order_event: ORDER_EVENT,
  order_license: ORDER_LICENSE,
};
type RowType = keyof typeof LAYOUTS;
/** Rows that are lists inside of records. */
type ListedType = 'key' | 'order_line' | 'order_event' | 'order_license';
type Values<F> = { -readonly [K in keyof F]: F[K] extends Field<infer V> ? V : never };
export type RecordOf<T extends RowType> = Values<(typeof LAYOUTS)[T]['fields']>;
export type KeyRecord = Values<(typeof KEY)['fields']>;
export type OrderLineRecord = Values<(typeof ORDER_LINE)['fields']>;
export type OrderEventRecord = Values<(typeof ORDER_EVENT)['fields']>;
export type OrderLicenseRecord = Values<(typeof ORDER_LICENSE)['fields']>;

/** The types in the file's order: records come after the records that they refer to. */
export const RECORD_TYPES = Object.keys(RECORDS) as RecordType[];

/** Returns the columns and the order by which the store reads and writes a type's rows. */
export function tableLayout(type: RowType): TableLayout {
  const { table, order } = layoutOf(type);
  return { table, columns: ownColumnsOf(type).map(([, column]) => column), order };
}

/** Returns a row as a line of the file, without the line end. */
export function toLine(type: RecordType, row: RowWithChildren): string {
  return JSON.stringify({ type, ...fromRow(type, row) });
}

/** Returns a record as a row, without those of its lists: times and objects as text, under the columns' names. */
export function toRow<T extends RowType>(type: T, value: RecordOf<T>): Row {
  return Object.fromEntries(
    ownColumnsOf(type).map(([name, column, field]) => [
      column,
      field.toSql((value as Record<string, unknown>)[name]),
    ]),
  );
}

/** Returns a whole row as a record. */
export function fromRow<T extends RowType>(type: T, row: RowWithChildren): RecordOf<T> {
  return Object.fromEntries(
    columnsOf(type).map(([name, column, field]) => [name, field.fromSql(row[column] as SqlValue)]),
  ) as RecordOf<T>;
}

/** The fields that a file of the previous version lacks, with their values for it. */
export const NEW_FIELDS: Partial<Record<RowType, Record<string, unknown>>> = {
  product: { support_until: null, security_branch: 'minor' },
  release: { advisory: null, cve: [], same_fix_as: null },
  license: { all_returned: false },
};

/** Adds the missing fields to a record of the previous version's file, including the records in its lists. */
export function upgradeOldRecord(type: RowType, value: Record<string, unknown>): void {
  for (const [name, one] of Object.entries(NEW_FIELDS[type] ?? {})) value[name] ??= one;
  const [of, listed]: [RowType, unknown] =
    type === 'license' ? ['key', value.keys] : ['order_event', type === 'order' ? value.events : undefined];
  if (Array.isArray(listed))
    for (const one of listed as unknown[])
      if (typeof one === 'object' && one !== null) upgradeOldRecord(of, one as Record<string, unknown>);
}

/** Returns the fault that keeps a line from being a record of this type, without repeating values; undefined if none. */
export function recordFault(type: RowType, value: Record<string, unknown>): string | undefined {
  const columns = columnsOf(type);
  for (const [name, , field] of columns) {
    if (!(name in value)) return `the ${type} has no "${name}"`;
    if (!field.fits(value[name])) return `"${name}" of the ${type} must be ${field.expected}`;
  }
  const known = new Set(['type', ...columns.map(([name]) => name)]);
  const unknown = Object.keys(value).find((name) => !known.has(name));
  return unknown === undefined ? undefined : `a ${type} has no field named ${JSON.stringify(unknown)}`;
}

type Column = [name: string, column: string, field: Field<unknown>];
const columnLists = new Map<RowType, Column[]>();

/** Returns the columns of the type's table. */
function ownColumnsOf(type: RowType): Column[] {
  return columnsOf(type).filter(([, , { isList }]) => !isList);
}

function columnsOf(type: RowType): Column[] {
  let columns = columnLists.get(type);
  if (columns === undefined) {
    const { fields, columns: renamed } = layoutOf(type);
    columns = Object.entries(fields).map(([name, field]) => [name, renamed[name] ?? name, field]);
    columnLists.set(type, columns);
  }
  return columns;
}

function layoutOf(type: RowType): RecordLayout<Record<string, Field<unknown>>> {
  return LAYOUTS[type];
}

function record<F extends Record<string, Field<unknown>>>(
  table: TableName,
  order: readonly string[],
  fields: F,
  columns: Record<string, string> = {},
): RecordLayout<F> {
  return { table, order, fields, columns };
}

/** Returns the fields of an export for these columns, by their schemas (store/columns). */
function exported<P extends TProperties>(columns: P): { [Name in keyof P]: Field<Static<P[Name]>> } {
  return Object.fromEntries(
    Object.entries(columns).map(([name, schema]) => [name, fieldFor(schema)]),
  ) as unknown as { [Name in keyof P]: Field<Static<P[Name]>> };
}

/** The parts of a schema that describe its values. */
interface Described {
  type?: string | string[];
  enum?: string[];
  minimum?: number;
  maximum?: number;
  format?: string;
}

function fieldFor(schema: TSchema): Field<never> {
  const { type, enum: words, minimum = 0, maximum = 0, format } = schema as Described;
  if (Array.isArray(type)) return nullable(fieldFor({ ...schema, type: type[0] })) as Field<never>;
  if (words !== undefined) return oneOf(words) as Field<never>;
  if (type === 'integer') return integer(minimum, maximum) as Field<never>;
  if (type === 'boolean') return flag() as Field<never>;
  return (format === 'date-time' ? time() : textFor(kindOf(schema))) as Field<never>;
}

function textFor(kind: Kind | undefined): Field<string> {
  if (kind === 'address') return webAddress();
  if (kind === 'month') return matching(MONTH, 'a month such as 2031-12');
  if (kind === 'duration') return matching(DURATION, 'a duration such as 1y, 6m or 30d');
  return kind === 'element' ? text(100) : text(MAX_LABEL_LENGTH, 1);
}

function plain<T extends SqlValue>(expected: string, fits: (value: unknown) => boolean): Field<T> {
  return {
    expected,
    fits: (value): value is T => fits(value),
    toSql: (value) => value,
    fromSql: (value) => value as T,
  };
}

function integer(min: number, max: number): Field<number> {
  return plain(
    `a whole number from ${min} to ${max}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
  );
}

/** Reports whether a value is text, by code points, as the columns count. SQLite's driver cuts text at a NUL. */
function isText(value: unknown, max: number, min = 0): value is string {
  return (
    typeof value === 'string' &&
    value.length >= min &&
    (value.length <= max || (value.length <= 2 * max && Array.from(value).length <= max)) &&
    value.isWellFormed() &&
    !value.includes('\0')
  );
}

function text(max: number, min = 0): Field<string> {
  return plain(`text of ${min} to ${max} characters`, (value) => isText(value, max, min));
}

/** Returns a field without an address, so that it contains nothing about a customer (access/tokens.ts). */
function tokenName(): Field<string> {
  return plain(
    `text of 1 to ${MAX_LABEL_LENGTH} characters without "@"`,
    (value) => isText(value, MAX_LABEL_LENGTH, 1) && !value.includes('@'),
  );
}

function ascii(max: number): Field<string> {
  return plain(
    `ASCII text of at most ${max} characters`,
    (value) => isText(value, max) && /^[\x20-\x7e]*$/.test(value),
  );
}

function matching(pattern: RegExp, expected: string): Field<string> {
  return plain(expected, (value) => typeof value === 'string' && pattern.test(value));
}

function hex(digits: number): Field<string> {
  return matching(new RegExp(`^[0-9a-f]{${digits}}$`), `${digits} hex digits in lower case`);
}

function oneOf<V extends string>(values: readonly V[]): Field<V> {
  return plain(`one of ${values.join(', ')}`, (value) => (values as readonly unknown[]).includes(value));
}

function webAddress(): Field<string> {
  return plain(
    `an https address of at most ${MAX_URL_LENGTH} characters`,
    (value) => typeof value === 'string' && isHttpsUrl(value),
  );
}

/** Returns a field whose list is separate rows: the export puts them into the column as JSON, and the import writes them. */
function includes(): Field<Includes> {
  return {
    expected: '"all" or a list of product ids, sorted and without duplicates',
    fits: (value): value is Includes =>
      value === 'all' ||
      (Array.isArray(value) && value.every((id, i) => smallId.fits(id) && (i === 0 || id > value[i - 1]))),
    toSql: (value) => Number(value === 'all'),
    fromSql: (value) =>
      typeof value === 'string' ? (JSON.parse(value) as number[]) : value === 1 ? 'all' : [],
  };
}

function time(): Field<string> {
  return {
    expected: 'a time such as 2026-01-31T12:00:00Z',
    fits: (value): value is string => typeof value === 'string' && isTimestamp(value),
    toSql: (value) => value.slice(0, 19).replace('T', ' '),
    fromSql: (value) => `${(value as string).replace(' ', 'T')}Z`,
  };
}

/** Compares the text with the parsed date: JavaScript accepts many other forms, and reads 31 February as 3 March. */
function isTimestamp(value: string): boolean {
  const date = new Date(value);
  return isStorable(date) && formatTimestamp(date) === value;
}

function flag(): Field<boolean> {
  return {
    expected: 'true or false',
    fits: (value): value is boolean => typeof value === 'boolean',
    toSql: Number,
    fromSql: (value) => value !== 0,
  };
}

/** Returns a field for rows of another table that belong to the record. @param least the minimum of rows */
function list<T>(type: ListedType, least = 1): Field<T[]> {
  const isItem = (item: unknown) =>
    typeof item === 'object' &&
    item !== null &&
    recordFault(type, item as Record<string, unknown>) === undefined;
  return {
    isList: true,
    expected: `a list of ${type.replace('_', ' ')}s with all their fields`,
    fits: (value): value is T[] => Array.isArray(value) && value.length >= least && value.every(isItem),
    toSql: () => null,
    fromSql: (rows) => (rows as unknown as Row[]).map((row) => fromRow(type, row) as T),
  };
}

/** Returns a field for a list that is stored as JSON in a text column, at most 16 MB. */
function array(): Field<Record<string, unknown>[]> {
  return {
    expected: 'a list of objects of less than 16 MB',
    fits: (value): value is Record<string, unknown>[] =>
      Array.isArray(value) &&
      value.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one)) &&
      Buffer.byteLength(JSON.stringify(value)) < 1 << 24,
    toSql: (value) => JSON.stringify(value),
    fromSql: (value) => JSON.parse(value as string) as Record<string, unknown>[],
  };
}

/** Returns a field for the order, or the licence by its id, that an order's line renews. */
function orderOrLicense(): Field<string | number> {
  return {
    expected: 'text of 1 to 300 characters, or the id of a licence',
    fits: (value): value is string | number => id.fits(value) || isText(value, 300, 1),
    toSql: (value) => JSON.stringify(value),
    fromSql: (value) => JSON.parse(value as string) as string | number,
  };
}

/** Returns a field for an object that is stored as JSON in a text column, at most 16 MB. */
function object(): Field<Record<string, unknown>> {
  return {
    expected: 'an object of less than 16 MB',
    fits: (value): value is Record<string, unknown> =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Buffer.byteLength(JSON.stringify(value)) < 1 << 24,
    toSql: (value) => JSON.stringify(value),
    fromSql: (value) => JSON.parse(value as string) as Record<string, unknown>,
  };
}

/** Returns a field for names of vulnerabilities, which are stored as JSON; null if there are none. */
function cveNames(): Field<string[]> {
  return {
    expected: `a list of at most ${MAX_CVES} names such as CVE-2026-12345`,
    fits: (value): value is string[] =>
      Array.isArray(value) &&
      value.length <= MAX_CVES &&
      value.every((one) => typeof one === 'string' && CVE.test(one)),
    toSql: storedCves,
    fromSql: (value) => readCves(value as string | null),
  };
}

function metadata(): Field<Metadata> {
  return {
    expected: 'an object of at most 20 texts, with the names and texts that a licence may have',
    fits: isMetadata,
    toSql: storedMetadata,
    fromSql: (value) => readMetadata(value as string | null),
  };
}

function nullable<T>(field: Field<T>): Field<T | null> {
  return {
    expected: `${field.expected}, or null`,
    fits: (value): value is T | null => value === null || field.fits(value),
    toSql: (value) => (value === null ? null : field.toSql(value)),
    fromSql: (value) => (value === null ? null : field.fromSql(value)),
  };
}
