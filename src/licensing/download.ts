import type { Db } from '../store/database';
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

/** By SHA-256; undefined: it is missing or cannot be read. */
export type FindPackage = (sha256: string) => Promise<{ size: number } | undefined>;

export interface DownloadFinders {
  findRelease: FindRelease;
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
  { findRelease, findPackage }: DownloadFinders,
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
  const { version } = request;
  // MySQL cannot compare the ASCII column with other characters.
  const isFindable = version === undefined || isVersion(version);
  const until = entitledUntil(license, now);
  const release = judgeRelease(
    license,
    isFindable ? await findRelease({ ...request, until }) : undefined,
    now,
  );
  if (isRefusal(release)) return refuse(release);
  const known = { license, keyId: key.rowId };
  // Refuse a truncated package: Joomla would unpack the part that is there.
  const isMissing = (await findPackage(release.sha256))?.size !== release.fileSize;
  return { refusal: isMissing ? { refused: 'FILE_NOT_FOUND', ...known } : undefined, release, known };
}
