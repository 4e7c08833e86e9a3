import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { ADAPTERS } from '../../src/orders/adapters';
import { fitMessage, type FitMessage } from '../../src/orders/bounds';
import { eventIdentity } from '../../src/orders/event-identity';
import { recordOrder } from '../../src/orders/record';
import { readOrderBody } from '../../src/operations/orders';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { ONE_BACKEND } from '../support/service';
import {
  fixture,
  sendHook,
  signDigistore24,
  signFastSpring,
  signLemonSqueezy,
  signPaddle,
  signStandard,
  signStripe,
  signWooCommerce,
  type Signed,
} from '../support/shop-senders';

/** Tests the rules for the messages of all receivers, each rule with each receiver. */

const NOW = new Date('2027-01-20T12:00:00Z');
const [AT, LATER] = ['2027-01-10T10:00:00.250Z', '2027-01-12T10:00:00.750Z'];
const SECRETS = {
  stripe: 'whsec_stripe_signs_with_this',
  paddle: 'pdl_ntfset_paddle_signs_with_this',
  digistore24: 'a passphrase of the seller',
  lemonsqueezy: 'made-up-by-the-seller',
  fastspring: 'also-made-up',
  woocommerce: 'text of the webhook',
  standard: `whsec_${randomBytes(24).toString('base64')}`,
};
type Kind = keyof typeof SECRETS;
const KINDS = Object.keys(SECRETS) as Kind[];

interface Bought {
  sku?: string | number | null;
  quantity?: string | number | undefined;
}

interface Told {
  items?: Bought[];
  email?: string | undefined;
  amount?: unknown;
  currency?: string;
  at?: string;
}

let unique = 0;
const stripe = (type: string, object: Thing, at = AT, before?: Thing, id = `evt_${++unique}`) =>
  signStripe(
    {
      ...{ id, type, created: Math.floor(Date.parse(at) / 1000), livemode: true },
      data: { object, ...(before && { previous_attributes: before }) },
    },
    SECRETS.stripe,
    NOW,
  );
const paddle = (type: string, data: Thing, at = AT) =>
  signPaddle({ event_id: `evt_${++unique}`, event_type: type, occurred_at: at, data }, SECRETS.paddle, NOW);
const digistore = (event: string, n: string, more: Record<string, string> = {}) =>
  signDigistore24(
    {
      ...{ event, api_mode: 'live', order_id: n, order_item_id: `${n}-1`, billing_type: 'subscription' },
      ...{ transaction_id: `T${n}`, buyer_id: `B${n}`, product_id: '500', currency: 'EUR', ...more },
    },
    SECRETS.digistore24,
  );
const lemon = (name: string, id: string, attributes: Thing) =>
  signLemonSqueezy(
    { meta: { event_name: name }, data: { id, attributes: { test_mode: false, ...attributes } } },
    SECRETS.lemonsqueezy,
  );
const fast = (type: string, data: Thing, at = AT) =>
  signFastSpring(
    [{ id: `e${++unique}`, type, live: true, created: Date.parse(at), data }],
    SECRETS.fastspring,
  );
const woo = (object: Thing, topic = 'order.updated') => signWooCommerce(object, topic, SECRETS.woocommerce);
const gmt = (at: string) => at.slice(0, 19);

/** The messages about a payment, by sender: an order of these articles. */
const paid: Record<Kind, (n: string, told?: Told) => Signed> = {
  // A session names one article; an invoice may have several.
  stripe: (n, { items = [{ sku: '500' }], email, amount = 4900, currency = 'eur', at } = {}) =>
    stripe(
      'checkout.session.completed',
      {
        ...{ id: `cs_${n}`, mode: 'payment', payment_status: 'paid', payment_intent: `pi_${n}` },
        ...{ amount_total: amount, currency: currency.toLowerCase(), customer: `cus_${n}` },
        metadata: { sku: items[0]?.sku, quantity: String(items[0]?.quantity ?? 1) },
        customer_details: { email },
      },
      at,
    ),
  paddle: (n, { items = [{ sku: '500' }], email, amount = '4900', currency = 'EUR', at } = {}) =>
    paddle(
      'transaction.completed',
      {
        ...{ id: `txn_${n}`, origin: 'web', subscription_id: `sub_${n}`, customer_id: `ctm_${n}` },
        ...{ currency_code: currency, details: { totals: { grand_total: amount } } },
        custom_data: email === undefined ? null : { email },
        items: items.map(({ sku, quantity = 1 }) => ({
          quantity,
          price:
            sku === null
              ? null
              : {
                  id: sku,
                  product_id: `pro-${String(sku).slice(0, 3)}`,
                  billing_cycle: { interval: 'month' },
                },
        })),
      },
      at,
    ),
  digistore24: (n, { items = [{ sku: '500' }], email = '', amount = '49.00', currency = 'EUR' } = {}) =>
    digistore('on_payment', n, {
      ...{ product_id: String(items[0]?.sku ?? ''), quantity: String(items[0]?.quantity ?? 1) },
      ...{ email, transaction_amount: String(amount), currency },
    }),
  lemonsqueezy: (n, { items = [{ sku: '500' }], email, amount = 4900, currency = 'EUR', at = AT } = {}) =>
    lemon('order_created', n, {
      ...{ status: 'paid', total: amount, currency, user_email: email, customer_id: n },
      ...{ created_at: at, updated_at: at },
      first_order_item: { id: `${n}1`, variant_id: items[0]?.sku, quantity: items[0]?.quantity ?? 1 },
    }),
  fastspring: (n, { items = [{ sku: '500' }], email, amount = 49, currency = 'EUR', at } = {}) =>
    fast(
      'order.completed',
      {
        ...{
          order: `ord-${n}`,
          id: `ord-${n}`,
          completed: true,
          total: amount,
          currency,
          account: `acc-${n}`,
        },
        customer: { email },
        items: items.map(({ sku, quantity = 1 }, i) =>
          sku === null ? { display: 'Fee', quantity } : { product: `p${i}`, sku, quantity },
        ),
      },
      at,
    ),
  woocommerce: (n, { items = [{ sku: '500' }], email, amount = '49.00', currency = 'EUR', at = AT } = {}) =>
    woo({
      ...{ id: n, status: 'completed', currency, total: amount, customer_id: n },
      ...{ date_paid_gmt: gmt(at), date_modified_gmt: gmt(at), billing: { email } },
      line_items: items.map(({ sku, quantity = 1 }, i) => ({
        ...{ id: Number(`${n}${i}`), product_id: sku === null ? 0 : 500 + i, variation_id: 0, quantity },
        sku: sku === null ? '' : String(sku),
      })),
    }),
  standard: (n, { items = [{ sku: '500' }], email, at = AT } = {}) =>
    signStandard(
      {
        type: 'order.paid',
        data: {
          ...{
            order: n,
            at,
            lines: items.map(({ sku, quantity }, i) => ({ line: String(i), sku, quantity })),
          },
          ...(email !== undefined && { customer: { email } }),
        },
      },
      SECRETS.standard,
      NOW,
      `msg_${++unique}`,
    ),
};

/** Parses a message, and makes it storable by the shared functions. */
function read(kind: Kind, { body, headers }: Signed): FitMessage {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const header = (name: string) => lower.get(name);
  const { list } = ADAPTERS[kind];
  const parts =
    list === undefined
      ? [body]
      : (JSON.parse(body) as Record<string, Thing[]>)[list]!.map((one) => JSON.stringify(one));
  const delivery = { body: Buffer.from(parts[0] as string), header };
  return fitMessage(ADAPTERS[kind].parse(delivery, { shop: kind, now: NOW, readOrder: readOrderBody }), NOW);
}

const number = () => String(1_000 + ++unique);
/** The senders whose orders have several lines. */
const MANY: Kind[] = ['paddle', 'fastspring', 'woocommerce'];
/** All senders but `standard`: its bodies have the form of the operator's API, which refuses wrong values. */
const OWN = KINDS.filter((kind) => kind !== 'standard');

describe('each line is judged separately', () => {
  const KEY = '0123ABCD-0123ABCD-0123ABCD-0123ABCD';
  it.each(
    OWN.flatMap((kind) => ['0', '0.5', '-1', '10001', 'x'].map((quantity) => [kind, quantity] as const)),
  )('%s: a quantity of %s', (kind, quantity) => {
    const { event } = read(kind, paid[kind](number(), { items: [{ sku: '500', quantity }] }));
    expect(event).toMatchObject({ event: 'paid', lines: [{ sku: '500', problem: 'bad_quantity' }] });
    expect(event?.lines?.[0]).not.toHaveProperty('quantity');
  });

  it.each(OWN.flatMap((kind) => ['s'.repeat(191), KEY].map((sku) => [kind, sku] as const)))(
    '%s: an article that cannot be stored: %s',
    (kind, sku) => {
      const { event } = read(kind, paid[kind](number(), { items: [{ sku }] }));
      expect(event?.lines).toMatchObject([{ problem: 'bad_article' }]);
      expect(JSON.stringify(event)).not.toContain(sku);
    },
  );

  it.each(['digistore24', 'lemonsqueezy', 'woocommerce'] as const)('%s: no article', (kind) => {
    const { event } = read(kind, paid[kind](number(), { items: [{ sku: null }] }));
    expect(event?.lines).toMatchObject([{ problem: 'no_article' }]);
  });

  it.each(MANY)('%s: the others take effect, and two lines of one article are two', (kind) => {
    const items = [{ sku: '500' }, { sku: '500', quantity: 0 }, { sku: '500', quantity: 2 }];
    const { event } = read(kind, paid[kind](number(), { items }));
    const lines = event?.lines ?? [];
    expect(lines.map(({ problem }) => problem)).toEqual([undefined, 'bad_quantity', undefined]);
    expect(new Set(lines.map(({ line }) => line)).size).toBe(3);
    if (kind === 'paddle')
      expect(
        read(kind, paid[kind](number(), { items: [{ sku: '500' }, { sku: null }] })).event?.lines,
      ).toMatchObject([{ sku: '500' }, { problem: 'unreadable' }]);
  });

  it.each(MANY)('%s: all of more than a hundred lines are passed on', (kind) => {
    const items = Array.from({ length: 101 }, (_, i) => ({ sku: `a${i}` }));
    expect(read(kind, paid[kind](number(), { items })).event?.lines).toHaveLength(101);
  });

  it('a metered subscription of Lemon Squeezy begins with one, and fees are no articles', () => {
    const usage = { quantity: 0, is_usage_based: true };
    const about = { order_id: 1, order_item_id: 2, variant_id: 500, status: 'active', updated_at: AT };
    const { event } = read(
      'lemonsqueezy',
      lemon('subscription_created', '9', { ...about, first_subscription_item: usage }),
    );
    expect(event?.lines).toMatchObject([{ quantity: 1 }]);
    expect(event?.lines?.[0]).not.toHaveProperty('problem');
    expect(
      read('fastspring', paid.fastspring('1', { items: [{ sku: '500' }, { sku: null }] })).event?.lines,
    ).toHaveLength(1);
    for (const kind of ['fastspring', 'woocommerce'] as const)
      expect(read(kind, paid[kind](number(), { items: [] }))).toMatchObject({
        note: 'no_article',
        event: undefined,
      });
  });

  it.each(OWN)('%s: an id that is too long becomes a digest of it', (kind) => {
    const { event } = read(kind, paid[kind]('n'.repeat(300)));
    expect(event?.order).toMatchObject({ number: expect.stringMatching(/^.{1,100}$/) });
    expect(event?.payment ?? '').toMatch(/^.{0,190}$/);
  });
});

describe('amounts', () => {
  const MINOR: Kind[] = ['stripe', 'paddle', 'lemonsqueezy'];
  const DECIMAL: Kind[] = ['digistore24', 'fastspring', 'woocommerce'];
  const amountOf = (kind: Kind, amount: unknown, currency: string) =>
    read(kind, paid[kind](number(), { amount, currency })).event?.money;
  const written = (kind: Kind, amount: number) =>
    kind === 'fastspring' || kind === 'stripe' || kind === 'lemonsqueezy' ? amount : String(amount);

  it.each(DECIMAL)('%s writes decimals', (kind) => {
    for (const [amount, currency, minor] of [
      [19.99, 'EUR', 1999],
      [4900, 'JPY', 4900],
      [1.234, 'KWD', 1234],
      [0, 'USD', 0],
    ] as const)
      expect(amountOf(kind, written(kind, amount), currency)).toEqual({ amount: minor, currency });
  });

  it.each(MINOR)('%s writes minor units', (kind) => {
    for (const [amount, currency] of [
      [1999, 'EUR'],
      [4900, 'JPY'],
      [1234, 'KWD'],
    ] as const)
      expect(amountOf(kind, written(kind, amount), currency)).toEqual({ amount, currency });
  });

  it('Stripe has minor units of its own', () => {
    for (const [amount, currency, minor] of [
      [500, 'ISK', 5],
      [500, 'UGX', 5],
      [5, 'MGA', 500],
    ] as const)
      expect(amountOf('stripe', amount, currency)).toEqual({ amount: minor, currency });
  });

  it.each([...MINOR, ...DECIMAL])(
    '%s: an amount that cannot be stored is missing, but the order counts',
    (kind) => {
      for (const amount of [-1, '18446744073709551615', 1e300, 'x', null])
        expect([amount, amountOf(kind, amount, 'EUR')]).toEqual([amount, undefined]);
      expect(amountOf(kind, written(kind, 49), 'euro')).toBeUndefined();
    },
  );

  it('partial refunds of WooCommerce are events of their own', () => {
    const order = {
      id: 7,
      status: 'completed',
      currency: 'EUR',
      total: '49.00',
      date_paid_gmt: gmt(AT),
      date_modified_gmt: gmt(LATER),
    };
    const items = [{ id: 1, product_id: 500, quantity: 1 }];
    const { also } = read(
      'woocommerce',
      woo({ ...order, line_items: items, refunds: [{ id: 8, total: '-10.00' }] }),
    );
    expect(also).toMatchObject([
      { event: 'refunded', eventId: 'refund:8', partial: true, money: { amount: 1000, currency: 'EUR' } },
    ]);
  });
});

describe('times', () => {
  it.each(['paddle', 'lemonsqueezy', 'fastspring', 'standard'] as const)(
    '%s: milliseconds are kept',
    (kind) => {
      expect(read(kind, paid[kind](number())).event?.at).toEqual(new Date(AT));
    },
  );

  it.each(['paddle', 'lemonsqueezy', 'woocommerce'] as const)(
    '%s: an invalid time becomes the time of receipt',
    (kind) => {
      const { event } = read(kind, paid[kind](number(), { at: 'never' }));
      expect(event?.at).toEqual(NOW);
      expect(event?.eventId).toBeDefined();
    },
  );
});

/** Rows of: case, sender, message, and the event if it means that a subscription will not renew, or will again. */
const RENEWALS: [string, Kind, Signed, string | undefined][] = (() => {
  const sub = (more: Thing) => ({ id: 'sub_1', status: 'active', ...more });
  const about = { order_id: 1, updated_at: AT };
  const before = (name: string) => ({ [name]: null });
  const wcs = (more: Thing) =>
    woo({ id: 5, parent_id: 4, date_modified_gmt: gmt(AT), line_items: [], ...more }, 'subscription.updated');
  const changed = 'customer.subscription.updated';
  return [
    [
      'cancel_at_period_end',
      'stripe',
      stripe(changed, sub({ cancel_at_period_end: true }), AT, before('cancel_at_period_end')),
      'renewal_stopped',
    ],
    [
      'it no longer ends',
      'stripe',
      stripe(changed, sub({ cancel_at_period_end: false }), AT, { cancel_at_period_end: true }),
      'renewal_resumed',
    ],
    [
      'pause_collection',
      'stripe',
      stripe(changed, sub({ pause_collection: { behavior: 'void' } }), AT, before('pause_collection')),
      'renewal_stopped',
    ],
    [
      'something else changed',
      'stripe',
      stripe(changed, sub({ cancel_at_period_end: true }), AT, { quantity: 1 }),
      undefined,
    ],
    [
      'paused',
      'stripe',
      stripe('customer.subscription.paused', sub({ status: 'paused' }), AT, { status: 'trialing' }),
      'renewal_stopped',
    ],
    [
      'resumed',
      'stripe',
      stripe('customer.subscription.resumed', sub({}), AT, { status: 'paused' }),
      'renewal_resumed',
    ],
    [
      'scheduled_change',
      'paddle',
      paddle('subscription.updated', sub({ scheduled_change: { action: 'cancel' } })),
      'renewal_stopped',
    ],
    [
      'nothing scheduled',
      'paddle',
      paddle('subscription.updated', sub({ scheduled_change: null })),
      'renewal_resumed',
    ],
    ['paused', 'paddle', paddle('subscription.paused', sub({ status: 'paused' })), 'renewal_stopped'],
    ['resumed', 'paddle', paddle('subscription.resumed', sub({})), 'renewal_resumed'],
    [
      'cancelled',
      'lemonsqueezy',
      lemon('subscription_cancelled', '9', { ...about, status: 'cancelled' }),
      'renewal_stopped',
    ],
    [
      'paused, void',
      'lemonsqueezy',
      lemon('subscription_paused', '9', { ...about, status: 'paused', pause: { mode: 'void' } }),
      'renewal_stopped',
    ],
    [
      'paused, free',
      'lemonsqueezy',
      lemon('subscription_paused', '9', { ...about, status: 'paused', pause: { mode: 'free' } }),
      undefined,
    ],
    [
      'resumed',
      'lemonsqueezy',
      lemon('subscription_resumed', '9', { ...about, status: 'active' }),
      'renewal_resumed',
    ],
    ['canceled', 'fastspring', fast('subscription.canceled', { id: 's1' }), 'renewal_stopped'],
    ['uncanceled', 'fastspring', fast('subscription.uncanceled', { id: 's1' }), 'renewal_resumed'],
    ['paused', 'fastspring', fast('subscription.paused', { id: 's1' }), 'renewal_stopped'],
    ['resumed', 'fastspring', fast('subscription.resumed', { id: 's1' }), 'renewal_resumed'],
    ['rebill cancelled', 'digistore24', digistore('on_rebill_cancelled', 'D1'), 'renewal_stopped'],
    ['rebill resumed', 'digistore24', digistore('on_rebill_resumed', 'D1'), 'renewal_resumed'],
    ['payment missed', 'digistore24', digistore('on_payment_missed', 'D1'), 'payment_failed'],
    [
      'a pause',
      'woocommerce',
      wcs({ status: 'on-hold', next_payment_date_gmt: '2027-02-10T10:00:00' }),
      'renewal_stopped',
    ],
    [
      'a renewal that is due',
      'woocommerce',
      wcs({ status: 'on-hold', next_payment_date_gmt: '2027-01-10T10:00:00' }),
      undefined,
    ],
    [
      'stopped',
      'standard',
      signStandard({ type: 'order.renewal_stopped', data: { order: '1', at: AT } }, SECRETS.standard, NOW),
      'renewal_stopped',
    ],
  ];
})();

it.each(RENEWALS)('a subscription that will not renew, or will: %s, %s', (_, kind, signed, event) => {
  expect(read(kind, signed).event?.event).toBe(event);
});

describe.each(ONE_BACKEND)('each rule with each receiver, on %s', (_, settings) => {
  let service: Managed;
  let plan: number;
  const shopOf = (kind: Kind) => `of-${kind}`;
  beforeAll(async () => {
    service = await startManaged(await settings(), NOW);
    const { write } = service;
    const product = await write.ok('POST /products', { name: 'Gallery Pro' }, 201);
    const terms = { activation_type: 'domain', activation_limit: 3, duration: '1m' };
    plan = (await write.ok('POST /plans', { product_id: product.id as number, name: 'M', ...terms }, 201))
      .id as number;
    for (const kind of KINDS) {
      await write.ok('POST /shops', { name: shopOf(kind), kind, secret: SECRETS[kind] }, 201);
      for (const sku of ['500', '600'])
        await write.ok(`POST /shops/${shopOf(kind)}/map`, { sku, plan_id: plan }, 201);
    }
  });
  afterAll(() => service.stop());

  const tell = async (kind: Kind, ...told: Signed[]) => {
    let text = '';
    for (const signed of told) {
      const answer = await sendHook(service.url, shopOf(kind), signed);
      expect([answer.status, answer.text]).toEqual([200, answer.text]);
      text = answer.text;
    }
    return text;
  };
  const orders = async (kind: Kind) =>
    (await service.write.ok(`GET /orders?shop=${shopOf(kind)}&limit=1`)) as unknown as Thing[];
  const newest = async (kind: Kind) => {
    const [{ id } = {}] = await orders(kind);
    return service.write.ok(`GET /orders/${String(id)}`) as Promise<{
      customer: string | null;
      events: Thing[];
      lines: { sku: string; quantity: number; renews_itself: boolean; licenses: Thing[] }[];
    }>;
  };

  it.each(KINDS)(
    '%s: a message without an order is kept, counted once, and answered with 200',
    async (kind) => {
      const errors = [
        { code: 'woocommerce_rest_cannot_view', message: 'Sorry', data: { status: 401 } },
        { success: true },
        {},
      ];
      const bad = errors.map((one): Signed => {
        if (kind === 'stripe') return signStripe(one, SECRETS.stripe, NOW);
        if (kind === 'paddle') return signPaddle(one, SECRETS.paddle, NOW);
        if (kind === 'standard') return signStandard(one, SECRETS.standard, NOW);
        if (kind === 'lemonsqueezy') return signLemonSqueezy(one, SECRETS.lemonsqueezy);
        if (kind === 'fastspring') return signFastSpring([one], SECRETS.fastspring);
        if (kind === 'woocommerce') return woo(one);
        return signDigistore24({ event: 'on_payment', message: JSON.stringify(one) }, SECRETS.digistore24);
      });
      await tell(kind, ...bad, ...bad);
      const kept = (await service.write.ok(
        `GET /shops/${shopOf(kind)}/messages?result=unreadable`,
      )) as unknown as Thing[];
      expect(kept).toHaveLength(3);
    },
  );

  it.each(KINDS)('%s: the same message again changes nothing', async (kind) => {
    const one = paid[kind](number(), { email: 'jo@example.com' });
    await tell(kind, one, one);
    const { events, lines } = await newest(kind);
    expect([events.length, lines[0]?.licenses.length]).toEqual([1, 1]);
  });

  it.each(OWN)(
    '%s: a later message about the customer gives the customer’s orders their address',
    async (kind) => {
      const n = number();
      const first = paid[kind](n);
      await tell(kind, first);
      expect((await newest(kind)).customer).toBeNull();
      const email = `late-${kind}@example.com`;
      // The later message is another order of the customer, or about the customer.
      const other: Record<string, () => Signed> = {
        stripe: () =>
          stripe('checkout.session.completed', {
            ...{
              id: `cs_${n}b`,
              mode: 'payment',
              payment_status: 'paid',
              payment_intent: `pi_${n}b`,
              customer: `cus_${n}`,
            },
            ...{ metadata: { sku: '500' }, customer_details: { email } },
          }),
        paddle: () => paddle('customer.imported', { id: `ctm_${n}`, email }),
        digistore24: () => digistore('on_payment', `${n}b`, { buyer_id: `B${n}`, email }),
        lemonsqueezy: () =>
          lemon('order_created', `${n}77`, {
            ...{
              status: 'paid',
              total: 1,
              currency: 'EUR',
              user_email: email,
              customer_id: n,
              created_at: AT,
              updated_at: AT,
            },
            first_order_item: { id: `${n}78`, variant_id: '500' },
          }),
        fastspring: () =>
          fast('order.completed', {
            ...{
              order: `ord-${n}b`,
              account: `acc-${n}`,
              customer: { email },
              items: [{ product: 'p', sku: '500' }],
            },
          }),
        woocommerce: () =>
          woo({
            ...{
              id: `${n}9`,
              status: 'completed',
              customer_id: n,
              billing: { email },
              date_modified_gmt: gmt(AT),
            },
            line_items: [{ id: Number(`${n}99`), product_id: 500, sku: '500', quantity: 1 }],
          }),
      };
      await tell(kind, other[kind]!());
      const all = (await service.write.ok(`GET /orders?shop=${shopOf(kind)}&limit=2`)) as unknown as Thing[];
      expect(all).toContainEqual(expect.objectContaining({ customer: email }));
      expect(all.filter(({ customer }) => customer === null)).toEqual([]);
    },
  );

  it('lemonsqueezy: seats and variants that change back and forth end as last reported', async () => {
    const n = number();
    const change = (quantity: number, variant: number, day: number) =>
      lemon('subscription_updated', `${n}5`, {
        ...{ order_id: Number(n), order_item_id: Number(`${n}1`), variant_id: variant, status: 'active' },
        ...{ renews_at: '2027-02-10T10:00:00Z', updated_at: `2027-01-${10 + day}T10:00:00Z` },
        first_subscription_item: { quantity },
      });
    await tell('lemonsqueezy', paid.lemonsqueezy(n, { items: [{ sku: '500', quantity: 6 }] }));
    await tell('lemonsqueezy', change(3, 500, 1), change(6, 500, 2));
    const { lines, events } = await newest('lemonsqueezy');
    expect(events).toHaveLength(3);
    expect(lines[0]?.licenses.filter(({ status }) => status === 'active')).toHaveLength(6);
  });

  it.each([
    ['refunded', 'suspended'],
    ['fraudulent', 'suspended'],
    ['partial_refund', 'active'],
  ])('lemonsqueezy: an order that is %s after it issued is %s', async (status, is) => {
    const n = number();
    await tell('lemonsqueezy', paid.lemonsqueezy(n));
    const told = {
      status,
      total: 4900,
      refunded_amount: status === 'partial_refund' ? 100 : 4900,
      currency: 'EUR',
    };
    const item = { first_order_item: { id: `${n}1`, variant_id: 500 } };
    await tell(
      'lemonsqueezy',
      lemon('order_created', n, { ...told, ...item, created_at: AT, updated_at: LATER }),
    );
    expect((await newest('lemonsqueezy')).lines[0]?.licenses).toMatchObject([{ status: is }]);
  });

  it('digistore24: each item of an order counts separately, and each answer has all of its keys', async () => {
    const n = number();
    const keysOf = (text: string) => text.split('\n').slice(2);
    const first = await tell('digistore24', digistore('on_payment', n, { transaction_id: '7' }));
    const item = { order_item_id: `${n}-2`, product_id: '600', transaction_id: '7', quantity: '3' };
    const second = await tell('digistore24', digistore('on_payment', n, item));
    expect([keysOf(first).length, keysOf(second).length]).toEqual([1, 3]);
    expect(keysOf(second)).not.toContain(keysOf(first)[0]);
    const renewal = { ...item, transaction_id: '8', pay_sequence_no: '2' };
    expect(keysOf(await tell('digistore24', digistore('on_payment', n, renewal)))).toEqual(keysOf(second));
    await tell('digistore24', digistore('on_refund', n, { transaction_id: '9', parent_transaction_id: '7' }));
    await tell(
      'digistore24',
      digistore('on_refund', n, { ...item, transaction_id: '9', parent_transaction_id: '7' }),
    );
    const { events, lines } = await newest('digistore24');
    expect(events.filter(({ event }) => event === 'refunded')).toHaveLength(2);
    expect(lines[0]?.licenses).toMatchObject([{ status: 'suspended' }]);
  });

  it('digistore24: an upgrade to a quantity answers with all of its keys', async () => {
    const n = number();
    await tell('digistore24', digistore('on_payment', n));
    const more = { upgraded_order_id: n, quantity: '3', transaction_id: `U${n}` };
    const answer = await tell('digistore24', digistore('on_payment', `${n}u`, more));
    expect(answer.split('\n').slice(2)).toHaveLength(3);
  });

  it('a message that an earlier version stored changes nothing when it comes again', async () => {
    const n = number();
    const context = { actor: 'shop:x', now: NOW, secret: undefined, graceDays: 3 };
    const poster = { owner: null, ownOnly: false };
    const [event, at] = ['paid' as const, new Date(AT)];
    for (const [kind, order, eventId, line] of [
      ['digistore24', n, `on_payment:T${n}`, `${n}-1`],
      ['lemonsqueezy', n, `order-${n}`, `${n}1`],
      ['paddle', `sub_${n}`, `txn_${n}`, 'pro-500'],
      ['woocommerce', n, `paid:${n}`, `${n}0`],
    ] as const) {
      const lines = [{ line, sku: '500', quantity: 1 }];
      await recordOrder(
        service.db,
        { shop: shopOf(kind), order, event, at, eventId, lines },
        poster,
        context,
      );
      await tell(kind, paid[kind](n));
      expect((await newest(kind)).events).toHaveLength(1);
    }
    // Earlier versions identified a change by the new state and the second.
    const eventId = 'updated:500:2:2027-02-10T10:00:00.000Z';
    expect(eventIdentity({ event: 'upgraded', at, eventId })).toMatch(/^[0-9a-f]{64}$/);
    const lines = [{ line: `${n}1`, sku: '500', quantity: 2, paidUntil: new Date('2027-02-10T10:00:00Z') }];
    const shop = shopOf('lemonsqueezy');
    await recordOrder(service.db, { shop, order: n, event: 'upgraded', at, eventId, lines }, poster, context);
    await tell(
      'lemonsqueezy',
      lemon('subscription_updated', `${n}5`, {
        ...{ order_id: Number(n), order_item_id: Number(`${n}1`), variant_id: 500, status: 'active' },
        ...{ renews_at: '2027-02-10T10:00:00Z', updated_at: AT, first_subscription_item: { quantity: 2 } },
      }),
    );
    expect((await newest('lemonsqueezy')).events).toHaveLength(2);
  });

  it('woocommerce: an order that is edited after its payment counts as edited', async () => {
    const n = number();
    const item = (id: string, quantity: number) => ({
      id: Number(`${n}${id}`),
      product_id: 500,
      sku: '500',
      quantity,
    });
    const order = (items: Thing[], minute: number, more: Thing = {}) =>
      woo({
        ...{ id: n, status: 'completed', total: '49.00', currency: 'EUR', date_paid_gmt: gmt(AT) },
        ...{ date_modified_gmt: `2027-01-11T10:0${minute}:00`, line_items: items, ...more },
      });
    const active = async () =>
      (await newest('woocommerce')).lines.map(
        ({ licenses }) => licenses.filter(({ status }) => status === 'active').length,
      );
    await tell('woocommerce', order([item('1', 1)], 0), order([item('1', 1)], 1));
    expect((await newest('woocommerce')).events).toHaveLength(1);
    await tell('woocommerce', order([item('1', 3)], 2));
    expect(await active()).toEqual([3]);
    await tell('woocommerce', order([item('1', 3), item('2', 1)], 3));
    expect(await active()).toEqual([3, 1]);
    await tell('woocommerce', order([item('1', 3)], 4));
    expect(await active()).toEqual([3, 0]);
    await tell('woocommerce', order([item('1', 3)], 5, { status: 'cancelled' }));
    const again = await tell('woocommerce', order([item('1', 3)], 6));
    expect(JSON.parse(again)).toMatchObject({ data: { result: 'unmatched', reason: 'differs' } });
  });

  it('stripe: a cycle with only prorations changes nothing, and is listed', async () => {
    const n = number();
    const line = (price: string, item: string, quantity: number, amount: number, proration: boolean) => ({
      ...{
        id: `il_${++unique}`,
        amount,
        quantity,
        proration,
        subscription: `sub_${n}`,
        subscription_item: item,
      },
      ...{ type: proration ? 'invoiceitem' : 'subscription', price: { id: price } },
      period: { start: 1, end: Date.parse('2027-02-10T10:00:00Z') / 1000 },
    });
    const invoice = (reason: string, lines: Thing[], more: Thing = {}) =>
      stripe('invoice.paid', {
        ...{
          id: `in_${++unique}`,
          subscription: `sub_${n}`,
          billing_reason: reason,
          amount_paid: 900,
          currency: 'eur',
        },
        ...{ created: Date.parse(AT) / 1000, customer_email: 'jo@example.com' },
        lines: { data: lines, has_more: false, ...more },
      });
    await tell('stripe', invoice('subscription_create', [line('500', 'si_base', 1, 900, false)]));
    const seats = Array.from({ length: 10 }, (_, i) =>
      line('price_seats', 'si_seats', i % 2 ? 5 : 2, i % 2 ? 500 : -200, true),
    );
    const cut = { has_more: true, total_count: 13 };
    expect(JSON.parse(await tell('stripe', invoice('subscription_cycle', seats, cut)))).toMatchObject({
      data: { result: 'unmatched', reason: 'cut:11-13' },
    });
    await tell('stripe', invoice('subscription_update', seats.slice(0, 2)));
    const { lines } = await newest('stripe');
    expect(lines.map(({ sku, licenses }) => [sku, licenses.length])).toEqual([['500', 1]]);
    const open = (await service.write.ok(`GET /unmatched?shop=${shopOf('stripe')}`)) as unknown as Thing[];
    expect(open).toContainEqual(expect.objectContaining({ reason: 'cut:11-13' }));
  });

  it('paddle: a first payment without its subscription is found by the message that starts the subscription', async () => {
    const n = number();
    await tell(
      'paddle',
      paddle('transaction.completed', {
        ...{ id: `txn_${n}`, origin: 'web', subscription_id: null, customer_id: null },
        items: [{ quantity: 1, price: { id: '500', product_id: 'p', billing_cycle: { interval: 'month' } } }],
      }),
    );
    await tell('paddle', paddle('subscription.created', { id: `sub_${n}`, transaction_id: `txn_${n}` }));
    await tell(
      'paddle',
      paddle(
        'transaction.completed',
        {
          ...{ id: `txn_${n}r`, origin: 'subscription_recurring', subscription_id: `sub_${n}` },
          billing_period: { ends_at: '2027-02-10T10:00:00Z' },
          items: [
            { quantity: 1, price: { id: '500', product_id: 'p', billing_cycle: { interval: 'month' } } },
          ],
        },
        LATER,
      ),
    );
    await tell(
      'paddle',
      paddle(
        'subscription.updated',
        { id: `sub_${n}`, status: 'active', scheduled_change: { action: 'cancel' } },
        LATER,
      ),
    );
    const { events, lines } = await newest('paddle');
    expect(events).toMatchObject([{ event: 'paid' }, { event: 'renewed' }, { event: 'renewal_stopped' }]);
    expect(lines).toMatchObject([{ renews_itself: false, licenses: [{ status: 'active' }] }]);
    await tell(
      'paddle',
      paddle(
        'subscription.updated',
        { id: `sub_${n}`, status: 'active', scheduled_change: null },
        '2027-01-13T10:00:00Z',
      ),
    );
    expect((await newest('paddle')).lines).toMatchObject([{ renews_itself: true }]);
  });

  it.each(KINDS.filter((kind) => kind !== 'woocommerce'))(
    '%s: a test order gets no licence of a live plan',
    async (kind) => {
      const n = number();
      const tested: Record<string, () => Signed> = {
        stripe: () =>
          signStripe(
            { ...(fixture('stripe/checkout.session.completed') as Thing), id: `evt_${n}`, livemode: false },
            SECRETS.stripe,
            NOW,
          ),
        digistore24: () => digistore('on_payment', n, { api_mode: 'test' }),
        lemonsqueezy: () =>
          lemon('order_created', n, {
            ...{ status: 'paid', created_at: AT, updated_at: AT, test_mode: true },
            first_order_item: { id: `${n}1`, variant_id: 500 },
          }),
        fastspring: () =>
          signFastSpring(
            [
              {
                id: `e${n}`,
                type: 'order.completed',
                live: false,
                created: Date.parse(AT),
                data: { order: `ord-${n}`, items: [{ product: 'p', sku: '500' }] },
              },
            ],
            SECRETS.fastspring,
          ),
        standard: () =>
          signStandard(
            {
              type: 'order.paid',
              data: { order: n, at: AT, test: true, lines: [{ line: '1', sku: '500' }] },
            },
            SECRETS.standard,
            NOW,
            `m${n}`,
          ),
      };
      if (tested[kind] === undefined) return;
      await tell(kind, tested[kind]());
      expect((await newest(kind)).lines.flatMap(({ licenses }) => licenses)).toEqual([]);
    },
  );

  it.each(KINDS)(
    '%s: a secret that is copied in part is refused, and the refusal shows the form of a whole one',
    async (kind) => {
      const whole = SECRETS[kind];
      for (const secret of [
        `${whole.slice(0, 20)}…`,
        `${whole.slice(0, 20)}...`,
        `${whole.slice(0, 20)}•••`,
        `${whole.slice(0, 20)}***`,
      ]) {
        const body = { secret };
        const message = await service.write.refused(
          `PATCH /shops/${shopOf(kind)}`,
          body,
          'INVALID_REQUEST',
          'secret',
        );
        expect(message).toMatch(/^It is incomplete: .{20,}/);
      }
    },
  );
});
