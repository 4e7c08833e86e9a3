import { changePlan, setLimit } from '../licensing/amend';
import { changeState, setEnd } from '../licensing/lifecycle';
import { OperatorError } from '../licensing/operator-error';
import { isFinal, liveStatus } from '../licensing/states';
import type { Transaction } from '../store/database';
import { findEvents } from '../store/events';
import type { LockedLicense } from '../store/licenses';
import {
  findOrderLicenses,
  listOrderEvents,
  listOrderLines,
  type OrderEvent,
  type OrderLicense,
  setOrderLicense,
} from '../store/orders';
import {
  type DurationOf,
  foldLine,
  holdsOf,
  isLater,
  isSame,
  issuedUntil,
  type LineEvent,
  movedEnd,
  prolonged,
  type Standing,
} from './fold';
import { placeLines } from './same-lines';
import { durations, known, limitOf, planOf, type Plans, type Sold } from './sold';
import { type Change, concerning, type Work } from './work';

/** Brings one licence from what the events said before to what they say now: its plan, its end, its state. */

/** @returns what was changed; `reason`: why something was not */
export async function settleLicense(
  work: Work,
  {
    license,
    stored,
    was,
    is,
    isNew,
  }: { license: OrderLicense; stored: LockedLicense; was: Plans; is: Plans; isNew: boolean },
  events: { before: LineEvent[]; after: LineEvent[]; latest: OrderEvent | undefined },
): Promise<{ changes: Change[]; reason?: string }> {
  const { trx, context } = work;
  const { now } = context;
  const id = stored.id;
  const live = liveStatus(stored, now);
  if (isFinal(live)) return { changes: [], reason: live };
  let after = foldLine(events.after, known(is));
  const before = isNew ? NOT_YET : foldLine(events.before, known(was));
  const changes: Change[] = [];
  let reason: string | undefined;
  if (before.upgrade !== after.upgrade) {
    const sold = (after.upgrade === undefined ? undefined : is.upgrades[after.upgrade]) ?? is.base;
    reason = await moveToPlan(work, stored, sold);
    if (reason === undefined) changes.push('plan_changed');
    else if (after.upgrade !== undefined) {
      is = { ...is, upgrades: { ...is.upgrades, [after.upgrade]: null } };
      await setOrderLicense(trx, license.id, { plansJson: JSON.stringify(is) });
      after = foldLine(events.after, known(is));
    }
  }
  const isIssued = isNew && license.role === 'issued';
  const expiresAt = isIssued
    ? issuedUntil(after.terms, await durations(work, is))
    : license.role === 'issued' && after.state === 'cancelled'
      ? // A cancelled order has no terms; the end that they gave stays.
        stored.expiresAt
      : await nextEnd(work, license, stored, { before, after, was, is });
  const isMoved = !isSame(expiresAt, stored.expiresAt);
  if (isMoved) {
    const isRenewal = after.terms.length > before.terms.length && isLater(expiresAt, stored.expiresAt);
    await setEnd(trx, id, expiresAt, { ...context, isRenewal });
    if (!isGiven(license, after)) reason = 'taken_back';
    else if (!isIssued) changes.push('renewed');
  } else if (!isIssued && isMeantToProlong(events.latest, before, after))
    reason = expiresAt === null ? 'lifetime' : 'no_duration';
  if (!isIssued) {
    const now = { ...stored, expiresAt };
    const { change, refused } = await moveToState(work, license, now, { before, after, isMoved });
    if (change !== undefined) changes.push(change);
    reason ??= refused;
    if (isGivenBack(license, events.latest, before, after)) changes.push('reinstated');
  }
  if (changes.length === 0 && !isIssued) reason ??= whyUnchanged(work, events.latest, is, after);
  return { changes, ...(reason !== undefined && { reason }) };
}

/** What the events of a line say before it has run. */
const NOT_YET: Standing = {
  ...{ state: 'none', by: undefined, holds: new Map(), paidAt: undefined },
  ...{ terms: [], upgrade: undefined },
};

/** Whether the order's terms are in force: those of a renewal are taken back, those of an issued licence only rest. */
function isGiven({ role }: OrderLicense, { state }: Standing): boolean {
  return role === 'issued' || state === 'active';
}

/** The licence's end once the events say `after` instead of `before`. */
async function nextEnd(
  work: Work,
  license: OrderLicense,
  { expiresAt }: LockedLicense,
  { before, after, was, is }: { before: Standing; after: Standing; was: Plans; is: Plans },
): Promise<Date | null> {
  const end = (standing: Standing, durationOf: DurationOf) =>
    license.role === 'issued'
      ? issuedUntil(standing.terms, durationOf)
      : isGiven(license, standing)
        ? prolonged(license.baseEndsAt, standing.terms, durationOf)
        : license.baseEndsAt;
  const [durationsWere, durationsAre] = [await durations(work, was), await durations(work, is)];
  const [from, to] = [end(before, durationsWere), end(after, durationsAre)];
  const last = after.terms.at(-1);
  const isAppended =
    last !== undefined &&
    isGiven(license, before) &&
    isGiven(license, after) &&
    after.terms.length === before.terms.length + 1 &&
    before.terms.every(({ identity }, i) => identity === after.terms[i]?.identity);
  // Somebody moved the end by hand: a new term counts from where it is now.
  if (isAppended && !isSame(expiresAt, from)) return prolonged(expiresAt, [last], durationsAre);
  return movedEnd(expiresAt, from, to);
}

/** Whether the new event's term is the latest, which should have moved the end. */
function isMeantToProlong(latest: OrderEvent | undefined, before: Standing, after: Standing): boolean {
  const last = after.terms.at(-1);
  const isLatest = last !== undefined && last.identity === latest?.identity;
  return isLatest && latest.event !== 'upgraded' && before.terms.length < after.terms.length;
}

/** @returns why it was refused */
async function moveToPlan(work: Work, stored: LockedLicense, sold: Sold): Promise<string | undefined> {
  const { trx, context } = work;
  const plan = await planOf(work, sold.plan);
  if (plan === undefined) return 'no_plan';
  try {
    if (stored.planId !== plan.id) await changePlan(trx, stored.id, plan.id, context);
    const limit = limitOf(plan, sold);
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
  before: Standing,
  after: Standing,
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
  { before, after, isMoved }: { before: Standing; after: Standing; isMoved: boolean },
): Promise<{ change?: Change; refused?: string }> {
  const licenseId = stored.id;
  const live = liveStatus(stored, context.now);
  if (license.role === 'issued' && after.state === 'cancelled') {
    await changeState(trx, licenseId, 'cancel', context);
    await setOrderLicense(trx, license.id, { state: 'cancelled' });
    return { change: 'cancelled' };
  }
  if (license.role === 'renewed') {
    const state = after.state === 'active' ? 'active' : 'taken_back';
    await setOrderLicense(trx, license.id, { state });
  }
  // Read under the licence's lock: its other orders may have changed them since this one's lock.
  const all: { row: OrderLicense; standing: Standing | undefined }[] = [];
  for (const row of await findOrderLicenses(trx, licenseId))
    all.push({ row, standing: row.id === license.id ? undefined : await standingOf(trx, row) });
  const issued = all.find(({ row }) => row.role === 'issued');
  if (issued === undefined) return live === 'suspended' ? { refused: 'suspended' } : {};
  const holds = (own: Standing) =>
    holdsOf(
      issued.standing ?? own,
      all.filter(({ row }) => row.role === 'renewed').map(({ standing }) => standing ?? own),
    );
  const [was, is] = [holds(before), holds(after)];
  const hasNew = [...is].some(([event, at]) => was.get(event)?.getTime() !== at.getTime());
  const isHeld = issued.row.state === 'suspended';
  const setHeld = (held: boolean) =>
    setOrderLicense(trx, issued.row.id, { state: held ? 'suspended' : 'active' });
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

/** What another order's events say of its line that issued or renewed a licence. */
async function standingOf(trx: Transaction, { orderId, lineId, plansJson }: OrderLicense): Promise<Standing> {
  const lines = await listOrderLines(trx, [orderId]);
  const line = lines.find(({ id }) => id === lineId);
  if (line === undefined) return NOT_YET;
  const events = placeLines(await listOrderEvents(trx, orderId), lines).flatMap((event) =>
    concerning(event, line),
  );
  return foldLine(events, known(JSON.parse(plansJson) as Plans));
}

/** Whether an order suspended the licence last; a seller's own suspension is the seller's to lift. */
async function isSuspendedByOrder(trx: Transaction, licenseId: number): Promise<boolean> {
  const [latest] = await findEvents(trx, ['suspend', 'reinstate'], { licenseId }, 1);
  return latest?.action === 'suspend' && latest.after?.order !== undefined;
}

/** Why an event that has an effect changed nothing. */
function whyUnchanged(
  { order }: Work,
  latest: OrderEvent | undefined,
  { upgrades }: Plans,
  { state, by }: Standing,
): string | undefined {
  if (latest === undefined) return undefined;
  if (upgrades[latest.identity] === null) return order.isTest ? 'test' : 'other_product';
  if (state === 'active') return latest.effect === 'issue' ? 'issued' : 'older';
  return by;
}
