import type { OrderEvent, OrderLine } from '../store/orders/orders';

/** The events of an order as they are stored, and as they concern one of its lines. */

/** In the order that events of one moment take. */
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

/** no article; a quantity that cannot be licensed; an article's name that is too long or looks like a key; no id of its own */
export const LINE_PROBLEMS = ['no_article', 'bad_quantity', 'bad_article', 'unreadable'] as const;
export type LineProblem = (typeof LINE_PROBLEMS)[number];

/** What an event does, by the rules of its shop. */
export type Effect = 'issue' | 'renew' | 'change_plan' | 'suspend' | 'reinstate' | 'cancel' | 'none';

export type Action =
  | 'issued'
  | 'renewed'
  | 'plan_changed'
  | 'suspended'
  | 'reinstated'
  | 'cancelled'
  | 'none'
  | 'waiting';

export interface Outcome {
  action: Action;
  /** why nothing was done, or why it waits */
  reason: string | null;
}

export interface LineOutcome extends Outcome {
  line: string;
}

export function none(reason: string): Outcome {
  return { action: 'none', reason };
}

/** An event's line as it came, as it is stored. */
export interface StoredLine {
  line: string;
  plan_id?: number | undefined;
  sku?: string | undefined;
  quantity?: number | undefined;
  paid_until?: string | undefined;
  renews?: string | number | undefined;
  /** as in LineMessage */
  ids?: string[] | undefined;
  price?: string | undefined;
  paidAs?: string | undefined;
  first?: true | undefined;
  once?: true | undefined;
  confirms?: true | undefined;
  problem?: LineProblem | undefined;
  /** of `renewed`: it pays for another article or quantity than before */
  follows?: true | undefined;
}

/** A stored event with its lines read. */
export interface ToldEvent extends Omit<OrderEvent, 'event' | 'effect' | 'reduced'> {
  event: OrderEventName;
  effect: Effect;
  reduced: Effect | null;
  /** null: all lines of the order */
  items: StoredLine[] | null;
  /** of a refund that its amount judges: why it is a part of the money */
  part?: 'partial' | 'other_currency' | undefined;
}

export function readEvent(event: OrderEvent): ToldEvent {
  return {
    ...(event as Omit<ToldEvent, 'items'>),
    items: event.linesJson === null ? null : (JSON.parse(event.linesJson) as StoredLine[]),
  };
}

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

/** Returns the item of an event that names a line. */
export function itemOf({ items }: Pick<ToldEvent, 'items'>, line: string): StoredLine | undefined {
  return items?.find((item) => item.line === line);
}

/** Reports whether an event is about a line. */
export function concerns(event: Pick<ToldEvent, 'items'>, { line }: Pick<OrderLine, 'line'>): boolean {
  return event.items === null || itemOf(event, line) !== undefined;
}

/**
 * Returns the events as they concern a line. A payment whose article could not be read counts until another one names the
 * line's article.
 */
export function lineEvents(events: ToldEvent[], { line }: Pick<OrderLine, 'line'>): LineEvent[] {
  const own = events.filter((event) => concerns(event, { line }));
  const isRead = (event: ToldEvent) => event.event === 'paid' && !itemOf(event, line)?.problem;
  const hasRead = own.some(isRead);
  return own
    .filter((one) => one.event !== 'paid' || !hasRead || isRead(one))
    .map((one) => asLineEvent(one, line));
}

function asLineEvent(told: ToldEvent, line: string): LineEvent {
  const { event, identity, at, effect, payment, reduced, renewsItself, graceDays } = told;
  const item = itemOf(told, line);
  const isNamed = [item?.plan_id, item?.sku, item?.quantity].some((one) => one !== undefined);
  return {
    event,
    identity,
    at,
    effect,
    paidUntil: item?.paid_until === undefined ? null : new Date(item.paid_until),
    payment,
    // A shop that posts renews what it sold, whatever it names. What cannot be read changes the end alone.
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

/** Sorts by time, then by rank; of two renewals of one moment, the later paid end counts. Identity decides the rest. */
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

/** Sorts whole events by the same rule. */
export function sortEvents(events: ToldEvent[]): ToldEvent[] {
  const until = ({ event, items }: ToldEvent) => {
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

/** Returns why an event has no effect at all. */
export function whyIgnored(event: ToldEvent | undefined): string | undefined {
  if (event?.effect !== 'none') return undefined;
  if (event.event === 'payment_failed') return 'payment_failed';
  if (event.event === 'renewal_stopped' || event.event === 'renewal_resumed') return 'renewal';
  return event.part ?? (event.partial ? 'partial' : event.isTest ? 'test' : 'rule');
}

/** Reports whether a refund names a payment about which the line's events know nothing. */
export function isUnknownRefund({ event, payment }: ToldEvent, events: LineEvent[]): boolean {
  if (payment === null || (event !== 'refunded' && event !== 'refund_failed')) return false;
  return !events.some((one) => isPayment(one) && (one.payment === payment || one.payment === null));
}
