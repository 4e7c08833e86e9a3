import type { Stats } from 'node:fs';
import { createBatches, eachOnce } from '../licensing/core/batches';
import { decideDownload, type DownloadRequest, type FindRelease } from '../licensing/download';
import type { LicenseMatch } from '../licensing/core/lookup';
import { isRefusal, type Refusal } from '../licensing/core/verdict';
import type { Release } from '../store/releases';
import { statPackage } from './package-files';

export type FindPackage = (sha256: string) => Promise<Stats | undefined>;

/** Calls made at the same time share a look at the file. */
export function createPackageFinder(packagesDir: string): FindPackage {
  return createBatches(
    eachOnce(
      (sha256: string) => sha256,
      (sha256) => statPackage(packagesDir, sha256),
    ),
  );
}

export interface DecidedDownload {
  /** undefined: the package is sent */
  refusal: Refusal | undefined;
  /** what is sent, or would be if its package were there */
  release: Release | undefined;
  /** what is known of the licence, for the access log */
  known: Pick<Refusal, 'license' | 'keyId'>;
}

/** Decides a download with everything that can refuse it: the licence, the release, and last its package. */
export async function decideWithPackage(
  found: LicenseMatch | undefined,
  { findRelease, findPackage }: { findRelease: FindRelease; findPackage: FindPackage },
  request: DownloadRequest,
  now: Date,
): Promise<DecidedDownload> {
  const decision = await decideDownload(found, findRelease, request, now);
  if (isRefusal(decision)) return { refusal: decision, release: undefined, known: decision };
  const { license, keyId, release } = decision;
  const known = { license, keyId };
  // Refuse a truncated package: Joomla would unpack the part that is there.
  const isMissing = (await findPackage(release.sha256))?.size !== release.fileSize;
  return { refusal: isMissing ? { refused: 'FILE_NOT_FOUND', ...known } : undefined, release, known };
}
