import { endWithGrace, isFinal, liveStatus, paidEnd } from '../licensing/core/states';
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
  reasonOf,
  setLine,
  setOutcomes,
  toldOf,
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
  type ToldEvent,
} from './order-events';
import { issueMore } from './settle-line';
import { planOf, type Plans } from './sold';
import { whyUnmatched } from './unmatched';

/** Decides what a seller's answer to unmatched money changes. Refusals are values. */

export type UnmatchedAct =
  | { type: 'assign'; licenseId: number }
  | { type: 'issue'; planId: number }
  | { type: 'leave' };

export interface ActRefusal {
  message: string;
  reason: 'other-order' | 'license-final';
}

export interface ActDecision extends OrderDecision {
  /** the licence that it is about now */
  license: Ref | null;
}

export const GIVES_BACK = new Set(['refunded', 'refund_failed', 'charged_back', 'chargeback_reversed']);

/** Where no message names a line. */
export const FIRST_LINE = '1';

export function decideUnmatched(
  facts: OrderFacts,
  one: Unmatched,
  act: UnmatchedAct,
): ActDecision | ActRefusal {
  const draft = draftOf(facts);
  const done = act.type === 'leave' ? null : answerTo(draft, one, act);
  if (done !== null && typeof done === 'object') return done;
  const told = toldOf(draft, draft.events);
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
  /** undefined: a message's event, which is one of several */
  event: OrderEvent | undefined;
  reason: string | undefined;
  /** the line that it is about, of one that cannot be read */
  line: OrderLine | undefined;
}

/** Finds the event that found nothing, or that brought a line which cannot be read. */
function findEvent(draft: Draft, { digest }: Unmatched): Found {
  const { order, lines, events } = draft;
  const told = toldOf(draft, events);
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

/** Lets an order's lines that have no licence renew this one, and runs what was told of them. */
function assign(draft: Draft, one: Unmatched, found: Found, license: LicenseFacts): Ref | ActRefusal {
  const { event, reason, line } = found;
  const { events, lines, facts } = draft;
  const status = liveStatus(license, facts.now);
  if (!events.some(({ event: name }) => GIVES_BACK.has(name)) && isFinal(status))
    return refuse(`Licence ${license.id} is ${status}, which is final.`, 'license-final');
  const changed = changedLine(draft, found);
  const ids = [...new Set(ownLinks(draft).map(({ licenseId }) => licenseId))];
  // What names no line of its own is of the order's own licence.
  const isOfOrder = event === undefined || reason === 'unknown_payment';
  if (isOfOrder && ids.length > 0 && !ids.includes(license.id))
    return refuse(`It is of order ${draft.order.id}, whose licence is ${ids.join(', ')}.`);
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

/** A refund is of the lines that a licence is of, and of all that was paid for them. */
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

/** The line whose licences an event cannot change to what was bought. */
function changedLine(draft: Draft, { event, reason, line }: Found): OrderLine | undefined {
  if (event !== undefined && reason === 'other_activation_type')
    return draft.lines.find((one) => concerns(readEvent(event), one));
  return line && linksOf(draft, line).length > 0 ? line : undefined;
}

/** Gives the licence these lines, with a payment until the end that it has: what was told since moves that. */
function adopt(draft: Draft, one: Unmatched, license: LicenseFacts, items: StoredLine[]): void {
  if (items.length === 0) return;
  const until = paidEnd(license);
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
  // The seller says so, whatever the rules of the shop.
  Object.assign(paid, { effect: 'issue', graceDays: 0 });
  setOutcomes(
    draft,
    paid,
    items.map(({ line }) => ({ line, action: 'none', reason: 'assigned' })),
  );
  for (const line of added) replay(draft, line, [paid], told);
}

/** Adds a payment that nobody told of. */
function addPaid(
  { order, shop, facts, events }: Draft,
  told: Pick<OrderMessage, 'eventId' | 'at' | 'lines'>,
) {
  const paid = newEvent(order, shop, { ...told, event: 'paid' }, facts);
  events.push(paid);
  return paid;
}

/** A payment comes before all that was told of it. */
function firstTime({ events }: Draft, { at }: Unmatched): Date {
  return events.reduce((first, one) => (one.at < first ? one.at : first), at);
}

/** The lines that events name and the order does not have, each once. */
function missingLines(draft: Draft): StoredLine[] {
  const { lines, events } = draft;
  const missing = new Map<string, StoredLine>();
  for (const { items, effect } of toldOf(draft, events))
    for (const item of effect === 'none' ? [] : (items ?? []))
      if (!item.once && !lines.some(({ line }) => line === item.line) && !missing.has(item.line))
        missing.set(item.line, item);
  return [...missing.values()];
}

/** The order is that of a licence which has none; another licence is renewed by it. */
function linkTo(draft: Draft, line: OrderLine, license: LicenseFacts, upgrades: Plans['upgrades']): void {
  const { id: licenseId, planId: plan, activationLimit: limit } = license;
  const isFirst = !draft.links.some((link) => link.licenseId === licenseId);
  const plans: Plans = isFirst
    ? { base: { plan, slots: 1, count: 1 }, upgrades }
    : { base: { plan, slots: 1 }, had: { plan, limit }, upgrades };
  const baseEndsAt = isFirst ? null : paidEnd(license);
  addLink(draft, line, {
    licenseId,
    state: 'active',
    role: isFirst ? 'issued' : 'renewed',
    baseEndsAt,
    plans,
  });
}

/** Lets events change a line's licences one after the other, as if they came now. */
function replay(draft: Draft, line: OrderLine, before: OrderEvent[], events: OrderEvent[]): void {
  const told = toldOf(draft, [...before, ...events]);
  for (const [i, kept] of events.entries()) {
    const at = before.length + i;
    const latest = told[at] as ToldEvent;
    if (!concerns(latest, line)) continue;
    draft.reason = reasonOf(draft.facts, latest.event);
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

/** Issues a licence for what an order told without having been paid, or for a line that cannot be read. */
function issue(draft: Draft, one: Unmatched, found: Found, plan: Plan): Ref | ActRefusal {
  const { event, line } = found;
  const changed = changedLine(draft, found);
  if (event !== undefined && changed !== undefined) return issueBeside(draft, event, changed, plan);
  const missing = line === undefined ? missingLines(draft) : [];
  const unread = line && event && itemOf(readEvent(event), line.line);
  const first = unread ?? missing[0] ?? (draft.lines.length === 0 ? { line: FIRST_LINE } : undefined);
  if (first === undefined) return refuse('Its order has a licence for all that it names.');
  // What was bought is what the seller says now.
  if (unread === undefined)
    for (const each of draft.events.filter(
      ({ event: name, effect }) => name === 'upgraded' && effect !== 'none',
    ))
      setMeaning(draft, each, { linesJson: asPlan(each, first.line, plan) });
  const at = firstTime(draft, one);
  // The renewals that follow are what is paid, so the payment before them pays for no time.
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

/** Issues a licence on a line beside those that cannot be what was bought. */
function issueBeside(draft: Draft, event: OrderEvent, line: OrderLine, plan: Plan): Ref | ActRefusal {
  const [had] = linksOf(draft, line);
  const beside = had && draft.licenses.get(had.licenseId);
  const [told] = lineEvents(
    toldOf(draft, draft.events).filter(({ identity }) => identity === event.identity),
    line,
  );
  const paid = told?.paidUntil ?? (beside === undefined ? null : paidEnd(beside));
  const end = {
    ...endWithGrace(paid, beside?.graceDays ?? 0),
    renewsItself: beside?.renewsItself ?? false,
  };
  draft.reason = reasonOf(draft.facts, event.event);
  const plans: Plans = { base: { plan: plan.id, slots: 1, count: 1 }, upgrades: { [event.identity]: null } };
  const waits = issueMore(draft, line, 1, { planId: plan.id, limit: plan.activationLimit, plans, end });
  const [issued] = draft.issued.slice(-1);
  return waits !== undefined || issued === undefined
    ? refuse('The reference of its line is in use.')
    : issued;
}
