import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startHookShop, type HookShop } from '../support/hook-shop';
import type { Thing } from '../support/manage';
import { ONE_BACKEND } from '../support/service';
import { fixture, sendHook, signFastSpring } from '../support/shop-senders';

/** Tests messages of FastSpring: lists of events, with whole objects or only their ids. */

const SECRET = 'fast-spring-secret';
const NOW = new Date('2026-11-24T12:00:00Z');

interface Event {
  id: string;
  data: Thing;
}

describe.each(ONE_BACKEND)('messages of FastSpring, on %s', (_, settings) => {
  let shop: HookShop;
  let n = 0;
  beforeAll(async () => {
    shop = await startHookShop(await settings(), 'fastspring', SECRET, ['PRO', 'gallery-pro'], NOW);
  });
  beforeEach(() => {
    shop.service.clock.now = NOW;
    n++;
  });
  afterAll(() => shop.service.stop());

  const event = (name: string, change: Thing = {}): Event => {
    const text = JSON.stringify(fixture(`fastspring/${name}`));
    const own = JSON.parse(text.replaceAll(/"(ord\d|sub1|ret1|evt\d)"/g, `"$1-${n}"`)) as Event;
    Object.assign(own.data, change);
    return own;
  };
  const send = (...events: object[]) => shop.take(signFastSpring(events, SECRET));
  const license = () => shop.license(`ord1-${n}`);

  it('issues until the next charge, in the language of the order, once for another event id', async () => {
    const order = event('order.completed');
    await send(order);
    await send({ ...order, id: `again-${n}` });
    expect(await license()).toMatchObject({ status: 'active', expires_at: '2026-12-24T10:00:00Z' });
    const { events, lines } = await shop.order(`ord1-${n}`);
    expect([events, lines]).toMatchObject([[{ event: 'paid' }], [{ line: `sub1-${n}`, sku: 'PRO' }]]);
  });

  it('reads ids instead of objects: the product is the article, and the plan’s duration counts', async () => {
    const items = [{ product: 'gallery-pro', quantity: 1, subscription: `sub1-${n}` }];
    await send(event('order.completed', { items, account: 'acc1' }));
    expect(await license()).toMatchObject({ status: 'active', expires_at: '2026-12-24T10:00:00Z' });
    shop.service.clock.now = new Date('2026-12-24T12:00:00Z');
    await send(event('subscription.charge.completed', { subscription: `sub1-${n}`, order: `ord2-${n}` }));
    expect((await license())?.expires_at).toBe('2027-01-24T10:00:00Z');
  });

  it('renews by a charge until the next one, reports the change, and undoes only a refunded charge', async () => {
    await send(event('order.completed'));
    shop.service.clock.now = new Date('2026-12-24T12:00:00Z');
    await send(event('subscription.charge.completed'));
    expect(
      ((await shop.order(`ord1-${n}`)).events as Thing[]).map(({ event: name }) => String(name)),
    ).toEqual(['paid', 'renewed', 'upgraded']);
    expect((await license())?.expires_at).toBe('2027-01-24T10:00:00Z');
    const original = { id: `ord2-${n}`, order: `ord2-${n}`, total: 49 };
    const part = { original, totalReturn: 10, return: `part-${n}` };
    shop.service.clock.now = new Date('2026-12-25T12:00:00Z');
    await send({
      ...event('return.created', part),
      id: `part-${n}`,
      created: Date.parse('2026-12-25T10:00:00Z'),
    });
    expect((await license())?.status).toBe('active');
    await send({ ...event('return.created', { original }), created: Date.parse('2026-12-25T11:00:00Z') });
    expect((await license())?.status).toBe('suspended');
  });

  it('keeps a return that comes before its order', async () => {
    shop.service.clock.now = new Date('2026-11-27T12:00:00Z');
    expect(await send(event('return.created'))).toMatchObject({ result: 'unmatched' });
    await send(event('order.completed'));
    expect(await license()).toBeUndefined();
  });

  it('takes the other events of a list if one cannot be read, and keeps that one', async () => {
    const broken = { ...event('order.completed'), id: `broken-${n}`, data: { items: [{ product: 'p' }] } };
    await send(broken, event('order.completed'), event('subscription.deactivated'));
    expect((await license())?.status).toBe('active');
    expect((await shop.order(`ord1-${n}`)).lines).toMatchObject([{ renews_itself: false }]);
    const kept = await shop.service.write.ok('GET /shops/fastspring/messages');
    expect(kept).toEqual(expect.arrayContaining([expect.objectContaining({ result: 'unreadable' })]));
  });

  it('refuses another signature, and keeps a body without events', async () => {
    const statusOf = async (signed: ReturnType<typeof signFastSpring>) =>
      (await sendHook(shop.service.url, 'fastspring', signed)).status;
    expect(await statusOf(signFastSpring([event('order.completed')], 'another'))).toBe(401);
    expect(await statusOf(signFastSpring([], SECRET))).toBe(200);
    const [kept] = (await shop.service.write.ok('GET /shops/fastspring/messages')) as unknown as Thing[];
    expect(kept).toMatchObject({ result: 'unreadable', reason: '"events" is missing.' });
  });
});
