import { requirePlan } from '../licensing/find-or-throw';
import { OperatorError } from '../licensing/operator-error';
import type { Db, Transaction } from '../store/engine/database';
import { inReadCommitted } from '../store/engine/transaction';
import { findLicense } from '../store/licenses/licenses';
import {
  findOrder,
  findOrdersOfLicenses,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  lockOrder,
  type Order,
} from '../store/orders/orders';
import { findMessage, setMessage } from '../store/orders/shop-messages';
import {
  closeUnmatched,
  findUnmatched,
  setUnmatchedLicense,
  type Unmatched,
} from '../store/orders/unmatched';
import { applyDecision } from './apply';
import {
  decideUnmatched,
  FIRST_LINE,
  GIVES_BACK,
  type ActRefusal,
  type UnmatchedAct,
} from './decide-unmatched';
import { loadOrderFacts, type RecordContext } from './facts';
import { orderDigest } from './names';
import { orderNotFoundError, requireShopOf } from './process';
import { awaitAddress, linkWaiting, readPending, type PendingEvent } from './inbox';
import { recordOrder } from './record';

/**
 * Resolves money that matched nothing, as the seller decided. Each action takes effect once; a repeated call returns
 * its result. A message first becomes an event of an order, so that the rest only concerns orders.
 */

const STATES = { assign: 'assigned', issue: 'issued', leave: 'left' } as const;
const POSTER = { owner: null, ownOnly: false };

/**
 * Resolves an unmatched event: its order renews a licence from now on, or it issues a licence for the customer that the
 * shop named, or nothing changes.
 * @throws OperatorError: NOT_FOUND; CONFLICT if it is already resolved differently, has no payment, or has another licence
 */
export async function settleUnmatched(
  db: Db,
  id: number,
  act: UnmatchedAct,
  context: RecordContext,
): Promise<Unmatched> {
  const seen = await findUnmatched(db, id);
  if (seen === undefined) throw noUnmatched(id);
  return inReadCommitted(db, async (trx) => {
    // Lock the order first, like all code that locks both.
    if (seen.orderId !== null) await lockOrder(trx, seen.orderId);
    const state = STATES[act.type];
    const isOpen = await closeUnmatched(trx, id, { state, actedBy: context.actor, actedAt: context.now });
    const one = await findUnmatched(trx, id);
    if (one === undefined) throw noUnmatched(id);
    if (!isOpen) {
      if (one.state === state && (await isSame(trx, one, act))) return one;
      throw conflict('It has already been handled in another way.', 'unmatched-done', id);
    }
    const licenseId = await settleIn(trx, one, act, context);
    if (licenseId !== null) await setUnmatchedLicense(trx, id, licenseId);
    return (await findUnmatched(trx, id)) ?? one;
  });
}

async function isSame(trx: Transaction, { licenseId }: Unmatched, act: UnmatchedAct): Promise<boolean> {
  if (act.type === 'leave') return true;
  if (act.type === 'assign') return licenseId === act.licenseId;
  return licenseId !== null && (await findLicense(trx, licenseId))?.plan.id === act.planId;
}

/** Applies the action. @returns the licence that the money belongs to */
async function settleIn(
  trx: Transaction,
  one: Unmatched,
  act: UnmatchedAct,
  context: RecordContext,
): Promise<number | null> {
  if (act.type === 'issue') await requirePlan(trx, act.planId);
  if (act.type === 'assign' && (await findLicense(trx, act.licenseId)) === undefined)
    throw new OperatorError(`There is no licence ${act.licenseId}.`, {
      code: 'NOT_FOUND',
      field: 'license_id',
    });
  if (act.type === 'leave') {
    if (one.orderId !== null) await decideIn(trx, one, one.orderId, act, context);
    return null;
  }
  const told = one.orderId === null ? await readTold(trx, one) : undefined;
  if (act.type === 'issue' && GIVES_BACK.has(told?.event.event ?? one.event))
    throw conflict('It returns money, so no licence can be issued for it.', 'pays-nothing', one.id);
  if (act.type === 'issue' && one.orderId === null && (told === undefined || told.namesOrder))
    return issueAlone(trx, one, told, act.planId, context);
  const licenseId = act.type === 'assign' ? act.licenseId : undefined;
  const orderId = one.orderId ?? (told && (await toOrder(trx, one, told, context, licenseId)));
  return orderId === undefined ? (licenseId ?? null) : decideIn(trx, one, orderId, act, context);
}

async function decideIn(
  trx: Transaction,
  one: Unmatched,
  orderId: number,
  act: UnmatchedAct,
  context: RecordContext,
): Promise<number | null> {
  const order = await lockOrder(trx, orderId);
  if (order === undefined) throw orderNotFoundError();
  const shop = await requireShopOf(trx, order.shop, context.now);
  const plans = act.type === 'issue' ? [act.planId] : [];
  const licenses = act.type === 'assign' ? [act.licenseId] : [];
  const facts = await loadOrderFacts(trx, order, { shop, plans, licenses }, context);
  const decision = decideUnmatched(facts, one, act);
  if ('message' in decision) throw refusalOf(decision, one.id, licenses[0]);
  const { idOf } = await applyDecision(trx, decision, context);
  return decision.license === null ? null : idOf(decision.license);
}

function refusalOf({ message, reason }: ActRefusal, unmatched: number, license = 0): OperatorError {
  return reason === 'license-final'
    ? new OperatorError(message, { code: 'CONFLICT', facts: { reason, license } })
    : conflict(message, reason, unmatched);
}

function noUnmatched(id: number): OperatorError {
  return new OperatorError(`There is no unmatched event ${id}. The missing part may have arrived.`, {
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

/** Returns the event of the message; undefined if it does not refer to anything. */
async function readTold(trx: Transaction, { messageId }: Unmatched): Promise<PendingEvent | undefined> {
  const message = messageId === null ? undefined : await findMessage(trx, messageId);
  return message && (await readPending(trx, message));
}

/**
 * Makes a message an event of the licence's own order in this shop, or of a new order. Other messages that name the
 * same payment or subscription then belong to this order too. @returns the order's id
 */
async function toOrder(
  trx: Transaction,
  { shop, messageId }: Unmatched,
  { event, also, names, namesOrder }: PendingEvent,
  context: RecordContext,
  licenseId?: number,
): Promise<number> {
  const own = licenseId === undefined || namesOrder ? undefined : await ownOrder(trx, shop, licenseId);
  const number = own?.number ?? names;
  const digest = orderDigest(shop, number);
  const found = await findOrder(trx, { digest });
  const links = found === undefined ? [] : await listOrderLicenses(trx, [found.id]);
  const known = found === undefined ? [] : await listOrderEvents(trx, found.id);
  const of = links.filter((link) => link.licenseId === licenseId).map(({ lineId }) => lineId);
  const named = found && licenseId !== undefined ? await listOrderLines(trx, [found.id]) : undefined;
  const ownLines = named?.filter((line) => of.includes(line.id)).map(({ line }) => ({ line }));
  const message = { ...event, shop, order: number, lines: event.lines ?? ownLines };
  // The seller names the order, so a refund of an unknown payment is for all its payments.
  const isRefund = event.event === 'refunded' || event.event === 'refund_failed';
  if (isRefund && found !== undefined && !known.some((one) => one.payment === event.payment))
    message.payment = undefined;
  await recordOrder(trx, message, POSTER, context);
  for (const one of also) await recordOrder(trx, { ...one, shop, order: number }, POSTER, context);
  const order = await findOrder(trx, { digest });
  if (order === undefined) throw orderNotFoundError();
  await closeMessage(trx, messageId as number, order, event.customerId, context);
  if (!namesOrder) await linkWaiting(trx, shop, { key: names, order: number }, context);
  return order.id;
}

/** Stores that a message is an event of an order. An order without an address then waits for its customer's address. */
async function closeMessage(
  trx: Transaction,
  id: number,
  { id: orderId, number: order, customer }: Order,
  customerId: string | undefined,
  context: RecordContext,
): Promise<void> {
  await setMessage(trx, id, { result: 'order', reason: null, orderId, awaits: null, pendingJson: null });
  const message = customer === null ? await findMessage(trx, id) : undefined;
  if (message !== undefined && customerId !== undefined)
    await awaitAddress(trx, message, { order, customerId }, context);
}

/** Returns the order of the shop that issued the licence, otherwise one that renews it. */
async function ownOrder(trx: Transaction, shop: string, licenseId: number) {
  const orders = (await findOrdersOfLicenses(trx, [licenseId])).filter(
    (one) => one.shop === shop && !one.isTest,
  );
  return orders.find(({ role }) => role === 'issued') ?? orders[0];
}

/** Issues a licence for a message without an order. */
async function issueAlone(
  trx: Transaction,
  one: Unmatched,
  told: PendingEvent | undefined,
  planId: number,
  context: RecordContext,
): Promise<number> {
  const order = told?.event.payment ?? told?.names ?? `message-${one.messageId}`;
  const { order: made, lines } = await recordOrder(
    trx,
    {
      shop: one.shop,
      order,
      event: 'paid',
      at: told?.event.at ?? one.at,
      eventId: `unmatched:${one.id}`,
      customer: told?.event.customer,
      money: told?.event.money,
      lines: [{ line: FIRST_LINE, planId }],
    },
    POSTER,
    context,
  );
  const issued = lines[0]?.licenses[0]?.license.id;
  if (issued === undefined)
    throw conflict(`Its order issues no licence: ${lines[0]?.reason ?? ''}.`, 'other-order', one.id);
  await closeMessage(trx, one.messageId as number, made, told?.event.customerId, context);
  return issued;
}
