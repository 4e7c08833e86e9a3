import { listProducts, type Product } from '../../../licensing/catalogue';
import { listRequestPage, type RequestQuery } from '../../../licensing/lists';
import { OperatorError } from '../../../licensing/operator-error';
import { readStatistics } from '../../../licensing/statistics';
import { parseMoment } from '../../../licensing/timestamps';
import { refusalReason, REFUSAL_CODES } from '../../../support/needs-you';
import { tellRequests, type ToldRequest } from '../../../support/requests';
import { requireLicense } from '../../../operations/reading';
import { Options } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Panel } from '../kit/panel';
import { Paging } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { within } from '../within';
import { RefusalChart, refusalsADay, type RefusalDays } from './refusal-chart';
import { requestCells, RequestTable, type ProductNames } from './request-table';

/** The access log: of everything, and of one licence. */

const LIMIT = 50;
const CSV_PAGE = 500;
const CHART_DAYS = 30;

/** The query of the API's list, by the same names. */
const NAMES = ['outcome', 'product_id', 'hint', 'ip', 'since'] as const;
type Given = Partial<Record<(typeof NAMES)[number] | 'after', string | undefined>>;

export const requestRoutes: Route<OperatorCall>[] = [
  { path: '/requests', get: showRequests },
  { path: '/requests.csv', get: downloadRequests, hasDeadline: false },
  { path: '/licenses/:id/requests', get: showRequests },
  { path: '/licenses/:id/requests.csv', get: downloadRequests, hasDeadline: false },
];

async function showRequests(call: OperatorCall): Promise<Answer> {
  const { db, at, query } = call;
  const licenseId = await licenseOf(call);
  const given = readGiven(query);
  const products = await listProducts(db);
  const { requests, next } = await readRequests(call, { licenseId, given, limit: LIMIT });
  const days =
    licenseId === undefined
      ? await within(db, async (on) => refusalsADay(await lastDays(on, at), call.view.operatorLanguage))
      : undefined;
  return {
    page: (
      <RequestList
        {...{ licenseId, given, products, requests, next, days }}
        days={days}
        logDays={call.settings.logDays}
      />
    ),
  };
}

function lastDays(db: OperatorCall['db'], at: Date) {
  const from = new Date(at.getTime() - (CHART_DAYS - 1) * 24 * 60 * 60 * 1000);
  const day = (date: Date) => date.toISOString().slice(0, 10);
  return readStatistics(db, { from: day(from), to: day(at) }, at);
}

async function downloadRequests(call: OperatorCall): Promise<Answer> {
  const licenseId = await licenseOf(call);
  const given = readGiven(call.query);
  const { csvName, csvOfLicense } = call.view.t.requests;
  async function* rows() {
    let after: string | undefined;
    let isFirst = true;
    do {
      const { requests, next } = await readRequests(call, {
        licenseId,
        given: { ...given, after },
        limit: CSV_PAGE,
      });
      for (const { access, told } of requests) {
        const cells = requestCells(access, told);
        if (isFirst) yield Object.keys(cells);
        isFirst = false;
        yield Object.values(cells);
      }
      after = next ?? undefined;
    } while (after !== undefined);
  }
  return { csv: licenseId === undefined ? csvName : csvOfLicense(String(licenseId)), rows: rows() };
}

/** The licence of the path; undefined: of all. @throws ManageError when there is none */
async function licenseOf(call: OperatorCall): Promise<number | undefined> {
  return call.path.id === undefined ? undefined : (await requireLicense(call)).id;
}

function readGiven(query: URLSearchParams): Given {
  const names = [...NAMES, 'after'] as const;
  return Object.fromEntries(
    names.map((name) => [name, query.get(name)?.trim()] as const).filter(([, value]) => value),
  );
}

/** A filter that names nothing, such as a day that does not exist, matches nothing. */
async function readRequests(
  { db, at, view }: OperatorCall,
  { licenseId, given, limit }: { licenseId: number | undefined; given: Given; limit: number },
): Promise<{ requests: ToldRequest[]; next: string | null }> {
  try {
    const page = await listRequestPage(db, toQuery(licenseId, given), { limit, after: given.after });
    const zone = view.format.zone;
    return {
      requests: await tellRequests(db, page.items, { language: view.operatorLanguage, now: at, zone }),
      next: page.next,
    };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { requests: [], next: null };
  }
}

function toQuery(
  licenseId: number | undefined,
  { product_id, since, after: _after, ...others }: Given,
): RequestQuery {
  return {
    ...others,
    licenseId,
    productId: product_id === undefined ? undefined : Number(product_id) || 0,
    since: since === undefined ? undefined : parseMoment(since, 'first', 'utc', 'since'),
  };
}

function RequestList({
  licenseId,
  given,
  products,
  requests,
  next,
  days,
  logDays,
}: {
  licenseId: number | undefined;
  given: Given;
  products: Product[];
  requests: ToldRequest[];
  next: string | null;
  days: RefusalDays | undefined;
  logDays: number;
}) {
  const { t, to, format } = useView();
  const texts = t.requests;
  const { after: _after, ...filters } = given;
  const id = licenseId === undefined ? undefined : String(licenseId);
  const title = id === undefined ? texts.title : texts.ofLicense(id);
  const path = id === undefined ? '/requests' : `/licenses/${id}/requests`;
  const names: ProductNames = new Map(products.map((one) => [one.id, one.name]));
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <OperatorPage
      title={title}
      nav={id === undefined ? 'overview' : 'licenses'}
      crumbs={
        id === undefined
          ? []
          : [
              [t.licenses.title, '/licenses'],
              [texts.crumb(id), `/licenses/${id}`],
            ]
      }
    >
      <Head
        title={title}
        sub={<span class="small muted">{texts.about(format.number(logDays))}</span>}
        actions={
          <a class="btn btn-quiet" href={to(`${path}.csv`, filters)}>
            {t.common.csv}
          </a>
        }
      />
      {days === undefined ? null : <RefusalChart days={days} />}
      <Panel id="list">
        <Filters {...{ path, filters, products }} isOfLicense={id !== undefined} />
        <div id="results">
          <RequestTable
            requests={requests}
            products={names}
            ofLicense={id !== undefined}
            caption={texts.caption(format.number(requests.length))}
            empty={
              isFiltered ? (
                <p class="mb-0">
                  {texts.noMatch} <a href={to(path)}>{t.common.clearFilters}</a>
                </p>
              ) : id === undefined ? (
                texts.none
              ) : (
                texts.noneOfLicense(format.number(logDays))
              )
            }
          />
          <Paging path={path} query={given} next={next} limit={LIMIT} />
        </div>
      </Panel>
    </OperatorPage>
  );
}

/** A licence's own requests are few: one filter is enough. */
function Filters({
  path,
  filters,
  products,
  isOfLicense,
}: {
  path: string;
  filters: Given;
  products: Product[];
  isOfLicense: boolean;
}) {
  const { t, to, operatorLanguage: language } = useView();
  const texts = t.requests;
  const all = { value: '', label: t.common.all };
  const outcomes = [
    all,
    { value: 'ok', label: texts.outcomes.granted ?? '' },
    ...REFUSAL_CODES.map((code) => ({ value: code, label: refusalReason(code, language) })),
  ];
  const named = [all, ...products.map(({ id, name }) => ({ value: id, label: name }))];
  const selects = [
    ['outcome', texts.outcome, outcomes] as const,
    ...(isOfLicense ? [] : [['product_id', texts.product, named] as const]),
  ];
  const fields = [
    ['hint', texts.hint, 'text'],
    ['ip', texts.ip, 'text'],
    ['since', texts.since, 'date'],
  ] as const;
  return (
    <form
      class="filters"
      method="get"
      action={to(path)}
      role="search"
      aria-label={texts.filters}
      data-live="#results"
    >
      {selects.map(([name, label, options]) => (
        <div>
          <label for={name}>{label}</label>
          <select class="form-select form-select-sm" id={name} name={name}>
            <Options options={options} chosen={filters[name] ?? ''} />
          </select>
        </div>
      ))}
      {isOfLicense
        ? null
        : fields.map(([name, label, type]) => (
            <div>
              <label for={name}>{label}</label>
              <input
                class="form-control form-control-sm"
                autocomplete="off"
                {...{ id: name, name, type, value: filters[name] ?? '' }}
              />
            </div>
          ))}
      <div>
        <button class="btn btn-quiet btn-sm" type="submit">
          {t.common.filter}
        </button>
      </div>
    </form>
  );
}
