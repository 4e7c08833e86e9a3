import type { Plan, Product } from '../store/catalogue';
import type { Release } from '../store/releases';
import type { DownloadRequest, ReleaseFinder } from './download';
import { branchesFor, offeredVersion, releaseForShare } from './updates';
import type { LicenseMatch } from './core/lookup';
import {
  coversForSecurity,
  coversRelease,
  judgeDownload,
  judgeNewSite,
  type RefusalCode,
} from './core/verdict';

/** The facts that a customer's site receives with the verdict on a download (docs/contract.md, 8.6). */
export interface DownloadFacts {
  expiresAt: Date | null;
  /** the requested version, otherwise the version that the download would send, otherwise the latest */
  version: string | null;
  /** the version that a download sends for this licence; null: none */
  entitledVersion: string | null;
  /** whether an expired licence gets this version only because it closes a security hole */
  entitledSecurity: boolean;
  /** the product's latest version, even if the requesting address is not offered it */
  latest: string | null;
  /** whether the product's latest version closes a security hole */
  security: boolean;
  renewUrl: string | null;
  supportUrl: string | null;
  /** from the licence's plan, if a product or a free slot is missing */
  upgradeUrl: string | null;
}

export interface DownloadCatalogue {
  releases: ReleaseFinder;
  findProduct: (id: number) => Promise<Product | undefined>;
  findPlan: (id: number) => Promise<Pick<Plan, 'upgradeUrl'> | undefined>;
}

/**
 * @param outcome the verdict on the download; about a key that is unknown to the client, the facts state nothing
 * @param outcome.release the release that the download sends, or would send if its file existed
 */
export async function gatherFacts(
  found: LicenseMatch | undefined,
  { code, release }: { code: RefusalCode | null; release: Release | undefined },
  request: Pick<DownloadRequest, 'productId' | 'version' | 'network'>,
  { releases, findProduct, findPlan }: DownloadCatalogue,
  now: Date,
): Promise<DownloadFacts> {
  const known = code === 'LICENSE_NOT_FOUND' ? undefined : found;
  const { productId, version, network } = request;
  const branches = known && (await branchesFor(known.license, () => releases.branches(productId), now));
  const offered = (license?: LicenseMatch['license']) =>
    releases.choose(productId, (published) =>
      offeredVersion(license, { id: productId, published, branches }, network, now),
    );
  const [own, asked, entitled, latest, plan] = await Promise.all([
    known && findProduct(known.license.product.id),
    findProduct(productId),
    // The licence is entitled to it, so the requesting site does not matter.
    known && judgeDownload(known, { identifierGiven: false }, now) === undefined
      ? offered(known.license)
      : undefined,
    releases.choose(productId, (published) => releaseForShare(published, 1)),
    known && lacksMore(known, code, now) ? findPlan(known.license.plan.id) : undefined,
  ]);
  const covered =
    known && entitled && coversRelease(known.license, entitled, now, branches) ? entitled : undefined;
  return {
    expiresAt: known?.license.expiresAt ?? null,
    version: version ?? release?.version ?? (await offered())?.version ?? null,
    entitledVersion: covered?.version ?? null,
    entitledSecurity:
      known !== undefined && covered !== undefined && coversForSecurity(known.license, covered, now),
    latest: latest?.version ?? null,
    security: latest?.security === true,
    renewUrl: own?.renewUrl ?? asked?.renewUrl ?? null,
    supportUrl: own?.supportUrl ?? asked?.supportUrl ?? null,
    upgradeUrl: plan?.upgradeUrl ?? null,
  };
}

/** Reports whether a larger licence would help: the product is not covered, or the site finds no free slot. */
function lacksMore(found: LicenseMatch, code: RefusalCode | null, now: Date): boolean {
  if (code === 'PRODUCT_MISMATCH') return true;
  return code === 'ACTIVATION_NOT_FOUND' && judgeNewSite(found, now)?.refused === 'ACTIVATION_LIMIT_REACHED';
}
