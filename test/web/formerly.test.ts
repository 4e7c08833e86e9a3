import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, sharedFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  unusedAddress,
  type TestService,
} from '../support/service';
import { ask, get, hostOf, raw, startUpstream } from '../support/web-server';
import {
  APACHE,
  NBSP,
  NGINX,
  UNAVAILABLE,
  webShops,
  type TestWebServer,
  type WebShops,
} from '../support/web-shops';

/** Addresses of the system that a seller used before, as the guide lists them, requested from real web servers. */

const GUIDE = readFileSync(join(__dirname, '../../docs/moving-in-addresses.md'), 'utf8');
const LIST = /^LICENSING_FORMERLY=(.*)$/m.exec(GUIDE)![1]!;
const VECTORS = [...GUIDE.matchAll(/^\| ([A-Za-z, ]+?) +\| `(\/\S*)` +\| (.+?) +\|$/gm)].map(
  ([, system, address, answer]) => ({ system: system!, address: address!, answer: answer! }),
);

it('the guide has addresses for each system and answer', () => {
  expect(new Set(VECTORS.map(({ system }) => system))).toEqual(
    new Set(['ARS', 'ARS, SEF', 'Membership Pro', 'EDD']),
  );
  expect(new Set(VECTORS.map(({ answer }) => answer))).toEqual(
    new Set(['update XML', 'package', 'version', 'the site']),
  );
});

describe.each([NGINX, APACHE])('$name', (kind) => {
  let shops: WebShops;
  let service: TestService;
  let server: TestWebServer;
  let shop: Operator;
  let key: string;
  let xmlDir: string;
  let settings: Settings;
  const given = (address: string) => address.replaceAll('KEY', key);

  beforeAll(async () => {
    shops = await webShops(kind);
    const packagesDir = sharedFolder();
    xmlDir = sharedFolder();
    settings = {
      LICENSING_DATABASE_URL: await createMariaDbDatabase(),
      LICENSING_TABLE_PREFIX: 'jos_',
      LICENSING_PACKAGES_DIR: packagesDir,
      LICENSING_XML_DIR: xmlDir,
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_FORMERLY: LIST,
      ...kind.senders[0]![1],
    };
    service = await startTestService(settings);
    const { db } = service;
    ({ key } = await giveLicense(db, await givePlan(db)));
    await giveRelease(service, { version: '2.1.0', file: shops.zip.path });
    await db.raw('CREATE TABLE jos_ars_items (id BIGINT PRIMARY KEY, updatestream BIGINT)');
    await db('jos_ars_items').insert([
      { id: 12, updatestream: 7 },
      { id: 13, updatestream: 7 },
      { id: 14, updatestream: 8 },
    ]);
    shop = operator({ ...settings, LICENSING_LISTEN: hostOf(service) });
    await shop.json(['product', 'edit', '42', '--element', 'pkg_acme']);
    await shop.json(['update-xml', 'write', '--product', '42']);
    server = await start();
  });
  afterAll(async () => {
    await shops.close();
    await service.stop();
  });

  /** Starts the web server with the files that the command writes. */
  async function start(upstream = hostOf(service), example = true): Promise<TestWebServer> {
    const shop = operator({ ...settings, LICENSING_LISTEN: upstream });
    if (kind === NGINX) {
      const files = await shop.json<Record<string, string>>(['nginx', '--server-name', 'shop.example']);
      return shops.start({ upstream, example, edit: (text, file) => files[file] ?? text });
    }
    const folder = sharedFolder();
    await shop.json(['apache', '--out', folder]);
    const edit = (text: string, file: string) =>
      file === 'licensing.conf' ? `${text}Include ${folder}/licensing-formerly.conf\n` : text;
    return shops.start({ upstream, edit, xmlDir });
  }

  it.each(VECTORS)('$system: $address is answered with: $answer', async ({ address, answer }) => {
    const { status, headers, body } = await get(server, given(address));

    if (answer === 'the site')
      return expect(JSON.parse(body.toString())).toMatchObject({ uri: given(address) });
    expect(status).toBe(200);
    if (answer === 'update XML') {
      expect(headers['content-type']).toBe('application/xml; charset=utf-8');
      return expect(body.toString()).toContain('<version>2.1.0</version>');
    }
    if (answer === 'package') {
      expect(headers['content-type']).toBe('application/zip');
      return expect(body.equals(readFileSync(shops.zip.path))).toBe(true);
    }
    const url = `https://shop.example${PREFIX}/downloads/42?license_key=${key}`;
    return expect(JSON.parse(body.toString())).toMatchObject({
      new_version: '2.1.0',
      package: url,
      download_link: url,
      sections: 'a:1:{s:9:"changelog";s:0:"";}',
    });
  });

  describe('a former address', () => {
    const item = '/index.php?option=com_ars&view=item&item_id=12&dlid=';

    it("answers like the service's own address: an unknown key, no key, and a key with raw bytes around it", async () => {
      const unknown = await get(server, `${item}0000000000000000`);
      expect([unknown.status, unknown.body.toString()]).toEqual([403, 'License not found']);
      const none = await get(server, item);
      expect([none.status, none.body.toString()]).toEqual([400, 'Download ID (license key) is required']);
      const pasted = await raw(server, `GET ${item}${key}${NBSP} HTTP/1.1`);
      expect(pasted.slice(0, 15)).toBe('HTTP/1.1 200 OK');
    });

    it('answers HEAD, and leaves POST to the site', async () => {
      const address = '/index.php?option=com_ars&view=update&task=stream&format=xml&id=7';
      const head = await get(server, address, { method: 'HEAD' });
      expect([head.status, head.headers['content-type']]).toEqual([200, 'application/xml; charset=utf-8']);
      const { body } = await ask(server.url, address, { method: 'POST' }, 'a=b');
      expect(JSON.parse(body.toString())).toMatchObject({ uri: address });
    });

    it('passes only the key to the service, and no header of the client', async () => {
      const seen: object[] = [];
      const upstream = await startUpstream((request, response) => {
        const { url, headers } = request;
        const { cookie, authorization, 'x-forwarded-for': forwarded } = headers;
        seen.push({ url, cookie, authorization, forwarded });
        response.end();
      });
      shops.closing(upstream);
      const headers = { Cookie: 'session=1', Authorization: 'Basic eDp5', 'X-Forwarded-For': '198.51.100.9' };
      const query = `version=1.0.0&identifier=a.example&check=1&domain=b.example&download_id=${key}`;
      const address = `/?option=com_osmembership&task=download_update_package&document_id=5&${query}`;
      await get(await start(upstream.host), address, { headers });

      const nothing = { cookie: undefined, authorization: undefined };
      expect(seen).toEqual([
        { url: `${PREFIX}/downloads/42?dlid=${key}`, forwarded: '127.0.0.1', ...nothing },
      ]);
    });

    it('reports that the service is down', async () => {
      const away = await start(await unusedAddress());
      const answer = await get(away, `${item}${key}`);

      expect([answer.status, answer.body.toString()]).toEqual([503, UNAVAILABLE]);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'retry-after': '5',
        'cache-control': 'no-store',
      });
    });
  });

  it("also answers with an update XML file in the site's folder", async () => {
    const out = join(sharedFolder(), 'acme.xml');
    await shop.json(['update-xml', 'write', '--product', '42', '--out', out]);
    const elsewhere = await start();
    const answer = await get(elsewhere, '/updates/acme.xml');
    await shop.json(['update-xml', 'write', '--product', '42', '--out', join(xmlDir, 'pkg_acme.xml')]);

    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/xml/);
    expect(answer.body.toString()).toContain('<version>2.1.0</version>');
  });

  it('the doctor requests each address once, and reports which are still used and which are not answered', async () => {
    const logFile = join(sharedFolder(), 'none.log');
    writeFileSync(
      logFile,
      [
        `203.0.113.7 - - [26/Nov/2026:10:00:00 +0000] "GET /?option=com_ars&view=update&task=stream&id=7&dlid=${key} HTTP/1.1" 200 1 "-" "-"`,
        `203.0.113.7 - - [27/Nov/2026:10:00:00 +0000] "GET /index.php/de/updates/acme.xml?dlid=${key} HTTP/1.1" 200 1 "-" "-"`,
        `203.0.113.7 - - [27/Nov/2026:10:00:01 +0000] "GET /?option=com_ars&view=update&task=stream&id=8&dlid=${key} HTTP/1.1" 200 1 "-" "-"`,
        `203.0.113.7 - - [27/Nov/2026:10:00:02 +0000] "GET /blog?key=${key} HTTP/1.1" 200 1 "-" "-"`,
        '203.0.113.7 [2026-11-27T12:00:00+00:00] "GET (formerly ars=7 download)" 200 1',
        '203.0.113.7 [2026-11-27T12:00:00+00:00] "GET (formerly KEY)" 200 1',
      ].join('\n'),
    );
    const site = kind === NGINX ? await start(hostOf(service), false) : server;
    const url = kind === NGINX ? site.url : `http://127.0.0.1:${site.httpPort}`;
    const { stdout } = await shop.run(['doctor', '--json', '--url', url, '--log', logFile]);
    const { findings } = JSON.parse(stdout) as { findings: { code: string; level: string; what: string }[] };
    const of = (code: string) => findings.filter((one) => one.code === code).map(({ what }) => what);

    const host = url.replace('http://', '');
    if (kind === NGINX)
      expect(of('FORMERLY')).toEqual([
        `${host} answers ${[...LIST.matchAll(/([a-z]+=[^,]+):42/g)].map(([, name]) => name).join(', ')}.`,
      ]);
    // The plain port only redirects to https.
    else expect(of('FORMERLY_UNANSWERED')).toHaveLength(5);
    expect(of('FORMERLY_ASKED')).toEqual([
      `${logFile} has the addresses of the former system: ars=7 2 times, the last on 2026-11-27; membershippro=5 not asked; edd=9 not asked; path=/updates/acme.xml 1 time, the last on 2026-11-27; path=/download/acme/*.zip not asked.`,
    ]);
    expect(of('FORMERLY_UNLISTED')).toEqual([
      `${logFile} has addresses of another system that LICENSING_FORMERLY does not name: ars=8 1 time, the last on 2026-11-27.`,
    ]);
    for (const group of key.split('-')) expect(stdout).not.toContain(group);
  });

  it('the logs name the address, and contain no key after all tests above', async () => {
    await get(server, '/blog/afterwards');
    const names = [...LIST.matchAll(/([a-z]+=[^,]+):42/g)].map(([, name]) => name!);
    expect(names).toHaveLength(5);
    await eventually(() => {
      for (const name of [...names, 'ars=7 download'])
        expect(server.log('licensing.log')).toContain(`"GET (formerly ${name})" 200 `);
      // A web server logs a request after its answer.
      expect(shops.logs()).toContain('/blog/afterwards');
    });
    const everything = shops.logs();
    for (const group of key.split('-')) expect(everything).not.toContain(group);
  });
});
