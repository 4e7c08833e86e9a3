import { customerOf } from './customer';
import { listAt, numberAt, parseObject, requireSeconds, requireText, textAt, valueAt } from './json';
import type { Link, Receiver, Told, ToldEvent } from './receiver';
import { secretsLike } from './secrets';
import { hmac, isAmong, isFresh, partsOf } from './signature';

/**
 * Stripe: `Stripe-Signature: t=seconds,v1=hex`, HMAC-SHA256 over `t.body`. A payment is the order `pi_...`, one with an invoice
 * `in_...`, and a subscription the order `sub_...`. Objects are read in their shapes before and since API 2025-03-31.
 */
export const stripe: Receiver = {
  contentType: 'application/json',

  ...secretsLike('whsec_', 'The signing secret of a destination begins with "whsec_".'),

  verify({ body, header }, secret, now) {
    const signature = header('stripe-signature') ?? '';
    const [seconds = ''] = partsOf(signature, ',', 't');
    const signed = Buffer.concat([Buffer.from(`${seconds}.`), body]);
    if (!isAmong(partsOf(signature, ',', 'v1'), hmac(signed, secret, 'hex'))) return 'wrong';
    return isFresh(seconds, now) ? 'right' : 'old';
  },

  read({ body }) {
    const message = parseObject(body);
    const id = requireText(message, 'id');
    const type = requireText(message, 'type');
    const read = READERS.get(type);
    // Its time may have another form, as that of a thin event has.
    if (read === undefined) return { id, type, note: 'unused' };
    const at = requireSeconds(message, 'created');
    const test = valueAt(message, 'livemode') === false;
    return {
      id,
      type,
      ...read({ object: valueAt(message, 'data', 'object'), event: { at, eventId: id, test } }),
    };
  },
};

interface About {
  /** what the message is about */
  object: unknown;
  event: Pick<ToldEvent, 'at' | 'eventId' | 'test'>;
}

type Read = Omit<Told, 'id' | 'type'>;

const READERS = new Map<string, (about: About) => Read>([
  ['checkout.session.completed', readSession],
  ['checkout.session.async_payment_succeeded', readSession],
  ['invoice.paid', readInvoice],
  ['invoice_payment.paid', readInvoicePayment],
  ['charge.refunded', readRefund],
  ['charge.dispute.created', readDispute],
  // An inquiry that becomes a dispute is not created again.
  ['charge.dispute.funds_withdrawn', readDispute],
  ['charge.dispute.closed', readDispute],
  ['customer.subscription.deleted', readEnd],
]);

/** The article of a session that names none, so that its order is seen and can be mapped. */
const UNNAMED = 'checkout';

function readSession({ object, event }: About): Read {
  if (textAt(object, 'mode') === 'setup') return { note: 'unused' };
  if (textAt(object, 'payment_status') === 'unpaid') return { note: 'unpaid' };
  const payment = idAt(object, 'payment_intent');
  const invoice = idAt(object, 'invoice');
  const number = idAt(object, 'subscription') ?? invoice ?? payment ?? requireText(object, 'id');
  const sku = textAt(object, 'metadata', 'sku') ?? idAt(object, 'payment_link') ?? UNNAMED;
  const details = valueAt(object, 'customer_details');
  return {
    links: linksOf(number, payment, invoice),
    event: {
      ...{ ...event, event: 'paid', order: { number } },
      customer: customerOf(
        textAt(details, 'email') ?? textAt(object, 'customer_email'),
        textAt(details, 'name'),
      ),
      lines: [{ line: '1', sku, quantity: quantityOf(object) }],
    },
  };
}

/** What a payment of an order is found by later, when it is given back. */
function linksOf(order: string, ...keys: (string | undefined)[]): Link[] {
  return keys.flatMap((key) => (key === undefined ? [] : { key, order }));
}

function readInvoice({ object, event }: About): Read {
  const invoice = requireText(object, 'id');
  const details =
    valueAt(object, 'parent', 'subscription_details') ?? valueAt(object, 'subscription_details');
  const subscription = idAt(details, 'subscription') ?? idAt(object, 'subscription');
  const number = subscription ?? invoice;
  const payments = listAt(object, 'payments', 'data').map((one) => idAt(one, 'payment', 'payment_intent'));
  const links = linksOf(number, invoice, idAt(object, 'payment_intent'), ...payments);
  const customer = customerOf(textAt(object, 'customer_email'), textAt(object, 'customer_name'));
  const shared = { ...event, order: { number }, customer };
  const paid = { ...shared, event: 'paid', mayRepeat: true } as const;
  if (subscription === undefined) return { links, event: { ...paid, lines: linesOf(object) } };
  switch (textAt(object, 'billing_reason')) {
    case 'subscription_create': {
      // A session tells of the same payment. Without one, the subscription's metadata may name the article.
      const sku = textAt(details, 'metadata', 'sku');
      if (sku === undefined) return { links, note: 'first_payment' };
      return { links, event: { ...paid, lines: [{ line: '1', sku, quantity: quantityOf(details) }] } };
    }
    case 'subscription_cycle': {
      const ends = listAt(object, 'lines', 'data').flatMap((line) => numberAt(line, 'period', 'end') ?? []);
      const paidUntil = new Date(Math.max(...ends) * 1000);
      const lines = ends.length === 0 ? undefined : [{ line: '1', paidUntil }];
      return { links, event: { ...shared, event: 'renewed', lines } };
    }
    default:
      return { links, note: 'links' };
  }
}

/** An invoice's own articles. */
function linesOf(invoice: unknown): ToldEvent['lines'] {
  return listAt(invoice, 'lines', 'data').map((line, i) => ({
    line: String(i + 1),
    sku: textAt(line, 'metadata', 'sku') ?? priceOf(line) ?? UNNAMED,
    quantity: quantityOf(line),
  }));
}

function priceOf(line: unknown): string | undefined {
  return idAt(line, 'pricing', 'price_details', 'price') ?? idAt(line, 'price') ?? idAt(line, 'plan');
}

/** Tells which payment paid an invoice; the invoice tells its subscription. */
function readInvoicePayment({ object }: About): Read {
  const key = idAt(object, 'payment', 'payment_intent');
  const other = idAt(object, 'invoice');
  return key === undefined || other === undefined
    ? { note: 'unused' }
    : { note: 'links', links: [{ key, other }] };
}

function readRefund({ object, event }: About): Read {
  const partial = (numberAt(object, 'amount_refunded') ?? 0) < (numberAt(object, 'amount') ?? 0);
  return { event: { ...event, event: 'refunded', order: { of: paymentOf(object) }, partial } };
}

/** A charge of before payment intents has its invoice alone. */
function paymentOf(charge: unknown): string {
  return idAt(charge, 'payment_intent') ?? idAt(charge, 'invoice') ?? requireText(charge, 'id');
}

function readDispute({ object, event }: About): Read {
  const status = textAt(object, 'status') ?? '';
  const order = { of: idAt(object, 'payment_intent') ?? idAt(object, 'charge') ?? requireText(object, 'id') };
  // An inquiry: no money has moved.
  if (status.startsWith('warning_')) return { note: 'not_final' };
  return { event: { ...event, event: status === 'won' ? 'chargeback_reversed' : 'charged_back', order } };
}

function readEnd({ object, event }: About): Read {
  return { event: { ...event, event: 'subscription_ended', order: { number: requireText(object, 'id') } } };
}

function quantityOf(value: unknown): number {
  const quantity = textAt(value, 'metadata', 'quantity') ?? numberAt(value, 'metadata', 'quantity');
  return /^\d+$/.test(String(quantity)) ? Number(quantity) : 1;
}

/** An id, or that of the object in its place, which Stripe sends where an account expands it. */
function idAt(value: unknown, ...path: string[]): string | undefined {
  return textAt(value, ...path) ?? textAt(value, ...path, 'id');
}
