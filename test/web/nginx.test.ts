import { chmodSync, copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkNginx, ofCluster, startNginx, type NginxOptions } from '../support/nginx';
import { eventually, sharedFolder } from '../support/processes';
import { PREFIX, unusedAddress } from '../support/service';
import { ask, get, hostOf, raw, validate } from '../support/web-server';
import {
  download,
  NGINX,
  uncommentNginx,
  webShops,
  type Shop,
  type TestWebServer,
  type WebShops,
} from '../support/web-shops';

/** Tests that apply to nginx only. web-servers.test.ts has the others. */

let shops: WebShops;
let shop: Shop;
beforeAll(async () => {
  shops = await webShops(NGINX);
  shop = await shops.open();
});
afterAll(() => shops.close());

describe('the files of nginx/', () => {
  it.each<[string, Partial<NginxOptions>]>([
    ['upstream.conf and licensing.conf in a site', {}],
    ['the whole site of site.example.conf', { example: true }],
    ['with pages on a host name of their own', NGINX.withPagesHost],
    ['all of them with the commented parts in use', { example: true, edit: uncommentNginx }],
    ['the upstream of several hosts', { edit: ofCluster([]) }],
  ])('pass nginx -t: %s', (_name, options) => {
    const { ok, output } = checkNginx({ upstream: '127.0.0.1:3080', ...options });

    expect({ ok, output }).toEqual({ ok: true, output: expect.stringContaining('test is successful') });
  });
});

it('asks the next host when one is down, and then leaves that one alone', async () => {
  const off = await unusedAddress();
  const server = await startNginx({ upstream: [], edit: ofCluster([off, hostOf(shop.service), off]) });
  try {
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) statuses.push((await validate(server, shop.key)).status);
    expect(statuses).toEqual(Array(12).fill(200));
  } finally {
    await server.stop();
  }
});

it('repeats a GET whose connection was lost', async () => {
  const requests: string[] = [];
  const { server } = await shops.behind((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (requests.length === 2) request.socket.destroy();
    else response.end();
  });
  await get(server, `${PREFIX}/updates/7`);
  const got = await get(server, `${PREFIX}/updates/8`);

  expect(got.status).toBe(200);
  expect(requests).toEqual([`GET ${PREFIX}/updates/7`, `GET ${PREFIX}/updates/8`, `GET ${PREFIX}/updates/8`]);
});

it.each(['manage', 'hooks', 'docs', 'licenses'])(
  'answers %s without the slash like the service, instead of redirecting it',
  async (name) => {
    const path = `${PREFIX}/${name}`;
    const [direct, through] = [await ask(shop.service.url, path), await get(shop.server, path)];

    expect([through.status, through.body]).toEqual([direct.status, direct.body]);
    expect(through.status).not.toBe(301);
  },
);

it("refuses a body that is larger than any package, with an error in the form of the operator's API", async () => {
  const answer = await ask(shop.server.url, `${PREFIX}/manage/imports`, {
    method: 'POST',
    headers: { 'Content-Length': 300 * 1024 * 1024, Expect: '100-continue' },
  });

  expect(answer.status).toBe(413);
  expect(answer.json()).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
});

describe('a package', () => {
  it("that nginx cannot find or read is answered with the service's own text", async () => {
    const folder = sharedFolder();
    const { service, packagesDir, sha256 } = shop;
    const server = await shops.start({ upstream: hostOf(service), packagesDir: folder });
    const notThere = await download({ ...shop, server });
    const copy = join(folder, `${sha256}.zip`);
    copyFileSync(join(packagesDir, `${sha256}.zip`), copy);
    const there = await download({ ...shop, server });
    chmodSync(copy, 0);
    const notReadable = await download({ ...shop, server });

    expect(there.status).toBe(200);
    for (const answer of [notThere, notReadable]) {
      expect(answer.status).toBe(404);
      expect(answer.body.toString()).toBe('The package file is missing');
      expect(answer.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'private, no-store, no-transform',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      });
    }
  });

  it('cannot be fetched from outside without the service', async () => {
    const { server, packagesDir, sha256 } = shop;
    expect(readFileSync(join(packagesDir, `${sha256}.zip`)).length).toBeGreaterThan(0);

    expect((await get(server, `/_licensing_packages/${sha256}.zip`)).status).toBe(404);
  });
});

describe('the example site', () => {
  let server: TestWebServer;
  beforeAll(async () => {
    const { service, packagesDir } = shop;
    server = await shops.start({
      upstream: hostOf(service),
      packagesDir,
      example: true,
      edit: uncommentNginx,
    });
  });

  it('serves the site, its API and the service over TLS, with HSTS if that line is used', async () => {
    const site = await get(server, '/blog/article');
    const api = await get(server, '/api/index.php/v1/content/articles');
    const service = await validate(server, shop.key);

    expect(site.json()).toEqual({ php: 'index.php', uri: '/blog/article', path_info: '' });
    expect(api.json()).toMatchObject({ php: 'index.php', path_info: '/v1/content/articles' });
    expect(service.json()).toMatchObject({ data: { valid: true } });
    for (const { headers } of [site, api, service])
      expect(headers['strict-transport-security']).toBe('max-age=31536000');
    const downloaded = await download({ ...shop, server });
    expect(downloaded.body.equals(shops.zip.bytes)).toBe(true);
  });

  it('runs no program from folders for uploads, and shows no hidden file', async () => {
    expect((await get(server, '/images/shell.php')).status).toBe(403);
    expect((await get(server, '/.git/config')).status).toBe(403);
    expect((await get(server, '/none.php')).status).toBe(404);
  });

  it('redirects plain HTTP to HTTPS, and keeps its method, query and secret', async () => {
    const path = `${PREFIX}/downloads/42?dlid=${shop.key}`;
    const answer = await ask(`http://127.0.0.1:${server.httpPort}`, path);

    expect(answer.status).toBe(308);
    expect(answer.headers.location).toBe(`https://shop.example${path}`);
  });

  it('does not log the key of a request that it refuses before it reads the address', async () => {
    const answer = await raw(server, `GET ${PREFIX}/downloads/42?dlid=${shop.key}\x01 HTTP/1.1`);
    await get(server, '/blog/afterwards');

    expect(answer.slice(0, 12)).toBe('HTTP/1.1 400');
    await eventually(() => expect(server.log('access.log')).toContain('/blog/afterwards'));
    expect(server.log('access.log')).not.toContain('dlid');
  });
});

describe("nginx's own error messages, which repeat the address with the key, are not written", () => {
  it.each<[string, RegExp, () => Promise<Partial<NginxOptions>>]>([
    ['when the service is down', /connect\(\) failed/, async () => ({ upstream: await unusedAddress() })],
    [
      'when a package is missing',
      /open\(\) ".*\.zip" failed/,
      () => Promise.resolve({ packagesDir: sharedFolder() }),
    ],
  ])('%s', async (_when, message, given) => {
    const options = { upstream: hostOf(shop.service), ...(await given()) };
    const shipped = await shops.start(options);
    const edit = (text: string) => text.replaceAll('error_log /dev/null emerg;', '');
    // Started apart from the shops' servers, because its log contains the key.
    const careless = await startNginx({ ...options, edit });
    try {
      const refused = await download({ ...shop, server: careless });
      expect((await download({ ...shop, server: shipped })).status).toBe(refused.status);
      await eventually(() => expect(careless.log('error.log')).toMatch(message));
      expect(careless.log('error.log')).toContain(shop.key);
    } finally {
      await careless.stop();
    }
    // Afterwards an error of the site is logged, and nothing else.
    await get(shipped, NGINX.fails[0]);
    await eventually(() => expect(shipped.log('error.log')).toMatch(NGINX.fails[1]));
    expect(shipped.log('error.log')).not.toMatch(/downloads|\.zip/);
  });
});

it('its logs contain no key after all tests above', () =>
  shops.expectNoKeyInLogs(1, [
    ...[200, 503].map((status) => new RegExp(`"GET ${PREFIX}/downloads/42" ${status} `)),
    // The service knew the package, but nginx did not find the file.
    new RegExp(`"GET ${PREFIX}/downloads/42" 404 .* upstream=[\\d.]+:\\d+:200:`),
    /"GET \(another path\)" 404 /,
    /"GET \/none\.php HTTP\/1\.1" 404 /,
    NGINX.fails[1],
  ]));
