import { requireProduct } from '../../licensing/find-or-throw';
import { OperatorError } from '../../licensing/operator-error';
import type { Db } from '../../store/engine/database';
import { typeOfElement, type ExtensionClient, type ExtensionType } from '../extension-types';
import { defaultClient, readBaseUrl, validateFolder } from './validate-options';
import type { XmlLocation } from './location';
import { readSavedOptions } from './saved-options';

/** A product as sites have installed it: the columns of Joomla's #__extensions, and the site from which it is downloaded. */
export interface InstalledProduct {
  id: number;
  name: string;
  element: string;
  type: ExtensionType;
  client: ExtensionClient;
  /** the plugin's folder; empty for other types */
  folder: string;
  /** without a slash at the end */
  baseUrl: string;
  /** the site in the update XML's download URLs, if it differs */
  otherBaseUrl: string | undefined;
}

/**
 * @param baseUrl by default LICENSING_PUBLIC_URL, or the one stored for the update XML
 * @throws OperatorError with the missing data
 */
export async function readInstalledProduct(
  db: Db,
  productId: number,
  baseUrl: string | undefined,
  { publicUrl }: Pick<XmlLocation, 'publicUrl'>,
): Promise<InstalledProduct> {
  const { id, name, element } = await requireProduct(db, productId);
  if (element === null)
    throw new OperatorError(
      'Joomla finds the extension by its element, and this product does not have one yet. Set it first, such as pkg_example.',
      { code: 'INVALID_REQUEST' },
    );
  const remembered = await readSavedOptions(db, productId);
  const known = baseUrl ?? publicUrl ?? (remembered.baseUrl || undefined);
  if (known === undefined)
    throw new OperatorError(
      'The address of the site is not known. Enter it (licensing settings set public_url), or name it once: --base-url https://shop.example',
      { code: 'INVALID_REQUEST', field: 'base_url' },
    );
  const said = readBaseUrl(known);
  if (!said.startsWith('https://'))
    throw new OperatorError(
      `Sites must download over https, because the address contains the licence key. ${said} is not https.`,
      { code: 'INVALID_REQUEST', field: 'base_url' },
    );
  const type = remembered.type || typeOfElement(element) || 'package';
  const client = remembered.client || defaultClient(type);
  const folder = remembered.folder ?? '';
  validateFolder(type, folder);
  const inXml = baseUrl ?? (remembered.baseUrl || publicUrl);
  const otherBaseUrl = inXml === undefined || readBaseUrl(inXml) === said ? undefined : readBaseUrl(inXml);
  return { id, name, element, type, client, folder, baseUrl: said, otherBaseUrl };
}
