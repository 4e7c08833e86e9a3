/* oxlint-disable typescript/no-unsafe-assignment, typescript/no-unsafe-member-access, typescript/no-unsafe-return -- answers are JSON of any form */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eraseCustomer } from '../../src/privacy/erase-customer';
import { NOW, startManaged, type Managed, type Thing } from '../support/manage';
import { BACKENDS, rows, storedLicense } from '../support/service';
import { sendHook, signStripe, signWooCommerce } from '../support/shop-senders';

/** A payment without an order: it is assigned to a licence, a licence is issued for it, or it is left. */

const STRIPE = 'whsec_stripe_signs_with_this';
const WOO = 'woo secret';
const [FIRST, SECOND, THIRD] = ['2026-12-20T10:00:00Z', '2027-01-20T10:00:00Z', '2027-02-20T10:00:00Z'];

describe.each(BACKENDS)('unmatched money, on %s', (_, settings) => {
  let service: Managed;
  let write: Managed['write'];
  let plan: number;
  let other: number;
  let product: number;
  let number = 0;
  let order: string;
  beforeAll(async () => {
    service = await startManaged({
      ...(await settings()),
      LICENSING_MAIL_URL: 'smtp://127.0.0.1:1?from=sales@shop.example',
      LICENSING_PUBLIC_URL: 'https://shop.example',
    });
    ({ write } = service);
    product = (await write.ok('POST /products', { name: 'Gallery' }, 201)).id as number;
    plan = await newPlan('Month');
    other = await newPlan('Pro');
    // Add all receivers before the first message, because a later one is known only after a second.
    await write.ok('POST /shops', { name: 'stripe', kind: 'stripe', secret: STRIPE }, 201);
    await write.ok('POST /shops', { name: 'woo', kind: 'woocommerce', secret: WOO }, 201);
    await write.ok('POST /shops/woo/map', { sku: '500', plan_id: plan }, 201);
  });
  beforeEach(() => {
    order = String(1000 + ++number);
    service.clock.now = NOW;
  });
  afterAll(() => service.stop());

  const newPlan = async (name: string, activation_type = 'domain', duration = '1m') =>
    (
      await write.ok(
        'POST /plans',
        { product_id: product, name, activation_type, activation_limit: 3, duration },
        201,
      )
    ).id as number;
  const newLicense = async (ends = FIRST) =>
    (await write.ok('POST /licenses', { plan_id: plan, customer: 'jo@example.com', expires_at: ends }, 201))
      .id as number;
  const at = (minute: number) => new Date(NOW.getTime() - (60 - minute) * 60_000).toISOString();
  const tell = (event: string, minute: number, more: Thing = {}) =>
    write.ok('POST /orders', { shop: 'shop', order, event, at: at(minute), ...more });
  const renewed = (minute: number, paid_until: string, payment: string) =>
    tell('renewed', minute, { payment, lines: [{ line: '1', paid_until }] });
  const open = async (shop = 'shop') => (await write.ok(`GET /unmatched?shop=${shop}`)) as unknown as Thing[];
  const only = async (shop = 'shop') => {
    const found = await open(shop);
    expect(found).toHaveLength(1);
    return found[0] as Thing;
  };
  const assign = (id: number, license_id: number) => write.ok(`POST /unmatched/${id}/assign`, { license_id });
  const standing = async (id: number) => {
    const { status, expires_at } = await write.ok(`GET /licenses/${id}`);
    return [status, expires_at];
  };
  const stripe = (type: string, created: string, object: Thing) =>
    sendHook(
      service.url,
      'stripe',
      signStripe(
        {
          ...{ id: `evt_${type}_${created}_${String(object.id)}`, type, livemode: true },
          ...{ created: Date.parse(created) / 1000, data: { object } },
        },
        STRIPE,
        service.clock.now,
      ),
    );

  it('runs the messages of a subscription once it is assigned, and finds its licence from then on', async () => {
    const license = await newLicense();
    await renewed(1, SECOND, 'p2');
    expect(await standing(license)).toEqual(['active', FIRST]);
    const { id, ...told } = await only();
    expect(told).toMatchObject({ shop: 'shop', event: 'renewed', reason: 'not_paid', names: order });
    expect(told).toMatchObject({ state: 'open', acted_by: null, license_id: null });
    const done = await assign(id as number, license);
    expect(done).toMatchObject({ state: 'assigned', acted_by: 'token:admin', license_id: license });
    expect(await standing(license)).toEqual(['active', SECOND]);
    // The same call again changes nothing, and another licence is refused.
    expect(await assign(id as number, license)).toEqual(done);
    await write.refused(`POST /unmatched/${id}/assign`, { license_id: await newLicense() }, 'CONFLICT');
    await write.refused(`POST /unmatched/${id}/leave`, {}, 'CONFLICT');
    expect(await standing(license)).toEqual(['active', SECOND]);
    // The history shows who did it.
    const [latest] = (await write.ok(`GET /licenses/${license}/events`)) as unknown as Thing[];
    expect(latest).toMatchObject({ action: 'renew', actor: 'token:admin' });
    await renewed(5, THIRD, 'p3');
    expect(await standing(license)).toEqual(['active', THIRD]);
    expect(await open()).toEqual([]);
    // First the latest payment is refunded, and then the assigned one.
    await tell('refunded', 6, { payment: 'p3' });
    expect(await standing(license)).toEqual(['active', SECOND]);
    await tell('refunded', 7, { payment: 'p2' });
    expect(await standing(license)).toEqual(['active', FIRST]);
    expect(await open()).toEqual([]);
  });

  it('takes all waiting messages of an order, and an ended licence', async () => {
    const license = await newLicense('2026-11-23T12:00:00Z');
    await renewed(2, THIRD, 'p3');
    await renewed(1, SECOND, 'p2');
    const [one] = await open();
    await assign((one as Thing).id as number, license);
    expect(await open()).toEqual([]);
    expect(await standing(license)).toEqual(['active', THIRD]);
    await renewed(1, SECOND, 'p2');
    expect(await standing(license)).toEqual(['active', THIRD]);
  });

  it('renews a licence that another order issued', async () => {
    const { lines } = await tell('paid', 1, { lines: [{ line: '1', plan_id: plan }], payment: 'p1' });
    const license = (lines as Thing[])[0]?.licenses[0].id as number;
    const [, before] = await standing(license);
    order += '-renewal';
    await tell('renewed', 5, { payment: 'p2' });
    await assign((await only()).id as number, license);
    expect((await standing(license))[1]).not.toEqual(before);
    await tell('refunded', 6, { payment: 'p2' });
    expect(await standing(license)).toEqual(['active', before]);
  });

  it("suspends for a refund or chargeback that is assigned, by the shop's rules", async () => {
    for (const event of ['refunded', 'charged_back']) {
      order += event;
      const license = await newLicense();
      await tell(event, 1, event === 'refunded' ? { payment: 'p1' } : {});
      const { id } = await only();
      await write.refused(`POST /unmatched/${id}/issue`, { plan_id: plan }, 'CONFLICT');
      await assign(id as number, license);
      expect(await standing(license)).toEqual(['suspended', FIRST]);
      expect(await open()).toEqual([]);
    }
    await tell('chargeback_reversed', 2);
    expect(await open()).toEqual([]);
  });

  it('takes a refund of an unknown payment for everything that was paid for its order', async () => {
    const { lines } = await tell('paid', 1, { lines: [{ line: '1', plan_id: plan }], payment: 'p1' });
    const license = (lines as Thing[])[0]?.licenses[0].id as number;
    await tell('refunded', 2, { payment: 'px' });
    const { id, reason } = await only();
    expect(reason).toBe('unknown_payment');
    await write.refused(`POST /unmatched/${id}/assign`, { license_id: await newLicense() }, 'CONFLICT');
    expect(await open()).toHaveLength(1);
    await assign(id as number, license);
    expect((await standing(license))[0]).toBe('suspended');
    expect(await open()).toEqual([]);
  });

  it('issues a licence to the customer who paid, and renews it from then on', async () => {
    await tell('renewed', 1, {
      ...{ payment: 'p2', customer: { email: 'amy@example.com', name: 'Amy' } },
      lines: [{ line: 'a', paid_until: SECOND }],
    });
    const { id, customer } = await only();
    expect(customer).toBe('amy@example.com');
    const done = await write.ok(`POST /unmatched/${id}/issue`, { plan_id: plan });
    expect(done).toMatchObject({ state: 'issued', acted_by: 'token:admin' });
    expect(await write.ok(`POST /unmatched/${id}/issue`, { plan_id: plan })).toEqual(done);
    await write.refused(`POST /unmatched/${id}/issue`, { plan_id: other }, 'CONFLICT');
    const license = done.license_id as number;
    expect(await storedLicense(service.db, license)).toMatchObject({
      ...{ customer: 'amy@example.com', plan_id: plan, reference: `shop:${order}:a` },
    });
    expect(await standing(license)).toEqual(['active', SECOND]);
    await tell('renewed', 5, { lines: [{ line: 'a', paid_until: THIRD }] });
    expect(await standing(license)).toEqual(['active', THIRD]);
    expect(await open()).toEqual([]);
  });

  it('issues for a month if the shop sends no end', async () => {
    await tell('renewed', 0);
    const done = await write.ok(`POST /unmatched/${(await only()).id}/issue`, { plan_id: plan });
    expect(await standing(done.license_id as number)).toEqual(['active', '2026-12-24T11:00:00Z']);
  });

  it('issues an additional licence if the existing one cannot become what was bought', async () => {
    const file = await newPlan('By device', 'device');
    const { lines } = await tell('paid', 1, { lines: [{ line: '1', plan_id: plan }] });
    const license = (lines as Thing[])[0]?.licenses[0].id as number;
    await write.ok(`POST /licenses/${license}/activations`, { identifier: 'shop.example' }, 201);
    await tell('upgraded', 2, { lines: [{ line: '1', plan_id: file }] });
    const { id, reason } = await only();
    expect(reason).toBe('other_activation_type');
    const done = await write.ok(`POST /unmatched/${id}/issue`, { plan_id: file });
    expect(done.license_id).not.toBe(license);
    expect(await standing(done.license_id as number)).toEqual(await standing(license));
    await tell('renewed', 5, { lines: [{ line: '1', paid_until: THIRD }] });
    expect(await standing(done.license_id as number)).toEqual(['active', THIRD]);
    expect(await open()).toEqual([]);
  });

  it('leaves it, and no longer counts it', async () => {
    await renewed(1, SECOND, 'p2');
    const { id } = await only();
    const done = await write.ok(`POST /unmatched/${id}/leave`, {});
    expect(done).toMatchObject({ state: 'left', acted_by: 'token:admin', license_id: null });
    expect(await write.ok(`POST /unmatched/${id}/leave`, {})).toEqual(done);
    expect(await open()).toEqual([]);
    await renewed(1, SECOND, 'p2');
    expect(await open()).toEqual([]);
    await write.refused('POST /unmatched/999999/leave', {}, 'NOT_FOUND');
    await service.read.refused(`POST /unmatched/${id}/leave`, {}, 'FORBIDDEN');
  });

  it('does each once, even for simultaneous requests', async () => {
    const license = await newLicense();
    await tell('renewed', 1);
    const { id } = await only();
    const answers = await Promise.all([1, 2, 3].map(() => assign(id as number, license)));
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(await standing(license)).toEqual(['active', '2027-01-20T10:00:00Z']);
    order += 'b';
    await tell('renewed', 1);
    const next = (await only()).id as number;
    const issued = await Promise.all(
      [1, 2, 3].map(() => write.ok(`POST /unmatched/${next}/issue`, { plan_id: plan })),
    );
    expect(new Set(issued.map(({ license_id }) => license_id as number)).size).toBe(1);
    order += 'c';
    await tell('renewed', 1);
    const last = (await only()).id as number;
    const mixed = await Promise.all([
      write.send(`POST /unmatched/${last}/assign`, { body: { license_id: license } }),
      write.send(`POST /unmatched/${last}/issue`, { body: { plan_id: plan } }),
      write.send(`POST /unmatched/${last}/leave`, { body: {} }),
    ]);
    expect(mixed.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });

  it('refuses a licence that does not exist or has ended for good, and a plan that does not exist', async () => {
    const license = await newLicense();
    await write.ok(`POST /licenses/${license}/cancel`, {});
    await tell('renewed', 1);
    const { id } = await only();
    await write.refused(`POST /unmatched/${id}/assign`, { license_id: license }, 'CONFLICT');
    await write.refused(
      `POST /unmatched/${id}/assign`,
      { license_id: 999999 },
      'INVALID_REQUEST',
      'license_id',
    );
    await write.refused(`POST /unmatched/${id}/issue`, { plan_id: 999999 }, 'INVALID_REQUEST', 'plan_id');
    await write.ok(`POST /unmatched/${(await only()).id}/leave`, {});
  });

  it("takes Stripe's refund of an earlier payment, and later messages that name it", async () => {
    const license = await newLicense();
    const charge = {
      id: 'ch_1',
      object: 'charge',
      payment_intent: 'pi_1',
      amount: 900,
      amount_refunded: 900,
    };
    await stripe('charge.refunded', at(1), { ...charge, refunded: true });
    const { id, names, reason } = await only('stripe');
    expect([names, reason]).toEqual(['pi_1', 'unknown_payment']);
    await assign(id as number, license);
    expect((await standing(license))[0]).toBe('suspended');
    await stripe('refund.failed', at(2), {
      ...{ id: 're_1', object: 'refund', payment_intent: 'pi_1', charge: 'ch_1', status: 'failed' },
    });
    expect((await standing(license))[0]).toBe('active');
    expect(await open('stripe')).toEqual([]);
    expect(await rows(service.db, 'shop_messages')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ result: 'order', awaits: null, pending_json: null }),
      ]),
    );
  });

  it('takes a refund of a payment for the order that the licence has in the shop', async () => {
    await write.ok('POST /shops/stripe/map', { sku: 'MONTH', plan_id: plan }, 201);
    await stripe('checkout.session.completed', at(1), {
      ...{ id: 'cs_9', mode: 'payment', payment_status: 'paid', payment_intent: 'pi_9' },
      ...{ metadata: { sku: 'MONTH' }, customer_details: { email: 'jo@example.com' } },
    });
    const { id: license } = await write.ok('GET /licenses/reference:stripe%3Api_9%3A1');
    const charge = {
      id: 'ch_8',
      object: 'charge',
      payment_intent: 'pi_8',
      amount: 900,
      amount_refunded: 900,
    };
    await stripe('charge.refunded', at(2), { ...charge, refunded: true });
    await assign((await only('stripe')).id as number, license as number);
    expect((await standing(license as number))[0]).toBe('suspended');
    expect(await open('stripe')).toEqual([]);
  });

  describe('a line of WooCommerce that names no product', () => {
    let n = 0;
    const order = (id: number, change: Thing = {}) =>
      sendHook(
        service.url,
        'woo',
        signWooCommerce(
          {
            ...{ id, status: 'processing', date_modified_gmt: '2026-11-24T10:00:00' },
            ...{ date_paid_gmt: '2026-11-24T10:00:00', billing: { email: 'k@example.com' } },
            line_items: [
              { id: 1, product_id: 500, variation_id: 0, quantity: 1, sku: '500' },
              { id: 2, name: 'gone', product_id: 0, variation_id: 0, quantity: 1, sku: '' },
            ],
            ...change,
          },
          'order.updated',
          WOO,
        ),
      );
    const refund = (id: number) =>
      order(id, { status: 'refunded', date_modified_gmt: '2026-11-24T10:30:00' });
    const linesOf = async (id: number) => {
      const [{ id: found }] = (await write.ok(`GET /orders?shop=woo&order=${id}`)) as unknown as [Thing];
      const { lines, state, mail } = await write.ok(`GET /orders/${found}`);
      return { id: found, state, mail, lines: lines as { waits_for: string | null; licenses: Thing[] }[] };
    };
    const statuses = async (id: number) =>
      (await linesOf(id)).lines.map(({ licenses }) => licenses.map(({ status }) => status));
    const begin = async () => {
      const id = 310 + ++n;
      expect(await order(id)).toMatchObject({ status: 200 });
      expect(await linesOf(id)).toMatchObject({
        state: 'waiting',
        lines: [
          { waits_for: null, licenses: [{ status: 'active' }] },
          { waits_for: 'no_article', licenses: [] },
        ],
      });
      const line = await only('woo');
      expect(line).toMatchObject({ event: 'paid', reason: 'no_article', customer: 'k@example.com' });
      return { id, unmatched: line.id as number };
    };

    it('issues for it to the customer who paid, with the key by mail', async () => {
      const { id, unmatched } = await begin();
      const { license_id: license } = await write.ok(`POST /unmatched/${unmatched}/issue`, {
        plan_id: other,
      });
      expect(await storedLicense(service.db, license as number)).toMatchObject({
        ...{ customer: 'k@example.com', plan_id: other },
      });
      const done = await linesOf(id);
      expect(done).toMatchObject({ state: 'done', mail: { to: 'k@example.com' } });
      const mails = (await rows(service.db, 'outbox')).filter((row) => row.order_id === done.id);
      expect(mails).toHaveLength(2);
      expect(await open('woo')).toEqual([]);
      await refund(id);
      expect(await statuses(id)).toEqual([['suspended'], ['suspended']]);
    });

    it('leaves it', async () => {
      const { id, unmatched } = await begin();
      await write.ok(`POST /unmatched/${unmatched}/leave`, {});
      expect(await linesOf(id)).toMatchObject({ state: 'done', lines: [{}, { licenses: [] }] });
      await order(id);
      expect(await open('woo')).toEqual([]);
      await refund(id);
      expect(await statuses(id)).toEqual([['suspended'], []]);
    });

    it('assigns it to a licence', async () => {
      const { id, unmatched } = await begin();
      const license = await newLicense();
      await assign(unmatched, license);
      expect(await linesOf(id)).toMatchObject({
        state: 'done',
        lines: [{}, { licenses: [{ id: license }] }],
      });
      expect(await open('woo')).toEqual([]);
      await refund(id);
      expect((await statuses(id))[0]).toEqual(['suspended']);
    });

    it('no longer lists it once it is refunded', async () => {
      const { id } = await begin();
      await refund(id);
      expect(await statuses(id)).toEqual([['suspended'], []]);
      expect(await open('woo')).toEqual([]);
    });
  });

  it('issues for a payment whose purpose Stripe does not state', async () => {
    const invoice = (id: string) => ({
      ...{ id, object: 'invoice', amount_paid: 900, billing_reason: 'manual' },
      ...{ customer_email: 'kim@example.com', created: Date.parse(at(1)) / 1000 },
      ...{ parent: { subscription_details: { subscription: 'sub_3', metadata: {} } } },
      lines: { data: [], has_more: false },
    });
    await stripe('invoice.paid', at(1), invoice('in_1'));
    const { id, reason, customer } = await only('stripe');
    expect([reason, customer]).toEqual(['untold', 'kim@example.com']);
    const { license_id } = await write.ok(`POST /unmatched/${id}/issue`, { plan_id: plan });
    expect(await storedLicense(service.db, license_id as number)).toMatchObject({
      ...{ customer: 'kim@example.com', plan_id: plan },
    });
    await stripe('invoice.paid', at(3), invoice('in_2'));
    const license = await newLicense();
    await assign((await only('stripe')).id as number, license);
    // Stripe's subscription is paid until the 20th, plus three days of grace.
    expect(await standing(license)).toEqual(['active', '2027-01-23T10:00:00Z']);
    expect(await open('stripe')).toEqual([]);
  });

  it('issues without a customer if the customer was erased', async () => {
    await tell('renewed', 1, { customer: { email: 'gone@example.com' } });
    await eraseCustomer(service.db, 'gone@example.com', { actor: 'operator:me', now: NOW });
    const { id, customer } = await only();
    expect(customer).toBeNull();
    const { license_id } = await write.ok(`POST /unmatched/${id}/issue`, { plan_id: plan });
    expect(await storedLicense(service.db, license_id as number)).toMatchObject({ customer: null });
  });
});
