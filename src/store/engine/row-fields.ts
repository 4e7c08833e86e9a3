import { camelCase, snakeCase, type Camel, type Snake } from '../../base/json';
import type { Row, SqlValue } from '../export';
import { fromSqlTime, toSqlTime } from './time';

/**
 * Maps rows to fields and back: the column `expires_at` is the field `expiresAt`. Columns named `at`, `..._at` or
 * `..._until` hold times; FLAGS hold 0 or 1. So a new column is only named in its table and in the interface of its row.
 */

interface Column {
  field: string;
  read: (value: SqlValue) => unknown;
}

const FLAGS = [
  'all_returned',
  'by_door',
  'compromised',
  'free',
  'free_staging',
  'includes_all',
  'is_first',
  'is_test',
  'own_only',
  'partial',
  'reminders',
  'renews_itself',
  'security',
] as const;

type FieldOf<Name, Value> = Name extends (typeof FLAGS)[number]
  ? Value extends number
    ? boolean
    : Value
  : Name extends 'support_until'
    ? Value
    : Name extends 'cve'
      ? string[]
      : Name extends 'at' | `${string}_at` | `${string}_until`
        ? Value extends string
          ? Date
          : Value
        : Value;

/** The type of a row's fields. */
export type FieldsOf<Row> = {
  [Name in keyof Row as Camel<Name & string>]: FieldOf<Name, Row[Name]>;
};

/** The type of the row that is stored for fields. */
export type RowOf<Fields> = {
  [Name in keyof Fields as Snake<Name & string>]: StoredOf<Exclude<Fields[Name], undefined>>;
};

type StoredOf<Value> = Value extends Date | string[] ? string : Value extends boolean ? number : Value;

const columns = new Map<string, Column>();

/** Converts a row to fields. */
export function rowToFields<R extends object>(row: R): FieldsOf<R> {
  const fields: Record<string, unknown> = {};
  // Do not use Object.entries(): it takes a third longer, and this runs for every licence that an activation locks.
  for (const name in row) {
    const value = (row as Row)[name];
    let column = columns.get(name);
    if (column === undefined) {
      columns.set(name, (column = { field: camelCase(name), read: readerOf(name) }));
    }
    fields[column.field] = column.read(value as SqlValue);
  }
  return fields as FieldsOf<R>;
}

function readerOf(name: string): Column['read'] {
  if ((FLAGS as readonly string[]).includes(name)) return (value) => (value === null ? null : value !== 0);
  // A month, not a time.
  if (name !== 'support_until' && /(^|_)at$|_until$/.test(name))
    return (value) => (typeof value === 'string' ? fromSqlTime(value) : value);
  if (name === 'cve') return (value) => readCves(value as string | null);
  return (value) => value;
}

/** Reads the stored names of vulnerabilities; null: no names. */
export function readCves(stored: string | null): string[] {
  return stored === null ? [] : (JSON.parse(stored) as string[]);
}

export function storedCves(names: string[]): string | null {
  return names.length === 0 ? null : JSON.stringify(names);
}

/** Converts fields to a row. Undefined fields stay undefined, so that an UPDATE does not change them. */
export function fieldsToRow<const F extends object>(fields: F): RowOf<F> {
  return Object.fromEntries(
    Object.entries(fields as Record<string, SqlValue | boolean | Date | string[]>).map(([field, value]) => [
      snakeCase(field),
      value instanceof Date
        ? toSqlTime(value)
        : typeof value === 'boolean'
          ? Number(value)
          : Array.isArray(value)
            ? storedCves(value)
            : value,
    ]),
  ) as RowOf<F>;
}
