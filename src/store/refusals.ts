import type { Access } from './access-log';
import { isSqlite, table, type Db } from './database';
import { rawChange } from './statements';
import { toSqlTime } from './time';

/**
 * Records when licences were last refused, by which lists find them: the access log has that in millions of rows. A later
 * time that is stored stays. In the order of ids, to avoid deadlocks.
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
