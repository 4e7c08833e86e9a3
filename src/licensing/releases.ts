import { join } from 'node:path';
import type { Db } from '../store/database';
import { lockProduct, type Product } from '../store/catalogue';
import { isPackageWhole, NoFile, storePackage } from '../store/package-files';
import {
  findRelease,
  insertRelease,
  listPublishedVersions,
  listReleases,
  setRelease,
  type Release,
  type ReleaseChanges,
} from '../store/releases';
import { inTransaction } from '../store/transaction';
import { explainFileFault, explainReadFault } from './file-faults';
import { OperatorError } from './operator-error';
import { noProduct, requireProduct } from './require';
import { compareVersions, isPrerelease, isVersion, versionOrder } from './versions';
import { checkZip } from './zip';

/**
 * The release an updater is offered: the highest published version in PHP's order; pre-releases count only while the
 * product has no published release proper.
 */
export async function latestRelease(db: Db, productId: number): Promise<Release | undefined> {
  for (;;) {
    const versions = await listPublishedVersions(db, productId);
    const latest = versions.find((version) => !isPrerelease(version)) ?? versions[0];
    if (latest === undefined) return undefined;
    const release = await findRelease(db, productId, latest);
    // Withdrawn between the two statements, it was never the latest together with those below it: look again.
    if (release?.state === 'published') return release;
  }
}

export interface PublishRequest {
  productId: number;
  version: string;
  /** a zip to take over; undefined publishes the draft of this version */
  file: string | undefined;
  /** undefined: none, or the draft's own */
  changelog: string | undefined;
  draft: boolean;
  /** publication date; undefined: now */
  date: Date | undefined;
}

export interface PublishHooks {
  /** told the bytes copied so far */
  onProgress?: (bytes: number) => void;
  /** looks at the package that is to be stored, which is a sound zip, and throws to refuse it */
  inspect?: (path: string) => Promise<void>;
}

/**
 * Publishes a version, or stores it as a draft, or publishes a draft stored earlier.
 *
 * @param packagesDir where packages lie
 * @throws OperatorError when refused; nothing has changed then
 */
export async function publishRelease(
  db: Db,
  packagesDir: string,
  request: PublishRequest,
  now: Date,
  hooks: PublishHooks = {},
): Promise<Release> {
  const { productId, version, file, draft } = request;
  const product = await requireProduct(db, productId);
  if (!isVersion(version))
    throw new OperatorError(
      `"${version}" is not a version: letters and digits, joined by single . - _ or +, at most 64 characters, as 2.1.0 or 2.1.0-beta2.`,
      { code: 'INVALID_REQUEST', field: 'version' },
    );
  const existing = await findRelease(db, productId, version);
  if (existing && existing.state !== 'draft') throw refusedState(existing);
  if (existing === undefined) await refuseEqualVersion(db, productId, version);
  if (file === undefined && existing === undefined)
    throw new OperatorError(`There is no draft of version ${version}. Name the package with --file.`, {
      code: 'NOT_FOUND',
    });
  if (file === undefined && existing) await requirePackage(packagesDir, existing);

  const state = draft ? 'draft' : 'published';
  const publishedAt = draft ? null : (request.date ?? now);
  const stored = file === undefined ? undefined : await storePackageFile(packagesDir, file, hooks);
  const fields = stored && {
    fileName: downloadName(product, version),
    fileSize: stored.size,
    sha256: stored.sha256,
    sha384: stored.sha384,
    sha512: stored.sha512,
  };
  return inTransaction(db, async (trx) => {
    // Once more under the lock: copying a package takes its time, and somebody else may have been faster.
    if (!(await lockProduct(trx, productId))) noProduct(productId);
    if (existing) {
      // The package that was looked at must be the one that is published.
      const isSame = (await findRelease(trx, productId, version))?.sha256 === existing.sha256;
      if (stored === undefined && !isSame) throw changedMeanwhile(version);
      const changelog = request.changelog === undefined ? {} : { changelog: request.changelog };
      if (!(await setRelease(trx, existing.id, 'draft', { ...fields, ...changelog, state, publishedAt })))
        throw publishedMeanwhile(version);
    } else {
      if (await findRelease(trx, productId, version)) throw publishedMeanwhile(version);
      await refuseEqualVersion(trx, productId, version);
      await insertRelease(trx, {
        ...(fields as NonNullable<typeof fields>),
        productId,
        version,
        versionOrder: versionOrder(version),
        state,
        changelog: request.changelog ?? '',
        publishedAt,
        createdAt: now,
      });
    }
    return requireRelease(trx, productId, version);
  });
}

/**
 * Takes a published version (or a draft) back: it is offered and downloaded no more.
 *
 * @throws OperatorError when there is none
 */
export function withdrawRelease(db: Db, productId: number, version: string): Promise<Release> {
  return changeRelease(db, productId, version, ({ state }) => {
    if (state === 'withdrawn')
      throw new OperatorError(`Version ${version} is withdrawn already.`, { code: 'CONFLICT' });
    return { state: 'withdrawn' };
  });
}

/**
 * Changes what is said about a version; its package never changes.
 *
 * @throws OperatorError when there is no such version
 */
export function editRelease(
  db: Db,
  productId: number,
  version: string,
  changes: { changelog: string },
): Promise<Release> {
  return changeRelease(db, productId, version, () => changes);
}

function changeRelease(
  db: Db,
  productId: number,
  version: string,
  decide: (release: Release) => ReleaseChanges,
): Promise<Release> {
  return inTransaction(db, async (trx) => {
    // Before anything is read: SQLite would refuse to write over a snapshot that somebody else has written past.
    await lockProduct(trx, productId);
    const release = await requireRelease(trx, productId, version);
    if (!(await setRelease(trx, release.id, release.state, decide(release)))) throw changedMeanwhile(version);
    return requireRelease(trx, productId, version);
  });
}

async function requireRelease(db: Db, productId: number, version: string): Promise<Release> {
  // MySQL refuses to compare the column, which is ASCII, with what is not.
  const release = isVersion(version) ? await findRelease(db, productId, version) : undefined;
  if (!release)
    throw new OperatorError(
      `Product ${productId} has no version ${version}. "licensing release list --product ${productId}" shows its versions.`,
      { code: 'NOT_FOUND' },
    );
  return release;
}

async function requirePackage(packagesDir: string, { version, sha256 }: Release): Promise<void> {
  if (!(await isPackageWhole(packagesDir, sha256)))
    throw new OperatorError(
      `The package of the draft of version ${version} is not in ${packagesDir} any more, or is not what was stored. Name it again with --file.`,
    );
}

function publishedMeanwhile(version: string): OperatorError {
  return new OperatorError(`Somebody else published version ${version} meanwhile.`, { code: 'CONFLICT' });
}

function changedMeanwhile(version: string): OperatorError {
  return new OperatorError(
    `Somebody else changed version ${version} meanwhile; nothing was changed. Try again.`,
    { code: 'CONFLICT' },
  );
}

function refusedState({ version, state }: Release): OperatorError {
  return new OperatorError(
    state === 'published'
      ? `Version ${version} is published already. Its package can never change, because customers' updaters check it against the hashes in the update XML. Publish the next version.`
      : `Version ${version} was withdrawn, and customers may hold its package. Publish the next version.`,
    { code: 'CONFLICT' },
  );
}

/** `1.0-rc1` and `1.0.rc.1` are one version to PHP: an updater would offer neither over the other. */
async function refuseEqualVersion(db: Db, productId: number, version: string): Promise<void> {
  const equal = (await listReleases(db, productId)).find(
    (other) => compareVersions(other.version, version) === 0,
  );
  if (equal?.version === version) throw publishedMeanwhile(version);
  if (equal)
    throw new OperatorError(
      `Version ${version} is the same to Joomla as version ${equal.version}, which exists already.`,
      { code: 'CONFLICT' },
    );
}

async function storePackageFile(dir: string, file: string, { onProgress, inspect }: PublishHooks) {
  try {
    const check = async (path: string) => {
      await checkZip(path);
      await inspect?.(path);
    };
    return await storePackage(dir, file, check, onProgress);
  } catch (error) {
    if (error instanceof NoFile) throw new OperatorError(`${file} is ${error.message}, not a zip file.`);
    switch ((error as NodeJS.ErrnoException).code) {
      case 'ENOENT':
        throw new OperatorError(`There is no file ${file}.`);
      case 'EACCES':
        throw new OperatorError(
          (error as NodeJS.ErrnoException).path === file
            ? `The package ${file} cannot be read: ${explainReadFault(error)}. Let that user read the file and enter its folder, or copy it to where it may, as /tmp.`
            : `The package was not stored: ${explainFileFault(error, join(dir, 'package.zip')) ?? (error as Error).message}.`,
        );
      case 'ENOSPC':
      case 'EDQUOT':
        throw new OperatorError(
          `The disk is full: the package was not stored in ${dir}, and nothing was published.`,
        );
      default:
        throw error;
    }
  }
}

/**
 * `name-2.1.0.zip`: plain ASCII, since Joomla takes the name from a quoted `filename=` alone, unpacks by the `.zip`
 * at its end and stumbles over a `;` in it.
 */
function downloadName({ id, name }: Product, version: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .toLowerCase()
    .slice(0, 100)
    .replace(/-+$/, '');
  return `${ascii || `product-${id}`}-${version}.zip`;
}
