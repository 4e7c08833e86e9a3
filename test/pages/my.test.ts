import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createAuthenticator } from '../../src/access/authenticate';
import type { CustomerLink, OperatorLink } from '../../src/access/link-requests';
import { createCode, CUSTOMER_CODE_TTL_MS } from '../../src/access/one-time-codes';
import { packageRoot, readConfig } from '../../src/settings/config';
import { createApp } from '../../src/http/app';
import { createAddressReader } from '../../src/http/client-address';
import { createMemoryLimiter, FIXED_LIMITS, type Limiter } from '../../src/http/limits/rate-limit';
import { editProduct } from '../../src/licensing/catalogue';
import { readPerson } from '../../src/mail/customer-profile';
import { letterheadOf } from '../../src/mail/compose';
import { changeState } from '../../src/licensing/lifecycle';
import { createLicensing, type Licensing } from '../../src/licensing/licensing';
import type { ChangeMail } from '../../src/selfservice/changes';
import { giveRelease } from '../support/packages';
import {
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** The customer's pages (docs/customers.md), over HTTP. */

const NOW = new Date('2026-11-24T12:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;
const days = (count: number) => new Date(NOW.getTime() + count * DAY_MS);
const STUDIO = 'studio@example.net';
const OTHER = 'other@example.net';
const LIMITS = {
  limits: {
    ...FIXED_LIMITS,
    api: 1_000,
    download: 1_000,
    manage: 1_000,
    manage_failures: 1_000,
    pages: 10_000,
    my_sessions: 1_000,
  },
  window: 60,
};

interface Shown {
  status: number;
  headers: Headers;
  bytes: Buffer;
  html: string;
  /** The target of a redirect, below `pages`. */
  location: string | undefined;
}

describe('the customer’s pages', () => {
  let service: TestService;
  let licensing: Licensing;
  let url: string;
  let stop: () => Promise<unknown>;
  let plan: number;
  let bytes: Buffer;
  const limits: { limiter: Limiter } = { limiter: createMemoryLimiter(LIMITS) };
  const mails: (CustomerLink | OperatorLink | ChangeMail)[] = [];

  beforeAll(async () => {
    service = await startTestService({}, NOW);
    const { db, packagesDir } = service;
    const config = readConfig(
      { LICENSING_ENV_FILE: '/dev/null' },
      {
        LICENSING_DATABASE_URL: 'sqlite:unused',
        LICENSING_PACKAGES_DIR: packagesDir,
        LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
        LICENSING_SHOP_NAME: 'Acme & Sons',
      },
    );
    const now = () => service.clock.now;
    const queue = (_: unknown, mail: CustomerLink | OperatorLink | ChangeMail) =>
      Promise.resolve(mails.push(mail));
    const settings = {
      ...config,
      mailing: undefined,
      letterhead: letterheadOf(config),
      updateXml: config,
      programFolder: packageRoot,
      examine: () => Promise.resolve([]),
      config,
      refresh: () => Promise.resolve(),
      mailGainsNoRights: () => Promise.resolve(false),
    };
    const downloads = { packagesDir, accelLocation: undefined };
    licensing = createLicensing(db, now, () => undefined);
    const app = createApp({
      ...{ licensing, downloads, log: pino({ level: 'silent' }) },
      limiter: Object.assign((...counted: Parameters<Limiter>) => limits.limiter(...counted), {
        downloads: limits.limiter.downloads,
        downloadLimit: limits.limiter.downloadLimit,
      }),
      clientAddress: createAddressReader([]),
      operator: { authenticate: createAuthenticator({ ...config, db, now }), settings },
      pages: {
        db,
        settings: {
          ...settings,
          version: '1.0.0',
          downloads,
          askForXml: () => Promise.resolve(undefined),
          queueMail: queue,
        },
        assetsFolder: join(__dirname, '../../dist/pages'),
      },
    });
    const server = createServer(app.callback() as RequestListener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    stop = async () => {
      await licensing.accessLog.flush();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service.stop();
    };
    plan = await givePlan(db, { limit: 25, selfServiceMoves: 1 }, NOW);
    const links = { renewUrl: 'https://shop.example/renew', supportUrl: 'https://shop.example/help' };
    await editProduct(db, 42, links);
    await giveRelease(service, { version: '2.0.9', date: days(-52), changelog: '- No flicker on load.' });
    const changelog = '<script>alert(1)</script>';
    ({ bytes } = await giveRelease(service, { version: '2.1.0', date: days(-4), changelog }));
  });
  afterAll(() => stop());
  beforeEach(() => {
    mails.length = 0;
    service.clock.now = NOW;
  });

  const issue = (customer = STUDIO, terms: { expiresAt?: Date | null; reference?: string } = {}) =>
    giveLicense(service.db, plan, { customer, ...terms }, NOW);

  const activate = async ({ key }: TestLicense, ...sites: string[]) => {
    for (const identifier of sites) {
      const body = JSON.stringify({ license_key: key, identifier, name: '<b>Smith</b>' });
      const headers = { 'Content-Type': 'application/json' };
      const { status } = await fetch(`${url}${PREFIX}/licenses/activate`, { method: 'POST', headers, body });
      expect(status).toBe(200);
    }
  };

  /** Makes a browser with its own cookies. */
  function browser() {
    const cookies = new Map<string, string>();
    async function open(path: string, init: RequestInit, more: Record<string, string>): Promise<Shown> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = { 'Accept-Language': 'en', Cookie: cookie, ...more };
      const answer = await fetch(`${url}${PREFIX}/pages${path}`, { ...init, redirect: 'manual', headers });
      for (const one of answer.headers.getSetCookie()) {
        const [name = '', value = ''] = one.split(';')[0]!.split('=');
        cookies.set(name, value);
      }
      const read = Buffer.from(await answer.arrayBuffer());
      const location = answer.headers.get('location')?.replace(/^.*\/pages/, '');
      return { status: answer.status, headers: answer.headers, bytes: read, html: String(read), location };
    }
    const get = (path: string, more = {}) => open(path, {}, more);
    const post = (path: string, fields: Record<string, string | number> = {}, more = {}) => {
      const body = new URLSearchParams(
        Object.entries(fields).map(([name, value]) => [name, String(value)] as [string, string]),
      );
      return open(path, { method: 'POST', body }, { Origin: url, ...more });
    };
    return { cookies, get, post };
  }

  const newCode = (email: string) =>
    createCode(service.db, { kind: 'customer', email }, CUSTOMER_CODE_TTL_MS, service.clock.now);

  async function byKey({ key }: Pick<TestLicense, 'key'>) {
    const customer = browser();
    expect((await customer.post('/my', { key })).location).toBe('/my');
    return customer;
  }
  async function byMail(email = STUDIO) {
    const customer = browser();
    const entered = await customer.post(`/my/enter/${await newCode(email)}`);
    expect(entered.location).toBe('/my/mail');
    return customer;
  }
  /** Returns the id in the first address of a page that matches. */
  const idIn = (html: string, address: RegExp) => Number(address.exec(html)?.[1]);
  const siteIdOf = async (site: string) =>
    (await rows<{ id: number; identifier: string }>(service.db, 'activations')).find(
      ({ identifier }) => identifier === site,
    )!.id;

  describe('with the key', () => {
    it('shows the state of the licence, and no site, address, order or IP address', async () => {
      const license = await issue(STUDIO, { reference: 'order-4711', expiresAt: days(100) });
      await activate(license, 'secret-site.example');
      const customer = await byKey(license);
      const { status, html, headers } = await customer.get('/my');
      expect(status).toBe(200);
      for (const shown of [
        'Your licence is valid until 4 Mar 2027. Updates work.',
        '1 of 25 used',
        'Renew at Acme &amp; Sons',
        license.key.slice(-8),
        'Send the link',
        'No flicker on load.',
      ])
        expect(html).toContain(shown);
      expect(html).not.toMatch(/secret-site|studio|order-4711|127\.0\.0|Smith/);
      expect(html).not.toContain(license.key);
      expect(html).not.toContain('<script>alert');
      expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('cache-control')).toBe('no-store');
      expect((await customer.get('/my', { 'Accept-Language': 'de' })).html).toContain(
        'Ihre Lizenz ist gültig bis 04.03.2027.',
      );
      for (const path of ['/my/mail', `/my/licenses/${license.id}/sites`])
        expect(await customer.get(path)).toMatchObject({ status: 303, location: '/my' });
      expect((await customer.post('/my/sites', { site: 'secret' })).location).toBe('/my');
      const nothing = await customer.get('/my/nothing');
      expect([nothing.status, nothing.html.includes('class="bar bar-my"')]).toEqual([404, true]);
    });

    it('states the length of an unknown key, and neither keeps nor logs it', async () => {
      const { key } = await issue();
      const { status, html } = await browser().post('/my', { key: key.slice(0, 31) });
      expect(status).toBe(404);
      expect(html).toContain(
        'No licence has this key. Please copy it again as a whole: this one has 31 characters.',
      );
      expect(html).not.toContain('licensing_my');
    });

    it('opens one session at a time, and signs out', async () => {
      const [first, second] = [await issue(), await issue()];
      const customer = await byKey(first);
      const old = customer.cookies.get('licensing_my')!;
      await customer.post('/my', { key: second.key });
      expect((await customer.get('/my')).html).toContain(second.key.slice(-8));
      const before = browser();
      before.cookies.set('licensing_my', old);
      expect((await before.get('/my')).html).toContain('You were signed out');
      before.cookies.set('licensing_my', customer.cookies.get('licensing_my')!);
      expect((await customer.post('/my/sign-out')).location).toBe('/my');
      expect((await before.get('/my')).html).toContain('You were signed out');
      const { html } = await customer.get('/my');
      expect(html).toContain('You are signed out.');
      expect(html).toContain('data-key-form="key"');
    });

    it('gives a new session to a browser that was sent with a prepared one', async () => {
      const license = await issue();
      const [customer, thief] = [browser(), browser()];
      const prepared = 'A'.repeat(43);
      for (const one of [customer, thief]) one.cookies.set('licensing_my', prepared);
      await customer.post('/my', { key: license.key });
      expect(customer.cookies.get('licensing_my')).not.toBe(prepared);
      expect((await thief.get('/my')).html).not.toContain(license.key.slice(-8));
    });

    it('warns of an end that is near, and shows a withdrawn licence as withdrawn', async () => {
      const soon = await byKey(await issue(STUDIO, { expiresAt: days(16) }));
      expect((await soon.get('/my')).html).toContain('in 16 days');
      const withdrawn = await issue(STUDIO, { expiresAt: days(100) });
      await changeState(service.db, withdrawn.id, 'revoke', { actor: 'operator:test', now: NOW });
      const { html } = await (await byKey(withdrawn)).get('/my');
      expect(html).toContain('This licence was withdrawn by the seller.');
      expect(html).not.toMatch(/Valid until|Download Key|at present/);
    });

    it('downloads the package’s bytes, logged as by the API', async () => {
      const license = await issue();
      const customer = await byKey(license);
      const version = { product_id: 42, version: '2.1.0' };
      const agent = { 'User-Agent': 'Browser' };
      const { status, headers, bytes: given } = await customer.post('/my/downloads', version, agent);
      expect([status, headers.get('content-type')]).toEqual([200, 'application/zip']);
      expect(given.equals(bytes)).toBe(true);
      await licensing.accessLog.flush();
      const logged = await accesses(license);
      service.clock.now = new Date(NOW.getTime() + 2 * 60 * 60 * 1000);
      const address = `${url}${PREFIX}/downloads/42?version=2.1.0&license_key=${license.key}`;
      await (await fetch(address, { headers: agent })).arrayBuffer();
      await licensing.accessLog.flush();
      const [, byApi] = await accesses(license);
      expect(logged).toEqual([
        { ...byApi, id: expect.any(Number), at: logged[0]!.at, last_at: logged[0]!.last_at },
      ]);
    });

    const accesses = async ({ id }: TestLicense) =>
      (await rows(service.db, 'access_log')).filter(
        (row) => row.license_id === id && row.endpoint === 'download',
      );

    it('says why a download is refused, and logs it', async () => {
      const license = await issue(STUDIO, { expiresAt: days(-1) });
      const customer = await byKey(license);
      expect((await customer.get('/my')).html).toContain('After renewal');
      const { status, html } = await customer.post('/my/downloads', { product_id: 42, version: '2.1.0' });
      expect(status).toBe(403);
      expect(html).toContain('role="alert"');
      expect(html).toContain('Your licence ended on 23 Nov 2026.');
      await licensing.accessLog.flush();
      expect(await accesses(license)).toMatchObject([{ outcome: 'LICENSE_EXPIRED', version: '2.1.0' }]);
    });

    it('refuses another origin’s form', async () => {
      const license = await issue();
      const evil = { Origin: 'https://evil.example' };
      expect((await browser().post('/my', { key: license.key }, evil)).status).toBe(403);
    });
  });

  describe('with the link by mail', () => {
    it('opens once, however often a scanner looks at it', async () => {
      await issue();
      const code = await newCode(STUDIO);
      for (let i = 0; i < 2; i++) {
        const { status, html } = await browser().get(`/my/enter/${code}`);
        expect([status, html.includes('Open my licences')]).toEqual([200, true]);
      }
      const customer = browser();
      expect((await customer.post(`/my/enter/${code}`)).location).toBe('/my/mail');
      expect((await customer.get('/my')).location).toBe('/my/mail');
      const used = await browser().post(`/my/enter/${code}`);
      const madeUp = await browser().post(`/my/enter/${'A'.repeat(43)}`);
      expect([used.status, madeUp.status]).toEqual([404, 404]);
      const plain = ({ html }: Shown) => html.replaceAll(/\/enter\/[\w-]+/g, '');
      expect(plain(used)).toBe(plain(madeUp));
      expect(used.html).toContain('This link has been used or is older than an hour.');
      expect((await browser().get(`/my/enter/${code}`)).status).toBe(404);
    });

    it('shows 25 licences at a time', async () => {
      const email = 'agency@example.net';
      const calm = await issue(email);
      await activate(calm, 'last.example.net');
      for (let i = 0; i < 25; i++) await issue(email, { expiresAt: days(5 + i) });
      const customer = await byMail(email);
      const headings = ({ html }: Shown) => html.split('<h2 id="h-l').length - 1;
      const first = await customer.get('/my/mail');
      expect(headings(first)).toBe(25);
      expect(first.html).toContain('26 licences, 1 site');
      expect(first.html).toContain('25 licences need your attention');
      expect(first.html).not.toContain(`id="h-l${calm.id}"`);
      const href = /href="([^"]*after=[^"]*)"[^>]*>Next 25/.exec(first.html)?.[1];
      const second = await customer.get(href!.slice(href!.indexOf('/my/mail')));
      expect(headings(second)).toBe(1);
      expect(second.html).toContain('last.example.net');
      expect(second.html).toContain('>First<');
      expect(headings(await customer.get('/my/mail?after=x'))).toBe(25);
    });

    it('shows all licences of the address, with those that need attention first', async () => {
      const email = 'many@example.net';
      const soon = await issue(email, { expiresAt: days(16) });
      const calm = await issue(email, { reference: 'order-<i>' });
      await activate(calm, 'bakery.example.net', 'museum.example.net');
      const customer = await byMail(email);
      const { html } = await customer.get('/my/mail');
      expect(html).toContain('Example Shop ends in 16 days, on 10 Dec 2026.');
      expect(html).toContain('2 licences, 2 sites');
      expect(html.indexOf(`id="h-l${soon.id}"`)).toBeLessThan(html.indexOf(`id="h-l${calm.id}"`));
      expect(html).toContain('&lt;b&gt;Smith&lt;/b&gt;');
      expect(html).toContain('order-&lt;i&gt;');
      const { html: one } = await customer.get(`/my/mail?license=${calm.id}`);
      expect(one).toContain(`id="h-l${calm.id}"`);
      expect(one).not.toContain(`id="h-l${soon.id}"`);
      expect(one).not.toContain('ends in 16 days');
      expect(one).toContain(`/my/mail?license=${soon.id}"`);
      // The address of another licence shows all of one's own.
      expect((await customer.get('/my/mail?license=999999')).html).toContain(`id="h-l${soon.id}"`);
      const found = await customer.post('/my/sites', { site: 'bakery' });
      expect(found.html).toContain('bakery.example.net');
      expect(found.html).not.toContain('museum.example.net');
      const list = await customer.post(`/my/licenses/${calm.id}/sites`, { site: 'museum' });
      expect(list.html).toContain('museum.example.net');
      expect(list.html).not.toContain('bakery.example.net');
      const csv = await customer.get(`/my/licenses/${calm.id}/sites.csv`);
      expect(csv.html.split('\r\n').map((line) => line.split(',')[0])).toEqual([
        '\uFEFF"Site"',
        '"museum.example.net"',
        '"bakery.example.net"',
        '',
      ]);
      const fields = { license_id: calm.id, product_id: 42, version: '2.1.0' };
      expect((await customer.post('/my/downloads', fields)).bytes.equals(bytes)).toBe(true);
    });

    it('keeps a chosen language for the pages and the mails, and shows who can change the address', async () => {
      const email = 'lena@example.com';
      await issue(email);
      const customer = await byMail(email);
      const { html } = await customer.get('/my/mail');
      expect(html).toContain(`${email}<span class="sub">Only we can change it.`);
      expect(html).toMatch(/value="en" lang="en" aria-current="true">English/);
      for (const language of ['de', 'xx']) {
        const { status, location } = await customer.post('/my/language', { language });
        expect([status, location]).toEqual([303, language === 'de' ? '/my/mail#h-details' : '/my/mail']);
        expect(await readPerson(service.db, email)).toEqual({ name: null, language: 'de' });
      }
      const german = (await customer.get('/my/mail')).html;
      expect(german).toContain('Ihre Daten');
      expect(german).toMatch(/value="de" lang="de" aria-current="true">Deutsch/);
      const other = await byKey(await issue());
      expect((await other.post('/my/language', { language: 'de' })).location).toBe('/my');
    });

    it('says why a licence does not work', async () => {
      const email = 'dead@example.net';
      const context = { actor: 'operator:test', now: NOW };
      const [paused, withdrawn] = [await issue(email), await issue(email)];
      await changeState(service.db, paused.id, 'suspend', context);
      await changeState(service.db, withdrawn.id, 'cancel', context);
      const { html } = await (await byMail(email)).get('/my/mail');
      expect(html).toContain('Your licence is paused. Please ask the seller.');
      expect(html).toContain('This licence was withdrawn by the seller.');
      expect(html).not.toContain('Enter the key there');
      const newKey = (id: number) => new RegExp(`/my/licenses/${id}/keys/\\d+/new`);
      expect(html).toMatch(newKey(paused.id));
      expect(html).not.toMatch(newKey(withdrawn.id));
    });

    it('reveals nothing about another customer’s licence', async () => {
      const theirs = await issue(OTHER);
      await issue();
      await activate(theirs, 'theirs.example.net');
      const site = await siteIdOf('theirs.example.net');
      const [key] = (await rows<{ id: number; license_id: number }>(service.db, 'license_keys')).filter(
        (one) => one.license_id === theirs.id,
      );
      const customer = await byMail();
      const path = `/my/licenses/${theirs.id}`;
      for (const page of ['/sites', '/sites.csv', `/sites/${site}/remove`, `/keys/${key!.id}/new`])
        expect((await customer.get(path + page)).status).toBe(404);
      for (const form of [`/sites/${site}/remove`, `/keys/${key!.id}/new`, `/keys/${key!.id}/show`])
        expect((await customer.post(path + form, { overlap: '14d' })).status).toBe(404);
      const fields = { license_id: theirs.id, product_id: 42, version: '2.1.0' };
      expect((await customer.post('/my/downloads', fields)).status).toBe(404);
      expect((await customer.post('/my/sites', { site: 'theirs' })).html).toContain('No site matches.');
      expect(await siteIdOf('theirs.example.net')).toBe(site);
    });

    it('offers a larger licence when no slot is free, or another product is there', async () => {
      const { db } = service;
      const upgradeUrl = 'https://shop.example/upgrade';
      const small = await givePlan(db, { limit: 2, upgradeUrl }, NOW);
      const license = await giveLicense(db, small, { customer: 'small@example.com' }, NOW);
      const german = { 'Accept-Language': 'de' };
      const pagesOf = async () => {
        const [byIts, byLink] = [await byKey(license), await byMail('small@example.com')];
        return [(await byIts.get('/my')).html, (await byLink.get('/my/mail', german)).html];
      };
      const before = await pagesOf();
      await activate(license, 'one.small.example', 'two.small.example');
      const full = await pagesOf();

      for (const html of before) expect(html).not.toContain(upgradeUrl);
      expect(full[0]).toContain(`<a class="btn btn-primary" href="${upgradeUrl}">Get a larger licence</a>`);
      // In the verdict, and not again below it.
      expect(full[1]!.split(upgradeUrl)).toHaveLength(2);
      expect(full[1]).toContain('Größere Lizenz holen');

      const other = await giveLicense(db, await givePlan(db, { productId: 77, upgradeUrl }, NOW), {}, NOW);
      expect((await (await byKey(other)).get('/my')).html).toContain(upgradeUrl);
    });

    it('removes only as many sites as the plan allows', async () => {
      const license = await issue();
      await activate(license, 'one.example.net', 'two.example.net');
      const customer = await byMail();
      const path = (site: number) => `/my/licenses/${license.id}/sites/${site}/remove`;
      const [one, two] = [await siteIdOf('one.example.net'), await siteIdOf('two.example.net')];
      const asked = await customer.get(path(one));
      expect(asked.html).toContain('Its slot is free at once. You can remove the next site on 24 Dec 2026.');
      expect(await siteIdOf('one.example.net')).toBe(one);
      expect((await customer.post(path(one))).location).toBe('/my/mail');
      expect((await customer.get('/my/mail')).html).toContain('one.example.net is removed.');
      expect(mails).toEqual([
        { type: 'site_removed', licenseId: license.id, site: 'one.example.net', testSites: [] },
      ]);
      const panel = (await customer.get('/my/mail')).html
        .split(`id="h-l${license.id}"`)[1]!
        .split('</section>')[0];
      expect(panel).toContain('You can remove the next site on 24 Dec 2026.');
      expect(panel).toContain('Ask the seller');
      for (const refused of [await customer.get(path(two)), await customer.post(path(two))]) {
        expect(refused.status).toBe(409);
        expect(refused.html).toContain('You can remove the next on 24 Dec 2026, or ask the seller.');
        expect(refused.html).toContain('href="https://shop.example/help"');
      }
      expect(await siteIdOf('two.example.net')).toBe(two);
      expect((await customer.get(path(one))).status).toBe(404);
    });

    it('names the test sites that are removed with the last site of their domain', async () => {
      const { db } = service;
      const free = await givePlan(db, { freeStaging: true, selfServiceMoves: 3 }, NOW);
      const license = await giveLicense(db, free, { customer: STUDIO }, NOW);
      await activate(license, 'shop.example.org', 'staging.shop.example.org', 'dev.shop.example.org');
      const customer = await byMail();
      const path = (site: number) => `/my/licenses/${license.id}/sites/${site}/remove`;
      const question = async (name: string) => (await customer.get(path(await siteIdOf(name)))).html;
      expect(await question('shop.example.org')).toMatch(
        /The test sites (?:dev|staging)\.shop\.example\.org, (?:dev|staging)\.shop\.example\.org are removed/,
      );
      expect(await question('dev.shop.example.org')).not.toContain('removed with it');
      await activate(license, 'www.example.org');
      expect(await question('shop.example.org')).not.toContain('removed with it');
      for (const name of ['example.org', 'shop.example.org']) await customer.post(path(await siteIdOf(name)));
      const testSites = ['dev.shop.example.org', 'staging.shop.example.org'];
      expect(mails.map((mail) => 'testSites' in mail && mail.testSites.sort())).toEqual([[], testSites]);
    });

    it('makes a new key, shows it, and ends the old one at once or in 14 days', async () => {
      const email = 'keys@example.net';
      const license = await issue(email);
      const customer = await byMail(email);
      const page = (await customer.get('/my/mail')).html;
      const path = (id: number) => `/my/licenses/${license.id}/keys/${id}`;
      const first = idIn(page, /\/keys\/(\d+)\/new/);
      expect((await customer.get(`${path(first)}/new`)).html).toContain(license.key.slice(-8));
      const made = await customer.post(`${path(first)}/new`, { overlap: '14d' });
      const [second = ''] = /[0-9A-F]{8}(-[0-9A-F]{8}){3}/.exec(made.html) ?? [];
      expect(made.html).toContain('The old one works until 8 Dec 2026');
      await byKey(license);
      await byKey({ key: second });
      expect(mails).toMatchObject([{ type: 'key_changed', licenseId: license.id }]);
      const again = await customer.post(`${path(first)}/new`, { overlap: '14d' });
      expect([again.status, again.html.includes('already been replaced')]).toEqual([409, true]);

      const main = idIn((await customer.get('/my/mail')).html, /\/keys\/(\d+)\/show/);
      expect((await customer.post(`${path(main)}/show`)).html).toContain(second);
      const last = await customer.post(`${path(main)}/new`, { overlap: 'none' });
      expect(last.html).toContain('The old one no longer works');
      expect((await browser().post('/my', { key: second })).status).toBe(404);
    });
  });

  it('answers a request for a link in the same way, whether the address is known or not', async () => {
    const license = await issue('known@example.net');
    const asked: unknown[] = [];
    for (const email of ['known@example.net', 'nobody@example.net', 'not an address']) {
      const customer = browser();
      const { status, location } = await customer.post('/my/link', { email });
      const { html } = await customer.get(location!);
      expect(html).toContain('If this address has licences, a mail is on its way.');
      asked.push([status, location, html]);
    }
    expect(asked[1]).toEqual(asked[0]);
    expect(asked[2]).toEqual(asked[0]);
    const customer = await byKey(license);
    const { location } = await customer.post('/my/link');
    const { html } = await customer.get(location!);
    // The customer typed no address, so the page does not mention one.
    expect(html).toContain('If this licence has an e-mail address, a link is on its way there.');
    expect(html).not.toMatch(/known@|address you bought with/);
    expect(mails).toEqual([
      { type: 'customer_link', email: 'known@example.net' },
      { type: 'customer_link', email: 'nobody@example.net' },
      { type: 'customer_link', email: 'known@example.net' },
    ]);
  });

  it('counts typed keys and links together with downloads', async () => {
    const customer = await byKey(await issue());
    limits.limiter = createMemoryLimiter({ ...LIMITS, limits: { ...LIMITS.limits, download: 3 } });
    try {
      await customer.post('/my', { key: 'WRONG' });
      await customer.post('/my/link', { email: 'nobody@example.net' });
      await customer.post('/my/downloads', { product_id: 42, version: '9.9.9' });
      for (const path of ['/my', '/my/link', '/my/downloads']) {
        const { status, headers } = await customer.post(path, { key: 'WRONG', product_id: 42 });
        expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true]);
      }
      expect((await customer.get('/my')).status).toBe(200);
    } finally {
      limits.limiter = createMemoryLimiter(LIMITS);
    }
  });
});
