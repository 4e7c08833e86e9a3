import { DAY_MS } from '../../../base/days';
import { listCatalogue, type Product } from '../../../licensing/catalogue';
import { listRequestPage, type RequestQuery } from '../../../licensing/lists';
import { OperatorError } from '../../../licensing/operator-error';
import { readStatistics } from '../../../figures/statistics';
import { parseMoment } from '../../../licensing/timestamps';
import { refusalReason, REFUSAL_CODES } from '../../../overview/action-items';
import { describeRequests, type DescribedRequest } from '../../../support/requests';
import { filterId, requireLicense } from '../../../operations/kit/request-params';
import { csvRows } from '../csv';
import { ButtonLink } from '../kit/fields';
import { Filters, NoResults, type FilterField } from '../kit/filters';
import { ListPage } from '../kit/list-page';
import type { PageResponse, OperatorCall, Route } from '../page';
import { loadOptional } from '../load-optional';
import { RefusalChart, refusalsADay } from './refusal-chart';
import { requestCells, requestTable } from './request-table';

/** The access log, of all licences and of one licence. */

const LIMIT = 50;
const CSV_PAGE = 500;
const CHART_DAYS = 30;

/** The query parameters, with the same names as in the API's list. */
const NAMES = ['outcome', 'product_id', 'hint', 'ip', 'since'] as const;
type ListParams = Partial<Record<(typeof NAMES)[number] | 'after', string | undefined>>;

export const requestRoutes: Route<OperatorCall>[] = [
  { path: '/requests', get: showRequests },
  { path: '/requests.csv', get: downloadRequests, hasDeadline: false },
  { path: '/licenses/:id/requests', get: showRequests },
  { path: '/licenses/:id/requests.csv', get: downloadRequests, hasDeadline: false },
];

async function showRequests(call: OperatorCall): Promise<PageResponse> {
  const { db, at, query, view, settings } = call;
  const { t, format } = view;
  const texts = t.requests;
  const licenseId = await licenseOf(call);
  const given = readParams(query);
  const { after: _after, ...filters } = given;
  const products = await listCatalogue(db);
  const { items: requests, next } = await readRequests(call, { licenseId, given, limit: LIMIT });
  const days =
    licenseId === undefined
      ? await loadOptional(call, async (on) => refusalsADay(await lastDays(on, at), view.operatorLanguage))
      : undefined;
  const id = licenseId === undefined ? undefined : String(licenseId);
  const path = id === undefined ? '/requests' : `/licenses/${id}/requests`;
  const logDays = format.number(settings.logDays);
  const isFiltered = Object.keys(filters).length > 0;
  return {
    page: (
      <ListPage
        title={id === undefined ? texts.title : texts.ofLicense(id)}
        nav={id === undefined ? 'overview' : 'licenses'}
        crumbs={
          id === undefined
            ? []
            : [
                [t.licenses.title, '/licenses'],
                [texts.crumb(id), `/licenses/${id}`],
              ]
        }
        sub={<span class="small muted">{texts.about(logDays)}</span>}
        actions={<ButtonLink path={`${path}.csv`} query={filters} label={t.common.csv} />}
        above={days === undefined ? null : <RefusalChart days={days} />}
        filter={
          <Filters
            path={path}
            label={texts.filters}
            fields={filterFields(call, filters, licenseId === undefined ? products : undefined)}
          />
        }
        {...requestTable(view, {
          requests,
          products: new Map(products.map((one) => [one.id, one.name])),
          ofLicense: id !== undefined,
          caption: texts.caption(format.number(requests.length)),
          empty: isFiltered ? (
            <NoResults path={path}>{texts.noMatch}</NoResults>
          ) : id === undefined ? (
            texts.none
          ) : (
            texts.noneOfLicense(logDays)
          ),
        })}
        paging={{ path, query: given, next, limit: LIMIT }}
      />
    ),
  };
}

/**
 * Returns the filter fields.
 * @param products undefined for one licence: its requests are few, so one filter is enough
 */
function filterFields(
  { view: { t, language } }: OperatorCall,
  filters: ListParams,
  products: Product[] | undefined,
): FilterField[] {
  const texts = t.requests;
  const all = { value: '', label: t.common.all };
  const outcome = {
    name: 'outcome',
    label: texts.outcome,
    value: filters.outcome,
    options: [
      all,
      { value: 'ok', label: texts.outcomes.granted ?? '' },
      ...REFUSAL_CODES.map((code) => ({ value: code, label: refusalReason(code, language) })),
    ],
  };
  if (products === undefined) return [outcome];
  return [
    outcome,
    {
      name: 'product_id',
      label: texts.product,
      value: filters.product_id,
      options: [all, ...products.map(({ id, name }) => ({ value: id, label: name }))],
    },
    { name: 'hint', label: texts.hint, value: filters.hint, type: 'text' },
    { name: 'ip', label: texts.ip, value: filters.ip, type: 'text' },
    { name: 'since', label: texts.since, value: filters.since, type: 'date' },
  ];
}

function lastDays(db: OperatorCall['db'], at: Date) {
  const from = new Date(at.getTime() - (CHART_DAYS - 1) * DAY_MS);
  const day = (date: Date) => date.toISOString().slice(0, 10);
  return readStatistics(db, { from: day(from), to: day(at) }, at);
}

async function downloadRequests(call: OperatorCall): Promise<PageResponse> {
  const licenseId = await licenseOf(call);
  const given = readParams(call.query);
  const { csvName, csvOfLicense } = call.view.t.requests;
  const rows = csvRows(
    (after) => readRequests(call, { licenseId, given: { ...given, after }, limit: CSV_PAGE }),
    ({ access, told }) => requestCells(access, told),
  );
  return { csv: licenseId === undefined ? csvName : csvOfLicense(String(licenseId)), rows };
}

/**
 * Returns the id of the licence in the path; undefined for all licences.
 * @throws OperationError (404) if it does not exist
 */
async function licenseOf(call: OperatorCall): Promise<number | undefined> {
  return call.path.id === undefined ? undefined : (await requireLicense(call)).id;
}

function readParams(query: URLSearchParams): ListParams {
  const names = [...NAMES, 'after'] as const;
  return Object.fromEntries(
    names.map((name) => [name, query.get(name)?.trim()] as const).filter(([, value]) => value),
  );
}

/** Reads a page of the list. An invalid filter, such as a nonexistent day, matches nothing. */
async function readRequests(
  { db, at, view }: OperatorCall,
  { licenseId, given, limit }: { licenseId: number | undefined; given: ListParams; limit: number },
): Promise<{ items: DescribedRequest[]; next: string | null }> {
  try {
    const page = await listRequestPage(db, toQuery(licenseId, given), { limit, after: given.after });
    const zone = view.format.zone;
    return {
      items: await describeRequests(db, page.items, { language: view.operatorLanguage, now: at, zone }),
      next: page.next,
    };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { items: [], next: null };
  }
}

function toQuery(
  licenseId: number | undefined,
  { product_id, since, after: _after, ...others }: ListParams,
): RequestQuery {
  return {
    ...others,
    licenseId,
    productId: filterId(product_id),
    since: since === undefined ? undefined : parseMoment(since, 'first', 'utc', 'since'),
  };
}
