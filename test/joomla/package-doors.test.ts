import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { table } from '../../src/store/engine/database';
import { formOf, pagesClient, textOf } from '../pages/support/session';
import { startManaged, type Managed } from '../support/manage';
import { operator } from '../support/operator';
import { makePackage, zipOf } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { givePlan, rows } from '../support/service';

/** Tests the four ways in for a package: the first steps, the page of a new version, the API and the command. */

const OURS = 'https://shop.example/licensing-updates/pkg_acme.xml';
const ARS = 'https://www.shop.example/index.php?option=com_ars&view=update&task=stream&format=xml&id=';
const VENDOR = 'https://vendor.example/updates/pkg_acme.xml';
const DLID = '<dlid prefix="dlid="/>';
const manifest = (version: string, more: string) =>
  `<extension type="package"><name>Acme</name><packagename>acme</packagename><version>${version}</version>${more}</extension>`;
const linesFor = (...servers: string[]) =>
  `<updateservers>${servers.map((one) => `<server type="extension">${one.replaceAll('&', '&amp;')}</server>`).join('')}</updateservers>`;
const packed = async (version: string, more: string, entries: Record<string, string> = {}) =>
  (await makePackage({ ...entries, 'pkg.xml': manifest(version, more) })).bytes;

/** Changes bytes in each entry of the central directory. */
function inDirectory(bytes: Buffer, change: (copy: Buffer, at: number) => void): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf('PK\x01\x02'); at >= 0; at = copy.indexOf('PK\x01\x02', at + 4))
    change(copy, at);
  return copy;
}

async function start(settings: Record<string, string>) {
  const all = {
    LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/shop.sqlite`,
    LICENSING_XML_DIR: temporaryFolder(),
    LICENSING_PACKAGES_DIR: temporaryFolder(),
    ...settings,
  };
  return { all, service: await startManaged(all) };
}

const upload = ({ write }: Managed, bytes: Buffer, query = '') =>
  write.send(`POST /products/42/releases${query}`, {
    body: bytes,
    headers: { 'Content-Type': 'application/zip' },
  });
const codesOf = ({ body }: Awaited<ReturnType<typeof upload>>) =>
  (body.data.remarks as { code: string }[]).map(({ code }) => code);

async function byPage(
  service: Managed,
  page: string,
  bytes: Buffer,
  language: 'en' | 'de' = 'en',
  more = {},
) {
  const client = await pagesClient(service, { language });
  const shown = await client.get(page.startsWith('/start/') ? '/start' : page);
  const form = new FormData();
  for (const [name, value] of Object.entries<string>(more)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(bytes)], { type: 'application/zip' }), 'a.zip');
  const answer = await client.post(`${page}?once=${formOf(shown.html, page).once}`, form);
  const html = answer.location === undefined ? answer.html : (await client.get(answer.location)).html;
  return { status: answer.status, html, text: textOf(html) };
}

describe('a file that is not a package is refused with the reason, and nothing of it is kept', () => {
  let service: Managed;
  let folder: string;
  let good: Buffer;
  beforeAll(async () => {
    const started = await start({});
    ({ service } = started);
    folder = started.all.LICENSING_PACKAGES_DIR;
    good = await zipOf({ 'pkg.xml': manifest('1.0.0', linesFor(OURS) + DLID), 'a.txt': 'a'.repeat(500) });
  });
  afterAll(() => service.stop());

  it.each<[string, () => Buffer | Promise<Buffer>, RegExp, string, string]>([
    ['an empty file', () => Buffer.alloc(0), /is missing/, 'This file is empty.', 'Diese Datei ist leer.'],
    ['a text', () => Buffer.from('<!doctype html>'), /like a zip file/, 'is not a zip.', 'ist kein ZIP.'],
    ['a cut zip', () => good.subarray(0, -80), /its end is missing/, 'The end of this zip', 'fehlt das Ende'],
    [
      'a zip with a broken directory',
      () => inDirectory(good, (copy, at) => copy.write('XX', at)),
      /central directory/,
      'This zip is damaged',
      'Dieses ZIP ist beschädigt',
    ],
    [
      'an encrypted zip',
      () => inDirectory(good, (copy, at) => copy.writeUInt16LE(1, at + 8)),
      /encrypted/,
      'This zip is encrypted',
      'Dieses ZIP ist verschlüsselt',
    ],
    [
      'a zip with a damaged file',
      () => inDirectory(good, (copy, at) => copy.writeUInt32LE(1, at + 16)),
      /checksum/,
      'This zip is damaged',
      'Dieses ZIP ist beschädigt',
    ],
    [
      'a zip without a manifest',
      () => zipOf({ 'a.txt': 'a' }),
      /no Joomla manifest/,
      'no manifest of Joomla',
      'kein Manifest von Joomla',
    ],
    [
      'a manifest without a version',
      () => zipOf({ 'pkg.xml': manifest('', DLID) }),
      /says version ""|no version/,
      'no version that Joomla knows',
      'keine Version, die Joomla kennt',
    ],
    [
      'a manifest whose version has line breaks around it, which Joomla would offer forever',
      () => zipOf({ 'pkg.xml': manifest('\n1.0.0\n', DLID) }),
      /"1\.0\.0" with blanks or line breaks/,
      'Write <version>1.0.0</version>, without blanks.',
      'Schreiben Sie <version>1.0.0</version>, ohne Leerzeichen.',
    ],
  ])('%s', async (_, make, message, english, german) => {
    const bytes = await make();
    for (const [language, sentence] of [
      ['en', english],
      ['de', german],
    ] as const) {
      const shown = await byPage(service, '/start/package', bytes, language);
      expect([shown.status, shown.text]).toEqual([400, expect.stringContaining(sentence)]);
    }
    expect(await rows(service.db, 'products')).toEqual([]);
    await givePlan(service.db);
    await service.write.ok('PATCH /products/42', { element: 'pkg_acme' });
    const page = await byPage(service, '/products/42/releases/new', bytes, 'en', { version: '1.0.0' });
    expect([page.status, page.text]).toEqual([400, expect.stringContaining(english)]);
    for (const query of ['?version=1.0.0', '']) {
      const { status, body } = await upload(service, bytes, query);
      // Without a manifest, the first thing that is missing is the version.
      expect([status, body.error.message]).toEqual([
        400,
        expect.stringMatching(query === '' ? new RegExp(`${message.source}|give "version"`) : message),
      ]);
    }
    await service.db(table(service.db, 'plans')).delete();
    await service.db(table(service.db, 'products')).delete();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('a zip in the package that cannot be read is named when it is kept as a draft', async () => {
    const files = '<files><file type="component" id="com_acme">com_acme.zip</file></files>';
    const bytes = await packed('1.0.0', files + linesFor(OURS) + DLID, { 'com_acme.zip': 'PK broken' });
    const { status, text } = await byPage(service, '/start/package', bytes);
    expect([status, text]).toEqual([
      303,
      expect.stringContaining('are missing or cannot be used: com_acme.zip.'),
    ]);
  });
});

describe('a package that leads sites to another update server', () => {
  let service: Managed;
  let folder: string;
  let command: ReturnType<typeof operator>;
  beforeAll(async () => {
    const { all, service: started } = await start({
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_FORMERLY: 'ars=7:42 ars=8:43',
    });
    service = started;
    folder = all.LICENSING_PACKAGES_DIR;
    command = operator(all);
    await givePlan(service.db);
    await service.write.ok('PATCH /products/42', { element: 'pkg_acme' });
  });
  afterAll(() => service.stop());
  const forget = async () => void (await service.db(table(service.db, 'releases')).delete());

  it('is refused as the first version, with both addresses and a field that accepts it', async () => {
    const bytes = await packed('1.0.0', linesFor(VENDOR) + DLID);
    const { status, body } = await upload(service, bytes);
    expect([status, body.error]).toMatchObject([400, { field: 'file' }]);
    expect(body.error.message).toContain(VENDOR);
    expect(body.error.message).toContain(OURS);
    for (const language of ['en', 'de'] as const) {
      const page = await byPage(service, '/products/42/releases/new', bytes, language);
      expect(page.status).toBe(400);
      expect(page.text).toContain(VENDOR);
      expect(page.html).toContain('name="new_update_server"');
      expect(page.html).toContain(`&gt;${OURS}&lt;/server`);
    }
    expect((await upload(service, bytes, '?draft=1')).body.data.remarks).toMatchObject([
      { code: 'foreign-server', facts: [VENDOR, OURS] },
      { code: 'no-changelog-address' },
    ]);
    const path = join(temporaryFolder(), 'a.zip');
    writeFileSync(path, bytes);
    const publish = ['release', 'publish', '--product', '42', '--version', '1.0.0', '--file', path];
    const refused = await command.run(publish);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--new-update-server')]);
    expect((await command.run([...publish, '--new-update-server'])).code).toBe(0);
    // The next version keeps the foreign address, and a remark names it.
    const next = await upload(service, await packed('1.1.0', linesFor(VENDOR) + DLID));
    expect([next.status, codesOf(next)]).toEqual([201, ['foreign-server']]);
    // Once the earlier package is gone, nothing shows that it had this address.
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    const third = await packed('1.2.0', linesFor(VENDOR) + DLID);
    const unread = await upload(service, third);
    expect([unread.status, unread.body.error]).toMatchObject([400, { field: 'file' }]);
    expect(unread.body.error.message).toContain(VENDOR);
    await forget();
  });

  it.each<[string, string[], number]>([
    ['ours', [OURS], 201],
    ['ours, without TLS', [OURS.replace('https', 'http')], 201],
    ['ours and another', [VENDOR, OURS], 201],
    ['a former one of this product', [`${ARS}7`], 201],
    ['a former one of another product', [`${ARS}8`], 400],
    ['the same path elsewhere', [`${ARS}7`.replace('shop', 'vendor')], 400],
    ['no address', ['updates.xml'], 400],
  ])('is recognized by its address: %s', async (_, servers, status) => {
    expect(await upload(service, await packed('1.0.0', linesFor(...servers) + DLID))).toMatchObject({
      status,
    });
    await forget();
  });

  it('is refused until a version has led sites here, and one that leads them nowhere gets a remark', async () => {
    expect((await upload(service, await packed('1.0.0', DLID), '?unchecked=1')).status).toBe(201);
    const none = await upload(service, await packed('1.0.1', DLID));
    expect([none.status, codesOf(none)]).toEqual([201, ['without-lines']]);
    expect((await upload(service, await packed('1.1.0', linesFor(VENDOR) + DLID))).status).toBe(400);
    expect((await upload(service, await packed('1.1.0', linesFor(OURS) + DLID))).status).toBe(201);
    const without = await upload(service, await packed('1.2.0', linesFor(OURS)));
    expect([without.status, codesOf(without)]).toEqual([201, ['without-lines']]);
    await forget();
  });

  it('is not compared with an unreadable stored package, and a remark says so', async () => {
    const first = await upload(service, await packed('1.0.0', linesFor(OURS) + DLID));
    const file = join(folder, `${first.body.data.sha256}.zip`);
    writeFileSync(file, readFileSync(file).subarray(0, 40));
    const page = await byPage(
      service,
      '/products/42/releases/new',
      await packed('1.1.0', linesFor(OURS) + DLID),
    );
    expect([page.status, page.text]).toEqual([303, expect.stringContaining('1.0.0 is missing or damaged')]);
    await forget();
  });
});

it('a check that the missing address prevents is a remark on the page, in the answer and in the command', async () => {
  const { all, service } = await start({});
  try {
    await givePlan(service.db);
    await service.write.ok('PATCH /products/42', { element: 'pkg_acme' });
    const answer = await upload(service, await packed('1.0.0', ''));
    expect([answer.status, codesOf(answer)]).toEqual([201, ['without-lines', 'server-unchecked']]);
    const bytes = await packed('1.1.0', linesFor(VENDOR) + DLID);
    const page = await byPage(service, '/products/42/releases/new', bytes, 'de');
    expect([page.status, page.text]).toEqual([303, expect.stringContaining('Wir konnten nicht prüfen, ob')]);
    await service.db(table(service.db, 'releases')).delete();
    const path = join(temporaryFolder(), 'a.zip');
    writeFileSync(path, bytes);
    const publish = ['release', 'publish', '--product', '42', '--version', '1.1.0', '--file', path];
    const { code, stderr } = await operator(all).run(publish);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^note: it was not checked whether .*settings set public_url/),
    ]);
  } finally {
    await service.stop();
  }
});
