import type { Child } from 'hono/jsx';
import { listCatalogue, plansOf, type Plan, type Product } from '../../../licensing/catalogue';
import { filterId } from '../../../operations/kit/request-params';
import { OperatorError } from '../../../licensing/operator-error';
import { readMoney, type MoneyFigures } from '../../../figures/money';
import { readRenewals, type RenewalSum, type Renewals, type RenewalsQuery } from '../../../figures/renewals';
import { BarChart, DayCalendar, NumberTable } from '../kit/chart';
import { ButtonLink } from '../kit/fields';
import { Filters, type FilterField } from '../kit/filters';
import { TitledPage } from '../kit/operator-page';
import { PanelBody, Panel } from '../kit/panel';
import type { Format } from '../format';
import type { PageResponse, OperatorCall, Route } from '../page';
import { MoneyPanel } from './money-panel';
import { useView, type Query, type View } from '../view';

/**
 * The renewal rate of licences that ended, the renewals that are due, and licences by state over time
 * (docs/renewals.md).
 */

export const renewalRoutes: Route<OperatorCall>[] = [{ path: '/renewals', get: showRenewals }];

/** The fewest licences for which a share is shown; a share of fewer is not significant. */
const MIN_FOR_SHARE = 20;

export type RenewalFilters = Partial<Record<'product_id' | 'plan_id', string>>;

async function showRenewals({ db, at, query, view }: OperatorCall): Promise<PageResponse> {
  const { t } = view;
  const texts = t.renewals;
  const filters = readFilters(query);
  const [products, plans] = [await listCatalogue(db), await plansOf(db, undefined)];
  const found = await readRenewals(db, toRenewalsQuery(filters), at).catch((error: unknown) => {
    // Ignore an invalid filter, such as a deleted plan.
    if (!(error instanceof OperatorError)) throw error;
    return readRenewals(db, {}, at);
  });
  // Orders do not split their amount by product or plan.
  const money = Object.keys(filters).length === 0 ? await readMoney(db, at) : undefined;
  const hasAny = found.plans.length + found.ends.length > 0;
  return {
    page: (
      <TitledPage
        title={texts.title}
        nav="renewals"
        sub={hasAny ? rateOf(view, found) : undefined}
        actions={<ButtonLink path="/not-renewed" query={filters} label={texts.notRenewedButton} />}
      >
        <Panel id="filter">
          <Filters
            path="/renewals"
            label={texts.filters}
            live={null}
            fields={catalogueFields(view, filters, products, plans)}
          />
        </Panel>
        {hasAny ? (
          <Figures found={found} filters={filters} products={products} plans={plans} money={money} />
        ) : (
          <div class="stack">
            <Panel id="none" inside>
              <p>
                {texts.none} <PlansLink />
              </p>
            </Panel>
            {/* Show the states even if no licence ends, because lifetime licences have states too. */}
            <StatesPanel states={found.states} />
            <MoneyPanel money={money} />
          </div>
        )}
      </TitledPage>
    ),
  };
}

function PlansLink() {
  const { t, to } = useView();
  return <a href={to('/products')}>{t.renewals.noneLink}</a>;
}

/** Reads the filters of the address, which have the API's names. */
export function readFilters(query: URLSearchParams): RenewalFilters {
  const given = ['product_id', 'plan_id'].map((name) => [name, query.get(name)?.trim()] as const);
  return Object.fromEntries(given.filter(([, value]) => value));
}

export function toRenewalsQuery({ product_id, plan_id }: RenewalFilters): RenewalsQuery {
  return { productId: filterId(product_id), planId: filterId(plan_id) };
}

/** Returns the filter fields for a product and a plan. */
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
      name: 'product_id',
      label: texts.product,
      value: filters.product_id,
      options: [all, ...products.map(({ id, name }) => ({ value: id, label: name }))],
    },
    {
      name: 'plan_id',
      label: texts.plan,
      value: filters.plan_id,
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

/** Formats a month such as `2026-11` as `Nov 2026`. */
export function monthName(format: Format, month: string): string {
  return `${format.month(new Date(`${month}-01`))} ${month.slice(0, 4)}`;
}

/** Returns the sentence with the renewal rate. */
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
    final.ended < MIN_FOR_SHARE ? undefined : format.number(Math.round((100 * renewed) / final.ended)),
  );
}

interface Shown {
  found: Renewals;
  filters: RenewalFilters;
}

function Figures({
  found,
  filters,
  products,
  plans,
  money,
}: Shown & { products: Product[]; plans: Plan[]; money: MoneyFigures | undefined }) {
  return (
    <>
      <MonthsPanel found={found} filters={filters} />
      <PlansPanel found={found} filters={filters} products={products} plans={plans} />
      <div class="cols cols-2">
        <div class="stack">
          <DuePanel found={found} filters={filters} />
          <StatesPanel states={found.states} />
        </div>
        <div class="stack">
          <CalendarPanel ends={found.ends} />
          <MoneyPanel money={money} />
        </div>
      </div>
    </>
  );
}

function MonthsPanel({ found: { months }, filters }: Shown) {
  const { t, format } = useView();
  const texts = t.renewals.months;
  return (
    <Panel id="months" title={texts.title} aside={texts.about}>
      <PanelBody>
        <BarChart
          id="months"
          bars={months.map(({ month, inTime, late, lost }) => ({
            label: monthName(format, month),
            values: [inTime, late, lost],
          }))}
          axis={months.map(
            ({ month, isFinal }) => `${format.month(new Date(`${month}-01`))}${isFinal ? '' : '*'}`,
          )}
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
      </PanelBody>
      <NumberTable
        titles={countTitles(t)}
        rows={months.map(({ month, isFinal, ...counted }) => {
          const name = monthName(format, month);
          return {
            label: (
              <>
                <span class="nowrap">{isFinal ? name : `${name},`}</span>
                {isFinal ? null : ` ${texts.notFinal}`}
              </>
            ),
            values: countsOf(counted, <Lost count={counted.lost} query={{ ...filters, month }} />),
          };
        })}
        what={texts.month}
        caption={texts.caption}
      />
    </Panel>
  );
}

function countTitles({ renewals }: View['t']): string[] {
  const { ended, inTime, late, lost } = renewals.months;
  return [ended, inTime, late, lost];
}

function countsOf({ ended, inTime, late }: RenewalSum, lost: Child): Child[] {
  return [ended, inTime, late, lost];
}

/** The number of licences that were not renewed, with a link to their list. */
function Lost({ count, query }: { count: number; query: Query }) {
  return <Linked count={count} path="/not-renewed" query={query} />;
}

function Linked({ count, path, query }: { count: number; path: string; query: Query }) {
  const { to, format } = useView();
  const written = format.number(count);
  return count === 0 ? <>{written}</> : <a href={to(path, query)}>{written}</a>;
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
      {counted.length === 0 ? (
        <PanelBody>
          <p>{texts.noneFinal}</p>
        </PanelBody>
      ) : (
        <NumberTable
          titles={countTitles(t)}
          rows={counted.map(({ planId, ...one }) => ({
            label: <a href={to('/renewals', { plan_id: planId })}>{nameOf(planId)}</a>,
            values: countsOf(one, <Lost count={one.lost} query={{ ...filters, plan_id: planId }} />),
          }))}
          what={texts.plan}
          caption={texts.plans.caption}
        />
      )}
    </Panel>
  );
}

function DuePanel({ found: { due }, filters }: Shown) {
  const { t, format } = useView();
  const texts = t.renewals.due;
  return (
    <Panel id="due" title={texts.title} aside={texts.about} footer={texts.note}>
      <NumberTable
        titles={[texts.without, texts.with]}
        rows={due.map(({ days, withoutSubscription, withSubscription }) => ({
          label: texts.days(format.number(days)),
          values: [
            <Linked
              count={withoutSubscription}
              path="/licenses"
              query={{ ...filters, expiring: `${days}d` }}
            />,
            withSubscription,
          ],
        }))}
        what={texts.within}
        caption={texts.caption}
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
        <p>{texts.none}</p>
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
