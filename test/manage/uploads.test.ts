import { createHash } from 'node:crypto';
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runs } from '../support/extent';
import {
  expectNoSecrets,
  expectRefusal,
  giveToken,
  MANAGE,
  manageClient,
  startManaged,
  type Managed,
} from '../support/manage';
import { makePackage } from '../support/packages';
import { eventually, residentMemory, temporaryFolder } from '../support/processes';
import { ONE_BACKEND, createMariaDbDatabase, givePlan, rows } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** Tests uploads of packages over the operator's API (docs/operator-api.md). */

const SERVER = 'https://shop.example/licensing-updates/pkg_example.xml';

async function packageOf(version: string, server = SERVER): Promise<Buffer> {
  const manifest = `<?xml version="1.0"?><extension type="package"><packagename>example</packagename><name>Example</name><version>${version}</version><updateservers><server type="extension">${server}</server></updateservers><dlid prefix="dlid="/></extension>`;
  return (await makePackage({ 'pkg_example.xml': manifest })).bytes;
}

describe.each(ONE_BACKEND)('uploads, on %s', (_, settings) => {
  let service: Managed;
  let write: Managed['write'];
  beforeAll(async () => {
    service = await startManaged({
      ...(await settings()),
      LICENSING_UPLOAD_LIMIT: '1',
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_XML_DIR: temporaryFolder(),
    });
    ({ write } = service);
    await givePlan(service.db);
    await write.ok('PATCH /products/42', { element: 'pkg_example' });
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  const zip = (body: Buffer, query = '', product = 42) =>
    write.send(`POST /products/${product}/releases${query}`, {
      body,
      headers: { 'Content-Type': 'application/zip' },
    });
  const form = (parts: [name: string, value: string | Buffer][], query = '') => {
    const body = new FormData();
    for (const [name, value] of parts)
      if (typeof value === 'string') body.append(name, value);
      else body.append(name, new Blob([new Uint8Array(value)], { type: 'application/zip' }), 'package.zip');
    return write.send(`POST /products/42/releases${query}`, { body });
  };
  const files = () => readdirSync(service.packagesDir).sort();

  it('are no longer checked if their client leaves, and leave nothing', async () => {
    const archive = new ZipFile();
    const zeros = Buffer.alloc(60_000_000);
    for (let i = 0; i < 10; i++) archive.addBuffer(zeros, `${i}.bin`);
    archive.end();
    const body = await buffer(archive.outputStream);
    expect(body.length).toBeLessThan(1_000_000);
    const leaving = new AbortController();
    const upload = fetch(`${service.url}${MANAGE}/products/42/releases?version=6.6.6&draft=1`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${write.token}`, 'Content-Type': 'application/zip' },
      body: new Uint8Array(body),
      signal: leaving.signal,
    });
    const before = files();
    const arrived = () =>
      files().some(
        (name) => !before.includes(name) && statSync(join(service.packagesDir, name)).size === body.length,
      );
    await Promise.race([upload, eventually(() => expect(arrived()).toBe(true))]);
    leaving.abort();
    await expect(upload).rejects.toThrow();
    await eventually(() => expect(files()).toEqual(before));
    await eventually(() => expect(service.logLines.some((line) => line.includes('CLIENT_GONE'))).toBe(true));
    expect((await write.all('/products/42/releases')).map(({ version }) => version as string)).not.toContain(
      '6.6.6',
    );
  });

  const published = async () => (await rows(service.db, 'releases')).length;

  it('publishes a zip body with the version of its manifest', async () => {
    const bytes = await packageOf('1.0.0');
    const answer = await zip(bytes, '?changelog=First');
    expect([answer.status, answer.text]).toEqual([201, expect.stringContaining('"1.0.0"')]);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(answer.body.data).toMatchObject({
      version: '1.0.0',
      state: 'published',
      changelog: 'First',
      file_size: bytes.length,
      sha256,
      update_xml: { state: 'written', url: 'https://shop.example/licensing-updates/pkg_example.xml' },
    });
    expect(files().some((name) => name.startsWith(sha256))).toBe(true);
    expect((await write.ok('GET /products/42/update-xml')).xml).toContain('<version>1.0.0</version>');
    expectRefusal(await zip(await packageOf('1.0.0')), 'CONFLICT');
    const { id } = answer.body.data;
    expect(await write.ok(`PATCH /releases/${id}`, { changelog: 'Better' })).toMatchObject({
      changelog: 'Better',
    });
    expect(await write.ok(`GET /releases/${id}`)).toMatchObject({ changelog: 'Better', state: 'published' });
    expect(
      (await service.read.all('/products/42/releases', 1)).map(({ version }) => version as string),
    ).toEqual(['1.0.0']);
  });

  it('accepts a form with fields before and after the file', async () => {
    const bytes = await packageOf('1.1.0');
    const answer = await form([
      ['version', '1.1.0'],
      ['file', bytes],
      ['changelog', 'Second'],
      ['draft', '1'],
    ]);
    expect([answer.status, answer.text]).toEqual([201, expect.stringContaining('"draft"')]);
    expect(answer.body.data).toMatchObject({ version: '1.1.0', changelog: 'Second', published_at: null });
    const { id } = answer.body.data;
    expect(await write.ok(`POST /releases/${id}/publish`)).toMatchObject({
      state: 'published',
      published_at: '2026-11-24T12:00:00Z',
      update_xml: { state: 'written' },
    });
    await write.refused(`POST /releases/${id}/publish`, {}, 'CONFLICT');
    expect(await write.ok(`POST /releases/${id}/withdraw`)).toMatchObject({ state: 'withdrawn' });
    await write.refused(`POST /releases/${id}/withdraw`, {}, 'CONFLICT');
    await write.refused(`POST /releases/${id}/publish`, {}, 'CONFLICT');
  });

  it('reports what is wrong with the folder of the packages, and publishes nothing', async () => {
    const before = await published();
    const aside = `${service.packagesDir}.aside`;
    renameSync(service.packagesDir, aside);
    writeFileSync(service.packagesDir, '');
    try {
      const bytes = await packageOf('1.9.0');
      for (const answer of [await zip(bytes), await form([['file', bytes]])]) {
        expectRefusal(answer, 'SERVICE_UNAVAILABLE');
        expect(answer.headers.get('retry-after')).toBe('60');
        expect(answer.body.error.message).toBe(
          `The package was not stored, and nothing was published: ${service.packagesDir} is not a folder. Correct the path.`,
        );
      }
    } finally {
      rmSync(service.packagesDir);
      renameSync(aside, service.packagesDir);
    }
    expect(await published()).toBe(before);
  });

  it('refuses wrong fields, parts, types and packages, and leaves no file', async () => {
    const [before, there] = [await published(), files()];
    const bytes = await packageOf('2.0.0');
    for (const [answer, field] of [
      [await zip(bytes, '?version=2.0.1'), 'file'],
      [await zip(bytes, '?version=not%20one'), 'version'],
      [await zip((await makePackage()).bytes), 'version'],
      [await zip((await makePackage()).bytes, '?version=2.0.0'), 'file'],
      [await zip(Buffer.from('no zip')), 'file'],
      [await zip(await packageOf('2.0.0', 'https://elsewhere.example/x.xml')), 'file'],
      [await zip(bytes, '?typo=1'), 'typo'],
      [
        await form([
          ['typo', '1'],
          ['file', bytes],
        ]),
        'typo',
      ],
      [
        await form([
          ['file', bytes],
          ['typo', '1'],
        ]),
        'typo',
      ],
      [
        await form([
          ['file', bytes],
          ['file', bytes],
        ]),
        'file',
      ],
      [await form([['package', bytes]]), 'file'],
      [await form([['version', '2.0.0']]), 'file'],
      [
        await form([
          ['version', '2.0.0'],
          ['version', '2.0.0'],
          ['file', bytes],
        ]),
        'version',
      ],
      [
        await form(
          [
            ['version', '2.0.0'],
            ['file', bytes],
          ],
          '?version=2.0.0',
        ),
        'version',
      ],
      [
        await form([
          ['draft', 'yes'],
          ['file', bytes],
        ]),
        'draft',
      ],
      [await write.send('POST /products/42/releases'), 'file'],
      [
        await write.send('POST /products/42/releases', {
          body: new Uint8Array(),
          headers: { 'Content-Type': 'application/zip' },
        }),
        'file',
      ],
    ] as const)
      expectRefusal(answer, 'INVALID_REQUEST', field, answer.text);
    expectRefusal(
      await write.send('POST /products/42/releases', { body: { file: 'x' } }),
      'UNSUPPORTED_MEDIA_TYPE',
    );
    expectRefusal(
      await write.send('POST /products/42/releases', {
        body: 'x',
        headers: { 'Content-Type': 'text/plain' },
      }),
      'UNSUPPORTED_MEDIA_TYPE',
    );
    expectRefusal(await zip(bytes, '', 999), 'NOT_FOUND');
    expect([await published(), files()]).toEqual([before, there]);
    const other = await packageOf('2.0.0', 'https://elsewhere.example/x.xml');
    expect((await zip(other, '?new_update_server=1')).status).toBe(201);
  });

  it('leaves no file of an upload that is too large or cut off', async () => {
    const [before, there] = [await published(), files()];
    const { bytes } = await makePackage({}, 1_200_000);
    expectRefusal(await zip(bytes, '?version=3.0.0'), 'PAYLOAD_TOO_LARGE');
    expectRefusal(
      await form([
        ['version', '3.0.0'],
        ['file', bytes],
      ]),
      'PAYLOAD_TOO_LARGE',
    );
    await write.ok('GET /me');
    const boundary = 'cut';
    for (const [type, start] of [
      ['application/zip', ''],
      [
        `multipart/form-data; boundary=${boundary}`,
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n`,
      ],
    ] as const)
      await new Promise<void>((resolve) => {
        const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => {
          const head = `POST ${MANAGE}/products/42/releases?version=3.0.0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${write.token}\r\nContent-Type: ${type}\r\nContent-Length: 900000\r\n\r\n`;
          socket.write(head + start);
          socket.write(bytes.subarray(0, 300_000), () => setTimeout(() => socket.destroy(), 50));
        });
        socket.on('close', () => resolve());
        socket.on('error', () => undefined);
      });
    await eventually(async () => {
      expect([await published(), files()]).toEqual([before, there]);
    });
  });
});

const MEGABYTES = runs(64, 256);

it(`accepts a package of ${MEGABYTES} MB in little memory`, async () => {
  const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
  const db = await openMigrated(settings);
  const service = await startServiceProcess(settings);
  try {
    await givePlan(db);
    const { token } = await giveToken(db, 'write', 'admin', { now: new Date() });
    const client = manageClient(service.url, token);
    const upload = (body: Buffer, version: string) =>
      client.send(`POST /products/42/releases?version=${version}`, {
        body,
        headers: { 'Content-Type': 'application/zip' },
      });
    // A first upload allocates memory that later ones reuse, which must not be measured.
    expect((await upload((await makePackage({}, 8_000_000)).bytes, '1.0.0')).status).toBe(201);
    const { bytes } = await makePackage({}, MEGABYTES * 1_000_000);
    const pid = service.process.pid as number;
    const before = residentMemory(pid);
    let most = before;
    const timer = setInterval(() => (most = Math.max(most, residentMemory(pid))), 20);
    const answer = await upload(bytes, '2.0.0');
    clearInterval(timer);
    expect([answer.status, answer.body.data.file_size]).toEqual([201, bytes.length]);
    // A package held in memory as a whole would add its own size.
    expect(most - before).toBeLessThan(0.8 * MEGABYTES);
  } finally {
    await service.stop();
    await db.destroy();
  }
});
