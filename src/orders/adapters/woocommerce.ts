import { customerOf } from './customer';
import { idAt, listAt, numberAt, parseObject, requireId, requireText, textAt, timeAt, valueAt } from './json';
import { InvalidRequestError } from '../../base/errors';
import type { ParsedMessage, ParsedEvent } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsOfChoice } from './secrets';
import { hmac, isAmong } from './signature';

/**
 * WooCommerce: `X-WC-Webhook-Signature`, base64 of HMAC-SHA256 over the body, which is an order or a subscription as the REST
 * API has it. What it means is judged by its status. A subscription belongs to the order that began it; each renewal is an
 * order of its own there, and a payment of that one here.
 */
export const woocommerce: ShopAdapter = {
  contentType: 'application/json',
  ping: { contentType: 'application/x-www-form-urlencoded', body: /^webhook_id=\d{1,20}$/ },
  // It switches a webhook off that failed more than five times in a row.
  takesBeforeSecret: true,

  ...secretsOfChoice('The secret is the text in the webhook\'s field "Secret".'),

  verify({ body, header }, secret) {
    return isAmong([header('x-wc-webhook-signature') ?? ''], hmac(body, secret, 'base64'))
      ? 'right'
      : 'wrong';
  },

  parse({ body, header }) {
    const type = header('x-wc-webhook-topic') ?? '';
    const object = parseObject(body);
    const [resource] = type.split('.');
    const read = READERS.get(resource ?? '');
    if (read === undefined || type.endsWith('.deleted'))
      return { id: `${type}:${idOf(object)}`, type, note: 'unused' };
    const at = timeOf(object, 'date_modified_gmt');
    const id = `${resource}:${idOf(object)}:${textAt(object, 'status') ?? ''}:${at.toISOString()}`;
    return { id, type, ...read(object, at) };
  },
};

type OneContent = Omit<ParsedMessage, 'id' | 'type'>;

const READERS = new Map<string, (object: unknown, at: Date) => OneContent>([
  ['order', readOrder],
  ['subscription', readSubscription],
]);

function idOf(object: unknown): string {
  return requireId(object, 'id');
}

/** Times are UTC without saying so. */
export function timeAtUtc(object: unknown, name: string): Date | undefined {
  const text = textAt(object, name);
  return text === undefined
    ? undefined
    : timeAt({ time: `${text.replace(' ', 'T').replace(/Z$/, '')}Z` }, 'time');
}

function timeOf(object: unknown, name: string): Date {
  const time = timeAtUtc(object, name);
  if (time === undefined) throw new InvalidRequestError(`"${name}" is not a time.`);
  return time;
}

const paymentOf = (order: string) => `order-${order}`;
const keyOf = (subscription: string) => `subscription-${subscription}`;

function readOrder(object: unknown, at: Date): OneContent {
  const id = idOf(object);
  const payment = paymentOf(id);
  const renews = metaOf(object, '_subscription_renewal');
  const status = requireText(object, 'status');
  const shared = {
    ...{ payment, eventId: `${status}:${id}` },
    order: renews === undefined ? { number: id } : { of: keyOf(renews) },
  };
  const paidAt = timeAtUtc(object, 'date_paid_gmt');
  const paid = (): ParsedEvent => {
    const told = { ...shared, eventId: `paid:${id}`, at: paidAt ?? at };
    if (renews === undefined)
      return { ...told, event: 'paid', customer: buyerOf(object), lines: itemsOf(object) };
    const lines = itemsOf(object).map(({ line, ids }) => ({ line, ids }));
    return { ...told, event: 'renewed', renewsItself: true, lines };
  };
  switch (status) {
    case 'completed':
    case 'processing':
      return { event: paid() };
    case 'refunded':
      // The message of its payment may have been lost.
      return {
        event: { ...shared, event: 'refunded', at },
        also: paidAt === undefined ? [] : [paid()],
      };
    case 'cancelled':
      // Of a renewal, nothing but that payment.
      return renews === undefined ? { event: { ...shared, event: 'cancelled', at } } : { note: 'unpaid' };
    case 'failed':
      return renews === undefined
        ? { note: 'unpaid' }
        : { event: { ...shared, event: 'payment_failed', at } };
    default:
      return { note: 'unpaid' };
  }
}

/** The items of an order have ids of their own in each renewal: products tell which is which. */
function itemsOf(object: unknown) {
  return listAt(object, 'line_items').map((item) => {
    const product = idAt(item, 'variation_id') ?? requireId(item, 'product_id');
    return {
      line: requireId(item, 'id'),
      ids: [`product-${product}`],
      sku: textAt(item, 'sku') ?? product,
      quantity: numberAt(item, 'quantity') ?? 1,
    };
  });
}

function metaOf(object: unknown, key: string): string | undefined {
  const meta = listAt(object, 'meta_data').find((one) => textAt(one, 'key') === key);
  return idAt(meta, 'value');
}

function buyerOf(object: unknown): ParsedEvent['customer'] {
  const billing = valueAt(object, 'billing');
  const name = [textAt(billing, 'first_name'), textAt(billing, 'last_name')].filter(Boolean).join(' ');
  return customerOf(textAt(billing, 'email'), name || undefined, metaOf(object, 'wpml_language'));
}

/** Until when its items are paid; what of them changed. */
function readSubscription(object: unknown, at: Date): OneContent {
  const id = idOf(object);
  const order = idAt(object, 'parent_id') ?? keyOf(id);
  const links = [{ key: keyOf(id), order }];
  const status = requireText(object, 'status');
  const paidUntil =
    status === 'pending-cancel'
      ? timeAtUtc(object, 'end_date_gmt')
      : (timeAtUtc(object, 'next_payment_date_gmt') ?? timeAtUtc(object, 'end_date_gmt'));
  const shared = { at, order: { number: order } };
  const endedAs = { ...shared, event: 'subscription_ended', eventId: `ended:${id}` } as const;
  if (status === 'switched') return { links, event: endedAs };
  const hasEnded = status === 'cancelled' || status === 'expired';
  if (!hasEnded && status !== 'active' && status !== 'pending-cancel') return { links, note: 'links' };
  const lines = itemsOf(object).map(({ line: _, ids: [product = ''], ...item }) => ({
    ...{ line: product, ids: [product], confirms: true as const, ...item },
    ...(paidUntil !== undefined && !hasEnded && { paidUntil }),
  }));
  const state = lines.map(({ sku, quantity }) => `${sku}x${quantity}`).join(' ');
  const isLast = status !== 'active';
  const change: ParsedEvent = {
    ...{ ...shared, event: 'upgraded', renewsItself: !isLast, lines },
    // What it was before may come again, such as one that was to end and goes on.
    eventId: `updated:${id}:${state.slice(0, 40)}:${paidUntil?.toISOString() ?? ''}${isLast ? ':ends' : ''}:${at.toISOString()}`,
  };
  // The message of its last change may have been lost.
  return hasEnded
    ? { links, event: endedAs, also: lines.length === 0 ? [] : [change] }
    : { links, event: change };
}
