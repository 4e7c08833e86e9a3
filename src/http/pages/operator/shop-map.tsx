import { listProducts, plansOf } from '../../../licensing/catalogue';
import { requireShop, SKU_QUANTITIES } from '../../../orders/shops';
import { act, attempt, filled, unlessGone } from '../act';
import { formState, type FormState } from '../form-state';
import { Choices, Form, FormErrors, Select, Submit, TextField, type Option } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { shopOperations } from '../../../operations/shops';

/** Says what an article of a shop means; the orders that waited for it run at once. */

export const skuRoutes: Route<OperatorCall>[] = [
  {
    path: '/shops/:name/map',
    scope: 'write',
    get: (call) => showForm(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => map(call, sent),
        (form) => showForm(call, form),
        ({ error: { field } }) => call.view.t.orders.shops.refused[field ?? ''],
      ),
    hasDeadline: false,
  },
  { path: '/shops/:name/unmap', post: unmap },
];

export function shopOf({ path }: Pick<OperatorCall, 'path'>): string {
  return path.name ?? '';
}

/** Where the form was come from: an order, the list of them, or the shop's page. */
function backOf(text: string | null | undefined, shop: string): string {
  return text && /^\/orders(\/\d+)?$/.test(text) ? text : `/shops/${shop}`;
}

async function showForm(call: OperatorCall, form: FormState): Promise<Answer> {
  const { name } = await requireShop(call.db, shopOf(call));
  const sku = form.value('sku') ?? call.query.get('sku') ?? '';
  const back = backOf(form.value('back') ?? call.query.get('back'), name);
  return { page: <MapForm {...{ form, shop: name, sku, back, plans: await planOptions(call) }} /> };
}

/** All plans by the names of their products. */
export async function planOptions({ db }: Pick<OperatorCall, 'db'>): Promise<Option[]> {
  const products = new Map((await listProducts(db)).map(({ id, name }) => [id, name]));
  const plans = await plansOf(db, undefined);
  return plans.map(({ id, productId, name }) => ({
    value: id,
    label: `${products.get(productId) ?? productId} · ${name}`,
  }));
}

async function map(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const shop = shopOf(call);
  const body = filled(sent, 'sku', 'plan_id', 'quantity');
  const data = await act(call, sent, shopOperations.mapShopSku, { path: { name: shop }, body });
  const plan = (await planOptions(call)).find(({ value }) => value === data.plan_id)?.label ?? '';
  const { done: ran } = data.ran;
  return done(backOf(sent.get('back'), shop), 'orderMapped', data.sku, plan, String(ran));
}

function unmap(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const name = shopOf(call);
  const sku = sent.get('sku') ?? '';
  return unlessGone(`/shops/${name}`, async () => {
    await act(call, sent, shopOperations.unmapShopSku, { path: { name, sku } });
    return done(`/shops/${name}`, 'skuUnmapped', sku);
  });
}

function MapForm({
  form,
  shop,
  sku,
  back,
  plans,
}: {
  form: FormState;
  shop: string;
  sku: string;
  back: string;
  plans: Option[];
}) {
  const { t, to } = useView();
  const texts = t.orders.map;
  const title = sku === '' ? texts.add : texts.title(sku);
  return (
    <OperatorPage
      title={title}
      nav="orders"
      crumbs={[
        [t.orders.title, '/orders'],
        [shop, `/shops/${shop}`],
      ]}
    >
      <Head title={title} sub={shop} />
      <Panel id="map" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          {plans.length === 0 ? (
            <p class="mb-0">
              {texts.noPlans} <a href={to('/products')}>{t.common.nav.products}</a>
            </p>
          ) : (
            <Form path={`/shops/${shop}/map`} form={form}>
              <input type="hidden" name="back" value={back} />
              <TextField form={form} name="sku" label={texts.sku} hint={texts.skuHint} value={sku} required />
              <Select
                form={form}
                name="plan_id"
                label={texts.plan}
                hint={texts.planHint}
                options={plans}
                required
              />
              <Choices
                form={form}
                name="quantity"
                label={texts.quantity}
                value="licenses"
                options={SKU_QUANTITIES.map((value) => ({ value, label: texts.quantities[value] ?? value }))}
              />
              <p class="acts mb-0">
                <Submit busy={texts.busy}>{texts.submit}</Submit>
                <a class="btn btn-quiet" href={to(back)}>
                  {t.common.back}
                </a>
              </p>
            </Form>
          )}
        </Inside>
      </Panel>
    </OperatorPage>
  );
}
