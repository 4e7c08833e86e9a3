import { addDuration } from '../licensing/durations';
import { prolongedUntil } from '../licensing/lifecycle';

/**
 * What a line's licence should be, as a function of the order's events alone: the time they happened decides, never
 * the time they arrived. No database, no clock.
 */

/** In the order that events of one second take. */
export const ORDER_EVENTS = [
  'paid',
  'renewed',
  'upgraded',
  'payment_failed',
  'charged_back',
  'chargeback_reversed',
  'subscription_ended',
  'refund_failed',
  'refunded',
  'cancelled',
] as const;
export type OrderEventName = (typeof ORDER_EVENTS)[number];

/** What an event does, by the rules of its shop. */
export type Effect = 'issue' | 'renew' | 'change_plan' | 'suspend' | 'reinstate' | 'cancel' | 'none';

/** An event as it concerns one line. */
export interface LineEvent {
  event: OrderEventName;
  /** tells it from the order's other events */
  identity: string;
  at: Date;
  /** `none` too for a part of the money, or a test event of an order that is none */
  effect: Effect;
  paidUntil: Date | null;
}

/** A paid time: until a date, else for the plan's duration from `at`. */
export interface Term {
  identity: string;
  at: Date;
  until: Date | null;
  /** the upgrade that gave the plan it had then; undefined: none did */
  upgrade: string | undefined;
}

export interface Standing {
  /** none: not paid */
  state: 'none' | 'active' | 'suspended' | 'cancelled';
  /** the event that suspended or cancelled */
  by: OrderEventName | undefined;
  /** when each event happened that suspends it; the latest last */
  holds: ReadonlyMap<OrderEventName, Date>;
  /** when it was last paid */
  paidAt: Date | undefined;
  terms: Term[];
  /** the identity of the upgrade that gives its plan; undefined: none does */
  upgrade: string | undefined;
}

/** @param upgrades the identities of upgrades whose plan is known; another one changes nothing */
export function foldLine(events: LineEvent[], upgrades: ReadonlySet<string>): Standing {
  const terms: Term[] = [];
  const holds = new Map<OrderEventName, Date>();
  let paidAt: Date | undefined;
  let upgrade: string | undefined;
  const pay = (at: Date) => {
    paidAt = at;
    for (const name of holds.keys()) if (isLiftedByPayment(name)) holds.delete(name);
  };
  for (const { event, identity, at, effect, paidUntil } of [...events].sort(byTime)) {
    if (effect === 'cancel') return { state: 'cancelled', by: event, holds, paidAt, terms, upgrade };
    const term = { identity, at, until: paidUntil, upgrade };
    if (effect === 'issue') {
      if (paidAt === undefined) terms.push(term);
      pay(at);
    } else if (effect === 'renew') {
      // Nothing to renew yet.
      if (paidAt === undefined) continue;
      terms.push(term);
      pay(at);
    } else if (effect === 'change_plan') {
      if (!upgrades.has(identity)) continue;
      upgrade = identity;
      if (paidAt !== undefined && paidUntil !== null) terms.push({ ...term, upgrade });
    } else if (effect === 'suspend') {
      // Again, so that the latest comes last.
      holds.delete(event);
      holds.set(event, at);
    } else if (effect === 'reinstate') holds.delete(event === 'refund_failed' ? 'refunded' : 'charged_back');
  }
  const by = [...holds.keys()].at(-1);
  const state = paidAt === undefined ? 'none' : by === undefined ? 'active' : 'suspended';
  return { state, by, holds, paidAt, terms, upgrade };
}

/** Money that was charged back may be in dispute still, whatever is paid besides: only its reversal ends that. */
function isLiftedByPayment(event: OrderEventName): boolean {
  return event !== 'charged_back';
}

/**
 * What holds a licence back: the holds of the order that issued it, but for those that a newer payment of an order
 * which renews it has lifted.
 */
export function holdsOf(
  issued: Standing | undefined,
  renewals: Standing[],
): ReadonlyMap<OrderEventName, Date> {
  const paid = renewals.flatMap(({ state, paidAt }) =>
    state === 'active' && paidAt ? [paidAt.getTime()] : [],
  );
  const newest = Math.max(-Infinity, ...paid);
  return new Map(
    [...(issued?.holds ?? [])].filter(([name, at]) => !isLiftedByPayment(name) || at.getTime() >= newest),
  );
}

/** By time, then by rank, then by identity: any order will do, but it has to be the same for every arrival. */
export function byTime(a: LineEvent, b: LineEvent): number {
  return (
    a.at.getTime() - b.at.getTime() ||
    ORDER_EVENTS.indexOf(a.event) - ORDER_EVENTS.indexOf(b.event) ||
    (a.identity < b.identity ? -1 : 1)
  );
}

/** The duration of the plan that an upgrade gave, or the first; null: for life. */
export type DurationOf = (upgrade: string | undefined) => string | null;

/** The end of a licence that its first term began; null: never. */
export function issuedUntil([first, ...others]: Term[], durationOf: DurationOf): Date | null {
  if (first === undefined) return null;
  const duration = durationOf(first.upgrade);
  const begun = first.until ?? (duration === null ? null : addDuration(first.at, duration));
  return prolonged(begun, others, durationOf);
}

/** The end after terms that follow `end`, each counted as `license renew` does with its `at` as now. */
export function prolonged(end: Date | null, terms: Term[], durationOf: DurationOf): Date | null {
  return terms.reduce<Date | null>((until, term) => {
    if (term.until !== null) return term.until;
    const duration = durationOf(term.upgrade);
    return until === null || duration === null ? until : prolongedUntil(until, duration, term.at);
  }, end);
}

/**
 * Where an end goes when what the events say goes from `before` to `after`. A licence whose end is another one, since
 * somebody moved it by hand, keeps that difference.
 */
export function movedEnd(stored: Date | null, before: Date | null, after: Date | null): Date | null {
  if (isSame(before, after)) return stored;
  if (isSame(stored, before)) return after;
  if (stored === null || before === null || after === null) return stored;
  return new Date(stored.getTime() + after.getTime() - before.getTime());
}

export function isSame(a: Date | null, b: Date | null): boolean {
  return a?.getTime() === b?.getTime();
}

/** @param a, @param b ends; null: never */
export function isLater(a: Date | null, b: Date | null): boolean {
  return b !== null && (a === null || a > b);
}
