import { findLicense, findLicenseNamed, searchLicenses, type License } from '../../../licensing/licenses';
import { findEmail } from '../../../licensing/customer-email';
import { OperatorError } from '../../../licensing/operator-error';
import { notFound } from '../../../operations/failures';
import { unmatchedOperations } from '../../../operations/unmatched';
import { listUnmatchedPage, readUnmatched, type UnmatchedView } from '../../../orders/unmatched-views';
import { act, attempt, filled } from '../act';
import { formState, type FormState } from '../form-state';
import { Form, FormErrors, Select, Submit, type Option } from '../kit/fields';
import { FinalAction } from '../kit/final-action';
import { OperatorPage } from '../kit/operator-page';
import { Facts, Head, Inside, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { planOptions } from './shop-map';

/** Money that belongs to nothing known, and what to do with it. */

export const unmatchedRoutes: Route<OperatorCall>[] = [
  { path: '/unmatched', scope: 'write', get: showList },
  {
    path: '/unmatched/:id/assign',
    scope: 'write',
    get: (call) => showAssign(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => assign(call, sent),
        (form) => showAssign(call, form, sent.get('license_id') ?? undefined),
      ),
  },
  {
    path: '/unmatched/:id/issue',
    scope: 'write',
    get: (call) => showIssue(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => issue(call, sent),
        (form) => showIssue(call, form),
      ),
  },
  {
    path: '/unmatched/:id/leave',
    scope: 'write',
    get: (call) => showLeave(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => leave(call, sent),
        (form) => showLeave(call, form),
      ),
  },
];

const LIST = '/unmatched';
const LIMIT = 50;
const MOST_LICENSES = 20;

async function showList({ db, query }: OperatorCall): Promise<Answer> {
  const [shop, after] = [query.get('shop') ?? undefined, query.get('after') ?? undefined];
  const { items, next } = await listUnmatchedPage(db, { shop }, { after, limit: LIMIT });
  return { page: <UnmatchedList {...{ items, next, shop, after }} /> };
}

/** @throws ManageError (404) */
async function requireOne({ db, path }: OperatorCall): Promise<UnmatchedView> {
  const one = /^\d{1,15}$/.test(path.id ?? '') ? await readUnmatched(db, Number(path.id)) : undefined;
  if (one === undefined) throw notFound('unmatched event');
  return one;
}

/** Searches for a licence, then asks whether it is the one. */
async function showAssign(call: OperatorCall, form: FormState, chosen?: string): Promise<Answer> {
  const one = await requireOne(call);
  const { db, query, at } = call;
  const id = chosen ?? query.get('license') ?? '';
  const license = /^\d{1,15}$/.test(id) ? await findLicense(db, Number(id)) : undefined;
  if (license !== undefined) return { page: <AskAssign {...{ one, form, license }} /> };
  const about = (query.get('about') ?? one.customer ?? '').trim();
  const licenses = about === '' ? [] : await findLicenses(db, about, at);
  return { page: <ChooseLicense {...{ one, about, licenses }} /> };
}

/** By a customer's address, else by a key, an id or a reference. */
async function findLicenses(db: OperatorCall['db'], about: string, at: Date): Promise<License[]> {
  if (findEmail(about) !== undefined)
    return searchLicenses(db, { customer: about, limit: MOST_LICENSES }, at);
  try {
    return [(await findLicenseNamed(db, about)).license];
  } catch (error) {
    if (error instanceof OperatorError) return [];
    throw error;
  }
}

async function assign(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { id } = await requireOne(call);
  const body = filled(sent, 'license_id');
  const { license_id } = await act(call, sent, unmatchedOperations.assignUnmatched, { path: { id }, body });
  return done(LIST, 'unmatchedAssigned', String(license_id));
}

async function showIssue(call: OperatorCall, form: FormState): Promise<Answer> {
  const one = await requireOne(call);
  return { page: <AskIssue {...{ one, form, plans: await planOptions(call) }} /> };
}

async function issue(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { id } = await requireOne(call);
  const body = filled(sent, 'plan_id');
  const { license_id } = await act(call, sent, unmatchedOperations.issueUnmatched, { path: { id }, body });
  return done(`/licenses/${license_id}`, 'unmatchedIssued');
}

async function showLeave(call: OperatorCall, form: FormState): Promise<Answer> {
  return { page: <AskLeave one={await requireOne(call)} form={form} /> };
}

async function leave(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { id } = await requireOne(call);
  await act(call, sent, unmatchedOperations.leaveUnmatched, { path: { id }, body: {} });
  return done(LIST, 'unmatchedLeft');
}

function crumbsOf(title: string, orders: string): [string, string][] {
  return [
    [orders, '/orders'],
    [title, LIST],
  ];
}

function UnmatchedList({
  items,
  next,
  shop,
  after,
}: {
  items: UnmatchedView[];
  next: string | null;
  shop: string | undefined;
  after: string | undefined;
}) {
  const { t, to, format } = useView();
  const { unmatched: texts } = t.orders;
  const { columns } = texts;
  return (
    <OperatorPage title={texts.title} nav="orders" crumbs={[[t.orders.title, '/orders']]}>
      <Head title={texts.title} sub={texts.about} />
      <Panel id="list">
        <Table
          caption={texts.caption}
          rows={items}
          empty={
            <p class="mb-0">
              {texts.none} <a href={to('/orders')}>{texts.toOrders}</a>
            </p>
          }
          columns={[
            {
              title: columns.event,
              kind: 'name',
              cell: ({ event, reason }) => (
                <>
                  {t.orders.events[event] ?? event}
                  <span class="sub fw-normal">{texts.reasons[reason] ?? reason}</span>
                </>
              ),
            },
            { title: columns.shop, cell: ({ shop: name }) => <a href={to(`/shops/${name}`)}>{name}</a> },
            {
              title: columns.names,
              kind: 'long',
              cell: ({ names, orderId }) =>
                orderId === null ? (
                  (names ?? t.common.none)
                ) : (
                  <a href={to(`/orders/${orderId}`)}>{names ?? String(orderId)}</a>
                ),
            },
            { title: columns.customer, kind: 'long', cell: ({ customer }) => customer ?? t.common.none },
            { title: columns.at, cell: ({ at }) => format.moment(at) },
            {
              title: '',
              kind: 'act',
              cell: ({ id }) => (
                <>
                  <a href={to(`${LIST}/${id}/assign`)}>{texts.assign}</a>{' '}
                  <a href={to(`${LIST}/${id}/issue`)}>{texts.issue}</a>{' '}
                  <a href={to(`${LIST}/${id}/leave`)}>{texts.leave}</a>
                </>
              ),
            },
          ]}
        />
        <Paging path={LIST} query={{ shop, after }} next={next} limit={LIMIT} />
      </Panel>
    </OperatorPage>
  );
}

/** What it is about. */
function About({ one: { shop, event, names, customer, at, reason } }: { one: UnmatchedView }) {
  const { t, format } = useView();
  const { columns, reasons } = t.orders.unmatched;
  return (
    <Facts
      facts={[
        [columns.event, t.orders.events[event] ?? event],
        [columns.shop, shop],
        [columns.names, names ?? t.common.none],
        [columns.customer, customer ?? t.common.none],
        [columns.at, format.moment(at)],
        [columns.reason, reasons[reason] ?? reason],
      ]}
    />
  );
}

function ChooseLicense({ one, about, licenses }: { one: UnmatchedView; about: string; licenses: License[] }) {
  const { t, to, format } = useView();
  const { unmatched: texts, title } = t.orders;
  const path = `${LIST}/${one.id}/assign`;
  return (
    <OperatorPage title={texts.whose} nav="orders" crumbs={crumbsOf(texts.title, title)}>
      <Head title={texts.whose} />
      <div class="stack">
        <Panel id="about">
          <Inside>
            <About one={one} />
          </Inside>
        </Panel>
        <Panel id="licenses">
          <form class="filters" method="get" action={to(path)} role="search" aria-label={texts.search}>
            <div>
              <label for="about-text">{texts.search}</label>
              <input
                class="form-control form-control-sm"
                id="about-text"
                name="about"
                value={about}
                autocomplete="off"
              />
            </div>
            <button class="btn btn-quiet btn-sm" type="submit">
              {texts.find}
            </button>
          </form>
          <Table
            caption={texts.licensesCaption}
            rows={licenses}
            empty={<p class="mb-0">{about === '' ? texts.searchHint : texts.noLicense}</p>}
            columns={[
              {
                title: texts.license,
                kind: 'name',
                cell: ({ id, product, plan }) => `${id} · ${product.name} · ${plan.name}`,
              },
              {
                title: columnsOf(t).customer,
                kind: 'long',
                cell: ({ customer }) => customer ?? t.common.none,
              },
              {
                title: texts.ends,
                cell: ({ expiresAt }) => (expiresAt === null ? t.common.never : format.day(expiresAt)),
              },
              {
                title: '',
                kind: 'act',
                cell: ({ id }) => <a href={to(path, { license: String(id) })}>{texts.thisOne}</a>,
              },
            ]}
          />
        </Panel>
      </div>
    </OperatorPage>
  );
}

function columnsOf(t: ReturnType<typeof useView>['t']) {
  return t.orders.unmatched.columns;
}

function AskAssign({ one, form, license }: { one: UnmatchedView; form: FormState; license: License }) {
  const { t, format } = useView();
  const { unmatched: texts, title } = t.orders;
  const { id, customer, product, plan, expiresAt } = license;
  const ends = expiresAt === null ? t.common.never : format.day(expiresAt);
  return (
    <FinalAction
      title={texts.assignTitle(String(id))}
      about={<About one={one} />}
      nav="orders"
      crumbs={crumbsOf(texts.title, title)}
      path={`${LIST}/${one.id}/assign`}
      form={form}
      consequences={[
        texts.assignOf(customer ?? t.common.none, `${product.name} · ${plan.name}`, ends),
        texts.assignRuns,
        texts.assignStays,
      ]}
      submit={texts.assignSubmit}
      busy={texts.busy}
      back={[texts.back, `${LIST}/${one.id}/assign`]}
    >
      <input type="hidden" name="license_id" value={String(id)} />
    </FinalAction>
  );
}

function AskIssue({ one, form, plans }: { one: UnmatchedView; form: FormState; plans: Option[] }) {
  const { t, to } = useView();
  const { unmatched: texts, title, map } = t.orders;
  return (
    <OperatorPage title={texts.issueTitle} nav="orders" crumbs={crumbsOf(texts.title, title)}>
      <Head title={texts.issueTitle} />
      <Panel id="issue" kind="narrow">
        <Inside>
          <About one={one} />
          <p>{one.customer === null ? texts.issueNobody : texts.issueTo(one.customer)}</p>
          <Form path={`${LIST}/${one.id}/issue`} form={form}>
            <FormErrors form={form} />
            <Select form={form} name="plan_id" label={map.plan} options={plans} required />
            <p class="acts mb-0">
              <Submit busy={texts.busy}>{texts.issueSubmit}</Submit>
              <a class="btn btn-quiet" href={to(LIST)}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

function AskLeave({ one, form }: { one: UnmatchedView; form: FormState }) {
  const { t } = useView();
  const { unmatched: texts, title } = t.orders;
  return (
    <FinalAction
      title={texts.leaveTitle}
      about={<About one={one} />}
      nav="orders"
      crumbs={crumbsOf(texts.title, title)}
      path={`${LIST}/${one.id}/leave`}
      form={form}
      consequences={[texts.leaveNothing, texts.leaveFinal]}
      submit={texts.leaveSubmit}
      busy={texts.busy}
      back={[t.common.back, LIST]}
    />
  );
}
