import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { isSqlite, type Db, type Transaction } from './database';
import { isConnectionLost, isLockConflict } from './errors';

/** A lock wait lasts 1 s (mysql.ts); a caller can wait for three at most. */
const MAX_ATTEMPTS = 4;
const GIVE_UP_AFTER_MS = 2_500;

/**
 * Runs `work` in a transaction, and again after a deadlock (1213) or a lock wait time-out (1205). A time-out rolls back
 * only its statement, and the rest is rolled back here, so `work` must not catch that error.
 */
export async function inTransaction<T>(db: Db, work: (trx: Transaction) => Promise<T>): Promise<T> {
  const started = performance.now();
  for (let attempt = 1; ; attempt++) {
    const tried = await tryTransaction(db, work);
    if ('result' in tried) return tried.result;
    const spent = performance.now() - started;
    if (!isLockConflict(tried.failure) || attempt === MAX_ATTEMPTS || spent > GIVE_UP_AFTER_MS)
      throw tried.failure;
    // A random pause, so that two conflicting transactions do not meet again.
    await sleep(Math.random() * 20 * attempt);
  }
}

/**
 * Runs `work` in a transaction once.
 * @returns its result, or the failure; then nothing of it is left, and it may be tried again
 * @throws the failure of COMMIT; do not retry it (see `isOutcomeUnknown`)
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

/** Whether this error, or its cause, is the failure of a COMMIT that the server may have carried out. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof Error && (unanswered.has(error) || isOutcomeUnknown(error.cause));
}

/** Runs `work` on the data of one moment, whatever others write meanwhile; blocks nobody. */
export function inSnapshot<T>(db: Db, work: (trx: Transaction) => Promise<T>): Promise<T> {
  // SQLite's transactions read a snapshot anyway; Knex has no isolation levels for it.
  return isSqlite(db) ? db.transaction(work) : db.transaction(work, { isolationLevel: 'repeatable read' });
}
