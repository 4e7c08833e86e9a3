import { downloadsSql, lastDownloads, type DownloadRow } from '../../../migrations/license-downloads';
import { inChunks } from '../../base/chunks';
import { readSiteAccesses, lastSeenAt, type Access } from '../access-log';
import { isSqlite, table, type Db } from '../engine/database';
import { wasMigrated } from '../engine/migrate';
import { rowToFields } from '../engine/row-fields';
import { rawChange } from '../engine/statements';
import { toSqlTime } from '../engine/time';

/** The last granted download of each licence and product. The access log forgets it after some months. */

export interface LicenseDownload {
  licenseId: number;
  /** the downloaded product; a licence may cover several */
  productId: number;
  version: string;
  at: Date;
}

/** Stores the granted downloads among these accesses; may be repeated. A later stored one stays. */
export async function recordDownloads(
  db: Db,
  accesses: Pick<Access, 'endpoint' | 'outcome' | 'licenseId' | 'productId' | 'version' | 'at'>[],
): Promise<void> {
  const rows: DownloadRow[] = [];
  for (const { endpoint, outcome, licenseId, productId, version, at } of accesses)
    if (endpoint === 'download' && outcome === 'ok' && licenseId !== null && productId !== null && version)
      rows.push([licenseId, productId, version, toSqlTime(at)]);
  if (rows.length === 0) return;
  const last = lastDownloads(rows);
  await rawChange(db, downloadsSql(isSqlite(db), table(db, 'license_downloads'), last.length), last.flat());
}

/**
 * Stores the downloads that an earlier version has granted since a time, if an upgrade has filled the table since then:
 * its instances know no such table.
 */
export async function recordEarlierDownloads(db: Db, since: Date): Promise<void> {
  if (!(await wasMigrated(db, '006_license_downloads', since))) return;
  for await (const accesses of readSiteAccesses(db, since))
    await recordDownloads(
      db,
      accesses.map((one) => ({ ...one, at: lastSeenAt(one) })),
    );
}

/** Lists the last downloads of these licences. */
export async function listDownloadsOf(db: Db, licenseIds: number[]): Promise<LicenseDownload[]> {
  return inChunks(licenseIds, async (ids) => {
    const rows = await db(table(db, 'license_downloads'))
      .whereIn('license_id', ids)
      .orderBy(['license_id', 'product_id']);
    return rows.map(rowToFields);
  });
}

/** @returns how many rows */
export async function deleteDownloads(db: Db, licenseIds: number[]): Promise<number> {
  return db(table(db, 'license_downloads')).whereIn('license_id', licenseIds).delete();
}
