import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startHookShop, type HookShop } from '../support/hook-shop';
import type { Thing } from '../support/manage';
import { ONE_BACKEND } from '../support/service';
import { fixture, sendHook, signLemonSqueezy } from '../support/shop-senders';

/** Tests messages of Lemon Squeezy: their effect on licences, in any order and however often they come. */

const SECRET = 'made-up-by-the-seller';
const NOW = new Date('2026-11-24T12:00:00Z');

describe.each(ONE_BACKEND)('messages of Lemon Squeezy, on %s', (_, settings) => {
  let shop: HookShop;
  let n = 0;
  beforeAll(async () => {
    shop = await startHookShop(await settings(), 'lemonsqueezy', SECRET, ['41'], NOW);
  });
  beforeEach(() => {
    shop.service.clock.now = NOW;
    n++;
  });
  afterAll(() => shop.service.stop());

  /** Returns a message about this test's objects. @param attributes the fields that differ from the example */
  const message = (name: string, attributes: Thing = {}) => {
    const text = JSON.stringify(fixture(`lemonsqueezy/${name}`)).replaceAll(
      /(?<="?)\b(501|701|901|1002)\b(?="?)/g,
      (id) => `${id}${String(n).padStart(3, '0')}`,
    );
    const own = JSON.parse(text) as { data: { attributes: Thing } };
    Object.assign(own.data.attributes, attributes);
    return own;
  };
  const send = (name: string, attributes: Thing = {}) =>
    shop.take(signLemonSqueezy(message(name, attributes), SECRET));
  const number = () => `501${String(n).padStart(3, '0')}`;
  const license = () => shop.license(number());

  it('issues for an order, once, and refuses another signature', async () => {
    const [first] = await Promise.all([send('order_created'), send('order_created')]);
    expect(first).toMatchObject({ result: 'order', state: 'done' });
    expect(await license()).toMatchObject({ status: 'active', customer: 'jo@example.com' });
    const { lines, customer_name: name } = await shop.order(number());
    expect(lines).toMatchObject([{ line: `701${String(n).padStart(3, '0')}`, sku: '41', quantity: 2 }]);
    expect((lines as Thing[])[0]?.licenses).toHaveLength(2);
    expect(name).toBe('Jo Doe');
    const wrong = signLemonSqueezy(message('order_created'), 'another-secret');
    expect((await sendHook(shop.service.url, 'lemonsqueezy', wrong)).status).toBe(401);
  });

  it('waits for the money, and does not count a test order', async () => {
    expect(await send('order_created', { status: 'pending' })).toMatchObject({ reason: 'unpaid' });
    await send('order_created', { test_mode: true });
    expect(await license()).toBeUndefined();
  });

  it.each(['refunded', 'fraudulent'])(
    'issues nothing for an order that is reported as %s',
    async (status) => {
      const refunded = { refunded: true, refunded_amount: 9800, refunded_at: '2026-11-24T11:00:00.000000Z' };
      const told = {
        status,
        ...(status === 'refunded' && refunded),
        updated_at: '2026-11-24T11:00:00.000000Z',
      };
      expect(await send('order_created', told)).toMatchObject({ result: 'order', state: 'done' });
      await send('subscription_created');
      expect(await license()).toBeUndefined();
      expect((await shop.order(number())).lines).toMatchObject([{ sku: '41', licenses: [] }]);
      expect(await shop.service.write.ok('GET /unmatched?shop=lemonsqueezy')).toEqual([]);
    },
  );

  it.each(['refunded', 'fraudulent'])(
    'suspends for an order that is reported as paid, then as %s',
    async (status) => {
      await send('order_created');
      await send('order_created', {
        status,
        refunded_amount: 9800,
        updated_at: '2026-11-24T11:00:00.000000Z',
      });
      expect((await license())?.status).toBe('suspended');
    },
  );

  it.each(['unpaid', 'past_due', 'expired'])(
    'issues nothing for a subscription that is %s',
    async (status) => {
      expect(await send('subscription_created', { status })).toMatchObject({ reason: 'unpaid' });
      expect(await license()).toBeUndefined();
    },
  );

  it('undoes all of an order or a part', async () => {
    await send('order_created');
    await send('order_refunded', { status: 'partial_refund', refunded_amount: 100 });
    expect((await license())?.status).toBe('active');
    await send('order_refunded');
    expect((await license())?.status).toBe('suspended');
  });

  it.each([['order first'], ['subscription first']])(
    'takes the first end from the subscription, %s',
    async (order) => {
      const names = ['order_created', 'subscription_created'];
      for (const name of order === 'order first' ? names : names.reverse()) await send(name);
      expect(await license()).toMatchObject({ status: 'active', expires_at: '2026-12-24T10:00:00Z' });
      expect((await shop.order(number())).lines).toMatchObject([{ renews_itself: true }]);
    },
  );

  it('reports only once that it issued, for an order and its subscription whose article is mapped later', async () => {
    const item = { ...(message('order_created').data.attributes.first_order_item as Thing), variant_id: 97 };
    await send('order_created', { first_order_item: item });
    await send('subscription_created', { variant_id: 97 });
    expect((await shop.order(number())).lines).toMatchObject([{ sku: '97', licenses: [] }]);
    await shop.service.write.ok('POST /shops/lemonsqueezy/map', { sku: '97', plan_id: shop.plan }, 201);
    await shop.service.write.ok('POST /shops/lemonsqueezy/run', {});
    const { lines, events } = await shop.order(number());
    expect((lines as Thing[])[0]?.licenses).toHaveLength(2);
    const outcomes = (events as Thing[]).flatMap((event) => event.outcomes as Thing[]);
    expect(outcomes).toMatchObject([
      { action: 'issued', reason: null },
      { action: 'none', reason: 'issued' },
    ]);
  });

  it('ends with the trial, and continues when it is paid', async () => {
    await send('order_created');
    const trial = { status: 'on_trial', trial_ends_at: '2026-12-08T10:00:00.000000Z' };
    await send('subscription_created', trial);
    expect((await license())?.expires_at).toBe('2026-12-08T10:00:00Z');
    await send('subscription_updated', { renews_at: '2027-01-08T10:00:00.000000Z' });
    expect((await license())?.expires_at).toBe('2027-01-08T10:00:00Z');
  });

  it('renews by a payment, whose end the subscription reports, and undoes only a refunded payment', async () => {
    await send('order_created');
    await send('subscription_created');
    const first = { billing_reason: 'initial' };
    expect(await send('subscription_payment_success', first)).toMatchObject({ reason: 'first_payment' });
    shop.service.clock.now = new Date('2026-12-24T11:00:00Z');
    await send('subscription_payment_success');
    await send('subscription_updated');
    expect(await license()).toMatchObject({ status: 'active', expires_at: '2027-01-24T10:00:00Z' });
    shop.service.clock.now = new Date('2026-12-27T11:00:00Z');
    await send('subscription_payment_refunded');
    expect((await license())?.status).toBe('suspended');
  });

  it('undoes the first payment by its invoice, while a later one is paid', async () => {
    await send('order_created');
    await send('subscription_created');
    shop.service.clock.now = new Date('2026-12-24T11:00:00Z');
    await send('subscription_payment_success');
    shop.service.clock.now = new Date('2026-12-27T11:00:00Z');
    await send('subscription_payment_refunded', { billing_reason: 'initial' });
    expect((await license())?.status).toBe('active');
  });

  it('notes a payment that failed, and the end of a subscription', async () => {
    await send('order_created');
    await send('subscription_created');
    shop.service.clock.now = new Date('2026-12-24T11:00:00Z');
    expect(await send('subscription_payment_failed')).toMatchObject({ result: 'order' });
    await send('subscription_expired');
    const { events, lines } = await shop.order(number());
    expect((events as Thing[]).map((one) => String(one.event))).toEqual(
      expect.arrayContaining(['payment_failed', 'subscription_ended']),
    );
    expect(lines).toMatchObject([{ renews_itself: false }]);
  });

  it('keeps a renewal that comes before its subscription', async () => {
    expect(await send('subscription_payment_success')).toMatchObject({ result: 'unmatched' });
    await send('order_created');
    await send('subscription_created');
    expect((await shop.order(number())).events).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ event: 'renewed' })]),
    );
  });
});
