import { inChunks } from '../base/chunks';
import { isSqlite, table, type Db } from './engine/database';
import { deleteDownloads } from './licenses/license-downloads';
import { rowToFields } from './engine/row-fields';
import { forceIndex, orderedJoin, placeholders, rawChange, rawRows, tableBy } from './engine/statements';
import { toSqlTime } from './engine/time';

/**
 * Reported sites (telemetry): what customers' sites report with a download, and the networks that downloaded with each key.
 */

export interface ReportedSite {
  licenseId: number;
  /** the downloaded product; a licence may cover several */
  productId: number;
  /** a domain, in the form in which activations are stored */
  site: string;
  /** the version that it reported as installed */
  version: string;
  /** when it first reported this version */
  firstAt: Date;
  at: Date;
}

export interface KeyNetwork {
  keyId: number;
  /** a digest of key and network */
  network: string;
  at: Date;
}

export interface SpreadingKey {
  keyId: number;
  licenseId: number;
  at: Date;
}

/** The maximum number of reported sites of a licence. The sites that reported longest ago are deleted first. */
export const MAX_REPORTED_SITES = 1_000;
/** The maximum number of networks that are counted for one key. */
export const MAX_NETWORKS = 5_000;

/** The number of rows that one statement deletes: as many as one batch of the access log reports. */
const BATCH_SIZE = 500;

/** Stores the latest report of each licence, product and site; may be repeated. Sorted by key, to avoid deadlocks. */
export async function recordReportedSites(db: Db, told: Omit<ReportedSite, 'firstAt'>[]): Promise<void> {
  const latest = new Map<string, Omit<ReportedSite, 'firstAt'>>();
  for (const one of told) {
    const key = [one.licenseId, one.productId, one.site].join(' ');
    if (one.at >= (latest.get(key)?.at ?? 0)) latest.set(key, one);
  }
  if (latest.size === 0) return;
  const rows = [...latest.values()].sort(
    (a, b) => a.licenseId - b.licenseId || a.productId - b.productId || (a.site < b.site ? -1 : 1),
  );
  const given = (column: string) => (isSqlite(db) ? `excluded.${column}` : `VALUES(${column})`);
  const conflict = isSqlite(db)
    ? 'ON CONFLICT (license_id, product_id, site) DO UPDATE SET'
    : 'ON DUPLICATE KEY UPDATE';
  const old = (column: string) => (isSqlite(db) ? `${table(db, 'told_sites')}.${column}` : column);
  const isLater = `${given('at')} >= ${old('at')}`;
  // MySQL assigns from left to right: each assignment still sees the old values of the columns after it.
  await rawChange(
    db,
    `INSERT INTO ${table(db, 'told_sites')} (license_id, product_id, site, version, first_at, at)
     VALUES ${rows.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')} ${conflict}
       first_at = CASE WHEN ${isLater} AND ${given('version')} <> ${old('version')}
                         THEN ${given('at')} ELSE ${old('first_at')} END,
       version = CASE WHEN ${isLater} THEN ${given('version')} ELSE ${old('version')} END,
       at = CASE WHEN ${isLater} THEN ${given('at')} ELSE ${old('at')} END`,
    rows.flatMap(({ licenseId, productId, site, version, at }) => [
      licenseId,
      productId,
      site,
      version,
      toSqlTime(at),
      toSqlTime(at),
    ]),
  );
  await forgetBeyond(db, [...new Set(rows.map(({ licenseId }) => licenseId))]);
}

async function forgetBeyond(db: Db, licenseIds: number[]): Promise<void> {
  const full = await rawRows<{ license_id: number }>(
    db,
    `SELECT license_id FROM ${table(db, 'told_sites')} WHERE license_id IN (${placeholders(licenseIds.length)})
      GROUP BY license_id HAVING COUNT(*) > ${MAX_REPORTED_SITES}`,
    licenseIds,
  );
  for (const { license_id } of full) {
    const oldest = await db(table(db, 'told_sites'))
      .where({ license_id })
      .orderBy('at', 'desc')
      .offset(MAX_REPORTED_SITES)
      .limit(BATCH_SIZE)
      .select('product_id', 'site');
    for (const product_id of new Set(oldest.map((one) => one.product_id)))
      await db(table(db, 'told_sites'))
        .where({ license_id, product_id })
        .whereIn(
          'site',
          oldest.filter((one) => one.product_id === product_id).map(({ site }) => site),
        )
        .delete();
  }
}

/** Counts a product's sites by the version that they reported. */
export async function countReportedVersions(
  db: Db,
  productId: number,
): Promise<{ version: string; count: number }[]> {
  const rows = await db(tableBy(db, 'told_sites', 'product_id', 'version', 'first_at'))
    .where({ product_id: productId })
    .groupBy('version')
    .select<{ version: string; n: number | string }[]>('version', db.raw('COUNT(*) AS n'));
  return rows.map(({ version, n }) => ({ version, count: Number(n) }));
}

/** Returns when the n-th site (from 1) first reported one of these versions; undefined if fewer sites have. */
export async function findReportedVersion(
  db: Db,
  productId: number,
  versions: string[],
  n: number,
): Promise<Date | undefined> {
  const row = await db(tableBy(db, 'told_sites', 'product_id', 'version', 'first_at'))
    .where({ product_id: productId })
    .whereIn('version', versions)
    .orderBy('first_at')
    .offset(n - 1)
    .first();
  return row && rowToFields(row).firstAt;
}

export interface ReportedSiteCursor {
  at: string;
  licenseId: number;
  site: string;
}

/** Lists a product's sites that reported none of these versions, by their latest report. */
export async function listReportedSites(
  db: Db,
  productId: number,
  {
    without,
    after,
    limit,
    isDown,
  }: { without: string[]; after?: ReportedSiteCursor | undefined; limit: number; isDown: boolean },
): Promise<ReportedSite[]> {
  const order = isDown ? 'desc' : 'asc';
  const further = isDown ? '<' : '>';
  const query = db(tableBy(db, 'told_sites', 'product_id', 'at'))
    .where({ product_id: productId })
    .whereNotIn('version', without)
    .orderBy([
      { column: 'at', order },
      { column: 'license_id', order },
      { column: 'site', order },
    ])
    .limit(limit);
  if (after !== undefined)
    query
      .where('at', `${further}=`, after.at)
      .whereRaw(`(at ${further} ? OR license_id ${further} ? OR (license_id = ? AND site ${further} ?))`, [
        after.at,
        after.licenseId,
        after.licenseId,
        after.site,
      ]);
  return (await query).map(rowToFields);
}

/** Lists a product's sites that reported a version, latest first. @param after its `at` is the time of that first report */
export async function listSitesWithVersion(
  db: Db,
  productId: number,
  { version, after, limit }: { version: string; after?: ReportedSiteCursor | undefined; limit: number },
): Promise<ReportedSite[]> {
  const query = db(tableBy(db, 'told_sites', 'product_id', 'version', 'first_at'))
    .where({ product_id: productId, version })
    .orderBy([
      { column: 'first_at', order: 'desc' },
      { column: 'license_id', order: 'desc' },
      { column: 'site', order: 'desc' },
    ])
    .limit(limit);
  if (after !== undefined)
    query
      .where('first_at', '<=', after.at)
      .whereRaw('(first_at < ? OR license_id < ? OR (license_id = ? AND site < ?))', [
        after.at,
        after.licenseId,
        after.licenseId,
        after.site,
      ]);
  return (await query).map(rowToFields);
}

/** Lists the reported sites of these licences, newest first, at most MAX_REPORTED_SITES of each. */
export async function listReportedSitesOf(
  db: Db,
  licenseIds: number[],
  limit?: number,
): Promise<ReportedSite[]> {
  return inChunks(licenseIds, async (ids) => {
    const query = db(tableBy(db, 'told_sites'))
      .whereIn('license_id', ids)
      .orderBy([
        { column: 'at', order: 'desc' },
        { column: 'license_id', order: 'desc' },
        { column: 'site', order: 'desc' },
      ]);
    if (limit !== undefined) query.limit(limit);
    return (await query).map(rowToFields);
  });
}

/** Lists the networks that downloaded with the keys of these licences. */
export async function listNetworksOf(db: Db, licenseIds: number[]): Promise<KeyNetwork[]> {
  const keyIds = await keysOf(db, licenseIds);
  if (keyIds.length === 0) return [];
  const rows = await db(tableBy(db, 'key_networks'))
    .whereIn('key_id', keyIds)
    .orderBy([{ column: 'key_id' }, { column: 'network' }]);
  return rows.map(rowToFields);
}

async function keysOf(db: Db, licenseIds: number[]): Promise<number[]> {
  if (licenseIds.length === 0) return [];
  return db(tableBy(db, 'license_keys', 'license_id'))
    .whereIn('license_id', licenseIds)
    .pluck('id');
}

/** Stores the latest download of each key and network; may be repeated. Sorted by key, to avoid deadlocks. */
export async function recordNetworks(db: Db, networks: KeyNetwork[]): Promise<void> {
  if (networks.length === 0) return;
  const rows = [...networks].sort((a, b) => a.keyId - b.keyId || (a.network < b.network ? -1 : 1));
  const later = isSqlite(db)
    ? 'ON CONFLICT (key_id, network) DO UPDATE SET at = MAX(at, excluded.at)'
    : 'ON DUPLICATE KEY UPDATE at = GREATEST(at, VALUES(at))';
  await rawChange(
    db,
    `INSERT INTO ${table(db, 'key_networks')} (key_id, network, at)
     VALUES ${rows.map(() => '(?, ?, ?)').join(', ')} ${later}`,
    rows.flatMap(({ keyId, network, at }) => [keyId, network, toSqlTime(at)]),
  );
}

/** The number of a key's networks, and the limits that decide how many it may have. */
export interface NetworkCount {
  keyId: number;
  licenseId: number;
  networks: number;
  /** the limit of the key; null: none of its own */
  ownLimit: number | null;
  licenseLimit: number;
}

/** Counts the networks with a download since a given time of the keys that have more than `above`. Nearly all have fewer. */
export async function countNetworks(
  db: Db,
  keyIds: number[],
  since: Date,
  above: number,
): Promise<NetworkCount[]> {
  if (keyIds.length === 0) return [];
  return rawRows<NetworkCount>(
    db,
    `SELECT n.keyId, n.networks, k.license_id AS licenseId, k.activation_limit AS ownLimit, l.activation_limit AS licenseLimit
       FROM (SELECT key_id AS keyId, COUNT(*) AS networks FROM ${table(db, 'key_networks')}
              WHERE key_id IN (${placeholders(keyIds.length)}) AND at >= ? GROUP BY key_id HAVING COUNT(*) > ?) n
       ${orderedJoin(db)} ${table(db, 'license_keys')} k${forceIndex(db, 'license_keys', 'id')} ON k.id = n.keyId
       ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = k.license_id`,
    [...keyIds, toSqlTime(since), above],
  );
}

/** Deletes some of the networks that a key has above MAX_NETWORKS. Any will do, because no list distinguishes them. */
export async function forgetNetworksBeyond(db: Db, keyId: number): Promise<void> {
  const beyond = await db(tableBy(db, 'key_networks'))
    .where({ key_id: keyId })
    .orderBy('network')
    .offset(MAX_NETWORKS)
    .limit(BATCH_SIZE)
    .pluck('network');
  await db(table(db, 'key_networks')).where({ key_id: keyId }).whereIn('network', beyond).delete();
}

/** Records that a key was found in many hands. */
export async function recordSpreading(db: Db, { keyId, licenseId, at }: SpreadingKey): Promise<void> {
  const later = isSqlite(db)
    ? 'ON CONFLICT (key_id) DO UPDATE SET at = MAX(at, excluded.at)'
    : 'ON DUPLICATE KEY UPDATE at = GREATEST(at, VALUES(at))';
  await rawChange(
    db,
    `INSERT INTO ${table(db, 'spreading_keys')} (key_id, license_id, at) VALUES (?, ?, ?) ${later}`,
    [keyId, licenseId, toSqlTime(at)],
  );
}

/** Lists keys that were found in many hands since a given time, latest first. */
export async function listSpreading(
  db: Db,
  since: Date,
  limit: number,
  licenseId?: number,
): Promise<SpreadingKey[]> {
  const rows = await db(tableBy(db, 'spreading_keys', licenseId === undefined ? 'at' : 'license_id'))
    .where(licenseId === undefined ? {} : { license_id: licenseId })
    .where('at', '>=', toSqlTime(since))
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'key_id', order: 'desc' },
    ])
    .limit(limit);
  return rows.map(rowToFields);
}

/** Deletes everything reported about licences and their keys, and their last downloads. @returns how many rows */
export async function deleteReportedSites(db: Db, licenseIds: number[]): Promise<number> {
  if (licenseIds.length === 0) return 0;
  const keyIds = await keysOf(db, licenseIds);
  const sites = await db(table(db, 'told_sites')).whereIn('license_id', licenseIds).delete();
  const networks =
    keyIds.length === 0 ? 0 : await db(table(db, 'key_networks')).whereIn('key_id', keyIds).delete();
  return (
    sites +
    networks +
    (await db(table(db, 'spreading_keys')).whereIn('license_id', licenseIds).delete()) +
    (await deleteDownloads(db, licenseIds))
  );
}

/** Deletes a few sites without a report since `sites`, and networks without a download since `networks`. @returns how many */
export async function pruneReportedSites(
  db: Db,
  before: { sites: Date; networks: Date },
  limit: number,
): Promise<number> {
  const sites = await db(tableBy(db, 'told_sites', 'at'))
    .where('at', '<', toSqlTime(before.sites))
    .limit(limit)
    .select('license_id', 'product_id', 'site');
  for (const one of sites) await db(table(db, 'told_sites')).where(one).delete();
  const networks = await db(tableBy(db, 'key_networks', 'at'))
    .where('at', '<', toSqlTime(before.networks))
    .limit(limit)
    .select('key_id', 'network');
  for (const one of networks) await db(table(db, 'key_networks')).where(one).delete();
  const spreading = await db(tableBy(db, 'spreading_keys', 'at'))
    .where('at', '<', toSqlTime(before.networks))
    .limit(limit)
    .pluck('key_id');
  if (spreading.length > 0) await db(table(db, 'spreading_keys')).whereIn('key_id', spreading).delete();
  return Math.max(sites.length, networks.length, spreading.length);
}
