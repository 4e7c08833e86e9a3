import { isSqlite, table, type Db, type Transaction } from './engine/database';
import { fieldsToRow, rowToFields } from './engine/row-fields';
import { rawChange } from './engine/statements';

/** A key that signs answers. */
export interface SigningKey {
  id: number;
  /** the year and a number, never used again */
  kid: string;
  /** the public key in the form that a JWK uses: 32 bytes in base64url */
  x: string;
  /** the sealed private key; null: an import did not include it */
  sealed: string | null;
  /** the longest lifetime of a token that it signs, in days; 0: it has signed no token */
  tokenDays: number;
  createdBy: string;
  createdAt: Date;
  retiredBy: string | null;
  retiredAt: Date | null;
  compromised: boolean;
}

/** Lists the keys in the order in which they sign. A shop has a few in its lifetime. */
export async function listSigningKeys(db: Db): Promise<SigningKey[]> {
  const rows = await inOrder(db);
  return rows.map(rowToFields);
}

/** Lists the keys and locks them until the transaction ends. Must be its first statement. */
export async function lockSigningKeys(trx: Transaction): Promise<SigningKey[]> {
  // SQLite has no row locks: a write takes the only lock.
  if (isSqlite(trx)) await trx(table(trx, 'signing_keys')).where({ id: 0 }).update({ id: 0 });
  const rows = await inOrder(trx).forUpdate();
  return rows.map(rowToFields);
}

function inOrder(db: Db) {
  return db(table(db, 'signing_keys')).orderBy([{ column: 'created_at' }, { column: 'id' }]);
}

/** @throws a duplicate (`isDuplicate`) if a key with this kid exists */
export async function insertSigningKey(
  db: Db,
  key: Pick<SigningKey, 'kid' | 'x' | 'sealed' | 'createdBy' | 'createdAt'>,
): Promise<number> {
  const [id] = await db(table(db, 'signing_keys')).insert(fieldsToRow(key));
  return id as number;
}

export async function setRetired(
  trx: Transaction,
  id: number,
  key: Pick<SigningKey, 'retiredAt' | 'retiredBy' | 'compromised'>,
): Promise<void> {
  await trx(table(trx, 'signing_keys')).where({ id }).update(fieldsToRow(key));
}

/** Records that a key signs tokens with a lifetime of this many days. */
export async function raiseTokenDays(db: Db, id: number, days: number): Promise<void> {
  await rawChange(
    db,
    `UPDATE ${table(db, 'signing_keys')} SET token_days = ? WHERE id = ? AND token_days < ?`,
    [days, id, days],
  );
}
