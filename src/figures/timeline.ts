import { DAY_MS } from '../base/days';
import {
  liveStatus,
  paidEnd,
  STORED_STATUSES,
  type LiveStatus,
  type StoredStatus,
} from '../licensing/core/states';

/**
 * A licence's ends and states over time, as its history tells them (docs/renewals.md). Everything that is counted of
 * renewals follows from these functions of the history alone, so that it can be counted again at any time.
 */

/** An event of the history, with what it says in the names of its JSON (store/events.ts). */
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
 * What became of an end. `in_time`: moved on before the licence stopped working, which a grace delays. `late`: no later
 * than 30 days after it. `open`: neither, or not yet. `renewing`: the same, while a subscription pays on by itself.
 */
export const OUTCOMES = ['open', 'renewing', 'in_time', 'late'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface End {
  /** the plan that the licence has then; 0: its history does not say */
  planId: number;
  /** until when it is paid */
  at: Date;
  outcome: Outcome;
}

/** From a moment on the licence is in this state, until the next. */
export interface Phase {
  at: Date;
  planId: number;
  status: LiveStatus;
}

/** So long after its end a renewal still counts as one of it. */
export const LATE_DAYS = 30;

/** What of a licence decides it, from one event to the next. */
interface Standing {
  status: StoredStatus;
  planId: number;
  expiresAt: Date | null;
  graceDays: number;
  renewsItself: boolean;
}

/** A paid end that was ahead when it was set. All but the latest of a licence were moved on. */
interface LinkedEnd {
  at: Date;
  /** when the licence stops working, later by the grace */
  stopsAt: Date;
  movedAt: Date | null;
}

/**
 * The ends that a licence has had, and the one it has. Not among them: an end that had passed when it was set, since
 * nobody told of renewals before; one that a refund took back; one that fell while the licence was suspended, revoked or
 * cancelled.
 */
export function endsOf(events: TimelineEvent[]): End[] {
  const standings = standingsOf(events);
  let ends: LinkedEnd[] = [];
  for (const [i, { at, ...is }] of standings.entries()) ends = moved(ends, standings[i - 1], is, at);
  const last = standings.at(-1);
  return ends.flatMap((end): End[] => {
    const then = standings.findLast(({ at }) => at <= end.at);
    if (last === undefined || then?.status !== 'active') return [];
    return [{ planId: then.planId, at: end.at, outcome: outcomeOf(end, last.renewsItself) }];
  });
}

function outcomeOf({ at, stopsAt, movedAt }: LinkedEnd, renewsItself: boolean): Outcome {
  if (movedAt === null) return renewsItself ? 'renewing' : 'open';
  if (movedAt < stopsAt) return 'in_time';
  return movedAt.getTime() <= at.getTime() + LATE_DAYS * DAY_MS ? 'late' : 'open';
}

/** The ends after a change at a moment. */
function moved(ends: LinkedEnd[], was: Standing | undefined, is: Standing, at: Date): LinkedEnd[] {
  const [from, to] = [was && paidEnd(was), paidEnd(is)];
  const stopsAt = is.expiresAt as Date;
  const isTo = (one: LinkedEnd) => one.at.getTime() === to?.getTime();
  if (from !== undefined && from?.getTime() === to?.getTime())
    return ends.map((one) => (isTo(one) && one.movedAt === null ? { ...one, stopsAt } : one));
  // What lies behind the new end was taken back.
  const kept = to === null ? ends : ends.filter((one) => one.at < to || isTo(one));
  const linked = kept.map((one) => {
    if (isTo(one)) return { ...one, stopsAt, movedAt: null };
    return one.movedAt === null ? { ...one, movedAt: at } : one;
  });
  return to === null || to <= at || kept.some(isTo)
    ? linked
    : [...linked, { at: to, stopsAt, movedAt: null }];
}

/** The states that a licence has been in, in order. The last may be one to come: it expires at its end. */
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
    // A history may begin in the midst: what was before its first event is told by that.
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

/** What is said changes what stands. */
function told(
  standing: Standing,
  said: Record<string, unknown> | null,
  { action, before }: TimelineEvent,
): Standing {
  const is = { ...standing };
  const { status, plan_id: planId, expires_at: end, grace_days: grace, renews_itself: renews } = said ?? {};
  // The history says the state that it was in then.
  if (status === 'expired') is.status = 'active';
  else if (isStored(status)) is.status = status;
  if (typeof planId === 'number') is.planId = planId;
  if (typeof end === 'string' || end === null) {
    is.expiresAt = end === null ? null : new Date(end);
    // An end without a grace has none, but where an import names what changed alone.
    if (action !== 'import' || before === null) is.graceDays = 0;
  }
  if (typeof grace === 'number') is.graceDays = grace;
  if (typeof renews === 'boolean') is.renewsItself = renews;
  return is;
}

function isStored(status: unknown): status is StoredStatus {
  return (STORED_STATUSES as readonly unknown[]).includes(status);
}
