import { chunksOf } from '../../base/chunks';
import { isSqlite, table, type Db, type Transaction } from '../engine/database';
import { fieldsToRow, rowToFields } from '../engine/row-fields';
import {
  forceIndex,
  insertRows,
  licenseIndex,
  likePattern,
  orderedJoin,
  placeholders,
  rawRows,
  tableBy,
} from '../engine/statements';

export interface Activation {
  licenseId: number;
  /** normalised */
  identifier: string;
  name: string | null;
  ip: string | null;
  /** the key that activated it; null: the main key */
  keyId: number | null;
  /** whether it takes no slot */
  free: boolean;
  /** a domain's registrable domain, by which staging sites follow it; null: none */
  site: string | null;
  activatedAt: Date;
  /** the end of a file for a machine without network, until which it cannot be deactivated; null: no file was issued */
  heldUntil: Date | null;
}

type NamedActivation = Pick<Activation, 'licenseId' | 'identifier' | 'name' | 'keyId' | 'free' | 'heldUntil'>;

/** Returns a key for an identifier of a licence, activated or not. */
export function activationKey({
  licenseId,
  identifier,
}: Pick<Activation, 'licenseId' | 'identifier'>): string {
  return `${licenseId} ${identifier}`;
}

/** The number of pairs in a statement: SQLite allows a depth of 1,000; MariaDB makes a subquery of 1,000 values. */
const MAX_PAIRS = 400;

/** Finds which of these pairs are activated, by `activationKey`. */
export async function findActivations(
  db: Db,
  pairs: Pick<Activation, 'licenseId' | 'identifier'>[],
): Promise<Map<string, NamedActivation>> {
  const distinct = [...new Map(pairs.map((pair) => [activationKey(pair), pair])).values()];
  const found = new Map<string, NamedActivation>();
  for (const chunk of chunksOf(distinct, MAX_PAIRS)) {
    const rows = await rawRows<{
      license_id: number;
      identifier: string;
      name: string | null;
      key_id: number | null;
      free: number;
      held_until: string | null;
    }>(
      db,
      `SELECT license_id, identifier, name, key_id, free, held_until
         FROM ${table(db, 'activations')}${forceIndex(db, 'activations', ...licenseIndex('activations'))}
        WHERE ${isAnyOf(db, chunk.length)}`,
      chunk.flatMap(({ licenseId, identifier }) => [licenseId, identifier]),
    );
    for (const row of rows) {
      const activation = rowToFields(row);
      found.set(activationKey(activation), activation);
    }
  }
  return found;
}

/** Returns a condition that is read as index ranges. A list of pairs halves the time of MySQL and MariaDB; SQLite needs OR. */
function isAnyOf(db: Db, pairs: number): string {
  return isSqlite(db)
    ? `(license_id = ? AND identifier = ?)${' OR (license_id = ? AND identifier = ?)'.repeat(pairs - 1)}`
    : `(license_id, identifier) IN ((?, ?)${', (?, ?)'.repeat(pairs - 1)})`;
}

/** Finds the activations of identifiers, by licence id. */
export async function findActivationsOf(
  db: Db,
  identifiers: string[],
  limit: number,
): Promise<Pick<Activation, 'licenseId' | 'identifier'>[]> {
  const rows = await db(tableBy(db, 'activations', 'identifier', 'license_id'))
    .whereIn('identifier', identifiers)
    .orderBy('license_id')
    .limit(limit)
    .select('license_id', 'identifier');
  return rows.map((row) => ({ licenseId: row.license_id, identifier: row.identifier }));
}

/** Lists a licence's activations in the order in which they were activated. */
export async function listActivations(db: Db, licenseId: number): Promise<StoredActivation[]> {
  const rows = await db(tableBy(db, 'activations', ...licenseIndex('activations')))
    .where({ license_id: licenseId })
    .orderBy('id');
  return rows.map(rowToFields);
}

/** Finds an activation of a licence by its id or its normalised identifier. */
export async function findActivation(
  db: Db,
  licenseId: number,
  by: { id: number } | { identifier: string },
): Promise<StoredActivation | undefined> {
  const row = await db(table(db, 'activations'))
    .where({ license_id: licenseId, ...by })
    .first();
  return row && rowToFields(row);
}

export type StoredActivation = Activation & { id: number };

/** Lists a licence's activations after an identifier, in the order of identifiers, which an index has. */
export async function listActivationsAfter(
  db: Db,
  licenseId: number,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<StoredActivation[]> {
  const query = db(tableBy(db, 'activations', ...licenseIndex('activations')))
    .where({ license_id: licenseId })
    .orderBy('identifier')
    .limit(limit);
  if (after !== undefined) query.where('identifier', '>', after);
  return (await query).map(rowToFields);
}

/** Which activations of some licences are listed. */
export interface SiteSearch {
  /** a part of the identifier or the label */
  text?: string | undefined;
  /** identifiers that match regardless of the text */
  identifiers?: string[];
  id?: number | undefined;
  /** undefined: newest first */
  order?: SiteOrder | undefined;
  limit: number;
}

export interface SiteOrder {
  /** `identifier` only for one licence */
  column: 'id' | 'identifier';
  isDown: boolean;
  /** only activations after this value of the column */
  after?: number | string | undefined;
}

const NEWEST: SiteOrder = { column: 'id', isDown: true };

/** Searches the activations of some licences, by reading them all. */
export async function searchActivations(
  db: Db,
  licenseIds: number[],
  { text, identifiers = [], id, order: { column, isDown, after } = NEWEST, limit }: SiteSearch,
): Promise<StoredActivation[]> {
  if (licenseIds.length === 0) return [];
  const query = db(tableBy(db, 'activations', ...licenseIndex('activations')))
    .whereIn('license_id', licenseIds)
    .orderBy(column, isDown ? 'desc' : 'asc')
    .limit(limit);
  if (id !== undefined) query.where({ id });
  if (after !== undefined) query.where(column, isDown ? '<' : '>', after);
  if (text !== undefined)
    query.where((any) => {
      const pattern = likePattern(text.toLowerCase());
      any.whereRaw("LOWER(identifier) LIKE ? ESCAPE '!'", [pattern]);
      any.orWhereRaw("LOWER(name) LIKE ? ESCAPE '!'", [pattern]);
      if (identifiers.length > 0) any.orWhereIn('identifier', identifiers);
    });
  return (await query).map(rowToFields);
}

/** Lists the newest activations of each licence, newest first, and counts all, by licence id. */
export async function listNewestActivations(
  db: Db,
  licenseIds: number[],
  each: number,
): Promise<Map<number, { newest: StoredActivation[]; total: number }>> {
  const found = new Map<number, { newest: StoredActivation[]; total: number }>();
  if (licenseIds.length === 0) return found;
  // The ids are numbered first: numbering whole rows would make a temporary table as large as all of them.
  const newest = await rawRows<{ id: number; total: number }>(
    db,
    `SELECT id, total FROM (
       SELECT a.id, ROW_NUMBER() OVER (PARTITION BY a.license_id ORDER BY a.id DESC) AS place,
              COUNT(*) OVER (PARTITION BY a.license_id) AS total
         FROM ${table(db, 'activations')} a${forceIndex(db, 'activations', ...licenseIndex('activations'))}
        WHERE a.license_id IN (${placeholders(licenseIds.length)})) newest
      WHERE place <= ?`,
    [...licenseIds, each],
  );
  const totals = new Map(newest.map(({ id, total }) => [id, total]));
  const rows = await db(tableBy(db, 'activations'))
    .whereIn('id', [...totals.keys()])
    .orderBy('id', 'desc');
  for (const row of rows) {
    const activation = rowToFields(row);
    const known = found.get(activation.licenseId) ?? { newest: [], total: totals.get(activation.id) ?? 0 };
    found.set(activation.licenseId, { ...known, newest: [...known.newest, activation] });
  }
  return found;
}

/** Lists the newest identifiers of a licence that one of its keys activated, newest first. @param keyId null: the main key */
export async function listIdentifiersOfKey(
  db: Db,
  licenseId: number,
  keyId: number | null,
  limit: number,
): Promise<string[]> {
  const index = keyId === null ? licenseIndex('activations') : ['key_id', 'free'];
  return db(tableBy(db, 'activations', ...index))
    .where({ license_id: licenseId, key_id: keyId })
    .orderBy('id', 'desc')
    .limit(limit)
    .pluck('identifier');
}

/** Lists a licence's first activations without a slot. */
export async function listFree(db: Db, licenseId: number, limit: number): Promise<Activation[]> {
  const rows = await db(tableBy(db, 'activations', ...licenseIndex('activations')))
    .where({ license_id: licenseId, free: 1 })
    .orderBy('id')
    .limit(limit);
  return rows.map(rowToFields);
}

/** A licence and a registrable domain. */
export type SitePair = Pick<Activation, 'licenseId'> & { site: string };

/** Finds the activations of these licences on these registrable domains. */
export async function findActivationsOfSites(db: Db, pairs: SitePair[]): Promise<Activation[]> {
  const found: Activation[] = [];
  for (const { licenseId, site } of pairs)
    found.push(
      ...(
        await db(tableBy(db, 'activations', 'license_id', 'site'))
          .where({ license_id: licenseId, site })
          .orderBy('id')
      ).map(rowToFields),
    );
  return found;
}

/** Counts the activations without a slot, by licence id, for locked licences. */
export async function countFreeActivations(
  trx: Transaction,
  licenseIds: number[],
): Promise<Map<number, number>> {
  if (licenseIds.length === 0) return new Map();
  const rows = await rawRows<{ license_id: number; n: number }>(
    trx,
    `SELECT license_id, COUNT(*) AS n
       FROM ${table(trx, 'activations')}${forceIndex(trx, 'activations', ...licenseIndex('activations'))}
      WHERE license_id IN (${placeholders(licenseIds.length)}) AND free = 1
      GROUP BY license_id`,
    licenseIds,
  );
  return new Map(rows.map((row) => [row.license_id, row.n]));
}

/** Counts the activations on all licences of a plan. */
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

/** @throws a duplicate (`isDuplicate`) if an identifier is already activated on its licence */
export async function insertActivations(trx: Transaction, activations: Activation[]): Promise<void> {
  await insertRows(trx, 'activations', activations.map(fieldsToRow));
}

/** Frees the slots of activations that stay. */
export async function setFree(
  trx: Transaction,
  pairs: Pick<Activation, 'licenseId' | 'identifier'>[],
): Promise<void> {
  for (const { licenseId, identifier } of pairs)
    await trx(table(trx, 'activations')).where({ license_id: licenseId, identifier }).update({ free: 1 });
}

export async function setActivationName(
  trx: Transaction,
  licenseId: number,
  identifier: string,
  name: string | null,
): Promise<void> {
  await trx(table(trx, 'activations')).where({ license_id: licenseId, identifier }).update({ name });
}

/** Holds activations, so that they cannot be deactivated until these times. */
export async function setHeldUntil(
  trx: Transaction,
  holds: Pick<Activation, 'licenseId' | 'identifier' | 'heldUntil'>[],
): Promise<void> {
  for (const { licenseId, identifier, heldUntil } of holds)
    await trx(table(trx, 'activations'))
      .where({ license_id: licenseId, identifier })
      .update(fieldsToRow({ heldUntil }));
}

/** Deletes rows singly: MySQL may scan the table for a list of pairs (see forceIndex), and a DELETE names no index. */
export async function deleteActivations(
  trx: Transaction,
  pairs: Pick<Activation, 'licenseId' | 'identifier'>[],
): Promise<void> {
  for (const { licenseId, identifier } of pairs)
    await trx(table(trx, 'activations')).where({ license_id: licenseId, identifier }).delete();
}
