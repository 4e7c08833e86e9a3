import { DAY_MS, dayOf } from '../base/days';
import type { Db } from '../store/engine/database';
import { sumEndsByDay, sumEndsByMonth, sumStates } from '../store/renewals';
import { LATE_RENEWAL_DAYS } from './timeline';
import type { LiveStatus } from '../licensing/core/states';
import { countLicensesByStatus } from './statistics';
import { matchingPlans } from '../licensing/license-filter';

/** A query of the stored sums of ends and states: months, due ends, states, days. docs/renewals.md defines them. */

export interface RenewalsQuery {
  productId?: number | undefined;
  planId?: number | undefined;
}

export interface RenewalSum {
  /** the number of ends */
  ended: number;
  /** renewed before the licence stopped working */
  inTime: number;
  /** renewed within 30 days after the end */
  late: number;
  /** not renewed so far */
  lost: number;
}

export interface RenewalMonth extends RenewalSum {
  /** `2026-11` */
  month: string;
  /** whether its last day is at least 30 days ago, so that nothing in it can still count as renewed */
  isFinal: boolean;
}

export interface Renewals {
  /** twelve months, oldest first; the last is this month, up to yesterday */
  months: RenewalMonth[];
  /** the sum of the final ones of these months */
  final: RenewalSum;
  /** the sums of these months by plan, most ends first, without plans that had no end */
  plans: (RenewalSum & { planId: number })[];
  due: Due[];
  /** 24, oldest first: the states at the end of each month, and now */
  states: StateMonth[];
  /** the days on which licences end, from today on, for 366 days */
  ends: { day: string; licenses: number }[];
}

/** The ends from today on, within a number of days, that were not renewed yet. */
export interface Due {
  days: number;
  withoutSubscription: number;
  withSubscription: number;
}

export interface StateMonth {
  month: string;
  licenses: Record<LiveStatus, number>;
}

const MONTHS = 12;
const STATE_MONTHS = 24;
const DUE_DAYS = [7, 30, 90];
const CALENDAR_DAYS = 366;

/** Reads only stored figures, at most a minute old. @throws OperatorError if the product or plan does not exist */
export async function readRenewals(db: Db, query: RenewalsQuery, now: Date): Promise<Renewals> {
  const planIds = await matchingPlans(db, query);
  const today = dayOf(now);
  const months = lastMonths(now);
  const [past, ahead, states] = await Promise.all([
    sumEndsByMonth(db, { planIds, from: `${months[0] as string}-01`, to: daysAfter(now, -1) }),
    sumEndsByDay(db, { planIds, from: today, to: daysAfter(now, CALENDAR_DAYS) }),
    readStates(db, planIds, query, now),
  ]);
  const counted = months.map((month): RenewalMonth => ({
    month,
    ...countedOf(past.filter((one) => one.month === month)),
    isFinal: isMonthFinal(month, now),
  }));
  return {
    months: counted,
    final: totalOf(counted.filter(({ isFinal }) => isFinal)),
    plans: byPlan(past),
    due: DUE_DAYS.map((days) => dueIn(ahead, days, now)),
    states,
    ends: endsByDay(ahead),
  };
}

interface EndCount {
  outcome: string;
  licenses: number;
}

const RENEWED: Partial<Record<string, 'inTime' | 'late'>> = { in_time: 'inTime', late: 'late' };

function countedOf(sums: EndCount[]): RenewalSum {
  const counted = { ended: 0, inTime: 0, late: 0, lost: 0 };
  for (const { outcome, licenses } of sums) {
    counted.ended += licenses;
    counted[RENEWED[outcome] ?? 'lost'] += licenses;
  }
  return counted;
}

function totalOf(all: RenewalSum[]): RenewalSum {
  const total = { ended: 0, inTime: 0, late: 0, lost: 0 };
  for (const one of all)
    for (const name of Object.keys(total) as (keyof RenewalSum)[]) total[name] += one[name];
  return total;
}

function byPlan(sums: (EndCount & { planId: number })[]): Renewals['plans'] {
  const ids = [...new Set(sums.map(({ planId }) => planId))];
  return ids
    .map((planId) => ({ planId, ...countedOf(sums.filter((one) => one.planId === planId)) }))
    .filter(({ planId, ended }) => planId !== 0 && ended > 0)
    .sort((a, b) => b.ended - a.ended || a.planId - b.planId);
}

function isAhead({ outcome }: EndCount): boolean {
  return RENEWED[outcome] === undefined;
}

function dueIn(ahead: (EndCount & { day: string })[], days: number, now: Date): Due {
  const last = daysAfter(now, days);
  const due = { days, withoutSubscription: 0, withSubscription: 0 };
  for (const one of ahead)
    if (isAhead(one) && one.day <= last)
      due[one.outcome === 'renewing' ? 'withSubscription' : 'withoutSubscription'] += one.licenses;
  return due;
}

function endsByDay(ahead: (EndCount & { day: string })[]): Renewals['ends'] {
  const days = new Map<string, number>();
  for (const one of ahead) if (isAhead(one)) days.set(one.day, (days.get(one.day) ?? 0) + one.licenses);
  return [...days].flatMap(([day, licenses]) => (licenses > 0 ? [{ day, licenses }] : []));
}

async function readStates(
  db: Db,
  planIds: number[] | undefined,
  query: RenewalsQuery,
  now: Date,
): Promise<StateMonth[]> {
  const before = monthAt(now, -1);
  const sums = await sumStates(db, planIds, before);
  const licenses: StateMonth['licenses'] = { active: 0, expired: 0, suspended: 0, revoked: 0, cancelled: 0 };
  const states: StateMonth[] = [];
  let next = 0;
  for (let i = 1 - STATE_MONTHS; i < 0; i++) {
    const month = monthAt(now, i);
    for (; sums[next] !== undefined && (sums[next] as { month: string }).month <= month; next++) {
      const { status, licenses: by } = sums[next] as { status: LiveStatus; licenses: number };
      licenses[status] += by;
    }
    states.push({ month, licenses: { ...licenses } });
  }
  // The stored states of this month would include the ends in the rest of it.
  const counts = await countLicensesByStatus(db, query);
  const current = { ...licenses };
  for (const status of Object.keys(current) as LiveStatus[]) current[status] = counts[status] ?? 0;
  return [...states, { month: monthAt(now, 0), licenses: current }];
}

/** Returns this UTC month and the eleven before it, oldest first, such as `2026-11`. */
export function lastMonths(now: Date): string[] {
  return Array.from({ length: MONTHS }, (_, i) => monthAt(now, i + 1 - MONTHS));
}

/** Returns the month this number of months after the present one, such as `2026-11`. */
function monthAt(now: Date, months: number): string {
  return dayOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1))).slice(0, 7);
}

/** Reports whether nothing in a month can still count as renewed: its last day is at least 30 days ago. */
export function isMonthFinal(month: string, now: Date): boolean {
  return now.getTime() >= nextMonth(month).getTime() + LATE_RENEWAL_DAYS * DAY_MS;
}

/** Returns the first moment of the month after this one. */
export function nextMonth(month: string): Date {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, number, 1));
}

function daysAfter(now: Date, days: number): string {
  return dayOf(new Date(now.getTime() + days * DAY_MS));
}
