import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { isSqlite, type Db, type Transaction } from './database';
import { isConnectionLost, isLockConflict } from './errors';

/** A lock wait ends after 1 s (see mysql.ts), so three of them are as long as a caller should be kept. */
const MAX_ATTEMPTS = 4;
const GIVE_UP_AFTER_MS = 2_500;

/**
 * Runs `work` in a transaction, and again from the start when it was a deadlock's victim (1213) or a lock did not come
 * free in time (1205). The server rolls the whole transaction back for the first; for the second it takes back the
 * statement alone, and the rest is rolled back here, because `work` ends with that error: it must not catch it and go
 * on.
 */
export async function inTransaction<T>(db: Db, work: (trx: Transaction) => Promise<T>): Promise<T> {
  const started = performance.now();
  for (let attempt = 1; ; attempt++) {
    const tried = await tryTransaction(db, work);
    if ('result' in tried) return tried.result;
    const spent = performance.now() - started;
    if (!isLockConflict(tried.failure) || attempt === MAX_ATTEMPTS || spent > GIVE_UP_AFTER_MS)
      throw tried.failure;
    // Two transactions that met once would meet again if both came back at once.
    await sleep(Math.random() * 20 * attempt);
  }
}

/**
 * Runs `work` in a transaction once.
 *
 * @returns its result, or the failure after which nothing of it is left, so that it may be tried again
 * @throws what COMMIT failed with. Nothing may be repeated then; whether it was carried out: `isOutcomeUnknown`
 */
export async function tryTransaction<T>(
  db: Db,
  work: (trx: Transaction) => Promise<T>,
  settings?: Knex.TransactionConfig,
): Promise<{ result: T } | { failure: unknown }> {
  const state = { committing: false };
  try {
    return await db.transaction(async (trx) => {
      const result = await work(trx);
      state.committing = true;
      return { result };
    }, settings);
  } catch (failure) {
    if (!state.committing) return { failure };
    if (isConnectionLost(failure)) unanswered.add(failure as object);
    throw failure;
  }
}

const unanswered = new WeakSet<object>();

/** Whether this, or what it was caused by, is the failure of a COMMIT that the server may have carried out. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof Error && (unanswered.has(error) || isOutcomeUnknown(error.cause));
}

/** Runs `work` on what the database holds at one moment, whatever others write meanwhile; it blocks nobody. */
export function inSnapshot<T>(db: Db, work: (trx: Transaction) => Promise<T>): Promise<T> {
  // SQLite's transactions read a snapshot anyway, and Knex has no isolation levels for it.
  return isSqlite(db) ? db.transaction(work) : db.transaction(work, { isolationLevel: 'repeatable read' });
}
