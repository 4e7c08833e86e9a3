import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { renew } from '../../src/licensing/lifecycle';
import { table } from '../../src/store/engine/database';
import { startMailServer, type MailServer } from '../support/mail-server';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import { ONE_BACKEND, PREFIX } from '../support/service';

/** Tests subscriptions: the grace period in which a renewal is awaited, and payments that fail. */

const DAY = 86_400_000;
const START = new Date('2026-11-24T12:00:00Z');
const BILLING = 'https://shop.example/billing';

describe.each(ONE_BACKEND)('subscriptions, on %s', (_, settings) => {
  let server: MailServer;
  let service: Managed;
  let write: Managed['write'];
  let plan: number;
  let number = 0;
  let order: string;
  beforeAll(async () => {
    server = await startMailServer();
    service = await startManaged(
      {
        ...(await settings()),
        LICENSING_MAIL_URL: `smtp://127.0.0.1:${server.port}?from=sales@shop.example`,
        LICENSING_PUBLIC_URL: 'https://shop.example',
      },
      START,
    );
    ({ write } = service);
    await write.ok('POST /products', { name: 'Gallery', id: 42 }, 201);
    const made = { product_id: 42, activation_type: 'domain', activation_limit: 3 };
    const terms = { name: 'Month', duration: '30d', after_expiry: 'last_release' };
    plan = (await write.ok('POST /plans', { ...made, ...terms }, 201)).id as number;
    await write.ok('POST /shops', { name: 'shop', mail: 'none', billing_url: BILLING }, 201);
  });
  beforeEach(() => {
    order = `S-${++number}`;
    service.clock.now = START;
  });
  afterAll(async () => {
    await service.stop();
    await server.stop();
  });

  const at = (days: number) => new Date(START.getTime() + days * DAY);
  const text = (days: number) => at(days).toISOString().replace('.000', '');
  /** Posts an event at its own time, unless `clock` sets the service's clock to another time. */
  const tell = async (event: string, days: number, more: Thing = {}, clock = days) => {
    service.clock.now = at(clock);
    const answer = await service.issue.ok('POST /orders', {
      ...{ shop: 'shop', order, event, at: text(days), customer: { email: `${order}@example.com` } },
      ...more,
    });
    return (answer.lines as Thing[])[0] as { action: string; reason: string | null; licenses: Thing[] };
  };
  const subscribe = async (until = 30) => {
    const lines = [{ line: '1', plan_id: plan, paid_until: text(until) }];
    const { licenses } = await tell('paid', 0, { renews_itself: true, payment: 'p0', lines });
    return licenses[0] as { id: number; license_key: string };
  };
  const license = (id: number) => write.ok(`GET /licenses/${id}`);
  const ends = async (id: number) => {
    const { expires_at, paid_until, renews_itself, status } = await license(id);
    return [expires_at, paid_until, renews_itself, status] as unknown[];
  };
  const validate = async (key: string) => {
    const response = await fetch(`${service.url}${PREFIX}/licenses/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: key }),
    });
    return ((await response.json()) as Thing).data as Thing;
  };
  const mails = () => server.received.filter(({ to }) => to.includes(`${order.toLowerCase()}@example.com`));

  it('refuses nothing if a renewal is an hour late, and adds the grace once', async () => {
    const { id, license_key: key } = await subscribe();
    expect(await ends(id)).toEqual([text(33), text(30), true, 'active']);
    service.clock.now = at(30 + 1 / 24);
    expect(await validate(key)).toMatchObject({ valid: true, expires_at: text(33) });
    const told = await write.ok(`GET /orders?shop=shop&order=${order}`);
    const shown = await write.ok(`GET /orders/${(told as Thing[])[0]!.id}`);
    expect(shown.lines).toMatchObject([{ paid_until: text(30), renews_itself: true }]);
    // The renewal adds the plan's duration to the paid end.
    expect((await tell('renewed', 30 + 1 / 24, { payment: 'p1' })).action).toBe('renewed');
    expect(await ends(id)).toEqual([text(63), text(60), true, 'active']);
    // This renewal comes after the grace, so it counts from its own time.
    await tell('renewed', 64, { payment: 'p2' });
    expect(await ends(id)).toEqual([text(97), text(94), true, 'active']);
  });

  it('removes the grace at once when the subscription ends, whenever the event arrives', async () => {
    const { id, license_key: key } = await subscribe();
    service.clock.now = at(31);
    expect(await validate(key)).toMatchObject({ valid: true });
    expect(await tell('subscription_ended', 30, {}, 31)).toMatchObject({ action: 'none', reason: 'rule' });
    expect(await ends(id)).toEqual([text(30), text(30), false, 'expired']);
    expect(await validate(key)).toMatchObject({ valid: false });
    // A resumed subscription does not get the unpaid time.
    await tell('renewed', 32, { payment: 'p1', renews_itself: true });
    expect(await ends(id)).toEqual([text(65), text(62), true, 'active']);
    const actions = (await write.ok(`GET /licenses/${id}/events`)) as Thing[];
    expect(actions.map(({ action }) => action as string)).toEqual(['renew', 'set-end', 'issue']);
    // A test event does not change a sold licence.
    await tell('subscription_ended', 33, { test: true });
    expect(await ends(id)).toEqual([text(65), text(62), true, 'active']);
  });

  it('has the grace of its shop, from the next payment on', async () => {
    await write.refused('PATCH /shops/shop', { grace: 15 }, 'INVALID_REQUEST', 'grace');
    await write.refused(
      'PATCH /shops/shop',
      { billing_url: 'http://a.example' },
      'INVALID_REQUEST',
      'billing_url',
    );
    const { id } = await subscribe();
    expect(await write.ok('PATCH /shops/shop', { grace: 0 })).toMatchObject({
      grace: 0,
      billing_url: BILLING,
    });
    expect(await tell('payment_failed', 30)).toMatchObject({ action: 'none', reason: 'payment_failed' });
    expect(await ends(id)).toEqual([text(33), text(30), true, 'active']);
    await tell('renewed', 30, { payment: 'p1' });
    expect(await ends(id)).toEqual([text(60), text(60), true, 'active']);
    expect(await write.ok('PATCH /shops/shop', { grace: null })).toMatchObject({ grace: null });
  });

  it('is renewed by hand from the paid end, and keeps the grace', async () => {
    const { id } = await subscribe();
    service.clock.now = at(31);
    await write.ok(`POST /licenses/${id}/renew`, { for: '30d' });
    expect(await ends(id)).toEqual([text(63), text(60), true, 'active']);
    // An end that the seller sets has no grace.
    await write.ok(`POST /licenses/${id}/renew`, { until: text(70) });
    expect(await ends(id)).toEqual([text(70), text(70), true, 'active']);
    await tell('payment_failed', 69);
    expect(await ends(id)).toEqual([text(70), text(70), true, 'active']);
    // The next payment counts from that end, and has the grace again.
    await tell('renewed', 70, { payment: 'p1' });
    expect(await ends(id)).toEqual([text(103), text(100), true, 'active']);
    await renew(service.db, id, { until: null }, { actor: 'test', now: at(71) });
    expect(await ends(id)).toEqual([null, null, true, 'active']);
    await tell('subscription_ended', 72);
    expect(await ends(id)).toEqual([null, null, false, 'active']);
  });

  it('loses the grace when a payment in it is refunded, and keeps the time that is still paid', async () => {
    const { id } = await subscribe();
    service.clock.now = at(31);
    expect((await tell('refunded', 31, { payment: 'p0' })).action).toBe('suspended');
    await tell('renewed', 32, { payment: 'p1', lines: [{ line: '1', paid_until: text(60) }] });
    expect(await ends(id)).toEqual([text(63), text(60), true, 'active']);
    await tell('renewed', 33, { payment: 'p2', lines: [{ line: '1', paid_until: text(90) }] });
    expect((await tell('refunded', 34, { payment: 'p2' })).action).toBe('renewed');
    expect(await ends(id)).toEqual([text(63), text(60), true, 'active']);
  });

  it('downloads after its end the versions that appeared while it was paid', async () => {
    const { license_key: key } = await subscribe();
    await giveRelease(service, { version: '1.0', date: at(29), productId: 42 });
    await giveRelease(service, { version: '2.0', date: at(32), productId: 42 });
    const download = async () => {
      const { headers } = await fetch(`${service.url}${PREFIX}/downloads/42?dlid=${key}`);
      return headers.get('content-disposition');
    };
    service.clock.now = at(32.5);
    expect(await download()).toContain('2.0');
    service.clock.now = at(34);
    expect(await download()).toContain('1.0');
  });

  it('mails the payment link once for each period, in the customer’s language', async () => {
    const { id } = await subscribe();
    const customer = { email: `${order}@example.com`, language: 'de' };
    await tell('payment_failed', 30, { payment: 'p1', customer });
    await eventually(() => expect(mails()).toHaveLength(1));
    expect(mails()[0]!.text).toContain('Die Zahlung, die Gallery verlängert, ist fehlgeschlagen.');
    expect(mails()[0]!.text).toContain(`Prüfen Sie hier, wie Sie bezahlen: ${BILLING}`);
    expect(mails()[0]!.text).toContain('Bezahlt ist bis 24.12.2026.');
    expect(mails()[0]!.text).toContain('Aktualisierungen funktionieren bis 27.12.2026.');
    await tell('payment_failed', 31, { payment: 'p1' });
    await tell('renewed', 32, { payment: 'p1' });
    // A failure that arrives after the payment no longer matters.
    await tell('payment_failed', 31.5, { payment: 'p1' }, 32);
    const queued = async () =>
      (await service.db(table(service.db, 'outbox')).where({ type: 'payment_failed', license_id: id }))
        .length;
    expect(await queued()).toBe(1);
    await tell('payment_failed', 60, { payment: 'p2' });
    await eventually(() => expect(mails()).toHaveLength(2));
    expect(await queued()).toBe(2);
    const events = (await write.ok(`GET /licenses/${id}/events`)) as Thing[];
    expect(events.map(({ action, after }): unknown[] => [action, (after as Thing).mailed])).toEqual([
      ['payment-failed', true],
      ['renew', undefined],
      ['payment-failed', false],
      ['payment-failed', true],
      ['issue', undefined],
    ]);
    expect(await write.ok(`GET /licenses/${id}/mails`)).toMatchObject([
      { type: 'payment_failed' },
      { type: 'payment_failed' },
    ]);
    expect(await license(id)).toMatchObject({ revision: 2 });
  });

  it('sends no mail without a payment link, for a test, or after the end of the subscription', async () => {
    const { id } = await subscribe();
    await tell('payment_failed', 29, { test: true });
    await write.ok('PATCH /shops/shop', { billing_url: null });
    await tell('payment_failed', 30);
    await write.ok('PATCH /shops/shop', { billing_url: BILLING });
    await tell('subscription_ended', 31);
    await tell('payment_failed', 30.5, {}, 31);
    const events = (await write.ok(`GET /licenses/${id}/events`)) as Thing[];
    const failed = events.filter(({ action }) => action === 'payment-failed');
    expect(failed.map(({ after }) => after as Thing)).toMatchObject([{ failed_at: text(30), mailed: false }]);
    const rows = await service
      .db(table(service.db, 'outbox'))
      .where({ type: 'payment_failed', license_id: id });
    expect(rows).toEqual([]);
  });
});
