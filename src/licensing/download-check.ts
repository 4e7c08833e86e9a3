import type { Product } from '../store/catalogue';
import type { Release } from '../store/releases';
import type { DownloadRequest, FindRelease } from './download';
import type { LicenseMatch } from './core/lookup';
import { isVersion } from './versions';
import { entitledUntil, isRefusal, judgeDownload, judgeRelease, type RefusalCode } from './core/verdict';

/** What a customer's site is told beside the verdict on a download (docs/contract.md, 8.6). */
export interface DownloadFacts {
  expiresAt: Date | null;
  /** what was asked for, else what the download would give, else the latest */
  version: string | null;
  /** whether that version closes a hole */
  security: boolean;
  /** the latest this licence may have */
  entitledVersion: string | null;
  renewUrl: string | null;
  supportUrl: string | null;
}

export interface Catalogue {
  findRelease: FindRelease;
  findProduct: (id: number) => Promise<Product | undefined>;
}

/**
 * @param outcome the verdict on the download. Of a key that is unknown to the client nothing is told
 * @param outcome.release what the download gives, or would give if its file were there
 */
export async function gatherFacts(
  found: LicenseMatch | undefined,
  { code, release }: { code: RefusalCode | null; release: Release | undefined },
  { productId, version }: DownloadRequest,
  { findRelease, findProduct }: Catalogue,
  now: Date,
): Promise<DownloadFacts> {
  const known = code === 'LICENSE_NOT_FOUND' ? undefined : found;
  const [own, asked, entitled] = await Promise.all([
    known && findProduct(known.license.product.id),
    findProduct(productId),
    known && findEntitled(known, productId, findRelease, now),
  ]);
  const given = version ?? release?.version;
  return {
    expiresAt: known?.license.expiresAt ?? null,
    version: given ?? (await findRelease({ productId, version: undefined }))?.version ?? null,
    security: await isSecurityRelease(release, { productId, version: given }, findRelease),
    entitledVersion: entitled?.version ?? null,
    renewUrl: own?.renewUrl ?? asked?.renewUrl ?? null,
    supportUrl: own?.supportUrl ?? asked?.supportUrl ?? null,
  };
}

/** @param release what the download gives; undefined: the wanted version is looked up */
async function isSecurityRelease(
  release: Release | undefined,
  { productId, version }: { productId: number; version: string | undefined },
  findRelease: FindRelease,
): Promise<boolean> {
  // MySQL cannot compare the ASCII column with other characters.
  const isFindable = version === undefined || isVersion(version);
  const shown = release ?? (isFindable ? await findRelease({ productId, version }) : undefined);
  return shown?.state === 'published' && shown.security;
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
