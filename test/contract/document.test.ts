import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { buildDocument } from '../../src/http/document/openapi';
import { version } from '../../src/app/version';
import { sendRaw } from '../support/raw-http';
import { PREFIX, startTestService, type TestService } from '../support/service';

/** Tests the OpenAPI document and its page. The answers of all tests are compared with the document. */

const ROOT = join(__dirname, '../..');

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const api = () => request(service.url);

interface Named {
  operationId: string;
}

test('docs/openapi.json is the document ("npm run openapi" writes it)', () => {
  const written: unknown = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8'));
  expect(written).toEqual(JSON.parse(JSON.stringify(buildDocument(version))));
});

test('each operation has a name of its own', () => {
  const { paths } = buildDocument(version) as { paths: Record<string, Record<string, Named>> };
  const names = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(
    expect.arrayContaining(['listLicenses', 'issueLicense', 'suspendLicense', 'getLicense', 'updatePlan']),
  );
  for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z]+$/);
});

test('the document is served to anyone, and revalidated by its ETag', async () => {
  const served = await api().get(`${PREFIX}/openapi.json`).expect(200);
  expect(served.body).toEqual(JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')));
  expect(served.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
  });
  const etag = served.headers.etag as string;
  await api().get(`${PREFIX}/openapi.json`).set('If-None-Match', etag).expect(304);
  await api().head(`${PREFIX}/openapi.json`).expect(200).expect('ETag', etag);
  await api().post(`${PREFIX}/openapi.json`).expect(405).expect('Allow', 'GET, HEAD');
});

test.each([
  ['br', (bytes: Buffer) => brotliDecompressSync(bytes)],
  [undefined, (bytes: Buffer) => bytes],
])('compressed as the client allows: %s', async (encoding, open) => {
  const accept = encoding === undefined ? '' : `Accept-Encoding: ${encoding}\r\n`;
  const answer = await sendRaw(
    service.url,
    `GET ${PREFIX}/docs/swagger-ui.css HTTP/1.1\r\nHost: x\r\n${accept}\r\n`,
  );
  expect(answer?.headers.get('content-encoding')).toBe(encoding);
  const css = readFileSync(join(ROOT, 'dist/docs-page/swagger-ui.css'));
  expect(open(answer!.body).equals(css)).toBe(true);
});

test.each(['/docs', '/docs/'])(
  '%s loads files of its own folder only, and runs nothing inline',
  async (path) => {
    const { text, headers } = await api().get(`${PREFIX}${path}`).expect(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = headers['content-security-policy'] as string;
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).not.toContain('unsafe');
    // Only the pages have fonts of their own (test/pages/security.test.ts).
    expect(policy).not.toContain('font-src');
    expect(policy).toContain("frame-ancestors 'none'");
    expect(text).not.toMatch(/<style|style=|<script>|\son\w+=/);
    const base = `http://x${PREFIX}${path}`;
    const addresses = [...text.matchAll(/(?:src|href|data-document|data-bundle)="([^"]+)"/g)]
      .map(([, address]) => address as string)
      .filter((address) => !address.startsWith('data:'));
    expect(addresses.length).toBeGreaterThan(4);
    for (const address of addresses) await api().get(new URL(address, base).pathname).expect(200);
  },
);

test('nothing else is in the folder of the page', async () => {
  for (const name of ['LICENSE.txt', '..%2f..%2fpackage.json', 'index.html'])
    await api().get(`${PREFIX}/docs/${name}`).expect(404);
});

/** The install script of a dependency may do anything, such as report home. */
test('no dependency runs a script when it is installed', () => {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8')) as unknown;
  const { packages } = read('package-lock.json') as {
    packages: Record<string, { hasInstallScript?: boolean; dev?: boolean }>;
  };
  const { allowScripts, scarfSettings } = read('package.json') as {
    allowScripts: Record<string, boolean>;
    scarfSettings: object;
  };
  const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(scripted.map(([path]) => path.replace(/^.*node_modules\//, '')).sort()).toEqual(
    Object.keys(allowScripts).sort(),
  );
  expect(Object.values(allowScripts)).not.toContain(true);
  expect(scarfSettings).toEqual({ enabled: false });
  // npm 10 ignores the list above.
  expect(readFileSync(join(ROOT, '.npmrc'), 'utf8').split('\n')).toContain('ignore-scripts=true');
  // A seller's installation has none of these packages.
  expect(scripted.filter(([, { dev }]) => dev !== true)).toEqual([]);
});
