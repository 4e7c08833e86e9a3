import type { Stability } from '../../licensing/versions';
import { findUpdateXmlSettings, lockProduct, setUpdateXmlSettings } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import { inTransaction } from '../../store/engine/transaction';
import type { ExtensionClient, ExtensionType } from '../extension-types';
import { readBaseUrl } from './validate-options';

export const DATABASES = ['mysql', 'mariadb', 'postgresql'] as const;
export type DatabaseMinimums = Partial<Record<(typeof DATABASES)[number], string>>;

/** The oldest PHP version that Joomla 4 supports. */
export const DEFAULT_PHP_MINIMUM = '7.2.5';

export interface Requirements {
  targetPlatform: string;
  phpMinimum: string;
  supportedDatabases: DatabaseMinimums;
}

export interface UpdateXmlSettings extends Requirements {
  baseUrl: string;
  out: string;
  infoUrl: string;
  infoTitle: string;
  description: string;
  type: ExtensionType;
  client: ExtensionClient;
  folder: string;
}

/** The stored data of a product: the options so far, and each version's requirements when it was last considered. */
export interface SavedOptions extends Partial<UpdateXmlSettings> {
  /**
   * The name in LICENSING_XML_DIR, if it was written without `out`. A new element does not change it, because
   * customers' sites request this name.
   */
  file?: string;
  versions?: Record<string, Requirements & { tag?: Stability; notOffered?: true; downgradeAllowed?: true }>;
}

/** Returns the stored data, which are empty before the first `update-xml write`. */
export async function readSavedOptions(db: Db, productId: number): Promise<SavedOptions> {
  return JSON.parse((await findUpdateXmlSettings(db, productId)) ?? '{}') as SavedOptions;
}

/** Stores the site's address for the update XML, like `update-xml write --base-url`. @throws OperatorError */
export function saveBaseUrl(db: Db, productId: number, text: string): Promise<void> {
  const baseUrl = readBaseUrl(text);
  return inTransaction(db, async (trx) => {
    await lockProduct(trx, productId);
    const remembered = await readSavedOptions(trx, productId);
    await setUpdateXmlSettings(trx, productId, JSON.stringify({ ...remembered, baseUrl }));
  });
}

/** Merges new settings into stored ones. An empty text clears one. Defaults are not stored, as their sources change. */
export function mergeOptions(before: SavedOptions, given: object): SavedOptions {
  const now = Object.entries(given).filter(([, value]) => value !== undefined);
  const said = Object.entries({ ...before, ...Object.fromEntries(now) });
  return Object.fromEntries(said.filter(([, value]) => value !== ''));
}
