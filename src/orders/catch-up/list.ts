import { paddleList } from './paddle';
import type { ShopList } from './shop-list';
import { stripeList } from './stripe';
import { woocommerceList } from './woocommerce';

/** The kinds of senders that keep a list of their events. */

const LISTS: Partial<Record<string, ShopList>> = {
  stripe: stripeList,
  paddle: paddleList,
  woocommerce: woocommerceList,
};

/** Returns the list of a kind of shop; undefined if it has no list that can be read. */
export function listOf(kind: string): ShopList | undefined {
  return Object.hasOwn(LISTS, kind) ? LISTS[kind] : undefined;
}
