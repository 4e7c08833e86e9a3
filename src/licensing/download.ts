import type { Db } from '../store/engine/database';
import { findRelease, listPublished, type PublishedVersion, type Release } from '../store/releases';
import { createBatches, dedupeInBatch } from './core/batches';
import type { LicenseMatch } from './core/lookup';
import type { Branches } from './core/branches';
import { branchesFor, offeredVersion, readBranches, readChosen } from './updates';
import { refusalWithKey, isRefusal, judgeDownload, judgeRelease, type Refusal } from './core/verdict';
import { isVersion } from './versions';

export interface DownloadRequest {
  productId: number;
  /** whether the client sent an identifier, which must then be activated */
  identifierGiven: boolean;
  /** the exact version to send; undefined: the latest */
  version: string | undefined;
  /** the requesting network, as `networkOfClient` returns it; undefined: decided as for most addresses */
  network?: string | undefined;
}

export interface ReleaseFinder {
  /** finds a version in any state */
  find: (productId: number, version: string) => Promise<Release | undefined>;
  /** finds the version that `among` chooses from a product's published ones, which are listed highest first */
  choose: (
    productId: number,
    among: (published: PublishedVersion[]) => PublishedVersion | undefined,
  ) => Promise<Release | undefined>;
  /** reads the branches of a product's versions */
  branches: (productId: number) => Promise<Branches>;
}

/** Creates a finder whose simultaneous calls share a statement: after a release, all customers ask for one version. */
export function createReleaseFinder(db: Db): ReleaseFinder {
  const byVersion = createBatches(
    dedupeInBatch(
      ({ productId, version }: { productId: number; version: string }) => `${productId} ${version}`,
      ({ productId, version }) => findRelease(db, productId, version),
    ),
  );
  const published = createBatches(dedupeInBatch(String, (productId: number) => listPublished(db, productId)));
  const branches = createBatches(dedupeInBatch(String, (productId: number) => readBranches(db, productId)));
  // MySQL cannot compare the ASCII column with other characters.
  const find: ReleaseFinder['find'] = (productId, version) =>
    isVersion(version) ? byVersion({ productId, version }) : Promise.resolve(undefined);
  return {
    find,
    branches,
    choose: (productId, among) =>
      readChosen(
        () => published(productId),
        among,
        (version) => find(productId, version),
      ),
  };
}

/** Finds a package by SHA-256; undefined if it is missing or unreadable. */
export type FindPackage = (sha256: string) => Promise<{ size: number } | undefined>;

export interface DownloadFinders {
  releases: ReleaseFinder;
  findPackage: FindPackage;
}

export interface DownloadDecision {
  /** undefined: the package is sent */
  refusal: Refusal | undefined;
  /** the release to send, even if its package is missing */
  release: Release | undefined;
  /** the licence, if known, for the access log */
  known: Pick<Refusal, 'license' | 'keyId'>;
}

/**
 * Decides a download by everything that can refuse it (docs/contract.md, 8): the licence, the release, and finally its
 * package.
 */
export async function decideDownload(
  found: LicenseMatch | undefined,
  { releases, findPackage }: DownloadFinders,
  request: DownloadRequest,
  now: Date,
): Promise<DownloadDecision> {
  const refuse = (refusal: Refusal) => {
    const known = refusalWithKey(refusal, found);
    return { refusal: known, release: undefined, known };
  };
  const refusal = judgeDownload(found, request, now);
  if (refusal !== undefined) return refuse(refusal);
  const { license, key } = found as LicenseMatch;
  const { productId, version, network } = request;
  const branches = await branchesFor(license, () => releases.branches(productId), now);
  const wanted =
    version === undefined
      ? await releases.choose(productId, (published) =>
          offeredVersion(license, { id: productId, published, branches }, network, now),
        )
      : await releases.find(productId, version);
  const release = judgeRelease(license, wanted, now, branches);
  if (isRefusal(release)) return refuse(release);
  const known = { license, keyId: key.rowId };
  // A truncated package is refused, because Joomla would unpack the existing part.
  const isMissing = (await findPackage(release.sha256))?.size !== release.fileSize;
  return { refusal: isMissing ? { refused: 'FILE_NOT_FOUND', ...known } : undefined, release, known };
}
