import { notFound } from '../../../operations/kit/failures';
import { listCatalogue, type CatalogueProduct, type Plan, type Product } from '../../../licensing/catalogue';
import { updateSites, updateSiteNames, readCatalogue } from '../../../licensing/bundles';
import { listOfferedVersions } from '../../../joomla/update-xml/plan-updates';
import type { OperatorCall } from '../page';
import type { View } from '../view';

/** What the pages of products, plans and versions share. */

/**
 * The product of `?product_id=`, or the first; undefined: there is none. @throws OperationError when there is no such
 * product
 */
export async function chosenProduct({
  db,
  query,
}: OperatorCall): Promise<{ products: CatalogueProduct[]; product: CatalogueProduct | undefined }> {
  const products = await listCatalogue(db);
  const id = query.get('product_id');
  if (id === null || id === '') return { products, product: products[0] };
  const product = products.find((one) => String(one.id) === id);
  if (product === undefined) throw notFound('product');
  return { products, product };
}

/** What Joomla is offered, once the update XML is written; empty: nothing. */
export async function offeredVersion({ db }: OperatorCall, productId: number): Promise<string> {
  return (await listOfferedVersions(db, productId))[0] ?? '';
}

/** Where a key of a licence for this product goes in Joomla, for the customer. */
export async function enterKeyOf({ db, view }: OperatorCall, productId: number): Promise<string> {
  const entries = updateSites(await readCatalogue(db), productId);
  return view.t.common.enterKey(updateSiteNames(entries), entries.length === 1);
}

/** Links to the pages above those of a product, or to the list of products. */
export function productCrumbs(
  { t }: View,
  product?: Pick<Product, 'id' | 'name'>,
): [title: string, path: string][] {
  const list: [string, string] = [t.products.title, '/products'];
  return product === undefined ? [list] : [list, [product.name, `/products/${product.id}`]];
}

/** What a plan grants, such as `5 sites, 1 year`. */
export function grantsOf(
  { t, format }: View,
  {
    activationType,
    activationLimit,
    duration,
  }: Pick<Plan, 'activationType' | 'activationLimit' | 'duration'>,
): string {
  const { common } = t;
  const what = (activationLimit === 1 ? common.site : common.sites)(activationType);
  return t.licenses.issuePage.grants(
    slotsInWords({ t, format }, activationLimit),
    what,
    runsFor({ t, format }, duration),
  );
}

/** A limit of slots. */
export function slotsInWords({ t, format }: Pick<View, 't' | 'format'>, limit: number): string {
  return limit === 0 ? t.common.unlimited : format.number(limit);
}

/** How long a plan's licences run. */
export function runsFor({ t, format }: Pick<View, 't' | 'format'>, duration: string | null): string {
  return duration === null ? t.common.lifetime : format.duration(duration);
}
