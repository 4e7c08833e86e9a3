import type { Db } from '../store/engine/database';
import { findRelease, listPublished, type PublishedVersion, type Release } from '../store/releases';
import { createBatches, eachOnce } from './core/batches';
import type { LicenseMatch } from './core/lookup';
import { offeredVersion, readChosen } from './updates';
import { byKey, isRefusal, judgeDownload, judgeRelease, type Refusal } from './core/verdict';
import { isVersion } from './versions';

export interface DownloadRequest {
  productId: number;
  /** whether the client sent an identifier, which must then be activated */
  identifierGiven: boolean;
  /** exactly this version; undefined: the latest */
  version: string | undefined;
  /** the one that asks, as `networkOfClient` returns it; undefined: judged as most addresses are */
  network?: string | undefined;
}

export interface ReleaseFinder {
  /** finds a version in any state */
  find: (productId: number, version: string) => Promise<Release | undefined>;
  /** finds the version that `among` chooses of a product's published ones, which are listed from the highest */
  choose: (
    productId: number,
    among: (published: PublishedVersion[]) => PublishedVersion | undefined,
  ) => Promise<Release | undefined>;
}

/** Calls made at the same time share a statement: after a publish, every customer asks for the same version. */
export function createReleaseFinder(db: Db): ReleaseFinder {
  const byVersion = createBatches(
    eachOnce(
      ({ productId, version }: { productId: number; version: string }) => `${productId} ${version}`,
      ({ productId, version }) => findRelease(db, productId, version),
    ),
  );
  const published = createBatches(eachOnce(String, (productId: number) => listPublished(db, productId)));
  // MySQL cannot compare the ASCII column with other characters.
  const find: ReleaseFinder['find'] = (productId, version) =>
    isVersion(version) ? byVersion({ productId, version }) : Promise.resolve(undefined);
  return {
    find,
    choose: (productId, among) =>
      readChosen(
        () => published(productId),
        among,
        (version) => find(productId, version),
      ),
  };
}

/** By SHA-256; undefined: it is missing or cannot be read. */
export type FindPackage = (sha256: string) => Promise<{ size: number } | undefined>;

export interface DownloadFinders {
  releases: ReleaseFinder;
  findPackage: FindPackage;
}

export interface DownloadDecision {
  /** undefined: the package is sent */
  refusal: Refusal | undefined;
  /** what is sent, or would be if its package were there */
  release: Release | undefined;
  /** what is known of the licence, for the access log */
  known: Pick<Refusal, 'license' | 'keyId'>;
}

/**
 * Decides a download with everything that can refuse it (docs/contract.md, 8): the licence, the release, and last its
 * package.
 */
export async function decideDownload(
  found: LicenseMatch | undefined,
  { releases, findPackage }: DownloadFinders,
  request: DownloadRequest,
  now: Date,
): Promise<DownloadDecision> {
  const refuse = (refusal: Refusal) => {
    const known = byKey(refusal, found);
    return { refusal: known, release: undefined, known };
  };
  const refusal = judgeDownload(found, request, now);
  if (refusal !== undefined) return refuse(refusal);
  const { license, key } = found as LicenseMatch;
  const { productId, version, network } = request;
  const wanted =
    version === undefined
      ? await releases.choose(productId, (published) =>
          offeredVersion(license, { id: productId, published }, network, now),
        )
      : await releases.find(productId, version);
  const release = judgeRelease(license, wanted, now);
  if (isRefusal(release)) return refuse(release);
  const known = { license, keyId: key.rowId };
  // Refuse a truncated package: Joomla would unpack the part that is there.
  const isMissing = (await findPackage(release.sha256))?.size !== release.fileSize;
  return { refusal: isMissing ? { refused: 'FILE_NOT_FOUND', ...known } : undefined, release, known };
}
