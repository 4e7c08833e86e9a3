import { DAY_MS } from '../../base/days';
import { customerOf } from './customer';
import {
  idAt,
  listAt,
  numberAt,
  parseObject,
  quantityAt,
  requireText,
  textAt,
  timeAt,
  valueAt,
} from './json';
import { minorMoney } from './money';
import { renewalEventOf } from './renewal';
import type { Content, IdLink, OrderReference, ParsedEvent, ParsedLine } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsLike } from './secrets';
import { FIVE_MINUTES_MS, hmac, matchesAny, isFresh, headerParts } from './signature';

/**
 * Paddle Billing (https://developer.paddle.com/webhooks/about/overview) signs with `Paddle-Signature:
 * ts=seconds;h1=hex`, the HMAC-SHA256 over `ts:body`. A retry may have the first attempt's signature. A transaction is
 * the order `txn_...`; the transactions of a subscription are the order `sub_...`. A line is a product, whatever its
 * price and the other items are.
 */
export const paddle: ShopAdapter = {
  contentType: 'application/json',

  ...secretsLike('pdl_ntfset_', 'The secret key of a notification destination begins with "pdl_ntfset_".'),

  verify({ body, header }, secret, now) {
    const signature = header('paddle-signature') ?? '';
    const [seconds = ''] = headerParts(signature, ';', 'ts');
    const signed = Buffer.concat([Buffer.from(`${seconds}:`), body]);
    if (!matchesAny(headerParts(signature, ';', 'h1'), hmac(signed, secret, 'hex'))) return 'wrong';
    return isFresh(seconds, now, TRIED_FOR_MS) ? 'right' : 'old';
  },

  async complete(delivery, get, knows) {
    const message = parseObject(delivery.body);
    const data = valueAt(message, 'data');
    const id = textAt(data, 'customer_id');
    const isTold = !(textAt(message, 'event_type') ?? '').startsWith('transaction.') || id === undefined;
    if (isTold || textAt(data, 'custom_data', 'email') !== undefined || (await knows(id))) return delivery;
    const customer = valueAt(await get(`/customers/${encodeURIComponent(id)}`), 'data');
    Object.assign(data as object, { customer });
    return { ...delivery, body: Buffer.from(JSON.stringify(message)) };
  },

  parse({ body }) {
    const message = parseObject(body);
    const type = requireText(message, 'event_type');
    const id = requireText(message, 'event_id');
    const read = READERS.get(type);
    if (read === undefined) return { id, type, note: 'unused' };
    const at = timeAt(message, 'occurred_at');
    return { id, type, ...read(valueAt(message, 'data'), at, id) };
  },
};

const TRIED_FOR_MS = 3 * DAY_MS + FIVE_MINUTES_MS;

const READERS = new Map<string, (data: unknown, at: Date | undefined, id: string) => Content>([
  ['transaction.completed', readTransaction],
  ['transaction.payment_failed', readFailedTransaction],
  ['adjustment.created', readAdjustment],
  ['adjustment.updated', readAdjustment],
  ['subscription.created', readSubscription],
  ['subscription.updated', readRenewal],
  ['subscription.paused', readRenewal],
  ['subscription.resumed', readRenewal],
  ['subscription.canceled', readEnd],
  ['customer.created', readCustomer],
  ['customer.imported', readCustomer],
  ['customer.updated', readCustomer],
]);

/** The types of events that have a meaning here. */
export const PADDLE_EVENTS: ReadonlySet<string> = new Set(READERS.keys());

function readTransaction(data: unknown, at: Date | undefined): Content {
  const transaction = requireText(data, 'id');
  const origin = textAt(data, 'origin') ?? '';
  const subscription = textAt(data, 'subscription_id');
  // A one-time charge on a subscription is an order of its own.
  const isBeside = origin === 'subscription_charge';
  const isFirst = !['subscription_update', 'subscription_recurring'].includes(origin);
  const number = isBeside ? transaction : (subscription ?? transaction);
  // Let the subscription's id lead to the order of its first transaction, which another message may report.
  const own: OrderReference = number === subscription && !isFirst ? { number, leads: true } : { number };
  const money = minorMoney(
    idAt(data, 'details', 'totals', 'grand_total') ?? idAt(data, 'details', 'totals', 'total'),
    textAt(data, 'currency_code'),
  );
  const links: IdLink[] =
    'leads' in own
      ? [{ key: transaction, other: number }]
      : [
          { key: transaction, order: number, paid: money },
          ...(number === subscription ? [{ key: subscription, order: number }] : []),
        ];
  if (origin === 'subscription_payment_method_change') return { links, note: 'links' };
  const items = itemsOf(data);
  const shared = {
    ...{ at, money, ...buyerOf(data) },
    eventId: transaction,
    order: own,
    payment: transaction,
    ...(subscription !== undefined && !isBeside && { renewsItself: true }),
  };
  const recurring = items.filter(({ once }) => !once);
  if (origin === 'subscription_update') {
    if (recurring.length === 0)
      return { links, note: 'untold', unmatched: true, meant: { ...shared, event: 'renewed' } };
    return { links, event: { ...shared, event: 'upgraded', lines: recurring } };
  }
  if (origin === 'subscription_recurring') {
    // The lines may differ from those before: a change may have been made in between, or be due with the new period.
    const lines = recurring.length === 0 ? undefined : recurring;
    return { links, event: { ...shared, event: 'renewed', lines } };
  }
  const lines = items.length === 0 ? [{ line: undefined }] : items;
  return { links, event: { ...shared, event: 'paid', lines } };
}

/** Returns the buyer. The address may be in another message, from the API, or in custom data of the checkout. */
function buyerOf(data: unknown): Pick<ParsedEvent, 'customerId' | 'customer'> {
  return {
    customerId: textAt(data, 'customer_id'),
    customer: customerOf(
      textAt(data, 'custom_data', 'email') ?? textAt(data, 'customer', 'email'),
      textAt(data, 'customer', 'name'),
      textAt(data, 'customer', 'locale')?.slice(0, 2),
    ),
  };
}

/** Reads a failed payment, which each attempt at a renewal reports. Other failures concern something that is not sold yet. */
function readFailedTransaction(data: unknown, at: Date | undefined): Content {
  const number = textAt(data, 'subscription_id');
  if (number === undefined || textAt(data, 'origin') !== 'subscription_recurring') return { note: 'unpaid' };
  const payment = requireText(data, 'id');
  return {
    event: { event: 'payment_failed', at, order: { number, leads: true }, payment, ...buyerOf(data) },
  };
}

/** Returns the bought items, without credited ones. A line keeps its price and product, whatever the other items are. */
function itemsOf(transaction: unknown): ParsedLine[] {
  const paidUntil = timeAt(transaction, 'billing_period', 'ends_at');
  const isChange = (textAt(transaction, 'origin') ?? '').startsWith('subscription_');
  const bought = listAt(transaction, 'items').filter((item) => !isChange || quantityAt(item, 'quantity') > 0);
  const shared = new Set<string | undefined>();
  const products = new Set<string | undefined>();
  for (const product of bought.map(productOf)) (products.has(product) ? shared : products).add(product);
  return bought.map((item) => {
    const price = textAt(item, 'price', 'id');
    const isRecurring = textAt(item, 'price', 'billing_cycle', 'interval') !== undefined;
    return {
      line: lineOf(item, shared),
      ids: [price ?? [], textAt(item, 'price', 'product_id') ?? []].flat(),
      // Give the rest of a period no end: it is refunded together with the payment for the period.
      ...(isRecurring ? { paidUntil: isRestOf(item) ? undefined : paidUntil } : { once: true as const }),
      sku: textAt(item, 'price', 'custom_data', 'sku') ?? price,
      paidAs: price,
      quantity: quantityAt(item, 'quantity'),
    };
  });
}

/** Reports whether an item pays for a part of the period, by proration after a change. */
function isRestOf(item: unknown): boolean {
  const rate = numberAt(item, 'proration', 'rate') ?? Number(textAt(item, 'proration', 'rate') ?? 1);
  return rate < 1;
}

const productOf = (item: unknown) => textAt(item, 'price', 'product_id');

/** Returns the line of an item: its product, or its price if several items have this product. @param shared such products */
function lineOf(item: unknown, shared: ReadonlySet<string | undefined>): string | undefined {
  const product = productOf(item);
  return (shared.has(product) ? undefined : product) ?? textAt(item, 'price', 'id');
}

const ADJUSTMENTS = new Map<string, ParsedEvent['event']>([
  ['refund', 'refunded'],
  ['chargeback', 'charged_back'],
  ['chargeback_reverse', 'chargeback_reversed'],
]);

function readAdjustment(data: unknown, at: Date | undefined): Content {
  const event = ADJUSTMENTS.get(textAt(data, 'action') ?? '');
  if (event === undefined) return { note: 'unused' };
  if (textAt(data, 'status') !== 'approved') return { note: 'not_final' };
  const partial = !isFull(data);
  if (partial && event !== 'refunded') return { note: 'partial' };
  const of = requireText(data, 'transaction_id');
  const money = minorMoney(idAt(data, 'totals', 'total'), textAt(data, 'currency_code'));
  const customerId = textAt(data, 'customer_id');
  return {
    event: {
      event,
      at,
      eventId: requireText(data, 'id'),
      order: { of },
      partial,
      money,
      customerId,
      payment: of,
    },
  };
}

/** Reports whether an adjustment is for the full amount. In messages from before `type` was added, only the items show it. */
function isFull(adjustment: unknown): boolean {
  const type = textAt(adjustment, 'type');
  if (type !== undefined) return type === 'full';
  const items = listAt(adjustment, 'items');
  return items.length > 0 && items.every((item) => textAt(item, 'type') === 'full');
}

function readEnd(data: unknown, at: Date | undefined): Content {
  return {
    event: { event: 'subscription_ended', at, order: { number: requireText(data, 'id'), leads: true } },
  };
}

/** Reads a new subscription. Its first transaction may have been reported without it, so both ids lead to the same order. */
function readSubscription(data: unknown): Content {
  const [id, transaction] = [requireText(data, 'id'), textAt(data, 'transaction_id')];
  return transaction === undefined
    ? { note: 'unused' }
    : { note: 'links', links: [{ key: id, other: transaction }] };
}

/** Reads whether a subscription renews. A scheduled change stops the renewal, unless it is the return from a pause. */
function readRenewal(data: unknown, at: Date | undefined, id: string): Content {
  const status = textAt(data, 'status') ?? '';
  if (status === 'canceled') return { note: 'unused' };
  const number = requireText(data, 'id');
  const scheduled = textAt(data, 'scheduled_change', 'action');
  const isStopped = status === 'paused' || scheduled === 'cancel' || scheduled === 'pause';
  return renewalEventOf(isStopped, { at, eventId: id, order: { number, leads: true } }, number);
}

function readCustomer(data: unknown, at: Date | undefined): Content {
  const customer = customerOf(textAt(data, 'email'), undefined, textAt(data, 'locale')?.slice(0, 2));
  if (customer === undefined) return { note: 'unused' };
  const { email, language } = customer;
  return { note: 'links', links: [{ key: requireText(data, 'id'), email, at, language }] };
}
