import { OperatorError } from './operator-error';

/** A part of a list, and where the next begins. */
export interface Page<Item> {
  items: Item[];
  /** for `after`; null at the end */
  next: string | null;
}

export interface PageRequest {
  limit: number;
  /** the `next` of the page before */
  after?: string | undefined;
}

type Values = (string | number)[];

/** A place in a list as opaque text: the values that it is sorted by. */
function writeCursor(values: Values): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** @param shape the kind of each value @throws OperatorError when the text is not a cursor of such a list */
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

/** As the database stores times. */
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

/**
 * The page of rows that were read with one more than its limit.
 * @param place the values that a row is sorted by
 */
export function toPage<Row>(rows: Row[], limit: number, place: (row: Row) => Values): Page<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(place(last)) : null };
}
