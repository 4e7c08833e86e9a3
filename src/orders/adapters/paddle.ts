import { DAY_MS } from '../../base/days';
import { asPaid, type LineMessage } from '../message';
import { customerOf } from './customer';
import { listAt, numberAt, parseObject, requireText, requireTime, textAt, timeAt, valueAt } from './json';
import type { ParsedMessage, ParsedEvent } from '../parsed-message';
import type { ShopAdapter } from './adapter';
import { secretsLike } from './secrets';
import { FIVE_MINUTES_MS, hmac, isAmong, isFresh, partsOf } from './signature';

/**
 * Paddle Billing: `Paddle-Signature: ts=seconds;h1=hex`, HMAC-SHA256 over `ts:body`, which a repeated try may keep from the
 * first. A transaction is the order `txn_...`, those of a subscription are the order `sub_...`; a line is a product,
 * and stays the same when its price, or what is beside it, changes.
 */
export const paddle: ShopAdapter = {
  contentType: 'application/json',

  ...secretsLike('pdl_ntfset_', 'The secret key of a notification destination begins with "pdl_ntfset_".'),

  verify({ body, header }, secret, now) {
    const signature = header('paddle-signature') ?? '';
    const [seconds = ''] = partsOf(signature, ';', 'ts');
    const signed = Buffer.concat([Buffer.from(`${seconds}:`), body]);
    if (!isAmong(partsOf(signature, ';', 'h1'), hmac(signed, secret, 'hex'))) return 'wrong';
    return isFresh(seconds, now, TRIED_FOR_MS) ? 'right' : 'old';
  },

  parse({ body }) {
    const message = parseObject(body);
    const type = requireText(message, 'event_type');
    const id = requireText(message, 'event_id');
    const read = READERS.get(type);
    if (read === undefined) return { id, type, note: 'unused' };
    return { id, type, ...read(valueAt(message, 'data'), requireTime(message, 'occurred_at')) };
  },
};

const TRIED_FOR_MS = 3 * DAY_MS + FIVE_MINUTES_MS;

type OneContent = Omit<ParsedMessage, 'id' | 'type'>;

const READERS = new Map<string, (data: unknown, at: Date) => OneContent>([
  ['transaction.completed', readTransaction],
  ['transaction.payment_failed', readFailedTransaction],
  ['adjustment.created', readAdjustment],
  ['adjustment.updated', readAdjustment],
  ['subscription.canceled', readEnd],
  ['customer.created', readCustomer],
  ['customer.updated', readCustomer],
]);

/** The types of events that mean something here. */
export const PADDLE_EVENTS: ReadonlySet<string> = new Set(READERS.keys());

function readTransaction(data: unknown, at: Date): OneContent {
  const transaction = requireText(data, 'id');
  const origin = textAt(data, 'origin') ?? '';
  const subscription = textAt(data, 'subscription_id');
  // Something bought beside a subscription is an order of its own.
  const isBeside = origin === 'subscription_charge';
  const number = isBeside ? transaction : (subscription ?? transaction);
  const links = [{ key: transaction, order: number }];
  if (origin === 'subscription_payment_method_change') return { links, note: 'links' };
  const items = itemsOf(data);
  const customer = {
    customerId: textAt(data, 'customer_id'),
    customer: customerOf(textAt(data, 'custom_data', 'email')),
  };
  const shared = {
    at,
    eventId: transaction,
    order: { number },
    payment: transaction,
    ...(subscription !== undefined && !isBeside && { renewsItself: true }),
  };
  const recurring = items.filter(({ once }) => !once);
  // The price of what was changed is the whole one, or that of the rest of the period.
  const change = recurring.map(({ paidUntil: _, ...item }) => item);
  if (origin === 'subscription_update') {
    if (change.length === 0)
      return { links, note: 'untold', unmatched: true, meant: { ...shared, ...customer, event: 'renewed' } };
    return { links, event: { ...shared, event: 'upgraded', lines: recurring } };
  }
  if (origin === 'subscription_recurring') {
    // What was changed in between is paid with the next period.
    const isChanged = listAt(data, 'items').some((item) => valueAt(item, 'proration') instanceof Object);
    // Without a proration too it may pay for something else: what was to change with the period.
    const lines = recurring.map(({ line, ids, paidUntil, paidAs, sku, quantity }) => ({
      ...{ line, ids, paidUntil },
      ...(!isChanged && { paidAs, ...asPaid(sku, quantity) }),
    }));
    return {
      links,
      event: { ...shared, event: 'renewed', lines: lines.length === 0 ? undefined : lines },
      also: isChanged && change.length > 0 ? [{ ...shared, event: 'upgraded', lines: change }] : [],
    };
  }
  return {
    links,
    event: {
      ...shared,
      ...customer,
      event: 'paid',
      lines: items,
    },
  };
}

/** Each try of a renewal tells it; another payment that fails is for something that is not sold yet. */
function readFailedTransaction(data: unknown, at: Date): OneContent {
  const number = textAt(data, 'subscription_id');
  if (number === undefined || textAt(data, 'origin') !== 'subscription_recurring') return { note: 'unpaid' };
  return { event: { event: 'payment_failed', at, order: { number }, payment: requireText(data, 'id') } };
}

/** What was bought, without what is credited for it. A line keeps its price and product, whatever is beside it. */
function itemsOf(transaction: unknown): LineMessage[] {
  const paidUntil = timeAt(transaction, 'billing_period', 'ends_at');
  const bought = listAt(transaction, 'items').filter((item) => (numberAt(item, 'quantity') ?? 1) > 0);
  const shared = new Set<string | undefined>();
  const products = new Set<string | undefined>();
  for (const product of bought.map(productOf)) (products.has(product) ? shared : products).add(product);
  return bought.map((item) => {
    const price = requireText(item, 'price', 'id');
    const isRecurring = textAt(item, 'price', 'billing_cycle', 'interval') !== undefined;
    return {
      line: lineOf(item, shared),
      ids: [price, textAt(item, 'price', 'product_id') ?? []].flat(),
      // The rest of a period that another payment paid for is given back with that one.
      ...(isRecurring ? { paidUntil: isRestOf(item) ? undefined : paidUntil } : { once: true as const }),
      sku: textAt(item, 'price', 'custom_data', 'sku') ?? price,
      paidAs: price,
      quantity: numberAt(item, 'quantity'),
    };
  });
}

/** Whether it pays for a part of the period: what is changed within it. */
function isRestOf(item: unknown): boolean {
  const rate = numberAt(item, 'proration', 'rate') ?? Number(textAt(item, 'proration', 'rate') ?? 1);
  return rate < 1;
}

const productOf = (item: unknown) => textAt(item, 'price', 'product_id');

/** If two prices are of one product, these distinguish them. @param shared products of more than one item */
function lineOf(item: unknown, shared: ReadonlySet<string | undefined>): string {
  const product = productOf(item);
  return (shared.has(product) ? undefined : product) ?? requireText(item, 'price', 'id');
}

const ADJUSTMENTS = new Map<string, ParsedEvent['event']>([
  ['refund', 'refunded'],
  ['chargeback', 'charged_back'],
  ['chargeback_reverse', 'chargeback_reversed'],
]);

function readAdjustment(data: unknown, at: Date): OneContent {
  const event = ADJUSTMENTS.get(textAt(data, 'action') ?? '');
  if (event === undefined) return { note: 'unused' };
  if (textAt(data, 'status') !== 'approved') return { note: 'not_final' };
  const partial = !isFull(data);
  if (partial && event !== 'refunded') return { note: 'partial' };
  const of = requireText(data, 'transaction_id');
  return { event: { event, at, eventId: requireText(data, 'id'), order: { of }, partial } };
}

/** Before `type` was added, the items alone told. */
function isFull(adjustment: unknown): boolean {
  const type = textAt(adjustment, 'type');
  if (type !== undefined) return type === 'full';
  const items = listAt(adjustment, 'items');
  return items.length > 0 && items.every((item) => textAt(item, 'type') === 'full');
}

function readEnd(data: unknown, at: Date): OneContent {
  return { event: { event: 'subscription_ended', at, order: { number: requireText(data, 'id') } } };
}

function readCustomer(data: unknown, at: Date): OneContent {
  const customer = customerOf(textAt(data, 'email'), undefined, textAt(data, 'locale')?.slice(0, 2));
  if (customer === undefined) return { note: 'unused' };
  const { email, language } = customer;
  return { note: 'links', links: [{ key: requireText(data, 'id'), email, at, language }] };
}
