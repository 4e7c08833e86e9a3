import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, IncomingMessage, request, type Server } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { htaccessLines } from '../../src/setup/htaccess';
import { refusedHost } from '../../src/http/pages-host';
import { table } from '../../src/store/engine/database';
import { makeTicket } from '../support/door';
import {
  createJoomlaSite,
  JOOMLA_VERSIONS,
  stopJoomlaSites,
  unpack,
  type HostOptions,
  type JoomlaSite,
} from '../support/joomla-host';
import { startTestSite, type TestSite, type TestUser } from '../support/joomla-site';
import { giveToken, manageClient } from '../support/manage';
import { operator } from '../support/operator';
import { php72Faults, phpFaults } from '../support/php-files';
import { freePort, inTime, temporaryFolder } from '../support/processes';
import { PREFIX, startTestService, type TestService } from '../support/service';
import { pagesClient, textOf, type PagesClient } from '../pages/support/session';

/** Tests the component in Joomla, which lets the account that is signed in there into the pages. */

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let site: TestSite;
/** Two instances on one database. */
let one: TestService;
let two: TestService;
let ann: TestUser;
let folder: string;

beforeAll(async () => {
  site = await startTestSite();
  one = await serve();
  two = await serve({ LICENSING_PUBLIC_URL: one.url });
  folder = join(temporaryFolder(), 'unpacked');
  const zip = join(temporaryFolder(), 'com_licensing.zip');
  await operator({}).json(['joomla-door', '--out', zip]);
  await unpack(zip, folder);
});
afterAll(async () => {
  const log = [...one.logLines, ...two.logLines].join('\n');
  expect(log).toContain('/enter-joomla');
  expect(log).not.toContain(site.secret);
  expect(log).not.toContain('ticket');
  await stopJoomlaSites();
  await one.stop();
  await two.stop();
  await site.stop();
});
beforeEach(async () => {
  ann = await site.addUser(`ann${randomBytes(4).toString('hex')}`, [8]);
  // The account has no API token, because the door needs neither a token nor its plugins.
  await site.run('DELETE FROM jos_user_profiles');
  await site.run("UPDATE jos_extensions SET enabled = 0 WHERE element = 'token'");
});
afterEach(() => {
  one.clock.now = two.clock.now = new Date();
  site.configure();
});

async function serve(settings: Record<string, string> = {}): Promise<TestService> {
  const port = await freePort();
  return startTestService({
    LICENSING_JOOMLA_ROOT: site.root,
    LICENSING_DATABASE_URL: '',
    LICENSING_LISTEN: `127.0.0.1:${port}`,
    LICENSING_PUBLIC_URL: `http://127.0.0.1:${port}`,
    LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
    LICENSING_MANAGE_RATE_LIMIT: '100000',
    ...settings,
  });
}

const nobody = (service = one) => pagesClient(service, { scope: 'none' });
const ticketOf = ({ id, login }: TestUser) => makeTicket(site.secret, { id, name: login });

async function enter(ticket: string, client?: PagesClient, origin = one.url) {
  const browser = client ?? (await nobody());
  return browser.post('/enter-joomla', { ticket }, { Origin: origin });
}

/** Returns a browser that has come in with a ticket. */
async function entered(user = ann, service = one): Promise<PagesClient> {
  const client = await nobody(service);
  expect(await enter(ticketOf(user), client)).toMatchObject({ status: 303, location: '/' });
  return client;
}

async function expectOut(client: PagesClient, within = 3 * SECOND): Promise<void> {
  one.clock.now = new Date(one.clock.now.getTime() + within);
  expect((await client.get('/licenses')).location).toBe('/sign-in?next=%2Flicenses&why=ended');
}

describe('a ticket', () => {
  it('signs its account in, with the scope write and its login name', async () => {
    const client = await entered();
    expect(client.cookies.has('licensing')).toBe(true);
    const answer = await fetch(`${one.url}${PREFIX}/manage/me`, {
      headers: { Cookie: `licensing=${client.cookies.get('licensing')}` },
    });
    expect(await answer.json()).toEqual({
      data: { name: ann.login, scope: 'write', actor: `joomla:${ann.login}` },
    });
  });

  it('works once, also at another instance and by 10 at the same time', async () => {
    const ticket = ticketOf(ann);
    const browsers = await Promise.all(Array.from({ length: 10 }, (_, i) => nobody(i % 2 ? one : two)));
    const statuses = await Promise.all(browsers.map(async (each) => (await enter(ticket, each)).status));
    expect(statuses.sort()).toEqual([303, ...Array.from({ length: 9 }, () => 403)]);
    const later = await enter(ticket, await nobody(two));
    expect(later.status).toBe(403);
    expect(textOf(later.html)).toContain('was used already');
  });

  it('is good for a minute', async () => {
    const [early, late] = [ticketOf(ann), ticketOf(ann)];
    one.clock.now = new Date(Date.now() + 45 * SECOND);
    expect((await enter(early)).status).toBe(303);
    one.clock.now = new Date(Date.now() + 75 * SECOND);
    expect((await enter(late)).status).toBe(403);
  });

  it('is refused if it is forged, from another site or for the overview, and a refusal does not use it up', async () => {
    const nonce = 'a-nonce';
    const said = { id: ann.id, name: ann.login, nonce };
    const right = makeTicket(site.secret, said);
    const [payload = '', mac = ''] = right.split('.');
    const root = await site.addUser(`root${randomBytes(4).toString('hex')}`, [8]);
    const other = makeTicket('another secret', { ...said, id: root.id, name: root.login });
    const forged = [
      '',
      'x'.repeat(60),
      'x'.repeat(10_000),
      payload,
      `${payload}.`,
      `${payload}.${mac.slice(0, -1)}`,
      `${payload}.${mac.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))}`,
      `${Buffer.from(JSON.stringify({ ...said, expires: 9_999_999_999 })).toString('base64url')}.${mac}`,
      makeTicket('another secret', said),
      makeTicket('', said),
      other,
      makeTicket(site.secret, said, 'overview'),
      // The site signed these, but they last too long or differ from the component's tickets.
      makeTicket(site.secret, { ...said, expires: Math.floor(Date.now() / SECOND) + 10 * 60 }),
      ...[{ id: String(ann.id) }, { name: [] }, { expires: '9e9' }, { nonce: null }, { nonce: {} }].map(
        (wrong) => makeTicket(site.secret, { ...said, ...wrong } as unknown as typeof said),
      ),
    ];
    for (const ticket of forged) {
      const { status, html, headers } = await enter(ticket);
      expect([ticket, status]).toEqual([ticket, 403]);
      expect(textOf(html)).toContain('press Open again');
      expect(headers.getSetCookie().join()).not.toMatch(/licensing=/);
    }
    expect((await enter(right)).status).toBe(303);
  });

  it('is refused if the site has no secret, and has no address without a site', async () => {
    site.configure({ secret: '' });
    expect((await enter(ticketOf(ann))).status).toBe(403);
    expect((await enter(makeTicket('', { id: ann.id, name: ann.login }))).status).toBe(403);
    const without = await startTestService({ LICENSING_PUBLIC_URL: 'https://shop.example' });
    const browser = await nobody(without);
    expect((await enter(ticketOf(ann), browser, 'https://shop.example')).status).toBe(404);
    await without.stop();
  });

  it('is accepted only from the site', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1', two.url]) {
      const refused = await enter(ticketOf(ann), undefined, origin);
      expect([origin, refused.status]).toEqual([origin, 403]);
      expect(textOf(refused.html)).toContain('not come from the address of your site that the service knows');
    }
    const bare = await fetch(`${one.url}${PREFIX}/pages/enter-joomla`, {
      method: 'POST',
      headers: { 'Sec-Fetch-Site': 'same-origin' },
      body: new URLSearchParams({ ticket: ticketOf(ann) }),
    });
    expect(bare.status).toBe(403);
    const { status, headers } = await (await nobody()).get('/enter-joomla');
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  it("is accepted from the site's live_site too", async () => {
    site.configure({ live_site: 'https://www.shop.example' });
    const service = await serve({ LICENSING_PUBLIC_URL: 'https://shop.example' });
    for (const origin of ['https://shop.example', 'https://www.shop.example'])
      expect([origin, (await postTo(service, 'shop.example', origin)).status]).toEqual([origin, 303]);
    await service.stop();
  });
});

describe('an account that comes in', () => {
  it('exists, is not blocked, and is in a group of operators', async () => {
    const clerk = await site.addUser(`clerk${randomBytes(4).toString('hex')}`, [7]);
    const owner = await site.addUser(`owner${randomBytes(4).toString('hex')}`, [20]);
    await entered(owner);
    const other = await enter(ticketOf(clerk));
    expect([other.status, textOf(other.html)]).toEqual([403, expect.stringContaining('is not in a group')]);
    await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [ann.id]);
    const blocked = await enter(ticketOf(ann));
    expect([blocked.status, textOf(blocked.html)]).toEqual([403, expect.stringContaining('is blocked')]);
    const gone = await enter(makeTicket(site.secret, { id: 999_999, name: 'gone' }));
    expect([gone.status, textOf(gone.html)]).toEqual([403, expect.stringContaining('renamed or deleted')]);
    const renamed = await enter(makeTicket(site.secret, { id: owner.id, name: 'another' }));
    expect(renamed.status).toBe(403);
  });

  it('may also be a super user, whatever the groups of operators are, as with a token', async () => {
    const service = await serve({ LICENSING_OPERATOR_GROUPS: '7' });
    const root = await site.addUser(`root${randomBytes(4).toString('hex')}`, [2]);
    const enterThere = async (user: TestUser) =>
      (await enter(ticketOf(user), await nobody(service), service.url)).status;
    expect([await enterThere(ann), await enterThere(root)]).toEqual([303, 403]);
    site.configure({ root_user: root.login });
    expect(await enterThere(root)).toBe(303);
    await service.stop();
  });

  it('is refused in German too', async () => {
    const browser = await pagesClient(one, { scope: 'none', language: 'de' });
    const { html } = await enter('x', browser);
    expect(textOf(html)).toContain('Drücken Sie in Joomla noch einmal „Öffnen“');
  });

  it.each([
    ['is blocked', (id: number) => site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [id])],
    [
      'goes to another group',
      (id: number) => site.run('UPDATE jos_user_usergroup_map SET group_id = 7 WHERE user_id = ?', [id]),
    ],
    [
      'is deleted',
      async (id: number) => {
        await site.run('DELETE FROM jos_user_usergroup_map WHERE user_id = ?', [id]);
        await site.run('DELETE FROM jos_users WHERE id = ?', [id]);
      },
    ],
  ])('is out within seconds when the account %s', async (_what, change) => {
    const client = await entered();
    expect((await client.get('/licenses')).status).toBe(200);
    await change(ann.id);
    await expectOut(client);
  });

  it('is out after 30 minutes without use, like every operator', async () => {
    const client = await entered();
    await expectOut(client, HOUR / 2 + SECOND);
  });

  it('makes tokens that live as long as the account may come in', async () => {
    const client = await entered();
    await client.get('/tokens/new');
    const made = await client.post('/tokens/new', { name: `t${ann.id}`, scope: 'read' });
    const token = /lgw_[\w-]{49}/.exec(made.html)?.[0] ?? '';
    const api = manageClient(one.url, token);
    expect((await api.send('GET /me')).status).toBe(200);
    await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [ann.id]);
    one.clock.now = new Date(one.clock.now.getTime() + 3 * SECOND);
    expect((await api.send('GET /me')).status).toBe(401);
  });
});

describe('signing in again', () => {
  it('leads to Joomla, and from there back to the page', async () => {
    const client = await entered();
    one.clock.now = new Date(one.clock.now.getTime() + HOUR / 3);
    await client.get('/');
    one.clock.now = new Date(one.clock.now.getTime() + HOUR / 3);
    await client.get('/');
    one.clock.now = new Date(one.clock.now.getTime() + HOUR / 3 + 60 * SECOND);
    await client.get('/tokens/new');
    const asked = await client.post('/tokens/new');
    expect(asked).toMatchObject({ status: 303, location: '/sign-in?next=%2Ftokens%2Fnew&why=again' });
    const { status, headers } = await client.get(asked.location!);
    expect(status).toBe(303);
    expect(headers.get('location')).toBe(`${one.url}/administrator/index.php?option=com_licensing`);
    const expires = Math.floor(one.clock.now.getTime() / SECOND) + 60;
    const ticket = makeTicket(site.secret, { id: ann.id, name: ann.login, expires });
    expect(await enter(ticket, client)).toMatchObject({ status: 303, location: '/tokens/new' });
    await client.get('/tokens/new');
    expect((await client.post('/tokens/new', { name: `again${ann.id}`, scope: 'read' })).status).toBe(200);
  });

  it('keeps a form that was filled in, and names Joomla next to it', async () => {
    const client = await entered();
    await client.get('/tokens/new');
    for (let i = 0; i < 4; i++) {
      one.clock.now = new Date(one.clock.now.getTime() + HOUR / 3);
      await client.get('/');
    }
    const asked = await client.post('/tokens/new', { name: `kept${ann.id}`, scope: 'read' });
    expect(asked.status).toBe(403);
    expect(textOf(asked.html)).toContain('You came through Joomla');
    expect(asked.html).toContain('/pages/sign-in?why=again"');
  });

  it('shows the usual page, with Joomla named, to an operator who came another way', async () => {
    const root = await pagesClient(one);
    const { status, html } = await root.get('/sign-in?why=again');
    expect(status).toBe(200);
    expect(textOf(html)).toContain('Components > Licensing > Open');
  });
});

describe('with a host of their own for the pages', () => {
  it.each([
    ['pages.shop.example', 303],
    ['shop-pages.test', 200],
  ])('accepts a ticket at %s, only from the site', async (pagesHost, status) => {
    const service = await serve({
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_PAGES_HOST: pagesHost,
    });
    const origin = 'https://shop.example';
    const answer = await postTo(service, pagesHost, origin);
    expect(answer.status).toBe(status);
    const [cookie = ''] = (answer.headers['set-cookie'] ?? []).filter((one) => one.startsWith('licensing='));
    expect(cookie).toMatch(/; Secure$/);
    // After a form from another domain, a redirect would not carry the cookie, so the answer is the page itself.
    if (status === 200) expect(textOf(answer.html)).toContain('Three steps to the first licence');
    const again = await ask(service, pagesHost, {
      path: '/sign-in?why=again',
      cookie: cookie.split(';')[0]!,
    });
    expect(again.status).toBe(200);
    expect(again.html).toContain('href="https://shop.example/administrator/index.php?option=com_licensing"');
    for (const from of [`https://${pagesHost}`, 'https://evil.example'])
      expect([from, (await postTo(service, pagesHost, from)).status]).toEqual([from, 403]);
    expect((await postTo(service, 'shop.example', origin)).status).toBe(404);
    await service.stop();
  });
});

describe('GET /manage/overview', () => {
  const FIGURES = {
    orders_waiting: 0,
    orders_without_address: 0,
    payments_unmatched: 0,
    signatures_refused: 0,
    mails_failed: 0,
  };
  const call = (headers: Record<string, string>, path = '/overview', url = one.url, method = 'GET') =>
    fetch(`${url}${PREFIX}/manage${path}`, { method, headers });
  const header = (purpose: 'enter' | 'overview' = 'overview') => ({
    'X-Licensing-Ticket': makeTicket(site.secret, { id: ann.id, name: ann.login }, purpose),
  });

  it('answers a token, and a ticket that is only for it', async () => {
    const { token } = await giveToken(one.db, 'read', `reader${ann.id}`, { now: new Date() });
    for (const headers of [{ Authorization: `Bearer ${token}` }, header()])
      expect(await (await call(headers)).json()).toEqual({ data: { ...FIGURES, enter_url: null } });
    expect((await call({})).status).toBe(401);
    expect((await call(header('enter'))).status).toBe(401);
    expect((await call(header(), '/licenses')).status).toBe(401);
    expect((await call(header(), '/tokens', one.url, 'POST')).status).toBe(401);
    expect((await call(header(), '/overview', one.url, 'POST')).status).toBe(401);
    // If a ticket is sent, nothing else counts.
    expect((await call({ Authorization: `Bearer ${token}`, 'X-Licensing-Ticket': 'x' })).status).toBe(401);
    await site.run('UPDATE jos_user_usergroup_map SET group_id = 7 WHERE user_id = ?', [ann.id]);
    expect((await call(header())).status).toBe(403);
  });

  it('answers a ticket on the site’s host, and says where the pages are', async () => {
    const service = await serve({
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_PAGES_HOST: 'pages.shop.example',
    });
    const from = { 'x-forwarded-for': '203.0.113.9' };
    const address = `https://pages.shop.example${PREFIX}/pages/enter-joomla`;
    const answer = await call({ ...from, ...header() }, '/overview', service.url);
    expect(await answer.json()).toEqual({ data: { ...FIGURES, enter_url: address } });
    const refused = (headers: object, path: string) =>
      refusedHost(
        { req: requestWith({ ...from, ...headers }), path: `${PREFIX}/manage${path}` },
        { pagesHost: 'pages.shop.example', isTrusted: () => true },
      );
    const sent = { 'x-licensing-ticket': 'x' };
    expect([refused(sent, '/overview'), refused({}, '/overview')]).toEqual([false, true]);
    expect([refused(sent, '/licenses'), refused(sent, '/overview/x')]).toEqual([true, true]);
    await service.stop();
  });
});

/** A page in Joomla's administrator. */
interface Shown {
  status: number;
  title: string;
  hasOptions: boolean;
  messages: [string, string][];
  meta: Record<string, string>;
  scripts: string[];
  template: string;
  html: string;
  seconds: number;
}

interface Asked {
  get?: Record<string, string>;
  post?: Record<string, string>;
  may?: string[];
  secret?: string;
  user?: [number, string];
}

async function joomla(version: (typeof JOOMLA_VERSIONS)[number], root: string, language = 'en-GB') {
  const host: JoomlaSite = await createJoomlaSite(version, { ca: '', resolve: [] }, 'component');
  const options: HostOptions = { root: `${root}/`, language };
  const step = async (given: object) => {
    const [done] = await host.run<{ result: object; shown: string; seconds: number }>(
      [{ shop: given }],
      options,
    );
    return done!;
  };
  const installed = await step({ install: folder });
  return {
    host,
    installed: installed.result,
    async open(asked: Asked = {}): Promise<Shown> {
      const { result, shown, seconds } = await step({
        ...{ user: [ann.id, ann.login], secret: site.secret, may: ['core.manage'] },
        ...asked,
      });
      return { ...(result as Shown), html: shown, seconds };
    },
  };
}

const hidden = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value!,
    ]),
  ) as Record<string, string>;

const NO_SCRIPT = /<script|javascript:|\son\w+=/i;

describe('the component', () => {
  it('is one zip for every site, made without database and site', async () => {
    const out = join(temporaryFolder(), 'new', 'com_licensing.zip');
    const shell = operator({ LICENSING_DATABASE_URL: 'mysql://nobody@127.0.0.1:1/none' });
    const { code, stdout } = await shell.run(['joomla-door', '--out', out]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('Upload Package File')]);
    const first = readFileSync(out);
    await shell.json(['joomla-door', '--out', out]);
    expect(readFileSync(out).equals(first)).toBe(true);
    const { token } = await giveToken(one.db, 'read', `zip${ann.id}`, { now: new Date() });
    const { body } = await manageClient(one.url, token).send('GET /joomla-door');
    expect(Buffer.from(body.data.zip as string, 'base64').equals(first)).toBe(true);
    const refused = await shell.run(['joomla-door', '--out', join(__dirname, 'door.test.ts')]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('something other than a zip'),
    ]);
    expect(first.includes(site.secret)).toBe(false);
  });

  it('is PHP that Joomla 4.4 to 6 and PHP from 7.2 read, with all that its manifest names', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const php = files.filter((file) => file.endsWith('.php'));
    expect(php.length).toBeGreaterThan(5);
    expect([...phpFaults(php), ...php72Faults(php)]).toEqual([]);
    const manifest = readFileSync(join(folder, 'licensing.xml'), 'utf8');
    for (const [, name] of manifest.matchAll(/<(?:filename|folder)>([^<]+)</g))
      expect([name, ['admin', 'media'].some((part) => existsSync(join(folder, part, name!)))]).toEqual([
        name,
        true,
      ]);
    const keys = (language: string, file: string) =>
      [
        ...readFileSync(join(folder, `admin/language/${language}/${file}`), 'utf8').matchAll(
          /^[A-Z_]+(?==")/gm,
        ),
      ].map(([key]) => key);
    const used = new Set(
      php.flatMap((file) => readFileSync(file, 'utf8').match(/COM_LICENSING[A-Z_]*(?=')/g) ?? []),
    );
    for (const file of ['com_licensing.ini', 'com_licensing.sys.ini'])
      expect(keys('de-DE', file)).toEqual(keys('en-GB', file));
    for (const key of used)
      if (key !== 'COM_LICENSING_') expect(keys('en-GB', 'com_licensing.ini')).toContain(key);
  });

  it.each(JOOMLA_VERSIONS)('of Joomla %s lets an administrator in', async (version) => {
    const admin = await joomla(version, one.url);
    expect(admin.installed).toEqual({
      title: 'COM_LICENSING',
      params: { menu_image: 'media/com_licensing/images/licensing.svg' },
    });
    const view = await admin.open();
    expect(view).toMatchObject({ status: 200, title: 'Licensing', hasOptions: false, template: 'index' });
    expect(textOf(view.html)).toBe('Nothing waits for you. Open');
    expect(view.html).not.toContain('name="ticket"');
    expect((await admin.open({ may: ['core.manage', 'core.admin'] })).hasOptions).toBe(true);
    expect((await admin.open({ may: [] })).status).toBe(403);
    // Only the component's own form opens the pages.
    for (const asked of [{ post: { task: 'open' } }, { get: { task: 'open', layout: 'enter' } }])
      expect(await admin.open(asked)).toMatchObject({ status: 303, html: '' });
    expect((await admin.open({ get: { layout: 'enter' } })).html).not.toContain('name="ticket"');
    const going = await admin.open({ post: hidden(view.html) });
    expect(going).toMatchObject({
      status: 200,
      template: 'component',
      scripts: ['com_licensing/enter.js'],
      meta: { referrer: 'strict-origin-when-cross-origin' },
    });
    expect(going.html).toContain(`action="${PREFIX}/pages/enter-joomla"`);
    for (const { html } of [view, going]) expect(html).not.toMatch(NO_SCRIPT);
    const { ticket = '' } = hidden(going.html);
    expect(ticket.length).toBeGreaterThanOrEqual(40);
    const browser = await nobody();
    expect(await enter(ticket, browser)).toMatchObject({ status: 303, location: '/' });
    expect((await browser.get('/licenses')).html).toContain(ann.login);
  });

  it('shows in the site’s language what waits', async () => {
    const at = new Date();
    const day = at.toISOString().slice(0, 10);
    await one.db(table(one.db, 'shop_refusals')).insert({ shop: 'hikashop', day, times: 7 });
    try {
      const english = await (await joomla('5.3', one.url)).open();
      expect(textOf(english.html)).toBe(
        'Shop messages with a wrong secret in the last seven days : 7 Open'.replace(' :', ':'),
      );
      const german = await (await joomla('5.3', one.url, 'de-AT')).open();
      expect(textOf(german.html)).toContain(
        'Meldungen von Shops mit falschem Geheimnis in den letzten sieben Tagen: 7 Öffnen',
      );
    } finally {
      await one.db(table(one.db, 'shop_refusals')).delete();
    }
  });

  it('says which lines the web server lacks if something else answers', async () => {
    const admin = await joomla(
      '6.1',
      await answering(404, '{"errors":[{"title":"Resource not found","code":404}]}'),
    );
    const said = textOf((await admin.open()).html);
    for (const word of ['licensing setup', 'upstream.conf', 'licensing.conf', 'Include', 'RewriteRule'])
      expect(said).toContain(word);
    for (const line of htaccessLines('/licensing-app').trim().split('\n')) expect(said).toContain(line);
  });

  it('says at most one sentence about any other answer, and never shows its content', async () => {
    const evil = '<script>alert(1)</script>';
    const data = { orders_waiting: 1, payments_unmatched: 1, signatures_refused: 1, mails_failed: 1 };
    const json = (value: unknown) => JSON.stringify({ data: value });
    const answers: [number, string][] = [
      [500, evil],
      [200, evil],
      [200, json({ ...data, orders_waiting: evil })],
      [200, json(evil)],
      [302, ''],
      [401, '{"error":{"code":"UNAUTHORIZED","message":"<script>"}}'],
      [404, '{"error":{"code":"NOT_FOUND","message":"<script>"}}'],
      [200, json({ ...data, more: 'x'.repeat(100_000) })],
    ];
    for (const [status, body] of answers) {
      const { html } = await (await joomla('5.3', await answering(status, body))).open();
      expect([status, textOf(html)]).toEqual([
        status,
        expect.stringMatching(/^The licensing service (?:did not|does not) [^.]*\. Open$/),
      ]);
      expect(html).not.toMatch(NO_SCRIPT);
    }
    const lured = await joomla(
      '5.3',
      await answering(200, json({ ...data, enter_url: 'javascript:alert(1)' })),
    );
    const view = await lured.open();
    expect((await lured.open({ post: hidden(view.html) })).html).toContain(
      `action="${PREFIX}/pages/enter-joomla"`,
    );
    const own = await joomla(
      '5.3',
      await answering(200, json({ ...data, enter_url: 'https://pages.shop.example/x' })),
    );
    const going = await own.open({ post: hidden(view.html) });
    expect(going.html).toContain('action="https://pages.shop.example/x"');
  });

  it('waits at most two seconds, even for an answer that drips', async () => {
    const dripping = await answering(200, '', true);
    const { html, seconds } = await (await joomla('5.3', dripping)).open();
    expect(seconds).toBeLessThan(inTime(4));
    expect(textOf(html)).toContain('did not report');
  });

  it('has no ticket for a site without a secret', async () => {
    const admin = await joomla('5.3', one.url);
    const view = await admin.open();
    const { html } = await admin.open({ post: hidden(view.html), secret: '' });
    expect(textOf(html)).toContain('no secret');
  });
});

function requestWith(headers: Record<string, string>): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers });
}

interface Sent {
  path: string;
  cookie?: string;
  origin?: string;
  body?: string;
}

/** Sends a request like a web server that ends TLS for a host. fetch() cannot: it always sends the address's own Host. */
async function ask(service: TestService, host: string, { path, cookie, origin, body }: Sent) {
  const headers = {
    ...{ Host: host, 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.9' },
    ...(cookie === undefined ? {} : { Cookie: cookie }),
    ...(origin === undefined ? {} : { Origin: origin }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
  };
  const method = body === undefined ? 'GET' : 'POST';
  const asked = request(`${service.url}${PREFIX}/pages${path}`, { method, headers });
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, html: await text(response) };
}

function postTo(service: TestService, host: string, origin: string) {
  const body = String(new URLSearchParams({ ticket: ticketOf(ann) }));
  return ask(service, host, { path: '/enter-joomla', origin, body });
}

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
});

/** Starts a server that gives every request this answer. @returns its address */
async function answering(status: number, body: string, drips = false): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', Location: '/elsewhere' });
    if (!drips) return void response.end(body);
    void (async () => {
      while (!response.destroyed) {
        response.write(' ');
        await sleep(100);
      }
    })();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
