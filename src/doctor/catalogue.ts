import {
  bundlesWith,
  includedProducts,
  namesOf,
  plansKeepingBack,
  readCatalogue,
} from '../licensing/bundles';
import { listPlans } from '../store/catalogue';
import { isSupportShort, supportWarning } from '../licensing/durations';
import { findSecurityRelease, listEverPublished, listPackages } from '../store/releases';
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

/** Checks the support periods, and that expired licences get security releases. */
export const checkSupport: Check = async ({ db, now }) => {
  const findings: CheckFinding[] = [];
  const products = await readCatalogue(db);
  for (const product of products.values()) {
    const { id, supportUntil } = product;
    const name = namesOf([product]);
    const releases = await listEverPublished(db, id);
    if (supportUntil !== null) {
      const due = supportWarning(supportUntil, now());
      const code = { over: 'SUPPORT_OVER', soon: 'SUPPORT_ENDS_SOON', year: 'SUPPORT_ENDS' } as const;
      if (due !== undefined)
        findings.push(warning(code[due], (t) => t.supportEnds(name, id, supportUntil, due === 'over')));
      const first = Math.min(...releases.map(({ publishedAt }) => publishedAt?.getTime() ?? Infinity));
      if (Number.isFinite(first) && isSupportShort(supportUntil, new Date(first)))
        findings.push(warning('SUPPORT_SHORT', (t) => t.supportShort(name, id, supportUntil)));
    }
    if ((await findSecurityRelease(db, id)) === undefined) continue;
    const keeping = await plansKeepingBack(db, id);
    const [plan] = keeping;
    if (plan !== undefined)
      findings.push(
        warning('SECURITY_KEPT_BACK', (t) =>
          t.securityKeptBack(name, keeping.map((one) => `${one.name} (${one.id})`).join(', '), plan.id),
        ),
      );
  }
  return findings;
};
