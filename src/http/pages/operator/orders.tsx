import { asDecimal } from '../../../base/currency';
import { asSort } from '../../../licensing/sorting';
import {
  countWaitingOrders,
  listOrderPage,
  listUnmappedArticles,
  ORDER_SORTS,
  orderJson,
  type OrderFilter,
  type OrderView,
} from '../../../orders/views';
import { listShops } from '../../../orders/shops';
import type { Texts } from '../../../texts/operators/texts';
import { csvNameOf, csvRows } from '../csv';
import { ButtonLink } from '../kit/fields';
import { Filters, NoResults, orderField, SavedViews } from '../kit/filters';
import { Tag } from '../kit/status';
import { ListPage } from '../kit/list-page';
import { Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';

/** The list of orders. Above it, the unmapped articles that block orders, each with a link to map it. */

export const orderListRoutes: Route<OperatorCall>[] = [
  { path: '/orders', get: showList },
  { path: '/orders.csv', get: downloadList, hasDeadline: false },
];

const LIMIT = 50;
const CSV_PAGE = 500;
const MAX_ARTICLES = 50;
const MAX_LICENSES = 3;

interface ListParams {
  shop?: string;
  order?: string;
  state?: 'waiting' | 'failed' | 'done';
  without_address?: 'true';
  sort?: (typeof ORDER_SORTS)[number];
  after?: string;
}

interface Waiting {
  orders: number;
  unmapped: { shop: string; sku: string; orders: number }[];
}

async function showList({ db, query, view }: OperatorCall): Promise<PageResponse> {
  const { t, to, format, mayWrite } = view;
  const texts = t.orders;
  const { columns } = texts;
  const given = readParams(query);
  const { after, sort, ...filters } = given;
  const { shop, state, without_address: without } = filters;
  const filter = filterOf(filters);
  const by = sort ?? '-id';
  const { items, next } = await listOrderPage(db, filter, { after, limit: LIMIT }, sort);
  const shops = (await listShops(db)).map(({ name }) => name);
  const isFirst = after === undefined && Object.keys(filters).every((name) => name === 'state');
  const waiting = isFirst && (state === undefined || state === 'waiting') ? await readWaiting(db) : undefined;
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="orders"
        sub={texts.about}
        actions={
          <>
            {mayWrite ? <ButtonLink path="/shops" label={texts.toShops} /> : null}
            <ButtonLink path="/orders.csv" query={{ ...filters, sort }} label={t.common.csv} />
          </>
        }
        above={
          <>
            {waiting === undefined ? null : <WaitingPanel waiting={waiting} />}
            <SavedViews
              label={texts.quick}
              views={(
                [
                  [texts.all, {}],
                  [texts.onlyWaiting, { state: 'waiting' }],
                  [texts.onlyFailed, { state: 'failed' }],
                  [texts.withoutAddress, { without_address: 'true' }],
                ] as const
              ).map(([title, one]: readonly [string, ListParams]) => ({
                title,
                path: '/orders',
                query: { ...one },
                isCurrent: state === one.state && without === one.without_address,
              }))}
            />
          </>
        }
        filter={
          <Filters
            path="/orders"
            label={texts.filters}
            fields={[
              {
                name: 'shop',
                label: texts.shop,
                value: shop,
                options: [
                  { value: '', label: texts.allShops },
                  ...shops.map((name) => ({ value: name, label: name })),
                ],
              },
              { name: 'order', label: texts.number, value: filter.number },
              orderField(t, texts.orders, '-id', sort),
            ]}
            hidden={{ state, without_address: without }}
          />
        }
        caption={`${texts.orders[by]}. ${t.common.shown(format.number(items.length))}`}
        sorting={{ path: '/orders', query: filters, by }}
        rows={items}
        empty={
          Object.keys(given).length > 0 ? (
            <NoResults path="/orders">{texts.noMatch}</NoResults>
          ) : (
            <>
              <p>{texts.none}</p>
              {mayWrite ? <ButtonLink kind="primary" path="/tokens/new" label={texts.makeToken} /> : null}
            </>
          )
        }
        columns={[
          {
            title: columns.order,
            kind: 'name',
            cell: ({ order: { id, number, shop } }) => (
              <>
                <a href={to(`/orders/${id}`)}>{number}</a>
                <span class="sub">{shop}</span>
              </>
            ),
          },
          { title: columns.state, phone: 'beside', cell: ({ order }) => <OrderBadges order={order} /> },
          {
            title: columns.customer,
            kind: 'long',
            cell: ({ order: { customer } }) => customer ?? t.common.none,
          },
          { title: columns.amount, kind: 'number', cell: ({ amounts }) => <AmountsCell amounts={amounts} /> },
          { title: columns.licenses, cell: (one) => <Licenses order={one} /> },
          {
            title: columns.posted,
            kind: 'time',
            sort: 'id',
            cell: ({ order: { createdAt } }) => format.moment(createdAt),
          },
        ]}
        paging={{ path: '/orders', query: { ...given }, next, limit: LIMIT }}
      />
    ),
  };
}

function downloadList({ db, at, query, view }: OperatorCall): PageResponse {
  const { sort, ...given } = readParams(query);
  const rows = csvRows(
    (after) => listOrderPage(db, filterOf(given), { after, limit: CSV_PAGE }, sort),
    (order) => {
      const { lines, amounts, ...fields } = orderJson(order, at);
      const licenses = lines.flatMap((line) => line.licenses.map(({ id }) => id));
      return { ...fields, ...csvAmounts(amounts, view.t), licenses: [...new Set(licenses)].join(' ') };
    },
  );
  return { csv: csvNameOf(view.t.orders.title), rows };
}

/** Formats amounts as decimals, because a spreadsheet does not know minor units. Blanks separate several currencies. */
function csvAmounts(amounts: OrderView['amounts'], { csv }: Texts) {
  const of = (which: 'paid' | 'refunded') =>
    amounts.map((one) => asDecimal(one[which], one.currency).replace('.', csv.decimal)).join(' ');
  return {
    paid: of('paid'),
    refunded: of('refunded'),
    currency: amounts.map(({ currency }) => currency).join(' '),
  };
}

async function readWaiting(db: OperatorCall['db']): Promise<Waiting | undefined> {
  const orders = (await countWaitingOrders(db)).reduce((sum, one) => sum + one.orders, 0);
  return orders === 0 ? undefined : { orders, unmapped: await listUnmappedArticles(db, MAX_ARTICLES) };
}

function filterOf({ shop, order: number, state, without_address: without }: ListParams): OrderFilter {
  return { shop, number, state, withoutAddress: without && true };
}

function readParams(query: URLSearchParams): ListParams {
  const [shop, order, state, after] = ['shop', 'order', 'state', 'after'].map((name) =>
    query.get(name)?.trim(),
  );
  const sort = asSort(ORDER_SORTS, query.get('sort'));
  return {
    ...(shop && { shop }),
    ...(order && { order }),
    ...((state === 'waiting' || state === 'failed' || state === 'done') && { state }),
    ...(query.get('without_address') === 'true' && { without_address: 'true' as const }),
    ...(sort && { sort }),
    ...(after && { after }),
  };
}

/** The unmapped articles that block orders, each with a link to map it. */
function WaitingPanel({ waiting: { orders, unmapped } }: { waiting: Waiting }) {
  const { t, to, format, mayWrite } = useView();
  const { waiting: texts } = t.orders;
  const { columns } = texts;
  return (
    <Panel
      id="waiting"

      title={texts.title}
      aside={texts.count(orders, format.number(orders))}
      footer={<a href={to('/orders', { state: 'waiting' })}>{texts.showAll}</a>}
    >
      <Table
        caption={texts.caption}
        rows={unmapped}
        empty={<p>{texts.others}</p>}
        columns={[
          { title: columns.article, kind: 'name', cell: ({ sku }) => sku },
          { title: columns.shop, cell: ({ shop }) => shop },
          {
            title: columns.orders,
            kind: 'number',
            phone: 'beside',
            cell: (one) => format.number(one.orders),
          },
          mayWrite && {
            title: '',
            kind: 'act',
            cell: ({ shop, sku }) => (
              <a href={to(`/shops/${shop}/map`, { sku, back: '/orders' })} aria-label={texts.mapOne(sku)}>
                {texts.map}
              </a>
            ),
          },
        ]}
      />
    </Panel>
  );
}

/** The state of an order, with a note if it is a test. */
export function OrderBadges({ order: { state, isTest } }: { order: OrderView['order'] }) {
  const { t } = useView();
  return (
    <>
      <Tag kind={state === 'done' ? 'ok' : 'off'} icon={state === 'done' ? 'yes' : 'pause'}>
        {t.orders.states[state]}
      </Tag>
      {isTest ? <span class="sub">{t.orders.test}</span> : null}
    </>
  );
}

/** The paid amount of each currency, and below it the refunded amount. */
export function AmountsCell({ amounts }: Pick<OrderView, 'amounts'>) {
  const { t, format } = useView();
  if (amounts.length === 0) return <>{t.common.none}</>;
  return (
    <>
      {amounts.map(({ currency, paid, refunded }) => (
        <div class="nowrap">
          {paid === 0 && refunded !== 0 ? null : format.money(paid, currency)}
          {refunded === 0 ? null : (
            <span class="sub">{t.orders.one.refundedOf(format.money(refunded, currency))}</span>
          )}
        </div>
      ))}
    </>
  );
}

function Licenses({ order: { lines } }: { order: OrderView }) {
  const { t, to, format } = useView();
  const ids = [...new Set(lines.flatMap(({ licenses }) => licenses.map(({ id }) => id)))];
  const others = ids.length - MAX_LICENSES;
  if (ids.length === 0) return <>{t.common.none}</>;
  return (
    <>
      {ids.slice(0, MAX_LICENSES).map((id, i) => (
        <>
          {i === 0 ? '' : ', '}
          <a href={to(`/licenses/${id}`)}>{String(id)}</a>
        </>
      ))}
      {others > 0 ? ` ${t.orders.more(format.number(others))}` : ''}
    </>
  );
}
