import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { WITHOUT_GRACE } from '../support/hook-shop';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { ONE_BACKEND } from '../support/service';
import { fixture, sendHook, signStripe } from '../support/shop-senders';

/** Tests messages of Stripe: their effect on licences, in any order and however often they come. */

const SECRET = 'whsec_stripe_signs_with_this';
const NOW = new Date('2026-11-24T12:00:00Z');

interface Event {
  id: string;
  created: number;
  livemode: boolean;
  type: string;
  data: { object: Thing };
}

describe.each(ONE_BACKEND)('messages of Stripe, on %s', (_, settings) => {
  let service: Managed;
  let plan: number;
  let payment: string;
  let subscription: string;
  let invoice: string;
  beforeAll(async () => {
    service = await startManaged({ ...(await settings()), ...WITHOUT_GRACE }, NOW);
    const { write } = service;
    const product = await write.ok('POST /products', { name: 'Pro' }, 201);
    const made = { product_id: product.id as number, activation_type: 'domain', activation_limit: 3 };
    plan = (await write.ok('POST /plans', { ...made, name: 'Year', duration: '1y' }, 201)).id as number;
    await write.ok('POST /shops', { name: 'stripe', kind: 'stripe', secret: SECRET }, 201);
    for (const sku of ['PRO-1Y', 'plink_1'])
      await write.ok('POST /shops/stripe/map', { sku, plan_id: plan }, 201);
  });
  beforeEach(() => {
    service.clock.now = NOW;
    const unique = randomUUID();
    [payment, subscription, invoice] = [`pi_${unique}`, `sub_${unique}`, `in_${unique}`];
  });
  afterAll(() => service.stop());

  /** Returns a message about this test's objects, at this minute of the hour before NOW, or at the example's own time. */
  function message(name: string, minute: number | undefined, change: Thing = {}): Event {
    const event = fixture(`stripe/${name}`);
    const text = JSON.stringify({ ...event, id: `evt_${randomUUID()}` })
      .replaceAll(/"pi_\d"/g, `"${payment}"`)
      .replaceAll('"sub_1"', `"${subscription}"`)
      .replaceAll('"in_2"', `"${invoice}"`);
    const own = JSON.parse(text) as Event;
    if (minute !== undefined) own.created = NOW.getTime() / 1000 - (60 - minute) * 60;
    Object.assign(own.data.object, change);
    return own;
  }
  async function send(event: Event): Promise<Thing> {
    const { now } = service.clock;
    const answer = await sendHook(service.url, 'stripe', signStripe(event, SECRET, now));
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    return (JSON.parse(answer.text) as { data: Thing }).data;
  }
  const paid = (minute = 0, change: Thing = {}) => message('checkout.session.completed', minute, change);
  const bySubscription = (change: Thing = {}) => ({
    ...{ mode: 'subscription', payment_intent: null, subscription, invoice, ...change },
  });
  const findLicense = async (order = payment): Promise<Thing | undefined> => {
    const answer = await service.read.send(`GET /licenses/reference:stripe:${order}:1`);
    return answer.status === 404 ? undefined : answer.body.data;
  };
  const status = async (order = payment) =>
    ((await findLicense(order)) ?? { status: 'none' }).status as string;

  it('issues a licence for a session, once', async () => {
    const event = paid();
    const answers = await Promise.all([send(event), send(event), send(event)]);
    expect(answers[0]).toEqual({
      result: 'order',
      reason: 'no_quantity',
      order_id: expect.any(Number),
      state: 'done',
    });
    expect(await send(event)).toEqual(answers[0]);
    expect(await findLicense()).toMatchObject({
      status: 'active',
      customer: 'jo@example.com',
      plan_id: plan,
    });
    const [order] = (await service.read.ok(`GET /orders?shop=stripe&order=${payment}`)) as unknown as Thing[];
    expect(order).toMatchObject({ customer_name: 'Jo Example', test: false, state: 'done' });
    const { events } = await service.write.ok(`GET /orders/${String(order?.id)}`);
    expect(events).toHaveLength(1);
  });

  it('waits for money that is on its way', async () => {
    expect(await send(paid(0, { payment_status: 'unpaid' }))).toMatchObject({
      result: 'noted',
      reason: 'unpaid',
    });
    expect(await status()).toBe('none');
    await send({ ...paid(5), type: 'checkout.session.async_payment_succeeded' });
    expect(await status()).toBe('active');
  });

  it('takes the quantity and the article from the metadata, or else the payment link, or else "checkout"', async () => {
    await send(paid(0, { metadata: { quantity: '2' }, payment_link: 'plink_1' }));
    expect(await status()).toBe('active');
    expect((await service.read.ok(`GET /licenses/reference:stripe:${payment}:1:2`)).status).toBe('active');
    payment = `pi_${randomUUID()}`;
    expect(await send(paid(0, { metadata: {} }))).toMatchObject({ state: 'waiting' });
    const [order] = (await service.read.ok(`GET /orders?shop=stripe&order=${payment}`)) as unknown as Thing[];
    expect(order?.lines).toMatchObject([{ sku: 'checkout', waits_for: 'not_mapped' }]);
  });

  it('suspends for a refund of all the money, not for a part, and whichever comes first', async () => {
    await send(paid());
    await send(message('charge.refunded', 10, { amount_refunded: 1000, refunded: false }));
    expect(await status()).toBe('active');
    await send(message('charge.refunded', 20));
    expect(await status()).toBe('suspended');

    payment = `pi_${randomUUID()}`;
    expect(await send(message('charge.refunded', 20))).toMatchObject({ result: 'unmatched', order_id: null });
    const unmatched = await service.write.ok('GET /shops/stripe/messages?result=unmatched');
    expect(unmatched[0]).toMatchObject({ type: 'charge.refunded', order_id: null });
    const answer = await send(paid());
    expect(await status()).toBe('none');
    const { events } = await service.write.ok(`GET /orders/${String(answer.order_id)}`);
    expect(
      (events as { event: string; outcomes: { reason: string }[] }[]).map(({ event, outcomes }) => [
        event,
        outcomes[0]?.reason,
      ]),
    ).toContainEqual(['paid', 'refunded']);
    const [newest] = (await service.write.ok('GET /shops/stripe/messages?limit=1')) as unknown as Thing[];
    expect(newest).toMatchObject({ type: 'checkout.session.completed', result: 'order' });
    const ids = (await service.write.all('/shops/stripe/messages?result=unmatched')).map(
      ({ id }) => id as number,
    );
    expect(ids).not.toContain((unmatched[0] as Thing).id);
  });

  it('follows a dispute until it is won, and leaves an inquiry alone', async () => {
    const dispute = (minute: number, type: string, state: string) => ({
      ...message('charge.dispute.created', minute, { status: state }),
      type: `charge.dispute.${type}`,
    });
    await send(paid());
    expect(await send(dispute(10, 'created', 'warning_needs_response'))).toMatchObject({
      reason: 'not_final',
    });
    expect(await status()).toBe('active');
    await send(dispute(20, 'created', 'needs_response'));
    expect(await status()).toBe('suspended');
    await send(dispute(30, 'closed', 'won'));
    expect(await status()).toBe('active');
    await send(dispute(40, 'closed', 'lost'));
    expect(await status()).toBe('suspended');
  });

  it.each(['invoice.paid', 'invoice.paid.since-2025'])('renews a subscription by %s', async (shape) => {
    await send(paid(0, bySubscription()));
    expect(await findLicense(subscription)).toMatchObject({ expires_at: '2027-11-24T11:00:00Z' });
    const first = message(shape, 1, { billing_reason: 'subscription_create' });
    expect(await send(first)).toMatchObject({ result: 'noted', reason: 'first_payment' });
    service.clock.now = new Date('2027-11-25T12:00:00Z');
    await send(message(shape, undefined));
    expect(await findLicense(subscription)).toMatchObject({
      status: 'active',
      expires_at: '2028-11-24T10:00:00Z',
    });
    await send(message('customer.subscription.deleted', undefined));
    expect(await status(subscription)).toBe('active');
  });

  it('issues for a subscription without a session when its invoice names the article', async () => {
    const create = { billing_reason: 'subscription_create' };
    const parent = { subscription_details: { subscription, metadata: { sku: 'PRO-1Y' } } };
    await send(message('invoice.paid.since-2025', 0, { ...create, parent }));
    expect(await status(subscription)).toBe('active');
    // The session reports the same payment.
    await send(paid(0, bySubscription({ metadata: {}, payment_link: 'plink_1' })));
    const [order] = (await service.read.ok(
      `GET /orders?shop=stripe&order=${subscription}`,
    )) as unknown as Thing[];
    expect(order?.lines).toEqual([expect.objectContaining({ sku: 'PRO-1Y' })]);
  });

  it('takes the article from the invoice when the session’s own is not mapped', async () => {
    expect(await send(paid(0, bySubscription({ metadata: {} })))).toMatchObject({ state: 'waiting' });
    const parent = { subscription_details: { subscription, metadata: { sku: 'PRO-1Y' } } };
    const create = { billing_reason: 'subscription_create', parent };
    expect(await send(message('invoice.paid.since-2025', 1, create))).toMatchObject({ state: 'done' });
    expect(await status(subscription)).toBe('active');
  });

  it('issues for the lines of an invoice by their prices', async () => {
    const event = message('invoice.paid.since-2025', 0, { billing_reason: 'manual', parent: null });
    expect(await send(event)).toMatchObject({ state: 'waiting' });
    await service.write.ok('POST /shops/stripe/map', { sku: 'price_1', plan_id: plan }, 201);
    expect(await status(invoice)).toBe('active');
    await service.write.send('DELETE /shops/stripe/map/price_1');
  });

  it('counts a session and its invoice as one payment, whichever comes first', async () => {
    await service.write.ok('POST /shops/stripe/map', { sku: 'price_1', plan_id: plan }, 201);
    const session = () => paid(0, { invoice });
    const made = () => message('invoice.paid.since-2025', 0, { billing_reason: 'manual', parent: null });
    for (const order of [
      [session, made],
      [made, session],
    ]) {
      invoice = `in_${randomUUID()}`;
      for (const one of order) await send(one());
      const [found] = (await service.read.ok(
        `GET /orders?shop=stripe&order=${invoice}`,
      )) as unknown as Thing[];
      expect((found!.lines as Thing[]).flatMap(({ licenses }) => licenses as Thing[])).toHaveLength(1);
      expect(await service.read.ok(`GET /orders?shop=stripe&order=${payment}`)).toEqual([]);
      await send(message('charge.refunded', 20));
      expect(await status(invoice)).toBe('suspended');
      payment = `pi_${randomUUID()}`;
    }
    await service.write.send('DELETE /shops/stripe/map/price_1');
  });

  it('finds the subscription of a refund by the payment of its invoice, in any order', async () => {
    const pieces = [
      paid(0, bySubscription()),
      message('invoice.paid.since-2025', 1, { billing_reason: 'subscription_create' }),
      message('invoice_payment.paid', 2),
      message('charge.refunded', 20),
    ];
    for (const order of permutations(pieces)) {
      const [was, now] = [subscription, `sub_${randomUUID()}`];
      const ids = { [payment]: `pi_${randomUUID()}`, [was]: now, [invoice]: `in_${randomUUID()}` };
      for (const piece of order) {
        let text = JSON.stringify({ ...piece, id: `evt_${randomUUID()}` });
        for (const [old, fresh] of Object.entries(ids)) text = text.replaceAll(old, fresh);
        await send(JSON.parse(text) as Event);
      }
      expect([order.map(({ type }) => type), ['none', 'suspended'].includes(await status(now))]).toEqual([
        order.map(({ type }) => type),
        true,
      ]);
    }
  });

  it('keeps test mode apart', async () => {
    await send({ ...paid(), livemode: false });
    expect(await status()).toBe('none');
  });

  it('counts an event from the future at its receipt, and notes messages that it does not use', async () => {
    await send(paid(90));
    expect(await findLicense()).toMatchObject({ expires_at: '2027-11-24T12:00:00Z' });
    expect(await send({ ...paid(), type: 'payment_intent.succeeded' })).toEqual({
      ...{ result: 'noted', reason: 'unused', order_id: null, state: null },
    });
  });

  it('treats a field of another type as missing', async () => {
    for (const quantity of [{ toString: 1, valueOf: 1 }, [['2']], null, true]) {
      payment = `pi_${randomUUID()}`;
      await send(paid(0, { metadata: { sku: 'PRO-1Y', quantity } }));
      expect(await status()).toBe('active');
    }
    await send(paid(0, bySubscription()));
    const renewal = message('invoice.paid.since-2025', 30);
    const lines = renewal.data.object.lines as { data: Thing[] };
    lines.data = lines.data.map((line) => ({ ...line, period: { end: '1798000000' } }));
    await send(renewal);
    // The period cannot be read, so the plan's duration counts.
    expect(await findLicense(subscription)).toMatchObject({ expires_at: '2028-11-24T11:00:00Z' });
  });

  it('counts a refund with an impossible time at its receipt', async () => {
    expect(await send({ ...message('charge.refunded', 20), created: -1e11 })).toMatchObject({
      result: 'unmatched',
    });
    expect(await send(paid())).toMatchObject({ result: 'order' });
    expect(await status()).toBe('none');
  });

  it('finds an object whose id is too long by a digest of the id', async () => {
    const invoice = 'x'.repeat(300);
    const answer = await send(paid(0, { invoice }));
    expect(answer).toMatchObject({ result: 'order', state: 'done' });
    await send(message('invoice_payment.paid', 1, { invoice, payment: { payment_intent: 'pi_long' } }));
    await send(message('charge.refunded', 2, { id: 'ch_long', payment_intent: 'pi_long' }));
    const { events } = await service.write.ok(`GET /orders/${String(answer.order_id)}`);
    expect(events).toMatchObject([{ event: 'paid' }, { event: 'refunded' }]);
  });
});

function permutations<T>(items: T[]): T[][] {
  if (items.length < 2) return [items];
  return items.flatMap((item, i) =>
    permutations(items.filter((_, j) => j !== i)).map((rest) => [item, ...rest]),
  );
}
