import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { receive } from '../../src/orders/inbox';
import { recordOrder } from '../../src/orders/record';
import { table } from '../../src/store/engine/database';
import { operator, type Operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { BACKENDS, givePlan, startTestService, type TestService } from '../support/service';

/** The seller's side of orders: `licensing shop` and `licensing order`. */

describe.each(BACKENDS)('shops and orders by the command, on %s', (_name, backend) => {
  let service: TestService;
  let seller: Operator;
  let planId: number;
  beforeAll(async () => {
    const settings = {
      LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'orders.sqlite')}`,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
      LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
      LICENSING_PUBLIC_URL: 'https://shop.example',
      ...(await backend()),
    };
    service = await startTestService(settings);
    seller = operator(settings);
    planId = await givePlan(service.db, { limit: 3 });
  });
  afterAll(() => service.stop());

  const post = (order: string, more: object = {}) => {
    const now = new Date();
    return recordOrder(
      service.db,
      {
        ...{ shop: 'hikashop', order, event: 'paid', at: now },
        lines: [{ line: '1', sku: 'PRO 1Y', quantity: 2 }],
        ...more,
      },
      { owner: 'shop', ownOnly: true },
      { actor: 'token:shop', now, secret: undefined, graceDays: 3 },
    );
  };
  const text = async (...args: string[]) => {
    const { code, stdout, stderr } = await seller.run(args);
    expect({ args, code, stderr }).toMatchObject({ code: 0 });
    return stdout + stderr;
  };
  const refused = async (...args: string[]) => {
    const { code, stderr } = await seller.run(args);
    expect([1, 2]).toContain(code);
    return stderr;
  };

  it('list waiting orders, map their article, and show the order', async () => {
    expect(await text('order', 'list')).toBe('No orders.\n');
    const { order } = await post('1001');
    expect(await text('order', 'list', '--waiting')).toMatch(/hikashop +1001 +waiting .*PRO 1Y has no plan/s);
    expect(await seller.json(['shop', 'list'])).toMatchObject([
      { name: 'hikashop', kind: 'api', waiting: 1 },
    ]);
    const mapped = await seller.json(['shop', 'map', 'hikashop', 'PRO 1Y', '--plan', String(planId)]);
    expect(mapped).toMatchObject({ sku: 'PRO 1Y', plan_id: planId, ran: { done: 1, waiting: 0 } });
    expect(await text('shop', 'map', 'hikashop')).toMatch(/PRO 1Y +\d+ +Developer +licenses/);
    const shown = await seller.json<{ lines: object[]; events: object[] }>([
      'order',
      'show',
      String(order.id),
    ]);
    expect(shown).toMatchObject({
      state: 'done',
      lines: [{ licenses: [{ status: 'active' }, { status: 'active' }] }],
      events: [{ event: 'paid', outcomes: [{ action: 'issued' }] }],
    });
    expect(await text('order', 'show', String(order.id))).toMatch(/paid +- +1: issued/);
    expect(await refused('order', 'show', '99999')).toMatch(/order does not exist.*"licensing order list"/);
    expect(await text('shop', 'unmap', 'hikashop', 'PRO 1Y')).toContain('"PRO 1Y" no longer has a plan.');
    expect(await refused('shop', 'unmap', 'hikashop', 'PRO 1Y')).toContain('no such article');
  });

  it('add a receiver with its secret, and list its messages', async () => {
    const file = join(temporaryFolder(), 'secret.txt');
    writeFileSync(file, 'whsec_of_the_sender\n');
    const early = await text('shop', 'add', 'early', '--kind', 'stripe');
    expect(early).toMatch(
      /Enter this address for its messages at the sender: .*\/hooks\/early.*Every message is refused until you set the secret/s,
    );
    writeFileSync(`${file}.wrong`, 'sk_live_51Habc\n');
    const wrong = ['shop', 'edit', 'early', '--secret-file', `${file}.wrong`];
    expect(await refused(...wrong)).toMatch(/looks like an API key.*begins with "whsec_"/);
    writeFileSync(`${file}.wrong`, 'whsec_51a963295692389b…\n');
    expect(await refused(...wrong)).toMatch(/incomplete: .*begins with "whsec_"/);
    await text('shop', 'edit', 'early', '--secret-file', file);
    await text('shop', 'remove', 'early');
    const missing = await refused('shop', 'add', 'stripe', '--kind', 'stripe', '--secret-file', `${file}x`);
    expect(missing).toMatch(/The secret's file .*x cannot be read: /);
    expect(await refused('shop', 'add', 'stripe', '--kind', 'strife')).toContain('stripe');
    const added = await text('shop', 'add', 'stripe', '--kind', 'stripe', '--secret-file', file);
    expect(added).toContain(
      'Enter this address for its messages at the sender: https://shop.example/api/index.php/v1/licensing/hooks/stripe',
    );
    expect(added).not.toContain('whsec_of_the_sender');
    expect(await text('shop', 'messages', 'stripe')).toBe('No messages of stripe.\n');
    const order = { of: 'pi_1' };
    const event = { event: 'refunded', at: new Date(), order } as const;
    const message = { id: 'evt_1', type: 'charge.refunded', event };
    await receive(service.db, 'stripe', message, { now: new Date(), secret: undefined, graceDays: 3 });
    expect(await text('shop', 'messages', 'stripe', '--result', 'unmatched')).toMatch(
      /charge\.refunded +unmatched/,
    );
    expect(await seller.json(['shop', 'messages', 'stripe', '--result', 'order'])).toEqual([]);
    expect(await text('shop', 'edit', 'stripe', '--secret-file', file)).toContain('Shop stripe is changed.');
    const { stdout } = await seller.run(['doctor']);
    expect(stdout).toContain('1 payment of stripe matches no order.');
  });

  it('page through orders, newest first', async () => {
    for (const order of ['2001', '2002', '2003']) await post(order, { shop: 'pages' });
    const first = await text('order', 'list', '--shop', 'pages', '--limit', '2');
    const [, cursor = ''] = /There are more: --after (\S+)/.exec(first) ?? [];
    expect(first).toMatch(/2003.*2002/s);
    expect(first).not.toContain('2001');
    expect(await text('order', 'list', '--shop', 'pages', '--limit', '2', '--after', cursor)).toMatch(/2001/);
    expect(await seller.json(['order', 'list', '--order', '2002'])).toMatchObject([{ order: '2002' }]);
  });

  it('add a shop, set its rules and its tests, and remove it', async () => {
    expect(await text('shop', 'add', 'fair', '--test-plan', String(planId))).toContain(
      'licensing shop map fair',
    );
    expect(await refused('shop', 'add', 'fair')).toContain('A shop fair already exists.');
    expect(await refused('shop', 'add', 'Not A Shop')).toContain('1 to 40 characters of a-z');
    expect(await seller.json(['shop', 'rules', 'fair', '--on', 'refunded=cancel'])).toMatchObject({
      rules: { refunded: 'cancel', charged_back: 'suspend' },
    });
    expect(await text('shop', 'rules', 'fair')).toMatch(/refunded +cancel/);
    expect(await refused('shop', 'rules', 'fair', '--on', 'refunded=reinstate')).toContain(
      '"refunded" can be none or suspend or cancel',
    );
    expect(await refused('shop', 'rules', 'fair', '--on', 'shipped=none')).toContain(
      'There is no rule for "shipped"',
    );
    expect(await text('shop', 'list')).toMatch(/fair +api +key +0 +issue plan \d+ +refunded=cancel/);
    expect(await seller.json(['shop', 'edit', 'fair', '--test', 'on', '--test-plan', 'none'])).toMatchObject({
      test: true,
      test_plan_id: null,
    });
    expect(await refused('shop', 'edit', 'fair')).toContain('Nothing to change');
    expect(await refused('shop', 'rules', 'none')).toContain('"licensing shop list" shows the shops.');
    const doctor = async () => {
      // The doctor has other findings too, because this installation has no public address.
      const { stdout } = await seller.run(['doctor', '--json']);
      const { findings } = JSON.parse(stdout) as { findings: { code: string; what: string }[] };
      return findings.filter(({ code }) => ['ORDERS_WAIT', 'SHOPS_SILENT'].includes(code));
    };
    expect(await doctor()).toMatchObject([
      { code: 'ORDERS_WAIT', what: expect.stringContaining('Without a plan: "PRO 1Y" of pages.') },
    ]);
    await service
      .db(table(service.db, 'shops'))
      .where({ name: 'fair' })
      .update({ created_at: '2026-01-01 00:00:00' });
    expect((await doctor()).at(-1)).toMatchObject({
      code: 'SHOPS_SILENT',
      what: 'No order has come yet from: fair.',
    });
    expect(await text('shop', 'remove', 'fair')).toContain('Shop fair is removed.');
  });

  it('report a subscription, its grace period and failed payments', async () => {
    const { lines } = await post('4001', {
      renewsItself: true,
      lines: [{ line: '1', planId, paidUntil: new Date('2040-01-01T00:00:00Z') }],
    });
    const id = String(lines[0]!.licenses[0]!.license.id);
    expect(await text('license', 'show', id)).toMatch(
      /paid until +\d{4}-\d\d-\d\dT[\d:]+Z, renews automatically/,
    );
    expect(await text('license', 'renew', id, '--for', '1y')).toMatch(
      /is active until \S+, and paid until \S+\./,
    );
    await post('4001', { event: 'payment_failed', lines: undefined });
    expect(await text('why', id)).toMatch(
      /paid until \d{4}-\d\d-\d\d, and\s+renews\s+automatically,\s+a\s+payment\s+failed on \d{4}/,
    );
    const told = async () => {
      const { stdout } = await seller.run(['doctor', '--json']);
      const { findings } = JSON.parse(stdout) as { findings: { code: string; what: string }[] };
      return findings.filter(({ code }) => code === 'PAYMENTS_FAIL_UNTOLD');
    };
    expect(await told()).toMatchObject([{ what: expect.stringContaining('hikashop') }]);
    const given = ['--grace', '5d', '--billing-url', 'https://shop.example/pay'];
    expect(await seller.json(['shop', 'edit', 'hikashop', ...given])).toMatchObject({
      ...{ grace: 5, billing_url: 'https://shop.example/pay' },
    });
    expect(await told()).toEqual([]);
    expect(await refused('shop', 'edit', 'hikashop', '--grace', '15d')).toContain(
      'It must be 0d to 14d, or default.',
    );
    const none = ['--grace', 'default', '--billing-url', 'none'];
    expect(await seller.json(['shop', 'edit', 'hikashop', ...none])).toMatchObject({
      grace: null,
      billing_url: null,
    });
  });

  it('confirm an order with many lines', async () => {
    const { order } = await post('4001', {
      lines: Array.from({ length: 101 }, (__, i) => ({ line: String(i), planId })),
    });
    expect(await text('order', 'list', '--waiting')).toMatch(/4001 .*more than 100 lines/);
    const id = String(order.id);
    expect(await text('order', 'confirm', id)).toBe('Order 4001 is confirmed: done.\n');
    expect(await text('order', 'list', '--waiting')).not.toContain('4001');
    expect(await refused('order', 'confirm', '999999')).toContain('This order does not exist.');
  });

  it('run waiting orders once the cause is fixed', async () => {
    await post('3001', { lines: [{ line: '1', planId, renews: '3000' }] });
    expect(await text('shop', 'run', 'hikashop')).toContain(
      '0 orders that waited have run; 1 order still waits.',
    );
    await post('3000', { lines: [{ line: '1', planId }] });
    expect(await text('shop', 'run', 'hikashop')).toContain('no order waits.');
    expect(await text('why', '3001')).toMatch(/Order 3001 of shop hikashop renewed licence \d+/);
  });
});
