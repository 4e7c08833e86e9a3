import { createHash } from 'node:crypto';
import { customerOf } from './customer';
import {
  idAt,
  numberAt,
  parseObject,
  quantityAt,
  requireId,
  requireText,
  textAt,
  timeAt,
  valueAt,
} from './json';
import { minorMoney } from './money';
import { renewalEventOf } from './renewal';
import type { Content, ParsedEvent } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsOfChoice } from './secrets';
import { signedIn } from './signature';

/**
 * Lemon Squeezy (https://docs.lemonsqueezy.com/help/webhooks/event-types, /api/subscriptions) signs with `X-Signature`,
 * the hex of HMAC-SHA256 over the body. An order has one item, which is its line. Messages about a subscription belong
 * to the order that began it. A message has no id and no time of its own; a repeated message has the same bytes.
 */
export const lemonsqueezy: ShopAdapter = {
  contentType: 'application/json',

  ...secretsOfChoice('The signing secret is the text that you typed when you added the webhook.'),

  verify: signedIn('x-signature', 'hex'),

  parse({ body }) {
    const message = parseObject(body);
    const type = requireText(message, 'meta', 'event_name');
    const id = createHash('sha256').update(body).digest('hex');
    const read = READERS.get(type);
    if (read === undefined) return { id, type, note: 'unused' };
    const object = valueAt(message, 'data', 'attributes');
    return { id, type, ...read({ id: requireId(message, 'data', 'id'), object, ...sharedBy(object) }) };
  },
};

interface About {
  id: string;
  /** the attributes of the object that the message is about */
  object: unknown;
  at: Date | undefined;
  test: boolean;
  customerId: string | undefined;
}

const READERS = new Map<string, (about: About) => Content>([
  ['order_created', readOrder],
  ['order_refunded', readOrderRefund],
  ['subscription_created', readBeginning],
  ['subscription_updated', readChange],
  ['subscription_cancelled', readRenewal],
  ['subscription_paused', readRenewal],
  ['subscription_resumed', readRenewal],
  ['subscription_unpaused', readRenewal],
  ['subscription_expired', readEnd],
  ['subscription_payment_success', readPayment],
  ['subscription_payment_failed', readFailedPayment],
  ['subscription_payment_refunded', readPaymentRefund],
]);

function sharedBy(object: unknown): Pick<About, 'at' | 'test' | 'customerId'> {
  const customer = idAt(object, 'customer_id');
  return {
    at: timeAt(object, 'updated_at'),
    test: valueAt(object, 'test_mode') === true,
    customerId: customer && `customer-${customer}`,
  };
}

function moneyOf(object: unknown, name: 'total' | 'refunded_amount'): ParsedEvent['money'] {
  return minorMoney(numberAt(object, name), textAt(object, 'currency'));
}

const paymentOfOrder = (order: string) => `order-${order}`;
const paymentOfInvoice = (invoice: string) => `invoice-${invoice}`;
const keyOf = (subscription: string) => `subscription-${subscription}`;
/** The id of a subscription's first invoice, which its order pays. */
const firstPaymentOf = (subscription: string) => `first-of-${keyOf(subscription)}`;

function readOrder(about: About): Content {
  const { id, object, at, test, customerId } = about;
  const key = paymentOfOrder(id);
  const money = moneyOf(object, 'total');
  const links = [{ key, order: id, paid: money }];
  const status = textAt(object, 'status');
  if (status === 'pending' || status === 'failed') return { links, note: 'unpaid' };
  const item = valueAt(object, 'first_order_item');
  const paid: ParsedEvent = {
    ...{ event: 'paid', at: timeAt(object, 'created_at') ?? at, test, eventId: key },
    ...{ order: { number: id }, payment: key, money, customerId, customer: buyerOf(object) },
    lines: [
      { line: idAt(item, 'id'), sku: idAt(item, 'variant_id'), quantity: quantityAt(item, 'quantity') },
    ],
  };
  // Also record the payment, so that the order is shown.
  if (status === 'refunded') return { links, ...readOrderRefund(about), also: [paid] };
  if (status !== 'fraudulent') return { links, event: paid };
  const fraud = { event: 'charged_back', at, test, eventId: `fraud:${id}`, order: { number: id } } as const;
  return { links, event: fraud, also: [paid] };
}

function buyerOf(object: unknown): ParsedEvent['customer'] {
  return customerOf(textAt(object, 'user_email'), textAt(object, 'user_name'));
}

function readOrderRefund({ id, object, at, test, customerId }: About): Content {
  const refunded = numberAt(object, 'refunded_amount');
  return {
    event: {
      ...{ event: 'refunded', at: timeAt(object, 'refunded_at') ?? at, test },
      ...{ eventId: `refund:${refunded ?? ''}`, payment: paymentOfOrder(id), partial: isPartOf(object) },
      ...{ order: { number: id }, customerId, money: moneyOf(object, 'refunded_amount') },
    },
  };
}

/** Reports whether a refund is partial, from its amounts; without amounts, from its status. */
function isPartOf(object: unknown): boolean {
  const [refunded, total] = [numberAt(object, 'refunded_amount'), numberAt(object, 'total')];
  if (refunded !== undefined && total !== undefined) return refunded < total;
  return textAt(object, 'status') === 'partial_refund';
}

/** Reads the beginning of a subscription, which has the paid-through date that the order's own message lacks. */
function readBeginning({ id, object, at, test, customerId }: About): Content {
  const order = requireId(object, 'order_id');
  const payment = paymentOfOrder(order);
  const links = [
    { key: keyOf(id), order },
    { key: firstPaymentOf(id), other: payment },
  ];
  if (UNPAID.includes(textAt(object, 'status') ?? '')) return { links, note: 'unpaid' };
  return {
    links,
    event: {
      ...{ event: 'paid', at, test, eventId: keyOf(id), payment, renewsItself: true },
      ...{ order: { number: order }, customerId, customer: buyerOf(object), lines: [lineOf(object)] },
    },
  };
}

/** States of a subscription whose payment failed or that ended unpaid. */
const UNPAID = ['past_due', 'unpaid', 'expired'];

function lineOf(object: unknown) {
  const item = valueAt(object, 'first_subscription_item');
  return {
    line: idAt(object, 'order_item_id'),
    sku: idAt(object, 'variant_id'),
    // Count a metered subscription as one: it begins with 0, because usage is counted later.
    quantity: quantityAt(item, 'quantity') || (valueAt(item, 'is_usage_based') === true ? 1 : 0),
    paidUntil: endOf(object),
  };
}

function endOf(object: unknown): Date | undefined {
  const status = textAt(object, 'status');
  if (status === 'cancelled') return timeAt(object, 'ends_at');
  return (status === 'on_trial' ? timeAt(object, 'trial_ends_at') : undefined) ?? timeAt(object, 'renews_at');
}

/** Reads a change of a subscription. States that are not paid, such as a failing card, do not move the end. */
function readChange({ object, at, test }: About): Content {
  const status = textAt(object, 'status') ?? '';
  if (!['active', 'on_trial', 'cancelled'].includes(status)) return { note: 'unused' };
  const order = { number: requireId(object, 'order_id') };
  const { line, sku, quantity, paidUntil } = lineOf(object);
  const told = { line, sku, quantity, paidUntil, confirms: true as const };
  const state = `updated:${sku}:${quantity}:${paidUntil?.toISOString() ?? ''}`;
  return {
    event: {
      ...{ event: 'upgraded', at, test, order, lines: [told], renewsItself: status !== 'cancelled' },
      // Add the time, because the same state may return later. An earlier version took equal states for the same change.
      eventId: at === undefined ? state : `${state}:${at.toISOString()}`,
      formerly: { eventId: state, at: true },
    },
  };
}

/** Reads the renewal. If paused as `free`, it continues (docs.lemonsqueezy.com/api/subscriptions/the-subscription-object). */
function readRenewal({ id, object, at, test }: About): Content {
  const status = textAt(object, 'status') ?? '';
  if (textAt(object, 'pause', 'mode') === 'free') return { note: 'free_pause' };
  const number = requireId(object, 'order_id');
  const isStopped = status === 'cancelled' || status === 'paused';
  const eventId = `renewal:${isStopped}:${at?.toISOString() ?? ''}`;
  return renewalEventOf(isStopped, { at, test, eventId, order: { number } }, keyOf(id));
}

function readEnd({ object, at, test }: About): Content {
  return {
    event: { event: 'subscription_ended', at, test, order: { number: requireId(object, 'order_id') } },
  };
}

/** Reads the parts that all messages about a subscription's invoice share. */
function invoiceOf({ id, object, at, test, customerId }: About) {
  const subscription = requireId(object, 'subscription_id');
  return {
    isFirst: textAt(object, 'billing_reason') === 'initial',
    subscription,
    event: {
      ...{ at, test, payment: paymentOfInvoice(id), order: { of: keyOf(subscription) } },
      ...{ customerId, customer: buyerOf(object) },
    },
  };
}

function readPayment(about: About): Content {
  const { isFirst, event } = invoiceOf(about);
  if (isFirst) return { note: 'first_payment' };
  // Skip other reasons: `subscription_updated` reports a change that is paid at once.
  if (textAt(about.object, 'billing_reason') !== 'renewal') return { note: 'unused' };
  const money = moneyOf(about.object, 'total');
  return { event: { ...event, event: 'renewed', eventId: event.payment, renewsItself: true, money } };
}

function readFailedPayment(about: About): Content {
  const { isFirst, event } = invoiceOf(about);
  return isFirst ? { note: 'unpaid' } : { event: { ...event, event: 'payment_failed' } };
}

function readPaymentRefund(about: About): Content {
  const { isFirst, event, subscription } = invoiceOf(about);
  const refunded = numberAt(about.object, 'refunded_amount');
  const eventId = `${event.payment}:refund:${refunded ?? ''}`;
  const at = timeAt(about.object, 'refunded_at') ?? event.at;
  const shared = {
    event: 'refunded',
    at,
    test: event.test,
    eventId,
    partial: isPartOf(about.object),
    money: moneyOf(about.object, 'refunded_amount'),
    customerId: event.customerId,
  } as const;
  if (isFirst) return { event: { ...shared, order: { of: firstPaymentOf(subscription) } } };
  return { event: { ...shared, payment: event.payment, order: event.order } };
}
