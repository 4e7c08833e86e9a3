import { DAY_MS } from '../base/days';
import type { Db } from '../store/engine/database';
import { findEventsSince } from '../store/events';
import type { Removals } from '../texts/customers/standing';

/** How a customer's changes stand in a licence's history. An API client's are `customer:` with an address. */
export const ACTOR = 'customer';

const WINDOW_MS = 30 * DAY_MS;

/** The times of the latest removals that count, newest first, by licence id. Sites without a slot do not count. */
export async function findRemovals(db: Db, licenseIds: number[], now: Date): Promise<Map<number, Date[]>> {
  const since = new Date(now.getTime() - WINDOW_MS);
  const events = await findEventsSince(db, licenseIds, { actor: ACTOR, action: 'deactivate', since });
  return new Map(
    [...events].map(([id, removed]) => [
      id,
      removed.filter(({ before }) => before?.free !== true).map(({ at }) => at),
    ]),
  );
}

/** @param removed as `findRemovals` says */
export function removalsOf(allowed: number, removed: Date[]): Removals {
  const last = removed[Math.min(allowed, removed.length) - 1];
  return {
    allowed,
    left: Math.max(0, allowed - removed.length),
    nextAt: last === undefined ? null : new Date(last.getTime() + WINDOW_MS),
  };
}

/** What is left when one more is removed now. @param removals of which some are left */
export function removalsAfterOne({ allowed, left, nextAt }: Removals, now: Date): Removals {
  return { allowed, left: left - 1, nextAt: nextAt ?? new Date(now.getTime() + WINDOW_MS) };
}
