import { endWithGrace } from '../licensing/core/states';
import { addDuration } from '../licensing/durations';
import { extendedUntil } from '../licensing/lifecycle';
import { nearestStorable } from '../store/engine/time';

/** Paid periods, and the paid-through date that follows from them. */

/** A paid period: until a date, or for a plan's duration from `at`. */
export interface Term {
  identity: string;
  at: Date;
  until: Date | null;
  /** the plan's duration at that time; null for lifetime */
  duration: string | null;
  /** true for an upgrade, which may move an end forward but never back */
  isUpgrade: boolean;
  /** the days by which a payment may be late and still count from the end before it */
  graceDays: number;
}

/**
 * Returns the paid-through date after a list of paid periods; null if it never ends. Each counts like a `license renew`
 * at its own `at`. @param base the paid-through date before them; undefined if the first period begins it
 */
export function endOfTerms(terms: Term[], base?: Date | null): Date | null {
  const end = terms.reduce<Date | null | undefined>(
    (before, { at, until, duration, isUpgrade, graceDays }) => {
      const own = until ?? (duration === null ? null : addDuration(at, duration));
      if (before === undefined) return own;
      if (isUpgrade) return isLater(own, before) ? own : before;
      if (until !== null) return until;
      if (before === null || duration === null) return before;
      return extendedUntil(endWithGrace(before, graceDays), duration, at);
    },
    base,
  );
  return end ? nearestStorable(end) : null;
}

/**
 * Returns the new end of a licence when the computed end changes from `before` to `after`. If the seller moved the end
 * by hand, the difference is kept.
 */
export function movedEnd(stored: Date | null, before: Date | null, after: Date | null): Date | null {
  if (isSame(before, after)) return stored;
  if (isSame(stored, before)) return after;
  if (stored === null || before === null || after === null) return stored;
  return nearestStorable(new Date(stored.getTime() + after.getTime() - before.getTime()));
}

export function isSame(a: Date | null, b: Date | null): boolean {
  return a?.getTime() === b?.getTime();
}

/** Reports whether an end is later than another. @param a an end, null if never @param b the other end, null if never */
export function isLater(a: Date | null, b: Date | null): boolean {
  return b !== null && (a === null || a > b);
}
