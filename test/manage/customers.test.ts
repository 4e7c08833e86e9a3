import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { customerDigest } from '../../src/store/customer-digest';
import { table } from '../../src/store/engine/database';
import { customerClient, pagesClient, textOf } from '../pages/support/session';
import { IS_WHOLE } from '../support/extent';
import { startMailServer, type MailServer } from '../support/mail-server';
import { startManaged, type Managed } from '../support/manage';
import { operator } from '../support/operator';
import { eventually } from '../support/processes';
import { DATABASE_KINDS, giveLicense, givePlan, newPlace } from '../support/service';
import type { Settings } from '../../src/settings/config';

/** Tests what is stored about a customer in addition to the address, and how a seller changes it. */

const NOW = new Date('2026-11-24T12:00:00Z');

describe.each(DATABASE_KINDS)('a customer, on %s', (kind) => {
  let server: MailServer;
  let service: Managed;
  let settings: Settings;
  let plan: number;
  beforeAll(async () => {
    server = await startMailServer();
    settings = {
      ...(await newPlace(kind)),
      LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
      LICENSING_MAIL_URL: `smtp://127.0.0.1:${server.port}?from=sales@shop.example`,
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8',
    };
    service = await startManaged(settings, NOW);
    plan = await givePlan(service.db, { limit: 3 });
  });
  afterAll(async () => {
    await service.stop();
    await server.stop();
  });

  const to = (address: string) => server.received.filter((mail) => mail.to.includes(address));
  const subjectsTo = (address: string) => to(address).map(({ subject }) => subject);
  const at = (address: string) => `/customers/${customerDigest(address)}`;
  const order = (number: string, customer: object, more: object = {}) =>
    service.issue.ok('POST /orders', {
      ...{ shop: 'own', order: number, event: 'paid', at: NOW.toISOString(), customer },
      ...{ lines: [{ line: '1', plan_id: plan }], ...more },
    });
  const licensesOf = async (address: string) =>
    (await service.read.all(`/licenses?customer=${encodeURIComponent(address)}`)).map(
      ({ id }) => id as number,
    );
  const person = async (address: string) => {
    const { name, language } = await service.read.ok(`GET ${at(address)}`);
    return { name: name as unknown, language: language as unknown };
  };

  it('has the name and language of the latest order, until the seller chooses', async () => {
    const email = 'jo@example.com';
    const later = new Date(NOW.getTime() + 60_000).toISOString();
    await order('1', { email, name: 'Jo', language: 'de' });
    expect(await person(email)).toEqual({ name: 'Jo', language: 'de' });
    await order('2', { email, name: 'Jo Roe', language: 'en' }, { at: later });
    expect(await person(email)).toEqual({ name: 'Jo Roe', language: 'en' });
    // This order arrives later, but is older.
    await order('3', { email, name: 'J', language: 'de' });
    expect(await person(email)).toEqual({ name: 'Jo Roe', language: 'en' });
    await order('4', { email, name: 'Test', language: 'de' }, { at: later, test: true });
    expect(await person(email)).toEqual({ name: 'Jo Roe', language: 'en' });
    const chosen = await service.write.ok(`PATCH ${at(email)}`, { name: 'Dr. Roe', language: 'de' });
    expect(chosen).toEqual({
      ...{ id: customerDigest(email), customer: email, name: 'Dr. Roe', language: 'de' },
      note: null,
      moved: { licenses: 0, orders: 0 },
    });
    await order('5', { email, name: 'Jo', language: 'en' }, { at: later });
    expect(await person(email)).toEqual({ name: 'Dr. Roe', language: 'de' });
    expect(await service.read.all('/customers?q=jo@')).toMatchObject([{ customer: email, name: 'Dr. Roe' }]);
    await service.write.ok(`PATCH ${at(email)}`, { name: null, language: null });
    expect(await person(email)).toEqual({ name: 'Jo', language: 'en' });
    for (const [body, field] of [
      [{ language: 'fr' }, 'language'],
      [{ name: 'a\nb' }, 'name'],
      [{ email: 'nobody' }, 'email'],
    ] as const)
      await service.write.refused(`PATCH ${at(email)}`, body, 'INVALID_REQUEST', field);
    await service.write.refused(`PATCH ${at('x@example.com')}`, { name: 'X' }, 'NOT_FOUND');
    await service.write.refused('PATCH /customers/x@example.com', { name: 'X' }, 'NOT_FOUND');
    await service.read.refused(`PATCH ${at(email)}`, { name: 'X' }, 'FORBIDDEN');
  });

  it('has a note only for the seller, which moves with the address', async () => {
    const [email, other] = ['noted@example.com', 'noted-too@example.com'];
    await giveLicense(service.db, plan, { customer: email });
    const { key } = await giveLicense(service.db, plan, { customer: other });
    const note = 'Pays by invoice.\nCall first.';
    expect(await service.write.ok(`PATCH ${at(email)}`, { note })).toMatchObject({ note, name: null });
    await service.write.ok(`PATCH ${at(other)}`, { note: 'An agency.' });
    for (const wrong of ['n'.repeat(1_001), `the key ${key}`, 'a\u0000b'])
      await service.write.refused(`PATCH ${at(email)}`, { note: wrong }, 'INVALID_REQUEST', 'note');

    const pages = await pagesClient(service);
    const { html } = await pages.get(`/customers/${customerDigest(email)}`);
    expect(html).toContain('Pays by invoice.\nCall first.');
    expect(
      await pages.send(`/customers/${customerDigest(other)}/note`, { note: 'A small agency.' }),
    ).toMatchObject({
      html: expect.stringContaining('A small agency.'),
    });
    const mine = await customerClient(service, { email });
    expect((await mine.get('/my/mail')).html).not.toContain('invoice');

    const joined = await service.write.ok(`PATCH ${at(email)}`, { email: other, join: true });
    expect(joined).toMatchObject({ note: `A small agency.\n${note}` });
    expect(await service.write.ok(`PATCH ${at(other)}`, { note: null })).toMatchObject({ note: null });
  });

  it('gets every mail in the language', async () => {
    const email = 'speaks@example.com';
    const made = await order('10', { email });
    await eventually(() => expect(subjectsTo(email)).toEqual([expect.stringMatching(/^Your/)]));
    await service.write.ok(`PATCH ${at(email)}`, { language: 'de' });
    const [{ id }] = (made.lines as { licenses: [{ id: number }] }[])[0]!.licenses;
    await service.write.ok(`POST /licenses/${id}/mails`, {}, 201);
    await service.write.ok(`POST /orders/${made.id}/mails`, {}, 201);
    await eventually(() => expect(to(email)).toHaveLength(3));
    for (const { text } of to(email).slice(1)) expect(text).toMatch(/Bewahren Sie diese Mail auf/);
  });

  it('has the language of the page on which a link was requested, and of their own page if the browser asks for none', async () => {
    const email = 'linked@example.com';
    await giveLicense(service.db, plan, { customer: email });
    const browser = await pagesClient(service, { scope: 'none', language: 'de' });
    await browser.post('/my/link', { email });
    await eventually(() => expect(to(email)).toHaveLength(1));
    expect(subjectsTo(email)[0]).toMatch(/^Ihre Lizenzen/);
    expect(await person(email)).toEqual({ name: null, language: 'de' });
    const customer = await customerClient(service, { email });
    const read = async (language: string) =>
      textOf((await customer.get('/my/mail', { 'Accept-Language': language })).html);
    expect(await read('en')).toContain('Your licences');
    expect(await read('*')).toContain('Ihre Lizenzen');
    expect(await read('fr')).toContain('Ihre Lizenzen');
  });

  it('is found by name, and shown by name', async () => {
    const email = 'named@example.com';
    await order('20', { email, name: 'Quentin Zed' }, { lines: [{ line: '1', plan_id: plan, quantity: 2 }] });
    const [id] = await licensesOf(email);
    const seller = await pagesClient(service);
    const read = async (path: string) => textOf((await seller.get(path)).html);
    expect(await read(`/licenses/${id}`)).toContain('Quentin Zed');
    expect(await read(at(email))).toContain('Quentin Zed');
    expect(await read('/customers')).toContain('Quentin Zed');
    await service.write.ok(`PATCH ${at(email)}`, { name: 'Xaver Quu' });
    const found = await seller.post('/find', { about: 'xaver' });
    expect(textOf(found.html)).toContain('2 licences');
  });

  it('moves to another address with everything, and both addresses get a mail', async () => {
    const [from, email] = ['old@example.com', 'new@example.org'];
    const url = 'http://127.0.0.1:9/';
    await service.write.ok('POST /webhooks', { url, events: ['license.changed'] }, 201);
    await order('30', { email: from, name: 'Old Roe', language: 'de' });
    await eventually(() => expect(to(from)).toHaveLength(1));
    const own = await giveLicense(service.db, plan, { customer: from });
    const customer = await customerClient(service, { email: from });
    expect((await customer.get('/my/mail')).status).toBe(200);
    const { db } = service;
    const waiting = {
      ...{
        kind: 'mail' as const,
        language: 'de',
        created_at: '2026-11-24 12:00:00',
        next_attempt_at: '2036-11-24 12:00:00',
      },
      ...{ recipient: from, recipient_digest: customerDigest(from), details_json: '{"license_ids":[1]}' },
    };
    await db(table(db, 'outbox')).insert([
      { ...waiting, type: 'order_keys', message_id: 'w1' },
      { ...waiting, type: 'customer_link', message_id: 'w2' },
    ]);
    const changed = await service.write.ok(`PATCH ${at(from)}`, { email: 'New@Example.org' });
    expect(changed).toEqual({
      ...{ id: customerDigest(email), customer: email, name: 'Old Roe', language: 'de' },
      note: null,
      moved: { licenses: 2, orders: 1 },
    });
    expect(await licensesOf(from)).toEqual([]);
    const moved = await licensesOf(email);
    expect(moved).toHaveLength(2);
    for (const id of moved) {
      const events = await service.read.all(`/licenses/${id}/events`);
      expect(events.find(({ action }) => action === 'set-customer')).toMatchObject({
        before: { customer: from },
        after: { customer: email },
      });
    }
    const [license] = (await db(table(db, 'licenses')).where({ id: own.id })) as object[];
    expect(license).toMatchObject({ customer: email, customer_digest: customerDigest(email) });
    await service.read.refused(`GET ${at(from)}`, undefined, 'NOT_FOUND');
    expect(await service.read.all('/orders?order=30')).toMatchObject([{ customer: email }]);
    const left = await db(table(db, 'outbox')).whereIn('message_id', ['w1', 'w2']);
    expect(left).toMatchObject([
      { type: 'order_keys', recipient: email, recipient_digest: customerDigest(email) },
    ]);
    expect((await customer.get('/my/mail')).status).toBe(303);
    await eventually(() => {
      expect(subjectsTo(from).at(-1)).toMatch(/^Ihre Lizenzen bei .* haben jetzt eine andere Adresse/);
      expect(subjectsTo(email)).toEqual([expect.stringMatching(/^Ihre Lizenzen bei .* haben jetzt diese/)]);
    });
    for (const mail of [...to(from), ...to(email)].slice(1))
      expect([mail.text.includes(from), mail.text.includes(email)]).not.toEqual([true, true]);
    const told = await db(table(db, 'outbox')).where({ type: 'license.changed' });
    for (const id of moved) {
      const ofLicense = (told as { details_json: string; license_id: number }[]).filter(
        ({ license_id }) => license_id === id,
      );
      expect(ofLicense).toHaveLength(1);
      expect(JSON.parse(ofLicense[0]!.details_json)).toMatchObject({ license: { customer: email } });
    }
  });

  it('is merged with another customer only after a question', async () => {
    const [from, email] = ['two@example.com', 'one@example.com'];
    await order('40', { email: from, name: 'Two', language: 'de' });
    await order('41', { email, name: 'One' });
    await service.write.refused(`PATCH ${at(from)}`, { email }, 'CONFLICT', 'email');
    expect(await licensesOf(from)).toHaveLength(1);
    const joined = await service.write.ok(`PATCH ${at(from)}`, { email, join: true });
    expect(joined).toMatchObject({ customer: email, name: 'One', language: 'de', moved: { licenses: 1 } });
    expect(await licensesOf(email)).toHaveLength(2);
  });

  it('is changed on a page, which asks that question too', async () => {
    const [from, email] = ['page@example.com', 'taken@example.com'];
    await order('50', { email: from, name: 'Page' });
    await order('51', { email });
    for (const language of ['en', 'de'] as const) {
      const seller = await pagesClient(service, { language });
      const path = `${at(from)}/edit`;
      expect((await seller.get(path)).html).toContain(`value="${from}"`);
      const refused = await seller.post(path, { email, name: '', language: '' });
      expect(refused.status).toBe(409);
      expect(refused.html).toContain('name="join"');
    }
    const seller = await pagesClient(service);
    await seller.get(`${at(from)}/edit`);
    const saved = await seller.post(`${at(from)}/edit`, { email, name: 'Both', language: 'de', join: '1' });
    expect(saved.location).toBe(at(email));
    expect(await person(email)).toEqual({ name: 'Both', language: 'de' });
    expect(await licensesOf(email)).toHaveLength(2);
    const reader = await pagesClient(service, { scope: 'read' });
    expect((await reader.get(`${at(email)}/edit`)).status).toBe(403);
  });

  it('is changed by the command', async () => {
    const [from, email] = ['cli@example.com', 'cli@example.org'];
    await order('60', { email: from });
    await order('61', { email });
    const seller = operator(settings);
    expect(await seller.json(['customer', 'set', from, '--language', 'de', '--name', 'Cli'])).toMatchObject({
      ...{ customer: from, language: 'de', name: 'Cli' },
    });
    expect((await seller.run(['customer', 'show', from])).stdout).toMatch(/^Cli, de\n/);
    const refused = await seller.run(['customer', 'set', from, '--email', email]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain('--join');
    expect(await seller.json(['customer', 'set', from, '--email', email, '--join'])).toMatchObject({
      ...{ customer: email, name: 'Cli', moved: { licenses: 1, orders: 1 } },
    });
    const none = await seller.run(['customer', 'set', email]);
    expect(none.stderr).toContain('--email, --language, --name and --note');
    const back = ['customer', 'set', email, '--language', 'none', '--name', 'none'];
    expect(await seller.json(back)).toMatchObject({ language: null, name: null });
  });

  it('moves a thousand licences in a moment, while other licences are used', async () => {
    const [from, email] = ['many@example.com', 'many@example.org'];
    await order('70', { email: from }, { lines: [{ line: '1', plan_id: plan, quantity: 100 }] });
    const body = { plan_id: plan, customer: from, count: 100 };
    for (let i = 0; i < 9; i++) await service.issue.ok('POST /licenses', body, 201);
    const one = await giveLicense(service.db, plan, { customer: from });
    const started = performance.now();
    const [changed, ...used] = await Promise.all([
      service.write.ok(`PATCH ${at(from)}`, { email }),
      ...Array.from({ length: 20 }, () => service.read.ok(`GET /licenses/${one.id}`)),
    ]);
    const took = performance.now() - started;
    expect(changed.moved).toEqual({ licenses: 1001, orders: 1 });
    expect(used).toHaveLength(20);
    if (IS_WHOLE) expect(took).toBeLessThan(5_000);
    expect(await licensesOf(from)).toEqual([]);
  });

  it('is one customer, whatever is ordered while the address changes', async () => {
    const [from, email] = ['race@example.com', 'race@example.org'];
    await order('80', { email: from });
    await Promise.all([
      service.write.ok(`PATCH ${at(from)}`, { email }),
      ...Array.from({ length: 8 }, (_, i) => order(`81-${i}`, { email: from })),
    ]);
    // Orders after the change belong to a new customer, but an order and its licence always have the same one.
    const { db } = service;
    const rows = await db(`${table(db, 'orders')} as o`)
      .join(`${table(db, 'order_licenses')} as ol`, 'ol.order_id', 'o.id')
      .join(`${table(db, 'licenses')} as l`, 'l.id', 'ol.license_id')
      .where('o.number', 'like', '8%')
      .select<{ ordered: string; owned: string }[]>('o.customer as ordered', 'l.customer as owned');
    expect(rows).toHaveLength(9);
    for (const { ordered, owned } of rows) expect(owned).toBe(ordered);
  });
});
