import { formatTimestampOrNull } from '../base/days';
import { isTerminalStatus, liveStatus, paidUntil } from '../licensing/core/states';
import { findEmail } from '../licensing/customer-email';
import type { OrderEvent, OrderLine } from '../store/orders/orders';
import type { Change } from './decision';
import {
  addLine,
  draftOf,
  linksOf,
  ownLinks,
  problemDigest,
  changeReason,
  setLine,
  changeOrder,
  setOutcomes,
  reportedEventsOf,
  type Draft,
} from './draft';
import type { LicenseFacts, OrderFacts } from './facts';
import { foldLine, type Meanings } from './line-state';
import { MAX_LINES, type OrderCustomer } from './message';
import { unmatchedDigest } from './names';
import {
  byTime,
  concerns,
  lineEvents,
  none,
  readEvent,
  ignoredReason,
  type LineEvent,
  type LineOutcome,
  type OrderEventName,
  type StoredLine,
  type ReadEvent,
} from './order-events';
import { firstUnreadablePayment, reconcileLine, type SettledLine } from './reconcile-line';
import { mailOf } from './shop-kinds';
import { mappedTo } from './sold';
import { whyUnmatched } from './unmatched';

/**
 * Decides what follows from the facts about an order, as a pure function. It takes the events that are not processed
 * yet, in the order of their arrival, and then the lines that wait.
 */

/** The customer of an order, and the time from which the address and name count. */
export interface Naming {
  customer: OrderCustomer;
  at: Date;
}

export interface OrderDecision {
  changes: Change[];
  /** the facts after the changes; the ids of added rows are those of their changes */
  draft: Draft;
}

export function decideOrder(facts: OrderFacts, naming?: Naming): OrderDecision {
  const draft = draftOf(facts);
  const given = naming ?? keptNaming(facts);
  const isNamed = given !== undefined && nameCustomer(draft, given);
  if (isTooLarge(draft)) {
    changeOrder(draft, { state: 'waiting', failure: 'too_many', failedAt: null, retryAt: null });
    for (const event of draft.events) {
      const { id, ...row } = event;
      if (id === 0) draft.changes.push({ type: 'add_event', event: row });
    }
    return { changes: draft.changes, draft };
  }
  for (const event of draft.events) if (event.outcomeJson === null) takeEvent(draft, event);
  settleWaiting(draft);
  conclude(draft, isNamed);
  return { changes: draft.changes, draft };
}

/** Returns the customer of a message that failed to process: so far, only the order has stored it. */
function keptNaming({ order, now }: OrderFacts): Naming | undefined {
  const { state, customer, customerName, language, failedAt } = order;
  if (state !== 'failed' || customer === null) return undefined;
  const named = { email: customer, name: customerName ?? undefined, language: language ?? undefined };
  return { customer: named, at: failedAt ?? now };
}

/** Reports whether an order names more lines than allowed before its seller confirms it. */
function isTooLarge({ events, order }: Draft): boolean {
  if (order.confirmedAt !== null) return false;
  const names = new Set<string>();
  for (const event of events) for (const { line } of readEvent(event).items ?? []) names.add(line);
  return names.size > MAX_LINES;
}

/** Adds the order's state, its unmatched events and its mails to the decision. */
export function conclude(draft: Draft, isNamed: boolean): void {
  const isWaitingStill = draft.lines.some(({ waitsFor }) => waitsFor !== null);
  const state = isWaitingStill ? 'waiting' : 'done';
  changeOrder(draft, { state, failure: null, failedAt: null, retryAt: null });
  followUnmatched(draft);
  mailKeys(draft, isNamed);
}

/** Sets an order's customer. The first address and its language stay. @returns whether this is the first address */
function nameCustomer(draft: Draft, { customer, at }: Naming): boolean {
  const { order } = draft;
  const { email, name = null, language = null } = customer;
  const isFirst = order.customer === null;
  if (!order.isTest && email === (order.customer ?? email))
    draft.changes.push({ type: 'tell_profile', email, name, language, at });
  if (isFirst) changeOrder(draft, { customer: email, customerName: name });
  if (order.language === null) changeOrder(draft, { language });
  if (!isFirst && order.state !== 'failed') return false;
  let hasNamed = isFirst;
  for (const { licenseId, role } of ownLinks(draft)) {
    const license = draft.licenses.get(licenseId);
    if (role !== 'issued' || license === undefined || license.customer !== null) continue;
    const address = order.customer ?? email;
    license.customer = address;
    draft.changes.push({ type: 'name_customer', license: licenseId, email: address });
    hasNamed = true;
  }
  return hasNamed;
}

/** Reports whether an event's line begins a line of the order. An upgrade does if it is a new order for an earlier one. */
function opens(event: string, { renews }: StoredLine): boolean {
  return event === 'paid' || (event === 'upgraded' && renews !== undefined);
}

/** Processes an event. */
export function takeEvent(draft: Draft, event: OrderEvent): void {
  const { facts, lines: known } = draft;
  nameOnlyLine(draft, event);
  const prior = draft.events.filter((one) => one.outcomeJson !== null);
  for (const item of readEvent(event).items ?? [])
    if (opens(event.event, item)) openLine(draft, item, known, prior.map(readEvent));
  const { before, after, latest } = tell(draft, prior, event);
  draft.reason = changeReason(facts, event.event);
  const outcomes: LineOutcome[] = [];
  const settled = settleAll(
    draft,
    draft.lines.filter((line) => concerns(latest, line)),
    { before, after, latest },
  );
  for (const { line, outcome } of settled) outcomes.push({ line: line.line, ...outcome });
  setOutcomes(draft, event, latest.items === null ? outcomes : inEventOrder(latest, outcomes));
  reviseOutcomes(draft, prior, after, settled);
  if (event.event === 'payment_failed') noteFailedPayment(draft, latest, before);
}

/** Renames the line of an upgrade to the order's only line, because the upgraded article may have a new name. */
function nameOnlyLine({ lines, changes }: Draft, event: OrderEvent): void {
  const [only, ...more] = lines;
  const [item, ...others] = readEvent(event).items ?? [];
  if (event.event !== 'upgraded' || item === undefined || only === undefined || item.line === only.line)
    return;
  if (others.length > 0 || more.length > 0 || item.renews !== undefined) return;
  event.linesJson = JSON.stringify([{ ...item, line: only.line }]);
  const { id, linesJson } = event;
  if (id !== 0) changes.push({ type: 'set_event', id, changes: { linesJson } });
}

/**
 * Reads the events together with a new one. A refund before it keeps the effect that it had without the new event.
 * @returns the events before, with the new one (`after`), and the new one
 */
export function tell(
  draft: Draft,
  prior: OrderEvent[],
  event: OrderEvent,
): { before: ReadEvent[]; after: ReadEvent[]; latest: ReadEvent } {
  const after = reportedEventsOf(draft, [...prior, event]);
  const judged = new Map(reportedEventsOf(draft, prior).map((one) => [one.identity, one]));
  const before = after.slice(0, -1).map((one) => {
    const was = judged.get(one.identity);
    return was === undefined || was.effect === one.effect
      ? one
      : { ...one, effect: was.effect, partial: was.partial, part: was.part };
  });
  return { before, after, latest: after.at(-1) as ReadEvent };
}

/** Settles the lines that wait, because their articles or earlier orders may be known now. */
function settleWaiting(draft: Draft): void {
  const waiting = draft.lines.filter(({ waitsFor }) => waitsFor !== null);
  if (waiting.length === 0) return;
  const told = reportedEventsOf(draft, draft.events);
  draft.reason = changeReason(draft.facts);
  const settled = settleAll(draft, waiting, { before: told, after: told, latest: undefined });
  reviseOutcomes(draft, draft.events, told, settled);
}

interface Settled extends SettledLine {
  line: OrderLine;
}

export function settleAll(
  draft: Draft,
  lines: OrderLine[],
  told: Parameters<typeof reconcileLine>[2],
): Settled[] {
  return lines.map((line) => {
    const settled = reconcileLine(draft, line, told);
    const { waitsFor = null, awaited = null } = settled.waits ?? {};
    setLine(draft, line, { waitsFor, awaited });
    return { ...settled, line };
  });
}

/** Adds the line that an event begins, or updates it while it has no licence. */
function openLine(draft: Draft, item: StoredLine, known: OrderLine[], prior: ReadEvent[]): void {
  const { line: name, sku = null, plan_id: planId = null, quantity = 1, renews } = item;
  const line = known.find((one) => one.line === name);
  const renewsJson = renews === undefined ? null : JSON.stringify(renews);
  if (line === undefined) addLine(draft, { line: name, sku, planId, quantity, renewsJson });
  else if (linksOf(draft, line).length > 0 || item.problem !== undefined) return;
  else if (firstUnreadablePayment(prior, name) !== undefined)
    setLine(draft, line, { sku, planId, quantity, renewsJson });
  else renameArticle(draft, line, sku, quantity);
}

/**
 * Gives a line without a mapped article the mapped article and quantity of another payment for it: an invoice names a
 * price, its session names what was sold. A refund between the two does not matter.
 */
function renameArticle(draft: Draft, line: OrderLine, sku: string | null, quantity: number): void {
  if (sku !== null && line.sku !== null && sku !== line.sku)
    if (mappedTo(draft, line.sku).length === 0 && mappedTo(draft, sku).length > 0)
      setLine(draft, line, { sku, quantity });
}

/** Lists an outcome for each line that the event names, in its order. A line that was never paid has no row yet. */
function inEventOrder(event: ReadEvent, outcomes: LineOutcome[]): LineOutcome[] {
  const stops = event.effect === 'suspend' || event.effect === 'cancel';
  const reason = ignoredReason(event) ?? (stops ? event.event : 'not_paid');
  return (event.items ?? []).map(
    ({ line }) => outcomes.find((one) => one.line === line) ?? { line, action: 'none', reason },
  );
}

/** Terms for lines without licences: they only show whether events suspend or cancel the line. */
const UNRESOLVED: Meanings = { base: { duration: null, count: 1 }, upgrades: new Map(), renews: false, n: 1 };

/** Updates the stored outcomes of earlier events whose lines no longer wait. */
function reviseOutcomes(draft: Draft, stored: OrderEvent[], told: ReadEvent[], settled: Settled[]): void {
  // A shop may report one payment twice: with the order and with its subscription.
  const issued = new Set<string>();
  for (const event of stored) {
    if (!/"(?:waiting|issued)"/.test(event.outcomeJson ?? '')) continue;
    const outcomes = JSON.parse(event.outcomeJson as string) as LineOutcome[];
    const revised = outcomes.map((outcome): LineOutcome => {
      const { line, action } = outcome;
      const found = action === 'waiting' ? settled.find((one) => one.line.line === line) : undefined;
      const now =
        found === undefined ? outcome : { ...outcome, ...revisedOutcome(draft, event, told, found) };
      if (now.action !== 'issued') return now;
      const isRepeated = found !== undefined && issued.has(line);
      issued.add(line);
      return isRepeated ? { line, ...none('issued') } : now;
    });
    setOutcomes(draft, event, revised);
  }
}

function revisedOutcome(draft: Draft, event: OrderEvent, told: ReadEvent[], settled: Settled) {
  const { line, waitingUpgrades, waits, outcome } = settled;
  const hasLicense = linksOf(draft, line).length > 0;
  const isOpen = event.event === 'upgraded' ? waitingUpgrades.has(event.identity) : !hasLicense;
  if (waits !== undefined && isOpen) return { reason: waits.waitsFor };
  if (hasLicense) return lateOutcome(event.event as OrderEventName, line);
  if (outcome.reason === 'left') return none('left');
  const { by } = foldLine(lineEvents(told, line), UNRESOLVED);
  return none(by ?? (draft.order.isTest ? 'test' : 'not_paid'));
}

/** Returns what an event did that waited until its line was settled. */
function lateOutcome(event: OrderEventName, { renewsJson }: OrderLine): Omit<LineOutcome, 'line'> {
  if (event === 'paid') return { action: renewsJson === null ? 'issued' : 'renewed', reason: null };
  if (event === 'renewed') return { action: 'renewed', reason: null };
  if (event === 'upgraded') return { action: 'plan_changed', reason: null };
  return { action: 'none', reason: null };
}

/** Lists the unmatched events and lines of an order, and drops those that match now. Test orders are skipped. */
function followUnmatched(draft: Draft): void {
  const { order, facts, lines } = draft;
  if (order.isTest) return;
  const told = reportedEventsOf(draft, draft.events);
  const found = new Map<string, { event: string; reason: string; at: Date }>();
  const links = ownLinks(draft);
  for (const event of told) {
    const { identity, at } = event;
    const reason = whyUnmatched({ lines, links }, event, told);
    if (reason !== undefined)
      found.set(unmatchedDigest(order.digest, identity), { event: event.event, reason, at });
    for (const { line, problem } of event.items ?? []) {
      const row = lines.find((one) => one.line === line);
      if (problem === undefined || row?.waitsFor !== problem) continue;
      const isChange = event.event === 'upgraded' && linksOf(draft, row).length > 0;
      if (isChange || event === firstUnreadablePayment(told, line))
        found.set(problemDigest(draft, identity, line), { event: event.event, reason: problem, at });
    }
  }
  for (const [digest, kept] of found)
    if (!facts.unmatched.some((one) => one.digest === digest))
      draft.changes.push({ type: 'keep_unmatched', digest, ...kept });
  const gone = facts.unmatched.filter(({ digest, state }) => state === 'open' && !found.has(digest));
  if (gone.length > 0) draft.changes.push({ type: 'drop_unmatched', ids: gone.map(({ id }) => id) });
}

/**
 * Mails the keys of the licences that are issued now. If the order has just received an address, it mails all its keys.
 * @param isNamed whether the order had no address before
 */
function mailKeys(draft: Draft, isNamed: boolean): void {
  const { order, shop, issued, facts } = draft;
  if (order.isTest) return;
  if (issued.length > 0) changeOrder(draft, { mail: mailOf(shop) });
  if (order.mail !== 'key' || !facts.hasMail || !hasAddress(draft)) return;
  const all = ownLinks(draft).filter(({ role }) => role === 'issued');
  const licenses = isNamed ? all.map(({ licenseId }) => licenseId) : issued;
  if (licenses.length > 0) draft.changes.push({ type: 'mail_keys', licenses: [...licenses] });
}

function hasAddress({ order: { customer } }: Draft): boolean {
  return customer !== null && findEmail(customer) !== undefined;
}

/**
 * Dunning: notes a failed payment in the history of the licences that it would have renewed, and mails the customer
 * where to pay, once for each period. It changes no licence.
 */
function noteFailedPayment(draft: Draft, failed: ReadEvent, before: ReadEvent[]): void {
  const { order, shop, facts } = draft;
  // A failed test payment does not concern what was sold.
  if (failed.isTest && !order.isTest) return;
  const licenses = findUnpaid(draft, failed, before);
  if (licenses.length === 0) return;
  const ends = licenses.flatMap((license) => paidUntil(license)?.getTime() ?? []);
  const end = ends.length === 0 ? null : new Date(Math.min(...ends));
  const once = `payment_failed:${order.id}:${formatTimestampOrNull(end) ?? ''}`;
  const isMailed =
    shop.billingUrl !== null &&
    facts.hasMail &&
    !order.isTest &&
    hasAddress(draft) &&
    !facts.mailsOnce.includes(once);
  draft.changes.push({
    type: 'note_failed_payment',
    licenses: licenses.map(({ id }) => id),
    failedAt: failed.at,
    mail: isMailed ? { once, end } : null,
  });
}

/** Lists the licences that the failed payment was for, unless a newer event paid for or ended them. */
function findUnpaid(draft: Draft, failed: ReadEvent, before: ReadEvent[]): LicenseFacts[] {
  const open = draft.lines.filter((line) => {
    const [own] = lineEvents([failed], line);
    return own !== undefined && !lineEvents(before, line).some((one) => settles(one) && byTime(one, own) > 0);
  });
  const ids = open
    .flatMap((line) => linksOf(draft, line))
    .filter(({ state }) => state !== 'cancelled')
    .map(({ licenseId }) => licenseId);
  return [...new Set(ids)]
    .sort((a, b) => a - b)
    .flatMap((id) => draft.licenses.get(id) ?? [])
    .filter(
      (license) => !isTerminalStatus(liveStatus(license, draft.facts.now)) && license.status !== 'suspended',
    );
}

/** Reports whether an event ends the time in which a failed payment matters. */
function settles({ event, effect, renewsItself }: LineEvent): boolean {
  return effect === 'issue' || effect === 'renew' || event === 'subscription_ended' || renewsItself === false;
}
