import { table, type Db } from '../engine/database';
import { licenseIndex, tableBy } from '../engine/statements';

export type LicenseUse = 'activated' | 'downloaded' | 'ordered' | 'changed';

/**
 * Finds licences that were used or changed since they were imported, and how. Checks of a key do not count.
 * @param ids ids of locked licences
 */
export async function findUsedLicenses(db: Db, ids: number[]): Promise<Map<number, LicenseUse>> {
  const used = new Map<number, LicenseUse>();
  if (ids.length === 0) return used;
  const note = (found: { license_id: number | null }[], how: LicenseUse) => {
    for (const { license_id: id } of found) if (id !== null && !used.has(id)) used.set(id, how);
  };
  note(
    await db(tableBy(db, 'events', ...licenseIndex('events')))
      .whereIn('license_id', ids)
      .where('action', 'activate')
      .distinct('license_id'),
    'activated',
  );
  note(
    await db(tableBy(db, 'access_log', ...licenseIndex('access_log')))
      .whereIn('license_id', ids)
      .where({ endpoint: 'download', outcome: 'ok' })
      .distinct('license_id'),
    'downloaded',
  );
  note(await db(table(db, 'told_sites')).whereIn('license_id', ids).distinct('license_id'), 'downloaded');
  note(
    await db(table(db, 'license_downloads')).whereIn('license_id', ids).distinct('license_id'),
    'downloaded',
  );
  note(
    await db(tableBy(db, 'order_licenses', 'license_id'))
      .whereIn('license_id', ids)
      .distinct('license_id'),
    'ordered',
  );
  note(
    await db(tableBy(db, 'events', ...licenseIndex('events')))
      .whereIn('license_id', ids)
      .whereNot('action', 'import')
      .distinct('license_id'),
    'changed',
  );
  return used;
}

/** Lists the digests of the keys of licences. */
export async function listKeyDigests(
  db: Db,
  ids: number[],
): Promise<{ licenseId: number; keyDigest: string }[]> {
  if (ids.length === 0) return [];
  const rows = await db(tableBy(db, 'license_keys', ...licenseIndex('license_keys')))
    .whereIn('license_id', ids)
    .select('license_id', 'key_digest');
  return rows.map((row) => ({ licenseId: row.license_id, keyDigest: row.key_digest }));
}
