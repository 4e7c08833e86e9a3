import type { Access } from './access-log';
import { isSqlite, table, type Db } from './engine/database';
import { rowToFields, type RowOf } from './engine/row-fields';
import { forceIndex, orderedJoin, rawChange, rawRows } from './engine/statements';
import { toSqlTime } from './engine/time';

/**
 * Records the latest refusal of each licence, by which lists find them: in the access log it is among millions of rows.
 * A later stored time stays. Rows are written in the order of ids, to avoid deadlocks.
 */
export async function recordRefusals(
  db: Db,
  accesses: Pick<Access, 'licenseId' | 'outcome' | 'at'>[],
): Promise<void> {
  const latest = new Map<number, Date>();
  for (const { licenseId, outcome, at } of accesses)
    if (licenseId !== null && outcome !== 'ok' && at > (latest.get(licenseId) ?? 0))
      latest.set(licenseId, at);
  if (latest.size === 0) return;
  const rows = [...latest].sort(([a], [b]) => a - b);
  const later = isSqlite(db)
    ? 'ON CONFLICT (license_id) DO UPDATE SET at = MAX(at, excluded.at)'
    : 'ON DUPLICATE KEY UPDATE at = GREATEST(at, VALUES(at))';
  await rawChange(
    db,
    `INSERT INTO ${table(db, 'license_refusals')} (license_id, at) VALUES ${rows.map(() => '(?, ?)').join(', ')} ${later}`,
    rows.flatMap(([id, at]) => [id, toSqlTime(at)]),
  );
}

export interface RefusedLicense extends StatusTerms {
  id: number;
  /** the time of its latest refused request */
  at: Date;
  activationLimit: number;
  activationsUsed: number;
}

/** The columns of a licence that decide its live status (licensing/core/states.ts). */
interface StatusTerms {
  status: string;
  expiresAt: Date | null;
}

/** Lists licences with a refused request since a given time, latest first. */
export async function listRefusedLicenses(db: Db, since: Date, limit: number): Promise<RefusedLicense[]> {
  const rows = await rawRows<RowOf<RefusedLicense>>(
    db,
    `SELECT l.id, l.status, l.expires_at, l.activation_limit, l.activations_used, o.at
       FROM ${table(db, 'license_refusals')} o${forceIndex(db, 'license_refusals', 'at')}
       ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = o.license_id
      WHERE o.at >= ? ORDER BY o.at DESC LIMIT ${limit}`,
    [toSqlTime(since)],
  );
  return rows.map(rowToFields);
}
