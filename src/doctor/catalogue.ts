import { bundlesOf, includedIn, namesOf, readCatalogue } from '../licensing/bundles';
import { listPlans } from '../store/catalogue';
import { listPackages } from '../store/releases';
import { warning, type Check, type Finding } from './finding';

/** Checks that what is published can be bought, and that what is bought is something. */
export const checkCatalogue: Check = async ({ db }) => {
  const catalogue = await readCatalogue(db);
  const sold = new Set((await listPlans(db)).map(({ productId }) => productId));
  const published = new Set(
    (await listPackages(db)).filter(({ state }) => state === 'published').map(({ productId }) => productId),
  );
  const findings: Finding[] = [];
  for (const product of catalogue.values()) {
    const { id, includes } = product;
    if (includes === 'all' && includedIn(catalogue, id).length === 0)
      findings.push(
        warning(
          'BUNDLE_EMPTY',
          `Product ${namesOf([product])} includes all products, and there are none.`,
          {
            why: 'Its licences cover nothing but the product itself.',
            remedy: 'Add the products: licensing product add. Those that include others do not count.',
          },
          {
            what: `Produkt ${namesOf([product])} enthält alle Produkte, und es gibt keine.`,
            why: 'Seine Lizenzen gelten nur für das Produkt selbst.',
            remedy:
              'Fügen Sie die Produkte hinzu: licensing product add. Produkte, die andere enthalten, zählen nicht.',
          },
        ),
      );
    const bundles = bundlesOf(catalogue, id);
    if (published.has(id) && !sold.has(id) && !bundles.some((bundle) => sold.has(bundle.id)))
      findings.push(
        warning(
          'PRODUCT_UNSOLD',
          `Product ${namesOf([product])} has published versions, and no plan to sell them with${bundles.length > 0 ? `, nor have the products that include it: ${namesOf(bundles)}` : ''}.`,
          {
            why: 'No licence covers it, so nobody can download it.',
            remedy: `licensing plan add --product ${bundles[0]?.id ?? id}; or add ${id} to the --includes of a product that has a plan`,
          },
          {
            what: `Produkt ${namesOf([product])} hat veröffentlichte Versionen, aber keinen Tarif, mit dem es verkauft wird${bundles.length > 0 ? `, und auch die Produkte nicht, die es enthalten: ${namesOf(bundles)}` : ''}.`,
            why: 'Keine Lizenz gilt dafür, also kann es niemand herunterladen.',
            remedy: `licensing plan add --product ${bundles[0]?.id ?? id}; oder nehmen Sie ${id} in --includes eines Produkts auf, das einen Tarif hat`,
          },
        ),
      );
  }
  return findings;
};
