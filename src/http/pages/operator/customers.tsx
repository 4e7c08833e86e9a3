import { isCursorText, readCursor, toPage } from '../../../licensing/cursors';
import { listCustomers, type CustomerSummary } from '../../../privacy/customer-list';
import { OperatorPage } from '../kit/operator-page';
import { Head, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';

/** Whom licences were issued to. Links name a customer by an id that says nothing about the person. */

const LIMIT = 50;
const CSV_PAGE = 500;

export const customerListRoutes: Route<OperatorCall>[] = [
  { path: '/customers', get: showList },
  { path: '/customers.csv', get: downloadList, hasDeadline: false },
];

interface Given {
  q?: string;
  after?: string;
}

async function showList(call: OperatorCall): Promise<Answer> {
  const given = readGiven(call.query);
  return { page: <CustomerList given={given} {...await listPage(call, given, LIMIT)} /> };
}

async function listPage({ db, at }: OperatorCall, { q, after }: Given, limit: number) {
  const [address] = readCursor<[string]>(after, [isCursorText]) ?? [];
  const customers = await listCustomers(db, { beginning: q, after: address, limit: limit + 1 }, at);
  const { items, next } = toPage(customers, limit, ({ customer }) => [customer]);
  return { customers: items, next };
}

function downloadList(call: OperatorCall): Answer {
  const { q } = readGiven(call.query);
  async function* rows() {
    yield ['id', 'customer', 'licenses', 'next_end', 'name'];
    let after: string | undefined;
    do {
      const { customers, next } = await listPage(
        call,
        { ...(q && { q }), ...(after && { after }) },
        CSV_PAGE,
      );
      for (const { id, customer, licenses, next_end, name } of customers)
        yield [id, customer, licenses, next_end, name];
      after = next ?? undefined;
    } while (after !== undefined);
  }
  return { csv: call.view.t.customers.csvName, rows: rows() };
}

function readGiven(query: URLSearchParams): Given {
  const [q, after] = ['q', 'after'].map((name) => query.get(name)?.trim());
  return { ...(q && { q }), ...(after && { after }) };
}

function CustomerList({
  given,
  customers,
  next,
}: {
  given: Given;
  customers: CustomerSummary[];
  next: string | null;
}) {
  const { t, to, format, operator } = useView();
  const texts = t.customers;
  const { q } = given;
  const noneYet = (
    <>
      <p>{texts.none}</p>
      {operator?.scope === 'write' ? (
        <p class="acts mb-0">
          <a class="btn btn-primary" href={to('/licenses/new')}>
            {texts.issue}
          </a>
        </p>
      ) : null}
    </>
  );
  return (
    <OperatorPage title={texts.title} nav="customers">
      <Head
        title={texts.title}
        actions={
          <a class="btn btn-quiet" href={to('/customers.csv', { q })}>
            {t.common.csv}
          </a>
        }
      />
      <Panel id="list">
        <form
          class="filters"
          method="get"
          action={to('/customers')}
          role="search"
          aria-label={texts.filters}
          data-live="#results"
        >
          <div class="grow">
            <label for="q">{texts.q}</label>
            <input
              class="form-control form-control-sm"
              id="q"
              name="q"
              type="search"
              autocomplete="off"
              value={q ?? ''}
            />
          </div>
          <div>
            <button class="btn btn-quiet btn-sm" type="submit">
              {t.common.filter}
            </button>
          </div>
        </form>
        <div id="results">
          <Table
            caption={texts.caption(format.number(customers.length))}
            rows={customers}
            empty={
              q === undefined ? (
                noneYet
              ) : (
                <p class="mb-0">
                  {texts.noMatch} <a href={to('/customers')}>{t.common.clearFilters}</a>
                </p>
              )
            }
            columns={[
              {
                title: texts.columns.email,
                kind: 'name',
                cell: ({ id, customer }) => <a href={to(`/customers/${id}`)}>{customer}</a>,
              },
              { title: texts.columns.name, cell: ({ name }) => name ?? t.common.none },
              {
                title: texts.columns.licenses,
                kind: 'number',
                cell: ({ licenses }) => format.number(licenses),
              },
              {
                title: texts.columns.nextEnd,
                cell: ({ next_end }) => (next_end === null ? t.common.none : format.day(new Date(next_end))),
              },
            ]}
          />
          <Paging path="/customers" query={{ ...given }} next={next} limit={LIMIT} />
        </div>
      </Panel>
    </OperatorPage>
  );
}
