import { randomBytes } from 'node:crypto';
import type { RequestListener, RequestOptions } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Settings } from '../../src/config';
import { checkApache, startApache, type ApacheOptions, type TestApache } from '../support/apache';
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

const UNAVAILABLE = 'The service is not available at the moment; please try again';
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown as string;

/** A service that has one licence and a published package of 5 MB, behind an Apache of its own. */
interface Shop {
  service: TestService;
  apache: TestApache;
  key: string;
  sha256: string;
}

let zip: TestPackage;
let shop: Shop;
const stops: (() => Promise<void>)[] = [];
/** for the test at the end: what was logged anywhere, and what must not be in it */
const logs: (() => string)[] = [];
const keys: string[] = [];

beforeAll(async () => {
  zip = await makePackage({}, 5 * 1024 * 1024);
  shop = await openShop();
}, 120_000);

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
}, 60_000);

describe('the configuration in deploy/apache', () => {
  it.each<[string, ApacheOptions]>([
    ['as it stands', { upstream: '127.0.0.1:3080' }],
    ['with a Unix socket', { upstream: 'unix:/run/licensing/http.sock' }],
    ['with the commented parts in use', { upstream: '127.0.0.1:3080', edit: behindCdn }],
    ['for a site in a sub-folder', { upstream: '127.0.0.1:3080', edit: inSubFolder }],
  ])('passes apache2 -t without a warning: %s', (_name, options) => {
    expect(checkApache(options)).toEqual({ ok: true, output: 'Syntax OK\n' });
  });
});

describe('which request reaches whom', () => {
  const SITE: [string, string][] = [
    ['/', '/index.php'],
    ['/index.php', '/index.php'],
    ['/index.php/blog?dlid=x', '/index.php'],
    ['/api/index.php/v1/content/articles', '/api/index.php'],
    ['/api/v1/licensing/updates/42', '/api/index.php'],
    ['/blog/article', '/index.php'],
    [`${PREFIX}-portal/orders`, '/api/index.php'],
  ];
  /** Rules that a site has in its virtual host, where rewriting goes before the proxy. */
  const rulesOfTheHost = (text: string) =>
    text.replace(
      /^(?=.*CustomLog.*access\.log.*)/m,
      'RewriteRule "^/(?!api/|index\\.php)" /index.php [L]\nRewriteRule "^/api/(?!index\\.php/v1/content)" /api/index.php [L]\n',
    );

  it.each(SITE)('%s reaches the PHP of the site', async (uri, php) => {
    expect((await get(shop.apache, uri)).json()).toEqual({ php, uri });
  });

  it('every endpoint reaches the service', () => everyEndpointAnswers(shop.apache, shop.key));

  it('every endpoint reaches the service where the virtual host rewrites everything else', async () => {
    const edit = (text: string, file: string) => (file === 'licensing.conf' ? text : rulesOfTheHost(text));
    const apache = await startGuarded({ upstream: hostOf(shop.service), edit });

    for (const [uri, php] of SITE) expect((await get(apache, uri)).json()).toEqual({ php, uri });
    await everyEndpointAnswers(apache, shop.key);
  });

  it('the prefix itself, with its slash or without, gets the 404 of the service', async () => {
    for (const path of [PREFIX, `${PREFIX}/`]) {
      const answer = await get(shop.apache, path);

      expect(answer.status).toBe(404);
      expect(answer.json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
    }
  });

  it('a site in a sub-folder has the service below it', async () => {
    const { service, key } = shop;
    const apache = await startGuarded({ upstream: hostOf(service), edit: inSubFolder });

    expect((await get(apache, `/joomla${PREFIX}/updates/42?v=1`)).json()).toMatchObject({
      data: { version: '2.1.0' },
    });
    const pasted = await raw(apache, `GET /joomla${PREFIX}/downloads/42?dlid=${key}${NBSP} HTTP/1.1`);
    expect(pasted.slice(0, 15)).toBe('HTTP/1.1 200 OK');
    await eventually(() =>
      expect(apache.log('licensing.log')).toContain(`"GET /joomla${PREFIX}/downloads/42" 200`),
    );
  });

  it('the service may listen on a Unix socket', async () => {
    const socket = join(sharedFolder(), 'http.sock');
    const onSocket = await openShop({ LICENSING_LISTEN: `unix:${socket}` });
    await validate(onSocket.apache, onSocket.key, { localAddress: '127.0.0.2' });

    expect(await lastCheckIp(onSocket)).toBe('127.0.0.2');
    await everyEndpointAnswers(onSocket.apache, onSocket.key);
  });

  it('HTTP/2 reaches it too', async () => {
    const session = connectHttp2(shop.apache.url, { rejectUnauthorized: false });
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

  it('plain HTTP goes to HTTPS and keeps its method, query and secret', async () => {
    const path = `${PREFIX}/downloads/42?dlid=${shop.key}`;
    const answer = await ask(`http://127.0.0.1:${shop.apache.httpPort}`, path);

    expect(answer.status).toBe(308);
    expect(answer.headers.location).toBe(`https://shop.example${path}`);
  });
});

describe("the client's address", () => {
  it.each<[string, Record<string, string>]>([
    ['in X-Forwarded-For', { 'X-Forwarded-For': '198.51.100.9' }],
    ['in other headers', { 'X-Real-IP': '198.51.100.9', Forwarded: 'for=198.51.100.9' }],
    [
      'and has the header dropped as one of the connection',
      { 'X-Forwarded-For': '198.51.100.9', Connection: 'close, X-Forwarded-For' },
    ],
  ])('is that of the connection to Apache, whatever the client claims %s', async (_name, headers) => {
    await shop.service.db('licensing_licenses').update({ last_check_ip: null });
    await validate(shop.apache, shop.key, { localAddress: '127.0.0.2', headers });

    expect(await lastCheckIp(shop)).toBe('127.0.0.2');
  });

  it('is what is limited: another claim for each request wins nothing, another address does', async () => {
    const { apache, key } = await openShop({ LICENSING_RATE_LIMIT: '3' });
    const ask = (n: number, localAddress: string) =>
      validate(apache, key, { localAddress, headers: { 'X-Forwarded-For': `198.51.100.${n}` } });
    const statuses = [];
    for (const n of [1, 2, 3, 4]) statuses.push((await ask(n, '127.0.0.2')).status);

    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await ask(5, '127.0.0.3')).status).toBe(200);
  });

  it('behind a CDN is the one the CDN names, with the commented lines in use', async () => {
    const { service, key } = shop;
    const edit = (text: string) => behindCdn(text).replace('203.0.113.0/24', '127.0.0.0/8');
    const apache = await startGuarded({ upstream: hostOf(service), edit });
    await validate(apache, key, { headers: { 'X-Forwarded-For': '203.0.113.250, 198.51.100.7' } });

    expect(await lastCheckIp(shop)).toBe('198.51.100.7');
  });
});

describe('what Apache passes on', () => {
  it("names the request alike in the answer, in Apache's log and in the service's", async () => {
    const { apache, service } = shop;
    const answer = await get(apache, `${PREFIX}/updates/abc`, {
      headers: { 'X-Request-Id': 'of-the-client' },
    });
    const id = answer.headers['x-request-id'] as string;

    expect(id).toEqual(ID);
    await eventually(() => expect(apache.log('licensing.log')).toContain(` ${id} `));
    expect(service.logLines.join('')).toContain(`"request_id":"${id}"`);
  });

  it("keeps its connections, and the site's cookies and logins to itself", async () => {
    const seen: object[] = [];
    const { apache, connections } = await behindApache((request, response) => {
      const { cookie, authorization, 'x-forwarded-for': forwarded } = request.headers;
      seen.push({ cookie, authorization, forwarded });
      response.end();
    });
    const headers = { Cookie: 'session=1', Authorization: 'Basic eDp5', 'X-Forwarded-For': '198.51.100.9' };
    for (let n = 0; n < 5; n++) await get(apache, `${PREFIX}/updates/42`, { headers });

    expect(seen).toEqual(
      Array(5).fill({ cookie: undefined, authorization: undefined, forwarded: '127.0.0.1' }),
    );
    expect(connections()).toBe(1);
  });

  it('uses no connection that was idle for as long as ttl says', async () => {
    const edit = (text: string) => text.replace('ttl=60', 'ttl=1');
    const { apache, connections } = await behindApache((_request, response) => response.end(), edit);
    await get(apache, `${PREFIX}/updates/42`);
    await sleep(1_500);
    await get(apache, `${PREFIX}/updates/42`);

    expect(connections()).toBe(2);
  });

  it('never sends a POST twice, which a lost connection leaves in doubt', async () => {
    const requests: string[] = [];
    const { apache } = await behindApache((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      request
        .resume()
        .once('end', () => (request.method === 'POST' ? request.socket.destroy() : response.end()));
    });
    await get(apache, `${PREFIX}/updates/7`);
    const posted = await post(apache, '/licenses/activate', { license_key: 'x' });
    const got = await get(apache, `${PREFIX}/updates/8`);

    expect([posted.status, got.status]).toEqual([502, 200]);
    expect(posted.json()).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message: UNAVAILABLE } });
    expect(posted.headers['retry-after']).toBe('5');
    expect(requests).toEqual([
      `GET ${PREFIX}/updates/7`,
      `POST ${PREFIX}/licenses/activate`,
      `GET ${PREFIX}/updates/8`,
    ]);
  });

  it.each([400, 404, 413, 429, 500, 502, 503, 504])(
    'an answer %d of the service as it is',
    async (status) => {
      const { apache } = await behindApache((_request, response) => {
        response
          .writeHead(status, {
            'Content-Type': 'application/problem+json',
            'Retry-After': '17',
            'X-Request-Id': 'of-the-service',
          })
          .end('{"own":1}');
      });
      for (const path of ['updates/42', 'downloads/42']) {
        const answer = await get(apache, `${PREFIX}/${path}`);

        expect(answer.status).toBe(status);
        expect(withoutOwn(answer)).toEqual([
          ['connection', 'close'],
          ['content-type', 'application/problem+json'],
          ['retry-after', '17'],
          ['transfer-encoding', 'chunked'],
          ['x-request-id', 'of-the-service'],
        ]);
        expect(answer.json()).toEqual({ own: 1 });
      }
    },
  );

  it('an answer whole that was not cut by the service, however small', async () => {
    const { apache } = await behindApache((_request, response) => response.end('all of it'));
    const answer = await get(apache, `${PREFIX}/downloads/42`, { headers: { Range: 'bytes=0-1' } });

    expect([answer.status, answer.body.toString()]).toEqual([200, 'all of it']);
  });

  it.each([
    ['65 KiB', 65 * 1024],
    ['30 MiB', 30 * 1024 * 1024],
  ])('a body of %s, which the service refuses', async (_name, size) => {
    const answer = await post(shop.apache, '/licenses/validate', { license_key: 'x'.repeat(size) });

    expect(answer.status).toBe(400);
    expect(answer.json()).toEqual({
      error: { code: 'INVALID_REQUEST', message: 'The body must not be larger than 64 KiB.' },
    });
  });
});

describe('a package', () => {
  it.each(['gzip', 'br'])('arrives byte for byte, with exactly these headers: not by %s', async (coding) => {
    const answer = await download(shop, { headers: { 'Accept-Encoding': coding } });

    expect(answer.status).toBe(200);
    expect(answer.body.equals(zip.bytes)).toBe(true);
    expect(withoutOwn(answer)).toEqual([
      ['accept-ranges', 'bytes'],
      ['cache-control', 'private, no-store, no-transform'],
      ['connection', 'close'],
      ['content-disposition', 'attachment; filename="example-shop-2.1.0.zip"'],
      ['content-length', String(zip.bytes.length)],
      ['content-type', 'application/zip'],
      ['etag', `"${shop.sha256}"`],
      ['x-content-type-options', 'nosniff'],
      ['x-request-id', ID],
    ]);
  });

  it.each([
    ['asked for by HEAD', 200, 0, { method: 'HEAD' }, {}],
    ['a range', 206, 1000, {}, { Range: 'bytes=4000000-4000999' }],
    ['the end of it', 206, 500, {}, { Range: 'bytes=-500' }],
    ['the end, when it is the same still', 206, 117, {}, { Range: 'bytes=-117', 'If-Range': 'ETAG' }],
    ['whole, when it is another by now', 200, undefined, {}, { Range: 'bytes=9-', 'If-Range': '"other"' }],
    ['whole, when several ranges are asked for', 200, undefined, {}, { Range: 'bytes=0-1,5-6' }],
    ['not at all, when the client has it', 304, 0, {}, { 'If-None-Match': 'ETAG' }],
    ['when the client has another', 200, undefined, {}, { 'If-None-Match': '"other"' }],
    ['a range of the very same', 206, 10, {}, { Range: 'bytes=0-9', 'If-Match': 'ETAG' }],
    ['refused, when it is not the same', 412, 0, {}, { 'If-Match': '"other"' }],
    ['no range beyond its end', 416, 0, {}, { Range: 'bytes=99999999-' }],
  ] as [string, number, number | undefined, RequestOptions, Record<string, string>][])(
    'is the same as from the service itself: %s',
    async (_name, status, length, options, conditions) => {
      const headers = Object.fromEntries(
        Object.entries(conditions).map(([name, value]) => [name, value.replace('ETAG', `"${shop.sha256}"`)]),
      );
      const path = `${PREFIX}/downloads/42?dlid=${shop.key}`;
      const [through, direct] = await Promise.all([
        ask(shop.apache.url, path, { ...options, headers }),
        ask(shop.service.url, path, { ...options, headers }),
      ]);

      expect(through.status).toBe(status);
      if (length !== undefined) expect(through.body).toHaveLength(length);
      expect(masked(through)).toEqual(masked(direct));
      expect(through.body.equals(direct.body)).toBe(true);
    },
  );

  it('is a part of the very bytes', async () => {
    const { body, headers } = await download(shop, { headers: { Range: 'bytes=4000000-4000999' } });

    expect(headers['content-range']).toBe(`bytes 4000000-4000999/${zip.bytes.length}`);
    expect(body.equals(zip.bytes.subarray(4_000_000, 4_001_000))).toBe(true);
  });
});

const NBSP = Buffer.from('\u00a0').toString('latin1');
const EMOJI = Buffer.from('🔑').toString('latin1');

describe('a key as people paste it', () => {
  it.each<[string, (key: string) => string]>([
    ['a no-break space after it', (key) => `dlid=${key}${NBSP}`],
    ['no-break spaces all about it', (key) => `dlid=${NBSP}${key.replaceAll('-', `${NBSP}-${NBSP}`)}${NBSP}`],
    ['what is no UTF-8', (key) => `dlid=${key}\xff\xfe`],
    ['an emoji in a parameter before it', (key) => `v=${EMOJI}&dlid=${key}`],
    ['an ampersand of XML', (key) => `format=zip&amp;dlid=${key}${NBSP}`],
    ['the same percent-encoded', (key) => `dlid=%C2%A0${key}%e2%80%8b`],
    ['and nothing of the kind', (key) => `dlid=${key}`],
  ])('downloads with %s', async (_name, query) => {
    const answer = await raw(shop.apache, `GET ${PREFIX}/downloads/42?${query(shop.key)} HTTP/1.1`);

    expect(answer.slice(0, 15)).toBe('HTTP/1.1 200 OK');
    expect(answer).toContain('\r\nContent-Type: application/zip\r\n');
  });

  it.each([
    ['as it was', '?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y', '?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y'],
    ['as it was but for raw bytes', `?a=${EMOJI}%C2%A0+%26&x=%ZZ&b="<>`, '?a=%C2%A0+%26&x=%ZZ&b="<>'],
    ['not at all when it is nothing else', `?${NBSP}`, ''],
  ])('reaches the service, and the path too: the query %s', async (_name, query, arrives) => {
    const seen: unknown[] = [];
    const { apache } = await behindApache((request, response) => {
      seen.push(request.url);
      response.end();
    });
    await raw(apache, `GET ${PREFIX}/downloads/42%20${query} HTTP/1.1`);

    expect(seen).toEqual([`${PREFIX}/downloads/42%20${arrives}`]);
  });

  it('gets an answer in text when it is all wrong', async () => {
    const answer = await raw(
      shop.apache,
      `GET ${PREFIX}/downloads/42?dlid=${`${EMOJI}x`.repeat(200)} HTTP/1.1`,
    );

    expect(answer.slice(0, 12)).toBe('HTTP/1.1 403');
    expect(answer).toMatch(/License not found$/);
  });
});

describe('while the service is down', () => {
  it.each(['a port nobody listens on', 'a socket that does not exist'])('at %s', async (where) => {
    const apache = await startGuarded({
      upstream: where.includes('socket')
        ? `unix:${join(sharedFolder(), 'none.sock')}`
        : await unusedAddress(),
    });
    const posted = await validate(apache, shop.key);
    const downloaded = await download({ ...shop, apache });

    for (const answer of [posted, downloaded]) {
      expect(answer.status).toBe(503);
      expect(answer.headers).toMatchObject({
        'retry-after': '5',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
    }
    expect(posted.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(posted.json()).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message: UNAVAILABLE } });
    expect(downloaded.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(downloaded.body.toString()).toBe(UNAVAILABLE);
    expect((await get(apache, '/blog')).json()).toMatchObject({ php: '/index.php' });
    // The key stands where Apache's own messages would repeat it.
    const headers = { Referer: `https://shop.example${PREFIX}/downloads/42?dlid=${shop.key}` };
    await get(apache, `${PREFIX}/downloads/42&dlid=${shop.key}`, { headers });
    expect(apache.log('error.log')).toContain('failed');
  });

  it('an instance that is away is passed over, for a POST too', async () => {
    const away = `unix:${join(sharedFolder(), 'none.sock')}`;
    const apache = await startGuarded({ upstream: [away, hostOf(shop.service), away] });
    for (let i = 0; i < 6; i++) {
      expect((await validate(apache, shop.key)).status).toBe(200);
      expect((await download({ ...shop, apache })).status).toBe(200);
    }
  });

  it('it is asked again with the next request, and answers when it is back', async () => {
    const upstream = await unusedAddress();
    const apache = await startGuarded({ upstream });
    const before = await get(apache, `${PREFIX}/updates/42`);
    const back = await startUpstream(
      (_request, response) => response.end('back'),
      Number(upstream.split(':')[1]),
    );
    stops.push(() => back.close());
    const after = await get(apache, `${PREFIX}/updates/42`);

    expect(before.status).toBe(503);
    expect([after.status, after.body.toString()]).toEqual([200, 'back']);
  });

  it('it has 15 s to answer, then the client gets 502 in the same words', async () => {
    const edit = (text: string) => text.replace(' timeout=15', ' timeout=1');
    const { apache } = await behindApache(() => undefined, edit);
    const answer = await get(apache, `${PREFIX}/downloads/42&dlid=${shop.key}`);

    expect(answer.status).toBe(502);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'retry-after': '5',
      'cache-control': 'no-store',
    });
    expect(answer.body.toString()).toBe(UNAVAILABLE);
  });
});

describe('the logs', () => {
  it('say which endpoint and status, and nothing of the query', async () => {
    const { apache, key } = shop;
    const agent = `test-${randomBytes(4).toString('hex')}`;
    const headers = { 'User-Agent': agent };
    for (const path of [
      `downloads/42?dlid=${key}`,
      `downloads/42/?license_key=${key}`,
      `downloads/42&dlid=${key}`,
      `downloads/42%3Fdlid=${key}`,
      `downloads/${key}`,
      `updates/42/${key}`,
    ])
      await get(apache, `${PREFIX}/${path}`, { headers });
    const lines = () =>
      apache
        .log('licensing.log')
        .split('\n')
        .filter((line) => line.includes(agent));
    await eventually(() => expect(lines()).toHaveLength(6));

    expect(lines().map((line) => /^127\.0\.0\.1 .* "(.*?)" (\d+) \d+ \d+ /.exec(line)?.slice(1))).toEqual([
      [`GET ${PREFIX}/downloads/42`, '200'],
      [`GET ${PREFIX}/downloads/42/`, '200'],
      ['GET -', '400'],
      ['GET -', '400'],
      ['GET -', '400'],
      ['GET -', '404'],
    ]);
  });

  it('of the site have no key of a request that Apache refuses by itself, nor of a referer', async () => {
    const { apache, key } = shop;
    const headers = { Referer: `https://shop.example${PREFIX}/downloads/42?dlid=${key}` };
    const refused = [
      await raw(apache, `GET ${PREFIX}/downloads/42?dlid=${key}\x01 HTTP/1.1`),
      await raw(apache, `GET ${PREFIX}/downloads/42?dlid=${key} ${key} HTTP/1.1`),
      await raw(apache, `GET ${PREFIX}/downloads/42?dlid=${key}${'x'.repeat(9_000)} HTTP/1.1`),
      await raw(apache, `GET ${PREFIX}/downloads/42%2F?DLID%3d${key} HTTP/1.1`),
    ];
    await get(apache, '/favicon.ico', { headers });
    // with a message of its own in the error log
    await get(apache, '/?complain', { headers });
    await get(apache, '/blog/afterwards');

    expect(refused.map((answer) => answer.slice(9, 12))).toEqual(['400', '400', '414', '404']);
    await eventually(() => expect(apache.log('access.log')).toContain('/blog/afterwards'));
    expect(apache.log('access.log')).not.toMatch(/dlid/i);
    expect(apache.log('error.log')).toContain('the site complains');
  });

  it('hold no key, of Apache or of the service, after all of the above', () => {
    const everything = logs
      .map((read) => read())
      .join('\n')
      .toUpperCase();
    const groups = keys.flatMap((key) => key.split('-').slice(0, 3));

    expect(everything).toContain('"GET /API/INDEX.PHP/V1/LICENSING/DOWNLOADS/42" 503');
    expect(everything).toContain('"GET /API/INDEX.PHP/V1/LICENSING/DOWNLOADS/42" 200');
    expect(groups.length).toBeGreaterThan(6);
    expect(groups.filter((group) => everything.includes(group))).toEqual([]);
  });
});

async function openShop(settings: Settings = {}): Promise<Shop> {
  const service = await startTestService(settings);
  stops.push(() => service.stop());
  logs.push(() => service.logLines.join(''));
  const { key } = await giveLicense(service.db, await givePlan(service.db));
  keys.push(key);
  const { release } = await giveRelease(service, { version: '2.1.0', file: zip.path });
  return {
    service,
    apache: await startGuarded({ upstream: hostOf(service) }),
    key,
    sha256: release.sha256,
  };
}

async function startGuarded(options: ApacheOptions): Promise<TestApache> {
  const apache = await startApache(options);
  stops.push(() => apache.stop());
  logs.push(() => apache.allLogs());
  return apache;
}

/** Apache before a server that does what no healthy service would. */
async function behindApache(
  listener: RequestListener,
  edit?: ApacheOptions['edit'],
): Promise<{ apache: TestApache; connections: () => number }> {
  const upstream = await startUpstream(listener);
  stops.push(() => upstream.close());
  const apache = await startGuarded({ upstream: upstream.host, ...(edit && { edit }) });
  return { apache, connections: () => upstream.connections() };
}

/** The commented lines for a site behind a CDN, as an operator takes them into use. */
function behindCdn(text: string): string {
  return text.replace(/^( *)#(?=RemoteIP)/gm, '$1');
}

function inSubFolder(text: string): string {
  return text.replace(/^(Define LICENSING_PATH )/m, '$1/joomla');
}

function download({ apache, key }: Shop, options: RequestOptions = {}): Promise<Answer> {
  return get(apache, `${PREFIX}/downloads/42?dlid=${key}`, options);
}

/** What must be the same through Apache and without it. That there is no body either may say in its own way. */
function masked(answer: Answer): [string, string][] {
  const framing = answer.body.length === 0 && answer.status >= 400;
  return withoutOwn(answer)
    .filter(([name]) => !(framing && ['transfer-encoding', 'content-length'].includes(name)))
    .map(([name, value]) => [name, name === 'x-request-id' ? 'an id' : value]);
}
