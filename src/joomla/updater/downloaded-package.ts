import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { compareVersions } from '../../licensing/versions';
import { checkZip } from '../../packages/zip';
import {
  describeMissingEntries,
  findManifest,
  XML_TOO_BIG,
  type ManifestProblem,
  type PackageManifest,
} from '../manifest';
import type { XmlUpdate } from './xml-updates';

/** Returns the file name as InstallerHelper::downloadPackage does: by this pattern up to a ";", or the address's end. */
export function downloadFileName(disposition: string | undefined, url: string): string {
  const given = /\s*filename\s?=\s?(.*)/.exec(disposition ?? '')?.[1];
  const target = given?.split(';')[0]?.replace(/^"+|"+$/g, '');
  if (target !== undefined && target !== '' && target !== '0')
    return target.replace(/\/+$/, '').split('/').pop() ?? '';
  return (url.split('/').pop() ?? '')
    .replace(/[^a-z0-9_\-.]/gi, '_')
    .replace(/^_+|_+$/g, '')
    .replace(/__+/g, '_');
}

const NO_MANIFEST = {
  text: 'it has no manifest of an extension',
  remedy: "Publish a package that has the extension's manifest at its top.",
};
export const PACK_AGAIN =
  'Pack it again with all parts that its manifest names, and publish the next version: a published package never changes.';

const FAULTS_OF_PACKAGE: Record<
  ManifestProblem['none'] | 'damaged',
  { text: string; messages: string[] | undefined; remedy: string }
> = {
  damaged: {
    text: 'it is not a readable zip file',
    messages: [],
    remedy:
      'Something other than the package was sent with status 200, or the package was changed on the way. Download it by hand and look at it.',
  },
  'no-xml': { ...NO_MANIFEST, messages: ["warning: JInstaller: :Install: Can't find XML setup file."] },
  'no-manifest': {
    ...NO_MANIFEST,
    messages: ["warning: JInstaller: :Install: Can't find Joomla XML setup file."],
  },
  malformed: {
    text: 'its manifest is not well-formed XML',
    messages: ["warning: JInstaller: :Install: Can't find Joomla XML setup file."],
    remedy: 'Correct the manifest, pack it again, and publish the next version.',
  },
  // Joomla's outcome depends on the site's memory.
  'too-much-xml': {
    text: XML_TOO_BIG,
    messages: undefined,
    remedy: 'Publish a package whose XML files, except the manifest, are at least two folders deep.',
  },
};

/** Returns why Joomla finds no manifest, its messages before the last, and the seller's remedy. */
export function explainNoManifest(
  found: ManifestProblem | { none: 'damaged' },
): (typeof FAULTS_OF_PACKAGE)['damaged'] {
  const fault = FAULTS_OF_PACKAGE[found.none];
  return found.none === 'malformed'
    ? { ...fault, text: `${fault.text}: ${found.path}: ${found.fault}` }
    : fault;
}

/** Finds the manifest by which Joomla would install a package, or the reason for none; `size` in bytes. */
export async function unpack(
  file: string,
  size: number,
): Promise<PackageManifest | ManifestProblem | { none: 'damaged' }> {
  // PHP opens an empty file as an empty archive.
  if (size === 0) return { none: 'no-xml' };
  try {
    await checkZip(file);
    return await findManifest(file);
  } catch {
    return { none: 'damaged' };
  }
}

interface HashCheck {
  checked: string[];
  wrong: { name: string; expected: string; actual: string } | undefined;
}

/** Compares a package's hashes with those in the XML, even empty ones. Upper case matches, blanks do not. */
export async function checkHashes(file: string, update: XmlUpdate): Promise<HashCheck> {
  const checked: string[] = [];
  for (const name of ['sha256', 'sha384', 'sha512']) {
    const expected = update.text(name);
    if (expected === undefined) continue;
    const hash = createHash(name);
    await pipeline(createReadStream(file), hash);
    const actual = hash.digest('hex');
    if (expected.toLowerCase() !== actual) return { checked, wrong: { name, expected, actual } };
    checked.push(name);
  }
  return { checked, wrong: undefined };
}

/** Warns about faults that would break later updates of an installed package; `url` is the address of its update XML. */
export function remarksOnManifest(manifest: PackageManifest, update: XmlUpdate, url: string): string[] {
  const version = update.text('version') ?? '';
  const element = update.text('element') ?? '';
  const remarks: string[] = [];
  if (compareVersions(manifest.version, version) < 0)
    remarks.push(
      `its version is ${manifest.version}, but the XML has ${version}: Joomla will offer this update again and again`,
    );
  if (manifest.element !== undefined && manifest.element !== element)
    remarks.push(`it installs ${manifest.element}, but the XML names ${element}`);
  remarks.push(...describeMissingEntries(manifest).map((miss) => `it ${miss}`));
  const servers = manifest.updateServers.map((server) => server.trim());
  if (servers.length > 0 && !servers.includes(url))
    remarks.push(`its <updateservers> name ${servers.join(', ')}, not ${url}`);
  return remarks;
}
