import { buffer } from 'node:stream/consumers';
import type { Element } from '@xmldom/xmldom';
import type { Product } from '../store/catalogue';
import { OperatorError } from '../licensing/operator-error';
import { eachEntry } from '../licensing/zip';
import { attributes, descendants, escapeAttribute, escapeXml, ownText, parseXml } from './xml';
import { API_PATH } from '../api-path';
import { requireWebAddress } from './addresses';
import { prefixOfType } from './extension-types';

/** An extension's own manifest, the file its package is installed by. */

/** Joomla's column holds no more (`#__update_sites.name`, and `#__updates.name`). */
const MAX_NAME_LENGTH = 100;
/** A manifest lists files; one that is longer is none. */
const MAX_MANIFEST_BYTES = 5_000_000;
/**
 * Of all XML files that may be the manifest, which are held in memory until it is known where the package's top is.
 * Packed they are next to nothing: a thousand of five megabytes fit into five.
 */
const MAX_XML_BYTES = 20_000_000;
/** What a file counts at least, so that a million empty ones are too much too. */
const LEAST_BYTES = 1_000;
/** What findManifest() gave up at, as the end of a sentence. */
export const TOO_MUCH_XML = `the XML files at its top and in the folders there have more than ${MAX_XML_BYTES / 1_000_000} MB, and the manifest is not looked for among them`;

export interface ManifestSnippets {
  /** to paste right below the manifest's root element */
  xml: string;
  /** what to tell customers */
  forCustomers: string;
}

/**
 * What makes Joomla ask for updates and show the Download Key field.
 *
 * @throws OperatorError when the address is none that Joomla could ask
 */
export function manifestSnippets({ name }: Product, updateXmlUrl: string): ManifestSnippets {
  const url = requireWebAddress(updateXmlUrl, 'The address of the update XML');
  if (updateXmlUrl.includes('#'))
    throw new OperatorError(
      'The address of the update XML must not have a "#": what follows it is never sent.',
    );
  if (url.pathname.startsWith(`${API_PATH}/`))
    throw new OperatorError(
      `The update XML cannot lie below ${API_PATH}/: everything there goes to the licence service, which does not serve it. Put it beside the site's other files.`,
    );
  const siteName = nameInJoomla(name);
  return {
    xml: [
      '<updateservers>',
      `    <server type="extension" name="${escapeAttribute(siteName)}">${escapeXml(updateXmlUrl.trim())}</server>`,
      '</updateservers>',
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

/** A product's name as Joomla has it: what fits its column for names. */
export function nameInJoomla(name: string): string {
  return Array.from(name).slice(0, MAX_NAME_LENGTH).join('');
}

export interface PackageManifest {
  /** the entry's name in the zip */
  path: string;
  /** `package`, `component`, ... */
  type: string;
  version: string;
  /** Joomla's name of the extension, where the manifest alone says it */
  element: string | undefined;
  hasDownloadKey: boolean;
  updateServers: string[];
}

/** What customers miss once they have installed a package with this manifest, as the end of a sentence. */
export function describeMisses({ hasDownloadKey, updateServers }: PackageManifest): string[] {
  return [
    ...(hasDownloadKey
      ? []
      : ['has no <dlid>: once this version is installed there is no Download Key field any more']),
    ...(updateServers.length > 0
      ? []
      : ['has no <updateservers>: sites that install this version are never offered another']),
  ];
}

/** Why there is none. */
export type NoManifest = 'no-xml' | 'no-manifest' | 'too-much-xml';

/**
 * The manifest Joomla would install a package by: the first XML file at its top, or one folder below, whose root is
 * `extension`. Where the zip holds a single folder, that is the top.
 *
 * @returns `no-xml` when there is no such file, `no-manifest` when none of them is a manifest, `too-much-xml` when there
 *   is more than is looked through
 * @throws what yauzl says of a file that is no zip
 */
export async function findManifest(zipPath: string): Promise<PackageManifest | NoManifest> {
  const seen = { tops: new Set<string>(), folder: false };
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  await eachEntry(zipPath, async (zip, entry) => {
    const path = entry.fileName.split('/');
    // Whether there is one or several is all that counts, and a package may have a million.
    if (seen.tops.size < 2) seen.tops.add(path[0] ?? '');
    seen.folder ||= path.length > 1;
    if (!entry.fileName.endsWith('.xml') || path.length > 3 || entry.uncompressedSize > MAX_MANIFEST_BYTES)
      return;
    bytes += Math.max(entry.uncompressedSize, LEAST_BYTES);
    if (bytes <= MAX_XML_BYTES)
      contents.set(entry.fileName, await buffer(await zip.openReadStreamPromise(entry)));
  });
  if (bytes > MAX_XML_BYTES) return 'too-much-xml';
  const [only] = seen.tops;
  const top = seen.tops.size === 1 && seen.folder ? `${only ?? ''}/` : '';
  const candidates = [...contents.keys()]
    .filter((name) => name.startsWith(top) && name.slice(top.length).split('/').length <= 2)
    .sort();
  for (const path of candidates) {
    const manifest = readManifest(path, contents.get(path) ?? Buffer.alloc(0));
    if (manifest) return manifest;
  }
  return candidates.length === 0 ? 'no-xml' : 'no-manifest';
}

function readManifest(path: string, bytes: Buffer): PackageManifest | undefined {
  const root = tryParse(bytes);
  if (root?.tagName !== 'extension') return undefined;
  const { type = '' } = attributes(root);
  const child = (name: string) => {
    const found = Array.from(root.children).find(({ tagName }) => tagName === name);
    return found && ownText(found).trim();
  };
  return {
    path,
    type,
    version: child('version') ?? '',
    element: elementOf(root, type, child),
    hasDownloadKey: Array.from(root.children).some(({ tagName }) => tagName === 'dlid'),
    updateServers: descendants(root)
      .filter(({ tagName }) => tagName === 'server')
      .map((server) => ownText(server).trim()),
  };
}

/** Types whose manifests name the element by the same rules. */
const NAMED_ALIKE = ['component', 'module', 'plugin'];

/** After `getElement` of Joomla's installer adapters (libraries/src/Installer/Adapter). */
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

/** The attribute by which one of a plugin's or module's files names it: `<filename plugin="example">`. */
function fileAttribute(root: Element, name: string): string | undefined {
  return descendants(root)
    .filter(({ parentNode }) => parentNode?.nodeName === 'files')
    .map((file) => attributes(file)[name])
    .find((value) => value);
}

/** Joomla's filter "cmd". */
function asCommand(text = ''): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '').replace(/^\.+/, '');
}

function tryParse(bytes: Buffer) {
  try {
    return parseXml(bytes);
  } catch {
    return undefined;
  }
}
