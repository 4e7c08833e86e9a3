import { buffer } from 'node:stream/consumers';
import type { Element } from '@xmldom/xmldom';
import { isCoded } from '../base/errors';
import type { Product } from '../store/catalogue';
import { OperatorError } from '../licensing/operator-error';
import { eachEntry } from '../packages/zip';
import { namedPaths, type NamedPath } from './manifest-files';
import { attributes, descendants, escapeAttribute, escapeXml, ownText, parseXml } from './xml';
import { API_PATH } from '../licensing/api';
import { requireWebAddress } from './addresses';
import { changelogBeside } from './changelog';
import { prefixOfType } from './extension-types';

/** The length of Joomla's columns `#__update_sites.name` and `#__updates.name`. */
const MAX_NAME_LENGTH = 100;
/** The maximum size of an XML file that may be a manifest, which only lists files. */
const MAX_MANIFEST_BYTES = 5_000_000;
/** The maximum size of all XML files, which are in memory until the top is known: 5 MB of zip may hold a thousand of 5 MB. */
const MAX_XML_BYTES = 20_000_000;
/** The minimum size that is counted for a file, so that a million empty files exceed the limit too. */
const MIN_BYTES = 1_000;
/** The message for `findManifest`'s limit, as the end of a sentence. */
export const XML_TOO_BIG = `the XML files at its top and in the folders there have more than ${MAX_XML_BYTES / 1_000_000} MB, which is too much to search for the manifest`;

interface ManifestSnippets {
  /** the lines to paste below the manifest's root element */
  xml: string;
  forCustomers: string;
}

/** Returns the manifest's lines for updates, the changelog and the Download Key field in Joomla. @throws OperatorError */
export function manifestSnippets({ name }: Pick<Product, 'name'>, updateXmlUrl: string): ManifestSnippets {
  const url = requireWebAddress(updateXmlUrl, 'The address of the update XML');
  if (updateXmlUrl.includes('#'))
    throw new OperatorError(
      'The address of the update XML must not contain a "#": the part after it is never sent.',
    );
  if (url.pathname.startsWith(`${API_PATH}/`))
    throw new OperatorError(
      `The update XML cannot be below ${API_PATH}/: all requests there go to the licence service, which does not serve it. Put it next to the site's other files.`,
    );
  const siteName = nameInJoomla(name);
  return {
    xml: [
      '<updateservers>',
      `    <server type="extension" name="${escapeAttribute(siteName)}">${escapeXml(updateXmlUrl.trim())}</server>`,
      '</updateservers>',
      `<changelogurl>${escapeXml(changelogBeside(updateXmlUrl.trim()))}</changelogurl>`,
      '<dlid prefix="dlid=" suffix=""/>',
    ].join('\n'),
    forCustomers: [
      "In your site's administrator:",
      `1. System > Update > Update Sites: click "${siteName}".`,
      '2. Paste your licence key into "Download Key", without anything before or after it, then Save & Close.',
      '3. System > Update > Extensions: Check For Updates, tick the extension, Update.',
    ].join('\n'),
  };
}

/** Returns a product's name, cut to the length of Joomla's column. */
export function nameInJoomla(name: string): string {
  return Array.from(name).slice(0, MAX_NAME_LENGTH).join('');
}

export interface PackageManifest {
  path: string;
  /** `package`, `component`, ... */
  type: string;
  /** the unchanged name: a text, or an upper-case constant of its language files */
  name: string;
  /** the unchanged text: Joomla stores it with blanks around it, and then offers the same version forever */
  version: string;
  /** Joomla's name of the extension, if the manifest alone determines it */
  element: string | undefined;
  /** the name of a package, or the package of an extension; empty without one */
  packageName: string;
  hasDownloadKey: boolean;
  hasChangelog: boolean;
  /** the unchanged URLs, with blanks around them */
  updateServers: string[];
  /** the files of the package that the manifest names */
  named: NamedPath[];
}

/** Returns what customers lack who install a package with this manifest, as ends of sentences. */
export function describeMissingEntries({ hasDownloadKey, updateServers }: PackageManifest): string[] {
  return [
    ...(hasDownloadKey
      ? []
      : ['has no <dlid>: once this version is installed, the Download Key field disappears']),
    ...(updateServers.length > 0
      ? []
      : ['has no <updateservers>: sites that install this version are never offered another version']),
  ];
}

/** The reason that there is no manifest. `malformed`: an XML file, perhaps the manifest, is not well-formed. */
export type ManifestProblem =
  | { none: 'no-xml' | 'no-manifest' | 'too-much-xml' }
  | { none: 'malformed'; path: string; /** the end of a sentence, with the line */ fault: string };

export function isManifest(found: PackageManifest | ManifestProblem): found is PackageManifest {
  return !('none' in found);
}

/**
 * Returns the manifest by which Joomla installs a package: the first XML file with the root `extension`, at the top or
 * one folder below. If a zip consists of a single folder, this folder is the top.
 * @param zip its path, or the zip itself
 */
export async function findManifest(
  zip: string | Buffer,
  signal?: AbortSignal,
): Promise<PackageManifest | ManifestProblem> {
  const seen = { tops: new Set<string>(), folder: false };
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  await eachEntry(
    zip,
    async (file, entry) => {
      const path = entry.fileName.split('/');
      // Count only up to two, because a package may have a million entries.
      if (seen.tops.size < 2) seen.tops.add(path[0] ?? '');
      seen.folder ||= path.length > 1;
      if (!entry.fileName.endsWith('.xml') || path.length > 3 || entry.uncompressedSize > MAX_MANIFEST_BYTES)
        return;
      bytes += Math.max(entry.uncompressedSize, MIN_BYTES);
      if (bytes <= MAX_XML_BYTES)
        contents.set(entry.fileName, await buffer(await file.openReadStreamPromise(entry)));
    },
    signal,
  );
  if (bytes > MAX_XML_BYTES) return { none: 'too-much-xml' };
  const [only] = seen.tops;
  const top = seen.tops.size === 1 && seen.folder ? `${only ?? ''}/` : '';
  const candidates = [...contents.keys()]
    .filter((name) => name.startsWith(top) && name.slice(top.length).split('/').length <= 2)
    .sort();
  let malformed: ManifestProblem | undefined;
  for (const path of candidates)
    try {
      const manifest = readManifest(path, contents.get(path) ?? Buffer.alloc(0));
      if (manifest) return manifest;
    } catch (error) {
      if (!isCoded(error, 'MALFORMED_XML', 'XML_TOO_BIG')) throw error;
      malformed ??= { none: 'malformed', path, fault: error.message };
    }
  return malformed ?? { none: candidates.length === 0 ? 'no-xml' : 'no-manifest' };
}

/** Reads a manifest; undefined for other XML. @throws MALFORMED_XML, XML_TOO_BIG */
function readManifest(path: string, bytes: Buffer): PackageManifest | undefined {
  const root = parseXml(bytes);
  if (root.tagName !== 'extension') return undefined;
  const { type = '' } = attributes(root);
  const textOf = (name: string) => {
    const found = Array.from(root.children).find(({ tagName }) => tagName === name);
    return found && ownText(found);
  };
  const child = (name: string) => textOf(name)?.trim();
  return {
    path,
    type,
    name: child('name') ?? '',
    version: textOf('version') ?? '',
    element: elementOf(root, type, child),
    packageName: child('packagename') ?? '',
    hasDownloadKey: Array.from(root.children).some(({ tagName }) => tagName === 'dlid'),
    hasChangelog: (child('changelogurl') ?? '') !== '',
    updateServers: descendants(root)
      .filter(({ tagName }) => tagName === 'server')
      .map((server) => ownText(server)),
    named: namedPaths(root, type),
  };
}

const NAMED_ALIKE = ['component', 'module', 'plugin'];

/** Returns the element like `getElement` of Joomla's installer adapters (libraries/src/Installer/Adapter). */
function elementOf(
  root: Element,
  type: string,
  child: (name: string) => string | undefined,
): string | undefined {
  const prefix = prefixOfType(type);
  if (type === 'package') {
    const name = asCommand(child('packagename'));
    return name === '' ? undefined : prefix + name;
  }
  if (!NAMED_ALIKE.includes(type)) return undefined;
  const named = fileAttribute(root, type);
  if (named !== undefined) return asCommand(named).toLowerCase();
  const name = asCommand(
    child('element') || (type === 'component' ? child('name') : undefined),
  ).toLowerCase();
  if (name === '') return undefined;
  return name.startsWith(prefix) ? name : prefix + name;
}

/** Returns the element from an attribute of a file: `<filename plugin="example">`. */
function fileAttribute(root: Element, name: string): string | undefined {
  return descendants(root)
    .filter(({ parentNode }) => parentNode?.nodeName === 'files')
    .map((file) => attributes(file)[name])
    .find((value) => value);
}

function asCommand(text = ''): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '').replace(/^\.+/, '');
}
