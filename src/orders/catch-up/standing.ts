import { formatTimestamp } from '../../base/days';
import type { Db } from '../../store/engine/database';
import { listReceiverShops, type Shop } from '../../store/orders/shops';
import { isPosting } from '../shop-kinds';
import { listOf } from './list';

/** Reports whether the service can catch up on the missed messages of a shop, and when it last did so. */

/** The states of a shop. `cannot`: senders of this kind have no list that can be read. */
export const CATCH_UP_STATES = ['ready', 'no_key', 'no_site', 'cannot'] as const;
export type CatchUpState = (typeof CATCH_UP_STATES)[number];

/** Returns whether a shop can be caught up; null if it posts its orders itself. */
export function catchUpState(shop: Pick<Shop, 'kind' | 'apiKeySealed' | 'siteUrl'>): CatchUpState | null {
  if (isPosting(shop.kind)) return null;
  const list = listOf(shop.kind);
  if (list === undefined) return 'cannot';
  if (shop.apiKeySealed === null) return 'no_key';
  return list.isOnSite && shop.siteUrl === null ? 'no_site' : 'ready';
}

export function catchUpJson(shop: Shop) {
  const state = catchUpState(shop);
  const timeOf = (at: Date | null) => (at === null ? null : formatTimestamp(at));
  return (
    state && {
      state,
      at: timeOf(shop.caughtUpAt),
      until: timeOf(shop.caughtUpUntil),
      tried_at: timeOf(shop.catchUpTriedAt),
      failure: shop.catchUpFailure,
    }
  );
}

/** Lists all receivers with their state. */
export async function readCatchUps(db: Db): Promise<(Shop & { state: CatchUpState })[]> {
  const shops = await listReceiverShops(db);
  return shops.flatMap((shop) => {
    const state = catchUpState(shop);
    return state === null ? [] : { ...shop, state };
  });
}
