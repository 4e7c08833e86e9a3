import { asStorable } from '../../licensing/timestamps';
import { minorDigits } from '../../base/currency';
import { customerOf } from './customer';
import { minorMoney } from './money';
import {
  listAt,
  numberAt,
  parseObject,
  quantityAt,
  referenceAt,
  secondsAt,
  requireText,
  textAt,
  valueAt,
} from './json';
import type { Content, IdLink, ParsedEvent, ParsedLine } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { renewalEventOf } from './renewal';
import { secretsLike } from './secrets';
import { hmac, matchesAny, isFresh, headerParts } from './signature';

/**
 * Stripe (https://docs.stripe.com/api/events/types, /webhooks/signature, /currencies) signs with `Stripe-Signature:
 * t=seconds,v1=hex`, the HMAC-SHA256 over `t.body`. The order is `pi_...` for a payment, `in_...` for an invoice and
 * `sub_...` for a subscription. Objects are read in their shapes before and since API 2025-03-31.
 */
export const stripe: ShopAdapter = {
  contentType: 'application/json',

  ...secretsLike('whsec_', 'The signing secret of a destination begins with "whsec_".'),

  verify({ body, header }, secret, now) {
    const signature = header('stripe-signature') ?? '';
    const [seconds = ''] = headerParts(signature, ',', 't');
    const signed = Buffer.concat([Buffer.from(`${seconds}.`), body]);
    if (!matchesAny(headerParts(signature, ',', 'v1'), hmac(signed, secret, 'hex'))) return 'wrong';
    return isFresh(seconds, now) ? 'right' : 'old';
  },

  async complete(delivery, get) {
    const message = parseObject(delivery.body);
    const object = valueAt(message, 'data', 'object');
    const id = encodeURIComponent(textAt(object, 'id') ?? '');
    const type = textAt(message, 'type') ?? '';
    if (type === 'invoice.paid' && valueAt(object, 'lines', 'has_more') === true)
      Object.assign(object as object, { lines: await listAll(get, `/v1/invoices/${id}/lines`) });
    else if (READERS.get(type) === readSession && quantityOf(object) === undefined)
      Object.assign(object as object, {
        line_items: await listAll(get, `/v1/checkout/sessions/${id}/line_items`),
      });
    else return delivery;
    return { ...delivery, body: Buffer.from(JSON.stringify(message)) };
  },

  parse({ body }) {
    const message = parseObject(body);
    const id = requireText(message, 'id');
    const type = requireText(message, 'type');
    const read = READERS.get(type);
    // Do not read the time: a thin event, for example, has it in another form.
    if (read === undefined) return { id, type, note: 'unused' };
    const at = secondsAt(message, 'created');
    const test = valueAt(message, 'livemode') === false;
    return {
      id,
      type,
      ...read({
        object: valueAt(message, 'data', 'object'),
        before: valueAt(message, 'data', 'previous_attributes'),
        event: { at, eventId: id, test },
      }),
    };
  },
};

/** The maximum number of pages, of a hundred entries each. The rest of a longer list is ignored. */
const MAX_PAGES = 5;

/** Reads a list of the API, and returns it in the form that it has inside an object. */
async function listAll(get: (path: string) => Promise<object>, path: string): Promise<object> {
  const data: unknown[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const last = textAt(data.at(-1), 'id');
    const query = new URLSearchParams({ limit: '100', ...(last !== undefined && { starting_after: last }) });
    const answer = await get(`${path}?${query.toString()}`);
    data.push(...listAt(answer, 'data'));
    if (valueAt(answer, 'has_more') !== true || textAt(data.at(-1), 'id') === undefined)
      return { data, has_more: false };
  }
  return { data, has_more: true };
}

/** Currencies whose minor units at Stripe differ from ISO 4217 (docs.stripe.com/currencies#special-cases, #zero-decimal). */
const OWN_DIGITS: Partial<Record<string, number>> = { ISK: 2, UGX: 2, MGA: 0 };

/** Returns the amount in the first of the named fields, in the object's currency. */
function moneyAt(object: unknown, ...names: string[]) {
  const amount = names.map((name) => numberAt(object, name)).find((one) => one !== undefined);
  return minorMoney(amount, textAt(object, 'currency'), (code) => OWN_DIGITS[code] ?? minorDigits(code));
}

interface About {
  /** the object of the message */
  object: unknown;
  /** the former values of the fields that changed */
  before: unknown;
  event: Pick<ParsedEvent, 'at' | 'eventId' | 'test'>;
}

const READERS = new Map<string, (about: About) => Content>([
  ['checkout.session.completed', readSession],
  ['checkout.session.async_payment_succeeded', readSession],
  ['invoice.paid', readInvoice],
  ['invoice_payment.paid', readInvoicePayment],
  ['invoice.payment_failed', readFailedPayment],
  ['charge.refunded', readRefund],
  ['refund.failed', readFailedRefund],
  // Sent before API 2024-10-28, and when a refund is cancelled.
  ['refund.updated', readFailedRefund],
  ['charge.refund.updated', readFailedRefund],
  ['charge.dispute.created', readDispute],
  // Sent when an inquiry becomes a dispute, which is not reported as created again.
  ['charge.dispute.funds_withdrawn', readDispute],
  ['charge.dispute.closed', readDispute],
  ['customer.subscription.deleted', readEnd],
  ['customer.subscription.updated', readRenewal],
  ['customer.subscription.paused', readRenewal],
  ['customer.subscription.resumed', readRenewal],
]);

/** The types of events that have a meaning here. */
export const STRIPE_EVENTS: readonly string[] = [...READERS.keys()];

/** The article of a session that names none. Its order is shown with it, and the seller can map it. */
const UNNAMED = 'checkout';

function readSession({ object, event }: About): Content {
  if (textAt(object, 'mode') === 'setup') return { note: 'unused' };
  if (textAt(object, 'payment_status') === 'unpaid') return { note: 'unpaid' };
  const payment = referenceAt(object, 'payment_intent');
  const invoice = referenceAt(object, 'invoice');
  const subscription = referenceAt(object, 'subscription');
  const number = subscription ?? invoice ?? payment ?? requireText(object, 'id');
  const sku = textAt(object, 'metadata', 'sku') ?? referenceAt(object, 'payment_link');
  const items = listAt(object, 'line_items', 'data');
  const [only] = items;
  const quantity = quantityOf(object) ?? (items.length === 1 ? quantityAt(only, 'quantity') : undefined);
  const isEach = sku === undefined && items.length > 1;
  const details = valueAt(object, 'customer_details');
  return {
    links: linksOf(number, invoice, [payment]),
    ...(quantity === undefined && !isEach && { note: 'no_quantity' }),
    event: {
      ...event,
      event: 'paid',
      money: moneyAt(object, 'amount_total'),
      customerId: referenceAt(object, 'customer'),
      order: { number },
      payment: invoice ?? payment,
      renewsItself: subscription === undefined ? undefined : true,
      customer: customerOf(
        textAt(details, 'email') ?? textAt(object, 'customer_email'),
        textAt(details, 'name'),
        textAt(object, 'locale')?.slice(0, 2),
      ),
      lines: isEach ? articlesOf(items) : [{ line: ONLY, sku: sku ?? UNNAMED, quantity: quantity ?? 1 }],
    },
  };
}

/** The only line of a session's order. */
const ONLY = '1';

/** Returns the links by which a later refund finds the order: its payments lead to the invoice, or to the order itself. */
function linksOf(order: string, invoice: string | undefined, payments: (string | undefined)[]): IdLink[] {
  const keys = payments.flatMap((key) => key ?? []);
  if (invoice === undefined) return keys.map((key) => ({ key, order }));
  return [{ key: invoice, order }, ...keys.map((key) => ({ key, other: invoice }))];
}

function readInvoice({ object, event }: About): Content {
  const invoice = requireText(object, 'id');
  const { subscription, details } = subscriptionOf(object);
  const number = subscription ?? invoice;
  const payments = listAt(object, 'payments', 'data').map((one) =>
    referenceAt(one, 'payment', 'payment_intent'),
  );
  const links = linksOf(number, invoice, [referenceAt(object, 'payment_intent'), ...payments]);
  const customer = customerOf(textAt(object, 'customer_email'), textAt(object, 'customer_name'));
  const customerId = referenceAt(object, 'customer');
  const money = moneyAt(object, 'amount_paid', 'total');
  const shared = { ...event, order: { number }, payment: invoice, customer, customerId, money };
  const paid = { ...shared, event: 'paid', mayRepeat: true } as const;
  const rest = cutOf(object);
  if (subscription === undefined)
    return { links, ...rest, event: { ...paid, lines: articlesOf(listAt(object, 'lines', 'data')) } };
  const own = ownLines(object, subscription).filter((line) => !isProration(line));
  const renews = { ...shared, renewsItself: true };
  const change = changesOf(object, subscription);
  const changed: ParsedEvent[] =
    change === undefined ? [] : [{ ...renews, event: 'upgraded', lines: change }];
  const nothing: Content = isMoney(object)
    ? { links, note: 'untold', unmatched: true, meant: { ...renews, event: 'renewed' } }
    : { links, note: 'links' };
  switch (textAt(object, 'billing_reason')) {
    case 'subscription_create': {
      const sku = textAt(details, 'metadata', 'sku');
      const items = itemsOf(own);
      const lines =
        sku === undefined
          ? items
          : [
              {
                ...(items.find(({ first }) => first) ?? { line: ONLY }),
                sku,
                quantity: quantityOf(details) ?? 1,
              },
            ];
      if (lines.length === 0) return nothing;
      return { links, ...(sku === undefined && rest), event: { ...paid, renewsItself: true, lines } };
    }
    // Read the whole lines, which show what is sold from now on. Prorations only pay for changes in between.
    case 'subscription_cycle': {
      // The invoice may pay for something else than before, because a change may have been due with the period.
      const isCounted = textAt(details, 'metadata', 'sku') === undefined && haveQuantities(own);
      const lines = itemsOf(own).map((item) => (isCounted ? item : { ...item, quantity: undefined }));
      const event = { ...renews, event: 'renewed', lines: lines.length === 0 ? undefined : lines } as const;
      // Without a line of its own, the subscription renews as its plan does, and the payment is listed for the seller.
      const isUntold = lines.length === 0 && isMoney(object) && !('unmatched' in rest);
      return { links, ...rest, ...(isUntold && { note: 'untold', unmatched: true }), event };
    }
    case 'subscription_update':
      return changed[0] === undefined ? nothing : { links, event: changed[0] };
    default:
      return nothing;
  }
}

/** Returns the subscription of an invoice, in the shapes before and since API 2025-03-31. */
function subscriptionOf(invoice: unknown): { subscription: string | undefined; details: unknown } {
  const details =
    valueAt(invoice, 'parent', 'subscription_details') ?? valueAt(invoice, 'subscription_details');
  return {
    subscription: referenceAt(details, 'subscription') ?? referenceAt(invoice, 'subscription'),
    details,
  };
}

/** Returns which lines a message lacks: it has at most ten (docs.stripe.com/api/invoices/object#invoice_object-lines). */
function cutOf(invoice: unknown): Pick<Content, 'note' | 'unmatched' | 'missing'> | object {
  if (valueAt(invoice, 'lines', 'has_more') !== true) return {};
  const [told, total] = [listAt(invoice, 'lines', 'data').length, numberAt(invoice, 'lines', 'total_count')];
  const missing = `${told + 1}-${total === undefined || total <= told ? '' : total}`;
  return { note: 'cut', unmatched: true, missing };
}

function isMoney(invoice: unknown): boolean {
  return (numberAt(invoice, 'amount_paid') ?? 0) > 0;
}

/** Lists the lines of the subscription's own items, without usage that is paid afterwards. */
function ownLines(invoice: unknown, subscription: string): unknown[] {
  const made = numberAt(invoice, 'created') ?? numberAt(invoice, 'period_end');
  return listAt(invoice, 'lines', 'data').filter((line) => {
    const of = referenceAt(parentOf(line), 'subscription') ?? referenceAt(line, 'subscription');
    if (of !== undefined && of !== subscription) return false;
    // Skip items that were added to the invoice. A proration is an invoice item too, but belongs to the subscription.
    const isAdded =
      textAt(line, 'type') === 'invoiceitem' ||
      textAt(line, 'parent', 'type') === 'invoice_item_details' ||
      valueAt(line, 'parent', 'invoice_item_details') instanceof Object;
    if (isAdded && !isProration(line)) return false;
    const end = numberAt(line, 'period', 'end');
    const isMetered = [
      ['price', 'recurring'],
      ['plan'],
      ['pricing', 'price_details', 'price', 'recurring'],
    ].some((path) => textAt(line, ...path, 'usage_type') === 'metered');
    // Keep prorations, because one may end with the period that the invoice closes.
    return !isMetered && (isProration(line) || end === undefined || made === undefined || end > made);
  });
}

function parentOf(line: unknown): unknown {
  return (
    valueAt(line, 'parent', 'subscription_item_details') ?? valueAt(line, 'parent', 'invoice_item_details')
  );
}

function isProration(line: unknown): boolean {
  return valueAt(line, 'proration') === true || valueAt(parentOf(line), 'proration') === true;
}

interface Item {
  line: string;
  ids: string[];
  sku?: string | undefined;
  price?: string | undefined;
  quantity: number;
  paidUntil?: Date | undefined;
  first?: true;
}

/** Returns an order line for each price. The line that ends first is the session's only line, unless its ids say otherwise. */
function itemsOf(lines: unknown[]): Item[] {
  const read = lines.map((line): Item => {
    const price = priceOf(line);
    const item = referenceAt(parentOf(line), 'subscription_item') ?? referenceAt(line, 'subscription_item');
    const end = numberAt(line, 'period', 'end');
    const paidUntil = end === undefined ? undefined : asStorable(new Date(end * 1000));
    const sku =
      textAt(line, 'price', 'metadata', 'sku') ?? textAt(line, 'metadata', 'sku') ?? price ?? UNNAMED;
    return {
      line: price ?? ONLY,
      ids: [item ?? [], price ?? []].flat(),
      sku,
      price,
      quantity: quantityOf(line) ?? lineQuantity(line) ?? 1,
      ...(paidUntil !== undefined && { paidUntil }),
    };
  });
  const latest = new Map<string, Item>();
  for (const item of read) {
    const other = latest.get(item.line);
    if (other === undefined || endOf(item) > endOf(other)) latest.set(item.line, item);
  }
  const items = [...latest.values()];
  // At the same end, take the smaller quantity: there are at least as many seats as licences.
  const [first] = [...items].sort((a, b) => endOf(a) - endOf(b) || a.quantity - b.quantity);
  return items.map((item) => (item === first ? { ...item, line: ONLY, first: true } : item));
}

function endOf({ paidUntil }: Item): number {
  return paidUntil?.getTime() ?? Infinity;
}

/** Returns the items that an invoice for a change pays for: whole ones, or those that cost more for the rest of the period. */
function changesOf(invoice: unknown, subscription: string): ParsedEvent['lines'] {
  const own = ownLines(invoice, subscription);
  const whole = own.filter((line) => !isProration(line));
  const amountOf = (line: unknown) => numberAt(line, 'amount') ?? 0;
  const isNew = whole.length > 0;
  const given = isNew ? whole : own.filter((line) => amountOf(line) > 0);
  const before = new Set(own.filter((line) => isProration(line) && amountOf(line) < 0).map(priceOf));
  const byLine = new Map(given.map((line) => [priceOf(line) ?? ONLY, line]));
  const lines = itemsOf(given).map(({ paidUntil, sku, price, first, ...item }) => {
    const line = byLine.get(price ?? ONLY);
    return {
      ...item,
      // Omit the article if the price has not changed.
      ...(price !== undefined && before.has(price) ? {} : { sku, price }),
      quantity: lineQuantity(line),
      // A proration gives no end; it only counts for a line that is known.
      ...(isNew && { paidUntil, ...(first && { first }) }),
    };
  });
  const told = lines.filter(({ sku, quantity, paidUntil }) => sku ?? quantity ?? paidUntil);
  return told.length === 0 ? undefined : told;
}

/**
 * Reports whether the lines have the quantities that were paid. The subscription's own figures may be out of date, and
 * a price in several lines, such as tiers, has only a part of the quantity in each.
 */
function haveQuantities(lines: unknown[]): boolean {
  return (
    lines.every((line) => quantityOf(line) === undefined) && new Set(lines.map(priceOf)).size === lines.length
  );
}

function lineQuantity(line: unknown): number | undefined {
  const quantity = numberAt(line, 'quantity') ?? 0;
  return Number.isInteger(quantity) && quantity > 0 ? quantity : undefined;
}

/** Returns the articles of a session, or those of an invoice that has no subscription. */
function articlesOf(lines: unknown[]): ParsedLine[] {
  return lines.map((line, i) => ({
    line: String(i + 1),
    sku: textAt(line, 'metadata', 'sku') ?? priceOf(line) ?? UNNAMED,
    quantity: quantityOf(line) ?? quantityAt(line, 'quantity'),
  }));
}

function priceOf(line: unknown): string | undefined {
  return (
    referenceAt(line, 'pricing', 'price_details', 'price') ??
    referenceAt(line, 'price') ??
    referenceAt(line, 'plan')
  );
}

/** Links a payment to the invoice that it paid. The invoice's own message links it to its subscription. */
function readInvoicePayment({ object }: About): Content {
  const key = referenceAt(object, 'payment', 'payment_intent');
  const other = referenceAt(object, 'invoice');
  return key === undefined || other === undefined
    ? { note: 'unused' }
    : { note: 'links', links: [{ key, other }] };
}

function readRefund({ object, before, event }: About): Content {
  const refunded = numberAt(object, 'amount_refunded') ?? 0;
  // Subtract the earlier refunds, because the charge has the sum of all.
  const own = { ...Object(object), amount: refunded - (numberAt(before, 'amount_refunded') ?? 0) } as object;
  const partial = refunded < (numberAt(object, 'amount') ?? 0);
  const money = moneyAt(own, 'amount');
  return { event: { ...event, event: 'refunded', order: { of: paymentOf(object) }, partial, money } };
}

/** Reads a refund that did not reach the customer, or was cancelled: the seller has the money. */
function readFailedRefund({ object, event }: About): Content {
  if (!['failed', 'canceled'].includes(textAt(object, 'status') ?? '')) return { note: 'not_final' };
  // Use the refund's id, because two messages report the same failure.
  const eventId = `refund_failed:${requireText(object, 'id')}`;
  const of = referenceAt(object, 'payment_intent') ?? referenceAt(object, 'charge');
  if (of === undefined) return { note: 'unused' };
  return { event: { ...event, eventId, event: 'refund_failed', order: { of } } };
}

/** Reads a failed payment. The first payment of a subscription has no order yet. */
function readFailedPayment({ object, event }: About): Content {
  const { subscription } = subscriptionOf(object);
  if (subscription === undefined || textAt(object, 'billing_reason') === 'subscription_create')
    return { note: 'unpaid' };
  const order = { number: subscription };
  const customerId = referenceAt(object, 'customer');
  const payment = requireText(object, 'id');
  return { event: { ...event, event: 'payment_failed', order, payment, customerId } };
}

/** Returns the payment of a charge. Charges from before payment intents have only an invoice. */
function paymentOf(charge: unknown): string {
  return referenceAt(charge, 'payment_intent') ?? referenceAt(charge, 'invoice') ?? requireText(charge, 'id');
}

function readDispute({ object, event }: About): Content {
  const status = textAt(object, 'status') ?? '';
  const order = {
    of: referenceAt(object, 'payment_intent') ?? referenceAt(object, 'charge') ?? requireText(object, 'id'),
  };
  // Ignore an inquiry, which moves no money.
  if (status.startsWith('warning_')) return { note: 'not_final' };
  return { event: { ...event, event: status === 'won' ? 'chargeback_reversed' : 'charged_back', order } };
}

function readEnd({ object, event }: About): Content {
  return { event: { ...event, event: 'subscription_ended', order: { number: requireText(object, 'id') } } };
}

/** Reads whether a subscription renews: an end with the period, paused collection and a pause all stop the renewal. */
function readRenewal({ object, before, event }: About): Content {
  const changed = ['cancel_at_period_end', 'cancel_at', 'pause_collection', 'status'].some(
    (name) => valueAt(before, name) !== undefined,
  );
  const status = textAt(object, 'status') ?? '';
  if (!changed || ['canceled', 'incomplete', 'incomplete_expired'].includes(status))
    return { note: 'unused' };
  const isStopped =
    status === 'paused' ||
    valueAt(object, 'cancel_at_period_end') === true ||
    numberAt(object, 'cancel_at') !== undefined ||
    valueAt(object, 'pause_collection') instanceof Object;
  const number = requireText(object, 'id');
  return renewalEventOf(isStopped, { ...event, order: { number } }, number);
}

function quantityOf(value: unknown): number | undefined {
  const quantity = textAt(value, 'metadata', 'quantity') ?? numberAt(value, 'metadata', 'quantity');
  return quantity === undefined ? undefined : Number(quantity);
}
