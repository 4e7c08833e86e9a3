import { DAY_MS } from '../base/days';
import type { Db } from '../store/engine/database';
import { findEventsSince } from '../store/events';
import type { Removals } from '../texts/customers/standing';

/** The actor of a customer's changes in the history. An API client's actor is `customer:` and an address. */
export const ACTOR = 'customer';

const WINDOW_MS = 30 * DAY_MS;

/** Returns the times of recent removals by licence id, newest first. Sites without a slot do not count. */
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

/** Returns the remaining allowance. @param removed the result of `findRemovals` */
export function removalQuotaOf(allowed: number, removed: Date[]): Removals {
  const last = removed[Math.min(allowed, removed.length) - 1];
  return {
    allowed,
    left: Math.max(0, allowed - removed.length),
    nextAt: last === undefined ? null : new Date(last.getTime() + WINDOW_MS),
  };
}

/** Returns the allowance after one more removal. @param removals some must be left */
export function quotaAfterRemoval({ allowed, left, nextAt }: Removals, now: Date): Removals {
  return { allowed, left: left - 1, nextAt: nextAt ?? new Date(now.getTime() + WINDOW_MS) };
}
