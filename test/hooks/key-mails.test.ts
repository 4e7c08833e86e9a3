import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { table } from '../../src/store/engine/database';
import { startMailServer, type MailServer } from '../support/mail-server';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { eventually } from '../support/processes';
import { ONE_BACKEND } from '../support/service';
import { formOf, pagesClient, textOf } from '../pages/support/session';
import { fixture, sendHook, signPaddle, signStripe } from '../support/shop-senders';

/** From a signed message of a shop to the mail with the key, as a mail server gets it. */

const SECRET = 'whsec_stripe_signs_with_this';
const PADDLE_SECRET = 'pdl_ntfset_01_paddle_signs_with_this';
const NOW = new Date('2026-11-24T12:00:00Z');

describe.each(ONE_BACKEND)("an order's keys by mail, on %s", (_, settings) => {
  let server: MailServer;
  let service: Managed;
  let plan: number;
  beforeAll(async () => {
    server = await startMailServer();
    service = await startManaged(
      {
        ...(await settings()),
        LICENSING_MAIL_URL: `smtp://127.0.0.1:${server.port}?from=sales@shop.example`,
        LICENSING_PUBLIC_URL: 'https://shop.example',
      },
      NOW,
    );
    const { write } = service;
    await write.ok('POST /products', { name: 'Gallery', id: 42 }, 201);
    const made = { product_id: 42, activation_type: 'domain', activation_limit: 3 };
    plan = (await write.ok('POST /plans', { ...made, name: 'Year', duration: '1y' }, 201)).id as number;
    await write.ok('POST /shops', { name: 'stripe', kind: 'stripe', secret: SECRET }, 201);
    await write.ok('POST /shops', { name: 'paddle', kind: 'paddle', secret: PADDLE_SECRET }, 201);
    await write.ok('POST /shops/stripe/map', { sku: 'PRO-1Y', plan_id: plan }, 201);
  });
  afterAll(async () => {
    await service.stop();
    await server.stop();
  });

  const to = (address: string) => server.received.filter((mail) => mail.to.includes(address));
  const post = (order: string, email: string | undefined, more: object = {}) =>
    service.issue.ok('POST /orders', {
      ...{ shop: 'own', order, event: 'paid', at: NOW.toISOString() },
      ...(email === undefined ? {} : { customer: { email } }),
      lines: [{ line: '1', plan_id: plan, quantity: 2 }],
      ...more,
    });
  const mailOf = async ({ id }: Thing) =>
    (await service.read.ok(`GET /orders/${id}`)).mail as Record<string, unknown>;
  const keysOf = (order: Thing) =>
    (order.lines as Thing[]).flatMap(({ licenses }) =>
      (licenses as Thing[]).map(({ license_key }) => String(license_key)),
    );
  const queued = async (id: unknown) =>
    (await service.db(table(service.db, 'outbox')).where({ order_id: Number(id), kind: 'mail' })).length;

  it('goes out for a signed session of Stripe, once, and says when it went to whom', async () => {
    const event = fixture('stripe/checkout.session.completed') as Thing;
    event.created = NOW.getTime() / 1000 - 600;
    const send = async () => {
      const answer = await sendHook(service.url, 'stripe', signStripe(event, SECRET, NOW));
      expect([answer.status, answer.text]).toEqual([200, answer.text]);
    };
    await send();
    const [order] = await service.read.all('/orders?shop=stripe');
    const address = String(order?.customer);
    await eventually(() => expect(to(address)).toHaveLength(1));
    const [{ id }] = (order!.lines as { licenses: [{ id: number }] }[])[0]!.licenses;
    const { license_key: key } = await service.write.ok(`POST /licenses/${id}/reveal`, {});
    expect(to(address)[0]?.text).toContain(`Gallery (Year), valid until`);
    expect(to(address)[0]?.text).toContain(String(key));
    await eventually(async () =>
      expect(await mailOf(order!)).toEqual({
        ...{ state: 'sent', to: address, at: expect.any(String), reason: null },
      }),
    );
    await send();
    expect(await queued(order?.id)).toBe(1);
    const why = await service.read.ok('POST /why', { about: String(id) });
    const told = (why.findings as { code: string; facts: object }[]).find(
      ({ code }) => code === 'ORDER_MAIL',
    );
    expect(told?.facts).toMatchObject({ state: 'sent', to: address });
    expect(await service.write.ok(`POST /orders/${order?.id}/mails`, {}, 201)).toMatchObject({
      state: 'queued',
      to: address,
    });
    await eventually(() => expect(to(address)).toHaveLength(2));
  });

  it('has all keys of an order in one mail, in its language, and not again when it is told again', async () => {
    const message = { customer: { email: 'de@example.com', language: 'de' } };
    const order = await post('1', undefined, message);
    await eventually(() => expect(to('de@example.com')).toHaveLength(1));
    const [mail] = to('de@example.com');
    expect(mail?.text).toContain('Vielen Dank für Ihre Bestellung.');
    expect(keysOf(order)).toHaveLength(2);
    for (const key of keysOf(order)) expect(mail?.text).toContain(key);
    await post('1', undefined, message);
    expect(await queued(order.id)).toBe(1);
  });

  it('goes when what waited runs, and when the address comes after the licence', async () => {
    const waiting = await post('2', 'late@example.com', { lines: [{ line: '1', sku: 'LATER' }] });
    expect(await mailOf(waiting)).toMatchObject({ state: 'none', reason: 'nothing_issued' });
    await service.write.ok('POST /shops/own/map', { sku: 'LATER', plan_id: plan }, 201);
    await eventually(() => expect(to('late@example.com')).toHaveLength(1));

    const sent = fixture('paddle/transaction.completed') as Thing;
    const created = fixture('paddle/customer.created') as Thing;
    const sku = (sent.data as { items: { price: { id: string } }[] }).items[0]?.price.id ?? '';
    const article = [sku, 'PRO-1Y'];
    for (const one of article)
      await service.write.send('POST /shops/paddle/map', { body: { sku: one, plan_id: plan } });
    const hook = async (event: Thing) => {
      const { status, text } = await sendHook(service.url, 'paddle', signPaddle(event, PADDLE_SECRET, NOW));
      expect([status, text]).toEqual([200, text]);
    };
    await hook(sent);
    const [order] = await service.read.all('/orders?shop=paddle');
    expect(await mailOf(order!)).toMatchObject({ state: 'none', reason: 'no_address', to: null });
    const address = (created.data as { email: string }).email;
    // The session of Stripe is for the same person.
    const before = to(address).length;
    await hook(created);
    await eventually(() => expect(to(address)).toHaveLength(before + 1));
    expect(await queued(order?.id)).toBe(1);
  });

  it('is not sent for tests, nor for shops that hand keys out, and a plugin says that it is one', async () => {
    const test = await post('3', 'test@example.com', { test: true });
    expect(await mailOf(test)).toMatchObject({ state: 'none', reason: 'test' });
    const plugin = await post('1', 'hika@example.com', { shop: 'hika', kind: 'hikashop' });
    expect(await mailOf(plugin)).toMatchObject({ state: 'none', reason: 'off' });
    expect(await service.write.ok('GET /shops/hika')).toMatchObject({ kind: 'hikashop', mail: 'none' });
    await service.write.ok('PATCH /shops/hika', { mail: 'key' });
    const later = await post('2', 'hika@example.com', { shop: 'hika', kind: 'hikashop' });
    await eventually(() => expect(to('hika@example.com')).toHaveLength(1));
    for (const key of keysOf(plugin)) expect(to('hika@example.com')[0]?.text).not.toContain(key);
    for (const key of keysOf(later)) expect(to('hika@example.com')[0]?.text).toContain(key);
    await service.issue.refused(
      'POST /orders',
      { shop: 'hika', order: '9', event: 'paid', at: NOW.toISOString(), kind: 'shopify' },
      'INVALID_REQUEST',
      'kind',
    );
    expect(to('test@example.com')).toEqual([]);
  });

  it('is shown at each licence of the order, with a button that sends it again', async () => {
    const order = await post('6', 'shown@example.com');
    await eventually(async () => expect(await mailOf(order)).toMatchObject({ state: 'sent' }));
    const ids = (order.lines as { licenses: { id: number }[] }[]).flatMap(({ licenses }) =>
      licenses.map(({ id }) => id),
    );
    expect(ids).toHaveLength(2);
    const seller = await pagesClient(service);
    const read = async (path: string) => textOf((await seller.get(path)).html);
    for (const id of ids)
      expect(await read(`/licenses/${id}`)).toMatch(/Keys mailed to shown@example\.com, .* Mail the keys/);
    // Back to the licence it was sent from.
    const { back } = formOf((await seller.get(`/licenses/${ids[1]}`)).html, `/orders/${order.id}/mails`);
    const sent = await seller.post(`/orders/${order.id}/mails`, { back: back ?? '' });
    expect(sent.location?.replace(/\?.*/, '')).toBe(`/licenses/${ids[1]}`);
    await eventually(() => expect(to('shown@example.com')).toHaveLength(2));
    const elsewhere = await seller.post(`/orders/${order.id}/mails`, { back: '//evil.example' });
    expect(elsewhere.location?.replace(/\?.*/, '')).toBe(`/orders/${order.id}`);
    expect(await read('/mails')).toContain(`Keys of an order Order ${order.id}`);

    // What an upgrade gave more has a mail of its own; the first licence's page tells of the first one's.
    const more = { lines: [{ line: '1', quantity: 3 }], event: 'upgraded' };
    await post('6', undefined, more);
    const third = await service.read.ok('GET /licenses/reference:own:6:1:3');
    await eventually(() => expect(to('shown@example.com')).toHaveLength(3));
    expect(to('shown@example.com').at(-1)?.text).toContain(String(third.key_hint));

    const reader = await pagesClient(service, { scope: 'read' });
    expect(textOf((await reader.get(`/licenses/${ids[0]}`)).html)).not.toContain('Mail the keys');
    const test = await post('7', 'test@example.com', { test: true });
    expect(await read(`/orders/${test.id}`)).toContain('Keys mailed no: it is a test order');
    const off = await post('8', 'off@example.com', { shop: 'membership', kind: 'membershippro' });
    const [{ id }] = (off.lines as { licenses: [{ id: number }] }[])[0]!.licenses;
    expect(await read(`/licenses/${id}`)).toContain(
      'Keys mailed no: the shop hands them out itself Mail the keys',
    );
  });

  it('says that an address was refused', async () => {
    server.manners.refuses['bad@example.com'] = 550;
    const order = await post('5', 'bad@example.com');
    await eventually(async () =>
      expect(await mailOf(order)).toMatchObject({
        ...{ state: 'failed', to: 'bad@example.com', reason: 'ADDRESS_REFUSED 550' },
      }),
    );
  });
});
