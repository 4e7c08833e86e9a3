import type { Row, SqlValue } from './export';
import { fromSqlTime, toSqlTime } from './time';

/**
 * Rows as fields and back: the column `expires_at` is the field `expiresAt`, and columns named `at`, `..._at` or
 * `..._until` hold times. Those of FLAGS hold 0 or 1. A new column is thus named in its table and in the interface of its row.
 */

interface Column {
  field: string;
  read: (value: SqlValue) => unknown;
}

const FLAGS = new Set([
  ...['compromised', 'free', 'free_staging', 'is_first', 'is_test', 'own_only', 'partial', 'reminders'],
  'renews_itself',
]);

const columns = new Map<string, Column>();

/** A row's columns as fields. */
export function toFields(row: object): unknown {
  const fields: Record<string, unknown> = {};
  // Not Object.entries(), which takes a third longer and runs for every licence that an activation locks.
  for (const name in row) {
    const value = (row as Row)[name];
    let column = columns.get(name);
    if (column === undefined) {
      const field = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
      columns.set(name, (column = { field, read: readerOf(name) }));
    }
    fields[column.field] = column.read(value as SqlValue);
  }
  return fields;
}

function readerOf(name: string): Column['read'] {
  if (FLAGS.has(name)) return (value) => (value === null ? null : value !== 0);
  if (/(^|_)at$|_until$/.test(name))
    return (value) => (typeof value === 'string' ? fromSqlTime(value) : value);
  return (value) => value;
}

/** The fields as columns; undefined ones stay undefined, which an UPDATE leaves as they are. */
export function toColumns(fields: object): Row {
  return Object.fromEntries(
    Object.entries(fields as Record<string, SqlValue | boolean | Date>).map(([field, value]) => [
      field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value instanceof Date ? toSqlTime(value) : typeof value === 'boolean' ? Number(value) : value,
    ]),
  );
}
