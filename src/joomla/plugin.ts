import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { API_PATH } from '../licensing/api';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { fillIn, pack, readFolder, programVersion, type PackedFile, type Placeholders } from './plugin-files';
import { readInstalledProduct, type InstalledProduct } from './update-xml/installed-product';
import { locateUpdateXml, type XmlLocation } from './update-xml/location';

/** Packs the plugins for customers' sites (docs/joomla-plugin.md), for a product, from the files in php/joomla. */

interface PluginRequest {
  productId: number;
  /** the beginning of the plugins' names, so that plugins of several vendors fit on one site */
  vendor: string;
  /** the site from which the product is downloaded; by default LICENSING_PUBLIC_URL, or the stored one */
  baseUrl?: string | undefined;
}

export interface MadePlugin {
  product: InstalledProduct;
  /** the package's element in Joomla */
  element: string;
  /** the package's version, which is that of this program */
  version: string;
  /** the download URL that the plugins act for */
  address: string;
  fileName: string;
  zip: Buffer;
}

/** @param root the folder of this program @throws OperatorError if the product, the vendor or the address is not suitable */
export async function makePlugin(
  db: Db,
  { productId, vendor, baseUrl }: PluginRequest,
  home: XmlLocation,
  root: string,
): Promise<MadePlugin> {
  const name = requireVendor(vendor);
  const version = await programVersion(root);
  const product = await readInstalledProduct(db, productId, baseUrl, home);
  const element = `${name.toLowerCase()}licence${product.id}`;
  const { hostname, port, pathname } = new URL(product.baseUrl);
  const path = `${pathname.replace(/\/$/, '')}${API_PATH}/downloads/${product.id}`;
  const words: Placeholders = {
    VendorName: name,
    Licence0: `Licence${product.id}`,
    VENDORLICENCE0: element.toUpperCase(),
    vendorlicence0: element,
    ProductName: product.name,
    DownloadHost: hostname,
    DownloadPort: port || '443',
    DownloadPath: path,
    UpdateXmlAddress: await updatesAddress(db, product, home),
    ExtensionType: product.type,
    ExtensionElement: product.element,
    ExtensionFolder: product.folder,
    ExtensionClient: product.client === 'site' ? '0' : '1',
    '0.0.0': version,
  };
  const folder = join(root, 'php/joomla');
  const files: PackedFile[] = [];
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

/**
 * Returns the URL of the update XML, if the files for expired licences are next to it (docs/update-xml.md); otherwise
 * an empty text.
 */
async function updatesAddress(
  db: Db,
  { id, element, baseUrl }: InstalledProduct,
  home: XmlLocation,
): Promise<string> {
  const place = await locateUpdateXml(db, { id, element }, { ...home, publicUrl: baseUrl });
  return place !== undefined && dirname(place.out) === home.xmlDir ? (place.url ?? '') : '';
}

/** Words of PHP that cannot be part of a namespace before PHP 8. */
const RESERVED = new Set(
  (
    'abstract and array as break callable case catch class clone const continue declare default die do echo else elseif ' +
    'empty enddeclare endfor endforeach endif endswitch endwhile eval exit extends final finally fn for foreach function ' +
    'global goto if implements include instanceof insteadof interface isset list match namespace new or print private ' +
    'protected public require return static switch throw trait try unset use var while xor yield'
  ).split(' '),
);

/** Checks a vendor, which must be suitable for a PHP namespace and for file names. @throws OperatorError */
function requireVendor(text: string): string {
  const vendor = text.trim();
  if (!/^[A-Za-z][A-Za-z0-9]{0,29}$/.test(vendor))
    throw refusedVendor('It must be 1 to 30 letters and digits and begin with a letter, such as Acme.');
  if (isReserved(vendor) || vendor.toLowerCase() === 'joomla')
    throw refusedVendor(
      `${vendor} is a reserved word of PHP or Joomla. Use another name, such as ${vendor}Software.`,
    );
  return vendor.charAt(0).toUpperCase() + vendor.slice(1);
}

export function isReserved(word: string): boolean {
  return RESERVED.has(word.toLowerCase());
}

function refusedVendor(message: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field: 'vendor' });
}
