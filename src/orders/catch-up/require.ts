import { requireDuration, subtractDuration } from '../../licensing/durations';
import { OperatorError } from '../../licensing/operator-error';
import type { Db } from '../../store/engine/database';
import type { Shop } from '../../store/orders/shops';
import { requireShop } from '../shops';
import { listOf } from './list';
import { catchUpState, type CatchUpState } from './standing';

/** The requirements for catching up a shop. */

/** Returns a shop that can be caught up. @throws OperatorError if it cannot */
export async function requireCatchable(db: Db, name: string): Promise<Shop> {
  const shop = await requireShop(db, name);
  const state = catchUpState(shop);
  if (state !== 'ready') throw new OperatorError(WHY_NOT[state ?? 'posts'](shop), { code: 'CONFLICT' });
  return shop;
}

const WHY_NOT: Record<Exclude<CatchUpState, 'ready'> | 'posts', (shop: Shop) => string> = {
  posts: ({ name }) => `Shop ${name} posts its orders itself, so there is no list to read.`,
  cannot: ({ kind }) => `A sender of the kind "${kind}" keeps no list that can be read.`,
  no_key: ({ name, kind }) =>
    `Shop ${name} has no API key: licensing shop edit ${name} --api-key-file FILE. ${listOf(kind)?.keyNeeds ?? ''}`,
  no_site: ({ name }) => `The site of shop ${name} is not known: licensing shop edit ${name} --site-url URL`,
};

/** Reads the beginning of a run. @param text such as `3d` @throws OperatorError if the sender's list does not reach it */
export function requireSince({ kind }: Pick<Shop, 'kind'>, text: string, now: Date): Date {
  const since = subtractDuration(now, requireDuration(text, 'since'));
  const days = listOf(kind)?.days;
  if (days !== undefined && since < subtractDuration(now, `${days}d`))
    throw new OperatorError(`The list of this sender goes back ${days} days: give ${days}d at most.`, {
      code: 'INVALID_REQUEST',
      field: 'since',
    });
  return since;
}
