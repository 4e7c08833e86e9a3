import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { WITHOUT_GRACE } from '../support/hook-shop';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { ONE_BACKEND, rows } from '../support/service';
import { fixture, sendHook, signPaddle } from '../support/shop-senders';

/** Tests messages of Paddle Billing: their effect on licences, in any order and however often they come. */

const SECRET = 'pdl_ntfset_signs_with_this';
const NOW = new Date('2026-11-24T12:00:00Z');

interface Message {
  event_id: string;
  event_type: string;
  occurred_at: string;
  data: Thing;
}

describe.each(ONE_BACKEND)('messages of Paddle, on %s', (_, settings) => {
  let service: Managed;
  let plan: number;
  let id: string;
  beforeAll(async () => {
    service = await startManaged({ ...(await settings()), ...WITHOUT_GRACE }, NOW);
    const { write } = service;
    const product = await write.ok('POST /products', { name: 'Pro' }, 201);
    const made = { product_id: product.id as number, activation_type: 'domain', activation_limit: 3 };
    plan = (await write.ok('POST /plans', { ...made, name: 'Year', duration: '1y' }, 201)).id as number;
    await write.ok('POST /shops', { name: 'paddle', kind: 'paddle', secret: SECRET }, 201);
    for (const sku of ['pri_1', 'PRO']) await write.ok('POST /shops/paddle/map', { sku, plan_id: plan }, 201);
  });
  beforeEach(() => {
    service.clock.now = NOW;
    id = randomUUID();
  });
  afterAll(() => service.stop());

  /** Returns a message about this test's objects. */
  function message(name: string, change: Thing = {}, at?: string): Message {
    const text = JSON.stringify({ ...fixture(`paddle/${name}`), event_id: `evt_${randomUUID()}` });
    const own = JSON.parse(text.replaceAll(/"(sub|txn|ctm|adj)_1"/g, `"$1_${id}"`)) as Message;
    Object.assign(own.data, change);
    return { ...own, ...(at !== undefined && { occurred_at: at }) };
  }
  async function send(event: Message): Promise<Thing> {
    const { now } = service.clock;
    const answer = await sendHook(service.url, 'paddle', signPaddle(event, SECRET, now));
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    return (JSON.parse(answer.text) as { data: Thing }).data;
  }
  const paid = (change: Thing = {}) => message('transaction.completed', change);
  const findLicense = async (order = `sub_${id}`): Promise<Thing | undefined> => {
    const [found] = (await service.read.ok(`GET /orders?shop=paddle&order=${order}`)) as unknown as Thing[];
    const [line] = (found?.lines ?? []) as { licenses: Thing[] }[];
    const license = line?.licenses[0];
    return license && service.read.ok(`GET /licenses/${String(license.id)}`);
  };
  const status = async (order?: string) =>
    ((await findLicense(order)) ?? { status: 'none' }).status as string;

  it('issues a licence for a transaction until the end of its period, once', async () => {
    const event = paid();
    const [first] = await Promise.all([send(event), send(event), send(event)]);
    expect(first).toMatchObject({ result: 'order', state: 'done' });
    expect(await findLicense()).toMatchObject({ status: 'active', expires_at: '2027-11-24T10:00:00Z' });
    await send({ ...event, event_id: `evt_${randomUUID()}` });
    const { lines, events } = await service.write.ok(`GET /orders/${String(first.order_id)}`);
    expect([(lines as Thing[])[0]?.licenses, events]).toMatchObject([
      [{ status: 'active' }],
      [{ event: 'paid' }],
    ]);
  });

  it('knows a customer by an earlier message, a later one, or the transaction', async () => {
    await send(message('customer.created'));
    await send(paid());
    expect((await findLicense())?.customer).toBe('jo@example.com');

    id = randomUUID();
    await send(paid());
    expect((await findLicense())?.customer).toBeNull();
    await send(message('customer.updated', { email: 'new@example.com' }));
    expect((await findLicense())?.customer).toBe('new@example.com');

    id = randomUUID();
    await send(paid({ custom_data: { email: 'own@example.com' } }));
    expect((await findLicense())?.customer).toBe('own@example.com');
  });

  it('mails a customer in the language of the checkout', async () => {
    const email = `checkout-${id}@example.com`;
    await send(paid());
    await send(message('customer.created', { email, locale: 'de-AT' }, '2026-11-24T10:00:00Z'));
    const language = async (): Promise<unknown> =>
      (await service.read.ok(`GET /customers/${encodeURIComponent(email)}`)).language;
    expect(await language()).toBe('de');
    await send(message('customer.updated', { email, locale: 'xx' }, '2026-11-24T10:30:00Z'));
    expect(await language()).toBe('de');
    await send(message('customer.updated', { email, locale: 'en' }, '2026-11-24T11:00:00Z'));
    expect(await language()).toBe('en');
  });

  it('keeps the newest address of a customer, in any order', async () => {
    const updated = (email: string, at: string) => send(message('customer.updated', { email }, at));
    await updated('second@example.com', '2026-11-24T11:00:00Z');
    await updated('first@example.com', '2026-11-24T10:00:00Z');
    await send(paid());
    expect((await findLicense())?.customer).toBe('second@example.com');
    await updated('third@example.com', '2026-11-24T11:30:00Z');
    const next = { id: `txn_${randomUUID()}`, origin: 'subscription_charge' };
    await send(paid(next));
    expect((await findLicense(next.id))?.customer).toBe('third@example.com');
  });

  it('forgets the address of a customer who is erased', async () => {
    const email = `erased-${id}@example.com`;
    await send(message('customer.created', { email }));
    await send(paid());
    await service.write.send(`DELETE /customers/${encodeURIComponent(email)}`);
    expect(JSON.stringify(await rows(service.db, 'shop_links'))).not.toContain(email);
    const again = paid({ id: `txn_${randomUUID()}`, subscription_id: `sub_${(id = randomUUID())}` });
    await send(again);
    expect((await findLicense())?.customer).toBeNull();
  });

  it('renews by the transactions of a subscription', async () => {
    await send(paid());
    service.clock.now = new Date('2027-11-24T12:00:00Z');
    const period = { billing_period: { starts_at: '2027-11-24T10:00:00Z', ends_at: '2028-11-24T10:00:00Z' } };
    await send({
      ...paid({ id: `txn_${randomUUID()}`, origin: 'subscription_recurring', ...period }),
      occurred_at: '2027-11-24T10:00:05Z',
    });
    expect(await findLicense()).toMatchObject({ status: 'active', expires_at: '2028-11-24T10:00:00Z' });
    const failed = { ...paid({ id: `txn_${randomUUID()}`, origin: 'subscription_recurring' }) };
    Object.assign(failed, { event_type: 'transaction.payment_failed', occurred_at: '2027-11-24T11:00:00Z' });
    expect(await send(failed)).toMatchObject({ result: 'order' });
    const [order] = (await service.write.ok(`GET /orders?shop=paddle&order=sub_${id}`)) as unknown as Thing[];
    const { events } = await service.write.ok(`GET /orders/${order?.id}`);
    expect((events as Thing[]).map(({ event }) => event as string)).toContain('payment_failed');
    expect(
      await send({ ...failed, event_id: randomUUID(), data: { ...failed.data, origin: 'web' } }),
    ).toMatchObject({
      ...{ result: 'noted', reason: 'unpaid' },
    });
    const changed = { id: `txn_${randomUUID()}`, origin: 'subscription_payment_method_change' };
    expect(await send(paid(changed))).toMatchObject({ result: 'noted' });
    await send(message('subscription.canceled'));
    expect(await status()).toBe('active');
  });

  /** Returns a renewal. @param change the fields of the item's price that differ */
  const renewal = (change: Thing = {}) => {
    const { price, ...item } = (paid().data.items as Thing[])[0] as { price: Thing };
    return {
      ...paid({
        id: `txn_${randomUUID()}`,
        origin: 'subscription_recurring',
        billing_period: { starts_at: '2027-11-24T10:00:00Z', ends_at: '2028-11-24T10:00:00Z' },
        items: [{ ...item, price: { ...price, ...change } }],
      }),
      occurred_at: '2027-11-24T10:00:05Z',
    };
  };
  const isUnmatched = async () => {
    const [order] = (await service.write.ok(`GET /orders?shop=paddle&order=sub_${id}`)) as unknown as Thing[];
    const kept = (await service.write.ok('GET /unmatched?shop=paddle&limit=500')) as unknown as Thing[];
    return kept.some((one) => one.order_id === order?.id);
  };

  it('renews at another price of the product, or by another product instead, and lists two of them', async () => {
    await send(paid());
    service.clock.now = new Date('2027-11-24T12:00:00Z');
    await send(renewal({ id: 'pri_9' }));
    expect(await findLicense()).toMatchObject({ expires_at: '2028-11-24T10:00:00Z' });
    expect(await isUnmatched()).toBe(false);
    await send(renewal({ id: 'pri_8', product_id: 'pro_8' }));
    expect(await isUnmatched()).toBe(false);
    const two = renewal();
    const [item] = two.data.items as { price: Thing }[];
    two.data.items = ['6', '7'].map((n) => ({
      ...item,
      price: { ...item?.price, id: `pri_${n}`, product_id: `pro_${n}` },
    }));
    await send(two);
    expect(await isUnmatched()).toBe(true);
  });

  it('distinguishes two prices of one product', async () => {
    const one = (paid().data.items as Thing[])[0] as { price: Thing };
    const items = ['pri_1', 'PRO'].map((price): Thing => ({ ...one, price: { ...one.price, id: price } }));
    const answer = await send(paid({ items }));
    const { lines } = await service.write.ok(`GET /orders/${String(answer.order_id)}`);
    expect(lines).toMatchObject([{ line: 'pri_1' }, { line: 'PRO' }]);
  });

  it('lists a renewal whose first payment never came, until the seller says which licence it renews', async () => {
    const license = await service.write.ok(
      'POST /licenses',
      { plan_id: plan, expires_at: '2027-11-24T10:00:00Z' },
      201,
    );
    service.clock.now = new Date('2027-11-24T12:00:00Z');
    await send(renewal());
    expect(await isUnmatched()).toBe(true);
    const adopted = {
      ...{ shop: 'paddle', order: `sub_${id}`, event: 'paid', at: '2026-11-24T10:00:00Z' },
      lines: [{ line: 'pro_1', renews: license.id as number, paid_until: '2027-11-24T10:00:00Z' }],
    };
    expect(await service.write.ok('POST /orders', adopted)).toMatchObject({
      lines: [{ action: 'renewed', licenses: [{ expires_at: '2028-11-24T10:00:00Z' }] }],
    });
    expect(await isUnmatched()).toBe(false);
  });

  it('takes the article from the price’s own data', async () => {
    const one = (paid().data.items as Thing[])[0] as { price: Thing };
    const items = [
      {
        ...one,
        quantity: 2,
        price: { ...one.price, id: 'pri_2', custom_data: { sku: 'PRO' }, billing_cycle: null },
      },
    ];
    await send(paid({ subscription_id: null, billing_period: null, items }));
    const license = await findLicense(`txn_${id}`);
    expect(license).toMatchObject({ status: 'active', reference: `paddle:txn_${id}:pro_1` });
    expect(license?.expires_at).toBe('2027-11-24T10:00:03Z');
  });

  it('acts only on approved adjustments of all the money', async () => {
    await send(paid());
    const adjust = (change: Thing) =>
      send(message('adjustment.created', { id: `adj_${randomUUID()}`, ...change }));
    expect(await adjust({ status: 'pending_approval' })).toMatchObject({ reason: 'not_final' });
    expect(await adjust({ status: 'rejected' })).toMatchObject({ reason: 'not_final' });
    expect(await adjust({ action: 'credit' })).toMatchObject({ reason: 'unused' });
    expect(await adjust({ action: 'constructor' })).toMatchObject({ reason: 'unused' });
    expect(await adjust({ action: 'chargeback_warning' })).toMatchObject({ reason: 'unused' });
    expect(await adjust({ type: 'partial' })).toMatchObject({ result: 'order' });
    expect(await adjust({ action: 'chargeback', type: 'partial' })).toMatchObject({ reason: 'partial' });
    expect(await status()).toBe('active');
    await send(message('adjustment.created'));
    expect(await status()).toBe('suspended');
    // Paddle reports the adjustment again when it is approved.
    await send({ ...message('adjustment.created'), event_type: 'adjustment.updated' });
    const [order] = (await service.read.ok(`GET /orders?shop=paddle&order=sub_${id}`)) as unknown as Thing[];
    const { events } = await service.write.ok(`GET /orders/${String(order?.id)}`);
    expect(
      (events as Thing[]).filter(({ event, partial }) => event === 'refunded' && partial === false),
    ).toHaveLength(1);
  });

  it('reads adjustments from before they had a type', async () => {
    await send(paid());
    const items = [{ item_id: 'txnitm_1', type: 'partial', amount: '100' }];
    await send(message('adjustment.created', { id: `adj_${randomUUID()}`, type: undefined, items }));
    const nothing = { id: `adj_${randomUUID()}`, type: undefined, items: [] };
    await send(message('adjustment.created', nothing));
    expect(await status()).toBe('active');
    await send(message('adjustment.created', { type: undefined }));
    expect(await status()).toBe('suspended');
  });

  it('suspends for a charge-back, and reinstates when it is reversed', async () => {
    await send(paid());
    await send(message('adjustment.created', { action: 'chargeback' }));
    expect(await status()).toBe('suspended');
    const at = '2026-11-24T11:30:00Z';
    await send(
      message('adjustment.created', { id: `adj_${randomUUID()}`, action: 'chargeback_reverse' }, at),
    );
    expect(await status()).toBe('active');
  });

  it('keeps a refund that comes before its payment', async () => {
    expect(await send(message('adjustment.created'))).toMatchObject({ result: 'unmatched' });
    await send(paid());
    expect(await status()).toBe('none');
  });

  it('accepts a signature that a retry has kept for three days, and no older one', async () => {
    const event = paid();
    const sign = (daysAgo: number) =>
      signPaddle(event, SECRET, new Date(NOW.getTime() - daysAgo * 24 * 60 * 60 * 1000));
    expect((await sendHook(service.url, 'paddle', sign(3))).status).toBe(200);
    expect((await sendHook(service.url, 'paddle', sign(3.1))).status).toBe(401);
  });
});
