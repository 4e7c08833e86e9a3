import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { findShop, type Shop } from '../store/orders/shops';
import { isPosting } from './shop-kinds';

/** The ownership of shops: a shop belongs to its receiver, otherwise to the `issue` tokens of one name. */

export function isReceiver({ kind }: Pick<Shop, 'kind'>): boolean {
  return !isPosting(kind);
}

/** Reports whether a shop belongs to a token. @param owner the name of a token of the scope `issue` */
export function belongsTo(shop: Pick<Shop, 'kind' | 'owner'>, owner: string | null): boolean {
  return !isReceiver(shop) && shop.owner === owner;
}

/**
 * Refuses a reference that the order of another's shop will have, because a licence issued by hand must not take it.
 * @throws OperatorError (404), whether the order exists or not
 */
export async function refuseForeignReference(db: Db, reference: string, owner: string): Promise<void> {
  const [name = '', ...rest] = reference.split(':');
  if (rest.length === 0 || !/^[a-z0-9_-]{1,40}$/.test(name)) return;
  const shop = await findShop(db, name);
  if (shop === undefined || belongsTo(shop, owner) || (shop.owner === null && !isReceiver(shop))) return;
  throw new OperatorError(
    `You have no such reference: references that begin with "${name}:" belong to a shop.`,
    {
      code: 'NOT_FOUND',
    },
  );
}
