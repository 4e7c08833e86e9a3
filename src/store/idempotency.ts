import { table, type Db, type Transaction } from './engine/database';
import { isDuplicate } from './engine/errors';
import { fieldsToRow, rowToFields } from './engine/row-fields';
import { toSqlTime } from './engine/time';

/** Idempotency: calls with an Idempotency-Key. A row is a claim until it has an answer. */

export interface IdempotencyClaim {
  keyDigest: string;
  /** a random text; a process that takes over an abandoned claim writes its own */
  claim: string;
  /** null: the body has not been read yet */
  requestDigest: string | null;
  /** until then no other process may take it over */
  leaseEndsAt: Date;
  createdAt: Date;
}

export interface StoredCall extends IdempotencyClaim {
  /** the sealed answer; null: the call is not finished */
  answer: string | null;
}

/** Inserts the claim. @returns the row that has the key already, if any */
export async function insertClaim(db: Db, claim: IdempotencyClaim): Promise<StoredCall | undefined> {
  try {
    await db(table(db, 'idempotency')).insert(fieldsToRow(claim));
    return undefined;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const row = await db(table(db, 'idempotency')).where({ key_digest: claim.keyDigest }).first();
    // The row was deleted in between.
    return row === undefined ? insertClaim(db, claim) : rowToFields(row);
  }
}

/** Replaces another claim. @returns false if that claim was changed meanwhile */
export async function replaceClaim(db: Db, earlier: StoredCall, claim: IdempotencyClaim): Promise<boolean> {
  const query = db(table(db, 'idempotency')).where({ key_digest: earlier.keyDigest, claim: earlier.claim });
  // Its owner was paused and may have completed it since it was read.
  if (earlier.answer === null) query.whereNull('answer');
  return (await query.update({ ...fieldsToRow(claim), answer: null })) === 1;
}

/** Extends a claim's lease. @returns false if another process has taken it over */
export async function renewClaim(
  db: Db,
  { keyDigest, claim }: IdempotencyClaim,
  leaseEndsAt: Date,
): Promise<boolean> {
  const changed = await db(table(db, 'idempotency'))
    .where({ key_digest: keyDigest, claim })
    .update({ lease_ends_at: toSqlTime(leaseEndsAt) });
  return changed === 1;
}

/** Stores the answer if the claim still exists. @returns false if another process has taken it over */
export async function completeClaim(
  db: Db | Transaction,
  { keyDigest, claim }: IdempotencyClaim,
  requestDigest: string,
  answer: string,
): Promise<boolean> {
  const changed = await db(table(db, 'idempotency'))
    .where({ key_digest: keyDigest, claim })
    .whereNull('answer')
    .update({ request_digest: requestDigest, answer });
  return changed === 1;
}

/** Gives up a claim. An answer stays: a COMMIT that seemed to fail may have stored it. */
export async function deleteClaim(db: Db, { keyDigest, claim }: IdempotencyClaim): Promise<void> {
  await db(table(db, 'idempotency')).where({ key_digest: keyDigest, claim }).whereNull('answer').delete();
}

/** Deletes a few calls older than `before`. @returns how many were found */
export async function pruneCalls(db: Db, before: Date, limit: number): Promise<number> {
  const digests = await db(table(db, 'idempotency'))
    .where('created_at', '<', toSqlTime(before))
    .orderBy('created_at')
    .limit(limit)
    .pluck('key_digest');
  // The key may have been used again since.
  for (const key_digest of digests)
    await db(table(db, 'idempotency'))
      .where({ key_digest })
      .where('created_at', '<', toSqlTime(before))
      .delete();
  return digests.length;
}
