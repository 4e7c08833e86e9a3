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
import { noLicense, requirePlan, requireProduct } from './find-or-refuse';
import type { KeyUse } from './license-keys';
import { listKeyPage, searchSitePage, type Page, type PageRequest } from './lists';

export type { RecordedEvent };

/** What the page of a licence shows, at one moment: of long lists only a part. */
export interface LicenseView {
  license: License;
  plan: Plan;
  product: Product;
  mainKey: KeyUse;
  /** besides the main key, the oldest first; those that have ended too */
  otherKeys: Page<KeyUse>;
  /** the newest first */
  sites: Page<StoredActivation>;
  /** how many activations take no slot */
  freeSites: number;
  /** the newest first */
  events: RecordedEvent[];
}

/** @throws OperatorError when there is no such licence */
export function viewLicense(
  db: Db,
  id: number,
  { keys, sites, events }: { keys: number; sites: number; events: number },
): Promise<LicenseView> {
  return inSnapshot(db, async (trx) => {
    const license = (await findLicense(trx, id)) ?? noLicense(id);
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

/** The main key, and a page of the others. */
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

/** The newest identifiers that came by each key, by key id. Those that take no slot are among them. */
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

/** One key of a licence; undefined: it has none with this id. */
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
