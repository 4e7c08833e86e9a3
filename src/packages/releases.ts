import { isCoded } from '../base/errors';
import type { Db } from '../store/engine/database';
import { lockProduct, type Product } from '../store/catalogue';
import {
  acceptPackage,
  isPackageWhole,
  packagePath,
  removeStaged,
  stageFile,
  type StagedPackage,
  type StoredPackage,
} from './package-files';
import {
  findRelease,
  findReleaseById,
  insertRelease,
  listFixLinks,
  listReleases,
  setRelease,
  FULL_ROLLOUT,
  type Release,
  type ReleaseChanges,
} from '../store/releases';
import { inTransaction } from '../store/engine/transaction';
import { explainReadFault } from './file-faults';
import { OperatorError } from '../licensing/operator-error';
import { CVE, MAX_ADVISORY_LENGTH, MAX_CVES } from '../licensing/fields';
import { throwProductNotFound, requireProduct } from '../licensing/find-or-throw';
import { compareVersions, isVersion, versionOrder } from '../licensing/versions';
import { enqueueReleaseWebhook } from '../licensing/webhook-events';
import {
  deleteDraftSbom,
  findSbom,
  findSbomInfo,
  packText,
  putSbom,
  unpackText,
  type ReleaseSbom,
  type SbomInfo,
} from '../store/sboms';
import { generateSbom } from './generate-sbom';
import { readSbom, type Sbom } from './sbom';
import { checkZip, type ZipFault } from './zip';

declare module '../licensing/operator-error' {
  interface Refusals {
    packages:
      | { reason: 'no-draft' | 'no-draft-package' | 'rollout-draft' }
      | { reason: 'no-version'; product: number }
      | { reason: 'is-published' | 'is-withdrawn' | 'equal-version'; version: string }
      | { reason: 'no-zip'; fault: ZipFault }
      | { reason: 'disk-full' | 'folder-closed' };
  }
}

export { findReleaseById, findSbomInfo, listFixLinks, type Release, type SbomInfo };

/** The statements of a release about the holes that it closes. An undefined field stays as it is. */
export interface AdviceGiven {
  /** advice for its users, in Markdown; null or blank: none */
  advisory?: string | null | undefined;
  /** the names of the vulnerabilities */
  cve?: string[] | undefined;
  /** the id of the release whose fix it brings to another branch; null: none */
  sameFixAs?: number | null | undefined;
}

export interface PublishRequest extends AdviceGiven {
  productId: number;
  version: string;
  /** the zip: a path, or a staged package; undefined to publish the existing draft of this version */
  file: string | StagedPackage | undefined;
  /** by default none, or the draft's */
  changelog: string | undefined;
  draft: boolean;
  /** whether it closes a vulnerability; by default false, or as in the draft */
  security?: boolean | undefined;
  /** the publication date; by default now */
  date: Date | undefined;
  /** the share of addresses that are offered it, in percent; by default all */
  rollout?: number | undefined;
  /** the SBOM; by default the draft's, or one that is generated from the lock files in the package */
  sbom?: Buffer | undefined;
}

interface PublishHooks {
  /** receives the number of bytes copied so far */
  onProgress?: (bytes: number) => void;
  /** checks the package, which is already known to be a valid zip; throws to refuse it */
  inspect?: (path: string) => Promise<void>;
  /** receives the paths of lock files that could not be read for the SBOM */
  onBrokenLocks?: (paths: string[]) => void;
  /** aborts the check of the package, because its client has left */
  signal?: AbortSignal | undefined;
}

/** Publishes a version or an earlier draft, or stores a draft. @throws OperatorError, after which nothing has changed */
export async function publishRelease(
  db: Db,
  packagesDir: string,
  request: PublishRequest,
  now: Date,
  hooks: PublishHooks = {},
): Promise<Release> {
  const { productId, version, file, draft } = request;
  const rollout = requireRollout(request.rollout ?? FULL_ROLLOUT);
  if (draft && rollout < FULL_ROLLOUT) throw draftOffered();
  const product = await requireProduct(db, productId);
  const given = request.sbom && (await pack(readSbom(request.sbom)));
  const changelog = request.changelog === undefined ? undefined : requireChangelog(request.changelog);
  if (!isVersion(version))
    throw new OperatorError(
      `"${version}" is not a version: letters and digits, joined by single . - _ or +, at most 64 characters, such as 2.1.0 or 2.1.0-beta2.`,
      { code: 'INVALID_REQUEST', field: 'version' },
    );
  const existing = await findRelease(db, productId, version);
  const advice = await requireAdvice(db, { productId, id: existing?.id }, request);
  if (existing && existing.state !== 'draft') throw refusedState(existing);
  if (existing === undefined) await refuseEqualVersion(db, productId, version);
  if (file === undefined && existing === undefined)
    throw new OperatorError(`There is no draft of version ${version}.`, {
      code: 'NOT_FOUND',
      facts: { reason: 'no-draft' },
    });
  if (file === undefined && existing) {
    await requirePackage(packagesDir, existing);
    await hooks.inspect?.(packagePath(packagesDir, existing.sha256));
  }

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
  const sha256 = stored?.sha256 ?? (existing as Release).sha256;
  const keepsSbom =
    given === undefined && existing?.sha256 === sha256 && (await findSbomInfo(db, existing.id)) !== undefined;
  const sbom =
    given ??
    (keepsSbom ? undefined : await makeSbom(packagePath(packagesDir, sha256), product, request, now, hooks));
  return inTransaction(db, async (trx) => {
    // Check again under the lock: copying takes time, and another process may have published in the meantime.
    if (!(await lockProduct(trx, productId))) throwProductNotFound(productId);
    if (existing) {
      // The published package must be the one that was checked.
      const isSame = (await findRelease(trx, productId, version))?.sha256 === existing.sha256;
      if (stored === undefined && !isSame) throw changedMeanwhile(version);
      const changes: ReleaseChanges = {
        ...fields,
        ...(changelog === undefined ? {} : { changelog }),
        ...(request.security === undefined ? {} : { security: request.security }),
        ...advice,
        state,
        rollout,
        publishedAt,
      };
      // While it is a draft: a published version keeps its SBOM.
      if (sbom === undefined && !keepsSbom) await deleteDraftSbom(trx, existing.id);
      if (!(await setRelease(trx, existing.id, 'draft', changes))) throw publishedMeanwhile(version);
    } else {
      if (await findRelease(trx, productId, version)) throw publishedMeanwhile(version);
      await refuseEqualVersion(trx, productId, version);
      await insertRelease(trx, {
        ...(fields as NonNullable<typeof fields>),
        ...advice,
        productId,
        version,
        versionOrder: versionOrder(version),
        state,
        changelog: changelog ?? '',
        rollout,
        security: request.security ?? false,
        publishedAt,
        createdAt: now,
      });
    }
    const release = await requireRelease(trx, productId, version);
    if (sbom !== undefined) await putSbom(trx, { ...sbom, releaseId: release.id, createdAt: now });
    if (!draft) await enqueueReleaseWebhook(trx, 'release.published', release, now);
    return release;
  });
}

type PackedSbom = Pick<ReleaseSbom, 'format' | 'origin' | 'packed'>;

async function pack({ json, format, origin }: Sbom): Promise<PackedSbom> {
  return { format, origin, packed: await packText(json) };
}

/** Generates the SBOM of a package; undefined if no lock file in it can be read. */
async function makeSbom(
  path: string,
  { name }: Product,
  { version }: PublishRequest,
  now: Date,
  { onBrokenLocks, signal }: PublishHooks,
): Promise<PackedSbom | undefined> {
  const { sbom, broken } = await generateSbom(path, { name, version }, now, signal);
  if (broken.length > 0) onBrokenLocks?.(broken);
  return sbom && pack(sbom);
}

/** Stores a seller's SBOM of a version, in place of an earlier one. @throws OperatorError if it is not one */
export async function replaceSbom(
  db: Db,
  { id, productId }: Release,
  bytes: Buffer,
  now: Date,
): Promise<SbomInfo> {
  const sbom = await pack(readSbom(bytes));
  const stored = { ...sbom, releaseId: id, createdAt: now };
  await inTransaction(db, async (trx) => {
    await lockProduct(trx, productId);
    await putSbom(trx, stored);
  });
  return stored;
}

/** Returns the SBOM of a version, with the name of its file; undefined without one. */
export async function sbomFile(
  db: Db,
  { id, fileName }: Release,
): Promise<{ name: string; json: string } | undefined> {
  const sbom = await findSbom(db, id);
  if (sbom === undefined) return undefined;
  const kind = sbom.format.startsWith('SPDX') ? 'spdx' : 'cdx';
  return { name: `${fileName.replace(/\.zip$/, '')}.${kind}.json`, json: await unpackText(sbom.packed) };
}

/** Lists a product's versions, highest first. */
export async function releasesOf(db: Db, productId: number): Promise<Release[]> {
  await requireProduct(db, productId);
  return listReleases(db, productId);
}

/** Ends the offers and downloads of a version. @throws OperatorError if it does not exist or is already withdrawn */
export function withdrawRelease(db: Db, productId: number, version: string, now: Date): Promise<Release> {
  return inTransaction(db, async (trx) => {
    const release = await changeRelease(trx, productId, version, ({ state }) => {
      if (state === 'withdrawn')
        throw new OperatorError(`Version ${version} is already withdrawn.`, { code: 'CONFLICT' });
      return { state: 'withdrawn' };
    });
    await enqueueReleaseWebhook(trx, 'release.withdrawn', release, now);
    return release;
  });
}

/** Changes the data of a version; its package never changes. @throws OperatorError if the version does not exist */
export async function editRelease(
  db: Db,
  productId: number,
  version: string,
  {
    changelog,
    security,
    ...advice
  }: AdviceGiven & { changelog?: string | undefined; security?: boolean | undefined },
): Promise<Release> {
  const changes: ReleaseChanges = {
    ...(changelog === undefined ? {} : { changelog: requireChangelog(changelog) }),
    ...(security === undefined ? {} : { security }),
    ...(await requireAdvice(db, await requireRelease(db, productId, version), advice)),
  };
  return changeRelease(db, productId, version, () => changes);
}

/**
 * Rollout: offers a published version to another share of the addresses.
 * @param percent 1 to 100
 * @throws OperatorError if the version does not exist, or is not offered to anyone
 */
export function setRollout(db: Db, productId: number, version: string, percent: number): Promise<Release> {
  const rollout = requireRollout(percent);
  return changeRelease(db, productId, version, ({ state }) => {
    if (state === 'draft') throw draftOffered();
    if (state === 'withdrawn')
      throw new OperatorError(`Version ${version} is withdrawn, so no site is offered it.`, {
        code: 'CONFLICT',
        field: 'rollout',
      });
    return { rollout };
  });
}

function requireRollout(percent: number): number {
  if (Number.isInteger(percent) && percent >= 1 && percent <= FULL_ROLLOUT) return percent;
  throw new OperatorError(
    `The share is a whole number of percent, 1 to ${FULL_ROLLOUT}. To stop a rollout, withdraw the version.`,
    { code: 'INVALID_REQUEST', field: 'rollout' },
  );
}

function draftOffered(): OperatorError {
  return new OperatorError('No site is offered a draft. Give the share when you publish it.', {
    code: 'CONFLICT',
    field: 'rollout',
    facts: { reason: 'rollout-draft' },
  });
}

/** The maximum size of a changelog: more than people read, and less than the column holds. */
const MAX_CHANGELOG_BYTES = 1_000_000;

function requireChangelog(text: string): string {
  const refusal = (message: string) =>
    new OperatorError(message, { code: 'INVALID_REQUEST', field: 'changelog' });
  if (Buffer.byteLength(text) > MAX_CHANGELOG_BYTES) throw refusal('The changelog is longer than 1 MB.');
  // Refuse NUL bytes, which UTF-16 text contains.
  if (text.includes('\0')) throw refusal('The changelog is not UTF-8 text.');
  return text;
}

/** Reads names of vulnerabilities, with commas, blanks or line breaks between them. */
export function readCveList(text: string): string[] {
  return text.split(/[\s,;]+/).filter((name) => name !== '');
}

/** Checks what a release says about its holes. @param id the release's; undefined for a new one @throws OperatorError */
async function requireAdvice(
  db: Db,
  { id, productId }: { id: number | undefined; productId: number },
  { advisory, cve, sameFixAs }: AdviceGiven,
): Promise<Pick<ReleaseChanges, 'advisory' | 'cve' | 'sameFixAs'>> {
  const refusal = (field: string, message: string) =>
    new OperatorError(message, { code: 'INVALID_REQUEST', field });
  const changes: Pick<ReleaseChanges, 'advisory' | 'cve' | 'sameFixAs'> = {};
  if (advisory !== undefined) {
    const text = advisory?.replaceAll('\r\n', '\n').trim() ?? '';
    if (Array.from(text).length > MAX_ADVISORY_LENGTH)
      throw refusal('advisory', 'The advice is longer than 2,000 characters.');
    if (text.includes('\0') || !text.isWellFormed())
      throw refusal('advisory', 'The advice is not UTF-8 text.');
    changes.advisory = text === '' ? null : text;
  }
  if (cve !== undefined) {
    changes.cve = [...new Set(cve.map((name) => name.trim()))];
    if (!changes.cve.every((name) => CVE.test(name)))
      throw refusal(
        'cve',
        'A name of a vulnerability is CVE, the year, and at least four digits, such as CVE-2026-12345.',
      );
    if (changes.cve.length > MAX_CVES)
      throw refusal('cve', `A version can name at most ${MAX_CVES} vulnerabilities.`);
  }
  if (sameFixAs !== undefined) {
    if (sameFixAs !== null && sameFixAs === id)
      throw refusal('same_fix_as', 'A version cannot have the same fix as itself.');
    if (sameFixAs !== null && (await findReleaseById(db, sameFixAs))?.productId !== productId)
      throw refusal('same_fix_as', `Product ${productId} has no version with the id ${sameFixAs}.`);
    changes.sameFixAs = sameFixAs;
  }
  return changes;
}

function changeRelease(
  db: Db,
  productId: number,
  version: string,
  decide: (release: Release) => ReleaseChanges,
): Promise<Release> {
  return inTransaction(db, async (trx) => {
    // Lock before reading, because SQLite refuses to write from an outdated snapshot.
    await lockProduct(trx, productId);
    const release = await requireRelease(trx, productId, version);
    if (!(await setRelease(trx, release.id, release.state, decide(release)))) throw changedMeanwhile(version);
    return requireRelease(trx, productId, version);
  });
}

/** Returns a version. @throws OperatorError if it does not exist */
export async function requireRelease(db: Db, productId: number, version: string): Promise<Release> {
  // MySQL cannot compare the ASCII column with other characters.
  const release = isVersion(version) ? await findRelease(db, productId, version) : undefined;
  if (!release)
    throw new OperatorError(`Product ${productId} has no version ${version}.`, {
      code: 'NOT_FOUND',
      facts: { reason: 'no-version', product: productId },
    });
  return release;
}

async function requirePackage(packagesDir: string, { version, sha256 }: Release): Promise<void> {
  if (!(await isPackageWhole(packagesDir, sha256)))
    throw new OperatorError(
      `The package of the draft of version ${version} is no longer in ${packagesDir}, or has changed.`,
      { facts: { reason: 'no-draft-package' } },
    );
}

function publishedMeanwhile(version: string): OperatorError {
  return new OperatorError(`Another operator published version ${version} meanwhile.`, { code: 'CONFLICT' });
}

function changedMeanwhile(version: string): OperatorError {
  return new OperatorError(
    `Another operator changed version ${version} meanwhile. Nothing was changed. Try again.`,
    { code: 'CONFLICT' },
  );
}

function refusedState({ version, state }: Release): OperatorError {
  return new OperatorError(
    state === 'published'
      ? `Version ${version} is already published. Its package can never change, because customers' updaters check it against the hashes in the update XML. Publish the next version.`
      : `Version ${version} was withdrawn, and customers may have its package. Publish the next version.`,
    { code: 'CONFLICT', facts: { reason: state === 'published' ? 'is-published' : 'is-withdrawn', version } },
  );
}

/** Refuses a version that is equal to PHP, like `1.0-rc1` and `1.0.rc.1`: an updater would not offer one over the other. */
async function refuseEqualVersion(db: Db, productId: number, version: string): Promise<void> {
  const equal = (await listReleases(db, productId)).find(
    (other) => compareVersions(other.version, version) === 0,
  );
  if (equal?.version === version) throw publishedMeanwhile(version);
  if (equal)
    throw new OperatorError(
      `Version ${version} is the same to Joomla as version ${equal.version}, which already exists.`,
      { code: 'CONFLICT', facts: { reason: 'equal-version', version: equal.version } },
    );
}

/** Stores a package. A staged package must be removed by its owner. */
async function storePackageFile(
  dir: string,
  file: string | StagedPackage,
  { onProgress, inspect, signal }: PublishHooks,
): Promise<StoredPackage> {
  const check = async (path: string) => {
    await checkZip(path, signal);
    await inspect?.(path);
  };
  if (typeof file !== 'string') return acceptPackage(dir, file, check);
  try {
    const staged = await stageFile(dir, file, onProgress);
    return await acceptPackage(dir, staged, check).finally(() => removeStaged(staged));
  } catch (error) {
    if (isCoded(error, 'NO_FILE')) throw new OperatorError(`${file} is ${error.message}, not a zip file.`);
    switch ((error as NodeJS.ErrnoException).code) {
      case 'ENOENT':
        throw new OperatorError(`There is no file ${file}.`);
      case 'EACCES':
        throw new OperatorError(
          `The package ${file} cannot be read: ${explainReadFault(error)}. Give that user access to the file and its folder, or copy the file to a folder that the user may read, such as /tmp.`,
        );
      default:
        throw error;
    }
  }
}

/** Returns a plain ASCII name: Joomla takes it only from a quoted `filename=`, needs `.zip` at its end, fails on a `;`. */
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
