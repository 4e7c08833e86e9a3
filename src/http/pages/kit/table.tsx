import type { Child } from 'hono/jsx';
import { useView, type Query } from '../view';
import { Icon } from './icons';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Child;
  /**
   * `number`: at the right; `mono`: a part of a key; `long`: may break anywhere; `name`: what the row is called; `act`:
   * buttons, which stand beside the others on a phone; `text`: a sentence, which takes what width there is; `time`: a day
   * or a moment, in one line; `check`: a box to select the row
   */
  kind?: 'number' | 'mono' | 'long' | 'name' | 'act' | 'text' | 'time' | 'check' | undefined;
  /**
   * In a small window: `beside` the row's first cell, or `hidden`; by default below it, with the column's title, which
   * `bare` leaves out. `wide` is hidden there and where the navigation leaves a list of many columns too little room.
   */
  phone?: 'beside' | 'hidden' | 'bare' | 'wide' | undefined;
  /** what the list is sorted by with this column, in its address */
  sort?: string | undefined;
}

/** The order of a list that can be sorted by some columns. */
export interface Sorting {
  path: string;
  /** of the list, without its order */
  query: Query;
  /** the name of a column's order, with `-` downwards; undefined: the list's own */
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
  /** names its order */
  caption: string;
  /** undefined or false: not for who is signed in */
  columns: (Column<Row> | undefined | false)[];
  rows: readonly Row[];
  /** stands for the table where there are no rows */
  empty: Child;
  sorting?: Sorting | undefined;
}

/**
 * A table. On a phone each row becomes a block, which loses the meaning of the elements to readers of the screen: the roles
 * keep it.
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

/** A column's title; of one that the list can be sorted by a link, which turns the order round when it is followed again. */
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

export interface PagingProps {
  path: string;
  query: Record<string, string | undefined>;
  /** the cursor of the next page */
  next: string | null;
  limit: number;
}

/** First and Next: cursors only go forward. */
export function Paging({ path, query, next, limit }: PagingProps) {
  const { t, to, format } = useView();
  if (next === null && query.after === undefined) return null;
  return (
    <nav class="in paging" aria-label={t.kit.morePages}>
      {query.after === undefined ? null : (
        <a href={to(path, { ...query, after: undefined })}>{t.kit.first}</a>
      )}{' '}
      {next === null ? null : (
        <a href={to(path, { ...query, after: next })}>{t.kit.next(format.number(limit))}</a>
      )}
    </nav>
  );
}
