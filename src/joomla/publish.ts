import { requireProduct } from '../licensing/find-or-refuse';
import { OperatorError } from '../licensing/operator-error';
import { compareVersions, isVersion, remarkOnVersion } from '../licensing/versions';
import { publishRelease, type PublishRequest } from '../packages/releases';
import type { Db } from '../store/database';
import type { Product } from '../store/catalogue';
import type { Release } from '../store/releases';
import { latestRelease } from '../licensing/updates';
import { packagePath, pathOfStaged, statPackage, type StagedPackage } from '../packages/package-files';
import { unreadable } from '../packages/zip';
import { listReleases } from '../store/releases';
import {
  describeMisses,
  findManifest,
  isManifest,
  manifestSnippets,
  TOO_MUCH_XML,
  type NoManifest,
  type PackageManifest,
} from './manifest';
import { describeFaults, findContentFaults } from './package-contents';
import { findXmlPlace, type XmlHome } from './update-xml/place';
import { requireStaging } from './update-xml/staged';

export interface Published {
  release: Release;
  /** anything unusual about the version, its date and its package */
  remarks: string[];
  /** what customers will miss in the package's manifest; undefined: nothing */
  manifestRemark: string | undefined;
}

/** A version to publish, by whichever door. */
export interface JoomlaPublishRequest extends PublishRequest {
  /** accept other addresses of update servers than those of the latest published version's package */
  newUpdateServer?: boolean;
  /** accept a package that lacks what its manifest names, and a first one that lacks the lines for updates */
  unchecked?: boolean;
  /** stops the check of the package: whoever asked for it has gone */
  signal?: AbortSignal;
}

/**
 * Publishes a version like `publishRelease`, which accepts a package only if sites can be updated by it.
 *
 * @param home where the product's update XML goes, whose address a first package has to name
 * @param onProgress receives the bytes copied so far
 * @throws OperatorError when refused; nothing has changed then
 */
export async function publish(
  db: Db,
  { packagesDir, home }: { packagesDir: string; home: XmlHome },
  { newUpdateServer = false, unchecked = false, signal, ...request }: JoomlaPublishRequest,
  now: Date,
  onProgress?: (bytes: number) => void,
): Promise<Published> {
  const { productId, version, date, draft, file, rollout } = request;
  const product = await requireProduct(db, productId);
  await requireStaging(db, home, productId, draft ? undefined : rollout);
  let manifestRemark: string | undefined;
  let firstWithoutChangelog: string | undefined;
  const found: (string | undefined)[] = [];
  /** A draft may have faults: they are told, and refused when it is published. */
  const refuse = (fault: OperatorError | undefined, isAccepted: boolean) => {
    if (fault === undefined) return;
    if (!draft && !isAccepted) throw fault;
    found.push(draft ? `when it is published: ${fault.message}` : fault.message);
  };
  const release = await publishRelease(db, packagesDir, request, now, {
    ...(onProgress && { onProgress }),
    signal,
    // Inspect the stored package: the named file may have changed since.
    inspect: async (path) => {
      const manifest = await findManifest(path, signal);
      // A draft was examined when it was stored.
      if (file !== undefined) manifestRemark = checkManifest(manifest, version, product);
      if (product.element !== null && isManifest(manifest)) {
        refuse(await findLack(path, manifest, signal), unchecked);
        const lacksLines = await findMissingLines(db, home, product, manifest);
        // It says what the remark would, with the lines.
        if (lacksLines !== undefined) manifestRemark = undefined;
        refuse(lacksLines, unchecked);
        firstWithoutChangelog = await remarkOnChangelog(db, home, product, manifest);
      }
      const fault = await findServerFault(db, packagesDir, productId, manifest);
      if (!(fault instanceof OperatorError)) found.push(fault);
      else if (!newUpdateServer) refuse(fault, false);
    },
  }).catch(async (error: unknown) => {
    if (file === undefined) throw error;
    throw (await findOtherExtension(error, packagesDir, file, product)) ?? error;
  });
  const remarks = [
    remarkOnVersion(version),
    ...found,
    firstWithoutChangelog,
    date !== undefined && date > now && !draft
      ? 'the date lies in the future; the version is offered from now on all the same.'
      : undefined,
  ].filter((remark) => remark !== undefined);
  return { release, remarks, manifestRemark };
}

/** The version that a package's manifest says; undefined: none. @throws OperatorError when it is not a whole zip */
export async function versionOf(path: string, signal?: AbortSignal): Promise<string | undefined> {
  const manifest = await findManifest(path, signal).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw unreadable(error);
  });
  // Asking for the version would hide the fault.
  if (!isManifest(manifest) && manifest.none === 'malformed') throw malformed(manifest);
  return !isManifest(manifest) || manifest.version === '' ? undefined : manifest.version;
}

/**
 * A version that exists already is refused before its package is examined. If the package is that of another
 * extension, this is what the seller has to know.
 */
async function findOtherExtension(
  error: unknown,
  packagesDir: string,
  file: string | StagedPackage,
  product: Product,
): Promise<OperatorError | undefined> {
  if (!(error instanceof OperatorError) || error.code !== 'CONFLICT' || product.element === null)
    return undefined;
  try {
    const path = typeof file === 'string' ? file : await pathOfStaged(packagesDir, file);
    requireElement(await findManifest(path), product.id, product.element);
  } catch (fault) {
    if (fault instanceof OperatorError && fault.facts?.reason === 'other-element') return fault;
  }
  return undefined;
}

/**
 * Refuses a package that no site could be updated by, because a published package never changes. Joomla stores the
 * manifest's version as the installed version, so a different published version would be offered forever.
 *
 * @returns a remark on what the manifest lacks
 * @throws OperatorError when the manifest is of another product or version
 */
function checkManifest(
  manifest: PackageManifest | NoManifest,
  version: string,
  product: Product,
): string | undefined {
  if (product.element !== null) requireElement(manifest, product.id, product.element);
  if (!isManifest(manifest)) return undefined;
  const { path, version: inside } = manifest;
  if (!isVersion(inside) || compareVersions(inside, version) !== 0)
    throw new OperatorError(
      `The manifest in the package (${path}) says version "${inside}", and not "${version}". Joomla would take ` +
        'the first for installed and go on offering the second. Nothing was published.',
      { facts: { reason: 'manifest-version', version: isVersion(inside) ? inside : undefined } },
    );
  const misses = product.element === null ? [] : describeMisses(manifest);
  return misses.length === 0 ? undefined : `the manifest in the package (${path}) ${misses.join('. It ')}.`;
}

/** Files that the manifest names and the package lacks: Joomla's update fails, or leaves them out. */
async function findLack(
  path: string,
  manifest: PackageManifest,
  signal?: AbortSignal,
): Promise<OperatorError | undefined> {
  const faults = await findContentFaults(path, manifest, signal);
  if (faults.length === 0) return undefined;
  const aborts = faults.find((fault) => fault.aborts !== undefined)?.aborts;
  const outcome =
    aborts === undefined
      ? 'Joomla would end the update in success, without it'
      : `Joomla would end the update with "${aborts}"`;
  return new OperatorError(
    `The package lacks what its manifest (${manifest.path}) names: ${describeFaults(faults)}. ${outcome}. A published package never changes.`,
    {
      code: 'INVALID_REQUEST',
      field: 'file',
      facts: { reason: 'package-lacks', lacks: faults.slice(0, 5).map(({ path }) => path), joomla: aborts },
    },
  );
}

/** A product's first package decides whether sites ever ask for the second one. */
async function findMissingLines(
  db: Db,
  home: XmlHome,
  product: Product,
  manifest: PackageManifest,
): Promise<OperatorError | undefined> {
  const misses = describeMisses(manifest);
  if (misses.length === 0) return undefined;
  if (!(await isFirst(db, product.id))) return undefined;
  const url = (await findXmlPlace(db, product, home))?.url;
  // Without the update XML's address there are no lines to add yet; the doctor and the page ask for it.
  if (url === undefined || url === null) return undefined;
  return new OperatorError(
    `The manifest in the package (${manifest.path}) ${misses.join('. It ')}. Add these lines to it and pack it again:\n${manifestSnippets(product, url).xml}`,
    { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'first-without-lines' } },
  );
}

/** Joomla 4.4 never learns of a package's changelog later (PackageAdapter). */
async function remarkOnChangelog(
  db: Db,
  home: XmlHome,
  product: Product,
  { hasChangelog, path }: PackageManifest,
): Promise<string | undefined> {
  if (hasChangelog || !(await isFirst(db, product.id))) return undefined;
  const url = (await findXmlPlace(db, product, home))?.url ?? null;
  if (url === null) return undefined;
  return `the manifest in the package (${path}) has no <changelogurl>. Joomla 4.4 keeps the one of a package's first installation, so its sites never show the changelog. "licensing manifest" prints the line.`;
}

/** Whether no version of the product was ever published. */
async function isFirst(db: Db, productId: number): Promise<boolean> {
  return (await listReleases(db, productId)).every(({ state }) => state === 'draft');
}

/**
 * Joomla keeps the Download Key with the update site, by its address. Up to 5.3.0, a package with another address makes
 * a new update site without the key (plg_extension_joomla, addUpdateSite); a package without one removes it. Compared
 * with the latest published version, which most sites have.
 *
 * @returns the refusal, or a remark when it cannot be told
 */
async function findServerFault(
  db: Db,
  packagesDir: string,
  productId: number,
  manifest: PackageManifest | NoManifest,
): Promise<OperatorError | string | undefined> {
  const latest = await latestRelease(db, productId);
  if (latest === undefined || !isManifest(manifest)) return undefined;
  if (!(await statPackage(packagesDir, latest.sha256)))
    return `the package of version ${latest.version} is missing, so its update servers could not be compared with these.`;
  const before = await findManifest(packagePath(packagesDir, latest.sha256));
  // Sites that were never offered an update have no key to lose.
  if (!isManifest(before) || before.updateServers.length === 0) return undefined;
  const [earlier, named] = [before, manifest].map(({ updateServers }) => [...updateServers].sort());
  if (JSON.stringify(earlier) === JSON.stringify(named)) return undefined;
  return new OperatorError(
    `The manifest in the package (${manifest.path}) names ${describeServers(manifest)}, and that of version ` +
      `${latest.version} names ${describeServers(before)}. Joomla keeps the Download Key by this address: up to 5.3.0 ` +
      'a site that installs this version loses its key, and can no longer update until its administrator enters it ' +
      'again. Pack it again with the earlier address, byte by byte. Nothing was published.',
    { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'other-update-server' } },
  );
}

function describeServers({ updateServers }: PackageManifest): string {
  return updateServers.length === 0
    ? 'no update server'
    : `the update server ${updateServers.map((server) => `"${server}"`).join(', ')}`;
}

/** Only a product for Joomla has an element. A site finds the installed extension by it, ignoring case. */
function requireElement(manifest: PackageManifest | NoManifest, product: number, element: string): void {
  if (!isManifest(manifest)) throw refuseNoManifest(manifest, product, element);
  if (manifest.element !== undefined && manifest.element.toLowerCase() !== element.toLowerCase())
    throw new OperatorError(
      `The manifest in the package (${manifest.path}) is that of "${manifest.element}", and the element of product ${product} is "${element}": Joomla would not update the one by the other. Nothing was published.`,
      { facts: { reason: 'other-element', product, element, inPackage: manifest.element } },
    );
}

/**
 * What the manifest of a package says of a product that is not there yet. Where the name is a word of the language files, the
 * element stands for it.
 * @throws OperatorError that says why there is none
 */
export async function readNewProduct(zip: string): Promise<{ name: string; element: string | undefined }> {
  const found = await findManifest(zip);
  if (!isManifest(found))
    throw found.none === 'malformed'
      ? malformed(found)
      : new OperatorError(
          'The package has no Joomla manifest (an XML file with <extension>) at its top, so it does not say what product it is.',
          { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'no-manifest' } },
        );
  const { name, element, packageName } = found;
  const isWord = name === '' || /^[A-Z0-9_]+$/.test(name);
  return { name: isWord ? packageName || (element ?? name) : name, element };
}

function refuseNoManifest(found: NoManifest, product: number, element: string): OperatorError {
  if (found.none === 'malformed') return malformed(found);
  if (found.none === 'too-much-xml')
    return new OperatorError(`The package cannot be examined: ${TOO_MUCH_XML}. Nothing was published.`, {
      facts: { reason: 'too-much-xml', product },
    });
  return new OperatorError(
    `The package has no Joomla manifest (an XML file with <extension>) at its top, and product ${product} is for Joomla: its element is "${element}". Nothing was published.`,
    { facts: { reason: 'no-manifest', product } },
  );
}

function malformed({ path, fault }: Extract<NoManifest, { none: 'malformed' }>): OperatorError {
  return new OperatorError(
    `The manifest in the package is not well-formed XML: ${path}: ${fault}. Nothing was published.`,
    { facts: { reason: 'malformed-manifest', path, fault } },
  );
}
