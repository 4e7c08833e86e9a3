import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tryUpdate } from '../../src/joomla/updater/try';
import { addShop } from '../../src/orders/shops';
import { operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { eventually, sharedFolder, temporaryFolder } from '../support/processes';
import { PREFIX, rows, unusedAddress } from '../support/service';
import { signStripe } from '../support/shop-senders';
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
import {
  APACHE,
  download,
  EMOJI,
  masked,
  NBSP,
  NGINX,
  UNAVAILABLE,
  webShops,
  type Shop,
  type TestWebServer,
  type WebShops,
} from '../support/web-shops';

/** The requirements for every web server in front of the service, tested with the configuration that is shipped for it. */
describe.each([NGINX, APACHE])('$name', (kind) => {
  const ID = expect.stringMatching(kind.id) as unknown as string;
  let shops: WebShops;
  let shop: Shop;
  let server: TestWebServer;
  let key: string;
  /** The same shop once per method of sending packages that the web server supports. */
  let bySender: Map<string, Shop>;
  const databases = new Map<Shop, string>();
  beforeAll(async () => {
    shops = await webShops(kind);
    bySender = new Map();
    for (const [sender, settings] of kind.senders) {
      const database = `sqlite:${join(temporaryFolder(), 'test.sqlite')}`;
      const opened = await shops.open({ ...settings, LICENSING_DATABASE_URL: database });
      bySender.set(sender, opened);
      databases.set(opened, database);
    }
    shop = bySender.get(kind.senders[0]![0])!;
    ({ server, key } = shop);
  });
  afterAll(() => shops.close());

  describe('which request reaches whom', () => {
    it.each(kind.site)('%s reaches the PHP of the site', async (uri, seen) => {
      expect((await get(server, uri)).json()).toMatchObject(seen);
    });

    it('every endpoint reaches the service', () => everyEndpointAnswers(server, key));

    it('the service learns the site and the version that a download reports', async () => {
      const told = { 'X-Licensing-Site': 'https://customer.example', 'X-Licensing-Version': '1.0.0' };
      expect((await download(shop, { headers: told })).status).toBe(200);

      await eventually(async () => {
        const logged = await rows(shop.service.db, 'access_log');
        expect(logged).toContainEqual(
          expect.objectContaining({ site: 'customer.example', installed_version: '1.0.0' }),
        );
      });
    });

    it('a shop’s signed message of up to a mebibyte reaches its receiver unchanged', async () => {
      const keySecret = randomBytes(32);
      const settings = { LICENSING_KEY_SECRET: keySecret.toString('base64') };
      const { server: front, service } = await shops.open(settings);
      const [secret, now] = ['whsec_signs', new Date()];
      const context = { actor: 'operator:test', now, keySecret };
      await addShop(service.db, 'stripe', { kind: 'stripe', secret }, context);
      const send = async (length: number, signedBy = secret) => {
        const message = { id: 'evt_1', type: 'ping', created: 1, padding: 'ü'.repeat(length) };
        const { body, headers } = signStripe(message, signedBy, now);
        return (await ask(front.url, `${PREFIX}/hooks/stripe`, { method: 'POST', headers }, body)).status;
      };
      expect(await send(1)).toBe(200);
      expect(await send(500_000)).toBe(200);
      expect(await send(1, 'whsec_other')).toBe(401);
      expect(await send(600_000)).toBe(413);
    });

    it.each([PREFIX, `${PREFIX}/`])('the prefix itself, %s, gets the 404 of the service', async (path) => {
      const answer = await get(server, path);
      expect(answer.status).toBe(404);
      expect(answer.json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
    });

    it('a site in a sub-folder has the service below that folder', async () => {
      const { inSubFolder: edit } = kind;
      const { packagesDir } = shop;
      const inFolder = await shops.start({ upstream: hostOf(shop.service), packagesDir, edit });

      expect((await get(inFolder, `/joomla${PREFIX}/updates/42?v=1`)).json()).toMatchObject({
        data: { version: '2.1.0' },
      });
      expect((await validate(inFolder, key, {}, '/joomla')).status).toBe(200);
      const pasted = await raw(inFolder, `GET /joomla${PREFIX}/downloads/42?dlid=${key}${NBSP} HTTP/1.1`);
      expect(pasted.slice(0, 15)).toBe('HTTP/1.1 200 OK');
      await eventually(() =>
        expect(inFolder.log('licensing.log')).toContain(`"GET /joomla${PREFIX}/downloads/42" 200`),
      );
    });

    it('the service may listen on a Unix socket', async () => {
      const socket = join(sharedFolder(), 'http.sock');
      const onSocket = await shops.open({ LICENSING_LISTEN: `unix:${socket}` });
      await validate(onSocket.server, onSocket.key, { localAddress: '127.0.0.2' });

      expect(await lastCheckIp(onSocket)).toBe('127.0.0.2');
      await everyEndpointAnswers(onSocket.server, onSocket.key);
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
    ])('is that of the connection, whatever the client claims %s', async (_name, headers) => {
      await shop.service.db('licensing_licenses').update({ last_check_ip: null });
      await validate(server, key, { localAddress: '127.0.0.2', headers });

      expect(await lastCheckIp(shop)).toBe('127.0.0.2');
    });

    it('is what the limits count: claiming other addresses gains nothing, a second address has its own limit', async () => {
      const limited = await shops.open({ LICENSING_RATE_LIMIT: '3' });
      const ask = (n: number, localAddress: string) =>
        validate(limited.server, limited.key, {
          localAddress,
          headers: { 'X-Forwarded-For': `198.51.100.${n}` },
        });
      const statuses = [];
      for (const n of [1, 2, 3, 4]) statuses.push((await ask(n, '127.0.0.2')).status);

      expect(statuses).toEqual([200, 200, 200, 429]);
      expect((await ask(5, '127.0.0.3')).status).toBe(200);
    });

    it('behind a CDN is the one that the CDN names, if the commented lines are used', async () => {
      const edit = (text: string) => kind.behindCdn(text, '127.0.0.0/8');
      const behindCdn = await shops.start({ upstream: hostOf(shop.service), edit });
      await validate(behindCdn, key, { headers: { 'X-Forwarded-For': '203.0.113.250, 198.51.100.7' } });

      expect(await lastCheckIp(shop)).toBe('198.51.100.7');
    });
  });

  describe('what it passes on', () => {
    it('uses the same request id in the answer, in its log and in the log of the service', async () => {
      const answer = await get(server, `${PREFIX}/updates/abc`, {
        headers: { 'X-Request-Id': 'of-the-client' },
      });
      const id = answer.headers['x-request-id'] as string;

      expect(id).toEqual(ID);
      await eventually(() => expect(server.log('licensing.log')).toContain(id));
      expect(shop.service.logLines.join('')).toContain(`"request_id":"${id}"`);
    });

    it("reuses its connection, and does not pass on the site's cookies and logins", async () => {
      const seen: object[] = [];
      const { server, connections } = await shops.behind((request, response) => {
        const { cookie, authorization, 'x-forwarded-for': forwarded } = request.headers;
        seen.push({ cookie, authorization, forwarded });
        response.end();
      });
      const headers = { Cookie: 'session=1', Authorization: 'Basic eDp5', 'X-Forwarded-For': '198.51.100.9' };
      for (let n = 0; n < 5; n++) await get(server, `${PREFIX}/updates/42`, { headers });

      expect(seen).toEqual(
        Array(5).fill({ cookie: undefined, authorization: undefined, forwarded: '127.0.0.1' }),
      );
      expect(connections()).toBe(1);
    });

    it('never repeats a POST whose connection was lost, because the service may have received it', async () => {
      const requests: string[] = [];
      const { server } = await shops.behind((request, response) => {
        requests.push(`${request.method} ${request.url}`);
        request
          .resume()
          .once('end', () => (request.method === 'POST' ? request.socket.destroy() : response.end()));
      });
      await get(server, `${PREFIX}/updates/7`);
      const posted = await post(server, '/licenses/activate', { license_key: 'x' });
      const got = await get(server, `${PREFIX}/updates/8`);

      expect([posted.status, got.status]).toEqual([kind.lost, 200]);
      expect(posted.json()).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message: UNAVAILABLE } });
      expect(posted.headers['retry-after']).toBe('5');
      expect(requests).toEqual([
        `GET ${PREFIX}/updates/7`,
        `POST ${PREFIX}/licenses/activate`,
        `GET ${PREFIX}/updates/8`,
      ]);
    });

    it('passes on an answer of the service unchanged, whatever its status', async () => {
      let status = 0;
      const { server } = await shops.behind((_request, response) => {
        response
          .writeHead(status, {
            'Content-Type': 'application/problem+json',
            'Retry-After': '17',
            'X-Request-Id': 'of-the-service',
          })
          .end('{"own":1}');
      });
      for (status of [400, 404, 413, 429, 500, 502, 503, 504])
        for (const path of ['updates/42', 'downloads/42']) {
          const answer = await get(server, `${PREFIX}/${path}`);

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
    });

    it.each([
      ['65 KiB', 65 * 1024],
      ['1 MiB', 1024 * 1024],
    ])('a body of %s is refused in the words of the service', async (_name, size) => {
      const answer = await post(server, '/licenses/validate', { license_key: 'x'.repeat(size) });

      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.json()).toEqual({
        error: { code: 'INVALID_REQUEST', message: 'The body must not be larger than 64 KiB.' },
      });
    });
  });

  it('a form that is too large is refused with a text, by the service or by the web server', async () => {
    const send = (path: string, size: number) =>
      ask(
        server.url,
        `${PREFIX}/pages${path}`,
        {
          method: 'POST',
          headers: {
            'Content-Type': 'application/x-www-form-urlencoded',
            'Accept-Language': 'de',
            Origin: server.url,
          },
        },
        `key=${'+'.repeat(size)}`,
      );
    for (const path of ['/my', '/my/link', '/sign-in']) {
      const byService = await send(path, 20 * 1024);
      expect([byService.status, byService.headers['content-type']]).toEqual([
        413,
        'text/html; charset=utf-8',
      ]);
      const before = await send(path, 100 * 1024);
      expect([before.status, before.headers['content-type']]).toEqual([413, 'text/plain; charset=utf-8']);
      expect(before.body.toString()).toContain('Dieses Formular ist zu groß.');
    }
  });

  describe('a package', () => {
    it.each(kind.senders.flatMap(([sender]) => ['gzip', 'br'].map((coding) => [sender, coding] as const)))(
      'sent by %s arrives byte for byte with exactly these headers, and not compressed with %s',
      async (sender, coding) => {
        const from = bySender.get(sender)!;
        const answer = await download(from, { headers: { 'Accept-Encoding': coding } });

        expect(answer.status).toBe(200);
        expect(answer.body.equals(shops.zip.bytes)).toBe(true);
        expect(withoutOwn(answer)).toEqual([
          ['accept-ranges', 'bytes'],
          ['cache-control', 'private, no-store, no-transform'],
          ['connection', 'close'],
          ['content-disposition', 'attachment; filename="example-shop-2.1.0.zip"'],
          ['content-length', String(shops.zip.bytes.length)],
          ['content-type', 'application/zip'],
          ['etag', `"${from.sha256}"`],
          ['x-content-type-options', 'nosniff'],
          ['x-request-id', ID],
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
      'is the same as from the service itself: %s',
      async (_name, status, length, options, conditions) => {
        const asked = ({ sha256 }: Shop): RequestOptions => {
          const date = new Date(Date.now() + 1e9).toUTCString();
          const headers = Object.entries(conditions).map(([name, value]) => [
            name,
            value.replace('ETAG', `"${sha256}"`).replace('DATE', date),
          ]);
          return { ...options, headers: Object.fromEntries(headers) as Record<string, string> };
        };
        const served = bySender.get('the service')!;
        const path = `${PREFIX}/downloads/42?dlid=${served.key}`;
        const direct = await ask(served.service.url, path, asked(served));

        for (const through of bySender.values()) {
          const answer = await download(through, asked(through));
          expect([answer.status, answer.reason]).toEqual([status, direct.reason]);
          if (length !== undefined) expect(answer.body).toHaveLength(length);
          expect(comparable(answer)).toEqual(comparable(direct));
          expect(answer.body.equals(direct.body)).toBe(true);
        }
      },
    );

    it('sends the exact bytes of a range', async () => {
      const { body, headers } = await download(shop, { headers: { Range: 'bytes=4000000-4000999' } });

      expect(headers['content-range']).toBe(`bytes 4000000-4000999/${shops.zip.bytes.length}`);
      expect(body.equals(shops.zip.bytes.subarray(4_000_000, 4_001_000))).toBe(true);
    });

    it.each(kind.senders)('answers 416 for a range beyond its end, sent by %s', async (sender) => {
      const answer = await download(bySender.get(sender)!, { headers: { Range: 'bytes=99999999-' } });

      expect(answer.status).toBe(416);
      expect(answer.headers['content-range']).toBe(`bytes */${shops.zip.bytes.length}`);
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
    });
  });

  describe('a key as customers paste it', () => {
    it.each<[string, (key: string) => string]>([
      ['a no-break space after it', (key) => `dlid=${key}${NBSP}`],
      [
        'no-break spaces all about it',
        (key) => `dlid=${NBSP}${key.replaceAll('-', `${NBSP}-${NBSP}`)}${NBSP}`,
      ],
      ['what is no UTF-8', (key) => `dlid=${key}\xff\xfe`],
      ['an emoji in a parameter before it', (key) => `v=${EMOJI}&dlid=${key}`],
      ['an ampersand of XML', (key) => `format=zip&amp;dlid=${key}${NBSP}`],
      ['the same percent-encoded', (key) => `dlid=%C2%A0${key}%e2%80%8b`],
      ['and nothing of the kind', (key) => `dlid=${key}`],
    ])('downloads with %s', async (_name, query) => {
      const answer = await raw(server, `GET ${PREFIX}/downloads/42?${query(key)} HTTP/1.1`);

      expect(answer.slice(0, 15)).toBe('HTTP/1.1 200 OK');
      expect(answer).toContain('\r\nContent-Type: application/zip\r\n');
    });

    it('reaches the service percent-encoded as it was sent, like the path', async () => {
      const seen: unknown[] = [];
      const { server } = await shops.behind((request, response) => {
        seen.push(request.url);
        response.end();
      });
      await get(server, `${PREFIX}/downloads/42%20?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y`);

      expect(seen).toEqual([`${PREFIX}/downloads/42%20?dlid=%C2%A0A%2BB%26&x=%ZZ&amp;y`]);
    });

    it('gets an answer as text if none of it is valid', async () => {
      const answer = await raw(server, `GET ${PREFIX}/downloads/42?dlid=${`${EMOJI}x`.repeat(200)} HTTP/1.1`);

      expect(answer.slice(0, 12)).toBe('HTTP/1.1 403');
      expect(answer).toMatch(/License not found$/);
    });
  });

  describe('the update XML', () => {
    it('follows the command, and is served to Joomla at once', async () => {
      const { service, packagesDir, xmlDir } = shop;
      const settings = {
        LICENSING_DATABASE_URL: databases.get(shop)!,
        LICENSING_PACKAGES_DIR: packagesDir,
        LICENSING_XML_DIR: xmlDir,
        LICENSING_PUBLIC_URL: server.url,
      };
      const { json } = operator(settings);
      const release = (verb: string, version: string) => [
        'release',
        verb,
        '--product',
        '42',
        '--version',
        version,
      ];
      const path = '/licensing-updates/pkg_example.xml';
      const edited = await json(['product', 'edit', '42', '--element', 'pkg_example']);
      const versions = async () =>
        [...(await get(server, path)).body.toString().matchAll(/<version>(.*?)</g)].map(([, one]) => one);

      expect(edited).toMatchObject({ update_xml: { state: 'written', url: server.url + path } });
      expect(await versions()).toEqual(['2.1.0']);
      const manifest = `<extension type="package"><packagename>example</packagename><version>3.0.0</version><dlid prefix="dlid="/>
        <updateservers><server>${server.url + path}</server></updateservers></extension>`;
      const zip = await makePackage({ 'pkg_example.xml': manifest });
      const published = await json([...release('publish', '3.0.0'), '--file', zip.path]);
      expect(published).toMatchObject({ update_xml: { state: 'written', url: server.url + path } });
      const answer = await get(server, path);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/xml; charset=utf-8',
        'cache-control': expect.stringMatching(/^(?:public|private), max-age=300$/),
        'x-content-type-options': 'nosniff',
      });
      expect(await versions()).toEqual(['3.0.0']);
      // The simulation of Joomla's updater needs a certificate that Node trusts, so https is left out.
      if (server.url.startsWith('http:'))
        expect(
          await tryUpdate(server.url + path, key, {
            installed: {
              version: '2.1.0',
              element: undefined,
              type: undefined,
              client: undefined,
              folder: undefined,
            },
            joomla: '5.3.0',
            database: undefined,
            php: '8.2.0',
            minimumStability: 'stable',
          }),
        ).toMatchObject({ offered: true, installed: true });

      await json([...release('withdraw', '3.0.0'), '--write-xml', '--allow-downgrade']);
      expect(await versions()).toEqual(['2.1.0']);
      expect(service.logLines.join('')).not.toContain('licensing-updates');
    });

    it.each(['', 'none.xml', '.hidden.xml', 'notes.txt', '.pkg_example.xml.0123.part'])(
      'shows nothing else of its folder: %j',
      async (name) => {
        for (const there of ['.hidden.xml', 'notes.txt', '.pkg_example.xml.0123.part'])
          writeFileSync(join(shop.xmlDir, there), 'not to be seen');
        const answer = await get(server, `/licensing-updates/${name}`);

        expect([403, 404]).toContain(answer.status);
        expect(answer.body.toString()).not.toContain('not to be seen');
      },
    );
  });

  describe("the operator's API and the pages", () => {
    const secrets = {
      Authorization: 'Bearer lgw_secret',
      'X-Joomla-Token': 'joomla-secret',
      Cookie:
        'site=1; licensing=o; x_licensing=2; licensing_my=c; licensing_x=4; licensing_said=s; licensing_theme=dark; licensing_language=de; licensing_next=%2F; other=3',
    };

    it('receive the secrets that are meant for them, and no cookie of the site', async () => {
      const seen: Record<string, unknown> = {};
      const { server } = await shops.behind((request, response) => {
        const {
          cookie,
          authorization,
          'x-joomla-token': token,
          'x-forwarded-proto': scheme,
          'x-forwarded-prefix': folder,
          host,
          origin,
        } = request.headers;
        const cookies = cookie?.split(/[; ]+/).filter(Boolean).sort();
        seen[request.url!.slice(PREFIX.length)] = {
          cookies,
          authorization,
          token,
          scheme,
          host,
          origin,
          folder,
        };
        response.end();
      });
      const asked = ['/manage/me', '/pages/licenses', '/pages', '/docs/', '/openapi.json', '/updates/42'];
      const headers = { ...secrets, Origin: 'https://shop.example', 'X-Forwarded-Prefix': '/of-the-client' };
      for (const path of asked) await get(server, PREFIX + path, { headers });
      const own = {
        cookies: [
          ...['licensing=o', 'licensing_language=de', 'licensing_my=c', 'licensing_next=%2F'],
          ...['licensing_said=s', 'licensing_theme=dark'],
        ],
        token: 'joomla-secret',
        origin: 'https://shop.example',
        folder: undefined,
      };
      const address = { scheme: server.url.split(':')[0], host: `127.0.0.1:${server.port}` };

      expect(seen['/manage/me']).toEqual({ ...own, ...address, authorization: 'Bearer lgw_secret' });
      expect(seen['/pages/licenses']).toEqual({ ...own, ...address, authorization: undefined });
      expect(seen['/pages']).toEqual(seen['/pages/licenses']);
      for (const path of asked.slice(3))
        expect(seen[path]).toMatchObject({ cookies: undefined, authorization: undefined });
      await get(server, `${PREFIX}/manage/plans`, { headers: { Cookie: 'site=1; other=3' } });
      expect(seen['/manage/plans']).toMatchObject({ cookies: undefined });
    });

    it("receive the folder of a site in a sub-folder, and the browser's host", async () => {
      const upstream = await startUpstream((request, response) => {
        const { host, 'x-forwarded-prefix': folder } = request.headers;
        response.end(JSON.stringify({ url: request.url, host, folder }));
      });
      shops.closing(upstream);
      const inFolder = await shops.start({ upstream: upstream.host, edit: kind.inSubFolder });
      const headers = { Host: 'shop.example:8443', 'X-Forwarded-Prefix': '/of-the-client' };
      const answer = await get(inFolder, `/joomla${PREFIX}/pages/my?x=1`, { headers });

      expect(answer.json()).toEqual({
        url: `${PREFIX}/pages/my?x=1`,
        host: 'shop.example:8443',
        folder: '/joomla',
      });
    });

    it('may be compressed by the service', async () => {
      const page = gzipSync('<p>Licences</p>'.repeat(100));
      const { server } = await shops.behind((request, response) => {
        const encoding = { 'Content-Encoding': String(request.headers['accept-encoding']) };
        response.writeHead(200, { 'Content-Type': 'text/html', ...encoding }).end(page);
      });
      const answer = await get(server, `${PREFIX}/pages/licenses`, {
        headers: { 'Accept-Encoding': 'gzip' },
      });

      expect([answer.headers['content-encoding'], answer.body]).toEqual(['gzip', page]);
    });

    describe('on a host name of their own', () => {
      let hosts: TestWebServer;
      beforeAll(async () => {
        const upstream = await startUpstream((_request, response) => response.end('reached'));
        shops.closing(upstream);
        hosts = await shops.start({ upstream: upstream.host, ...kind.withPagesHost });
      });
      const on = (host: string, path: string) => get(hosts, path, { headers: { Host: host } });
      const SITE = 'shop.example';
      const PAGES = 'pages.shop.example';

      it.each([
        [PAGES, ['manage/me', 'manage/licenses?q=x', 'pages', 'pages/', 'pages/enter/abc', 'pages/mylist']],
        [PAGES, ['pages/assets/a.css', 'docs', 'docs/page.css', 'openapi.json']],
        [SITE, ['pages/my', 'pages/my/enter/abc', 'pages/assets/a.css', 'docs', 'openapi.json']],
        [SITE, ['updates/42', 'licenses/validate', 'downloads/42']],
      ])('%s has %j', async (host, paths) => {
        for (const path of paths)
          expect([path, (await on(host, `${PREFIX}/${path}`)).body.toString()]).toEqual([path, 'reached']);
      });

      it.each([
        [SITE, ['manage/me', 'manage', 'pages', 'pages/', 'pages/enter/abc', 'pages/mylist', 'pag%65s/']],
        [PAGES, ['pages/my', 'pages/my/enter/abc', 'updates/42', 'licenses/validate', 'downloads/42', '']],
      ])('%s refuses %j', async (host, paths) => {
        for (const path of paths) {
          const answer = await on(host, `${PREFIX}/${path}`);
          expect([path, answer.status, answer.headers]).toMatchObject([
            path,
            404,
            { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
          ]);
          expect(answer.json()).toEqual({
            error: { code: 'NOT_FOUND', message: 'There is nothing at this address' },
          });
        }
      });

      it("lets the overview through on the site's host with a ticket, and nothing else", async () => {
        const ticket = 'A'.repeat(60);
        const asked = async (path: string, sent: string) =>
          (
            await get(hosts, `${PREFIX}/${path}`, { headers: { Host: SITE, 'X-Licensing-Ticket': sent } })
          ).body.toString();
        expect(await asked('manage/overview', `${ticket}.${ticket}`)).toBe('reached');
        for (const [path, sent] of [
          ['manage/overview', 'short'],
          ['manage/overview', `${ticket} ${ticket}`],
          ['manage/licenses', ticket],
          ['manage/overview/x', ticket],
          [`manage/overview%20${ticket}`, 'x'],
          [`manage/licenses%20${PREFIX}/manage/overview`, ticket],
        ] as const)
          expect([path, sent, await asked(path, sent)]).toEqual([
            path,
            sent,
            expect.stringContaining('"NOT_FOUND"'),
          ]);
      });

      it('redirects its start page to the pages, and serves nothing of the site', async () => {
        const start = await on(PAGES, '/');
        expect(start.status).toBe(302);
        expect(new URL(start.headers.location as string, 'https://pages.shop.example').pathname).toBe(
          `${PREFIX}/pages/`,
        );
        for (const path of ['/index.php', '/administrator/', '/licensing-updates/x.xml'])
          expect([path, (await on(PAGES, path)).status]).toEqual([path, 404]);
        expect((await on(SITE, '/blog/article')).json()).toMatchObject({ uri: '/blog/article' });
      });

      it('does not log a code in an address that it refuses', async () => {
        await on(SITE, `${PREFIX}/pages/enter/s3cretCode`);
        await eventually(() => expect(hosts.log('licensing.log')).toContain('pages/enter/(code)" 404'));
        expect(hosts.allLogs()).not.toContain('s3cretCode');
      });
    });

    it('leave no code and no customer in any log while the service is down', async () => {
      const down = await shops.start({ upstream: await unusedAddress(), example: true });
      const asked = [
        'pages/enter/s3cretCode',
        'pages/my/enter/s3cretCode?from=jane@buyer.example',
        'pages/customers/jane@buyer.example/erase',
        'manage/customers/jane@buyer.example',
        'pages/licenses?customer=jane@buyer.example',
        'pages/find/s3cretCode',
      ];
      const headers = { ...secrets, Referer: `https://shop.example${PREFIX}/pages/enter/s3cretCode` };
      for (const path of asked) {
        const answer = await get(down, `${PREFIX}/${path}`, { headers });
        const type = path.startsWith('pages') ? 'text/plain' : 'application/json';
        expect([path, answer.status, answer.headers['content-type']]).toEqual([
          path,
          503,
          `${type}; charset=utf-8`,
        ]);
      }
      // Browsers request it with the page as the referer.
      await get(down, '/favicon.ico', { headers });
      await eventually(() => expect(down.log('licensing.log').split('\n')).toHaveLength(asked.length + 1));
      expect(down.allLogs()).not.toMatch(/s3cretCode|jane|lgw_secret|joomla-secret/);
    });

    it('receive a package while it is still being uploaded', async () => {
      let listener: (request: IncomingMessage) => void = () => undefined;
      const arrived = new Promise<number>((resolve) => {
        listener = (request) => request.once('data', (chunk: Buffer) => resolve(chunk.length));
      });
      const { server } = await shops.behind((request) => listener(request));
      const { protocol, port, hostname } = new URL(server.url);
      const upload = (protocol === 'https:' ? httpsRequest : httpRequest)({
        ...{ port, hostname, method: 'POST', path: `${PREFIX}/manage/products/42/releases?version=1` },
        ...{ rejectUnauthorized: false, agent: false },
        headers: { 'Content-Type': 'application/zip', 'Content-Length': 200 * 1024 * 1024 },
      });
      upload.on('error', () => undefined).write(Buffer.alloc(64 * 1024));

      expect(await arrived).toBeGreaterThan(0);
      upload.destroy();
    });

    it('are logged without a query, a customer or a code', async () => {
      const agent = `test-${randomBytes(4).toString('hex')}`;
      const paths = [
        ['manage/licenses?q=jane@buyer.example', 'manage/licenses'],
        ['manage/licenses/7/suspend', 'manage/licenses/7/suspend'],
        ['manage/products/42/update-xml', 'manage/products/42/update-xml'],
        ['manage/customers/jane@buyer.example', 'manage/customers/(customer)'],
        ['manage/customers/0123abcd/x', 'manage/customers/(customer)'],
        ['pages/enter/s3cretCode', 'pages/enter/(code)'],
        ['pages/my/enter/abcdef', 'pages/my/enter/(code)'],
        ['pages/licenses.csv?customer=jane@buyer.example', 'pages/licenses.csv'],
      ];
      for (const [path] of paths)
        await get(server, `${PREFIX}/${path}`, { headers: { ...secrets, 'User-Agent': agent } });
      const lines = () =>
        server
          .log('licensing.log')
          .split('\n')
          .filter((line) => line.includes(agent));
      await eventually(() => expect(lines()).toHaveLength(paths.length));

      expect(lines().map((line) => kind.logLine.exec(line)?.[1])).toEqual(
        paths.map(([, logged]) => `GET ${PREFIX}/${logged}`),
      );
      expect(server.allLogs() + shop.service.logLines.join('')).not.toMatch(
        /jane|lgw_secret|joomla-secret|s3cretCode|0123abcd|my\/enter\/abcdef/,
      );
    });
  });

  describe('while the service is down', () => {
    it.each(['a port nobody listens on', 'a socket that does not exist'])('at %s', async (where) => {
      const down = await shops.start({
        upstream: where.includes('socket')
          ? `unix:${join(sharedFolder(), 'none.sock')}`
          : await unusedAddress(),
      });
      const posted = await validate(down, key);
      const downloaded = await download({ ...shop, server: down });

      for (const answer of [posted, downloaded]) {
        expect(answer.status).toBe(503);
        expect(answer.headers).toMatchObject({
          'retry-after': '5',
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          ...(kind.namesRefusals && { 'x-request-id': ID }),
        });
      }
      expect(posted.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(posted.json()).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message: UNAVAILABLE } });
      expect(downloaded.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(downloaded.body.toString()).toBe(UNAVAILABLE);
      await eventually(() => expect(down.log('licensing.log')).toContain(`"GET ${PREFIX}/downloads/42" 503`));
      const [uri, seen] = kind.site[0]!;
      expect((await get(down, uri)).json()).toMatchObject(seen);
      // The web server's own messages would repeat the key from the path and the referer.
      const headers = { Referer: `https://shop.example${PREFIX}/downloads/42?dlid=${key}` };
      await get(down, `${PREFIX}/downloads/42&dlid=${key}`, { headers });
    });

    it('an instance that is down is skipped, for a POST too', async () => {
      const away = `unix:${join(sharedFolder(), 'none.sock')}`;
      const { packagesDir } = shop;
      const some = await shops.start({ upstream: [away, hostOf(shop.service), away], packagesDir });
      for (let i = 0; i < 6; i++) {
        expect((await validate(some, key)).status).toBe(200);
        expect((await download({ ...shop, server: some })).status).toBe(200);
      }
    });

    it('an instance is asked again with the next request, and answers when it is back', async () => {
      const upstream = await unusedAddress();
      const front = await shops.start({ upstream });
      const before = await get(front, `${PREFIX}/updates/42`);
      shops.closing(
        await startUpstream((_request, response) => response.end('back'), Number(upstream.split(':')[1])),
      );
      const after = await get(front, `${PREFIX}/updates/42`);

      expect(before.status).toBe(503);
      expect([after.status, after.body.toString()]).toEqual([200, 'back']);
    });
  });

  describe('the logs', () => {
    it('contain the endpoint and the status, and nothing of the query', async () => {
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
        await get(server, `${PREFIX}/${path}`, { headers });
      const lines = () =>
        server
          .log('licensing.log')
          .split('\n')
          .filter((line) => line.includes(agent));
      await eventually(() => expect(lines()).toHaveLength(6));

      expect(lines().map((line) => kind.logLine.exec(line)?.slice(1))).toEqual([
        [`GET ${PREFIX}/downloads/42`, '200'],
        [`GET ${PREFIX}/downloads/42/`, '200'],
        [`GET ${kind.hidden}`, '400'],
        [`GET ${kind.hidden}`, '400'],
        [`GET ${kind.hidden}`, '400'],
        [`GET ${kind.hidden}`, '404'],
      ]);
    });

    it('contain a line for each way a download can end, and for a page of the site that fails', async () => {
      const settings = { ...kind.senders[0]![1], LICENSING_DOWNLOAD_RATE_LIMIT: '4' };
      const limited = await shops.open(settings);
      const statusOf = async (product: number, query = '') =>
        (await get(limited.server, `${PREFIX}/downloads/${product}?dlid=${limited.key}${query}`)).status;
      const statuses = [await statusOf(42), await statusOf(43), await statusOf(42, '&version=9.9')];
      rmSync(join(limited.packagesDir, `${limited.sha256}.zip`));
      for (let i = 0; i < 3; i++) statuses.push(await statusOf(42));
      expect(statuses).toEqual([200, 403, 404, 404, 404, 429]);

      const [uri, line] = kind.fails;
      await get(limited.server, uri);
      await eventually(() => expect(limited.server.log('error.log')).toMatch(line));
      await eventually(() => expect(limited.server.log('licensing.log')).toContain('/downloads/42" 429'));
    });

    it('contain no key, in the web server or the service, after all tests above', () => {
      const logged = (request: string, status: number) =>
        new RegExp(`"${request.replace(/[()]/g, '\\$&')}" ${status} `);
      const download = `GET ${PREFIX}/downloads/42`;
      // One shop per method of sending, one for signed messages, one on a Unix socket, and two with rate limits.
      shops.expectNoKeyInLogs(kind.senders.length + 4, [
        ...[200, 206, 304, 404, 416, 429, 503].map((status) => logged(download, status)),
        logged(`GET ${PREFIX}/downloads/43`, 403),
        ...[400, 404].map((status) => logged(`GET ${kind.hidden}`, status)),
        ...[200, 429, 503].map((status) => logged(`POST ${PREFIX}/licenses/validate`, status)),
        /"GET \/blog\/article HTTP\/1\.1" 200 /,
        kind.fails[1],
        ...kind.ownErrors,
        ...['DOWNLOAD_NOT_FOUND', 'FILE_NOT_FOUND', 'RATE_LIMITED', 'INVALID_REQUEST', 'NOT_FOUND'].map(
          (code) => new RegExp(`"code":"${code}"`),
        ),
      ]);
    });
  });
});

/** Returns the headers that must be the same through a web server. Servers differ in how they state that there is no body. */
function comparable(answer: Answer): [string, string][] {
  const framing = answer.body.length === 0 && answer.status >= 400;
  return masked(answer).filter(
    ([name]) => !(framing && ['transfer-encoding', 'content-length'].includes(name)),
  );
}
