import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addSigningKey, openSigningKey, retireSigningKey } from '../../src/licensing/signing-keys';
import { table } from '../../src/store/engine/database';
import { createAuthority } from '../support/certificates';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { php72Faults, phpFaults } from '../support/php-files';
import { startPhp, type PhpProcess } from '../support/php-process';
import { eventually, inTime, temporaryFolder } from '../support/processes';
import {
  ONE_KIND,
  type DatabaseKind,
  giveLicense,
  givePlan,
  newPlace,
  PREFIX,
  startTestService,
  type TestService,
} from '../support/service';

/** Runs the client of `licensing php` in PHP, against the service and against servers that hang, break and lie. */

const NOW = new Date('2026-07-15T12:00:00Z');
const SECONDS = NOW.getTime() / 1000;
const DAY = 86_400;
const NAMESPACE = 'Acme\\Example\\Licensing';
const SITE = 'https://www.Customer.example/joomla/';
const UNKNOWN = 'AAAAAAAA-BBBBBBBB-CCCCCCCC-DDDDDDDD';

let service: TestService;
let folder: string;
let key: string;
let expiredKey: string;
let otherKey: string;

/** The proxy's answer between client and service. If it is `undefined`, the proxy passes everything on. */
let behave: RequestListener | undefined;
/** Changes an answer's token, which `forger` then signs again. */
let twist: ((token: Token) => void) | undefined;
/** The signer of forged tokens: by default the service's own key, so that only a test's change can be refused. */
let forger: { privateKey: KeyObject };
let requests: { url: string; agent: string | undefined; body: Record<string, unknown> }[];
const servers: Server[] = [];
let plain: string;
let tls: string;
let ca: string;

const SECRET = randomBytes(32);
let own: KeyObject;
let keys: Record<string, string> = { '2026-1': '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

interface Token {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
}

function reset(): void {
  behave = undefined;
  twist = undefined;
  forger = { privateKey: own };
  requests = [];
}

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The order of the group of Ed25519 (RFC 8032, 5.1). */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** Changes a signature so that only a careless verifier accepts it: S must be below the order (RFC 8032, 5.1.7). */
function plusOrder(signature: Buffer): Buffer {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`);
  const more = Buffer.from((s + ORDER).toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([signature.subarray(0, 32), more]);
}

/** Changes a token's content, and signs it with the key of `forger`. */
function forge(text: string, change: (token: Token) => void): string {
  const [header, claims] = text
    .split('.', 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>);
  const token = { header: header!, claims: claims! };
  change(token);
  const signed = `${base64url(token.header)}.${base64url(token.claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), forger.privateKey).toString('base64url')}`;
}

const proxy: RequestListener = (request, response) => {
  void (async () => {
    const bytes = await buffer(request);
    const sent = (bytes.length === 0 ? {} : JSON.parse(bytes.toString())) as Record<string, unknown>;
    requests.push({ url: request.url ?? '', agent: request.headers['user-agent'], body: sent });
    if (behave !== undefined) return behave(request, response);
    const answer = await fetch(service.url + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: { 'Content-Type': 'application/json' },
      ...(bytes.length === 0 ? {} : { body: bytes }),
    });
    const json = (await answer.json()) as { data?: { token?: string } };
    if (twist && json.data?.token) json.data.token = forge(json.data.token, twist);
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(json));
  })().catch((error: unknown) => response.destroy(error as Error));
};

async function startShop(kind: DatabaseKind): Promise<void> {
  service = await startTestService(
    {
      ...(await newPlace(kind)),
      LICENSING_KEY_SECRET: SECRET.toString('base64'),
      LICENSING_RATE_LIMIT: '1000000',
    },
    NOW,
  );
  const { db } = service;
  const signing = await addSigningKey(db, SECRET, { actor: 'operator:test', now: NOW });
  own = openSigningKey(signing, SECRET) as KeyObject;
  keys = { [signing.kid]: signing.x };
  reset();
  const plan = await givePlan(db, { limit: 1 });
  key = (await giveLicense(db, plan)).key;
  expiredKey = (await giveLicense(db, plan, { expiresAt: new Date('2026-06-30T23:59:59Z') })).key;
  otherKey = (await giveLicense(db, await givePlan(db, { productId: 43 }))).key;
  await giveRelease(service, { version: '2.1.0' });
}

beforeAll(async () => {
  const authority = createAuthority();
  const { cert, key: privateKey } = authority.issue('DNS:localhost');
  ca = authority.ca;
  const secure = createTlsServer({ cert: readFileSync(cert), key: readFileSync(privateKey) }, proxy);
  for (const server of [createServer(proxy), secure]) {
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    servers.push(server);
  }
  const [plainPort, tlsPort] = servers.map((server) => (server.address() as AddressInfo).port);
  plain = `http://localhost:${plainPort}`;
  tls = `https://localhost:${tlsPort}`;
  folder = join(temporaryFolder('licensing-php'), 'src/Licensing');
  await operator({}).json(['php', '--namespace', NAMESPACE, '--out', folder]);
});
afterAll(async () => {
  await Promise.all([...php.values()].map((one) => one.stop()));
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

interface Answer {
  ok: boolean;
  status: number;
  code: string | null;
  message: string;
  data: Record<string, unknown>;
}
type Call = [method: string, ...args: unknown[]];

interface Given {
  site?: string;
  keys?: Record<string, string>;
  store?: string;
  now?: number;
  seconds?: number;
  ca?: string;
  php?: Php;
}

const CLIENT = join(__dirname, 'host/client.php');
const NO_SODIUM = ['-d', 'disable_functions=sodium_crypto_sign_verify_detached'];
const KINDS_OF_PHP = {
  /** PHP with the extensions curl and sodium. */
  curl: [],
  /** PHP without curl. */
  streams: ['-n'],
  /** PHP with sodium_compat, which Joomla ships, instead of sodium. */
  compat: [...NO_SODIUM, '-d', `auto_prepend_file=${join(__dirname, 'host/sodium-compat.php')}`],
};
type Php = keyof typeof KINDS_OF_PHP;
const php = new Map<Php, PhpProcess>();

function phpOf(kind: Php): PhpProcess {
  const running = php.get(kind) ?? startPhp(CLIENT, KINDS_OF_PHP[kind]);
  php.set(kind, running);
  return running;
}

/** Makes calls in a PHP process of their own. */
async function callAlone<T>(
  calls: Call[],
  given: Given,
  args = KINDS_OF_PHP[given.php ?? 'curl'],
): Promise<Called<T>[]> {
  const alone = startPhp(CLIENT, args);
  try {
    return await call(calls, given, alone);
  } finally {
    await alone.stop();
  }
}

interface Called<T> {
  result: T;
  seconds: number;
}

function call<T>(
  calls: Call[],
  { php: kind = 'curl', ...given }: Given = {},
  by = phpOf(kind),
): Promise<Called<T>[]> {
  const usual = { folder, namespace: NAMESPACE, site: plain, product: 42, keys, seconds: 5, now: SECONDS };
  return by.ask({ ...usual, store: temporaryFolder(), ...given, calls });
}

const entitled = async (given: Given, of = key): Promise<boolean> =>
  (await call<boolean>([['entitled', of, SITE]], given))[0]!.result;

async function fileFor(ofKey: string, identifier: string): Promise<{ token: string; expires_at: string }> {
  const answer = await fetch(`${service.url}${PREFIX}/licenses/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ license_key: ofKey, identifier }),
  });
  return ((await answer.json()) as { data: { token: string; expires_at: string } }).data;
}

describe('licensing php', () => {
  it('writes PHP from 7.2.5 on, in the namespace, and overwrites only its own files', async () => {
    const files = readdirSync(folder).sort();
    const paths = files.map((file) => join(folder, file));
    const texts = paths.map((path) => readFileSync(path, 'utf8'));
    const again = await operator({}).json([
      'php',
      '--namespace',
      'Acme\\\\Example\\\\Licensing',
      '--out',
      folder,
    ]);
    const foreign = temporaryFolder();
    // A class of the seller's own has that name.
    const theirs = texts[files.indexOf('Token.php')]!.replace(/^\/\/.*\n/m, '');
    writeFileSync(join(foreign, 'Token.php'), theirs);
    const refused = await operator({}).run(['php', '--namespace', NAMESPACE, '--out', foreign]);

    expect(files).toEqual(['Client.php', 'LicenceField.php', 'Store.php', 'Token.php', 'Transport.php']);
    expect(again).toEqual({ folder, files });
    expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(texts);
    for (const php of texts) expect(php).toContain(`\nnamespace ${NAMESPACE};\n`);
    expect(phpFaults(paths)).toEqual([]);
    expect(php72Faults(paths)).toEqual([]);
    expect({ ...refused, files: readdirSync(foreign) }).toMatchObject({ code: 1, files: ['Token.php'] });
  });

  it.each(['Acme/Example', 'Acme\\List', 'Joomla\\Acme', '1Acme', ''])(
    'refuses the namespace "%s"',
    async (one) => {
      const out = join(temporaryFolder(), 'x');
      const { code, stderr } = await operator({}).run(['php', '--namespace', one, '--out', out]);

      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/namespace/) });
      expect(existsSync(out)).toBe(false);
    },
  );
});

const WAYS: [string, () => Given][] = [
  ['cURL', () => ({})],
  ['streams', () => ({ php: 'streams' })],
  ['cURL and TLS', () => ({ site: tls, ca })],
  ['streams and TLS', () => ({ site: tls, ca, php: 'streams' })],
];

describe.each(WAYS)('by %s', (_name, way) => {
  it.each<[string, RequestListener]>([
    ['breaks the connection', (request) => request.socket.destroy()],
    ['redirects', (_request, response) => response.writeHead(302, { Location: `${plain}/elsewhere` }).end()],
    ['is out of order', (_request, response) => response.writeHead(503).end('<h1>Sorry</h1>')],
    ['sends HTML', (_request, response) => response.end('<html>')],
    [
      'cuts its answer',
      (_request, response) => {
        response.writeHead(200, { 'Content-Length': 100 });
        response.write('{"data":{}}', () => response.destroy());
      },
    ],
    [
      'sends more than 64 KB',
      (_request, response) => response.end(JSON.stringify({ data: { more: 'x'.repeat(70_000) } })),
    ],
  ])('treats a server that %s as away', async (_behaviour, behaviour) => {
    reset();
    behave = behaviour;
    const [answer] = await call<Answer>([['validate', UNKNOWN, SITE]], way());

    expect(answer!.result).toMatchObject({ ok: false, code: null, data: {} });
    expect(answer!.result.message).toBe('The licence service does not answer. Try again later.');
    expect(requests).toHaveLength(1);
  });
});

it('waits no longer than its timeout for a server that hangs, and for one that drips', async () => {
  reset();
  const drips: NodeJS.Timeout[] = [];
  behave = (request, response) => {
    if (request.url?.includes('check=1')) return;
    response.writeHead(200);
    drips.push(setInterval(() => response.write(' '), 50));
  };
  const answers = await Promise.all(
    WAYS.flatMap(([name, way]) =>
      ([['check', UNKNOWN], ['latestVersion']] as Call[]).map(async (asked) => {
        const [answer] = await callAlone<Answer>([asked], { ...way(), seconds: 1 });
        return { by: name, ...answer! };
      }),
    ),
  );
  drips.forEach(clearInterval);

  for (const { by, result, seconds } of answers) {
    expect([by, result]).toEqual([by, expect.objectContaining({ ok: false, status: 0 })]);
    expect(seconds).toBeGreaterThan(0.9);
    expect(seconds).toBeLessThan(inTime(3));
  }
});

it('trusts only the certificates that it should', async () => {
  reset();
  for (const php of ['curl', 'streams'] as const) {
    const [answer] = await call<Answer>([['latestVersion']], { site: tls, php });
    expect(answer!.result).toMatchObject({ ok: false, status: 0 });
  }
  expect(requests).toEqual([]);
});

it('has sodium in this PHP, so that these tests mean something', () => {
  expect(spawnSync('php', ['-m'], { encoding: 'utf8' }).stdout).toMatch(/^sodium$/m);
});

// One database is enough: the client's own work does not depend on it.
describe.each(ONE_KIND)('of a service with %s', (kind) => {
  beforeAll(() => startShop(kind));
  afterAll(() => service.stop());

  describe.each(WAYS)('by %s', (_name, way) => {
    it('activates, validates, checks, reports the latest version, and frees the slot', async () => {
      reset();
      const results = await call<Answer & boolean>(
        [
          ['entitled', key, SITE],
          ['activate', key, SITE, 'Shop'],
          ['activate', key, 'other.example'],
          ['validate', key, SITE],
          ['entitled', key, SITE],
          ['check', key],
          ['check', expiredKey, '2.1.0'],
          ['latestVersion'],
          ['deactivate', key, SITE],
          ['deactivate', key, SITE],
          ['validate', UNKNOWN, SITE],
          ['activate', otherKey, SITE],
          ['validate', otherKey, SITE],
        ],
        way(),
      );
      const all = results.map(({ result }) => result);

      expect(all[0]).toBe(false);
      expect(all[1]).toMatchObject({ ok: true, status: 200, data: { identifier: 'customer.example' } });
      expect(all[2]).toMatchObject({ ok: false, status: 403, code: 'ACTIVATION_LIMIT_REACHED' });
      expect(all[3]).toMatchObject({
        ok: true,
        data: { valid: true, identifier_activated: true, product_covered: true },
      });
      expect(all[4]).toBe(true);
      expect(all[5]).toMatchObject({ ok: true, data: { allowed: true, version: '2.1.0' } });
      expect(all[6]).toMatchObject({ ok: true, data: { allowed: false, code: 'LICENSE_EXPIRED' } });
      expect(all[7]).toMatchObject({ ok: true, data: { version: '2.1.0' } });
      expect(all[8]).toMatchObject({ ok: true, data: { status: 'deactivated' } });
      expect(all[9]).toMatchObject({ ok: false, status: 404, code: 'ACTIVATION_NOT_FOUND' });
      expect(all[10]).toMatchObject({ ok: false, status: 403, code: 'LICENSE_NOT_FOUND' });
      expect(all[11]).toMatchObject({ ok: false, status: 403, code: 'PRODUCT_MISMATCH' });
      expect(all[12]).toMatchObject({ ok: false, status: 200, code: 'PRODUCT_MISMATCH', claims: null });
      for (const { url, agent, body } of requests) {
        expect(agent).toBe('licensing-php');
        if (/validate|activate/.test(url)) expect(body).toMatchObject({ product_id: 42 });
      }
    });
  });

  it('works through a change of the signing key, if the next key was built in before', async () => {
    reset();
    const context = { actor: 'operator:test', now: NOW };
    const next = await addSigningKey(service.db, SECRET, context);
    const both = { ...keys, [next.kid]: next.x };
    const store = temporaryFolder();
    await call([['activate', key, SITE]], { store, keys: both });
    await retireSigningKey(service.db, Object.keys(keys)[0]!, {}, context);
    const unsuspecting = await eventually(async () => {
      const [answer] = await call<Answer>([['validate', key, SITE]]);
      expect(answer!.result.code).toBe('NOT_TRUSTED');
      return answer;
    });
    // Answers that the retired key signed still count, and so do answers that the next key signs now.
    behave = (_request, response) => response.writeHead(503).end();
    expect(await entitled({ store, keys: both, now: SECONDS + 13 * DAY })).toBe(true);
    reset();
    const [answer] = await call<Answer>([['validate', key, SITE]], { keys: both });

    expect(unsuspecting!.result).toMatchObject({ ok: false, claims: null });
    expect(answer!.result).toMatchObject({ ok: true, claims: { valid: true, activated: true } });
    own = openSigningKey(next, SECRET) as KeyObject;
    keys = { [next.kid]: next.x };
  });

  it('says until when a file for a machine without network holds the site', async () => {
    reset();
    const [{ key: held }, site] = [
      await giveLicense(service.db, await givePlan(service.db, { limit: 1 })),
      'held.example',
    ];
    await call([['activate', held, site]]);
    const data = await fileFor(held, site);
    const store = temporaryFolder();
    const [refused, still] = await call<Answer & boolean>(
      [
        ['deactivate', held, site],
        ['entitled', held, site],
      ],
      { store },
    );
    const [stored = ''] = readdirSync(store);
    // A licence file is for programs that never ask the service, so the client does not accept it.
    writeFileSync(join(store, stored), data.token);
    behave = (_request, response) => response.writeHead(503).end();

    expect(refused!.result).toMatchObject({
      ...{ ok: false, status: 403, code: 'ACTIVATION_HELD' },
      data: { held_until: data.expires_at },
    });
    expect(still!.result).toBe(true);
    expect((await call<boolean>([['entitled', held, site]], { store }))[0]!.result).toBe(false);
  });
});

describe('of a service', () => {
  beforeAll(() => startShop('MariaDB'));
  afterAll(() => service.stop());

  describe('the last signed answer', () => {
    let store: string;
    let stored: string;
    beforeEach(async () => {
      reset();
      store = temporaryFolder();
      await call([['activate', key, SITE]], { store });
      const [file = ''] = readdirSync(store);
      stored = join(store, file);
    });
    const away = 'http://localhost:1';

    it('is kept without the key and the site, and counts for a little more than a day without another request', async () => {
      reset();
      expect(readdirSync(store)).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.txt$/)]);
      expect(readFileSync(stored, 'utf8')).not.toContain(key);

      expect(await entitled({ store, now: SECONDS + DAY - 1 })).toBe(true);
      expect(requests).toEqual([]);
      service.clock.now = new Date((SECONDS + DAY + DAY / 4) * 1000);
      expect(await entitled({ store, now: SECONDS + DAY + DAY / 4 })).toBe(true);
      expect(requests).toHaveLength(1);
      service.clock.now = NOW;
    });

    it('is renewed at different times by many sites of one address, and survives a 429', async () => {
      const sites = Array.from({ length: 12 }, (_, i) => `site-${i}.example`);
      const plan = await givePlan(service.db, { limit: 1 });
      const bought: string[] = [];
      for (const _site of sites) bought.push((await giveLicense(service.db, plan)).key);
      const asked = (verb: string) => sites.map((site, i): Call => [verb, bought[i]!, site]);
      await call(asked('activate'), { store });
      /** Returns how many of the sites are entitled at that time, and how many ask. */
      const at = async (seconds: number) => {
        reset();
        service.clock.now = new Date((SECONDS + seconds) * 1000);
        behave = (_request, response) =>
          response.writeHead(429).end(JSON.stringify({ error: { code: 'RATE_LIMITED', message: 'x' } }));
        const results = await call<boolean>(asked('entitled'), { store, now: SECONDS + seconds });
        return [results.filter(({ result }) => result).length, requests.length];
      };
      expect(await at(DAY - 1)).toEqual([12, 0]);
      const [entitled, early = 0] = await at(DAY + DAY / 8);
      expect(entitled).toBe(12);
      expect(early).toBeGreaterThan(0);
      expect(early).toBeLessThan(12);
      const [, soon] = await at(DAY + DAY / 8 + 299);
      expect(soon).toBeLessThan(2);
      // All sites have asked once, and wait for different times.
      expect(await at(DAY + DAY / 4)).toEqual([12, 12]);
      expect(await at(DAY + DAY / 4 + 299)).toEqual([12, 0]);
      const [, half = 0] = await at(DAY + DAY / 4 + 450);
      expect(half).toBeGreaterThan(0);
      expect(half).toBeLessThan(12);
      service.clock.now = NOW;
    });

    it('counts until its end while the service is away, without a request on each page', async () => {
      reset();
      behave = (_request, response) => response.writeHead(503).end();
      expect(await entitled({ store, now: SECONDS + 13 * DAY })).toBe(true);
      expect(await entitled({ store, now: SECONDS + 13 * DAY + 299 })).toBe(true);
      expect(requests).toHaveLength(1);
      expect(await entitled({ store, now: SECONDS + 13 * DAY + 300 })).toBe(true);
      expect(requests).toHaveLength(2);
      expect(await entitled({ store, now: SECONDS + 14 * DAY })).toBe(false);
      expect(await entitled({ store: temporaryFolder(), site: away })).toBe(false);
    });

    it('does not count before it was made, when the clock is set back', async () => {
      reset();
      behave = (_request, response) => response.writeHead(503).end();
      expect(await entitled({ store, now: SECONDS - 300 })).toBe(true);
      expect(await entitled({ store, now: SECONDS - 301 })).toBe(false);
    });

    it('belongs to one site, one key, one product and one service', async () => {
      reset();
      behave = (_request, response) => response.writeHead(503).end();
      const [elsewhere, otherOne] = await call<boolean>(
        [
          ['entitled', key, 'other.example'],
          ['entitled', expiredKey, SITE],
        ],
        { store },
      );

      expect([elsewhere!.result, otherOne!.result]).toEqual([false, false]);
      expect(await entitled({ store, site: away })).toBe(false);
    });

    it.each<[string, (token: string) => string]>([
      [
        'a changed claim',
        (token) => {
          const [head = '', claims = '', signature = ''] = token.split('.');
          const changed = {
            ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object),
            exp: SECONDS + 999 * DAY,
          };
          return [head, base64url(changed), signature].join('.');
        },
      ],
      [
        'another algorithm',
        (token) =>
          [base64url({ alg: 'none', kid: '2026-1', typ: 'license+jwt' }), token.split('.')[1], ''].join('.'),
      ],
      ['a cut signature', (token) => token.slice(0, -4)],
      [
        'a signature of nothing',
        (token) => [...token.split('.').slice(0, 2), Buffer.alloc(64).toString('base64url')].join('.'),
      ],
      [
        'another spelling of its signature',
        (token) => {
          const [head = '', claims = '', signature = ''] = token.split('.');
          return [head, claims, plusOrder(Buffer.from(signature, 'base64url')).toString('base64url')].join(
            '.',
          );
        },
      ],
      [
        'its own signature',
        (token) => {
          forger.privateKey = generateKeyPairSync('ed25519').privateKey;
          return forge(token, () => undefined);
        },
      ],
      ['nothing', () => ''],
      ['a text', () => 'valid'],
      ['a longer pause', (token) => `${token.slice(0, -4)} ${SECONDS + 999 * DAY}`],
    ])('gives no licence from a file with %s', async (_name, change) => {
      const changed = change(readFileSync(stored, 'utf8'));
      for (const php of ['curl', 'compat'] as const) {
        reset();
        writeFileSync(stored, changed);
        expect([php, await entitled({ php, store, now: SECONDS + 1 })]).toEqual([php, true]);
        // The client had to ask the service.
        expect(requests).toHaveLength(1);
        behave = (_request, response) => response.writeHead(503).end();
        writeFileSync(stored, changed);
        expect([php, await entitled({ php, store, now: SECONDS + 1 })]).toEqual([php, false]);
      }
    });

    it('is deleted when the service clearly refuses the key, and when the slot is freed', async () => {
      reset();
      const refuse = { error: { code: 'LICENSE_NOT_FOUND', message: 'License not found' } };
      behave = (_request, response) => response.writeHead(403).end(JSON.stringify(refuse));
      expect(await entitled({ store, now: SECONDS + DAY + DAY / 4 })).toBe(false);
      expect(readdirSync(store)).toEqual([]);

      reset();
      await call([['activate', key, SITE]], { store });
      expect(readdirSync(store)).toHaveLength(1);
      await call([['deactivate', key, SITE]], { store });
      expect(readdirSync(store)).toEqual([]);
      expect(await entitled({ store })).toBe(false);
      await call([['activate', key, SITE]], { store });
    });

    it('of an expired licence is a no, and the service is soon asked again', async () => {
      reset();
      const there = temporaryFolder();
      const [standing] = await call<object>([['standing', expiredKey, SITE]], { store: there });

      expect(standing!.result).toMatchObject({
        valid: false,
        status: 'expired',
        activated: false,
        limit: 1,
        used: 0,
      });
      expect(await entitled({ store: there, now: SECONDS + 299 }, expiredKey)).toBe(false);
      expect(requests).toHaveLength(1);
      service.clock.now = new Date((SECONDS + 300) * 1000);
      expect(await entitled({ store: there, now: SECONDS + 300 }, expiredKey)).toBe(false);
      service.clock.now = NOW;
      expect(requests).toHaveLength(2);
    });
  });

  describe('an answer that lies', () => {
    it.each<[string, (token: Token) => void]>([
      ['of another key', () => void (forger.privateKey = generateKeyPairSync('ed25519').privateKey)],
      ['of an unknown kid', ({ header }) => void (header.kid = '2020-9')],
      ['of the type of a file', ({ header }) => void (header.typ = 'license-file+jwt')],
      ['for another algorithm', ({ header }) => void (header.alg = 'HS256')],
      ['for another product', ({ claims }) => void (claims.aud = ['43'])],
      ['for another site', ({ claims }) => void (claims.identifier = 'other.example')],
      ['for no site', ({ claims }) => void (claims.identifier = null)],
      ['to another question', ({ claims }) => void (claims.nonce = 'earlier')],
      ['that has ended', ({ claims }) => void (claims.exp = SECONDS)],
      ['from the future', ({ claims }) => void (claims.nbf = SECONDS + 301)],
      ['without an end', ({ claims }) => void (claims.exp = null)],
    ])('gives no licence: %s', async (_name, lie) => {
      reset();
      twist = lie;
      const [entitlement, answer] = await call<Answer & boolean>([
        ['entitled', key, SITE],
        ['validate', key, SITE],
      ]);

      expect(entitlement!.result).toBe(false);
      expect(answer!.result).toMatchObject({ ok: false, code: 'NOT_TRUSTED' });
    });

    it('gives no licence: a token that says so', async () => {
      reset();
      twist = ({ claims }) => void (claims.activated = false);
      expect(await entitled({})).toBe(false);
      reset();
      twist = ({ claims }) => void (claims.valid = 'true');
      expect(await entitled({})).toBe(false);
    });

    it('gives no licence: an answer that is not signed', async () => {
      reset();
      behave = (_request, response) =>
        response.end(JSON.stringify({ data: { valid: true, identifier_activated: true, token: null } }));
      const [standing, answer] = await call<null & Answer>([
        ['standing', key, SITE],
        ['validate', key, SITE],
      ]);
      expect(standing!.result).toBe(null);
      expect(answer!.result).toMatchObject({ ok: false, code: 'NOT_TRUSTED', claims: null });
    });

    it('gives no licence if PHP has no sodium', async () => {
      reset();
      const [answer] = await callAlone<boolean>([['entitled', key, SITE]], {}, NO_SODIUM);
      expect(answer!.result).toBe(false);
    });
  });

  it('without keys, relies only on the current answer, and keeps nothing', async () => {
    reset();
    const store = temporaryFolder();
    await call([['activate', key, SITE]]);

    expect(await entitled({ site: service.url, keys: {}, store })).toBe(true);
    expect(await entitled({ site: service.url, keys: {}, store }, otherKey)).toBe(false);
    expect(await entitled({ site: 'http://localhost:1', keys: {}, store })).toBe(false);
  });

  it('works with a folder that cannot be created', async () => {
    reset();
    expect(await entitled({ store: '/proc/none' })).toBe(true);
  });

  describe('the field of examples/with-activation', () => {
    let extension: string;
    beforeAll(async () => {
      extension = join(temporaryFolder(), 'with-activation');
      cpSync(join(__dirname, '../../examples/with-activation'), extension, { recursive: true });
      const source = join(extension, 'plg_content_acmehello/src');
      const namespace = 'Acme\\Plugin\\Content\\Hello\\Licensing';
      await operator({}).json(['php', '--namespace', namespace, '--out', join(source, 'Licensing')]);
      const licence = join(source, 'Licence.php');
      const changed = readFileSync(licence, 'utf8')
        .replace('https://shop.example', plain)
        .replace(
          /'2026-1' => '[^']*'/,
          Object.entries(keys)
            .map(([kid, x]) => `'${kid}' => '${x}'`)
            .join(),
        );
      writeFileSync(licence, changed);
      reset();
      await call([['deactivate', key, SITE]]);
      // The extension uses the machine's clock.
      service.clock.now = new Date();
    });
    afterAll(() => void (service.clock.now = NOW));

    interface Shown {
      key: string;
      post?: Record<string, string>;
      token?: boolean;
      article?: string;
    }

    async function show(steps: Shown[], language = 'en-GB'): Promise<string[]> {
      const host = startPhp(join(__dirname, 'host/extension.php'));
      try {
        return await host.ask({ folder: extension, site: temporaryFolder(), root: SITE, language, steps });
      } finally {
        await host.stop();
      }
    }

    const NAME = 'jform_params_licence_key_action';
    const says = (html: string) =>
      html.replace(/^.*<div class="form-text">(.*)<\/div>$/s, '$1').replace(/<[^>]*>/g, '|');

    it('shows the licence, activates the site and frees it', async () => {
      reset();
      const [empty, before, forged, activated, article, full, freed, silent] = await show([
        { key: '' },
        { key },
        { key, post: { [NAME]: 'activate' }, token: false },
        { key, post: { [NAME]: 'activate' } },
        { key, article: 'Text. ' },
        { key: expiredKey },
        { key, post: { [NAME]: 'free' } },
        { key, article: 'Text. ' },
      ]);

      expect(says(empty!)).toBe('Save to see the licence.');
      expect(says(before!)).toBe(
        'Valid for life. Sites: 0 of 1. This site is not activated. |Activate this site|',
      );
      expect(before).toContain(
        `formmethod="post" formaction="${SITE}administrator/index.php?option=com_plugins&amp;view=plugin"`,
      );
      expect(before).toContain(`name="${NAME}" value="activate"`);
      expect(says(forged!)).toBe(says(before!));
      expect(says(activated!)).toBe(
        'Done. Valid for life. Sites: 1 of 1. This site is activated. |Free this site|',
      );
      expect(article).toBe('Text. <p>Hello from Acme.</p>');
      expect(says(full!)).toBe(
        'The licence has ended. Renew it with the vendor. Sites: 0 of 1. This site is not activated.',
      );
      expect(says(freed!)).toBe(
        'Done. Valid for life. Sites: 0 of 1. This site is not activated. |Activate this site|',
      );
      expect(silent).toBe('Text. ');
    });

    it('says what to do about each refusal', async () => {
      reset();
      const { db } = service;
      const one = await givePlan(db, { limit: 1 });
      const [full, held, suspended] = [
        await giveLicense(db, one),
        await giveLicense(db, one),
        await giveLicense(db, one),
      ];
      await call([
        ['activate', full.key, 'other.example'],
        ['activate', held.key, SITE],
      ]);
      await db(table(db, 'licenses')).where({ id: suspended.id }).update({ status: 'suspended' });
      const until = (await fileFor(held.key, SITE)).expires_at.slice(0, 10);
      const activate = { [NAME]: 'activate' };
      const steps: [Shown, en: string, de: string][] = [
        [
          { key: UNKNOWN, post: activate },
          'The vendor does not know this key. Compare it with the key that you were sent. |Activate this site|',
          'Der Anbieter kennt diesen Schlüssel nicht. Vergleichen Sie ihn mit dem Schlüssel, den Sie erhalten haben. |Diese Website aktivieren|',
        ],
        [
          { key: otherKey, post: activate },
          'The key is for another product. Enter the key of this one. |Activate this site|',
          'Der Schlüssel gehört zu einem anderen Produkt. Tragen Sie den Schlüssel für dieses ein. |Diese Website aktivieren|',
        ],
        [
          { key: expiredKey, post: activate },
          'The licence has ended. Renew it with the vendor. Sites: 0 of 1. This site is not activated.',
          'Die Lizenz ist abgelaufen. Verlängern Sie sie beim Anbieter. Websites: 0 von 1. Diese Website ist nicht aktiviert.',
        ],
        [
          { key: suspended.key, post: activate },
          'The licence is not active. Ask the vendor why. Sites: 0 of 1. This site is not activated.',
          'Die Lizenz ist nicht aktiv. Der Anbieter kann Ihnen den Grund nennen. Websites: 0 von 1. Diese Website ist nicht aktiviert.',
        ],
        [
          { key: full.key, post: activate },
          'All sites of the licence are in use. Free one that you no longer need. Valid for life. Sites: 1 of 1. This site is not activated. |Activate this site|',
          'Alle Websites der Lizenz sind vergeben. Geben Sie eine frei, die Sie nicht mehr brauchen. Unbegrenzt gültig. Websites: 1 von 1. Diese Website ist nicht aktiviert. |Diese Website aktivieren|',
        ],
        [
          { key: suspended.key, post: { [NAME]: 'free' } },
          'This site was not activated, so there is nothing to free. The licence is not active. Ask the vendor why. Sites: 0 of 1. This site is not activated.',
          'Diese Website war nicht aktiviert, es gibt also nichts freizugeben. Die Lizenz ist nicht aktiv. Der Anbieter kann Ihnen den Grund nennen. Websites: 0 von 1. Diese Website ist nicht aktiviert.',
        ],
        [
          { key: held.key, post: { [NAME]: 'free' } },
          `A licence file holds the slot of this site until ${until}. Free it after that day, or ask the vendor. Valid for life. Sites: 1 of 1. This site is activated. |Free this site|`,
          `Eine Lizenzdatei hält den Platz dieser Website bis ${until.split('-').reverse().join('.')}. Geben Sie ihn nach diesem Tag frei, oder fragen Sie den Anbieter. Unbegrenzt gültig. Websites: 1 von 1. Diese Website ist aktiviert. |Diese Website freigeben|`,
        ],
        [
          { key: 'DEMO\u0001KEY' },
          'The licence server cannot use the key or the address of this site: &quot;license_key&quot; must not contain control characters. Correct it, or ask the vendor. |Activate this site|',
          'Der Lizenzserver kann den Schlüssel oder die Adresse dieser Website nicht verwenden: &quot;license_key&quot; must not contain control characters. Berichtigen Sie die Angabe, oder fragen Sie den Anbieter. |Diese Website aktivieren|',
        ],
      ];
      const shown = steps.map(([step]) => step);
      const [english, german] = [await show(shown), await show(shown, 'de-AT')];

      expect(english.map(says)).toEqual(steps.map(([, en]) => en));
      expect(german.map(says)).toEqual(steps.map(([, , de]) => de));
    });

    it('says that the service is away, or not to be trusted, and shows a hostile key and answer as text', async () => {
      reset();
      const [hostile] = await show([{ key: '"><script>alert(1)</script>' }]);
      twist = ({ claims }) => void (claims.nonce = 'earlier');
      const [lied] = await show([{ key }]);
      behave = (_request, response) => response.writeHead(503).end();
      const [away] = await show([{ key, post: { [NAME]: 'activate' } }], 'de-DE');
      behave = (_request, response) =>
        response
          .writeHead(400)
          .end(JSON.stringify({ error: { code: 'sites', message: '<img src=x onerror=alert(1)> %s' } }));
      const [odd] = await show([{ key }]);
      behave = (_request, response) =>
        response.writeHead(429).end(JSON.stringify({ error: { code: 'RATE_LIMITED', message: 'x' } }));
      const often = [await show([{ key }]), await show([{ key }], 'de-DE')].map(([html]) => says(html!));

      expect(hostile).not.toContain('<script');
      expect(often).toEqual([
        'This server has asked the licence server too often. Try again in a minute. |Activate this site|',
        'Dieser Server hat den Lizenzserver zu oft gefragt. Versuchen Sie es in einer Minute noch einmal. |Diese Website aktivieren|',
      ]);
      expect(says(lied!)).toBe(
        'The answer of the licence server is not signed by the vendor. Update this extension, or ask the vendor. |Activate this site|',
      );
      expect(says(away!)).toBe(
        'Der Lizenzserver antwortet nicht. Versuchen Sie es später noch einmal. |Diese Website aktivieren|',
      );
      expect(says(odd!)).toBe(
        'The licence server says: &lt;img src=x onerror=alert(1)&gt; %s Ask the vendor. |Activate this site|',
      );
    });
  });

  it('accepts every spelling of the site that the service accepts', async () => {
    reset();
    const spellings = [
      'customer.example',
      'WWW.customer.EXAMPLE.',
      'http://user@customer.example:8080/x?y#z',
      ' customer.example ',
    ];
    const asked = spellings.map((one): Call => ['entitled', key, one]);
    const [, ...results] = await call<boolean>([['activate', key, SITE], ...asked]);

    expect(results.map(({ result }) => result)).toEqual(spellings.map(() => true));
  });
});
