import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findOperatorByEmail } from '../../src/store/operators';
import { secretDigest } from '../../src/access/random-secret';
import { createSession } from '../../src/access/sessions';
import { addToken } from '../../src/access/tokens';
import { table } from '../../src/store/engine/database';
import { insertUnmatchedOnce } from '../../src/store/orders/unmatched';
import { toSqlTime } from '../../src/store/engine/time';
import { giveToken, manageClient } from '../support/manage';
import { eventually } from '../support/processes';
import { givePlan, PREFIX, rows, startTestService, type TestService } from '../support/service';
import { startReceiver } from '../support/webhook-receiver';

/** The pages about the installation: tokens, operators, imports, the doctor. */

let service: TestService;
let planId: number;
beforeAll(async () => {
  service = await startTestService({
    LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
    LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8',
  });
  planId = await givePlan(service.db);
});
afterAll(() => service.stop());

type Fields = Record<string, string>;

/** Opens a browser that is signed in. */
async function browser(
  scope: 'read' | 'write' = 'write',
  opener: { name: string; operatorId: number | null } = { name: 'root', operatorId: null },
  language = 'en',
) {
  const actor = `operator:${opener.name}`;
  const { clock, db } = service;
  const { cookie } = await createSession(db, { kind: 'operator', actor, scope, ...opener }, clock.now);
  return browserWith(cookie, language);
}

function browserWith(cookie: string, language = 'en') {
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${service.url}${PREFIX}/pages${path}`, {
      ...init,
      redirect: 'manual',
      headers: { Cookie: `licensing=${cookie}`, Origin: service.url, 'Accept-Language': language },
    });
    const location = response.headers.get('location')?.replace(/^.*\/pages/, '');
    const html = await response.text();
    return { status: response.status, location, html, text: textOf(html) };
  };
  return {
    get: (path: string) => send(path),
    post: (path: string, fields: Fields = {}) =>
      send(path, { method: 'POST', body: new URLSearchParams(fields) }),
  };
}

const unescape = (html: string) =>
  html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

/** Returns the text of `main`. */
const textOf = (html: string) =>
  unescape(html.slice(Math.max(0, html.indexOf('<main'))).replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ');

/** Returns the fields that a browser would send from the form in `main`. */
function fieldsOf(html: string): Fields {
  const main = html.slice(html.indexOf('<main'), html.indexOf('</main>'));
  const hidden = [...main.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  const selects = [...main.matchAll(/<select[^>]* name="([^"]*)".*?<\/select>/gs)].map(([select, name]) => [
    name,
    /<option value="([^"]*)" selected/.exec(select)?.[1] ?? '',
  ]);
  const once = /[?]once=([\w-]+)/.exec(main)?.[1];
  const fields = [...hidden.map(([, name, value]) => [name, value]), ...selects] as [string, string][];
  return {
    ...(once === undefined ? {} : { once }),
    ...Object.fromEntries(fields.map(([name, value]) => [name, unescape(value)])),
  };
}

const countOf = async (name: 'licenses' | 'operators' | 'tokens') =>
  (await service.db(table(service.db, name))).length;

describe('tokens', () => {
  it('are made once per form, shown only in its answer, and end when they are revoked', async () => {
    const pages = await browser();
    const { once = '' } = fieldsOf((await pages.get('/tokens/new')).html);
    const sent = { once, name: 'shop', scope: 'issue', expires_at: '2099-12-31' };
    const { html } = await pages.post('/tokens/new', sent);
    const [token = ''] = /lgw_[A-Za-z0-9_-]+/.exec(html) ?? [];
    expect(html).toContain('cannot be shown again');
    expect(html).toContain(`${service.url}${PREFIX}/manage/me`);
    const shop = manageClient(service.url, token);
    expect(await shop.ok('GET /me')).toMatchObject({ name: 'shop', scope: 'issue' });

    expect((await pages.post('/tokens/new', sent)).html).toContain(token);
    expect(await countOf('tokens')).toBe(1);
    const list = (await pages.get('/tokens')).html;
    expect(list).toContain('31 Dec 2099');
    expect(list).not.toContain(token);

    const [, path = ''] = /pages(\/tokens\/\d+\/revoke)"/.exec(list) ?? [];
    expect((await pages.get(path)).html).toContain('Revoke token shop?');
    expect(await pages.post(path)).toMatchObject({ status: 303, location: '/tokens' });
    expect(await pages.post(path)).toMatchObject({ status: 303, location: '/tokens' });
    // A valid token is cached for a second.
    await eventually(() => shop.refused('GET /me', undefined, 'UNAUTHORIZED'));
  });

  it('show which one opened the session, and the session ends with it', async () => {
    const context = { actor: 'operator:root', now: service.clock.now };
    const { token } = await addToken(service.db, { name: 'mine', scope: 'write', expiresAt: null }, context);
    const signedIn = await fetch(`${service.url}${PREFIX}/pages/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Origin: service.url },
      body: new URLSearchParams({ token }),
    });
    const [, cookie = ''] = /licensing=([^;]+)/.exec(signedIn.headers.get('set-cookie') ?? '') ?? [];
    const pages = browserWith(cookie);
    const list = await pages.get('/tokens');
    expect(list.text).toContain('mine you are signed in with it');
    const [, path = ''] = /pages(\/tokens\/\d+\/revoke)"/.exec(list.html) ?? [];
    expect((await pages.get(path)).text).toContain('you will be signed out');
    expect((await pages.post(path)).location).toBe('/sign-in');
    expect((await pages.get('/tokens')).location).toMatch(/^\/sign-in/);
  });

  it('show mistakes next to the typed values', async () => {
    const pages = await browser();
    const { status, html } = await pages.post('/tokens/new', {
      once: 'a',
      name: 'a@b.example',
      scope: 'read',
    });
    expect(status).toBe(400);
    expect(html).toContain('value="a@b.example"');
    expect(html).toContain('aria-invalid="true"');
  });

  it('are for operators who may write, and who have signed in within the hour', async () => {
    const reader = await browser('read');
    for (const path of ['/tokens', '/operators', '/imports', '/move-in'])
      expect((await reader.get(path)).status).toBe(403);
    expect((await reader.post('/tokens/new', { name: 'x', scope: 'write' })).status).toBe(403);
    const earlier = new Date(service.clock.now.getTime() - 61 * 60_000);
    const { cookie } = await createSession(
      service.db,
      { kind: 'operator', actor: 'operator:root', name: 'root', scope: 'write', operatorId: null },
      earlier,
    );
    await service
      .db(table(service.db, 'sessions'))
      .where({ cookie_digest: secretDigest(cookie)! })
      .update({ used_at: toSqlTime(service.clock.now) });
    const { location } = await browserWith(cookie).get('/tokens/new');
    expect(location).toBe('/sign-in?next=%2Ftokens%2Fnew&why=again');
  });
});

describe('operators', () => {
  it('are added and removed, which signs them out', async () => {
    const pages = await browser();
    expect((await pages.get('/operators')).html).toContain('enter the address of the site under Settings');
    const sent = { email: 'Jane@Example.com', scope: 'read' };
    expect((await pages.post('/operators/new', sent)).location).toBe('/operators');
    expect((await pages.post('/operators/new', sent)).status).toBe(409);
    const operator = await findOperatorByEmail(service.db, 'jane@example.com');
    expect(operator).toMatchObject({ scope: 'read', createdBy: 'operator:root' });
    const id = operator?.id ?? 0;

    const jane = await browser('read', { name: 'jane@example.com', operatorId: id });
    expect((await jane.get('/system')).status).toBe(200);
    expect((await pages.get(`/operators/${id}/remove`)).html).toContain('Remove operator jane@example.com?');
    expect((await pages.post(`/operators/${id}/remove`)).location).toBe('/operators');
    expect((await jane.get('/system')).location).toMatch(/^\/sign-in/);
    expect(await countOf('operators')).toBe(0);
  });
});

describe('webhooks', () => {
  it('are added with a secret that is shown once, tried, changed, replayed and removed', async () => {
    const receiver = await startReceiver();
    const pages = await browser();
    expect((await pages.get('/system')).html).toContain('/pages/webhooks"');
    const bad = await pages.post('/webhooks/new', { url: 'https://10.0.0.1/', events: '*' });
    expect(bad).toMatchObject({ status: 400 });
    expect(bad.text).toContain('type https:// and a public host');
    const unknown = await pages.post('/webhooks/new', { url: receiver.url, events: 'license.sold' });
    expect(unknown.text).toContain('Please name events, such as license.*');

    const { once = '' } = fieldsOf((await pages.get('/webhooks/new')).html);
    const sent = { once, url: receiver.url, events: 'license.issued, release.*', description: 'CRM' };
    const { html } = await pages.post('/webhooks/new', sent);
    const [secret = ''] = /whsec_[A-Za-z0-9+/=]+/.exec(unescape(html)) ?? [];
    receiver.secret = secret;
    expect(unescape((await pages.post('/webhooks/new', sent)).html)).toContain(secret);
    const [{ id }] = (await rows<{ id: number }>(service.db, 'webhooks')) as [{ id: number }];
    const path = `/webhooks/${id}`;
    expect((await pages.get('/webhooks')).text).toContain('CRM on license.issued, release.* 0');
    expect(await pages.post(`${path}/test`)).toMatchObject({ status: 303, location: path });
    await eventually(async () => expect((await pages.get(path)).text).toContain('webhook.test delivered'));

    receiver.answer = (response) => response.writeHead(410).end('<b>Gone & away</b>');
    await manageClient(service.url, (await giveToken(service.db, 'write', 'webhooks')).token).ok(
      'POST /licenses',
      { plan_id: planId },
      201,
    );
    await eventually(async () =>
      expect((await pages.get(path)).text).toContain('switched off: the answer was “410 Gone”'),
    );
    const stopped = await pages.get(path);
    expect(stopped.text).toContain('The other side answered with an error (410)');
    expect(stopped.html).toContain('&lt;b&gt;Gone &amp; away&lt;/b&gt;');
    expect(stopped.html).not.toContain(secret);
    expect((await pages.get(`${path}?state=waiting`)).text).toContain('license.issued waits');

    receiver.answer = undefined;
    expect((await pages.get(`${path}/rotate`)).text).toContain('Make a new secret for CRM?');
    const { html: rotated } = await pages.post(`${path}/rotate`);
    receiver.secret = /whsec_[A-Za-z0-9+/=]+/.exec(unescape(rotated))?.[0];
    const edited = { url: receiver.url, events: '*', description: '' };
    expect(await pages.post(`${path}/edit`, edited)).toMatchObject({ status: 303, location: path });
    expect(await pages.post(`${path}/enable`)).toMatchObject({ status: 303, location: path });
    await eventually(async () => expect((await pages.get(path)).text).toContain('license.issued delivered'));
    const [, replay = ''] = /pages(\/webhooks\/\d+\/deliveries\/\d+\/replay)"/.exec(
      (await pages.get(path)).html,
    ) as RegExpExecArray;
    const before = receiver.received.length;
    expect(await pages.post(replay)).toMatchObject({ status: 303, location: path });
    await eventually(() => expect(receiver.received).toHaveLength(before + 1));
    expect(await pages.post(`${path}/disable`)).toMatchObject({ status: 303, location: path });
    expect((await pages.get(path)).text).toContain('switched off');
    expect((await pages.get(`${path}/remove`)).text).toContain('Remove for good');
    for (let i = 0; i < 2; i++)
      expect(await pages.post(`${path}/remove`)).toMatchObject({ status: 303, location: '/webhooks' });
    expect((await pages.get(path)).status).toBe(404);
    expect(receiver.forged).toBe(0);
    await receiver.stop();
  });

  it('are not shown to an operator who may only read', async () => {
    const reader = await browser('read');
    expect((await reader.get('/webhooks')).status).toBe(403);
    expect((await reader.post('/webhooks/1/test')).status).toBe(403);
  });
});

it('The doctor says what to do, even to an operator who may only read', async () => {
  const reader = await browser('read');
  const { html } = await reader.get('/doctor');
  expect(html).toContain('The database is SQLite');
  expect(html).toContain('What to do:');
  expect(html.indexOf('LICENSING_PUBLIC_URL is not set')).toBeLessThan(
    html.indexOf('The settings come from'),
  );
  const system = (await reader.get('/system')).html;
  expect(system).toContain('/pages/doctor"');
  expect(system).not.toContain('/pages/tokens"');
});

it('The doctor speaks German to a German reader, and English over the API', async () => {
  const { db, url, clock } = service;
  const api = manageClient(url, (await giveToken(db, 'write', 'doctor')).token);
  await api.ok('POST /shops', { name: 'cards', kind: 'stripe', secret: 'whsec_' + 'a'.repeat(32) }, 201);
  for (const digest of ['a', 'b'].map((letter) => letter.repeat(64)))
    await insertUnmatchedOnce(db, {
      ...{ shop: 'cards', digest, orderId: null, messageId: null },
      ...{ event: 'invoice.paid', reason: 'unknown_order', at: clock.now },
    });
  const english = [
    'The database is SQLite',
    '2 payments of cards match no order',
    'Mail is not set up, and the orders of cards',
    'LICENSING_PUBLIC_URL is not set.',
    'The site was not looked at from outside.',
    'The settings come from',
  ];
  const german = [
    'Die Datenbank ist SQLite',
    '2 Zahlungen von cards passen zu keiner Bestellung.',
    'Der Mailversand ist nicht eingerichtet, und für Bestellungen von cards',
    'LICENSING_PUBLIC_URL ist nicht gesetzt.',
    'Die Website wurde nicht von außen geprüft.',
    'Die Einstellungen kommen aus',
  ];
  const root = { name: 'root', operatorId: null };
  const findingsAt = async (path: string, language: string) => {
    const { html } = await (await browser('read', root, language)).get(path);
    return [...html.matchAll(/<ul class="verdicts">.*?<\/ul>/gs)].join('');
  };
  const inEnglish = await findingsAt('/doctor', 'en');
  const inGerman = await findingsAt('/doctor', 'de');
  for (const sentence of english) expect(inEnglish).toContain(sentence);
  for (const sentence of german) expect(inGerman).toContain(sentence);
  const count = (html: string) => html.split('<li').length;
  expect(count(inGerman)).toBe(count(inEnglish));
  let ofSystem = '';
  // On a busy machine, the page is shown without findings first.
  await eventually(async () => {
    ofSystem = await findingsAt('/system', 'de');
    expect(ofSystem).toContain('<li');
  });
  for (const html of [inGerman, ofSystem]) {
    expect(html).not.toContain('lang="en"');
    expect(textOf(html)).not.toMatch(/\b(the|is|are|and|of|it|that|which|with|cannot|nothing)\b/i);
  }

  const told = (await api.ok('GET /doctor')) as { id: string; state: string; message: string }[];
  for (const sentence of english) expect(told.map(({ message }) => message).join('\n')).toContain(sentence);
  for (const one of told) expect(Object.keys(one)).toEqual(['id', 'state', 'message']);
});
