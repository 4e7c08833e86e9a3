import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aggregateNewRows } from '../../src/figures/statistics';
import { refreshFigures } from '../../src/figures/kept-figures';
import { createSiteRecorder } from '../../src/licensing/spreading';
import type { Settings } from '../../src/settings/config';
import type { Access } from '../../src/store/access-log';
import { openDatabase, table, type Db } from '../../src/store/engine/database';
import { acquireOrRenewLease } from '../../src/store/leases';
import { NOW, startManaged, type Managed, type Thing } from '../support/manage';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { DATABASE_KINDS, newPlace, testConfig, USUAL_TIMEOUTS } from '../support/service';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** The overview leads to exactly the objects that it counts, and their pages state the same. */

const DAY_MS = 24 * 60 * 60 * 1000;

async function sumAll(db: Db): Promise<void> {
  const lease = { name: 'housekeeping', holder: 'test' };
  // By then, the lease of the service has expired.
  const later = new Date(Date.now() + DAY_MS);
  await acquireOrRenewLease(db, lease, later);
  expect(await aggregateNewRows(db, lease, () => later)).toBe(true);
  expect(await refreshFigures(db, lease, () => NOW)).toBe(true);
}

describe.each(DATABASE_KINDS)('the overview, on %s', (kind) => {
  let settings: Settings;
  let service: Managed;
  let pages: PagesClient;
  let german: PagesClient;
  let plan: number;
  beforeAll(async () => {
    settings = { ...(await newPlace(kind)), LICENSING_PUBLIC_URL: 'https://shop.example' };
    service = await startManaged(settings, NOW);
    const { id: product_id } = await service.write.ok('POST /products', { name: 'Shop' }, 201);
    const body = {
      ...{ product_id: product_id as number, name: 'One', activation_type: 'domain' },
      ...{ activation_limit: 1, duration: '1y' },
    };
    plan = (await service.write.ok('POST /plans', body, 201)).id as number;
    await giveRelease(service, { productId: product_id as number, version: '1.0.0' });
    [pages, german] = [await pagesClient(service), await pagesClient(service, { language: 'de' })];
  });
  afterAll(() => service.stop());

  const issue = (customer: string) =>
    service.write.ok('POST /licenses', { plan_id: plan, customer }, 201).then(({ id }) => id as number);
  let number = 0;
  const post = (order: string, event: string, more: object = {}) =>
    service.issue.ok('POST /orders', {
      ...{ shop: 'acme', order, event, event_id: `e${++number}`, at: NOW.toISOString() },
      ...more,
    });
  /** Sells a licence. @returns its id */
  const buy = async (order: string): Promise<number> => {
    const customer = { email: `${order}@example.com` };
    const { lines } = await post(order, 'paid', { customer, lines: [{ line: '1', plan_id: plan }] });
    const [line] = lines as { licenses: { id: number }[] }[];
    return line!.licenses[0]!.id;
  };
  const linkOf = (html: string, text: string) =>
    new RegExp(`href="[^"]*/pages([^"]*)">${text}<`).exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';

  it('leads from the number sold to exactly these licences: by page, CSV, API and command', async () => {
    service.clock.now = new Date(NOW.getTime() - 20 * DAY_MS);
    const before = await issue('before@example.com');
    service.clock.now = NOW;
    const sold = [await issue('a@example.com'), await issue('b@example.com'), await issue('c@example.com')];
    // The list leaves out imported licences, which another shop sold.
    const file = `reference,plan,customer\nold-1,${plan},imported@example.com\n`;
    await service.write.send('POST /imports', { body: file, headers: { 'Content-Type': 'text/csv' } });
    await sumAll(service.db);

    const { html } = await pages.get('/?wait=1');
    expect(/<dt>Sold<\/dt>.*?>(\d+)</s.exec(html)?.[1]).toBe('3');
    const link = linkOf(html, '3');
    expect(link).toBe('/licenses?issued_since=2026-11-18');
    const list = await pages.get(link);
    for (const customer of ['a@', 'b@', 'c@']) expect(list.html).toContain(`>${customer}example.com<`);
    for (const customer of ['before@', 'imported@']) expect(list.html).not.toContain(customer);
    expect(textOf(list.html)).toContain('Sold since: 18 Nov 2026');
    const csv = (await pages.get(link.replace('?', '.csv?'))).html;
    expect(csv.trim().split('\r\n')).toHaveLength(4);
    for (const sort of ['', '&sort=customer', '&sort=-expires_at', '&sort=id']) {
      const listed = await service.read.all(`/licenses?issued_since=2026-11-18${sort}`, 2);
      expect([sort, listed.map(({ id }) => id as number).sort((a, b) => a - b)]).toEqual([sort, sold]);
    }
    const older = (await service.read.all('/licenses?issued_since=2026-01-01')).map(({ id }) => id as number);
    expect(older).toContain(before);
    await service.read.refused('GET /licenses?issued_since=x', undefined, 'INVALID_REQUEST', 'issued_since');
    const { json } = operator(settings);
    const told = await json<Thing[]>(['license', 'list', '--issued-since', '2026-11-18']);
    expect(told.map(({ id }) => id as number)).toEqual(sold);
  });

  it('names a dispute that suspends a licence, as does the answer to its customer', async () => {
    const [refunded, disputed, won] = [await buy('r1'), await buy('d1'), await buy('w1')];
    await post('r1', 'refunded');
    await post('d1', 'charged_back');
    await post('w1', 'charged_back');
    await post('w1', 'chargeback_reversed', { at: new Date(NOW.getTime() + 1_000).toISOString() });
    for (const [client, sentence] of [
      [pages, '1 licence is suspended, because its payment was charged back.'],
      [german, '1 Lizenz ist ausgesetzt, weil ihre Zahlung zurückgebucht wurde.'],
    ] as const) {
      const { html } = await client.get('/?wait=1');
      expect(textOf(html)).toContain(sentence);
      const list = await client.get('/licenses?suspended_by=charged_back');
      expect(html).toContain('/licenses?suspended_by=charged_back"');
      expect(list.html).toContain(`/licenses/${disputed}"`);
      for (const id of [refunded, won]) expect(list.html).not.toContain(`/licenses/${id}"`);
    }
    const listed = await service.read.all('/licenses?suspended_by=refunded');
    expect(listed.map(({ id }) => id as number)).toEqual([refunded]);
    await service.read.refused('GET /licenses?suspended_by=x', undefined, 'INVALID_REQUEST', 'suspended_by');

    const shown = textOf((await pages.get(`/licenses/${disputed}`)).html);
    expect(shown).toContain('order d1 of acme: charged back');
    expect(shown).not.toMatch(/charged_back|shop:acme/);
    expect(textOf((await german.get(`/licenses/${disputed}`)).html)).toContain(
      'Bestellung d1 von acme: zurückgebucht',
    );
    const answers: [number, 'en' | 'de', RegExp, RegExp][] = [
      [disputed, 'en', /because its payment was charged back\..*settle what is open/s, /A new order/],
      [refunded, 'en', /because its payment was refunded\..*A new order gets a new key/s, /settle/],
      [disputed, 'de', /weil ihre Zahlung zurückgebucht wurde\..*offenen Punkt klären/s, /Eine neue/],
      [refunded, 'de', /weil ihre Zahlung erstattet wurde\..*Eine neue Bestellung/s, /offenen Punkt/],
    ];
    for (const [id, language, says, saysNot] of answers) {
      const { body } = await service.read.ok(`GET /licenses/${id}/answer?language=${language}`);
      expect(body).toMatch(says);
      expect(body).not.toMatch(saysNot);
    }
    await service.write.ok(`POST /licenses/${disputed}/revoke`, {});
    expect(textOf((await pages.get('/?wait=1')).html)).not.toContain('charged back');
  });

  it('states the same as a licence’s page about a key in many hands, and offers no slots', async () => {
    const { db } = service;
    const id = await issue('shared@example.com');
    await service.write.ok(`PATCH /licenses/${id}`, { activation_limit: 2 });
    for (const identifier of ['one.example', 'two.example'])
      await service.write.ok(`POST /licenses/${id}/activations`, { identifier }, 201);
    const [key] = (await db(table(db, 'license_keys')).where({ license_id: id }).pluck('id')) as [number];
    const full = `/licenses/${id}/slots?slots=3`;
    expect((await pages.get(`/licenses/${id}`)).html).toContain(full);
    const download = (n: number): Access => ({
      ...{ at: NOW, endpoint: 'download', outcome: 'ok', licenseId: id, keyId: key, keyHint: null },
      ...{ productId: 42, version: null, identifier: null, ip: `198.51.${n}.1`, userAgent: null, site: null },
      installedVersion: null,
    });
    await createSiteRecorder(db, 3)(Array.from({ length: 28 }, (_, n) => download(n)));
    expect(textOf((await pages.get('/?wait=1')).html)).toContain('1 key is probably shared.');
    for (const [client, says] of [
      [pages, /The key that ends in \w{8} is probably shared: it was used in 28 networks within 30 days/],
      [german, /Der Schlüssel mit dem Ende \w{8} wird vermutlich geteilt: Er wurde in 30 Tagen in 28 Netzen/],
    ] as const) {
      const { html } = await client.get(`/licenses/${id}`);
      expect(textOf(html)).toMatch(says);
      expect(html).toContain(`/licenses/${id}/keys/${key}/new?overlap=14d"`);
      expect(html).not.toContain(full);
    }
    const { findings } = await service.read.ok('POST /why', { about: `id:${id}` });
    const found = findings as { code: string; action: { type: string } | null }[];
    expect(found.map(({ code, action }) => [code, action?.type ?? null])).toEqual([
      ['ACTIVE', null],
      ['SLOTS_FULL', null],
      ['KEY_SHARED', 'rekey'],
      ['NOTHING_RECORDED', null],
    ]);
    const { stdout } = await operator(settings).run(['why', `id:${id}`]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`licensing license rekey ${id} --key-id ${key}`);
    expect(stdout).not.toContain('set-limit');
  });

  it('states the same as the page of a shop about its orders', async () => {
    const lines = [{ line: '1', sku: 'unknown', quantity: 1 }];
    await post('u1', 'paid', { customer: { email: 'u@example.com' }, lines });
    const sentence = '1 order is paid and has no licence yet.';
    for (const path of ['/?wait=1', '/shops/acme']) {
      const { html } = await pages.get(path);
      expect([path, textOf(html)]).toEqual([path, expect.stringContaining(sentence)]);
    }
    expect((await pages.get('/shops/acme')).html).toContain('/orders?shop=acme&amp;state=waiting"');
  });
});

describe('figures that take longer than a moment', () => {
  it('are shown as last counted, with their time, and never as not counted', async () => {
    const settings = { ...(await newPlace('MariaDB')), ...USUAL_TIMEOUTS };
    const service = await startManaged(settings, NOW);
    const { database, tablePrefix } = testConfig(settings);
    const other = openDatabase(database, tablePrefix, 1);
    try {
      const { id: product_id } = await service.write.ok('POST /products', { name: 'Shop' }, 201);
      const body = {
        ...{ product_id: product_id as number, name: 'One', activation_type: 'domain' },
        ...{ activation_limit: 1, duration: '1y' },
      };
      const plan = (await service.write.ok('POST /plans', body, 201)).id as number;
      await giveRelease(service, { productId: product_id as number, version: '1.0.0' });
      const give = (expires_at: string) =>
        service.write.ok('POST /licenses', { plan_id: plan, customer: 'a@example.com', expires_at }, 201);
      await give('2026-12-01');
      const pages = await pagesClient(service);
      const german = await pagesClient(service, { language: 'de' });
      const ending = (html: string) => /<dt>(?:End within|Laufen in) 30.*?>(\d+|–)</s.exec(html)?.[1];
      for (const client of [pages, german]) {
        const { html } = await client.get('/');
        expect([ending(html), textOf(html)]).toEqual(['1', expect.not.stringMatching(/counted|berechnet/)]);
      }
      await give('2026-12-02');
      service.clock.now = new Date(NOW.getTime() + 60_000);
      // The figures of refusals wait for the lock, and the others do not.
      await other.raw(`LOCK TABLES ${table(other, 'refused_counts')} WRITE`);
      const { html: late } = await pages.get('/');
      expect(textOf(late)).toContain('Some figures are still being calculated. As of today, 12:00.');
      expect(textOf(late)).not.toContain('Still being calculated.');
      expect(ending(late)).toBe('2');
      expect(textOf((await german.get('/')).html)).toContain(
        'Einige Zahlen werden noch berechnet. Stand: heute 12:00.',
      );
      await other.raw('UNLOCK TABLES');
      expect(textOf((await pages.get('/?wait=1')).html)).not.toContain('being calculated');
    } finally {
      await other.destroy();
      await service.stop();
    }
  });
});
