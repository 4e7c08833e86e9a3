import { join, resolve } from 'node:path';
import { requireProduct } from '../../licensing/find-or-throw';
import { OperatorError } from '../../licensing/operator-error';
import type { Stability } from '../../licensing/versions';
import type { Product } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import { typeOfElement } from '../extension-types';
import { DEFAULT_TARGET_PLATFORM } from '../target-platform';
import {
  defaultClient,
  readBaseUrl,
  validateFolder,
  validateInfoUrl,
  validatePlatform,
  validatePhp,
} from './validate-options';
import { homeFile, type XmlLocation } from './location';
import {
  DEFAULT_PHP_MINIMUM,
  readSavedOptions,
  type SavedOptions,
  type UpdateXmlSettings,
} from './saved-options';

export type UpdateXmlInput = { [K in keyof UpdateXmlSettings]?: UpdateXmlSettings[K] | undefined } & {
  /** Joomla's name of the extension, which is also stored with the product */
  element?: string | undefined;
  /** for the highest version only, instead of the tag that its version number implies */
  tag?: Stability | undefined;
  /** offers versions below withdrawn ones; stored with the withdrawn versions */
  allowDowngrade?: boolean | undefined;
};

export interface KnownProduct extends Product {
  element: string;
}

/** Returns the settings in effect: the new ones, otherwise the stored ones, otherwise the defaults. @throws OperatorError */
export async function readSettings(
  db: Db,
  productId: number,
  given: UpdateXmlInput,
  cwd: string,
  home: XmlLocation | undefined,
): Promise<{
  product: KnownProduct;
  settings: UpdateXmlSettings;
  file: string | undefined;
  remembered: SavedOptions;
  isTypeAssumed: boolean;
}> {
  const product = await requireProduct(db, productId);
  const remembered = await readSavedOptions(db, productId);
  const element = given.element || product.element;
  if (!element)
    throw new OperatorError(
      'Joomla finds the extension by its element. Give it with --element, such as pkg_example. The product keeps it.',
    );
  const said = <K extends keyof UpdateXmlSettings>(name: K): UpdateXmlSettings[K] | undefined => {
    const value = given[name] ?? remembered[name];
    return value === '' ? undefined : (value as UpdateXmlSettings[K] | undefined);
  };
  const baseUrl = readBaseUrl(said('baseUrl') ?? home?.publicUrl);
  const own = given.out === undefined || given.out === '' ? said('out') : resolve(cwd, given.out);
  const file = own === undefined ? await homeFile(db, { ...product, element }, remembered, home) : undefined;
  const out = own ?? (file === undefined ? undefined : join(home?.xmlDir ?? '', file));
  if (out === undefined)
    throw new OperatorError('Name the file to write with --out. It is stored for the next time.');
  const knownType = said('type') ?? typeOfElement(element);
  const type = knownType ?? 'package';
  const settings: UpdateXmlSettings = {
    baseUrl,
    out,
    infoUrl: said('infoUrl') ?? baseUrl,
    infoTitle: said('infoTitle') ?? product.name,
    description: said('description') ?? product.name,
    type,
    client: said('client') ?? defaultClient(type),
    folder: said('folder') ?? '',
    targetPlatform: said('targetPlatform') ?? DEFAULT_TARGET_PLATFORM,
    phpMinimum: said('phpMinimum') ?? DEFAULT_PHP_MINIMUM,
    supportedDatabases: said('supportedDatabases') ?? {},
  };
  refuseUseless(settings);
  return {
    product: { ...product, element },
    settings,
    file,
    remembered,
    isTypeAssumed: knownType === undefined,
  };
}

function refuseUseless({ type, folder, targetPlatform, phpMinimum, infoUrl }: UpdateXmlSettings): void {
  validateFolder(type, folder);
  validatePlatform(targetPlatform);
  validatePhp(phpMinimum);
  validateInfoUrl(infoUrl);
}
