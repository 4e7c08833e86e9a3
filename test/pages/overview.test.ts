import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { refreshFigures } from '../../src/figures/kept-figures';
import { countAllLicenses, readStatistics, aggregateNewRows } from '../../src/figures/statistics';
import { regenerateUpdateXml } from '../../src/joomla/regenerate-update-xml';
import { table } from '../../src/store/engine/database';
import { acquireOrRenewLease } from '../../src/store/leases';
import { addProduct, editProduct } from '../../src/licensing/catalogue';
import { insertAccesses } from '../../src/store/access-log';
import { recordRefusals } from '../../src/store/refusals';
import { recordReportedSites } from '../../src/store/reported-sites';
import { giveToken, manageClient } from '../support/manage';
import { giveRelease, makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import {
  giveLicense,
  givePlan,
  newPlace,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';
import { formOf, pagesClient, textOf, type PagesClient } from './support/session';

/** The overview and the first steps, over HTTP. */

const NOW = new Date('2026-11-23T07:30:00Z');
const PUBLIC = { LICENSING_PUBLIC_URL: 'https://shop.example' };
const MAIL = { LICENSING_MAIL_URL: 'smtp://127.0.0.1:9?from=shop@shop.example' };
/** The ends of licences, by the day of issue. */
const ENDS: Record<string, string> = { '11-16': '2026-12-05T00:00:00Z', '11-22': '2026-11-22T23:00:00Z' };
const on = (day: string) => new Date(`${day}T06:00:00Z`);

/** Returns the rows of the table with this caption, as texts. */
function tableOf(html: string, caption: string): string[][] {
  const tables = [...html.matchAll(/<table.*?<\/table>/gs)].map(([table]) => table);
  const table = tables.find((one) => /<caption[^>]*>(.*?)<\/caption>/s.exec(one)?.[1]?.startsWith(caption));
  const body = /<tbody.*?<\/tbody>/s.exec(table ?? '')?.[0] ?? '';
  return [...body.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<t[hd].*?<\/t[hd]>/gs)].map(([cell]) => cell.replace(/<[^>]*>/g, '').trim()),
  );
}

/** Returns a figure's value, its note, and its link. */
function figureOf(html: string, title: string): [value: string, note: string, link: string | undefined] {
  const figure = new RegExp(`<dt>${title}</dt><dd>(.*?)</dd>`, 's').exec(html)?.[1] ?? '';
  const [value = '', note = ''] = figure.split('</span>').map((part) => part.replace(/<[^>]*>/g, ''));
  const link = /href="[^"]*\/pages([^"]*)"/.exec(figure)?.[1]?.replaceAll('&amp;', '&');
  return [value, note, link];
}

describe('the overview', () => {
  let service: TestService;
  let seller: PagesClient;
  const xmlDir = temporaryFolder();

  beforeAll(async () => {
    const settings = { ...PUBLIC, ...MAIL, LICENSING_XML_DIR: xmlDir, ...(await newPlace('MariaDB')) };
    service = await startTestService(settings, NOW);
    const { db } = service;
    const planId = await givePlan(db, { limit: 1 }, on('2026-09-01'));
    await addProduct(db, { id: 43, name: 'Form Kit' }, on('2026-09-01'));
    await editProduct(db, 42, { element: 'pkg_shop' });
    // Five in the last 7 days, two in the 7 before, and one before those.
    const days = ['11-23', '11-22', '11-20', '11-18', '11-17', '11-16', '11-10', '10-01'];
    const licenses: TestLicense[] = [];
    for (const day of days) {
      const end = ENDS[day] ?? '2027-03-15T00:00:00Z';
      licenses.push(await giveLicense(db, planId, { expiresAt: new Date(end) }, on(`2026-${day}`)));
    }
    await giveRelease({ ...service, clock: { now: on('2026-11-19') } }, { version: '2.1.0' });
    const activated = await fetch(`${service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: licenses[3]?.key, identifier: 'https://a.example.com' }),
    });
    expect(activated.status).toBe(200);
    const site = { licenseId: licenses[3]!.id, productId: 42, at: on('2026-11-20') };
    await recordReportedSites(db, [
      { ...site, site: 'a.example.com', version: '1.8.3' },
      { ...site, site: 'b.example.com', version: '2.1.0' },
      { ...site, site: 'c.example.com', version: '1.8.3' },
    ]);
    const [suspended, expired, renewed] = licenses as [TestLicense, TestLicense, TestLicense];
    const context = { actor: 'operator:test', now: on('2026-11-21') };
    await renew(db, renewed.id, { for: '1y' }, context);
    await changeState(db, suspended.id, 'suspend', context);
    await access('2026-11-22', expired.id, 'LICENSE_EXPIRED', 4);
    await access('2026-11-21', suspended.id, 'LICENSE_INACTIVE', 1);
    await access('2026-11-13', suspended.id, 'LICENSE_INACTIVE', 2);
    await access('2026-11-22', null, 'LICENSE_NOT_FOUND', 3);
    await access('2026-11-20', renewed.id, 'ok', 6);
    const lease = { name: 'housekeeping', holder: 'test' };
    const later = new Date(Date.now() + 24 * 60 * 60 * 1000);
    expect(await acquireOrRenewLease(db, lease, later)).toBe(true);
    expect(await aggregateNewRows(db, lease, () => later)).toBe(true);
    expect(await countAllLicenses(db, { ...lease }, () => NOW)).toBe(true);
    expect(await refreshFigures(db, lease, () => NOW)).toBe(true);
    seller = await pagesClient(service);
  });
  afterAll(() => service.stop());

  async function access(day: string, licenseId: number | null, outcome: string, times: number) {
    const one = {
      ...{ at: on(day), endpoint: 'download' as const, outcome, licenseId, keyId: null, keyHint: null },
      ...{ productId: 42, version: '2.1.0', identifier: null, ip: '198.51.100.1', userAgent: 'Joomla' },
    };
    await insertAccesses(service.db, [{ ...one, times }]);
    await recordRefusals(service.db, [one]);
  }

  test('shows figures next to the previous ones, and links to what they count', async () => {
    const { html } = await seller.get('/?wait=1');
    expect(textOf(html)).toContain(
      'Monday, 23 November 2026. The last 7 days, compared with the 7 days before.',
    );
    expect(figureOf(html, 'Sold')).toEqual([
      '5',
      '2 in the 7 days before',
      '/licenses?issued_since=2026-11-17',
    ]);
    expect(figureOf(html, 'Renewed')).toEqual(['1', '0 in the 7 days before', undefined]);
    expect(figureOf(html, 'End within 30 days')).toEqual(['1', 'of 6 active', '/licenses?expiring=30d']);
    expect(figureOf(html, 'Licences refused')).toEqual([
      '2',
      '8 requests; 1 in the 7 days before',
      '/licenses?refused=7d',
    ]);
    expect(tableOf(html, 'Refusals of the last 7 days').map((row) => row.slice(0, 3))).toEqual([
      ['Licence expired', '1', '4'],
      ['Unknown or mistyped key', '–', '3'],
      ['Licence suspended, revoked or cancelled', '1', '1'],
    ]);
    expect(html).toContain('/requests?outcome=LICENSE_EXPIRED"');
  });

  test('lists what needs the seller, until nothing does', async () => {
    const { html } = await seller.get('/?wait=1');
    expect(textOf(html)).toContain('2 licences get no updates or no new sites at present.');
    expect(textOf(html)).toContain('1 has expired');
    expect(html).toContain('/licenses?refused=7d"');
    expect(textOf(html)).toContain(
      'Example Shop 2.1.0 is published, but customers’ sites are not offered it.',
    );
    expect(html).toContain('/releases?product_id=42"');
    // The navigation has their number, also on other pages.
    const [, count] = /(\d+) things/.exec(textOf(html)) ?? [];
    const countOf = (page: string) => /<span class="count">(\d+)</.exec(page)?.[1];
    expect([countOf(html), countOf((await seller.get('/licenses')).html)]).toEqual([count, count]);
    await regenerateUpdateXml(service.db, { xmlDir, publicUrl: PUBLIC.LICENSING_PUBLIC_URL }, 42);
    await service.db(table(service.db, 'license_refusals')).delete();
    await giveToken(service.db, 'issue', 'shop');
    const calm = await seller.get('/?wait=1');
    expect(textOf(calm.html)).toContain('Nothing needs you.');
    expect(countOf((await seller.get('/licenses')).html)).toBeUndefined();
  });

  test('has the numbers of its charts in tables, equal to the statistics', async () => {
    const { db } = service;
    const year = await readStatistics(db, { from: '2026-08-26', to: '2026-11-23' }, NOW);
    const { html } = await seller.get('/?days=90');
    expect(textOf(html)).toContain('The last 90 days');
    expect(figureOf(html, 'Sold').slice(0, 2)).toEqual(['8', '0 in the 90 days before']);
    const months = tableOf(html, 'Licences ending by month');
    expect(months.map(([, count]) => count)).toEqual(year.expiring.map(({ count }) => String(count)));
    expect([months[0], months[1], months[4]]).toEqual([
      ['Nov 2026', '0'],
      ['Dec 2026', '1'],
      ['Mar 2027', '4'],
    ]);
    const days = tableOf(html, 'Sites added by day');
    expect(days.map(([, count]) => count)).toEqual(year.days.map(({ activated }) => String(activated)));
    expect([days.length, days.at(-1)?.[0]]).toEqual([90, '23 Nov 2026']);
    expect(tableOf(html, 'Downloads by version')).toEqual([['Example Shop 2.1.0', '', '6']]);
    expect(textOf(html)).toContain('Example Shop 2.1.0 was released on 19 Nov 2026.');
    expect(html.match(/<svg class="chart" [^>]*role="img" aria-labelledby="\w+-says"/g)).toHaveLength(3);
    const trend = tableOf(html, 'Licences sold and renewed by month');
    expect([trend.length, ...trend.slice(-2)]).toEqual([12, ['Oct 2026', '1', '0'], ['Nov 2026', '7', '1']]);
    // Each bar is labelled with its number.
    expect(/<svg class="chart".*?<\/svg>/s.exec(html)?.[0].match(/<text[^>]*>\d+</g)).toEqual([
      expect.stringContaining('>1<'),
      expect.stringContaining('>8<'),
    ]);
  });

  test('shows which version runs, and links to the sites with an old one', async () => {
    const all = await seller.get('/?wait=1');
    expect(tableOf(all.html, 'Sites with the newest version')).toEqual([
      ['Example Shop', '', '1 of 3 on 2.1.0'],
    ]);
    const { html } = await seller.get('/?product_id=42');
    expect(tableOf(html, 'Sites with Example Shop, by version')).toEqual([
      ['2.1.0', '', '1'],
      ['1.8.3', '', '2'],
    ]);
    const [, link] = /href="[^"]*\/pages([^"]*)">1\.8\.3/.exec(html) ?? [];
    const sites = await seller.get(String(link));
    expect(tableOf(sites.html, 'Sites with 1.8.3').map(([site]) => site)).toEqual([
      'c.example.com',
      'a.example.com',
    ]);
  });

  test('has no chart without data, but says what it would show', async () => {
    const { html } = await seller.get('/?product_id=43');
    expect(html).not.toContain('<svg class="chart"');
    for (const text of [
      'Your sales and renewals of twelve months will appear here',
      'The ends of your licences will appear here',
      'The versions that run on your customers’ sites will appear here',
      'The downloads of each version will appear here',
      'The sites added each day will appear here',
    ])
      expect(textOf(html)).toContain(text);
  });

  test('counts one product, and shows a week if the address is invalid', async () => {
    const { html } = await seller.get('/?product_id=43&days=30');
    expect(figureOf(html, 'Sold')).toEqual(['0', '0 in the 30 days before', undefined]);
    expect(figureOf(html, 'Licences refused')[0]).toBe('0');
    expect(textOf(html)).toContain('No request was refused in the last 30 days.');
    expect(textOf(html)).toContain('Nothing was downloaded in 30 days.');
    const own = await seller.get('/?product_id=42');
    expect(figureOf(own.html, 'Licences refused')).toEqual([
      '2',
      '8 requests; 1 in the 7 days before',
      '/licenses?product_id=42&refused=7d',
    ]);
    const odd = await seller.get('/?product_id=7&days=1000000');
    expect(figureOf(odd.html, 'Sold')[0]).toBe('5');
  });

  test('speaks German, and shows the same to an operator who may only read', async () => {
    const { html } = await (await pagesClient(service, { scope: 'read', language: 'de' })).get('/');
    expect(textOf(html)).toContain('Montag, 23. November 2026. Die letzten 7 Tage');
    expect(figureOf(html, 'Verkauft')[0]).toBe('5');
  });
});

describe('the first steps', () => {
  let service: TestService;
  let seller: PagesClient;
  beforeAll(async () => {
    service = await startTestService({ ...PUBLIC, LICENSING_XML_DIR: temporaryFolder() });
    seller = await pagesClient(service);
  });
  afterAll(() => service.stop());

  /** Sends the form of a step, and returns the text of the next page. */
  async function step(name: string, fields: Record<string, string>): Promise<string> {
    const { status, location } = await seller.post(`/start/${name}`, fields);
    expect([status, location]).toEqual([303, '/start']);
    return textOf((await seller.get('/start')).html);
  }

  async function upload(inside: string, version?: string) {
    const { html } = await seller.get('/start');
    const manifest = `<extension type="package"><packagename>gallery</packagename><version>${inside}</version><updateservers><server>https://shop.example/licensing-updates/pkg_gallery.xml</server></updateservers><dlid prefix="dlid="/></extension>`;
    const { path } = await makePackage({ 'pkg_gallery.xml': manifest });
    const form = new FormData();
    if (version !== undefined) form.set('version', version);
    form.set('changelog', 'The first one');
    form.set('file', new Blob([readFileSync(path)], { type: 'application/zip' }), 'pkg_gallery.zip');
    return seller.post(`/start/release?once=${formOf(html, '/start/release').once}`, form);
  }

  test('begin with the package, whose manifest says what product it is', async () => {
    const own = await startTestService({ ...PUBLIC, LICENSING_XML_DIR: temporaryFolder() });
    try {
      const one = await pagesClient(own);
      const send = async (entries: Record<string, string>) => {
        const { html } = await one.get('/start');
        const form = new FormData();
        const { bytes } = await makePackage(entries);
        form.set('file', new Blob([new Uint8Array(bytes)], { type: 'application/zip' }), 'a.zip');
        return one.post(`/start/package?once=${formOf(html, '/start/package').once}`, form);
      };
      const none = await send({ 'readme.txt': 'x' });
      expect([none.status, textOf(none.html)]).toEqual([
        400,
        expect.stringContaining('no manifest of Joomla'),
      ]);
      expect(await rows(own.db, 'products')).toEqual([]);

      const manifest =
        '<extension type="package"><name>Gallery &amp; more</name><packagename>gallery</packagename><version>1.2.0</version></extension>';
      expect(await send({ 'pkg_gallery.xml': manifest })).toMatchObject({ status: 303, location: '/start' });
      expect(await rows(own.db, 'products')).toMatchObject([
        { name: 'Gallery & more', element: 'pkg_gallery' },
      ]);
      const [draft] = await rows<{ id: number }>(own.db, 'releases');
      expect(draft).toMatchObject({ version: '1.2.0', state: 'draft' });
      await one.get('/start');
      const plan = { name: 'Single', activation_type: 'domain', activation_limit: '1', duration: '1y' };
      expect(await one.post('/start/plan', plan)).toMatchObject({ status: 303 });
      const { html } = await one.get('/start');
      expect(html).toContain(`/releases/${draft!.id}/publish`);
      expect(textOf(html)).toContain('Publish 1.2.0…');
    } finally {
      await own.stop();
    }
  });

  test('and the overview name what is missing to sell, and lead there, until nothing is missing', async () => {
    const xmlDir = temporaryFolder();
    const own = await startTestService({ LICENSING_XML_DIR: xmlDir });
    try {
      const { db } = own;
      await addProduct(db, { id: 7, name: 'Gallery', element: 'pkg_gallery' }, NOW);
      const api = manageClient(own.url, (await giveToken(db, 'write', 'admin')).token);
      const plan = {
        product_id: 7,
        name: 'Single',
        activation_type: 'domain',
        activation_limit: 1,
        duration: '1y',
      };
      await api.ok('POST /plans', plan, 201);
      await giveRelease(own, { productId: 7, version: '1.0.0' });
      const one = await pagesClient(own);
      const steps = [
        [
          '/settings/shop',
          'The address of your site is not set.',
          () => one.send('/settings/shop', { public_url: 'https://shop.example', shop_name: 'Acme' }),
        ],
        [
          '/settings/mail',
          'Mail is not set up.',
          () => api.ok('PATCH /settings', { mail_url: MAIL.LICENSING_MAIL_URL, untried: true }),
        ],
        ['/shops', 'No shop is connected.', () => giveToken(db, 'issue', 'shop')],
        [
          '/products/7/edit',
          'Customers of Gallery are not shown where to renew.',
          () => api.ok('PATCH /products/7', { renew_url: 'https://shop.example/gallery' }),
        ],
        [
          '/products/7/edit',
          'Customers of Gallery are not reminded',
          () => api.ok('PATCH /products/7', { reminders: true }),
        ],
      ] as const;
      for (const [i, [path, sentence, mend]] of steps.entries()) {
        for (const page of ['/?wait=1', '/start']) {
          const { html } = await one.get(page);
          const text = textOf(html);
          for (const done of ['Nothing needs you.', 'You can sell']) expect(text).not.toContain(done);
          expect(steps.filter(([, one]) => text.includes(one)).length).toBe(steps.length - i);
          expect(text).toContain(sentence);
          expect(html).toContain(`${path}"`);
        }
        await one.get(path);
        await mend();
        // The saved address is in the update XML, too.
        if (i === 0)
          expect(readFileSync(join(xmlDir, 'pkg_gallery.xml'), 'utf8')).toContain(
            `https://shop.example${PREFIX}/downloads/7`,
          );
      }
      expect(textOf((await one.get('/?wait=1')).html)).toContain('Nothing needs you.');
      expect(textOf((await one.get('/start')).html)).toContain('You can sell');
      expect((await one.get('/system')).html).toMatch(/href="[^"]*\/start"/);
    } finally {
      await own.stop();
    }
  });

  test('lead from nothing to a key that works', async () => {
    const { db } = service;
    expect(await seller.get('/?wait=1')).toMatchObject({ status: 303, location: '/start' });
    const first = await seller.get('/start');
    expect([first.html.includes('/start/product'), first.html.includes('/start/plan"')]).toEqual([
      true,
      false,
    ]);

    const wrong = await seller.post('/start/product', { name: 'Gallery', element: 'pkg gallery' });
    expect(wrong.status).toBe(400);
    expect(wrong.html).toContain('value="pkg gallery"');
    expect(await step('product', { name: 'Gallery', element: 'pkg_gallery' })).toContain(
      'Product: Gallery (done) Element pkg_gallery',
    );
    const plan = { name: 'Single', activation_type: 'domain', activation_limit: '1', duration: '1y' };
    expect(await step('plan', { ...plan, free_staging: '1' })).toContain(
      'Plan: Single (done) 1 slot, 1 year.',
    );
    expect(await rows(db, 'plans')).toMatchObject([
      { name: 'Single', activation_type: 'domain', activation_limit: 1, duration: '1y', free_staging: 1 },
    ]);
    expect(await seller.get('/?wait=1')).toMatchObject({ location: '/start' });

    const other = await upload('2.1.0', '2.1.1');
    expect(other.status).toBe(400);
    expect(textOf(other.html)).toMatch(/2\.1\.0.*2\.1\.1/);
    expect(other.html).toContain('name="file"');
    expect(await rows(db, 'releases')).toEqual([]);
    expect(await upload('2.1.0')).toMatchObject({ status: 303, location: '/start' });
    expect(await rows(db, 'releases')).toMatchObject([
      { version: '2.1.0', state: 'published', changelog: 'The first one' },
    ]);

    const { html } = await seller.get('/start');
    expect(textOf(html)).toContain('Almost ready to sell');
    expect(textOf(html)).toContain(
      'Joomla is offered what is published here: https://shop.example/licensing-updates/pkg_gallery.xml',
    );
    expect(textOf(html)).toContain('<server type="extension" name="Gallery">');
    expect((await seller.get('/?wait=1')).status).toBe(200);

    await seller.get('/start');
    const issued = await seller.post('/start/license', { customer: 'me@example.com' });
    const key = /id="license-key"[^>]* value="([^"]+)"/.exec(issued.html)?.[1];
    expect(textOf(issued.html)).toContain('Paste the key into the field “Download Key”');
    const activated = await fetch(`${service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: key, identifier: 'https://me.example.com' }),
    });
    expect(activated.status).toBe(200);
    expect(await rows(db, 'licenses')).toMatchObject([
      { customer: 'me@example.com', activations_used: 1, activation_limit: 1 },
    ]);
  });

  test('do a step once, however often its form is sent', async () => {
    const { html } = await seller.get('/start');
    const once = formOf(html, '/start/license').once as string;
    const before = (await rows(service.db, 'licenses')).length;
    const pages = [
      await seller.post('/start/license', { once, customer: '' }),
      await seller.post('/start/license', { once, customer: '' }),
    ];
    const keys = pages.map((page) => /id="license-key"[^>]* value="([^"]+)"/.exec(page.html)?.[1]);
    expect(await rows(service.db, 'licenses')).toHaveLength(before + 1);
    expect(keys[0]).toBeDefined();
  });

  test('show no form to an operator who may only read', async () => {
    const reader = await pagesClient(service, { scope: 'read' });
    const { html } = await reader.get('/start');
    expect(textOf(html)).toContain('Plan: Single');
    expect(html).not.toContain('/start/license');
    expect((await reader.post('/start/license', { customer: '' })).status).toBe(403);
    expect(await reader.get('/start/license')).toMatchObject({ status: 303, location: '/start' });
  });
});
