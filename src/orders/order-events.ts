import type { OrderEvent, OrderLine } from '../store/orders/orders';

/** The events of an order in their stored form, and from the view of one line. */

/** The events, in the order in which events of the same moment count. */
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

/** No article; a quantity that cannot be licensed; an article name that is too long or looks like a key; no id of its own. */
export const LINE_PROBLEMS = ['no_article', 'bad_quantity', 'bad_article', 'unreadable'] as const;
export type LineProblem = (typeof LINE_PROBLEMS)[number];

/** The effect of an event by the rules of its shop. */
export type Effect = 'issue' | 'renew' | 'change_plan' | 'suspend' | 'reinstate' | 'cancel' | 'none';

export type LicenseAction =
  | 'issued'
  | 'renewed'
  | 'plan_changed'
  | 'suspended'
  | 'reinstated'
  | 'cancelled'
  | 'none'
  | 'waiting';

export interface Outcome {
  action: LicenseAction;
  /** the reason that nothing was done, or that the line waits */
  reason: string | null;
}

export interface LineOutcome extends Outcome {
  line: string;
}

export function none(reason: string): Outcome {
  return { action: 'none', reason };
}

/** A line of an event in its stored form, as it was received. */
export interface StoredLine {
  line: string;
  plan_id?: number | undefined;
  sku?: string | undefined;
  quantity?: number | undefined;
  paid_until?: string | undefined;
  renews?: string | number | undefined;
  /** see LineMessage for this and the following fields */
  ids?: string[] | undefined;
  price?: string | undefined;
  paidAs?: string | undefined;
  first?: true | undefined;
  once?: true | undefined;
  confirms?: true | undefined;
  problem?: LineProblem | undefined;
  /** for `renewed`: true if it pays for another article or quantity than before */
  follows?: true | undefined;
}

/** A stored event with parsed lines. */
export interface ReadEvent extends Omit<OrderEvent, 'event' | 'effect' | 'reduced'> {
  event: OrderEventName;
  effect: Effect;
  reduced: Effect | null;
  /** null for all lines of the order */
  items: StoredLine[] | null;
  /** for a refund that is judged by its amount: the reason that it is partial */
  part?: 'partial' | 'other_currency' | undefined;
}

export function readEvent(event: OrderEvent): ReadEvent {
  return {
    ...(event as Omit<ReadEvent, 'items'>),
    items: event.linesJson === null ? null : (JSON.parse(event.linesJson) as StoredLine[]),
  };
}

/** An event from the view of one line. */
export interface LineEvent {
  event: OrderEventName;
  /** identifies the event among the order's events */
  identity: string;
  at: Date;
  /** also `none` for a part of the money, and for a test event of an order that is not a test */
  effect: Effect;
  /** true for a refund of a part of the money, and for a test event */
  isMinor: boolean;
  paidUntil: Date | null;
  /** the shop's name of the payment */
  payment: string | null;
  /** true for an upgrade, or a renewal for something else, that names an article or quantity, which must be resolved first */
  changes: boolean;
  /** the effect of an upgrade on licences that it takes away */
  reduced: Effect | null;
  /** true for an upgrade that only reports the paid-through date of the payment before it, and is refunded with it */
  confirms: boolean;
  /** whether a subscription renews automatically from then on; null if the event does not state it */
  renewsItself: boolean | null;
  /** the shop's grace period when the event arrived */
  graceDays: number;
}

/** Returns the item of an event that names a line. */
export function itemOf({ items }: Pick<ReadEvent, 'items'>, line: string): StoredLine | undefined {
  return items?.find((item) => item.line === line);
}

/** Reports whether an event is about a line. */
export function concerns(event: Pick<ReadEvent, 'items'>, { line }: Pick<OrderLine, 'line'>): boolean {
  return event.items === null || itemOf(event, line) !== undefined;
}

/**
 * Returns the events from the view of a line. A payment whose article could not be read counts until another payment
 * names the line's article.
 */
export function lineEvents(events: ReadEvent[], { line }: Pick<OrderLine, 'line'>): LineEvent[] {
  const own = events.filter((event) => concerns(event, { line }));
  const isRead = (event: ReadEvent) => event.event === 'paid' && !itemOf(event, line)?.problem;
  const hasRead = own.some(isRead);
  return own
    .filter((one) => one.event !== 'paid' || !hasRead || isRead(one))
    .map((one) => asLineEvent(one, line));
}

function asLineEvent(told: ReadEvent, line: string): LineEvent {
  const { event, identity, at, effect, payment, reduced, renewsItself, graceDays } = told;
  const item = itemOf(told, line);
  const isNamed = [item?.plan_id, item?.sku, item?.quantity].some((one) => one !== undefined);
  return {
    event,
    identity,
    at,
    effect,
    isMinor: told.partial || told.isTest,
    paidUntil: item?.paid_until === undefined ? null : new Date(item.paid_until),
    payment,
    // A posting shop renews what it sold, even if it names another article. An unreadable item only changes the end.
    changes: event === 'renewed' ? item?.follows === true : isNamed && item?.problem === undefined,
    reduced,
    confirms: item?.confirms ?? false,
    renewsItself,
    graceDays,
  };
}

interface Timed {
  at: Date;
  event: OrderEventName;
  identity: string;
  paidUntil: Date | null;
}

/** Compares by time, then rank; of two renewals at once, the later paid-through date counts. Identity decides the rest. */
export function byTime(a: Timed, b: Timed): number {
  const rank = ({ event }: Timed) => ORDER_EVENTS.indexOf(event);
  const until = ({ event, paidUntil }: Timed) => (event === 'renewed' ? (paidUntil?.getTime() ?? 0) : 0);
  return (
    a.at.getTime() - b.at.getTime() ||
    rank(a) - rank(b) ||
    until(a) - until(b) ||
    (a.identity < b.identity ? -1 : 1)
  );
}

/** Sorts whole events by the same rule as `byTime`. */
export function sortEvents(events: ReadEvent[]): ReadEvent[] {
  const until = ({ event, items }: ReadEvent) => {
    const ends = event === 'renewed' ? (items ?? []).flatMap(({ paid_until: end }) => end ?? []).sort() : [];
    return ends.length === 0 ? null : new Date(ends.at(-1) as string);
  };
  return events
    .map((told) => ({ told, timed: { ...told, paidUntil: until(told) } }))
    .sort((a, b) => byTime(a.timed, b.timed))
    .map(({ told }) => told);
}

export function isPayment({ effect }: Pick<LineEvent, 'effect'>): boolean {
  return effect === 'issue' || effect === 'renew' || effect === 'change_plan';
}

/** Returns the reason that an event has no effect; undefined if it has one. */
export function ignoredReason(event: ReadEvent | undefined): string | undefined {
  if (event?.effect !== 'none') return undefined;
  if (event.event === 'payment_failed') return 'payment_failed';
  if (event.event === 'renewal_stopped' || event.event === 'renewal_resumed') return 'renewal';
  return event.part ?? (event.partial ? 'partial' : event.isTest ? 'test' : 'rule');
}

/** Reports whether a refund names a payment that the line's events do not contain. */
export function isUnknownRefund({ event, payment }: ReadEvent, events: LineEvent[]): boolean {
  if (payment === null || (event !== 'refunded' && event !== 'refund_failed')) return false;
  return !events.some((one) => isPayment(one) && (one.payment === payment || one.payment === null));
}
