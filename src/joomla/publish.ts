import { requireProduct } from '../licensing/find-or-throw';
import type { Remark } from '../licensing/remarks';
import { OperatorError } from '../licensing/operator-error';
import { compareVersions, isVersion, remarkOnVersion } from '../licensing/versions';
import { publishRelease, type PublishRequest } from '../packages/releases';
import type { Db } from '../store/engine/database';
import type { Product } from '../store/catalogue';
import { listReleases, type Release } from '../store/releases';
import { findOffered } from '../licensing/updates';
import { packagePath, pathOfStaged, statPackage, type StagedPackage } from '../packages/package-files';
import { checkZip, unreadable } from '../packages/zip';
import {
  describeMissingEntries,
  findManifest,
  isManifest,
  manifestSnippets,
  XML_TOO_BIG,
  type ManifestProblem,
  type PackageManifest,
} from './manifest';
import { findLack } from './package-contents';
import { folderOf, isFormerXml } from './formerly/addresses';
import { locateUpdateXml, type XmlLocation } from './update-xml/location';
import { requireRolloutSupport } from './update-xml/rollout-support';

declare module '../licensing/operator-error' {
  interface Refusals {
    joomla:
      | { reason: 'other-update-server' | 'without-lines' }
      /** `named`: the package's update servers. `url`: the URL of the update XML. */
      | { reason: 'foreign-server'; named: string; url: string }
      /** `joomla`: undefined if Joomla's update succeeds. */
      | { reason: 'package-lacks'; lacks: string[]; joomla: string | undefined }
      | { reason: 'no-manifest'; product?: number }
      | { reason: 'malformed-manifest'; path: string; fault: string }
      | { reason: 'manifest-version'; version: string | undefined }
      | { reason: 'other-element'; product: number; element: string; inPackage: string }
      | { reason: 'too-much-xml' | 'xml-of-another'; product: number }
      /** `url`: the URL of the update XML. */
      | { reason: 'rollout-no-address' | 'rollout-silent' | 'rollout-apache' | 'rollout-nginx'; url: string }
      | { reason: 'rollout-replaced'; version: string };
  }
}

export interface Published {
  release: Release;
  /** remarks about the version, its date and its package, and about checks that were skipped */
  remarks: Remark[];
}

/** A version to publish, from the API, a page or the command. */
export interface JoomlaPublishRequest extends PublishRequest {
  /** accepts other update servers than those of the latest published package, or than ours in a first package */
  newUpdateServer?: boolean;
  /** accepts a package that lacks named files, and a first one that lacks the lines for updates */
  unchecked?: boolean;
  /** aborts the check of the package, because its client has left */
  signal?: AbortSignal;
}

/**
 * Publishes a version like `publishRelease`, if sites can be updated by its package.
 * @param home the place of the product's update XML, whose URL a first package must name
 * @param onProgress receives the number of bytes copied so far
 * @throws OperatorError for a refusal, after which nothing has changed
 */
export async function publish(
  db: Db,
  { packagesDir, home }: { packagesDir: string; home: XmlLocation },
  { newUpdateServer = false, unchecked = false, signal, ...request }: JoomlaPublishRequest,
  now: Date,
  onProgress?: (bytes: number) => void,
): Promise<Published> {
  const { productId, version, date, draft, file, rollout } = request;
  const product = await requireProduct(db, productId);
  await requireRolloutSupport(db, home, productId, draft ? undefined : rollout);
  const found: Remark[] = [];
  const remark = (code: Remark['code'], message: string, ...facts: string[]) =>
    found.push({ code, facts, message });
  /** Adds a remark about a draft's fault, which is refused when the draft is published. Other faults are refused now. */
  const refuse = (fault: OperatorError | undefined, isAccepted: boolean) => {
    if (fault === undefined) return;
    if (!draft && !isAccepted) throw fault;
    found.push(remarkOn(fault, draft ? 'when it is published: ' : ''));
  };
  const release = await publishRelease(db, packagesDir, request, now, {
    ...(onProgress && { onProgress }),
    signal,
    onBrokenLocks: (paths) =>
      remark(
        'lock-unread',
        `the SBOM was generated without ${paths.join(', ')}, which cannot be read as a lock file.`,
        ...paths,
      ),
    // Inspect the stored package, because the named file may have changed.
    inspect: async (path) => {
      const manifest = await findManifest(path, signal);
      // Skip this for a draft, which was checked when it was stored.
      if (file !== undefined) checkManifest(manifest, version, product);
      if (!isManifest(manifest)) return;
      const before = await readBefore(db, packagesDir, productId);
      if (before?.unread !== undefined) remark('before-unread', before.unread, before.version);
      const url = (await locateUpdateXml(db, product, home))?.url ?? null;
      if (product.element !== null) {
        refuse(await refusalOfLack(path, manifest, signal), unchecked);
        const lines = findMissingLines(product, manifest, url);
        if (url !== null && (await isFirst(db, productId))) refuse(lines, unchecked);
        else if (lines !== undefined) remark('without-lines', lines.message.replace('The', 'the'));
        // A draft is checked when it is published.
        if (before === undefined && url === null && !draft) remark('server-unchecked', UNCHECKED);
      }
      const isForeign = url !== null && isElsewhere(manifest, url, home, productId);
      if (before?.servers !== undefined) {
        if (!newUpdateServer) refuse(findServerFault(manifest, before), false);
        if (isForeign) remark('foreign-server', ...describeForeign(manifest, url));
      } else if (isForeign) refuse(foreignServer(manifest, url), newUpdateServer);
      const noChangelog = await remarkOnChangelog(db, manifest, product, url);
      if (noChangelog !== undefined) remark('no-changelog-address', noChangelog);
    },
  }).catch(async (error: unknown) => {
    if (file === undefined) throw error;
    throw (await findOtherExtension(error, packagesDir, file, product)) ?? error;
  });
  const odd = remarkOnVersion(version);
  if (odd !== undefined) found.unshift({ ...odd, facts: [version] });
  if (date !== undefined && date > now && !draft)
    remark('future-date', 'the date is in the future, but the version is offered from now on.');
  return { release, remarks: found };
}

/** Returns the remark for a refusal that was accepted, or that applies when a draft is published. */
function remarkOn({ message, facts }: OperatorError, before = ''): Remark {
  const as = (code: Remark['code'], ...named: string[]) => ({
    code,
    facts: named,
    message: before + message,
  });
  switch (facts?.reason) {
    case 'package-lacks':
      return as(facts.reason, facts.joomla ?? '', ...facts.lacks);
    case 'foreign-server':
      return as(facts.reason, facts.named, facts.url);
    case 'other-update-server':
      return as(facts.reason);
    default:
      return as('without-lines');
  }
}

/** Returns the version in a package's manifest; undefined without one. @throws OperatorError if it is not an intact zip */
export async function readPackageVersion(path: string, signal?: AbortSignal): Promise<string | undefined> {
  const manifest = await findManifest(path, signal).catch(async (error: unknown) => {
    signal?.throwIfAborted();
    throw await unreadable(path, error);
  });
  // Report this fault, which a question for the version would hide.
  if (!isManifest(manifest) && manifest.none === 'malformed') throw malformed(manifest);
  return isManifest(manifest) ? manifest.version.trim() || undefined : undefined;
}

/**
 * Returns a refusal if the package belongs to another extension. A version that exists is refused before its package is
 * examined, but this is more helpful to the seller.
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
 * Refuses a package by which no site could be updated, because a published package never changes. Joomla stores the
 * manifest's version as the installed one, so a different published version would be offered forever.
 * @throws OperatorError if the manifest belongs to another product or version
 */
function checkManifest(manifest: PackageManifest | ManifestProblem, version: string, product: Product): void {
  if (product.element !== null) requireElement(manifest, product.id, product.element);
  if (!isManifest(manifest)) return;
  const { path, version: inside } = manifest;
  if (!isVersion(inside) || compareVersions(inside, version) !== 0)
    throw new OperatorError(
      `The manifest in the package (${path}) says version "${inside.trim()}"${inside === inside.trim() ? '' : ' with blanks or line breaks around it'}, and not "${version}". Joomla would treat ` +
        'the first as installed and keep offering the second. Nothing was published.',
      { facts: { reason: 'manifest-version', version: isVersion(inside) ? inside : undefined } },
    );
}

/** Returns the refusal of a package that lacks files of its manifest: Joomla's update would fail, or leave them out. */
async function refusalOfLack(
  path: string,
  manifest: PackageManifest,
  signal?: AbortSignal,
): Promise<OperatorError | undefined> {
  const lack = await findLack(path, manifest, signal);
  return (
    lack &&
    new OperatorError(`${lack.problem} A published package never changes.`, {
      code: 'INVALID_REQUEST',
      field: 'file',
      facts: { reason: 'package-lacks', lacks: lack.paths, joomla: lack.joomla },
    })
  );
}

/** Returns the refusal of a first package without the lines for updates, with which sites would never find the second. */
function findMissingLines(
  product: Product,
  manifest: PackageManifest,
  url: string | null,
): OperatorError | undefined {
  const misses = describeMissingEntries(manifest);
  if (misses.length === 0) return undefined;
  const lines =
    url === null
      ? '"licensing manifest" prints what to add.'
      : `Add these lines to it and pack it again:\n${manifestSnippets(product, url).xml}`;
  return new OperatorError(
    `The manifest in the package (${manifest.path}) ${misses.join('. It ')}. ${lines}`,
    { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'without-lines' } },
  );
}

const UNCHECKED =
  'it was not checked whether sites that install this version ask this service for the next one, because the address of the update XML is not known. Enter it (licensing settings set public_url), and compare the manifest: "licensing manifest" prints the lines.';

/** Warns about a missing changelog, because Joomla 4.4 never updates a package's changelog URL (PackageAdapter). */
async function remarkOnChangelog(
  db: Db,
  { hasChangelog, path }: PackageManifest,
  product: Product,
  url: string | null,
): Promise<string | undefined> {
  if (hasChangelog || url === null || !(await isFirst(db, product.id))) return undefined;
  return `the manifest in the package (${path}) has no <changelogurl>. Joomla 4.4 keeps the one of a package's first installation, so its sites never show the changelog. "licensing manifest" prints the line.`;
}

/** Reports whether no version of the product was ever published. */
async function isFirst(db: Db, productId: number): Promise<boolean> {
  return (await listReleases(db, productId)).every(({ state }) => state === 'draft');
}

interface Before {
  version: string;
  /** undefined if the package cannot be read */
  servers: PackageManifest | undefined;
  /** a sentence with the reason */
  unread?: string;
}

/** Returns the published version that most sites have; undefined if none makes sites look for updates. */
async function readBefore(db: Db, packagesDir: string, productId: number): Promise<Before | undefined> {
  const latest = await findOffered(db, productId);
  if (latest === undefined) return undefined;
  const { version, sha256 } = latest;
  const unread = (why: string) => ({
    version,
    servers: undefined,
    unread: `the package of version ${version} ${why}, so its update servers could not be compared with these.`,
  });
  if (!(await statPackage(packagesDir, sha256))) return unread('is missing');
  const before = await findManifest(packagePath(packagesDir, sha256)).catch((error: unknown) =>
    unread(`cannot be read (${(error as Error).message})`),
  );
  if ('unread' in before) return before;
  // Sites that were never offered an update cannot lose a key.
  return isManifest(before) && before.updateServers.length > 0 ? { version, servers: before } : undefined;
}

/**
 * Returns the refusal of a package with other update servers. Joomla stores the Download Key by the update site's URL.
 * Up to 5.3.0, a package with another URL makes a new update site without the key (plg_extension_joomla,
 * addUpdateSite); one without a URL removes it.
 */
function findServerFault(manifest: PackageManifest, { version, servers }: Before): OperatorError | undefined {
  if (servers === undefined) return undefined;
  const [earlier, named] = [servers, manifest].map(({ updateServers }) => [...updateServers].sort());
  if (JSON.stringify(earlier) === JSON.stringify(named)) return undefined;
  return new OperatorError(
    `The manifest in the package (${manifest.path}) names ${describeServers(manifest)}, and the manifest of version ` +
      `${version} names ${describeServers(servers)}. Joomla stores the Download Key under this address: up to 5.3.0, ` +
      'a site that installs this version loses its key, and can no longer update until its administrator enters it ' +
      'again. Pack it again with exactly the earlier address. Nothing was published.',
    { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'other-update-server' } },
  );
}

/** Reports whether sites that install the package only ask foreign servers: neither ours nor a legacy URL that we serve. */
function isElsewhere(
  { updateServers }: PackageManifest,
  url: string,
  home: XmlLocation,
  productId: number,
): boolean {
  const hostOf = (address: URL) => address.host.replace(/^www\./, '');
  const own = new URL(url);
  const isOurs = (server: string) => {
    const address = URL.canParse(server.trim()) ? new URL(server.trim()) : undefined;
    // Ignore the scheme, because a site's web server redirects from http to https.
    if (address === undefined || hostOf(address) !== hostOf(own)) return false;
    return (
      address.pathname === own.pathname ||
      isFormerXml(address, home.formerly ?? [], productId, folderOf(home.publicUrl))
    );
  };
  return updateServers.length > 0 && !updateServers.some(isOurs);
}

function describeForeign(
  manifest: PackageManifest,
  url: string,
): [message: string, named: string, url: string] {
  return [
    `The manifest in the package (${manifest.path}) names ${describeServers(manifest)}, and the update XML is at ${url}: ` +
      'sites that install this version ask the first address for updates, and are offered none of yours.',
    manifest.updateServers.map((server) => server.trim()).join(', '),
    url,
  ];
}

function foreignServer(manifest: PackageManifest, url: string): OperatorError {
  const [message, named] = describeForeign(manifest, url);
  return new OperatorError(
    `${message} Pack it again with the address of the update XML. If this is a former address of yours, name it in LICENSING_FORMERLY.`,
    { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'foreign-server', named, url } },
  );
}

function describeServers({ updateServers }: PackageManifest): string {
  return updateServers.length === 0
    ? 'no update server'
    : `the update server ${updateServers.map((server) => `"${server}"`).join(', ')}`;
}

/** Refuses a package of another element, by which sites find the extension, ignoring case. Only Joomla products have one. */
function requireElement(manifest: PackageManifest | ManifestProblem, product: number, element: string): void {
  if (!isManifest(manifest)) throw refuseNoManifest(manifest, product, element);
  if (manifest.element !== undefined && manifest.element.toLowerCase() !== element.toLowerCase())
    throw new OperatorError(
      `The manifest in the package (${manifest.path}) is for "${manifest.element}", but the element of product ${product} is "${element}": Joomla would not update one with the other. Nothing was published.`,
      { facts: { reason: 'other-element', product, element, inPackage: manifest.element } },
    );
}

/**
 * Reads a new product's name and element from its package's manifest. If the name is a constant of the language files,
 * the package's name or the element is used.
 * @throws OperatorError if the zip cannot be read, or its manifest has no version, so that no draft could be stored
 */
export async function readNewProduct(
  zip: string,
  signal?: AbortSignal,
): Promise<{ name: string; element: string | undefined }> {
  await checkZip(zip, signal);
  const found = await findManifest(zip, signal);
  if (!isManifest(found))
    throw found.none === 'malformed'
      ? malformed(found)
      : new OperatorError(
          'The package has no Joomla manifest (an XML file with <extension>) at its top, so it does not show which product it belongs to.',
          { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'no-manifest' } },
        );
  const { name, element, packageName, path, version } = found;
  if (!isVersion(version))
    throw new OperatorError(`The manifest in the package (${path}) has no version that Joomla understands.`, {
      code: 'INVALID_REQUEST',
      field: 'file',
      facts: { reason: 'manifest-version', version: undefined },
    });
  const isWord = name === '' || /^[A-Z0-9_]+$/.test(name);
  return { name: isWord ? packageName || (element ?? name) : name, element };
}

function refuseNoManifest(found: ManifestProblem, product: number, element: string): OperatorError {
  if (found.none === 'malformed') return malformed(found);
  if (found.none === 'too-much-xml')
    return new OperatorError(`The package cannot be examined: ${XML_TOO_BIG}. Nothing was published.`, {
      facts: { reason: 'too-much-xml', product },
    });
  return new OperatorError(
    `The package has no Joomla manifest (an XML file with <extension>) at its top, and product ${product} is for Joomla: its element is "${element}". Nothing was published.`,
    { facts: { reason: 'no-manifest', product } },
  );
}

function malformed({ path, fault }: Extract<ManifestProblem, { none: 'malformed' }>): OperatorError {
  return new OperatorError(
    `The manifest in the package is not well-formed XML: ${path}: ${fault}. Nothing was published.`,
    { facts: { reason: 'malformed-manifest', path, fault } },
  );
}
