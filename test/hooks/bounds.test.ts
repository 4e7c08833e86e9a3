import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { whileRefusing } from '../support/failing-statements';
import { BACKENDS, rows } from '../support/service';
import { table } from '../../src/store/engine/database';
import { listUnmapped } from '../../src/store/orders/orders';
import { OPERATORS } from '../../src/texts/operators/languages';
import { checkOrders } from '../../src/doctor/orders';
import { workOnQueued } from '../../src/orders/queue';
import { runReady } from '../../src/orders/retry';
import { faultOfMessage } from '../../src/operations/kit/failures';
import { readOrderBody } from '../../src/operations/orders';
import { fixture, sendHook, signFastSpring, signLemonSqueezy, type Signed } from '../support/shop-senders';

/** Tests that messages with values that no database holds, and orders that fail, affect no other order. */

const NOW = new Date('2026-11-24T12:00:00Z');
const LATEST = '9999-12-31T23:59:59Z';
const SECRET = 'made-up-by-the-seller';

describe.each(BACKENDS)('what no database holds, on %s', (_, settings) => {
  let service: Managed;
  let plan: number;
  let n = 0;
  beforeAll(async () => {
    service = await startManaged(await settings(), NOW);
    const { write } = service;
    const product = await write.ok('POST /products', { name: 'Gallery Pro' }, 201);
    const terms = { activation_type: 'domain', activation_limit: 3, duration: '1m' };
    const made = await write.ok(
      'POST /plans',
      { product_id: product.id as number, name: 'M', ...terms },
      201,
    );
    plan = made.id as number;
    for (const kind of ['lemonsqueezy', 'fastspring']) {
      await write.ok('POST /shops', { name: kind, kind, secret: SECRET }, 201);
      for (const sku of ['41', 'PRO']) await write.ok(`POST /shops/${kind}/map`, { sku, plan_id: plan }, 201);
    }
  });
  beforeEach(() => {
    service.clock.now = NOW;
    n++;
  });
  afterAll(() => service.stop());

  const lemon = (name: string, attributes: Thing) => {
    const text = JSON.stringify(fixture(`lemonsqueezy/${name}`)).replaceAll(
      /(?<="?)\b(501|701|901)\b(?="?)/g,
      (id) => `${id}${String(n).padStart(3, '0')}`,
    );
    const own = JSON.parse(text) as { data: { attributes: Thing } };
    Object.assign(own.data.attributes, attributes);
    return signLemonSqueezy(own, SECRET);
  };
  const fast = (name: string, change: Thing, id = '') => {
    const text = JSON.stringify(fixture(`fastspring/${name}`));
    const own = JSON.parse(text.replaceAll(/"(ord\d|sub1|ret1|evt\d)"/g, `"$1-${n}${id}"`)) as Thing;
    Object.assign(own.data as Thing, change);
    return own;
  };
  const take = async (kind: string, signed: Signed) => {
    const { status, text } = await sendHook(service.url, kind, signed);
    expect([status, text]).toEqual([200, text]);
    return (JSON.parse(text) as { data: Thing }).data;
  };
  const license = async (shop: string, order: string) => {
    const [found] = (await service.read.ok(`GET /orders?shop=${shop}&order=${order}`)) as unknown as Thing[];
    const [line] = (found?.lines ?? []) as { licenses: Thing[] }[];
    const id = line?.licenses[0]?.id as number | undefined;
    return id === undefined ? undefined : service.read.ok(`GET /licenses/${id}`);
  };
  const post = (order: string, more: Thing, line: Thing = { plan_id: plan }) =>
    service.issue.ok('POST /orders', {
      ...{ shop: 'posting', order, event: 'paid', at: NOW.toISOString(), renews_itself: true },
      lines: [{ line: '1', ...line }],
      ...more,
    });
  const ends = { status: 'active', expires_at: LATEST };
  const lemonOrder = () => `501${String(n).padStart(3, '0')}`;

  it.each(['9999-12-31T23:59:59.999Z', '9999-12-30T12:00:00Z', '9999-12-31T23:59:59-11:00'])(
    'a subscription may be paid until the end of the calendar: %s',
    async (renewsAt) => {
      await take('lemonsqueezy', lemon('subscription_created', { renews_at: renewsAt }));
      const issued = await license('lemonsqueezy', lemonOrder());
      expect(issued).toMatchObject({ status: 'active' });
      expect(String(issued?.expires_at).slice(0, 8)).toBe('9999-12-');
      await take('lemonsqueezy', lemon('subscription_payment_success', {}));
      expect(await license('lemonsqueezy', lemonOrder())).toMatchObject(ends);
      await take('lemonsqueezy', lemon('subscription_expired', {}));
      expect(await license('lemonsqueezy', lemonOrder())).toMatchObject(ends);
    },
  );

  it('later ends become the latest one, and an invalid time counts as missing', async () => {
    for (const [next, expected] of [
      [Date.parse(LATEST), LATEST],
      [1e15, LATEST],
      [1e300, '2026-12-27T10:00:00Z'],
    ] as const) {
      const order = fast('order.completed', {});
      const [item] = (order.data as { items: { subscription: Thing }[] }).items;
      item!.subscription.next = next;
      await take('fastspring', signFastSpring([order], SECRET));
      expect(await license('fastspring', `ord1-${n}`)).toMatchObject({ expires_at: expected });
      n++;
    }
  });

  it('a posted order with the end of the calendar takes effect once its article is mapped, and is renewed and upgraded', async () => {
    await post(`far-${n}`, {}, { sku: `far-${n}`, paid_until: LATEST });
    await post(`near-${n}`, {}, { sku: `far-${n}` });
    const map = await service.write.ok('POST /shops/posting/map', { sku: `far-${n}`, plan_id: plan }, 201);
    expect(map).toMatchObject({ ran: { done: 2, waiting: 0 } });
    expect(await license('posting', `far-${n}`)).toMatchObject(ends);
    for (const event of ['renewed', 'upgraded'])
      await post(`far-${n}`, { event }, event === 'renewed' ? {} : { plan_id: plan, quantity: 1 });
    expect(await license('posting', `far-${n}`)).toMatchObject(ends);
    expect(await license('posting', `near-${n}`)).toMatchObject({ status: 'active' });
  });

  it('each end that is paid, renewed and given back can be stored', async () => {
    const last = Date.parse(LATEST);
    const end = fc.date({ min: new Date(last - 20 * 86_400_000), max: new Date(last), noInvalidDate: true });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(end, end, async (paid, renewed) => {
        const order = `any-${n}-${++run}`;
        const line = (until: Date) => ({ plan_id: plan, paid_until: until.toISOString() });
        await post(order, { payment: 'a' }, line(paid));
        await post(order, { event: 'renewed', payment: 'b' }, line(renewed));
        const { expires_at: expiresAt } = (await license('posting', order)) as Thing;
        const graced = Math.min(renewed.getTime() + 3 * 86_400_000, last);
        expect(Date.parse(String(expiresAt))).toBeLessThanOrEqual(graced);
        expect(Date.parse(String(expiresAt))).toBeGreaterThanOrEqual(renewed.getTime() - 1_000);
        await post(order, { event: 'refunded', payment: 'b', renews_itself: false }, {});
        expect(await license('posting', order)).toMatchObject({ status: 'active' });
      }),
      { numRuns: 10 },
    );
  });

  it.each([-1, 2 ** 64, 1e300])('an amount of %s is unknown, but the order counts', async (total) => {
    expect(await take('lemonsqueezy', lemon('order_created', { total }))).toMatchObject({
      result: 'order',
    });
    expect(await license('lemonsqueezy', lemonOrder())).toMatchObject({ status: 'active' });
    await take('lemonsqueezy', lemon('order_refunded', { total, refunded_amount: total }));
    expect(await license('lemonsqueezy', lemonOrder())).toMatchObject({ status: 'suspended' });
    await take('fastspring', signFastSpring([fast('order.completed', { total })], SECRET));
    expect(await license('fastspring', `ord1-${n}`)).toMatchObject({ status: 'active' });
  });

  it('an order that fails holds up no other one, neither when an article is mapped nor in the job of each minute', async () => {
    const { db } = service;
    const sku = `late-${n}`;
    const broken = await post(`broken-${n}`, {}, { sku });
    await post(`good-${n}`, {}, { sku });
    const events = db(table(db, 'order_events')).where({ order_id: broken.id as number });
    await events.update({ lines_json: '{' });
    const mapped = await service.write.ok('POST /shops/posting/map', { sku, plan_id: plan }, 201);
    const failed = { order: `broken-${n}`, state: 'failed', reason: 'SyntaxError' };
    expect(mapped).toMatchObject({
      ran: { done: 1, waiting: 0, failed: 1, orders: [failed, { state: 'done' }] },
    });
    expect(await service.read.ok(`GET /orders?order=broken-${n}`)).toMatchObject([
      {
        state: 'failed',
        failure: 'SyntaxError',
        failed_at: expect.any(String),
        retry_at: expect.any(String),
      },
    ]);
    expect((await listUnmapped(db, 99)).filter((one) => one.sku === sku)).toEqual([]);
    const config = { keySecret: undefined } as never;
    const findings = await checkOrders({ db, now: () => NOW, config } as never);
    const [found] = findings.filter(({ code }) => code === 'ORDERS_FAILED');
    expect(found?.say(OPERATORS.en.doctor).what).toContain(`broken-${n} of posting since`);
    expect(await license('posting', `good-${n}`)).toMatchObject({ status: 'active' });

    await post(`waits-${n}`, {}, { sku: `${sku}-b` });
    const entry = (await rows(db, 'shop_skus')).find((one) => one.sku === sku) as Thing;
    const [line] = (await rows(db, 'order_lines')).filter((one) => one.sku === `${sku}-b`);
    const { id: __, ...copied } = entry;
    const given = { ...copied, sku: `${sku}-b`, awaited: line?.awaited };
    await db(table(db, 'shop_skus')).insert(given as Thing);
    const context = { actor: 'orders', now: NOW, secret: undefined, graceDays: 3 };
    const run = (now: Date) => runReady(db, { ...context, now }, () => Promise.resolve(true));
    await run(NOW);
    expect(await license('posting', `waits-${n}`)).toMatchObject({ status: 'active' });
    // The order is retried after a minute, and then after as long as it has failed already.
    const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
    const code = `order ${String(broken.id)}: SyntaxError`;
    await expect(run(later(2))).rejects.toMatchObject({ code });
    await run(later(3));
    await expect(run(later(5))).rejects.toMatchObject({ code });
  });

  it('a message whose order fails is answered 200, and the next run applies it', async () => {
    const { db } = service;
    const created = () => take('lemonsqueezy', lemon('subscription_created', { renews_at: LATEST }));
    const met = await whileRefusing(db, 'events', '1 = 1', created);
    expect(met).toMatchObject({ result: 'order', state: 'failed' });
    expect(await license('lemonsqueezy', lemonOrder())).toBeUndefined();
    const now = new Date(NOW.getTime() + 60_000);
    const context = { actor: 'orders', now, secret: undefined, graceDays: 3 };
    await runReady(db, context, () => Promise.resolve(true)).catch(() => undefined);
    expect(await license('lemonsqueezy', lemonOrder())).toMatchObject({ status: 'active' });
    // The sender repeats the message.
    expect(await created()).toMatchObject({ result: 'order', state: 'done' });
  });

  const workOn = () => {
    const given = { secret: undefined, graceDays: 3, readOrder: readOrderBody, faultOf: faultOfMessage };
    return workOnQueued(
      service.db,
      given,
      () => service.clock.now,
      () => Promise.resolve(true),
    );
  };
  const renewals = async () => {
    const number = `order=${lemonOrder()}`;
    const [{ id }] = (await service.read.ok(`GET /orders?${number}`)) as unknown as [Thing];
    const { events } = (await service.read.ok(`GET /orders/${String(id)}`)) as { events: Thing[] };
    return events.filter(({ event }) => event === 'renewed').length;
  };

  it('a renewal with a temporary error waits for a job, then for its link', async () => {
    const { db } = service;
    const renewal = lemon('subscription_payment_success', {});
    const unmatched = (await rows(db, 'unmatched')).length;
    const met = await whileRefusing(db, 'unmatched', '1 = 1', () => take('lemonsqueezy', renewal));
    expect(met).toMatchObject({ result: 'queued' });
    await workOn();
    expect(await rows(db, 'unmatched')).toHaveLength(unmatched + 1);
    await take('lemonsqueezy', lemon('subscription_created', {}));
    expect(await renewals()).toBe(1);
  });

  it('a renewal with a temporary error when its link comes is applied by the job', async () => {
    const created = lemon('subscription_created', {});
    await take('lemonsqueezy', lemon('subscription_payment_success', {}));
    const failing = () => take('lemonsqueezy', created);
    const met = await whileRefusing(service.db, 'order_events', "NEW.event = 'renewed'", failing);
    expect(met).toMatchObject({ result: 'queued' });
    expect(await license('lemonsqueezy', lemonOrder())).toMatchObject({ status: 'active' });
    expect(await renewals()).toBe(0);
    await workOn();
    expect(await renewals()).toBe(1);
  });

  it('the first hundred entries of a list are applied at once, and a job applies the others', async () => {
    const name = (i: number) => fast('order.completed', {}, `x${i}`);
    const many = Array.from({ length: 230 }, (_, i) =>
      i === 0 || i > 227 ? name(i) : { id: `u${n}-${i}`, type: 'unused' },
    );
    await take('fastspring', signFastSpring(many, SECRET));
    expect(await license('fastspring', `ord1-${n}x0`)).toMatchObject({ status: 'active' });
    expect(await license('fastspring', `ord1-${n}x229`)).toBeUndefined();
    // The sender repeats the message.
    await take('fastspring', signFastSpring(many, SECRET));
    await workOn();
    expect(await license('fastspring', `ord1-${n}x229`)).toMatchObject({ status: 'active' });
    expect(await service.write.ok('GET /shops/fastspring/messages?result=queued')).toEqual([]);
  });

  it('a mebibyte of events is answered in time, and no work continues after that', async () => {
    const many = Array.from({ length: 50_000 }, (_, i) => ({ id: `${n}-${i}` }));
    await take('fastspring', signFastSpring(many, SECRET));
    const kept = (await rows(service.db, 'shop_messages')).length;
    expect(kept).toBeLessThan(1_000);
    await service.db(table(service.db, 'shop_messages')).where({ result: 'queued' }).delete();
  });

  it('an order with too many lines keeps few of its links', async () => {
    const order = fast('order.completed', {
      items: Array.from({ length: 5_000 }, (_, i) => ({
        product: 'p',
        quantity: 1,
        subscription: `s${n}-${i}`,
      })),
    });
    const before = (await rows(service.db, 'shop_links')).length;
    await take('fastspring', signFastSpring([order], SECRET));
    expect((await rows(service.db, 'shop_links')).length - before).toBeLessThanOrEqual(201);
  });
});
