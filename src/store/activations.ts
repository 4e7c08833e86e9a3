import { isSqlite, table, type Db, type Transaction } from './database';
import { forceIndex, insertRows, licenseIndex, orderedJoin, rawRows, tableBy } from './statements';
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

export type NamedActivation = Pick<Activation, 'licenseId' | 'identifier' | 'name'>;

/** Identifies an identifier of a licence, activated or not. */
export function activationKey({
  licenseId,
  identifier,
}: Pick<Activation, 'licenseId' | 'identifier'>): string {
  return `${licenseId} ${identifier}`;
}

/** In one statement: SQLite limits an expression's depth to 1,000, and MariaDB turns 1,000 values into a subquery. */
const MAX_PAIRS = 400;

/** The pairs that exist, by `activationKey`. */
export async function findActivations(
  db: Db,
  pairs: Pick<Activation, 'licenseId' | 'identifier'>[],
): Promise<Map<string, NamedActivation>> {
  const distinct = [...new Map(pairs.map((pair) => [activationKey(pair), pair])).values()];
  const found = new Map<string, NamedActivation>();
  for (let i = 0; i < distinct.length; i += MAX_PAIRS) {
    const chunk = distinct.slice(i, i + MAX_PAIRS);
    const rows = await rawRows<Pick<ActivationRow, 'license_id' | 'identifier' | 'name'>>(
      db,
      `SELECT license_id, identifier, name
         FROM ${table(db, 'activations')}${forceIndex(db, 'activations', ...licenseIndex('activations'))}
        WHERE ${isAnyOf(db, chunk.length)}`,
      chunk.flatMap(({ licenseId, identifier }) => [licenseId, identifier]),
    );
    for (const { license_id: licenseId, identifier, name } of rows)
      found.set(activationKey({ licenseId, identifier }), { licenseId, identifier, name });
  }
  return found;
}

/** Read as ranges of the unique index. The list of pairs takes MySQL and MariaDB half the time; SQLite needs the OR. */
function isAnyOf(db: Db, pairs: number): string {
  return isSqlite(db)
    ? `(license_id = ? AND identifier = ?)${' OR (license_id = ? AND identifier = ?)'.repeat(pairs - 1)}`
    : `(license_id, identifier) IN ((?, ?)${', (?, ?)'.repeat(pairs - 1)})`;
}

/** By licence id. Scans an index for operators, as one on the identifier would slow down every activation. */
export async function findActivationsOf(
  db: Db,
  identifiers: string[],
  limit: number,
): Promise<Pick<Activation, 'licenseId' | 'identifier'>[]> {
  const rows = await db(table(db, 'activations'))
    .whereIn('identifier', identifiers)
    .orderBy('license_id')
    .limit(limit)
    .select<Pick<ActivationRow, 'license_id' | 'identifier'>[]>('license_id', 'identifier');
  return rows.map((row) => ({ licenseId: row.license_id, identifier: row.identifier }));
}

export async function listActivations(db: Db, licenseId: number): Promise<Activation[]> {
  const rows = (await db(tableBy(db, 'activations', ...licenseIndex('activations')))
    .where({ license_id: licenseId })
    .orderBy('id')) as ActivationRow[];
  return rows.map(toActivation);
}

/** The number of activations on all licences of a plan. */
export async function countActivationsOfPlan(db: Db, planId: number): Promise<number> {
  const [counted] = await rawRows<{ n: number }>(
    db,
    `SELECT COUNT(*) AS n
       FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses', 'plan_id')}
       ${orderedJoin(db)} ${table(db, 'activations')} a ON a.license_id = l.id
      WHERE l.plan_id = ?`,
    [planId],
  );
  return counted?.n ?? 0;
}

/** @throws a duplicate (`isDuplicate`) when an identifier is already activated on its licence */
export async function insertActivations(trx: Transaction, activations: Activation[]): Promise<void> {
  await insertRows(
    trx,
    'activations',
    activations.map((activation) => ({
      license_id: activation.licenseId,
      identifier: activation.identifier,
      name: activation.name,
      ip: activation.ip,
      activated_at: toSqlTime(activation.activatedAt),
    })),
  );
}

export async function setActivationName(
  trx: Transaction,
  licenseId: number,
  identifier: string,
  name: string | null,
): Promise<void> {
  await trx(table(trx, 'activations')).where({ license_id: licenseId, identifier }).update({ name });
}

/** Row by row: for a list of pairs, MySQL may read the whole table (see forceIndex), and a DELETE cannot name its index. */
export async function deleteActivations(
  trx: Transaction,
  pairs: Pick<Activation, 'licenseId' | 'identifier'>[],
): Promise<void> {
  for (const { licenseId, identifier } of pairs)
    await trx(table(trx, 'activations')).where({ license_id: licenseId, identifier }).delete();
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
