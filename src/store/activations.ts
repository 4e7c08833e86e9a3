import { table, type Db, type Transaction } from './database';
import { fromSqlTime, toSqlTime } from './time';

export interface Activation {
  licenseId: number;
  /** normalised */
  identifier: string;
  name: string | null;
  ip: string | null;
  activatedAt: Date;
}

interface ActivationRow {
  license_id: number;
  identifier: string;
  name: string | null;
  ip: string | null;
  activated_at: string;
}

export async function findActivation(
  db: Db,
  licenseId: number,
  identifier: string,
): Promise<Activation | undefined> {
  return (await findActivations(db, [{ licenseId, identifier }]))[0];
}

/** Those of the pairs that exist, in no particular order. */
export async function findActivations(
  db: Db,
  pairs: { licenseId: number; identifier: string }[],
): Promise<Activation[]> {
  if (pairs.length === 0) return [];
  const query = db(table(db, 'activations'));
  // A chain of OR is read as ranges of the unique index by MySQL, MariaDB and SQLite alike; a list of pairs is not.
  for (const { licenseId, identifier } of pairs) query.orWhere({ license_id: licenseId, identifier });
  return ((await query) as ActivationRow[]).map(toActivation);
}

export async function listActivations(db: Db, licenseId: number): Promise<Activation[]> {
  const rows = (await db(table(db, 'activations'))
    .where({ license_id: licenseId })
    .orderBy('id')) as ActivationRow[];
  return rows.map(toActivation);
}

/** How many activations the licences of a plan have together. */
export async function countActivationsOfPlan(db: Db, planId: number): Promise<number> {
  const counted = (await db({ a: table(db, 'activations') })
    .join({ l: table(db, 'licenses') }, 'l.id', 'a.license_id')
    .where('l.plan_id', planId)
    .count({ n: '*' })
    .first()) as { n: number };
  return counted.n;
}

/** @throws a duplicate (`isDuplicate`) when the identifier is activated on the licence already */
export async function insertActivation(trx: Transaction, activation: Activation): Promise<void> {
  await trx(table(trx, 'activations')).insert({
    license_id: activation.licenseId,
    identifier: activation.identifier,
    name: activation.name,
    ip: activation.ip,
    activated_at: toSqlTime(activation.activatedAt),
  });
}

export async function setActivationName(
  trx: Transaction,
  licenseId: number,
  identifier: string,
  name: string,
): Promise<void> {
  await trx(table(trx, 'activations')).where({ license_id: licenseId, identifier }).update({ name });
}

/** @returns whether there was one */
export async function deleteActivation(
  trx: Transaction,
  licenseId: number,
  identifier: string,
): Promise<boolean> {
  return (await trx(table(trx, 'activations')).where({ license_id: licenseId, identifier }).delete()) === 1;
}

function toActivation(row: ActivationRow): Activation {
  return {
    licenseId: row.license_id,
    identifier: row.identifier,
    name: row.name,
    ip: row.ip,
    activatedAt: fromSqlTime(row.activated_at),
  };
}
