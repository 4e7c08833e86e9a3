import { readStatistics } from '../../../figures/statistics';
import { SORTS } from '../../../licensing/license-filter';
import { countLicenses, listLicensePage, type LicenseQuery } from '../../../licensing/lists';
import type { License } from '../../../licensing/licenses';
import { asSort } from '../../../licensing/sorting';
import { liveStatus, paidUntil } from '../../../licensing/core/states';
import { licenseJson } from '../../../licensing/views';
import { filterId } from '../../../operations/kit/request-params';
import { OperatorError } from '../../../licensing/operator-error';
import { listCatalogue, plansOf, type Plan, type Product } from '../../../licensing/catalogue';
import { csvRows } from '../csv';
import { ButtonLink, type Option } from '../kit/fields';
import { Filters, NoResults, orderField, SavedViews, type FilterField } from '../kit/filters';
import { ListPage } from '../kit/list-page';
import { Status } from '../kit/status';
import { Table, type Column, type Sorting, type TableProps } from '../kit/table';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView, type View } from '../view';
import { loadOptional } from '../load-optional';
import { readNames } from '../../../mail/customer-profile';
import { BulkBar, SelectLicense } from './license-select';

/** The list of licences, with its filters in the address, quick filters with counts, and a CSV file. */

const LIMIT = 50;
const CSV_PAGE = 500;

/** The query parameters, with the same names as in the API's list. */
const NAMES = [
  'q',
  'product_id',
  'covers',
  'plan_id',
  'status',
  'customer',
  'reference',
  'hint',
  'expiring',
  'refused',
  'issued_since',
  'suspended_by',
] as const;
type FilterName = (typeof NAMES)[number];
type LicenseSort = (typeof SORTS)[number];
type ListParams = Partial<Record<FilterName | 'sort' | 'after', string | undefined>>;

export const licenseListRoutes: Route<OperatorCall>[] = [
  { path: '/licenses', get: showList },
  { path: '/licenses.csv', get: downloadList, hasDeadline: false },
];

async function showList({ db, at, query, view, settings }: OperatorCall): Promise<PageResponse> {
  const { t, mayWrite } = view;
  const texts = t.licenses;
  const given = readParams(query);
  const { after, sort, ...filters } = given;
  const [products, plans] = [await listCatalogue(db), await plansOf(db, undefined)];
  const counts = await loadOptional({ db, settings }, async (on) => countsOf(on, at));
  const counted = await loadOptional({ db, settings }, async (on) => countLicenses(on, toQuery(filters), at));
  const { items, next } = await listLicensePage(db, toQuery(given), { limit: LIMIT, after }, at).catch(
    (error: unknown) => {
      // An invalid filter, such as a deleted plan, matches nothing.
      if (!(error instanceof OperatorError)) throw error;
      return { items: [], next: null };
    },
  );
  // The cached count may be a minute old.
  const total = counted === undefined ? undefined : Math.max(counted, items.length);
  // An empty page after an invalid cursor does not mean that no licence exists.
  const isFiltered = Object.keys(filters).length > 0 || after !== undefined;
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="licenses"
        actions={
          <>
            {mayWrite ? <ButtonLink kind="primary" path="/licenses/new" label={texts.issue} /> : null}
            <ButtonLink path="/licenses.csv" query={{ ...filters, sort }} label={t.common.csv} />
          </>
        }
        above={<QuickFilters filters={filters} counts={counts} />}
        filter={
          <Filters
            path="/licenses"
            label={texts.filters}
            fields={filterFields(view, { ...filters, sort }, products, plans)}
          />
        }
        tags={<Chips filters={filters} products={products} />}
        {...licenseTable(view, {
          licenses: items,
          names: await readNames(db, items),
          usual: usualSort(filters),
          total: next === null && after === undefined ? items.length : total,
          sorting: { path: '/licenses', query: filters, by: sort },
          isSelectable: mayWrite,
          empty: isFiltered ? <NoResults path="/licenses">{texts.noMatch}</NoResults> : <NoneYet />,
        })}
        paging={{ path: '/licenses', query: given, next, limit: LIMIT }}
        bar={
          mayWrite && items.length > 0 ? (
            <BulkBar licenses={items} total={total} query={given} canMail={settings.mailing !== undefined} />
          ) : undefined
        }
      />
    ),
  };
}

/**
 * Returns all licences of a list, newest first; undefined if it has more than `most`.
 * @param query the query of any of its pages
 */
export async function findWholeList(
  { db, at }: OperatorCall,
  query: URLSearchParams,
  most: number,
): Promise<License[] | undefined> {
  const filter: LicenseQuery = { ...toQuery(readParams(query)), sort: '-id' };
  const found: License[] = [];
  try {
    for (let after: string | undefined; found.length <= most;) {
      const { items, next } = await listLicensePage(db, filter, { limit: CSV_PAGE, after }, at);
      found.push(...items);
      if (next === null) return found.length > most ? undefined : found;
      after = next;
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return [];
  }
  return undefined;
}

function downloadList({ db, at, query, view }: OperatorCall): PageResponse {
  const filter = toQuery(readParams(query));
  const rows = csvRows(
    (after) => listLicensePage(db, filter, { limit: CSV_PAGE, after }, at),
    (license) => {
      const { metadata: _metadata, ...fields } = licenseJson(license, at);
      return fields;
    },
  );
  return { csv: view.t.licenses.csvName, rows };
}

interface Counts {
  all: number;
  byStatus: Record<string, number>;
}

/** Returns the counts from the aggregates, which are at most one minute old. */
async function countsOf(db: OperatorCall['db'], at: Date): Promise<Counts> {
  const day = at.toISOString().slice(0, 10);
  const { licenses } = await readStatistics(db, { from: day, to: day }, at);
  return { all: Object.values(licenses).reduce((sum, one) => sum + one, 0), byStatus: licenses };
}

function readParams(query: URLSearchParams): ListParams {
  const names = [...NAMES, 'sort', 'after'] as const;
  return Object.fromEntries(
    names.map((name) => [name, query.get(name)?.trim()] as const).filter(([, value]) => value),
  );
}

/**
 * Returns the order if none is chosen. Licences that have ended: those that ended last come first, which an index
 * serves. By id, the newest ended licence can be behind half a million others.
 */
function usualSort({ expiring, status }: ListParams): LicenseSort {
  if (expiring !== undefined) return 'expires_at';
  return status === 'expired' ? '-expires_at' : '-id';
}

function toQuery({ product_id, plan_id, covers, after: _after, ...others }: ListParams): LicenseQuery {
  const { issued_since: issuedSince, suspended_by: suspendedBy, sort } = others;
  const usual = usualSort(others);
  return {
    ...others,
    // The list has its own, faster way for the soonest end.
    sort: sort ?? (usual === 'expires_at' ? undefined : usual),
    issuedSince,
    suspendedBy,
    productId: filterId(product_id),
    planId: filterId(plan_id),
    covers: filterId(covers),
  };
}

function QuickFilters({ filters, counts }: { filters: ListParams; counts: Counts | undefined }) {
  const { t, format } = useView();
  const texts = t.licenses;
  const status = (name: string) => (counts && format.number(counts.byStatus[name] ?? 0)) ?? '';
  const quick: [string, ListParams, string][] = [
    [texts.quickAll, {}, counts ? format.number(counts.all) : ''],
    [texts.quickActive, { status: 'active' }, status('active')],
    [texts.quickEnding, { expiring: '30d' }, ''],
    [texts.quickExpired, { status: 'expired' }, status('expired')],
    [texts.quickSuspended, { status: 'suspended' }, status('suspended')],
    [texts.quickRefused, { refused: '7d' }, ''],
  ];
  const now = JSON.stringify(filters);
  return (
    <SavedViews
      label={texts.quick}
      views={quick.map(([title, query, count]) => ({
        title,
        count,
        path: '/licenses',
        query,
        isCurrent: JSON.stringify(query) === now,
      }))}
    />
  );
}

function filterFields({ t }: View, filters: ListParams, products: Product[], plans: Plan[]): FilterField[] {
  const texts = t.licenses;
  const names = new Map(products.map(({ id, name }) => [id, name]));
  const all = { value: '', label: t.common.all };
  const choice = (name: FilterName, label: string, options: Option[]): FilterField => ({
    name,
    label,
    options,
    value: filters[name],
  });
  return [
    { name: 'q', label: texts.q, value: filters.q },
    choice('product_id', texts.product, [
      all,
      ...products.map(({ id, name }) => ({ value: id, label: name })),
    ]),
    choice('plan_id', texts.plan, [
      all,
      ...plans.map(({ id, name, productId }) => ({
        value: id,
        label: `${names.get(productId) ?? ''} · ${name}`,
      })),
    ]),
    choice('status', texts.status, [
      all,
      ...Object.entries(t.common.status).map(([value, label]) => ({ value, label })),
    ]),
    choice('expiring', texts.ends, [
      { value: '', label: texts.anyTime },
      ...['7', '30', '90'].map((days) => ({ value: `${days}d`, label: texts.within(days) })),
    ]),
    orderField(t, texts.orders, usualSort(filters), filters.sort),
  ];
}

/** Chips for the active filters that have no form field. */
function Chips({ filters, products }: { filters: ListParams; products: Product[] }) {
  const { t, to, format } = useView();
  const { names, filteredBy } = t.licenses;
  const since = new Date(filters.issued_since ?? '');
  const inWords: ListParams = {
    refused: /^\d+[dmy]$/.test(filters.refused ?? '') ? format.duration(filters.refused ?? '') : undefined,
    issued_since: Number.isNaN(since.getTime()) ? undefined : format.day(since),
    suspended_by: t.orders.events[filters.suspended_by ?? ''],
    covers: products.find(({ id }) => String(id) === filters.covers)?.name,
  };
  const hidden = NAMES.filter((name) => filters[name] !== undefined && Object.hasOwn(names, name));
  if (hidden.length === 0) return null;
  return (
    <p class="chips">
      {hidden.map((name) => (
        <span class="tag">{filteredBy(names[name] ?? name, inWords[name] ?? filters[name] ?? '')}</span>
      ))}
      <a href={to('/licenses')}>{t.common.clearFilters}</a>
    </p>
  );
}

interface LicenseTableProps {
  licenses: License[];
  /** the order if none is chosen */
  usual?: LicenseSort;
  /** the number of licences in the whole list; undefined if it is unknown */
  total?: number | undefined;
  sorting?: Sorting;
  /** true if each row has a box, for the form of `BulkBar` */
  isSelectable?: boolean;
  caption?: string;
  /** all belong to the customer of the page, so that their products name them */
  isOfOne?: boolean;
  /** names of customers by address; a name is shown above the address */
  names?: ReadonlyMap<string, string>;
  /** additional columns */
  further?: Column<License>[];
  empty: TableProps<License>['empty'];
}

/** A table of licences. */
export function LicenseTable(props: LicenseTableProps) {
  return <Table {...licenseTable(useView(), props)} />;
}

function licenseTable(
  { t, to, format, now }: View,
  {
    licenses,
    usual = '-id',
    total,
    sorting,
    isSelectable = false,
    caption,
    isOfOne = false,
    names,
    further = [],
    empty,
  }: LicenseTableProps,
): TableProps<License> {
  const { columns, orders, noCustomer } = t.licenses;
  const { facts } = t.license;
  const by = asSort(SORTS, sorting?.by) ?? usual;
  const count = format.number(licenses.length);
  const shown =
    total === undefined || total === licenses.length
      ? t.common.shown(count)
      : t.licenses.shownOf(count, format.number(total));
  return {
    caption: caption ?? `${orders[by]}. ${shown}`,
    rows: licenses,
    empty,
    sorting: sorting && { ...sorting, by },
    columns: [
      isSelectable && {
        title: '',
        kind: 'check',
        cell: (one) => <SelectLicense license={one} />,
      },
      isOfOne
        ? {
            title: columns.plan,
            kind: 'name',
            cell: ({ id, product, plan }) => (
              <>
                <a href={to(`/licenses/${id}`)}>{product.name}</a>
                <span class="sub">{plan.name}</span>
              </>
            ),
          }
        : {
            title: columns.customer,
            kind: 'name',
            sort: 'customer',
            cell: ({ id, customer, reference }) => {
              const name = customer === null ? undefined : names?.get(customer);
              const sub = name === undefined ? reference : customer;
              return (
                <>
                  <a href={to(`/licenses/${id}`)}>{name ?? customer ?? noCustomer}</a>
                  {sub === null ? null : <span class="sub">{sub}</span>}
                </>
              );
            },
          },
      {
        title: columns.status,
        phone: 'beside',
        cell: (one) => <Status status={liveStatus(one, now)} />,
      },
      ...further,
      !isOfOne && {
        title: columns.plan,
        phone: 'bare',
        cell: ({ product, plan }) => (
          <>
            {product.name} <span class="sub">{plan.name}</span>
          </>
        ),
      },
      {
        title: columns.slots,
        kind: 'number',
        cell: ({ activationLimit: limit, activationsUsed: used }) =>
          facts.slotsOf(format.number(used), limit === 0 ? t.common.unlimited : format.number(limit)),
      },
      {
        title: columns.ends,
        kind: 'time',
        sort: 'expires_at',
        cell: (license) => {
          const paid = paidUntil(license);
          return paid === null ? (
            t.common.noEnd
          ) : (
            <>
              {format.day(paid)} <span class={isOfOne ? 'sub' : 'sub lg'}>{format.distance(paid)}</span>
            </>
          );
        },
      },
      !isOfOne && {
        title: columns.hint,
        kind: 'mono',
        phone: 'wide',
        cell: ({ keyHint }) => keyHint ?? t.common.none,
      },
    ],
  };
}

function NoneYet() {
  const { t, mayWrite } = useView();
  return (
    <>
      <p>{t.licenses.none}</p>
      {mayWrite ? (
        <p class="acts">
          <ButtonLink kind="primary" path="/licenses/new" label={t.licenses.noneIssue} />
          <ButtonLink path="/move-in" label={t.licenses.noneImport} />
        </p>
      ) : null}
    </>
  );
}
