import { customerOf } from './customer';
import {
  idAt,
  listAt,
  numberAt,
  parseObject,
  referenceAt,
  requireId,
  requireText,
  textAt,
  valueAt,
} from './json';
import { InvalidRequestError } from '../../base/errors';
import type { ParsedMessage, ParsedEvent } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsOfChoice } from './secrets';
import { hmac, isAmong } from './signature';

/**
 * FastSpring: `X-FS-Signature`, base64 of HMAC-SHA256 over the body, which is a list of events. An order's line is the item's
 * subscription, else its product. Objects are ids, or whole where "webhook expansion" is on.
 */
export const fastspring: ShopAdapter = {
  contentType: 'application/json',

  ...secretsOfChoice('The secret is the "HMAC SHA256 Secret" of the webhook.'),

  verify({ body, header }, secret) {
    return isAmong([header('x-fs-signature') ?? ''], hmac(body, secret, 'base64')) ? 'right' : 'wrong';
  },

  // It repeats events that a 202 does not name (developer.fastspring.com/docs/processed-and-unprocessed-webhook-events).
  split(delivery, most) {
    const events = listAt(parseObject(delivery.body), 'events');
    if (events.length === 0) throw new InvalidRequestError('"events" is missing.');
    const parts = events.slice(0, most).map((event) => ({
      id: idAt(event, 'id') ?? '',
      delivery: { ...delivery, body: Buffer.from(JSON.stringify(event)) },
    }));
    return { parts, isAll: events.length <= most };
  },

  parse({ body }) {
    const message = parseObject(body);
    const type = requireText(message, 'type');
    const id = requireId(message, 'id');
    const read = READERS.get(type);
    if (read === undefined) return { id, type, note: 'unused' };
    const created = numberAt(message, 'created');
    if (created === undefined) throw new InvalidRequestError('"created" is missing.');
    const event = { at: new Date(created), test: valueAt(message, 'live') === false };
    return { id, type, ...read({ object: valueAt(message, 'data'), event }) };
  },
};

interface About {
  object: unknown;
  event: Pick<ParsedEvent, 'at' | 'test'>;
}

type OneContent = Omit<ParsedMessage, 'id' | 'type'>;

const READERS = new Map<string, (about: About) => OneContent>([
  ['order.completed', readOrder],
  ['subscription.charge.completed', readCharge],
  ['subscription.charge.failed', readFailedCharge],
  ['subscription.deactivated', readEnd],
  ['return.created', readReturn],
]);

/** Some objects have their id under their own name alone. */
function thingAt(value: unknown, name: string): string | undefined {
  return referenceAt(value, name) ?? textAt(value, name, name);
}

function requireThing(value: unknown, name: string): string {
  const found = thingAt(value, name);
  if (found === undefined) throw new InvalidRequestError(`"${name}" is missing.`);
  return found;
}

function readOrder({ object, event }: About): OneContent {
  const order = requireId(object, 'order');
  if (valueAt(object, 'completed') === false) return { note: 'unpaid' };
  const items = listAt(object, 'items');
  const subscriptions = items.flatMap((item) => thingAt(item, 'subscription') ?? []);
  return {
    links: [
      { key: order, order, paid: hundredths(numberAt(object, 'total')) },
      ...subscriptions.map((key) => ({ key, order })),
    ],
    event: {
      ...{ ...event, event: 'paid', eventId: order, order: { number: order }, payment: order },
      ...(subscriptions.length > 0 && { renewsItself: true }),
      customer: buyerOf(object),
      lines: items.map((item) => ({ ...itemOf(item), ...nextOf(valueAt(item, 'subscription')) })),
    },
  };
}

function itemOf(item: unknown) {
  const product = thingAt(item, 'product');
  const line = thingAt(item, 'subscription') ?? product;
  if (line === undefined) throw new InvalidRequestError('An item has no product.');
  return {
    line,
    ids: [line, product ?? []].flat(),
    sku: textAt(item, 'sku') ?? textAt(item, 'product', 'sku') ?? product ?? line,
    quantity: numberAt(item, 'quantity') ?? 1,
  };
}

/** A subscription is paid until its next charge. */
function nextOf(subscription: unknown): { paidUntil?: Date } {
  const next = numberAt(subscription, 'next') ?? numberAt(subscription, 'nextValue');
  return next === undefined ? {} : { paidUntil: new Date(next) };
}

function buyerOf(object: unknown): ParsedEvent['customer'] {
  const buyer = valueAt(object, 'customer') ?? valueAt(object, 'account', 'contact');
  const name = [textAt(buyer, 'first'), textAt(buyer, 'last')].filter(Boolean).join(' ');
  return customerOf(textAt(buyer, 'email'), name || undefined, textAt(object, 'language'));
}

/** A renewal, or the price of a change for the rest of the period: both are paid until the next charge. */
function readCharge({ object, event }: About): OneContent {
  const subscription = requireThing(object, 'subscription');
  const payment = requireThing(object, 'order');
  const whole = valueAt(object, 'subscription');
  const shared = {
    ...event,
    ...{ order: { of: subscription }, payment, eventId: payment, renewsItself: true },
  };
  const { sku, quantity, ids } = itemOf({ subscription, product: valueAt(whole, 'product') ?? subscription });
  const line = { line: subscription, ids };
  const isWhole = thingAt(whole, 'product') !== undefined;
  const change = {
    ...line,
    sku: textAt(whole, 'sku') ?? sku,
    quantity: numberAt(whole, 'quantity') ?? quantity,
  };
  return {
    links: [{ key: payment, other: subscription }],
    event: { ...shared, event: 'renewed', lines: [{ ...line, ...nextOf(whole) }] },
    also: isWhole ? [{ ...shared, event: 'upgraded', lines: [change] }] : [],
  };
}

function readFailedCharge({ object, event }: About): OneContent {
  return {
    event: { ...event, event: 'payment_failed', order: { of: requireThing(object, 'subscription') } },
  };
}

function readEnd({ object, event }: About): OneContent {
  const of = idAt(object, 'id') ?? requireThing(object, 'subscription');
  return { event: { ...event, event: 'subscription_ended', order: { of } } };
}

function readReturn({ object, event }: About): OneContent {
  const original = valueAt(object, 'original');
  const of = textAt(object, 'original') ?? idAt(original, 'order') ?? requireId(original, 'id');
  const [returned, total] = [numberAt(object, 'totalReturn'), numberAt(original, 'total')];
  const partial = returned === undefined || total === undefined ? undefined : returned < total;
  const refunded = hundredths(returned);
  return {
    event: {
      ...{ ...event, event: 'refunded', eventId: requireId(object, 'return'), payment: of },
      ...(partial !== undefined && { partial }),
      order: { of, ...(partial === undefined && { refunded }) },
    },
  };
}

function hundredths(amount: number | undefined): number | undefined {
  return amount === undefined ? undefined : Math.round(amount * 100);
}
