import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SHOWN_KEY } from '../../src/joomla/updater/download-key';
import type { SiteSystem } from '../../src/joomla/updater/offer';
import { tryUpdate, type UpdateVerdict } from '../../src/joomla/updater/try';
import { makePackage } from '../support/packages';
import { PREFIX } from '../support/service';

/** The recorded behaviour of a real Joomla 5.3.0. The file's own note describes it. */
const recorded = JSON.parse(readFileSync(join(__dirname, 'joomla-outcomes.json'), 'utf8')) as {
  answers: Row[];
  keys: (Row & { typed: string })[];
};

interface Row {
  id: string;
  offered?: boolean;
  requests: string[];
  installed: boolean;
  messages: string[];
}

const DOWNLOAD = `${PREFIX}/downloads/42`;
const KEY = 'DEMO-KEY-1234-ABCD';
const MANIFEST = `<?xml version="1.0" encoding="UTF-8"?>
<extension type="package" method="upgrade">
  <name>Example</name><packagename>example</packagename><version>2.0.0</version>
  <updateservers><server type="extension" name="Example">UPDATE_XML</server></updateservers>
  <dlid prefix="dlid=" suffix=""/>
</extension>`;
const SITE: SiteSystem = {
  joomla: '5.3.0',
  php: '8.2.29',
  database: undefined,
  minimumStability: 'stable',
  installed: { version: '1.0.0', element: undefined, type: undefined, client: undefined, folder: undefined },
};

let server: Server;
let origin: string;
let zip: Buffer;
let slow: Promise<UpdateVerdict>;
/** The requests of each row. Each has a path of its own, because rows may run at the same time. */
const requests = new Map<string, string[]>();

beforeAll(async () => {
  zip = (await makePackage({ 'pkg_example.xml': MANIFEST }, 4_000)).bytes;
  server = createServer((request, response) => {
    const [, row = '', path = ''] = /^\/row\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? [];
    const id = decodeURIComponent(row);
    if (path === '/update.xml') return void response.end(updateXml(id));
    requests.get(id)?.push(`${request.method ?? ''} ${path}`);
    answer(id, path, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  slow = walk('slow-15');
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function walk(id: string, key = KEY): Promise<UpdateVerdict> {
  requests.set(id, []);
  return tryUpdate(`${origin}/row/${encodeURIComponent(id)}/update.xml`, key, SITE);
}

/** Returns the XML of a row, as `given` in the record describes it. */
function updateXml(id: string): string {
  const hash = (name: string) => createHash(name).update(zip).digest('hex');
  const path = {
    'url-query': '/42?format=zip',
    'url-qmark': '/42?',
    'url-amp': '/42&amp;v=2',
    'url-slash': '/42/',
    'url-zip-nocd': '/42/x-2.0.0.zip',
    'url-q-zip-nocd': '/42?f=x.zip',
    'url-hash': '/42#x.zip',
    'url-space': '/42/my file',
  }[id];
  const address = `${origin}/row/${encodeURIComponent(id)}${PREFIX}/downloads${path ?? '/42'}`;
  const wrong = (name: string) => hash(name).replace(/^./, (first) => (first === '0' ? '1' : '0'));
  const hashes = {
    badsha: `<sha512>${wrong('sha512')}</sha512>`,
    nosha: '',
    'sha-upper': `<sha256>${hash('sha256').toUpperCase()}</sha256>`,
    'sha-ws': `<sha256> ${hash('sha256')} </sha256>`,
    'sha-empty': '<sha256></sha256>',
    'sha256-bad': `<sha256>${wrong('sha256')}</sha256><sha512>${hash('sha512')}</sha512>`,
  }[id];
  return `<?xml version="1.0" encoding="UTF-8"?>
<updates><update>
  <name>Example</name><element>pkg_example</element><type>package</type><version>2.0.0</version>
  <client>${id === 'client-admin' ? 'administrator' : 'site'}</client>
  <downloads><downloadurl type="full" format="zip">${id === 'url-ws' ? `\n  ${address}\n ` : address}</downloadurl></downloads>
  ${hashes ?? `<sha512>${hash('sha512')}</sha512>`}
  <targetplatform name="joomla" version="5\\.[0-9]+"/>
</update></updates>`;
}

const DISPOSITIONS: Record<string, string | undefined> = {
  'cd-none': undefined,
  'cd-unquoted': 'attachment; filename=x-2.0.0.zip',
  'cd-spaces': 'attachment; filename="My Ext 2.0.0.zip"',
  'cd-both': 'attachment; filename="x.zip"; filename*=UTF-8\'\'x.zip',
  'cd-star-first': 'attachment; filename*=UTF-8\'\'x.zip; filename="x.zip"',
  'cd-star-only': "attachment; filename*=UTF-8''x.zip",
  'cd-semicolon': 'attachment; filename="a;b.zip"',
  'cd-noext': 'attachment; filename="x-2.0.0"',
  'cd-upper-ext': 'attachment; filename="X-2.0.0.ZIP"',
  'cd-traversal': 'attachment; filename="../../evil.zip"',
  'cd-utf8raw': Buffer.from('attachment; filename="erwé-2.0.0.zip"').toString('latin1'),
  'cd-inline': 'inline; filename="x-2.0.0.zip"',
  'cd-FILENAME': 'attachment; FileName="x-2.0.0.zip"',
  'cd-trailing-sp': 'attachment; filename="x-2.0.0.zip"; size=9',
  'url-zip-nocd': undefined,
  'url-q-zip-nocd': undefined,
  '200-text': undefined,
};

function answer(id: string, path: string, response: ServerResponse): void {
  const disposition = id in DISPOSITIONS ? DISPOSITIONS[id] : 'attachment; filename="x-2.0.0.zip"';
  response.setHeader('Content-Type', id === 'ctype-html' ? 'text/html' : 'application/zip');
  if (disposition !== undefined) response.setHeader('Content-Disposition', disposition);

  const redirect = /^(30[12378])-(abs-q|abs|rel|loop)$/.exec(id);
  if (redirect && (redirect[2] === 'loop' || !path.includes('/final'))) {
    const base = `/row/${id}${DOWNLOAD}`;
    const location = {
      abs: `${origin}${base}/final`,
      'abs-q': `${origin}${base}/final?token=T`,
      rel: `${base}/final`,
      loop: `${origin}${base}`,
    }[redirect[2] as string];
    return void response.writeHead(Number(redirect[1]), { Location: location }).end();
  }
  const status = /^([245]\d\d)(-json)?$/.exec(id)?.[1];
  if (status === '206') return void response.writeHead(206).end(zip);
  if (status !== undefined)
    return void response.writeHead(Number(status)).end(status === '204' ? undefined : 'License has expired');
  switch (id) {
    case '200-text':
    case '200-text-cd':
      return void response.setHeader('Content-Type', 'text/plain').end('License has expired');
    case '200-empty-cd':
      return void response.end();
    case 'reset-cl':
      response.setHeader('Content-Length', zip.length);
      return void response.write(zip.subarray(0, zip.length - 1_828), () => response.socket?.end());
    case 'reset-chunk':
      return void response.write(zip.subarray(0, 1_000), () => response.socket?.end());
    case 'reset-0':
      // The recording server was behind a proxy, which turns a reset connection into a 502.
      return void response.writeHead(502).end();
    case 'slow-15':
      return void setTimeout(() => response.end(zip), 15_000);
    case 'chunked':
      response.write(zip.subarray(0, 10));
      return void response.end(zip.subarray(10));
    default:
      return void response.setHeader('Content-Length', zip.length).end(zip);
  }
}

/** Returns the recorded messages with this server's address and with the placeholder for the key. */
function expected(messages: string[], id: string): string[] {
  const address = `${origin}/row/${encodeURIComponent(id)}`;
  return messages.map((message) =>
    message
      .replace('http://shop.example', address)
      .replace(/([?&]dlid=).*\.$/s, `$1${SHOWN_KEY}.`)
      .replaceAll(KEY, SHOWN_KEY),
  );
}

describe('Joomla was recorded, and "update-xml try" comes to the same', () => {
  it.each(recorded.answers.map((row) => [row.id, row] as const))(
    'for the answer or XML "%s"',
    async (id, row) => {
      const verdict = await (id === 'slow-15' ? slow : walk(id));
      expect(requests.get(id)).toEqual(row.requests);
      expect(verdict).toMatchObject({
        offered: row.offered,
        installed: row.installed,
        messages: expected(row.messages, id),
      });
      expect(verdict.remedy === undefined).toBe(row.installed);
      expect(JSON.stringify(verdict)).not.toContain(KEY);
    },
  );

  it.each(recorded.keys.map((row) => [row.id, row] as const))('for a key typed as "%s"', async (id, row) => {
    const verdict = await walk(id, row.typed);
    expect(requests.get(id)).toEqual(row.requests);
    expect(verdict).toMatchObject({
      offered: true,
      installed: row.installed,
      messages: expected(row.messages, id),
    });
    if (row.typed.trim().length > 5) expect(JSON.stringify(verdict)).not.toContain(row.typed.trim());
  });

  it('knows every recorded row', () => {
    expect([recorded.answers.length, recorded.keys.length]).toEqual([61, 30]);
  });
});
