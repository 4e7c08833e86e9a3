import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OrderMessage } from '../../src/orders/message';
import { addRefused } from '../../src/store/orders/shop-refusals';
import { receive } from '../../src/orders/inbox';
import { recordOrder } from '../../src/orders/record';
import { whileRefusing } from '../support/failing-statements';
import { PLUGIN_KINDS } from '../../src/orders/shop-kinds';
import { unpack } from '../support/joomla-host';
import { giveToken, manageClient, type ManageClient } from '../support/manage';
import { temporaryFolder } from '../support/processes';
import { giveRelease } from '../support/packages';
import { ONE_BACKEND, givePlan, startTestService, type TestService } from '../support/service';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** The pages of orders and shops: a waiting order is shown, mapped and run, and rules and tests are set. */

const NOW = new Date('2026-11-24T12:00:00Z');

describe.each(ONE_BACKEND)('the pages of orders, on %s', (_name, settings) => {
  let service: TestService;
  let planId: number;
  let seller: PagesClient;
  let api: ManageClient;

  beforeAll(async () => {
    const secret = randomBytes(32).toString('base64');
    service = await startTestService(
      { ...(await settings()), LICENSING_KEY_SECRET: secret, LICENSING_PUBLIC_URL: 'https://shop.example' },
      NOW,
    );
    planId = await givePlan(service.db, { limit: 3 });
    await giveRelease(service, { version: '1.0.0' });
    seller = await pagesClient(service);
    api = manageClient(service.url, (await giveToken(service.db, 'write', 'admin')).token);
  });
  afterAll(() => service.stop());

  const post = (order: string, message: Partial<OrderMessage> = {}) =>
    recordOrder(
      service.db,
      {
        ...{ shop: 'hikashop', order, event: 'paid', at: NOW },
        customer: { email: 'jo@example.com', name: 'Jo' },
        lines: [{ line: '1', sku: 'PRO-1Y', quantity: 2 }],
        ...message,
      },
      { owner: 'shop', ownOnly: true },
      { actor: 'token:shop', now: NOW, secret: undefined, graceDays: 3 },
    );
  const read = async (path: string, by = seller) => {
    const { status, html } = await by.get(path);
    expect([path, status]).toEqual([path, 200]);
    return textOf(html);
  };

  it('show a waiting order, map its article there, and show the result', async () => {
    expect(await read('/orders')).toContain('No order yet.');
    const { order } = await post('1001');
    await post('1002', { lines: [{ line: '1', planId }] });
    expect(await read('/')).toContain('1 order is paid and has no licence yet.');
    // With `wait`, the page waits for figures that take longer.
    expect(await read('/?wait=1')).not.toMatch(/[Bb]eing counted/);
    const list = await read('/orders');
    expect(list).toContain('1 order waits');
    expect(list.indexOf('PRO-1Y')).toBeLessThan(list.indexOf('1002'));
    expect(await read('/orders?state=waiting')).not.toContain('1002');
    expect(await read(`/orders/${order.id}`)).toContain('Article “PRO-1Y” has no plan yet.');
    // The search field finds the order, too.
    expect(await seller.post('/find', { about: '1001' })).toMatchObject({
      status: 303,
      location: `/orders/${order.id}`,
    });
    const form = await seller.get('/shops/hikashop/map?sku=PRO-1Y&back=/orders');
    expect(form.html).toContain('value="PRO-1Y"');
    const fields = { back: '/orders', sku: 'PRO-1Y', plan_id: planId, quantity: 'slots' };
    const mapped = await seller.send('/shops/hikashop/map', fields);
    expect(textOf(mapped.html)).toMatch(/“PRO-1Y” has the plan .* · Developer now\. Orders processed: 1\./);
    expect(textOf(mapped.html)).not.toContain('1 order is paid');
    expect(await read('/')).not.toContain('1 order is paid');
    const text = await read(`/orders/${order.id}`);
    expect(text).toContain('Line 1: issued');
    const [, id] = /Licence (\d+) Active/.exec(text) ?? [];
    const license = await read(`/licenses/${id}`);
    expect(license).toContain('0 of 6');
    expect(license).toContain('1001 hikashop');
  });

  it('show the events of an order with the effect of each, and why it had none', async () => {
    const paidUntil = new Date('2027-11-24T12:00:00Z');
    const lines = [{ line: '1', planId, paidUntil }];
    const { order } = await post('1003', { lines, renewsItself: true });
    const at = (minutes: number) => new Date(NOW.getTime() - 60_000 * minutes);
    await post('1003', { event: 'refunded', at: at(-1), lines: undefined });
    await post('1003', { event: 'renewed', at: at(5), lines: undefined });
    const text = await read(`/orders/${order.id}`);
    expect(text).toMatch(/Paid until Licences 1 Plan Developer 1 24 Nov 2027 renews automatically Licence/);
    expect(text).toMatch(/Paid Line 1: issued .* Refunded Line 1: suspended .* Renewed Line 1: nothing/);
    const german = await read(`/orders/${order.id}`, await pagesClient(service, { language: 'de' }));
    expect(german).toMatch(/Bezahlt Position 1: ausgestellt .* Erstattet Position 1: ausgesetzt/);
    expect((await seller.get('/orders/99999')).status).toBe(404);
  });

  it('add a shop, set its rules and tests, take an article from its map, and remove it', async () => {
    const refused = await seller.post('/shops/new', { name: 'No Shop' });
    expect(refused.status).toBe(400);
    expect(textOf(refused.html)).toContain('Please type 1 to 40 of a-z');
    await seller.get('/shops/new');
    expect(textOf((await seller.send('/shops/new', { name: 'fair' })).html)).toContain('Shop fair is added.');
    await seller.get('/shops/fair/edit');
    const rules = { refunded: 'cancel', paid: 'issue', test: '1', test_plan_id: planId };
    const edited = textOf((await seller.send('/shops/fair/edit', rules)).html);
    expect(edited).toMatch(/Refunded cancel for good/);
    expect(edited).toMatch(/issue Developer all its orders are tests/);
    await seller.get('/shops/fair/map');
    await seller.send('/shops/fair/map', { sku: 'A/B', plan_id: planId, quantity: 'licenses' });
    expect(await read('/shops/fair')).toContain('A/B Developer three licences');
    const gone = await seller.send('/shops/fair/unmap', { sku: 'A/B' });
    expect(textOf(gone.html)).toContain('“A/B” no longer has a plan.');
    expect(textOf(gone.html)).toContain('No article has a plan yet.');
    expect(await seller.post('/shops/fair/unmap', { sku: 'A/B' })).toMatchObject({ location: '/shops/fair' });
    await post('1004', { shop: 'fair', test: false, lines: [{ line: '1', sku: 'X', renews: 'nothing' }] });
    expect(await read('/orders?shop=fair&state=waiting')).toContain('1004');
    await seller.get('/shops/fair');
    const ran = await seller.send('/shops/fair/run');
    expect(textOf(ran.html)).toMatch(
      /Orders processed: 0\. Not done: \d+ \(Waiting: the earlier order is not known\)\./,
    );
    expect(await read('/shops/fair/remove')).toContain('Remove shop fair?');
    expect(textOf((await seller.send('/shops/fair/remove')).html)).toContain('Shop fair is removed.');
    expect(await seller.post('/shops/fair/remove')).toMatchObject({ location: '/shops' });
    expect(await read('/orders')).toContain('1004');
  });

  it.each(PLUGIN_KINDS)('lead from adding a shop to its plugin and the next steps: %s', async (kind) => {
    await seller.get('/shops/new');
    const name = `my-${kind}`;
    const added = await seller.send('/shops/new', { name, kind });
    const german = await read(`/shops/${name}`, await pagesClient(service, { language: 'de' }));
    const given = await seller.get(`/shops/${name}/plugin.zip`);
    const made = (await api.ok(`GET /shops/${name}/plugin`)) as Record<string, string>;
    const { file_name, element, address, zip } = made;
    const [file, folder] = [join(temporaryFolder(), 'plugin.zip'), temporaryFolder()];
    writeFileSync(file, Buffer.from(zip!, 'base64'));
    await unpack(file, folder);

    expect(textOf(added.html)).toMatch(
      new RegExp(
        `The plugin for .* Add a token named ${name} .* System > Install > Extensions .* Assign plans`,
      ),
    );
    expect(german).toMatch(/Das Plugin für .* System > Installieren > Erweiterungen .* kein Geheimnis/);
    expect(added.html).toContain(`/shops/${name}/plugin.zip"`);
    expect({ element, address }).toEqual({ element: `licensing${kind}`, address: 'https://shop.example' });
    expect(given.headers.get('content-disposition')).toContain(file_name);
    expect(given.html.slice(0, 2)).toBe('PK');
    const manifest = readFileSync(join(folder, `${element}.xml`), 'utf8');
    expect(manifest).toMatch(new RegExp(`default="https://shop.example".*default="${name}"`, 's'));
    await api.refused('GET /shops/hikashop/plugin', undefined, 'CONFLICT');
    expect((await seller.get('/shops/hikashop/plugin.zip')).status).toBe(409);
  });

  it('add a receiver, give its address, and show its messages', async () => {
    const secret = 'whsec_of_the_sender';
    expect((await seller.get('/shops/new')).html).not.toContain('name="secret"');
    const first = await seller.send('/shops/new', { name: 'stripe', kind: 'stripe' });
    expect(first.html).toContain('/api/index.php/v1/licensing/hooks/stripe"');
    const refused = await seller.post('/shops/stripe/secret', { secret: 'sk_live_1' });
    expect(textOf(refused.html)).toMatch(
      /looks like an API key. Stripe’s signing secret begins with “whsec_”/,
    );
    expect(refused.html).not.toContain('sk_live_1');
    const cut = await seller.post('/shops/stripe/secret', { secret: 'whsec_51a963295692389b...' });
    expect(textOf(cut.html)).toMatch(/not complete: .* Stripe’s signing secret begins with “whsec_”/);
    expect(await read('/shops/stripe')).toContain('It has no secret yet. Every message is refused.');
    await addRefused(service.db, { shop: 'stripe', day: '2026-11-23', times: 12 });
    await seller.get('/shops/stripe/secret');
    const added = await seller.send('/shops/stripe/secret', { secret });
    expect(textOf(added.html)).toContain(
      '12 messages had a wrong secret, and no message was accepted. Is it the secret of another address?',
    );
    expect(textOf(added.html)).toContain('Messages with a wrong secret: 23 Nov 2026: 12');
    expect(added.html).toContain('/api/index.php/v1/licensing/hooks/stripe"');
    expect(added.html).not.toContain(secret);
    expect(textOf(added.html)).toContain('None yet. Enter the address from this page at the sender');
    const given = { now: NOW, secret: undefined, graceDays: 3 };
    await receive(service.db, 'stripe', { id: '1', type: 'charge.updated', note: 'unused' }, given);
    const order = { of: 'pi_1' };
    const event = { event: 'refunded', at: NOW, order } as const;
    await receive(service.db, 'stripe', { id: '2', type: 'charge.refunded', event }, given);
    const shown = await read('/shops/stripe');
    expect(shown).toMatch(/charge.refunded matches no order yet .* charge.updated noted: .* not used/);
    expect((await seller.get('/shops/stripe/edit')).html).not.toContain(secret);
    await seller.send('/shops/stripe/edit', { secret: 'whsec_new', paid: 'issue' });
    const german = await pagesClient(service, { language: 'de' });
    expect(await read('/shops/stripe', german)).toMatch(/Meldungen von Stripe .* wird nicht gebraucht/);
  });

  it('confirm an order with many lines, and show one that failed', async () => {
    const lines = Array.from({ length: 101 }, (__, i) => ({ line: String(i), planId }));
    const { order } = await post('large', { lines });
    const path = `/orders/${order.id}`;
    expect(await read(path)).toContain('It has more than 100 lines, and waits until you confirm');
    const reader = await pagesClient(service, { scope: 'read' });
    expect((await reader.get(path)).html).not.toContain(`${path}/confirm`);
    expect((await reader.post(`${path}/confirm`)).status).toBe(403);
    expect((await seller.get(path)).html).toContain('Confirm and process');
    expect(await seller.post(`${path}/confirm`)).toMatchObject({ status: 303, location: path });
    expect(await read(path)).not.toContain('Confirm and process');
    expect(await api.ok(`GET ${path}`)).toMatchObject({ state: 'done' });

    const german = await pagesClient(service, { language: 'de' });
    for (const [number, english, inGerman] of [
      [
        'broken-1',
        '1 order could not be processed. The service tries again.',
        '1 Bestellung konnte nicht verarbeitet werden. Der Dienst versucht es weiter.',
      ],
      [
        'broken-2',
        '2 orders could not be processed. The service tries again.',
        '2 Bestellungen konnten nicht verarbeitet werden. Der Dienst versucht es weiter.',
      ],
    ] as const) {
      const posted = () => post(number, { lines: [{ line: '1', planId }] });
      const { order: broken } = await whileRefusing(service.db, 'events', '1 = 1', posted);
      expect(await read('/')).toContain(english);
      expect(await read('/', german)).toContain(inGerman);
      expect(await read(`/orders/${broken.id}`)).toContain('It could not be processed since');
    }
    expect((await seller.get('/')).html).toContain('/orders?state=failed"');
    const failed = await read('/orders?state=failed');
    expect(failed).toContain('broken-2');
    expect(failed).not.toContain('large');
  });

  it('let a reader look at orders, and not at shops', async () => {
    const reader = await pagesClient(service, { scope: 'read' });
    const { html } = await reader.get('/orders');
    expect(html).not.toMatch(/\/shops|\/map/);
    for (const path of ['/shops', '/shops/hikashop', '/shops/hikashop/map', '/shops/new'])
      expect((await reader.get(path)).status).toBe(403);
    expect((await reader.post('/shops/hikashop/run')).status).toBe(403);
  });
});
