import type { Child } from 'hono/jsx';
import { TitledPage, type OperatorPageProps } from './operator-page';
import { Panel } from './panel';
import { Pagination, Table, type PaginationProps, type TableProps } from './table';

/** A page that is one list: its filter, its table and its pagination. */
export function ListPage<Row>({
  title,
  heading = title,
  sub,
  actions,
  above,
  list,
  fold,
  filter,
  tags,
  paging,
  bar,
  footer,
  below,
  nav,
  crumbs = [],
  ...table
}: Omit<OperatorPageProps, 'children' | 'about'> &
  TableProps<Row> & {
    /** the title on the page itself, if the window has a longer one */
    heading?: string;
    sub?: Child;
    actions?: Child;
    /** the parts between the title and the list */
    above?: Child;
    /** the title of the list's panel */
    list?: string | undefined;
    /** the line that opens the list, if it has only what few people need; without rows there is no list then */
    fold?: Child;
    /** the filter form: its results replace the table while the user types */
    filter?: Child;
    /** active filters that the form has no field for */
    tags?: Child;
    paging?: PaginationProps;
    /** the bulk actions for the rows, which are replaced together with the rows */
    bar?: Child;
    /** the footer of the list's panel */
    footer?: Child;
    below?: Child;
  }) {
  const rows = (
    <>
      {tags}
      <Table {...table} />
      {paging === undefined ? null : <Pagination {...paging} />}
      {bar}
    </>
  );
  const parts = (
    <>
      {filter}
      {filter === undefined ? (
        rows
      ) : (
        <div id="results" {...(bar === undefined ? {} : { class: 'pick' })}>
          {rows}
        </div>
      )}
    </>
  );
  return (
    <TitledPage title={title} nav={nav} crumbs={crumbs} heading={heading} sub={sub} actions={actions}>
      {above}
      {fold === undefined ? (
        <Panel id="list" title={list} footer={footer}>
          {parts}
        </Panel>
      ) : table.rows.length === 0 ? null : (
        <Panel id="list">
          <details class="fold">
            <summary>{fold}</summary>
            {parts}
          </details>
        </Panel>
      )}
      {below}
    </TitledPage>
  );
}
