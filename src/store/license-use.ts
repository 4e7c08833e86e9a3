import { table, type Db } from './database';
import { forceIndex, licenseIndex, orderedJoin, placeholders, rawRows, tableBy } from './statements';

export type LicenseUse = 'activated' | 'downloaded' | 'ordered' | 'changed' | 'older-key';

/**
 * Licences that somebody has used or changed since they were imported, and how. Checks of a key count as nothing. With an
 * older key, one goes that a former import brought, and that customers may use.
 * @param ids of locked licences
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
  note(
    await rawRows<{ license_id: number }>(
      db,
      `SELECT DISTINCT k.license_id FROM ${table(db, 'license_keys')} k${forceIndex(db, 'license_keys', ...licenseIndex('license_keys'))}
         ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = k.license_id
        WHERE k.license_id IN (${placeholders(ids.length)}) AND k.created_at < l.created_at`,
      ids,
    ),
    'older-key',
  );
  return used;
}
