import { listProducts, plansOf, type Plan, type Product } from '../../../licensing/catalogue';
import { OperatorError } from '../../../licensing/operator-error';
import { readRenewals, type Counted, type Renewals, type RenewalsQuery } from '../../../licensing/renewals';
import { BarChart, DayCalendar } from '../kit/chart';
import { ButtonLink } from '../kit/fields';
import { Filters, type FilterField } from '../kit/filters';
import { TitledPage } from '../kit/operator-page';
import { Inside, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import type { Format } from '../format';
import { useView, type Query, type View } from '../view';

/** How many licences that ended were renewed, what is due, and how licences stand over time (docs/renewals.md). */

export const renewalRoutes: Route<OperatorCall>[] = [{ path: '/renewals', get: showRenewals }];

/** Of fewer, a share would say more than is known. */
const LEAST_FOR_SHARE = 20;

export type RenewalFilters = Partial<Record<'product_id' | 'plan_id', string>>;

async function showRenewals({ db, at, query, view }: OperatorCall): Promise<Answer> {
  const { t } = view;
  const texts = t.renewals;
  const filters = readFilters(query);
  const [products, plans] = [await listProducts(db), await plansOf(db, undefined)];
  const found = await readRenewals(db, toRenewalsQuery(filters), at).catch((error: unknown) => {
    // A filter that names nothing, such as a plan that is gone, leaves nothing out.
    if (!(error instanceof OperatorError)) throw error;
    return readRenewals(db, {}, at);
  });
  const hasAny = found.plans.length + found.ends.length > 0;
  return {
    page: (
      <TitledPage
        title={texts.title}
        nav="overview"
        crumbs={[[t.overview.title, '/']]}
        sub={hasAny ? rateOf(view, found) : undefined}
        actions={
          <ButtonLink path="/not-renewed" query={filters}>
            {texts.notRenewedButton}
          </ButtonLink>
        }
      >
        <Filters
          path="/renewals"
          label={texts.filters}
          live={null}
          fields={catalogueFields(view, filters, products, plans)}
        />
        {hasAny ? (
          <Figures {...{ found, filters, products, plans }} />
        ) : (
          <Panel id="none" inside>
            <p class="mb-0">
              {texts.none} <PlansLink />
            </p>
          </Panel>
        )}
      </TitledPage>
    ),
  };
}

function PlansLink() {
  const { t, to } = useView();
  return <a href={to('/products')}>{t.renewals.noneLink}</a>;
}

/** The filters of the address, by the names of the API. */
export function readFilters(query: URLSearchParams): RenewalFilters {
  const given = ['product_id', 'plan_id'].map((name) => [name, query.get(name)?.trim()] as const);
  return Object.fromEntries(given.filter(([, value]) => value));
}

export function toRenewalsQuery({ product_id, plan_id }: RenewalFilters): RenewalsQuery {
  const id = (text: string | undefined) => (text === undefined ? undefined : Number(text) || 0);
  return { productId: id(product_id), planId: id(plan_id) };
}

/** What to choose a product and a plan by. */
export function catalogueFields(
  { t }: View,
  filters: RenewalFilters,
  products: Product[],
  plans: Plan[],
): FilterField[] {
  const texts = t.renewals;
  const names = new Map(products.map(({ id, name }) => [id, name]));
  const all = { value: '', label: t.common.all };
  return [
    {
      ...{ name: 'product_id', label: texts.product, value: filters.product_id },
      options: [all, ...products.map(({ id, name }) => ({ value: id, label: name }))],
    },
    {
      ...{ name: 'plan_id', label: texts.plan, value: filters.plan_id },
      options: [
        all,
        ...plans.map(({ id, name, productId }) => ({
          value: id,
          label: texts.planOf(names.get(productId) ?? '', name),
        })),
      ],
    },
  ];
}

/** `Nov 2026` */
export function monthName(format: Format, month: string): string {
  return `${format.month(new Date(`${month}-01`))} ${month.slice(0, 4)}`;
}

/** The answer to the page's question: a line of text. */
function rateOf({ t, format }: View, { months, final }: Renewals): string {
  const texts = t.renewals;
  const over = months.filter(({ isFinal }) => isFinal);
  const [first, last] = [over[0], over.at(-1)];
  if (first === undefined || last === undefined || final.ended === 0) return texts.noneFinal;
  const renewed = final.inTime + final.late;
  return texts.rate(
    format.number(final.ended),
    format.number(renewed),
    monthName(format, first.month),
    monthName(format, last.month),
    final.ended < LEAST_FOR_SHARE ? undefined : format.number(Math.round((100 * renewed) / final.ended)),
  );
}

interface Shown {
  found: Renewals;
  filters: RenewalFilters;
}

function Figures({ found, filters, products, plans }: Shown & { products: Product[]; plans: Plan[] }) {
  return (
    <>
      <MonthsPanel {...{ found, filters }} />
      <div class="cols cols-2">
        <PlansPanel {...{ found, filters, products, plans }} />
        <DuePanel {...{ found, filters }} />
      </div>
      <div class="cols cols-2">
        <StatesPanel states={found.states} />
        <CalendarPanel ends={found.ends} />
      </div>
    </>
  );
}

function MonthsPanel({ found: { months }, filters }: Shown) {
  const { t, format } = useView();
  const texts = t.renewals.months;
  return (
    <Panel id="months" title={texts.title} aside={texts.about} kind="mb-3">
      <Inside>
        <BarChart
          id="months"
          bars={months.map(({ month, inTime, late, lost }) => ({
            label: monthName(format, month),
            values: [inTime, late, lost],
          }))}
          axis={months.map(({ month }) => format.month(new Date(`${month}-01`)))}
          series={[
            { title: texts.inTime, colour: 'b' },
            { title: texts.late, colour: 's' },
            { title: texts.lost, colour: 'r' },
          ]}
          says={texts.says}
          what={texts.month}
          caption={texts.caption}
          empty={texts.empty}
          hasTable={false}
        />
      </Inside>
      <Table
        caption={texts.caption}
        rows={months}
        empty={null}
        columns={[
          {
            title: texts.month,
            kind: 'name',
            cell: ({ month, isFinal }) => {
              const name = monthName(format, month);
              return isFinal ? name : texts.notFinal(name);
            },
          },
          ...countColumns<Renewals['months'][number]>(({ month }) => ({ ...filters, month })),
        ]}
      />
    </Panel>
  );
}

/** @param lost the filter of the licences that a row counts as lost */
function countColumns<Row extends Counted>(lost: (row: Row) => Query) {
  const { t, to, format } = useView();
  const { ended, inTime, late, lost: title } = t.renewals.months;
  return [
    {
      title: ended,
      kind: 'number' as const,
      phone: 'beside' as const,
      cell: (row: Row) => format.number(row.ended),
    },
    { title: inTime, kind: 'number' as const, cell: (row: Row) => format.number(row.inTime) },
    { title: late, kind: 'number' as const, cell: (row: Row) => format.number(row.late) },
    {
      title,
      kind: 'number' as const,
      cell: (row: Row) =>
        row.lost === 0 ? '0' : <a href={to('/not-renewed', lost(row))}>{format.number(row.lost)}</a>,
    },
  ];
}

function PlansPanel({
  found: { plans: counted },
  filters,
  products,
  plans,
}: Shown & { products: Product[]; plans: Plan[] }) {
  const { t, to } = useView();
  const texts = t.renewals;
  const byId = new Map(plans.map((plan) => [plan.id, plan]));
  const nameOf = (id: number) => {
    const plan = byId.get(id);
    const product = products.find((one) => one.id === plan?.productId);
    return plan === undefined ? String(id) : texts.planOf(product?.name ?? '', plan.name);
  };
  return (
    <Panel id="plans" title={texts.plans.title}>
      <Table
        caption={texts.plans.caption}
        rows={counted}
        empty={<p class="mb-0">{texts.noneFinal}</p>}
        columns={[
          {
            title: texts.plan,
            kind: 'name',
            cell: ({ planId }) => <a href={to('/renewals', { plan_id: planId })}>{nameOf(planId)}</a>,
          },
          ...countColumns<Renewals['plans'][number]>(({ planId }) => ({ ...filters, plan_id: planId })),
        ]}
      />
    </Panel>
  );
}

function DuePanel({ found: { due }, filters }: Shown) {
  const { t, to, format } = useView();
  const texts = t.renewals.due;
  return (
    <Panel id="due" title={texts.title} aside={texts.about} footer={texts.note}>
      <Table
        caption={texts.caption}
        rows={due}
        empty={null}
        columns={[
          { title: texts.within, kind: 'name', cell: ({ days }) => texts.days(format.number(days)) },
          {
            title: texts.without,
            kind: 'number',
            cell: ({ days, withoutSubscription: count }) =>
              count === 0 ? (
                '0'
              ) : (
                <a href={to('/licenses', { ...filters, expiring: `${days}d` })}>{format.number(count)}</a>
              ),
          },
          {
            title: texts.with,
            kind: 'number',
            cell: ({ withSubscription }) => format.number(withSubscription),
          },
        ]}
      />
    </Panel>
  );
}

function StatesPanel({ states }: { states: Renewals['states'] }) {
  const { t, format } = useView();
  const texts = t.renewals.states;
  const { status } = t.common;
  const [first, now] = [states[0], states.at(-1)];
  const nameOf = (month: string, i: number) => {
    const name = monthName(format, month);
    return i === states.length - 1 ? texts.now(name) : name;
  };
  return (
    <Panel id="states" title={texts.title} aside={texts.about} inside>
      <BarChart
        id="states"
        bars={states.map(({ month, licenses: of }, i) => ({
          label: nameOf(month, i),
          values: [of.active, of.expired, of.suspended + of.revoked + of.cancelled],
        }))}
        series={[
          { title: status.active, colour: 'b' },
          { title: status.expired, colour: 's' },
          { title: texts.withdrawn, colour: 'r' },
        ]}
        says={texts.says(
          format.number(now?.licenses.active ?? 0),
          format.number(first?.licenses.active ?? 0),
          first === undefined ? '' : monthName(format, first.month),
        )}
        what={texts.month}
        caption={texts.caption}
        empty={texts.empty}
        numbers={{
          titles: [status.active, status.expired, status.suspended, status.revoked, status.cancelled],
          rows: states.map(({ month, licenses: of }, i) => ({
            label: nameOf(month, i),
            values: [of.active, of.expired, of.suspended, of.revoked, of.cancelled],
          })),
        }}
      />
    </Panel>
  );
}

function CalendarPanel({ ends }: { ends: Renewals['ends'] }) {
  const { t, format, now } = useView();
  const texts = t.renewals.calendar;
  const months = Array.from({ length: 13 }, (_, i) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + i, 1)).toISOString().slice(0, 7),
  );
  const count = ends.reduce((sum, { licenses }) => sum + licenses, 0);
  return (
    <Panel id="calendar" title={texts.title} aside={texts.about} inside>
      {ends.length === 0 ? (
        <p class="mb-0">{texts.none}</p>
      ) : (
        <DayCalendar
          id="calendar"
          months={months}
          days={ends.map(({ day, licenses }) => ({ day, value: licenses }))}
          says={texts.says(format.number(count), format.number(ends.length))}
          what={texts.day}
          series={texts.licenses}
          caption={texts.caption}
        />
      )}
    </Panel>
  );
}
