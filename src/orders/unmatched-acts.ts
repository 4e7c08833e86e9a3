import { formatTimestamp } from '../base/days';
import { noLicense, requirePlan } from '../licensing/find-or-refuse';
import { endWithGrace, isFinal, liveStatus, paidEnd } from '../licensing/core/states';
import { OperatorError } from '../licensing/operator-error';
import type { Plan } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import { findLicense, lockLicense, type LockedLicense } from '../store/licenses/licenses';
import {
  findOrder,
  findOrderLicenses,
  findOrdersOfLicenses,
  insertOrderEvent,
  insertOrderLicenses,
  insertOrderLines,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  lockOrder,
  setEventMeaning,
  setOrder,
  setOrderLine,
  setOutcome,
  type OrderEvent,
  type OrderLine,
} from '../store/orders/orders';
import { findMessage, setMessage } from '../store/orders/shop-messages';
import { inReadCommitted } from '../store/engine/transaction';
import {
  closeUnmatched,
  findUnmatched,
  setUnmatchedLicense,
  type Unmatched,
} from '../store/orders/unmatched';
import { queueKeys } from './key-mails';
import { issueMore } from './line-licenses';
import type { LineMessage } from './message';
import { eventIdentity, orderDigest, unmatchedDigest } from './names';
import { linkWaiting, readPending, type PendingEvent } from './inbox';
import { noOrder, readWork, recordOrder, requireShopOf, type RecordContext } from './record';
import { placeLines } from './same-lines';
import { settleLine } from './settle';
import type { Plans } from './sold';
import { followUnmatched, whyUnmatched } from './unmatched';
import { concerning, isWaiting, type Outcome, type StoredLine, type Work } from './work';

/**
 * What a seller does with money that found nothing it belongs to. Each is done once: a second call finds it done. A
 * message becomes an event of an order first, so the rest is about orders alone.
 */

/**
 * Says which licence it is about. Its order renews that licence from now on, and what was told of the order runs.
 * @throws OperatorError: NOT_FOUND; CONFLICT when something else was done, or the licence cannot be the one
 */
export function assignUnmatched(
  db: Db,
  id: number,
  licenseId: number,
  context: RecordContext,
): Promise<Unmatched> {
  const isSame = async (one: Unmatched) => Promise.resolve(one.licenseId === licenseId);
  return actOn(db, id, { state: 'assigned', isSame }, context, async (trx, one) => {
    if ((await findLicense(trx, licenseId)) === undefined)
      throw new OperatorError(`There is no licence ${licenseId}.`, {
        code: 'NOT_FOUND',
        field: 'license_id',
      });
    const told = await readTold(trx, one);
    const order = one.orderId ?? (told && (await toOrder(trx, one, told, context, licenseId)));
    if (order !== undefined) await attach(trx, one, order, licenseId, context);
    return licenseId;
  });
}

/**
 * Issues a licence for it, which belongs to the customer that the shop told.
 * @throws OperatorError: NOT_FOUND; CONFLICT when something else was done, or it pays for nothing
 */
export function issueForUnmatched(
  db: Db,
  id: number,
  planId: number,
  context: RecordContext,
): Promise<Unmatched> {
  const isSame = async ({ licenseId }: Unmatched, trx: Transaction) =>
    licenseId !== null && (await findLicense(trx, licenseId))?.plan.id === planId;
  return actOn(db, id, { state: 'issued', isSame }, context, async (trx, one) => {
    const plan = await requirePlan(trx, planId);
    const told = await readTold(trx, one);
    if (GIVES_BACK.has(told?.event.event ?? one.event))
      throw conflict('It gives money back, so there is nothing to issue a licence for.', 'pays-nothing', id);
    if (one.orderId === null && (told === undefined || told.namesOrder))
      return issueAlone(trx, one, told, plan, context);
    const order = one.orderId ?? (await toOrder(trx, one, told as PendingEvent, context));
    return issueFor(trx, one, order, plan, context);
  });
}

/** Settles it without a change. @throws OperatorError: NOT_FOUND; CONFLICT when something else was done */
export function leaveUnmatched(db: Db, id: number, context: RecordContext): Promise<Unmatched> {
  const isSame = () => Promise.resolve(true);
  return actOn(db, id, { state: 'left', isSame }, context, () => Promise.resolve(undefined));
}

const GIVES_BACK = new Set(['refunded', 'refund_failed', 'charged_back', 'chargeback_reversed']);

/** @param work does it, once; @returns the licence that it is about */
async function actOn(
  db: Db,
  id: number,
  {
    state,
    isSame,
  }: { state: Unmatched['state']; isSame: (one: Unmatched, trx: Transaction) => Promise<boolean> },
  { actor, now }: RecordContext,
  work: (trx: Transaction, one: Unmatched) => Promise<number | undefined>,
): Promise<Unmatched> {
  const seen = await findUnmatched(db, id);
  if (seen === undefined) throw noUnmatched(id);
  return inReadCommitted(db, async (trx) => {
    // The order's lock first, as in all code that takes both.
    if (seen.orderId !== null) await lockOrder(trx, seen.orderId);
    const isOpen = await closeUnmatched(trx, id, { state, actedBy: actor, actedAt: now });
    const one = await findUnmatched(trx, id);
    if (one === undefined) throw noUnmatched(id);
    if (!isOpen) {
      if (one.state === state && (await isSame(one, trx))) return one;
      throw conflict('Something else was done with it already.', 'unmatched-done', id);
    }
    const licenseId = await work(trx, one);
    if (licenseId !== undefined) await setUnmatchedLicense(trx, id, licenseId);
    return (await findUnmatched(trx, id)) ?? one;
  });
}

function noUnmatched(id: number): OperatorError {
  return new OperatorError(`There is no unmatched event ${id}. What it lacked may have come since.`, {
    code: 'NOT_FOUND',
    facts: { reason: 'no-unmatched' },
  });
}

function conflict(
  message: string,
  reason: 'unmatched-done' | 'pays-nothing' | 'other-order',
  id: number,
): OperatorError {
  return new OperatorError(message, { code: 'CONFLICT', facts: { reason, unmatched: id } });
}

/** What a message tells; undefined: it is an order's event, or it does not say what it is about. */
async function readTold(trx: Transaction, { messageId }: Unmatched): Promise<PendingEvent | undefined> {
  const message = messageId === null ? undefined : await findMessage(trx, messageId);
  return message && (await readPending(trx, message));
}

/**
 * Makes a message an event of an order: of the licence's own in this shop, else of a new one. Other messages that name the
 * same payment or subscription are of that order too. @returns the order's id
 */
async function toOrder(
  trx: Transaction,
  { id, shop, messageId }: Unmatched,
  { event, also, names, namesOrder }: PendingEvent,
  context: RecordContext,
  licenseId?: number,
): Promise<number> {
  const own = licenseId === undefined || namesOrder ? undefined : await ownOrder(trx, shop, licenseId);
  const number = own?.number ?? names;
  const digest = orderDigest(shop, number);
  const found = await findOrder(trx, { digest });
  if (found !== undefined && licenseId !== undefined) await requireOwn(trx, id, found.id, licenseId);
  const known = found === undefined ? [] : await listOrderEvents(trx, found.id);
  const payment = known.some((one) => one.payment === event.payment) ? event.payment : undefined;
  const lines =
    event.lines ??
    (found && licenseId !== undefined ? await namesOf(trx, found.id, licenseId) : undefined)?.map((line) => ({
      line,
    }));
  const shared = { shop, order: number, lines };
  const poster = { owner: null, ownOnly: false };
  const isRefund = event.event === 'refunded' || event.event === 'refund_failed';
  await recordOrder(
    trx,
    // The seller says of which order it is, so a payment that is not known is all that was paid.
    { ...event, ...shared, ...(isRefund && found !== undefined && { payment }) },
    poster,
    context,
  );
  for (const one of also) await recordOrder(trx, { ...one, shop, order: number }, poster, context);
  const order = await findOrder(trx, { digest });
  if (order === undefined) throw noOrder();
  const done = { result: 'order', reason: null, orderId: order.id, awaits: null, pendingJson: null };
  await setMessage(trx, messageId as number, done);
  if (!namesOrder) await linkWaiting(trx, shop, { key: names, order: number }, context);
  return order.id;
}

/** The order of the shop that issued the licence, else one that renews it. */
async function ownOrder(trx: Transaction, shop: string, licenseId: number) {
  const orders = (await findOrdersOfLicenses(trx, [licenseId])).filter(
    (one) => one.shop === shop && !one.isTest,
  );
  return orders.find(({ role }) => role === 'issued') ?? orders[0];
}

/** The lines of an order that a licence is of. */
async function namesOf(trx: Transaction, orderId: number, licenseId: number): Promise<string[]> {
  const own = (await listOrderLicenses(trx, [orderId])).filter((one) => one.licenseId === licenseId);
  const lines = await listOrderLines(trx, [orderId]);
  return lines.filter(({ id }) => own.some(({ lineId }) => lineId === id)).map(({ line }) => line);
}

/** @throws OperatorError when the order's licences are others */
async function requireOwn(trx: Transaction, id: number, orderId: number, licenseId: number): Promise<void> {
  const ids = (await listOrderLicenses(trx, [orderId])).map((one) => one.licenseId);
  if (ids.length > 0 && !ids.includes(licenseId))
    throw conflict(
      `It is of order ${orderId}, whose licence is ${[...new Set(ids)].join(', ')}.`,
      'other-order',
      id,
    );
}

/** An order under its lock, with the event that found nothing; undefined: a message's event, which is one of several. */
async function openOrder(trx: Transaction, one: Unmatched, orderId: number, context: RecordContext) {
  const order = await lockOrder(trx, orderId);
  if (order === undefined) throw noOrder();
  const work = await readWork(trx, order, await requireShopOf(trx, order.shop, context.now), context);
  const told = await listOrderEvents(trx, order.id);
  const event = told.find(({ identity }) => unmatchedDigest(order.digest, identity) === one.digest);
  return { work, told, event, reason: event && whyUnmatched(work, event, told) };
}

/** Lets an order's lines that have no licence renew this one, and runs what was told of them. */
async function attach(
  trx: Transaction,
  one: Unmatched,
  orderId: number,
  licenseId: number,
  context: RecordContext,
): Promise<void> {
  const { work, told, event, reason } = await openOrder(trx, one, orderId, context);
  const license = await lockLicense(trx, licenseId);
  if (license === undefined) noLicense(licenseId);
  if (!told.some(({ event: name }) => GIVES_BACK.has(name))) requireAlive(license, context.now);
  if (event !== undefined && reason === 'unknown_payment') {
    await requireOwn(trx, one.id, orderId, licenseId);
    const lines = await namesOf(trx, orderId, licenseId);
    const meaning = { payment: null, linesJson: JSON.stringify(lines.map((line) => ({ line }))) };
    await setEventMeaning(trx, event.id, meaning);
    Object.assign(event, meaning);
    const others = told.filter(({ id }) => id !== event.id);
    for (const line of work.lines)
      if (lines.includes(line.line)) await replay(work, line, others, [event], work.lines);
  } else if (event !== undefined && reason === 'other_activation_type') {
    const [line] = work.lines.filter((of) => concerning(event, of).length > 0);
    if (line !== undefined) await addLicense(work, line, license, { [event.identity]: null });
  } else await adopt(work, one, told, license);
  await finish(work, context);
}

/** @throws OperatorError when nothing can be renewed any more */
function requireAlive(license: LockedLicense, now: Date): void {
  const status = liveStatus(license, now);
  if (isFinal(status))
    throw new OperatorError(`Licence ${license.id} is ${status}, which is final.`, {
      code: 'CONFLICT',
      facts: { reason: 'license-final', license: license.id },
    });
}

/** Gives the licence every line that later messages may name and that the order lacks; without any, one line. */
async function adopt(work: Work, one: Unmatched, told: OrderEvent[], license: LockedLicense): Promise<void> {
  const { trx, order, context } = work;
  const missing = missingLines(work, told);
  const wanted = missing.length > 0 || work.lines.length > 0 ? missing : [{ line: FIRST_LINE }];
  if (wanted.length === 0) return;
  const known = new Set(work.lines.map(({ id }) => id));
  await insertOrderLines(
    trx,
    wanted.map(({ line, sku = null }) => ({
      ...{ orderId: order.id, line, sku, planId: null, quantity: 1 },
      ...{ renewsJson: JSON.stringify(license.id), waitsFor: null, awaited: null },
    })),
  );
  work.lines = await listOrderLines(trx, [order.id]);
  const added = work.lines.filter(({ id }) => !known.has(id));
  for (const line of added) await addLicense(work, line, license, {});
  const eventId = `unmatched:${one.id}:${license.id}`;
  const until = paidEnd(license);
  const paid: Omit<OrderEvent, 'id'> = {
    ...{ orderId: order.id, event: 'paid', eventId, at: firstTime(told, one), receivedAt: context.now },
    identity: eventIdentity({ event: 'paid', at: one.at, eventId }),
    ...{ atMs: 0, amount: null, currency: null },
    ...{ actor: context.actor, partial: false, payment: null, renewsItself: null, reduced: null },
    ...{ isTest: false, effect: 'issue', graceDays: 0 },
    // It is paid until the end that the licence has: what was told since moves that.
    linesJson: JSON.stringify(
      wanted.map(({ line, ids }) => ({
        ...{ line, renews: license.id },
        ...(ids !== undefined && { ids }),
        ...(until !== null && { paid_until: formatTimestamp(until) }),
      })),
    ),
    outcomeJson: JSON.stringify(wanted.map(({ line }) => ({ line, action: 'none', reason: 'assigned' }))),
  };
  await insertOrderEvent(trx, paid);
  for (const line of added) await replay(work, line, [{ ...paid, id: 0 }], told, work.lines);
}

/** Where no message names a line. */
const FIRST_LINE = '1';

/** A payment comes before all that was told of it. */
function firstTime(told: OrderEvent[], { at }: Unmatched): Date {
  return told.reduce((first, one) => (one.at < first ? one.at : first), at);
}

/** The lines that events name and the order does not have, each once. */
function missingLines({ lines }: Work, told: OrderEvent[]): StoredLine[] {
  const missing = new Map<string, StoredLine>();
  for (const { linesJson, effect } of placeLines(told, lines))
    for (const item of effect === 'none' ? [] : (JSON.parse(linesJson ?? '[]') as StoredLine[]))
      if (!item.once && !lines.some(({ line }) => line === item.line) && !missing.has(item.line))
        missing.set(item.line, item);
  return [...missing.values()];
}

/** The order is that of a licence which has none; another licence is renewed by it. */
async function addLicense(
  { trx, order }: Work,
  line: OrderLine,
  license: LockedLicense,
  upgrades: Plans['upgrades'],
): Promise<void> {
  const { id: licenseId, planId: plan, activationLimit: limit } = license;
  const isFirst = (await findOrderLicenses(trx, licenseId)).length === 0;
  const plans: Plans = isFirst
    ? { base: { plan, slots: 1, count: 1 }, upgrades }
    : { base: { plan, slots: 1 }, had: { plan, limit }, upgrades };
  await insertOrderLicenses(trx, [
    {
      ...{ orderId: order.id, lineId: line.id, licenseId, state: 'active', plansJson: JSON.stringify(plans) },
      ...(isFirst
        ? { role: 'issued' as const, baseEndsAt: null }
        : { role: 'renewed' as const, baseEndsAt: paidEnd(license) }),
    },
  ]);
}

/** Lets events change a line's licences one after the other, as if they came now. */
async function replay(
  work: Work,
  line: OrderLine,
  before: OrderEvent[],
  told: OrderEvent[],
  lines: OrderLine[],
): Promise<void> {
  const { trx, order, context } = work;
  work.licenses = await listOrderLicenses(trx, [order.id]);
  const placed = placeLines([...before, ...told], lines);
  for (let i = before.length; i < placed.length; i++) {
    const event = placed[i] as OrderEvent;
    if (concerning(event, line).length === 0) continue;
    context.reason = `${order.shop} ${order.number}: ${event.event}`;
    const { outcome, waits } = await settleLine(work, line, placed.slice(0, i), event);
    const now = { waitsFor: waits?.waitsFor ?? null, awaited: waits?.awaited ?? null };
    await setOrderLine(trx, line.id, now);
    Object.assign(line, now);
    const kept = told[i - before.length] as OrderEvent;
    const outcomes = JSON.parse(kept.outcomeJson) as ({ line: string } & Outcome)[];
    kept.outcomeJson = JSON.stringify([
      ...outcomes.filter((one) => one.line !== line.line),
      { line: line.line, ...outcome },
    ]);
    await setOutcome(trx, kept.id, kept.outcomeJson);
  }
}

async function finish(work: Work, { mailing }: RecordContext): Promise<void> {
  const { trx, order } = work;
  const state = work.lines.some(({ waitsFor }) => waitsFor !== null) ? 'waiting' : 'done';
  if (state !== order.state) await setOrder(trx, order.id, { state });
  work.licenses = await listOrderLicenses(trx, [order.id]);
  await followUnmatched(work, await listOrderEvents(trx, order.id));
  await queueKeys(work, mailing, false);
}

/** Issues a licence for what an order told without having been paid. @returns its id */
async function issueFor(
  trx: Transaction,
  one: Unmatched,
  orderId: number,
  plan: Plan,
  context: RecordContext,
): Promise<number> {
  const { work, told, event, reason } = await openOrder(trx, one, orderId, context);
  if (event !== undefined && reason === 'other_activation_type')
    return issueBeside(work, event, plan, context);
  const missing = missingLines(work, told);
  const [first = work.lines.length === 0 ? { line: FIRST_LINE } : undefined] = missing;
  if (first === undefined)
    throw conflict('Its order has a licence for all that it names.', 'other-order', one.id);
  // What was bought is what the seller says now.
  for (const each of told.filter(({ event: name, effect }) => name === 'upgraded' && effect !== 'none'))
    await setEventMeaning(trx, each.id, { linesJson: asPlan(each, first.line, plan) });
  // The renewals that follow are what is paid, so the payment before them pays for no time.
  const at = firstTime(told, one);
  const isRenewed = plan.duration !== null && told.some(({ effect }) => effect === 'renew');
  const issued = await issueByOrder(trx, one, context, {
    ...{ shop: work.order.shop, number: work.order.number, at },
    line: {
      ...{ line: first.line, planId: plan.id, ids: first.ids },
      ...(isRenewed && { paidUntil: at }),
    },
  });
  if (missing.length > 1) await attach(trx, one, orderId, issued, context);
  return issued;
}

function asPlan({ linesJson }: OrderEvent, line: string, plan: Plan): string {
  return JSON.stringify(
    (JSON.parse(linesJson ?? '[]') as StoredLine[]).map(({ sku, price, ids, ...item }) =>
      item.line === line
        ? { ...item, plan_id: plan.id }
        : { ...item, ...(sku && { sku }), ...(price && { price }), ...(ids && { ids }) },
    ),
  );
}

/** Issues a licence on a line beside those that cannot be what was bought. */
async function issueBeside(
  work: Work,
  event: OrderEvent,
  plan: Plan,
  context: RecordContext,
): Promise<number> {
  const line = work.lines.find((of) => concerning(event, of).length > 0) as OrderLine;
  const [had] = work.licenses.filter(({ lineId }) => lineId === line.id);
  const [told] = concerning(event, line);
  const beside = had && (await findLicense(work.trx, had.licenseId));
  const paid = told?.paidUntil ?? (beside === undefined ? null : paidEnd(beside));
  const end = {
    ...endWithGrace(paid, beside?.graceDays ?? 0),
    renewsItself: beside?.renewsItself ?? false,
  };
  work.context.reason = `${work.order.shop} ${work.order.number}: ${event.event}`;
  const plans: Plans = {
    base: { plan: plan.id, slots: 1, count: 1 },
    upgrades: { [event.identity]: null },
  };
  const made = await issueMore(work, line, 1, {
    ...{ planId: plan.id, limit: plan.activationLimit, plans, end },
  });
  const added = work.licenses.at(-1);
  if (isWaiting(made) || added === undefined)
    throw new OperatorError('The reference of its line is in use.', { code: 'CONFLICT' });
  await finish(work, context);
  return added.licenseId;
}

/** Issues a licence for a message of no order. */
async function issueAlone(
  trx: Transaction,
  one: Unmatched,
  told: PendingEvent | undefined,
  plan: Plan,
  context: RecordContext,
): Promise<number> {
  const number = told?.event.payment ?? told?.names ?? `message-${one.messageId}`;
  const issued = await issueByOrder(trx, one, context, {
    ...{ shop: one.shop, number, at: told?.event.at ?? one.at, customer: told?.event.customer },
    line: { line: FIRST_LINE, planId: plan.id },
  });
  const order = await findOrder(trx, { digest: orderDigest(one.shop, number) });
  const done = { result: 'order', reason: null, awaits: null, pendingJson: null };
  await setMessage(trx, one.messageId as number, { ...done, orderId: order?.id });
  return issued;
}

/** Records the payment that nobody told of. @returns the licence that it issues */
async function issueByOrder(
  trx: Transaction,
  { id }: Unmatched,
  context: RecordContext,
  {
    shop,
    number,
    at,
    customer,
    line,
  }: {
    shop: string;
    number: string;
    at: Date;
    customer?: PendingEvent['event']['customer'];
    line: LineMessage;
  },
): Promise<number> {
  const message = {
    ...{ shop, order: number, event: 'paid' as const, at, eventId: `unmatched:${id}`, customer },
    lines: [line],
  };
  const { lines } = await recordOrder(trx, message, { owner: null, ownOnly: false }, context);
  const issued = lines[0]?.licenses[0]?.license.id;
  if (issued === undefined)
    throw conflict(
      `Its order issues no licence: ${lines[0]?.reason ?? lines[0]?.action ?? ''}.`,
      'other-order',
      id,
    );
  return issued;
}
