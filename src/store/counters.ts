import { table, type Db, type Transaction } from './engine/database';
import { forceIndex, licenseIndex, placeholders, rawRows } from './engine/statements';

export interface Miscount {
  licenseId: number;
  activationsUsed: number;
  activations: number;
}

/** Finds licences whose counter differs from the number of their activations with a slot, by id. */
export async function findMiscounts(db: Db, limit: number): Promise<Miscount[]> {
  // In the order of the primary key, so that no temporary table of all licences is made.
  return rawRows<Miscount>(
    db,
    `SELECT l.id AS licenseId, l.activations_used AS activationsUsed, COUNT(a.id) AS activations
       FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses')}
       LEFT JOIN ${table(db, 'activations')} a${forceIndex(db, 'activations', ...licenseIndex('activations'))}
              ON a.license_id = l.id AND a.free = 0
      GROUP BY l.id HAVING activations <> activationsUsed
      ORDER BY l.id LIMIT ?`,
    [limit],
  );
}

/** Counts a licence's activations with a slot. The number cannot change while the licence is locked. */
export async function countActivations(trx: Transaction, licenseId: number): Promise<number> {
  const counted = (await trx(table(trx, 'activations'))
    .where({ license_id: licenseId, free: 0 })
    .count({ n: '*' })
    .first()) as { n: number };
  return counted.n;
}

export async function setActivationsUsed(
  trx: Transaction,
  licenseId: number,
  activationsUsed: number,
): Promise<void> {
  await trx(table(trx, 'licenses'))
    .where({ id: licenseId })
    .increment('revision', 1)
    .update({ activations_used: activationsUsed });
}

/** Sets the licences' counters to the number of their activations with a slot. */
export async function recountActivations(trx: Transaction, licenseIds: number[]): Promise<void> {
  if (licenseIds.length === 0) return;
  const licenses = table(trx, 'licenses');
  await trx.raw(
    `UPDATE ${licenses}${forceIndex(trx, 'licenses')} SET activations_used =
       (SELECT COUNT(*) FROM ${table(trx, 'activations')} a${forceIndex(trx, 'activations', ...licenseIndex('activations'))} WHERE a.license_id = ${licenses}.id AND a.free = 0)
     WHERE id IN (${placeholders(licenseIds.length)})`,
    licenseIds,
  );
}
