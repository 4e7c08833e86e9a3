import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { table } from '../../src/store/engine/database';
import { operator, type Operator } from '../support/operator';
import { startManaged, type Managed, type ManageAnswer } from '../support/manage';
import { makePackage, zipOf } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { givePlan, newPlace, ONE_KIND, PREFIX, rows } from '../support/service';
import { pagesClient, textOf } from '../pages/support/session';

/** The SBOMs of versions: given by the API, the command and a page, or generated from the lock files in a package. */

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const cycloneDx = (specVersion = '1.5') => ({
  bomFormat: 'CycloneDX',
  specVersion,
  version: 1,
  components: [],
});
const spdx = (spdxVersion = 'SPDX-2.3') => ({ spdxVersion, SPDXID: 'SPDXRef-DOCUMENT', name: 'Größe' });

/** Lock files as Composer and npm write them, in the package and in its inner zips. */
const composerLock = {
  'content-hash': 'x',
  packages: [
    { name: 'psr/log', version: '3.0.0', license: ['MIT'] },
    { name: 'dompdf/dompdf', version: 'v2.0.4', license: ['LGPL-2.1-only', 'Own licence'] },
  ],
  'packages-dev': [{ name: 'phpunit/phpunit', version: '10.5.0' }],
};
const installed = {
  packages: [{ name: 'guzzlehttp/guzzle', version: '7.8.1', license: ['MIT'] }],
  dev: false,
};
const packageLock = {
  lockfileVersion: 3,
  packages: {
    '': { name: 'editor', version: '1.0.0' },
    'node_modules/@codemirror/state': { version: '6.4.0', license: 'MIT' },
    'node_modules/eslint': { version: '8.57.0', dev: true },
    'node_modules/a/node_modules/b': { version: '1.0.0+x', license: '(MIT OR Apache-2.0)' },
  },
};
const oldLock = {
  lockfileVersion: 1,
  dependencies: { left: { version: '1.3.0', dependencies: { pad: { version: '2.0.0' } } } },
};

async function lockedPackage(): Promise<Buffer> {
  const text = JSON.stringify;
  const { bytes } = await makePackage({
    'composer.lock': text(composerLock),
    // Composer wrote both, and the lock file decides.
    'vendor/composer/installed.json': text({ packages: [{ name: 'left/out', version: '1.0.0' }] }),
    // A dependency's own lock file is not the package's.
    'vendor/acme/lib/composer.lock': text({ packages: [{ name: 'not/shipped', version: '1.0.0' }] }),
    'com_example.zip': await zipOf({
      'admin/vendor/composer/installed.json': text(installed),
      'media/package-lock.json': text(packageLock),
      'old/package-lock.json': text(oldLock),
    }),
    'plg_broken.zip': 'this is not a zip',
  });
  return bytes;
}

describe.each(ONE_KIND)('SBOMs, on %s', (kind) => {
  let service: Managed;
  let seller: Operator;
  let write: Managed['write'];
  beforeAll(async () => {
    const settings = { ...(await newPlace(kind)), LICENSING_UPLOAD_LIMIT: '20' };
    service = await startManaged(settings);
    seller = operator(settings);
    ({ write } = service);
    await givePlan(service.db);
  });
  afterAll(() => service.stop());

  const upload = (version: string, sbom?: Buffer, zip?: Buffer, draft = '0'): Promise<ManageAnswer> =>
    sendForm({ version, draft }, sbom, zip);
  async function sendForm(fields: Record<string, string>, sbom?: Buffer, zip?: Buffer) {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    const part = (name: string, bytes: Buffer, file: string) =>
      body.append(name, new Blob([new Uint8Array(bytes)]), file);
    part('file', zip ?? (await makePackage()).bytes, 'package.zip');
    if (sbom !== undefined) part('sbom', sbom, 'sbom.json');
    return write.send('POST /products/42/releases', { body });
  }
  const put = (id: unknown, body: Buffer, type = 'application/json') =>
    write.send(`PUT /releases/${String(id)}/sbom`, { body, headers: { 'Content-Type': type } });
  async function stored(id: unknown): Promise<unknown> {
    const answer = await write.send(`GET /releases/${String(id)}/sbom`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    return answer.body;
  }
  const count = async () => [
    (await rows(service.db, 'releases')).length,
    (await rows(service.db, 'release_sboms')).length,
  ];

  it('come with the package, are replaced, and are returned with equal content', async () => {
    const { status, body } = await upload('1.0.0', json(cycloneDx()));
    expect(status).toBe(201);
    const { id } = body.data;
    expect(await stored(id)).toEqual(cycloneDx());
    const file = await write.send(`GET /releases/${id}/sbom`);
    expect(file.headers.get('content-disposition')).toBe(
      'attachment; filename="example-shop-1.0.0.cdx.json"',
    );
    const answer = await put(id, json(spdx()));
    expect([answer.status, answer.body.data]).toEqual([
      200,
      { format: 'SPDX-2.3', origin: 'given', created_at: '2026-11-24T12:00:00Z' },
    ]);
    expect(await stored(id)).toEqual(spdx());
    expect((await put(id, json(cycloneDx('1.6')), 'application/vnd.cyclonedx+json')).status).toBe(200);
    // Readers may look, and nobody without a token.
    expect((await service.read.send(`GET /releases/${id}/sbom`)).status).toBe(200);
    expect((await service.as('').send(`GET /releases/${id}/sbom`)).status).toBe(401);
    expect((await service.read.send(`PUT /releases/${id}/sbom`, { body: json(spdx()) })).status).toBe(403);
    expect((await put(99, json(spdx()))).status).toBe(404);
  });

  it.each<[string, Buffer, RegExp]>([
    ['an empty file', Buffer.alloc(0), /empty/],
    ['a text', Buffer.from('SPDXVersion: SPDX-2.3'), /not JSON/],
    [
      'another encoding',
      Buffer.from('{"bomFormat":"CycloneDX","specVersion":"1.6","a":"ü"}', 'latin1'),
      /not JSON in UTF-8/,
    ],
    ['a list', json([cycloneDx()]), /neither/],
    ['another JSON', json({ name: 'x' }), /neither/],
    ['no specVersion', json({ bomFormat: 'CycloneDX' }), /neither/],
    ['CycloneDX 1.3', json(cycloneDx('1.3')), /CycloneDX 1\.3/],
    ['CycloneDX 2.0', json(cycloneDx('2.0')), /CycloneDX 2\.0/],
    ['SPDX 2.2', json(spdx('SPDX-2.2')), /SPDX-2\.2/],
    ['more than 5 MiB', json({ ...cycloneDx(), name: 'x'.repeat(5 * 1024 * 1024) }), /5 MiB/],
  ])('are refused with the reason, and nothing is published: %s', async (_, sbom, reason) => {
    const before = await count();
    const answer = await upload('1.9.0', sbom);
    expect([answer.status, answer.body.error.code, answer.body.error.field]).toEqual([
      400,
      'INVALID_REQUEST',
      'sbom',
    ]);
    expect(answer.body.error.message).toMatch(reason);
    const file = join(temporaryFolder(), 'sbom.json');
    writeFileSync(file, sbom);
    const zip = (await makePackage()).path;
    const line = [
      'release',
      'publish',
      '--product',
      '42',
      '--version',
      '1.9.0',
      '--file',
      zip,
      '--sbom',
      file,
    ];
    const { code, stderr } = await seller.run(line);
    expect([code, stderr]).toEqual([1, expect.stringMatching(reason)]);
    expect(await count()).toEqual(before);
    const [{ id }] = (await write.all('/products/42/releases')) as [{ id: number }];
    expect([400, 413]).toContain((await put(id, sbom)).status);
    expect(await stored(id)).toEqual(cycloneDx('1.6'));
  });

  it('are generated from the lock files in the package and its inner zips', async () => {
    const { status, body } = await upload('2.0.0', undefined, await lockedPackage());
    expect([status, body.data.remarks]).toEqual([201, []]);
    const bom = (await stored(body.data.id)) as {
      metadata: { component: object; properties: { name: string; value: string }[] };
      components: { purl: string; licenses?: object[]; group?: string; name: string }[];
    };
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' });
    expect(bom.metadata.component).toMatchObject({ name: 'Example Shop', version: '2.0.0' });
    expect(bom.metadata.properties).toContainEqual({ name: 'licensing-gateway:generated', value: 'true' });
    expect(bom.components.map(({ purl }) => purl).sort()).toEqual([
      'pkg:composer/dompdf/dompdf@v2.0.4',
      'pkg:composer/guzzlehttp/guzzle@7.8.1',
      'pkg:composer/psr/log@3.0.0',
      'pkg:npm/%40codemirror/state@6.4.0',
      'pkg:npm/b@1.0.0%2Bx',
      'pkg:npm/left@1.3.0',
      'pkg:npm/pad@2.0.0',
    ]);
    const named = (name: string) => bom.components.find((one) => one.name === name);
    expect(named('state')?.group).toBe('@codemirror');
    expect(named('b')?.licenses).toEqual([{ expression: '(MIT OR Apache-2.0)' }]);
    expect(named('dompdf')?.licenses).toEqual(
      expect.arrayContaining([
        { license: expect.objectContaining({ id: 'LGPL-2.1-only' }) },
        { license: expect.objectContaining({ name: 'Own licence' }) },
      ]),
    );
    expect(await rows(service.db, 'release_sboms')).toContainEqual(
      expect.objectContaining({
        release_id: body.data.id as number,
        format: 'CycloneDX 1.6',
        origin: 'generated',
      }),
    );
    // It can be read again as an SBOM.
    expect((await put(body.data.id, json(bom))).status).toBe(200);
  });

  it('are not generated from a broken lock file, and publishing goes on', async () => {
    const broken = await makePackage({
      'composer.lock': '{"packages": [',
      'package-lock.json': JSON.stringify(packageLock),
    });
    const { status, body } = await upload('2.1.0', undefined, broken.bytes);
    expect([status, body.data.remarks]).toEqual([
      201,
      [expect.objectContaining({ code: 'lock-unread', facts: ['composer.lock'] })],
    ]);
    expect(JSON.stringify(await stored(body.data.id))).toContain('pkg:npm/%40codemirror/state@6.4.0');
    const none = await upload('2.2.0');
    expect([none.status, (await write.send(`GET /releases/${none.body.data.id}/sbom`)).status]).toEqual([
      201, 404,
    ]);
    const only = await makePackage({ 'vendor/composer/installed.json': '7' });
    expect((await upload('2.3.0', undefined, only.bytes)).body.data.remarks).toHaveLength(1);
  });

  it('are generated from what can be read, if lock files in inner zips are broken', async () => {
    const damaged = await zipOf({ 'composer.lock': JSON.stringify(composerLock) });
    // A byte in the middle of the packed file.
    damaged.writeUInt8(damaged.readUInt8(60) ^ 0xff, 60);
    const { bytes, path } = await makePackage({
      'com_example.zip': await zipOf({
        'admin/composer.lock': '7',
        'site/composer.lock': JSON.stringify({ packages: [{ name: 'psr/log' }] }),
        'vendor/composer/installed.json': JSON.stringify(installed.packages),
      }),
      'plg_damaged.zip': damaged,
      'plg_deep.zip': await zipOf({
        'package-lock.json': `{"dependencies":${'{"a":{"dependencies":'.repeat(3)}`,
      }),
      'plg_form.zip': await zipOf({ 'package-lock.json': '{"packages":{"node_modules/x":{"version":7}}}' }),
    });
    const broken = [
      'com_example.zip: admin/composer.lock',
      'com_example.zip: site/composer.lock',
      'plg_damaged.zip: composer.lock',
      'plg_deep.zip: package-lock.json',
      'plg_form.zip: package-lock.json',
    ];
    const { status, body } = await upload('2.4.0', undefined, bytes);
    const [remark] = body.data.remarks as [{ code: string; facts: string[] }];
    expect([status, remark.code, [...remark.facts].sort()]).toEqual([201, 'lock-unread', broken]);
    // A list is what Composer 1 wrote.
    expect(JSON.stringify(await stored(body.data.id))).toContain('pkg:composer/guzzlehttp/guzzle@7.8.1');
    const line = ['release', 'publish', '--product', '42', '--version', '2.5.0', '--file', path];
    const { code, stderr } = await seller.run(line);
    expect(code).toBe(0);
    for (const one of broken) expect(stderr).toContain(one);
    expect((await seller.run(['release', 'sbom', '--product', '42', '--version', '2.5.0'])).stdout).toContain(
      'guzzle',
    );
  });

  it('follow the package of a draft', async () => {
    const origins = async () =>
      (await rows(service.db, 'release_sboms')).map(({ origin }) => origin).slice(-1);
    const zip = await lockedPackage();
    const { id } = (await upload('3.0.0', undefined, zip, '1')).body.data;
    expect(await origins()).toEqual(['generated']);
    await put(id, json(cycloneDx()));
    // The same package again: the seller's own SBOM still fits.
    await upload('3.0.0', undefined, zip, '1');
    expect(await stored(id)).toEqual(cycloneDx());
    await upload('3.0.0', undefined, undefined, '1');
    expect((await write.send(`GET /releases/${id}/sbom`)).status).toBe(404);
    await put(id, json(spdx()));
    await write.ok(`POST /releases/${id}/publish`);
    expect(await stored(id)).toEqual(spdx());
    // A draft that is published with another package loses the SBOM of the earlier one.
    const draft = (await upload('3.1.0', undefined, zip, '1')).body.data;
    expect(await stored(draft.id)).toMatchObject({ bomFormat: 'CycloneDX' });
    expect((await upload('3.1.0')).body.data.state).toBe('published');
    expect((await write.send(`GET /releases/${draft.id}/sbom`)).status).toBe(404);
  });

  it('are printed, written and stored by the command', async () => {
    const folder = temporaryFolder();
    const [given, out] = [join(folder, 'given.json'), join(folder, 'out.json')];
    writeFileSync(given, JSON.stringify(spdx()));
    const zip = (await makePackage()).path;
    const of = ['--product', '42', '--version', '4.0.0'];
    await seller.json(['release', 'publish', ...of, '--file', zip, '--sbom', given]);
    const printed = await seller.run(['release', 'sbom', ...of]);
    expect([printed.code, printed.stdout]).toEqual([0, JSON.stringify(spdx())]);
    expect(await seller.json(['release', 'sbom', ...of, '--out', out])).toEqual({ file: out });
    expect(readFileSync(out, 'utf8')).toBe(JSON.stringify(spdx()));
    writeFileSync(given, JSON.stringify(cycloneDx()));
    expect(await seller.json(['release', 'sbom', ...of, '--file', given])).toEqual({
      format: 'CycloneDX 1.5',
      origin: 'given',
    });
    await seller.json(['release', 'sbom', ...of, '--out', out]);
    expect(readFileSync(out, 'utf8')).toBe(JSON.stringify(cycloneDx()));
    const none = await seller.run(['release', 'sbom', '--product', '42', '--version', '2.2.0']);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('--file')]);
    writeFileSync(out, 'something else');
    expect((await seller.run(['release', 'sbom', ...of, '--out', out])).code).toBe(1);
    const missing = await seller.run(['release', 'sbom', ...of, '--file', join(folder, 'no.json')]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('cannot be read')]);
  });

  it('are shown, uploaded and downloaded on the page of a version', async () => {
    const pages = await pagesClient(service);
    const form = (fields: Record<string, string>, files: Record<string, [Buffer, string]>) => {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.append(name, value);
      for (const [name, [bytes, file]] of Object.entries(files))
        body.append(name, new Blob([new Uint8Array(bytes)]), file);
      return body;
    };
    const zip: [Buffer, string] = [(await makePackage()).bytes, 'package.zip'];
    await pages.get('/products/42/releases/new');
    const chosen = form({ version: '5.0.0', draft: '0', rollout: '100' }, { file: zip });
    const sent = new Response(chosen);
    const type = sent.headers.get('content-type') as string;
    const [, boundary = ''] = type.split('boundary=');
    // A browser sends a field without a file as an empty part with an empty name.
    const noFile = `--${boundary}\r\nContent-Disposition: form-data; name="sbom"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n`;
    const published = await fetch(`${service.url}${PREFIX}/pages/products/42/releases/new`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        ...{ Origin: service.url, 'Content-Type': type },
        Cookie: [...pages.cookies].map((pair) => pair.join('=')).join('; '),
      },
      body: Buffer.concat([Buffer.from(noFile), Buffer.from(await sent.arrayBuffer())]),
    });
    expect(published.status).toBe(303);
    const [{ id, version }] = (await write.all('/products/42/releases')) as [{ id: number; version: string }];
    expect(version).toBe('5.0.0');
    const edit = await pages.get(`/releases/${id}/edit`);
    expect(textOf(edit.html)).toContain('This version has no SBOM. No SBOM could be generated');
    expect(edit.html).toContain(`/releases/${id}/sbom"`);
    expect((await pages.get(`/releases/${id}/sbom.json`)).status).toBe(404);
    const refused = await pages.post(
      `/releases/${id}/sbom`,
      form({}, { file: [json(cycloneDx('1.3')), 'a.json'] }),
    );
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining('The SBOM is CycloneDX 1.3.'),
    ]);
    const large = await pages.post(
      `/releases/${id}/sbom`,
      form({}, { file: [Buffer.alloc(6_000_000), 'a.json'] }),
    );
    expect([large.status, textOf(large.html)]).toEqual([413, expect.stringContaining('larger than 5 MiB')]);
    const after = await pages.send(`/releases/${id}/sbom`, form({}, { file: [json(spdx()), 'a.json'] }));
    expect(textOf(after.html)).toContain('SBOM: SPDX-2.3, uploaded');
    const file = await pages.get(`/releases/${id}/sbom.json`);
    expect([file.html, file.headers.get('content-disposition')]).toEqual([
      JSON.stringify(spdx()),
      expect.stringContaining('example-shop-5.0.0.spdx.json'),
    ]);
    const bad = await pages.post(
      '/products/42/releases/new',
      form(
        { version: '5.1.0', draft: '0', rollout: '100' },
        { file: zip, sbom: [Buffer.from('x'), 'a.json'] },
      ),
    );
    expect([bad.status, textOf(bad.html)]).toEqual([
      400,
      expect.stringContaining('The SBOM is not JSON in UTF-8.'),
    ]);
    const german = await pagesClient(service, { language: 'de' });
    expect(textOf((await german.get(`/releases/${id}/sbom`)).html)).toContain('SBOM: SPDX-2.3, hochgeladen');
  });

  it('are not generated with more in memory than a package may have', async () => {
    // Zeros of 30 MB pack to 30 KB.
    const zeros = Buffer.alloc(30_000_000);
    const bomb = await makePackage({
      'composer.lock': zeros,
      'a.zip': await zipOf({ 'composer.lock': zeros }),
    });
    const { status, body } = await upload('6.0.0', undefined, bomb.bytes);
    expect([status, body.data.remarks]).toEqual([
      201,
      [expect.objectContaining({ facts: ['composer.lock', 'a.zip: composer.lock'] })],
    ]);
  });

  it('keep a version that has one from being deleted by SQL', async () => {
    const [{ release_id: id }] = (await rows(service.db, 'release_sboms')) as [{ release_id: number }];
    await expect(service.db(table(service.db, 'releases')).where({ id }).delete()).rejects.toThrow();
  });
});
