import { connect as connectHttp2 } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkApache, type ApacheOptions } from '../support/apache';
import { eventually } from '../support/processes';
import { PREFIX, unusedAddress } from '../support/service';
import { ask, everyEndpointAnswers, get, hostOf, post, raw } from '../support/web-server';
import {
  APACHE,
  EMOJI,
  NBSP,
  UNAVAILABLE,
  uncommentApache,
  webShops,
  type Shop,
  type WebShops,
} from '../support/web-shops';

/** Tests that apply to Apache only. web-servers.test.ts has the others. */

let shops: WebShops;
let shop: Shop;
beforeAll(async () => {
  shops = await webShops(APACHE);
  shop = await shops.open();
});
afterAll(() => shops.close());

describe('the configuration in deploy/apache', () => {
  it.each<[string, ApacheOptions]>([
    ['as it stands', { upstream: '127.0.0.1:3080' }],
    ['with a Unix socket', { upstream: 'unix:/run/licensing/http.sock' }],
    ['with the commented parts in use', { upstream: '127.0.0.1:3080', edit: uncommentApache }],
    ['with pages on a host name of their own', { upstream: '127.0.0.1:3080', ...APACHE.withPagesHost }],
    ['for a site in a sub-folder', { upstream: '127.0.0.1:3080', edit: APACHE.inSubFolder }],
  ])('passes apache2 -t without a warning: %s', (_name, options) => {
    expect(checkApache(options)).toEqual({ ok: true, output: 'Syntax OK\n' });
  });
});

/** Adds rewrite rules to the virtual host, which some sites have there. Rewriting happens before the proxy. */
const rulesOfTheHost = (text: string) =>
  text.replace(
    /^(?=.*CustomLog.*access\.log.*)/m,
    'RewriteRule "^/(?!api/|index\\.php)" /index.php [L]\nRewriteRule "^/api/(?!index\\.php/v1/content)" /api/index.php [L]\n',
  );

it('every endpoint reaches the service where the virtual host rewrites everything else', async () => {
  const edit = (text: string, file: string) => (file === 'licensing.conf' ? text : rulesOfTheHost(text));
  const server = await shops.start({ upstream: hostOf(shop.service), edit });

  for (const [uri, seen] of APACHE.site) expect((await get(server, uri)).json()).toMatchObject(seen);
  await everyEndpointAnswers(server, shop.key);
});

it('HTTP/2 reaches the service too', async () => {
  const session = connectHttp2(shop.server.url, { rejectUnauthorized: false });
  const body = await new Promise<string>((resolve, reject) => {
    let text = '';
    session.once('error', reject);
    session
      .request({ ':path': `${PREFIX}/updates/42` })
      .on('data', (chunk: Buffer) => (text += chunk.toString()))
      .once('error', reject)
      .once('end', () => resolve(text));
  });
  session.close();

  expect(JSON.parse(body)).toMatchObject({ data: { version: '2.1.0' } });
});

it('plain HTTP is redirected to HTTPS, and keeps its method, query and secret', async () => {
  const path = `${PREFIX}/downloads/42?dlid=${shop.key}`;
  const answer = await ask(`http://127.0.0.1:${shop.server.httpPort}`, path);

  expect(answer.status).toBe(308);
  expect(answer.headers.location).toBe(`https://shop.example${path}`);
});

it('does not reuse a connection that was idle longer than ttl', async () => {
  const edit = (text: string) => text.replace('ttl=60', 'ttl=1');
  const { server, connections } = await shops.behind((_request, response) => response.end(), edit);
  await get(server, `${PREFIX}/updates/42`);
  // Real time: Apache counts whole seconds, and nothing shows that a connection is too old.
  await sleep(1_500);
  await get(server, `${PREFIX}/updates/42`);

  expect(connections()).toBe(2);
});

it('passes on the whole answer if the service ignores the range, however small the answer is', async () => {
  const { server } = await shops.behind((_request, response) => response.end('all of it'));
  const answer = await get(server, `${PREFIX}/downloads/42`, { headers: { Range: 'bytes=0-1' } });

  expect([answer.status, answer.body.toString()]).toEqual([200, 'all of it']);
});

it('a body of 30 MiB is refused by the service', async () => {
  const answer = await post(shop.server, '/licenses/validate', {
    license_key: 'x'.repeat(30 * 1024 * 1024),
  });

  expect(answer.status).toBe(400);
  expect(answer.json()).toMatchObject({ error: { code: 'INVALID_REQUEST' } });
});

it.each([
  ['as it was', '?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y', '?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y'],
  ['as it was but for raw bytes', `?a=${EMOJI}%C2%A0+%26&x=%ZZ&b="<>`, '?a=%C2%A0+%26&x=%ZZ&b="<>'],
  ['not at all when it is nothing else', `?${NBSP}`, ''],
])('a pasted key reaches the service, and the path too: the query %s', async (_name, query, arrives) => {
  const seen: unknown[] = [];
  const { server } = await shops.behind((request, response) => {
    seen.push(request.url);
    response.end();
  });
  await raw(server, `GET ${PREFIX}/downloads/42%20${query} HTTP/1.1`);

  expect(seen).toEqual([`${PREFIX}/downloads/42%20${arrives}`]);
});

it('the service has 15 s to answer, then the client gets 502 with the same text', async () => {
  const edit = (text: string) => text.replace(' timeout=15', ' timeout=1');
  const { server } = await shops.behind(() => undefined, edit);
  const answer = await get(server, `${PREFIX}/downloads/42&dlid=${shop.key}`);

  expect(answer.status).toBe(502);
  expect(answer.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'retry-after': '5',
    'cache-control': 'no-store',
  });
  expect(answer.body.toString()).toBe(UNAVAILABLE);
});

it("the site's logs contain no key from a request that Apache itself refuses, or from a referer", async () => {
  const { server, key } = shop;
  const headers = { Referer: `https://shop.example${PREFIX}/downloads/42?dlid=${key}` };
  const refused = [
    await raw(server, `GET ${PREFIX}/downloads/42?dlid=${key}\x01 HTTP/1.1`),
    await raw(server, `GET ${PREFIX}/downloads/42?dlid=${key} ${key} HTTP/1.1`),
    await raw(server, `GET ${PREFIX}/downloads/42?dlid=${key}${'x'.repeat(9_000)} HTTP/1.1`),
    await raw(server, `GET ${PREFIX}/downloads/42%2F?DLID%3d${key} HTTP/1.1`),
  ];
  await get(server, '/favicon.ico', { headers });
  // The site writes an error of its own to the error log.
  await get(server, '/?complain', { headers });
  await get(server, '/blog/afterwards');

  expect(refused.map((answer) => answer.slice(9, 12))).toEqual(['400', '400', '414', '404']);
  await eventually(() => expect(server.log('access.log')).toContain('/blog/afterwards'));
  expect(server.log('access.log')).not.toMatch(/dlid/i);
  expect(server.log('error.log')).toContain('the site complains');
});

it('its own messages contain no key while the service is down', async () => {
  const server = await shops.start({ upstream: await unusedAddress() });
  const headers = { Referer: `https://shop.example${PREFIX}/downloads/42?dlid=${shop.key}` };
  await get(server, `${PREFIX}/downloads/42&dlid=${shop.key}`, { headers });

  expect(server.log('error.log')).toContain('failed');
});

it('its logs contain no key after all tests above', () =>
  shops.expectNoKeyInLogs(1, [
    new RegExp(`"GET ${PREFIX}/downloads/42" 200 `),
    new RegExp(`"GET ${APACHE.hidden}" (?:502|503) `),
    /"GET \/blog\/afterwards HTTP\/1\.1" 200 /,
    APACHE.fails[1],
    ...APACHE.ownErrors,
  ]));
