/* oxlint-disable typescript/no-unsafe-assignment, typescript/no-unsafe-return -- answers are JSON of any form */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectNoSecrets, NOW, startManaged, type Managed, type Thing } from '../support/manage';
import { addShop, openShopSecret, requireShop } from '../../src/orders/shops';
import { recordOrder } from '../../src/orders/record';
import { table } from '../../src/store/engine/database';
import { inTransaction } from '../../src/store/engine/transaction';
import { recountMoney } from '../../src/store/orders/money';
import { BACKENDS, rows, storedLicense } from '../support/service';

/** Tests orders by the operator's API: what each event does to licences, whenever it arrives, and who may see it. */

const KEY = /^[0-9A-F]{8}(-[0-9A-F]{8}){3}$/;
const SHOP = 'hikashop';

describe.each(BACKENDS)('orders by the operator’s API, on %s', (_, settings) => {
  let service: Managed;
  let write: Managed['write'];
  let issue: Managed['issue'];
  /** A plan of three slots, for a year. */
  let plan: number;
  let product: number;
  let number = 0;
  let order: string;
  beforeAll(async () => {
    service = await startManaged(await settings());
    ({ write, issue } = service);
    product = await makeProduct();
    plan = await makePlan();
  });
  beforeEach(() => {
    order = String(1000 + ++number);
    service.clock.now = NOW;
  });
  afterEach(async () => {
    await write.send(`DELETE /shops/${SHOP}`);
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  let products = 0;
  const makeProduct = async () =>
    (await write.ok('POST /products', { name: `Product ${++products}` }, 201)).id as number;
  let plans = 0;
  const makePlan = async ({ duration = '1y', limit = 3, productId = product } = {}) => {
    const body = {
      product_id: productId,
      name: `Plan ${++plans}`,
      activation_type: 'domain',
      activation_limit: limit,
      duration,
    };
    return (await write.ok('POST /plans', body, 201)).id as number;
  };
  /** Returns the time of a minute in the hour before NOW. */
  const at = (minute: number) => new Date(NOW.getTime() - (60 - minute) * 60_000).toISOString();
  const event = (name: string, minute: number, more: Thing = {}) => ({
    ...{ shop: SHOP, order, event: name, at: at(minute) },
    ...more,
  });
  const paid = (minute: number, more: Thing = {}) =>
    event('paid', minute, {
      customer: { email: 'jo@example.com', name: 'Jo' },
      lines: [{ line: '1', plan_id: plan }],
      ...more,
    });
  const post = (body: Thing, by = issue) => by.ok('POST /orders', body);
  /** Returns the first line of an answer. */
  const line = (answer: Thing): Thing => (answer.lines as Thing[])[0] as Thing;
  const did = async (body: Thing, by = issue) => {
    const { action, reason } = line(await post(body, by));
    return [action, reason];
  };
  const license = async (suffix = '') => {
    const reference = encodeURIComponent(`${SHOP}:${order}:1${suffix}`);
    return write.ok(`GET /licenses/reference:${reference}`);
  };
  const standing = async () => {
    const { status, expires_at } = await license();
    return [status, expires_at];
  };
  const changes = async () => {
    const { id } = await license();
    return ((await write.ok(`GET /licenses/${id}/events`)) as Thing[]).map(({ action }) => action).reverse();
  };
  /** Returns the time a year after that minute. */
  const year = (minute: number, years = 1) =>
    at(minute)
      .replace(/^\d{4}/, (text) => String(Number(text) + years))
      .replace('.000', '');

  it('issues a licence for each of a quantity, once', async () => {
    const body = paid(0, { event_id: 'evt_1', lines: [{ line: '1', plan_id: plan, quantity: 3 }] });
    const answer = await post(body);
    expect(answer).toEqual({
      id: expect.any(Number),
      shop: SHOP,
      order,
      state: 'done',
      lines: [{ line: '1', action: 'issued', reason: null, licenses: expect.any(Array) }],
    });
    const { licenses } = line(answer);
    expect(licenses).toHaveLength(3);
    for (const one of licenses as Thing[])
      expect(one).toEqual({
        id: expect.any(Number),
        license_key: expect.stringMatching(KEY),
        status: 'active',
        expires_at: year(0),
      });
    const stored = await Promise.all(
      (licenses as Thing[]).map(({ id }) => storedLicense(service.db, id as number)),
    );
    expect(stored.map(({ reference }) => reference)).toEqual(
      ['', ':2', ':3'].map((end) => `${SHOP}:${order}:1${end}`),
    );
    expect(stored[0]).toMatchObject({ customer: 'jo@example.com', issued_by: 'shop', activation_limit: 3 });
    expect(await changes()).toEqual(['issue']);
    // The message is repeated at once, and more than a year later with another customer.
    expect(await post(body)).toEqual(answer);
    service.clock.now = new Date('2028-01-01T00:00:00Z');
    const later = await post({ ...body, customer: { email: 'other@example.com' } });
    expect(line(later)).toMatchObject({ action: 'issued', licenses: [{ status: 'expired' }, {}, {}] });
    expect(await license()).toMatchObject({ customer: 'jo@example.com' });
    expect(await changes()).toEqual(['issue']);
  });

  it('percent-encodes references, compares them byte by byte, and shortens a long one with a digest', async () => {
    order = `A:%${number} `;
    await post(paid(0, { lines: [{ line: 'x:y', plan_id: plan }] }));
    order = `A:%${number}`;
    await post(paid(0, { lines: [{ line: 'x:y', plan_id: plan }] }));
    order = `a:%${number}`;
    await post(paid(0, { lines: [{ line: 'x:y', plan_id: plan }] }));
    const long = '☃'.repeat(100);
    order = `${number}${long}`.slice(0, 100);
    await post(
      paid(0, {
        lines: [
          { line: long, plan_id: plan },
          { line: long.slice(1), plan_id: plan },
        ],
      }),
    );
    const references = (await rows<Thing>(service.db, 'licenses'))
      .slice(-5)
      .map(({ reference }) => reference as string);
    expect(references.slice(0, 3)).toEqual([
      `${SHOP}:A%3A%25${number}%20:x%3Ay`,
      `${SHOP}:A%3A%25${number}:x%3Ay`,
      `${SHOP}:a%3A%25${number}:x%3Ay`,
    ]);
    for (const reference of references.slice(3)) {
      expect(Array.from(reference)).toHaveLength(190);
      expect(reference).toMatch(/~[0-9a-f]{64}$/);
    }
    expect(new Set(references).size).toBe(5);
  });

  it('renews to paid_until, or for the plan’s duration from the event', async () => {
    await post(paid(0));
    expect(await did(event('renewed', 1))).toEqual(['renewed', null]);
    expect(await standing()).toEqual(['active', year(0, 2)]);
    const until = { lines: [{ line: '1', paid_until: '2029-05-05T05:05:05Z' }] };
    expect(line(await post(event('renewed', 2, until)))).toMatchObject({
      action: 'renewed',
      licenses: [{ license_key: null, expires_at: '2029-05-05T05:05:05Z' }],
    });
    // This renewal is older, so the newer date stays.
    expect(await did(event('renewed', 1, { event_id: 'another' }))).toEqual(['none', 'older']);
    expect(await standing()).toEqual(['active', '2029-05-05T05:05:05Z']);
  });

  it('orders events by their time, and within one second by their rank', async () => {
    // The refund and the renewal arrive before the payment.
    expect(await did(event('refunded', 30, { lines: [{ line: '1' }] }))).toEqual(['none', 'refunded']);
    expect(await did(event('renewed', 20, { lines: [{ line: '1' }] }))).toEqual(['none', 'not_paid']);
    expect(await did(paid(10))).toEqual(['none', 'refunded']);
    await write.refused(`GET /licenses/reference:${SHOP}:${order}:1`, undefined, 'NOT_FOUND');
    // A newer payment issues the licence after all, and the renewal counts.
    expect(await did(paid(40))).toEqual(['issued', null]);
    expect(await standing()).toEqual(['active', year(10, 2)]);
    // Within one second, a refund ranks after a renewal.
    expect(await did(event('refunded', 50))).toEqual(['suspended', null]);
    expect(await did(event('renewed', 50))).toEqual(['renewed', null]);
    expect(await standing()).toEqual(['suspended', year(10, 3)]);
    expect(await did(paid(49))).toEqual(['none', 'refunded']);
    expect(await did(paid(51))).toEqual(['reinstated', null]);
    expect(await standing()).toEqual(['active', year(10, 3)]);
    expect(await did(event('refunded', 45))).toEqual(['none', 'older']);
  });

  it('reinstates after a reversed charge-back, and issues the licence that it had held back', async () => {
    await post(event('charged_back', 20, { lines: [{ line: '1' }] }));
    expect(await did(paid(10))).toEqual(['none', 'charged_back']);
    const reversed = await post(event('chargeback_reversed', 30));
    expect(line(reversed)).toMatchObject({
      action: 'issued',
      licenses: [{ license_key: null, status: 'active' }],
    });
    expect(line(await post(paid(10)))).toMatchObject({
      action: 'none',
      reason: 'charged_back',
      licenses: [{ license_key: expect.stringMatching(KEY), status: 'active' }],
    });
    expect(await did(event('charged_back', 40))).toEqual(['suspended', null]);
    expect(await did(event('refunded', 41))).toEqual(['none', 'refunded']);
    // The refund still holds the licence back.
    expect(await did(event('chargeback_reversed', 42))).toEqual(['none', 'refunded']);
    expect((await standing())[0]).toBe('suspended');
  });

  it('lifts a charge-back only by its reversal, and suspends again what was reinstated by hand', async () => {
    await post(paid(0));
    await post(event('charged_back', 10));
    // Another payment does not settle the dispute.
    expect(await did(paid(11))).toEqual(['none', 'charged_back']);
    expect(await did(event('renewed', 12))).toEqual(['renewed', null]);
    expect((await standing())[0]).toBe('suspended');
    expect(await did(event('chargeback_reversed', 13))).toEqual(['reinstated', null]);
    expect(await did(event('refunded', 20))).toEqual(['suspended', null]);
    const { id } = await license();
    await write.ok(`POST /licenses/${id}/reinstate`);
    expect(await did(event('charged_back', 30))).toEqual(['suspended', null]);
  });

  it('lets a newer order lift the suspension by a refund, in any order of arrival', async () => {
    const renewal = { lines: [{ line: 'a', plan_id: plan, renews: order }] };
    const renewed = `${order}-renewal`;
    await post(paid(0));
    await post(event('refunded', 10));
    expect((await standing())[0]).toBe('suspended');
    // A renewal that is older than the refund moves the end, but not the state.
    expect(await did({ ...paid(5, renewal), order: `${order}-older` })).toEqual(['renewed', 'suspended']);
    expect(await standing()).toEqual(['suspended', year(0, 2)]);
    expect(await did({ ...paid(20, renewal), order: renewed })).toEqual(['renewed', null]);
    expect(await standing()).toEqual(['active', year(0, 3)]);
    // Once that payment is refunded too, the first refund counts again.
    expect(await did({ ...event('refunded', 30), order: renewed })).toEqual(['suspended', 'taken_back']);
    expect(await standing()).toEqual(['suspended', year(0, 2)]);
    expect(await did({ ...paid(40, renewal), order: renewed })).toEqual(['renewed', null]);
    expect(await standing()).toEqual(['active', year(0, 3)]);
    // A refund arrives late.
    order = `${order}-late`;
    const late = { lines: [{ line: 'a', plan_id: plan, renews: order }] };
    await post(paid(0));
    await post({ ...paid(20, late), order: `${order}-renewal` });
    expect(await did(event('refunded', 10))).toEqual(['none', 'refunded']);
    expect((await standing())[0]).toBe('active');
    expect(await did(event('charged_back', 11))).toEqual(['suspended', null]);
  });

  it('counts as renewed only what was renewed, not what was refunded or restored', async () => {
    await post(paid(0));
    const { id } = await license();
    const renewal = {
      ...paid(10, { lines: [{ line: '1', plan_id: plan, renews: id }] }),
      order: `${order}-r`,
    };
    await post(renewal);
    await post({ ...event('charged_back', 20), order: `${order}-r` });
    await post({ ...event('chargeback_reversed', 30), order: `${order}-r` });
    expect(await changes()).toEqual(['issue', 'renew', 'set-end', 'set-end']);
    expect((await standing())[1]).toBe(year(0, 2));
  });

  it('answers the same after the plan of an order without licences was deleted', async () => {
    const gone = await makePlan();
    const body = paid(0, { test: true, lines: [{ line: '1', plan_id: gone }] });
    const answer = await post(body);
    expect(line(answer)).toMatchObject({ action: 'none', reason: 'test' });
    await write.ok(`DELETE /plans/${gone}`, undefined, 204);
    expect(await post(body)).toEqual(answer);
  });

  it('cancels for good', async () => {
    await post(paid(0));
    expect(await did(event('cancelled', 10))).toEqual(['cancelled', null]);
    expect(await did(paid(20))).toEqual(['none', 'cancelled']);
    expect(await did(event('renewed', 30))).toEqual(['none', 'cancelled']);
    expect((await standing())[0]).toBe('cancelled');
  });

  it('keeps the licence when a subscription ends, and when a part is refunded', async () => {
    await post(paid(0));
    expect(await did(event('subscription_ended', 10))).toEqual(['none', 'rule']);
    expect(await did(event('refunded', 20, { partial: true }))).toEqual(['none', 'partial']);
    expect(await standing()).toEqual(['active', year(0)]);
  });

  it('does not suspend an expired licence, but does once an older renewal revives it', async () => {
    await post(paid(0, { at: '2024-01-01T00:00:00Z' }));
    expect((await standing())[0]).toBe('expired');
    expect(await did(event('refunded', 30))).toEqual(['none', 'expired']);
    expect(await did(event('renewed', 20))).toEqual(['renewed', null]);
    expect(await standing()).toEqual(['suspended', year(20)]);
  });

  it('changes the plan, the newest upgrade last', async () => {
    const [pro, team] = [await makePlan({ duration: '6m', limit: 10 }), await makePlan({ limit: 20 })];
    const to = (id: number) => ({ lines: [{ line: '1', plan_id: id }] });
    await post(paid(0));
    expect(await did(event('upgraded', 20, to(team)))).toEqual(['plan_changed', null]);
    expect(await did(event('upgraded', 10, to(pro)))).toEqual(['none', 'older']);
    expect(await license()).toMatchObject({ plan_id: team, activation_limit: 20, expires_at: year(0) });
    expect(await did(event('upgraded', 30, to(pro)))).toEqual(['plan_changed', null]);
    // From now on, the licence is renewed by its present plan.
    await post(event('renewed', 40));
    expect(await license()).toMatchObject({
      plan_id: pro,
      expires_at: year(0, 1).replace('-11-', '-05-').replace('2027', '2028'),
    });
    const other = await makePlan({ productId: await makeProduct() });
    expect(await did(event('upgraded', 50, to(other)))).toEqual(['plan_changed', null]);
  });

  describe('by payments', () => {
    const cycle = (name: string, days: number, others: Thing = {}) => ({
      ...event('renewed', days, { lines: [{ line: '1', paid_until: at(days + 30) }] }),
      ...{ payment: name, ...others },
    });
    const first = () => paid(0, { payment: 'p1', lines: [{ line: '1', plan_id: plan, paid_until: at(30) }] });
    const refund = (name: string, days: number, kind = 'refunded') => event(kind, days, { payment: name });
    const at = (days: number) =>
      new Date(NOW.getTime() + (days - 90) * 86_400_000).toISOString().replace('.000Z', 'Z');
    const on = (message: Thing, days: number): Thing => ({ ...message, at: at(days) });

    /** Reads from the licence's row whether all payments were given back. */
    const isReturned = async () => {
      const { id } = await license();
      return (await rows(service.db, 'licenses')).find((row) => row.id === id)?.all_returned;
    };

    it('undoes what one payment gave, and no more', async () => {
      await post(on(first(), 0));
      await post(on(cycle('p2', 70), 70));
      expect(await standing()).toEqual(['active', at(100)]);
      expect(await did(on(refund('p1', 71), 71))).toEqual(['none', 'older']);
      expect(await standing()).toEqual(['active', at(100)]);
      expect(await isReturned()).toBe(0);
      // No payment is left, so the end stays and the licence is suspended.
      expect(await did(on(refund('p2', 72), 72))).toEqual(['suspended', null]);
      expect(await standing()).toEqual(['suspended', at(100)]);
      expect(await isReturned()).toBe(1);
      expect(await did(on(refund('p2', 73, 'refund_failed'), 73))).toEqual(['reinstated', null]);
      expect(await standing()).toEqual(['active', at(100)]);
      expect(await isReturned()).toBe(0);
      expect(await did(on(refund('p9', 74), 74))).toEqual(['none', 'unknown_payment']);
      const [open] = (await write.ok(`GET /unmatched?shop=${SHOP}`)) as Thing[];
      expect(open).toMatchObject({ event: 'refunded', reason: 'unknown_payment', state: 'open' });
      // The refund was for a payment that arrives later.
      await post(on(cycle('p9', 40), 40));
      expect(((await write.ok(`GET /unmatched?shop=${SHOP}`)) as Thing[]).map(({ id }) => id)).not.toContain(
        open!.id,
      );
    });

    it('moves the end back to the last paid time, and suspends if that is over', async () => {
      await post(on(first(), 65));
      await post(on(cycle('p2', 66, { lines: [{ line: '1', paid_until: at(200) }] }), 66));
      order = `${order}-later`;
      const early = paid(0, { payment: 'p1', lines: [{ line: '1', plan_id: plan, paid_until: at(100) }] });
      await post(on(early, 65));
      await post(on(cycle('p2', 66, { lines: [{ line: '1', paid_until: at(200) }] }), 66));
      expect(await did(on(refund('p2', 70), 70))).toEqual(['renewed', null]);
      expect(await standing()).toEqual(['active', at(100)]);
      order = order.replace('-later', '');
      expect(await did(on(refund('p2', 70), 70))).toEqual(['suspended', null]);
      expect(await standing()).toEqual(['suspended', at(30)]);
      expect(await did(on(cycle('p3', 80), 80))).toEqual(['renewed', null]);
      expect(await standing()).toEqual(['active', at(110)]);
    });

    it.each<[string, string, (told: Thing[]) => Thing[]]>([
      ['in order', 'suspended', (told) => told],
      ['each twice', 'suspended', (told) => told.flatMap((one) => [one, one])],
      // The licence has expired by then, and stays expired.
      ['the renewal late', 'expired', (told) => [told[0]!, told[2]!, told[1]!]],
      ['backwards', 'none', (told) => [...told].reverse()],
      ['backwards and each twice', 'none', (told) => [...told].reverse().flatMap((one) => [one, one])],
    ])('ends the current cycle when its payment is refunded, received %s', async (_, is, arrive) => {
      const told = [on(first(), 0), on(cycle('p2', 70), 70), on(refund('p2', 72), 72)];
      let latest: Thing = {};
      for (const one of arrive(told)) latest = line(await post(one));
      // Cycle 1 is still paid, but over. A payment that arrives after its refund issues no licence.
      if (is === 'none') expect([latest.reason, latest.licenses]).toEqual(['refunded', []]);
      else expect(await standing()).toEqual([is, at(30)]);
      await post(on(refund('p2', 73, 'refund_failed'), 73));
      expect(await standing()).toEqual(['active', at(100)]);
    });

    it.each([
      ['in order', (told: Thing[]) => told],
      ['backwards', (told: Thing[]) => [...told].reverse()],
      ['each twice', (told: Thing[]) => told.flatMap((one) => [one, one])],
    ])(
      'keeps the licence while cycle 1 still covers it, or cycle 3 is paid ahead, received %s',
      async (_, arrive) => {
        const long = { lines: [{ line: '1', plan_id: plan, paid_until: at(95) }] };
        const early = on(paid(0, { payment: 'p1', ...long }), 60);
        for (const one of arrive([early, on(cycle('p2', 80), 80), on(refund('p2', 82), 82)])) await post(one);
        expect(await standing()).toEqual(['active', at(95)]);
        order = `${order}-ahead`;
        const ahead = [
          ...[on(first(), 0), on(cycle('p2', 70), 70), on(cycle('p3', 71), 71)],
          on(refund('p2', 72), 72),
        ];
        for (const one of arrive(ahead)) await post(one);
        expect(await standing()).toEqual(['active', at(101)]);
      },
    );

    it('shows the paid-through date of each line, and whether it renews automatically', async () => {
      const lines = [
        { line: '1', plan_id: plan, paid_until: at(100) },
        { line: '2', plan_id: plan },
        { line: '3', sku: `waits-${order}` },
      ];
      const { id } = await post(on(paid(0, { payment: 'p1', renews_itself: true, lines }), 60));
      const shown = async () => {
        const { lines: read } = await issue.ok(`GET /orders/${id}`);
        return (read as Thing[]).map(({ paid_until, renews_itself }) => [paid_until, renews_itself]);
      };
      const yearLater = at(60).replace(/^\d{4}/, (text) => String(Number(text) + 1));
      expect(await shown()).toEqual([
        [at(100), true],
        [yearLater, true],
        [null, true],
      ]);
      await post(on(cycle('p2', 80), 80));
      // Another order renews the licence of the second line.
      const renewal = { line: '1', renews: `${order}:2`, sku: `waits-${order}`, paid_until: at(700) };
      await write.ok(`POST /shops/${SHOP}/map`, { sku: `waits-${order}`, plan_id: plan }, 201);
      await post({ ...on(paid(0, { lines: [renewal] }), 81), order: `${order}-2` });
      await post(on(event('subscription_ended', 82, { lines: [{ line: '1' }] }), 82));
      expect((await shown()).slice(0, 2)).toEqual([
        [at(110), false],
        [at(700), true],
      ]);
      // The end follows the payments even after the seller has moved it by hand.
      const { id: licenseId } = await license();
      await write.ok(`POST /licenses/${licenseId}/renew`, { until: '2030-01-01' });
      await post(on(refund('p2', 85), 85));
      expect((await shown())[0]).toEqual([at(100), false]);
    });

    it('notes a payment that failed', async () => {
      await post(on(first(), 60));
      expect(await did(on(event('payment_failed', 61, { payment: 'p2', renews_itself: true }), 61))).toEqual([
        'none',
        'payment_failed',
      ]);
    });

    it('changes plan, number and end by an upgrade, and undoes them with its payment', async () => {
      const [small, large] = [await makePlan({ limit: 2 }), await makePlan({ limit: 5 })];
      const [one, other] = [`small-${order}`, `large-${order}`];
      const map = { sku: one, plan_id: small, quantity: 'slots' };
      await post({ ...on(first(), 60), lines: [{ line: '1', sku: one, paid_until: at(100) }] });
      await write.ok(`POST /shops/${SHOP}/map`, map, 201);
      await write.ok(`POST /shops/${SHOP}/map`, { sku: other, plan_id: large, quantity: 'licenses' }, 201);
      const has = async () => {
        const { plan_id, activation_limit, expires_at, status } = await license();
        return [plan_id, activation_limit, expires_at, status];
      };
      expect(await has()).toEqual([small, 2, at(100), 'active']);
      const change = (days: number, line: Thing, others: Thing = {}) =>
        on(event('upgraded', days, { lines: [{ line: '1', ...line }], ...others }), days);
      expect(await did(change(70, { quantity: 3 }))).toEqual(['plan_changed', null]);
      expect(await has()).toEqual([small, 6, at(100), 'active']);
      expect(await did(change(71, { paid_until: at(90) }))).toEqual(['none', 'older']);
      expect(await did(change(72, { paid_until: at(160) }, { payment: 'up' }))).toEqual(['renewed', null]);
      expect(await did(change(73, { sku: other, quantity: 2 }, { payment: 'more' }))).toEqual([
        'issued',
        null,
      ]);
      expect(await has()).toEqual([large, 5, at(160), 'active']);
      const second = () => write.ok(`GET /licenses/reference:${SHOP}:${order}:1:2`);
      expect(await second()).toMatchObject({ plan_id: large, expires_at: at(160), status: 'active' });
      expect(await did(on(refund('more', 74), 74))).toEqual(['suspended', null]);
      expect(await has()).toEqual([small, 6, at(160), 'active']);
      expect(await second()).toMatchObject({ status: 'suspended' });
      expect(await did(on(refund('up', 75), 75))).toEqual(['renewed', null]);
      expect(await has()).toEqual([small, 6, at(100), 'active']);
    });

    it('changes an earlier order’s licence by an order that names it', async () => {
      const bigger = await makePlan({ limit: 7 });
      await post(on(first(), 60));
      const earlier = order;
      order = `${earlier}-up`;
      const line = { line: '9', plan_id: bigger, paid_until: at(200), renews: earlier };
      expect(await did(on(event('upgraded', 70, { payment: 'u', lines: [line] }), 70))).toEqual([
        'plan_changed',
        null,
      ]);
      const has = async () => {
        const { plan_id, activation_limit, expires_at, status } = await write.ok(
          `GET /licenses/reference:${SHOP}:${earlier}:1`,
        );
        return [plan_id, activation_limit, expires_at, status];
      };
      expect(await has()).toEqual([bigger, 7, at(200), 'active']);
      await post(
        on(event('renewed', 80, { payment: 'u2', lines: [{ line: '9', paid_until: at(400) }] }), 80),
      );
      expect((await has())[2]).toBe(at(400));
      await post({ ...on(refund('p1', 81), 81), order: earlier });
      expect(await has()).toEqual([bigger, 7, at(400), 'active']);
      await post(on(refund('u2', 82), 82));
      expect(await has()).toEqual([bigger, 7, at(200), 'active']);
    });

    it('keeps a renewal until it finds its order', async () => {
      const { id } = await post(on(cycle('p2', 70), 70));
      const of = async () =>
        ((await write.ok(`GET /unmatched?shop=${SHOP}`)) as Thing[]).filter(
          ({ order_id }) => order_id === id,
        );
      expect(await of()).toMatchObject([{ event: 'renewed', reason: 'not_paid', state: 'open' }]);
      await post(on(first(), 60));
      expect(await of()).toEqual([]);
      expect(await standing()).toEqual(['active', at(100)]);
    });
  });

  it('renews an earlier order by a new one, and undoes the renewal', async () => {
    await post(paid(0));
    const earlier = order;
    const renewal = { lines: [{ line: 'a', plan_id: plan, renews: `${earlier}:1` }] };
    order = `${earlier}b`;
    const answer = line(await post(paid(10, renewal)));
    expect(answer).toMatchObject({
      action: 'renewed',
      licenses: [{ license_key: expect.stringMatching(KEY), expires_at: year(0, 2) }],
    });
    expect(await post(paid(10, renewal))).toMatchObject({ lines: [answer] });
    expect(await did(event('refunded', 20))).toEqual(['none', 'taken_back']);
    order = earlier;
    expect(await standing()).toEqual(['active', year(0)]);
    order = `${earlier}b`;
    expect(await did(paid(30, renewal))).toEqual(['renewed', null]);
    expect(await did(event('charged_back', 31))).toEqual(['none', 'taken_back']);
    expect(await did(event('chargeback_reversed', 32))).toEqual(['reinstated', null]);
    order = earlier;
    expect(await standing()).toEqual(['active', year(0, 2)]);
    // This line names the licence's id, and has a date of its own.
    const { id } = await license();
    order = `${earlier}c`;
    await post(paid(40, { lines: [{ line: '1', sku: 'RENEW', renews: id, paid_until: '2031-01-01' }] }));
    order = earlier;
    expect((await standing())[1]).toBe('2031-01-01T23:59:59Z');
    // This line names the whole order, whose number has a colon.
    order = `${earlier}:d`;
    await post(paid(41));
    order = `${earlier}e`;
    await post(paid(42, { lines: [{ line: '1', sku: 'RENEW', renews: `${earlier}:d` }] }));
    order = `${earlier}%3Ad`;
    expect((await standing())[1]).toBe(year(41, 2));
  });

  it('waits for the order that a line renews', async () => {
    const later = `${order}-renewal`;
    const renewal = { lines: [{ line: '1', sku: 'RENEW', renews: order }] };
    const waiting = await post({ ...paid(20, renewal), order: later });
    expect(waiting).toMatchObject({
      state: 'waiting',
      lines: [{ action: 'waiting', reason: 'unknown_order' }],
    });
    await post(paid(0));
    expect(await standing()).toEqual(['active', year(0, 2)]);
    expect(await post({ ...paid(20, renewal), order: later })).toMatchObject({
      id: waiting.id,
      state: 'done',
      lines: [{ action: 'renewed', reason: null, licenses: [{ status: 'active' }] }],
    });
  });

  it('maps articles to plans, and runs the orders that waited', async () => {
    const skus = {
      lines: [
        { line: '1', sku: 'PRO 1/Y', quantity: 3 },
        { line: '2', plan_id: plan },
      ],
    };
    const waiting = await post(paid(0, skus));
    expect(waiting).toMatchObject({
      state: 'waiting',
      lines: [
        { line: '1', action: 'waiting', reason: 'not_mapped', licenses: [] },
        { line: '2', action: 'issued' },
      ],
    });
    expect(await did(event('renewed', 10, { lines: [{ line: '1' }] }))).toEqual(['waiting', 'not_mapped']);
    expect(await write.ok(`GET /orders?shop=${SHOP}&state=waiting`)).toMatchObject([
      { id: waiting.id, lines: [{ waits_for: 'not_mapped' }, { waits_for: null }] },
    ]);
    const stillWaiting = {
      id: waiting.id,
      shop: SHOP,
      order: '1031',
      state: 'waiting',
      reason: 'not_mapped',
    };
    expect(await write.ok(`POST /shops/${SHOP}/run`)).toEqual({
      done: 0,
      waiting: 1,
      failed: 0,
      orders: [stillWaiting],
    });
    const entry = { sku: 'PRO 1/Y', plan_id: plan, quantity: 'slots' };
    expect(await write.ok(`POST /shops/${SHOP}/map`, entry, 201)).toMatchObject({
      ...entry,
      ran: { done: 1, waiting: 0 },
    });
    expect(await license()).toMatchObject({ activation_limit: 9, expires_at: year(0, 2) });
    expect(await post(paid(0, skus))).toMatchObject({
      state: 'done',
      lines: [
        { action: 'issued', licenses: [{ license_key: expect.stringMatching(KEY), expires_at: year(0, 2) }] },
        { action: 'issued' },
      ],
    });
    const details = await write.ok(`GET /orders/${waiting.id}`);
    expect(
      (details.events as Thing[]).map(({ event: name, outcomes }) => [name, (outcomes as Thing[])[0]]),
    ).toEqual([
      ['paid', { line: '1', action: 'issued', reason: null }],
      ['renewed', { line: '1', action: 'renewed', reason: null }],
    ]);
    // Several plans for an article lead to several licences.
    await write.ok(`POST /shops/${SHOP}/map`, { ...entry, quantity: 'licenses' });
    const second = await makePlan();
    await write.ok(`POST /shops/${SHOP}/map`, { sku: 'PRO 1/Y', plan_id: second }, 201);
    order = `${order}-several`;
    expect(
      line(await post(paid(0, { lines: [{ line: '1', sku: 'PRO 1/Y', quantity: 2 }] }))).licenses,
    ).toHaveLength(4);
    expect(await license(':4')).toMatchObject({ plan_id: second });
    expect(await write.ok(`GET /shops/${SHOP}/map`)).toMatchObject([{ plan_id: plan }, { plan_id: second }]);
    await write.ok(`POST /shops/${SHOP}/map`, { sku: 'OTHER', plan_id: plan }, 201);
    const unsold = await makePlan();
    await write.ok(`POST /shops/${SHOP}/map`, { sku: 'UNSOLD', plan_id: unsold }, 201);
    const message = await write.refused(`DELETE /plans/${unsold}`, undefined, 'CONFLICT');
    expect(message).toBe(`Shop ${SHOP} sells plan ${unsold} as "UNSOLD", so the plan cannot be deleted.`);
    for (const sku of ['OTHER', 'UNSOLD']) await write.ok(`DELETE /shops/${SHOP}/map/${sku}`, undefined, 204);
    await write.ok(`DELETE /plans/${unsold}`, undefined, 204);
    await write.ok(`DELETE /shops/${SHOP}/map/${encodeURIComponent('PRO 1/Y')}`, undefined, 204);
    await write.refused(`DELETE /shops/${SHOP}/map/${encodeURIComponent('PRO 1/Y')}`, undefined, 'NOT_FOUND');
    expect(await write.ok(`GET /shops/${SHOP}/map`)).toEqual([]);
  });

  it('does not wait once an order is refunded', async () => {
    const skus = { lines: [{ line: '1', sku: 'UNMAPPED' }] };
    await post(paid(0, skus));
    expect(await post(event('refunded', 10))).toMatchObject({
      state: 'done',
      lines: [{ action: 'none', reason: 'refunded' }],
    });
    expect(line(await post(paid(0, skus)))).toMatchObject({
      action: 'none',
      reason: 'refunded',
      licenses: [],
    });
  });

  it('changes what an event does, by shop', async () => {
    await post(paid(0));
    expect((await write.ok(`GET /shops/${SHOP}`)).rules).toEqual({
      paid: 'issue',
      renewed: 'renew',
      upgraded: 'change_plan',
      refunded: 'suspend',
      charged_back: 'suspend',
      chargeback_reversed: 'reinstate',
      subscription_ended: 'none',
      cancelled: 'cancel',
      reduced: 'none',
    });
    const rules = { refunded: 'cancel', subscription_ended: 'suspend' };
    expect(await write.ok(`PATCH /shops/${SHOP}`, { rules })).toMatchObject({ kind: 'api', rules });
    for (const wrong of [{ refunded: 'reinstate' }, { paid: 'cancel' }, { shipped: 'none' }])
      await write.refused(`PATCH /shops/${SHOP}`, { rules: wrong }, 'INVALID_REQUEST', 'rules');
    expect(await did(event('subscription_ended', 10))).toEqual(['suspended', null]);
    expect(await did(event('renewed', 20))).toEqual(['renewed', null]);
    expect((await standing())[0]).toBe('active');
    expect(await did(event('refunded', 30))).toEqual(['cancelled', null]);
  });

  it('does not apply a rule to earlier events', async () => {
    await post(paid(0));
    await post(event('refunded', 10));
    await write.ok(`PATCH /shops/${SHOP}`, { rules: { refunded: 'cancel' } });
    expect(await did(event('renewed', 5))).toEqual(['renewed', null]);
    expect((await standing())[0]).toBe('suspended');
  });

  it('issues nothing for a test, unless the shop has a plan for tests', async () => {
    expect(await did(paid(0, { test: true }))).toEqual(['none', 'test']);
    const testPlan = await makePlan({ limit: 1 });
    await write.ok(`PATCH /shops/${SHOP}`, { test_plan_id: testPlan });
    const sold = order;
    order = `${sold}-test`;
    expect(await did(paid(0, { test: true, lines: [{ line: '1', sku: 'ANY' }] }))).toEqual(['issued', null]);
    expect(await license()).toMatchObject({ plan_id: testPlan });
    // A test neither ends nor prolongs a sold licence.
    order = `${sold}-sold`;
    await post(paid(0));
    expect(await did(event('refunded', 10, { test: true }))).toEqual(['none', 'test']);
    const renewal = { test: true, lines: [{ line: '1', sku: 'ANY', renews: order }] };
    expect(await did({ ...paid(10, renewal), order: `${sold}-renewal` })).toEqual(['none', 'test']);
    expect(await standing()).toEqual(['active', year(0)]);
    await write.ok(`PATCH /shops/${SHOP}`, { test: true, test_plan_id: null });
    order = `${sold}-marked`;
    expect(await did(paid(0))).toEqual(['none', 'test']);
  });

  it('keeps what the seller changed by hand', async () => {
    await post(paid(0));
    const { id } = await license();
    // After a suspension by hand, no event of the order lifts it, and a late duplicate does nothing.
    await write.ok(`POST /licenses/${id}/suspend`, { reason: 'abuse' });
    expect(await did(event('renewed', 10))).toEqual(['renewed', 'suspended']);
    expect(await did(event('charged_back', 11))).toEqual(['none', 'suspended']);
    expect(await did(event('chargeback_reversed', 12))).toEqual(['none', 'suspended']);
    expect(await standing()).toEqual(['suspended', year(0, 2)]);
    // The seller reinstates it by hand after a refund.
    await write.ok(`POST /licenses/${id}/reinstate`);
    const refund = event('refunded', 20);
    expect(await did(refund)).toEqual(['suspended', null]);
    await write.ok(`POST /licenses/${id}/reinstate`);
    expect(await did(refund)).toEqual(['suspended', null]);
    await post(event('subscription_ended', 21));
    expect((await standing())[0]).toBe('active');
    // After a renewal by hand, the next renewal counts from there.
    await write.ok(`POST /licenses/${id}/renew`, { until: '2030-01-01T00:00:00Z' });
    await post(event('renewed', 5));
    expect(await standing()).toEqual(['active', '2031-01-01T00:00:00Z']);
    await post(event('renewed', 30));
    expect(await standing()).toEqual(['active', '2032-01-01T00:00:00Z']);
    expect(((await write.ok(`GET /licenses/${id}/events`)) as Thing[])[0]).toMatchObject({
      action: 'renew',
      actor: 'token:shop',
      after: { reason: `${SHOP} ${order}: renewed`, order: expect.any(Number) },
    });
  });

  it('shows an order to the name that posted it, and to no other of its scope', async () => {
    const { id } = await post(paid(0));
    const other = await service.withToken('issue', `other ${order}`);
    await other.refused(`GET /orders/${id}`, undefined, 'NOT_FOUND');
    expect(await other.ok(`GET /orders?order=${order}`)).toEqual([]);
    await other.refused('POST /orders', paid(0), 'NOT_FOUND');
    await other.refused('POST /orders', event('refunded', 10), 'NOT_FOUND');
    const licenseId = (await license()).id as number;
    for (const reference of [`${SHOP}:${order}:1`, `${SHOP}:none:1`])
      await other.refused('POST /licenses', { plan_id: plan, reference }, 'NOT_FOUND');
    // The answer does not reveal whether such a licence exists: the line waits as for an unknown one.
    const elsewhere = { shop: `other-${order}` };
    for (const renews of [licenseId, 99_999_999, order])
      expect(
        await did(
          {
            ...paid(0, { lines: [{ line: '1', sku: 'R', renews }] }),
            ...{ ...elsewhere, order: `foreign-${renews}` },
          },
          other,
        ),
      ).toEqual(['waiting', 'unknown_order']);
    // Only the seller can give the shop to another name.
    await write.ok(`PATCH /shops/${elsewhere.shop}`, { token: 'shop' });
    await other.refused('POST /orders', { ...paid(0), ...elsewhere }, 'NOT_FOUND');
    expect(await issue.ok(`GET /orders?shop=${elsewhere.shop}`)).toHaveLength(3);
    expect(await issue.ok(`GET /orders/${id}`)).toMatchObject({
      order,
      events: [{ event: 'paid', actor: 'token:shop' }],
    });
    expect(await issue.ok(`GET /orders?order=${order}`)).toMatchObject([{ id, customer: 'jo@example.com' }]);
    // A token of the same name may continue. A larger scope may do everything.
    expect(await did(event('refunded', 10), write)).toEqual(['suspended', null]);
    await service.read.ok(`GET /orders/${id}`);
    await service.read.refused('POST /orders', paid(0), 'FORBIDDEN');
    for (const call of [
      'GET /shops',
      `GET /shops/${SHOP}`,
      `GET /shops/${SHOP}/map`,
      `POST /shops/${SHOP}/run`,
    ])
      for (const by of [issue, service.read]) await by.refused(call, undefined, 'FORBIDDEN');
  });

  it('takes no order of a receiver’s shop from a shop’s token', async () => {
    const name = `stripe-${order}`;
    const keySecret = Buffer.alloc(32, 7);
    const context = { actor: 'operator:test', now: NOW, keySecret };
    await addShop(service.db, name, { kind: 'stripe', secret: 'whsec_abc', test: true }, context);
    await issue.refused('POST /orders', { ...paid(0), shop: name }, 'NOT_FOUND');
    await issue.refused('POST /licenses', { plan_id: plan, reference: `${name}:1:1` }, 'NOT_FOUND');
    const stored = await requireShop(service.db, name);
    expect(stored.secretSealed).not.toContain('whsec_abc');
    expect(openShopSecret(stored, keySecret)).toBe('whsec_abc');
    for (const secret of [undefined, 'pdl_ntfset_x'])
      await expect(
        addShop(service.db, 'bare', { kind: 'paddle', secret }, { ...context, keySecret: undefined }),
      ).rejects.toThrow('LICENSING_KEY_SECRET is not set');
    const shown = await write.ok(`GET /shops/${name}`);
    expect(shown).toMatchObject({ kind: 'stripe', test: true });
    expect(JSON.stringify(shown)).not.toContain('secret');
    await write.refused('POST /shops', { name }, 'CONFLICT', 'name');
    await write.refused('POST /shops', { name: 'A b' }, 'INVALID_REQUEST', 'name');
    await write.refused(
      'POST /shops',
      { name: 'own', kind: 'stripe', secret: 'x' },
      'INVALID_REQUEST',
      'secret',
    );
    await write.refused(
      'POST /shops',
      { name: 'own', test_plan_id: 99_999 },
      'INVALID_REQUEST',
      'test_plan_id',
    );
    await write.ok(`DELETE /shops/${name}`, undefined, 204);
    await write.refused(`DELETE /shops/${name}`, undefined, 'NOT_FOUND');
    expect((await write.all('/shops')).map((shop) => shop.name as string)).not.toContain(name);
  });

  it('says what is wrong with an order', async () => {
    const wrong: [Thing, string][] = [
      [paid(0, { shop: 'Hika Shop' }), 'shop'],
      [paid(0, { order: 'x'.repeat(101) }), 'order'],
      [paid(0, { order: 'a\nb' }), 'order'],
      [event('shipped', 0), 'event'],
      [paid(66), 'at'],
      [paid(0, { at: '2026-13-01' }), 'at'],
      [paid(0, { lines: undefined }), 'lines'],
      [paid(0, { lines: [] }), 'lines'],
      [paid(0, { lines: [{ line: '1' }] }), 'lines.0'],
      [paid(0, { lines: [{ line: '1', plan_id: plan, sku: 'X' }] }), 'lines.0.sku'],
      [paid(0, { lines: [{ line: '1', plan_id: 99_999 }] }), 'lines.0.plan_id'],
      [paid(0, { lines: [{ line: '1', plan_id: plan, quantity: 101 }] }), 'lines.0.quantity'],
      [paid(0, { lines: [{ line: '1', sku: 'X', quantity: 10_001 }] }), 'lines.0.quantity'],
      [
        paid(0, {
          lines: [
            { line: '1', sku: 'X' },
            { line: '2', sku: 'X', paid_until: 'soon' },
          ],
        }),
        'lines.1.paid_until',
      ],
      [paid(0, { lines: [{ line: '1', sku: 'X', paid_until: '2027-02-30' }] }), 'lines.0.paid_until'],
      [paid(0, { lines: [{ line: '1', sku: 'X', paid: true }] }), 'lines.0.paid'],
      [paid(0, { lines: [{ sku: 'X' }] }), 'lines.0.line'],
      [paid(0, { payment: '' }), 'payment'],
      [event('upgraded', 0, { lines: [{ line: '1' }] }), 'lines.0'],
      [
        paid(0, {
          lines: [
            { line: '1', plan_id: plan },
            { line: '1', plan_id: plan },
          ],
        }),
        'lines',
      ],
      [paid(0, { partial: true }), 'partial'],
      [paid(0, { customer: { email: 'nobody' } }), 'customer.email'],
      [paid(0, { total: 1 }), 'total'],
      [paid(0, { amount: 1 }), 'currency'],
      [paid(0, { currency: 'EUR' }), 'amount'],
      [paid(0, { amount: 1.5, currency: 'EUR' }), 'amount'],
      [paid(0, { amount: -1, currency: 'EUR' }), 'amount'],
      [paid(0, { amount: 10 ** 13 + 1, currency: 'EUR' }), 'amount'],
      [paid(0, { amount: 1, currency: 'eur' }), 'currency'],
    ];
    for (const [body, field] of wrong) await issue.refused('POST /orders', body, 'INVALID_REQUEST', field);
    expect(await write.ok(`GET /orders?order=${order}`)).toEqual([]);
    expect(await did(paid(64))).toEqual(['issued', null]);
  });

  it('keeps an order with more than 100 lines until it is confirmed, once', async () => {
    const at = new Date(NOW.getTime() - 60_000);
    const lines = Array.from({ length: 101 }, (__, i) => ({ line: String(i), planId: plan }));
    const context = { actor: 'shop:own', now: NOW, secret: undefined, graceDays: 3 };
    const message = { shop: SHOP, order, event: 'paid' as const, at, lines };
    const poster = { owner: null, ownOnly: false };
    const { order: kept } = await recordOrder(service.db, message, poster, context);
    const read = () => write.ok(`GET /orders/${kept.id}`);
    expect(await read()).toMatchObject({ state: 'waiting', failure: 'too_many', lines: [] });
    const isOwn = { order_id: kept.id };
    expect(await service.db(table(service.db, 'order_lines')).where(isOwn)).toEqual([]);
    const confirm = () => write.ok(`POST /orders/${kept.id}/confirm`, {});
    expect(await confirm()).toMatchObject({ order, state: 'done', reason: null });
    const done = await read();
    expect(done).toMatchObject({ failure: null, confirmed_at: expect.any(String) });
    const issued = (done.lines as { licenses: Thing[] }[]).map((one) => one.licenses.length);
    expect(issued).toEqual(Array.from({ length: 101 }, () => 1));
    service.clock.now = new Date(NOW.getTime() + 60_000);
    expect(await confirm()).toMatchObject({ state: 'done' });
    expect(await read()).toEqual(done);
    await write.refused('POST /orders/999999/confirm', {}, 'NOT_FOUND');
  });

  it('adds a customer to an order that came without one', async () => {
    await post(paid(0, { customer: undefined }));
    expect(await license()).toMatchObject({ customer: null });
    await post(event('renewed', 10, { customer: { email: 'Jo@Example.com' } }));
    expect(await license()).toMatchObject({ customer: 'jo@example.com' });
  });

  it('does not take over a licence that has the reference of a line', async () => {
    await write.ok('POST /licenses', { plan_id: plan, reference: `${SHOP}:${order}:1` }, 201);
    expect(await post(paid(0))).toMatchObject({
      state: 'waiting',
      lines: [{ action: 'waiting', reason: 'reference_in_use', licenses: [] }],
    });
  });

  describe('amounts', () => {
    const money = (amount: number, currency = 'EUR') => ({ amount, currency });
    /** Returns the stored sums. `beforeEach` deletes those of other tests. */
    const sums = async () => {
      const found = await service.db(table(service.db, 'money_sums')).orderBy(['month', 'currency']);
      return found.map(({ month, currency, paid: got, refunded }) => [month, currency, got, refunded]);
    };
    const read = async () => {
      const [found] = (await write.ok(`GET /orders?order=${order}`)) as Thing[];
      return write.ok(`GET /orders/${found?.id}`);
    };
    beforeEach(async () => {
      await service.db(table(service.db, 'money_sums')).delete();
    });

    it('keeps what was paid and refunded, and sums it by month and currency', async () => {
      await post(paid(0, { ...money(4900), payment: 'a' }));
      const renewal = event('renewed', 10, { ...money(4900), payment: 'b' });
      await post(renewal);
      await post(renewal);
      // This is another message about the same payment.
      await post(event('renewed', 11, { ...money(4900), payment: 'b', event_id: 'again' }));
      await post(event('refunded', 20, { ...money(1000), payment: 'b', partial: true }));
      await post(event('payment_failed', 25, money(4900)));
      const shown = await read();
      expect(shown.amounts).toEqual([{ currency: 'EUR', paid: 9800, refunded: 1000 }]);
      expect((shown.events as Thing[]).map(({ amount, currency }) => [amount, currency])).toEqual([
        [4900, 'EUR'],
        [4900, 'EUR'],
        [4900, 'EUR'],
        [1000, 'EUR'],
        [4900, 'EUR'],
      ]);
      const month = NOW.toISOString().slice(0, 7);
      expect(await sums()).toEqual([[month, 'EUR', 9800, 1000]]);
      expect((await write.ok('GET /renewals')).money).toEqual({
        since: NOW.toISOString().replace('.000', ''),
        sums: [{ month, currency: 'EUR', paid: 9800, refunded: 1000 }],
      });
      await inTransaction(service.db, recountMoney);
      expect(await sums()).toEqual([[month, 'EUR', 9800, 1000]]);
    });

    it('never adds up different currencies, and undoes a refund that failed', async () => {
      await post(paid(0, money(4900, 'USD')));
      await post(event('refunded', 10, { ...money(4500, 'EUR'), partial: true, payment: 'x' }));
      await post(event('charged_back', 20, money(4900, 'USD')));
      await post(event('chargeback_reversed', 30, money(4900, 'USD')));
      expect((await read()).amounts).toEqual([
        { currency: 'USD', paid: 4900, refunded: 0 },
        { currency: 'EUR', paid: 0, refunded: 4500 },
      ]);
      expect((await sums()).map(([, ...sum]) => sum)).toEqual([
        ['EUR', 0, 4500],
        ['USD', 4900, 0],
      ]);
    });

    it('does not count tests, and counts an order before its licence', async () => {
      await post(paid(0, { ...money(4900), test: true }));
      order = `${order}-2`;
      await post(paid(0, { ...money(700), lines: [{ line: '1', sku: 'unmapped' }] }));
      expect((await sums()).map(([, ...sum]) => sum)).toEqual([['EUR', 700, 0]]);
    });
  });
});
