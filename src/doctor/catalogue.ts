import { bundlesWith, includedProducts, namesOf, readCatalogue } from '../licensing/bundles';
import { listPlans } from '../store/catalogue';
import { listPackages } from '../store/releases';
import { warning, type Check, type CheckFinding } from './finding';

/** Checks that every published product is sold, and that every sold product has a published version. */
export const checkCatalogue: Check = async ({ db }) => {
  const catalogue = await readCatalogue(db);
  const sold = new Set((await listPlans(db)).map(({ productId }) => productId));
  const published = new Set(
    (await listPackages(db)).filter(({ state }) => state === 'published').map(({ productId }) => productId),
  );
  const findings: CheckFinding[] = [];
  for (const product of catalogue.values()) {
    const { id, includes } = product;
    if (includes === 'all' && includedProducts(catalogue, id).length === 0)
      findings.push(warning('BUNDLE_EMPTY', (t) => t.bundleEmpty(namesOf([product]))));
    const bundles = bundlesWith(catalogue, id);
    if (published.has(id) && !sold.has(id) && !bundles.some((bundle) => sold.has(bundle.id)))
      findings.push(
        warning('PRODUCT_UNSOLD', (t) =>
          t.productUnsold(namesOf([product]), id, namesOf(bundles), bundles[0]?.id ?? id),
        ),
      );
  }
  return findings;
};
