import { asCustomerLanguage, CUSTOMERS } from '../../texts/customers/languages';
import { createHash } from 'node:crypto';
import { decodeHTMLStrict } from 'entities';
import { InvalidRequestError } from '../../base/errors';
import { parseForm } from '../../licensing/forms';
import { customerOf } from './customer';
import { decimalMoney } from './money';
import type { Content, IdLink, ParsedEvent } from '../parsed-message';
import type { InboundWebhook, ShopAdapter } from './adapter';
import { renewalEventOf } from './renewal';
import { secretsOfChoice } from './secrets';
import { matchesAny } from './signature';

const { secretLook, secretFault } = secretsOfChoice(
  'The secret is the passphrase that you typed at Digistore24.',
);

/**
 * Digistore24 (https://dev.digistore24.com/en/articles/13-events, /5-ipn-integration) posts a form. Its `sha_sign` is
 * the SHA-512 of the fields that are not empty, sorted, each as `name=value` and the passphrase. Each item of an order
 * has a message of its own. A message has no time, so the time of its receipt counts.
 */
export const digistore24: ShopAdapter = {
  contentType: 'application/x-www-form-urlencoded',
  // A form has about 5 KiB.
  maxBody: 64 * 1024,
  verifiesSlowly: true,

  // Keep every character, because the seller makes the passphrase up.
  secretLook,
  secretFault,

  verify(delivery, secret) {
    // Limit the fields: sorting and hashing many takes long, and a caller without the secret could send them.
    if (delivery.body.toString('latin1').split('&', MAX_FIELDS + 1).length > MAX_FIELDS) return 'wrong';
    const form = fieldsOf(delivery);
    const signature = form.get('sha_sign')?.toUpperCase() ?? '';
    // Accept both signatures, because Digistore24's own sample signs the values after HTML decoding.
    const right = [signatureOf(form, secret, (value) => value), signatureOf(form, secret, decodeHTMLStrict)];
    return matchesAny(right, signature) ? 'right' : 'wrong';
  },

  parse(delivery) {
    const form = decodedFieldsOf(delivery);
    const type = form.get('event') ?? '';
    const about = form.get('transaction_id') || form.get('order_item_id') || form.get('order_id') || '';
    const digest = createHash('sha256').update(delivery.body).digest('hex');
    // Add the body's digest: these events have no payment id that distinguishes one from the next.
    const id = WITHOUT_PAYMENT.has(type) ? `${type}:${digest}` : `${type}:${about}:${itemOf(form)}`;
    return { id, formerId: `${type}:${about}`, type, ...readForm(form, type, id) };
  },

  answer: {
    item(delivery) {
      const form = decodedFieldsOf(delivery);
      const order = form.get('order_id');
      return form.get('event') === 'on_payment' && order ? { order, line: itemOf(form) } : undefined;
    },
    text(delivery, keys) {
      const language = asCustomerLanguage(fieldsOf(delivery).get('language')) ?? 'en';
      const { title, key: name } = CUSTOMERS[language].sentences.thanks;
      const lines = keys.map((key, i) => `${name}${i === 0 ? '' : ` ${i + 1}`}: ${key}`);
      return ['OK', ...(keys.length === 0 ? [] : [`headline: ${title}`, ...lines])].join('\n');
    },
  },
};

const WITHOUT_PAYMENT = new Set(['on_payment_missed', 'on_rebill_cancelled', 'on_rebill_resumed']);

/** Returns the fields with decoded values. A signature may cover the decoded values, and then several raw values match it. */
function decodedFieldsOf(delivery: InboundWebhook): Map<string, string> {
  return new Map([...fieldsOf(delivery)].map(([name, value]) => [name, decodeHTMLStrict(value)]));
}

/** The maximum number of fields; Digistore24 sends about 150. */
const MAX_FIELDS = 1_000;

function fieldsOf({ body }: InboundWebhook): Map<string, string> {
  return new Map(parseForm(body));
}

function signatureOf(form: Map<string, string>, secret: string, decode: (value: string) => string): string {
  const hash = createHash('sha512');
  for (const name of [...form.keys()].sort()) {
    const value = decode(form.get(name) ?? '');
    if (name !== 'sha_sign' && value !== '') hash.update(`${name}=${value}${secret}`);
  }
  return hash.digest('hex').toUpperCase();
}

function readForm(form: Map<string, string>, type: string, id: string): Content {
  const transaction = form.get('transaction_id') || undefined;
  const test = (form.get('api_mode') || 'live') !== 'live';
  const line = itemOf(form);
  // Accept the id of an earlier version, which identified payments without their item.
  const formerly = { eventId: `${type}:${transaction ?? line}`, line };
  const buyer = form.get('buyer_id') || undefined;
  const shared = { at: undefined, test, eventId: id, formerly, customerId: buyer && `buyer-${buyer}` };
  const lines = [{ line }];
  switch (type) {
    case 'on_payment':
      return readPayment(form, shared, transaction);
    case 'on_refund':
    case 'on_chargeback': {
      const of = form.get('parent_transaction_id');
      const event = type === 'on_refund' ? 'refunded' : 'charged_back';
      const order = of ? { of: of } : { number: orderOf(form) };
      return { event: { ...shared, event, order, lines, money: moneyOf(form, true) } };
    }
    case 'last_paid_day':
      return { event: { ...shared, event: 'subscription_ended', order: { number: orderOf(form) }, lines } };
    case 'on_payment_missed':
      return { event: { ...shared, event: 'payment_failed', order: { number: orderOf(form) }, lines } };
    case 'on_rebill_cancelled':
    case 'on_rebill_resumed': {
      const order = { number: orderOf(form) };
      const isStopped = type === 'on_rebill_cancelled';
      return renewalEventOf(isStopped, { ...shared, order, lines }, `${order.number}:${line}`);
    }
    case 'connection_test':
      return { note: 'test' };
    default:
      return { note: 'unused' };
  }
}

function readPayment(
  form: Map<string, string>,
  shared: Omit<ParsedEvent, 'event' | 'order'>,
  transaction: string | undefined,
): Content {
  const number = orderOf(form);
  const money = moneyOf(form);
  const links: IdLink[] = transaction === undefined ? [] : [{ key: transaction, order: number, paid: money }];
  const isLater = Number(form.get('pay_sequence_no')) > 1;
  // Later instalments pay parts of one price, so they extend nothing.
  if (isLater && form.get('billing_type') === 'installment') return { note: 'links', links };
  const line = itemOf(form);
  const sku = form.get('product_id') || undefined;
  const renewsItself = form.get('billing_type') === 'subscription' ? true : undefined;
  const upgraded = form.get('upgraded_order_id');
  const name = [form.get('address_first_name'), form.get('address_last_name')];
  const customer = customerOf(form.get('email'), name, form.get('language'));
  const paid = { ...shared, order: { number }, payment: transaction, customer, money, renewsItself };
  if (isLater) return { links, event: { ...paid, event: 'renewed', lines: [{ line }] } };
  const bought = { line, sku, quantity: Number(form.get('quantity') || 1) };
  return upgraded
    ? { links, event: { ...paid, event: 'upgraded', lines: [{ ...bought, renews: upgraded }] } }
    : { links, event: { ...paid, event: 'paid', lines: [bought] } };
}

function orderOf(form: Map<string, string>): string {
  const order = form.get('order_id');
  if (!order) throw new InvalidRequestError('"order_id" is missing.');
  return order;
}

function itemOf(form: Map<string, string>): string {
  return form.get('order_item_id') || '1';
}

function moneyOf(form: Map<string, string>, isReturned = false): ParsedEvent['money'] {
  const text = form.get('transaction_amount') || form.get('amount_brutto') || '';
  const currency = form.get('transaction_currency') || form.get('currency');
  // Remove the minus sign of a returned amount.
  return decimalMoney(isReturned ? text.replace(/^-/, '') : text, currency);
}
