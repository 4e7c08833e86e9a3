import { table, type Db, type Transaction } from './engine/database';
import { isDuplicate } from './engine/errors';
import { toSqlTime } from './engine/time';

/** A lease on work that only one of several instances may do, with this instance as its holder. */
export interface Lease {
  name: string;
  /** unique among the processes of all instances */
  holder: string;
}

/** The duration of a lease; after it, another instance replaces a holder that was stopped or killed. */
const LEASE_MS = 25_000;
/** An end further ahead comes from a wrong clock that has been corrected since. */
const MAX_CLOCK_SKEW_MS = 5 * 60 * 1000;

/**
 * Takes the lease or renews it; another instance takes it if this one has not renewed it for a while. Call it before
 * each piece of the work.
 *
 * @returns false while another instance holds it
 */
export async function acquireOrRenewLease(db: Db, { name, holder }: Lease, now: Date): Promise<boolean> {
  const until = endOf(now);
  const [held] = await db(table(db, 'leases')).where({ name }).select('holder', 'until');
  if (held === undefined)
    try {
      await db(table(db, 'leases')).insert({ name, holder, until });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  const latest = new Date(now.getTime() + MAX_CLOCK_SKEW_MS);
  const isFree = held.until <= toSqlTime(now) || held.until > toSqlTime(latest);
  const isOwn = held.holder === holder;
  if (!isOwn && !isFree) return false;
  // Another part of this process may renew it at the same moment; another instance must not have taken it.
  const seen = isOwn ? { holder } : held;
  return (await db(table(db, 'leases')).where({ name }).where(seen).update({ holder, until })) === 1;
}

/** The beginning of the name of a lease that each process of the service has for itself. */
export const PROCESS_LEASE = 'process-';

/** Counts the processes of the service that have a lease, and deletes the leases of those that were killed. */
export async function countProcesses(db: Db, now: Date): Promise<number> {
  const leases = await db(table(db, 'leases'))
    .where('name', 'like', `${PROCESS_LEASE}%`)
    .select('name', 'until');
  const over = leases.filter(({ until }) => until <= toSqlTime(now)).map(({ name }) => name);
  if (over.length > 0) await db(table(db, 'leases')).whereIn('name', over).delete();
  return leases.length - over.length;
}

function endOf(now: Date): string {
  return toSqlTime(new Date(now.getTime() + LEASE_MS));
}

export interface LeaseRow {
  holder: string;
  until: string;
}

/**
 * Renews the lease, and keeps others from taking it until the transaction ends. Must be the first statement, because
 * SQLite's transactions cannot read before they write.
 *
 * @returns false if another instance holds it now
 */
export async function lockLease(trx: Transaction, { name, holder }: Lease, now: Date): Promise<boolean> {
  return (
    (await trx(table(trx, 'leases'))
      .where({ name, holder })
      .update({ until: endOf(now) })) === 1
  );
}

/** Releases the lease, so that another instance can continue at once. */
export async function releaseLease(db: Db, { name, holder }: Lease): Promise<void> {
  await db(table(db, 'leases')).where({ name, holder }).delete();
}
