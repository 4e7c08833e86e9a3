import { paddleList } from './paddle';
import type { ShopList } from './shop-list';
import { stripeList } from './stripe';
import { woocommerceList } from './woocommerce';

/** Which kinds of senders keep a list of what they told. */

const LISTS: Partial<Record<string, ShopList>> = {
  stripe: stripeList,
  paddle: paddleList,
  woocommerce: woocommerceList,
};

/** undefined: this kind of shop keeps no list that can be read */
export function listOf(kind: string): ShopList | undefined {
  return Object.hasOwn(LISTS, kind) ? LISTS[kind] : undefined;
}
