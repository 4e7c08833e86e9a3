import { PADDLE_KEY, STRIPE_KEY, WOO_KEY, type ShopLists } from './shop-lists';
import type { Thing } from './manage';
import { fixture, signPaddle, signStripe, signWooCommerce, type Signed } from './shop-senders';
import type { Article, Dialect, ToldEvent, Year } from './subscription-model';

/** Years of subscriptions in the messages of Stripe, Paddle and WooCommerce, and in these shops' lists afterwards. */

export interface Sender {
  kind: 'stripe' | 'paddle' | 'woocommerce';
  secret: string;
  /** the access that a catch-up needs */
  access: Thing;
  dialect: Dialect;
  skuOf: (article: Article) => string;
  /** returns the reference of the subscription's only licence */
  referenceOf: (n: number) => string;
  /** returns the messages of the `n`th subscription in chronological order */
  speak(n: number, year: Year, first: Date): Said[];
  sign(said: Said, now: Date): Signed;
  /** updates the shop's own lists after a message */
  keep(lists: ShopLists, said: Said): void;
}

export interface Said {
  /** seconds after the first payment */
  at: number;
  message: Thing;
  topic?: string;
}

/** An event, and the state of the subscription after it. */
interface Moment extends ToldEvent {
  article: Article;
  /** the article before the event */
  from: Article;
  seats: number;
  paidUntil: number;
  /** the name of the payment; for a free change, the name of its own invoice */
  bill: string;
}

function momentsOf({ events }: Year): Moment[] {
  let [article, seats, paidUntil]: [Article, number, number] = ['M', 1, 0];
  return [...events]
    .sort((a, b) => a.at - b.at)
    .map((told) => {
      const from = article;
      if (told.sku !== undefined) article = told.sku;
      if (told.quantity !== undefined) seats = told.quantity;
      if (told.until !== undefined) paidUntil = told.until;
      return { ...told, article, from, seats, paidUntil, bill: told.payment ?? told.id };
    });
}

const copyOf = (path: string) =>
  structuredClone(fixture(path)) as Thing & { data: { object: Thing } & Thing };
const secondsOf = (first: Date) => first.getTime() / 1_000;
const timeOf = (first: Date, seconds: number) => new Date(first.getTime() + seconds * 1_000).toISOString();

const stripe: Sender = {
  kind: 'stripe',
  secret: 'whsec_stripe_signs_with_this',
  access: { api_key: STRIPE_KEY },
  dialect: { saysEnds: true, endsForGood: true, tells: 'seats' },
  skuOf: (article) => `price_${article}`,
  referenceOf: (n) => `stripe:sub_${n}:1`,
  speak(n, year, first) {
    const event = (type: string, { at, id }: Moment, path: string, object: Thing): Said => {
      const made = secondsOf(first) + at;
      const message = { ...copyOf(path), type, created: made, id: `evt_${n}_${type}_${id}` };
      Object.assign(message.data.object, object);
      return { at, message };
    };
    const line = (article: Article, quantity: number, end: number, proration?: number): Thing => ({
      ...(copyOf('stripe/invoice.paid.since-2025').data.object.lines as { data: [Thing] }).data[0],
      ...{ quantity, amount: proration ?? 4900, period: { start: 0, end: secondsOf(first) + end } },
      pricing: { type: 'price_details', price_details: { price: `price_${article}`, product: 'prod_1' } },
      parent: {
        type: 'subscription_item_details',
        subscription_item_details: {
          ...{ subscription: `sub_${n}`, subscription_item: `si_${n}`, proration: proration !== undefined },
        },
      },
    });
    const invoice = (moment: Moment, reason: string, lines: Thing[], type = 'invoice.paid') =>
      event(type, moment, 'stripe/invoice.paid.since-2025', {
        ...{ id: `in_${n}_${moment.bill}`, billing_reason: reason, created: secondsOf(first) + moment.at },
        payments: { data: [{ payment: { payment_intent: `pi_${n}_${moment.bill}` } }] },
        parent: { subscription_details: { metadata: {}, subscription: `sub_${n}` } },
        lines: { object: 'list', data: lines, has_more: false },
      });
    const firstBill = year.events[0]!.payment!;
    return momentsOf(year).flatMap((moment): Said[] => {
      const { event: name, article, from, seats, paidUntil, until, bill } = moment;
      const payment_intent = `pi_${n}_${bill}`;
      switch (name) {
        case 'paid': {
          const made = invoice(moment, 'subscription_create', [line(article, seats, paidUntil)]);
          // Half of the subscriptions are bought by a session, the others are created by the shop.
          if (n % 2 === 0) return [made];
          const metadata = { sku: `price_${article}`, quantity: String(seats) };
          const session = event('checkout.session.completed', moment, 'stripe/checkout.session.completed', {
            ...{ mode: 'subscription', subscription: `sub_${n}`, invoice: `in_${n}_${bill}` },
            ...{ payment_intent: null, metadata },
          });
          return [session, made];
        }
        case 'renewed':
          return [invoice(moment, 'subscription_cycle', [line(article, seats, paidUntil)])];
        case 'upgraded':
          return [
            invoice(moment, 'subscription_update', [
              line(from, seats, paidUntil, -900),
              line(article, seats, paidUntil, until === undefined ? 1900 : undefined),
            ]),
          ];
        case 'payment_failed':
          return [
            invoice(
              moment,
              'subscription_cycle',
              [line(article, seats, paidUntil)],
              'invoice.payment_failed',
            ),
          ];
        case 'refunded':
          return [event('charge.refunded', moment, 'stripe/charge.refunded', { payment_intent })];
        case 'refund_failed':
          return [
            event('refund.failed', moment, 'stripe/charge.refunded', {
              ...{ id: `re_${n}_${bill}`, object: 'refund', status: 'failed', payment_intent },
            }),
          ];
        case 'charged_back':
        case 'chargeback_reversed': {
          const isWon = name === 'chargeback_reversed';
          const type = isWon ? 'charge.dispute.closed' : 'charge.dispute.created';
          return [
            event(type, moment, 'stripe/charge.dispute.created', {
              ...{ payment_intent: `pi_${n}_${firstBill}`, status: isWon ? 'won' : 'needs_response' },
            }),
          ];
        }
        default:
          return [
            event('customer.subscription.deleted', moment, 'stripe/customer.subscription.deleted', {
              id: `sub_${n}`,
            }),
          ];
      }
    });
  },
  sign: ({ message }, now) => signStripe(message, stripe.secret, now),
  keep: (lists, { message }) => void lists.stripe.push(message),
};

const paddle: Sender = {
  kind: 'paddle',
  secret: 'pdl_ntfset_01',
  access: { api_key: PADDLE_KEY },
  dialect: { saysEnds: true, endsForGood: true, neverFailsToRefund: true, tells: 'all' },
  skuOf: (article) => `pri_${article}`,
  referenceOf: (n) => `paddle:sub_${n}:pro_1`,
  speak(n, year, first) {
    const event = (type: string, { at }: Moment, path: string, data: Thing): Said => {
      const message = { ...copyOf(path), event_type: type, occurred_at: timeOf(first, at) };
      Object.assign(message.data, data);
      // Let ids ascend with time.
      return { at, message: { ...message, event_id: `evt_${String(at).padStart(9, '0')}_${n}` } };
    };
    const transaction = (moment: Moment, origin: string, type = 'transaction.completed') => {
      const { article, seats, paidUntil, bill, until } = moment;
      const data = copyOf('paddle/transaction.completed').data as unknown as { items: [{ price: Thing }] };
      const price = { ...data.items[0].price, id: `pri_${article}` };
      // Pay a change within a period for its remaining time (proration).
      const proration = origin === 'subscription_update' && until === undefined ? { rate: '0.4' } : null;
      return event(type, moment, 'paddle/transaction.completed', {
        ...{ id: `txn_${n}_${bill}`, origin, subscription_id: `sub_${n}` },
        billing_period: { starts_at: timeOf(first, 0), ends_at: timeOf(first, paidUntil) },
        items: [{ price, quantity: seats, proration }],
      });
    };
    const adjustment = (moment: Moment, action: string, bill: string) =>
      event('adjustment.created', moment, 'paddle/adjustment.created', {
        ...{ id: `adj_${n}_${moment.id}`, action, transaction_id: `txn_${n}_${bill}` },
      });
    const firstBill = year.events[0]!.payment!;
    return momentsOf(year).map((moment): Said => {
      switch (moment.event) {
        case 'paid':
          return transaction(moment, 'web');
        case 'renewed':
          return transaction(moment, 'subscription_recurring');
        case 'upgraded':
          return transaction(moment, 'subscription_update');
        case 'payment_failed':
          return transaction(moment, 'subscription_recurring', 'transaction.payment_failed');
        case 'refunded':
          return adjustment(moment, 'refund', moment.bill);
        case 'charged_back':
          return adjustment(moment, 'chargeback', firstBill);
        case 'chargeback_reversed':
          return adjustment(moment, 'chargeback_reverse', firstBill);
        default:
          return event('subscription.canceled', moment, 'paddle/subscription.canceled', { id: `sub_${n}` });
      }
    });
  },
  sign: ({ message }, now) => signPaddle(message, paddle.secret, now),
  keep: (lists, { message }) => void lists.paddle.push(message),
};

/** Numbers the orders of a WooCommerce subscription from its first one. */
const wooOrder = (n: number) => 10_000 * (n + 1);

const woocommerce: Sender = {
  kind: 'woocommerce',
  secret: 'woo secret',
  access: { api_key: WOO_KEY, site_url: 'https://shop.example/' },
  dialect: {
    ...{ saysEnds: true, endsForGood: true, neverFailsToRefund: true, neverDisputes: true },
    ...{ changesWithNextPayment: true, countsFromPayment: true },
  },
  skuOf: (article) => article,
  referenceOf: (n) => `woocommerce:${wooOrder(n)}:90`,
  speak(n, year, first) {
    const order = wooOrder(n);
    const subscription = order + 9_000;
    const utc = (seconds: number) => timeOf(first, seconds).slice(0, 19);
    const bills = new Map<string, { id: number; paidAt: number; object: Thing }>();
    const itemsOf = (path: string, { article, seats }: Moment) => {
      const [item] = (copyOf(path) as unknown as { line_items: [Thing] }).line_items;
      return [{ ...item, sku: article, quantity: seats, product_id: article === 'M' ? 23 : 24 }];
    };
    const orderAs = (status: string, moment: Moment): Said => {
      const { bill, at } = moment;
      const isFirst = bills.size === 0 || bills.get(bill)?.id === order;
      const path = isFirst ? 'woocommerce/order.updated' : 'woocommerce/order.renewal';
      const known = bills.get(bill) ?? {
        ...{ id: order + bills.size, paidAt: at },
        object: {
          ...copyOf(path),
          line_items: itemsOf(path, moment),
          ...(!isFirst && { meta_data: [{ key: '_subscription_renewal', value: String(subscription) }] }),
        },
      };
      bills.set(bill, known);
      const message = {
        ...{ ...known.object, id: known.id, status, date_modified_gmt: utc(at) },
        date_paid_gmt: status === 'failed' ? null : utc(known.paidAt),
      };
      return { at, message, topic: 'order.updated' };
    };
    const subscriptionAs = (status: string, moment: Moment, at: number): Said => ({
      at,
      topic: 'subscription.updated',
      message: {
        ...copyOf('woocommerce/subscription.updated'),
        ...{ id: subscription, parent_id: order, status, date_modified_gmt: utc(at) },
        next_payment_date_gmt: status === 'active' ? utc(moment.paidUntil) : '',
        line_items: itemsOf('woocommerce/subscription.updated', moment),
      },
    });
    return momentsOf(year).flatMap((moment): Said[] => {
      switch (moment.event) {
        case 'paid':
        case 'renewed':
          return [orderAs('completed', moment), subscriptionAs('active', moment, moment.at + 1)];
        case 'upgraded':
          return [subscriptionAs('active', moment, moment.at)];
        case 'payment_failed':
          return [orderAs('failed', moment)];
        case 'refunded':
          return [orderAs('refunded', moment)];
        default:
          return [subscriptionAs('cancelled', moment, moment.at)];
      }
    });
  },
  sign: ({ message, topic }) => signWooCommerce(message, topic!, woocommerce.secret),
  keep(lists, { message, topic }) {
    if (topic === 'order.updated') lists.orders = asNow(lists.orders, message);
    else lists.subscriptions = asNow(lists.subscriptions ?? [], message);
  },
};

/** Returns a list of objects, each in its current state. */
function asNow(all: Thing[], changed: Thing): Thing[] {
  return [...all.filter(({ id }) => id !== changed.id), changed];
}

export const SENDERS: readonly Sender[] = [stripe, paddle, woocommerce];
