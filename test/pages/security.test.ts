import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { demoLicenses, seedDemo } from '../../seeds/demo';
import { createCode, OPERATOR_CODE_TTL_MS } from '../../src/access/one-time-codes';
import { revokeToken } from '../../src/access/tokens';
import { myRoutes } from '../../src/http/pages/my/routes';
import { operatorRoutes } from '../../src/http/pages/operator/routes';
import type { PageCall, Route } from '../../src/http/pages/page';
import { signInRoutes } from '../../src/http/pages/sign-in/routes';
import type { Db } from '../../src/store/engine/database';
import { startTestSite } from '../support/joomla-site';
import { giveToken } from '../support/manage';
import { openRaw, sendRaw } from '../support/raw-http';
import { makePackage } from '../support/packages';
import { givePlan, PREFIX, startTestService, type TestService } from '../support/service';
import { customerClient, pagesClient, textOf, type PagesAnswer, type PagesClient } from './support/session';

/** Access to the pages and to their actions, and secrets that their answers and the log must not contain. */

const NOW = new Date('2026-11-24T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const TOKEN = /lgw_[\w-]{49}/;

const PUBLIC: Route<PageCall>[] = [...signInRoutes, ...myRoutes.open];
const ROUTES: {
  path: string;
  get?: unknown;
  post?: unknown;
  isSecret?: boolean;
  scope?: string | undefined;
}[] = [...PUBLIC, ...myRoutes.signedIn, ...operatorRoutes];
const isCustomers = (path: string) => path.startsWith('/my');

let service: TestService;
/** Every secret that was sent or made. */
const secrets = new Set<string>();

beforeAll(async () => {
  service = await startTestService(
    {
      LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_MANAGE_RATE_LIMIT: '100000',
    },
    NOW,
  );
  await seedDemo(service.db, { packagesDir: service.packagesDir, keySecret: undefined }, NOW);
  for (const { key } of demoLicenses) secrets.add(key);
});
afterAll(async () => {
  const log = service.logLines.join('\n').toLowerCase();
  expect(log).toContain('"endpoint":"pages"');
  expect([...secrets].filter((secret) => log.includes(secret.toLowerCase()))).toEqual([]);
  expect(log).not.toMatch(/example\.com|%40|enter\/(?!:code)/);
  await service.stop();
});

/** Returns the headers of a new client, so that its failures are counted separately. */
let clients = 0;
const elsewhere = () => ({ 'X-Forwarded-For': `198.51.${Math.floor(++clients / 250)}.${clients % 250}` });

async function client(
  ...options: Parameters<typeof pagesClient> extends [unknown, ...infer Rest] ? Rest : never
) {
  const made = await pagesClient(service, ...options);
  for (const value of made.cookies.values()) secrets.add(value);
  return made;
}

async function operatorCode(now = service.clock.now): Promise<string> {
  const who = {
    kind: 'operator',
    actor: 'operator:root',
    name: 'root',
    scope: 'write',
    operatorId: null,
  } as const;
  const code = await createCode(service.db, who, OPERATOR_CODE_TTL_MS, now);
  secrets.add(code);
  return code;
}

async function token(scope: 'read' | 'issue' | 'write'): Promise<{ token: string; id: number }> {
  const given = await giveToken(service.db, scope, `${scope}-${randomBytes(4).toString('hex')}`, {
    now: service.clock.now,
  });
  secrets.add(given.token);
  return given;
}

/** Returns an address of a route, with the ids of existing objects. */
function addressOf(path: string): string {
  const id = path.startsWith('/products') ? '42' : '1';
  return path
    .replace(/:(customer|email)\b/g, 'customer@example.com')
    .replace(/:version\b/g, '1.1.0')
    .replace(/:\w+/g, id)
    .replace(/[{}]/g, '');
}

/** Returns all stored rows, without what the clock changes: the last use of sessions and tokens, and which events are summed. */
async function stored(db: Db): Promise<string> {
  const tables = await db<{ name: string }>('sqlite_master')
    .where('type', 'table')
    .where('name', 'like', 'licensing_%')
    .select('name');
  const all: Record<string, unknown> = {};
  for (const { name } of tables) {
    if (/daily|sums|counts|leases|migrations|standing/.test(name)) continue;
    const rows = await db<Record<string, unknown>>(name).select();
    all[name] = rows.map(({ used_at: _used, last_used_at: _last, unsummed: _sum, ...row }) => row);
  }
  return JSON.stringify(all);
}

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

function expectProtected({ headers }: PagesAnswer, what: string): void {
  expect({ what, ...Object.fromEntries(headers) }).toMatchObject({
    what,
    'content-security-policy': POLICY,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
  });
  for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/; *httponly\b/i);
  for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/; *samesite=strict\b/i);
}

describe('every route', () => {
  const visitors: Record<string, () => Promise<PagesClient>> = {
    nobody: () => client({ scope: 'none' }),
    reader: () => client({ scope: 'read' }),
    writer: () => client(),
    'customer by key': () => customerClient(service, { key: demoLicenses[0]!.key }),
    'customer by mail': () => customerClient(service, { email: 'customer@example.com' }),
  };

  test.each(Object.keys(visitors))('has its headers, and a GET changes nothing: %s', async (name) => {
    const visitor = await visitors[name]!();
    const before = await stored(service.db);
    const statuses = new Set<number>();
    for (const { path } of [
      ...ROUTES,
      { path: '/nowhere' },
      { path: '/licenses/999999' },
      { path: '/my/nowhere' },
    ]) {
      const answer = await visitor.get(addressOf(path), elsewhere());
      expectProtected(answer, `${name}: GET ${path}: ${answer.status}`);
      expect([path, answer.status]).toEqual([path, expect.not.stringMatching(/^5/)]);
      expect(answer.status).toBeLessThan(500);
      expect(answer.html).not.toMatch(/<script(?! src="[^":]*")|\son\w+=|\sstyle=|javascript:/i);
      // The answer may be compressed together with text from the address, so it must not contain a secret.
      expect([...secrets].filter((secret) => answer.html.includes(secret))).toEqual([]);
      statuses.add(answer.status);
    }
    expect(await stored(service.db)).toBe(before);
    expect([...statuses]).toEqual(expect.arrayContaining([404]));
  });

  it('refuses other methods', async () => {
    const visitor = await client();
    for (const { path, get, post } of ROUTES) {
      const { url } = service;
      for (const method of [
        'PUT',
        'DELETE',
        'PATCH',
        'OPTIONS',
        ...(get ? [] : ['GET']),
        ...(post ? [] : ['POST']),
      ]) {
        const answer = await fetch(`${url}${PREFIX}/pages${addressOf(path)}`, {
          method,
          redirect: 'manual',
          headers: { Cookie: `licensing=${visitor.cookies.get('licensing')}`, Origin: url },
        });
        expect([path, method, answer.status]).toEqual([path, method, 405]);
        expect(answer.headers.get('content-security-policy')).toBe(POLICY);
      }
    }
  });

  it('accepts a POST only from our own pages: others are refused, and nothing is stored', async () => {
    const before = await stored(service.db);
    const { host } = new URL(service.url);
    const foreign: Record<string, string>[] = [
      { Origin: 'null' },
      { Origin: 'https://evil.example' },
      { Origin: `https://${host}` },
      { Origin: `${service.url}.evil.example` },
      { Origin: `${service.url}@evil.example` },
      { Origin: '' },
      { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site' },
      {},
    ];
    const operator = await client();
    const customer = await customerClient(service, { email: 'customer@example.com' });
    const after = await stored(service.db);
    for (const { path, post } of ROUTES.filter((route) => route.post)) {
      expect(post).toBeDefined();
      const by = isCustomers(path) ? customer : operator;
      for (const headers of foreign) {
        const answer = await send(by, addressOf(path), { ...headers, ...elsewhere() });
        expect([path, headers, answer.status]).toEqual([path, headers, 403]);
        expectProtected(answer, path);
        expect(answer.headers.getSetCookie()).toEqual([]);
      }
    }
    expect(before).not.toBe(after);
    expect(await stored(service.db)).toBe(after);
  });

  /** Sends a POST with only these headers. */
  async function send(by: PagesClient, path: string, headers: Record<string, string>): Promise<PagesAnswer> {
    const cookie = [...by.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${service.url}${PREFIX}/pages${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: cookie, 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      body: 'reason=forged&theme=dark&language=de&name=Forged',
    });
    return {
      status: response.status,
      headers: response.headers,
      html: await response.text(),
      location: undefined,
    };
  }

  it('of the operator leads a visitor without a session to sign in, and then to the requested page', async () => {
    const nobody = await client({ scope: 'none' });
    const customer = await customerClient(service, { email: 'customer@example.com' });
    for (const { path, get, post } of operatorRoutes)
      for (const visitor of [nobody, customer]) {
        const address = addressOf(path);
        const next = path === '/' ? '' : `?next=${encodeURIComponent(address)}`;
        if (get)
          expect([path, await visitor.get(address)]).toMatchObject([
            path,
            { status: 303, location: `/sign-in${next}`, html: 'See Other' },
          ]);
        if (post)
          expect([path, await visitor.post(address)]).toMatchObject([
            path,
            { status: 303, html: 'See Other' },
          ]);
      }
  });

  it('of the customer leads a visitor without a session to the first page', async () => {
    const [nobody, operator] = [await client({ scope: 'none' }), await client()];
    for (const { path, get, post } of myRoutes.signedIn)
      for (const visitor of [nobody, operator]) {
        const address = addressOf(path);
        if (get)
          expect([path, await visitor.get(address)]).toMatchObject([
            path,
            { status: 303, location: '/my', html: 'See Other' },
          ]);
        if (post)
          expect([path, await visitor.post(address)]).toMatchObject([
            path,
            { status: 303, location: '/my', html: 'See Other' },
          ]);
      }
  });

  it('that changes something is refused to a reader, and nothing is stored', async () => {
    const reader = await client({ scope: 'read' });
    const before = await stored(service.db);
    for (const { path, get, post, scope } of operatorRoutes) {
      if (post && scope !== 'read')
        expect([path, (await reader.post(addressOf(path), { reason: 'x' })).status]).toEqual([path, 403]);
      if (get && scope === 'write')
        expect([path, (await reader.get(addressOf(path))).status]).toEqual([path, 403]);
    }
    expect(await stored(service.db)).toBe(before);
  });

  /** The contract's exceptions from signing in again (docs/pages.md), each with its forms. */
  const GO_ON = {
    issue: ['/licenses/new', '/start/license'],
    renew: ['/licenses/:id/renew'],
    'suspend, reinstate': ['/licenses/:id/suspend', '/licenses/:id/reinstate', '/licenses/bulk/suspend'],
    'add or remove a site': ['/licenses/:id/sites/add', '/licenses/:id/sites/:site/remove'],
    'mail a key to the address that is stored': ['/licenses/:id/send-key', '/licenses/bulk/mail'],
    'run or settle orders': ['/shops/:name/run'],
    notes: ['/licenses/:id/note', '/customers/:id/note'],
    drafts: ['/products/:id/releases/new', '/start/release', '/releases/:id/edit'],
    'reading: a table is checked before it is imported': ['/move-in'],
    'reading: what will happen is said first, and an export': ['/licenses/bulk'],
    reading: ['/find', '/products/:id/joomla-plugin'],
  };
  const expectAsked = (path: string, { status, html }: PagesAnswer) =>
    expect([path, status, html.includes('name="sign_in_again"')]).toEqual([path, 403, true]);

  it('that changes something needs a sign-in within the hour, with the contract’s exceptions', async () => {
    const writer = await anHourOld();
    const before = await stored(service.db);
    const goesOn: string[] = [];
    try {
      for (const { path, post, upload } of operatorRoutes) {
        if (!post) continue;
        const answer = await writer.post(addressOf(path), { reason: 'typed "before"' });
        // A file cannot be kept, so its page is shown again after the sign-in.
        if (upload && answer.location?.startsWith('/sign-in')) continue;
        if (!answer.html.includes('name="sign_in_again"')) goesOn.push(path);
        else {
          expectAsked(path, answer);
          expect([path, answer.html]).toEqual([
            path,
            expect.stringContaining('name="reason" value="typed &quot;before&quot;"'),
          ]);
        }
      }
    } finally {
      service.clock.now = NOW;
    }
    // The changelog of a published version needs a recent sign-in, the changelog of a draft does not.
    expect([...goesOn, '/releases/:id/edit'].sort()).toEqual(Object.values(GO_ON).flat().sort());
    expect(before).toBeDefined();
  });

  /** Returns an operator who signed in an hour ago and has been active since. */
  async function anHourOld(): Promise<PagesClient> {
    service.clock.now = NOW;
    const operator = await client();
    for (let at = 20; at <= 60; at += 20) {
      service.clock.now = new Date(NOW.getTime() + at * MINUTE);
      expect((await operator.get('/licenses')).status).toBe(200);
    }
    return operator;
  }

  it('continues with the typed values, after a token next to them or a sign-in elsewhere', async () => {
    try {
      const operator = await anHourOld();
      const address = '/licenses/1/customer';
      const customerNow = async () =>
        textOf((await operator.get('/licenses/1')).html).includes('moved@example.com');
      expectAsked(address, await operator.post(address, { customer: 'moved@example.com' }));
      const wrong = await operator.post(
        address,
        { customer: 'moved@example.com', sign_in_again: 'lgw_wrong' },
        elsewhere(),
      );
      expect(wrong.status).toBe(401);
      expect(wrong.html).toContain('name="customer" value="moved@example.com"');
      expect(wrong.html).not.toContain('lgw_wrong');
      const { token: reader } = await token('read');
      expect((await operator.post(address, { customer: 'x@example.com', sign_in_again: '' })).status).toBe(
        403,
      );
      expect(await customerNow()).toBe(false);
      const { token: writer } = await token('write');
      const done = await operator.post(address, { customer: 'moved@example.com', sign_in_again: writer });
      secrets.add(operator.cookies.get('licensing')!);
      expect([done.status, done.location]).toEqual([303, '/licenses/1']);
      expect(await customerNow()).toBe(true);
      expect((await operator.get('/tokens/new')).status).toBe(200);

      const other = await anHourOld();
      expectAsked(address, await other.post(address, { customer: 'back@example.com' }));
      const denied = await other.post(address, { customer: 'back@example.com', sign_in_again: reader });
      expect(denied.status).toBe(403);
      await other.post(`/enter/${await operatorCode()}`);
      secrets.add(other.cookies.get('licensing')!);
      const after = await other.post(address, { customer: 'back@example.com', sign_in_again: '' });
      expect([after.status, after.location]).toEqual([303, '/licenses/1']);
    } finally {
      service.clock.now = NOW;
    }
  });

  it('keeps a package as a draft, which is published after signing in again', async () => {
    try {
      await givePlan(service.db, { productId: 77 });
      const operator = await anHourOld();
      const form = new FormData();
      form.append('version', '9.9.9');
      form.append('draft', '0');
      form.append('file', new Blob([new Uint8Array((await makePackage()).bytes)]), 'package.zip');
      const kept = await operator.post('/products/77/releases/new', form);
      expect([kept.status, kept.location]).toEqual([
        303,
        expect.stringMatching(/^\/releases\/\d+\/publish$/),
      ]);
      expect(textOf((await operator.get(kept.location!)).html)).toContain('9.9.9 is kept as a draft');
      const edited = await operator.post(kept.location!.replace('publish', 'edit'), { changelog: 'New' });
      expect(edited.status).toBe(303);
      expect((await operator.post(kept.location!)).location).toMatch(/^\/sign-in\?next=/);
      const { token: writer } = await token('write');
      const done = await operator.post(kept.location!, { sign_in_again: writer });
      secrets.add(operator.cookies.get('licensing')!);
      expect(done.location).toMatch(/^\/releases\?/);
      const versions = await service.db('licensing_releases').where({ version: '9.9.9' }).select('state');
      expect(versions).toEqual([{ state: 'published' }]);
    } finally {
      service.clock.now = NOW;
    }
  });

  it('that shows a secret or deletes something needs a sign-in within the hour, and then continues', async () => {
    const secret = operatorRoutes.filter(({ isSecret }) => isSecret);
    expect(secret.length).toBeGreaterThan(2);
    try {
      for (const { path, get, post, upload } of secret) {
        service.clock.now = NOW;
        const operator = await client();
        const address = addressOf(path);
        if (get)
          expect([path, await operator.get(address)]).not.toMatchObject([
            path,
            { location: expect.stringMatching(/^\/sign-in/) },
          ]);
        for (let at = 20; at <= 60; at += 20) {
          service.clock.now = new Date(NOW.getTime() + at * MINUTE);
          expect((await operator.get('/licenses')).status).toBe(200);
        }
        const before = await stored(service.db);
        const asked = get ? await operator.get(address) : await operator.post(address);
        if (post && get) expect((await operator.post(address)).location).toBe(asked.location);
        if (post && !upload) expectAsked(path, await operator.post(address, { name: 'typed' }));
        expect(await stored(service.db)).toBe(before);
        if (!get) continue;
        const query = new URLSearchParams({ next: address, why: 'again' });
        expect([path, asked.location]).toEqual([path, `/sign-in?${String(query)}`]);
        const again = await operator.post('/sign-in', { token: (await token('write')).token, next: address });
        expect([path, again.status, again.location]).toEqual([path, 303, address]);
        expect((await operator.get(address)).location ?? '').not.toContain('/sign-in');
      }
    } finally {
      service.clock.now = NOW;
    }
  });
});

describe('a page is compressed', () => {
  /** Returns an answer with its size as sent and its unpacked HTML. */
  async function raw(visitor: PagesClient, method: string, path: string, accepted: string) {
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const head = `${method} ${PREFIX}/pages${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n${accepted}\r\n`;
    const connection = openRaw(service.url);
    const { headers, body } = (await connection.send(head, { head: method === 'HEAD' }))!;
    connection.close();
    const isPacked = headers.get('content-encoding') === 'gzip' && method !== 'HEAD';
    const html = String(isPacked ? gunzipSync(body) : body);
    return { encoding: headers.get('content-encoding'), vary: headers.get('vary'), size: body.length, html };
  }

  it('as the browser allows', async () => {
    const visitor = await client();
    const plain = await raw(visitor, 'GET', '/licenses', '');
    expect(plain).toMatchObject({ encoding: undefined, vary: 'Accept-Encoding, Accept-Language, Cookie' });
    for (const accepted of ['gzip', 'gzip, deflate, br, zstd']) {
      const packed = await raw(visitor, 'GET', '/licenses', `Accept-Encoding: ${accepted}\r\n`);
      expect(packed).toMatchObject({ encoding: 'gzip', vary: plain.vary, html: plain.html });
      expect(packed.size).toBeLessThan(plain.size / 3);
    }
    for (const accepted of ['identity', 'br', 'gzip;q=0'])
      expect(await raw(visitor, 'GET', '/licenses', `Accept-Encoding: ${accepted}\r\n`)).toEqual(plain);
    expect(await raw(visitor, 'HEAD', '/licenses', 'Accept-Encoding: gzip\r\n')).toMatchObject({
      encoding: 'gzip',
    });
    expect(await raw(visitor, 'GET', '/nowhere', 'Accept-Encoding: gzip\r\n')).toMatchObject({
      encoding: 'gzip',
    });
  });

  it('but never with a secret: the answer to a POST is not', async () => {
    const compressed = { 'Accept-Encoding': 'gzip' };
    const visitor = await client();
    await visitor.get('/licenses/new?plan_id=1');
    const issued = await visitor.post('/licenses/new', { plan_id: 1 }, compressed);
    const [, key] = /id="license-key"[^>]* value="([^"]+)"/.exec(issued.html)!;
    secrets.add(key!);
    expect(issued.headers.get('content-encoding')).toBeNull();
    await visitor.get('/tokens/new');
    const made = await visitor.post('/tokens/new', { name: 'shop', scope: 'read' }, compressed);
    expect(made).toMatchObject({ status: 200, html: expect.stringMatching(TOKEN) });
    secrets.add(TOKEN.exec(made.html)![0]);
    expect(made.headers.get('content-encoding')).toBeNull();
  });
});

describe('a session', () => {
  const isIn = async (visitor: PagesClient) => (await visitor.get('/licenses')).status === 200;

  it('has an id that an attacker cannot prepare, new with each sign-in', async () => {
    const visitor = await client({ scope: 'none' });
    const prepared = randomBytes(32).toString('base64url');
    for (const by of ['token', 'code'] as const) {
      visitor.cookies.set('licensing', prepared);
      const signedIn =
        by === 'code'
          ? await visitor.post(`/enter/${await operatorCode()}`)
          : await visitor.post('/sign-in', { token: (await token('write')).token });
      expect(signedIn.status).toBe(303);
      const id = visitor.cookies.get('licensing')!;
      secrets.add(id);
      expect(id).toMatch(/^[\w-]{43}$/);
      expect(id).not.toBe(prepared);
      expect(await isIn(visitor)).toBe(true);
      expect(JSON.stringify(await service.db('licensing_sessions'))).not.toContain(id);
      const thief = await client({ scope: 'none' });
      thief.cookies.set('licensing', prepared);
      expect(await isIn(thief)).toBe(false);
      // Signing in again ends the previous session.
      const second = await visitor.post(`/enter/${await operatorCode()}`);
      expect(second.status).toBe(303);
      thief.cookies.set('licensing', id);
      expect((await thief.get('/licenses')).location).toContain('why=ended');
    }
  });

  it('is a cookie for this service only, and only for TLS where TLS is used', async () => {
    const visitor = await client({ scope: 'none' });
    const plain = await visitor.post(`/enter/${await operatorCode()}`);
    expect(plain.headers.getSetCookie().filter((one) => one.startsWith('licensing='))).toEqual([
      expect.stringMatching(
        /^licensing=[\w-]{43}; Path=\/api\/index\.php\/v1\/licensing; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    const tls = await visitor.post(
      `/enter/${await operatorCode()}`,
      {},
      {
        Origin: service.url.replace('http:', 'https:'),
        'X-Forwarded-Proto': 'https',
      },
    );
    expect(tls.headers.getSetCookie().join()).toMatch(/^licensing=[^,]*; Secure$/);
    for (const value of visitor.cookies.values()) secrets.add(value);
  });

  it('uses the scheme of LICENSING_PUBLIC_URL where TLS ends before the web server', async () => {
    const signIn = async (host: string, origin: string) => {
      const path = `${PREFIX}/pages/enter/${await operatorCode()}`;
      const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nContent-Length: 0\r\n\r\n`;
      const { status, headers } = (await sendRaw(service.url, head))!;
      return { status, isSecure: headers.get('set-cookie')?.includes('; Secure') };
    };
    expect(await signIn('shop.example', 'https://shop.example')).toEqual({ status: 303, isSecure: true });
    expect((await signIn('shop.example', 'http://shop.example')).status).toBe(403);
    expect((await signIn('other.example', 'https://other.example')).status).toBe(403);
  });

  it('ends by signing out: the cookie no longer works', async () => {
    const visitor = await client();
    const stolen = visitor.cookies.get('licensing')!;
    await visitor.post('/sign-out');
    expect(visitor.cookies.has('licensing')).toBe(false);
    visitor.cookies.set('licensing', stolen);
    const answer = await visitor.get('/licenses?q=x');
    expect(answer.location).toBe('/sign-in?next=%2Flicenses%3Fq%3Dx&why=ended');
    expect((await visitor.get(answer.location!)).html).toContain('Sign in');
  });

  it('ends after 30 minutes without a request, and after 12 hours', async () => {
    try {
      const idle = await client();
      service.clock.now = new Date(NOW.getTime() + 29 * MINUTE);
      expect(await isIn(idle)).toBe(true);
      service.clock.now = new Date(NOW.getTime() + 59 * MINUTE);
      expect((await idle.get('/licenses')).location).toBe('/sign-in?next=%2Flicenses&why=ended');
      service.clock.now = NOW;
      const busy = await client();
      for (let at = 0; at < 12 * HOUR; at += 25 * MINUTE) {
        service.clock.now = new Date(NOW.getTime() + at);
        expect(await isIn(busy)).toBe(true);
      }
      service.clock.now = new Date(NOW.getTime() + 12 * HOUR);
      expect(await isIn(busy)).toBe(false);
    } finally {
      service.clock.now = NOW;
    }
  });

  it('ends with the token that opened it', async () => {
    const { token: text, id } = await token('write');
    const visitor = await client({ scope: 'none' });
    await visitor.post('/sign-in', { token: text });
    expect(await isIn(visitor)).toBe(true);
    await revokeToken(service.db, id, { actor: 'operator:test', now: NOW });
    expect(await isIn(visitor)).toBe(false);
  });

  it('is not opened by a token of the scope issue', async () => {
    const visitor = await client({ scope: 'none' });
    const answer = await visitor.post('/sign-in', { token: (await token('issue')).token });
    expect([answer.status, visitor.cookies.size]).toEqual([403, 0]);
    expect(textOf(answer.html)).toContain('shop');
  });

  it.each([
    ['/licenses?status=active', '/licenses?status=active'],
    ['//evil.example/', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['/%0d%0aSet-Cookie:x=1', '/%0d%0aSet-Cookie:x=1'],
    ['/\r\nSet-Cookie: x=1', '/'],
    ['/enter/AAAA', '/'],
    ['/../../evil', '/'],
    ['/x/%2e%2e/..%2f/../%2E%2e/evil', '/'],
    ['/..\\..\\evil', '/'],
    ['/licenses/../enter/AAAA', '/'],
    ['/..//evil.example', '/'],
    ['/./\\evil.example', '/'],
    ['/licenses/../orders?a=/../b', '/orders?a=/../b'],
    ['', '/'],
  ])('continues only to our own pages: next=%j leads to %s', async (next, to) => {
    const visitor = await client({ scope: 'none' });
    const answer = await visitor.post('/sign-in', { token: (await token('read')).token, next });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${PREFIX}/pages${to}`]);
    const back = await visitor.post('/preferences', { theme: 'dark', back: next });
    expect(back.headers.get('location')).toBe(`${PREFIX}/pages${to}`);
    expect(visitor.cookies.has('x')).toBe(false);
  });
});

describe('signing in', () => {
  it('is refused after ten failures of a client in a minute', async () => {
    const visitor = await client({ scope: 'none' });
    const headers = elsewhere();
    const statuses: number[] = [];
    for (let i = 0; i < 11; i++)
      statuses.push((await visitor.post('/sign-in', { token: `lgw_${'x'.repeat(49)}` }, headers)).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
    expect((await visitor.get(`/enter/${'A'.repeat(43)}`, headers)).status).toBe(429);
    expect((await visitor.post('/sign-in', { token: 'wrong' }, elsewhere())).status).toBe(401);
  });

  it('never shows the typed text', async () => {
    const visitor = await client({ scope: 'none' });
    const answer = await visitor.post('/sign-in', { token: 'a-secret-of-another-site' }, elsewhere());
    expect(answer.html).not.toContain('a-secret-of-another-site');
  });

  it('by a link works once, however often a scanner has opened it', async () => {
    const code = await operatorCode();
    const scanner = await client({ scope: 'none' });
    for (let i = 0; i < 20; i++) {
      const shown = await scanner.get(`/enter/${code}`, elsewhere());
      expect([shown.status, shown.headers.getSetCookie()]).toEqual([200, []]);
      expect(shown.html).toContain('<button');
    }
    const visitor = await client({ scope: 'none' });
    const both = await Promise.all([1, 2].map(() => visitor.post(`/enter/${code}`, {}, elsewhere())));
    expect(both.map(({ status }) => status).sort()).toEqual([303, 404]);
    for (const value of visitor.cookies.values()) secrets.add(value);
  });

  it('by a link returns to the requested page, if it is one of our own', async () => {
    for (const [next, to] of [
      ['/licenses?status=active', '/licenses?status=active'],
      ['/../../evil', '/'],
      ['//evil.example/', '/'],
      ['/enter/AAAA', '/'],
    ] as const) {
      const visitor = await client({ scope: 'none' });
      await visitor.get(`/sign-in?${String(new URLSearchParams({ next, why: 'ended' }))}`, elsewhere());
      const entered = await visitor.post(`/enter/${await operatorCode()}`, {}, elsewhere());
      expect([next, entered.status, entered.location]).toEqual([next, 303, to]);
      for (const value of visitor.cookies.values()) secrets.add(value);
      expect([...visitor.cookies.keys()]).toEqual(['licensing']);
    }
    // The cookie with the requested page is checked too, because a browser can send any value.
    const forged = await client({ scope: 'none' });
    forged.cookies.set('licensing_next', encodeURIComponent('/..//evil.example'));
    expect((await forged.post(`/enter/${await operatorCode()}`, {}, elsewhere())).location).toBe('/');
    // The sign-in page that was opened last has no `next`, so it does not lead to the earlier page.
    const later = await client({ scope: 'none' });
    await later.get('/sign-in?next=%2Fcustomers', elsewhere());
    await later.get('/sign-in', elsewhere());
    expect((await later.post(`/enter/${await operatorCode()}`, {}, elsewhere())).location).toBe('/');
    for (const one of [forged, later]) for (const value of one.cookies.values()) secrets.add(value);
  });

  it('says the same for a used, an expired and an invented link', async () => {
    const used = await operatorCode();
    const visitor = await client({ scope: 'none' });
    await visitor.post(`/enter/${used}`);
    for (const value of visitor.cookies.values()) secrets.add(value);
    const old = await operatorCode(new Date(NOW.getTime() - 10 * MINUTE));
    const stranger = await client({ scope: 'none' });
    const answers: string[] = [];
    for (const code of [used, old, randomBytes(32).toString('base64url'), 'short', `${'A'.repeat(42)}%20`])
      for (const method of ['get', 'post'] as const) {
        const path = `/enter/${code}`;
        const headers = elsewhere();
        const answer =
          method === 'get' ? await stranger.get(path, headers) : await stranger.post(path, {}, headers);
        const other = [...answer.headers.keys()].filter((header) => header !== 'content-encoding');
        answers.push(
          JSON.stringify([
            answer.status,
            other.sort().join(),
            answer.html.replaceAll(code, 'CODE').replaceAll(decodeURIComponent(code), 'CODE'),
          ]),
        );
      }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^\[404,/);
  });
});

describe('a Joomla account', () => {
  it('that is blocked ends its session within a minute', async () => {
    const site = await startTestSite();
    const own = await startTestService(
      { LICENSING_JOOMLA_ROOT: site.root, LICENSING_DATABASE_URL: site.url },
      NOW,
    );
    try {
      const user = await site.addUser('jane', [8]);
      const visitor = await pagesClient(own, { scope: 'none' });
      expect((await visitor.post('/sign-in', { token: user.token })).location).toBe('/');
      const shown = await visitor.get('/licenses');
      expect([shown.status, shown.html]).toEqual([200, expect.stringContaining('jane')]);
      await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [user.id]);
      own.clock.now = new Date(NOW.getTime() + MINUTE);
      expect((await visitor.get('/licenses')).location).toBe('/sign-in?next=%2Flicenses&why=ended');
    } finally {
      await own.stop();
      await site.stop();
    }
  });
});

test('no page writes raw HTML', () => {
  const folder = join(__dirname, '../../src/http/pages');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  expect(sources.length).toBeGreaterThan(20);
  for (const name of sources)
    expect([name, readFileSync(join(folder, name), 'utf8')]).toEqual([
      name,
      expect.not.stringMatching(/dangerouslySetInnerHTML|\braw\(|hono\/html|html`|\sstyle=|\son[A-Z]\w+=/),
    ]);
});
