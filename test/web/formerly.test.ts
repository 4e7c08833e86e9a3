import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Settings } from '../../src/config';
import { operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, sharedFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestService,
} from '../support/service';
import { ask, get, hostOf } from '../support/web-server';
import { APACHE, NGINX, webShops, type TestWebServer, type WebShops } from '../support/web-shops';

/** Addresses of the system that a seller used before, as the guide lists them, asked of real web servers. */

const GUIDE = readFileSync(join(__dirname, '../../docs/moving-in-addresses.md'), 'utf8');
const LIST = /^LICENSING_FORMERLY=(.*)$/m.exec(GUIDE)![1]!;
const VECTORS = [...GUIDE.matchAll(/^\| ([A-Za-z, ]+?) +\| `(\/\S*)` +\| (.+?) +\|$/gm)].map(
  ([, system, address, answer]) => ({ system: system!, address: address!, answer: answer! }),
);

it('the guide has addresses of each system and answer', () => {
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
  const given = (address: string) => address.replaceAll('KEY', key);

  beforeAll(async () => {
    shops = await webShops(kind);
    const packagesDir = sharedFolder();
    xmlDir = sharedFolder();
    const settings: Settings = {
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
  }, 120_000);
  afterAll(async () => {
    await shops.close();
    await service.stop();
  }, 60_000);

  /** The web server with what the command writes. */
  async function start(): Promise<TestWebServer> {
    if (kind === NGINX) {
      const files = await shop.json<Record<string, string>>(['nginx', '--server-name', 'shop.example']);
      return shops.start({ upstream: hostOf(service), edit: (text, file) => files[file] ?? text });
    }
    const folder = sharedFolder();
    await shop.json(['apache', '--out', folder]);
    const edit = (text: string, file: string) =>
      file === 'licensing.conf' ? `${text}Include ${folder}/licensing-formerly.conf\n` : text;
    return shops.start({ upstream: hostOf(service), edit, xmlDir });
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
});
