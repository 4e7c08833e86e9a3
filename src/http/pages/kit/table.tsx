import type { Child } from 'hono/jsx';
import { useView, type Query } from '../view';
import { Icon } from './icons';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Child;
  /**
   * `number`: aligned right. `mono`: a part of a key. `long`: may break anywhere. `name`: the row's name. `act`:
   * buttons, which are at the right of the row on a phone. `text`: a sentence, which takes the remaining width. `time`:
   * a day or a time, in one line. `check`: a box to select the row.
   */
  kind?: 'number' | 'mono' | 'long' | 'name' | 'act' | 'text' | 'time' | 'check' | undefined;
  /**
   * The place in a small window. By default, the cell is below the row's first cell, with the column's title; `bare`
   * omits that title. `beside`: next to the first cell. `hidden`: not shown. `wide`: also hidden in a larger window in
   * which the navigation leaves a list of many columns too little room.
   */
  phone?: 'beside' | 'hidden' | 'bare' | 'wide' | undefined;
  /** the value of `sort` in the address, if the list can be sorted by this column */
  sort?: string | undefined;
}

/** The order of a list that can be sorted by some columns. */
export interface Sorting {
  path: string;
  /** the query of the list's address, without its order */
  query: Query;
  /** the `sort` of a column, with `-` for descending; undefined for the list's own order */
  by: string | undefined;
}

const CLASSES = {
  number: 'num',
  mono: 'mono',
  long: 'cust',
  name: 'cust',
  act: 'act',
  text: 'text',
  time: 'time',
  check: 'check',
};
const ON_PHONES = { beside: 'beside', hidden: 'lg', bare: '', wide: 'lg xl' };

export interface TableProps<Row> {
  /** the caption, which names the order */
  caption: string;
  /** the columns; those that this user may not see are undefined or false */
  columns: (Column<Row> | undefined | false)[];
  rows: readonly Row[];
  /** the text instead of the table if there are no rows */
  empty: Child;
  sorting?: Sorting | undefined;
}

/**
 * A table. On a phone, CSS makes each row a block. This removes the table semantics for screen readers, so ARIA roles
 * restore them.
 */
export function Table<Row>({ caption, columns: given, rows, empty, sorting }: TableProps<Row>) {
  const columns = given.filter((one): one is Column<Row> => Boolean(one));
  if (rows.length === 0) return <div class="in empty">{empty}</div>;
  return (
    <table class="t lines" role="table">
      <caption data-live-count>{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <HeadCell column={column} sorting={sorting} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr role="row">
            {columns.map((column, i) => bodyCell(column, row, i === (columns[0]?.kind === 'check' ? 1 : 0)))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A column's title. If the list can be sorted by the column, it is a link, which reverses the order the next time. */
function HeadCell({ column, sorting }: { column: Column<never>; sorting: Sorting | undefined }) {
  const { t, to } = useView();
  const { title, sort, kind } = column;
  const by = sorting?.by;
  const isUp = sort !== undefined && by === sort;
  const isDown = sort !== undefined && by === `-${sort}`;
  const order = isUp ? 'ascending' : isDown ? 'descending' : undefined;
  return (
    <th scope="col" role="columnheader" {...classOf(column)} {...(order && { 'aria-sort': order })}>
      {title === '' ? (
        <span class="visually-hidden">{kind === 'check' ? t.kit.select : t.kit.actions}</span>
      ) : sort === undefined || sorting === undefined ? (
        title
      ) : (
        <a class="sort" href={to(sorting.path, { ...sorting.query, sort: isUp ? `-${sort}` : sort })}>
          {title}
          {order === undefined ? null : <Icon name={isUp ? 'up' : 'down'} />}
        </a>
      )}
    </th>
  );
}

function bodyCell<Row>(column: Column<Row>, row: Row, isFirst: boolean) {
  const { title, kind, phone, cell } = column;
  const isLine =
    !isFirst &&
    !['name', 'act', 'text', 'check'].includes(kind ?? '') &&
    (phone === undefined || phone === 'bare');
  const attributes = {
    ...classOf(column),
    ...(isLine ? { 'data-label': phone === 'bare' ? '' : title } : {}),
  };
  return kind === 'name' ? (
    <th scope="row" role="rowheader" {...attributes}>
      {cell(row)}
    </th>
  ) : (
    <td role="cell" {...attributes}>
      {cell(row)}
    </td>
  );
}

function classOf({ kind, phone }: Pick<Column<never>, 'kind' | 'phone'>): { class?: string } {
  const names = [kind && CLASSES[kind], phone && ON_PHONES[phone]].filter(Boolean).join(' ');
  return names === '' ? {} : { class: names };
}

export interface PaginationProps {
  path: string;
  query: Record<string, string | undefined>;
  /** the cursor of the next page */
  next: string | null;
  limit: number;
}

/** The pagination of a list: First and Next, because cursors only go forward. */
export function Pagination({ path, query, next, limit }: PaginationProps) {
  const { t, to, format } = useView();
  if (next === null && query.after === undefined) return null;
  return (
    <nav class="paging" aria-label={t.kit.morePages}>
      {query.after === undefined ? null : (
        <a href={to(path, { ...query, after: undefined })}>{t.kit.first}</a>
      )}{' '}
      {next === null ? null : (
        <a href={to(path, { ...query, after: next })}>{t.kit.next(format.number(limit))}</a>
      )}
    </nav>
  );
}
