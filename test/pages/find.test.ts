import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addKey, endKey } from '../../src/licensing/license-keys';
import { queueMail } from '../../src/mail/queue';
import { recordOrder } from '../../src/orders/record';
import { customerDigest } from '../../src/store/customer-digest';
import { table } from '../../src/store/engine/database';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import { eventually } from '../support/processes';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** The search field, the lists of requests and histories, and customers, over HTTP. */

const JOOMLA = 'Mozilla/5.0 Joomla!/5.3.0 Joomla';
const JANE = 'jane@example.com';
const JANES = `/customers/${customerDigest(JANE)}`;

describe.each(ONE_BACKEND)('finding, on %s', (_, settings) => {
  let service: TestService;
  let write: PagesClient;
  let read: PagesClient;
  let jane: { id: number; key: string };
  let second: { id: number; key: string };
  beforeAll(async () => {
    service = await startTestService(await settings(), new Date('2026-11-24T12:00:00Z'));
    const { db, clock } = service;
    const plan = await givePlan(db, { limit: 1 });
    jane = await giveLicense(db, plan, { customer: JANE, reference: '=1+1' }, clock.now);
    second = await giveLicense(db, plan, { customer: JANE }, clock.now);
    const seats = await givePlan(db, { type: 'seat' });
    const other = await giveLicense(db, seats, { customer: 'boss@example.org' }, clock.now);
    await activate(jane.key, 'bakery.example.net');
    await activate(jane.key, 'florist.example.net');
    await activate(second.key, 'bakery.example.net');
    await activate(other.key, JANE);
    await call(`/downloads/42?dlid=${mistyped(jane.key)}`);
    // Entries are written in the background.
    await eventually(async () => expect(await rows(service.db, 'access_log')).toHaveLength(2));
    write = await pagesClient(service);
    read = await pagesClient(service, { scope: 'read' });
  });
  afterAll(() => service.stop());

  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${service.url}${PREFIX}${path}`, {
      ...init,
      headers: { 'User-Agent': JOOMLA, 'Content-Type': 'application/json' },
    });
  const activate = (key: string, identifier: string) =>
    call('/licenses/activate', {
      method: 'POST',
      body: JSON.stringify({ license_key: key, identifier }),
    });
  const find = (about: string, client = read) => client.post('/find', { about });

  it('opens the licence of a key, and no address and no log line contains the key', async () => {
    for (const text of [jane.key, ` ${jane.key.toLowerCase()} `, `id:${jane.id}`])
      expect(await find(text)).toMatchObject({ status: 303, location: `/licenses/${jane.id}` });
    const log = service.logLines.join('\n').toUpperCase();
    expect(log).toContain('"PAGES"');
    expect(log).not.toContain(jane.key);
    expect(log).not.toContain(jane.key.slice(0, 17));
  });

  it('shows that a key has ended, or is a further key of its licence', async () => {
    const { db, clock } = service;
    const context = { actor: 'operator:test', now: clock.now };
    const { key, stored } = await addKey(db, second.id, { label: 'Client' }, undefined, context);
    expect(await find(key)).toMatchObject({ location: `/licenses/${second.id}?key=${stored.id}` });
    expect(textOf((await read.get('/customers')).html)).toContain('is another key of this licence.');
    await endKey(db, second.id, stored.id, { free: false }, context);
    await find(key);
    expect(textOf((await read.get('/customers')).html)).toContain('It has ended.');
  });

  it('finds a key by its beginning and by its label', async () => {
    const { db, clock } = service;
    const context = { actor: 'operator:test', now: clock.now };
    const { key } = await addKey(db, second.id, { label: 'Blumen Müller' }, undefined, context);
    const to = `/licenses/${second.id}`;
    for (const begun of [key.slice(0, 8), key.slice(0, 20), key.slice(0, 27).toLowerCase()])
      expect((await find(begun)).location).toBe(to);
    expect((await find('blumen mü')).location).toBe(to);
    const begun = await db(table(db, 'license_keys')).where({ label: 'Blumen Müller' }).first<{
      key_start: string;
    }>();
    expect(key.startsWith(begun.key_start)).toBe(true);
    expect(begun.key_start).toHaveLength(6);
    expect((await find('Blumenhandlung')).status).toBe(200);
  });

  it('lists several licences, each with the reason why it was found', async () => {
    const site = await find('bakery.example.net');
    expect(site.status).toBe(200);
    expect(textOf(site.html)).toContain('bakery.example.net: 2 licences');
    expect(textOf(site.html)).toContain('Found as: activated site.');
    expect(site.html).toContain('value="bakery.example.net"');
    const email = await find(JANE);
    expect(textOf(email.html)).toContain('Found as: customer.');
    expect(email.html).toContain(`${JANES}"`);
    expectNoAddressInLinks(email.html);
  });

  it('shows which licence a mistyped key is close to, and repeats only the end of the key', async () => {
    const typed = mistyped(jane.key);
    const { status, html } = await find(typed);
    const text = textOf(html);
    expect(status).toBe(200);
    expect(text).toContain('No licence has this key');
    expect(text).toContain(`differs from licence ${jane.id}'s in one character`);
    expect(text).toContain('Joomla 5.3.0');
    expect(text).toContain('has a typing mistake');
    expect(html).toContain(`/licenses/${jane.id}"`);
    expect(html.toUpperCase()).not.toContain(typed);
    expect(html).not.toContain(typed.slice(0, 8));
    expect(html).not.toContain('Mozilla');
  });

  it('shows the refusals of an IP address and of a site', async () => {
    const address = textOf((await find('127.0.0.1')).html);
    expect(address).toContain('Adding florist.example.net refused: the one slot');
    expect(address).toContain('Update refused: the key is unknown');
    expect(await find('florist.example.net')).toMatchObject({ location: `/licenses/${jane.id}` });
    expect(
      await find('Hello, since today www.florist.example.net. says "Error connecting to the server: 403".'),
    ).toMatchObject({ location: `/licenses/${jane.id}` });
    expect(textOf((await find('nobody.example.org')).html)).toContain(
      'Nothing was found for “nobody.example.org”',
    );
    const german = await pagesClient(service, { scope: 'read', language: 'de' });
    expect(textOf((await find('127.0.0.1', german)).html)).toContain(
      'Hinzufügen von florist.example.net abgelehnt',
    );
  });

  it('refuses an empty search, and a long one without repeating it', async () => {
    expect(await find('  ')).toMatchObject({ status: 400 });
    const long = await find('X'.repeat(2_000));
    expect(long.status).toBe(400);
    expect(long.html).not.toContain('XXXX');
    expect(textOf((await read.get('/find')).html)).toContain('IP address');
  });

  it('lists requests with the filters of the API, and as CSV without the client’s own words', async () => {
    const all = await read.get('/requests');
    expect(textOf(all.html)).toContain('Newest first. 2 shown.');
    expect(all.html).not.toContain('Mozilla');
    const full = await read.get('/requests?outcome=ACTIVATION_LIMIT_REACHED&product_id=');
    expect(textOf(full.html)).toContain('Newest first. 1 shown.');
    for (const query of [
      'outcome=ok',
      'product_id=99',
      'ip=192.0.2.1',
      'since=2027-01-01',
      'since=x',
      'hint=zz',
    ])
      expect(textOf((await read.get(`/requests?${query}`)).html)).toContain('No request matches.');
    expect(textOf((await read.get(`/licenses/${jane.id}/requests`)).html)).toContain(
      'Newest first. 1 shown.',
    );
    expect((await read.get('/licenses/99/requests')).status).toBe(404);
    const csv = await read.get('/requests.csv?ip=127.0.0.1');
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.html.trim().split('\r\n')).toHaveLength(3);
    expect(csv.html).toContain(',"5.3.0"');
    expect(csv.html).not.toContain('Mozilla');
  });

  it('lists a licence’s history in sentences, and as CSV in which nothing is a formula', async () => {
    const { html } = await read.get(`/licenses/${jane.id}/history`);
    expect(textOf(html)).toContain('Site added: bakery.example.net');
    const csv = await read.get(`/licenses/${jane.id}/history.csv`);
    expect(csv.html.split('\r\n')[1]).toContain('activate');
  });

  it('lists customers by an id that does not reveal their address', async () => {
    const list = await read.get('/customers');
    expect(textOf(list.html)).toContain('E-mails A to Z. 2 shown.');
    expectNoAddressInLinks(list.html);
    expect(textOf((await read.get('/customers?q=JA')).html)).toContain('E-mails A to Z. 1 shown.');
    expect(textOf((await read.get('/customers?q=x')).html)).toContain('Clear the filters');
    const formula = await giveLicense(service.db, await givePlan(service.db), { customer: '+a@example.com' });
    const csv = await read.get('/customers.csv');
    expect(csv.html).toContain(`\r\n"${customerDigest('+a@example.com')}","'+a@example.com",1,`);
    expect(formula.id).toBeGreaterThan(0);
  });

  it('shows a customer by their id and not by their address, with their places on others’ licences', async () => {
    const { html } = await write.get(JANES);
    expect(textOf(html)).toContain('Slots of other customers’ licences');
    expect(html).toContain(`${JANES}/erase"`);
    expectNoAddressInLinks(html);
    expect((await read.get(JANES)).html).not.toContain('/erase"');
    expect((await read.get(`${JANES}/erase`)).status).toBe(403);
    expect((await read.post(`${JANES}/erase`, { confirm: JANE })).status).toBe(403);
    for (const path of [`/customers/${JANE}`, `/customers/${customerDigest('x@example.com')}`])
      expect((await read.get(path)).status).toBe(404);
  });

  it('shows the newest ten entries of a customer’s history, and all of them on request', async () => {
    const { db, clock } = service;
    const plan = await givePlan(db, { limit: 0 });
    const customer = 'nina@example.com';
    const given = await giveLicense(db, plan, { customer }, clock.now);
    for (let i = 1; i <= 12; i++) {
      clock.now = new Date(clock.now.getTime() + 60_000);
      expect((await activate(given.key, `site-${i}.example.org`)).status).toBe(200);
    }
    const path = `/customers/${customerDigest(customer)}`;
    const sites = (html: string) =>
      [...html.matchAll(/added: (site-\d+)\.example\.org/g)].map(([, site]) => site);
    const newestFirst = Array.from({ length: 12 }, (__, i) => `site-${12 - i}`);
    const { html } = await read.get(path);
    expect(sites(html)).toEqual(newestFirst.slice(0, 10));
    expect(html).toMatch(new RegExp(`href="[^"]*${path}\\?history=all#h-history">All 13 entries<`));
    const whole = await read.get(`${path}?history=all`);
    expect(sites(whole.html)).toEqual(newestFirst);
    expect(textOf(whole.html)).not.toContain('All 13 entries');
    expectNoAddressInLinks(whole.html);
    expect((await write.get(`/answer?customer=${customerDigest(customer)}`)).html).toContain(customer);
  });

  it('exports the stored data as a file', async () => {
    const { headers, html } = await read.get(`${JANES}/export`);
    expect(headers.get('content-disposition')).toMatch(
      /^attachment; filename="customer-[0-9a-f]{12}\.json"$/,
    );
    const data = JSON.parse(html) as {
      customer: string;
      licenses: { id: number }[];
      mentions: Record<string, unknown[]>;
    };
    expect(data.customer).toBe(JANE);
    expect(data.licenses.map(({ id }) => id)).toEqual([jane.id, second.id]);
    expect(data.mentions.activation).toHaveLength(1);
  });

  it('erases a customer after their e-mail is typed and a recent sign-in, and shows the amount before', async () => {
    const text = textOf((await write.get(`${JANES}/erase`)).html);
    expect(text).toContain(`Erase the data of ${JANE}?`);
    expect(text).toContain('2 licences continue to work without a name.');
    expect(text).toContain('1 request and');
    const wrong = await write.post(`${JANES}/erase`, { confirm: 'john@example.com' });
    expect(wrong.status).toBe(400);
    expect(textOf(wrong.html)).toContain('This is not the e-mail of this customer.');
    expect(JSON.stringify(await rows(service.db, 'licenses'))).toContain(JANE);

    service.clock.now = new Date(service.clock.now.getTime() + 25 * 60_000);
    await write.get('/customers');
    service.clock.now = new Date(service.clock.now.getTime() + 25 * 60_000);
    await write.get('/customers');
    service.clock.now = new Date(service.clock.now.getTime() + 25 * 60_000);
    const asked = await write.post(`${JANES}/erase`, { confirm: JANE });
    expect([asked.status, asked.html.includes('name="sign_in_again"')]).toEqual([403, true]);

    const again = await pagesClient(service);
    await again.get(`${JANES}/erase`);
    const done = await again.send(`${JANES}/erase`, { confirm: ' Jane@Example.com ' });
    expect(textOf(done.html)).toContain('The customer’s data are erased.');
    for (const name of ['licenses', 'activations', 'events', 'access_log'] as const)
      expect(JSON.stringify(await rows(service.db, name))).not.toContain(JANE);
    const [first] = await rows<{ ip: string | null; license_id: number }>(service.db, 'access_log');
    expect(first).toMatchObject({ license_id: jane.id, ip: null });
    expect((await again.get(JANES)).status).toBe(404);
    expect(service.logLines.join('\n')).not.toContain(JANE);
  });

  it('finds the licence of an order by its customer’s name, or the beginning of it', async () => {
    const { now } = service.clock;
    const reader = await pagesClient(service, { scope: 'read' });
    const [plan] = await rows<{ id: number }>(service.db, 'plans');
    const bought = {
      shop: 'own',
      order: 'A-77',
      event: 'paid',
      at: now,
      lines: [{ line: '1', planId: plan!.id }],
    } as const;
    const customer = { email: 'petra@example.com', name: 'Petra Müller' };
    const context = { actor: 'token:shop', now, secret: undefined, graceDays: 3 };
    const poster = { owner: 'shop', ownOnly: true };
    await recordOrder(service.db, { ...bought, lines: [...bought.lines], customer }, poster, context);
    for (const about of ['Petra Müller', 'Petra Mü']) {
      const { status, location, html } = await find(about, reader);
      const shown = status === 303 ? await reader.get(location ?? '') : { html };
      expect([about, textOf(shown.html)]).toEqual([about, expect.stringContaining('A-77')]);
    }
  });

  it('shows that a link for an unknown address is not sent', async () => {
    const context = { now: service.clock.now, language: 'en' } as const;
    await queueMail(service.db, { type: 'customer_link', email: 'nobody@example.com' }, context);
    const reader = await pagesClient(service, { scope: 'read' });
    const shown = textOf((await reader.get('/mails')).html);
    expect(shown).toContain('no customer has this address: not sent');
    expect(shown).not.toContain('nobody@example.com');
  });
});

/** Returns the key with another character before the last one. */
function mistyped(key: string): string {
  return `${key.slice(0, -2)}${key.at(-2) === 'A' ? 'B' : 'A'}${key.at(-1)}`;
}

function expectNoAddressInLinks(html: string): void {
  const addresses = [...html.matchAll(/(?:href|action)="([^"]*)"/g)].map(([, address = '']) => address);
  expect(addresses.filter((address) => /@|%40/.test(address))).toEqual([]);
}
