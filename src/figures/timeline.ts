import { DAY_MS } from '../base/days';
import {
  liveStatus,
  paidUntil,
  STORED_STATUSES,
  type LiveStatus,
  type StoredStatus,
} from '../licensing/core/states';

/**
 * A licence's ends and states over time, according to its history (docs/renewals.md). All figures about renewals and churn
 * follow from these functions of the history only, so that they can be recounted at any time.
 */

/** An event of the history, with its fields named as in its JSON (store/events.ts). */
export interface TimelineEvent {
  id: number;
  at: Date;
  action: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** The actions that may change a licence's end, state or plan. */
export const TIMELINE_ACTIONS = [
  'issue',
  'import',
  'renew',
  'set-end',
  'suspend',
  'reinstate',
  'revoke',
  'cancel',
  'change-plan',
] as const;

/**
 * The outcome of an end. `in_time`: renewed before the licence stopped working, which a grace period delays. `late`:
 * renewed no later than 30 days after it. `open`: neither, so far. `renewing`: neither, with automatic renewal.
 */
export const OUTCOMES = ['open', 'renewing', 'in_time', 'late'] as const;
export type RenewalOutcome = (typeof OUTCOMES)[number];

export interface TermEnd {
  /** the licence's plan at that time; 0: the history does not contain it */
  planId: number;
  /** the paid-through date */
  at: Date;
  outcome: RenewalOutcome;
}

/** A state of the licence from this time until the next phase. */
export interface Phase {
  at: Date;
  planId: number;
  status: LiveStatus;
}

/** The days after its end within which a renewal still counts for it. */
export const LATE_RENEWAL_DAYS = 30;

/** The columns of a licence that decide this, from one event to the next. */
interface Standing {
  status: StoredStatus;
  planId: number;
  expiresAt: Date | null;
  graceDays: number;
  renewsItself: boolean;
}

/** A paid-through date that was in the future when it was set. All except a licence's latest were moved. */
interface LinkedEnd {
  at: Date;
  /** when the licence stops working, later by the grace period */
  stopsAt: Date;
  movedAt: Date | null;
}

/**
 * Returns all ends of a licence, past and present, with three exceptions: an end that had passed when it was set,
 * because no renewal before it was recorded; an end that a refund took back; and an end that fell while the licence was
 * suspended, revoked or cancelled.
 */
export function termEndsOf(events: TimelineEvent[]): TermEnd[] {
  const standings = standingsOf(events);
  let ends: LinkedEnd[] = [];
  for (const [i, { at, ...is }] of standings.entries()) ends = moved(ends, standings[i - 1], is, at);
  const last = standings.at(-1);
  return ends.flatMap((end): TermEnd[] => {
    const then = standings.findLast(({ at }) => at <= end.at);
    if (last === undefined || then?.status !== 'active') return [];
    return [{ planId: then.planId, at: end.at, outcome: outcomeOf(end, last.renewsItself) }];
  });
}

function outcomeOf({ at, stopsAt, movedAt }: LinkedEnd, renewsItself: boolean): RenewalOutcome {
  if (movedAt === null) return renewsItself ? 'renewing' : 'open';
  if (movedAt < stopsAt) return 'in_time';
  return movedAt.getTime() <= at.getTime() + LATE_RENEWAL_DAYS * DAY_MS ? 'late' : 'open';
}

/** Returns the ends after a change at a given time. */
function moved(ends: LinkedEnd[], was: Standing | undefined, is: Standing, at: Date): LinkedEnd[] {
  const [from, to] = [was && paidUntil(was), paidUntil(is)];
  const stopsAt = is.expiresAt as Date;
  const isTo = (one: LinkedEnd) => one.at.getTime() === to?.getTime();
  if (from !== undefined && from?.getTime() === to?.getTime())
    return ends.map((one) => (isTo(one) && one.movedAt === null ? { ...one, stopsAt } : one));
  // Ends after the new end were taken back.
  const kept = to === null ? ends : ends.filter((one) => one.at < to || isTo(one));
  const linked = kept.map((one) => {
    if (isTo(one)) return { ...one, stopsAt, movedAt: null };
    return one.movedAt === null ? { ...one, movedAt: at } : one;
  });
  return to === null || to <= at || kept.some(isTo)
    ? linked
    : [...linked, { at: to, stopsAt, movedAt: null }];
}

/** Returns the states of a licence, in order. The last may be in the future: it expires at its end. */
export function phasesOf(events: TimelineEvent[]): Phase[] {
  const phases: Phase[] = [];
  const standings = standingsOf(events);
  for (const [i, { at, ...standing }] of standings.entries()) {
    const { planId, expiresAt } = standing;
    const until = standings[i + 1]?.at;
    const add = (from: Date) => {
      const status = liveStatus(standing, from);
      const before = phases.at(-1);
      if (before?.status !== status || before.planId !== planId) phases.push({ at: from, planId, status });
    };
    add(at);
    if (expiresAt !== null && expiresAt > at && (until === undefined || expiresAt < until)) add(expiresAt);
  }
  return phases;
}

function standingsOf(events: TimelineEvent[]): (Standing & { at: Date })[] {
  const sorted = [...events].sort((a, b) => a.at.getTime() - b.at.getTime() || a.id - b.id);
  let standing: Standing | undefined;
  return sorted.map((event) => {
    // A history may begin in the middle: its first event contains the state before it.
    standing = told(standing ?? told(BEGINNING, event.before, event), event.after, event);
    return { ...standing, at: event.at };
  });
}

const BEGINNING: Standing = {
  status: 'active',
  planId: 0,
  expiresAt: null,
  graceDays: 0,
  renewsItself: false,
};

/** Applies the changed fields of an event to the licence. */
function told(
  standing: Standing,
  said: Record<string, unknown> | null,
  { action, before }: TimelineEvent,
): Standing {
  const is = { ...standing };
  const { status, plan_id: planId, expires_at: end, grace_days: grace, renews_itself: renews } = said ?? {};
  // The history contains the live status at that time.
  if (status === 'expired') is.status = 'active';
  else if (isStored(status)) is.status = status;
  if (typeof planId === 'number') is.planId = planId;
  if (typeof end === 'string' || end === null) {
    is.expiresAt = end === null ? null : new Date(end);
    // An end without a grace period means 0 days, except in an import, which names only the changed fields.
    if (action !== 'import' || before === null) is.graceDays = 0;
  }
  if (typeof grace === 'number') is.graceDays = grace;
  if (typeof renews === 'boolean') is.renewsItself = renews;
  return is;
}

function isStored(status: unknown): status is StoredStatus {
  return (STORED_STATUSES as readonly unknown[]).includes(status);
}
