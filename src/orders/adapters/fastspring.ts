import { customerOf } from './customer';
import { decimalMoney } from './money';
import { renewalEventOf } from './renewal';
import {
  idAt,
  listAt,
  numberAt,
  parseObject,
  quantityAt,
  referenceAt,
  requireId,
  requireText,
  textAt,
  valueAt,
} from './json';
import { InvalidRequestError } from '../../base/errors';
import type { Content, ParsedEvent } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsOfChoice } from './secrets';
import { signedIn } from './signature';

/**
 * FastSpring (https://developer.fastspring.com/docs/webhooks, /docs/subscriptions-1) signs with `X-FS-Signature`, the
 * base64 of HMAC-SHA256 over the body, which is a list of events. An order's line is the item's subscription, or its
 * product if it has no subscription. Objects are ids, or complete if "webhook expansion" is on.
 */
export const fastspring: ShopAdapter = {
  contentType: 'application/json',

  ...secretsOfChoice('The secret is the "HMAC SHA256 Secret" of the webhook.'),

  verify: signedIn('x-fs-signature', 'base64'),

  list: 'events',

  parse({ body }) {
    const message = parseObject(body);
    const type = requireText(message, 'type');
    const id = requireId(message, 'id');
    const read = READERS.get(type);
    if (read === undefined) return { id, type, note: 'unused' };
    const created = numberAt(message, 'created');
    const event = {
      at: created === undefined ? undefined : new Date(created),
      test: valueAt(message, 'live') === false,
    };
    return { id, type, ...read({ type, id, object: valueAt(message, 'data'), event }) };
  },
};

interface About {
  type: string;
  /** the event's id */
  id: string;
  object: unknown;
  event: Pick<ParsedEvent, 'at' | 'test'>;
}

const READERS = new Map<string, (about: About) => Content>([
  ['order.completed', readOrder],
  ['subscription.charge.completed', readCharge],
  ['subscription.charge.failed', readFailedCharge],
  ['subscription.canceled', readRenewal],
  ['subscription.uncanceled', readRenewal],
  ['subscription.paused', readRenewal],
  ['subscription.resumed', readRenewal],
  ['subscription.deactivated', readEnd],
  ['return.created', readReturn],
]);

/** Returns the id of an object, which some messages have only in a field with the object's name. */
function thingAt(value: unknown, name: string): string | undefined {
  return referenceAt(value, name) ?? textAt(value, name, name);
}

function requireThing(value: unknown, name: string): string {
  const found = thingAt(value, name);
  if (found === undefined) throw new InvalidRequestError(`"${name}" is missing.`);
  return found;
}

function readOrder({ object, event }: About): Content {
  const order = requireId(object, 'order');
  if (valueAt(object, 'completed') === false) return { note: 'unpaid' };
  // Skip fees, which have no article.
  const items = listAt(object, 'items').filter(
    (item) => thingAt(item, 'product') ?? thingAt(item, 'subscription') ?? textAt(item, 'sku'),
  );
  const paid = moneyOf(object, 'total');
  const subscriptions = items.flatMap((item) => thingAt(item, 'subscription') ?? []);
  const links = [{ key: order, order, paid }, ...subscriptions.map((key) => ({ key, order }))];
  if (items.length === 0) return { links, note: 'no_article' };
  return {
    links,
    event: {
      ...{ ...event, event: 'paid', eventId: order, order: { number: order }, payment: order },
      ...(subscriptions.length > 0 && { renewsItself: true }),
      ...{ money: paid, customerId: accountOf(object), customer: buyerOf(object) },
      lines: items.map((item) => ({ ...itemOf(item), ...nextOf(valueAt(item, 'subscription')) })),
    },
  };
}

function itemOf(item: unknown) {
  const product = thingAt(item, 'product');
  const line = thingAt(item, 'subscription') ?? product ?? textAt(item, 'sku');
  return {
    line,
    ids: [line ?? [], product ?? []].flat(),
    sku: textAt(item, 'sku') ?? textAt(item, 'product', 'sku') ?? product ?? line,
    quantity: quantityAt(item, 'quantity'),
  };
}

/** Returns the paid-through date of a subscription, which is its next charge. */
function nextOf(subscription: unknown): { paidUntil?: Date } {
  const next = numberAt(subscription, 'next') ?? numberAt(subscription, 'nextValue');
  return next === undefined ? {} : { paidUntil: new Date(next) };
}

function buyerOf(object: unknown): ParsedEvent['customer'] {
  const buyer = valueAt(object, 'customer') ?? valueAt(object, 'account', 'contact');
  const name = [textAt(buyer, 'first'), textAt(buyer, 'last')];
  return customerOf(textAt(buyer, 'email'), name, textAt(object, 'language'));
}

/** Returns the account's id. An expanded webhook has the whole account instead of the id. */
function accountOf(object: unknown): string | undefined {
  const account = thingAt(object, 'account');
  return account && `account-${account}`;
}

function moneyOf(object: unknown, name: string): ParsedEvent['money'] {
  return decimalMoney(numberAt(object, name), textAt(object, 'currency'));
}

/** Reads a renewal, or the prorated price of a change. Both pay until the next charge. */
function readCharge({ object, event }: About): Content {
  const subscription = requireThing(object, 'subscription');
  const payment = requireThing(object, 'order');
  const whole = valueAt(object, 'subscription');
  const shared = {
    ...event,
    ...{ order: { of: subscription }, payment, eventId: payment, renewsItself: true },
    ...{ money: moneyOf(object, 'total'), customerId: accountOf(object), customer: buyerOf(object) },
  };
  const { sku, quantity, ids } = itemOf({ subscription, product: valueAt(whole, 'product') ?? subscription });
  const line = { line: subscription, ids };
  const isWhole = thingAt(whole, 'product') !== undefined;
  const change = {
    ...line,
    sku: textAt(whole, 'sku') ?? sku,
    quantity: valueAt(whole, 'quantity') === undefined ? quantity : quantityAt(whole, 'quantity'),
  };
  return {
    links: [{ key: payment, other: subscription }],
    event: { ...shared, event: 'renewed', lines: [{ ...line, ...nextOf(whole) }] },
    also: isWhole ? [{ ...shared, event: 'upgraded', lines: [change] }] : [],
  };
}

function readFailedCharge({ object, event }: About): Content {
  return {
    event: { ...event, event: 'payment_failed', order: { of: requireThing(object, 'subscription') } },
  };
}

/** Reads whether a subscription renews. `subscription.canceled` arrives while it still runs, `deactivated` at its end. */
function readRenewal({ type, id, object, event }: About): Content {
  const of = idAt(object, 'id') ?? requireThing(object, 'subscription');
  const isStopped = type === 'subscription.canceled' || type === 'subscription.paused';
  return renewalEventOf(isStopped, { ...event, eventId: id, order: { of } }, of);
}

function readEnd({ object, event }: About): Content {
  const of = idAt(object, 'id') ?? requireThing(object, 'subscription');
  return { event: { ...event, event: 'subscription_ended', order: { of } } };
}

function readReturn({ object, event }: About): Content {
  const original = valueAt(object, 'original');
  const of = textAt(object, 'original') ?? idAt(original, 'order') ?? requireId(original, 'id');
  return {
    event: {
      ...{ ...event, event: 'refunded', eventId: requireId(object, 'return'), payment: of },
      ...{ order: { of }, money: moneyOf(object, 'totalReturn'), customerId: accountOf(object) },
      partial: isPart(object, original),
    },
  };
}

/** Reports whether a refund is partial, from the amounts of an expanded original; undefined if only its payment can decide. */
function isPart(object: unknown, original: unknown): boolean | undefined {
  const [returned, total] = [numberAt(object, 'totalReturn'), numberAt(original, 'total')];
  if (returned === undefined || total === undefined) return undefined;
  const [currency, paid] = [textAt(object, 'currency'), textAt(original, 'currency')];
  return returned < total || (currency !== undefined && paid !== undefined && currency !== paid);
}
