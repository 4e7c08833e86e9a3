import type { Db } from '../store/engine/database';
import { findRelease, listPublished, type Release } from '../store/releases';
import { createBatches, eachOnce } from './core/batches';
import type { LicenseMatch } from './core/lookup';
import { latestOf, offeredTo } from './updates';
import { byKey, entitledUntil, isRefusal, judgeDownload, judgeRelease, type Refusal } from './core/verdict';
import { isVersion } from './versions';

export interface DownloadRequest {
  productId: number;
  /** whether the client sent an identifier, which must then be activated */
  identifierGiven: boolean;
  /** exactly this version; undefined: the latest */
  version: string | undefined;
  /** of the client's address (`rolloutGroup`): the latest is one that it is offered; undefined: the latest of all */
  group?: number | undefined;
}

export type FindRelease = (
  wanted: Pick<DownloadRequest, 'productId' | 'version' | 'group'> & {
    /** judges the latest only among releases published no later than this, if there are any */
    until?: Date | undefined;
  },
) => Promise<Release | undefined>;

/** Calls made at the same time share a statement: after a publish, every customer asks for the same version. */
export function createReleaseFinder(db: Db): FindRelease {
  const byVersion = createBatches(
    eachOnce(
      ({ productId, version }: { productId: number; version: string }) => `${productId} ${version}`,
      ({ productId, version }) => findRelease(db, productId, version),
    ),
  );
  const published = createBatches(
    eachOnce(
      ({ productId, until }: { productId: number; until?: Date | undefined }) =>
        `${productId} ${until?.getTime() ?? ''}`,
      ({ productId, until }) => listPublished(db, productId, until),
    ),
  );
  const latest = async (
    productId: number,
    group: number | undefined,
    until?: Date,
  ): Promise<Release | undefined> => {
    for (;;) {
      const all = await published({ productId, until });
      const offered = group === undefined ? all : offeredTo(all, group);
      const version = latestOf(offered, (one) => one.version)?.version;
      if (version === undefined) return undefined;
      const release = await byVersion({ productId, version });
      // It was withdrawn between the two statements: look again.
      if (release?.state === 'published') return release;
    }
  };
  return async ({ productId, version, until, group }) => {
    if (version !== undefined) return byVersion({ productId, version });
    const entitled = until && (await latest(productId, group, until));
    return entitled ?? latest(productId, group);
  };
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
