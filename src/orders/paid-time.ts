import { endWithGrace } from '../licensing/core/states';
import { addDuration } from '../licensing/durations';
import { prolongedUntil } from '../licensing/lifecycle';
import { nearestStorable } from '../store/engine/time';

/** Paid times, and the ends that they come to. */

/** A paid time: until a date, else for a plan's duration from `at`. */
export interface Term {
  identity: string;
  at: Date;
  until: Date | null;
  /** of the plan at that time; null: for life */
  duration: string | null;
  /** an upgrade moves an end on, never back */
  isUpgrade: boolean;
  /** days by which it may be late and still count from the end before */
  graceDays: number;
}

/**
 * The paid end after paid times, each counted as `license renew` does with its `at` as now; null: never.
 * @param base the paid end before; undefined: the first of them begins it
 */
export function endOf(terms: Term[], base?: Date | null): Date | null {
  const end = terms.reduce<Date | null | undefined>(
    (before, { at, until, duration, isUpgrade, graceDays }) => {
      const own = until ?? (duration === null ? null : addDuration(at, duration));
      if (before === undefined) return own;
      if (isUpgrade) return isLater(own, before) ? own : before;
      if (until !== null) return until;
      if (before === null || duration === null) return before;
      return prolongedUntil(endWithGrace(before, graceDays), duration, at);
    },
    base,
  );
  return end ? nearestStorable(end) : null;
}

/**
 * Where an end goes when what the events say goes from `before` to `after`. A licence whose end is another one, since
 * somebody moved it by hand, keeps that difference.
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

/** @param a, @param b ends; null: never */
export function isLater(a: Date | null, b: Date | null): boolean {
  return b !== null && (a === null || a > b);
}
