import { endOfTerms, isLater, type Term } from './paid-time';
import { byTime, isPayment, type Effect, type LineEvent, type OrderEventName } from './order-events';
import { areAllReturned, findReturned } from './refunds';

/**
 * Projects the events of an order's line to the state of its licences, as a reducer without database and clock. The
 * time when an event happened decides, never the time of its arrival.
 */

/** The terms that a line, or an upgrade of it, was sold with. */
export interface Meaning {
  duration: string | null;
  /** the number of licences */
  count: number;
}

export interface Meanings {
  base: Meaning;
  /** by the identity of the upgrade; a missing one changes nothing */
  upgrades: ReadonlyMap<string, Meaning>;
  /** true if the line renews an earlier order's licence, so that an upgrade may be its payment */
  renews: boolean;
  /** the number of the licence within the line, from 1 */
  n: number;
}

interface Renewal {
  /** true for a subscription that renews automatically */
  renewsItself: boolean;
  /** the grace period if the line renews automatically, otherwise 0 */
  graceDays: number;
}

export interface LineState extends Renewal {
  /** `none` if the line is not paid */
  state: 'none' | 'active' | 'suspended' | 'cancelled';
  /** the event that suspended or cancelled the line */
  by: OrderEventName | undefined;
  /** the times of the events that suspend the whole line; the latest is last */
  holds: Map<OrderEventName, Date>;
  /** the time of the refund after which nothing is paid */
  returnedAt: Date | undefined;
  /** the time of the last payment that was not refunded */
  paidAt: Date | undefined;
  /** the paid periods; if everything was refunded, those of the last payment */
  terms: Term[];
  /** false if everything was refunded */
  isPaid: boolean;
  /** whether all payments were given back, under any rules of the shop; undefined if nothing was paid */
  allReturned: boolean | undefined;
  /** the latest upgrade that counts */
  upgrade: { identity: string; at: Date } | undefined;
}

const NO_RENEWAL: Renewal = { renewsItself: false, graceDays: 0 };

/** Returns the state of a line before its first event. */
export function notYet(): LineState {
  return {
    state: 'none',
    by: undefined,
    holds: new Map(),
    returnedAt: undefined,
    paidAt: undefined,
    terms: [],
    isPaid: false,
    allReturned: undefined,
    upgrade: undefined,
    ...NO_RENEWAL,
  };
}

/** The state between two events, with facts about all events. */
interface Fold {
  line: LineState;
  meanings: Meanings;
  /** the refunds of payments that were given back, by the payment's identity */
  returns: Map<string, string>;
  /** the events that pay for a period */
  payments: LineEvent[];
  /** if everything was refunded, the refund that leaves the end unchanged */
  lastReturn: string | undefined;
  hasPaid: boolean;
  hasFirst: boolean;
  /** the payment for the first period */
  begunBy: string | null;
  count: number;
  /** the largest count so far */
  most: number;
  /** the effect of the shop's rules on licences above the count */
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
    line: { ...notYet(), isPaid, allReturned: areAllReturned(sorted) },
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
    // Ignore later events, because a cancellation is final.
    if (fold.line.state === 'cancelled') return fold.line;
  }
  return judged(fold, sorted);
}

function take(fold: Fold, one: LineEvent): void {
  const { line } = fold;
  // Take the grace period from before the payment: it is 0 for a line that had ended or not begun.
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
      // Delete it first, so that the latest hold is last.
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

/** Takes back what one payment gave. A payment without a period, such as for seats, changes neither end nor state. */
function giveBack({ line, payments, returns }: Fold, { identity, effect, event, at }: LineEvent): void {
  if (!payments.some((paid) => returns.get(paid.identity) === identity)) return;
  const standing = line.terms.filter((term) => !returns.has(term.identity));
  // Later payments do not count, because a cancellation is final.
  const isCovered = line.paidAt !== undefined && isLater(endOfTerms(standing), at);
  if (effect === 'cancel' && !isCovered) cancel(line, event);
  else line.returnedAt = at;
}

/** Begins the first period with the first payment that is not refunded. Another message about this payment adds no period. */
function begin(fold: Fold, one: LineEvent, graceDays: number): void {
  const { line, begunBy } = fold;
  const [first] = line.terms;
  if (!fold.hasFirst && counts(fold, one)) {
    addTerm(fold, one, graceDays);
    fold.hasFirst = true;
    fold.begunBy = one.payment;
  } else if (begunBy !== null && begunBy === one.payment && first !== undefined)
    // Add the paid-through date, which the invoice has and its session lacks.
    first.until ??= one.paidUntil;
  pay(fold, one);
}

function renew(fold: Fold, one: LineEvent, graceDays: number): void {
  // Nothing was paid that could be renewed.
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
  // A purchase stays a purchase after its refund. A confirmation is not paid for, so a refund only takes its period back.
  if (changed !== undefined && (one.confirms || (stands && !returns.has(one.identity))))
    change(fold, one, changed);
  if (stands && fold.hasPaid && (begins || one.paidUntil !== null)) addTerm(fold, one, graceDays, true);
}

/** Reports whether the period of a payment counts for the end. */
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
  // Cut to the second, because ends are stored so.
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

/** Concludes the state after all events. */
function judged(
  { line, meanings, returns, count, most, reduced, hasPaid }: Fold,
  sorted: LineEvent[],
): LineState {
  const { holds, terms, isPaid } = line;
  if (line.returnedAt !== undefined && isPaid && isLater(endOfTerms(terms), line.returnedAt))
    line.returnedAt = undefined;
  if (meanings.n > count) {
    const refunds = new Set(returns.values());
    // No payment that still counts paid for this number of licences.
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

/** Returns the renewal terms after an event. A failed payment does not change them: the shop tries again or ends it. */
function renewalAfter(before: Renewal, one: LineEvent): Renewal {
  if (one.event === 'payment_failed' || (one.renewsItself === null && !isPayment(one))) return before;
  const renewsItself = one.renewsItself ?? before.renewsItself;
  return renewsItself ? { renewsItself, graceDays: one.graceDays } : NO_RENEWAL;
}

/** Reports whether a line renews automatically, from its events in any order. */
export function renewsItself(events: LineEvent[]): boolean {
  return [...events].sort(byTime).reduce(renewalAfter, NO_RENEWAL).renewsItself;
}

/** Lists the events that pay for a period. Events before the first payment renew nothing. */
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

/** Reports whether a payment lifts a hold. A chargeback may still be in dispute, so only its reversal lifts it. */
export function isLiftedByPayment(event: OrderEventName): boolean {
  return event !== 'charged_back';
}
