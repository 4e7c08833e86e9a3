import { listPlans, type Plan } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { listPublishedReleases, type Release } from '../store/releases';
import { readCatalogue, type CatalogueProduct } from '../licensing/bundles';

/** What is there to sell, and what is missing before the first licence. */

export interface Goods {
  products: CatalogueProduct[];
  plans: Plan[];
  /** published, without their changelogs, each product's highest version first */
  releases: Release[];
}

export async function readGoods(db: Db): Promise<Goods> {
  const products = [...(await readCatalogue(db)).values()];
  const plans = await listPlans(db);
  const ids = products.map(({ id }) => id);
  return { products, plans, releases: await listPublishedReleases(db, ids, { changelogs: false }) };
}

/** The steps before the first licence; undefined: not done. */
export interface FirstSteps {
  product: CatalogueProduct | undefined;
  plan: Plan | undefined;
  release: Release | undefined;
}

/** Steps of one product if one has them all: a plan may be a bundle's, whose versions are other products'. */
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
