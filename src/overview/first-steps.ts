import { listPlans, type Plan } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { isIssuedByProgram } from '../store/licenses/licenses';
import { listShops } from '../store/orders/shops';
import { listTokens } from '../store/tokens';
import { listPublishedReleases, type Release } from '../store/releases';
import { readCatalogue, type CatalogueProduct } from '../licensing/bundles';

/** Onboarding: the products, plans and releases to sell, and the gaps before the first licence. */

export interface Goods {
  products: CatalogueProduct[];
  plans: Plan[];
  /** the published releases, without changelogs, each product's highest version first */
  releases: Release[];
}

export async function readGoods(db: Db): Promise<Goods> {
  const products = [...(await readCatalogue(db)).values()];
  const plans = await listPlans(db);
  const ids = products.map(({ id }) => id);
  return { products, plans, releases: await listPublishedReleases(db, ids, { changelogs: false }) };
}

/** A part of the set-up that a shop still lacks. */
export type Gap =
  | { type: 'address' | 'mail' | 'shop' }
  /** `product`: the first of `count` products whose licences end */
  | { type: 'renewal_page' | 'reminders'; product: CatalogueProduct; count: number };

/** Lists what a shop lacks in addition to goods, in the order in which it is set up. */
export async function listGaps(
  db: Db,
  { products, plans }: Goods,
  has: Record<'address' | 'mail', boolean>,
): Promise<Gap[]> {
  const sells =
    (await listShops(db, { limit: 1 })).length > 0 ||
    (await listTokens(db)).some(({ scope }) => scope === 'issue') ||
    (await isIssuedByProgram(db));
  const ending = products.filter(({ id }) =>
    plans.some(({ productId, duration }) => productId === id && duration !== null),
  );
  const lacking = (type: 'renewal_page' | 'reminders', lack: CatalogueProduct[]): Gap[] =>
    lack[0] === undefined ? [] : [{ type, product: lack[0], count: lack.length }];
  return [
    ...(has.address ? [] : [{ type: 'address' as const }]),
    ...(has.mail ? [] : [{ type: 'mail' as const }]),
    ...(sells ? [] : [{ type: 'shop' as const }]),
    ...lacking(
      'renewal_page',
      ending.filter(({ renewUrl }) => renewUrl === null),
    ),
    ...lacking(
      'reminders',
      ending.filter(({ reminders }) => !reminders),
    ),
  ];
}

/** The steps before the first licence; undefined: not done. */
export interface FirstSteps {
  product: CatalogueProduct | undefined;
  plan: Plan | undefined;
  release: Release | undefined;
}

/** Returns the steps of one product if it has them all. A bundle's plan may go with versions of the included products. */
export function firstSteps({ products, plans, releases }: Goods): FirstSteps {
  const [product] = [...products].sort((a, b) => stepsOf(b) - stepsOf(a));
  const ofProduct = <T extends { productId: number }>(things: T[]) =>
    things.find(({ productId }) => productId === product?.id) ?? things[0];
  return { product, plan: ofProduct(plans), release: ofProduct(releases) };

  function stepsOf({ id }: CatalogueProduct): number {
    const has = (things: { productId: number }[]) => things.some(({ productId }) => productId === id);
    return (has(plans) ? 2 : 0) + (has(releases) ? 1 : 0);
  }
}
