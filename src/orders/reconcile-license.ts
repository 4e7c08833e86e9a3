import { planChangeRefusal } from '../licensing/amend';
import { endWithGrace, isTerminalStatus, liveStatus, paidUntil } from '../licensing/core/states';
import type { OrderLine } from '../store/orders/orders';
import { partOf, changeEnd, setLink, lineStateOf, type Draft } from './draft';
import type { LicenseFacts } from './facts';
import {
  holdsOf,
  isAllReturned,
  isInForce,
  licenseEnd,
  renewalOf,
  termsOf,
  type Contribution,
} from './license-state';
import { foldLine, notYet, type LineState } from './line-state';
import { isUnknownRefund, type LicenseAction, type LineEvent, type ReadEvent } from './order-events';
import { endOfTerms, isLater, isSame, movedEnd } from './paid-time';
import { type Link, limitOf, meaningsOf, planOf, type Plans, type Sold } from './sold';

/** Reconciles one licence with new events: plan, end and state. Only what the events change is applied. */

export type Done = Exclude<LicenseAction, 'none' | 'waiting'>;

/** The contribution of one order to a licence, with the plans of its line. */
type PlannedPart = Contribution & { plans: Plans };

export interface SettledLicense {
  done: Done[];
  standing: LineState;
  /** the reason that something was not changed */
  reason: string | undefined;
}

interface Given {
  link: Link;
  line: OrderLine;
  license: LicenseFacts;
  /** the number of the licence within the line */
  n: number;
  was: Plans;
  is: Plans;
  isNew: boolean;
  /** the line's events before the new one */
  before: LineEvent[];
  after: LineEvent[];
  latest: ReadEvent | undefined;
  /** the order's events before the new one */
  told: ReadEvent[];
}

export function reconcileLicense(draft: Draft, given: Given): SettledLicense {
  const { link, line, license, n, was, isNew, latest } = given;
  const { now } = draft.facts;
  let { is } = given;
  const foldAs = (events: LineEvent[], plans: Plans) => foldLine(events, meaningsOf(draft, plans, line, n));
  let after = foldAs(given.after, is);
  const live = liveStatus(license, now);
  if (isTerminalStatus(live)) return { done: [], standing: after, reason: live };
  const before = isNew ? notYet() : foldAs(given.before, was);
  const others = draft.links
    .filter(({ licenseId, id }) => licenseId === license.id && id !== link.id)
    .map((one): PlannedPart => withPlans(partOf(one, lineStateOf(draft, one, given.told)), one.plans));
  const partsWith = (standing: LineState, plans: Plans): PlannedPart[] =>
    [...others, withPlans(partOf(link, standing), plans)].sort((a, b) => a.id - b.id);
  const partsWere = partsWith(before, was);
  let parts = partsWith(after, is);
  const done: Done[] = [];
  let reason: string | undefined;
  const plan = chosenPlan(parts);
  if (plan.key !== chosenPlan(partsWere).key) {
    reason = moveToPlan(draft, license, plan);
    if (reason === undefined) done.push('plan_changed');
    else if (plan.of?.part === partOf(link, after).id) {
      is = { ...is, upgrades: { ...is.upgrades, [plan.of.identity]: null } };
      setLink(draft, link, { plans: is });
      after = foldAs(given.after, is);
      parts = partsWith(after, is);
    }
  }
  const isIssued = isNew && link.role === 'issued';
  // A cancelled order has no periods, but the end that they gave stays.
  const isCancelled = parts.some(({ role, standing }) => role === 'issued' && standing.state === 'cancelled');
  const paid = paidUntil(license);
  const paidIs = isIssued ? licenseEnd(parts) : isCancelled ? paid : nextEnd(paid, partsWere, parts);
  const isMoved = !isSame(paidIs, paid);
  const move = () => {
    const end = isCancelled ? license : endAfter(license, paidIs, partsWere, parts);
    const { expiresAt, graceDays, renewsItself } = end;
    if (isMoved || !isSame(expiresAt, license.expiresAt) || renewsItself !== license.renewsItself) {
      const isRenewal = after.terms.length > before.terms.length && isLater(paidIs, paid);
      changeEnd(draft, license, { expiresAt, graceDays, renewsItself }, isRenewal);
    }
    if (isMoved) {
      if (!isInForce(partOf(link, after))) reason = 'taken_back';
      else if (!isIssued) done.push('renewed');
    } else if (!isIssued && isMeantToProlong(latest, before, after))
      reason = paidIs === null ? 'lifetime' : 'no_duration';
  };
  // Decide about a suspension before the end moves back.
  const isEarly = live === 'active';
  if (!isEarly) move();
  if (!isIssued) {
    const { did, refused } = moveToState(draft, link, license, { partsWere, parts, after, isMoved });
    if (did !== undefined) done.push(did);
    reason ??= refused;
    // The reversed chargeback of a renewal gives back what the renewal had added.
    const isRestored = before.state !== 'active' && after.state === 'active';
    if (link.role === 'renewed' && latest?.effect === 'reinstate' && isRestored) done.push('reinstated');
  }
  if (isEarly) move();
  const allReturned = isAllReturned(parts);
  if (allReturned !== license.allReturned) {
    license.allReturned = allReturned;
    draft.changes.push({ type: 'set_returned', license: license.id, allReturned });
  }
  if (done.length === 0 && !isIssued) reason ??= whyUnchanged(draft, given, is, after);
  return { done, standing: after, reason };
}

function withPlans(part: Contribution, plans: Plans): PlannedPart {
  return { ...part, plans };
}

interface ChosenPlan {
  key: string;
  sold?: Sold | undefined;
  had?: Plans['had'];
  /** the upgrade that gave the plan */
  of?: { part: number; identity: string };
}

/** Returns the plan of the latest upgrade, or the plan that was sold, or the plan before any order changed the licence. */
function chosenPlan(parts: PlannedPart[]): ChosenPlan {
  let latest: { part: PlannedPart; at: Date; identity: string } | undefined;
  for (const part of parts) {
    const { upgrade } = part.standing;
    if (upgrade && isInForce(part) && (latest === undefined || upgrade.at >= latest.at))
      latest = { part, ...upgrade };
  }
  if (latest !== undefined) {
    const { part, identity } = latest;
    const sold = part.plans.upgrades[identity];
    const of = { part: part.id, identity };
    if (sold) return { key: `${part.id}:${identity}:${sold.plan}:${sold.slots}`, sold, of };
  }
  const issued = parts.find(({ role }) => role === 'issued');
  return { key: 'base', sold: issued?.plans.base, had: issued ? undefined : parts[0]?.plans.had };
}

/** Returns the end to store. While an order renews the licence automatically, the grace period is added to the paid end. */
function endAfter(
  { graceDays, renewsItself }: LicenseFacts,
  paid: Date | null,
  before: Contribution[],
  after: Contribution[],
) {
  const [was, is] = [renewalOf(before), renewalOf(after)];
  const isOther = was.renewsItself !== is.renewsItself;
  // Keep a grace period that was set by hand, unless the events changed it.
  const isGraced =
    isOther || was.graceDays !== is.graceDays || !isSame(licenseEnd(before), licenseEnd(after));
  const end = endWithGrace(paid, isGraced ? is.graceDays : graceDays);
  return { ...end, renewsItself: isOther ? is.renewsItself : renewsItself };
}

/** Returns the paid-through date of the licence after the new events. */
function nextEnd(paid: Date | null, before: Contribution[], after: Contribution[]): Date | null {
  const [from, to] = [licenseEnd(before), licenseEnd(after)];
  const [terms, termsWere] = [termsOf(after), termsOf(before)];
  const last = terms.at(-1);
  const isAppended =
    last !== undefined &&
    terms.length === termsWere.length + 1 &&
    termsWere.every(({ identity, part }, i) => identity === terms[i]?.identity && part === terms[i].part);
  // If the seller moved the end by hand, a new period begins at the present end.
  if (isAppended && !isSame(paid, from)) return endOfTerms([last], paid);
  return movedEnd(paid, from, to);
}

/** Reports whether the new event has the latest period, and so should have extended the licence. */
function isMeantToProlong(latest: ReadEvent | undefined, before: LineState, after: LineState): boolean {
  const last = after.terms.at(-1);
  const isLatest = last !== undefined && last.identity === latest?.identity;
  return isLatest && latest.event !== 'upgraded' && before.terms.length < after.terms.length;
}

/** Moves a licence to a plan. @returns the reason for a refusal */
function moveToPlan(draft: Draft, license: LicenseFacts, { sold, had }: ChosenPlan): string | undefined {
  const id = sold?.plan ?? had?.plan;
  const plan = id === undefined ? undefined : planOf(draft, id);
  if (plan === undefined) return 'no_plan';
  const { activationType } = planOf(draft, license.planId) ?? {};
  const { isActivated } = license;
  const refusal = planChangeRefusal({ activationType, isActivated }, plan);
  if (license.planId !== plan.id) {
    if (refusal !== undefined) return refusal;
    license.planId = plan.id;
    license.activationLimit = plan.activationLimit;
    draft.changes.push({ type: 'change_plan', license: license.id, planId: plan.id, reason: draft.reason });
  }
  const limit = sold === undefined ? (had?.limit ?? plan.activationLimit) : limitOf(plan, sold);
  if (limit !== license.activationLimit) {
    license.activationLimit = limit;
    draft.changes.push({ type: 'set_limit', license: license.id, limit, reason: draft.reason });
  }
  return undefined;
}

/**
 * Suspends, reinstates or cancels a licence if the new events require it. A state that was changed by hand stays if the
 * events make no difference.
 */
function moveToState(
  draft: Draft,
  link: Link,
  license: LicenseFacts,
  given: {
    partsWere: Contribution[];
    parts: Contribution[];
    after: LineState;
    isMoved: boolean;
  },
): { did?: Done; refused?: string } {
  const { partsWere, parts, after, isMoved } = given;
  const live = liveStatus(license, draft.facts.now);
  const change = (type: 'suspend' | 'reinstate' | 'cancel', status: string) => {
    license.status = status;
    draft.changes.push({ type, license: license.id, reason: draft.reason });
  };
  if (link.role === 'issued' && after.state === 'cancelled') {
    change('cancel', 'cancelled');
    setLink(draft, link, { state: 'cancelled' });
    return { did: 'cancelled' };
  }
  if (link.role === 'renewed')
    setLink(draft, link, { state: isInForce(partOf(link, after)) ? 'active' : 'taken_back' });
  const issued = draft.links.find(({ licenseId, role }) => licenseId === license.id && role === 'issued');
  if (issued === undefined) return live === 'suspended' ? { refused: 'suspended' } : {};
  const [was, is] = [holdsOf(partsWere), holdsOf(parts)];
  const hasNew = [...is].some(([event, at]) => was.get(event)?.getTime() !== at.getTime());
  const isHeld = issued.state === 'suspended';
  if (is.size > 0 && (hasNew || (isMoved && !isHeld))) {
    if (live !== 'active' && live !== 'suspended') return { refused: live };
    setLink(draft, issued, { state: 'suspended' });
    if (live === 'suspended') return isHeld ? {} : { refused: 'suspended' };
    change('suspend', 'suspended');
    license.isSuspendedByOrder = true;
    return { did: 'suspended' };
  }
  if (is.size === 0 && isHeld) {
    setLink(draft, issued, { state: 'active' });
    if (live !== 'suspended' || !license.isSuspendedByOrder) return { refused: live };
    change('reinstate', 'active');
    return { did: 'reinstated' };
  }
  return live === 'suspended' && after.state === 'active' ? { refused: 'suspended' } : {};
}

/** Returns the reason that an event changed nothing, although it has an effect. */
function whyUnchanged(
  { order }: Draft,
  { after: events, latest }: Given,
  { upgrades }: Plans,
  { state, by }: LineState,
): string | undefined {
  if (latest === undefined) return undefined;
  if (upgrades[latest.identity] === null) return order.isTest ? 'test' : 'other_activation_type';
  if (isUnknownRefund(latest, events)) return 'unknown_payment';
  if (state === 'active') return latest.effect === 'issue' ? 'issued' : 'older';
  return by;
}
