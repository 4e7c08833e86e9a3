import { listCatalogue, plansOf } from '../../../licensing/catalogue';
import { listLapsed, type LapsedLicense } from '../../../figures/not-renewed';
import { OperatorError } from '../../../licensing/operator-error';
import { lastMonths } from '../../../figures/renewals';
import { csvRows } from '../csv';
import { CopyText } from '../kit/copy';
import { ButtonLink } from '../kit/fields';
import { Filters, NoResults } from '../kit/filters';
import { ListPage } from '../kit/list-page';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { catalogueFields, monthName, readFilters, toRenewalsQuery, type RenewalFilters } from './renewals';

/** The list of lapsed customers (churn). Customers whose sites still request updates are first. */

const LIMIT = 50;
const CSV_PAGE = 500;
/** The most lines of the field, in which long addresses fill one line each. */
const MAX_LINES = 8;

export const notRenewedRoutes: Route<OperatorCall>[] = [
  { path: '/not-renewed', get: showList },
  { path: '/not-renewed.csv', get: downloadList, hasDeadline: false },
];

type ListParams = RenewalFilters & Partial<Record<'month' | 'after', string | undefined>>;

async function showList(call: OperatorCall): Promise<PageResponse> {
  const { db, at, query, view, settings } = call;
  const { t, to, format } = view;
  const { notRenewed: texts, planOf } = t.renewals;
  const { columns } = texts;
  const given = readParams(query);
  const { after: _after, ...filters } = given;
  const [products, plans] = [await listCatalogue(db), await plansOf(db, undefined)];
  const { items, next } = await readLapsed(call, given, LIMIT);
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="renewals"
        crumbs={[[t.renewals.title, '/renewals']]}
        sub={texts.about}
        actions={<ButtonLink path="/not-renewed.csv" query={filters} label={t.common.csv} />}
        above={<Addresses lapsed={items} />}
        filter={
          <Filters
            path="/not-renewed"
            label={texts.filters}
            fields={[
              ...catalogueFields(view, filters, products, plans),
              {
                name: 'month',
                label: texts.month,
                value: given.month,
                options: [
                  { value: '', label: texts.anyMonth },
                  ...lastMonths(at)
                    .reverse()
                    .map((month) => ({ value: month, label: monthName(format, month) })),
                ],
              },
            ]}
          />
        }
        caption={texts.caption(format.number(items.length))}
        rows={items}
        empty={
          Object.keys(filters).length > 0 ? (
            <NoResults path="/not-renewed">{texts.noMatch}</NoResults>
          ) : (
            <p>
              {texts.none} <a href={to('/renewals')}>{texts.noneLink}</a>
            </p>
          )
        }
        columns={[
          {
            title: columns.customer,
            kind: 'name',
            cell: ({ license: { id, customer }, hasActive }) => (
              <>
                <a href={to(`/licenses/${id}`)}>{customer ?? t.licenses.noCustomer}</a>
                {hasActive ? <span class="sub">{texts.another}</span> : null}
              </>
            ),
          },
          {
            title: columns.plan,
            kind: 'long',
            phone: 'bare',
            cell: ({ license: { product, plan } }) => planOf(product.name, plan.name),
          },
          {
            title: columns.since,
            kind: 'time',
            cell: ({ customerSince }) => (customerSince ? format.day(customerSince) : t.common.none),
          },
          { title: columns.ended, kind: 'time', cell: ({ endedAt }) => format.day(endedAt) },
          {
            title: columns.download,
            kind: 'time',
            cell: ({ lastDownloadAt }) => (lastDownloadAt ? format.localDay(lastDownloadAt) : t.common.none),
          },
          {
            title: columns.refused,
            kind: 'number',
            cell: ({ license: { id }, refused }) =>
              refused === 0 ? (
                '0'
              ) : (
                <a href={to(`/licenses/${id}/requests`, { outcome: 'LICENSE_EXPIRED' })}>
                  {format.number(refused)}
                </a>
              ),
          },
          {
            title: columns.latest,
            kind: 'time',
            cell: ({ refusedAt }) => (refusedAt ? format.moment(refusedAt) : t.common.none),
          },
        ]}
        paging={{ path: '/not-renewed', query: { ...given }, next, limit: LIMIT }}
        footer={texts.logNote(format.number(settings.logDays))}
      />
    ),
  };
}

/** The addresses to write to, without customers who have another active licence, because it may replace this one. */
function Addresses({ lapsed }: { lapsed: LapsedLicense[] }) {
  const { t, format } = useView();
  const texts = t.renewals.notRenewed;
  const addresses = [
    ...new Set(lapsed.flatMap(({ license, hasActive }) => (hasActive ? [] : (license.customer ?? [])))),
  ];
  if (addresses.length === 0) return null;
  return (
    <details class="raw">
      <summary>{texts.write(addresses.length, format.number(addresses.length))}</summary>
      <p class="small muted">{texts.writeHint}</p>
      <CopyText
        id="addresses"
        label={texts.addresses}
        text={addresses.join(', ')}
        rows={Math.min(MAX_LINES, Math.max(2, addresses.length))}
      />
    </details>
  );
}

function downloadList(call: OperatorCall): PageResponse {
  const given = readParams(call.query);
  const rows = csvRows(
    (after) => readLapsed(call, { ...given, after }, CSV_PAGE),
    ({ license, endedAt, customerSince, lastDownloadAt, refusedAt, ...one }) => ({
      license_id: license.id,
      customer: license.customer,
      product: license.product.name,
      plan: license.plan.name,
      customer_since: customerSince?.toISOString(),
      ended_at: endedAt.toISOString(),
      last_download_at: lastDownloadAt?.toISOString(),
      refused: one.refused,
      refused_at: refusedAt?.toISOString(),
      has_active: one.hasActive,
    }),
  );
  return { csv: call.view.t.renewals.notRenewed.csvName, rows };
}

function readParams(query: URLSearchParams): ListParams {
  const given = ['month', 'after'].map((name) => [name, query.get(name)?.trim()] as const);
  return { ...readFilters(query), ...Object.fromEntries(given.filter(([, value]) => value)) };
}

/** Reads a page of the list. An invalid filter, such as a deleted plan, matches nothing. */
async function readLapsed({ db, at }: OperatorCall, { month, after, ...filters }: ListParams, limit: number) {
  try {
    return await listLapsed(db, { ...toRenewalsQuery(filters), month }, { limit, after }, at);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { items: [], next: null };
  }
}
