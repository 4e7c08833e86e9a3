import { endWithGrace, paidUntil } from '../licensing/core/states';
import type { OrderLine } from '../store/orders/orders';
import type { RenewableEnd } from './decision';
import { addLink, isResolved, linksOf, ownLinks, problemDigest, setLink, type Draft } from './draft';
import type { LicenseFacts } from './facts';
import { foldLine, type Meanings } from './line-state';
import { MAX_QUANTITY } from './message';
import { licenseReference } from './names';
import {
  itemOf,
  lineEvents,
  none,
  ignoredReason,
  type LicenseAction,
  type LineEvent,
  type Outcome,
  type OrderEventName,
  type ReadEvent,
} from './order-events';
import { endOfTerms } from './paid-time';
import { reconcileLicense, type Done, type SettledLicense } from './reconcile-license';
import {
  isWaiting,
  limitOf,
  meaningsOf,
  numbersOf,
  planOf,
  resolveUpgrades,
  soldAs,
  type Plans,
  type Sold,
  type Waits,
} from './sold';

/**
 * Reconciles a line's licences with new events. Only the difference that these events make is applied, so that changes
 * that a seller made by hand in between stay.
 */

export interface SettledLine {
  /** the outcome of the new event */
  outcome: Outcome;
  waits: Waits | undefined;
  /** the upgrades that wait */
  waitingUpgrades: Set<string>;
}

/**
 * @param before the events before @param after the events with the new one, if there is one
 * @returns the effect of the new event on the line, and the data that the line waits for
 */
export function reconcileLine(
  draft: Draft,
  line: OrderLine,
  { before, after, latest }: { before: ReadEvent[]; after: ReadEvent[]; latest: ReadEvent | undefined },
): SettledLine {
  const events = lineEvents(after, line);
  const done: Done[] = [];
  const isNew = linksOf(draft, line).length === 0;
  if (isNew) {
    const begun = beginLine(draft, line, events, after);
    if (begun !== undefined) {
      if (!isWaiting(begun))
        return {
          outcome: none(ignoredReason(latest) ?? begun.reason ?? 'not_paid'),
          waits: undefined,
          waitingUpgrades: new Set(),
        };
      const waitingUpgrades = new Set(events.filter(isUpgrade).map(({ identity }) => identity));
      return { outcome: outcomeOf(latest, 'waiting', begun.waitsFor), waits: begun, waitingUpgrades };
    }
    if (line.renewsJson === null) done.push('issued');
  }
  const waitingUpgrades = new Set<string>();
  let waits: Waits | undefined;
  let reason: string | undefined;
  const numbers = numbersOf(ownLinks(draft));
  const settled: Settled[] = [];
  for (const link of linksOf(draft, line)) {
    const license = draft.licenses.get(link.licenseId);
    // Skip a licence whose row was deleted by hand.
    if (license === undefined) continue;
    const was = link.plans;
    const resolved = resolveUpgrades(draft, was, after, {
      line,
      isTest: draft.order.isTest,
      isSettled: (identity) => isResolved(draft, problemDigest(draft, identity, line.line)),
    });
    setLink(draft, link, { plans: resolved.plans });
    for (const [identity, wait] of resolved.waiting) {
      waitingUpgrades.add(identity);
      waits ??= wait;
    }
    const one = reconcileLicense(draft, {
      link,
      line,
      license,
      n: numbers.get(link.id) ?? 1,
      was,
      is: resolved.plans,
      isNew,
      before: lineEvents(before, line),
      after: events,
      latest,
      told: before,
    });
    done.push(...one.done);
    reason ??= one.reason;
    settled.push({ license, plans: resolved.plans, standing: one.standing });
  }
  const more = settleCount(draft, line, settled, latest);
  if (more === 'issued') done.push('issued');
  else if (more === 'reduced') reason = 'reduced';
  else if (more !== undefined) {
    waits ??= more;
    for (const { identity } of events.filter(isUpgrade)) waitingUpgrades.add(identity);
  }
  if (latest !== undefined && waitingUpgrades.has(latest.identity) && waits !== undefined)
    return { outcome: { action: 'waiting', reason: waits.waitsFor }, waits, waitingUpgrades };
  return { outcome: outcomeOf(latest, chosenAction(done, latest?.event), reason), waits, waitingUpgrades };
}

interface Settled extends Pick<SettledLicense, 'standing'> {
  license: LicenseFacts;
  plans: Plans;
}

/** Issues or renews the licences of a line without licences. @returns the reason if it remains without; otherwise undefined */
function beginLine(
  draft: Draft,
  line: OrderLine,
  events: LineEvent[],
  told: ReadEvent[],
): Waits | { reason: string | undefined } | undefined {
  const renews = line.renewsJson !== null;
  const problem = problemOf(draft, line, told);
  const sold = problem ?? (renews ? undefined : soldLine(draft, line));
  const { state, by } = foldLine(events, meaningsAhead(draft, renews, sold, events));
  if (state !== 'active') return { reason: by };
  if (draft.order.isTest && draft.shop.testPlanId === null) return { reason: 'test' };
  if (problem !== undefined) return problem;
  if (sold === undefined) return adoptRenewed(draft, line);
  return 'reason' in sold || isWaiting(sold) ? sold : issueLine(draft, line, events, sold);
}

/** Returns the problem of a line that cannot be read, from its first event. A later payment may have named its article. */
function problemOf(
  draft: Draft,
  { line, renewsJson }: OrderLine,
  told: ReadEvent[],
): Waits | { reason: string } | undefined {
  if (draft.order.isTest || renewsJson !== null) return undefined;
  const brought = firstUnreadablePayment(told, line);
  const problem = brought && itemOf(brought, line)?.problem;
  if (brought === undefined || problem === undefined) return undefined;
  const isLeft = isResolved(draft, problemDigest(draft, brought.identity, line));
  return isLeft ? { reason: 'left' } : { waitsFor: problem, awaited: null };
}

/** Returns the first payment of a line that cannot be read; undefined if another payment names its article. */
export function firstUnreadablePayment(told: ReadEvent[], line: string): ReadEvent | undefined {
  const paid = told.filter((event) => event.event === 'paid' && itemOf(event, line) !== undefined);
  return paid.every((event) => itemOf(event, line)?.problem !== undefined) ? paid[0] : undefined;
}

/** Returns the plans that a line is sold as, or the data that it waits for. */
function soldLine(draft: Draft, line: OrderLine): Required<Sold>[] | Waits {
  const { order, shop } = draft;
  return order.isTest && shop.testPlanId !== null
    ? [{ plan: shop.testPlanId, slots: 1, count: Math.min(line.quantity, MAX_QUANTITY) }]
    : soldAs(draft, line);
}

/** Returns the terms of a line before it has licences. Its upgrades are resolved later. */
function meaningsAhead(
  draft: Draft,
  renews: boolean,
  sold: object | undefined,
  events: LineEvent[],
): Meanings {
  const [first] = Array.isArray(sold) ? (sold as Sold[]) : [];
  const plan = first && planOf(draft, first.plan);
  const base = { duration: plan?.duration ?? null, count: 1 };
  const upgrades = new Map(events.filter(isUpgrade).map(({ identity }) => [identity, base]));
  return { base, upgrades, renews, n: 1 };
}

/** Issues a line's licences on the plans that were sold. Later events are applied afterwards. */
function issueLine(
  draft: Draft,
  line: OrderLine,
  events: LineEvent[],
  sold: Required<Sold>[],
): Waits | undefined {
  const total = sold.reduce((sum, { count }) => sum + count, 0);
  const references = freeReferences(draft, line, total);
  if (references === undefined) return { waitsFor: 'reference_in_use', awaited: null };
  if (sold.some(({ plan }) => planOf(draft, plan) === undefined))
    return { waitsFor: 'no_plan', awaited: null };
  for (const base of sold) {
    const plans: Plans = { base, upgrades: {} };
    const { terms, renewsItself, graceDays } = foldLine(events, meaningsOf(draft, plans, line, 1));
    const end = { ...endWithGrace(endOfTerms(terms), graceDays), renewsItself };
    issueOn(draft, line, { plans, end, references: references.splice(0, base.count) });
  }
  return undefined;
}

/** Issues further licences of a line. */
export function issueMore(
  draft: Draft,
  line: OrderLine,
  count: number,
  like: { plans: Plans; end: RenewableEnd; planId: number; limit: number },
): Waits | undefined {
  const references = freeReferences(draft, line, count);
  if (references === undefined) return { waitsFor: 'reference_in_use', awaited: null };
  if (planOf(draft, like.planId) === undefined) return { waitsFor: 'no_plan', awaited: null };
  issueOn(draft, line, { ...like, references });
  return undefined;
}

/** Returns the references of a line's next licences; undefined if another licence has one of them. */
function freeReferences(
  { facts, shop, order, links }: Draft,
  { id, line }: OrderLine,
  count: number,
): string[] | undefined {
  const issued = links.filter(({ lineId, role }) => lineId === id && role === 'issued').length;
  const references = Array.from({ length: count }, (_, i) =>
    licenseReference(shop.name, order.number, line, issued + 1 + i),
  );
  return references.some((one) => facts.usedReferences.includes(one)) ? undefined : references;
}

function issueOn(
  draft: Draft,
  line: OrderLine,
  given: { plans: Plans; end: RenewableEnd; references: string[]; planId?: number; limit?: number },
): void {
  const { plans, end, references, planId = plans.base.plan } = given;
  const plan = planOf(draft, planId);
  if (plan === undefined) return;
  const { order, facts } = draft;
  const limit = given.limit ?? limitOf(plan, plans.base);
  const licenses = references.map((reference) => ({ id: draft.nextId--, reference }));
  draft.changes.push({ type: 'issue', licenses, planId, limit, end });
  for (const { id, reference } of licenses) {
    draft.issued.push(id);
    draft.licenses.set(id, {
      ...end,
      id,
      reference,
      planId,
      activationLimit: limit,
      status: 'active',
      customer: order.customer,
      issuedBy: order.owner,
      createdAt: facts.now,
      mainKeyId: 0,
      activationsUsed: 0,
      allReturned: false,
      lastCheckAt: null,
      lastCheckIp: null,
      checkCount: 0,
      metadata: null,
      revision: 0,
      isActivated: false,
      isSuspendedByOrder: false,
    });
    addLink(draft, line, { licenseId: id, role: 'issued', state: 'active', baseEndsAt: null, plans });
  }
}

/** Links a line to the licences that it renews. It waits while none is known. */
function adoptRenewed(draft: Draft, line: OrderLine): Waits | { reason: string } | undefined {
  const { facts, order, shop } = draft;
  const { ids, awaited } = facts.renewed[line.renewsJson ?? ''] ?? { ids: [], awaited: null };
  const ownersOf = (id: number) =>
    facts.owners.filter((one) => one.licenseId === id && one.shop === shop.name);
  // A licence of an order of this shop belongs to the shop.
  const isOwn = (id: number) =>
    !order.ownOnly || line.renewsJson?.startsWith('"') === true || ownersOf(id).length > 0;
  const allowed = ids
    .flatMap((id) => draft.licenses.get(id) ?? [])
    .filter(({ id, issuedBy }) => isOwn(id) || issuedBy === order.owner);
  if (allowed.length === 0) return { waitsFor: 'unknown_order', awaited };
  // A test order must not extend what was sold.
  if (order.isTest && !allowed.every(({ id }) => ownersOf(id).some(({ isTest }) => isTest)))
    return { reason: 'test' };
  const sold = soldAs(draft, line);
  const bought = isWaiting(sold) ? [] : sold;
  for (const license of allowed) {
    const { planId: plan, activationLimit: limit } = license;
    const { plan: base, slots } = planForRenewal(draft, bought, license) ?? { plan, slots: 1 };
    addLink(draft, line, {
      licenseId: license.id,
      role: 'renewed',
      state: 'taken_back',
      baseEndsAt: paidUntil(license),
      plans: { base: { plan: base, slots }, had: { plan, limit }, upgrades: {} },
    });
  }
  return undefined;
}

/** Returns the plan that decides the duration of a renewal: the bought one, if it is for the same product. */
function planForRenewal(draft: Draft, bought: Sold[], license: LicenseFacts): Sold | undefined {
  const own = planOf(draft, license.planId);
  return bought.find((sold) => {
    const plan = planOf(draft, sold.plan);
    return plan !== undefined && plan.productId === own?.productId && plan.duration !== null;
  });
}

/**
 * Issues the licences that an upgrade adds to the line.
 * @returns `reduced` if the new event reduces the number; the shop's rules decide about the licences above it
 */
function settleCount(
  draft: Draft,
  line: OrderLine,
  settled: Settled[],
  latest: ReadEvent | undefined,
): 'issued' | 'reduced' | Waits | undefined {
  let did: 'issued' | 'reduced' | undefined;
  for (const one of settled) {
    const { license, plans, standing } = one;
    const isFirst = settled.find((other) => other.plans.base.plan === plans.base.plan) === one;
    const wanted = standing.upgrade && plans.upgrades[standing.upgrade.identity]?.count;
    if (!isFirst || wanted === undefined || standing.state !== 'active') continue;
    const alike = linksOf(draft, line).filter(
      (link) => link.state !== 'cancelled' && link.plans.base.plan === plans.base.plan,
    );
    const isOfLatest = standing.upgrade?.identity === latest?.identity;
    if (alike.length > wanted && isOfLatest && did === undefined) did = 'reduced';
    if (alike.length >= wanted) continue;
    const { planId, activationLimit: limit, expiresAt, graceDays, renewsItself } = license;
    const end = { expiresAt, graceDays, renewsItself };
    const waits = issueMore(draft, line, wanted - alike.length, { planId, limit, plans, end });
    if (waits !== undefined) return waits;
    did = 'issued';
  }
  return did;
}

function outcomeOf(
  latest: ReadEvent | undefined,
  action: LicenseAction,
  reason: string | undefined,
): Outcome {
  const ignored = ignoredReason(latest);
  if (ignored !== undefined) return none(ignored);
  return action === 'none' ? none(reason ?? 'no_change') : { action, reason: reason ?? null };
}

function isUpgrade({ effect }: Pick<LineEvent, 'effect'>): boolean {
  return effect === 'change_plan';
}

/** Chooses the action that the reply names: an event may have done several things, and its own purpose comes first. */
function chosenAction(done: Done[], event: OrderEventName | undefined): LicenseAction {
  const first: Done[] = event === 'renewed' ? ['renewed'] : [];
  if (event === 'chargeback_reversed' || event === 'refund_failed') first.push('issued', 'reinstated');
  const order: Done[] = [
    ...first,
    'issued',
    'cancelled',
    'suspended',
    'plan_changed',
    'renewed',
    'reinstated',
  ];
  return order.find((one) => done.includes(one)) ?? 'none';
}
