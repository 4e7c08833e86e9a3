import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addSigningKey } from '../../src/licensing/signing-keys';
import type { Settings } from '../../src/settings/config';
import { generateKey } from '../../src/licensing/core/keys';
import { IS_WHOLE, runs } from '../support/extent';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import { entry } from '../support/program';
import { startMariaDb, type MariaDb } from '../support/servers';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  unusedAddress,
  countTimes,
  type TestService,
} from '../support/service';
import {
  openMigrated,
  processEnvironment,
  startProgram,
  startServiceProcess,
} from '../support/service-process';

/** Secrets that must not appear in any log, in any case or encoding. */
const COOKIE = `cookie${randomBytes(8).toString('hex')}`;
const TOKEN = `token${randomBytes(8).toString('hex')}`;
const QUERY = `query${randomBytes(8).toString('hex')}`;
const PASSWORD = `pass${randomBytes(8).toString('hex')}`;
const SECRET = randomBytes(32).toString('base64');
const IMPORTED = `Shop-${randomBytes(4).toString('hex')}-Imported-${randomBytes(4).toString('hex')}`;
const UNKNOWN = [generateKey(), `Nobody-${randomBytes(8).toString('hex')}`];

/** Returns a key, and the parts of it that reveal more than its hint. */
function tracesOf(key: string): string[] {
  const groups = key.split('-');
  return [key, key.replaceAll('-', ''), ...groups.slice(0, -1).filter((group) => group.length === 8)];
}

function leaks(lines: string[], secrets: string[]): string[] {
  const wanted = secrets.map((secret) => secret.toLowerCase());
  return lines.filter((line) => {
    const texts = [
      line,
      line.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    ];
    return texts.some((text) => wanted.some((secret) => text.toLowerCase().includes(secret)));
  });
}

interface Call {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Sends a call without normalizing its path. Resolves with the status, or 0 if the connection broke. */
function call(url: string, { method = 'GET', path, headers = {}, body }: Call): Promise<number> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const sent = httpRequest({
      hostname,
      port,
      method,
      path,
      headers: { ...credentials(), ...headers },
      agent: false,
    });
    sent.on('response', (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

/** Returns the headers that a browser on the same host sends too. */
function credentials(): Record<string, string> {
  return {
    Cookie: `joomla_session=${COOKIE}`,
    Authorization: `Bearer ${TOKEN}`,
    Referer: `https://shop.example/?x=${QUERY}`,
    'User-Agent': `Joomla ${TOKEN}`,
  };
}

/** Sends raw bytes in the request line, which Node's client would refuse. */
function callRaw(url: string, path: string): Promise<void> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () =>
      socket.end(
        Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: a=${COOKIE}\r\nConnection: close\r\n\r\n`),
      ),
    );
    socket.resume().once('close', () => resolve());
    socket.on('error', () => undefined);
  });
}

const ENDPOINTS = ['activate', 'validate', 'deactivate'];
const JSON_TYPE = { 'Content-Type': 'application/json' };
const FORM_TYPE = { 'Content-Type': 'application/x-www-form-urlencoded' };

function spellings(key: string): string[] {
  const pasted = [` ${key}\t`, `dlid=${key}`, `"${key}"`, `${key}_`, `${key}\u200b`, `license_key: ${key}`];
  return [
    key,
    key.toLowerCase(),
    key.replaceAll('-', ''),
    ...pasted,
    `${key.slice(0, 12)}\u00a0${key.slice(12)}`,
  ];
}

/** Returns calls with a key in every place where a client could put it. */
function calls(key: string): Call[] {
  const encoded = encodeURIComponent(key);
  const everyByte = [...Buffer.from(key)].map((byte) => `%${byte.toString(16)}`).join('');
  const post = (endpoint: string, body: string, headers = JSON_TYPE as Record<string, string>): Call => ({
    method: 'POST',
    path: `${PREFIX}/licenses/${endpoint}?q=${QUERY}&dlid=${encoded}`,
    headers,
    body,
  });
  const signed = ['activate', 'validate'].flatMap((endpoint) => [
    post(endpoint, JSON.stringify({ dlid: key, identifier: 'example.com', signed: true, nonce: QUERY })),
    post(endpoint, JSON.stringify({ dlid: key, identifier: 'example.com', signed: key, nonce: key })),
  ]);
  // This endpoint reads its body like the others.
  const files = [{ license_key: key, identifier: 'example.com' }, { dlid: key, identifier: key }, [key]].map(
    (body) => post('token', JSON.stringify(body)),
  );
  const posts = ENDPOINTS.flatMap((endpoint) => [
    post(endpoint, JSON.stringify({ license_key: key, identifier: 'example.com', name: 'Main' })),
    post(endpoint, JSON.stringify({ dlid: key, identifier: 'other.example' })),
    post(endpoint, JSON.stringify({ dlid: key, identifier: key, name: key, more: key })),
    post(endpoint, JSON.stringify({ license_key: { [key]: key }, dlid: [key] })),
    post(endpoint, JSON.stringify({ license_key: `${key}\u0000`, identifier: '127.1' })),
    post(endpoint, JSON.stringify([key])),
    post(endpoint, `{"license_key": "${key}", `),
    post(endpoint, `{"${key}": `),
    post(endpoint, key),
    post(endpoint, `dlid=${encoded}&identifier=example.com`, FORM_TYPE),
    post(endpoint, `${encoded}&%ZZ`, FORM_TYPE),
    post(endpoint, key, { 'Content-Type': 'text/plain' }),
    post(endpoint, key, { 'Content-Type': `application/json; charset=${encoded}` }),
    post(endpoint, key, { ...JSON_TYPE, 'Content-Encoding': encoded }),
    post(endpoint, JSON.stringify({ license_key: key.repeat(3_000) })),
    { path: `${PREFIX}/licenses/${endpoint}?dlid=${encoded}` },
    { method: 'DELETE', path: `${PREFIX}/licenses/${endpoint}?license_key=${encoded}` },
    { method: 'POST', path: `${PREFIX}/licenses/${endpoint}/${encoded}`, headers: JSON_TYPE, body: '{}' },
  ]);
  const gets = [
    ...[
      `/updates/42?dlid=${encoded}`,
      `/updates/${encoded}`,
      `/updates/42/${encoded}`,
      `/updates?dlid=${encoded}`,
    ],
    ...[
      `/downloads/42?dlid=${encoded}`,
      `/downloads/42?license_key=${encoded}`,
      `/downloads/42?dlid=${everyByte}`,
    ],
    ...[
      `/downloads/42?amp;dlid=${encoded}`,
      `/downloads/42?dlid=dlid=${encoded}`,
      `/downloads/42/?dlid=${encoded}`,
    ],
    ...[
      `/downloads/42?dlid=x&dlid=${encoded}`,
      `/downloads/42?dlid=${encoded}%ZZ`,
      `/downloads/${encoded}?dlid=${encoded}`,
    ],
    ...[
      `/downloads/42&v=2?dlid=${encoded}`,
      `/downloads/43?dlid=${encoded}`,
      `/downloads/42/${encoded}`,
      `/downloads/${encoded}`,
    ],
    ...[
      `/downloads/42?dlid=${encoded}&identifier=${encoded}`,
      `/downloads/42?dlid=${encoded}&version=${encoded}`,
    ],
    ...[
      `/downloads/42?dlid=x&version=${encoded}`,
      `/downloads/42?${encoded}`,
      `/downloads/42?${encoded}=${encoded}`,
    ],
    ...[
      `/${encoded}`,
      `/dlid=${encoded}`,
      `/dlid%3D${everyByte}`,
      `/licenses/${encoded}`,
      `/licenses?dlid=${encoded}`,
    ],
    ...[`/downloads/42?dlid=${encoded}&q=${QUERY}`, `//${encoded}`, `/%ZZ${encoded}`, `/../${encoded}`],
  ].map((path): Call => ({ path: PREFIX + path }));
  const elsewhere = ['', '/dlid=', '/licensing/', `/administrator/index.php?dlid=`, '/?'].map(
    (path): Call => ({ path: `${path}/${encoded}?q=${QUERY}` }),
  );
  const headers: Call[] = [
    'Cookie',
    'Authorization',
    'Referer',
    'User-Agent',
    'X-Request-Id',
    'X-Forwarded-For',
    'Range',
  ]
    .map((name) => ({ [name]: encoded }))
    .map((one) => ({ path: `${PREFIX}/downloads/42?dlid=${encoded}`, headers: one }));
  return [
    ...[...posts, ...signed, ...files],
    ...gets,
    ...elsewhere,
    ...headers,
    { method: 'HEAD', path: `${PREFIX}/downloads/42?dlid=${encoded}` },
  ];
}

/**
 * Makes every call above with every key, known or unknown. Each other spelling of a key is sent to some of the places, or
 * to all with TEST_FAULTS=all.
 */
async function callAll(url: string, keys: string[]): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const isSent = (spelling: number, place: number) =>
    IS_WHOLE || spelling === 0 || place % 9 === spelling - 1;
  const all = keys.flatMap((key) =>
    spellings(key).flatMap((spelled, spelling) =>
      calls(spelled).filter((_, place) => isSent(spelling, place)),
    ),
  );
  // Send a few at a time: more connections would only wait for each other.
  const queue = [...all];
  const work = async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const status = await call(url, next);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  for (const key of keys) {
    await callRaw(url, `${PREFIX}/downloads/42?dlid=${key}\u00a0`);
    await callRaw(url, `${PREFIX}/downloads/42?dlid=${key} ${key}`);
    await callRaw(url, `${PREFIX}/${key}\u0000`);
  }
  return statuses;
}

it('the search for secrets finds them', () => {
  const key = generateKey();
  for (const line of [
    key,
    key.toLowerCase(),
    `"path":"/${encodeURIComponent(key)}"`,
    key.slice(0, 8),
    `%${key.charCodeAt(0).toString(16)}${key.slice(1)}`,
  ])
    expect(leaks([line], tracesOf(key))).toEqual([line]);
  expect(leaks(['{"msg":"refused"}', key.slice(-8)], tracesOf(key))).toEqual([]);
});

describe.each(ONE_BACKEND)('no key, cookie, query string or password is logged, on %s', (_name, backend) => {
  let service: TestService;
  let own: string;
  beforeAll(async () => {
    service = await startTestService({
      ...(await backend()),
      LICENSING_LOG_LEVEL: 'trace',
      LICENSING_KEY_SECRET: SECRET,
      // The client is not a trusted proxy, so its headers are not trusted either.
      LICENSING_TRUSTED_PROXIES: '192.0.2.1',
    });
    const plan = await givePlan(service.db, { limit: 3 });
    own = (await giveLicense(service.db, plan)).key;
    await addSigningKey(service.db, Buffer.from(SECRET, 'base64'), {
      actor: 'operator:test',
      now: new Date(),
    });
    await giveLicense(service.db, plan, { key: IMPORTED });
    await giveRelease(service, { version: '1.0' });
  });
  afterAll(() => service.stop());

  const secrets = () => [
    ...[own, IMPORTED, ...UNKNOWN].flatMap(tracesOf),
    ...[COOKIE, TOKEN, QUERY, PASSWORD, SECRET],
  ];
  const logged = (code: string) =>
    service.logLines.filter((line) => line.includes(`"code":"${code}"`)).length;

  it('while it answers', async () => {
    const statuses = await callAll(service.url, [own, IMPORTED, ...UNKNOWN]);
    // The run had successes, and refusals of every kind, as intended.
    for (const status of [200, 400, 403, 404, 405])
      expect([status, statuses.get(status) ?? 0]).not.toEqual([status, 0]);
    for (const code of [
      'INVALID_REQUEST',
      'LICENSE_NOT_FOUND',
      'ACTIVATION_NOT_FOUND',
      'NOT_FOUND',
      'METHOD_NOT_ALLOWED',
    ])
      expect([code, logged(code)]).not.toEqual([code, 0]);
    expect(service.logLines.length).toBeGreaterThan(runs(500, 1_000));
    expect(leaks(service.logLines, secrets())).toEqual([]);
    expect(statuses.get(500)).toBeUndefined();
  });

  it('nor is a key in the access log, wherever it was sent', async () => {
    await eventually(async () => expect(await countTimes(service.db, 'access_log')).toBeGreaterThan(100));
    const lines = (await rows(service.db, 'access_log')).map((row) => JSON.stringify(row));
    expect(leaks(lines, [own, ...UNKNOWN.slice(0, 1)])).toEqual([]);
  });

  it('while limits refuse every client', async () => {
    const limited = await startTestService({
      LICENSING_RATE_LIMIT: '1',
      LICENSING_LOG_LEVEL: 'trace',
      LICENSING_TRUSTED_PROXIES: '192.0.2.1',
    });
    const statuses = await callAll(limited.url, UNKNOWN.slice(0, 1));
    expect(statuses.get(429)).toBeGreaterThan(100);
    await limited.stop();
    expect(leaks(limited.logLines, secrets())).toEqual([]);
  });

  it('while every statement fails', async () => {
    const seen = service.logLines.length;
    await service.db.schema.dropTable('licensing_activations');
    await service.db.schema.renameTable('licensing_licenses', 'licensing_gone');
    const statuses = await callAll(service.url, [own, UNKNOWN[0]!]);
    const failed = (statuses.get(500) ?? 0) + (statuses.get(503) ?? 0);
    expect(failed).toBeGreaterThan(100);
    expect(service.logLines.slice(seen).filter((line) => line.includes('"fault"')).length).toBeGreaterThan(
      100,
    );
    expect(leaks(service.logLines, secrets())).toEqual([]);
    await service.db.schema.renameTable('licensing_gone', 'licensing_licenses');
  });
});

describe('no password is logged', () => {
  let database: MariaDb;
  beforeAll(async () => {
    database = await startMariaDb();
    const connection = await database.connect();
    await connection.query(`CREATE DATABASE shop`);
    await connection.query(`CREATE USER shop@'127.0.0.1' IDENTIFIED BY '${PASSWORD}'`);
    await connection.query(`GRANT ALL ON shop.* TO shop@'127.0.0.1'`);
    await connection.end();
  });
  afterAll(() => database.stop());

  const settings = async (): Promise<Settings> => ({
    LICENSING_DATABASE_URL: `mysql://shop:${PASSWORD}@127.0.0.1:${database.port}/shop`,
    LICENSING_REDIS_URL: `redis://:${PASSWORD}@${await unusedAddress()}`,
    LICENSING_KEY_SECRET: SECRET,
    LICENSING_LOG_LEVEL: 'trace',
    LICENSING_TRUSTED_PROXIES: '192.0.2.1',
  });

  it('nor a key, when the service loses the database and Redis', async () => {
    const all = await settings();
    const db = await openMigrated(all);
    const { key } = await giveLicense(db, await givePlan(db));
    await addSigningKey(db, Buffer.from(SECRET, 'base64'), { actor: 'operator:test', now: new Date() });
    await db.destroy();
    const service = await startServiceProcess(all);
    const ask = () =>
      call(service.url, {
        method: 'POST',
        path: `${PREFIX}/licenses/validate?q=${QUERY}`,
        headers: JSON_TYPE,
        body: JSON.stringify({ license_key: key, identifier: 'example.com' }),
      });
    expect(await ask()).toBe(200);
    const statuses = await callAll(service.url, [key]);
    expect(statuses.get(500)).toBeUndefined();
    const compressed = { ...JSON_TYPE, 'Content-Encoding': 'gzip' };
    for (const endpoint of [...ENDPOINTS, 'token']) {
      const sent = { method: 'POST', path: `${PREFIX}/licenses/${endpoint}`, headers: compressed, body: key };
      expect(await call(service.url, sent)).toBe(415);
    }
    await database.stop('SIGKILL');
    const away = [];
    for (let i = 0; i < 5; i++)
      away.push(await ask(), await call(service.url, { path: `${PREFIX}/downloads/42?dlid=${key}` }));
    expect(new Set(away)).toEqual(new Set([503]));
    await service.stop();
    expect(service.log().filter(({ msg }) => msg === 'failed').length).toBeGreaterThanOrEqual(10);
    expect(service.lines.join('\n')).toContain('Redis is away');
    expect(leaks(service.lines, [...tracesOf(key), COOKIE, TOKEN, QUERY, PASSWORD, SECRET])).toEqual([]);
    await database.start();
  });

  it.each(['the server is away', 'the password is wrong'])(
    'at a start that fails because %s',
    async (why) => {
      const port =
        why === 'the server is away' ? (await unusedAddress()).split(':')[1]! : String(database.port);
      const env = processEnvironment({
        ...(await settings()),
        LICENSING_DATABASE_URL: `mysql://shop:${PASSWORD}x@127.0.0.1:${port}/shop`,
      });
      const { code, stdout, stderr } = await startProgram(process.execPath, [entry('main')], env).ended;
      expect(code).not.toBe(0);
      expect(stdout + stderr).not.toBe('');
      expect(leaks([stdout, stderr], [PASSWORD, SECRET])).toEqual([]);
    },
  );
});
