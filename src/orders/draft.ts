import type { OrderEvent, OrderLine } from '../store/orders/orders';
import type { Change, RenewableEnd, Ref } from './decision';
import type { LicenseFacts, OrderFacts } from './facts';
import { foldLine, notYet, type LineState } from './line-state';
import type { Contribution } from './license-state';
import { matchLines } from './match-lines';
import { lineEvents, type LineOutcome, type ReadEvent } from './order-events';
import { readEvents } from './refunds';
import { type Link, meaningsOf, numbersOf, type PlanCatalogue } from './sold';
import { unmatchedDigest } from './names';

/** A working copy of the facts, with all changes that are decided so far. */
export interface Draft extends PlanCatalogue {
  facts: OrderFacts;
  shop: OrderFacts['shop'];
  order: OrderFacts['order'];
  lines: OrderLine[];
  links: Link[];
  licenses: Map<Ref, LicenseFacts>;
  /** the order's events and the new ones; `outcomeJson` is null if an event is not processed yet */
  events: OrderEvent[];
  changes: Change[];
  /** the licences that the decision issues */
  issued: Ref[];
  /** the reason for changes that is written to the licences' history */
  reason: string;
  /** the licences' other orders, by order id */
  others: Map<number, OrderView>;
  nextId: Ref;
}

/** An order with the data from which the state of its lines is computed. */
interface OrderView {
  lines: OrderLine[];
  told: ReadEvent[];
  numbers: Map<number, number>;
}

export function draftOf(facts: OrderFacts): Draft {
  const { order, shop, plans, skus } = facts;
  return {
    facts,
    shop,
    plans,
    skus,
    order: { ...order },
    lines: facts.lines.map((line) => ({ ...line })),
    links: facts.links.map((link) => ({ ...link })),
    licenses: new Map(facts.licenses.map((license) => [license.id, { ...license }])),
    events: facts.events.map((event) => ({ ...event })),
    changes: [],
    issued: [],
    reason: changeReason(facts),
    others: new Map(),
    nextId: -1,
  };
}

/** Returns the reason for a change that is written to a licence's history. */
export function changeReason({ order }: Pick<OrderFacts, 'order'>, event = 'paid'): string {
  return `${order.shop} ${order.number}: ${event}`;
}

export function changeOrder(draft: Draft, changes: Partial<Draft['order']>): void {
  const differs = (Object.keys(changes) as (keyof typeof changes)[]).some(
    (name) => changes[name]?.valueOf() !== draft.order[name]?.valueOf(),
  );
  if (!differs) return;
  Object.assign(draft.order, changes);
  draft.changes.push({ type: 'set_order', changes });
}

export function addLine(
  draft: Draft,
  line: Omit<OrderLine, 'id' | 'orderId' | 'waitsFor' | 'awaited'>,
): OrderLine {
  const row = { ...line, orderId: draft.order.id, waitsFor: null, awaited: null };
  const added = { ...row, id: draft.nextId-- };
  draft.lines.push(added);
  draft.changes.push({ type: 'add_line', id: added.id, line: row });
  return added;
}

export function setLine(draft: Draft, line: OrderLine, changes: Partial<Omit<OrderLine, 'id'>>): void {
  const names = Object.keys(changes) as (keyof typeof changes)[];
  if (names.every((name) => line[name] === changes[name])) return;
  Object.assign(line, changes);
  draft.changes.push({ type: 'set_line', id: line.id, changes });
}

export function ownLinks(draft: Pick<Draft, 'order' | 'links'>): Link[] {
  return draft.links.filter(({ orderId }) => orderId === draft.order.id);
}

export function linksOf(draft: Draft, line: OrderLine): Link[] {
  return draft.links.filter(({ lineId }) => lineId === line.id);
}

export function addLink(draft: Draft, line: OrderLine, given: Omit<Link, 'id' | 'orderId' | 'lineId'>): Link {
  const link = { ...given, orderId: draft.order.id, lineId: line.id };
  const added = { ...link, id: draft.nextId-- };
  draft.links.push(added);
  draft.changes.push({ type: 'link', id: added.id, link });
  return added;
}

export function setLink(draft: Draft, link: Link, changes: Partial<Pick<Link, 'state' | 'plans'>>): void {
  const { state = link.state, plans = link.plans } = changes;
  if (state === link.state && JSON.stringify(plans) === JSON.stringify(link.plans)) return;
  Object.assign(link, changes);
  draft.changes.push({ type: 'set_link', id: link.id, changes });
}

export function changeEnd(draft: Draft, license: LicenseFacts, end: RenewableEnd, isRenewal: boolean): void {
  if (license.status === 'expired') license.status = 'active';
  Object.assign(license, end);
  draft.changes.push({ type: 'set_end', license: license.id, end, isRenewal, reason: draft.reason });
}

export function setOutcomes(draft: Draft, event: OrderEvent, outcomes: LineOutcome[]): void {
  const outcomeJson = JSON.stringify(outcomes);
  if (event.outcomeJson === outcomeJson) return;
  event.outcomeJson = outcomeJson;
  const { id, ...row } = event;
  if (id === 0) draft.changes.push({ type: 'add_event', event: row });
  else draft.changes.push({ type: 'set_event', id, changes: { outcomeJson } });
}

/** Reads events, and matches their items to the order's lines. */
export function reportedEventsOf({ lines }: Pick<Draft, 'lines'>, events: OrderEvent[]): ReadEvent[] {
  return matchLines(readEvents(events), lines);
}

/** An offset for the id of a link that is not stored, which makes it newer than all stored links. */
const UNSTORED = 2 ** 52;

/** Returns the part that one line of an order contributes to a licence. */
export function partOf({ id, role, baseEndsAt }: Link, standing: LineState): Contribution {
  return { id: id < 0 ? UNSTORED - id : id, role, baseEndsAt, standing };
}

/** The data from which the states of the lines of a licence's orders are computed. */
export type Standings = Pick<Draft, 'order' | 'lines' | 'links' | 'plans' | 'others'> & {
  facts: Pick<OrderFacts, 'others'>;
};

/** Returns the state of a link's line, from the events of its order. @param told the events of the draft's own order */
export function lineStateOf(draft: Standings, link: Link, told: ReadEvent[]): LineState {
  const view = link.orderId === draft.order.id ? ownView(draft, told) : otherView(draft, link.orderId);
  const line = view.lines.find(({ id }) => id === link.lineId);
  if (line === undefined) return notYet();
  const n = view.numbers.get(link.id) ?? 1;
  return foldLine(lineEvents(view.told, line), meaningsOf(draft, link.plans, line, n));
}

function ownView(draft: Standings, told: ReadEvent[]): OrderView {
  return { lines: draft.lines, told, numbers: numbersOf(ownLinks(draft)) };
}

function otherView({ facts, others, links }: Standings, orderId: number): OrderView {
  const known = others.get(orderId);
  if (known !== undefined) return known;
  const { lines, events } = facts.others.find(({ id }) => id === orderId) ?? { lines: [], events: [] };
  // Skip unprocessed events, because their own order must decide about them first.
  const processed = events.filter(({ outcomeJson }) => outcomeJson !== null);
  const view: OrderView = {
    lines,
    told: reportedEventsOf({ lines }, processed),
    numbers: numbersOf(links.filter((link) => link.orderId === orderId)),
  };
  others.set(orderId, view);
  return view;
}

/** Returns the digest of an unreadable line together with the event that introduced it. */
export function problemDigest({ order }: Pick<Draft, 'order'>, identity: string, line: string): string {
  return unmatchedDigest(order.digest, `${identity}:${line}`);
}

/** Reports whether a seller has resolved an unmatched event. */
export function isResolved({ facts }: Draft, digest: string): boolean {
  return facts.unmatched.some((one) => one.digest === digest && one.state !== 'open');
}
