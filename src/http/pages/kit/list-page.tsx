import type { Child } from 'hono/jsx';
import { TitledPage, type OperatorPageProps } from './operator-page';
import { Panel } from './panel';
import { Paging, Table, type PagingProps, type TableProps } from './table';

/** A page that is one list: its filter, its table and the way to the rest of it. */
export function ListPage<Row>({
  title,
  heading = title,
  sub,
  actions,
  above,
  list,
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
    /** on the page itself, where it is shorter than the title of the window */
    heading?: string;
    sub?: Child;
    actions?: Child;
    /** between the title and the list */
    above?: Child;
    /** the list's own title */
    list?: string | undefined;
    /** its form: what it finds replaces the table while somebody types */
    filter?: Child;
    /** what the table is filtered by, besides the fields of the form */
    tags?: Child;
    paging?: PagingProps;
    /** what can be done with the rows: it is replaced with them */
    bar?: Child;
    /** at the end of the list's panel */
    footer?: Child;
    below?: Child;
  }) {
  const rows = (
    <>
      {tags}
      <Table {...table} />
      {paging === undefined ? null : <Paging {...paging} />}
      {bar}
    </>
  );
  return (
    <TitledPage title={title} nav={nav} crumbs={crumbs} heading={heading} sub={sub} actions={actions}>
      {above}
      <Panel id="list" title={list} footer={footer}>
        {filter}
        {filter === undefined ? (
          rows
        ) : (
          <div id="results" {...(bar === undefined ? {} : { class: 'pick' })}>
            {rows}
          </div>
        )}
      </Panel>
      {below}
    </TitledPage>
  );
}
