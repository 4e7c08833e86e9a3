import { formatTimestampOrNull } from '../base/days';
import { isFinal, liveStatus, paidEnd } from '../licensing/core/states';
import { findEmail } from '../licensing/customer-email';
import type { OrderEvent, OrderLine } from '../store/orders/orders';
import type { Change } from './decision';
import {
  addLine,
  draftOf,
  linksOf,
  ownLinks,
  problemDigest,
  reasonOf,
  setLine,
  setOrder,
  setOutcomes,
  toldOf,
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
  whyIgnored,
  type LineEvent,
  type LineOutcome,
  type OrderEventName,
  type StoredLine,
  type ToldEvent,
} from './order-events';
import { broughtBy, settleLine, type SettledLine } from './settle-line';
import { mailOf } from './shop-kinds';
import { mappedTo } from './sold';
import { whyUnmatched } from './unmatched';

/**
 * Decides what follows from what is known of an order: a pure function of its facts. The events that have not been processed
 * are taken in the order of their arrival, then the lines that wait.
 */

/** What a customer is called, and since when. */
export interface Naming {
  customer: OrderCustomer;
  at: Date;
}

export interface OrderDecision {
  changes: Change[];
  /** as they are once the changes are applied; rows that were added have the ids of their changes */
  draft: Draft;
}

export function decideOrder(facts: OrderFacts, naming?: Naming): OrderDecision {
  const draft = draftOf(facts);
  const given = naming ?? keptNaming(facts);
  const isNamed = given !== undefined && nameCustomer(draft, given);
  if (isTooLarge(draft)) {
    setOrder(draft, { state: 'waiting', failure: 'too_many', failedAt: null, retryAt: null });
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

/** Returns the customer that a message named which failed: the order has kept it, and nothing else knows it yet. */
function keptNaming({ order, now }: OrderFacts): Naming | undefined {
  const { state, customer, customerName, language, failedAt } = order;
  if (state !== 'failed' || customer === null) return undefined;
  const named = { email: customer, name: customerName ?? undefined, language: language ?? undefined };
  return { customer: named, at: failedAt ?? now };
}

/** Reports whether an order names more lines than it may have before its seller confirms it. */
function isTooLarge({ events, order }: Draft): boolean {
  if (order.confirmedAt !== null) return false;
  const names = new Set<string>();
  for (const event of events) for (const { line } of readEvent(event).items ?? []) names.add(line);
  return names.size > MAX_LINES;
}

/** Does what follows from what was decided: the order's state, what is unmatched, and mails. */
export function conclude(draft: Draft, isNamed: boolean): void {
  const isWaitingStill = draft.lines.some(({ waitsFor }) => waitsFor !== null);
  const state = isWaitingStill ? 'waiting' : 'done';
  setOrder(draft, { state, failure: null, failedAt: null, retryAt: null });
  followUnmatched(draft);
  mailKeys(draft, isNamed);
}

/** The first address stays, and so does the language that was told with it. @returns whether it is the first of the order or its licences */
function nameCustomer(draft: Draft, { customer, at }: Naming): boolean {
  const { order } = draft;
  const { email, name = null, language = null } = customer;
  const isFirst = order.customer === null;
  if (!order.isTest && email === (order.customer ?? email))
    draft.changes.push({ type: 'tell_profile', email, name, language, at });
  if (isFirst) setOrder(draft, { customer: email, customerName: name });
  if (order.language === null) setOrder(draft, { language });
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

/** Whether a line of an event begins one of the order: an upgrade that is an order of its own names the earlier one. */
function opens(event: string, { renews }: StoredLine): boolean {
  return event === 'paid' || (event === 'upgraded' && renews !== undefined);
}

/** Takes an event that has not been processed. */
export function takeEvent(draft: Draft, event: OrderEvent): void {
  const { facts, lines: known } = draft;
  nameOnlyLine(draft, event);
  const prior = draft.events.filter((one) => one.outcomeJson !== null);
  for (const item of readEvent(event).items ?? [])
    if (opens(event.event, item)) openLine(draft, item, known, prior.map(readEvent));
  const { before, after, latest } = tell(draft, prior, event);
  draft.reason = reasonOf(facts, event.event);
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

/** An upgrade that names a line by another name means the order's only one: what is sold there may have a new name too. */
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
 * Reads the events with a new one. A refund before it is judged by its amount as it was without the new one.
 * @returns the events before, and all
 */
export function tell(
  draft: Draft,
  prior: OrderEvent[],
  event: OrderEvent,
): { before: ToldEvent[]; after: ToldEvent[]; latest: ToldEvent } {
  const after = toldOf(draft, [...prior, event]);
  const judged = new Map(toldOf(draft, prior).map((one) => [one.identity, one]));
  const before = after.slice(0, -1).map((one) => {
    const was = judged.get(one.identity);
    return was === undefined || was.effect === one.effect
      ? one
      : { ...one, effect: was.effect, partial: was.partial, part: was.part };
  });
  return { before, after, latest: after.at(-1) as ToldEvent };
}

/** Settles the lines that wait, as their articles or earlier orders may be known by now. */
function settleWaiting(draft: Draft): void {
  const waiting = draft.lines.filter(({ waitsFor }) => waitsFor !== null);
  if (waiting.length === 0) return;
  const told = toldOf(draft, draft.events);
  draft.reason = reasonOf(draft.facts);
  const settled = settleAll(draft, waiting, { before: told, after: told, latest: undefined });
  reviseOutcomes(draft, draft.events, told, settled);
}

interface Settled extends SettledLine {
  line: OrderLine;
}

export function settleAll(
  draft: Draft,
  lines: OrderLine[],
  told: Parameters<typeof settleLine>[2],
): Settled[] {
  return lines.map((line) => {
    const settled = settleLine(draft, line, told);
    const { waitsFor = null, awaited = null } = settled.waits ?? {};
    setLine(draft, line, { waitsFor, awaited });
    return { ...settled, line };
  });
}

/** Adds a line that an event begins. */
function openLine(draft: Draft, item: StoredLine, known: OrderLine[], prior: ToldEvent[]): void {
  const { line: name, sku = null, plan_id: planId = null, quantity = 1, renews } = item;
  const line = known.find((one) => one.line === name);
  const renewsJson = renews === undefined ? null : JSON.stringify(renews);
  if (line === undefined) addLine(draft, { line: name, sku, planId, quantity, renewsJson });
  else if (linksOf(draft, line).length > 0 || item.problem !== undefined) return;
  else if (broughtBy(prior, name) !== undefined) setLine(draft, line, { sku, planId, quantity, renewsJson });
  else renameArticle(draft, line, sku, quantity);
}

/**
 * A line whose article nobody has mapped takes the one that another payment of it names, if that is mapped, with its
 * quantity: an invoice names a price where its session names what was sold. A refund may have come between.
 */
function renameArticle(draft: Draft, line: OrderLine, sku: string | null, quantity: number): void {
  if (sku !== null && line.sku !== null && sku !== line.sku)
    if (mappedTo(draft, line.sku).length === 0 && mappedTo(draft, sku).length > 0)
      setLine(draft, line, { sku, quantity });
}

/** A line for each that the event names, in its order; one that was never paid has no row yet. */
function inEventOrder(event: ToldEvent, outcomes: LineOutcome[]): LineOutcome[] {
  const stops = event.effect === 'suspend' || event.effect === 'cancel';
  const reason = whyIgnored(event) ?? (stops ? event.event : 'not_paid');
  return (event.items ?? []).map(
    ({ line }) => outcomes.find((one) => one.line === line) ?? { line, action: 'none', reason },
  );
}

/** Without licences, only what suspends or cancels is asked for. */
const UNRESOLVED: Meanings = { base: { duration: null, count: 1 }, upgrades: new Map(), renews: false, n: 1 };

/** What events are said to have done, once their lines wait no more. */
function reviseOutcomes(draft: Draft, stored: OrderEvent[], told: ToldEvent[], settled: Settled[]): void {
  for (const event of stored) {
    if (!event.outcomeJson?.includes('"waiting"')) continue;
    const outcomes = JSON.parse(event.outcomeJson) as LineOutcome[];
    const revised = outcomes.map((outcome) => {
      const found = settled.find(({ line }) => line.line === outcome.line);
      return outcome.action !== 'waiting' || found === undefined
        ? outcome
        : { ...outcome, ...revisedOutcome(draft, event, told, found) };
    });
    setOutcomes(draft, event, revised);
  }
}

function revisedOutcome(draft: Draft, event: OrderEvent, told: ToldEvent[], settled: Settled) {
  const { line, waitingUpgrades, waits, outcome } = settled;
  const hasLicense = linksOf(draft, line).length > 0;
  const isOpen = event.event === 'upgraded' ? waitingUpgrades.has(event.identity) : !hasLicense;
  if (waits !== undefined && isOpen) return { reason: waits.waitsFor };
  if (hasLicense) return lateOutcome(event.event as OrderEventName, line);
  if (outcome.reason === 'left') return none('left');
  const { by } = foldLine(lineEvents(told, line), UNRESOLVED);
  return none(by ?? (draft.order.isTest ? 'test' : 'not_paid'));
}

/** What an event that waited did when its line ran. */
function lateOutcome(event: OrderEventName, { renewsJson }: OrderLine): Omit<LineOutcome, 'line'> {
  if (event === 'paid') return { action: renewsJson === null ? 'issued' : 'renewed', reason: null };
  if (event === 'renewed') return { action: 'renewed', reason: null };
  if (event === 'upgraded') return { action: 'plan_changed', reason: null };
  return { action: 'none', reason: null };
}

/** Keeps which events and lines of an order are unmatched. A test's are not money. */
function followUnmatched(draft: Draft): void {
  const { order, facts, lines } = draft;
  if (order.isTest) return;
  const told = toldOf(draft, draft.events);
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
      if (isChange || event === broughtBy(told, line))
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
 * Mails the keys of the licences that are issued, or of all that the order issued when its address has come just now.
 * @param isNamed the order had no address before
 */
function mailKeys(draft: Draft, isNamed: boolean): void {
  const { order, shop, issued, facts } = draft;
  if (order.isTest) return;
  if (issued.length > 0) setOrder(draft, { mail: mailOf(shop) });
  if (order.mail !== 'key' || !facts.hasMail || !hasAddress(draft)) return;
  const all = ownLinks(draft).filter(({ role }) => role === 'issued');
  const licenses = isNamed ? all.map(({ licenseId }) => licenseId) : issued;
  if (licenses.length > 0) draft.changes.push({ type: 'mail_keys', licenses: [...licenses] });
}

function hasAddress({ order: { customer } }: Draft): boolean {
  return customer !== null && findEmail(customer) !== undefined;
}

/**
 * A payment that failed changes no licence. It is noted in the history of those that it would have renewed, and the
 * customer is mailed where to pay, once for each period.
 */
function noteFailedPayment(draft: Draft, failed: ToldEvent, before: ToldEvent[]): void {
  const { order, shop, facts } = draft;
  // What was sold is not concerned by a test.
  if (failed.isTest && !order.isTest) return;
  const licenses = findUnpaid(draft, failed, before);
  if (licenses.length === 0) return;
  const ends = licenses.flatMap((license) => paidEnd(license)?.getTime() ?? []);
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

/** The licences that a payment was for and that nothing newer has paid for or ended. */
function findUnpaid(draft: Draft, failed: ToldEvent, before: ToldEvent[]): LicenseFacts[] {
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
    .filter((license) => !isFinal(liveStatus(license, draft.facts.now)) && license.status !== 'suspended');
}

/** Whether an event ends the time in which a failed payment matters. */
function settles({ event, effect, renewsItself }: LineEvent): boolean {
  return effect === 'issue' || effect === 'renew' || event === 'subscription_ended' || renewsItself === false;
}
