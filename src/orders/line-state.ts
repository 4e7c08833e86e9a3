import { endOf, isLater, type Term } from './paid-time';
import { byTime, isPayment, type Effect, type LineEvent, type OrderEventName } from './order-events';
import { findReturned } from './refunds';

/**
 * What a line's licence should be, as a function of the order's events alone: the time they happened decides, never
 * the time they arrived. No database, no clock.
 */

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

interface Renewal {
  /** a subscription pays on by itself */
  renewsItself: boolean;
  /** the grace of a line that renews itself; 0: none */
  graceDays: number;
}

export interface LineState extends Renewal {
  /** none: not paid */
  state: 'none' | 'active' | 'suspended' | 'cancelled';
  /** the event that suspended or cancelled */
  by: OrderEventName | undefined;
  /** when each event happened that suspends all of it; the latest last */
  holds: Map<OrderEventName, Date>;
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
}

const NO_RENEWAL: Renewal = { renewsItself: false, graceDays: 0 };

/** Returns what the events of a line say before it has run. */
export function notYet(): LineState {
  return {
    state: 'none',
    by: undefined,
    holds: new Map(),
    returnedAt: undefined,
    paidAt: undefined,
    terms: [],
    isPaid: false,
    upgrade: undefined,
    ...NO_RENEWAL,
  };
}

/** The state while the events are read one by one, and what is known of them as a whole. */
interface Fold {
  line: LineState;
  meanings: Meanings;
  /** payments that were given back, by identity, with their refunds */
  returns: Map<string, string>;
  /** the events that pay for a time */
  payments: LineEvent[];
  /** once nothing is paid any more, the refund after which the end stays */
  lastReturn: string | undefined;
  hasPaid: boolean;
  hasFirst: boolean;
  /** the payment of the first time */
  begunBy: string | null;
  count: number;
  /** the largest count */
  most: number;
  /** what the rules do with licences above the count */
  reduced: Effect | null;
}

export function foldLine(events: LineEvent[], meanings: Meanings): LineState {
  const sorted = [...events].sort(byTime);
  const returns = findReturned(sorted);
  const payments = givingTime(sorted, meanings);
  const isPaid = payments.some(({ identity }) => !returns.has(identity));
  const refunds = new Set(payments.map(({ identity }) => returns.get(identity)));
  const { count } = meanings.base;
  const fold: Fold = {
    line: { ...notYet(), isPaid },
    meanings,
    returns,
    payments,
    lastReturn: isPaid ? undefined : sorted.findLast(({ identity }) => refunds.has(identity))?.identity,
    hasPaid: false,
    hasFirst: false,
    begunBy: null,
    count,
    most: count,
    reduced: null,
  };
  for (const one of sorted) {
    take(fold, one);
    // Cancelling is final.
    if (fold.line.state === 'cancelled') return fold.line;
  }
  return judged(fold, sorted);
}

function take(fold: Fold, one: LineEvent): void {
  const { line } = fold;
  // As it was before the payment: what ended, or had not begun, has no grace.
  const { graceDays } = line;
  Object.assign(line, renewalAfter(line, one));
  if (
    one.event === 'refunded' &&
    one.payment !== null &&
    (one.effect === 'suspend' || one.effect === 'cancel')
  )
    return giveBack(fold, one);
  switch (one.effect) {
    case 'cancel':
      return cancel(line, one.event);
    case 'issue':
      return begin(fold, one, graceDays);
    case 'renew':
      return renew(fold, one, graceDays);
    case 'change_plan':
      return upgrade(fold, one, graceDays);
    case 'suspend':
      // Again, so that the latest comes last.
      line.holds.delete(one.event);
      line.holds.set(one.event, one.at);
      return;
    case 'reinstate':
      line.holds.delete(one.event === 'refund_failed' ? 'refunded' : 'charged_back');
      return;
    case 'none':
  }
}

function cancel(line: LineState, by: OrderEventName): void {
  line.state = 'cancelled';
  line.by = by;
}

/** Gives back what one payment gave; what gave no time, such as seats, leaves the end and the state. */
function giveBack({ line, payments, returns }: Fold, { identity, effect, event, at }: LineEvent): void {
  if (!payments.some((paid) => returns.get(paid.identity) === identity)) return;
  const standing = line.terms.filter((term) => !returns.has(term.identity));
  // Cancelling is final, so no later payment counts.
  const isCovered = line.paidAt !== undefined && isLater(endOf(standing), at);
  if (effect === 'cancel' && !isCovered) cancel(line, event);
  else line.returnedAt = at;
}

/** The first payment that stands gives the time; another payment of the same adds none. */
function begin(fold: Fold, one: LineEvent, graceDays: number): void {
  const { line, begunBy } = fold;
  const [first] = line.terms;
  if (!fold.hasFirst && counts(fold, one)) {
    addTerm(fold, one, graceDays);
    fold.hasFirst = true;
    fold.begunBy = one.payment;
  } else if (begunBy !== null && begunBy === one.payment && first !== undefined)
    // A session does not say until when its payment pays; its invoice does.
    first.until ??= one.paidUntil;
  pay(fold, one);
}

function renew(fold: Fold, one: LineEvent, graceDays: number): void {
  // Nothing to renew yet.
  if (!fold.hasPaid) return;
  const stands = counts(fold, one);
  const changed = one.changes ? fold.meanings.upgrades.get(one.identity) : undefined;
  if (changed !== undefined && stands && !fold.returns.has(one.identity)) change(fold, one, changed);
  if (stands) addTerm(fold, one, graceDays);
  pay(fold, one);
}

function upgrade(fold: Fold, one: LineEvent, graceDays: number): void {
  const { meanings, returns } = fold;
  const changed = meanings.upgrades.get(one.identity);
  if (one.changes && changed === undefined) return;
  const stands = counts(fold, one);
  const begins = meanings.renews && !fold.hasPaid;
  if (begins) pay(fold, one);
  // What was bought stays bought once all was given back. A confirmation is not paid for: only its time is given back.
  if (changed !== undefined && (one.confirms || (stands && !returns.has(one.identity))))
    change(fold, one, changed);
  if (stands && fold.hasPaid && (begins || one.paidUntil !== null)) addTerm(fold, one, graceDays, true);
}

/** Reports whether what a payment gave counts for the end. */
function counts({ returns, lastReturn }: Fold, { identity }: LineEvent): boolean {
  const by = returns.get(identity);
  return by === undefined || by === lastReturn;
}

function addTerm(
  fold: Fold,
  { identity, at, paidUntil }: LineEvent,
  graceDays: number,
  isUpgrade = false,
): void {
  const { upgrades, base } = fold.meanings;
  const { upgrade: latest, terms } = fold.line;
  const { duration } = (latest && upgrades.get(latest.identity)) ?? base;
  // Ends are stored to the second.
  const second = new Date(Math.floor(at.getTime() / 1000) * 1000);
  terms.push({ identity, at: second, until: paidUntil, duration, isUpgrade, graceDays });
}

function pay(fold: Fold, one: LineEvent): void {
  const { line } = fold;
  fold.hasPaid = true;
  if (fold.returns.has(one.identity)) return;
  line.paidAt = one.at;
  line.returnedAt = undefined;
  for (const name of line.holds.keys()) if (isLiftedByPayment(name)) line.holds.delete(name);
}

function change(fold: Fold, { identity, at, reduced }: LineEvent, { count }: Meaning): void {
  fold.line.upgrade = { identity, at };
  if (count < fold.count) fold.reduced = reduced;
  fold.count = count;
  fold.most = Math.max(fold.most, count);
}

/** Concludes the state from all events. */
function judged(
  { line, meanings, returns, count, most, reduced, hasPaid }: Fold,
  sorted: LineEvent[],
): LineState {
  const { holds, terms, isPaid } = line;
  if (line.returnedAt !== undefined && isPaid && isLater(endOf(terms), line.returnedAt))
    line.returnedAt = undefined;
  if (meanings.n > count) {
    const refunds = new Set(returns.values());
    // Nothing that stands ever paid for so many.
    if (meanings.n > most) line.returnedAt = sorted.findLast(({ identity }) => refunds.has(identity))?.at;
    else if (reduced === 'cancel') {
      cancel(line, 'upgraded');
      return line;
    }
  }
  const { returnedAt } = line;
  const latest = [...holds].at(-1);
  const isReturned = returnedAt !== undefined && (latest === undefined || latest[1] < returnedAt);
  line.by = isReturned ? 'refunded' : latest?.[0];
  line.state = !hasPaid ? 'none' : line.by === undefined ? 'active' : 'suspended';
  return line;
}

/** A payment that failed says nothing: the shop tries again, or ends the subscription. */
function renewalAfter(before: Renewal, one: LineEvent): Renewal {
  if (one.event === 'payment_failed' || (one.renewsItself === null && !isPayment(one))) return before;
  const renewsItself = one.renewsItself ?? before.renewsItself;
  return renewsItself ? { renewsItself, graceDays: one.graceDays } : NO_RENEWAL;
}

/** Reports whether a line renews itself, from its events in any order. */
export function renewsItself(events: LineEvent[]): boolean {
  return [...events].sort(byTime).reduce(renewalAfter, NO_RENEWAL).renewsItself;
}

/** The events that pay for a time. What comes before the first payment renews nothing. */
function givingTime(sorted: LineEvent[], { renews }: Meanings): LineEvent[] {
  const isFirst = ({ effect }: LineEvent) => effect === 'issue' || (renews && effect === 'change_plan');
  const first = sorted.findIndex(isFirst);
  if (first === -1) return [];
  return sorted
    .slice(first)
    .filter(
      (one, i) => i === 0 || (isPayment(one) && (one.effect !== 'change_plan' || one.paidUntil !== null)),
    );
}

/** Money that was charged back may be in dispute still, whatever is paid besides: only its reversal ends that. */
export function isLiftedByPayment(event: OrderEventName): boolean {
  return event !== 'charged_back';
}
