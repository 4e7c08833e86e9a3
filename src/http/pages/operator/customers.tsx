import { asSort } from '../../../licensing/sorting';
import { CUSTOMER_SORTS, listCustomerPage } from '../../../privacy/customer-list';
import { csvRows } from '../csv';
import { ButtonLink } from '../kit/fields';
import { Filters, NoResults, orderField } from '../kit/filters';
import { ListPage } from '../kit/list-page';
import type { PageResponse, OperatorCall, Route } from '../page';

/** The list of customers. Links identify a customer by an id that contains no personal data. */

const LIMIT = 50;
const CSV_PAGE = 500;

export const customerListRoutes: Route<OperatorCall>[] = [
  { path: '/customers', get: showList },
  { path: '/customers.csv', get: downloadList, hasDeadline: false },
];

/** The search text, the order and a cursor. */
type ListParams = Partial<Record<'q' | 'after', string | undefined>> & {
  sort?: (typeof CUSTOMER_SORTS)[number] | undefined;
};

async function showList(call: OperatorCall): Promise<PageResponse> {
  const { t, to, format, mayWrite } = call.view;
  const texts = t.customers;
  const { columns } = texts;
  const given = readParams(call.query);
  const { q, sort } = given;
  const by = sort ?? 'customer';
  const { items, next } = await listPage(call, given, LIMIT);
  const noneYet = (
    <>
      <p>{texts.none}</p>
      {mayWrite ? (
        <p class="acts">
          <ButtonLink kind="primary" path="/licenses/new" label={texts.issue} />
        </p>
      ) : null}
    </>
  );
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="customers"
        actions={<ButtonLink path="/customers.csv" query={{ q, sort }} label={t.common.csv} />}
        filter={
          <Filters
            path="/customers"
            label={texts.filters}
            fields={[{ name: 'q', label: texts.q, value: q }, orderField(t, texts.orders, 'customer', sort)]}
          />
        }
        caption={`${texts.orders[by]}. ${t.common.shown(format.number(items.length))}`}
        sorting={{ path: '/customers', query: { q }, by }}
        rows={items}
        empty={q === undefined ? noneYet : <NoResults path="/customers">{texts.noMatch}</NoResults>}
        columns={[
          {
            title: t.licenses.columns.customer,
            kind: 'name',
            sort: 'customer',
            cell: ({ id, customer, name }) => (
              <>
                <a href={to(`/customers/${id}`)}>{name ?? customer}</a>
                {name === null ? null : <span class="sub">{customer}</span>}
              </>
            ),
          },
          { title: columns.licenses, kind: 'number', cell: ({ licenses }) => format.number(licenses) },
          {
            title: columns.nextEnd,
            kind: 'time',
            cell: ({ next_end }) => (next_end === null ? t.common.none : format.day(new Date(next_end))),
          },
        ]}
        paging={{ path: '/customers', query: { ...given }, next, limit: LIMIT }}
      />
    ),
  };
}

function listPage({ db, at }: OperatorCall, { q, sort, after }: ListParams, limit: number) {
  return listCustomerPage(db, { q, sort }, { after, limit }, at);
}

function downloadList(call: OperatorCall): PageResponse {
  const given = readParams(call.query);
  const rows = csvRows(
    (after) => listPage(call, { ...given, after }, CSV_PAGE),
    ({ id, customer, licenses, next_end, name }) => ({ id, customer, licenses, next_end, name }),
    ['id', 'customer', 'licenses', 'next_end', 'name'],
  );
  return { csv: call.view.t.customers.csvName, rows };
}

function readParams(query: URLSearchParams): ListParams {
  const [q, after] = ['q', 'after'].map((name) => query.get(name)?.trim() || undefined);
  return { q, sort: asSort(CUSTOMER_SORTS, query.get('sort')), after };
}
