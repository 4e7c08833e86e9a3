import type { Db } from '../store/database';
import type { LicenseTerms } from '../store/licenses';
import { findRelease, type Release } from '../store/releases';
import { createGroup, eachOnce, type GroupOptions } from './group';
import type { LookUp } from './activate';
import type { Refusal } from './refusals';
import { latestRelease } from './releases';
import { stateRefusal } from './states';
import { isVersion } from './versions';

export interface DownloadRequest {
  productId: number;
  /** whether the client named an identifier, which then has to be activated */
  identifierGiven: boolean;
  /** exactly this version; undefined: the latest */
  version: string | undefined;
}

export type FindRelease = (
  wanted: Pick<DownloadRequest, 'productId' | 'version'>,
) => Promise<Release | undefined>;

/** Calls made at the same time share their statements: after a publish, every customer asks for the same version. */
export function createReleaseFinder(db: Db, batch: GroupOptions): FindRelease {
  return createGroup(
    eachOnce(
      ({ productId, version }) => `${productId} ${version ?? ''}`,
      ({ productId, version }) =>
        version === undefined ? latestRelease(db, productId) : findRelease(db, productId, version),
    ),
    batch,
  );
}

/**
 * Decides a download (contract, section 4.4), first failure first: key exists, status, expiry, product matches,
 * identifier activated, a published release. Whether its file can be read is the caller's last question.
 */
export async function decideDownload(
  { lookUp, findRelease }: { lookUp: LookUp; findRelease: FindRelease },
  { productId, identifierGiven, version }: DownloadRequest,
  now: Date,
): Promise<{ license: LicenseTerms; release: Release } | Refusal> {
  const found = await lookUp();
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  const { license, activation } = found;
  const refused = stateRefusal(license, now);
  if (refused !== undefined) return { refused, license };
  if (license.product.id !== productId) return { refused: 'PRODUCT_MISMATCH', license };
  if (identifierGiven && activation === undefined) return { refused: 'ACTIVATION_NOT_FOUND', license };
  // MySQL refuses to compare the column, which is ASCII, with what is not.
  if (version !== undefined && !isVersion(version)) return { refused: 'DOWNLOAD_NOT_FOUND', license };
  const release = await findRelease({ productId, version });
  return release?.state === 'published' ? { license, release } : { refused: 'DOWNLOAD_NOT_FOUND', license };
}
