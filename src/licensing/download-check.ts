import type { Plan, Product } from '../store/catalogue';
import type { Release } from '../store/releases';
import type { DownloadRequest, FindRelease } from './download';
import type { LicenseMatch } from './core/lookup';
import {
  entitledUntil,
  isRefusal,
  judgeDownload,
  judgeNewSite,
  judgeRelease,
  type RefusalCode,
} from './core/verdict';

/** What a customer's site is told beside the verdict on a download (docs/contract.md, 8.6). */
export interface DownloadFacts {
  expiresAt: Date | null;
  /** what was asked for, else what the download would give, else the latest */
  version: string | null;
  /** the latest this licence may have */
  entitledVersion: string | null;
  /** the product's latest, whoever asks */
  latest: string | null;
  /** whether the product's latest closes a hole */
  security: boolean;
  renewUrl: string | null;
  supportUrl: string | null;
  /** of the licence's plan, where a product or a free slot is missing */
  upgradeUrl: string | null;
}

export interface Catalogue {
  findRelease: FindRelease;
  findProduct: (id: number) => Promise<Product | undefined>;
  findPlan: (id: number) => Promise<Pick<Plan, 'upgradeUrl'> | undefined>;
}

/**
 * @param outcome the verdict on the download. Of a key that is unknown to the client nothing is told
 * @param outcome.release what the download gives, or would give if its file were there
 */
export async function gatherFacts(
  found: LicenseMatch | undefined,
  { code, release }: { code: RefusalCode | null; release: Release | undefined },
  { productId, version, group }: DownloadRequest,
  { findRelease, findProduct, findPlan }: Catalogue,
  now: Date,
): Promise<DownloadFacts> {
  const known = code === 'LICENSE_NOT_FOUND' ? undefined : found;
  const [own, asked, entitled, latest, plan] = await Promise.all([
    known && findProduct(known.license.product.id),
    findProduct(productId),
    known && findEntitled(known, productId, findRelease, now),
    findRelease({ productId, version: undefined }),
    known && lacksMore(known, code, now) ? findPlan(known.license.plan.id) : undefined,
  ]);
  return {
    expiresAt: known?.license.expiresAt ?? null,
    version:
      version ??
      release?.version ??
      (await findRelease({ productId, version: undefined, group }))?.version ??
      null,
    entitledVersion: entitled?.version ?? null,
    latest: latest?.version ?? null,
    security: latest?.security === true,
    renewUrl: own?.renewUrl ?? asked?.renewUrl ?? null,
    supportUrl: own?.supportUrl ?? asked?.supportUrl ?? null,
    upgradeUrl: plan?.upgradeUrl ?? null,
  };
}

/** Whether a larger licence would help: the product is not covered, or the site finds no free slot. */
function lacksMore(found: LicenseMatch, code: RefusalCode | null, now: Date): boolean {
  if (code === 'PRODUCT_MISMATCH') return true;
  return code === 'ACTIVATION_NOT_FOUND' && judgeNewSite(found, now)?.refused === 'ACTIVATION_LIMIT_REACHED';
}

/** Whichever site asks: the entitlement is the licence's. */
async function findEntitled(
  found: LicenseMatch,
  productId: number,
  findRelease: FindRelease,
  now: Date,
): Promise<Release | undefined> {
  if (judgeDownload(found, { identifierGiven: false }, now) !== undefined) return undefined;
  const until = entitledUntil(found.license, now);
  const latest = await findRelease({ productId, version: undefined, until });
  const release = judgeRelease(found.license, latest, now);
  return isRefusal(release) ? undefined : release;
}
