import { isCursorId, readCursor, toPage, type Page, type PageRequest } from './cursors';
import { OperatorError } from './operator-error';

/** The orders of lists. Each has the name of a column; `-` sorts descending. */

/** Returns one of a list's orders by its name; undefined if the list has no order with this name. */
export function asSort<const Sort extends string>(
  sorts: readonly Sort[],
  name: string | null | undefined,
): Sort | undefined {
  return sorts.find((one) => one === name);
}

/** Like `asSort`. @returns undefined: the usual order @throws OperatorError for an unknown name */
export function readSort<const Sort extends string>(
  sorts: readonly Sort[],
  name: string | undefined,
): Sort | undefined {
  const known = asSort(sorts, name);
  if (known === undefined && name !== undefined)
    throw new OperatorError(`It must be one of ${sorts.join(', ')}.`, {
      code: 'INVALID_REQUEST',
      field: 'sort',
    });
  return known;
}

/** Returns the column of an order, and its direction. */
export function columnOf<Sort extends string>(sort: Sort): { column: Column<Sort>; isDown: boolean } {
  return { column: sort.replace(/^-/, '') as Column<Sort>, isDown: sort.startsWith('-') };
}

type Column<Sort extends string> = Sort extends `-${infer Name}` ? Name : Sort;

/** The value in a cursor for a row without one; no value is empty. */
const NO_VALUE = '';

const isValue = (value: unknown): value is string | number =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));

/** The order in which people look up names, and `Plan 2` before `Plan 10`. */
const collator = new Intl.Collator('en', { numeric: true });

/**
 * Returns a page of a short list that is completely in memory. Rows with equal values are sorted by id, in the same
 * direction. Rows without a value come last in ascending and first in descending order.
 */
export function sortRows<Row extends { id: number }>(
  rows: readonly Row[],
  valueOf: (row: Row) => string | number | null,
  isDown: boolean,
  { limit, after }: PageRequest,
): Page<Row> {
  const place = readCursor<[number, string | number]>(after, [isCursorId, isValue]);
  const placed = rows.map((row) => ({ row, id: row.id, value: valueOf(row) ?? NO_VALUE }));
  const sign = isDown ? -1 : 1;
  const compare = (a: Place, b: Place) => sign * (compareValues(a.value, b.value) || a.id - b.id);
  const behind = placed
    .sort(compare)
    .filter((one) => place === undefined || compare(one, { id: place[0], value: place[1] }) > 0);
  const { items, next } = toPage(behind.slice(0, limit + 1), limit, ({ id, value }) => [id, value]);
  return { items: items.map(({ row }) => row), next };
}

interface Place {
  id: number;
  value: string | number;
}

function compareValues(a: string | number, b: string | number): number {
  if (a === b) return 0;
  if (a === NO_VALUE || b === NO_VALUE) return a === NO_VALUE ? 1 : -1;
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
}
