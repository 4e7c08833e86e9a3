import { createHash } from 'node:crypto';
import { formatTimestamp } from '../base/days';
import { OperatorError } from '../licensing/operator-error';
import { asStorable } from '../licensing/timestamps';
import { MAX_LABEL_LENGTH } from '../licensing/core/columns';
import type { Db } from '../store/engine/database';
import { isUnavailable, isWrongValue, reasonCode } from '../store/engine/errors';
import { tellProfile } from '../store/customer-profiles';
import { findOrder, listOrderEvents } from '../store/orders/orders';
import {
  findLink,
  keepLink,
  keepMessage,
  listAwaiting,
  setMessage,
  type ShopLink,
  type ShopMessage,
} from '../store/orders/shop-messages';
import { findShop } from '../store/orders/shops';
import { inReadCommitted } from '../store/engine/transaction';
import { MAX_LINES, requireExactText, type LineMessage, type OrderMessage } from './message';
import { linkDigest, messageDigest, orderDigest } from './names';
import type { Link, ParsedMessage, ParsedEvent } from './parsed-message';
import { nameOrderCustomer, recordOrder, type RecordContext, type Recorded } from './record';
import { followMessage } from './unmatched';

/**
 * What becomes of a receiver's message. Messages come in any order, twice, and at once: each is kept first, then what it
 * waits for is looked up; each link is kept first, then what waits for it. So one of the two finds the other, and doing a
 * thing twice changes nothing.
 */

/** order: it is an event of an order; unmatched: nothing is known yet of what it names; refused: it cannot be one. */
export const MESSAGE_RESULTS = ['order', 'noted', 'unmatched', 'refused'] as const;
export type MessageResult = (typeof MESSAGE_RESULTS)[number];

export interface Received {
  result: MessageResult;
  /** why nothing was done */
  reason: string | null;
  recorded: Recorded | undefined;
}

/** What is to be done once a link is there. */
type Pending =
  | { event: StoredEvent; also?: StoredEvent[]; of: string; refunded?: number | undefined }
  /** what it is once somebody has said which licence it is about */
  | { event: StoredEvent; number: string }
  /** the order needs the address of this customer */
  | { order: string; customerId: string };

/** As JSON keeps it. */
type StoredEvent = Omit<ParsedEvent, 'order' | 'at' | 'lines'> & {
  at: string;
  lines?: (Omit<LineMessage, 'paidUntil'> & { paidUntil?: string })[] | undefined;
};

/** @throws OperatorError when the sender's event cannot be recorded; the message is kept as refused */
export async function receive(
  db: Db,
  shop: string,
  { id, type, note, unmatched = false, meant, event: told, also: toldToo = [], links = [] }: ParsedMessage,
  given: Omit<RecordContext, 'actor'>,
): Promise<Received> {
  const context = { ...given, actor: `shop:${shop}` };
  const mostLines = Math.max(...[told, meant, ...toldToo].map((one) => one?.lines?.length ?? 0));
  if (mostLines > MAX_LINES || links.length > MAX_LINKS) {
    const reason = `It has more than ${MAX_LINES} lines, or ${MAX_LINKS} ids.`;
    await keepRefused(db, shop, { id, type, reason }, context.now);
    throw new OperatorError(reason, { code: 'INVALID_REQUEST', field: 'lines' });
  }
  const event = told && asStored(told, context.now);
  const also = toldToo.map((one) => asStored(one, context.now));
  const waiting = event && toPending(event, also);
  const pending = waiting ?? (meant && toMeant(asStored(meant, context.now)));
  const first: Omit<ShopMessage, 'id'> = {
    shop,
    digest: messageDigest(shop, id),
    type: type.slice(0, MAX_TYPE),
    receivedAt: context.now,
    result: event === undefined && !unmatched ? 'noted' : event && !waiting ? 'order' : 'unmatched',
    reason: note ?? null,
    orderId: null,
    awaits: waiting === undefined ? null : linkDigest(shop, waiting.of),
    pendingJson: pending === undefined ? null : JSON.stringify(pending),
  };
  const kept = await keepMessage(db, first);
  // Its sender repeats it: what refused it may be mended.
  const message = kept.result === 'refused' ? await keepAgain(db, kept, first) : kept;
  const failures: unknown[] = [];
  const take = async (): Promise<Received> => {
    const stored = links.map((link) => toStored(shop, link, context.now));
    for (const link of stored) await keepLink(db, link);
    // Before the mail that the address lets go.
    for (const link of links) if ('email' in link) await tellLanguage(db, shop, link, context.now);
    const awaiting = await listAwaiting(
      db,
      stored.map(({ digest }) => digest),
    );
    const found = await settleAll(db, awaiting, context, failures);
    if (event === undefined) {
      if (unmatched) await followMessage(db, message, true);
      return { result: unmatched ? 'unmatched' : 'noted', reason: note ?? null, recorded: undefined };
    }
    if (waiting !== undefined) {
      const settled = await settle(db, message, context);
      const test = event.test === true;
      if (settled.result === 'unmatched' && !test) await followMessage(db, message, true);
      return settled;
    }
    const { order: named, customerId, mayRepeat = false, ...others } = event;
    const { number: order } = named as { number: string };
    if (mayRepeat && (await isPaid(db, shop, order, others.eventId))) {
      // Of a subscription, it tells until when the line is paid, and which item it is.
      const first = others.lines?.filter((line) => line.first);
      if (first !== undefined && first.length > 0)
        await record(db, { ...others, lines: first, customer: others.customer, shop, order }, context);
      await setMessage(db, message.id, { result: 'noted', reason: 'first_payment' });
      return { result: 'noted', reason: 'first_payment', recorded: undefined };
    }
    // A payment is older than its refund, also when it has no time of its own, and when it comes again after it.
    const at = found.reduce(earlier, earlier(event.at, message.receivedAt));
    const address = customerId === undefined ? undefined : await findAddress(db, shop, customerId);
    const customer = others.customer ?? (address === undefined ? undefined : { email: address });
    const recorded = await record(db, { ...others, at, customer, shop, order }, context);
    for (const { order: _, mayRepeat: __, customerId: ___, ...change } of also)
      await record(
        db,
        { ...change, at: earlier(change.at, at), eventId: beside(others, change, id), shop, order },
        context,
      );
    const result: MessageResult = unmatched ? 'unmatched' : 'order';
    await setMessage(db, message.id, {
      result,
      reason: unmatched ? (note ?? null) : null,
      orderId: recorded.order.id,
    });
    if (customerId !== undefined && customer === undefined)
      await awaitAddress(db, message, { order, customerId }, context);
    return { result, reason: unmatched ? (note ?? null) : null, recorded };
  };
  const received = await take().catch(async (error: unknown) => {
    if (isMessagesFault(error)) await refuse(db, message, error);
    throw error;
  });
  // It comes again, and with it what waited for its links.
  if (failures.length > 0) throw failures[0];
  return received;
}

/** Reports whether the same message would fail again. Other errors may pass: then its sender must repeat it. */
function isMessagesFault(error: unknown): boolean {
  return error instanceof OperatorError || isWrongValue(error);
}

async function keepAgain(
  db: Db,
  { id, orderId }: ShopMessage,
  { result, reason, awaits, pendingJson, ...first }: Omit<ShopMessage, 'id'>,
): Promise<ShopMessage> {
  await setMessage(db, id, { result, reason, awaits, pendingJson });
  return { ...first, result, reason, awaits, pendingJson, id, orderId };
}

/** An event whose times and amounts the database can hold: others count as missing, a later end as the latest one. */
function asStored({ at, order, lines, ...event }: ParsedEvent, now: Date): ParsedEvent {
  return {
    ...event,
    at: earlier(at, now),
    order: 'of' in order ? { ...order, refunded: asAmount(order.refunded) } : order,
    lines: lines?.map((line) => ({ ...line, paidUntil: line.paidUntil && asStorable(line.paidUntil) })),
  };
}

/** In hundredths; the column has no sign. */
function asAmount(amount: number | undefined): number | undefined {
  return Number.isSafeInteger(amount) && Number(amount) >= 0 ? amount : undefined;
}

/** Keeps that a signed message came which is not what its sender sends. */
export async function keepUnreadable(
  db: Db,
  shop: string,
  body: Buffer,
  reason: string,
  receivedAt: Date,
): Promise<void> {
  const id = createHash('sha256').update(body).digest('hex');
  await keepRefused(db, shop, { id, type: 'unreadable', reason }, receivedAt);
}

async function keepRefused(
  db: Db,
  shop: string,
  { id, type, reason }: { id: string; type: string; reason: string },
  receivedAt: Date,
): Promise<void> {
  await keepMessage(db, {
    shop,
    digest: messageDigest(shop, id),
    type: type.slice(0, MAX_TYPE),
    receivedAt,
    result: 'refused',
    reason: reason.slice(0, MAX_REASON),
    orderId: null,
    awaits: null,
    pendingJson: null,
  });
}

/** Whether another message has told of the order's payment, and nothing of it waits. */
async function isPaid(db: Db, shop: string, number: string, eventId: string | undefined): Promise<boolean> {
  const order = await findOrder(db, { digest: orderDigest(shop, number) });
  if (order === undefined || order.state === 'waiting') return false;
  const events = await listOrderEvents(db, order.id);
  return events.some((one) => one.event === 'paid' && one.eventId !== eventId);
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

function refuse(db: Db, { id }: ShopMessage, error: unknown): Promise<void> {
  // The message of another error may hold a statement with its values.
  const { message, field } =
    error instanceof OperatorError ? error : { message: `error ${reasonCode(error)}`, field: undefined };
  const reason = field === undefined ? message : `${field}: ${message}`;
  return setMessage(db, id, { result: 'refused', reason: reason.slice(0, MAX_REASON) });
}

/** An order's own id, and one for each of its lines; an invoice may have several payments. */
const MAX_LINKS = 2 * MAX_LINES;
const MAX_TYPE = 100;
const MAX_REASON = 190;

/** The name of what a message tells besides its own event. */
function beside(
  { eventId }: Pick<OrderMessage, 'eventId'>,
  { event, eventId: own }: Pick<OrderMessage, 'event' | 'eventId'>,
  id: string,
): string {
  // One of its own is that of another message, which may have come.
  return own !== undefined && own !== eventId ? own : `${eventId ?? id}:${event}`;
}

function toPending(
  { order, ...event }: ParsedEvent,
  also: ParsedEvent[],
): Extract<Pending, { of: string }> | undefined {
  if (!('of' in order)) return undefined;
  return {
    event: toStoredEvent(event),
    ...(also.length > 0 && { also: also.map(({ order: _, ...other }) => toStoredEvent(other)) }),
    ...order,
  };
}

function toMeant({ order, ...event }: ParsedEvent): Pending | undefined {
  return 'number' in order ? { event: toStoredEvent(event), number: order.number } : undefined;
}

function toStoredEvent(event: Omit<ParsedEvent, 'order'>): StoredEvent {
  const lines = event.lines?.map(({ paidUntil, ...line }) => ({
    ...line,
    ...(paidUntil !== undefined && { paidUntil: formatTimestamp(paidUntil) }),
  }));
  return { ...event, lines, at: formatTimestamp(event.at) };
}

function fromStoredEvent({ lines, at, ...event }: StoredEvent): Omit<ParsedEvent, 'order'> {
  return {
    ...event,
    at: new Date(at),
    lines: lines?.map(({ paidUntil, ...line }) => ({
      ...line,
      ...(paidUntil !== undefined && { paidUntil: new Date(paidUntil) }),
    })),
  };
}

/** @throws OperatorError when it leads to what cannot be stored */
function toStored(shop: string, link: Link, now: Date): Omit<ShopLink, 'id'> {
  const shared = { shop, digest: linkDigest(shop, link.key), paid: null, currency: null, createdAt: now };
  if ('order' in link) {
    const target = requireExactText(link.order, 'order');
    return { ...shared, kind: 'order', target, paid: asAmount(link.paid) ?? null };
  }
  if ('other' in link)
    return { ...shared, kind: 'key', target: requireExactText(link.other, 'id', MAX_LABEL_LENGTH) };
  return { ...shared, kind: 'customer', target: link.email, createdAt: earlier(link.at, now) };
}

/** What a customer reads, where the sender tells it with the address and no order does. A test's customer is nobody. */
async function tellLanguage(
  db: Db,
  shop: string,
  { email, language, at }: Extract<Link, { email: string }>,
  now: Date,
): Promise<void> {
  if (language === undefined || (await findShop(db, shop))?.isTest) return;
  await inReadCommitted(db, (trx) => tellProfile(trx, email, { language }, earlier(at, now)));
}

/**
 * @param failures gets the errors that may pass, of messages that wait still
 * @returns when the events that waited happened
 */
async function settleAll(
  db: Db,
  messages: ShopMessage[],
  context: RecordContext,
  failures: unknown[],
): Promise<Date[]> {
  const times: Date[] = [];
  for (const message of messages) {
    const pending = pendingOf(message);
    if (pending === null) continue;
    try {
      const { result } = await settle(db, message, context);
      if (result === 'order' && 'of' in pending) times.push(new Date(pending.event.at));
    } catch (error) {
      // The message that brought the link is not at fault, unless the database is away: then the sender repeats it.
      if (isUnavailable(error)) throw error;
      if (isMessagesFault(error)) await refuse(db, message, error);
      else failures.push(error);
    }
  }
  return times;
}

function pendingOf({ pendingJson }: ShopMessage): Pending | null {
  return JSON.parse(pendingJson ?? 'null') as Pending | null;
}

/** Does what a message waited for, if what it names is known by now. */
async function settle(db: Db, message: ShopMessage, context: RecordContext): Promise<Received> {
  const pending = pendingOf(message);
  const { shop, result, reason } = message;
  const asBefore: Received = { result: result as MessageResult, reason, recorded: undefined };
  if (pending === null) return asBefore;
  if ('customerId' in pending) {
    await nameCustomer(db, message, pending, context);
    return asBefore;
  }
  if ('number' in pending) return asBefore;
  const found = await resolve(db, message, pending.of);
  if (found === undefined) return asBefore;
  const { link, key } = found;
  const event = fromStoredEvent(pending.event);
  const order = link.target ?? '';
  // The payment's name is that which its order was paid by: an invoice, where it has one.
  const told = { ...event, payment: event.payment ?? key, shop, order };
  const partial = isPart(pending.refunded, link.paid) || undefined;
  const recorded = await record(db, { ...told, partial: told.partial ?? partial }, context);
  for (const stored of pending.also ?? []) {
    const change = fromStoredEvent(stored);
    await record(db, { ...change, eventId: beside(event, change, message.digest), shop, order }, context);
  }
  await followMessage(db, message, false);
  await setMessage(db, message.id, {
    result: 'order',
    orderId: recorded.order.id,
    awaits: null,
    pendingJson: null,
  });
  return { result: 'order', reason: null, recorded };
}

function isPart(refunded: number | undefined, paid: number | null): boolean {
  return refunded !== undefined && paid !== null && refunded < paid;
}

/** From a payment to its invoice to its order. */
const MAX_STEPS = 4;

/** What a message waits to tell. */
export interface PendingEvent {
  event: Omit<ParsedEvent, 'order'>;
  also: Omit<ParsedEvent, 'order'>[];
  /** what it names, as far as links lead */
  names: string;
  /** it names the order by its number */
  namesOrder: boolean;
}

/** What a message that found nothing tells, with the payment and the customer that are known of it. */
export async function readPending(db: Db, message: ShopMessage): Promise<PendingEvent | undefined> {
  const pending = pendingOf(message);
  if (pending === null || 'customerId' in pending) return undefined;
  const { customerId, customer, ...event } = fromStoredEvent(pending.event);
  const address =
    customer === undefined && customerId !== undefined
      ? await findAddress(db, message.shop, customerId)
      : undefined;
  const named = { ...event, customer: address === undefined ? customer : { email: address } };
  if ('number' in pending) return { event: named, also: [], names: pending.number, namesOrder: true };
  let key = pending.of;
  for (let step = 0; step < MAX_STEPS; step++) {
    const link = await findLink(db, linkDigest(message.shop, key));
    if (link?.kind !== 'key' || link.target === null) break;
    key = link.target;
  }
  const also = (pending.also ?? []).map((stored) => {
    const change = fromStoredEvent(stored);
    return { ...change, eventId: beside(event, change, message.digest) };
  });
  return { event: { ...named, payment: event.payment ?? key }, also, names: key, namesOrder: false };
}

/** Keeps that something is of an order, and does what waits for it. */
export async function linkWaiting(
  db: Db,
  shop: string,
  link: { key: string; order: string },
  context: RecordContext,
): Promise<void> {
  const stored = toStored(shop, link, context.now);
  await keepLink(db, stored);
  const failures: unknown[] = [];
  await settleAll(db, await listAwaiting(db, [stored.digest]), context, failures);
  if (failures.length > 0) throw failures[0];
}

/** Follows links to an order. Where they end, the message waits. */
async function resolve(
  db: Db,
  message: ShopMessage,
  named: string,
): Promise<{ link: ShopLink; key: string } | undefined> {
  let key = named;
  for (let step = 0; step < MAX_STEPS; step++) {
    const link = await findLink(db, linkDigest(message.shop, key));
    if (link?.kind === 'order') return { link, key };
    if (link?.kind !== 'key') return undefined;
    key = link.target ?? '';
    const digest = linkDigest(message.shop, key);
    await setMessage(db, message.id, { awaits: digest });
  }
  return undefined;
}

function record(db: Db, message: OrderMessage, context: RecordContext): Promise<Recorded> {
  return recordOrder(db, message, { owner: null, ownOnly: false }, context);
}

async function findAddress(db: Db, shop: string, customerId: string): Promise<string | undefined> {
  return (await findLink(db, linkDigest(shop, customerId)))?.target ?? undefined;
}

async function awaitAddress(
  db: Db,
  message: ShopMessage,
  pending: Extract<Pending, { customerId: string }>,
  context: RecordContext,
): Promise<void> {
  const awaits = linkDigest(message.shop, pending.customerId);
  await setMessage(db, message.id, { awaits, pendingJson: JSON.stringify(pending) });
  await nameCustomer(db, message, pending, context);
}

async function nameCustomer(
  db: Db,
  { id, shop }: ShopMessage,
  { order, customerId }: Extract<Pending, { customerId: string }>,
  context: RecordContext,
): Promise<void> {
  const email = await findAddress(db, shop, customerId);
  if (email === undefined) return;
  await nameOrderCustomer(db, { shop, order }, { email }, context);
  await setMessage(db, id, { awaits: null, pendingJson: null });
}
