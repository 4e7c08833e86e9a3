import { readStatistics } from '../../../licensing/statistics';
import { listLicensePage, type LicenseQuery } from '../../../licensing/lists';
import type { License } from '../../../licensing/licenses';
import { liveStatus } from '../../../licensing/core/states';
import { licenseJson } from '../../../licensing/views';
import { OperatorError } from '../../../licensing/operator-error';
import { listProducts, plansOf, type Plan, type Product } from '../../../licensing/catalogue';
import { Options } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Panel } from '../kit/panel';
import { Status } from '../kit/status';
import { Paging, Table, type Column } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { within } from '../within';

/** Which licences are there: filters in the address, quick ones with their counts, and the same as CSV. */

const LIMIT = 50;
const CSV_PAGE = 500;

/** The query of the API's list, by the same names. */
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
] as const;
type FilterName = (typeof NAMES)[number];
type Given = Partial<Record<FilterName | 'after', string>>;

export const licenseListRoutes: Route<OperatorCall>[] = [
  { path: '/licenses', get: showList },
  { path: '/licenses.csv', get: downloadList, hasDeadline: false },
];

async function showList({ db, at, query }: OperatorCall): Promise<Answer> {
  const given = readGiven(query);
  const [products, plans] = [await listProducts(db), await plansOf(db, undefined)];
  const counts = await within(db, async (on) => countsOf(on, at));
  try {
    const { items, next } = await listLicensePage(
      db,
      toQuery(given),
      { limit: LIMIT, after: given.after },
      at,
    );
    return { page: <LicenseList {...{ given, products, plans, counts, licenses: items, next }} /> };
  } catch (error) {
    // A filter that names nothing, such as a plan that is gone, matches nothing.
    if (!(error instanceof OperatorError)) throw error;
    return { page: <LicenseList {...{ given, products, plans, counts, licenses: [], next: null }} /> };
  }
}

function downloadList({ db, at, query, view }: OperatorCall): Answer {
  const filter = toQuery(readGiven(query));
  async function* rows() {
    let after: string | undefined;
    let isFirst = true;
    do {
      const { items, next } = await listLicensePage(db, filter, { limit: CSV_PAGE, after }, at);
      for (const license of items) {
        const { metadata: _metadata, ...fields } = licenseJson(license, at);
        if (isFirst) yield Object.keys(fields);
        isFirst = false;
        yield Object.values(fields);
      }
      after = next ?? undefined;
    } while (after !== undefined);
  }
  return { csv: view.t.licenses.csvName, rows: rows() };
}

interface Counts {
  all: number;
  byStatus: Record<string, number>;
}

/** From the kept figures, at most a minute old. */
async function countsOf(db: OperatorCall['db'], at: Date): Promise<Counts> {
  const day = at.toISOString().slice(0, 10);
  const { licenses } = await readStatistics(db, { from: day, to: day }, at);
  return { all: Object.values(licenses).reduce((sum, one) => sum + one, 0), byStatus: licenses };
}

function readGiven(query: URLSearchParams): Given {
  const names = [...NAMES, 'after'] as const;
  return Object.fromEntries(
    names.map((name) => [name, query.get(name)?.trim()] as const).filter(([, value]) => value),
  );
}

function toQuery({ product_id, plan_id, covers, after: _after, ...others }: Given): LicenseQuery {
  const id = (text: string | undefined) => (text === undefined ? undefined : Number(text) || 0);
  return { ...others, productId: id(product_id), planId: id(plan_id), covers: id(covers) };
}

function LicenseList({
  given,
  products,
  plans,
  counts,
  licenses,
  next,
}: {
  given: Given;
  products: Product[];
  plans: Plan[];
  counts: Counts | undefined;
  licenses: License[];
  next: string | null;
}) {
  const { t, to, operator } = useView();
  const texts = t.licenses;
  const mayWrite = operator?.scope === 'write';
  const { after: _after, ...filters } = given;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <OperatorPage title={texts.title} nav="licenses">
      <Head
        title={texts.title}
        actions={
          <>
            {mayWrite ? (
              <a class="btn btn-primary" href={to('/licenses/new')}>
                {texts.issue}
              </a>
            ) : null}
            <a class="btn btn-quiet" href={to('/licenses.csv', filters)}>
              {t.common.csv}
            </a>
          </>
        }
      />
      <QuickFilters filters={filters} counts={counts} />
      <Panel id="list">
        <Filters {...{ filters, products, plans }} />
        <div id="results">
          <Chips filters={filters} />
          <LicenseTable
            licenses={licenses}
            isSoonest={given.expiring !== undefined}
            empty={isFiltered ? <NoMatch /> : <NoneYet mayWrite={mayWrite} />}
          />
          <Paging path="/licenses" query={given} next={next} limit={LIMIT} />
        </div>
      </Panel>
    </OperatorPage>
  );
}

function QuickFilters({ filters, counts }: { filters: Given; counts: Counts | undefined }) {
  const { t, to, format } = useView();
  const texts = t.licenses;
  const status = (name: string) => (counts && format.number(counts.byStatus[name] ?? 0)) ?? '';
  const quick: [string, Given, string][] = [
    [texts.quickAll, {}, counts ? format.number(counts.all) : ''],
    [texts.quickActive, { status: 'active' }, status('active')],
    [texts.quickEnding, { expiring: '30d' }, ''],
    [texts.quickExpired, { status: 'expired' }, status('expired')],
    [texts.quickSuspended, { status: 'suspended' }, status('suspended')],
    [texts.quickRefused, { refused: '7d' }, ''],
  ];
  const now = JSON.stringify(filters);
  return (
    <ul class="quick" aria-label={texts.quick}>
      {quick.map(([name, filter, count]) => (
        <li>
          <a
            href={to('/licenses', filter)}
            {...(JSON.stringify(filter) === now ? { 'aria-current': 'true' } : {})}
          >
            {name} {count}
          </a>
        </li>
      ))}
    </ul>
  );
}

function Filters({ filters, products, plans }: { filters: Given; products: Product[]; plans: Plan[] }) {
  const { t, to } = useView();
  const texts = t.licenses;
  const { status } = t.common;
  const nameOf = new Map(products.map(({ id, name }) => [id, name]));
  const all = { value: '', label: t.common.all };
  const selects = [
    ['product_id', texts.product, [all, ...products.map(({ id, name }) => ({ value: id, label: name }))]],
    [
      'plan_id',
      texts.plan,
      [
        all,
        ...plans.map(({ id, name, productId }) => ({
          value: id,
          label: `${nameOf.get(productId) ?? ''} · ${name}`,
        })),
      ],
    ],
    ['status', texts.status, [all, ...Object.entries(status).map(([value, label]) => ({ value, label }))]],
    [
      'expiring',
      texts.ends,
      [
        { value: '', label: texts.anyTime },
        ...['7', '30', '90'].map((days) => ({ value: `${days}d`, label: texts.within(days) })),
      ],
    ],
  ] as const;
  return (
    <form
      class="filters"
      method="get"
      action={to('/licenses')}
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
          value={filters.q ?? ''}
        />
      </div>
      {selects.map(([name, label, options]) => (
        <div>
          <label for={name}>{label}</label>
          <select class="form-select form-select-sm" id={name} name={name}>
            <Options options={[...options]} chosen={filters[name] ?? ''} />
          </select>
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

/** Filters that no field shows. */
function Chips({ filters }: { filters: Given }) {
  const { t, to } = useView();
  const { names, filteredBy } = t.licenses;
  const hidden = NAMES.filter((name) => filters[name] !== undefined && Object.hasOwn(names, name));
  if (hidden.length === 0) return null;
  return (
    <p class="chips">
      {hidden.map((name) => (
        <span class="tag">{filteredBy(names[name] ?? name, filters[name] ?? '')}</span>
      ))}
      <a href={to('/licenses')}>{t.common.clearFilters}</a>
    </p>
  );
}

/** Licences, wherever they are listed. */
export function LicenseTable({
  licenses,
  isSoonest = false,
  caption,
  further = [],
  empty,
}: {
  licenses: License[];
  isSoonest?: boolean;
  caption?: string;
  /** columns that only this list has */
  further?: Column<License>[];
  empty: Parameters<typeof Table>[0]['empty'];
}) {
  const { t, to, format, now } = useView();
  const { columns, captionNewest, captionSoonest, slots, noCustomer } = t.licenses;
  const shown = format.number(licenses.length);
  return (
    <Table
      caption={caption ?? (isSoonest ? captionSoonest(shown) : captionNewest(shown))}
      rows={licenses}
      empty={empty}
      columns={[
        { title: columns.status, cell: (one) => <Status status={liveStatus(one, now)} /> },
        {
          title: columns.customer,
          kind: 'name',
          cell: (one) => <a href={to(`/licenses/${one.id}`)}>{one.customer ?? noCustomer}</a>,
        },
        ...further,
        { title: columns.plan, cell: ({ product, plan }) => `${product.name} · ${plan.name}` },
        {
          title: columns.slots,
          kind: 'number',
          phone: 'beside',
          cell: ({ activationLimit, activationsUsed }) =>
            slots(
              format.number(activationsUsed),
              activationLimit === 0 ? '∞' : format.number(activationLimit),
            ),
        },
        {
          title: columns.ends,
          cell: ({ expiresAt }) => (expiresAt === null ? t.common.never : format.day(expiresAt)),
        },
        { title: columns.hint, kind: 'mono', cell: ({ keyHint }) => keyHint ?? t.common.none },
        { title: columns.order, kind: 'long', cell: ({ reference }) => reference ?? t.common.none },
        { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
      ]}
    />
  );
}

function NoMatch() {
  const { t, to } = useView();
  return (
    <p class="mb-0">
      {t.licenses.noMatch} <a href={to('/licenses')}>{t.common.clearFilters}</a>
    </p>
  );
}

function NoneYet({ mayWrite }: { mayWrite: boolean }) {
  const { t, to } = useView();
  return (
    <>
      <p>{t.licenses.none}</p>
      {mayWrite ? (
        <p class="acts mb-0">
          <a class="btn btn-primary" href={to('/licenses/new')}>
            {t.licenses.noneIssue}
          </a>
          <a class="btn btn-quiet" href={to('/imports')}>
            {t.licenses.noneImport}
          </a>
        </p>
      ) : null}
    </>
  );
}
