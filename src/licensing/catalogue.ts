import {
  findPlan,
  findProduct,
  insertPlan,
  insertProduct,
  type Plan,
  type Product,
} from '../store/catalogue';
import type { Db } from '../store/database';
import { isDuplicate } from '../store/errors';
import type { ActivationType } from './identifiers';
import { OperatorError } from './operator-error';
import { requireProduct } from './releases';

/** @throws OperatorError when the id is taken */
export async function addProduct(
  db: Db,
  { id, name, element }: { id?: number | undefined; name: string; element?: string | undefined },
  now: Date,
): Promise<Product> {
  try {
    const inserted = await insertProduct(db, { id, name, element: element ?? null, createdAt: now });
    return (await findProduct(db, inserted)) as Product;
  } catch (error) {
    if (isDuplicate(error)) throw new OperatorError(`Product ${id ?? ''} exists already.`);
    throw error;
  }
}

export interface NewPlan {
  productId: number;
  name: string;
  activationType: ActivationType;
  /** 0: unlimited */
  activationLimit: number;
  /** null: lifetime */
  duration: string | null;
}

/** @throws OperatorError when there is no such product */
export async function addPlan(db: Db, plan: NewPlan, now: Date): Promise<Plan> {
  await requireProduct(db, plan.productId);
  return (await findPlan(db, await insertPlan(db, { ...plan, createdAt: now }))) as Plan;
}
