import { throwProductNotFound, requireProduct } from '../../licensing/find-or-throw';
import { STABILITIES, type Stability } from '../../licensing/versions';
import { lockProduct, setUpdateXmlSettings } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import { listPublishedVersions } from '../../store/releases';
import { inTransaction } from '../../store/engine/transaction';
import {
  EXTENSION_CLIENTS,
  EXTENSION_TYPES,
  typeOfElement,
  type ExtensionClient,
  type ExtensionType,
} from '../extension-types';
import { DEFAULT_TARGET_PLATFORM } from '../target-platform';
import {
  defaultClient,
  refusedOption,
  validateFolder,
  validateInfoUrl,
  validatePlatform,
  validatePhp,
} from './validate-options';
import {
  DATABASES,
  DEFAULT_PHP_MINIMUM,
  readSavedOptions,
  mergeOptions,
  type DatabaseMinimums,
  type SavedOptions,
} from './saved-options';

/** The options of a product's update XML as JSON in snake_case; null for the default. */
export interface XmlOptions {
  description: string | null;
  info_url: string | null;
  info_title: string | null;
  target_platform: string | null;
  php_minimum: string | null;
  supported_databases: DatabaseMinimums | null;
  /** the tag of the highest published version */
  tag: Stability | null;
  type: ExtensionType | null;
  client: ExtensionClient | null;
  folder: string | null;
}

/** Returns the options. @throws OperatorError if the product does not exist */
export async function readUpdateXmlOptions(db: Db, productId: number): Promise<XmlOptions> {
  await requireProduct(db, productId);
  const remembered = await readSavedOptions(db, productId);
  const [highest] = await listPublishedVersions(db, productId);
  return {
    description: remembered.description ?? null,
    info_url: remembered.infoUrl ?? null,
    info_title: remembered.infoTitle ?? null,
    target_platform: remembered.targetPlatform ?? null,
    php_minimum: remembered.phpMinimum ?? null,
    supported_databases: remembered.supportedDatabases ?? null,
    tag: (highest === undefined ? undefined : remembered.versions?.[highest]?.tag) ?? null,
    type: remembered.type ?? null,
    client: remembered.client ?? null,
    folder: remembered.folder ?? null,
  };
}

/**
 * Stores options of a product's update XML, with the checks of `update-xml write`. undefined keeps an option; null or
 * an empty text clears it. `regenerateUpdateXml` then updates the file.
 * @throws OperatorError with the option's name, after which nothing is stored
 */
export function setUpdateXmlOptions(
  db: Db,
  productId: number,
  options: { [K in keyof XmlOptions]?: XmlOptions[K] | '' | undefined },
): Promise<XmlOptions> {
  return inTransaction(db, async (trx) => {
    const product = (await lockProduct(trx, productId)) ?? throwProductNotFound(productId);
    const { tag } = options;
    refuseUnknown('type', options.type, EXTENSION_TYPES);
    refuseUnknown('client', options.client, EXTENSION_CLIENTS);
    refuseUnknown('tag', tag, STABILITIES);
    const cleared = <T>(value: T | null | undefined) => (value === null ? ('' as const) : value);
    const given = {
      description: cleared(options.description),
      infoUrl: cleared(options.info_url),
      infoTitle: cleared(options.info_title),
      targetPlatform: cleared(options.target_platform),
      phpMinimum: cleared(options.php_minimum),
      supportedDatabases: cleared(options.supported_databases),
      type: cleared(options.type),
      client: cleared(options.client),
      folder: cleared(options.folder),
    };
    const { versions = {}, ...before } = await readSavedOptions(trx, productId);
    const changed = mergeOptions(before, given);
    refuseOptions(changed, product.element);
    const tagged =
      tag === undefined ? versions : await withTag(trx, productId, versions, changed, tag || null);
    await setUpdateXmlSettings(trx, productId, JSON.stringify({ ...changed, versions: tagged }));
    return readUpdateXmlOptions(trx, productId);
  });
}

function refuseUnknown(field: string, value: unknown, known: readonly string[]): void {
  if (value !== undefined && value !== null && value !== '' && !known.includes(value as string))
    throw refusedOption(field, `It must be one of ${known.join(', ')}.`);
}

function refuseOptions(options: SavedOptions, element: string | null): void {
  const type = options.type ?? (element === null ? undefined : (typeOfElement(element) ?? 'package'));
  const { targetPlatform, phpMinimum, infoUrl, folder = '', supportedDatabases = {} } = options;
  if (type !== undefined) {
    if (options.client === undefined) defaultClient(type);
    validateFolder(type, folder);
  }
  if (targetPlatform !== undefined) validatePlatform(targetPlatform);
  if (phpMinimum !== undefined) validatePhp(phpMinimum);
  if (infoUrl !== undefined) validateInfoUrl(infoUrl);
  for (const [name, version] of Object.entries(supportedDatabases))
    if (!(DATABASES as readonly string[]).includes(name) || !/^[0-9][0-9A-Za-z.+-]*$/.test(version))
      throw refusedOption(
        'supported_databases',
        `It must give the lowest version of one or more of ${DATABASES.join(', ')}, such as 8.0.13.`,
      );
}

/** Sets or clears the tag of the highest published version. */
async function withTag(
  db: Db,
  productId: number,
  versions: NonNullable<SavedOptions['versions']>,
  { targetPlatform, phpMinimum, supportedDatabases }: SavedOptions,
  tag: Stability | null,
): Promise<SavedOptions['versions']> {
  const [highest] = await listPublishedVersions(db, productId);
  if (highest === undefined) {
    if (tag === null) return versions;
    throw refusedOption('tag', 'It belongs to the highest published version, and no version is published.');
  }
  const known: NonNullable<SavedOptions['versions']>[string] = versions[highest] ?? {
    targetPlatform: targetPlatform ?? DEFAULT_TARGET_PLATFORM,
    phpMinimum: phpMinimum ?? DEFAULT_PHP_MINIMUM,
    supportedDatabases: supportedDatabases ?? {},
    // Until the XML is written with this version.
    notOffered: true as const,
  };
  const tagged = { ...known };
  if (tag === null) delete tagged.tag;
  else tagged.tag = tag;
  return { ...versions, [highest]: tagged };
}
