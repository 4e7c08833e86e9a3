import type { Child } from 'hono/jsx';
import {
  countLicensesOnPlans,
  listCatalogue,
  PLAN_DEFAULTS,
  readProduct,
  type Plan,
} from '../../../licensing/catalogue';
import { ACTIVATION_TYPES } from '../../../licensing/core/identifiers';
import { requirePlan } from '../../../licensing/find-or-throw';
import { invalid, type ErrorResponse } from '../../../operations/kit/failures';
import { planOperations } from '../../../operations/plans';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation, nonEmptyFields, type BodyOf, type FormInput } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, Checkbox, RadioGroup, Select, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { chosenProduct, productBreadcrumbs, slotLimit } from './catalogue';

/** Adds, changes and deletes a plan of a product. */

/** Set no deadline, because each licence that gets a new limit has its own transaction. */
const hasDeadline = false;

export const planRoutes: Route<OperatorCall>[] = [
  formRoute('/plans/new', { hasDeadline, show: showNew, work: add, explain: explainPlan }),
  formRoute('/plans/:id', { hasDeadline, find: planOf, show: showEdit, work: edit, explain: explainPlan }),
  formRoute('/plans/:id/delete', {
    hasDeadline,
    find: planOf,
    show: askRemove,
    work: remove,
    explain: explainPlan,
    whenDeleted: '/products',
  }),
];

interface PlanOfProduct {
  plan: Plan;
  product: { id: number; name: string };
}

async function planOf(call: OperatorCall): Promise<PlanOfProduct> {
  const plan = await requirePlan(call.db, readId(call));
  const { product } = await readProduct(call.db, plan.productId);
  return { plan, product };
}

/** Reads the fields of a plan. @param plan the plan before the change; undefined for a new one */
export function planBody(
  { view: { t } }: OperatorCall,
  sent: URLSearchParams,
  plan: Plan | undefined,
): FormInput<BodyOf<typeof planOperations.addPlan>> {
  const duration = sent.get('duration') ?? '';
  const own = (sent.get('duration_own') ?? '').trim();
  // If another duration is chosen, the field still contains the plan's own duration. Refuse any other text, because it
  // would be ignored.
  if (duration !== 'own' && own !== '' && own !== plan?.duration)
    throw invalid('duration_own', t.products.plans.refused.ownIgnored);
  return {
    ...nonEmptyFields(
      sent,
      'name',
      'activation_type',
      'activation_limit',
      'after_expiry',
      'self_service_moves',
    ),
    duration: duration === 'life' ? null : duration === 'own' ? own : duration,
    // Ignore the box, which is ticked at first, if the plan does not count sites: then it is hidden.
    free_staging: sent.get('activation_type') === 'domain' && sent.get('free_staging') === '1',
    upgrade_url: sent.get('upgrade_url')?.trim() || null,
  };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const template =
    sent.get('copy') === null
      ? undefined
      : await planOf({ ...call, path: { id: sent.get('copy') as string } });
  const body = { ...nonEmptyFields(sent, 'product_id'), ...planBody(call, sent, template?.plan) };
  const data = await submitOperation(call, sent, planOperations.addPlan, { body });
  return redirectWithFlash(`/products/${data.product_id}`, 'planAdded', data.name);
}

async function edit(
  call: OperatorCall,
  sent: URLSearchParams,
  { plan }: PlanOfProduct,
): Promise<PageResponse> {
  const body = { ...planBody(call, sent, plan), ...nonEmptyFields(sent, 'licenses') };
  const data = await submitOperation(call, sent, planOperations.updatePlan, { path: { id: plan.id }, body });
  return redirectWithFlash(`/products/${String(data.product_id)}`, 'saved');
}

async function remove(
  call: OperatorCall,
  sent: URLSearchParams,
  { plan: { id, name, productId } }: PlanOfProduct,
): Promise<PageResponse> {
  await submitOperation(call, sent, planOperations.removePlan, { path: { id } });
  return redirectWithFlash(`/products/${productId}`, 'planRemoved', name);
}

export function explainPlan(
  { view: { t } }: OperatorCall,
  { status, error, facts }: ErrorResponse,
): string | undefined {
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
    upgrade_url: texts.upgradeUrl,
  };
  return byField[error.field ?? ''];
}

/** Shows the form for a plan of the product in the address, or of any product with the values of another plan. */
async function showNew(call: OperatorCall, form: FormState): Promise<PageResponse> {
  const template = form.value('copy') ?? call.query.get('copy') ?? undefined;
  if (template !== undefined) {
    const { plan, product } = await planOf({ ...call, path: { id: template } });
    const products = await listCatalogue(call.db);
    return showForm(call, form, { product, plan, copiesTo: products.filter(({ id }) => id !== product.id) });
  }
  const given = form.value('product_id') ?? call.query.get('product_id') ?? '';
  const { product } = await chosenProduct({ ...call, query: new URLSearchParams({ product_id: given }) });
  if (product === undefined) return { to: '/products/new' };
  const { plans } = await readProduct(call.db, product.id);
  return showForm(call, form, { product, isFirst: plans.length === 0 });
}

async function showEdit(
  call: OperatorCall,
  form: FormState,
  { plan, product }: PlanOfProduct,
): Promise<PageResponse> {
  const asks = form.failure?.field === 'licenses' || form.value('licenses') !== undefined;
  const counts = asks ? await countLicensesOnPlans(call.db, [plan.id], plan.activationLimit) : undefined;
  const canCopy = (await listCatalogue(call.db)).length > 1;
  return showForm(call, form, { product, plan, canCopy, withLimit: counts?.get(plan.id) ?? 0 });
}

const DURATIONS = ['1y', '6m', 'life', 'own'];

/**
 * The form fields that every plan needs, here and in the first steps.
 * @param plan undefined for a new plan, with default values
 * @param name the name of a new plan
 * @param children a question below the limit
 */
export function PlanFields({
  plan,
  name,
  children,
}: {
  plan?: Plan | undefined;
  name: string;
  children?: Child;
}) {
  const { t } = useView();
  const { plans: texts } = t.products;
  const duration = plan === undefined ? '1y' : (plan.duration ?? 'life');
  const isUsual = DURATIONS.includes(duration);
  return (
    <>
      <TextField name="name" label={texts.name} hint={texts.nameHint} value={plan?.name ?? name} required />
      <Select
        name="activation_type"
        label={texts.counts}
        hint={texts.countsHint}
        value={plan?.activationType ?? 'domain'}
        options={ACTIVATION_TYPES.map((type) => ({ value: type, label: t.common.sites(type) }))}
        required
      />
      <TextField
        name="activation_limit"
        inputmode="numeric"
        label={texts.slots}
        hint={texts.slotsHint}
        value={plan?.activationLimit ?? 1}
        required
      />
      {children}
      <Select
        name="duration"
        label={texts.runs}
        value={isUsual ? duration : 'own'}
        options={DURATIONS.map((value) => ({ value, label: texts.durations[value] ?? value }))}
        required
      />
      <div class="with-own">
        <TextField
          name="duration_own"
          label={texts.ownDuration}
          hint={texts.ownDurationHint}
          value={isUsual ? '' : duration}
        />
      </div>
      <div class="with-sites">
        <Checkbox
          name="free_staging"
          label={texts.freeStaging}
          hint={texts.freeStagingHint}
          checked={plan?.freeStaging ?? true}
        />
      </div>
    </>
  );
}

/**
 * Shows the form for a plan.
 * @param plan undefined for a new plan
 * @param copiesTo the products to choose from, if the form copies the plan to another product
 * @param withLimit the number of licences with the plan's limit, if the limit is changed; 0 asks no question
 */
function showForm(
  { view }: OperatorCall,
  form: FormState,
  {
    product,
    plan,
    copiesTo,
    canCopy = false,
    isFirst = false,
    withLimit = 0,
  }: {
    product: PlanOfProduct['product'];
    plan?: Plan;
    copiesTo?: PlanOfProduct['product'][];
    canCopy?: boolean;
    /** true if the product has no plan yet */
    isFirst?: boolean;
    withLimit?: number;
  },
): PageResponse {
  const { t, format } = view;
  const { plans: texts } = t.products;
  const { afterExpiry, selfServiceMoves } = plan ?? PLAN_DEFAULTS;
  const limit = slotLimit(view, plan?.activationLimit ?? 0);
  const isNew = plan === undefined || copiesTo !== undefined;
  return {
    page: (
      <FormPage
        title={
          plan === undefined
            ? texts.newTitle(product.name)
            : (copiesTo === undefined ? texts.editTitle : texts.copyTitle)(plan.name)
        }
        nav="products"
        crumbs={productBreadcrumbs(view, product)}
        path={isNew ? '/plans/new' : `/plans/${plan.id}`}
        form={form}
        submit={isNew ? texts.submit : t.common.save}
        acts={
          isNew ? undefined : (
            <>
              {canCopy ? <ButtonLink path="/plans/new" query={{ copy: plan.id }} label={texts.copy} /> : null}
              <ButtonLink path={`/plans/${plan.id}/delete`} label={texts.remove} />
            </>
          )
        }
      >
        {plan === undefined ? <input type="hidden" name="product_id" value={String(product.id)} /> : null}
        {plan === undefined || copiesTo === undefined ? null : (
          <>
            <input type="hidden" name="copy" value={String(plan.id)} />
            <Select
              name="product_id"
              label={texts.copyTo}
              hint={texts.copyHint(product.name)}
              options={copiesTo.map(({ id, name }) => ({ value: id, label: name }))}
              value={copiesTo[0]?.id ?? ''}
              required
            />
          </>
        )}
        <PlanFields plan={plan} name={isFirst ? texts.usual : ''}>
          {withLimit === 0 ? null : (
            // Ask whether to change the licences that have the plan's limit too.
            <RadioGroup
              name="licenses"
              label={withLimit === 1 ? texts.followOne(limit) : texts.follow(format.number(withLimit), limit)}
              value=""
              options={[
                { value: 'follow', label: texts.followYes },
                { value: 'keep', label: texts.followNo },
              ]}
            />
          )}
        </PlanFields>
        <RadioGroup
          name="after_expiry"
          label={texts.afterExpiry}
          value={afterExpiry}
          options={[
            { value: 'nothing', label: texts.nothing },
            { value: 'last_release', label: texts.lastRelease },
            { value: 'security', label: texts.securityReleases },
          ]}
        />
        <TextField
          name="self_service_moves"
          inputmode="numeric"
          label={texts.moves}
          hint={texts.movesHint}
          value={selfServiceMoves}
          required
        />
        <TextField
          name="upgrade_url"
          type="url"
          label={texts.upgradeUrl}
          hint={texts.upgradeUrlHint}
          value={plan?.upgradeUrl ?? ''}
        />
      </FormPage>
    ),
  };
}

function askRemove({ view }: OperatorCall, form: FormState, { plan, product }: PlanOfProduct): PageResponse {
  const texts = view.t.products.plans;
  return {
    page: (
      <FormPage
        danger
        title={texts.removeTitle(plan.name)}
        nav="products"
        crumbs={productBreadcrumbs(view, product)}
        path={`/plans/${plan.id}/delete`}
        form={form}
        points={[texts.removeOnly]}
        submit={texts.removeSubmit}
        back={[texts.removeBack, `/plans/${plan.id}`]}
      />
    ),
  };
}
