import { paidUntil } from '../../../licensing/core/states';
import { findLicense, findLicenseNamed, searchLicenses, type License } from '../../../licensing/licenses';
import { findEmail } from '../../../licensing/customer-email';
import { OperatorError } from '../../../licensing/operator-error';
import { notFound } from '../../../operations/kit/failures';
import { unmatchedOperations } from '../../../operations/unmatched';
import {
  listUnmatchedPage,
  readUnmatched,
  unmatchedJson,
  type UnmatchedView,
} from '../../../orders/unmatched-views';
import { actorInWords } from '../../../support/sentences';
import { submitOperation, nonEmptyFields } from '../submit';
import { csvNameOf, csvRows } from '../csv';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, Select } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { MoreMenu } from '../kit/more-menu';
import { ListPage } from '../kit/list-page';
import { TitledPage } from '../kit/operator-page';
import { DescriptionList, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import type { Texts } from '../../../texts/operators/texts';
import { useView } from '../view';
import { reasonText } from './reason';
import { planOptions } from './shop-map';

/** Unmatched payments and refunds, which belong to no known order, with their actions. */

export const unmatchedRoutes: Route<OperatorCall>[] = [
  { path: '/unmatched', scope: 'write', get: showList },
  { path: '/unmatched.csv', scope: 'write', get: downloadList, hasDeadline: false },
  formRoute('/unmatched/:id/assign', { find: requireOne, show: showAssign, work: assign }),
  formRoute('/unmatched/:id/issue', { find: requireOne, show: showIssue, work: issue }),
  formRoute('/unmatched/:id/leave', { find: requireOne, show: showLeave, work: leave }),
];

const LIST = '/unmatched';
const LIMIT = 50;
const CSV_PAGE = 500;
const MAX_LICENSES = 20;

async function showList({ db, query, view: { t, to, format } }: OperatorCall): Promise<PageResponse> {
  const [shop, after] = [query.get('shop') ?? undefined, query.get('after') ?? undefined];
  const { items, next } = await listUnmatchedPage(db, { shop }, { after, limit: LIMIT });
  const { unmatched: texts } = t.orders;
  const { columns } = texts;
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="orders"
        crumbs={[[t.orders.title, '/orders']]}
        sub={texts.about}
        actions={<ButtonLink path={`${LIST}.csv`} query={{ shop }} label={t.common.csv} />}
        caption={texts.caption}
        rows={items}
        empty={
          <p>
            {texts.none} <a href={to('/orders')}>{texts.toOrders}</a>
          </p>
        }
        columns={[
          {
            title: columns.event,
            kind: 'name',
            cell: ({ kind, reason }) => (
              <>
                {t.orders.events[kind] ?? texts.message(kind)}
                <span class="sub">{reasonText(texts.reasons, reason)}</span>
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
          { title: columns.at, kind: 'time', cell: ({ at }) => format.moment(at) },
          {
            title: '',
            kind: 'act',
            cell: ({ id, names, mayIssue }) => (
              <>
                <a class="btn btn-sm" href={to(`${LIST}/${id}/assign`)}>
                  {texts.assign}
                </a>
                <MoreMenu label={`${t.common.actions}: ${names ?? String(id)}`}>
                  {mayIssue ? <a href={to(`${LIST}/${id}/issue`)}>{texts.issue}</a> : null}
                  <a href={to(`${LIST}/${id}/leave`)}>{texts.leave}</a>
                </MoreMenu>
              </>
            ),
          },
        ]}
        paging={{ path: LIST, query: { shop, after }, next, limit: LIMIT }}
      />
    ),
  };
}

function downloadList({ db, query, view }: OperatorCall): PageResponse {
  const shop = query.get('shop') ?? undefined;
  const rows = csvRows(
    (after) => listUnmatchedPage(db, { shop }, { after, limit: CSV_PAGE }),
    (one) => ({ ...unmatchedJson(one), acted_by: one.actedBy && actorInWords(one.actedBy, view.t) }),
  );
  return { csv: csvNameOf(view.t.orders.unmatched.title), rows };
}

/** Returns the unmatched event whose id is in the path. @throws OperationError (404) if it does not exist */
async function requireOne({ db, path }: OperatorCall): Promise<UnmatchedView> {
  const one = /^\d{1,15}$/.test(path.id ?? '') ? await readUnmatched(db, Number(path.id)) : undefined;
  if (one === undefined) throw notFound('unmatched event');
  return one;
}

/** Searches for a licence, then asks to confirm it. */
async function showAssign(call: OperatorCall, form: FormState, one: UnmatchedView): Promise<PageResponse> {
  const { db, query, at } = call;
  const { t, to, format } = call.view;
  const id = form.value('license_id') || (query.get('license') ?? '');
  const license = /^\d{1,15}$/.test(id) ? await findLicense(db, Number(id)) : undefined;
  if (license !== undefined) return askAssign(call, form, one, license);
  const about = (query.get('about') ?? one.customer ?? '').trim();
  const licenses = about === '' ? [] : await findLicenses(db, about, at);
  const { unmatched: texts } = t.orders;
  const path = `${LIST}/${one.id}/assign`;
  return {
    page: (
      <TitledPage title={texts.whose} nav="orders" crumbs={crumbsOf(t)}>
        <div class="stack">
          <Panel id="about" inside>
            <About one={one} />
          </Panel>
          <Panel id="licenses">
            <form class="filters" method="get" action={to(path)} role="search" aria-label={texts.search}>
              <div>
                <label for="about-text">{texts.search}</label>
                <input class="input" id="about-text" name="about" value={about} autocomplete="off" />
              </div>
              <button class="btn btn-sm" type="submit">
                {texts.find}
              </button>
            </form>
            <Table
              caption={texts.licensesCaption}
              rows={licenses}
              empty={<p>{about === '' ? texts.searchHint : texts.noLicense}</p>}
              columns={[
                {
                  title: texts.license,
                  kind: 'name',
                  cell: ({ id, product, plan }) => `${id} · ${product.name} · ${plan.name}`,
                },
                {
                  title: texts.columns.customer,
                  kind: 'long',
                  cell: ({ customer }) => customer ?? t.common.none,
                },
                {
                  title: texts.ends,
                  cell: (license) => {
                    const paid = paidUntil(license);
                    return paid === null ? t.common.noEnd : format.day(paid);
                  },
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
      </TitledPage>
    ),
  };
}

function askAssign(
  { view: { t, format } }: OperatorCall,
  form: FormState,
  one: UnmatchedView,
  license: License,
): PageResponse {
  const { unmatched: texts } = t.orders;
  const { id, customer, product, plan } = license;
  const paid = paidUntil(license);
  const ends = paid === null ? t.common.noEnd : format.day(paid);
  return {
    page: (
      <FormPage
        danger
        title={texts.assignTitle(String(id))}
        nav="orders"
        crumbs={crumbsOf(t)}
        path={`${LIST}/${one.id}/assign`}
        form={form}
        points={[
          texts.assignOf(customer ?? t.common.none, `${product.name} · ${plan.name}`, ends),
          texts.assignRuns,
          texts.assignStays,
        ]}
        submit={texts.assignSubmit}
        busy={texts.busy}
        back={[texts.back, `${LIST}/${one.id}/assign`]}
      >
        <About one={one} />
        <input type="hidden" name="license_id" value={String(id)} />
      </FormPage>
    ),
  };
}

/** Finds all licences of a customer's address, or one licence by a key, an id or a reference. */
async function findLicenses(db: OperatorCall['db'], about: string, at: Date): Promise<License[]> {
  if (findEmail(about) !== undefined) return searchLicenses(db, { customer: about, limit: MAX_LICENSES }, at);
  try {
    return [(await findLicenseNamed(db, about)).license];
  } catch (error) {
    if (error instanceof OperatorError) return [];
    throw error;
  }
}

async function assign(
  call: OperatorCall,
  sent: URLSearchParams,
  { id }: UnmatchedView,
): Promise<PageResponse> {
  const body = nonEmptyFields(sent, 'license_id');
  const { license_id } = await submitOperation(call, sent, unmatchedOperations.assignUnmatched, {
    path: { id },
    body,
  });
  return redirectWithFlash(LIST, 'unmatchedAssigned', String(license_id));
}

async function showIssue(call: OperatorCall, form: FormState, one: UnmatchedView): Promise<PageResponse> {
  const { t } = call.view;
  const { unmatched: texts, map } = t.orders;
  const plans = await planOptions(call);
  return {
    page: (
      <FormPage
        title={texts.issueTitle}
        nav="orders"
        crumbs={crumbsOf(t)}
        path={`${LIST}/${one.id}/issue`}
        form={form}
        submit={texts.issueSubmit}
        busy={texts.busy}
        back={LIST}
      >
        <About one={one} />
        <p>{one.customer === null ? texts.issueNobody : texts.issueTo(one.customer)}</p>
        <Select name="plan_id" label={map.plan} options={plans} required />
      </FormPage>
    ),
  };
}

async function issue(
  call: OperatorCall,
  sent: URLSearchParams,
  { id }: UnmatchedView,
): Promise<PageResponse> {
  const body = nonEmptyFields(sent, 'plan_id');
  const { license_id } = await submitOperation(call, sent, unmatchedOperations.issueUnmatched, {
    path: { id },
    body,
  });
  return redirectWithFlash(`/licenses/${license_id}`, 'unmatchedIssued');
}

function showLeave({ view: { t } }: OperatorCall, form: FormState, one: UnmatchedView): PageResponse {
  const { unmatched: texts } = t.orders;
  return {
    page: (
      <FormPage
        danger
        title={texts.leaveTitle}
        nav="orders"
        crumbs={crumbsOf(t)}
        path={`${LIST}/${one.id}/leave`}
        form={form}
        points={[texts.leaveNothing, texts.leaveFinal]}
        submit={texts.leaveSubmit}
        busy={texts.busy}
        back={[t.common.back, LIST]}
      >
        <About one={one} />
      </FormPage>
    ),
  };
}

async function leave(
  call: OperatorCall,
  sent: URLSearchParams,
  { id }: UnmatchedView,
): Promise<PageResponse> {
  await submitOperation(call, sent, unmatchedOperations.leaveUnmatched, { path: { id }, body: {} });
  return redirectWithFlash(LIST, 'unmatchedLeft');
}

function crumbsOf({ orders }: Texts): [string, string][] {
  return [
    [orders.title, '/orders'],
    [orders.unmatched.title, LIST],
  ];
}

/** The facts of an unmatched event. */
function About({ one: { shop, kind, names, customer, at, reason } }: { one: UnmatchedView }) {
  const { t, format } = useView();
  const { columns, reasons, message } = t.orders.unmatched;
  return (
    <DescriptionList
      facts={[
        [columns.event, t.orders.events[kind] ?? message(kind)],
        [columns.shop, shop],
        [columns.names, names ?? t.common.none],
        [columns.customer, customer ?? t.common.none],
        [columns.at, format.moment(at)],
        [columns.reason, reasons[reason] ?? reason],
      ]}
    />
  );
}
