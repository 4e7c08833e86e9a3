import { describeWait } from '../../../texts/operators/failures';
import { listCatalogue, plansOf } from '../../../licensing/catalogue';
import { requireShop, SKU_QUANTITIES } from '../../../orders/shops';
import { submitOperation, nonEmptyFields, redirectIfDeleted } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { RadioGroup, Select, TextField, type Option } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { shopOperations } from '../../../operations/shops';

/** Maps an article of a shop to a plan. Orders that were blocked by it are processed at once. */

export const skuRoutes: Route<OperatorCall>[] = [
  formRoute('/shops/:name/map', {
    hasDeadline: false,
    show: showForm,
    work: map,
    explain: ({ view }, { error: { field } }) => view.t.orders.shops.refused[field ?? ''],
  }),
  { path: '/shops/:name/unmap', post: unmap },
];

export function shopOf({ path }: Pick<OperatorCall, 'path'>): string {
  return path.name ?? '';
}

/**
 * Returns the page that opened the form: an order, the list of orders, or the shop. Accepts only known paths, to
 * prevent an open redirect.
 */
function backOf(text: string | null | undefined, shop: string): string {
  return text && /^\/orders(\/\d+)?$/.test(text) ? text : `/shops/${shop}`;
}

async function showForm(call: OperatorCall, form: FormState): Promise<PageResponse> {
  const { t, to } = call.view;
  const texts = t.orders.map;
  const { name: shop } = await requireShop(call.db, shopOf(call));
  const sku = form.value('sku') ?? call.query.get('sku') ?? '';
  const back = backOf(form.value('back') ?? call.query.get('back'), shop);
  const plans = await planOptions(call);
  const hasPlans = plans.length > 0;
  return {
    page: (
      <FormPage
        title={sku === '' ? texts.add : texts.title(sku)}
        sub={shop}
        nav="orders"
        crumbs={[
          [t.orders.title, '/orders'],
          [t.orders.shops.title, '/shops'],
          [shop, `/shops/${shop}`],
        ]}
        path={`/shops/${shop}/map`}
        form={form}
        submit={hasPlans ? texts.submit : undefined}
        busy={texts.busy}
        {...(hasPlans && { back })}
      >
        {hasPlans ? (
          <>
            <input type="hidden" name="back" value={back} />
            <TextField name="sku" label={texts.sku} hint={texts.skuHint} value={sku} required />
            <Select name="plan_id" label={texts.plan} hint={texts.planHint} options={plans} required />
            <RadioGroup
              name="quantity"
              label={texts.quantity}
              value="licenses"
              options={SKU_QUANTITIES.map((value) => ({ value, label: texts.quantities[value] ?? value }))}
            />
          </>
        ) : (
          <p>
            {texts.noPlans} <a href={to('/products')}>{t.common.nav.products}</a>
          </p>
        )}
      </FormPage>
    ),
  };
}

/** Returns all plans as options, labelled with their products. */
export async function planOptions({ db }: Pick<OperatorCall, 'db'>): Promise<Option[]> {
  const products = new Map((await listCatalogue(db)).map(({ id, name }) => [id, name]));
  const plans = await plansOf(db, undefined);
  return plans.map(({ id, productId, name }) => ({
    value: id,
    label: `${products.get(productId) ?? productId} · ${name}`,
  }));
}

async function map(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const shop = shopOf(call);
  const body = nonEmptyFields(sent, 'sku', 'plan_id', 'quantity');
  const data = await submitOperation(call, sent, shopOperations.mapShopSku, { path: { name: shop }, body });
  const plan = (await planOptions(call)).find(({ value }) => value === data.plan_id)?.label ?? '';
  const { ran } = data;
  const others = unprocessedOrders(call, ran);
  return redirectWithFlash(
    backOf(sent.get('back'), shop),
    'orderMapped',
    data.sku,
    plan,
    String(ran.done),
    others,
  );
}

interface NotDone {
  waiting: number;
  failed: number;
  orders: { order: string; state: string; reason: string | null }[];
}

/** The number of orders that a sentence names. */
const MAX_NAMED = 5;

/**
 * Returns a sentence that names the first orders that are still blocked or failed, with the reason, and counts the
 * others.
 */
export function unprocessedOrders(
  { view: { t } }: OperatorCall,
  { waiting, failed, orders }: NotDone,
): string {
  const others = orders.filter(({ state }) => state !== 'done').slice(0, MAX_NAMED);
  const named = others.map(({ order, state, reason }) => {
    const why = state === 'failed' ? (reason ?? '') : describeWait(t.failures, reason ?? '');
    return `${order} (${t.orders.states[state] ?? state}: ${why})`;
  });
  const more = waiting + failed - named.length;
  return more > 0 ? `${named.join(', ')} ${t.orders.more(String(more))}` : named.join(', ');
}

function unmap(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const name = shopOf(call);
  const sku = sent.get('sku') ?? '';
  return redirectIfDeleted(`/shops/${name}`, async () => {
    await submitOperation(call, sent, shopOperations.unmapShopSku, { path: { name, sku } });
    return redirectWithFlash(`/shops/${name}`, 'skuUnmapped', sku);
  });
}
