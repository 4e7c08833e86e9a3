/* oxlint-disable typescript/no-unsafe-return -- answers are JSON of any form */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runReady } from '../../src/orders/retry';
import { table } from '../../src/store/engine/database';
import { whileRefusing } from '../support/failing-statements';
import { startMailServer, type MailServer } from '../support/mail-server';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { eventually } from '../support/processes';
import { ONE_BACKEND } from '../support/service';
import { formOf, pagesClient, textOf } from '../pages/support/session';
import { fixture, sendHook, signPaddle, signStripe } from '../support/shop-senders';

/** Tests the way from a signed message of a shop to the mail with the key at a mail server. */

const SECRET = 'whsec_stripe_signs_with_this';
const PADDLE_SECRET = 'pdl_ntfset_01_paddle_signs_with_this';
const NOW = new Date('2026-11-24T12:00:00Z');
const SEAL = randomBytes(32).toString('base64');

describe.each(ONE_BACKEND)("an order's keys by mail, on %s", (_, settings) => {
  let server: MailServer;
  let service: Managed;
  let plan: number;
  beforeAll(async () => {
    server = await startMailServer();
    service = await startManaged(
      {
        ...(await settings()),
        LICENSING_KEY_SECRET: SEAL,
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

  it('is sent once for a signed session of Stripe, and the order shows when and to whom', async () => {
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
    // A mail that is sent after the licence has ended no longer promises updates.
    await service
      .db(table(service.db, 'licenses'))
      .where({ id })
      .update({ expires_at: '2020-01-01 00:00:00' });
    await service.write.ok(`POST /orders/${order?.id}/mails`, {}, 201);
    await eventually(() => expect(to(address)).toHaveLength(3));
    expect(to(address)[2]?.text).toMatch(/Gallery \(Year\), ended on/);
  });

  it('has all keys of an order, in its language, and is not sent again for a repeated message', async () => {
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

  it('is sent when a waiting order runs, and when the address comes after the licence', async () => {
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
    // An earlier test mailed the same address, by a session of Stripe.
    const before = to(address).length;
    await hook(created);
    await eventually(() => expect(to(address)).toHaveLength(before + 1));
    expect(await queued(order?.id)).toBe(1);
  });

  it('is sent when a failed order is retried, whether it was new or had no address', async () => {
    const { db } = service;
    const read = (order: Thing) => service.read.ok(`GET /orders/${order.id}`);
    // The call has no idempotency key: that would roll back its transaction, and the caller would repeat it.
    const failing = async (order: string, email: string, more: object) => {
      const body = { shop: 'own', order, at: NOW.toISOString(), customer: { email }, ...more };
      const send = () => service.issue.send('POST /orders', { body });
      const { status, body: sent } = await whileRefusing(db, 'events', '1 = 1', send);
      expect(status).toBe(200);
      const answer = (sent as unknown as { data: Thing }).data;
      expect(answer).toMatchObject({ state: 'failed', lines: [{ action: 'waiting', reason: 'failed' }] });
      const lines = service.logLines.filter((line) => line.includes(`"order":${answer.id},`));
      expect(lines).toEqual([expect.stringMatching(/"reason":"[^"@]+","msg":"an order failed; it is tried/)]);
      return answer;
    };
    const retry = async (minutes: number) => {
      service.clock.now = new Date(NOW.getTime() + minutes * 60_000);
      const context = { actor: 'orders', now: service.clock.now, secret: Buffer.from(SEAL, 'base64') };
      const settings = { mailing: { language: 'en' as const }, graceDays: 3 };
      await runReady(db, { ...context, ...settings }, () => Promise.resolve(true));
    };
    const broken = await failing('door-1', 'door@example.com', {
      ...{ event: 'paid', lines: [{ line: '1', plan_id: plan }] },
    });
    expect(await read(broken)).toMatchObject({ customer: 'door@example.com', lines: [] });
    await retry(1);
    expect(await read(broken)).toMatchObject({ state: 'done', failure: null, failed_at: null });
    await eventually(() => expect(to('door@example.com')).toHaveLength(1));

    service.clock.now = NOW;
    const nameless = await post('door-2', undefined);
    await failing('door-2', 'named@example.com', { event: 'renewed', lines: [{ line: '1' }] });
    await retry(1);
    const named = await read(nameless);
    expect(named).toMatchObject({ state: 'done', customer: 'named@example.com' });
    expect((named.events as Thing[]).map(({ event }) => event)).toEqual(['paid', 'renewed']);
    for (const { id } of (named.lines as { licenses: Thing[] }[])[0]!.licenses)
      expect(await service.read.ok(`GET /licenses/${id}`)).toMatchObject({ customer: 'named@example.com' });
    await eventually(() => expect(to('named@example.com')).toHaveLength(1));
    for (const key of keysOf(nameless)) expect(to('named@example.com')[0]?.text).toContain(key);
    await retry(2);
    expect(await queued(nameless.id)).toBe(1);
    service.clock.now = NOW;
  });

  it('is not sent for tests, nor for shops that hand out keys, which a plugin says it does', async () => {
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
    // The button leads back to its licence.
    const { back } = formOf((await seller.get(`/licenses/${ids[1]}`)).html, `/orders/${order.id}/mails`);
    const sent = await seller.post(`/orders/${order.id}/mails`, { back: back ?? '' });
    expect(sent.location?.replace(/\?.*/, '')).toBe(`/licenses/${ids[1]}`);
    await eventually(() => expect(to('shown@example.com')).toHaveLength(2));
    const elsewhere = await seller.post(`/orders/${order.id}/mails`, { back: '//evil.example' });
    expect(elsewhere.location?.replace(/\?.*/, '')).toBe(`/orders/${order.id}`);
    expect(await read('/mails')).toContain(`Keys of an order shown@example.com sent Order ${order.id}`);

    // Licences that an upgrade adds have a mail of their own. The first licence's page shows the first mail.
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
      'Keys mailed no: the shop hands out its keys itself Mail the keys',
    );
  });

  it('shows that an address was refused', async () => {
    server.manners.refuses['bad@example.com'] = 550;
    const order = await post('5', 'bad@example.com');
    await eventually(async () =>
      expect(await mailOf(order)).toMatchObject({
        ...{ state: 'failed', to: 'bad@example.com', reason: 'ADDRESS_REFUSED 550' },
      }),
    );
  });

  const idsOf = (order: Thing) =>
    (order.lines as { licenses: { id: number }[] }[]).flatMap(({ licenses }) => licenses.map(({ id }) => id));

  it('is owed to paid orders without an address, until one is entered at the order or a licence', async () => {
    const { write, read } = service;
    const owed = async () =>
      (await read.all('/orders?without_address=true')).map(({ order }) => order as string).sort();
    const before = (await owed()).length;
    const [first, second] = [await post('20', undefined), await post('21', undefined)];
    // These owe no mail: a test, a shop that hands out keys, a waiting article, and a refunded order.
    await post('22', undefined, { test: true });
    await post('23', undefined, { shop: 'membership', kind: 'membershippro' });
    await post('24', undefined, { lines: [{ line: '1', sku: 'NEVER' }] });
    await post('25', undefined);
    await post('25', undefined, { event: 'refunded', lines: undefined });
    expect(await owed()).toEqual(expect.arrayContaining(['20', '21']));
    expect(await owed()).toHaveLength(before + 2);
    expect(await read.ok('GET /overview')).toMatchObject({ orders_without_address: before + 2 });

    const seller = await pagesClient(service);
    const page = async (path: string) => textOf((await seller.get(path)).html);
    const sentence = 'This paid order has no e-mail address, so no key was sent. Enter the address';
    expect(await page(`/orders/${first.id}`)).toContain(sentence);
    expect(await page(`/licenses/${idsOf(second)[0]}`)).toContain(sentence);
    expect(await page('/orders?without_address=true')).toMatch(/\b20\b.*|\b21\b/);
    expect((await seller.get('/orders.csv?without_address=true')).html).not.toContain('"24"');

    // The address is entered at the order, on its page.
    const form = { email: 'Owed@Example.com', name: 'Ola Owed' };
    const saved = await seller.post(`/orders/${first.id}/customer`, form);
    expect(await page(saved.location ?? '')).toContain('and the key is on its way there.');
    await eventually(() => expect(to('owed@example.com')).toHaveLength(1));
    for (const key of keysOf(first)) expect(to('owed@example.com')[0]?.text).toContain(key);
    for (const id of idsOf(first))
      expect(await read.ok(`GET /licenses/${id}`)).toMatchObject({ customer: 'owed@example.com' });
    // The address is entered at a licence, by the API. The mail is for the whole order, and sent once.
    const path = `PATCH /licenses/${idsOf(second)[1]}`;
    expect(await write.ok(path, { customer: 'two@example.com' })).toMatchObject({ key_mailed: true });
    expect(await write.ok(path, { customer: 'two@example.com' })).toMatchObject({ key_mailed: false });
    await eventually(() => expect(to('two@example.com')).toHaveLength(1));
    for (const key of keysOf(second)) expect(to('two@example.com')[0]?.text).toContain(key);
    expect(await queued(second.id)).toBe(1);
    expect(await owed()).toHaveLength(before);
    // A changed address moves the licences that had the former one, and sends no mail.
    const changed = await write.ok(`PATCH /orders/${second.id}`, {
      customer: { email: 'three@example.com' },
    });
    expect(changed).toMatchObject({ customer: 'three@example.com', mail: { to: 'two@example.com' } });
    for (const id of idsOf(second))
      expect(await read.ok(`GET /licenses/${id}`)).toMatchObject({ customer: 'three@example.com' });
    expect(await queued(second.id)).toBe(1);
    await write.refused(
      `PATCH /orders/${second.id}`,
      { customer: { email: 'x' } },
      'INVALID_REQUEST',
      'customer.email',
    );
  });

  it('is not owed to a customer who was erased', async () => {
    const order = await post('30', 'gone@example.com');
    await eventually(() => expect(to('gone@example.com')).toHaveLength(1));
    expect((await service.write.send('DELETE /customers/gone@example.com')).status).toBe(204);
    const shown = await service.read.ok(`GET /orders/${order.id}`);
    expect(shown).toMatchObject({ customer: null, customer_name: null });
    const owed = await service.read.all('/orders?without_address=true');
    expect(owed.map(({ id }) => id)).not.toContain(order.id);
  });

  it('can be sent again to a corrected address, or dismissed, when it was refused', async () => {
    const { read, write } = service;
    server.manners.refuses['typo@exmaple.com'] = 550;
    const orders = [await post('40', 'typo@exmaple.com'), await post('41', 'typo@exmaple.com')];
    const failed = async () =>
      ((await read.ok('GET /mails?state=failed')) as Thing[]).filter(
        ({ recipient }) => recipient === 'typo@exmaple.com',
      );
    await eventually(async () => expect(await failed()).toHaveLength(2));
    const count = async () => (await read.ok('GET /overview')).mails_failed as number;
    const before = await count();
    const seller = await pagesClient(service);
    const page = async (path: string) => textOf((await seller.get(path)).html);
    const told = /Keys of an order: not delivered to typo@exmaple\.com\. .* Send again Dismiss/;
    const { id: customer } = await read.ok('GET /customers/typo@exmaple.com');
    for (const path of [
      `/orders/${orders[0]?.id}`,
      `/licenses/${idsOf(orders[0]!)[1]}`,
      `/customers/${customer}`,
    ])
      expect(await page(path)).toMatch(told);
    expect(await page('/mails?state=failed')).toContain('typo@exmaple.com');

    const mailIn = async (order: Thing | undefined) =>
      (await failed()).find((mail) => mail.order_id === order?.id)?.id as number;
    const [again, dismissed] = [await mailIn(orders[0]), await mailIn(orders[1])];
    await write.ok('PATCH /customers/typo@exmaple.com', { email: 'right@example.com' });
    const done = await seller.post(`/mails/${again}/again`, { back: `/orders/${orders[0]?.id}` });
    expect(done.location?.replace(/\?.*/, '')).toBe(`/orders/${orders[0]?.id}`);
    await eventually(() =>
      expect(to('right@example.com').some(({ text }) => text.includes(keysOf(orders[0]!)[0]!))).toBe(true),
    );
    expect(await count()).toBe(before - 1);
    await write.ok(`POST /mails/${dismissed}/dismiss`, {});
    expect(await count()).toBe(before - 2);
    expect(await failed()).toEqual([]);
    expect(await page(`/orders/${orders[0]?.id}`)).not.toMatch(told);
    await write.refused(`POST /mails/999999/again`, {}, 'NOT_FOUND');
    const [sent] = (await read.ok('GET /mails')) as Thing[];
    await write.refused(`POST /mails/${sent?.id}/dismiss`, {}, 'CONFLICT');
  });

  it('is settled by a later mail of the same kind', async () => {
    server.manners.refuses['later@example.com'] = 550;
    const order = await post('50', 'later@example.com');
    const failed = async () =>
      ((await service.read.ok('GET /mails?state=failed')) as Thing[]).map((mail) => mail.order_id);
    await eventually(async () => expect(await failed()).toContain(order.id));
    delete server.manners.refuses['later@example.com'];
    await service.write.ok(`POST /orders/${order.id}/mails`, {}, 201);
    await eventually(async () => expect(await failed()).not.toContain(order.id));
  });

  it('is reported by why, for orders with several licences and equal numbers in two shops', async () => {
    const why = async (about: string) =>
      ((await service.read.ok('POST /why', { about })).findings as Thing[])
        .filter(({ code }) => code === 'ORDER_MAIL')
        .map(({ facts }) => {
          const { shop, to: address, state, reason } = facts as Thing;
          return [shop, address, state, reason];
        });
    const order = await post('W-60', 'why@example.com');
    await eventually(() => expect(to('why@example.com')).toHaveLength(1));
    expect(await why('W-60')).toEqual([['own', 'why@example.com', 'sent', null]]);
    await post('W-60', undefined, { shop: 'another' });
    expect(await why('W-60')).toEqual([
      ['another', null, 'none', 'no_address'],
      ['own', 'why@example.com', 'sent', null],
    ]);
    // This order's number is also a licence's id.
    const [id] = idsOf(order);
    await post(String(id), 'number@example.com');
    await eventually(() => expect(to('number@example.com')).toHaveLength(1));
    expect(await why(String(id))).toEqual([
      ['own', 'why@example.com', 'sent', null],
      ['own', 'number@example.com', 'sent', null],
    ]);
  });

  it('waits for the article that an upgrade names, as why, the page and the doctor report', async () => {
    const order = await post('70', 'up@example.com', { lines: [{ line: '1', sku: 'LATER' }] });
    await post('70', undefined, { event: 'upgraded', lines: [{ line: '1', sku: 'NEWER' }] });
    const seller = await pagesClient(service);
    expect(textOf((await seller.get(`/orders/${order.id}`)).html)).toContain('NEWER');
    const { findings } = (await service.read.ok('POST /why', { about: '70' })) as { findings: Thing[] };
    expect(findings.find(({ code }) => code === 'ORDER_WAITS')).toMatchObject({
      facts: { sku: 'NEWER' },
      action: { type: 'map_sku', shop: 'own', sku: 'NEWER' },
    });
    const found = (await service.read.ok('GET /doctor')) as Thing[];
    const waits = found.find(({ id }) => id === 'ORDERS_WAIT');
    expect(waits?.message).toContain('"NEWER" of own');
    expect(waits?.message).not.toContain('"LATER" of own');
  });
});
