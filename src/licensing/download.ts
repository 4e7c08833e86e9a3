import type { Db } from '../store/database';
import type { LicenseTerms } from '../store/licenses';
import { findRelease, type Release } from '../store/releases';
import { createBatches, eachOnce } from './batches';
import type { Found } from './lookup';
import { latestRelease } from './updates';
import { isRefusal, judgeDownload, judgeRelease, type Refusal } from './verdict';
import { isVersion } from './versions';

export interface DownloadRequest {
  productId: number;
  /** whether the client sent an identifier, which must then be activated */
  identifierGiven: boolean;
  /** exactly this version; undefined: the latest */
  version: string | undefined;
}

export type FindRelease = (
  wanted: Pick<DownloadRequest, 'productId' | 'version'>,
) => Promise<Release | undefined>;

/** Calls made at the same time share a statement: after a publish, every customer asks for the same version. */
export function createReleaseFinder(db: Db): FindRelease {
  return createBatches(
    eachOnce(
      ({ productId, version }) => `${productId} ${version ?? ''}`,
      ({ productId, version }) =>
        version === undefined ? latestRelease(db, productId) : findRelease(db, productId, version),
    ),
  );
}

/**
 * Decides a download (contract, section 4.4; order as in verdict.ts). The caller checks last that the file can be read.
 */
export async function decideDownload(
  found: Found | undefined,
  findRelease: FindRelease,
  request: DownloadRequest,
  now: Date,
): Promise<{ license: LicenseTerms; release: Release } | Refusal> {
  const refusal = judgeDownload(found, request, now);
  if (refusal !== undefined) return refusal;
  const { license } = found as Found;
  const { version } = request;
  // MySQL cannot compare the ASCII column with other characters.
  const isFindable = version === undefined || isVersion(version);
  const release = judgeRelease(license, isFindable ? await findRelease(request) : undefined);
  return isRefusal(release) ? release : { license, release };
}
