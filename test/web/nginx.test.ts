import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, readFileSync } from 'node:fs';
import type { RequestListener, RequestOptions } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Settings } from '../../src/config';
import { checkNginx, startNginx, type NginxOptions, type TestNginx } from '../support/nginx';
import { giveRelease, makePackage, type TestPackage } from '../support/packages';
import { eventually, sharedFolder } from '../support/processes';
import {
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  unusedAddress,
  type TestService,
} from '../support/service';
import {
  ask,
  everyEndpointAnswers,
  get,
  hostOf,
  lastCheckIp,
  post,
  raw,
  startUpstream,
  validate,
  withoutOwn,
  type Answer,
} from '../support/web-server';

const ACCEL = { LICENSING_ACCEL_LOCATION: '/_licensing_packages/' };
const UNAVAILABLE = 'The service is not available at the moment; please try again';

/** A service that has one licence and a published package of 5 MB, behind an nginx of its own. */
interface Shop {
  service: TestService;
  nginx: TestNginx;
  key: string;
  /** where the service looks for packages, and by default nginx too */
  packagesDir: string;
  sha256: string;
}

let zip: TestPackage;
let accelerated: Shop;
let streaming: Shop;
const stops: (() => Promise<void>)[] = [];
/** for the test at the end: what was logged anywhere, and what must not be in it */
const logs: (() => string)[] = [];
const keys: string[] = [];

beforeAll(async () => {
  zip = await makePackage({}, 5 * 1024 * 1024);
  [accelerated, streaming] = await Promise.all([openShop(ACCEL), openShop()]);
}, 120_000);

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
}, 60_000);

describe('the files of nginx/', () => {
  it.each<[string, Partial<NginxOptions>]>([
    ['upstream.conf and licensing.conf in a site', {}],
    ['the whole site of site.example.conf', { example: true }],
    ['all of them with the commented parts in use', { example: true, edit: uncomment }],
  ])('pass nginx -t: %s', (_name, options) => {
    const { ok, output } = checkNginx({ upstream: '127.0.0.1:3080', ...options });

    expect({ ok, output }).toEqual({ ok: true, output: expect.stringContaining('test is successful') });
  });
});

describe('which request reaches whom', () => {
  it.each([
    '/',
    '/index.php',
    '/index.php/blog?dlid=x',
    '/api/index.php/v1/content/articles',
    '/blog/article',
  ])('%s reaches the PHP of the site', async (path) => {
    const answer = await get(accelerated.nginx, path);

    expect(answer.json()).toMatchObject({ php: 'index.php', uri: path });
  });

  it('a neighbour whose name begins alike reaches PHP', async () => {
    const path = `${PREFIX}-portal/orders`;
    const answer = await get(accelerated.nginx, path);

    expect(answer.json()).toEqual({ php: 'index.php', uri: path, path_info: '/v1/licensing-portal/orders' });
  });

  it('every endpoint reaches the service', () => everyEndpointAnswers(accelerated.nginx, accelerated.key));

  it('the prefix itself, with its slash or without, gets the 404 of the service', async () => {
    for (const path of [PREFIX, `${PREFIX}/`]) {
      const answer = await get(accelerated.nginx, path);

      expect(answer.status).toBe(404);
      expect(answer.json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
    }
  });

  it('a site in a sub-folder has the service below it, with the commented line in use', async () => {
    const { service, key } = accelerated;
    const nginx = await startGuarded({ upstream: hostOf(service), edit: uncomment });

    expect((await get(nginx, `/joomla${PREFIX}/updates/42?v=1`)).json()).toMatchObject({
      data: { version: '2.1.0' },
    });
    expect((await validate(nginx, key, {}, '/joomla')).status).toBe(200);
  });

  it('the service may listen on a Unix socket', async () => {
    const socket = join(sharedFolder(), 'http.sock');
    const shop = await openShop({ LICENSING_LISTEN: `unix:${socket}` });
    await validate(shop.nginx, shop.key, { localAddress: '127.0.0.2' });

    expect(await lastCheckIp(shop)).toBe('127.0.0.2');
  });
});

describe("the client's address", () => {
  it('is that of the connection to nginx, whatever the client claims', async () => {
    const forged = {
      'X-Forwarded-For': '198.51.100.9',
      'X-Real-IP': '198.51.100.9',
      Forwarded: 'for=198.51.100.9',
    };
    await validate(accelerated.nginx, accelerated.key, { localAddress: '127.0.0.2', headers: forged });

    expect(await lastCheckIp(accelerated)).toBe('127.0.0.2');
  });

  it('is what is limited: another claim for each request wins nothing, another address does', async () => {
    const { nginx, key } = await openShop({ LICENSING_RATE_LIMIT: '3' });
    const ask = (n: number, localAddress: string) =>
      validate(nginx, key, { localAddress, headers: { 'X-Forwarded-For': `198.51.100.${n}` } });
    const statuses = [];
    for (const n of [1, 2, 3, 4]) statuses.push((await ask(n, '127.0.0.2')).status);

    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await ask(5, '127.0.0.3')).status).toBe(200);
  });

  it('behind a CDN is the one the CDN names, with the commented lines in use', async () => {
    const { service, key } = accelerated;
    const edit = (text: string) => uncomment(text).replace('203.0.113.0/24', '127.0.0.0/8');
    const nginx = await startGuarded({ upstream: hostOf(service), edit });
    await validate(nginx, key, { headers: { 'X-Forwarded-For': '203.0.113.250, 198.51.100.7' } });

    expect(await lastCheckIp(accelerated)).toBe('198.51.100.7');
  });
});

describe('what nginx passes on', () => {
  it("names the request alike in the answer, in nginx's log and in the service's", async () => {
    const { nginx, service } = accelerated;
    const answer = await get(nginx, `${PREFIX}/updates/abc`, {
      headers: { 'X-Request-Id': 'of-the-client' },
    });
    const id = answer.headers['x-request-id'] as string;

    expect(id).toMatch(/^[0-9a-f]{32}$/);
    await eventually(() => expect(nginx.log('licensing.log')).toContain(id));
    expect(service.logLines.join('')).toContain(`"request_id":"${id}"`);
  });

  it("keeps its connections, and the site's cookies and logins to itself", async () => {
    const seen: { cookie: unknown; authorization: unknown; forwarded: unknown }[] = [];
    const { nginx, connections } = await behindNginx((request, response) => {
      const { cookie, authorization, 'x-forwarded-for': forwarded } = request.headers;
      seen.push({ cookie, authorization, forwarded });
      response.end();
    });
    const headers = { Cookie: 'session=1', Authorization: 'Basic eDp5', 'X-Forwarded-For': '198.51.100.9' };
    for (let n = 0; n < 5; n++) await get(nginx, `${PREFIX}/updates/42`, { headers });

    expect(seen).toEqual(
      Array(5).fill({ cookie: undefined, authorization: undefined, forwarded: '127.0.0.1' }),
    );
    expect(connections()).toBe(1);
  });

  it('never sends a POST twice, which a lost connection leaves in doubt; a GET it does', async () => {
    const requests: string[] = [];
    const { nginx } = await behindNginx((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      const lose = request.method === 'POST' || requests.filter((one) => one.endsWith('/8')).length === 1;
      request.resume().once('end', () => (lose ? request.socket.destroy() : response.end()));
    });
    await get(nginx, `${PREFIX}/updates/7`);
    const posted = await post(nginx, '/licenses/activate', { license_key: 'x' });
    await get(nginx, `${PREFIX}/updates/7`);
    const got = await get(nginx, `${PREFIX}/updates/8`);

    expect([posted.status, got.status]).toEqual([503, 200]);
    expect(requests).toEqual([
      `GET ${PREFIX}/updates/7`,
      `POST ${PREFIX}/licenses/activate`,
      `GET ${PREFIX}/updates/7`,
      `GET ${PREFIX}/updates/8`,
      `GET ${PREFIX}/updates/8`,
    ]);
  });

  it.each([400, 404, 413, 429, 500, 502, 503, 504])(
    'an answer %d of the service as it is',
    async (status) => {
      const { nginx } = await behindNginx((_request, response) => {
        response
          .writeHead(status, { 'Content-Type': 'application/json', 'Retry-After': '17' })
          .end('{"own":1}');
      });
      const answer = await get(nginx, `${PREFIX}/updates/42`);

      expect(answer).toMatchObject({ status, headers: { 'retry-after': '17' } });
      expect(answer.json()).toEqual({ own: 1 });
    },
  );

  it.each([
    ['65 KiB, which the service refuses', 65 * 1024],
    ['1 MiB, which it is spared', 1024 * 1024],
  ])('a body of %s: 400 in the same words', async (_name, size) => {
    const answer = await post(accelerated.nginx, '/licenses/validate', { license_key: 'x'.repeat(size) });

    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.json()).toEqual({
      error: { code: 'INVALID_REQUEST', message: 'The body must not be larger than 64 KiB.' },
    });
  });
});

describe('a package', () => {
  it.each(['nginx', 'the service'])(
    'sent by %s arrives byte for byte, with exactly these headers',
    async (by) => {
      const shop = by === 'nginx' ? accelerated : streaming;
      const answer = await download(shop, { headers: { 'Accept-Encoding': 'gzip' } });

      expect(answer.status).toBe(200);
      expect(answer.body.equals(zip.bytes)).toBe(true);
      expect(withoutOwn(answer)).toEqual([
        ['accept-ranges', 'bytes'],
        ['cache-control', 'private, no-store, no-transform'],
        ['connection', 'close'],
        ['content-disposition', 'attachment; filename="example-shop-2.1.0.zip"'],
        ['content-length', String(answer.body.length)],
        ['content-type', 'application/zip'],
        ['etag', `"${shop.sha256}"`],
        ['x-content-type-options', 'nosniff'],
        ['x-request-id', expect.stringMatching(/^[0-9a-f]{32}$/)],
      ]);
    },
  );

  it.each([
    ['asked for by HEAD', 200, 0, { method: 'HEAD' }, {}],
    ['a range', 206, 1000, {}, { Range: 'bytes=4000000-4000999' }],
    ['a range with blanks', 206, 10, {}, { Range: 'bytes= 0-9 ' }],
    ['the end of it', 206, 500, {}, { Range: 'bytes=-500' }],
    ['the end, when it is the same still', 206, 117, {}, { Range: 'bytes=-117', 'If-Range': 'ETAG' }],
    ['whole, when it is another by now', 200, undefined, {}, { Range: 'bytes=9-', 'If-Range': '"other"' }],
    ['whole, when several ranges are asked for', 200, undefined, {}, { Range: 'bytes=0-1,5-6' }],
    ['not at all, when the client has it', 304, 0, {}, { 'If-None-Match': 'ETAG' }],
    ['when the client has another', 200, undefined, {}, { 'If-None-Match': '"other"' }],
    ['a range of the very same', 206, 10, {}, { Range: 'bytes=0-9', 'If-Match': 'ETAG' }],
    ['refused, when it is not the same', 412, 0, {}, { 'If-Match': '"other"' }],
    ['with a date, which it has none to compare with', 200, undefined, {}, { 'If-Modified-Since': 'DATE' }],
    ['unless it changed since', 200, undefined, {}, { 'If-Unmodified-Since': new Date(0).toUTCString() }],
  ] as [string, number, number | undefined, RequestOptions, Record<string, string>][])(
    'is the same from nginx and from the service: %s',
    async (_name, status, length, options, conditions) => {
      const ask = (shop: Shop) => {
        const headers = Object.entries(conditions).map(([name, value]) => [
          name,
          value.replace('ETAG', `"${shop.sha256}"`).replace('DATE', new Date(Date.now() + 1e9).toUTCString()),
        ]);
        return download(shop, { ...options, headers: Object.fromEntries(headers) as Record<string, string> });
      };
      const [byNginx, byService] = await Promise.all([ask(accelerated), ask(streaming)]);

      expect(byNginx.status).toBe(status);
      if (length !== undefined) expect(byNginx.body).toHaveLength(length);
      expect([byService.status, byService.reason]).toEqual([byNginx.status, byNginx.reason]);
      expect(masked(byService)).toEqual(masked(byNginx));
      expect(byService.body.equals(byNginx.body)).toBe(true);
    },
  );

  it('is a part of the very bytes', async () => {
    const { body, headers } = await download(accelerated, { headers: { Range: 'bytes=4000000-4000999' } });

    expect(headers['content-range']).toBe(`bytes 4000000-4000999/${zip.bytes.length}`);
    expect(body.equals(zip.bytes.subarray(4_000_000, 4_001_000))).toBe(true);
  });

  it.each(['nginx', 'the service'])('has no range beyond its end, from %s', async (by) => {
    const shop = by === 'nginx' ? accelerated : streaming;
    const answer = await download(shop, { headers: { Range: 'bytes=99999999-' } });

    expect(answer.status).toBe(416);
    expect(answer.headers['content-range']).toBe(`bytes */${zip.bytes.length}`);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it('that nginx cannot find or read is missing, in the words of the service', async () => {
    const folder = sharedFolder();
    const { service, packagesDir, sha256 } = accelerated;
    const nginx = await startGuarded({ upstream: hostOf(service), packagesDir: folder });
    const notThere = await download({ ...accelerated, nginx });
    const copy = join(folder, `${sha256}.zip`);
    copyFileSync(join(packagesDir, `${sha256}.zip`), copy);
    const there = await download({ ...accelerated, nginx });
    chmodSync(copy, 0);
    const notReadable = await download({ ...accelerated, nginx });

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

  it('is not to be had from outside without the service', async () => {
    const { nginx, packagesDir, sha256 } = accelerated;
    expect(readFileSync(join(packagesDir, `${sha256}.zip`)).length).toBeGreaterThan(0);

    expect((await get(nginx, `/_licensing_packages/${sha256}.zip`)).status).toBe(404);
  });
});

describe('a key as people paste it', () => {
  const NBSP = Buffer.from('\u00a0').toString('latin1');
  const EMOJI = Buffer.from('🔑').toString('latin1');

  it.each<[string, (key: string) => string]>([
    ['a no-break space after it', (key) => `dlid=${key}${NBSP}`],
    ['no-break spaces all about it', (key) => `dlid=${NBSP}${key.replaceAll('-', `${NBSP}-${NBSP}`)}${NBSP}`],
    ['what is no UTF-8', (key) => `dlid=${key}\xff\xfe`],
    ['an emoji in a parameter before it', (key) => `v=${EMOJI}&dlid=${key}`],
    ['an ampersand of XML', (key) => `format=zip&amp;dlid=${key}${NBSP}`],
    ['the same percent-encoded', (key) => `dlid=%C2%A0${key}%e2%80%8b`],
    ['and nothing of the kind', (key) => `dlid=${key}`],
  ])('downloads with %s', async (_name, query) => {
    const { nginx, key } = accelerated;
    const answer = await raw(nginx, `GET ${PREFIX}/downloads/42?${query(key)} HTTP/1.1`);

    expect(answer.slice(0, 15)).toBe('HTTP/1.1 200 OK');
    expect(answer).toContain('\r\nContent-Type: application/zip\r\n');
  });

  it('reaches the service percent-encoded as it was, and the path too', async () => {
    const seen: unknown[] = [];
    const { nginx } = await behindNginx((request, response) => {
      seen.push(request.url);
      response.end();
    });
    await get(nginx, `${PREFIX}/downloads/42%20?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y`);

    expect(seen).toEqual([`${PREFIX}/downloads/42%20?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y`]);
  });

  it('gets an answer in text when it is all wrong', async () => {
    const answer = await raw(
      accelerated.nginx,
      `GET ${PREFIX}/downloads/42?dlid=${`${EMOJI}x`.repeat(200)} HTTP/1.1`,
    );

    expect(answer.slice(0, 12)).toBe('HTTP/1.1 403');
    expect(answer).toMatch(/License not found$/);
  });
});

describe('while the service is down', () => {
  let nginx: TestNginx;
  beforeAll(async () => {
    nginx = await startGuarded({ upstream: await unusedAddress() });
  });

  it.each(['a port nobody listens on', 'a socket that does not exist'])('at %s', async (where) => {
    const down = where.includes('socket')
      ? await startGuarded({ upstream: `unix:${join(sharedFolder(), 'none.sock')}` })
      : nginx;
    const posted = await validate(down, accelerated.key);
    const downloaded = await get(down, `${PREFIX}/downloads/42?dlid=${accelerated.key}`);

    for (const answer of [posted, downloaded]) {
      expect(answer.status).toBe(503);
      expect(answer.headers).toMatchObject({
        'retry-after': '5',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      });
    }
    expect(posted.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(posted.json()).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message: UNAVAILABLE } });
    expect(downloaded.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(downloaded.body.toString()).toBe(UNAVAILABLE);
  });

  it('the site answers on', async () => {
    expect((await get(nginx, '/api/index.php/v1/content/articles')).json()).toMatchObject({
      php: 'index.php',
    });
  });
});

describe('the example site', () => {
  let nginx: TestNginx;
  beforeAll(async () => {
    const { service, packagesDir } = accelerated;
    nginx = await startGuarded({ upstream: hostOf(service), packagesDir, example: true, edit: uncomment });
  });

  it('serves the site, its API and the service over TLS, with HSTS when that is in use', async () => {
    const site = await get(nginx, '/blog/article');
    const api = await get(nginx, '/api/index.php/v1/content/articles');
    const service = await validate(nginx, accelerated.key);

    expect(site.json()).toEqual({ php: 'index.php', uri: '/blog/article', path_info: '' });
    expect(api.json()).toMatchObject({ php: 'index.php', path_info: '/v1/content/articles' });
    expect(service.json()).toMatchObject({ data: { valid: true } });
    for (const { headers } of [site, api, service])
      expect(headers['strict-transport-security']).toBe('max-age=31536000');
    const downloaded = await download({ ...accelerated, nginx });
    expect(downloaded.body.equals(zip.bytes)).toBe(true);
  });

  it('runs no program from folders for uploads, and shows no hidden file', async () => {
    expect((await get(nginx, '/images/shell.php')).status).toBe(403);
    expect((await get(nginx, '/.git/config')).status).toBe(403);
    expect((await get(nginx, '/none.php')).status).toBe(404);
  });

  it('sends plain HTTP to HTTPS and keeps its method, query and secret', async () => {
    const path = `${PREFIX}/downloads/42?dlid=${accelerated.key}`;
    const answer = await ask(`http://127.0.0.1:${nginx.httpPort}`, path);

    expect(answer.status).toBe(308);
    expect(answer.headers.location).toBe(`https://shop.example${path}`);
  });

  it('does not log a key in a request it refuses before it looks at the address', async () => {
    const answer = await raw(nginx, `GET ${PREFIX}/downloads/42?dlid=${accelerated.key}\x01 HTTP/1.1`);
    await get(nginx, '/blog/afterwards');

    expect(answer.slice(0, 12)).toBe('HTTP/1.1 400');
    await eventually(() => expect(nginx.log('access.log')).toContain('/blog/afterwards'));
    expect(nginx.log('access.log')).not.toContain('dlid');
  });
});

describe('the logs', () => {
  it('say which endpoint, status and upstream, and nothing of the query', async () => {
    const { nginx, key } = accelerated;
    const agent = `test-${randomBytes(4).toString('hex')}`;
    const headers = { 'User-Agent': agent, Referer: `https://shop.example/?dlid=${key}` };
    for (const path of [
      `downloads/42?dlid=${key}`,
      `downloads/42/?license_key=${key}`,
      `downloads/42&dlid=${key}`,
      `downloads/42%3Fdlid=${key}`,
      `downloads/${key}`,
      `updates/42/${key}`,
    ])
      await get(nginx, `${PREFIX}/${path}`, { headers });
    const lines = () =>
      nginx
        .log('licensing.log')
        .split('\n')
        .filter((line) => line.includes(agent));
    await eventually(() => expect(lines()).toHaveLength(6));

    expect(lines().map((line) => /"(.*?)" (\d+) .* upstream=([\d.]+):\d+:\d+:/.exec(line)?.slice(1))).toEqual(
      [
        [`GET ${PREFIX}/downloads/42`, '200', '127.0.0.1'],
        [`GET ${PREFIX}/downloads/42/`, '200', '127.0.0.1'],
        ['GET (another path)', '400', '127.0.0.1'],
        ['GET (another path)', '400', '127.0.0.1'],
        ['GET (another path)', '400', '127.0.0.1'],
        ['GET (another path)', '404', '127.0.0.1'],
      ],
    );
  });

  it('hold no key, of nginx or of the service, after all of the above', () => {
    const everything = logs
      .map((read) => read())
      .join('\n')
      .toUpperCase();
    const groups = keys.flatMap((key) => key.split('-').slice(0, 3));

    expect(everything).toContain('"GET /API/INDEX.PHP/V1/LICENSING/DOWNLOADS/42" 503');
    expect(everything).toContain('"GET /API/INDEX.PHP/V1/LICENSING/DOWNLOADS/42" 404');
    expect(groups.length).toBeGreaterThan(6);
    expect(groups.filter((group) => everything.includes(group))).toEqual([]);
  });
});

async function openShop(settings: Settings = {}): Promise<Shop> {
  const packagesDir = sharedFolder();
  const service = await startTestService({ LICENSING_PACKAGES_DIR: packagesDir, ...settings });
  stops.push(() => service.stop());
  logs.push(() => service.logLines.join(''));
  const { key } = await giveLicense(service.db, await givePlan(service.db));
  keys.push(key);
  const { release } = await giveRelease(service, { version: '2.1.0', file: zip.path });
  return {
    service,
    nginx: await startGuarded({ upstream: hostOf(service), packagesDir }),
    key,
    packagesDir,
    sha256: release.sha256,
  };
}

async function startGuarded(options: NginxOptions): Promise<TestNginx> {
  const nginx = await startNginx(options);
  stops.push(() => nginx.stop());
  logs.push(() => nginx.allLogs());
  return nginx;
}

/** nginx before a server that does what no healthy service would. */
async function behindNginx(
  listener: RequestListener,
): Promise<{ nginx: TestNginx; connections: () => number }> {
  const upstream = await startUpstream(listener);
  stops.push(() => upstream.close());
  const nginx = await startGuarded({ upstream: upstream.host });
  return { nginx, connections: () => upstream.connections() };
}

/** The parts that are commented out, as an operator takes them into use. */
function uncomment(text: string): string {
  return text.replace(/^( *)#(?=(?:set_real_ip|real_ip|location|add_header) ?)/gm, '$1');
}

function download({ nginx, key }: Shop, options: RequestOptions = {}): Promise<Answer> {
  return get(nginx, `${PREFIX}/downloads/42?dlid=${key}`, options);
}

function masked(answer: Answer): [string, string][] {
  return withoutOwn(answer).map(([name, value]) => [name, name === 'x-request-id' ? 'an id' : value]);
}
