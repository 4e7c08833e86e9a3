import { changePlan, setLimit } from '../licensing/amend';
import { changeState, setEnd } from '../licensing/lifecycle';
import { OperatorError } from '../licensing/operator-error';
import { endWithGrace, isFinal, liveStatus, paidEnd } from '../licensing/core/states';
import type { Transaction } from '../store/engine/database';
import { findEvents } from '../store/events';
import type { LockedLicense } from '../store/licenses/licenses';
import {
  findOrderLicenses,
  type OrderEvent,
  type OrderLicense,
  type OrderLine,
  setOrderLicense,
} from '../store/orders/orders';
import {
  endOf,
  foldLine,
  holdsOf,
  isGiven,
  isLater,
  isSame,
  licenseEnd,
  type LineEvent,
  movedEnd,
  type Part,
  type LineFold,
  renewalOf,
  termsOf,
} from './fold';
import { NOT_YET, partOf, standingOf } from './line-standing';
import { limitOf, meaningsOf, planOf, type Plans, type Sold } from './sold';
import { type Change, isUnknownRefund, type Work } from './work';

/** Brings one licence from what the events said before to what they say now: its plan, its end, its state. */

/** What one order says of a licence, and what its line means. */
type PlannedPart = Part & { plans: Plans };

/** @returns what was changed; `reason`: why something was not */
export async function settleLicense(
  work: Work,
  {
    license,
    line,
    n,
    stored,
    was,
    is,
    isNew,
  }: {
    license: OrderLicense;
    line: OrderLine;
    /** which of the line's licences it is */
    n: number;
    stored: LockedLicense;
    was: Plans;
    is: Plans;
    isNew: boolean;
  },
  events: { before: LineEvent[]; after: LineEvent[]; latest: OrderEvent | undefined },
): Promise<{ changes: Change[]; standing: LineFold; reason?: string }> {
  const { trx, context } = work;
  const { now } = context;
  const id = stored.id;
  const live = liveStatus(stored, now);
  let after = foldLine(events.after, await meaningsOf(work, is, line, n));
  if (isFinal(live)) return { changes: [], standing: after, reason: live };
  const before = isNew ? NOT_YET : foldLine(events.before, await meaningsOf(work, was, line, n));
  // Read under the licence's lock: its other orders may have changed them since this one's lock.
  const others = await otherParts(work, license);
  const partsWith = (standing: LineFold, plans: Plans): PlannedPart[] =>
    [...others, { ...partOf(license, standing), plans }].sort((a, b) => a.id - b.id);
  const partsWere = partsWith(before, was);
  let parts = partsWith(after, is);
  const changes: Change[] = [];
  let reason: string | undefined;
  const [planWas, planIs] = [chosenPlan(partsWere), chosenPlan(parts)];
  if (planWas.key !== planIs.key) {
    reason = await moveToPlan(work, stored, planIs);
    if (reason === undefined) changes.push('plan_changed');
    else if (planIs.of?.id === license.id) {
      is = { ...is, upgrades: { ...is.upgrades, [planIs.of.identity]: null } };
      await setOrderLicense(trx, license.id, { plansJson: JSON.stringify(is) });
      after = foldLine(events.after, await meaningsOf(work, is, line, n));
      parts = partsWith(after, is);
    }
  }
  const isIssued = isNew && license.role === 'issued';
  // A cancelled order has no terms; the end that they gave stays.
  const isCancelled = parts.some(({ role, standing }) => role === 'issued' && standing.state === 'cancelled');
  const paid = paidEnd(stored);
  const paidIs = isIssued ? licenseEnd(parts) : isCancelled ? paid : nextEnd(paid, partsWere, parts);
  const isMoved = !isSame(paidIs, paid);
  const { expiresAt, graceDays, renewsItself } = stored;
  const end = isCancelled
    ? { expiresAt, graceDays, renewsItself }
    : endAfter(stored, paidIs, partsWere, parts);
  const isOther = !isSame(end.expiresAt, stored.expiresAt) || end.renewsItself !== stored.renewsItself;
  const move = async () => {
    if (isMoved || isOther) {
      const isRenewal = after.terms.length > before.terms.length && isLater(paidIs, paid);
      await setEnd(trx, id, end, { ...context, isRenewal });
    }
    if (isMoved) {
      if (!isGiven(partOf(license, after))) reason = 'taken_back';
      else if (!isIssued) changes.push('renewed');
    } else if (!isIssued && isMeantToProlong(events.latest, before, after))
      reason = paidIs === null ? 'lifetime' : 'no_duration';
  };
  // What is to be suspended is judged before its end moves back.
  const isEarly = live === 'active';
  if (!isEarly) await move();
  if (!isIssued) {
    const judged = isEarly ? stored : { ...stored, ...end };
    const { change, refused } = await moveToState(work, license, judged, {
      partsWere,
      parts,
      after,
      isMoved,
    });
    if (change !== undefined) changes.push(change);
    reason ??= refused;
    if (isGivenBack(license, events.latest, before, after)) changes.push('reinstated');
  }
  if (isEarly) await move();
  if (changes.length === 0 && !isIssued) reason ??= whyUnchanged(work, events, is, after);
  return { changes, standing: after, ...(reason !== undefined && { reason }) };
}

/** What the licence's other orders say of it. */
async function otherParts(work: Work, license: OrderLicense): Promise<PlannedPart[]> {
  const parts: PlannedPart[] = [];
  for (const row of await findOrderLicenses(work.trx, license.licenseId))
    if (row.id !== license.id)
      parts.push({
        ...partOf(row, await standingOf(work, row)),
        plans: JSON.parse(row.plansJson) as Plans,
      });
  return parts;
}

/** The plan that the latest upgrade gives, else that which the licence was sold on, or had before orders changed it. */
function chosenPlan(parts: PlannedPart[]): {
  key: string;
  sold?: Sold;
  had?: { plan: number; limit: number };
  of?: { id: number; identity: string };
} {
  let latest: { part: PlannedPart; at: Date; identity: string } | undefined;
  for (const part of parts) {
    const { upgrade } = part.standing;
    if (upgrade && isGiven(part) && (latest === undefined || upgrade.at >= latest.at))
      latest = { part, ...upgrade };
  }
  if (latest !== undefined) {
    const { part, identity } = latest;
    const sold = part.plans.upgrades[identity];
    const of = { id: part.id, identity };
    if (sold) return { key: `${part.id}:${identity}:${sold.plan}:${sold.slots}`, sold, of };
  }
  const issued = parts.find(({ role }) => role === 'issued');
  if (issued !== undefined) return { key: 'base', sold: issued.plans.base };
  return { key: 'base', ...(parts[0]?.plans.had && { had: parts[0].plans.had }) };
}

/** The end to store: the grace is added to what is paid, while an order renews the licence by itself. */
function endAfter(
  { graceDays, renewsItself }: LockedLicense,
  paid: Date | null,
  before: Part[],
  after: Part[],
) {
  const [was, is] = [renewalOf(before), renewalOf(after)];
  const isOther = was.renewsItself !== is.renewsItself;
  // Without a difference, what was set by hand stays.
  const isGraced =
    isOther || was.graceDays !== is.graceDays || !isSame(licenseEnd(before), licenseEnd(after));
  return {
    ...endWithGrace(paid, isGraced ? is.graceDays : graceDays),
    renewsItself: isOther ? is.renewsItself : renewsItself,
  };
}

/** The licence's paid end once the events say what `after` says. */
function nextEnd(expiresAt: Date | null, before: Part[], after: Part[]): Date | null {
  const [from, to] = [licenseEnd(before), licenseEnd(after)];
  const [terms, termsWere] = [termsOf(after), termsOf(before)];
  const last = terms.at(-1);
  const isAppended =
    last !== undefined &&
    terms.length === termsWere.length + 1 &&
    termsWere.every(({ identity, part }, i) => identity === terms[i]?.identity && part === terms[i].part);
  // Somebody moved the end by hand: a new term counts from where it is now.
  if (isAppended && !isSame(expiresAt, from)) return endOf([last], expiresAt);
  return movedEnd(expiresAt, from, to);
}

/** Whether the new event's term is the latest, which should have moved the end. */
function isMeantToProlong(latest: OrderEvent | undefined, before: LineFold, after: LineFold): boolean {
  const last = after.terms.at(-1);
  const isLatest = last !== undefined && last.identity === latest?.identity;
  return isLatest && latest.event !== 'upgraded' && before.terms.length < after.terms.length;
}

/** @returns why it was refused */
async function moveToPlan(
  work: Work,
  stored: LockedLicense,
  { sold, had }: { sold?: Sold; had?: { plan: number; limit: number } },
): Promise<string | undefined> {
  const { trx, context } = work;
  const id = sold?.plan ?? had?.plan;
  const plan = id === undefined ? undefined : await planOf(work, id);
  if (plan === undefined) return 'no_plan';
  try {
    if (stored.planId !== plan.id)
      await changePlan(trx, stored.id, plan.id, { ...context, otherProduct: true });
    const limit = sold === undefined ? (had?.limit ?? plan.activationLimit) : limitOf(plan, sold);
    const has = stored.planId === plan.id ? stored.activationLimit : plan.activationLimit;
    if (limit !== has) await setLimit(trx, stored.id, limit, context);
    return undefined;
  } catch (error) {
    if (error instanceof OperatorError && error.code === 'CONFLICT') return 'other_activation_type';
    throw error;
  }
}

/** Whether a charge-back of a renewal was reversed, which gives back what the renewal had added. */
function isGivenBack(
  { role }: OrderLicense,
  latest: OrderEvent | undefined,
  before: LineFold,
  after: LineFold,
): boolean {
  const isRestored = before.state !== 'active' && after.state === 'active';
  return role === 'renewed' && latest?.effect === 'reinstate' && isRestored;
}

/**
 * Suspends, reinstates or cancels what the events want otherwise than before. Without a difference, a state that was
 * changed by hand stays.
 */
async function moveToState(
  { trx, context }: Work,
  license: OrderLicense,
  stored: LockedLicense,
  {
    partsWere,
    parts,
    after,
    isMoved,
  }: { partsWere: PlannedPart[]; parts: PlannedPart[]; after: LineFold; isMoved: boolean },
): Promise<{ change?: Change; refused?: string }> {
  const licenseId = stored.id;
  const live = liveStatus(stored, context.now);
  if (license.role === 'issued' && after.state === 'cancelled') {
    await changeState(trx, licenseId, 'cancel', context);
    await setOrderLicense(trx, license.id, { state: 'cancelled' });
    return { change: 'cancelled' };
  }
  if (license.role === 'renewed')
    await setOrderLicense(trx, license.id, {
      state: isGiven(partOf(license, after)) ? 'active' : 'taken_back',
    });
  const rows = await findOrderLicenses(trx, licenseId);
  const issued = rows.find(({ role }) => role === 'issued');
  if (issued === undefined) return live === 'suspended' ? { refused: 'suspended' } : {};
  const [was, is] = [holdsOf(partsWere), holdsOf(parts)];
  const hasNew = [...is].some(([event, at]) => was.get(event)?.getTime() !== at.getTime());
  const isHeld = issued.state === 'suspended';
  const setHeld = (held: boolean) =>
    setOrderLicense(trx, issued.id, { state: held ? 'suspended' : 'active' });
  if (is.size > 0 && (hasNew || (isMoved && !isHeld))) {
    if (live === 'suspended') {
      if (!isHeld) await setHeld(true);
      return isHeld ? {} : { refused: 'suspended' };
    }
    if (live !== 'active') return { refused: live };
    await changeState(trx, licenseId, 'suspend', context);
    await setHeld(true);
    return { change: 'suspended' };
  }
  if (is.size === 0 && isHeld) {
    await setHeld(false);
    if (live !== 'suspended' || !(await isSuspendedByOrder(trx, licenseId))) return { refused: live };
    await changeState(trx, licenseId, 'reinstate', context);
    return { change: 'reinstated' };
  }
  return live === 'suspended' && after.state === 'active' ? { refused: 'suspended' } : {};
}

/** Whether an order suspended the licence last; a seller's own suspension is the seller's to lift. */
async function isSuspendedByOrder(trx: Transaction, licenseId: number): Promise<boolean> {
  const [latest] = await findEvents(trx, ['suspend', 'reinstate'], { licenseId, isWhole: true }, 1);
  return latest?.action === 'suspend' && latest.after?.order !== undefined;
}

/** Why an event that has an effect changed nothing. */
function whyUnchanged(
  { order }: Work,
  { after, latest }: { after: LineEvent[]; latest: OrderEvent | undefined },
  { upgrades }: Plans,
  { state, by }: LineFold,
): string | undefined {
  if (latest === undefined) return undefined;
  if (upgrades[latest.identity] === null) return order.isTest ? 'test' : 'other_activation_type';
  if (isUnknownRefund(latest, after)) return 'unknown_payment';
  if (state === 'active') return latest.effect === 'issue' ? 'issued' : 'older';
  return by;
}
