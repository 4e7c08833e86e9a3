import { findPlan, findProduct, listPlans, type Plan, type Product } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { OperatorError } from './operator-error';

/** @throws OperatorError if the product does not exist */
export async function requireProduct(db: Db, id: number): Promise<Product> {
  return (await findProduct(db, id)) ?? throwProductNotFound(id);
}

export function throwProductNotFound(id: number): never {
  throw new OperatorError(`There is no product ${id}.`, {
    code: 'NOT_FOUND',
    facts: { reason: 'no-product' },
  });
}

/** @throws OperatorError if the plan does not exist */
export async function requirePlan(db: Db, id: number): Promise<Plan> {
  return (await findPlan(db, id)) ?? throwPlanNotFound(id);
}

export function throwPlanNotFound(id: number | string): never {
  throw new OperatorError(`There is no plan ${id}.`, { code: 'NOT_FOUND', facts: { reason: 'no-plan' } });
}

export function throwLicenseNotFound(id: number): never {
  throw new OperatorError(`There is no licence ${id}.`, { code: 'NOT_FOUND' });
}

/** @throws OperatorError if no plan has this id or name, or several have the name; `productId` limits the search */
export async function requirePlanNamed(db: Db, text: string, productId?: number): Promise<Plan> {
  const byId = /^\d{1,10}$/.test(text) ? await findPlan(db, Number(text)) : undefined;
  if (byId) return byId;
  const plans = await listPlans(db, productId);
  const named = findByIdOrName(plans, text);
  if (named) return named;
  const several = plans.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  if (several.length === 0) throwPlanNotFound(text);
  const ids = several.map((plan) => `${plan.id} (product ${plan.productId})`).join(', ');
  throw new OperatorError(`Several plans have this name: ${ids}. Give the id.`, { code: 'CONFLICT' });
}

/** Finds by id, otherwise by name. A name in another case matches if it is the only one. */
export function findByIdOrName<T extends { id: number; name: string }>(
  all: T[],
  text: string,
): T | undefined {
  const byId = /^\d+$/.test(text) ? all.find(({ id }) => id === Number(text)) : undefined;
  if (byId) return byId;
  const exact = all.filter(({ name }) => name === text);
  if (exact.length > 0) return exact.length === 1 ? exact[0] : undefined;
  const similar = all.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  return similar.length === 1 ? similar[0] : undefined;
}
