import { countOf } from '../base/count-of';
import { countActivationsOfPlan } from '../store/licenses/activations';
import {
  deletePlan,
  deleteProduct,
  findPlan,
  findProduct,
  insertPlan,
  insertProduct,
  listPlans,
  replaceIncludes,
  lockLicensesOfPlan,
  lockPlan,
  lockProduct,
  PLAN_DEFAULTS,
  replacePlanLimit,
  setPlan,
  setProduct,
  type AfterExpiry,
  type Plan,
  type PlanOptions,
  type Product,
} from '../store/catalogue';
import { MAX_UINT32 } from './core/columns';
import type { Db, Transaction } from '../store/engine/database';
import { isDuplicate, isReferenceConflict } from '../store/engine/errors';
import { countLicensesOnPlans, listIdsWithLimit, listLicenses } from '../store/licenses/licenses';
import { listPublishedVersions } from '../store/releases';
import { SECURITY_BRANCHES } from '../store/words';
import { findShopsSelling } from '../store/orders/shops';
import { inTransaction } from '../store/engine/transaction';
import { setLimitIfUnchanged } from './amend';
import {
  bundlesWith,
  findIncludesFault,
  includedProducts,
  normalizeIncludes,
  firstBundleListing,
  readCatalogue,
  type CatalogueProduct,
  type Includes,
} from './bundles';
import type { ActivationType } from './core/identifiers';
import type { ChangeContext } from './lifecycle';
import { OperatorError, type RefusalFacts } from './operator-error';
import { throwPlanNotFound, throwProductNotFound, requirePlan, requireProduct } from './find-or-throw';

export {
  countLicensesOnPlans,
  PLAN_DEFAULTS,
  SECURITY_BRANCHES,
  type AfterExpiry,
  type CatalogueProduct,
  type Includes,
  type Plan,
  type PlanOptions,
  type Product,
};

/** Lists all products by id. */
export async function listCatalogue(db: Db): Promise<CatalogueProduct[]> {
  return [...(await readCatalogue(db)).values()];
}

export interface ProductDetails {
  product: CatalogueProduct;
  /** the products that its licences cover in addition to it */
  included: CatalogueProduct[];
  /** the products that include it */
  bundles: CatalogueProduct[];
  plans: Plan[];
  /** the published versions, highest first */
  versions: string[];
}

export async function readProduct(db: Db, id: number): Promise<ProductDetails> {
  const catalogue = await readCatalogue(db);
  const product = catalogue.get(id) ?? throwProductNotFound(id);
  const [plans, versions] = await Promise.all([listPlans(db, id), listPublishedVersions(db, id)]);
  return {
    product,
    included: includedProducts(catalogue, id),
    bundles: bundlesWith(catalogue, id),
    plans,
    versions,
  };
}

/** @param productId undefined: the plans of all products @throws OperatorError if the product does not exist */
export async function plansOf(db: Db, productId: number | undefined): Promise<Plan[]> {
  if (productId !== undefined) await requireProduct(db, productId);
  return listPlans(db, productId);
}

/** The fields of a product that a caller may set; undefined keeps a value, null clears it. */
export type ProductFields = {
  [Name in keyof Omit<CatalogueProduct, 'id' | 'includesAll' | 'createdAt'>]?:
    | CatalogueProduct[Name]
    | undefined;
};

/** @throws OperatorError if the id is taken, no higher id exists, or the inclusions are not allowed */
export async function addProduct(
  db: Db,
  { id, includes = [], ...fields }: ProductFields & { id?: number | undefined; name: string },
  now: Date,
): Promise<CatalogueProduct> {
  // The database would continue above it, or fail with its own message.
  if (id === undefined && (await findProduct(db, MAX_UINT32)) !== undefined)
    throw new OperatorError(`There is no higher id than ${MAX_UINT32}.`, {
      code: 'INVALID_REQUEST',
      field: 'id',
      facts: { reason: 'no-higher-id' },
    });
  try {
    return await inTransaction(db, async (trx) => {
      await lockIncluded(trx, includes);
      const inserted = await insertProduct(trx, {
        id,
        ...fields,
        element: fields.element ?? null,
        createdAt: now,
      });
      return setIncludes(trx, inserted, includes);
    });
  } catch (error) {
    if (isDuplicate(error))
      throw new OperatorError(`Product ${id ?? ''} already exists.`, { code: 'CONFLICT' });
    throw error;
  }
}

/** A plan to add; omitted options are those of PLAN_DEFAULTS. */
export type NewPlan = Omit<Plan, 'id' | 'createdAt' | keyof PlanOptions> &
  Partial<PlanOptions> & { activationType: ActivationType };

/** @throws OperatorError if the product does not exist or already has a plan with this name */
export async function addPlan(db: Db, plan: NewPlan, now: Date): Promise<Plan> {
  return inTransaction(db, async (trx) => {
    await refuseNamesake(trx, plan);
    refuseFreeStaging(plan);
    const id = await insertPlan(trx, { ...PLAN_DEFAULTS, ...plan, createdAt: now });
    return (await findPlan(trx, id)) as Plan;
  });
}

/** Locks the product and refuses a name that differs only in case, because the two plans would be confused. */
async function refuseNamesake(
  trx: Transaction,
  { id, productId, name }: { id?: number; productId: number; name: string },
): Promise<void> {
  if (!(await lockProduct(trx, productId))) throwProductNotFound(productId);
  const namesake = (await listPlans(trx, productId)).find(
    (other) => other.id !== id && other.name.toLowerCase() === name.toLowerCase(),
  );
  if (namesake)
    throw new OperatorError(`Product ${productId} already has a plan of this name: plan ${namesake.id}.`, {
      code: 'CONFLICT',
      field: 'name',
    });
}

function refuseFreeStaging({
  activationType,
  freeStaging,
}: {
  activationType: string;
  freeStaging?: boolean;
}): void {
  if (freeStaging && activationType !== 'domain')
    throw new OperatorError('Staging sites can be free only on a plan that counts by domain.', {
      code: 'INVALID_REQUEST',
      field: 'free_staging',
    });
}

/** Locks products in the order of their ids, in which all code locks several products. */
async function lockIncluded(trx: Transaction, includes: Includes, id?: number): Promise<void> {
  const involved = [...(includes === 'all' ? [] : includes), ...(id === undefined ? [] : [id])];
  for (const one of normalizeIncludes(involved)) await lockProduct(trx, one as number);
}

/** Replaces the inclusions of a locked product. @throws OperatorError if the rules of bundles forbid them */
async function setIncludes(trx: Transaction, id: number, includes: Includes): Promise<CatalogueProduct> {
  const catalogue = await readCatalogue(trx);
  const fault = findIncludesFault(catalogue, id, includes);
  if (fault !== undefined) throw fault;
  const wanted = normalizeIncludes(includes);
  await setProduct(trx, id, { includesAll: wanted === 'all' });
  await replaceIncludes(trx, id, wanted === 'all' ? [] : wanted);
  return { ...(catalogue.get(id) as CatalogueProduct), includesAll: wanted === 'all', includes: wanted };
}

/**
 * Deletes a product that was added by mistake.
 * @throws OperatorError if it has plans or versions, is listed in a bundle, or does not exist
 */
export function removeProduct(db: Db, id: number): Promise<CatalogueProduct> {
  return removeUnused(
    db,
    async (trx) => {
      if (!(await lockProduct(trx, id))) throwProductNotFound(id);
      const catalogue = await readCatalogue(trx);
      const by = firstBundleListing(catalogue, id);
      if (by !== undefined)
        throw new OperatorError(`Product ${id} is included in product ${by}, so it cannot be deleted.`, {
          code: 'CONFLICT',
          facts: { reason: 'is-included', by },
        });
      await replaceIncludes(trx, id, []);
      await deleteProduct(trx, id);
      return catalogue.get(id) as CatalogueProduct;
    },
    `Product ${id} has plans or versions, so it cannot be deleted.`,
    { reason: 'product-in-use' },
  );
}

/** Deletes a plan added by mistake. @throws OperatorError if it has licences, even ended, a shop sells it, or it is missing */
export function removePlan(db: Db, id: number): Promise<Plan> {
  return removeUnused(
    db,
    async (trx) => {
      const plan = (await lockPlan(trx, id)) ?? throwPlanNotFound(id);
      const [shop] = await findShopsSelling(trx, id);
      if (shop !== undefined) throw soldBy(id, shop);
      await deletePlan(trx, id);
      return plan;
    },
    `Plan ${id} has licences, so it cannot be deleted. To stop selling it, issue no more licences on it.`,
    { reason: 'plan-in-use', plan: id },
  );
}

function soldBy(plan: number, { shop, sku }: { shop: string; sku: string | null }): OperatorError {
  return new OperatorError(
    sku === null
      ? `Shop ${shop} issues plan ${plan} for test orders, so the plan cannot be deleted.`
      : `Shop ${shop} sells plan ${plan} as "${sku}", so the plan cannot be deleted.`,
    { code: 'CONFLICT', facts: { reason: 'plan-in-shop', plan, shop, sku } },
  );
}

async function removeUnused<T>(
  db: Db,
  remove: (trx: Transaction) => Promise<T>,
  refusal: string,
  facts: RefusalFacts,
): Promise<T> {
  try {
    return await inTransaction(db, remove);
  } catch (error) {
    throw isReferenceConflict(error) ? new OperatorError(refusal, { code: 'CONFLICT', facts }) : error;
  }
}

/** @throws OperatorError if the product does not exist, or its inclusions are not allowed */
export function editProduct(
  db: Db,
  id: number,
  { includes, ...changes }: ProductFields,
): Promise<CatalogueProduct> {
  return inTransaction(db, async (trx) => {
    await lockIncluded(trx, includes ?? [], id);
    if (!(await findProduct(trx, id))) throwProductNotFound(id);
    await setProduct(trx, id, changes);
    if (includes !== undefined) return setIncludes(trx, id, includes);
    return (await readCatalogue(trx)).get(id) as CatalogueProduct;
  });
}

/**
 * Changes a plan. Its licences keep their end and limit; see `changePlanLimit`.
 * @throws OperatorError if existing activations would not be found with another activation type, or if another plan of
 * the product has the name
 */
export async function editPlan(
  db: Db,
  id: number,
  changes: Partial<Omit<NewPlan, 'productId'>>,
): Promise<Plan> {
  const { activationType } = changes;
  // Check the activations before the transaction too, so that a plan in use is refused without locking its licences.
  await refuseActivations(db, await requirePlan(db, id), activationType);
  return inTransaction(db, async (trx) => {
    const plan = (await lockPlan(trx, id)) ?? throwPlanNotFound(id);
    // A plan that already shares its name with another, from earlier versions, may keep it.
    if (changes.name !== undefined && changes.name !== plan.name)
      await refuseNamesake(trx, { id, productId: plan.productId, name: changes.name });
    if (countsOtherwise(plan, activationType)) await lockLicensesOfPlan(trx, id);
    await refuseActivations(trx, plan, activationType);
    refuseFreeStaging({ ...plan, ...changes });
    await setPlan(trx, id, changes);
    return requirePlan(trx, id);
  });
}

function countsOtherwise(plan: Plan, wanted: string | undefined): wanted is string {
  return wanted !== undefined && wanted !== plan.activationType;
}

async function refuseActivations(db: Db, plan: Plan, wanted: string | undefined): Promise<void> {
  if (!countsOtherwise(plan, wanted)) return;
  const activations = await countActivationsOfPlan(db, plan.id);
  if (activations > 0)
    throw new OperatorError(
      `Licences on plan ${plan.id} have ${countOf(activations, 'activation')} by ${plan.activationType}. ` +
        `Add a new plan that counts by ${wanted} instead.`,
      { code: 'CONFLICT', facts: { reason: 'counts-otherwise' } },
    );
}

interface EditedPlan {
  before: Plan;
  plan: Plan;
  /** licences that received the plan's new limit */
  changed: number;
  /** licences that were given another limit or plan meanwhile */
  skipped: number;
  inUse: boolean;
}

export interface LimitChange {
  from: number;
  to: number;
}

/**
 * Changes a plan. If licences with the old limit exist, `decide` chooses whether they follow.
 * @param onProgress receives the number of changed licences
 * @throws OperatorError like `editPlan` and `changePlanLimit`, and if `decide` does not choose
 */
export async function editPlanAndLicenses(
  db: Db,
  id: number,
  { activationLimit, ...others }: Partial<Omit<NewPlan, 'productId'>>,
  decide: (limits: LimitChange) => Promise<'follow' | 'keep' | undefined>,
  context: ChangeContext,
  onProgress?: (changed: number) => void,
): Promise<EditedPlan> {
  const before = await requirePlan(db, id);
  const limits = { from: before.activationLimit, to: activationLimit ?? before.activationLimit };
  const follow = (await hasFollowers(db, id, limits)) && (await requireDecision(decide, limits)) === 'follow';
  const changes = { ...others, ...(follow || activationLimit === undefined ? {} : { activationLimit }) };
  const inUse = (await listLicenses(db, { planIds: [id], limit: 1 }, context.now)).length > 0;
  const plan = Object.keys(changes).length > 0 ? await editPlan(db, id, changes) : before;
  const followers = follow ? await changePlanLimit(db, id, limits, context, onProgress) : undefined;
  return {
    before,
    plan: { ...plan, activationLimit: limits.to },
    ...(followers ?? { changed: 0, skipped: 0 }),
    inUse,
  };
}

async function hasFollowers(db: Db, planId: number, { from, to }: LimitChange): Promise<boolean> {
  return from !== to && (await listIdsWithLimit(db, planId, from, { after: 0, limit: 1 })).length > 0;
}

async function requireDecision(
  decide: (limits: LimitChange) => Promise<'follow' | 'keep' | undefined>,
  limits: LimitChange,
): Promise<'follow' | 'keep'> {
  const decision = await decide(limits);
  if (decision === undefined)
    throw new OperatorError(
      'The plan has licences with its present limit: choose whether they get the new limit or keep theirs.',
      { code: 'INVALID_REQUEST', field: 'licenses', facts: { reason: 'undecided' } },
    );
  return decision;
}

/** The number of licences that one query reads while their limits are changed. */
const CHUNK = 200;

/**
 * Changes a plan's limit and that of its licences with the old limit. One transaction for each licence keeps locks
 * short. The plan is changed last, so that an interrupted run can be repeated.
 * @throws OperatorError if the plan's limit was changed meanwhile
 */
export async function changePlanLimit(
  db: Db,
  planId: number,
  { from, to }: LimitChange,
  context: ChangeContext,
  onProgress: (changed: number) => void = () => undefined,
): Promise<{ changed: number; skipped: number }> {
  const licenses = { changed: 0, skipped: 0 };
  const follow = async () => {
    for (let after = 0; ;) {
      const ids = await listIdsWithLimit(db, planId, from, { after, limit: CHUNK });
      try {
        for (const id of ids)
          licenses[
            (await setLimitIfUnchanged(db, id, { planId, from, to }, context)) ? 'changed' : 'skipped'
          ]++;
      } finally {
        onProgress(licenses.changed);
      }
      after = ids.at(-1) ?? 0;
      if (ids.length < CHUNK) return;
    }
  };
  await follow();
  if (!(await replacePlanLimit(db, planId, { from, to })))
    throw new OperatorError(
      `Another operator gave plan ${planId} a different limit meanwhile. ` +
        `${countOf(licenses.changed, 'licence has', 'licences have')} ${to || 'unlimited'} slots now. Agree on one limit, and try again with it.`,
      { code: 'CONFLICT' },
    );
  // Licences issued meanwhile follow too.
  await follow();
  return licenses;
}
