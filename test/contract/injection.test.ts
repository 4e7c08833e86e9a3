import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import request from 'supertest';
import { table } from '../../src/store/engine/database';
import { addProduct } from '../../src/licensing/catalogue';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { sendRaw } from '../support/raw-http';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';

/** Tests that text with a meaning for a database, a log, a path, a header or a browser stays plain text in every field. */

const SQL = [
  "' OR '1'='1",
  "' OR SLEEP(30) -- ",
  "x'; DROP TABLE licensing_licenses; --",
  '" OR ""="',
  "\\' OR 1=1 -- ",
  "') UNION SELECT * FROM licensing_licenses -- ",
  "1' AND (SELECT 1 FROM (SELECT SLEEP(30)) x) -- ",
  '%',
  '_%',
  '?',
  ':name',
  '??',
  '${1}',
  "/*! SLEEP(30) */'",
];

describe.each(BACKENDS)('on %s', (_name, settings) => {
  let service: TestService;
  let key: string;
  let device: { id: number; key: string };

  beforeAll(async () => {
    service = await startTestService(await settings());
    ({ key } = await giveLicense(service.db, await givePlan(service.db)));
    device = await giveLicense(service.db, await givePlan(service.db, { type: 'device', limit: 0 }));
    await giveRelease(service, { version: '2.1.0' });
  });

  afterAll(() => service.stop());

  const post = (path: string, body: object) =>
    request(service.url).post(`${PREFIX}/licenses/${path}`).send(body);

  it.each(SQL)(
    'SQL as a key, in a path, in a query and in headers finds nothing and changes nothing: %s',
    async (text) => {
      const before = await rows(service.db, 'licenses');
      const started = performance.now();
      await post('validate', { license_key: text }).expect(403);
      await post('validate', { dlid: text, identifier: text }).expect(403);
      await post('activate', { license_key: text, identifier: text, name: text }).expect(403);
      await post('deactivate', { license_key: text, identifier: text }).expect(403);
      const spelt = encodeURIComponent(text);
      await request(service.url).get(`${PREFIX}/updates/${spelt}`).expect(400);
      await request(service.url).get(`${PREFIX}/downloads/${spelt}?dlid=${key}`).expect(400);
      await request(service.url).get(`${PREFIX}/downloads/42?dlid=${spelt}`).expect(403);
      await request(service.url).get(`${PREFIX}/downloads/42?license_key=${spelt}`).expect(403);
      await request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}&version=${spelt}`).expect(404);
      await request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}&identifier=${spelt}`).expect(403);
      await request(service.url)
        .get(`${PREFIX}/updates/42`)
        .set({ 'X-Forwarded-For': text, 'X-Request-Id': text, 'User-Agent': text })
        .expect(200);
      expect(performance.now() - started).toBeLessThan(25_000);
      expect(await rows(service.db, 'licenses')).toEqual(before);
    },
  );

  it('SQL in a field that is stored is stored as it was sent, and found by nothing else', async () => {
    for (const text of SQL) {
      const { text: answer } = await post('activate', {
        license_key: device.key,
        identifier: text,
        name: text,
      }).expect(200);
      expect(JSON.parse(answer)).toMatchObject({ data: { identifier: text.trim() } });
    }
    const stored = await rows<{ identifier: string; name: string }>(service.db, 'activations');
    expect(stored.map(({ identifier, name }) => [identifier, name])).toEqual(
      SQL.map((text) => [text.trim(), text.trim()]),
    );
    const { text } = await post('validate', { license_key: device.key, identifier: '%%' }).expect(200);
    expect(JSON.parse(text)).toMatchObject({ data: { identifier_activated: false } });
    await post('deactivate', { license_key: device.key, identifier: "' OR 1=1 #" }).expect(404);
    await post('deactivate', { license_key: device.key, identifier: '_%' }).expect(200);
    expect(await rows(service.db, 'activations')).toHaveLength(SQL.length - 1);
  });

  it('SQL in what the access log keeps is text there', async () => {
    const text = SQL[2]!;
    await request(service.url)
      .get(`${PREFIX}/downloads/42?dlid=${key}&identifier=${encodeURIComponent(text)}`)
      // Another client, because the one above has had too many refusals to be logged one by one.
      .set({ 'User-Agent': text, 'X-Forwarded-For': '198.51.100.77' })
      .expect(403);
    await eventually(async () =>
      expect(await rows(service.db, 'access_log')).toContainEqual(
        expect.objectContaining({ outcome: 'ACTIVATION_NOT_FOUND', identifier: text, user_agent: text }),
      ),
    );
  });
});

describe('in one service', () => {
  let service: TestService;
  let key: string;
  let planId: number;

  beforeAll(async () => {
    service = await startTestService();
    planId = await givePlan(service.db);
    ({ key } = await giveLicense(service.db, planId));
    await giveRelease(service, { version: '2.1.0', changelog: CHANGELOG });
  });

  afterAll(() => service.stop());

  it.each(['\r\nSet-Cookie: x=1', '\nX: 1', '\r', '\0', '\u2028', '\u0085'])(
    'a line break in a field reaches no header: %j',
    async (text) => {
      const spelt = encodeURIComponent(text);
      for (const path of [
        `downloads/42?dlid=${key}${spelt}`,
        `downloads/42?dlid=${key}&version=2.1.0${spelt}`,
        `downloads/42?dlid=${key}&identifier=a${spelt}`,
        `downloads/42${spelt}?dlid=${key}`,
        `updates/42${spelt}`,
        `nothing${spelt}`,
      ]) {
        const answer = await sendRaw(
          service.url,
          `GET ${PREFIX}/${path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a${spelt}\r\n\r\n`,
        );
        expect(answer?.names).not.toContain('set-cookie');
        expect(answer?.names).not.toContain('x');
        expect(answer?.status).toBeLessThan(500);
      }
      for (const [field, value] of Object.entries({
        license_key: `${key}${text}x`,
        identifier: `a${text}b`,
        name: `a${text}b`,
      })) {
        const { status, headers } = await request(service.url)
          .post(`${PREFIX}/licenses/activate`)
          .send({ license_key: key, identifier: 'example.com', [field]: value });
        expect(status).toBeLessThan(500);
        expect(headers).not.toHaveProperty('set-cookie');
      }
    },
  );

  it('a log entry is one line of JSON, whatever the path, agent and addresses contain', async () => {
    service.logLines.length = 0;
    const forged = '{"level":30,"msg":"forged"}';
    for (const text of [
      `%0a${encodeURIComponent(forged)}`,
      `%0d%0a${encodeURIComponent(forged)}`,
      '%1b%5b31m',
      '%00',
    ])
      await sendRaw(
        service.url,
        `GET ${PREFIX}/nothing${text}?dlid=${text} HTTP/1.1\r\nHost: ${text}\r\nUser-Agent: ${forged}\tx\r\n` +
          `X-Forwarded-For: ${text}\r\nX-Request-Id: ${forged}\r\n\r\n`,
      );
    expect(service.logLines).toHaveLength(4);
    for (const line of service.logLines) {
      expect(line).toMatch(/^\P{Cc}+\n$/u);
      expect(JSON.parse(line)).toMatchObject({ msg: 'refused', code: 'NOT_FOUND' });
      expect(line).not.toContain('forged');
    }
  });

  it.each([
    '..%2f..%2fetc%2fpasswd',
    '../../../../../../etc/passwd',
    '42/../../../../../etc/passwd',
    '%2e%2e/%2e%2e/package.json',
    '42%00.zip',
    '..%5c..%5cpackage.json',
    '/etc/passwd',
    'file:///etc/passwd',
  ])('a path out of the folder leads nowhere: downloads/%s', async (path) => {
    const answer = await sendRaw(
      service.url,
      `GET ${PREFIX}/downloads/${path}?dlid=${key} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    expect([400, 404]).toContain(answer?.status);
    expect(answer?.headers.get('content-type')).toMatch(/^(text\/plain|application\/json); charset=utf-8$/);
    expect(answer?.body.length).toBeLessThan(200);
  });

  it.each([
    'version=../../x',
    'version=..%2fx',
    'version=2.1.0%00',
    'version=/etc/passwd',
    'version=2.1.0/../2.1.0',
  ])('a version that is a path leads nowhere: %s', async (query) => {
    await request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}&${query}`).expect(404);
  });

  it('a release whose row was forged to lie elsewhere is missing', async () => {
    const { db, packagesDir } = service;
    const { release } = await giveRelease(service, { version: '3.0.0' });
    const [package_] = readdirSync(packagesDir).filter((name) => name.startsWith(release.sha256));
    copyFileSync(join(packagesDir, package_!), join(dirname(packagesDir), 'outside.zip'));
    for (const sha256 of ['../outside', `../${'x/../'.repeat(8)}outside`]) {
      await db(table(db, 'releases')).where({ version: '3.0.0' }).update({ sha256 });
      const { text } = await request(service.url)
        .get(`${PREFIX}/downloads/42?dlid=${key}&version=3.0.0`)
        .expect(404);
      expect(text).toBe('The package file is missing');
    }
    await db(table(db, 'releases')).where({ version: '3.0.0' }).delete();
  });

  it.each([
    '../evil.php',
    '/etc/cron.d/evil',
    'a/../../evil.php',
    '..\\evil.php',
    'C:\\evil.php',
    'C:/evil.php',
    '..',
  ])('a package with an entry named %s is refused, and nothing of it is kept', async (name) => {
    const file = join(temporaryFolder(), 'evil.zip');
    writeFileSync(file, zipOf(name));
    const before = readdirSync(service.packagesDir);
    await expect(giveRelease(service, { version: '9.9.9', file })).rejects.toThrow(/not a readable zip/);
    expect(readdirSync(service.packagesDir)).toEqual(before);
    expect(await service.db(table(service.db, 'releases')).where({ version: '9.9.9' })).toEqual([]);
  });

  it('the same zip with a harmless name is accepted', async () => {
    const file = join(temporaryFolder(), 'good.zip');
    writeFileSync(file, zipOf('good.php'));
    await giveRelease(service, { version: '1.0.0', file });
  });

  it.each([
    'Shop"; filename="evil.exe',
    'Shop\r\nSet-Cookie: x=1\r\n\r\n<script>alert(1)</script>',
    'Shop; x=1',
    '../../etc/passwd',
    '\u202egpj.exe',
    "Shop'); DROP TABLE products; --",
    '<img src=x onerror=alert(1)>',
  ])('a product named %j splits no answer and names no other file', async (name) => {
    const { db } = service;
    const product = await addProduct(db, { name }, new Date());
    const license = await giveLicense(db, await givePlan(db, { productId: product.id }));
    await giveRelease(service, { productId: product.id, version: '1.0.0' });
    const get = (path: string) =>
      sendRaw(service.url, `GET ${PREFIX}/${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);

    const download = await get(`downloads/${product.id}?dlid=${license.key}`);
    expect(download?.status).toBe(200);
    expect(download?.names).not.toContain('set-cookie');
    expect(download?.headers.get('content-disposition')).toMatch(
      /^attachment; filename="[a-z0-9-]+-1\.0\.0\.zip"$/,
    );
    const update = await get(`updates/${product.id}`);
    expect(update?.names).not.toContain('set-cookie');
    expect(JSON.parse(update!.body.toString())).toMatchObject({ data: { name } });
  });

  it('HTML in a changelog is text in JSON, which no browser shows as a page', async () => {
    const { text, headers } = await request(service.url).get(`${PREFIX}/updates/42`).expect(200);
    expect(JSON.parse(text)).toMatchObject({ data: { changelog: CHANGELOG } });
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
  });

  it.each([
    ['application/json', `{"__proto__":{"license_key":"KEY","identifier":"example.com","polluted":1}}`],
    ['application/json', `{"constructor":{"prototype":{"license_key":"KEY","polluted":1}}}`],
    ['application/x-www-form-urlencoded', '__proto__[license_key]=KEY&__proto__[polluted]=1'],
    [
      'application/x-www-form-urlencoded',
      'constructor[prototype][polluted]=1&constructor[prototype][license_key]=KEY',
    ],
  ])('a prototype sent as %s gives no field and changes no other object: %s', async (type, text) => {
    const { status } = await request(service.url)
      .post(`${PREFIX}/licenses/validate`)
      .set('Content-Type', type)
      .send(text.replace('KEY', key));
    expect(status).toBe(400);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(({} as Record<string, unknown>).license_key).toBeUndefined();
  });
});

const CHANGELOG = `<script>alert(1)</script>\n</data>]]><img src=x onerror="alert('1')">\n& "quoted" \u2028`;

/** Returns a zip of one empty, stored file. It is written by hand because libraries refuse such names. */
function zipOf(name: string): Buffer {
  const bytes = Buffer.from(name);
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(bytes.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, bytes]);
  const central = Buffer.concat([
    Buffer.from('PK\x01\x02', 'latin1'),
    Buffer.from([20, 0]),
    common,
    Buffer.alloc(14),
    bytes,
  ]);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(1, 4);
  end.writeUInt16LE(1, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, central, Buffer.from('PK\x05\x06', 'latin1'), end]);
}
