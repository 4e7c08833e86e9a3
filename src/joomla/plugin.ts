import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import { API_PATH } from '../api';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/database';
import { readInstalledProduct, type InstalledProduct, type XmlHome } from './update-xml';
import { escapeXml } from './xml';

/** The plugins for customers' sites (spec: joomla-side), made for a product from the files in php/joomla. */

export interface PluginRequest {
  productId: number;
  /** begins the names of the plugins, so that those of several vendors fit on one site */
  vendor: string;
  /** the site that the product is downloaded from; undefined: LICENSING_PUBLIC_URL, or else the remembered one */
  baseUrl?: string | undefined;
}

export interface MadePlugin {
  product: InstalledProduct;
  /** of the package, in Joomla */
  element: string;
  /** of the package: that of this program */
  version: string;
  /** the download address that the plugins act for */
  address: string;
  fileName: string;
  zip: Buffer;
}

/**
 * @param root the folder of this program
 * @throws OperatorError when the product, the vendor or the address does not fit
 */
export async function makePlugin(
  db: Db,
  { productId, vendor, baseUrl }: PluginRequest,
  home: Pick<XmlHome, 'publicUrl'>,
  root: string,
): Promise<MadePlugin> {
  const name = requireVendor(vendor);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const product = await readInstalledProduct(db, productId, baseUrl, home);
  const element = `${name.toLowerCase()}licence${product.id}`;
  const { hostname, port, pathname } = new URL(product.baseUrl);
  const path = `${pathname.replace(/\/$/, '')}${API_PATH}/downloads/${product.id}`;
  const words: Words = {
    VendorName: name,
    Licence0: `Licence${product.id}`,
    VENDORLICENCE0: element.toUpperCase(),
    vendorlicence0: element,
    ProductName: product.name,
    DownloadHost: hostname,
    DownloadPort: port || '443',
    DownloadPath: path,
    ExtensionType: product.type,
    ExtensionElement: product.element,
    ExtensionFolder: product.folder,
    ExtensionClient: product.client === 'site' ? '0' : '1',
    '0.0.0': version,
  };
  const folder = join(root, 'php/joomla');
  const files: [string, Buffer][] = [];
  for (const group of ['installer', 'system'])
    files.push([`plg_${group}_${element}.zip`, await pack(await readFolder(join(folder, group), words))]);
  for (const [file, as] of [
    ['package.xml', `pkg_${element}.xml`],
    ['script.php', 'script.php'],
  ] as const)
    files.push([as, Buffer.from(fillIn(await readFile(join(folder, file), 'utf8'), file, words))]);
  return {
    product,
    element: `pkg_${element}`,
    version,
    address: `${product.baseUrl}${API_PATH}/downloads/${product.id}`,
    fileName: `pkg_${element}-${version}.zip`,
    zip: await pack(files),
  };
}

/** Words of PHP that a part of a namespace may not be before PHP 8. */
const RESERVED = new Set(
  (
    'abstract and array as break callable case catch class clone const continue declare default die do echo else elseif ' +
    'empty enddeclare endfor endforeach endif endswitch endwhile eval exit extends final finally fn for foreach function ' +
    'global goto if implements include instanceof insteadof interface isset list match namespace new or print private ' +
    'protected public require return static switch throw trait try unset use var while xor yield'
  ).split(' '),
);

/** A part of a PHP namespace that is also fit for file names. @throws OperatorError */
function requireVendor(text: string): string {
  const vendor = text.trim();
  if (!/^[A-Za-z][A-Za-z0-9]{0,29}$/.test(vendor))
    throw refusedVendor('It must be 1 to 30 letters and digits and begin with a letter, such as Acme.');
  if (isReserved(vendor) || vendor.toLowerCase() === 'joomla')
    throw refusedVendor(
      `${vendor} is a word of PHP or Joomla. Write it differently, such as ${vendor}Software.`,
    );
  return vendor.charAt(0).toUpperCase() + vendor.slice(1);
}

export function isReserved(word: string): boolean {
  return RESERVED.has(word.toLowerCase());
}

function refusedVendor(message: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field: 'vendor' });
}

/** What stands in the files for the vendor's and the product's own values. */
type Words = Record<string, string>;

async function readFolder(folder: string, words: Words): Promise<[string, Buffer][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths.sort().map(async (path): Promise<[string, Buffer]> => {
      const name = fillIn(path.slice(folder.length + 1).replaceAll(sep, '/'), 'name', words);
      return [name, Buffer.from(fillIn(await readFile(path, 'utf8'), name, words))];
    }),
  );
}

/** Replaces the words in one pass, because a value may contain a word; escaped for the kind of file. */
function fillIn(text: string, file: string, words: Words): string {
  const escape = ESCAPES[/\.[a-z]+$/.exec(file)?.[0] ?? ''] ?? ((value: string) => value);
  const all = new RegExp(
    Object.keys(words)
      .map((word) => word.replaceAll('.', '\\.'))
      .join('|'),
    'g',
  );
  return text.replace(all, (word) => escape(words[word] ?? word));
}

const ESCAPES: Record<string, (value: string) => string> = {
  '.php': (value) => value.replace(/[\\']/g, '\\$&'),
  '.xml': escapeXml,
  // Joomla reads them raw, and then replaces \" by ".
  '.ini': (value) => value.replaceAll('\\', '/').replaceAll('"', '\\"'),
};

/** Equal files make an equal zip, whenever it is made. */
const NO_DATE = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };

async function pack(files: [string, Buffer][]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files) zip.addBuffer(content, name, { ...NO_DATE, mode: 0o100644 });
  zip.end();
  return buffer(zip.outputStream);
}
