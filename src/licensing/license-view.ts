import {
  countFreeActivations,
  listIdentifiersOfKey,
  type StoredActivation,
} from '../store/licenses/activations';
import type { Plan, Product } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { findEvents, listLatestEvents, type EventAction, type RecordedEvent } from '../store/events';
import { countSlotsByKey, findKeys, type LicenseKey } from '../store/licenses/license-keys';
import { findLicense, type License } from '../store/licenses/licenses';
import { inSnapshot } from '../store/engine/transaction';
import { throwLicenseNotFound, requirePlan, requireProduct } from './find-or-throw';
import type { KeyUse } from './license-keys';
import { listKeyPage, searchSitePage, type Page, type PageRequest } from './lists';

export type { RecordedEvent };

/** The content of a licence's page, read at one moment, with only a part of long lists. */
export interface LicenseView {
  license: License;
  plan: Plan;
  product: Product;
  mainKey: KeyUse;
  /** the keys other than the main key, oldest first, including ended keys */
  otherKeys: Page<KeyUse>;
  /** newest first */
  sites: Page<StoredActivation>;
  /** the number of activations that take no slot */
  freeSites: number;
  /** newest first */
  events: RecordedEvent[];
}

/** @throws OperatorError if the licence does not exist */
export function viewLicense(
  db: Db,
  id: number,
  { keys, sites, events }: { keys: number; sites: number; events: number },
): Promise<LicenseView> {
  return inSnapshot(db, async (trx) => {
    const license = (await findLicense(trx, id)) ?? throwLicenseNotFound(id);
    return {
      license,
      plan: await requirePlan(trx, license.plan.id),
      product: await requireProduct(trx, license.product.id),
      ...(await viewKeys(trx, license, { limit: keys })),
      sites: await searchSitePage(trx, id, undefined, { limit: sites }),
      freeSites: (await countFreeActivations(trx, [id])).get(id) ?? 0,
      events: await listLatestEvents(trx, id, { limit: events }),
    };
  });
}

/** Returns the main key, and a page of the other keys. */
export async function viewKeys(
  db: Db,
  { id, mainKeyId }: Pick<License, 'id' | 'mainKeyId'>,
  page: PageRequest,
): Promise<Pick<LicenseView, 'mainKey' | 'otherKeys'>> {
  const [[main], { items, next }] = [await findKeys(db, [mainKeyId]), await listKeyPage(db, id, page)];
  const slots = await countSlotsByKey(db, id);
  const use = (key: LicenseKey): KeyUse => {
    const isMain = key.id === mainKeyId;
    return { key, isMain, used: slots.get(isMain ? null : key.id) ?? 0 };
  };
  const others = items.filter((key) => key.id !== mainKeyId);
  return { mainKey: use(main as LicenseKey), otherKeys: { items: others.map(use), next } };
}

/** Finds the newest identifiers that each key activated, by key id, including those that take no slot. */
export async function viewKeySites(
  db: Db,
  { id }: Pick<License, 'id'>,
  keys: KeyUse[],
  each: number,
): Promise<Map<number, string[]>> {
  const sites = new Map<number, string[]>();
  for (const { key, isMain } of keys)
    sites.set(key.id, await listIdentifiersOfKey(db, id, isMain ? null : key.id, each));
  return sites;
}

/** Returns one key of a licence; undefined if it has no key with this id. */
export async function viewKey(
  db: Db,
  { id, mainKeyId }: Pick<License, 'id' | 'mainKeyId'>,
  keyId: number,
): Promise<KeyUse | undefined> {
  const [key] = await findKeys(db, [keyId]);
  if (key?.licenseId !== id) return undefined;
  const isMain = keyId === mainKeyId;
  return { key, isMain, used: (await countSlotsByKey(db, id)).get(isMain ? null : keyId) ?? 0 };
}

const STOPS = { suspended: 'suspend', revoked: 'revoke', cancelled: 'cancel' } as const;

/** Finds the event that suspended, revoked or cancelled a licence, if it is stopped now. */
export async function findStop(db: Db, { id, status }: License): Promise<RecordedEvent | undefined> {
  const action = (STOPS as Partial<Record<string, EventAction>>)[status];
  return action && (await findEvents(db, [action], { licenseId: id }, 1))[0];
}
