import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAuthority } from '../support/certificates';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { php72Faults, phpFaults } from '../support/php-files';
import { temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, startTestService, type TestService } from '../support/service';

/** The client of `licensing php`, by PHP, against the service and against servers that hang, break and lie. */

const NOW = new Date('2026-07-15T12:00:00Z');
const SECONDS = NOW.getTime() / 1000;
const DAY = 86_400;
const NAMESPACE = 'Acme\\Example\\Licensing';
const SITE = 'https://www.Customer.example/joomla/';

let service: TestService;
let folder: string;
let key: string;
let expiredKey: string;
let otherKey: string;

/** Stands between the client and the service: signs answers as signed-answers says, or does what a test wants. */
let behave: RequestListener | undefined;
let signer: { kid: string; privateKey: KeyObject };
/** changes a token before it is signed */
let twist: (token: { header: Record<string, unknown>; claims: Record<string, unknown> }) => void;
let requests: { url: string; body: Record<string, unknown> }[];
const servers: Server[] = [];
let plain: string;
let tls: string;
let ca: string;

const own = generateKeyPairSync('ed25519');
const KEYS = { '2026-1': own.publicKey.export({ format: 'jwk' }).x as string };

function reset(): void {
  behave = undefined;
  signer = { kid: '2026-1', privateKey: own.privateKey };
  twist = () => undefined;
  requests = [];
}

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token for an answer of the service. */
function tokenFor(sent: Record<string, unknown>, data: Record<string, unknown>, now = SECONDS): string {
  const activated = data.identifier_activated ?? data.identifier !== undefined;
  const valid = data.valid ?? true;
  const token = {
    header: { alg: 'EdDSA', kid: signer.kid, typ: 'license+jwt' } as Record<string, unknown>,
    claims: {
      ...{ iss: 'shop.example', sub: '1', aud: ['42', '44'], valid, status: data.status, plan: data.plan },
      ...{ limit: data.activation_limit, identifier: 'customer.example', activated, license_exp: null },
      ...{
        iat: now,
        nbf: now,
        exp: now + (valid === true ? 14 * DAY : 3_600),
        jti: randomUUID(),
        nonce: sent.nonce,
      },
    } as Record<string, unknown>,
  };
  twist(token);
  const signed = `${base64url(token.header)}.${base64url(token.claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), signer.privateKey).toString('base64url')}`;
}

const proxy: RequestListener = (request, response) => {
  void (async () => {
    const bytes = await buffer(request);
    const sent = (bytes.length === 0 ? {} : JSON.parse(bytes.toString())) as Record<string, unknown>;
    requests.push({ url: request.url ?? '', body: sent });
    if (behave !== undefined) return behave(request, response);
    const answer = await fetch(service.url + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: { 'Content-Type': 'application/json' },
      ...(bytes.length === 0 ? {} : { body: bytes }),
    });
    const json = (await answer.json()) as { data?: Record<string, unknown> };
    if (json.data !== undefined && sent.signed === true)
      json.data.token = tokenFor(sent, json.data, Math.floor(service.clock.now.getTime() / 1000));
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(json));
  })().catch((error: unknown) => response.destroy(error as Error));
};

beforeAll(async () => {
  reset();
  service = await startTestService({}, NOW);
  const { db } = service;
  const plan = await givePlan(db, { limit: 1 });
  key = (await giveLicense(db, plan)).key;
  expiredKey = (await giveLicense(db, plan, { expiresAt: new Date('2026-06-30T23:59:59Z') })).key;
  otherKey = (await giveLicense(db, await givePlan(db, { productId: 43 }))).key;
  await giveRelease(service, { version: '2.1.0' });
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
}, 60_000);
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await service.stop();
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
  /** without the extension curl */
  streams?: boolean;
}

async function runPhp(script: string, input: object, args: string[] = []): Promise<unknown> {
  const child = spawn('php', [...args, '-d', 'display_errors=stderr', join(__dirname, 'host', script)]);
  child.stdin.end(JSON.stringify(input));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (stderr !== '' || !stdout.startsWith('[')) throw new Error(`PHP failed: ${stderr}${stdout}`);
  return JSON.parse(stdout) as unknown;
}

interface Called<T> {
  result: T;
  seconds: number;
}

async function call<T>(calls: Call[], given: Given = {}): Promise<Called<T>[]> {
  const { streams = false, ...options } = given;
  const input = {
    folder,
    namespace: NAMESPACE,
    site: plain,
    product: 42,
    keys: KEYS,
    seconds: 5,
    now: SECONDS,
  };
  const store = temporaryFolder();
  const results = await runPhp('client.php', { ...input, store, ...options, calls }, streams ? ['-n'] : []);
  return results as Called<T>[];
}

const entitled = async (given: Given, of = key): Promise<boolean> =>
  (await call<boolean>([['entitled', of, SITE]], given))[0]!.result;

describe('licensing php', () => {
  it('writes PHP from 7.2.5 on, under the namespace, and again over its own files alone', async () => {
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
    writeFileSync(join(foreign, 'Token.php'), '<?php echo 1;');
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

describe.each<[string, () => Given]>([
  ['cURL', () => ({})],
  ['streams', () => ({ streams: true })],
  ['cURL and TLS', () => ({ site: tls, ca })],
  ['streams and TLS', () => ({ site: tls, ca, streams: true })],
])('by %s', (_name, way) => {
  it('activates, validates, checks, tells the latest version, and frees the slot', async () => {
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
        ['validate', 'AAAAAAAA-BBBBBBBB-CCCCCCCC-DDDDDDDD', SITE],
        ['activate', otherKey, SITE],
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
    for (const { url, body } of requests)
      if (/validate|activate/.test(url)) expect(body).toMatchObject({ product_id: 42 });
  });

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
  ])('takes a server that %s for one that is away', async (_behaviour, behaviour) => {
    reset();
    behave = behaviour;
    const [answer] = await call<Answer>([['validate', key, SITE]], way());

    expect(answer!.result).toMatchObject({ ok: false, code: null, data: {} });
    expect(answer!.result.message).toBe('The licence service does not answer. Try again later.');
    expect(requests).toHaveLength(1);
  });

  it('waits so long and no longer for a server that hangs, and for one that drips', async () => {
    reset();
    const drips: NodeJS.Timeout[] = [];
    behave = (request, response) => {
      if (request.url?.includes('check=1')) return;
      response.writeHead(200);
      drips.push(setInterval(() => response.write(' '), 50));
    };
    const answers = await call<Answer>([['check', key], ['latestVersion']], { ...way(), seconds: 1 });
    drips.forEach(clearInterval);

    for (const { result, seconds } of answers) {
      expect(result).toMatchObject({ ok: false, status: 0 });
      expect(seconds).toBeGreaterThan(0.9);
      expect(seconds).toBeLessThan(3);
    }
  });
});

it('trusts no certificate but those it should', async () => {
  reset();
  for (const streams of [false, true]) {
    const [answer] = await call<Answer>([['latestVersion']], { site: tls, streams });
    expect(answer!.result).toMatchObject({ ok: false, status: 0 });
  }
  expect(requests).toEqual([]);
});

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

  it('is kept without the key and the site, and counts for a day without another question', async () => {
    reset();
    expect(readdirSync(store)).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.txt$/)]);
    expect(readFileSync(stored, 'utf8')).not.toContain(key);

    expect(await entitled({ store, now: SECONDS + DAY - 1 })).toBe(true);
    expect(requests).toEqual([]);
    service.clock.now = new Date((SECONDS + DAY) * 1000);
    expect(await entitled({ store, now: SECONDS + DAY })).toBe(true);
    expect(requests).toHaveLength(1);
    service.clock.now = NOW;
  });

  it('counts until its end while the service is away, and the service is not asked at each page', async () => {
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

  it('is of one site, one key, one product and one service', async () => {
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
      'its own signature',
      () => {
        const foreign = generateKeyPairSync('ed25519');
        signer.privateKey = foreign.privateKey;
        const token = tokenFor({}, { valid: true, identifier_activated: true });
        signer.privateKey = own.privateKey;
        return token;
      },
    ],
    ['nothing', () => ''],
    ['a text', () => 'valid'],
    ['a longer pause', (token) => `${token.slice(0, -4)} ${SECONDS + 999 * DAY}`],
  ])('makes no licence of a file with %s', async (_name, change) => {
    reset();
    const changed = change(readFileSync(stored, 'utf8'));
    writeFileSync(stored, changed);
    expect(await entitled({ store, now: SECONDS + 1 })).toBe(true);
    // It had to ask.
    expect(requests).toHaveLength(1);
    behave = (_request, response) => response.writeHead(503).end();
    writeFileSync(stored, changed);
    expect(await entitled({ store, now: SECONDS + 1 })).toBe(false);
  });

  it('goes when the service clearly refuses the key, and when the slot is freed', async () => {
    reset();
    const refuse = { error: { code: 'LICENSE_NOT_FOUND', message: 'License not found' } };
    behave = (_request, response) => response.writeHead(403).end(JSON.stringify(refuse));
    expect(await entitled({ store, now: SECONDS + DAY })).toBe(false);
    expect(readdirSync(store)).toEqual([]);

    reset();
    await call([['activate', key, SITE]], { store });
    expect(readdirSync(store)).toHaveLength(1);
    await call([['deactivate', key, SITE]], { store });
    expect(readdirSync(store)).toEqual([]);
    expect(await entitled({ store })).toBe(false);
    await call([['activate', key, SITE]], { store });
  });

  it('of an expired licence is a no, which is soon asked again', async () => {
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
  type Token = Parameters<typeof twist>[0];

  it.each<[string, (token: Token) => void]>([
    ['of another key', () => void (signer.privateKey = generateKeyPairSync('ed25519').privateKey)],
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
  ])('is no licence: %s', async (_name, lie) => {
    reset();
    twist = lie;
    const [entitlement, answer] = await call<Answer & boolean>([
      ['entitled', key, SITE],
      ['validate', key, SITE],
    ]);

    expect(entitlement!.result).toBe(false);
    expect(answer!.result).toMatchObject({ ok: false, code: 'NOT_TRUSTED' });
  });

  it('is no licence: a token that says so', async () => {
    reset();
    twist = ({ claims }) => void (claims.activated = false);
    expect(await entitled({})).toBe(false);
    reset();
    twist = ({ claims }) => void (claims.valid = 'true');
    expect(await entitled({})).toBe(false);
  });

  it('is no licence: one of the service itself, which is not signed', async () => {
    const [standing] = await call<null>([['standing', key, SITE]], { site: service.url });
    expect(standing!.result).toBe(null);
  });
});

it('without keys goes by the answer alone, and keeps nothing', async () => {
  reset();
  const store = temporaryFolder();
  await call([['activate', key, SITE]]);

  expect(await entitled({ site: service.url, keys: {}, store })).toBe(true);
  expect(await entitled({ site: service.url, keys: {}, store }, otherKey)).toBe(false);
  expect(await entitled({ site: 'http://localhost:1', keys: {}, store })).toBe(false);
});

it('works with a folder that cannot be made', async () => {
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
      .replace(/'2026-1' => '[^']*'/, `'2026-1' => '${KEYS['2026-1']}'`);
    writeFileSync(licence, changed);
    reset();
    await call([['deactivate', key, SITE]]);
    // The extension goes by the machine's clock.
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
    const input = { folder: extension, cache: temporaryFolder(), root: SITE, language, steps };
    return (await runPhp('extension.php', input)) as string[];
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
    expect(says(full!)).toBe('The licence is not valid: expired. Sites: 0 of 1. This site is not activated.');
    expect(says(freed!)).toBe(
      'Done. Valid for life. Sites: 0 of 1. This site is not activated. |Activate this site|',
    );
    expect(silent).toBe('Text. ');
  });

  it('says what is wrong, in German too, and shows a hostile key as text', async () => {
    reset();
    const [unknown, hostile] = await show([
      { key: 'AAAAAAAA-BBBBBBBB-CCCCCCCC-DDDDDDDD', post: { [NAME]: 'activate' } },
      { key: '"><script>alert(1)</script>' },
    ]);
    behave = (_request, response) => response.writeHead(503).end();
    const [away] = await show([{ key, post: { [NAME]: 'activate' } }], 'de-DE');

    expect(says(unknown!)).toBe('The key is not known. |Activate this site|');
    expect(hostile).not.toContain('<script');
    expect(says(away!)).toBe(
      'Der Lizenzserver antwortet nicht. Versuchen Sie es später noch einmal. |Diese Website aktivieren|',
    );
  });
});

it('takes every spelling of the site that the service takes', async () => {
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

it('has sodium in this PHP, so that these tests mean something', () => {
  expect(spawnSync('php', ['-m'], { encoding: 'utf8' }).stdout).toMatch(/^sodium$/m);
});
