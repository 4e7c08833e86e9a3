import { hash } from 'node:crypto';
import { DAY_MS } from '../base/days';
import type { Access } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { recordDownloads } from '../store/licenses/license-downloads';
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
import { createTtlMap } from './core/ttl-map';
import { columnOf, readSort, sortRows } from './sorting';
import { enqueueSpreading } from './webhook-events';

export { listReportedSitesOf };

/**
 * The reports of downloads: which version a site has, and key sharing: in how many networks a key is used
 * (docs/told-sites.md).
 */

/** The number of days over which the networks of a key are counted. */
export const SPREAD_DAYS = 30;
/** The number of days for which a site's report is kept. */
export const REPORTED_SITE_DAYS = 180;
/** See LICENSING_SPREAD_FACTOR (docs/settings.md). */
export const SPREAD_FACTOR = 3;
/** The number of networks allowed in addition to the slots' share: providers change addresses, and people travel. */
const ALLOWANCE = 10;
/** The maximum number of keys and networks that a process remembers, so that it writes each only once a day. */
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
    await recordDownloads(db, accesses);
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
    const counts = await countSpread(db, ids, spreadFactor, now);
    for (const { keyId, licenseId, networks: count, isSpread } of counts) {
      if (count >= MAX_NETWORKS) full.set(String(keyId), { at: now });
      if (count > MAX_NETWORKS) await forgetNetworksBeyond(db, keyId);
      if (!isSpread) continue;
      await recordSpreading(db, { keyId, licenseId, at: now });
      await enqueueSpreading(db, licenseId, keyId, now);
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

/** Counts the networks of the keys that may have too many, with the maximum of each. */
async function countSpread(db: Db, keyIds: number[], spreadFactor: number, now: Date) {
  const since = daysBefore(now, SPREAD_DAYS);
  return (await countNetworks(db, keyIds, since, spreadFactor + ALLOWANCE)).map((one) => {
    const slots = maxSitesOfKey({ activationLimit: one.ownLimit }, { activationLimit: one.licenseLimit });
    const most = maxNetworks(slots, spreadFactor) ?? Infinity;
    return { ...one, slots, most, isSpread: one.networks > most };
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

/** The maximum number of keys in the list. */
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
  const counts = await countSpread(db, [...found.keys()], spreadFactor, now);
  const spread = new Map(counts.filter(({ isSpread }) => isSpread).map((one) => [one.keyId, one]));
  const keys = (await findKeys(db, [...spread.keys()])).filter(
    ({ endsAt, replacedBy }) => replacedBy === null && (endsAt === null || endsAt > now),
  );
  const licenses = await findLicensesByIds(db, [...new Set(keys.map(({ licenseId }) => licenseId))]);
  const listed: Spreading[] = [];
  for (const key of keys) {
    const license = licenses.find(({ id }) => id === key.licenseId);
    if (license === undefined) continue;
    const { slots, networks, most } = spread.get(key.id) as NonNullable<ReturnType<typeof spread.get>>;
    const { at } = found.get(key.id) as { at: Date };
    const sites = await listReportedSitesOf(db, [license.id], MAX_SITES);
    listed.push({ key, license, slots, networks, most, at, sites });
  }
  return listed;
}

export function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}
