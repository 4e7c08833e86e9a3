import { endWithGrace, isTerminalStatus, liveStatus, paidUntil } from '../licensing/core/states';
import type { Plan } from '../store/catalogue';
import type { OrderEvent, OrderLine } from '../store/orders/orders';
import type { Unmatched } from '../store/orders/unmatched';
import { conclude, settleAll, takeEvent, type OrderDecision } from './decide';
import type { Ref } from './decision';
import {
  addLine,
  addLink,
  draftOf,
  linksOf,
  ownLinks,
  problemDigest,
  changeReason,
  setLine,
  setOutcomes,
  reportedEventsOf,
  type Draft,
} from './draft';
import type { LicenseFacts, OrderFacts } from './facts';
import type { OrderMessage } from './message';
import { unmatchedDigest } from './names';
import { newEvent } from './new-event';
import {
  concerns,
  itemOf,
  lineEvents,
  readEvent,
  type LineOutcome,
  type StoredLine,
  type ReadEvent,
} from './order-events';
import { issueMore } from './reconcile-line';
import { planOf, type Plans } from './sold';
import { whyUnmatched } from './unmatched';

/** Decides which changes follow when a seller resolves unmatched money. A refusal is returned as a value. */

export type UnmatchedAct =
  | { type: 'assign'; licenseId: number }
  | { type: 'issue'; planId: number }
  | { type: 'leave' };

export interface ActRefusal {
  message: string;
  reason: 'other-order' | 'license-final';
}

export interface ActDecision extends OrderDecision {
  /** the licence that the money now belongs to */
  license: Ref | null;
}

export const GIVES_BACK = new Set(['refunded', 'refund_failed', 'charged_back', 'chargeback_reversed']);

/** The name of the line if no message names one. */
export const FIRST_LINE = '1';

export function decideUnmatched(
  facts: OrderFacts,
  one: Unmatched,
  act: UnmatchedAct,
): ActDecision | ActRefusal {
  const draft = draftOf(facts);
  const done = act.type === 'leave' ? null : answerTo(draft, one, act);
  if (done !== null && typeof done === 'object') return done;
  const told = reportedEventsOf(draft, draft.events);
  const waiting = draft.lines.filter(({ waitsFor }) => waitsFor !== null);
  settleAll(draft, waiting, { before: told, after: told, latest: undefined });
  conclude(draft, false);
  return { draft, changes: draft.changes, license: done };
}

function answerTo(
  draft: Draft,
  one: Unmatched,
  act: Exclude<UnmatchedAct, { type: 'leave' }>,
): Ref | ActRefusal {
  const found = findEvent(draft, one);
  if (act.type === 'assign') {
    const license = draft.licenses.get(act.licenseId);
    return license === undefined
      ? refuse(`There is no licence ${act.licenseId}.`)
      : assign(draft, one, found, license);
  }
  const plan = planOf(draft, act.planId);
  return plan === undefined ? refuse(`There is no plan ${act.planId}.`) : issue(draft, one, found, plan);
}

function refuse(message: string, reason: ActRefusal['reason'] = 'other-order'): ActRefusal {
  return { message, reason };
}

interface Found {
  /** undefined for an event of a message, which has several */
  event: OrderEvent | undefined;
  reason: string | undefined;
  /** the line that could not be read, if that is the reason */
  line: OrderLine | undefined;
}

/** Finds the event that matched nothing, or that introduced a line which could not be read. */
function findEvent(draft: Draft, { digest }: Unmatched): Found {
  const { order, lines, events } = draft;
  const told = reportedEventsOf(draft, events);
  for (const [i, event] of told.entries()) {
    const row = events[i];
    if (unmatchedDigest(order.digest, event.identity) === digest)
      return {
        event: row,
        line: undefined,
        reason: whyUnmatched({ lines, links: ownLinks(draft) }, event, told),
      };
    const line = lines.find((each) => problemDigest(draft, event.identity, each.line) === digest);
    if (line !== undefined) return { event: row, line, reason: itemOf(event, line.line)?.problem };
  }
  return { event: undefined, reason: undefined, line: undefined };
}

/** Lets the order's lines without a licence renew the given one, and applies the events of these lines. */
function assign(draft: Draft, one: Unmatched, found: Found, license: LicenseFacts): Ref | ActRefusal {
  const { event, reason, line } = found;
  const { events, lines, facts } = draft;
  const status = liveStatus(license, facts.now);
  if (!events.some(({ event: name }) => GIVES_BACK.has(name)) && isTerminalStatus(status))
    return refuse(`Licence ${license.id} is ${status}, which is final.`, 'license-final');
  const changed = changedLine(draft, found);
  const ids = [...new Set(ownLinks(draft).map(({ licenseId }) => licenseId))];
  // An event that does not name a line of its own belongs to the order's own licence.
  const isOfOrder = event === undefined || reason === 'unknown_payment';
  if (isOfOrder && ids.length > 0 && !ids.includes(license.id))
    return refuse(`It belongs to order ${draft.order.id}, whose licence is ${ids.join(', ')}.`);
  if (event !== undefined && reason === 'unknown_payment') giveToLicense(draft, event, license);
  else if (event !== undefined && changed !== undefined)
    linkTo(draft, changed, license, { [event.identity]: null });
  else if (line !== undefined) adopt(draft, one, license, [{ line: line.line }]);
  else {
    const missing = missingLines(draft);
    adopt(draft, one, license, missing.length > 0 || lines.length > 0 ? missing : [{ line: FIRST_LINE }]);
  }
  return license.id;
}

/** Applies a refund to the lines of a licence, and to all payments for them. */
function giveToLicense(draft: Draft, event: OrderEvent, license: LicenseFacts): void {
  const of = ownLinks(draft).filter(({ licenseId }) => licenseId === license.id);
  const lines = draft.lines.filter(({ id }) => of.some(({ lineId }) => lineId === id));
  const others = draft.events.filter((one) => one !== event);
  setMeaning(draft, event, { payment: null, linesJson: JSON.stringify(lines.map(({ line }) => ({ line }))) });
  for (const line of lines) replay(draft, line, others, [event]);
}

function setMeaning(
  draft: Draft,
  event: OrderEvent,
  changes: Partial<Pick<OrderEvent, 'payment' | 'linesJson'>>,
): void {
  Object.assign(event, changes);
  draft.changes.push({ type: 'set_event', id: event.id, changes });
}

/** Returns the line whose licences cannot become what the event bought. */
function changedLine(draft: Draft, { event, reason, line }: Found): OrderLine | undefined {
  if (event !== undefined && reason === 'other_activation_type')
    return draft.lines.find((one) => concerns(readEvent(event), one));
  return line && linksOf(draft, line).length > 0 ? line : undefined;
}

/** Lets these lines renew the licence, and adds a payment up to its present end, which later events then move. */
function adopt(draft: Draft, one: Unmatched, license: LicenseFacts, items: StoredLine[]): void {
  if (items.length === 0) return;
  const until = paidUntil(license);
  const renewsJson = JSON.stringify(license.id);
  const told = [...draft.events];
  const added = items.map(({ line: name, sku = null }) => {
    const known = draft.lines.find(({ line }) => line === name);
    if (known !== undefined) setLine(draft, known, { renewsJson });
    const line = known ?? addLine(draft, { line: name, sku, planId: null, quantity: 1, renewsJson });
    linkTo(draft, line, license, {});
    return line;
  });
  const paid = addPaid(draft, {
    eventId: `unmatched:${one.id}:${license.id}`,
    at: firstTime(draft, one),
    lines: items.map(({ line, ids }) => ({ line, renews: license.id, ids, paidUntil: until ?? undefined })),
  });
  // Ignore the shop's rules, because the seller decided this.
  Object.assign(paid, { effect: 'issue', graceDays: 0 });
  setOutcomes(
    draft,
    paid,
    items.map(({ line }) => ({ line, action: 'none', reason: 'assigned' })),
  );
  for (const line of added) replay(draft, line, [paid], told);
}

/** Adds a payment that no message reported. */
function addPaid(
  { order, shop, facts, events }: Draft,
  told: Pick<OrderMessage, 'eventId' | 'at' | 'lines'>,
) {
  const paid = newEvent(order, shop, { ...told, event: 'paid' }, facts);
  events.push(paid);
  return paid;
}

/** Returns the earliest time of the order's events and this message, because the added payment must precede them. */
function firstTime({ events }: Draft, { at }: Unmatched): Date {
  return events.reduce((first, one) => (one.at < first ? one.at : first), at);
}

/** Lists the lines that events name and the order lacks, without duplicates. */
function missingLines(draft: Draft): StoredLine[] {
  const { lines, events } = draft;
  const missing = new Map<string, StoredLine>();
  for (const { items, effect } of reportedEventsOf(draft, events))
    for (const item of effect === 'none' ? [] : (items ?? []))
      if (!item.once && !lines.some(({ line }) => line === item.line) && !missing.has(item.line))
        missing.set(item.line, item);
  return [...missing.values()];
}

/** Links a line to a licence. If the licence had no order, this line counts as having issued it; otherwise it renews it. */
function linkTo(draft: Draft, line: OrderLine, license: LicenseFacts, upgrades: Plans['upgrades']): void {
  const { id: licenseId, planId: plan, activationLimit: limit } = license;
  const isFirst = !draft.links.some((link) => link.licenseId === licenseId);
  const plans: Plans = isFirst
    ? { base: { plan, slots: 1, count: 1 }, upgrades }
    : { base: { plan, slots: 1 }, had: { plan, limit }, upgrades };
  const baseEndsAt = isFirst ? null : paidUntil(license);
  addLink(draft, line, {
    licenseId,
    state: 'active',
    role: isFirst ? 'issued' : 'renewed',
    baseEndsAt,
    plans,
  });
}

/** Applies events to a line one after the other, as if they arrived now. */
function replay(draft: Draft, line: OrderLine, before: OrderEvent[], events: OrderEvent[]): void {
  const told = reportedEventsOf(draft, [...before, ...events]);
  for (const [i, kept] of events.entries()) {
    const at = before.length + i;
    const latest = told[at] as ReadEvent;
    if (!concerns(latest, line)) continue;
    draft.reason = changeReason(draft.facts, latest.event);
    const [settled] = settleAll(draft, [line], {
      before: told.slice(0, at),
      after: told.slice(0, at + 1),
      latest,
    });
    const outcomes = JSON.parse(kept.outcomeJson ?? '[]') as LineOutcome[];
    const others = outcomes.filter((one) => one.line !== line.line);
    if (settled !== undefined) setOutcomes(draft, kept, [...others, { line: line.line, ...settled.outcome }]);
  }
}

/** Issues a licence for events of an order without a payment, or for a line that could not be read. */
function issue(draft: Draft, one: Unmatched, found: Found, plan: Plan): Ref | ActRefusal {
  const { event, line } = found;
  const changed = changedLine(draft, found);
  if (event !== undefined && changed !== undefined) return issueBeside(draft, event, changed, plan);
  const missing = line === undefined ? missingLines(draft) : [];
  const unread = line && event && itemOf(readEvent(event), line.line);
  const first = unread ?? missing[0] ?? (draft.lines.length === 0 ? { line: FIRST_LINE } : undefined);
  if (first === undefined) return refuse('Its order already has a licence for every line.');
  // Let upgrades mean the plan that the seller chose.
  if (unread === undefined)
    for (const each of draft.events.filter(
      ({ event: name, effect }) => name === 'upgraded' && effect !== 'none',
    ))
      setMeaning(draft, each, { linesJson: asPlan(each, first.line, plan) });
  const at = firstTime(draft, one);
  // If renewals follow, they are what was paid, so the payment before them gives no time.
  const isRenewed =
    unread === undefined && plan.duration !== null && draft.events.some(({ effect }) => effect === 'renew');
  const { line: name, ids, paid_until: until } = first;
  const paidUntil = isRenewed ? at : unread && until ? new Date(until) : undefined;
  const lines = [{ line: name, planId: plan.id, ids, paidUntil }];
  const paid = addPaid(draft, { eventId: `unmatched:${one.id}`, at, lines });
  takeEvent(draft, paid);
  const row = draft.lines.find((each) => each.line === name);
  const [issued] = row === undefined ? [] : linksOf(draft, row);
  const license = issued && draft.licenses.get(issued.licenseId);
  if (license === undefined) return refuse(`Its order issues no licence: ${whyNone(paid)}.`);
  if (missing.length > 1) adopt(draft, one, license, missingLines(draft));
  return license.id;
}

function whyNone({ outcomeJson }: OrderEvent): string {
  const [outcome] = JSON.parse(outcomeJson ?? '[]') as LineOutcome[];
  return outcome?.reason ?? outcome?.action ?? '';
}

function asPlan({ linesJson }: OrderEvent, line: string, plan: Plan): string {
  return JSON.stringify(
    (JSON.parse(linesJson ?? '[]') as StoredLine[]).map((item) => {
      if (item.line !== line) return item;
      const { sku: _, price: __, ids: ___, ...others } = item;
      return { ...others, plan_id: plan.id };
    }),
  );
}

/** Issues another licence on a line whose licences cannot become what was bought. */
function issueBeside(draft: Draft, event: OrderEvent, line: OrderLine, plan: Plan): Ref | ActRefusal {
  const [had] = linksOf(draft, line);
  const beside = had && draft.licenses.get(had.licenseId);
  const [told] = lineEvents(
    reportedEventsOf(draft, draft.events).filter(({ identity }) => identity === event.identity),
    line,
  );
  const paid = told?.paidUntil ?? (beside === undefined ? null : paidUntil(beside));
  const end = {
    ...endWithGrace(paid, beside?.graceDays ?? 0),
    renewsItself: beside?.renewsItself ?? false,
  };
  draft.reason = changeReason(draft.facts, event.event);
  const plans: Plans = { base: { plan: plan.id, slots: 1, count: 1 }, upgrades: { [event.identity]: null } };
  const waits = issueMore(draft, line, 1, { planId: plan.id, limit: plan.activationLimit, plans, end });
  const [issued] = draft.issued.slice(-1);
  return waits !== undefined || issued === undefined
    ? refuse('The reference of its line is in use.')
    : issued;
}
