import { ManageError } from '../../../operations/failures';
import { listProducts, type CatalogueProduct } from '../../../licensing/catalogue';
import { joomlaEntries, namesOfEntries, readCatalogue } from '../../../licensing/bundles';
import { listOfferedVersions } from '../../../joomla/update-xml/offered';
import type { OperatorCall } from '../page';

/** What the pages of products, plans and versions share. */

/** The product of `?product_id=`, or the first; undefined: there is none. @throws ManageError when there is no such product */
export async function chosenProduct({
  db,
  query,
}: OperatorCall): Promise<{ products: CatalogueProduct[]; product: CatalogueProduct | undefined }> {
  const products = await listProducts(db);
  const id = query.get('product_id');
  if (id === null || id === '') return { products, product: products[0] };
  const product = products.find((one) => String(one.id) === id);
  if (product === undefined) throw new ManageError('NOT_FOUND', '');
  return { products, product };
}

/** What Joomla is offered, once the update XML is written; empty: nothing. */
export async function offeredVersion({ db }: OperatorCall, productId: number): Promise<string> {
  return (await listOfferedVersions(db, productId))[0] ?? '';
}

/** Where a key of a licence for this product goes in Joomla, for the customer. */
export async function enterKeyOf({ db, view }: OperatorCall, productId: number): Promise<string> {
  const entries = joomlaEntries(await readCatalogue(db), productId);
  return view.t.common.enterKey(namesOfEntries(entries), entries.length === 1);
}
