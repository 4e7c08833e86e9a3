import { customerOf } from './customer';
import {
  idAt,
  listAt,
  parseObject,
  quantityAt,
  requireId,
  requireText,
  textAt,
  timeAt,
  valueAt,
} from './json';
import { decimalMoney } from './money';
import type { Content, ParsedEvent, ParsedMessage } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsOfChoice } from './secrets';
import { signedIn } from './signature';

/**
 * WooCommerce (https://woocommerce.github.io/woocommerce-rest-api-docs/#orders; WooCommerce Subscriptions:
 * `WC_Subscription`, `WC_Subscriptions_Manager::process_renewal`) signs with `X-WC-Webhook-Signature`, the base64 of
 * HMAC-SHA256 over the body. The body is an order or a subscription in the form of the REST API, and its status decides
 * what it means. A subscription belongs to the order that began it. Each renewal is an order of its own there, and here
 * a payment of the first order.
 */
export const woocommerce: ShopAdapter = {
  contentType: 'application/json',
  ping: { contentType: 'application/x-www-form-urlencoded', body: /^webhook_id=\d{1,20}$/ },
  // WooCommerce disables a webhook that failed more than five times in a row.
  takesBeforeSecret: true,

  ...secretsOfChoice('The secret is the text in the webhook\'s field "Secret".'),

  verify: signedIn('x-wc-webhook-signature', 'base64'),

  parse({ body, header }) {
    const type = header('x-wc-webhook-topic') ?? '';
    const object = parseObject(body);
    const [resource] = type.split('.');
    const read = READERS.get(resource ?? '');
    if (read === undefined || type.endsWith('.deleted'))
      return { id: `${type}:${idOf(object)}`, type, note: 'unused' };
    const at = timeAtUtc(object, 'date_modified_gmt');
    const id = `${resource}:${idOf(object)}:${textAt(object, 'status') ?? ''}:${at?.toISOString() ?? ''}`;
    return { id, type, ...read(object, at) };
  },
};

const READERS = new Map<string, (object: unknown, at: Date | undefined) => Content>([
  ['order', readOrder],
  ['subscription', readSubscription],
]);

function idOf(object: unknown): string {
  return requireId(object, 'id');
}

/** Returns the time in a field, which is UTC without a mark. */
export function timeAtUtc(object: unknown, name: string): Date | undefined {
  const text = textAt(object, name);
  return text === undefined
    ? undefined
    : timeAt({ time: `${text.replace(' ', 'T').replace(/Z$/, '')}Z` }, 'time');
}

const paymentOf = (order: string) => `order-${order}`;
const keyOf = (subscription: string) => `subscription-${subscription}`;

function readOrder(object: unknown, at: Date | undefined): Content {
  const id = idOf(object);
  const payment = paymentOf(id);
  const renews = metaOf(object, '_subscription_renewal');
  const status = requireText(object, 'status');
  const customer = idAt(object, 'customer_id');
  const shared = {
    ...{ payment, eventId: `${status}:${id}`, customerId: customer && `customer-${customer}` },
    order: renews === undefined ? { number: id } : { of: keyOf(renews) },
  };
  const paidAt = timeAtUtc(object, 'date_paid_gmt');
  const money = moneyOf(object, textAt(object, 'total'));
  const items = itemsOf(object);
  const links = renews === undefined ? [{ key: payment, order: id, paid: money }] : [];
  // Items do not include fees, shipping and taxes, which have lists of their own.
  if (renews === undefined && items.length === 0) return { links, note: 'no_article' };
  const paid = (): ParsedEvent => {
    const told = { ...shared, eventId: `paid:${id}`, at: paidAt ?? at, money, customer: buyerOf(object) };
    if (renews === undefined) return { ...told, event: 'paid', lines: items };
    return {
      ...told,
      event: 'renewed',
      renewsItself: true,
      lines: items.map(({ line, ids }) => ({ line, ids })),
    };
  };
  // These are partial refunds; a full refund sets the status.
  const refunds = listAt(object, 'refunds').map((one): ParsedEvent => ({
    ...{ ...shared, event: 'refunded', at, eventId: `refund:${idAt(one, 'id') ?? ''}`, partial: true },
    money: moneyOf(object, textAt(one, 'total')?.replace(/^-/, '')),
  }));
  switch (status) {
    case 'completed':
    case 'processing':
      return { links, event: { ...paid(), editedAt: renews === undefined ? at : undefined }, also: refunds };
    case 'refunded':
      // Also report the payment, whose own message may have been lost.
      return {
        links,
        event: { ...shared, event: 'refunded', at, ...(refunds.length === 0 && { money }), partial: false },
        also: [...(paidAt === undefined ? [] : [paid()]), ...refunds],
      };
    case 'cancelled':
      // A cancelled renewal is only a payment that does not come.
      return renews === undefined ? { event: { ...shared, event: 'cancelled', at } } : { note: 'unpaid' };
    case 'failed':
      return renews === undefined
        ? { note: 'unpaid' }
        : { event: { ...shared, event: 'payment_failed', at } };
    default:
      return { note: 'unpaid' };
  }
}

function moneyOf(object: unknown, amount: string | undefined): ParsedEvent['money'] {
  return decimalMoney(amount, textAt(object, 'currency'));
}

/** Returns the items of an order, identified by their products, because each renewal gives them new ids. */
function itemsOf(object: unknown) {
  return listAt(object, 'line_items').map((item) => {
    // A deleted product has the id 0.
    const product = idAt(item, 'variation_id') ?? idAt(item, 'product_id');
    return {
      line: idAt(item, 'id'),
      ids: product === undefined ? [] : [`product-${product}`],
      sku: textAt(item, 'sku') ?? product,
      quantity: quantityAt(item, 'quantity'),
    };
  });
}

function metaOf(object: unknown, key: string): string | undefined {
  const meta = listAt(object, 'meta_data').find((one) => textAt(one, 'key') === key);
  return idAt(meta, 'value');
}

function buyerOf(object: unknown): ParsedEvent['customer'] {
  const billing = valueAt(object, 'billing');
  const name = [textAt(billing, 'first_name'), textAt(billing, 'last_name')];
  return customerOf(textAt(billing, 'email'), name, metaOf(object, 'wpml_language'));
}

/** Reads a subscription: the paid-through date and the changes of its items. */
function readSubscription(object: unknown, at: Date | undefined): Content {
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
  if (status === 'on-hold') return { ...pauseOf(object, shared, id), links };
  const hasEnded = status === 'cancelled' || status === 'expired';
  if (!hasEnded && status !== 'active' && status !== 'pending-cancel') return { links, note: 'links' };
  const lines = itemsOf(object).map(({ line: _, ids: [product], ...item }) => ({
    ...{ line: product, ids: product === undefined ? [] : [product], confirms: true as const, ...item },
    ...(paidUntil !== undefined && !hasEnded && { paidUntil }),
  }));
  const state = lines.map(({ sku, quantity }) => `${sku}x${quantity}`).join(' ');
  const isLast = status !== 'active';
  const change: ParsedEvent = {
    ...{ ...shared, event: 'upgraded', renewsItself: !isLast, lines },
    // Add the time, because an earlier state may return, such as an active subscription after a pending cancellation.
    eventId: `updated:${id}:${state.slice(0, 40)}:${paidUntil?.toISOString() ?? ''}${isLast ? ':ends' : ''}:${at?.toISOString() ?? ''}`,
  };
  // Also report the last change, whose own message may have been lost.
  return hasEnded
    ? { links, event: endedAs, also: lines.length === 0 ? [] : [change] }
    : { links, event: change };
}

/**
 * Reads the status `on-hold`. Each renewal sets it, with a pending order, until the order is paid; the date of the next
 * payment is then in the past. If that date is in the future, the subscription is paused.
 */
function pauseOf(
  object: unknown,
  shared: Pick<ParsedEvent, 'at' | 'order'>,
  id: string,
): Pick<ParsedMessage, 'note' | 'event'> {
  const next = timeAtUtc(object, 'next_payment_date_gmt');
  if (next === undefined || shared.at === undefined || next <= shared.at) return { note: 'unpaid' };
  const eventId = `on-hold:${id}:${shared.at.toISOString()}`;
  return { event: { ...shared, event: 'renewal_stopped', eventId, isQuiet: true } };
}
