import { meOperations } from './me';
import type { Operation } from './operation';
import { planOperations } from './plans';
import { productOperations } from './products';

/** The operator's API, in the order of its document. */
export const OPERATION_GROUPS: Record<string, Operation[]> = {
  Caller: meOperations,
  Products: productOperations,
  Plans: planOperations,
};

export const OPERATIONS: Operation[] = Object.values(OPERATION_GROUPS).flat();
