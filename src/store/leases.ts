import { table, type Db, type Transaction } from './engine/database';
import { isDuplicate } from './engine/errors';
import { toSqlTime } from './engine/time';

/** Work that one of several instances does, and who this instance is. */
export interface Lease {
  name: string;
  /** unique among the processes of all instances */
  holder: string;
}

/** A holder that is stopped or killed is replaced after this time. */
const LEASE_MS = 25_000;
/** An end further ahead came from a wrong clock, corrected since. */
const MAX_CLOCK_SKEW_MS = 5 * 60 * 1000;

/**
 * Takes the lease, or prolongs it; another instance takes it when this one has not prolonged it for a while. Call it
 * before each piece of the work.
 *
 * @returns false while another instance holds it
 */
export async function holdLease(db: Db, { name, holder }: Lease, now: Date): Promise<boolean> {
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
  // Another part of this process may prolong it at the same moment; another instance must not have.
  const seen = isOwn ? { holder } : held;
  return (await db(table(db, 'leases')).where({ name }).where(seen).update({ holder, until })) === 1;
}

function endOf(now: Date): string {
  return toSqlTime(new Date(now.getTime() + LEASE_MS));
}

export interface LeaseRow {
  holder: string;
  until: string;
}

/**
 * Prolongs the lease, and keeps others from taking it until the transaction ends. Must be the first statement, because
 * SQLite's transactions cannot read before they write.
 *
 * @returns false when another instance has it by now
 */
export async function lockLease(trx: Transaction, { name, holder }: Lease, now: Date): Promise<boolean> {
  return (
    (await trx(table(trx, 'leases'))
      .where({ name, holder })
      .update({ until: endOf(now) })) === 1
  );
}

/** Lets another instance continue at once. */
export async function releaseLease(db: Db, { name, holder }: Lease): Promise<void> {
  await db(table(db, 'leases')).where({ name, holder }).delete();
}
