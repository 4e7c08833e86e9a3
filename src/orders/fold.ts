import { addDuration } from '../licensing/durations';
import { endWithGrace } from '../licensing/core/states';
import { prolongedUntil } from '../licensing/lifecycle';
import { nearestStorable } from '../store/engine/time';

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
  'renewal_resumed',
  'renewal_stopped',
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
  /** the shop's name of the payment that it is about */
  payment: string | null;
  /** of an upgrade, or a renewal that pays for something else: it names an article or a quantity, whose meaning has to be known */
  changes: boolean;
  /** of an upgrade: what happens to licences that it takes away */
  reduced: Effect | null;
  /** of an upgrade: it says until when the payment before it pays, so it is given back with that one */
  confirms: boolean;
  /** whether a subscription pays on by itself from then on; null: it does not say */
  renewsItself: boolean | null;
  /** the shop's grace when it came */
  graceDays: number;
}

/** What the line was sold as, or an upgrade of it. */
export interface Meaning {
  duration: string | null;
  /** licences */
  count: number;
}

export interface Meanings {
  base: Meaning;
  /** by the identity of the upgrade; one that is missing changes nothing */
  upgrades: ReadonlyMap<string, Meaning>;
  /** the line concerns an earlier order's licence, so an upgrade may be its payment */
  renews: boolean;
  /** which of the line's licences it is, from 1 */
  n: number;
}

/** A paid time: until a date, else for a plan's duration from `at`. */
interface Term {
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

export interface LineFold {
  /** none: not paid */
  state: 'none' | 'active' | 'suspended' | 'cancelled';
  /** the event that suspended or cancelled */
  by: OrderEventName | undefined;
  /** when each event happened that suspends all of it; the latest last */
  holds: ReadonlyMap<OrderEventName, Date>;
  /** when a payment was given back without which nothing is paid any more */
  returnedAt: Date | undefined;
  /** when it was last paid by a payment that was not given back */
  paidAt: Date | undefined;
  /** what is paid; once all was given back, what was paid last */
  terms: Term[];
  /** false: all was given back */
  isPaid: boolean;
  /** the latest upgrade that counts */
  upgrade: { identity: string; at: Date } | undefined;
  /** a subscription pays on by itself */
  renewsItself: boolean;
  /** the grace of a line that renews itself; 0: none */
  graceDays: number;
}

export function foldLine(events: LineEvent[], meanings: Meanings): LineFold {
  const sorted = [...events].sort(byTime);
  const returns = findReturned(sorted);
  const payments = givingTime(sorted, meanings);
  const isPaid = payments.some(({ identity }) => !returns.has(identity));
  // Once nothing is paid any more, the end stays: what the last refund gave back counts for it.
  const refunds = new Set(payments.map(({ identity }) => returns.get(identity)));
  const lastReturn = isPaid ? undefined : sorted.findLast(({ identity }) => refunds.has(identity));
  const counts = ({ identity }: LineEvent) => {
    const by = returns.get(identity);
    return by === undefined || by === lastReturn?.identity;
  };
  const terms: Term[] = [];
  const holds = new Map<OrderEventName, Date>();
  let returnedAt: Date | undefined;
  let paidAt: Date | undefined;
  let hasPaid = false;
  const isKnown = () => hasPaid;
  let hasFirst = false;
  let begunBy: string | null = null;
  let upgrade: LineFold['upgrade'];
  let count = meanings.base.count;
  let most = count;
  let reduced = null as Effect | null;
  let renewal: Renewal = NO_RENEWAL;
  const ended = (state: LineFold['state'], by?: OrderEventName): LineFold => ({
    state,
    by,
    holds,
    returnedAt,
    paidAt,
    terms,
    isPaid,
    upgrade,
    ...renewal,
  });
  const meaning = () => (upgrade && meanings.upgrades.get(upgrade.identity)) ?? meanings.base;
  const pay = (one: LineEvent) => {
    hasPaid = true;
    if (returns.has(one.identity)) return;
    paidAt = one.at;
    returnedAt = undefined;
    for (const name of holds.keys()) if (isLiftedByPayment(name)) holds.delete(name);
  };
  const change = ({ identity, at, reduced: rule }: LineEvent, changed: Meaning) => {
    upgrade = { identity, at };
    if (changed.count < count) reduced = rule;
    count = changed.count;
    most = Math.max(most, count);
  };
  for (const one of sorted) {
    const { event, identity, at, effect } = one;
    // As it was before the payment: what ended, or had not begun, has no grace.
    const { graceDays } = renewal;
    renewal = renewalAfter(renewal, one);
    const addTerm = (isUpgrade = false) =>
      terms.push({ identity, at, until: one.paidUntil, duration: meaning().duration, isUpgrade, graceDays });
    const isRefundOfPayment = event === 'refunded' && one.payment !== null;
    if (isRefundOfPayment && (effect === 'suspend' || effect === 'cancel')) {
      // What gave no time, such as seats, leaves the end and the state.
      if (!payments.some((paid) => returns.get(paid.identity) === identity)) continue;
      // Cancelling is final, so no later payment counts.
      const isCovered =
        paidAt !== undefined && isLater(endOf(terms.filter(({ identity: of }) => !returns.has(of))), at);
      if (effect === 'cancel' && !isCovered) return ended('cancelled', event);
      returnedAt = at;
    } else if (effect === 'cancel') return ended('cancelled', event);
    else if (effect === 'issue') {
      // The first that stands gives the time; another payment of the same adds none.
      if (!hasFirst && counts(one)) {
        addTerm();
        hasFirst = true;
        begunBy = one.payment;
      } else if (begunBy !== null && begunBy === one.payment && one.paidUntil !== null) {
        // A session does not say until when its payment pays; its invoice does.
        terms.splice(
          0,
          1,
          ...terms.slice(0, 1).map((term) => ({ ...term, until: term.until ?? one.paidUntil })),
        );
      }
      pay(one);
    } else if (effect === 'renew') {
      // Nothing to renew yet.
      if (!isKnown()) continue;
      const changed = one.changes ? meanings.upgrades.get(identity) : undefined;
      if (changed !== undefined && counts(one) && !returns.has(identity)) change(one, changed);
      if (counts(one)) addTerm();
      pay(one);
    } else if (effect === 'change_plan') {
      const changed = meanings.upgrades.get(identity);
      if (one.changes && changed === undefined) continue;
      const begins = meanings.renews && !isKnown();
      if (begins) pay(one);
      // What was bought stays bought once all was given back. A confirmation is not paid for: only its time is given back.
      const changesPlan = changed !== undefined && (one.confirms || (counts(one) && !returns.has(identity)));
      if (changesPlan) change(one, changed);
      if (counts(one) && isKnown() && (begins || one.paidUntil !== null)) addTerm(true);
    } else if (effect === 'suspend') {
      // Again, so that the latest comes last.
      holds.delete(event);
      holds.set(event, at);
    } else if (effect === 'reinstate') holds.delete(event === 'refund_failed' ? 'refunded' : 'charged_back');
  }
  if (returnedAt !== undefined && isPaid && isLater(endOf(terms), returnedAt)) returnedAt = undefined;
  if (meanings.n > count) {
    // Nothing that stands ever paid for so many.
    if (meanings.n > most) returnedAt = sorted.findLast(({ identity }) => isReturn(identity, returns))?.at;
    else if (reduced === 'cancel') return ended('cancelled', 'upgraded');
  }
  const latest = [...holds].at(-1);
  const by =
    returnedAt !== undefined && (latest === undefined || latest[1] < returnedAt) ? 'refunded' : latest?.[0];
  return ended(!isKnown() ? 'none' : by === undefined ? 'active' : 'suspended', by);
}

interface Renewal {
  renewsItself: boolean;
  graceDays: number;
}

const NO_RENEWAL: Renewal = { renewsItself: false, graceDays: 0 };

/** A payment that failed says nothing: the shop tries again, or ends the subscription. */
function renewalAfter(before: Renewal, one: LineEvent): Renewal {
  if (one.event === 'payment_failed' || (one.renewsItself === null && !isPayment(one))) return before;
  const renewsItself = one.renewsItself ?? before.renewsItself;
  return renewsItself ? { renewsItself, graceDays: one.graceDays } : NO_RENEWAL;
}

/** Whether a line renews itself, from its events in any order. */
export function renewsItself(events: LineEvent[]): boolean {
  return [...events].sort(byTime).reduce(renewalAfter, NO_RENEWAL).renewsItself;
}

/** The events that pay for a time. What comes before the first payment renews nothing. */
function givingTime(sorted: LineEvent[], { renews }: Meanings): LineEvent[] {
  const isFirst = ({ effect }: LineEvent) => effect === 'issue' || (renews && effect === 'change_plan');
  const first = sorted.findIndex(isFirst);
  return first === -1
    ? []
    : sorted
        .slice(first)
        .filter(
          ({ effect, paidUntil }, i) =>
            i === 0 ||
            effect === 'issue' ||
            effect === 'renew' ||
            (effect === 'change_plan' && paidUntil !== null),
        );
}

function isPayment({ effect }: Pick<LineEvent, 'effect'>): boolean {
  return effect === 'issue' || effect === 'renew' || effect === 'change_plan';
}

function isReturn(identity: string, returns: ReadonlyMap<string, string>): boolean {
  return [...returns.values()].includes(identity);
}

/**
 * The payments that refunds which name a payment have given back, each with its refund. A refund that failed gives nothing
 * back, nor does one that is older than the payment.
 * @param sorted by time @returns identities of payments' events, with those of the refunds
 */
export function findReturned(
  sorted: Pick<LineEvent, 'event' | 'identity' | 'effect' | 'payment' | 'confirms'>[],
): Map<string, string> {
  const named = new Set(sorted.filter(isPayment).flatMap(({ payment }) => payment ?? []));
  const returns = new Map<string, string>();
  const before: { identity: string; payment: string | null }[] = [];
  for (const one of sorted) {
    const { event, identity, effect } = one;
    const confirmed = one.confirms ? before.at(-1) : undefined;
    const payment = one.payment ?? confirmed?.payment ?? null;
    if (confirmed !== undefined) {
      // It pays for nothing, so what was given back stays so.
      before.push({ identity, payment });
      const by = returns.get(confirmed.identity);
      if (by !== undefined) returns.set(identity, by);
    } else if (isPayment(one)) {
      before.push({ identity, payment });
      if (payment !== null)
        for (const other of before) if (other.payment === payment) returns.delete(other.identity);
    } else if (effect !== 'none' && (event === 'refunded' || event === 'refund_failed')) {
      // A shop that named no payment when it was paid means one of those.
      const meant = before.filter((other) =>
        payment === null
          ? event === 'refund_failed'
          : other.payment === (named.has(payment) ? payment : null),
      );
      for (const other of meant)
        if (event === 'refund_failed') returns.delete(other.identity);
        else if (payment !== null) returns.set(other.identity, identity);
    }
  }
  return returns;
}

/** Money that was charged back may be in dispute still, whatever is paid besides: only its reversal ends that. */
function isLiftedByPayment(event: OrderEventName): boolean {
  return event !== 'charged_back';
}

/** What one order's line says of a licence. */
export interface Part {
  role: 'issued' | 'renewed';
  /** of the row: they ascend as the orders came to the licence */
  id: number;
  /** of a renewal: the paid end before */
  baseEndsAt: Date | null;
  standing: LineFold;
}

type PartTerm = Term & { part: number };

/** Whether a renewal is in force. */
export function isGiven({ role, standing: { state, holds, isPaid, terms } }: Part): boolean {
  if (role === 'issued') return true;
  return state !== 'none' && state !== 'cancelled' && holds.size === 0 && isPaid && terms.length > 0;
}

/** The paid times of a licence: those of the order that issued it, then those of orders that renew it. */
export function termsOf(parts: Part[]): PartTerm[] {
  const tagged = ({ id, standing }: Part) => standing.terms.map((term) => ({ ...term, part: id }));
  const renewed = parts
    .filter((part) => part.role === 'renewed' && isGiven(part))
    .flatMap(tagged)
    .sort((a, b) => a.at.getTime() - b.at.getTime() || a.part - b.part);
  const issued = parts.filter(
    ({ role, standing }) => role === 'issued' && (standing.isPaid || renewed.length === 0),
  );
  return [...issued.flatMap(tagged), ...renewed];
}

/** The paid end that a licence's orders give it; null: never. */
export function licenseEnd(parts: Part[]): Date | null {
  const base = parts.some(({ role }) => role === 'issued')
    ? undefined
    : [...parts].sort((a, b) => a.id - b.id)[0]?.baseEndsAt;
  return endOf(termsOf(parts), base);
}

/** Whether one of a licence's orders renews it by itself, and the days of grace that its end has for that. */
export function renewalOf(parts: Part[]): Renewal {
  const renewing = parts.filter((part) => part.standing.renewsItself && isGiven(part));
  return {
    renewsItself: renewing.length > 0,
    graceDays: Math.max(0, ...renewing.map(({ standing }) => standing.graceDays)),
  };
}

/**
 * What holds a licence back: the holds of the order that issued it, but for those that a payment of an order which renews
 * it has lifted. Money of one payment that was given back holds nothing back while another payment covers the time since.
 */
export function holdsOf(parts: Part[]): ReadonlyMap<OrderEventName, Date> {
  const issued = parts.find(({ role }) => role === 'issued')?.standing;
  if (issued === undefined) return new Map();
  const renewals = parts.filter((part) => part.role === 'renewed' && isGiven(part));
  const newest = Math.max(-Infinity, ...renewals.flatMap(({ standing }) => standing.paidAt?.getTime() ?? []));
  const holds = new Map(
    [...issued.holds].filter(([name, at]) => !isLiftedByPayment(name) || at.getTime() >= newest),
  );
  const { returnedAt } = issued;
  const isCovered =
    returnedAt !== undefined &&
    (returnedAt.getTime() < newest || (renewals.length > 0 && isLater(licenseEnd(parts), returnedAt)));
  if (returnedAt === undefined || isCovered) return holds;
  const other = holds.get('refunded');
  return holds.set('refunded', other !== undefined && other > returnedAt ? other : returnedAt);
}

/** By time, then by rank, then by identity: any order will do, but it has to be the same for every arrival. */
export function byTime(a: LineEvent, b: LineEvent): number {
  return (
    a.at.getTime() - b.at.getTime() ||
    ORDER_EVENTS.indexOf(a.event) - ORDER_EVENTS.indexOf(b.event) ||
    (a.identity < b.identity ? -1 : 1)
  );
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
  return end ?? null;
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
