import { findPlan, findProduct, type Plan, type Product } from '../store/catalogue';
import type { Db } from '../store/database';
import { OperatorError } from './operator-error';

/** What an operator names by its id, and which must be there. */

/** @throws OperatorError when there is no such product */
export async function requireProduct(db: Db, id: number): Promise<Product> {
  return (await findProduct(db, id)) ?? noProduct(id);
}

/** @throws OperatorError always */
export function noProduct(id: number): never {
  throw new OperatorError(`There is no product ${id}. "licensing product list" shows the products.`, {
    code: 'NOT_FOUND',
  });
}

/** @throws OperatorError when there is no such plan */
export async function requirePlan(db: Db, id: number): Promise<Plan> {
  return (await findPlan(db, id)) ?? noPlan(id);
}

/** @throws OperatorError always */
export function noPlan(id: number): never {
  throw new OperatorError(`There is no plan ${id}. "licensing plan list" shows the plans.`, {
    code: 'NOT_FOUND',
  });
}

/** @throws OperatorError always */
export function noLicense(id: number): never {
  throw new OperatorError(`There is no licence ${id}.`, { code: 'NOT_FOUND' });
}
