import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { table } from '../../src/store/engine/database';
import { giveRelease, makePackage } from '../support/packages';
import { eventually } from '../support/processes';
import { giveLicense, givePlan, PREFIX, startTestService, type TestService } from '../support/service';

/**
 * Tests Joomla's updater byte for byte. The requests that were recorded from Joomla 5.3 go through a raw socket, because
 * an HTTP client would encode or refuse some of them.
 */

const USER_AGENT = 'Mozilla/5.0 Joomla!/5.3.0 Joomla';

interface Answer {
  status: number;
  headers: Map<string, string>;
  body: Buffer;
}

/** Sends bytes, and reads one answer up to its Content-Length. */
async function exchange(url: string, bytes: Buffer): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  try {
    socket.write(bytes);
    let received = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) continue;
      const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
      const headers = new Map(
        lines.map((line) => [line.split(':', 1)[0]!.toLowerCase(), line.replace(/^[^:]*: /, '')]),
      );
      const length = Number(headers.get('content-length'));
      const body = received.subarray(end + 4);
      if (body.length >= length) return { status: Number(statusLine.split(' ')[1]), headers, body };
    }
    throw new Error(`The connection ended after ${received.length} bytes, before the answer did.`);
  } finally {
    socket.destroy();
  }
}

/** Returns the bytes of Joomla's request. A key goes into it as UTF-8, exactly as it was typed. */
function joomlaRequest(target: string): Buffer {
  return Buffer.from(
    `GET ${PREFIX}/downloads${target} HTTP/1.1\r\n` +
      'Host: shop.example\r\n' +
      `User-Agent: ${USER_AGENT}\r\n` +
      'Accept: */*\r\n' +
      '\r\n',
  );
}

/** Reads a file name as Joomla does: the text between `filename=` and the next `;`, without quotes. */
function joomlaFileName(contentDisposition: string | undefined): string | undefined {
  const [, after = ''] = (contentDisposition ?? '').split(/\sfilename\s?=\s?/);
  return after
    .split(';')[0]
    ?.trim()
    .replace(/^"+|"+$/g, '');
}

const NOT_FOUND = 'License not found';
const NO_KEY = 'Download ID (license key) is required';
const NO_PRODUCT_ID = 'Product ID must be an integer';

describe("Joomla's updater", () => {
  let service: TestService;
  let key: string;
  let bytes: Buffer;
  beforeAll(async () => {
    service = await startTestService();
    const plan = await givePlan(service.db);
    ({ key } = await giveLicense(service.db, plan));
    for (const imported of ['A%ZZ%', 'A+B', 'A"B', 'AB', 'Old%41Key'])
      await giveLicense(service.db, plan, { key: imported });
    const { path } = await makePackage(
      { 'pkg_example.xml': '<extension type="package"><name>Example</name></extension>' },
      300_000,
    );
    ({ bytes } = await giveRelease(service, { version: '2.1.0', file: path }));
  });
  afterAll(() => service.stop());

  const send = (target: string) => exchange(service.url, joomlaRequest(target));
  function expectInstalled({ status, headers, body }: Answer): void {
    expect(status).toBe(200);
    expect(joomlaFileName(headers.get('content-disposition'))).toMatch(/^[a-z0-9-]+-2\.1\.0\.zip$/);
    expect(body.equals(bytes)).toBe(true);
  }
  /** Expects a status that Joomla takes for a failure: it would store an error text with status 200 as the package. */
  function expectText({ status, headers, body }: Answer, expected: number, text: string): void {
    expect(body.toString()).toBe(text);
    expect(status).toBe(expected);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
  }

  it('gets the whole package, under a file name that it can unpack', async () => {
    const answer = await send(`/42?dlid=${key}`);
    expectInstalled(answer);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/zip',
      'content-disposition': 'attachment; filename="example-shop-2.1.0.zip"',
      'content-length': String(bytes.length),
      'cache-control': 'private, no-store, no-transform',
    });
    for (const name of ['location', 'set-cookie', 'transfer-encoding', 'content-encoding', 'vary'])
      expect(answer.headers.has(name)).toBe(false);
  });

  // Joomla appends `?dlid=` to a bare downloadurl, and a literal `&amp;dlid=` to one with a query.
  it.each<[string, (key: string) => string, number, string?]>([
    ['/42', (k) => `/42?dlid=${k}`, 200],
    ['/42?format=zip', (k) => `/42?format=zip&dlid=${k}`, 200],
    ['/42?format=zip, by a client that does not decode &amp;', (k) => `/42?format=zip&amp;dlid=${k}`, 200],
    ['/42?version=2.1.0, by such a client', (k) => `/42?version=2.1.0&amp;dlid=${k}`, 200],
    ['/42?a=1&amp;version=2.1.0, by such a client', (k) => `/42?a=1&amp;version=2.1.0&amp;dlid=${k}`, 200],
    [
      '/42?a=1&amp;version=9.9, by such a client',
      (k) => `/42?a=1&amp;version=9.9&amp;dlid=${k}`,
      404,
      'No download is available for this product',
    ],
    ['/42?', (k) => `/42?&dlid=${k}`, 200],
    ['/42/', (k) => `/42/?dlid=${k}`, 200],
    ['/42&v=2', (k) => `/42&v=2?dlid=${k}`, 400, NO_PRODUCT_ID],
    ['/42#x.zip', () => '/42', 400, NO_KEY],
  ])('a downloadurl that ends with %s', async (_end, target, status, text = '') => {
    const answer = await send(target(key));
    if (status === 200) expectInstalled(answer);
    else expectText(answer, status, text);
  });

  it.each<[string, (key: string) => string, number, string?]>([
    ['the key', (k) => k, 200],
    ['the key in lower case', (k) => k.toLowerCase(), 200],
    ['a trailing tab, sent as _', (k) => `${k}_`, 200],
    ['its name with it', (k) => `dlid=${k}`, 200],
    ['the key in quotes', (k) => `"${k}"`, 200],
    ['the key in single quotes', (k) => `'${k}'`, 200],
    ['a no-break space, by a client that encodes', (k) => `${k}%C2%A0`, 200],
    ['a zero-width space, by a client that encodes', (k) => `${k.slice(0, 20)}%E2%80%8B${k.slice(20)}`, 200],
    ['blanks, by a client that encodes', (k) => `%20${k}%0A`, 200],
    ['blanks, by a client that encodes them as +', (k) => `+${k}+`, 200],
    ['an imported key with %', () => 'A%ZZ%', 200],
    ['an imported key with +', () => 'A+B', 200],
    ['the same, by a client that encodes', () => 'A%2BB', 200],
    ['an imported key with a quote', () => 'A"B', 200],
    ['the same, by a client that encodes', () => 'A%22B', 200],
    ['an imported key with an escape that Joomla did not make', () => 'Old%2541Key', 200],
    ['an unknown key with %', () => 'B%ZZ%', 403, NOT_FOUND],
    ['nothing but %', () => '%', 403, NOT_FOUND],
    ['an escape that is no character', () => '%FF%FE', 403, NOT_FOUND],
    ['an escaped null', () => 'A%00B', 403, NOT_FOUND],
    ['A&B, sent as A', () => 'A', 403, NOT_FOUND],
    ['a key with & in the middle', (k) => `A&${k}`, 403, NOT_FOUND],
    ['the key cut off', (k) => k.slice(0, -1), 403, NOT_FOUND],
    ['0', () => '0', 403, NOT_FOUND],
    ['995 characters', () => 'K'.repeat(995), 403, NOT_FOUND],
    ['nothing', () => '', 400, NO_KEY],
    ['its name alone', () => 'dlid=', 400, NO_KEY],
    ['nothing but what is trimmed', () => '"_%C2%A0_"', 400, NO_KEY],
  ])('a customer who typed %s', async (_typed, sent, status, text = '') => {
    const answer = await send(`/42?dlid=${sent(key)}`);
    if (status === 200) expectInstalled(answer);
    else expectText(answer, status, text);
  });

  // Node's parser refuses these before any route. Behind nginx they never arrive.
  it.each<[string, (key: string) => string]>([
    ['a no-break space at the end', (k) => `${k}\u00a0`],
    ['a zero-width space', (k) => `${k.slice(0, 9)}\u200b${k.slice(9)}`],
    ['a byte order mark in front', (k) => `\ufeff${k}`],
    ['typographic quotes', (k) => `\u201e${k}\u201c`],
    ['an umlaut', () => 'Schlüssel'],
    ['an emoji', () => '\u{1f511}'],
  ])('%s, as raw bytes, gets a clean 400 in text', async (_typed, sent) => {
    const before = service.logLines.length;
    const answer = await send(`/42?dlid=${sent(key)}`);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('connection')).toBe('close');
    expect(answer.body.toString()).toMatch(/license key/);
    expect(answer.body.toString()).not.toMatch(/\n|<|HPE_|Error/);
    for (const line of service.logLines.slice(before)) expect(line).not.toContain(key.slice(0, 8));
    expectInstalled(await send(`/42?dlid=${key}`));
  });

  it('gets its answer even if the request arrives in pieces', async () => {
    const { hostname, port } = new URL(service.url);
    const whole = joomlaRequest(`/42?dlid=${key}`);
    const socket = connect(Number(port), hostname).setNoDelay();
    const status = await new Promise<string>((resolve, reject) => {
      socket
        .once('data', (chunk) => resolve(chunk.toString('latin1').split('\r\n', 1)[0]!))
        .once('error', reject);
      for (let i = 0; i < whole.length; i += 16)
        setTimeout(() => socket.write(whole.subarray(i, i + 16)), i / 4);
    });
    socket.destroy();
    expect(status).toBe('HTTP/1.1 200 OK');
  });

  it('may leave in the middle of a package, and no error is logged', async () => {
    const plan = await givePlan(service.db, { productId: 44 });
    const license = await giveLicense(service.db, plan);
    // The package is larger than the sockets' buffers.
    const { path } = await makePackage({}, 30_000_000);
    await giveRelease(service, { productId: 44, version: '1.0.0', file: path });
    const stderr = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const before = service.logLines.length;
    const { hostname, port } = new URL(service.url);
    for (let i = 0; i < 3; i++) {
      const socket = connect(Number(port), hostname);
      socket.write(joomlaRequest(`/44?dlid=${license.key}`));
      await once(socket, 'data');
      socket.resetAndDestroy();
    }
    await eventually(() =>
      expect(service.logLines.slice(before).filter((line) => line.includes('went away'))).toHaveLength(3),
    );
    expect(
      service.logLines.slice(before).map((line) => (JSON.parse(line) as { level: number }).level),
    ).not.toContain(50);
    expect(stderr).not.toHaveBeenCalled();
    stderr.mockRestore();
    expectInstalled(await send(`/42?dlid=${key}`));
  });

  it.each<[string, (planId: number) => Promise<string>, string]>([
    [
      'expired',
      async (plan) => (await giveLicense(service.db, plan, { expiresAt: new Date('2020-01-01') })).key,
      'License has expired',
    ],
    ['a wrong key', () => Promise.resolve('00000000-00000000-00000000-00000000'), NOT_FOUND],
    [
      'another product',
      async () => (await giveLicense(service.db, await givePlan(service.db, { productId: 43 }))).key,
      'License does not match this product',
    ],
  ])('reads only 403 for %s; the reason is kept for support', async (_reason, giveKey, text) => {
    const refused = await giveKey(await givePlan(service.db));
    expectText(await send(`/42?dlid=${refused}`), 403, text);
    await eventually(async () => {
      const logged = await service.db(table(service.db, 'access_log')).where({ key_hint: refused.slice(-8) });
      expect(logged).toEqual([
        expect.objectContaining({
          endpoint: 'download',
          product_id: 42,
          user_agent: USER_AGENT,
          ip: '127.0.0.1',
        }),
      ]);
    });
  });

  it("takes a click on the failed download's link, with the site's own session cookie, and logs neither", async () => {
    const answer = await exchange(
      service.url,
      Buffer.from(
        `GET ${PREFIX}/downloads/42?dlid=${key} HTTP/1.1\r\n` +
          'Host: shop.example\r\n' +
          'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n' +
          'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n' +
          'Accept-Encoding: gzip, deflate, br\r\n' +
          `Referer: https://shop.example${PREFIX}/downloads/42?dlid=${key}\r\n` +
          'Cookie: 0f1e2d3c4b5a69788796a5b4c3d2e1f0=s3ss10nc00k13; joomla_user_state=logged_in\r\n' +
          '\r\n',
      ),
    );
    expectInstalled(answer);
    const refused = await exchange(
      service.url,
      Buffer.from(
        `GET ${PREFIX}/nothing/${key}?dlid=${key} HTTP/1.1\r\nHost: shop.example\r\nCookie: a=s3ss10nc00k13\r\n\r\n`,
      ),
    );
    expect(refused.status).toBe(404);
    const logged = JSON.stringify(await service.db(table(service.db, 'access_log')));
    for (const text of [logged, ...service.logLines]) {
      expect(text).not.toMatch(/s3ss10nc00k13|logged_in/);
      expect(text).not.toContain(key);
      expect(text).not.toContain(key.toLowerCase());
    }
  });
});
