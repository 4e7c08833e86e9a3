import { formatTimestamp } from '../base/days';
import { CodedError } from '../base/errors';
import { setCustomer } from '../licensing/amend';
import { openKey } from '../licensing/issue';
import type { License } from '../licensing/licenses';
import { OperatorError } from '../licensing/operator-error';
import { SealError } from '../licensing/sealing';
import type { Mailing } from '../mail/queue';
import { findPlan } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import { isDuplicate, isUnavailable, reasonCode } from '../store/engine/errors';
import { tellProfile } from '../store/customer-profiles';
import { findLicensesByIds, lockLicenses } from '../store/licenses/licenses';
import {
  findOrder,
  insertOrder,
  insertOrderEvent,
  insertOrderLines,
  listAwaiting,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  listReady,
  listWaiting,
  lockOrder,
  setFailed,
  setOrder,
  setOrderLine,
  setOutcome,
  type Order,
  type OrderEvent,
  type OrderLine,
} from '../store/orders/orders';
import {
  claimShop,
  findShop,
  findSkus,
  insertShop,
  PLAIN_SHOP,
  setShop,
  type Shop,
} from '../store/orders/shops';
import { inReadCommitted } from '../store/engine/transaction';
import { foldLine, type OrderEventName } from './fold';
import { requireMessage, requireOrderCustomer, type LineMessage, type OrderMessage } from './message';
import { eventIdentity, orderDigest, skuDigest } from './names';
import { effectOf, readRules } from './rules';
import { noteFailedPayment } from './failed-payments';
import { queueKeys } from './key-mails';
import { followUnmatched } from './unmatched';
import { belongsTo, isReceiver } from './whose';
import { placeLines } from './same-lines';
import { graceOf } from './shop-kinds';
import { settleLine } from './settle';
import { concerning, whyIgnored, type Outcome, type StoredLine, type Work } from './work';

/** Who sends an order's events. */
interface Poster {
  /** the name of the token, which owns the orders it posts first; null: a receiver, or a Joomla account */
  owner: string | null;
  /** a token of the scope `issue`: it reaches nothing that another name owns */
  ownOnly: boolean;
}

export interface RecordContext {
  /** in the history of licences: `token:NAME`, or `shop:NAME` for a receiver */
  actor: string;
  now: Date;
  /** LICENSING_KEY_SECRET, which seals keys; undefined: keys are not kept */
  secret: Buffer | undefined;
  /** mails keys to customers; undefined: mail is not set up */
  mailing?: Mailing | undefined;
  /** LICENSING_GRACE_DAYS, of shops that say nothing else */
  graceDays: number;
}

interface RecordedLine extends Outcome {
  line: string;
  /** `key` is undefined when it is not shown, or cannot be */
  licenses: { license: License; key: string | undefined }[];
}

export interface Recorded {
  order: Order;
  /** false: the event was recorded before */
  isNew: boolean;
  /** those of the event */
  lines: RecordedLine[];
}

/** Two callers that insert the same order; the third attempt finds it. */
const MAX_ATTEMPTS = 3;
/** Orders that wait for the same thing, in one go. */
const RUN_AT_ONCE = 100;

/**
 * Records an event of an order, and does to its licences what follows. The same event again changes nothing, and
 * returns the same with the licences as they stand now.
 * @throws OperatorError: INVALID_REQUEST with its field; NOT_FOUND when the shop or the order is another's
 */
export async function recordOrder(
  db: Db,
  given: OrderMessage,
  poster: Poster,
  context: RecordContext,
): Promise<Recorded> {
  const message = requireMessage(given, context.now);
  const digest = orderDigest(message.shop, message.order);
  for (let attempt = 1; ; attempt++) {
    const found = await findOrder(db, { digest });
    try {
      const { recorded, hasIssued } = await inReadCommitted(db, (trx) =>
        recordIn(trx, found?.id, message, digest, poster, context),
      );
      if (hasIssued) await runOrders(db, await listAwaiting(db, digest, RUN_AT_ONCE), context);
      return recorded;
    } catch (error) {
      // Another caller has inserted the same order, or its shop, meanwhile.
      if (!isDuplicate(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function requirePlans(db: Transaction, { lines = [] }: OrderMessage): Promise<void> {
  for (const [i, { line, planId }] of lines.entries())
    if (planId !== undefined && (await findPlan(db, planId)) === undefined)
      throw new OperatorError(`Line ${line}: there is no plan ${planId}.`, {
        code: 'INVALID_REQUEST',
        field: `lines.${i}.plan_id`,
      });
}

async function recordIn(
  trx: Transaction,
  orderId: number | undefined,
  message: OrderMessage,
  digest: string,
  poster: Poster,
  context: RecordContext,
): Promise<{ recorded: Recorded; hasIssued: boolean }> {
  // The order's lock first, then licences: all code that takes both does so.
  const locked = orderId === undefined ? undefined : await lockOrder(trx, orderId);
  if (locked !== undefined && poster.ownOnly && locked.owner !== poster.owner) throw noOrder();
  const shop = await requireShopOf(trx, message.shop, context.now, { poster, kind: message.kind });
  const order = locked ?? (await addOrder(trx, shop, message, digest, poster, context.now));
  const work = await readWork(trx, order, shop, context);
  const events = await listOrderEvents(trx, order.id);
  const stored = toEvent(order, shop, meantLines(message, work), context);
  const repeated = events.find(({ identity }) => identity === stored.identity);
  if (repeated !== undefined) return { recorded: await answer(work, repeated, false), hasIssued: false };
  await requirePlans(trx, message);
  const hadAddress = order.customer !== null;
  await nameCustomer(work, message.customer, message.at);
  const opening = (message.lines ?? []).filter((line) => opens(message.event, line));
  if (opening.length > 0) await addLines(work, opening);
  const outcomes = await settle(work, events, stored);
  stored.outcomeJson = JSON.stringify(outcomes);
  await insertOrderEvent(trx, stored);
  await followUnmatched(work, [...events, { ...stored, id: 0 }]);
  await queueKeys(work, context.mailing, !hadAddress && order.customer !== null);
  if (message.event === 'payment_failed')
    await noteFailedPayment(work, { ...stored, id: 0 }, events, context.mailing);
  return { recorded: await answer(work, { ...stored, id: 0 }, true), hasIssued: hasAdded(work) };
}

export function noOrder(): OperatorError {
  return new OperatorError('There is no such order.', { code: 'NOT_FOUND', facts: { reason: 'no-order' } });
}

/**
 * A shop belongs to its receiver, else to the name of the first `issue` token that posts for it.
 * @param posted `kind`: the plugin that posts, which is the kind of a shop that nobody added
 * @throws OperatorError (404) when it is another's
 */
export async function requireShopOf(
  trx: Transaction,
  name: string,
  now: Date,
  { poster: { owner, ownOnly } = NOBODY, kind }: { poster?: Poster; kind?: string | undefined } = {},
): Promise<Shop> {
  const claims = ownOnly ? owner : null;
  const found = await findShop(trx, name);
  if (found === undefined)
    await insertShop(trx, {
      ...PLAIN_SHOP,
      ...(kind && { kind }),
      name,
      owner: claims,
      createdBy: null,
      createdAt: now,
    });
  else if (claims !== null && found.owner === null && !isReceiver(found))
    await claimShop(trx, found.id, claims);
  const shop = (await findShop(trx, name)) as Shop;
  if (ownOnly && !belongsTo(shop, owner)) throw noOrder();
  if (kind === undefined || shop.createdBy !== null || shop.kind !== PLAIN_SHOP.kind) return shop;
  await setShop(trx, shop.id, { kind });
  return { ...shop, kind };
}

const NOBODY: Poster = { owner: null, ownOnly: false };

async function addOrder(
  trx: Transaction,
  shop: Shop,
  { order: number, customer, test = false }: OrderMessage,
  digest: string,
  { owner, ownOnly }: Poster,
  now: Date,
): Promise<Order> {
  const order: Omit<Order, 'id'> = {
    shop: shop.name,
    number,
    digest,
    ownOnly,
    createdAt: now,
    owner: shop.owner ?? owner,
    customer: customer?.email ?? null,
    customerName: customer?.name ?? null,
    language: customer?.language ?? null,
    mail: null,
    isTest: test || shop.isTest,
    state: 'done',
    failure: null,
    failedAt: null,
    retryAt: null,
    confirmedAt: null,
  };
  return { ...order, id: await insertOrder(trx, order) };
}

export async function readWork(
  trx: Transaction,
  order: Order,
  shop: Shop,
  { actor, now, secret }: RecordContext,
): Promise<Work> {
  const licenses = await listOrderLicenses(trx, [order.id]);
  return {
    trx,
    order,
    shop,
    secret,
    licenses,
    had: licenses.length,
    lines: await listOrderLines(trx, [order.id]),
    context: { actor, now, order: order.id },
    keys: new Map(),
    plans: new Map(),
  };
}

/** An upgrade that names a line by another name means the order's only one: what is sold there may have a new name too. */
function meantLines(message: OrderMessage, { lines: known }: Work): OrderMessage {
  const [line, ...others] = message.lines ?? [];
  const [only, ...more] = known;
  if (message.event !== 'upgraded' || line === undefined || only === undefined) return message;
  if (others.length > 0 || more.length > 0 || line.renews !== undefined) return message;
  return { ...message, lines: [{ ...line, line: only.line }] };
}

function toEvent(
  order: Order,
  shop: Shop,
  {
    event,
    at,
    eventId: given,
    partial = false,
    test = false,
    payment,
    money,
    renewsItself,
    lines,
  }: OrderMessage,
  context: RecordContext,
): Omit<OrderEvent, 'id'> {
  const { actor, now } = context;
  const eventId = given ?? null;
  const rules = readRules(shop);
  // What was sold is not changed by a test.
  const isIgnored = partial || (test && !order.isTest);
  return {
    orderId: order.id,
    event,
    eventId,
    at,
    atMs: 0,
    actor,
    partial,
    isTest: test,
    identity: eventIdentity({ event, at, eventId }),
    receivedAt: now,
    payment: payment ?? null,
    renewsItself: isIgnored ? null : (SAYS_WHETHER_IT_RENEWS[event] ?? renewsItself ?? null),
    graceDays: graceOf(shop, context),
    amount: money?.amount ?? null,
    currency: money?.currency ?? null,
    effect: isIgnored ? 'none' : effectOf(event, rules),
    reduced: event === 'upgraded' || event === 'renewed' ? rules.reduced : null,
    linesJson: lines === undefined ? null : JSON.stringify(lines.map(storedLine)),
    outcomeJson: '[]',
  };
}

const SAYS_WHETHER_IT_RENEWS: Partial<Record<OrderEventName, boolean>> = {
  subscription_ended: false,
  renewal_stopped: false,
  renewal_resumed: true,
};

function storedLine(message: LineMessage): StoredLine {
  const { line, planId, sku, quantity, paidUntil, renews, ids, price, paidAs, first, once, confirms } =
    message;
  return {
    line,
    ...(planId !== undefined && { plan_id: planId }),
    ...(sku !== undefined && { sku }),
    ...(quantity !== undefined && { quantity }),
    ...(paidUntil !== undefined && { paid_until: formatTimestamp(paidUntil) }),
    ...(renews !== undefined && { renews }),
    ...(ids !== undefined && { ids }),
    ...(price !== undefined && { price }),
    ...(paidAs !== undefined && { paidAs }),
    ...(first !== undefined && { first }),
    ...(once !== undefined && { once }),
    ...(confirms !== undefined && { confirms }),
  };
}

/** The first address stays, and so does the language that was told with it. */
async function nameCustomer(work: Work, customer: OrderMessage['customer'], at: Date): Promise<void> {
  const { trx, order, context } = work;
  if (customer === undefined) return;
  const { email, name = null, language = null } = customer;
  const named = order.customer === null ? { customer: email, customerName: name } : {};
  const spoken = order.language === null && language !== null ? { language } : {};
  const changes = { ...named, ...spoken };
  if (!order.isTest && email === (order.customer ?? email))
    await tellProfile(trx, email, { name, language }, at);
  if (Object.keys(changes).length === 0) return;
  await setOrder(trx, order.id, changes);
  Object.assign(order, changes);
  if (!('customer' in changes)) return;
  const issued = work.licenses.filter(({ role }) => role === 'issued').map(({ licenseId }) => licenseId);
  for (const license of (await lockLicenses(trx, issued)).values())
    if (license.customer === null) await setCustomer(trx, license.id, email, context);
}

/** Names the customer of an order that came without one, and of its licences. The first address stays. */
export async function nameOrderCustomer(
  db: Db,
  { shop, order: number }: Pick<OrderMessage, 'shop' | 'order'>,
  customer: { email: string; name?: string | undefined },
  context: RecordContext,
): Promise<void> {
  const found = await findOrder(db, { digest: orderDigest(shop, number) });
  if (found === undefined) throw noOrder();
  const { email, name } = requireOrderCustomer(customer);
  await inReadCommitted(db, async (trx) => {
    const order = (await lockOrder(trx, found.id)) ?? found;
    const work = await readWork(trx, order, await requireShopOf(trx, shop, context.now), context);
    const hadAddress = order.customer !== null;
    await nameCustomer(work, { email, name }, context.now);
    await queueKeys(work, context.mailing, !hadAddress);
  });
}

/** Whether a line of an event begins one of the order: an upgrade that is an order of its own names the earlier one. */
function opens(event: OrderEventName, { renews }: LineMessage): boolean {
  return event === 'paid' || (event === 'upgraded' && renews !== undefined);
}

async function addLines(work: Work, lines: LineMessage[]): Promise<void> {
  const known = new Set(work.lines.map(({ line }) => line));
  for (const line of lines) await renameArticle(work, line);
  const added = lines.filter(({ line }) => !known.has(line));
  await insertOrderLines(
    work.trx,
    added.map(({ line, sku = null, planId = null, quantity = 1, renews }) => ({
      orderId: work.order.id,
      line,
      sku,
      planId,
      quantity,
      renewsJson: renews === undefined ? null : JSON.stringify(renews),
      waitsFor: null,
      awaited: null,
    })),
  );
  if (added.length > 0) work.lines = await listOrderLines(work.trx, [work.order.id]);
}

/**
 * A line whose article nobody has mapped takes the one that another payment of it names, if that is mapped, with its
 * quantity: an invoice names a price where its session names what was sold. A refund may have come between.
 */
async function renameArticle(
  { trx, shop, lines, licenses }: Work,
  { line: name, sku, quantity = 1 }: LineMessage,
): Promise<void> {
  const line = lines.find((one) => one.line === name);
  if (line === undefined || sku === undefined || line.sku === null || sku === line.sku) return;
  if (licenses.some(({ lineId }) => lineId === line.id)) return;
  const isMapped = async (article: string) =>
    (await findSkus(trx, [skuDigest(shop.name, article)])).length > 0;
  if ((await isMapped(line.sku)) || !(await isMapped(sku))) return;
  await setOrderLine(trx, line.id, { sku, quantity });
  Object.assign(line, { sku, quantity });
}

interface LineOutcome extends Outcome {
  line: string;
}

/**
 * Settles the lines that an event concerns; without an event, those that wait.
 * @returns what the event did, by line
 */
async function settle(
  work: Work,
  given: OrderEvent[],
  latest: Omit<OrderEvent, 'id'> | undefined,
): Promise<LineOutcome[]> {
  const { trx, order } = work;
  const told = placeLines(latest === undefined ? given : [...given, { ...latest, id: 0 }], work.lines);
  const event = latest === undefined ? undefined : told.at(-1);
  const events = told.slice(0, given.length);
  const outcomes: LineOutcome[] = [];
  const settledLines: { line: OrderLine; waitingUpgrades: Set<string> }[] = [];
  for (const line of work.lines) {
    const isConcerned = event === undefined ? line.waitsFor !== null : concerning(event, line).length > 0;
    if (!isConcerned) continue;
    work.context.reason = reasonOf(order, event?.event);
    const { outcome, waits, waitingUpgrades } = await settleLine(work, line, events, event);
    outcomes.push({ line: line.line, ...outcome });
    const now = { waitsFor: waits?.waitsFor ?? null, awaited: waits?.awaited ?? null };
    if (now.waitsFor !== line.waitsFor || now.awaited !== line.awaited) await setOrderLine(trx, line.id, now);
    Object.assign(line, now);
    settledLines.push({ line, waitingUpgrades });
  }
  const all = event === undefined ? events : [...events, event];
  for (const one of events) await reviseOutcome(work, one, all, settledLines);
  const state = work.lines.some(({ waitsFor }) => waitsFor !== null) ? 'waiting' : 'done';
  if (state !== order.state) await setOrder(trx, order.id, { state });
  order.state = state;
  if (event === undefined) return outcomes;
  return event.linesJson === null ? outcomes : inEventOrder(event, outcomes);
}

/** A line for each that the event names, in its order; one that was never paid has no row yet. */
function inEventOrder(event: OrderEvent, outcomes: LineOutcome[]): LineOutcome[] {
  const stops = event.effect === 'suspend' || event.effect === 'cancel';
  const reason = whyIgnored(event) ?? (stops ? event.event : 'not_paid');
  return (JSON.parse(event.linesJson as string) as StoredLine[]).map(
    ({ line }) => outcomes.find((one) => one.line === line) ?? { line, action: 'none', reason },
  );
}

function reasonOf({ shop, number }: Order, event = 'paid'): string {
  return `${shop} ${number}: ${event}`;
}

/** Without licences, only what suspends or cancels is asked for. */
const UNRESOLVED = {
  base: { duration: null, count: 1 },
  upgrades: new Map<string, never>(),
  renews: false,
  n: 1,
};

/** What an event is said to have done, once its lines wait no more. */
async function reviseOutcome(
  work: Work,
  event: OrderEvent,
  events: OrderEvent[],
  settled: { line: OrderLine; waitingUpgrades: Set<string> }[],
): Promise<void> {
  const outcomes = JSON.parse(event.outcomeJson) as LineOutcome[];
  const revised = outcomes.map((outcome) => {
    const found = settled.find(({ line }) => line.line === outcome.line);
    if (outcome.action !== 'waiting' || found === undefined) return outcome;
    const { line, waitingUpgrades } = found;
    const licenses = work.licenses.filter(({ lineId }) => lineId === line.id);
    const waits = event.event === 'upgraded' ? waitingUpgrades.has(event.identity) : licenses.length === 0;
    if (line.waitsFor !== null && waits) return { ...outcome, reason: line.waitsFor };
    if (licenses.length > 0) return { ...outcome, ...lateOutcome(event.event as OrderEventName, line) };
    const { by } = foldLine(
      events.flatMap((one) => concerning(one, line)),
      UNRESOLVED,
    );
    return { ...outcome, action: 'none' as const, reason: by ?? (work.order.isTest ? 'test' : 'not_paid') };
  });
  const outcomeJson = JSON.stringify(revised);
  if (outcomeJson !== event.outcomeJson) await setOutcome(work.trx, event.id, outcomeJson);
}

/** What an event that waited did when its line ran. */
function lateOutcome(event: OrderEventName, { renewsJson }: OrderLine): Outcome {
  if (event === 'paid') return { action: renewsJson === null ? 'issued' : 'renewed', reason: null };
  if (event === 'renewed') return { action: 'renewed', reason: null };
  if (event === 'upgraded') return { action: 'plan_changed', reason: null };
  return { action: 'none', reason: null };
}

async function answer(work: Work, event: OrderEvent, isNew: boolean): Promise<Recorded> {
  const outcomes = JSON.parse(event.outcomeJson) as LineOutcome[];
  const named = new Set(outcomes.map(({ line }) => line));
  const lineIds = new Map(work.lines.filter(({ line }) => named.has(line)).map(({ id, line }) => [id, line]));
  const concerned = work.licenses.filter(({ lineId }) => lineIds.has(lineId));
  const licenses = await findLicensesByIds(
    work.trx,
    concerned.map(({ licenseId }) => licenseId),
  );
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const view = (licenseId: number) => {
    const license = byId.get(licenseId);
    if (license === undefined) return [];
    const key =
      event.event === 'paid' ? (work.keys.get(licenseId) ?? keptKey(license, work.secret)) : undefined;
    return [{ license, key }];
  };
  return {
    order: work.order,
    isNew,
    lines: outcomes.map((outcome) => ({
      ...outcome,
      licenses: concerned
        .filter(({ lineId }) => lineIds.get(lineId) === outcome.line)
        .flatMap(({ licenseId }) => view(licenseId)),
    })),
  };
}

function keptKey(license: License, secret: Buffer | undefined): string | undefined {
  try {
    return openKey(license.id, license, secret);
  } catch (error) {
    if (error instanceof OperatorError || error instanceof SealError) return undefined;
    throw error;
  }
}

export interface Ran {
  /** orders that wait no more */
  done: number;
  /** with those that failed */
  waiting: number;
  /** the job of each minute tries them again, and logs the reason */
  failed: number;
}

interface RanSome extends Ran {
  /** the first order that failed */
  failure?: { order: number; error: unknown } | undefined;
}

/** Runs the waiting orders of a shop: what is mapped by now issues. */
export async function runWaiting(db: Db, shop: string, context: RecordContext): Promise<Ran> {
  const ran: Ran = { done: 0, waiting: 0, failed: 0 };
  for (let after = 0; ;) {
    const ids = await listWaiting(db, { shop, after, limit: RUN_AT_ONCE });
    const { done, waiting, failed } = await runOrders(db, ids, context);
    ran.done += done;
    ran.waiting += waiting;
    ran.failed += failed;
    if (ids.length < RUN_AT_ONCE) return ran;
    after = ids.at(-1) as number;
  }
}

/**
 * Runs orders whose article or earlier order has come since; whoever brought it may have been killed before.
 * @throws CodedError that names the first order that failed, once the others are run
 */
export async function runReady(
  db: Db,
  context: RecordContext,
  goesOn: () => Promise<boolean>,
): Promise<void> {
  let failure: RanSome['failure'];
  for (let after = 0; ;) {
    const ids = await listReady(db, { after, limit: RUN_AT_ONCE });
    for (const id of ids) {
      if (!(await goesOn())) return;
      const ran = await runOrders(db, [id], context);
      failure ??= ran.failure;
    }
    if (ids.length < RUN_AT_ONCE) break;
    after = ids.at(-1) as number;
  }
  if (failure === undefined) return;
  const { order, error } = failure;
  throw new CodedError<string>(`order ${order}: ${reasonCode(error)}`, '', undefined, { cause: error });
}

/** Runs each of the orders, although one fails: its error is not the others' fault. */
async function runOrders(db: Db, ids: number[], context: RecordContext): Promise<RanSome> {
  const ran: RanSome = { done: 0, waiting: 0, failed: 0 };
  for (const id of ids)
    try {
      const { state, digest, hasIssued } = await inReadCommitted(db, (trx) => runOrder(trx, id, context));
      ran[state]++;
      if (!hasIssued) continue;
      const next = await runOrders(db, await listAwaiting(db, digest, RUN_AT_ONCE), context);
      ran.failed += next.failed;
      ran.failure ??= next.failure;
    } catch (error) {
      ran.waiting++;
      ran.failed++;
      ran.failure ??= { order: id, error };
      // Its lines said that they wait for what is there by now.
      if (!isUnavailable(error)) await setFailed(db, id);
    }
  return ran;
}

async function runOrder(trx: Transaction, id: number, context: RecordContext) {
  const order = await lockOrder(trx, id);
  if (order === undefined) throw noOrder();
  const shop = await requireShopOf(trx, order.shop, context.now);
  const work = await readWork(trx, order, shop, context);
  const events = await listOrderEvents(trx, id);
  await settle(work, events, undefined);
  await followUnmatched(work, events);
  await queueKeys(work, context.mailing, false);
  return { state: order.state, digest: order.digest, hasIssued: hasAdded(work) };
}

/** Whether the order has licences that it had not: other orders may wait to renew them. */
function hasAdded({ licenses, had }: Work): boolean {
  return licenses.length > had;
}
