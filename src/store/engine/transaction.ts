import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { LOCK_PATIENCE_MS } from './connections';
import { isOfService, isSqlite, table, type Db, type Transaction } from './database';
import { isCertificationConflict, isOutcomeOpen, isLockConflict } from './errors';

interface Settings extends Knex.TransactionConfig {
  /** `work` cannot be run again */
  isOnce?: boolean;
}

/** Deadlocks and conflicts between the nodes of a cluster show within milliseconds. */
const MAX_ATTEMPTS = 8;
/** A lock wait lasts 1 s (mysql.ts); a caller of the service can wait for three at most. */
const GIVE_UP_AFTER_MS = 2_500;
const LONGEST_PAUSE_MS = 500;

/**
 * Runs `work` in a transaction, and again after a deadlock (1213), a lock wait time-out (1205) or a conflict with another
 * node of a Galera cluster, which may show at COMMIT only. A time-out rolls back
 * only its statement, and the rest is rolled back here, so `work` must not catch that error. Within a transaction it
 * becomes a part of it, and only the whole is run again. A command tries for longer than a service (`LOCK_PATIENCE_MS`).
 */
export async function inTransaction<T>(
  db: Db,
  work: (trx: Transaction) => Promise<T>,
  { isOnce = db.isTransaction ?? false, ...settings }: Settings = {},
): Promise<T> {
  const started = performance.now();
  const limit = isOfService(db)
    ? { attempts: MAX_ATTEMPTS, ms: GIVE_UP_AFTER_MS }
    : { attempts: Infinity, ms: LOCK_PATIENCE_MS };
  for (let attempt = 1; ; attempt++) {
    const tried = await tryTransaction(db, work, settings);
    if ('result' in tried) return tried.result;
    const spent = performance.now() - started;
    if (isOnce || !isLockConflict(tried.failure) || attempt >= limit.attempts || spent > limit.ms)
      throw tried.failure;
    // A random pause, so that two conflicting transactions do not meet again.
    await sleep(Math.random() * Math.min(20 * attempt, LONGEST_PAUSE_MS));
  }
}

/** Calls `done` once the transaction is committed; outside of one, at once. */
export function afterCommit(db: Db, done: () => void): void {
  if (db.isTransaction) (db as Transaction).executionPromise.then(done, () => undefined);
  else done();
}

/**
 * Runs `work` in a transaction once.
 * @returns its result, or the failure; then nothing of it is left, and it may be tried again
 * @throws the failure of COMMIT; do not retry it (see `isOutcomeUnknown`), unless a Galera node has rolled it back
 */
export async function tryTransaction<T>(
  db: Db,
  work: (trx: Transaction) => Promise<T>,
  settings?: Knex.TransactionConfig,
): Promise<{ result: T } | { failure: unknown }> {
  if (db.isTransaction) return inSavepoint(db as Transaction, work);
  const state = { committing: false };
  try {
    return await db.transaction(async (trx) => {
      const result = await work(trx);
      if (lost.has(trx)) throw lost.get(trx) as Error;
      state.committing = true;
      return { result };
    }, settings);
  } catch (failure) {
    if (!state.committing || isCertificationConflict(failure)) return { failure };
    if (isOutcomeOpen(failure)) unanswered.add(failure as object);
    throw failure;
  }
}

/** Transactions that the server has rolled back: what follows in them would be committed statement by statement. */
const lost = new WeakMap<Transaction, unknown>();
let savepoints = 0;

async function inSavepoint<T>(
  trx: Transaction,
  work: (trx: Transaction) => Promise<T>,
): Promise<{ result: T } | { failure: unknown }> {
  if (lost.has(trx)) return { failure: lost.get(trx) };
  const name = `licensing_${++savepoints}`;
  await trx.raw(`SAVEPOINT ${name}`);
  try {
    return { result: await work(trx) };
  } catch (failure) {
    if (isLockConflict(failure)) lost.set(trx, failure);
    else await trx.raw(`ROLLBACK TO SAVEPOINT ${name}`);
    return { failure };
  }
}

const unanswered = new WeakSet<object>();

/** Whether this error, or its cause, is the failure of a COMMIT that the server may have carried out. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof Error && (unanswered.has(error) || isOutcomeUnknown(error.cause));
}

/**
 * Runs `work` in a transaction whose reads see what others have committed meanwhile, also before its first lock. InnoDB
 * refuses that with binlog_format STATEMENT; there reads see the moment of the first.
 */
export async function inReadCommitted<T>(
  db: Db,
  work: (trx: Transaction) => Promise<T>,
  settings: Pick<Settings, 'isOnce'> = {},
): Promise<T> {
  if (!isSqlite(db) || db.isTransaction)
    return inTransaction(db, work, {
      ...settings,
      ...(!db.isTransaction && {
        isolationLevel: (await logsStatements(db)) ? 'repeatable read' : 'read committed',
      }),
    });
  const withWriteLock = async (trx: Transaction) => {
    // A transaction of SQLite that has read cannot write after others have written.
    await trx(table(trx, 'licenses')).where({ id: 0 }).update({ id: 0 });
    return work(trx);
  };
  return inTransaction(db, withWriteLock, settings);
}

async function logsStatements(db: Db): Promise<boolean> {
  const [variables] = (await db.raw(
    "SHOW VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format')",
  )) as [{ Value: string }[]];
  const values = variables.map(({ Value }) => Value);
  return values.includes('ON') && values.includes('STATEMENT');
}

/** Runs `work` on the data of one moment, whatever others write meanwhile; blocks nobody. */
export function inSnapshot<T>(db: Db, work: (trx: Transaction) => Promise<T>): Promise<T> {
  if (db.isTransaction) return work(db as Transaction);
  // SQLite's transactions read a snapshot anyway; Knex has no isolation levels for it.
  return isSqlite(db) ? db.transaction(work) : db.transaction(work, { isolationLevel: 'repeatable read' });
}
