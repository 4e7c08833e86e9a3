import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startHookShop, type HookShop } from '../support/hook-shop';
import type { Thing } from '../support/manage';
import { eventually } from '../support/processes';
import { ONE_BACKEND } from '../support/service';
import { fixture, sendHook, signWooCommerce } from '../support/shop-senders';

/** Tests messages of WooCommerce, with WooCommerce Subscriptions. The status of an order decides. */

const SECRET = 'woo secret';
const NOW = new Date('2026-11-24T12:00:00Z');

describe.each(ONE_BACKEND)('messages of WooCommerce, on %s', (_, settings) => {
  let shop: HookShop;
  let n = 0;
  beforeAll(async () => {
    shop = await startHookShop(await settings(), 'woocommerce', SECRET, ['PRO', '23'], NOW);
  });
  beforeEach(() => {
    shop.service.clock.now = NOW;
    n++;
  });
  afterAll(() => shop.service.stop());

  const object = (name: string, change: Thing = {}) => {
    const text = JSON.stringify(fixture(`woocommerce/${name}`)).replaceAll(
      /\b(100[12]|1050)\b/g,
      (id) => `${id}${String(n).padStart(3, '0')}`,
    );
    return { ...(JSON.parse(text) as Thing), ...change };
  };
  const send = (name: string, change: Thing = {}) => {
    const topic = name.startsWith('order') ? 'order.updated' : 'subscription.updated';
    return shop.take(signWooCommerce(object(name, change), topic, SECRET));
  };
  const number = () => `1001${String(n).padStart(3, '0')}`;
  const license = () => shop.license(number());

  it('issues once for a paid order, in the customer’s language, even if messages are repeated', async () => {
    expect(await send('order.updated', { status: 'pending', date_paid_gmt: null })).toMatchObject({
      reason: 'unpaid',
    });
    expect(await license()).toBeUndefined();
    await send('order.updated', { status: 'processing' });
    await send('order.updated');
    await send('order.updated', { date_modified_gmt: '2026-11-24T11:00:00' });
    expect(await license()).toMatchObject({ status: 'active', customer: 'jo@example.com' });
    expect((await shop.order(number())).events).toMatchObject([{ event: 'paid' }]);
  });

  it('uses the product as the article if it has no SKU', async () => {
    const items = [{ id: 5, product_id: 23, variation_id: 0, quantity: 1, sku: '' }];
    await send('order.updated', { line_items: items });
    expect((await shop.order(number())).lines).toMatchObject([{ line: '5', sku: '23' }]);
  });

  it('undoes a refunded order, and cancels', async () => {
    await send('order.updated');
    await send('order.updated', { status: 'refunded', date_modified_gmt: '2026-11-24T11:00:00' });
    expect((await license())?.status).toBe('suspended');
  });

  it('renews by an order of its own, before or after its subscription is known', async () => {
    await send('order.updated');
    shop.service.clock.now = new Date('2026-12-24T12:00:00Z');
    expect(await send('order.renewal')).toMatchObject({ result: 'unmatched' });
    await send('subscription.updated');
    expect(await license()).toMatchObject({ status: 'active', expires_at: '2027-01-24T10:00:00Z' });
    await send('order.renewal', { status: 'refunded', date_modified_gmt: '2026-12-24T11:00:00' });
    expect((await license())?.status).toBe('suspended');
  });

  it('moves the end with the next payment, and notes a failed payment and an end', async () => {
    await send('order.updated');
    await send('subscription.updated', { next_payment_date_gmt: '2026-12-26T10:00:00' });
    expect((await license())?.expires_at).toBe('2026-12-26T10:00:00Z');
    await send('order.renewal', { status: 'failed' });
    await send('subscription.updated', { status: 'cancelled', date_modified_gmt: '2026-11-24T11:30:00' });
    const { events, lines } = await shop.order(number());
    expect((events as Thing[]).map((one) => String(one.event))).toEqual(
      expect.arrayContaining(['payment_failed', 'subscription_ended']),
    );
    expect(lines).toMatchObject([{ renews_itself: false }]);
  });

  it('continues if an end is undone, and follows seats that are added and removed', async () => {
    await send('order.updated');
    const told = (minute: number, change: Thing) =>
      send('subscription.updated', { date_modified_gmt: `2026-11-24T11:${minute}:00`, ...change });
    const seats = (quantity: number) => [
      { id: 91, product_id: 23, variation_id: 0, sku: 'PRO', quantity, price: 49 },
    ];
    const standing = async () => (await shop.order(number())).lines as Thing[];
    await told(10, {});
    expect(await standing()).toMatchObject([{ renews_itself: true }]);
    const ends = { status: 'pending-cancel', next_payment_date_gmt: '', end_date_gmt: '2026-12-24T10:00:00' };
    await told(20, ends);
    expect(await standing()).toMatchObject([{ renews_itself: false }]);
    await told(40, {});
    await told(30, ends);
    expect(await standing()).toMatchObject([{ renews_itself: true }]);
    await told(41, { line_items: seats(2) });
    await told(42, { line_items: seats(1) });
    expect(await license()).toMatchObject({ status: 'active', expires_at: '2026-12-24T10:00:00Z' });
    expect((await standing())[0]!.licenses).toMatchObject([{ status: 'active' }, { status: 'active' }]);
  });

  it('undoes a payment that it never received, and keeps later ones', async () => {
    await send('order.updated', { status: 'refunded', date_modified_gmt: '2026-11-24T11:00:00' });
    expect(await license()).toBeUndefined();
    await send('subscription.updated');
    shop.service.clock.now = new Date('2026-12-24T12:00:00Z');
    await send('order.renewal');
    expect(await license()).toMatchObject({ status: 'active', expires_at: '2027-01-24T10:00:00Z' });
  });

  it('answers the ping, and accepts messages without effect until it has its secret', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const ping = (body: string) => sendHook(shop.service.url, 'woocommerce', { body, headers });
    expect((await ping('webhook_id=12')).status).toBe(200);
    expect((await ping('webhook_id=12&x=1')).status).toBe(415);
    await shop.service.write.ok('POST /shops', { name: 'later', kind: 'woocommerce' }, 201);
    const early = signWooCommerce(object('order.updated'), 'order.updated', SECRET);
    await eventually(async () => {
      const { status, text } = await sendHook(shop.service.url, 'later', early);
      expect([status, JSON.parse(text)]).toMatchObject([200, { data: { result: 'noted' } }]);
    });
    expect(await shop.service.write.ok('GET /orders?shop=later')).toEqual([]);
    const wrong = signWooCommerce(object('order.updated'), 'order.updated', 'another');
    expect((await sendHook(shop.service.url, 'woocommerce', wrong)).status).toBe(401);
  });

  it('refuses an API key as its secret', async () => {
    const key = `cs_${'0a'.repeat(20)}`;
    const answer = await shop.service.write.send('PATCH /shops/woocommerce', { body: { secret: key } });
    expect([answer.status, answer.body.error]).toMatchObject([400, { field: 'secret' }]);
  });
});
