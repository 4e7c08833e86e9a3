import type { Child } from 'hono/jsx';
import { useView } from '../view';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Child;
  kind?: 'number' | 'mono' | 'act' | 'long' | undefined;
}

const CLASSES = { number: 'num', mono: 'mono', act: 'act', long: 'cust' };

/**
 * A table. On a phone each row becomes a block: its first two cells side by side, the others as lines with their title.
 * @param head the column that names the row, from 0
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  head = 0,
  empty,
}: {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  head?: number;
  /** stands for the table where there are no rows */
  empty: Child;
}) {
  if (rows.length === 0) return <div class="in empty">{empty}</div>;
  const { t } = useView();
  const classOf = ({ kind }: Column<Row>) => (kind === undefined ? {} : { class: CLASSES[kind] });
  return (
    <table class="t">
      <caption>{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" {...classOf(column)}>
              {column.title === '' ? <span class="visually-hidden">{t.common.actions}</span> : column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {columns.map((column, i) =>
              i === head ? (
                <th scope="row" data-label={column.title} {...classOf(column)}>
                  {column.cell(row)}
                </th>
              ) : (
                <td data-label={column.title} {...classOf(column)}>
                  {column.cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** First and Next: cursors only go forward. @param next the cursor of the next page */
export function Paging({
  path,
  query,
  next,
  limit,
}: {
  path: string;
  query: Record<string, string | undefined>;
  next: string | null;
  limit: number;
}) {
  const { t, to, format } = useView();
  if (next === null && query.after === undefined) return null;
  return (
    <nav class="in paging" aria-label={t.common.morePages}>
      {query.after === undefined ? null : (
        <a href={to(path, { ...query, after: undefined })}>{t.common.first}</a>
      )}{' '}
      {next === null ? null : (
        <a href={to(path, { ...query, after: next })}>{t.common.next(format.number(limit))}</a>
      )}
    </nav>
  );
}
