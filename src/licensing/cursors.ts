import { OperatorError } from './operator-error';

/** A page of a list, and the cursor of the next page. */
export interface Page<Item> {
  items: Item[];
  /** the cursor for `after`; null at the end */
  next: string | null;
}

export interface PageRequest {
  limit: number;
  /** the `next` of the previous page */
  after?: string | undefined;
}

type Values = (string | number)[];

/** Returns a cursor: a position in a list as opaque text, made of the values that sort the list. */
function writeCursor(values: Values): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** @param shape the kind of each value @throws OperatorError if the text is not a cursor of such a list */
export function readCursor<V extends Values>(
  text: string | undefined,
  shape: { [K in keyof V]: (value: unknown) => value is V[K] },
): V | undefined {
  if (text === undefined) return undefined;
  const values = parse(text);
  const isWhole =
    Array.isArray(values) &&
    values.length === shape.length &&
    (shape as unknown as ((value: unknown) => boolean)[]).every((is, i) => is(values[i])) &&
    writeCursor(values as Values) === text;
  if (!isWhole)
    throw new OperatorError('It must be the "next" of an earlier page of this list.', {
      code: 'INVALID_REQUEST',
      field: 'after',
    });
  return values as unknown as V;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}

export function isCursorId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Reports whether a value is a time in the form that the database stores. */
export function isCursorTime(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(value) &&
    !Number.isNaN(Date.parse(`${value}Z`))
  );
}

export function isAscii(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7e]*$/.test(value);
}

export function isCursorText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Returns the page of rows that were read with one more than its limit. @param place returns the values that sort a row */
export function toPage<Row>(rows: Row[], limit: number, place: (row: Row) => Values): Page<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(place(last)) : null };
}
