import { table, type Db } from './engine/database';
import { fieldsToRow, rowToFields } from './engine/row-fields';
import { toSqlTime } from './engine/time';

/** A code of a one-time link, with the person it signs in. The kind `ticket` marks a Joomla ticket as used until it ends. */
export interface StoredCode {
  /** SHA-256 of the code, in hex */
  codeDigest: string;
  kind: 'operator' | 'customer' | 'ticket';
  actor: string | null;
  name: string | null;
  scope: string | null;
  /** the operator to whom it was mailed; null: the command printed it */
  operatorId: number | null;
  /** see store/customer-digest.ts */
  customerDigest: string | null;
  createdAt: Date;
  expiresAt: Date;
}

export async function insertCode(db: Db, code: StoredCode): Promise<void> {
  await db(table(db, 'one_time_codes')).insert(fieldsToRow(code));
}

type Wanted = Pick<StoredCode, 'codeDigest' | 'kind'>;

/** Finds a code that has not expired. */
export async function findStoredCode(db: Db, wanted: Wanted, now: Date): Promise<StoredCode | undefined> {
  const row = await db(table(db, 'one_time_codes'))
    .where(fieldsToRow(wanted))
    .where('expires_at', '>', toSqlTime(now))
    .first();
  return row && rowToFields(row);
}

/** @returns whether this call deleted the code: of several calls at the same time, one does */
export async function deleteCode(db: Db, wanted: Wanted): Promise<boolean> {
  return (await db(table(db, 'one_time_codes')).where(fieldsToRow(wanted)).delete()) === 1;
}

/** Deletes the codes that were mailed to an operator. */
export async function deleteCodesOf(db: Db, operatorId: number): Promise<void> {
  const digests = await db(table(db, 'one_time_codes'))
    .where({ operator_id: operatorId })
    .pluck('code_digest');
  for (const code_digest of digests) await db(table(db, 'one_time_codes')).where({ code_digest }).delete();
}

/** Deletes a few codes that expired before `before`. @returns how many were found */
export async function pruneCodes(db: Db, before: Date, limit: number): Promise<number> {
  const digests = await db(table(db, 'one_time_codes'))
    .where('expires_at', '<', toSqlTime(before))
    .orderBy('expires_at')
    .limit(limit)
    .pluck('code_digest');
  for (const code_digest of digests) await db(table(db, 'one_time_codes')).where({ code_digest }).delete();
  return digests.length;
}
