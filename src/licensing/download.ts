import type { Db } from '../store/database';
import type { LicenseTerms } from '../store/licenses';
import { findRelease, type Release } from '../store/releases';
import { createBatches, eachOnce } from './core/batches';
import type { LicenseMatch } from './core/lookup';
import { latestRelease } from './updates';
import { byKey, entitledUntil, isRefusal, judgeDownload, judgeRelease, type Refusal } from './core/verdict';
import { isVersion } from './versions';

export interface DownloadRequest {
  productId: number;
  /** whether the client sent an identifier, which must then be activated */
  identifierGiven: boolean;
  /** exactly this version; undefined: the latest */
  version: string | undefined;
}

export type FindRelease = (
  wanted: Pick<DownloadRequest, 'productId' | 'version'> & {
    /** judges the latest only among releases published no later than this, if there are any */
    until?: Date | undefined;
  },
) => Promise<Release | undefined>;

/** Calls made at the same time share a statement: after a publish, every customer asks for the same version. */
export function createReleaseFinder(db: Db): FindRelease {
  return createBatches(
    eachOnce(
      ({ productId, version, until }) => `${productId} ${version ?? ''} ${until?.getTime() ?? ''}`,
      async ({ productId, version, until }) => {
        if (version !== undefined) return findRelease(db, productId, version);
        const entitled = until && (await latestRelease(db, productId, until));
        return entitled ?? latestRelease(db, productId);
      },
    ),
  );
}

/**
 * Decides a download (docs/contract.md, 8; order as in verdict.ts). The caller checks last that the file can be read.
 */
export async function decideDownload(
  known: LicenseMatch | undefined,
  findRelease: FindRelease,
  request: DownloadRequest,
  now: Date,
): Promise<{ license: LicenseTerms; keyId: number; release: Release } | Refusal> {
  const refusal = judgeDownload(known, request, now);
  if (refusal !== undefined) return byKey(refusal, known);
  const { license, key } = known as LicenseMatch;
  const { version } = request;
  // MySQL cannot compare the ASCII column with other characters.
  const isFindable = version === undefined || isVersion(version);
  const until = entitledUntil(license, now);
  const found = isFindable ? await findRelease({ ...request, until }) : undefined;
  const release = judgeRelease(license, found, now);
  return isRefusal(release) ? byKey(release, known) : { license, keyId: key.rowId, release };
}
