import { countLicensesOnPlans, PLAN_DEFAULTS, readProduct, type Plan } from '../../../licensing/catalogue';
import { requirePlan } from '../../../licensing/find-or-refuse';
import { ACTIVATION_TYPES } from '../../../licensing/core/identifiers';
import { invalid, type Failure } from '../../../operations/failures';
import { readId } from '../../../operations/reading';
import { act, attempt, filled, unlessGone, type BodyOf, type Fields } from '../act';
import { formState, type FormState } from '../form-state';
import { Checkbox, Choices, Form, FormErrors, Select, Submit, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { chosenProduct } from './catalogue';
import { planOperations } from '../../../operations/plans';

/** Adding, changing and deleting a plan of a product. */

export const planRoutes: Route<OperatorCall>[] = [
  route('/plans/new', add, showNew),
  route('/plans/:id', edit, showEdit),
  route('/plans/:id/delete', remove, showRemove),
];

function route(
  path: string,
  work: (call: OperatorCall, sent: URLSearchParams) => Promise<Answer>,
  show: (call: OperatorCall, form: FormState) => Promise<Answer>,
): Route<OperatorCall> {
  return {
    path,
    scope: 'write',
    // One transaction for each licence that follows a new limit.
    hasDeadline: false,
    get: (call) => show(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => work(call, sent),
        (form) => show(call, form),
        (refused) => explain(call, refused),
      ),
  };
}

/** @param plan as it was; undefined: a new one */
function bodyOf(
  { view: { t } }: OperatorCall,
  sent: URLSearchParams,
  plan: Plan | undefined,
): Fields<BodyOf<typeof planOperations.addPlan>> {
  const duration = sent.get('duration') ?? '';
  const own = (sent.get('duration_own') ?? '').trim();
  // The plan's own time stands in the field when another one is chosen.
  if (duration !== 'own' && own !== '' && own !== plan?.duration)
    throw invalid('duration', t.products.plans.refused.ownIgnored);
  return {
    ...filled(sent, 'name', 'activation_type', 'activation_limit', 'after_expiry', 'self_service_moves'),
    duration: duration === 'life' ? null : duration === 'own' ? own : duration,
    free_staging: sent.get('free_staging') === '1',
  };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const body = { ...filled(sent, 'product_id'), ...bodyOf(call, sent, undefined) };
  const data = await act(call, sent, planOperations.addPlan, { body });
  return done(`/products/${data.product_id}`, 'planAdded', data.name);
}

async function edit(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const plan = await requirePlan(call.db, readId(call));
  const body = { ...bodyOf(call, sent, plan), ...filled(sent, 'licenses') };
  const data = await act(call, sent, planOperations.updatePlan, { path: { id: plan.id }, body });
  return done(`/products/${String(data.product_id)}`, 'saved');
}

function remove(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  return unlessGone('/products', async () => {
    const { id, name, productId } = await requirePlan(call.db, readId(call));
    await act(call, sent, planOperations.removePlan, { path: { id } });
    return done(`/products/${productId}`, 'planRemoved', name);
  });
}

function explain({ view: { t } }: OperatorCall, { status, error, facts }: Failure): string | undefined {
  const texts = t.products.plans.refused;
  switch (facts?.reason) {
    case 'plan-in-use':
      return texts.inUse;
    case 'plan-in-shop':
      return texts.inShop(facts.shop, facts.sku ?? '');
    case 'undecided':
      return texts.undecided;
    case 'counts-otherwise':
      return texts.counts;
  }
  if (error.message === texts.ownIgnored) return texts.ownIgnored;
  const byField: Record<string, string> = {
    ...(status === 409 && { name: texts.name }),
    duration: texts.duration,
    activation_limit: texts.slots,
    free_staging: texts.staging,
  };
  return byField[error.field ?? ''];
}

async function showNew(call: OperatorCall, form: FormState): Promise<Answer> {
  const given = form.value('product_id') ?? call.query.get('product_id') ?? '';
  const { product } = await chosenProduct({ ...call, query: new URLSearchParams({ product_id: given }) });
  if (product === undefined) return { to: '/products/new' };
  return { page: <PlanForm {...{ form, product, plan: undefined, withLimit: 0 }} /> };
}

async function showEdit(call: OperatorCall, form: FormState): Promise<Answer> {
  const plan = await requirePlan(call.db, readId(call));
  const { product } = await readProduct(call.db, plan.productId);
  const asks = form.failure?.field === 'licenses' || form.value('licenses') !== undefined;
  const counts = asks ? await countLicensesOnPlans(call.db, [plan.id], plan.activationLimit) : undefined;
  return { page: <PlanForm {...{ form, product, plan, withLimit: counts?.get(plan.id) ?? 0 }} /> };
}

const DURATIONS = ['1y', '6m', 'life', 'own'];

function PlanForm({
  form,
  product,
  plan,
  withLimit,
}: {
  form: FormState;
  product: { id: number; name: string };
  /** undefined: a new one */
  plan: Plan | undefined;
  /** licences that have its limit, if it is changed; 0: none, or not asked */
  withLimit: number;
}) {
  const { t, to } = useView();
  const { plans: texts, title: list } = t.products;
  const title = plan === undefined ? texts.newTitle(product.name) : texts.editTitle(plan.name);
  const duration = plan === undefined ? '1y' : (plan.duration ?? 'life');
  const isUsual = DURATIONS.includes(duration);
  const { afterExpiry, freeStaging, selfServiceMoves } = plan ?? PLAN_DEFAULTS;
  return (
    <OperatorPage
      title={title}
      nav="products"
      crumbs={[
        [list, '/products'],
        [product.name, `/products/${product.id}`],
      ]}
    >
      <Head title={title} />
      <Panel id="plan" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <Form path={plan === undefined ? '/plans/new' : `/plans/${plan.id}`} form={form}>
            {plan === undefined ? <input type="hidden" name="product_id" value={String(product.id)} /> : null}
            <TextField
              form={form}
              name="name"
              label={texts.name}
              hint={texts.nameHint}
              value={plan?.name ?? ''}
              required
            />
            <Select
              form={form}
              name="activation_type"
              label={texts.counts}
              hint={texts.countsHint}
              value={plan?.activationType ?? 'domain'}
              options={ACTIVATION_TYPES.map((type) => ({ value: type, label: t.common.sites[type] ?? type }))}
              required
            />
            <TextField
              form={form}
              name="activation_limit"
              inputmode="numeric"
              label={texts.slots}
              hint={texts.slotsHint}
              value={plan?.activationLimit ?? 5}
              required
            />
            {plan === undefined || withLimit === 0 ? null : <Follow {...{ form, plan, withLimit }} />}
            <Select
              form={form}
              name="duration"
              label={texts.runs}
              value={isUsual ? duration : 'own'}
              options={DURATIONS.map((value) => ({ value, label: texts.durations[value] ?? value }))}
              required
            />
            <TextField
              form={form}
              name="duration_own"
              label={texts.ownDuration}
              hint={texts.ownDurationHint}
              value={isUsual ? '' : duration}
            />
            <Checkbox
              form={form}
              name="free_staging"
              label={texts.freeStaging}
              hint={texts.freeStagingHint}
              checked={freeStaging}
            />
            <Choices
              form={form}
              name="after_expiry"
              label={texts.afterExpiry}
              value={afterExpiry}
              options={[
                { value: 'nothing', label: texts.nothing },
                { value: 'last_release', label: texts.lastRelease },
              ]}
            />
            <TextField
              form={form}
              name="self_service_moves"
              inputmode="numeric"
              label={texts.moves}
              hint={texts.movesHint}
              value={selfServiceMoves}
              required
            />
            <p class="acts mb-0">
              <Submit>{plan === undefined ? texts.submit : t.common.save}</Submit>
              {plan === undefined ? null : (
                <a class="btn btn-quiet" href={to(`/plans/${plan.id}/delete`)}>
                  {texts.remove}
                </a>
              )}
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

/** What becomes of the licences that have the plan's limit. */
function Follow({ form, plan, withLimit }: { form: FormState; plan: Plan; withLimit: number }) {
  const { t, format } = useView();
  const texts = t.products.plans;
  const limit = plan.activationLimit === 0 ? t.common.unlimited : format.number(plan.activationLimit);
  return (
    <Choices
      form={form}
      name="licenses"
      label={withLimit === 1 ? texts.followOne(limit) : texts.follow(format.number(withLimit), limit)}
      value=""
      options={[
        { value: 'follow', label: texts.followYes },
        { value: 'keep', label: texts.followNo },
      ]}
    />
  );
}

async function showRemove(call: OperatorCall, form: FormState): Promise<Answer> {
  const plan = await requirePlan(call.db, readId(call));
  const { product } = await readProduct(call.db, plan.productId);
  return { page: <RemovePage {...{ plan, product, form }} /> };
}

function RemovePage({
  plan,
  product,
  form,
}: {
  plan: Plan;
  product: { id: number; name: string };
  form: FormState;
}) {
  const { plans: texts, title: list } = useView().t.products;
  return (
    <FormPage
      danger
      title={texts.removeTitle(plan.name)}
      nav="products"
      crumbs={[
        [list, '/products'],
        [product.name, `/products/${product.id}`],
      ]}
      path={`/plans/${plan.id}/delete`}
      form={form}
      points={[texts.removeOnly]}
      submit={texts.remove}
      back={[texts.removeBack, `/plans/${plan.id}`]}
    />
  );
}
