import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { deflateSync, gzipSync } from 'node:zlib';
import { IS_WHOLE, runs } from '../support/extent';
import { note } from '../support/faults';
import { giveRelease } from '../support/packages';
import { openRaw, type RawAnswer, type RawConnection } from '../support/raw-http';
import { giveLicense, givePlan, PREFIX, startTestService, type TestService } from '../support/service';

/**
 * Sends random requests from a grammar that has correct requests and absurd ones. Each request has a seed of its own:
 * `FUZZ_SEED=1234567 npx jest test/contract/fuzz` repeats the one that failed.
 */

const REQUESTS = runs(2_000, 100_000);
const CLIENTS = 8;
const replayed = process.env.FUZZ_SEED;
/** Fixed in short runs, which always send the same requests. Long runs send others each time. */
const firstSeed =
  replayed === undefined ? (IS_WHOLE ? Math.floor(Math.random() * 2 ** 31) : 1) : Number(replayed);

const CODES = new Set([
  ...['INVALID_REQUEST', 'LICENSE_NOT_FOUND', 'LICENSE_INACTIVE', 'LICENSE_EXPIRED', 'PRODUCT_MISMATCH'],
  ...['ACTIVATION_LIMIT_REACHED', 'ACTIVATION_NOT_FOUND', 'DOWNLOAD_NOT_FOUND', 'NOT_FOUND'],
  ...['METHOD_NOT_ALLOWED', 'UNSUPPORTED_MEDIA_TYPE'],
]);
const TEXTS = new Set([
  'Download ID (license key) is required',
  'Product ID must be an integer',
  'License not found',
  'License is not active',
  'License has expired',
  'License does not match this product',
  'Activation not found',
  'No download is available for this product',
  'This address does not answer that method',
  // The HTTP parser sends these, before any route.
  'The request has characters that are not allowed. Please check the license key.',
  'The request headers are too large',
]);
const STATUSES = new Set([200, 206, 304, 400, 403, 404, 405, 412, 415, 416, 431]);
/** Internal words that no answer may contain. The requests do not contain them either. */
const INSIDE =
  /node_modules|\/src\/|\/dist\/|\.(?:ts|js):\d|\n\s+at |SQLITE|SELECT |UPDATE |licensing_|stack|knex|koa|Error:/i;

let service: TestService;
let keys: string[];

beforeAll(async () => {
  service = await startTestService({ LICENSING_RATE_LIMIT: '1000000000' });
  const { db } = service;
  const past = new Date('2020-01-01T00:00:00Z');
  keys = [
    (await giveLicense(db, await givePlan(db))).key,
    (await giveLicense(db, await givePlan(db, { type: 'seat', limit: 0 }))).key,
    (await giveLicense(db, await givePlan(db, { type: 'device' }), { expiresAt: past }, past)).key,
    (await giveLicense(db, await givePlan(db, { productId: 43 }))).key,
    (await giveLicense(db, await givePlan(db), { key: 'Imported key/with?odd&signs=1' })).key,
  ];
  await giveRelease(service, { version: '2.1.0', changelog: 'one\ntwo' });
});

afterAll(() => service.stop());

test(`${REQUESTS} requests from a grammar: none crashes, leaks or is answered against the contract`, async () => {
  const failures: string[] = [];
  const outcomes = new Map<string, number>();
  const count = replayed === undefined ? REQUESTS : 1;
  let next = 0;
  let settled = 0;

  async function client(): Promise<void> {
    let connection: RawConnection | undefined;
    let before = '';
    while (next < count && failures.length < 5) {
      const i = next++;
      if (i === Math.floor(count / 4)) settled = heap();
      const seed = firstSeed + i;
      const { bytes, head, last } = makeRequest(seed);
      if (!connection?.isOpen()) connection = openRaw(service.url);
      let wrong: string | undefined;
      let answer: RawAnswer | undefined;
      try {
        answer = await connection.send(bytes, { head, last });
        wrong =
          answer === undefined
            ? last
              ? undefined
              : 'closed without an answer'
            : complaint(answer, head, last);
      } catch (error) {
        wrong = (error as Error).message;
      }
      if (replayed !== undefined) console.log(show(bytes), answer?.status, answer?.body.toString());
      const outcome = String(answer?.status ?? 'closed');
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const fault = service.logLines.find(
        (line) => line.includes('"level":50') || line.includes('"level":60'),
      );
      service.logLines.length = 0;
      if (fault !== undefined) wrong = `logged ${fault}`;
      if (wrong !== undefined)
        failures.push(
          `FUZZ_SEED=${seed}: ${wrong}\n${answer?.status ?? ''} ${answer?.body.toString().slice(0, 300) ?? ''}\n${show(bytes)}
after ${before}`,
        );
      before = `${answer?.status ?? ''} ${[...(answer?.headers ?? [])].join(';')} ${answer?.body.toString() ?? ''} ${show(bytes)}`;
      if (wrong !== undefined || last) connection.close();
    }
    connection?.close();
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));

  expect(failures.join('\n\n')).toBe('');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  if (replayed !== undefined) return;
  // The grammar gets past the parser: it leads to good answers and to every kind of refusal.
  expect([...outcomes.keys()]).toEqual(
    expect.arrayContaining(['200', '206', '400', '403', '404', '405', '431', 'closed']),
  );
  expect(outcomes.get('200')).toBeGreaterThan(REQUESTS / 20);
  expect(outcomes.get('403')).toBeGreaterThan(REQUESTS / 50);
  const grown = heap() - settled;
  note({ firstSeed, outcomes: Object.fromEntries(outcomes), heap_grown_mb: Number(grown.toFixed(1)) });
  expect(grown).toBeLessThan(40);
}, 1_800_000);

/** Returns the fault of an answer, or `undefined` if it is right. */
function complaint(
  { status, headers, names, body }: RawAnswer,
  head: boolean,
  last: boolean,
): string | undefined {
  // Node itself answers a request without Host.
  if (last && status === 400 && body.length === 0) return undefined;
  if (!STATUSES.has(status)) return "a status that is not the contract's";
  if (headers.has('x-powered-by') || headers.has('server')) return 'a header tells of the program';
  for (const name of ['content-type', 'content-length', 'x-request-id'])
    if (names.filter((one) => one === name).length > 1) return `${name} twice`;
  const all = `${[...headers].join('\n')}\n${body.toString('latin1')}`;
  const type = headers.get('content-type');
  if (type === 'application/zip')
    return status === 200 || status === 206 ? undefined : 'a package that is none';
  const leak = INSIDE.exec(all);
  if (leak) return `a word of the inside: ${leak[0]}`;
  if ([304, 412, 416].includes(status)) return undefined;
  if (headers.get('cache-control') !== 'no-store') return 'may be stored';
  if (headers.get('x-content-type-options') !== 'nosniff') return 'may be sniffed';
  if (head) return undefined;
  const text = body.toString();
  if (type === 'text/plain; charset=utf-8')
    return status >= 400 && TEXTS.has(text) ? undefined : "a text that is not the contract's";
  if (type !== 'application/json; charset=utf-8') return `a type that is not the contract's: ${type}`;
  let value: { data?: unknown; error?: { code?: string; message?: string } };
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    return 'no JSON';
  }
  if (Object.keys(value).length !== 1) return 'more than one key at the top';
  if (status === 200) return typeof value.data === 'object' ? undefined : 'no data';
  if (!CODES.has(value.error?.code ?? '')) return 'no code of the contract';
  return typeof value.error?.message === 'string' && value.error.message !== '' ? undefined : 'no message';
}

interface Chance {
  /** Returns a whole number from 0 to n - 1. */
  below(n: number): number;
  of<T>(choices: readonly T[]): T;
  /** Returns true with a probability from 0 to 1. */
  now(share: number): boolean;
}

/** mulberry32, a generator of 32 bits of state (public domain, Tommy Ettinger) */
function chanceOf(seed: number): Chance {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number) => Math.floor(random() * n);
  return {
    below,
    of: (choices) => choices[below(choices.length)] as (typeof choices)[number],
    now: (share) => random() < share,
  };
}

interface Made {
  bytes: Buffer;
  head: boolean;
  last: boolean;
}

const ENDPOINTS = ['licenses/activate', 'licenses/deactivate', 'licenses/validate', 'updates', 'downloads'];
const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'MKCOL',
  'SEARCH',
];
const FIELDS = ['license_key', 'dlid', 'identifier', 'name', 'version', 'amp;dlid', 'amp;version'];
const ODD_FIELDS = [
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'length',
    '',
    'dlid[]',
    'dlid[a][b]',
  ],
  ...[
    'license_key.x',
    'LICENSE_KEY',
    'license_key ',
    '__proto__[polluted]',
    'constructor[prototype][polluted]',
  ],
];
const TEXTS_SENT = [
  ...[
    '',
    ' ',
    '\0',
    '\n',
    '\r\n',
    '\t',
    'null',
    'undefined',
    'true',
    '0',
    '-1',
    '1e999',
    'NaN',
    '[object Object]',
  ],
  ...[
    "' OR '1'='1",
    "'; DROP TABLE x; --",
    '" OR ""="',
    '1) OR (1=1',
    '\\',
    "\\'",
    '%',
    '_',
    '%_%',
    '`',
    '/*',
    '--',
  ],
  ...[
    '../../../etc/passwd',
    '..\\..\\',
    '/etc/passwd',
    'file:///',
    '${1+1}',
    '{{1+1}}',
    '<script>alert(1)</script>',
  ],
  ...[
    'example.com',
    'https://www.Example.com:8443/x?y',
    'localhost',
    '127.0.0.1',
    '[::1]',
    '12345',
    '*.example.com',
  ],
  ...[
    'user@example.com',
    'münchen.de',
    'xn--mnchen-3ya.de',
    'xn--',
    'a..b',
    '-a-',
    '.',
    '2.1.0',
    '2.1',
    '1-',
    'v2',
  ],
  ...[
    '\u200b',
    '\ufeff',
    '\u202e',
    '\u00a0',
    '😀',
    '\ud83d',
    '\udc00x',
    'ß',
    'İ',
    'ﬀ',
    '\u0301',
    '\u2028',
    '１２',
  ],
  ...[
    'dlid=',
    '"x"',
    '________',
    'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6',
    'a'.repeat(64),
    'a'.repeat(190),
    'é'.repeat(256),
  ],
  ...[
    'a'.repeat(5_000),
    '.a'.repeat(300),
    '%'.repeat(50),
    'Set-Cookie: x=1',
    'x\r\nSet-Cookie: x=1',
    '\x7f',
    '\x1b[31m',
  ],
];
const IDS = [
  ...[
    '42',
    '42',
    '42',
    '43',
    '0',
    '-1',
    '042',
    '4.0',
    '42abc',
    'abc',
    '0x2a',
    '1e3',
    ' 42',
    '99999999999999999999',
  ],
  ...[
    '9'.repeat(400),
    '-',
    '--1',
    '+42',
    '٤٢',
    '%34%32',
    '%00',
    '42%00',
    '..%2f42',
    '__proto__',
    'constructor',
    '4294967296',
  ],
];
const TYPES = [
  ...[
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/vnd.api+json',
    'text/json',
    'text/plain',
  ],
  ...[
    'application/json;',
    'application/json; charset=utf-16',
    'application/json; charset=nonsense',
    '',
    ';',
    'x',
    '*/*',
  ],
  ...[
    'application/x-www-form-urlencoded; charset=iso-8859-1',
    'multipart/form-data; boundary=x',
    'multipart/form-data',
  ],
  ...[
    'application/xml',
    'application/octet-stream',
    'application/csp-report',
    'application/json, application/json',
  ],
];
const HEADERS = [
  ...[
    'X-Forwarded-For: 203.0.113.7',
    'X-Forwarded-For: nonsense',
    'X-Forwarded-For: ,,,',
    'X-Forwarded-For: ::ffff:1.2.3.4',
  ],
  ...[
    'X-Forwarded-For: 1.2.3.4, 5.6.7.8, ::1',
    `X-Forwarded-For: ${'1.1.1.1, '.repeat(200)}`,
    'X-Request-Id: <x>',
  ],
  ...[
    'X-Request-Id: a.b-c_d',
    `X-Request-Id: ${'a'.repeat(500)}`,
    'Range: bytes=0-9',
    'Range: bytes=5-2',
    'Range: x',
  ],
  ...[
    'Range: bytes=-5',
    'Range: bytes=0-0,2-3',
    'Range: bytes=99999999-',
    'If-None-Match: *',
    'If-Match: "x"',
    'If-Match: *',
  ],
  ...[
    'If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT',
    'If-Unmodified-Since: yesterday',
    'If-Range: "x"',
    'Accept: x',
  ],
  ...[
    'Accept-Encoding: gzip, br',
    'Accept-Charset: utf-7',
    'Cookie: a=b; __proto__=1',
    'Authorization: Basic eDp5',
  ],
  ...[
    'X-HTTP-Method-Override: DELETE',
    'X-Original-URL: /x',
    'X-Rewrite-URL: /x',
    'Origin: null',
    'Referer: javascript:1',
  ],
  ...[
    'Expect: 100-continue',
    'Expect: the worst',
    'Upgrade: websocket',
    'TE: trailers',
    'Via: 1.1 x',
    'Max-Forwards: 0',
  ],
  ...[
    'User-Agent: \x80\xff',
    'User-Agent: Joomla/5.3',
    `User-Agent: ${'u'.repeat(3_000)}`,
    'X-Odd: \xe2\x80\xa8',
    'Date: x',
  ],
  ...[
    'X-Accel-Redirect: /etc/passwd',
    'X-Sendfile: /etc/passwd',
    'Content-Disposition: x',
    'Content-Length-X: 5',
  ],
];

function makeRequest(seed: number): Made {
  const chance = chanceOf(seed);
  const endpoint = chance.of(ENDPOINTS);
  const posts = endpoint.startsWith('licenses/');
  const method = chance.now(0.9) ? (posts ? 'POST' : 'GET') : chance.of(METHODS);
  const target = makeTarget(chance, endpoint, posts);
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost'];
  const { body, type, encoding } = method === 'POST' || chance.now(0.05) ? makeBody(chance) : nothing;
  if (type !== undefined) lines.push(`Content-Type: ${type}`);
  if (encoding !== undefined) lines.push(`Content-Encoding: ${encoding}`);
  while (chance.now(0.3)) lines.push(chance.of(HEADERS));

  let last = false;
  let payload: Buffer | undefined = body;
  if (body !== undefined && chance.now(0.05)) {
    lines.push('Transfer-Encoding: chunked');
    payload = Buffer.concat([
      Buffer.from(`${body.length.toString(16)}\r\n`),
      body,
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
    if (body.length === 0) payload = Buffer.from('0\r\n\r\n');
  } else if (body !== undefined) lines.push(`Content-Length: ${body.length}`);
  if (chance.now(0.04)) {
    // Break the HTTP in a way that ends the connection.
    last = true;
    const odd = chance.below(8);
    if (odd === 0) lines.splice(1, 1);
    if (odd === 1) lines.push('Content-Length: 1', 'Content-Length: 2');
    if (odd === 2) lines.push('Content-Length: 100000');
    if (odd === 3) lines.push('Transfer-Encoding: nonsense');
    if (odd === 4) lines.push(`X-Large: ${'x'.repeat(20_000)}`);
    if (odd === 5) lines.push('no colon here', ' folded: line');
    if (odd === 6)
      lines[0] = chance.of([
        '',
        'GET',
        'GET  HTTP/1.1',
        `${method} ${target}`,
        'HTTP/1.1 200 OK',
        '\x16\x03\x01\x02',
      ]);
    if (odd === 7) lines[0] = `CONNECT ${chance.of(['localhost:80', target])} HTTP/1.1`;
  }
  // latin1 keeps each byte of the target and the headers. The body is encoded already.
  const top = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return { bytes: Buffer.concat([top, payload ?? Buffer.alloc(0)]), head: method === 'HEAD', last };
}

function makeTarget(chance: Chance, endpoint: string, posts: boolean): string {
  let path = `${PREFIX}/${endpoint}`;
  if (!posts && chance.now(0.95)) path += `/${chance.of(IDS)}`;
  if (chance.now(0.05))
    path += chance.of(['/', '//', '/x', '/..', '/%2e%2e/', ';x', '%00', '%ZZ', '/.', '%2f', '\\', '.json']);
  if (chance.now(0.03))
    path = chance.of([
      path.toUpperCase(),
      `/${path}`,
      path.replace('/v1/', '/v2/'),
      '/',
      '*',
      `http://x${path}`,
      encodeURIComponent(path),
      path.replace('licensing', '../licensing'),
    ]);
  const parameters: string[] = [];
  if (!posts || chance.now(0.05)) {
    if (endpoint === 'downloads' && chance.now(0.8))
      parameters.push(`dlid=${encodeURIComponent(chance.of(keys))}`);
    while (chance.now(0.4)) {
      const name = chance.now(0.7) ? chance.of(FIELDS) : chance.of(ODD_FIELDS);
      parameters.push(`${name}${chance.now(0.95) ? '=' : ''}${spell(chance, text(chance))}`);
    }
    if (chance.now(0.05))
      parameters.push(
        chance.of(['%', '%ZZ=%ZZ', '&&&', '=', '?', '%C0%80=1', `x=${'y'.repeat(6_000)}`, 'a'.repeat(300)]),
      );
  }
  return withoutBlanks(
    parameters.length > 0 ? `${path}?${parameters.join(chance.of(['&', '&', '&amp;', ';']))}` : path,
  );
}

function spell(chance: Chance, value: string): string {
  if (chance.now(0.8)) return encodeURIComponent(value.toWellFormed());
  // Some clients send raw bytes.
  return Buffer.from(value, 'utf8').toString('latin1').replace(/[&#]/g, '');
}

/** Replaces blanks and line breaks, which would end the request line. */
function withoutBlanks(target: string): string {
  return target.replace(/[\s\0]/g, '+');
}

function text(chance: Chance): string {
  return chance.now(0.3) ? chance.of(keys) : chance.of(TEXTS_SENT);
}

interface BodyMade {
  body: Buffer | undefined;
  type: string | undefined;
  encoding: string | undefined;
}
const nothing: BodyMade = { body: undefined, type: undefined, encoding: undefined };

function makeBody(chance: Chance): BodyMade {
  const form = chance.now(0.2);
  let type: string | undefined = form ? 'application/x-www-form-urlencoded' : 'application/json';
  let body: Buffer = Buffer.from(form ? makeForm(chance) : makeJson(chance));
  if (chance.now(0.08)) type = chance.now(0.2) ? undefined : chance.of(TYPES);
  if (chance.now(0.04)) body = mutate(chance, body);
  let encoding: string | undefined;
  if (chance.now(0.05)) {
    encoding = chance.of(['gzip', 'deflate', 'br', 'identity', 'nonsense', 'gzip, gzip', '']);
    if (chance.now(0.6)) body = encoding === 'deflate' ? deflateSync(body) : gzipSync(body);
  }
  return { body, type, encoding };
}

function mutate(chance: Chance, body: Buffer): Buffer {
  switch (chance.below(6)) {
    case 0:
      return body.subarray(0, chance.below(body.length + 1));
    case 1:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]);
    case 2:
      return Buffer.from(body.toString(), 'utf16le');
    case 3:
      return Buffer.alloc(60_000 + chance.below(100_000), chance.of(['[', 'a', '{"a":', '\0']));
    case 4:
      return Buffer.concat([body, body]);
    default: {
      const changed = Buffer.from(body);
      if (changed.length > 0) changed[chance.below(changed.length)] = chance.below(256);
      return changed;
    }
  }
}

function makeForm(chance: Chance): string {
  const fields = [`license_key=${encodeURIComponent(chance.of(keys))}`, 'identifier=form.example'];
  while (chance.now(0.5))
    fields.push(`${chance.of([...FIELDS, ...ODD_FIELDS])}=${spell(chance, text(chance))}`);
  return fields.join('&');
}

/** Writes an object as text, because JSON.stringify cannot write repeated names or `__proto__`. */
function makeJson(chance: Chance): string {
  if (chance.now(0.05)) return value(chance, 3);
  const fields: string[] = [];
  if (chance.now(0.85)) fields.push(`"license_key":${JSON.stringify(chance.of(keys))}`);
  if (chance.now(0.7)) fields.push(`"identifier":${JSON.stringify(text(chance))}`);
  while (chance.now(0.4))
    fields.push(
      `${JSON.stringify(chance.now(0.6) ? chance.of(FIELDS) : chance.of(ODD_FIELDS))}:${value(chance, 3)}`,
    );
  return `{${fields.join(chance.of([',', ',', ',', ' ,\n', ',,']))}}`;
}

function value(chance: Chance, depth: number): string {
  switch (chance.below(depth > 0 ? 9 : 6)) {
    case 0:
      return chance.of([
        'null',
        'true',
        'false',
        '0',
        '-0',
        '1e999',
        '-1e999',
        '1e-999',
        '9'.repeat(400),
        '0.1',
        '42',
      ]);
    case 1:
    case 2:
    case 3:
      return JSON.stringify(text(chance));
    case 4:
      return chance.of([
        '"\\ud800"',
        '"\\u0000"',
        '"\\uDC00\\uD800"',
        '"\\x"',
        '"',
        "'x'",
        'undefined',
        'NaN',
        '//',
        '',
      ]);
    case 5:
      return chance.of([
        '[]',
        '{}',
        '{"polluted":1}',
        '{"__proto__":{"polluted":1}}',
        '{"length":1e9}',
        '{"toString":1}',
      ]);
    case 6:
      return `[${Array.from({ length: chance.below(4) }, () => value(chance, depth - 1)).join(',')}]`;
    case 7:
      return `{${JSON.stringify(chance.of(ODD_FIELDS))}:${value(chance, depth - 1)}}`;
    default: {
      const levels = chance.of([10, 100, 5_000]);
      return chance
        .of([
          ['[', ']'],
          ['{"a":', '}'],
        ])
        .map((part, end) => (end === 0 ? part.repeat(levels) + '1' : part.repeat(levels)))
        .join('');
    }
  }
}

function show(bytes: Buffer): string {
  const shown = bytes.toString('latin1');
  return JSON.stringify(shown.length > 1_500 ? `${shown.slice(0, 1_500)}... (${shown.length})` : shown);
}

/** Returns the MB in use after a garbage collection. */
function heap(): number {
  setFlagsFromString('--expose_gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 1024 ** 2;
}
