import { createHash } from 'node:crypto';
import { customerOf } from './customer';
import { numberAt, parseObject, requireId, requireText, requireTime, textAt, timeAt, valueAt } from './json';
import type { ParsedMessage, ParsedEvent } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsOfChoice } from './secrets';
import { hmac, isAmong } from './signature';

/**
 * Lemon Squeezy: `X-Signature`, hex of HMAC-SHA256 over the body. An order has one item, which is its line; what a subscription
 * tells belongs to the order that began it. Messages have no id and no time of their own: a repeated one is the same to the byte.
 */
export const lemonsqueezy: ShopAdapter = {
  contentType: 'application/json',

  ...secretsOfChoice('The signing secret is the text that you typed when you added the webhook.'),

  verify({ body, header }, secret) {
    return isAmong([header('x-signature') ?? ''], hmac(body, secret, 'hex')) ? 'right' : 'wrong';
  },

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
  /** the attributes of what the message is about */
  object: unknown;
  at: Date;
  test: boolean;
}

type OneContent = Omit<ParsedMessage, 'id' | 'type'>;

const READERS = new Map<string, (about: About) => OneContent>([
  ['order_created', readOrder],
  ['order_refunded', readOrderRefund],
  ['subscription_created', readBeginning],
  ['subscription_updated', readChange],
  ['subscription_expired', readEnd],
  ['subscription_payment_success', readPayment],
  ['subscription_payment_failed', readFailedPayment],
  ['subscription_payment_refunded', readPaymentRefund],
]);

function sharedBy(object: unknown): Pick<About, 'at' | 'test'> {
  return { at: requireTime(object, 'updated_at'), test: valueAt(object, 'test_mode') === true };
}

const paymentOfOrder = (order: string) => `order-${order}`;
const paymentOfInvoice = (invoice: string) => `invoice-${invoice}`;
const keyOf = (subscription: string) => `subscription-${subscription}`;
/** A subscription's first invoice is paid by its order. */
const firstPaymentOf = (subscription: string) => `first-of-${keyOf(subscription)}`;

function readOrder(about: About): OneContent {
  const { id, object, at, test } = about;
  const key = paymentOfOrder(id);
  const links = [{ key, order: id, paid: numberAt(object, 'total') }];
  const status = textAt(object, 'status');
  if (status === 'pending' || status === 'failed') return { links, note: 'unpaid' };
  const item = valueAt(object, 'first_order_item');
  const paid: ParsedEvent = {
    ...{ event: 'paid', at: timeAt(object, 'created_at') ?? at, test, eventId: key },
    ...{ order: { number: id }, payment: key, customer: buyerOf(object) },
    lines: [
      {
        line: requireId(item, 'id'),
        sku: requireId(item, 'variant_id'),
        quantity: numberAt(item, 'quantity') ?? 1,
      },
    ],
  };
  // The payment is kept with it, so that the order is shown.
  if (status === 'refunded') return { links, ...readOrderRefund(about), also: [paid] };
  if (status !== 'fraudulent') return { links, event: paid };
  const fraud = { event: 'charged_back', at, test, eventId: `fraud:${id}`, order: { number: id } } as const;
  return { links, event: fraud, also: [paid] };
}

function buyerOf(object: unknown): ParsedEvent['customer'] {
  return customerOf(textAt(object, 'user_email'), textAt(object, 'user_name'));
}

function readOrderRefund({ id, object, at, test }: About): OneContent {
  const refunded = numberAt(object, 'refunded_amount');
  return {
    event: {
      ...{ event: 'refunded', at: timeAt(object, 'refunded_at') ?? at, test },
      ...{ eventId: `refund:${refunded ?? ''}`, payment: paymentOfOrder(id), partial: isPartOf(object) },
      order: { number: id },
    },
  };
}

/** By the amounts; without them by the status. */
function isPartOf(object: unknown): boolean {
  const [refunded, total] = [numberAt(object, 'refunded_amount'), numberAt(object, 'total')];
  if (refunded !== undefined && total !== undefined) return refunded < total;
  return textAt(object, 'status') === 'partial_refund';
}

/** Says until when the order pays, which the order itself does not. */
function readBeginning({ id, object, at, test }: About): OneContent {
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
      ...{ order: { number: order }, customer: buyerOf(object), lines: [lineOf(object)] },
    },
  };
}

/** States of a subscription in which its payment did not come, or that it left behind. */
const UNPAID = ['past_due', 'unpaid', 'expired'];

function lineOf(object: unknown) {
  return {
    line: requireId(object, 'order_item_id'),
    sku: requireId(object, 'variant_id'),
    quantity: numberAt(object, 'first_subscription_item', 'quantity') ?? 1,
    paidUntil: endOf(object),
  };
}

function endOf(object: unknown): Date | undefined {
  const status = textAt(object, 'status');
  if (status === 'cancelled') return timeAt(object, 'ends_at');
  return (status === 'on_trial' ? timeAt(object, 'trial_ends_at') : undefined) ?? timeAt(object, 'renews_at');
}

/** It comes with every change. What is not paid, as while a card fails, moves no end. */
function readChange({ object, at, test }: About): OneContent {
  if (!['active', 'on_trial', 'cancelled'].includes(textAt(object, 'status') ?? ''))
    return { note: 'unused' };
  const order = { number: requireId(object, 'order_id') };
  const { line, sku, quantity, paidUntil } = lineOf(object);
  const told = { line, sku, quantity, paidUntil, confirms: true as const };
  // The same state is the same change, whatever else of the subscription differs.
  const eventId = `updated:${sku}:${quantity}:${paidUntil?.toISOString() ?? ''}`;
  return { event: { event: 'upgraded', at, test, eventId, order, lines: [told] } };
}

function readEnd({ object, at, test }: About): OneContent {
  return {
    event: { event: 'subscription_ended', at, test, order: { number: requireId(object, 'order_id') } },
  };
}

/** What a subscription's invoice is of. */
function invoiceOf({ id, object, at, test }: About) {
  const subscription = requireId(object, 'subscription_id');
  return {
    isFirst: textAt(object, 'billing_reason') === 'initial',
    subscription,
    event: { at, test, payment: paymentOfInvoice(id), order: { of: keyOf(subscription) } },
  };
}

function readPayment(about: About): OneContent {
  const { isFirst, event } = invoiceOf(about);
  if (isFirst) return { note: 'first_payment' };
  // A change that is paid at once is told by `subscription_updated`.
  if (textAt(about.object, 'billing_reason') !== 'renewal') return { note: 'unused' };
  return { event: { ...event, event: 'renewed', eventId: event.payment, renewsItself: true } };
}

function readFailedPayment(about: About): OneContent {
  const { isFirst, event } = invoiceOf(about);
  return isFirst ? { note: 'unpaid' } : { event: { ...event, event: 'payment_failed' } };
}

function readPaymentRefund(about: About): OneContent {
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
  } as const;
  if (isFirst) return { event: { ...shared, order: { of: firstPaymentOf(subscription) } } };
  return { event: { ...shared, payment: event.payment, order: event.order } };
}
