import { plansOf } from '../../../licensing/catalogue';
import { isPosting, SHOP_KINDS, SHOP_MAILS } from '../../../orders/shop-kinds';
import { apiKeyLook, listShops, secretLook, shopJson, type Shop } from '../../../orders/shops';
import { countWaitingOrders } from '../../../orders/views';
import type { ErrorResponse } from '../../../operations/kit/failures';
import { submitOperation, nonEmptyFields } from '../submit';
import { csvNameOf, csvOf } from '../csv';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, Checkbox, Select, TextField, type Option } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { planOptions } from './shop-map';
import { shopOperations } from '../../../operations/shops';

/** The list of shops that report orders, and the form for a new shop. */

export const shopListRoutes: Route<OperatorCall>[] = [
  { path: '/shops', scope: 'write', get: showList },
  { path: '/shops.csv', scope: 'write', get: downloadList, hasDeadline: false },
  formRoute('/shops/new', {
    isSecret: true,
    show: showNew,
    work: add,
    explain: (call, refused, sent) => shopFieldError(call, refused, sent.get('kind') ?? '', sent),
  }),
];

/**
 * Returns the validation error of a field of a shop's form. For a secret, it names the detected and the expected kind.
 */
export function shopFieldError(
  { view }: OperatorCall,
  { error: { field }, facts }: ErrorResponse,
  kind: string,
  sent: URLSearchParams,
): string | undefined {
  if (facts?.reason === 'secret-elsewhere') return undefined;
  const { refused, secretLooks, secretNeeds } = view.t.orders.shops;
  if (field === 'api_key') {
    const { keyLooks, keyNeeds } = view.t.orders.shops.catchUp;
    const keyLook = apiKeyLook(kind, sent.get('api_key') ?? '') ?? 'other';
    return `${keyLooks[keyLook]} ${keyNeeds[kind] ?? ''}`.trim();
  }
  const look = field === 'secret' ? secretLook(kind, sent.get('secret') ?? '') : undefined;
  if (look === undefined) return refused[field ?? ''];
  return `${secretLooks[look]} ${secretNeeds[kind] ?? ''}`.trim();
}

async function showList({ db, view: { t, to, format } }: OperatorCall): Promise<PageResponse> {
  const { shops: texts } = t.orders;
  const { columns } = texts;
  const plans = new Map((await plansOf(db, undefined)).map(({ id, name }) => [id, name]));
  const waiting = new Map((await countWaitingOrders(db)).map(({ shop, orders }) => [shop, orders]));
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="orders"
        crumbs={[[t.orders.title, '/orders']]}
        sub={texts.about}
        actions={
          <>
            <ButtonLink kind="primary" path="/shops/new" label={texts.add} />
            <ButtonLink path="/shops.csv" label={t.common.csv} />
          </>
        }
        caption={texts.caption}
        rows={await listShops(db)}
        empty={<p>{texts.none}</p>}
        columns={[
          {
            title: columns.name,
            kind: 'name',
            cell: ({ name }) => <a href={to(`/shops/${name}`)}>{name}</a>,
          },
          { title: columns.kind, cell: ({ kind }) => texts.kinds[kind] ?? kind },
          {
            title: columns.waiting,
            kind: 'number',
            cell: ({ name }) => format.number(waiting.get(name) ?? 0),
          },
          { title: columns.tests, cell: (shop) => <TestSummary shop={shop} plans={plans} /> },
        ]}
      />
    ),
  };
}

async function downloadList({ db, view }: OperatorCall): Promise<PageResponse> {
  const rows = csvOf(await listShops(db), (shop) => {
    const { rules: _rules, catch_up: _catchUp, ...fields } = shopJson(shop);
    return fields;
  });
  return { csv: csvNameOf(view.t.orders.shops.title), rows };
}

async function showNew(call: OperatorCall, form: FormState): Promise<PageResponse> {
  const { shops: texts, title } = call.view.t.orders;
  return {
    page: (
      <FormPage
        title={texts.add}
        nav="orders"
        crumbs={[
          [title, '/orders'],
          [texts.title, '/shops'],
        ]}
        path="/shops/new"
        form={form}
        submit={texts.submit}
        busy={texts.busy}
        back="/shops"
      >
        <TextField name="name" label={texts.name} hint={texts.nameHint} required />
        <Select
          name="kind"
          label={texts.kind}
          value="api"
          options={SHOP_KINDS.map((value) => ({ value, label: texts.kinds[value] ?? value }))}
          required
        />
        <p class="sub">{texts.secretLater}</p>
        <MailField value="" />
        <SubscriptionFields />
        <TestFields plans={await planOptions(call)} />
      </FormPage>
    ),
  };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const body = {
    ...nonEmptyFields(sent, 'name', 'kind', 'secret', 'mail'),
    ...readSubscriptionFields(sent),
    ...readTestFields(sent),
  };
  const { name, kind, verifies } = await submitOperation(call, sent, shopOperations.addShop, { body });
  const lacksSecret = !isPosting(kind) && !verifies;
  return lacksSecret
    ? redirectWithFlash(`/shops/${name}/secret`, 'receiverAdded', name)
    : redirectWithFlash(`/shops/${name}`, 'shopAdded', name);
}

/** Reads the fields about a shop's tests, with the API's names. */
export function readTestFields(sent: URLSearchParams): { test: boolean; test_plan_id: number | null } {
  const plan = sent.get('test_plan_id') ?? '';
  return { test: sent.get('test') === '1', test_plan_id: plan === '' ? null : Number(plan) };
}

/** Reads the fields about a shop's subscriptions, with the API's names. An empty grace period means the default. */
export function readSubscriptionFields(sent: URLSearchParams): {
  grace: number | null;
  billing_url: string | null;
} {
  const grace = sent.get('grace')?.trim() ?? '';
  return { grace: grace === '' ? null : Number(grace), billing_url: sent.get('billing_url')?.trim() || null };
}

export function SubscriptionFields({ shop }: { shop?: Pick<Shop, 'graceDays' | 'billingUrl'> }) {
  const { shops: texts } = useView().t.orders;
  return (
    <>
      <TextField
        name="grace"
        inputmode="numeric"
        label={texts.grace}
        hint={texts.graceHint}
        value={shop?.graceDays ?? ''}
      />
      <TextField
        name="billing_url"
        type="url"
        label={texts.billingUrl}
        hint={texts.billingUrlHint}
        value={shop?.billingUrl ?? ''}
      />
    </>
  );
}

/** A sentence about the licences that a shop's test orders issue. */
export function TestSummary({ shop, plans }: { shop: Shop; plans: ReadonlyMap<number, string> }) {
  const { shops: texts } = useView().t.orders;
  const { testPlanId, isTest } = shop;
  const issues =
    testPlanId === null ? texts.testsNothing : texts.testsPlan(plans.get(testPlanId) ?? String(testPlanId));
  return (
    <>
      {issues}
      {isTest ? <span class="sub">{texts.onlyTests}</span> : null}
    </>
  );
}

/** The field for the mail that an order sends. @param value empty for the default of the shop's kind */
export function MailField({ value }: { value: string }) {
  const { shops: texts } = useView().t.orders;
  return (
    <Select
      name="mail"
      label={texts.mail}
      value={value}
      options={[
        ...(value === '' ? [{ value: '', label: texts.mailByKind }] : []),
        ...SHOP_MAILS.map((one) => ({ value: one, label: texts.mails[one] })),
      ]}
    />
  );
}

export function TestFields({ plans, shop }: { plans: Option[]; shop?: Pick<Shop, 'isTest' | 'testPlanId'> }) {
  const { shops: texts } = useView().t.orders;
  return (
    <>
      <Checkbox name="test" label={texts.isTest} checked={shop?.isTest ?? false} />
      <Select
        name="test_plan_id"
        label={texts.testPlan}
        value={shop?.testPlanId ?? ''}
        options={[{ value: '', label: texts.nothing }, ...plans]}
      />
    </>
  );
}
