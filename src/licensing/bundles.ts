import {
  listIncludes,
  listPlans,
  listProducts,
  type Inclusion,
  type Plan,
  type Product,
} from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { OperatorError } from './operator-error';

/** The products that a product includes: a list of ids, or every product without inclusions, even one added later. */
export type Includes = 'all' | number[];

export interface CatalogueProduct extends Product {
  includes: Includes;
}

/** All products by id, at one moment if read in a transaction. */
export type Catalogue = Map<number, CatalogueProduct>;

/** The part of a catalogue that the rules of bundles need. */
export type BundleIncludes = ReadonlyMap<number, { includes: Includes }>;

export async function readCatalogue(db: Db): Promise<Catalogue> {
  const inclusions = await listIncludes(db);
  const products = await listProducts(db);
  return new Map(products.map((product) => [product.id, withIncludes(product, inclusions)]));
}

/** @param inclusions at least the product's own */
export function withIncludes(product: Product, inclusions: Inclusion[]): CatalogueProduct {
  const listed = inclusions.filter(({ productId }) => productId === product.id);
  return { ...product, includes: product.includesAll ? 'all' : listed.map(({ includedId }) => includedId) };
}

/** Returns a list without duplicates, in ascending order. */
export function normalizeIncludes(includes: Includes): Includes {
  return includes === 'all' ? includes : [...new Set(includes)].sort((a, b) => a - b);
}

export function includesNone({ includes }: { includes: Includes }): boolean {
  return includes !== 'all' && includes.length === 0;
}

/** Returns the products that a product includes, without itself. */
export function includedProducts(catalogue: Catalogue, id: number): CatalogueProduct[] {
  const includes = catalogue.get(id)?.includes ?? [];
  return [...catalogue.values()].filter((other) =>
    includes === 'all' ? other.id !== id && includesNone(other) : includes.includes(other.id),
  );
}

/** The maximum number of names in a text for a customer; a club may have hundreds. */
const MAX_ENTRIES = 20;

/**
 * Returns the products whose names Joomla shows for the update sites of a licence. A club without its own extension has
 * no entry there; neither has a product that is not for Joomla.
 */
export function updateSites(catalogue: Catalogue, id: number): CatalogueProduct[] {
  const own = catalogue.get(id);
  const included = includedProducts(catalogue, id);
  const covered = own === undefined ? included : [own, ...included];
  const entries = covered.filter(({ element }) => element !== null);
  if (entries.length > 0) return entries;
  return included.length > 0 ? included : covered;
}

/** Returns the names of these entries in a text, such as `Gallery, Forms`. */
export function updateSiteNames(entries: { name: string }[]): string {
  const names = entries.slice(0, MAX_ENTRIES).map(({ name }) => name);
  return `${names.join(', ')}${entries.length > MAX_ENTRIES ? ', ...' : ''}`;
}

/** Returns the products that include a product. */
export function bundlesWith(catalogue: Catalogue, id: number): CatalogueProduct[] {
  return [...catalogue.values()].filter((bundle) =>
    includedProducts(catalogue, bundle.id).some((included) => included.id === id),
  );
}

/** Lists the plans whose licences cover a product, by id. */
export async function plansCovering(db: Db, productId: number): Promise<Plan[]> {
  const bundles = bundlesWith(await readCatalogue(db), productId);
  const products = new Set([productId, ...bundles.map(({ id }) => id)]);
  return (await listPlans(db)).filter((plan) => products.has(plan.productId)).sort((a, b) => a.id - b.id);
}

/** Lists the plans that keep the security releases of a product from ended licences, by id. */
export async function plansKeepingBack(db: Db, productId: number): Promise<Plan[]> {
  return (await plansCovering(db, productId)).filter(({ afterExpiry }) => afterExpiry !== 'security');
}

/** Returns the first product whose list contains this product. */
export function firstBundleListing(catalogue: BundleIncludes, id: number): number | undefined {
  for (const [bundle, { includes }] of catalogue)
    if (includes !== 'all' && includes.includes(id)) return bundle;
  return undefined;
}

/** Returns a list for people, such as `Acme Forms (42), Acme Gallery (43)`. */
export function namesOf(products: Product[]): string {
  return products.map(({ id, name }) => `${name} (${id})`).join(', ');
}

/**
 * Checks what a product may include (docs/contract.md, 11). The caller has locked the product and the products that it
 * lists.
 */
export function findIncludesFault(
  catalogue: BundleIncludes,
  id: number,
  includes: Includes,
): OperatorError | undefined {
  if (includesNone({ includes })) return undefined;
  const listed = includes === 'all' ? [] : includes;
  if (listed.includes(id))
    return new OperatorError(`Product ${id} cannot include itself: its licences cover it anyway.`, {
      code: 'INVALID_REQUEST',
      field: 'includes',
    });
  const unknown = listed.find((one) => !catalogue.has(one));
  if (unknown !== undefined)
    return new OperatorError(`There is no product ${unknown} to include.`, {
      code: 'INVALID_REQUEST',
      field: 'includes',
      facts: { reason: 'no-product' },
    });
  const bundle = listed.find((one) => !includesNone(catalogue.get(one) as { includes: Includes }));
  if (bundle !== undefined)
    return new OperatorError(`Product ${bundle} includes others itself, so it cannot be included.`, {
      code: 'CONFLICT',
      field: 'includes',
      facts: { reason: 'includes-others', product: bundle },
    });
  const by = firstBundleListing(catalogue, id);
  if (by !== undefined)
    return new OperatorError(`Product ${id} is included in product ${by}, so it cannot include others.`, {
      code: 'CONFLICT',
      field: 'includes',
      facts: { reason: 'is-included', by },
    });
  return undefined;
}
