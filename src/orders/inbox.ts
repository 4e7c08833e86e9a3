import { createHash } from 'node:crypto';
import { minorDigits } from '../base/currency';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { isUnavailable, isWrongValue, reasonCode } from '../store/engine/errors';
import { saveProfile } from '../store/customer-profiles';
import { findOrder, listOrderEvents } from '../store/orders/orders';
import {
  findLink,
  findMessageBy,
  insertLinkOnce,
  insertMessageOnce,
  listAwaitingMessages,
  setMessage,
  type ShopLink,
  type ShopMessage,
} from '../store/orders/shop-messages';
import { findShop } from '../store/orders/shops';
import { inReadCommitted } from '../store/engine/transaction';
import { fitMessage, type FitEvent } from './bounds';
import { editsOf } from './edited-order';
import type { Money, OrderMessage } from './message';
import { linkDigest, messageDigest, orderDigest } from './names';
import type { IdLink, ParsedMessage } from './parsed-message';
import { nameOrderCustomer, recordOrder, type RecordContext, type Recorded } from './record';
import { followMessage } from './unmatched';

/**
 * The inbox of receivers' webhooks. Messages arrive in any order, repeatedly and in parallel. A message is stored
 * before the link that it waits for is looked up, and a link is stored before the messages that wait for it are looked
 * up. So one of the two always finds the other, and each step is idempotent.
 */

/**
 * The results of a message. order: it is an event of an order. unmatched: the order that it refers to is unknown.
 * queued: a job will process it. unreadable: it contains no order. refused: an earlier version could not store it.
 */
export const MESSAGE_RESULTS = ['order', 'noted', 'unmatched', 'queued', 'unreadable', 'refused'] as const;
export type MessageResult = (typeof MESSAGE_RESULTS)[number];

export interface Received {
  result: MessageResult;
  /** the reason for doing nothing, or a note about data that the sender left out */
  reason: string | null;
  recorded: Recorded | undefined;
  /** false for a repeated message */
  isNew: boolean;
}

type Became = Omit<Received, 'isNew'>;

/** An event whose order is passed separately. */
type Told = Omit<FitEvent, 'order'>;

/** The work that a message waits to do. */
type Pending =
  /** An event of the order behind the id `of`. `refunded` is from an earlier version, in hundredths of the currency. */
  | { event: Told; also?: Told[]; of: string; refunded?: number | undefined }
  /** An event that a seller has to assign to a licence. */
  | { event: Told; number: string }
  /** An order that needs the address of this customer. */
  | { order: string; customerId: string }
  /** A message that a job parses again. */
  | { delivery: StoredDelivery };

/** A body with the headers that its adapter reads. */
export interface StoredDelivery {
  body: string;
  headers: Record<string, string>;
}

/**
 * Processes a message. If the message itself is at fault, it is stored as `unreadable`.
 * @throws an error that may be temporary
 */
export async function receive(
  db: Db,
  shop: string,
  parsed: ParsedMessage,
  given: Omit<RecordContext, 'actor'>,
): Promise<Received> {
  const context = { ...given, actor: `shop:${shop}` };
  const {
    id,
    type,
    note,
    unmatched = false,
    missing,
    meant,
    event,
    also,
    links,
  } = fitMessage(parsed, context.now);
  const reason = missing === undefined ? (note ?? null) : `${note}:${missing}`;
  const waiting = event && toPending(event, also);
  const pending = waiting ?? (meant && toMeant(meant));
  const isNoted = event === undefined ? !unmatched : waiting !== undefined && event.isQuiet;
  const result = isNoted ? 'noted' : event && !waiting ? 'order' : 'unmatched';
  const first = newMessage(shop, id, { type, result, reason, receivedAt: context.now }, pending);
  const former = parsed.formerId && (await findFormer(db, first, parsed.formerId));
  const { kept, isNew } = former ? { kept: former, isNew: false } : await insertMessageOnce(db, first);
  // Store its state again, because it is repeated by its sender or by a job.
  const message = UNDONE.has(kept.result) ? await keepAgain(db, kept, first) : kept;
  const failures: unknown[] = [];
  const take = async (): Promise<Became> => {
    const told = [...links, ...addressOf(event, context.now)];
    const stored = told.map((link) => toStored(shop, link, context.now));
    for (const link of stored) await insertLinkOnce(db, link);
    // Before the mail that the address makes possible.
    for (const link of told) if ('email' in link) await tellLanguage(db, shop, link, context.now);
    const awaiting = await listAwaitingMessages(
      db,
      stored.map(({ digest }) => digest),
    );
    const found = await settleAll(db, awaiting, context, failures);
    if (event === undefined) {
      if (unmatched) await followMessage(db, message, true);
      return { result: unmatched ? 'unmatched' : 'noted', reason, recorded: undefined };
    }
    if (waiting !== undefined) {
      const settled = await settle(db, message, context);
      if (settled.result === 'unmatched' && event.test !== true) await followMessage(db, message, true);
      return settled;
    }
    const { number, leads } = event.order as { number: string; leads?: true };
    const order = leads ? ((await follow(db, shop, number)).link?.target ?? number) : number;
    if (event.mayRepeat && (await isPaid(db, shop, order, event.eventId))) {
      // From a subscription's second message, only take the paid-through date and the ids of the line.
      const lines = event.lines?.filter((line) => line.first);
      if (lines !== undefined && lines.length > 0)
        await record(db, message, { ...event, lines }, order, context);
      await setMessage(db, message.id, { result: 'noted', reason: 'first_payment' });
      return { result: 'noted', reason: 'first_payment', recorded: undefined };
    }
    // Date the payment before its refund, even if the payment has no time of its own or arrives after the refund.
    const at = found.reduce(earlier, earlier(event.at, message.receivedAt));
    const edits = event.editedAt === undefined ? [] : await editsOf(db, shop, order, event, event.editedAt);
    const recorded = await record(db, message, { ...event, at }, order, context);
    for (const one of [...also, ...(edits ?? [])])
      await record(
        db,
        message,
        { ...one, at: earlier(one.at, context.now), eventId: beside(event, one, id) },
        order,
        context,
      );
    const isOpen = unmatched || edits === undefined;
    const result: MessageResult = isOpen ? 'unmatched' : 'order';
    const why = edits === undefined ? 'differs' : reason;
    await setMessage(db, message.id, { result, reason: why, orderId: recorded.order.id });
    await awaitCustomer(db, message, event, recorded, context);
    if (isOpen && event.test !== true) await followMessage(db, { ...message, reason: why }, true);
    return { result, reason: why, recorded };
  };
  const became = await take().catch(async (error: unknown) => {
    if (!isMessagesFault(error)) throw error;
    return { result: 'unreadable' as const, reason: await refuse(db, message, error), recorded: undefined };
  });
  // Fail, so that this message is repeated and the messages that waited for its links are tried again.
  if (failures.length > 0) throw failures[0];
  return { ...became, isNew };
}

/** Returns the message as an earlier version stored it, if it is not processed and not the message of another event. */
async function findFormer(
  db: Db,
  { shop, pendingJson }: Omit<ShopMessage, 'id'>,
  formerId: string,
): Promise<ShopMessage | undefined> {
  const found = await findMessageBy(db, messageDigest(shop, formerId));
  const linesOf = (json: string | null) =>
    JSON.stringify((JSON.parse(json ?? '{}') as { event?: Told }).event?.lines);
  return found?.orderId === null && linesOf(found.pendingJson) === linesOf(pendingJson) ? found : undefined;
}

const UNDONE: ReadonlySet<string> = new Set<MessageResult>(['queued', 'unreadable', 'refused']);

/** Reports whether the same message would fail again. After other errors, a job tries it again. */
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

/** Links a customer's id to the address, for all orders of this customer. A test message does not do this. */
function addressOf(event: FitEvent | undefined, now: Date): IdLink[] {
  const { customerId, customer, test } = event ?? {};
  if (event === undefined || customerId === undefined || customer === undefined || test === true) return [];
  return [{ key: customerId, email: customer.email, at: earlier(event.at, now) }];
}

/** Returns the row of a new message. @param id the sender's id, or a replacement for it */
function newMessage(
  shop: string,
  id: string,
  told: Pick<ShopMessage, 'type' | 'result' | 'reason' | 'receivedAt'>,
  pending: Pending | undefined,
): Omit<ShopMessage, 'id'> {
  return {
    ...told,
    shop,
    digest: messageDigest(shop, id),
    type: told.type.slice(0, MAX_TYPE),
    orderId: null,
    awaits: pending !== undefined && 'of' in pending ? linkDigest(shop, pending.of) : null,
    pendingJson: pending === undefined ? null : JSON.stringify(pending),
  };
}

/** Stores that a signed message without an order arrived, because the seller cannot see the sender's log. */
export async function keepUnreadable(
  db: Db,
  shop: string,
  body: Buffer,
  fault: string,
  receivedAt: Date,
): Promise<Received> {
  const told = { result: 'unreadable', reason: fault.slice(0, MAX_REASON) } as const;
  const id = createHash('sha256').update(body).digest('hex');
  const first = newMessage(shop, id, { ...told, type: 'unreadable', receivedAt }, undefined);
  const { isNew } = await insertMessageOnce(db, first);
  return { ...told, recorded: undefined, isNew };
}

/** Stores a body for a job (queue.ts). @param id the id of the message, or of a list of messages */
export async function keepQueued(
  db: Db,
  { shop, id, type, reason }: { shop: string; id: string; type: string; reason: string },
  delivery: StoredDelivery,
  receivedAt: Date,
): Promise<Received> {
  const told = { result: 'queued', reason } as const;
  const first = newMessage(shop, id, { ...told, type, receivedAt }, { delivery });
  const { kept } = await insertMessageOnce(db, first);
  await keepAgain(db, kept, first);
  return { ...told, recorded: undefined, isNew: kept.result !== 'queued' };
}

/** Reports whether another message has reported the order's payment, and no line of the order waits. */
async function isPaid(db: Db, shop: string, number: string, eventId: string | undefined): Promise<boolean> {
  const order = await findOrder(db, { digest: orderDigest(shop, number) });
  if (order === undefined || order.state === 'waiting') return false;
  const events = await listOrderEvents(db, order.id);
  return events.some((one) => one.event === 'paid' && one.eventId !== eventId);
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

async function refuse(db: Db, { id }: ShopMessage, error: unknown): Promise<string> {
  // Log only a code for other errors, whose message may contain a statement with its values.
  const { message, field } =
    error instanceof OperatorError ? error : { message: `error ${reasonCode(error)}`, field: undefined };
  const reason = (field === undefined ? message : `${field}: ${message}`).slice(0, MAX_REASON);
  await setMessage(db, id, { result: 'unreadable', reason });
  return reason;
}

const MAX_TYPE = 100;
const MAX_REASON = 190;

/** Returns the id of a further event in a message. */
function beside(
  { eventId }: Pick<OrderMessage, 'eventId'>,
  { event, eventId: own }: Pick<OrderMessage, 'event' | 'eventId'>,
  id: string,
): string {
  // Keep an id of its own, because another message may report the same event.
  return own !== undefined && own !== eventId ? own : `${eventId ?? id}:${event}`;
}

function toPending(
  { order, ...event }: FitEvent,
  also: FitEvent[],
): Extract<Pending, { of: string }> | undefined {
  if (!('of' in order)) return undefined;
  return { event, also: also.map(({ order: _, ...other }) => other), of: order.of };
}

function toMeant({ order, ...event }: FitEvent): Pending | undefined {
  return 'number' in order ? { event, number: order.number } : undefined;
}

function toStored(shop: string, link: IdLink, now: Date): Omit<ShopLink, 'id'> {
  const shared = { shop, digest: linkDigest(shop, link.key), paid: null, currency: null, createdAt: now };
  if ('order' in link) {
    const { amount = null, currency = null } = link.paid ?? {};
    return { ...shared, kind: 'order', target: link.order, paid: amount, currency };
  }
  if ('other' in link) return { ...shared, kind: 'key', target: link.other };
  return { ...shared, kind: 'customer', target: link.email, createdAt: earlier(link.at ?? now, now) };
}

/** Stores the customer's language, if the sender links it to an address without an order. A test message does not do this. */
async function tellLanguage(
  db: Db,
  shop: string,
  { email, language, at }: Extract<IdLink, { email: string }>,
  now: Date,
): Promise<void> {
  if (language === undefined || (await findShop(db, shop))?.isTest) return;
  await inReadCommitted(db, (trx) => saveProfile(trx, email, { language }, earlier(at ?? now, now)));
}

/**
 * Processes messages that waited for a link. @returns the times of the events that waited
 * @param failures receives the temporary errors of messages that continue to wait
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
      if (result === 'order' && 'of' in pending) times.push(pending.event.at);
    } catch (error) {
      // Do not fail the message with the link, unless the database is unavailable: then its sender repeats it.
      if (isUnavailable(error)) throw error;
      if (isMessagesFault(error)) await refuse(db, message, error);
      else failures.push(error);
    }
  }
  return times;
}

function pendingOf({ pendingJson }: ShopMessage): Pending | null {
  return JSON.parse(pendingJson ?? 'null', (name, value: unknown) =>
    (name === 'at' || name === 'paidUntil') && typeof value === 'string' ? new Date(value) : value,
  ) as Pending | null;
}

/** Returns the further events of a message that waited, each with an id of its own. */
function besides({ event, also = [] }: Extract<Pending, { of: string }>, { digest }: ShopMessage): Told[] {
  return also.map((one) => ({ ...one, eventId: beside(event, one, digest) }));
}

/** Processes a message that waited, if its order is now known. */
async function settle(db: Db, message: ShopMessage, context: RecordContext): Promise<Became> {
  const pending = pendingOf(message);
  const { result, reason } = message;
  const asBefore: Became = { result: result as MessageResult, reason, recorded: undefined };
  if (pending === null) return asBefore;
  if ('customerId' in pending) {
    await nameCustomer(db, message, pending, context);
    return asBefore;
  }
  if (!('of' in pending)) return asBefore;
  const found = await resolve(db, message, pending.of);
  if (found === undefined) return asBefore;
  const { link, key } = found;
  const { event } = pending;
  const order = link.target ?? '';
  // Use the name of the payment that paid the order: its invoice, if it has one.
  const told = { ...event, payment: event.payment ?? key };
  const partial = isPart(told, pending.refunded, link);
  const recorded = await record(db, message, { ...told, partial: told.partial ?? partial }, order, context);
  for (const one of besides(pending, message)) await record(db, message, one, order, context);
  await followMessage(db, message, false);
  const done = { result: 'order', orderId: recorded.order.id, awaits: null, pendingJson: null };
  await setMessage(db, message.id, done);
  await awaitCustomer(db, message, told, recorded, context);
  return { result: 'order', reason: null, recorded };
}

/** Reports whether a refund is partial, if its payment was stored by an earlier version, in hundredths of any currency. */
function isPart(
  { event, money }: Pick<OrderMessage, 'event' | 'money'>,
  hundredths: number | undefined,
  { paid, currency }: Pick<ShopLink, 'paid' | 'currency'>,
): true | undefined {
  if (event !== 'refunded' || paid === null || currency !== null) return undefined;
  const refunded = hundredths ?? (money && inHundredths(money));
  return (refunded !== undefined && refunded < paid) || undefined;
}

function inHundredths({ amount, currency }: Money): number {
  return Math.round(amount * 10 ** (2 - minorDigits(currency)));
}

/** The maximum number of links to follow, such as from a payment to its invoice to its order. */
const MAX_STEPS = 4;

/** The event of a message that waits. */
export interface PendingEvent {
  /** with a `customerId` if the address may arrive later (`awaitAddress`) */
  event: Told;
  also: Told[];
  /** the id that the message refers to, after following all known links */
  names: string;
  /** true if the message refers to the order by its number */
  namesOrder: boolean;
}

/** Returns the event of a message that matched nothing, with the payment and customer as they are now known. */
export async function readPending(db: Db, message: ShopMessage): Promise<PendingEvent | undefined> {
  const pending = pendingOf(message);
  if (pending === null || 'customerId' in pending || 'delivery' in pending) return undefined;
  const { customer, ...event } = pending.event;
  const { customerId } = event;
  const address =
    customer === undefined && customerId !== undefined
      ? await findAddress(db, message.shop, customerId)
      : undefined;
  const named = { ...event, customer: address === undefined ? customer : { email: address } };
  if ('number' in pending) return { event: named, also: [], names: pending.number, namesOrder: true };
  const { key } = await follow(db, message.shop, pending.of);
  const paid = { ...named, payment: event.payment ?? key };
  return { event: paid, also: besides(pending, message), names: key, namesOrder: false };
}

/** Reports whether a sender's id is linked to something, for example a customer's id to an address. */
export async function knowsLink(db: Db, shop: string, key: string): Promise<boolean> {
  return (await findLink(db, linkDigest(shop, key))) !== undefined;
}

/** Links an id to an order, and processes the messages that waited for it. */
export async function linkWaiting(
  db: Db,
  shop: string,
  link: { key: string; order: string },
  context: RecordContext,
): Promise<void> {
  const stored = toStored(shop, link, context.now);
  await insertLinkOnce(db, stored);
  const failures: unknown[] = [];
  await settleAll(db, await listAwaitingMessages(db, [stored.digest]), context, failures);
  if (failures.length > 0) throw failures[0];
}

type OrderLink = Pick<ShopLink, 'target' | 'paid' | 'currency'>;

/** Follows links from an id to an order. If there is no such link yet, the message waits for the last id. */
async function resolve(
  db: Db,
  { id, shop }: ShopMessage,
  named: string,
): Promise<{ link: OrderLink; key: string } | undefined> {
  const { link, key } = await follow(db, shop, named);
  if (link !== undefined) return { link, key };
  if (key !== named) {
    await setMessage(db, id, { awaits: linkDigest(shop, key) });
    // Look again, because the link may have arrived before the message was set to wait for it.
    const next = await follow(db, shop, key);
    if (next.link !== undefined) return { link: next.link, key: next.key };
  }
  // If the id is also an order number, the order may exist without a link.
  const order = await findOrder(db, { digest: orderDigest(shop, key) });
  return order && { link: { target: key, paid: null, currency: null }, key };
}

/** Follows links from an id. @returns the link to an order, if one exists, and the last id before it */
async function follow(
  db: Db,
  shop: string,
  named: string,
): Promise<{ link: OrderLink | undefined; key: string }> {
  let key = named;
  for (let step = 0; step < MAX_STEPS; step++) {
    const link = await findLink(db, linkDigest(shop, key));
    if (link?.kind === 'order') return { link, key };
    if (link?.kind !== 'key') break;
    key = link.target ?? '';
  }
  return { link: undefined, key };
}

/** Records an event of an order, with the customer's address if it is known. */
async function record(
  db: Db,
  { shop }: ShopMessage,
  event: Told,
  order: string,
  context: RecordContext,
): Promise<Recorded> {
  const { customerId, mayRepeat: _, isQuiet: __, editedAt: ___, ...told } = event;
  delete (told as Partial<FitEvent>).order;
  const address = customerId === undefined ? undefined : await findAddress(db, shop, customerId);
  const customer = told.customer ?? (address === undefined ? undefined : { email: address });
  return recordOrder(db, { ...told, customer, shop, order }, { owner: null, ownOnly: false }, context);
}

/** Lets an order without an address wait for it, once its message waits for nothing else. */
async function awaitCustomer(
  db: Db,
  message: ShopMessage,
  { customerId, test }: Pick<FitEvent, 'customerId' | 'test'>,
  { order }: Recorded,
  context: RecordContext,
): Promise<void> {
  if (customerId === undefined || order.customer !== null || test === true) return;
  await awaitAddress(db, message, { order: order.number, customerId }, context);
}

async function findAddress(db: Db, shop: string, customerId: string): Promise<string | undefined> {
  return (await findLink(db, linkDigest(shop, customerId)))?.target ?? undefined;
}

/** Lets an order wait for its customer's address, which another message may report. */
export async function awaitAddress(
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
