import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import pino from 'pino';
import { faultOfMessage } from '../../src/operations/kit/failures';
import { readOrderBody } from '../../src/operations/orders';
import { createAsk, isTestApi } from '../../src/orders/catch-up/ask';
import { listOf } from '../../src/orders/catch-up/list';
import { catchUpAll } from '../../src/orders/catch-up/nightly';
import { workOnQueued } from '../../src/orders/queue';
import { catchUp, type CatchUpContext } from '../../src/orders/catch-up/run';
import { requireShop } from '../../src/orders/shops';
import { exportRecords } from '../../src/transfer/export';
import { importRecords } from '../../src/transfer/import';
import { startScheduler } from '../../src/runner/jobs';
import type { Db, TableName } from '../../src/store/engine/database';
import { pagesClient, textOf } from '../pages/support/session';
import { CHALLENGE } from '../support/challenge';
import { whileRefusing } from '../support/failing-statements';
import { startHookShop, type HookShop } from '../support/hook-shop';
import { type Thing } from '../support/manage';
import { operator, type Operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import { openMigrated } from '../support/service-process';
import { newPlace, ONE_KIND, rows } from '../support/service';
import { PADDLE_KEY, startShopLists, STRIPE_KEY, WOO_KEY, type ShopLists } from '../support/shop-lists';
import { fixture, signPaddle, signStripe } from '../support/shop-senders';

/** Tests catching up, from the shops' own lists, with messages that the service missed. */

const ADDED = new Date('2026-11-14T12:00:00Z');
const NOW = new Date('2026-11-24T12:00:00Z');
const STRIPE_SECRET = 'whsec_stripe_signs_with_this';
const SECRET = Buffer.alloc(32, 7);
const KEY_SECRET = { LICENSING_KEY_SECRET: SECRET.toString('base64') };
const minutesAgo = (minutes: number) => NOW.getTime() / 1000 - minutes * 60;
const STATE: TableName[] = [
  'orders',
  'order_events',
  'licenses',
  'events',
  'shop_messages',
  'unmatched',
  'outbox',
];

async function counts(shop: HookShop): Promise<number[]> {
  return Promise.all(STATE.map(async (name) => (await rows(shop.service.db, name)).length));
}

/** Returns a session that paid `payment`. */
function session(payment: string, minutes: number): Thing {
  const text = JSON.stringify(fixture('stripe/checkout.session.completed')).replace('"pi_1"', `"${payment}"`);
  const message = JSON.parse(text) as { data: { object: { metadata: Thing } } };
  // Without a quantity, the service would ask Stripe for the session's items.
  message.data.object.metadata.quantity = '1';
  return { ...message, id: `evt_${payment}`, created: minutesAgo(minutes) };
}

function refund(payment: string, minutes: number): Thing {
  const text = JSON.stringify(fixture('stripe/charge.refunded')).replaceAll(/"pi_\d"/g, `"${payment}"`);
  return { ...(JSON.parse(text) as Thing), id: `evt_refund_${payment}`, created: minutesAgo(minutes) };
}

describe.each(ONE_KIND)('catching up with Stripe, on %s', (kind) => {
  let lists: ShopLists;
  let shop: HookShop;
  let n = 0;
  let command: Operator;
  beforeAll(async () => {
    lists = await startShopLists();
    const own = { ...(await newPlace(kind)), ...KEY_SECRET };
    shop = await startHookShop(own, 'stripe', STRIPE_SECRET, ['PRO-1Y', 'price_1'], ADDED, {
      shopApiUrl: lists.url,
    });
    shop.service.clock.now = NOW;
    await shop.service.write.ok('PATCH /shops/stripe', { api_key: STRIPE_KEY });
    command = operator(own);
  });
  beforeEach(() => {
    n++;
    Object.assign(lists, { stripe: [], faults: [], asked: [] });
  });
  afterAll(async () => {
    await shop.service.stop();
    await lists.stop();
  });

  const name = (i: number) => `pi_${n}_${i}`;
  const run = (since?: string) =>
    shop.service.write.ok('POST /shops/stripe/catch-up', since === undefined ? {} : { since });
  const standing = async () => (await shop.service.write.ok('GET /shops/stripe')).catch_up as Thing;
  const context = (): CatchUpContext => ({
    ...{ now: () => NOW, secret: SECRET, mailing: undefined, readOrder: readOrderBody },
    ...{ faultOf: faultOfMessage, networks: [], apiUrl: lists.url, graceDays: 3 },
  });

  it('takes missed messages page by page, and once', async () => {
    lists.stripe = [1, 2, 3, 4, 5].map((i) => session(name(i), 60 * i));
    await shop.take(signStripe(lists.stripe[2]!, STRIPE_SECRET, NOW));
    const issued = await shop.license(name(3));
    expect(await run()).toMatchObject({
      ...{ shop: 'stripe', pages: 3, messages: 5, caught_up: 4, refused: 0, done: true, failure: null },
      ...{ since: '2026-11-14T12:00:00Z', until: '2026-11-24T12:00:00Z', message: null },
    });
    for (const i of [1, 2, 4, 5])
      expect(await shop.license(name(i))).toMatchObject({ status: 'active', customer: 'jo@example.com' });
    expect(await shop.license(name(3))).toEqual(issued);
    const before = await counts(shop);
    expect(await run('3d')).toMatchObject({ messages: 5, caught_up: 0, since: '2026-11-21T12:00:00Z' });
    expect(await counts(shop)).toEqual(before);
    expect(await standing()).toEqual({
      ...{ state: 'ready', at: '2026-11-24T12:00:00Z', until: '2026-11-24T12:00:00Z' },
      ...{ tried_at: '2026-11-24T12:00:00Z', failure: null },
    });
  });

  it('leaves an entry with a temporary error to a job, and holds up no other entry for it', async () => {
    lists.stripe = [1, 2, 3].map((i) => session(name(i), i));
    const { db } = shop.service;
    await whileRefusing(db, 'orders', `NEW.number = '${name(2)}'`, async () =>
      expect(await run()).toMatchObject({ caught_up: 3, refused: 1, failure: null }),
    );
    expect([await shop.license(name(1)), await shop.license(name(3))]).toMatchObject(
      [1, 3].map(() => ({ status: 'active' })),
    );
    await workOnQueued(
      db,
      context(),
      () => NOW,
      () => Promise.resolve(true),
    );
    expect((await shop.license(name(2)))?.status).toBe('active');
  });

  it('asks only for types that it uses, since the last run', async () => {
    await run();
    const [at] = lists.asked;
    expect(at?.searchParams.getAll('types[]')).toContain('invoice.paid');
    expect(at?.searchParams.getAll('types[]').length).toBeLessThanOrEqual(20);
    expect(at?.searchParams.get('created[gte]')).toBe(String(minutesAgo(60)));
  });

  it('takes a refund of a payment that was missed too', async () => {
    lists.stripe = [refund(name(1), 5), session(name(1), 10)];
    await run();
    expect((await shop.order(name(1))).events).toHaveLength(2);
    expect(await shop.license(name(1))).toBeUndefined();
  });

  it('continues where a run ended', async () => {
    lists.stripe = [1, 2, 3, 4, 5].map((i) => session(name(i), i));
    const cut = new AbortController();
    const row = await requireShop(shop.service.db, 'stripe');
    const killed = catchUp(shop.service.db, row, undefined, {
      ...{ ...context(), cut: cut.signal },
      onPage: () => cut.abort(),
    });
    await expect(killed).rejects.toThrow();
    expect(await shop.license(name(1))).toMatchObject({ status: 'active' });
    expect(await shop.license(name(3))).toBeUndefined();
    // Whether the position in the list was stored or not, the next run takes the rest.
    expect(await run()).toMatchObject({ caught_up: 3, done: true });
    expect((await shop.license(name(5)))?.status).toBe('active');
  });

  it('ends after its maximum of pages, and the next run continues there', async () => {
    lists.stripe = [1, 2, 3, 4, 5].map((i) => session(name(i), i));
    const row = await requireShop(shop.service.db, 'stripe');
    const first = await catchUp(shop.service.db, row, undefined, { ...context(), maxPages: 1 });
    expect(first).toMatchObject({ pages: 1, caughtUp: 2, isDone: false, failure: null });
    lists.asked = [];
    expect(await run()).toMatchObject({ pages: 2, caught_up: 3, done: true });
    expect(lists.asked[0]?.searchParams.get('starting_after')).toBe(`evt_${name(2)}`);
  });

  it('retries, reports an error that stays, and keeps what it has taken', async () => {
    lists.stripe = [1, 2, 3].map((i) => session(name(i), i));
    const limit = { status: 429, headers: { 'retry-after': '1' } };
    lists.faults = [{ status: 500 }, limit];
    expect(await run()).toMatchObject({ caught_up: 3, done: true });
    const until = (await standing()).until as string;
    lists.stripe = [4, 5, 6].map((i) => session(name(i), i));
    for (const [fault, failure, words] of [
      [{ status: 429, headers: { 'retry-after': '3600' } }, 'RATE_LIMITED', 'longer than a run takes'],
      [{ status: 401 }, 'KEY_REFUSED 401', 'refuses the API key'],
      [{ status: 403 }, 'KEY_REFUSED 403', 'may not read this'],
      [{ status: 403, headers: CHALLENGE.headers }, 'CHALLENGED 403', "exempt the shop's API"],
      [{ status: 202, headers: { 'x-amzn-waf-action': 'challenge' } }, 'CHALLENGED 202', 'CDN or firewall'],
      [{ status: 400 }, 'STATUS 400', 'answered with an error'],
      [{ status: 302, headers: { location: 'https://elsewhere.example/' } }, 'MOVED 302', 'another address'],
      [{ status: 404 }, 'NOT_FOUND 404', 'no such list'],
    ] as const) {
      lists.faults = [undefined, fault];
      expect(await run('1d')).toMatchObject({
        done: false,
        failure,
        message: expect.stringContaining(words),
      });
      expect(await shop.license(name(4))).toMatchObject({ status: 'active' });
      expect(await shop.license(name(6))).toBeUndefined();
    }
    lists.faults = [{ status: 200, body: { data: Array(101).fill(lists.stripe[0]) } }];
    expect(await run('1d')).toMatchObject({ done: false, failure: 'INVALID_ANSWER' });
    expect(await standing()).toMatchObject({ failure: 'INVALID_ANSWER', until });
    expect(await run()).toMatchObject({ caught_up: 1, failure: null });
    expect((await standing()).failure).toBeNull();
  });

  it('fetches the lines that an invoice leaves out, or counts the plan’s duration', async () => {
    for (const isAway of [false, true]) {
      const id = `${n}_${String(isAway)}`;
      const text = JSON.stringify(fixture('stripe/invoice.paid.since-2025'))
        .replaceAll('"sub_1"', `"sub_${id}"`)
        .replaceAll('"in_2"', `"in_${id}"`);
      const invoice = JSON.parse(text) as { id: string; created: number; data: { object: Thing } };
      const { object } = invoice.data;
      const { data: lines } = object.lines as { data: Thing[] };
      const [own] = lines as [Thing];
      const added = { ...own, id: 'il_0', parent: { type: 'invoice_item_details' } };
      lists.lines.set(`in_${id}`, [
        added,
        { ...added, id: 'il_00' },
        { ...own, period: { end: 1803000000 } },
      ]);
      Object.assign(object, {
        ...{ billing_reason: 'subscription_create', lines: { data: [added], has_more: true } },
      });
      Object.assign(invoice, { id: `evt_${id}`, created: minutesAgo(1) });
      if (isAway) lists.faults = [{ status: 403 }];
      await shop.take(signStripe(invoice, STRIPE_SECRET, NOW));
      const license = await shop.license(`sub_${id}`);
      if (isAway) expect(license).toBeUndefined();
      else expect(license?.expires_at).toBe(new Date(1803000000 * 1000).toISOString().replace('.000', ''));
    }
  });

  it('is run by the command, which asks only this machine', async () => {
    lists.stripe = [1, 2, 3].map((i) => session(name(i), i));
    const api = ['--api-url', lists.url];
    const ran = await command.run(['shop', 'catch-up', 'stripe', '--since', '2y', ...api]);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('goes back 30 days') });
    for (const elsewhere of ['http://192.0.2.1/', 'https://127.0.0.1/', 'http://localhost.example/'])
      expect(await command.run(['shop', 'catch-up', 'stripe', '--api-url', elsewhere])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('on this machine'),
      });
    expect(await command.run(['shop', 'catch-up', 'stripe', '--since', '10d', ...api])).toMatchObject({
      code: 0,
      stdout: '2 pages read, 3 messages that had not arrived.\n',
    });
    lists.faults = [{ status: 401 }];
    expect(await command.run(['shop', 'catch-up', 'stripe', ...api])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the shop refuses the API key'),
    });
    expect((await command.run(['doctor', '--json'])).stdout).toContain('"CATCH_UP_FAILED"');
    // The command uses this machine's clock.
    await command.run(['shop', 'catch-up', 'stripe', ...api]);
    expect((await command.run(['doctor', '--json'])).stdout).toContain('"CATCH_UP"');
    await run();
  });

  it('is shown, and begun by a button', async () => {
    lists.stripe = [session(name(1), 1)];
    const seller = await pagesClient(shop.service);
    await seller.get('/shops/stripe');
    const shown = await seller.send('/shops/stripe/catch-up');
    expect(textOf(shown.html)).toContain('Caught up. Missed messages: 1.');
    expect(textOf(shown.html)).toContain('Complete until');
    lists.faults = [{ status: 403 }];
    await seller.get('/shops/stripe');
    const failed = textOf((await seller.send('/shops/stripe/catch-up')).html);
    expect(failed).toContain('the shop refuses the API key');
    await eventually(async () => {
      const metrics = await (await fetch(`${shop.service.admin}/metrics`)).text();
      expect(metrics).toContain('licensing_shop_catch_up_failed{shop="stripe"} 1');
      expect(metrics).toContain('licensing_shop_catch_up_possible{shop="stripe"} 1');
    });
  });

  it('runs on one of two instances in a night', async () => {
    lists.stripe = [1, 2, 3].map((i) => session(name(i), i));
    const tomorrow = new Date('2026-11-25T03:05:00Z');
    lists.stripe.forEach((event) => (event.created = tomorrow.getTime() / 1000 - 60));
    const { db } = shop.service;
    const own = { ...context(), now: () => tomorrow };
    const stops = [1, 2].map(() =>
      startScheduler(
        db,
        {
          ...{ lease: 'catch-up-test', everyMs: 20, failure: 'failed' },
          jobs: [{ name: 'catch up', run: (turn) => catchUpAll(db, own, turn) }],
        },
        pino({ level: 'silent' }),
        () => tomorrow,
      ),
    );
    await eventually(async () => expect(await shop.license(name(3))).toMatchObject({ status: 'active' }));
    await eventually(async () => expect((await standing()).at).toBe('2026-11-25T03:05:00Z'));
    // Leave time for two more rounds of each instance.
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const stop of stops) await stop();
    expect(lists.asked).toHaveLength(2);
  });

  it('never reveals its key', async () => {
    const { heard, logLines, db } = shop.service;
    // `heard` has the key once, in the request that set it, so look only into the answers.
    const answers = heard.filter((text) => text.startsWith('{')).join('\n');
    const [row] = await rows<Thing>(db, 'shops');
    for (const text of [answers, logLines.join('\n'), JSON.stringify(row), lists.asked.join('\n')])
      expect(text).not.toContain(STRIPE_KEY);
    expect(await shop.service.write.ok('PATCH /shops/stripe', { api_key: null })).toMatchObject({
      has_api_key: false,
      catch_up: { state: 'no_key' },
    });
    const message = await shop.service.write.refused('POST /shops/stripe/catch-up', {}, 'CONFLICT');
    expect(message).toContain('may read Events, Invoices and Checkout Sessions');
    const seller = await pagesClient(shop.service, { language: 'de' });
    expect(textOf((await seller.get('/shops/stripe')).html)).toContain(
      'Mit einem API-Schlüssel liest der Dienst',
    );
  });
});

describe.each(ONE_KIND)('catching up with Paddle and WooCommerce, on %s', (database) => {
  let lists: ShopLists;
  beforeAll(async () => (lists = await startShopLists()));
  afterAll(() => lists.stop());

  const start = async (kind: string, secret: string, sku: string, access: Thing) => {
    const own = { ...(await newPlace(database)), ...KEY_SECRET };
    const shop = await startHookShop(own, kind, secret, [sku], ADDED, { shopApiUrl: lists.url });
    shop.service.clock.now = NOW;
    await shop.service.write.ok(`PATCH /shops/${kind}`, access);
    return shop;
  };

  it('takes Paddle’s messages, with the customer’s address', async () => {
    const secret = 'pdl_ntfset_01';
    const shop = await start('paddle', secret, 'pri_1', { api_key: PADDLE_KEY });
    const told = (file: string, id: number, change: Thing = {}) => ({
      ...(fixture(`paddle/${file}`) as Thing),
      ...{ event_id: `evt_${String(id).padStart(3, '0')}`, occurred_at: '2026-11-24T10:00:00Z' },
      ...change,
    });
    lists.paddle = [
      told('transaction.completed', 1, { occurred_at: '2026-10-01T10:00:00Z' }),
      ...[2, 3, 4].map((id) => told('customer.created', id, { event_type: 'address.created' })),
      told('customer.created', 5),
      told('transaction.completed', 6),
    ];
    await shop.take(signPaddle(told('customer.created', 5), secret, NOW));
    expect(await shop.service.write.ok('POST /shops/paddle/catch-up', {})).toMatchObject({
      ...{ pages: 3, messages: 2, caught_up: 1, done: true },
    });
    expect(lists.asked.map(({ pathname }) => pathname)).toEqual(['/events', '/events', '/events']);
    expect(await shop.license('sub_1')).toMatchObject({ status: 'active', customer: 'jo@example.com' });
    const before = await counts(shop);
    expect(await shop.service.write.ok('POST /shops/paddle/catch-up', {})).toMatchObject({ caught_up: 0 });
    expect(await counts(shop)).toEqual(before);
    await shop.service.write.ok('PATCH /shops/paddle', { api_key: `${PADDLE_KEY.slice(0, -1)}X` });
    expect(await shop.service.write.ok('POST /shops/paddle/catch-up', {})).toMatchObject({
      failure: 'KEY_REFUSED 403',
    });
    await shop.service.stop();
  });

  it('takes what changed at WooCommerce, with and without subscriptions', async () => {
    const site_url = 'https://shop.example/en/?x#y';
    const shop = await start('woocommerce', 'woo secret', 'PRO', { api_key: WOO_KEY, site_url });
    const { write } = shop.service;
    expect((await write.ok('GET /shops/woocommerce')).site_url).toBe('https://shop.example/en/');
    const order = (id: number, time = '2026-11-24T10:00:05') =>
      JSON.parse(
        JSON.stringify({ ...fixture('woocommerce/order.updated'), date_modified_gmt: time }).replaceAll(
          '1001',
          String(id),
        ),
      ) as Thing;
    lists.orders = [order(1001), order(1002), order(1003), order(1004, '2026-11-01T10:00:00')];
    const run = () => write.ok('POST /shops/woocommerce/catch-up', {});
    lists.asked = [];
    expect(await run()).toMatchObject({ caught_up: 3, messages: 3, done: true, failure: null });
    expect(lists.asked[0]?.searchParams.get('modified_after')).toBe('2026-11-14T12:00:00');
    expect(lists.asked[0]?.searchParams.get('dates_are_gmt')).toBe('true');
    expect(lists.asked.map(({ pathname }) => pathname).slice(2)).toEqual([
      '/wp-json/wc/v3/subscriptions',
      '/wp-json/wc/v1/subscriptions',
    ]);
    for (const id of [1001, 1002, 1003])
      expect(await shop.license(`${id}`)).toMatchObject({ status: 'active' });
    expect(await shop.license('1004')).toBeUndefined();
    lists.subscriptions = [
      {
        ...(fixture('woocommerce/subscription.updated') as Thing),
        date_modified_gmt: '2026-11-24T11:30:00',
        next_payment_date_gmt: '2026-12-28T10:00:00',
      },
    ];
    const before = await shop.license('1001');
    expect(await run()).toMatchObject({ caught_up: 1 });
    expect((await shop.license('1001'))?.expires_at).not.toBe(before?.expires_at);
    const state = await counts(shop);
    expect(await run()).toMatchObject({ caught_up: 0 });
    expect(await counts(shop)).toEqual(state);
    lists.faults = [{ status: 404 }];
    expect(await run()).toMatchObject({ failure: 'NOT_FOUND 404' });
    await shop.service.stop();
  });

  it('refuses a key that cannot be one, and says what it should be', async () => {
    const shop = await start('stripe', STRIPE_SECRET, 'PRO', {});
    const { write } = shop.service;
    const refused = (of: string, body: Thing, field: string) =>
      write.refused(`PATCH /shops/${of}`, body, 'INVALID_REQUEST', field);
    expect(await refused('stripe', { api_key: STRIPE_SECRET }, 'api_key')).toMatch(
      /^It looks like a secret that messages are signed with. .*may read Events, Invoices and Checkout Sessions, and nothing else/,
    );
    expect(await refused('stripe', { api_key: 'pk_live_1234567890' }, 'api_key')).toContain('a public key');
    expect(await refused('stripe', { site_url: 'https://shop.example' }, 'site_url')).toContain('no site');
    await write.ok('POST /shops', { name: 'woo', kind: 'woocommerce', secret: 'x' }, 201);
    expect(await refused('woo', { api_key: STRIPE_KEY }, 'api_key')).toContain('permission "Read"');
    await refused('woo', { site_url: 'http://shop.example' }, 'site_url');
    expect(await write.ok('PATCH /shops/woo', { api_key: `"${WOO_KEY}"\n` })).toMatchObject({
      catch_up: { state: 'no_site' },
    });
    await write.ok('POST /shops', { name: 'fast', kind: 'fastspring', secret: 'x' }, 201);
    await refused('fast', { api_key: 'x' }, 'api_key');
    expect((await write.ok('GET /shops/fast')).catch_up).toMatchObject({ state: 'cannot' });
    await write.ok('POST /shops', { name: 'posts' }, 201);
    expect((await write.ok('GET /shops/posts')).catch_up).toBeNull();
    // Another kind of sender needs another key, so the service drops the old one.
    await write.ok('PATCH /shops/stripe', { api_key: STRIPE_KEY });
    await write.ok('PATCH /shops/stripe', { kind: 'paddle', secret: 'pdl_ntfset_01' });
    expect((await write.ok('GET /shops/stripe')).has_api_key).toBe(false);
    await shop.service.stop();
  });

  it('goes to no other site unless it is given again', async () => {
    const site_url = 'https://shop.example/en/';
    const shop = await start('woocommerce', 'woo secret', 'PRO', { api_key: WOO_KEY, site_url });
    const { write, db } = shop.service;
    const patch = (body: Thing) =>
      write.refused('PATCH /shops/woocommerce', body, 'INVALID_REQUEST', 'api_key');
    for (const other of ['https://other.example/en/', 'https://shop.example:8443/en/'])
      expect(await patch({ site_url: other })).toContain('Give it again together with the new address.');
    await write.ok('PATCH /shops/woocommerce', { site_url: 'https://shop.example/de/' });
    await write.ok('PATCH /shops/woocommerce', { site_url: null });
    await patch({ site_url: 'https://other.example/' });
    await write.ok('PATCH /shops/woocommerce', { site_url: 'https://other.example/', api_key: WOO_KEY });
    // The key does not go to another site by an import either, whether its file has the key or not.
    const lines: string[] = [];
    await exportRecords(db, (text) => Promise.resolve(void lines.push(text)));
    const file = lines.join('');
    const third = file.replace('https://other.example/', 'https://third.example/');
    const imported = (into: Db, text: string) =>
      importRecords(into, Readable.from([Buffer.from(text)]), {
        ...{ packagesDir: temporaryFolder(), packagesFrom: undefined, secret: SECRET },
        ...{ withoutSealedKeys: false, dryRun: false, actor: 'operator:test', now: NOW },
        settingFault: () => undefined,
        isOnSite: (kind) => kind === 'woocommerce',
      });
    for (const one of [third, third.replace(/"api_key_sealed":"[^"]+"/, '"api_key_sealed":null')])
      await expect(imported(db, one)).rejects.toThrow(
        'the API key that the shop woocommerce has here belongs to another',
      );
    expect(await imported(db, file)).toMatchObject({ records: { shop: { same: 1 } }, leftOutCount: 0 });
    await write.ok('PATCH /shops/woocommerce', { site_url: null, api_key: null });
    const fresh = await openMigrated(await newPlace(database));
    for (const into of [db, fresh]) {
      const { leftOut } = await imported(into, third);
      expect(leftOut).toMatchObject([
        { message: expect.stringContaining('shop edit woocommerce --api-key-file') },
      ]);
      const [row] = await rows(into, 'shops');
      expect(row).toMatchObject({ api_key_sealed: null, site_url: 'https://third.example/' });
    }
    await fresh.destroy();
    await shop.service.stop();
  });

  it('is imported for a sender without a site of its own', async () => {
    const shop = await start('stripe', STRIPE_SECRET, 'PRO', { api_key: STRIPE_KEY });
    const lines: string[] = [];
    await exportRecords(shop.service.db, (text) => Promise.resolve(void lines.push(text)));
    const fresh = await openMigrated(await newPlace(database));
    const { leftOut } = await importRecords(fresh, Readable.from([Buffer.from(lines.join(''))]), {
      ...{ packagesDir: temporaryFolder(), packagesFrom: undefined, secret: SECRET },
      ...{ withoutSealedKeys: false, dryRun: false, actor: 'operator:test', now: NOW },
      settingFault: () => undefined,
      isOnSite: (kind) => kind === 'woocommerce',
    });
    expect(leftOut).toEqual([]);
    const [there, here] = [await rows(fresh, 'shops'), await rows(shop.service.db, 'shops')];
    expect([there[0]?.api_key_sealed, true]).toEqual([
      here[0]?.api_key_sealed,
      Boolean(here[0]?.api_key_sealed),
    ]);
    await fresh.destroy();
    await shop.service.stop();
  });

  it('is given by the command, from a file', async () => {
    const own = { ...(await newPlace(database)), ...KEY_SECRET };
    const shop = await startHookShop(own, 'stripe', STRIPE_SECRET, ['PRO'], ADDED);
    const file = join(temporaryFolder(), 'key.txt');
    writeFileSync(file, `${STRIPE_KEY}\n`);
    const { json, run } = operator(own);
    const edited = await json<Thing>(['shop', 'edit', 'stripe', '--api-key-file', file]);
    expect(edited.has_api_key).toBe(true);
    expect(await json<Thing>(['shop', 'edit', 'stripe', '--api-key-file', 'none'])).toMatchObject({
      has_api_key: false,
    });
    const added = await json<Thing>(
      [
        ...['shop', 'add', 'woo', '--kind', 'woocommerce', '--site-url', 'https://shop.example'],
        ...['--api-key-file', '-'],
      ],
      { stdin: WOO_KEY },
    );
    expect(added).toMatchObject({ site_url: 'https://shop.example/', catch_up: { state: 'ready' } });
    expect((await run(['doctor', '--json'])).stdout).toContain('"CATCH_UP_NOT"');
    await shop.service.stop();
  });
});

test.each([
  ['stripe', 'sk_live_51HcXyZabcdef', true],
  ['stripe', 'rk_test_51HcXyZabcdef', true],
  ['stripe', 'whsec_51HcXyZabcdef', false],
  ['stripe', 'sk_live_51HcXy Zabcdef', false],
  ['paddle', 'pdl_live_apikey_01gtgztp8f4kek3yd4g1wrksa3_q6TGTJyvoIz7LDtXT65bX7_AQO', true],
  ['paddle', 'pdl_ntfset_01gtgztp8f4kek3yd4g1wrksa3', false],
  ['woocommerce', WOO_KEY, true],
  ['woocommerce', WOO_KEY.split(':')[0]!, false],
])('of %s, %s is a key: %s', (kind, key, isKey) => {
  expect(listOf(kind)?.key.test(key)).toBe(isKey);
});

test('asks the sender that a key belongs to', () => {
  const origin = (kind: string, key: string, site: string | null = null) => listOf(kind)?.origin(key, site);
  expect(origin('stripe', STRIPE_KEY)).toBe('https://api.stripe.com');
  expect(origin('paddle', PADDLE_KEY)).toBe('https://sandbox-api.paddle.com');
  expect(origin('paddle', 'pdl_live_apikey_1')).toBe('https://api.paddle.com');
  expect(origin('woocommerce', WOO_KEY, 'https://shop.example')).toBe('https://shop.example');
});

test('goes to no private address, and in a test only to this machine', async () => {
  const shops = createAsk([], false);
  for (const url of ['https://127.0.0.1/', 'https://10.0.0.1/', 'https://[::1]/', 'http://1.1.1.1/'])
    await expect(shops(url, {}, { ms: 1_000 })).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
  const tests = createAsk([], true);
  await expect(tests('http://192.0.2.1/', {}, { ms: 1_000 })).rejects.toMatchObject({
    code: 'ADDRESS_REFUSED',
  });
  expect(isTestApi('http://127.0.0.1:1234')).toBe(true);
  expect(isTestApi('http://127.0.0.1.example:1234')).toBe(false);
});
