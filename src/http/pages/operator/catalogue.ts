import { notFound } from '../../../operations/kit/failures';
import { listCatalogue, type CatalogueProduct, type Plan, type Product } from '../../../licensing/catalogue';
import { updateSites, updateSiteNames, readCatalogue } from '../../../licensing/bundles';
import { listOfferedVersions } from '../../../joomla/update-xml/plan-updates';
import type { OperatorCall } from '../page';
import type { View } from '../view';

/** Helpers that the pages of products, plans and releases share. */

/**
 * Returns all products and the one of `?product_id=`, by default the first; undefined if no product exists.
 * @throws OperationError (404) if the product in the address does not exist
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

/** Returns the version that the update XML offers to Joomla once it is written; empty if it offers nothing. */
export async function versionInUpdateXml({ db }: OperatorCall, productId: number): Promise<string> {
  return (await listOfferedVersions(db, productId))[0] ?? '';
}

/** Returns the customer's instruction for where to enter a key of this product in Joomla. */
export async function keyInstruction({ db, view }: OperatorCall, productId: number): Promise<string> {
  const entries = updateSites(await readCatalogue(db), productId);
  return view.t.common.enterKey(updateSiteNames(entries), entries.length === 1);
}

/** Returns the breadcrumbs of a page below a product. Without a product, returns those below the list of products. */
export function productBreadcrumbs(
  { t }: View,
  product?: Pick<Product, 'id' | 'name'>,
): [title: string, path: string][] {
  const list: [string, string] = [t.products.title, '/products'];
  return product === undefined ? [list] : [list, [product.name, `/products/${product.id}`]];
}

/** Describes the entitlement of a plan, such as `5 sites, 1 year`. */
export function planEntitlement(
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
    slotLimit({ t, format }, activationLimit),
    what,
    planDuration({ t, format }, duration),
  );
}

/** Formats a limit of slots; 0 is unlimited. */
export function slotLimit({ t, format }: Pick<View, 't' | 'format'>, limit: number): string {
  return limit === 0 ? t.common.unlimited : format.number(limit);
}

/** Formats the duration of a plan's licences. */
export function planDuration({ t, format }: Pick<View, 't' | 'format'>, duration: string | null): string {
  return duration === null ? t.common.lifetime : format.duration(duration);
}
