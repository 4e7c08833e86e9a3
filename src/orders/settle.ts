import { changePlan, setLimit } from '../licensing/amend';
import { issueOrdered } from '../licensing/issue';
import { changeState, setEnd, type ChangeContext } from '../licensing/lifecycle';
import { OperatorError } from '../licensing/operator-error';
import { isFinal, liveStatus } from '../licensing/states';
import { findPlan, type Plan } from '../store/catalogue';
import { MAX_UINT32 } from '../store/columns';
import type { Transaction } from '../store/database';
import { findEvents } from '../store/events';
import { findUsedReferences, lockLicenses, type LockedLicense } from '../store/licenses';
import {
  findOrderLicenses,
  findOrdersByDigest,
  findOrdersOfLicenses,
  insertOrderLicenses,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  setOrderLicense,
  type Order,
  type OrderEvent,
  type OrderLicense,
  type OrderLine,
} from '../store/orders';
import { findSkus, type Shop } from '../store/shops';
import {
  foldLine,
  holdsOf,
  isLater,
  isSame,
  issuedUntil,
  movedEnd,
  prolonged,
  type DurationOf,
  type Effect,
  type LineEvent,
  type OrderEventName,
  type Standing,
} from './fold';
import { licenseReference, namedOrders, orderDigest, skuDigest } from './names';

/**
 * Brings a line's licences from what the events said before to what they say now. Only the difference that new events
 * make is applied, so what a seller changed by hand in between stays.
 */

export type Action =
  'issued' | 'renewed' | 'plan_changed' | 'suspended' | 'reinstated' | 'cancelled' | 'none' | 'waiting';

export interface Outcome {
  action: Action;
  /** why nothing was done, or why it waits */
  reason: string | null;
}

/** An event's line as it came, as it is stored. */
export interface StoredLine {
  line: string;
  plan_id?: number;
  sku?: string;
  quantity?: number;
  paid_until?: string;
  renews?: string | number;
}

/** An order under its lock, in its transaction. */
export interface Work {
  trx: Transaction;
  order: Order;
  shop: Shop;
  lines: OrderLine[];
  licenses: OrderLicense[];
  /** how many there were at first */
  had: number;
  context: ChangeContext;
  /** seals keys */
  secret: Buffer | undefined;
  /** of licences issued just now */
  keys: Map<number, string>;
  plans: Map<number, Plan>;
}

/** A plan, and how often its limit counts. */
interface Sold {
  plan: number;
  slots: number;
}

/** `OrderLicense.plansJson` */
interface Plans {
  base: Sold;
  /** null: the upgrade is impossible for this licence */
  upgrades: Record<string, Sold | null>;
}

interface Waits {
  waitsFor: string;
  awaited: string | null;
}

const isWaiting = (found: object): found is Waits => 'waitsFor' in found;

interface Settled {
  /** of the new event */
  outcome: Outcome;
  waits: Waits | undefined;
  /** upgrades that wait */
  waitingUpgrades: Set<string>;
}

/**
 * @param prior the events before, @param latest the new one, if there is one
 * @returns what the new event did to the line, and what the line waits for
 */
export async function settleLine(
  work: Work,
  line: OrderLine,
  prior: OrderEvent[],
  latest: OrderEvent | undefined,
): Promise<Settled> {
  const before = prior.flatMap((event) => concerning(event, line));
  const after = latest === undefined ? before : [...before, ...concerning(latest, line)];
  let licenses = work.licenses.filter(({ lineId }) => lineId === line.id);
  const nothing = (outcome: Outcome): Settled => ({ outcome, waits: undefined, waitingUpgrades: new Set() });
  const changes: Change[] = [];
  let isNew = false;
  if (licenses.length === 0) {
    const { state, by } = foldLine(after, new Set());
    if (state !== 'active') return nothing(none(whyIgnored(latest) ?? by ?? 'not_paid'));
    if (work.order.isTest && work.shop.testPlanId === null) return nothing(none('test'));
    const made = await (line.renewsJson === null ? issueLine(work, line, after) : adoptRenewed(work, line));
    if ('action' in made) return nothing(made);
    if (isWaiting(made))
      return {
        outcome: outcomeOf(latest, 'waiting', made.waitsFor),
        waits: made,
        waitingUpgrades: new Set(after.filter(isUpgrade).map(({ identity }) => identity)),
      };
    if (line.renewsJson === null) changes.push('issued');
    isNew = true;
    licenses = work.licenses.filter(({ lineId }) => lineId === line.id);
  }
  const waitingUpgrades = new Set<string>();
  let waits: Waits | undefined;
  let reason: string | undefined;
  const locked = await lockLicenses(
    work.trx,
    licenses.map(({ licenseId }) => licenseId),
  );
  for (const license of licenses) {
    const stored = locked.get(license.licenseId);
    // Only a row that was deleted by hand is missing.
    if (stored === undefined) continue;
    const plans = JSON.parse(license.plansJson) as Plans;
    const resolved = await resolveUpgrades(
      work,
      license,
      plans,
      [...prior, ...(latest ? [latest] : [])],
      line,
    );
    for (const [identity, wait] of resolved.waiting) {
      waitingUpgrades.add(identity);
      waits ??= wait;
    }
    const change = await settleLicense(
      work,
      { license, stored, was: plans, is: resolved.plans, isNew },
      { before, after, latest },
    );
    changes.push(...change.changes);
    reason ??= change.reason;
  }
  if (latest !== undefined && waitingUpgrades.has(latest.identity) && waits !== undefined)
    return { outcome: { action: 'waiting', reason: waits.waitsFor }, waits, waitingUpgrades };
  const action = chosenAction(changes, latest?.event as OrderEventName | undefined);
  return { outcome: outcomeOf(latest, action, reason), waits, waitingUpgrades };
}

function outcomeOf(latest: OrderEvent | undefined, action: Action, reason: string | undefined): Outcome {
  const ignored = whyIgnored(latest);
  if (ignored !== undefined) return none(ignored);
  return action === 'none' ? none(reason ?? 'no_change') : { action, reason: reason ?? null };
}

function none(reason: string): Outcome {
  return { action: 'none', reason };
}

/** Why an event has no effect at all. */
export function whyIgnored(event: OrderEvent | undefined): string | undefined {
  if (event?.effect !== 'none') return undefined;
  return event.partial ? 'partial' : event.isTest ? 'test' : 'rule';
}

/** An event as it concerns a line; nothing when it names other lines. */
export function concerning(
  { event, identity, at, effect, linesJson }: OrderEvent,
  { line }: Pick<OrderLine, 'line'>,
): LineEvent[] {
  const named = linesJson === null ? undefined : (JSON.parse(linesJson) as StoredLine[]);
  const own = named?.find((one) => one.line === line);
  if (named !== undefined && own === undefined) return [];
  const paidUntil = own?.paid_until === undefined ? null : new Date(own.paid_until);
  return [{ event: event as OrderEventName, identity, at, effect: effect as Effect, paidUntil }];
}

function isUpgrade({ effect }: Pick<LineEvent, 'effect'>): boolean {
  return effect === 'change_plan';
}

type Change = Exclude<Action, 'none' | 'waiting'>;

/** An event may change several things; the answer names the one it was sent for. */
function chosenAction(changes: Change[], event: OrderEventName | undefined): Action {
  const first: Change[] = event === 'renewed' ? ['renewed'] : [];
  if (event === 'chargeback_reversed') first.push('issued', 'reinstated');
  const order: Change[] = [
    ...first,
    'issued',
    'cancelled',
    'suspended',
    'plan_changed',
    'renewed',
    'reinstated',
  ];
  return order.find((change) => changes.includes(change)) ?? 'none';
}

/** The plans that an article, or a plan's id, means; undefined: it is not mapped. */
async function soldAs(
  work: Work,
  { planId, sku, quantity }: { planId: number | null; sku: string | null; quantity: number },
): Promise<{ sold: Sold; count: number }[] | undefined> {
  if (planId !== null) return [{ sold: { plan: planId, slots: 1 }, count: quantity }];
  if (sku === null) return undefined;
  const entries = await findSkus(work.trx, [skuDigest(work.shop.name, sku)]);
  if (entries.length === 0) return undefined;
  return entries.map((entry) =>
    entry.quantity === 'slots'
      ? { sold: { plan: entry.planId, slots: quantity }, count: 1 }
      : { sold: { plan: entry.planId, slots: 1 }, count: quantity },
  );
}

async function planOf(work: Work, id: number): Promise<Plan | undefined> {
  const known = work.plans.get(id) ?? (await findPlan(work.trx, id));
  if (known !== undefined) work.plans.set(id, known);
  return known;
}

function limitOf(plan: Plan, { slots }: Sold): number {
  return Math.min(plan.activationLimit * slots, MAX_UINT32);
}

/** Issues a line's licences on what it was sold as; what has happened to them since follows. */
async function issueLine(
  work: Work,
  line: OrderLine,
  events: LineEvent[],
): Promise<Waits | { issued: true }> {
  const { trx, order, shop, context } = work;
  const sold =
    order.isTest && shop.testPlanId !== null
      ? [{ sold: { plan: shop.testPlanId, slots: 1 }, count: line.quantity }]
      : await soldAs(work, line);
  if (sold === undefined) return { waitsFor: 'not_mapped', awaited: skuDigest(shop.name, line.sku ?? '') };
  const references: string[] = [];
  const total = sold.reduce((sum, { count }) => sum + count, 0);
  for (let n = 1; n <= total; n++) references.push(licenseReference(shop.name, order.number, line.line, n));
  if ((await findUsedReferences(trx, references)).length > 0)
    return { waitsFor: 'reference_in_use', awaited: null };
  const { terms } = foldLine(events, new Set());
  for (const { sold: one, count } of sold) {
    const plan = await planOf(work, one.plan);
    if (plan === undefined) return { waitsFor: 'no_plan', awaited: null };
    const issued = await issueOrdered(
      trx,
      {
        planId: plan.id,
        references: references.splice(0, count),
        customer: order.customer ?? undefined,
        issuedBy: order.owner ?? undefined,
        expiresAt: issuedUntil(terms, () => plan.duration),
        activationLimit: limitOf(plan, one),
      },
      context.actor,
      work.secret,
      context.now,
    );
    for (const { license, key } of issued) if (key !== undefined) work.keys.set(license.id, key);
    await addLicenses(
      work,
      line,
      issued.map(({ license }) => ({ licenseId: license.id, base: one, baseEndsAt: null })),
      'issued',
    );
  }
  return { issued: true };
}

async function addLicenses(
  work: Work,
  line: OrderLine,
  added: { licenseId: number; base: Sold; baseEndsAt: Date | null }[],
  role: OrderLicense['role'],
): Promise<void> {
  const { trx, order } = work;
  await insertOrderLicenses(
    trx,
    added.map(({ licenseId, base, baseEndsAt }) => ({
      ...{ orderId: order.id, lineId: line.id, licenseId, role, baseEndsAt },
      state: role === 'issued' ? ('active' as const) : ('taken_back' as const),
      plansJson: JSON.stringify({ base, upgrades: {} } satisfies Plans),
    })),
  );
  work.licenses = await listOrderLicenses(trx, [order.id]);
}

/** The licences that a line renews; waits while there are none. */
async function adoptRenewed(work: Work, line: OrderLine): Promise<Waits | Outcome | { found: true }> {
  const { trx, order, shop } = work;
  const renews = JSON.parse(line.renewsJson ?? 'null') as string | number;
  const named = await findRenewed(work, renews);
  if (named.ids.length === 0) return { waitsFor: 'unknown_order', awaited: named.awaited };
  const locked = [...(await lockLicenses(trx, named.ids)).values()];
  const allowed = locked.filter(({ issuedBy }) => !order.ownOnly || issuedBy === order.owner);
  if (allowed.length === 0) return { waitsFor: 'unknown_order', awaited: named.awaited };
  // A test must not prolong what was sold.
  if (order.isTest) {
    const orders = await findOrdersOfLicenses(
      trx,
      allowed.map(({ id }) => id),
    );
    const ofTests = new Set(
      orders.filter((one) => one.isTest && one.shop === shop.name).map((one) => one.licenseId),
    );
    if (!allowed.every(({ id }) => ofTests.has(id))) return none('test');
  }
  const bought = (await soldAs(work, line)) ?? [];
  const added = [];
  for (const license of allowed) {
    const base = (await planForRenewal(work, bought, license)) ?? { plan: license.planId, slots: 1 };
    added.push({ licenseId: license.id, base, baseEndsAt: license.expiresAt });
  }
  await addLicenses(work, line, added, 'renewed');
  return { found: true };
}

/** What was bought anew says how long, where it is a plan of the same product. */
async function planForRenewal(
  work: Work,
  bought: { sold: Sold }[],
  license: LockedLicense,
): Promise<Sold | undefined> {
  const own = await planOf(work, license.planId);
  for (const { sold } of bought) {
    const plan = await planOf(work, sold.plan);
    if (plan !== undefined && plan.productId === own?.productId && plan.duration !== null) return sold;
  }
  return undefined;
}

/** The licences that a line says it renews, and the digest of the order to wait for when there are none. */
export async function findRenewed(
  { trx, shop, order }: Pick<Work, 'trx' | 'shop'> & { order: Pick<Order, 'id'> | undefined },
  renews: string | number,
): Promise<{ ids: number[]; awaited: string | null; owners: (string | null)[] }> {
  if (typeof renews === 'number') {
    const [license] = (await lockLicenses(trx, [renews])).values();
    return license === undefined
      ? { ids: [], awaited: null, owners: [] }
      : { ids: [license.id], awaited: null, owners: [license.issuedBy] };
  }
  const named = namedOrders(renews);
  const digests = named.map((one) => orderDigest(shop.name, one.order));
  const orders = await findOrdersByDigest(trx, digests);
  for (const [i, { line: wanted }] of named.entries()) {
    const earlier = orders.find(({ digest }) => digest === digests[i]);
    if (earlier === undefined || earlier.id === order?.id) continue;
    const lines = (await listOrderLines(trx, [earlier.id])).filter(
      ({ line }) => wanted === undefined || line === wanted,
    );
    if (lines.length === 0) continue;
    const of = new Set(lines.map(({ id }) => id));
    const licenses = await listOrderLicenses(trx, [earlier.id]);
    const ids = licenses.filter(({ lineId }) => of.has(lineId)).map(({ licenseId }) => licenseId);
    return { ids: [...new Set(ids)], awaited: earlier.digest, owners: [earlier.owner] };
  }
  return { ids: [], awaited: digests[0] ?? null, owners: orders.map(({ owner }) => owner) };
}

/** What the order's upgrades mean for a licence; those known before stay what they were. */
async function resolveUpgrades(
  work: Work,
  license: OrderLicense,
  plans: Plans,
  events: OrderEvent[],
  line: OrderLine,
): Promise<{ plans: Plans; waiting: Map<string, Waits> }> {
  const waiting = new Map<string, Waits>();
  const upgrades = { ...plans.upgrades };
  for (const event of events) {
    if (event.effect !== 'change_plan' || event.identity in upgrades || event.linesJson === null) continue;
    const wanted = (JSON.parse(event.linesJson) as StoredLine[]).find((one) => one.line === line.line);
    if (wanted === undefined) continue;
    const { plan_id: planId = null, sku = null, quantity = line.quantity } = wanted;
    const sold = await soldAs(work, { planId, sku, quantity });
    if (sold === undefined) {
      waiting.set(event.identity, { waitsFor: 'not_mapped', awaited: skuDigest(work.shop.name, sku ?? '') });
      continue;
    }
    const own = await planOf(work, plans.base.plan);
    upgrades[event.identity] = null;
    for (const { sold: one } of sold)
      if ((await planOf(work, one.plan))?.productId === own?.productId) {
        upgrades[event.identity] = one;
        break;
      }
  }
  // A test licence stays on the plan for tests.
  if (work.order.isTest) for (const identity of Object.keys(upgrades)) upgrades[identity] = null;
  const resolved = { ...plans, upgrades };
  if (JSON.stringify(resolved) !== JSON.stringify(plans))
    await setOrderLicense(work.trx, license.id, { plansJson: JSON.stringify(resolved) });
  return { plans: resolved, waiting };
}

/** @returns what was changed; `reason`: why something was not */
async function settleLicense(
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

function known({ upgrades }: Plans): Set<string> {
  return new Set(Object.keys(upgrades).filter((identity) => upgrades[identity] !== null));
}

async function durations(work: Work, { base, upgrades }: Plans): Promise<DurationOf> {
  const byUpgrade = new Map<string | undefined, string | null>();
  byUpgrade.set(undefined, (await planOf(work, base.plan))?.duration ?? null);
  for (const [identity, sold] of Object.entries(upgrades))
    if (sold !== null) byUpgrade.set(identity, (await planOf(work, sold.plan))?.duration ?? null);
  return (upgrade) => byUpgrade.get(upgrade) ?? null;
}

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
  const line = (await listOrderLines(trx, [orderId])).find(({ id }) => id === lineId);
  if (line === undefined) return NOT_YET;
  const events = (await listOrderEvents(trx, orderId)).flatMap((event) => concerning(event, line));
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
