import { hash } from 'node:crypto';
import { DAY_MS } from '../base/days';
import type { Access } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { findKeys, type LicenseKey } from '../store/licenses/license-keys';
import { findLicensesByIds, type License } from '../store/licenses/licenses';
import {
  countNetworks,
  forgetNetworksBeyond,
  listSpreading,
  listReportedSitesOf,
  MAX_NETWORKS,
  recordNetworks,
  recordSpreading,
  recordReportedSites,
  type KeyNetwork,
  type ReportedSite,
} from '../store/reported-sites';
import type { Page, PageRequest } from './cursors';
import { wideNetworkOf } from './ip-addresses';
import { createTtlMap } from './ttl-map';
import { columnOf, readSort, sortRows } from './sorting';
import { enqueueSpreadingWebhook } from './webhook-events';

export { listReportedSitesOf };

/** The reports of downloads: which version a site has, and in how many networks a key is used (docs/told-sites.md). */

/** The days over which the networks of a key are counted. */
export const SPREAD_DAYS = 30;
/** The days for which a site's report is kept. */
export const REPORTED_SITE_DAYS = 180;
/** See LICENSING_SPREAD_FACTOR (docs/settings.md). */
export const SPREAD_FACTOR = 3;
/** The networks that every key may have in addition to its slots' share: providers change addresses, and people travel. */
const ALLOWANCE = 10;
/** The keys and networks that a process remembers, so that it writes each only once a day. */
const MAX_REMEMBERED = 50_000;

/** Returns the maximum of networks in 30 days; a key with more is in many hands. undefined for an unlimited licence. */
export function maxNetworks(slots: number, spreadFactor: number): number | undefined {
  return slots === 0 ? undefined : spreadFactor * slots + ALLOWANCE;
}

/** Returns how many sites a key may activate: its own limit, otherwise its licence's. 0: unlimited. */
export function maxSitesOfKey(
  key: Pick<LicenseKey, 'activationLimit'>,
  license: Pick<License, 'activationLimit'>,
): number {
  const { activationLimit: own } = key;
  const { activationLimit: all } = license;
  if (own === null) return all;
  return all === 0 ? own : Math.min(own, all);
}

/**
 * Creates a function that stores the reports of accesses. Repeated accesses are harmless.
 * @param spreadFactor the networks of a key, as a multiple of its slots, above which it counts as in many hands
 */
export function createSiteRecorder(db: Db, spreadFactor: number): (accesses: Access[]) => Promise<void> {
  const written = createTtlMap<{ at: Date }>(MAX_REMEMBERED, DAY_MS);
  const full = createTtlMap<{ at: Date }>(MAX_REMEMBERED, DAY_MS);

  return async (accesses) => {
    await recordReportedSites(db, accesses.flatMap(toldSite));
    const networks = new Map<string, KeyNetwork>();
    for (const access of accesses) {
      const one = networkOf(access);
      if (one === undefined || full.get(String(one.keyId), one.at) !== undefined) continue;
      const name = `${one.keyId} ${one.network}`;
      if (written.get(name, one.at) === undefined) networks.set(name, one);
    }
    if (networks.size === 0) return;
    await recordNetworks(db, [...networks.values()]);
    await findSpreading([...networks.values()]);
    // This comes last, so that the next download retries what failed.
    for (const [name, { at }] of networks) written.set(name, { at });
  };

  async function findSpreading(networks: KeyNetwork[]): Promise<void> {
    const now = networks.reduce((latest, { at }) => (at > latest ? at : latest), new Date(0));
    const ids = [...new Set(networks.map(({ keyId }) => keyId))];
    const counts = await countNetworks(db, ids, daysBefore(now, SPREAD_DAYS));
    const many = [...counts].filter(([, count]) => count > spreadFactor + ALLOWANCE);
    for (const [id, count] of many) {
      if (count >= MAX_NETWORKS) full.set(String(id), { at: now });
      if (count > MAX_NETWORKS) await forgetNetworksBeyond(db, id);
    }
    const keys = await findKeys(
      db,
      many.map(([id]) => id),
    );
    for (const { key, license, most } of await withLicenses(db, keys, spreadFactor))
      if (most !== undefined && (counts.get(key.id) as number) > most) {
        await recordSpreading(db, { keyId: key.id, licenseId: license.id, at: now });
        await enqueueSpreadingWebhook(db, license.id, key.id, now);
      }
  }
}

function toldSite({
  licenseId,
  productId,
  site,
  installedVersion: version,
  at,
}: Access): Omit<ReportedSite, 'firstAt'>[] {
  if (licenseId === null || productId === null || site === null || version === null) return [];
  return [{ licenseId, productId, site, version, at }];
}

/** Returns the network of a granted download, as a digest that is not shared by other keys. */
function networkOf({ endpoint, outcome, keyId, ip, at }: Access): KeyNetwork | undefined {
  if (endpoint !== 'download' || outcome !== 'ok' || keyId === null || ip === null) return undefined;
  return { keyId, network: hash('sha256', `${keyId} ${wideNetworkOf(ip)}`).slice(0, 16), at };
}

async function withLicenses(db: Db, keys: LicenseKey[], spreadFactor: number) {
  const licenses = new Map(
    (await findLicensesByIds(db, [...new Set(keys.map(({ licenseId }) => licenseId))])).map((one) => [
      one.id,
      one,
    ]),
  );
  return keys.flatMap((key) => {
    const license = licenses.get(key.licenseId);
    if (license === undefined) return [];
    const slots = maxSitesOfKey(key, license);
    return [{ key, license, slots, most: maxNetworks(slots, spreadFactor) }];
  });
}

export interface Spreading {
  key: LicenseKey;
  license: License;
  slots: number;
  /** the number of networks in the last 30 days */
  networks: number;
  /** the maximum for this key */
  most: number;
  /** the latest download from a network that was new on that day */
  at: Date;
  /** the reported sites of the licence, newest first */
  sites: ReportedSite[];
}

/** The maximum of keys in the list. */
export const MAX_SPREADING_KEYS = 500;
const MAX_SITES = 20;

export const SPREADING_SORTS = ['at', '-at', 'networks', '-networks', 'customer', '-customer'] as const;

/** Returns a page of `listSpreadingKeys`. @param sort one of SPREADING_SORTS; undefined: latest first */
export async function listSpreadingPage(
  db: Db,
  spreadFactor: number,
  page: PageRequest,
  sort: string | undefined,
  now: Date,
): Promise<Page<Spreading>> {
  const { column, isDown } = columnOf(readSort(SPREADING_SORTS, sort) ?? '-at');
  const rows = (await listSpreadingKeys(db, spreadFactor, now)).map((one) => ({ ...one, id: one.key.id }));
  const valueOf = ({ at, networks, license }: Spreading) =>
    ({ at: at.getTime(), networks, customer: license.customer })[column];
  return sortRows(rows, valueOf, isDown, page);
}

/** Lists keys in many hands now, or those of one licence, unsorted. Ended and replaced keys are left out. */
export async function listSpreadingKeys(
  db: Db,
  spreadFactor: number,
  now: Date,
  licenseId?: number,
): Promise<Spreading[]> {
  const since = daysBefore(now, SPREAD_DAYS);
  const found = new Map(
    (await listSpreading(db, since, MAX_SPREADING_KEYS, licenseId)).map((one) => [one.keyId, one]),
  );
  const counts = await countNetworks(db, [...found.keys()], since);
  const keys = await findKeys(db, [...found.keys()]);
  const used = keys.filter(
    ({ endsAt, replacedBy }) => replacedBy === null && (endsAt === null || endsAt > now),
  );
  const listed: Spreading[] = [];
  for (const { key, license, slots, most } of await withLicenses(db, used, spreadFactor)) {
    const networks = counts.get(key.id) ?? 0;
    if (most === undefined || networks <= most) continue;
    const { at } = found.get(key.id) as { at: Date };
    listed.push({
      key,
      license,
      slots,
      networks,
      most,
      at,
      sites: await listReportedSitesOf(db, [license.id], MAX_SITES),
    });
  }
  return listed;
}

export function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}
