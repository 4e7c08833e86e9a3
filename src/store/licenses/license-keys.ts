import { isSqlite, table, type Db, type Transaction } from '../engine/database';
import { fieldsToRow, rowToFields, type RowOf } from '../engine/row-fields';
import {
  forceIndex,
  insertCounted,
  inListSql,
  licenseIndex,
  placeholders,
  rawChange,
  rawRows,
  tableBy,
} from '../engine/statements';
import { toSqlTime } from '../engine/time';
import { refreshWords, refreshWordsOf } from '../search-words';

/** A licence's key. Only its digest is stored, and the sealed key if a secret is configured. */
export interface LicenseKey {
  id: number;
  licenseId: number;
  keyDigest: string;
  /** see `keyHint` in licensing/core/keys.ts */
  keyHint: string | null;
  /** see `keyStart` there */
  keyStart: string | null;
  keySealed: string | null;
  /** see `foldedDigest` there */
  foldedDigest: string | null;
  label: string | null;
  /** null: the licence's limit */
  activationLimit: number | null;
  /** null: it ends with the licence */
  endsAt: Date | null;
  /** the key that replaced this one; requests with this key count as requests with that one */
  replacedBy: number | null;
  createdAt: Date;
}

export type NewKey = Omit<LicenseKey, 'id' | 'replacedBy'>;
export type StoredKey = Pick<LicenseKey, 'keyDigest' | 'keyHint' | 'keyStart' | 'keySealed' | 'foldedDigest'>;

/** Lists a licence's keys, oldest first; with `after`, only keys with higher ids. */
export async function listKeys(
  db: Db,
  licenseId: number,
  { after, limit }: { after?: number | undefined; limit?: number } = {},
): Promise<LicenseKey[]> {
  const query = db(tableBy(db, 'license_keys', 'license_id'))
    .where({ license_id: licenseId })
    .orderBy('id');
  if (after !== undefined) query.where('id', '>', after);
  if (limit !== undefined) query.limit(limit);
  return (await query).map(rowToFields);
}

/** Lists the keys of some licences that have not ended, oldest first. */
export async function listOpenKeys(db: Db, licenseIds: number[], now: Date): Promise<LicenseKey[]> {
  if (licenseIds.length === 0) return [];
  const rows = await db(tableBy(db, 'license_keys', 'license_id'))
    .whereIn('license_id', licenseIds)
    .whereRaw('(ends_at IS NULL OR ends_at > ?)', [toSqlTime(now)])
    .orderBy('id');
  return rows.map(rowToFields);
}

export async function findKeys(db: Db, ids: number[]): Promise<LicenseKey[]> {
  if (ids.length === 0) return [];
  const rows = await db(tableBy(db, 'license_keys', ...(isSqlite(db) ? [] : ['id']))).whereIn('id', ids);
  return rows.map(rowToFields);
}

export async function findKeysByDigests(db: Db, digests: string[]): Promise<LicenseKey[]> {
  if (digests.length === 0) return [];
  const rows = await db(tableBy(db, 'license_keys', ...(isSqlite(db) ? ['key_digest'] : []))).whereIn(
    'key_digest',
    digests,
  );
  return rows.map(rowToFields);
}

/** Finds keys by hints; the hint `seen`, in any case, comes first. The LIKE `patterns` scan the whole index of hints. */
export async function findKeysByHints(
  db: Db,
  seen: string,
  { exact, patterns }: { exact: string[]; patterns: string[] },
  limit: number,
): Promise<LicenseKey[]> {
  const query = db(
    patterns.length === 0 ? tableBy(db, 'license_keys', 'key_hint') : table(db, 'license_keys'),
  )
    .orderByRaw('CASE WHEN UPPER(key_hint) = ? THEN 0 ELSE 1 END, license_id', [seen.toUpperCase()])
    .limit(limit);
  query.where((any) => {
    any.whereIn('key_hint', exact);
    for (const pattern of patterns) any.orWhere('key_hint', 'like', pattern);
  });
  return (await query).map(rowToFields);
}

/** Finds licences by the beginning of a key, as `keyStart` returns it. */
export async function findLicenseIdsByKeyStart(db: Db, start: string, limit: number): Promise<number[]> {
  return db(tableBy(db, 'license_keys', 'key_start'))
    .where({ key_start: start })
    .limit(limit)
    .pluck('license_id');
}

/** Lists the keys of licences that have a label or this hint. */
export async function listLabels(
  db: Db,
  licenseIds: number[],
  hint: string | undefined,
): Promise<Pick<LicenseKey, 'licenseId' | 'label' | 'keyHint'>[]> {
  const rows = await db(tableBy(db, 'license_keys', 'license_id'))
    .whereIn('license_id', licenseIds)
    .where((any) => any.whereNotNull('label').orWhere('key_hint', hint ?? ''))
    .select('license_id', 'label', 'key_hint');
  return rows.map(rowToFields);
}

export async function findKeyByDigest(db: Db, keyDigest: string): Promise<LicenseKey | undefined> {
  const row = await db(table(db, 'license_keys')).where({ key_digest: keyDigest }).first();
  return row && rowToFields(row);
}

/** The digests of a key as the customer typed it (licensing/core/keys.ts). */
export interface KeyDigests {
  keyDigest: string;
  /** undefined: the key has our own format */
  foldedDigest: string | undefined;
}

/** Finds the key that is meant: the exact match, otherwise the only key that differs just in case and kinds of hyphens. */
export async function resolveKey(
  db: Db,
  { keyDigest, foldedDigest }: KeyDigests,
): Promise<LicenseKey | undefined> {
  if (foldedDigest === undefined) return findKeyByDigest(db, keyDigest);
  const selectBy = (column: 'key_digest' | 'folded_digest', ...index: string[]) =>
    `SELECT * FROM ${table(db, 'license_keys')}${forceIndex(db, 'license_keys', ...index)} WHERE ${column} = ?`;
  const rows = await rawRows<RowOf<LicenseKey>>(
    db,
    `${selectBy('key_digest')} UNION ${selectBy('folded_digest', 'folded_digest')}`,
    [keyDigest, foldedDigest],
  );
  const keys = rows.map(rowToFields);
  const [only, ...twins] = keys;
  return keys.find((key) => key.keyDigest === keyDigest) ?? (twins.length === 0 ? only : undefined);
}

/** Finds keys of other systems by their folded digests. */
export async function findKeysByFoldedDigests(
  db: Db,
  digests: string[],
): Promise<Pick<LicenseKey, 'keyDigest' | 'foldedDigest' | 'licenseId'>[]> {
  if (digests.length === 0) return [];
  const rows = await db(tableBy(db, 'license_keys', 'folded_digest'))
    .whereIn('folded_digest', digests)
    .select('key_digest', 'folded_digest', 'license_id');
  return rows.map(rowToFields);
}

/** Inserts a key and returns its id. @throws a duplicate (`isDuplicate`) if the key already exists */
export async function insertKey(trx: Transaction, key: NewKey): Promise<number> {
  const [id] = await trx(table(trx, 'license_keys')).insert(fieldsToRow(key));
  if (key.label !== null) await refreshWords(trx, [key.licenseId]);
  return id as number;
}

/** Inserts the main keys of licences without a main key. @throws a duplicate (`isDuplicate`) if a key already exists */
export async function insertMainKeys(trx: Transaction, keys: NewKey[]): Promise<void> {
  const ids = await insertCounted(trx, 'license_keys', keys.map(fieldsToRow));
  // A subquery would lock the gap behind the keys, where other transactions insert theirs.
  await rawChange(
    trx,
    `UPDATE ${table(trx, 'licenses')}${forceIndex(trx, 'licenses')}
        SET main_key_id = CASE id ${'WHEN ? THEN ? '.repeat(keys.length)}END
      WHERE id IN (${placeholders(keys.length)})`,
    [
      ...keys.flatMap(({ licenseId }, i) => [licenseId, ids[i] as number]),
      ...keys.map(({ licenseId }) => licenseId),
    ],
  );
}

export type KeyChanges = Partial<
  Pick<LicenseKey, 'label' | 'activationLimit' | 'endsAt' | 'replacedBy' | 'keySealed'>
>;

/** Changes a key: undefined keeps a value, null clears it. */
export async function setKey(trx: Transaction, id: number, changes: KeyChanges): Promise<void> {
  await trx(table(trx, 'license_keys')).where({ id }).update(fieldsToRow(changes));
  if (changes.label !== undefined) await refreshWordsOf(trx, 'license_keys', [id]);
}

/** Makes `to` the key that replaced `from` and the keys that `from` had replaced, and moves their activations to it. */
export async function replaceKey(
  trx: Transaction,
  licenseId: number,
  { from, to }: { from: number; to: number },
): Promise<void> {
  await trx(tableBy(trx, 'license_keys', 'license_id'))
    .where({ license_id: licenseId, replaced_by: from })
    .update({ replaced_by: to });
  await setKey(trx, from, { replacedBy: to });
  await moveActivations(trx, from, to);
}

/**
 * Moves a key of a locked licence to another licence, as a further key. Sites that it activated stay where they are.
 * @param instead makes a new main key if the licence loses its main key, and returns its id
 */
export async function transferKey(
  trx: Transaction,
  { id, licenseId: from }: Pick<LicenseKey, 'id' | 'licenseId'>,
  to: number,
  {
    activationLimit,
    instead,
  }: { activationLimit: number | null; instead: (from: number) => Promise<number[]> },
): Promise<void> {
  const licenses = table(trx, 'licenses');
  const isMain = (await trx(licenses).where({ id: from, main_key_id: id }).first('id')) !== undefined;
  if (isMain) {
    const [mainKeyId] = await instead(from);
    await trx(licenses)
      .where({ id: from })
      .update({ main_key_id: mainKeyId as number });
  } else await moveActivations(trx, id, null);
  await trx(licenses).where({ id: from }).increment('revision', 1);
  await trx(table(trx, 'license_keys'))
    .where({ id })
    .update(fieldsToRow({ licenseId: to, activationLimit }));
  await trx(table(trx, 'spreading_keys')).where({ key_id: id }).update({ license_id: to });
  await refreshWords(trx, [from, to]);
}

/** Assigns a key's activations to another key. @param to null: the main key */
export async function moveActivations(trx: Transaction, from: number, to: number | null): Promise<void> {
  await trx(tableBy(trx, 'activations', 'key_id', 'free'))
    .where({ key_id: from })
    .update({ key_id: to });
}

/** Counts the slots taken by each of a licence's keys. The main key has the id null. */
export async function countSlotsByKey(db: Db, licenseId: number): Promise<Map<number | null, number>> {
  return (await countSlotsByKeys(db, [licenseId])).get(licenseId) ?? new Map<number | null, number>();
}

/** Counts slots as `countSlotsByKey` does, for several licences, by licence id. */
export async function countSlotsByKeys(
  db: Db,
  licenseIds: number[],
): Promise<Map<number, Map<number | null, number>>> {
  const counts = new Map<number, Map<number | null, number>>();
  if (licenseIds.length === 0) return counts;
  const rows = await rawRows<{ license_id: number; key_id: number | null; n: number }>(
    db,
    `SELECT license_id, key_id, COUNT(*) AS n
       FROM ${table(db, 'activations')}${forceIndex(db, 'activations', ...licenseIndex('activations'))}
      WHERE license_id ${inListSql(licenseIds.length)} AND free = 0 GROUP BY license_id, key_id`,
    licenseIds,
  );
  for (const { license_id: id, key_id: keyId, n } of rows)
    counts.set(id, (counts.get(id) ?? new Map<number | null, number>()).set(keyId, n));
  return counts;
}

/** Counts the slots taken by each of these keys, none of which is a main key. */
export async function countSlotsOfKeys(db: Db, ids: number[]): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map();
  const rows = await rawRows<{ key_id: number; n: number }>(
    db,
    `SELECT key_id, COUNT(*) AS n
       FROM ${table(db, 'activations')}${forceIndex(db, 'activations', 'key_id', 'free')}
      WHERE key_id IN (${placeholders(ids.length)}) AND free = 0 GROUP BY key_id`,
    ids,
  );
  return new Map(rows.map((row) => [row.key_id, row.n]));
}

export interface SealedKey {
  id: number;
  licenseId: number;
  keyDigest: string;
  keySealed: string;
}

/**
 * Samples the oldest and newest sealed keys, which were sealed with different secrets if the secret has changed.
 * @param among only keys with ids this close to an end; undefined: all keys, which takes long if few are sealed
 */
export async function sampleSealedKeys(
  db: Db,
  fromEachEnd: number,
  among: number | undefined,
): Promise<SealedKey[]> {
  const keys = `${table(db, 'license_keys')}${isSqlite(db) ? '' : forceIndex(db, 'license_keys', 'id')}`;
  const end = async (order: 'ASC' | 'DESC'): Promise<SealedKey[]> => {
    const [outermost] = await rawRows<{ id: number }>(
      db,
      `SELECT id FROM ${keys} ORDER BY id ${order} LIMIT 1`,
      [],
    );
    const { id = 0 } = outermost ?? {};
    const within = order === 'ASC' ? [id, id + (among ?? 0)] : [Math.max(0, id - (among ?? 0)), id];
    return rawRows<SealedKey>(
      db,
      `SELECT id, license_id AS licenseId, key_digest AS keyDigest, key_sealed AS keySealed FROM ${keys}
        WHERE key_sealed IS NOT NULL${among === undefined ? '' : ' AND id BETWEEN ? AND ?'}
        ORDER BY id ${order} LIMIT ${fromEachEnd}`,
      among === undefined ? [] : within,
    );
  };
  const sample = [...(await end('ASC')), ...(await end('DESC'))];
  return [...new Map(sample.map((one) => [one.keyDigest, one])).values()];
}
