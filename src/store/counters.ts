import { table, type Db, type Transaction } from './database';
import { forceIndex, licenseIndex, placeholders } from './statements';

export interface Miscount {
  licenseId: number;
  activationsUsed: number;
  activations: number;
}

/** Licences whose counter differs from the number of their activations with a slot, by id. */
export async function findMiscounts(db: Db, limit: number): Promise<Miscount[]> {
  const rows = (await db({ l: table(db, 'licenses') })
    .leftJoin({ a: table(db, 'activations') }, (on) => on.on('a.license_id', 'l.id').onVal('a.free', 0))
    .groupBy('l.id', 'l.activations_used')
    .havingRaw('COUNT(a.id) <> l.activations_used')
    .orderBy('l.id')
    .limit(limit)
    .select({ licenseId: 'l.id', activationsUsed: 'l.activations_used' })
    .count({ activations: 'a.id' })) as unknown as Miscount[];
  return rows;
}

/** The number of a licence's activations with a slot; it cannot change while the licence is locked. */
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
