import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WITHOUT_GRACE } from '../support/hook-shop';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { ONE_BACKEND } from '../support/service';
import { sendHook, signDigistore24, signPaddle, signStripe } from '../support/shop-senders';

/**
 * Tests what a licence is after payments. The messages of each case come as they happened, backwards, and twice, because
 * shops send them in any order and repeat them.
 */

const NOW = new Date('2027-01-15T12:00:00Z');
const STRIPE = 'whsec_stripe_signs_with_this';
/** A shop for each order of arrival, because the messages of one shop are limited in each minute. */
const STRIPE_SHOPS = ['stripe', 'stripe-back', 'stripe-twice'];
const PADDLE = 'pdl_ntfset_paddle_signs_with_this';
const DIGISTORE = 'a passphrase of the seller';

const seconds = (text: string) => Date.parse(text) / 1000;
const [BEGUN, RENEWED, UNTIL] = ['2026-11-24T10:00:00Z', '2026-12-24T10:00:00Z', '2027-01-24T10:00:00Z'];
const MIDST = '2026-12-10T10:00:00Z';
const [CHANGED, BACK, YEAR] = ['2027-01-10T10:00:00Z', '2027-01-11T10:00:00Z', '2028-01-10T10:00:00Z'];

interface Message {
  id: string;
  type: string;
  created: number;
  livemode: boolean;
  data: { object: Thing };
}

/** A line of an invoice, which `shape` writes as the API does since 2025-03-31, or as before. */
interface Line {
  price?: string;
  item?: string;
  from?: string;
  to: string;
  amount?: number;
  quantity?: number;
  proration?: boolean;
  more?: Thing;
}

function newLine({
  price = 'price_m',
  item = 'si_1',
  from,
  to,
  amount = 900,
  quantity = 1,
  proration = false,
  more,
}: Line): Thing {
  return {
    ...{ object: 'line_item', amount, quantity, metadata: {} },
    parent: {
      type: 'subscription_item_details',
      subscription_item_details: { subscription: 'SUB', subscription_item: item, proration },
    },
    period: { start: seconds(from ?? BEGUN), end: seconds(to) },
    pricing: { type: 'price_details', price_details: { price, product: 'prod_1' } },
    ...more,
  };
}

function oldLine({
  price = 'price_m',
  item = 'si_1',
  from,
  to,
  amount = 900,
  quantity = 1,
  proration = false,
  more,
}: Line): Thing {
  return {
    ...{ object: 'line_item', amount, quantity, proration, metadata: {} },
    ...{ type: proration ? 'invoiceitem' : 'subscription', subscription: 'SUB', subscription_item: item },
    period: { start: seconds(from ?? BEGUN), end: seconds(to) },
    price: { id: price, product: 'prod_1', recurring: { usage_type: 'licensed' } },
    ...more,
  };
}

function event(type: string, at: string, object: Thing): Message {
  return {
    id: `evt_${type}_${at}_${String(object.id)}`,
    type,
    created: seconds(at),
    livemode: true,
    data: { object },
  };
}

/** The API version whose shape the messages have. */
let shape: 'new' | 'old' = 'new';

function invoice(id: string, at: string, reason: string, lines: Line[], more: Thing = {}): Message {
  const data = lines.map(shape === 'new' ? newLine : oldLine);
  const of =
    shape === 'new'
      ? {
          parent: {
            type: 'subscription_details',
            subscription_details: { subscription: 'SUB', metadata: {} },
          },
        }
      : { subscription: 'SUB', payment_intent: `${id}_pi` };
  return event('invoice.paid', at, {
    ...{ id, object: 'invoice', created: seconds(at), billing_reason: reason, amount_paid: 900, ...of },
    ...{ customer_email: 'jo@example.com', lines: { data, has_more: false }, ...more },
  });
}

const session = (sku = 'PRO-1M', more: Thing = {}) =>
  event('checkout.session.completed', BEGUN, {
    ...{ id: 'cs_1', mode: 'subscription', payment_status: 'paid', subscription: 'SUB', invoice: 'IN_1' },
    ...{ metadata: { sku }, customer_details: { email: 'jo@example.com' }, ...more },
  });
const first = (lines: Line[] = [{ to: RENEWED }]) => invoice('IN_1', BEGUN, 'subscription_create', lines);
const cycle = (lines: Line[] = [{ from: RENEWED, to: UNTIL }], more: Thing = {}) =>
  invoice('IN_2', RENEWED, 'subscription_cycle', lines, more);
const paidBy = (id: string) =>
  event('invoice_payment.paid', RENEWED, {
    ...{ id: `inpay_${id}`, invoice: id, payment: { type: 'payment_intent', payment_intent: `${id}_pi` } },
  });
const refund = (id: string, at = '2027-01-02T10:00:00Z') =>
  event('charge.refunded', at, {
    id: `ch_${id}`,
    payment_intent: `${id}_pi`,
    amount: 900,
    amount_refunded: 900,
  });
const failed = (id: string) =>
  event('refund.failed', '2027-01-05T10:00:00Z', {
    id: `re_${id}`,
    payment_intent: `${id}_pi`,
    status: 'failed',
  });

const dispute = (status: string, day: number) =>
  event(`charge.dispute.${status === 'won' ? 'closed' : 'created'}`, `2027-01-0${day}T10:00:00Z`, {
    ...{ id: 'dp_1', payment_intent: 'IN_1_pi', charge: 'ch_1', status },
  });

const credit = (price: string, quantity = 1): Line => ({
  price,
  from: CHANGED,
  to: UNTIL,
  amount: -400,
  quantity,
  proration: true,
});
const rest = (price: string, quantity: number): Line => ({
  price,
  from: CHANGED,
  to: UNTIL,
  amount: 1200,
  quantity,
  proration: true,
});

/** The fields of a subscription whose metadata names the article. */
const seats = {
  parent: {
    type: 'subscription_details',
    subscription_details: { subscription: 'SUB', metadata: { sku: 'SEATS' } },
  },
};
const addedSeats: Line[] = [
  { ...credit('price_m', 1), from: MIDST, to: RENEWED },
  { ...rest('price_m', 3), from: MIDST, to: RENEWED },
];

interface Case {
  says: string;
  told: () => Message[];
  is: Thing[];
  /** A refund that arrives before its payment prevents the licence. */
  orNone?: true;
}

const month = { status: 'active', plan: 'Month' };

const CASES: Case[] = [
  {
    says: 'prorations that come first, and reach further, do not end what a renewal paid',
    told: () => [
      session(),
      first(),
      cycle([
        credit('price_m'),
        { ...rest('price_m', 1), to: '2027-01-03T10:00:00Z' },
        { from: RENEWED, to: UNTIL },
      ]),
    ],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a renewal of which only prorations are in the message counts by the plan’s duration',
    told: () => [
      session(),
      first(),
      cycle(Array(10).fill(credit('price_m')) as Line[], {
        lines: { has_more: true, data: Array(10).fill(newLine(credit('price_m'))) as Thing[] },
      }),
    ],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'usage, which is paid afterwards, does not end the licence now',
    told: () => [
      session(),
      first(),
      cycle([
        { price: 'price_use', item: 'si_2', to: RENEWED },
        { from: RENEWED, to: UNTIL },
      ]),
    ],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a yearly item on a monthly renewal gives no free year',
    told: () => [
      session(),
      first(),
      cycle([
        { price: 'price_add', item: 'si_2', from: RENEWED, to: '2027-12-24T10:00:00Z' },
        { from: RENEWED, to: UNTIL },
      ]),
    ],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a session is paid until its own line’s period ends, a trial too',
    told: () => [
      session('PRO-1Y', { payment_status: 'no_payment_required' }),
      first([{ price: 'price_y', to: UNTIL, amount: 0 }]),
    ],
    is: [{ status: 'active', plan: 'Year', ends: UNTIL }],
  },
  {
    says: 'monthly to yearly changes the plan and the end',
    told: () => [
      session(),
      first(),
      cycle(),
      invoice('IN_3', CHANGED, 'subscription_update', [
        credit('price_m'),
        { price: 'price_y', from: CHANGED, to: YEAR },
      ]),
    ],
    is: [{ status: 'active', plan: 'Year', ends: YEAR }],
  },
  {
    says: 'what a subscription says of its article from before does not hide the new price',
    told: () => [
      session(),
      first(),
      cycle(),
      invoice('IN_3', CHANGED, 'subscription_update', [
        credit('price_m'),
        { price: 'price_y', from: CHANGED, to: YEAR, more: { metadata: { sku: 'PRO-1M' } } },
      ]),
    ],
    is: [{ status: 'active', plan: 'Year', ends: YEAR }],
  },
  {
    says: 'more seats are more slots, of the article that they were bought as',
    told: () => [
      session('SEATS'),
      first(),
      cycle(),
      invoice('IN_3', CHANGED, 'subscription_update', [credit('price_m', 1), rest('price_m', 4)]),
    ],
    is: [{ ...month, ends: UNTIL, limit: 12 }],
  },
  {
    says: 'more seats that are paid with the next period count then',
    told: () => [
      session('SEATS'),
      first(),
      cycle([
        { ...credit('price_m', 1), to: RENEWED },
        { ...rest('price_m', 2), to: RENEWED },
        { from: RENEWED, to: UNTIL, quantity: 2 },
      ]),
    ],
    is: [{ ...month, ends: UNTIL, limit: 6 }],
  },
  {
    says: 'a change that is changed back is what it was',
    told: () => [
      session(),
      first(),
      cycle(),
      invoice('IN_3', CHANGED, 'subscription_update', [credit('price_m'), rest('price_y', 1)]),
      invoice('IN_4', BACK, 'subscription_update', [credit('price_y'), rest('price_m', 1)]),
    ],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'another price with the next period, without prorations, changes the plan then',
    told: () => [session(), first(), cycle([{ price: 'price_y', from: RENEWED, to: YEAR }])],
    is: [{ status: 'active', plan: 'Year', ends: YEAR }],
  },
  {
    says: 'another price whose prorations are paid with the next period changes the plan',
    told: () => [
      session(),
      first(),
      cycle([
        { ...credit('price_m'), to: RENEWED },
        { ...rest('price_y', 1), to: RENEWED },
        { price: 'price_y', from: RENEWED, to: YEAR },
      ]),
    ],
    is: [{ status: 'active', plan: 'Year', ends: YEAR }],
  },
  {
    says: 'a renewal at a price that is not mapped renews what there is',
    told: () => [
      session('SEATS'),
      first(),
      cycle([{ price: 'price_new', from: RENEWED, to: UNTIL, quantity: 5 }]),
    ],
    is: [{ ...month, ends: UNTIL, limit: 3 }],
  },
  {
    says: 'seats that were added stay at a renewal, whatever the subscription says of itself',
    told: () => [
      invoice('IN_1', BEGUN, 'subscription_create', [{ to: RENEWED }], seats),
      invoice('IN_3', MIDST, 'subscription_update', addedSeats, seats),
      cycle([{ from: RENEWED, to: UNTIL, quantity: 3 }], seats),
    ],
    is: [{ ...month, ends: UNTIL, limit: 9 }],
  },
  {
    says: 'several lines of a price, as of tiers, are no change of its quantity, in any order',
    told: () => [
      session('SEATS'),
      first([
        { to: RENEWED, quantity: 5 },
        { to: RENEWED, quantity: 3 },
      ]),
      cycle([
        { from: RENEWED, to: UNTIL, quantity: 3 },
        { from: RENEWED, to: UNTIL, quantity: 5 },
      ]),
    ],
    is: [{ ...month, ends: UNTIL, limit: 3 }],
  },
  {
    says: 'a change whose payment was given back counts once a renewal pays for it',
    told: () => [
      session(),
      first(),
      invoice('IN_3', MIDST, 'subscription_update', [
        { ...credit('price_m'), from: MIDST, to: RENEWED },
        { ...rest('price_y', 1), from: MIDST, to: RENEWED },
      ]),
      paidBy('IN_3'),
      refund('IN_3', '2026-12-12T10:00:00Z'),
      cycle([{ price: 'price_y', from: RENEWED, to: YEAR }]),
    ],
    is: [{ status: 'active', plan: 'Year', ends: YEAR }],
  },
  {
    says: 'the quantity of a session is that of its licences, and stays at a renewal',
    told: () => [first(), session('PRO-1M', { metadata: { sku: 'PRO-1M', quantity: '2' } }), cycle()],
    is: [
      { ...month, ends: UNTIL },
      { ...month, ends: UNTIL },
    ],
  },
  {
    says: 'a dispute that was won lets the session’s article be issued, whichever came first',
    told: () => [
      first([{ to: UNTIL }]),
      paidBy('IN_1'),
      dispute('needs_response', 3),
      session(),
      dispute('won', 4),
    ],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a subscription without a session has a licence for each of its lines, each with its own end',
    told: () => [
      first([
        { price: 'price_solo', to: RENEWED },
        { price: 'price_y', item: 'si_2', to: '2027-11-24T10:00:00Z' },
      ]),
      cycle([{ price: 'price_solo', from: RENEWED, to: UNTIL }]),
    ],
    is: [
      { ...month, ends: UNTIL },
      { status: 'active', plan: 'Year', ends: '2027-11-24T10:00:00Z' },
    ],
  },
  {
    says: 'prorations of another item in a renewal change neither how many there are nor the plan',
    told: () => [
      session('SEATS', { metadata: { sku: 'SEATS', quantity: '10' } }),
      first(),
      cycle([], {
        lines: {
          has_more: true,
          data: Array.from({ length: 10 }, (_, i) =>
            newLine({
              ...(i % 2 === 0 ? credit('price_y', 2) : rest('price_y', 5)),
              item: 'si_2',
              to: RENEWED,
            }),
          ),
        },
      }),
    ],
    is: [{ ...month, ends: UNTIL, limit: 30 }],
  },
  ...[0, 1].map((seatsAt): Case => {
    const both = (line: Line, many = 2): Line[] => {
      const lines = [line, { ...line, price: 'price_seat', item: 'si_2', quantity: many }];
      return seatsAt === 0 ? lines.reverse() : lines;
    };
    return {
      says: `seats beside what was sold in a session are no more of it, at place ${seatsAt}`,
      told: () => [
        session(),
        first(both({ to: RENEWED })),
        invoice('IN_3', MIDST, 'subscription_update', [
          { ...credit('price_seat', 2), item: 'si_2', from: MIDST, to: RENEWED },
          { ...rest('price_seat', 5), item: 'si_2', from: MIDST, to: RENEWED },
        ]),
        cycle(both({ from: RENEWED, to: UNTIL }, 5)),
      ],
      is: [{ ...month, ends: UNTIL }],
    };
  }),
  {
    says: 'a renewal that shows another item alone counts by the plan’s duration, and changes nothing',
    told: () => [
      session(),
      first(),
      cycle([], {
        lines: {
          has_more: true,
          data: [newLine({ price: 'price_y', item: 'si_2', from: RENEWED, to: YEAR, quantity: 5 })],
        },
      }),
    ],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a refund of cycle 1 takes nothing of what cycle 2 paid',
    told: () => [session(), first(), paidBy('IN_1'), cycle(), paidBy('IN_2'), refund('IN_1')],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a refund of all that is paid suspends, and the end stays',
    told: () => [session(), first([{ to: UNTIL }]), paidBy('IN_1'), refund('IN_1')],
    is: [{ status: 'suspended', plan: 'Month', ends: UNTIL }],
    orNone: true,
  },
  {
    says: 'a refund that failed is none',
    told: () => [session(), first(), paidBy('IN_1'), cycle(), paidBy('IN_2'), refund('IN_2'), failed('IN_2')],
    is: [{ ...month, ends: UNTIL }],
  },
];

/** Returns a transaction of Paddle. `once` marks an item that does not recur. */
function transaction(
  id: string,
  origin: string,
  [at, until]: [string, string],
  items: { price: string; product: string; once?: true; quantity?: number }[],
): Thing {
  return {
    ...{ event_id: `evt_${id}`, event_type: 'transaction.completed', occurred_at: at },
    data: {
      ...{
        id,
        origin,
        status: 'completed',
        subscription_id: 'SUB',
        custom_data: { email: 'jo@example.com' },
      },
      billing_period: { starts_at: at, ends_at: until },
      items: items.map(({ price, product, once, quantity = 1 }) => ({
        price: {
          id: price,
          product_id: product,
          billing_cycle: once ? null : { interval: 'month', frequency: 1 },
        },
        ...{ quantity, proration: null },
      })),
    },
  };
}

const base = { price: 'pri_m', product: 'pro_1' };
const renewedBy = (...items: Parameters<typeof transaction>[3]) =>
  transaction('TXN_2', 'subscription_recurring', [RENEWED, UNTIL], items);
const bought = (...items: Parameters<typeof transaction>[3]) =>
  transaction('TXN_1', 'web', [BEGUN, RENEWED], items);

const PADDLE_CASES: { says: string; told: Thing[]; is: Thing[] }[] = [
  {
    says: 'a setup fee in the first transaction',
    told: [bought(base, { price: 'pri_fee', product: 'pro_1', once: true }), renewedBy(base)],
    is: [{ ...month, ends: UNTIL }, { plan: 'Month' }],
  },
  {
    says: 'seats of the product beside the renewal',
    told: [bought(base), renewedBy(base, { price: 'pri_seat', product: 'pro_1', quantity: 4 })],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a custom price',
    told: [bought(base), renewedBy({ price: 'pri_custom', product: 'pro_1' })],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'a replaced price of another product',
    told: [bought(base), renewedBy({ price: 'pri_9', product: 'pro_9' })],
    is: [{ ...month, ends: UNTIL }],
  },
  {
    says: 'another price with the next period',
    told: [bought(base), renewedBy({ price: 'pri_y', product: 'pro_1' })],
    is: [{ status: 'active', plan: 'Year', ends: UNTIL }],
  },
  {
    says: 'a change to yearly',
    told: [
      bought(base),
      renewedBy(base),
      transaction(
        'TXN_3',
        'subscription_update',
        [CHANGED, YEAR],
        [
          { ...base, quantity: -1 },
          { price: 'pri_y', product: 'pro_1' },
        ],
      ),
    ],
    is: [{ status: 'active', plan: 'Year', ends: YEAR }],
  },
];

describe.each(ONE_BACKEND)('money, on %s', (_, settings) => {
  let service: Managed;
  const plans = new Map<number, string>();
  beforeAll(async () => {
    service = await startManaged({ ...(await settings()), ...WITHOUT_GRACE }, NOW);
    const { write } = service;
    const product = await write.ok('POST /products', { name: 'Pro' }, 201);
    const made = { product_id: product.id as number, activation_type: 'domain', activation_limit: 3 };
    const add = async (name: string, duration: string) => {
      const id = (await write.ok('POST /plans', { ...made, name, duration }, 201)).id as number;
      plans.set(id, name);
      return id;
    };
    const [monthly, yearly] = [await add('Month', '1m'), await add('Year', '1y')];
    for (const [name = '', kind = '', secret = ''] of [
      ...STRIPE_SHOPS.map((name) => [name, 'stripe', STRIPE]),
      ['paddle', 'paddle', PADDLE],
      ['ds24', 'digistore24', DIGISTORE],
    ])
      await write.ok('POST /shops', { name, kind, secret }, 201);
    const map = async (shop: string, sku: string, plan_id: number, quantity = 'licenses') =>
      write.ok(`POST /shops/${shop}/map`, { sku, plan_id, quantity }, 201);
    for (const shop of STRIPE_SHOPS) {
      for (const sku of ['PRO-1M', 'price_solo']) await map(shop, sku, monthly);
      for (const sku of ['PRO-1Y', 'price_y']) await map(shop, sku, yearly);
      await map(shop, 'SEATS', monthly, 'slots');
    }
    for (const sku of ['pri_m', 'pri_fee']) await map('paddle', sku, monthly);
    await map('paddle', 'pri_y', yearly);
    await map('ds24', 'M', monthly);
    await map('ds24', 'Y', yearly);
  });
  afterAll(() => service.stop());

  async function licensesOf(shop: string, number: string): Promise<Thing[]> {
    const [found] = (await service.read.ok(`GET /orders?shop=${shop}&order=${number}`)) as unknown as Thing[];
    const shown: Thing[] = [];
    for (const { licenses } of (found?.lines ?? []) as { licenses: Thing[] }[])
      for (const { id } of licenses) {
        const one: Record<string, unknown> = await service.read.ok(`GET /licenses/${String(id)}`);
        shown.push({
          ...{ status: one.status, plan: plans.get(one.plan_id as number), ends: one.expires_at },
          limit: one.activation_limit,
        });
      }
    return shown;
  }

  async function tell(messages: Message[], unique: string, shop = 'stripe'): Promise<Thing[]> {
    const answers: Thing[] = [];
    for (const message of messages) {
      const own = JSON.parse(
        JSON.stringify(message).replaceAll(/\b(SUB|IN_\d(?:_pi)?)\b/g, `$1_${unique}`),
      ) as Message;
      const signed = signStripe({ ...own, id: `${own.id}_${unique}` }, STRIPE, service.clock.now);
      const answer = await sendHook(service.url, shop, signed);
      expect([answer.status, answer.text]).toEqual([200, answer.text]);
      answers.push((JSON.parse(answer.text) as { data: Thing }).data);
    }
    return answers;
  }

  /** Rows of: name, order of arrival, shapes. `doubled` repeats all messages, and begins with their second half. */
  const arrivals: [string, <T>(told: T[]) => T[], (typeof shape)[]][] = [
    ['as it happened', (told) => told, ['new', 'old']],
    ['backwards', (told) => [...told].reverse(), ['old']],
    ['doubled', (told) => [...told.slice(told.length / 2), ...told, ...told], ['new']],
  ];

  async function tellPaddle(messages: Thing[], unique: string): Promise<Thing[]> {
    for (const message of messages) {
      const text = JSON.stringify(message).replaceAll(/\b((?:evt_)?(?:SUB|TXN_\d))\b/g, `$1_${unique}`);
      const signed = signPaddle(JSON.parse(text) as object, PADDLE, service.clock.now);
      expect((await sendHook(service.url, 'paddle', signed)).status).toBe(200);
    }
    return licensesOf('paddle', `SUB_${unique}`);
  }

  it.each(
    arrivals.flatMap(([how, arrive]) => PADDLE_CASES.map((one) => [how, one.says, one, arrive] as const)),
  )('paddle, received %s: %s', async (__, ___, { told, is }, arrive) => {
    const unique = randomUUID().replaceAll('-', '');
    expect(await tellPaddle(arrive(told), unique)).toMatchObject(is);
  });

  it('digistore24: an upgrade to another product changes the licence, and makes no second one', async () => {
    const number = `A${randomUUID().slice(0, 8)}`;
    const say = async (more: Record<string, string>) => {
      const form = {
        event: 'on_payment',
        api_mode: 'live',
        order_id: number,
        order_item_id: `${number}1`,
        ...more,
      };
      const answer = await sendHook(service.url, 'ds24', signDigistore24(form, DIGISTORE));
      expect([answer.status, answer.text]).toEqual([200, answer.text]);
    };
    const bought = {
      product_id: 'M',
      transaction_id: `${number}-1`,
      billing_type: 'subscription',
      pay_sequence_no: '1',
    };
    await say(bought);
    service.clock.now = new Date(NOW.getTime() + 60_000);
    const other = { order_id: `${number}U`, order_item_id: `${number}U1` };
    const upgrade = { ...other, product_id: 'Y', transaction_id: `${number}-2`, upgraded_order_id: number };
    await say(upgrade);
    await say(upgrade);
    expect(await licensesOf('ds24', number)).toMatchObject([{ status: 'active', plan: 'Year' }]);
    service.clock.now = NOW;
  });

  it('stripe: articles that are not in the message do not count as done', async () => {
    const unique = randomUUID().replaceAll('-', '');
    const data = Array.from({ length: 10 }, () => newLine({ price: 'price_solo', to: UNTIL }));
    const message = event('invoice.paid', RENEWED, {
      ...{ id: 'IN_9', billing_reason: 'manual', amount_paid: 12_000, lines: { data, has_more: true } },
    });
    const [answer] = await tell([message], unique);
    expect(answer).toMatchObject({ result: 'unmatched', reason: 'cut:11-' });
    expect(await licensesOf('stripe', `IN_9_${unique}`)).toHaveLength(10);
  });

  describe.each(arrivals.map(([how, ...one], i) => [how, ...one, STRIPE_SHOPS[i] as string] as const))(
    'told %s',
    (__, arrive, shapes, shop) => {
      it.each(CASES.map(({ says, ...one }) => [says, one] as const))(
        'stripe: %s',
        async (___, { told, is, orNone }) => {
          for (shape of shapes) {
            const unique = randomUUID().replaceAll('-', '');
            await tell(arrive(told()), unique, shop);
            const found = await licensesOf(shop, `SUB_${unique}`);
            if (found.length > 0 || !orNone) expect([shape, found]).toMatchObject([shape, is]);
          }
          shape = 'new';
        },
      );
    },
  );
});
