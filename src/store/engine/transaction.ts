import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { LOCK_TIMEOUT_MS } from './connections';
import { isOfService, isSqlite, table, type Db, type Transaction } from './database';
import { isCertificationConflict, mayHaveBeenExecuted, isLockConflict } from './errors';

interface Settings extends Knex.TransactionConfig {
  /** true if `work` cannot be run again */
  isOnce?: boolean;
}

/** The maximum number of attempts. Deadlocks and conflicts between a cluster's nodes show within milliseconds. */
const MAX_ATTEMPTS = 8;
/** The time after which a service gives up. A lock wait takes 1 s (mysql.ts), and a caller waits for three at most. */
const GIVE_UP_AFTER_MS = 2_500;
const MAX_PAUSE_MS = 500;

/**
 * Runs `work` in a transaction. It retries after a deadlock (1213), a lock wait timeout (1205), or a conflict with
 * another node of a Galera cluster, which may only show at COMMIT. A timeout only rolls back its own statement, and the
 * rest is rolled back here, so `work` must not catch that error. Inside another transaction it becomes a part of it,
 * and only the whole is retried. A command tries for longer than a service (`LOCK_TIMEOUT_MS`).
 */
export async function inTransaction<T>(
  db: Db,
  work: (trx: Transaction) => Promise<T>,
  { isOnce = db.isTransaction ?? false, ...settings }: Settings = {},
): Promise<T> {
  const started = performance.now();
  const limit = isOfService(db)
    ? { attempts: MAX_ATTEMPTS, ms: GIVE_UP_AFTER_MS }
    : { attempts: Infinity, ms: LOCK_TIMEOUT_MS };
  for (let attempt = 1; ; attempt++) {
    const tried = await tryTransaction(db, work, settings);
    if ('result' in tried) return tried.result;
    const spent = performance.now() - started;
    if (isOnce || !isLockConflict(tried.failure) || attempt >= limit.attempts || spent > limit.ms)
      throw tried.failure;
    // Wait for a random time, so that two conflicting transactions do not meet again.
    await sleep(Math.random() * Math.min(20 * attempt, MAX_PAUSE_MS));
  }
}

/** Calls `done` after the transaction is committed; outside a transaction, at once. */
export function afterCommit(db: Db, done: () => void): void {
  if (db.isTransaction) (db as Transaction).executionPromise.then(done, () => undefined);
  else done();
}

/**
 * Runs `work` in a transaction once.
 * @returns the result, or the failure of a transaction that is rolled back and may be retried
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
    if (mayHaveBeenExecuted(failure)) unanswered.add(failure as object);
    throw failure;
  }
}

/** Transactions that the server has rolled back: later statements in them would be committed one by one. */
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

/** Reports whether an error, or its cause, is the failure of a COMMIT that the server may have carried out. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof Error && (unanswered.has(error) || isOutcomeUnknown(error.cause));
}

/**
 * Runs `work` in a transaction whose reads see what others committed in the meantime, even before its first lock.
 * InnoDB refuses this with binlog_format STATEMENT; then reads see the moment of the first read.
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
    // Write first, because an SQLite transaction that has read cannot write after another process has written.
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

/** Runs `work` on a snapshot of one moment, which later writes do not change. It blocks no other transaction. */
export function inSnapshot<T>(db: Db, work: (trx: Transaction) => Promise<T>): Promise<T> {
  if (db.isTransaction) return work(db as Transaction);
  // Do not set a level for SQLite: its transactions read a snapshot anyway, and Knex has no isolation levels for it.
  return isSqlite(db) ? db.transaction(work) : db.transaction(work, { isolationLevel: 'repeatable read' });
}
