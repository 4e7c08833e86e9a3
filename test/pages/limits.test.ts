import { brotliCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { generateSecret } from '../../src/access/random-secret';
import { FIXED_LIMITS } from '../../src/http/limits/rate-limit';
import { startManaged, type Managed } from '../support/manage';
import { openRaw, type RawAnswer } from '../support/raw-http';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';
import { signDigistore24 } from '../support/shop-senders';
import { eventually } from '../support/processes';
import { customerClient, pagesClient, textOf } from './support/session';

/** The limits on reading a request's body, and on how much of the service one visitor can use. */

const NOW = new Date('2026-11-24T12:00:00Z');
const SHOP_SECRET = 'a passphrase of the seller';
/** 2 MB that compress to 25 bytes. */
const BOMB = brotliCompressSync(`key=${'+A'.repeat(1_040_000)}`);
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

describe('the body of a request', () => {
  let service: Managed;
  let token: string;
  beforeAll(async () => {
    service = await startManaged({}, NOW);
    await service.write.ok('POST /shops', { name: 'ds24', kind: 'digistore24', secret: SHOP_SECRET }, 201);
    await service.write.ok('POST /products', { id: 42, name: 'Pro' }, 201);
    token = service.write.token;
  });
  afterAll(() => service.stop());

  const visit = (from: string) => ({ 'X-Forwarded-For': from });
  const send = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    fetch(`${service.url}${PREFIX}${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Origin: service.url, ...FORM, ...headers },
      body,
    });
  /** Sends only the head of a request, whose body never arrives, and returns the answer. */
  async function headOnly(path: string, headers: Record<string, string>): Promise<RawAnswer> {
    const connection = openRaw(service.url);
    const lines = Object.entries({ Host: new URL(service.url).host, ...FORM, ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    try {
      const answer = await connection.send(
        `POST ${PREFIX}${path} HTTP/1.1\r\n${lines}Content-Length: 8000\r\n\r\n`,
      );
      return answer as RawAnswer;
    } finally {
      connection.close();
    }
  }

  it('is refused with a text if it is compressed, at every address that takes a body', async () => {
    const operator = await pagesClient(service);
    const cookies = [...operator.cookies].map((cookie) => cookie.join('=')).join('; ');
    const [session, bearer] = [{ Cookie: cookies }, { Authorization: `Bearer ${token}` }];
    const json = { 'Content-Type': 'application/json' };
    const addresses: [string, Record<string, string>][] = [
      ...['/pages/my', '/pages/sign-in', '/pages/my/link', '/pages/preferences'].map(
        (path): [string, Record<string, string>] => [path, {}],
      ),
      ['/pages/products/new', session],
      ['/hooks/ds24', {}],
      ...['activate', 'validate', 'deactivate'].map((name): [string, Record<string, string>] => [
        `/licenses/${name}`,
        json,
      ]),
      ['/licenses/validate', FORM],
      ['/manage/products', { ...bearer, ...json }],
      ['/manage/products/42/releases', { ...bearer, 'Content-Type': 'application/zip' }],
    ];
    for (const encoding of ['br', 'gzip', 'deflate', 'x', 'gzip, gzip', 'identity, br'])
      for (const [path, headers] of addresses) {
        const answer = await send(path, BOMB, { ...headers, 'Content-Encoding': encoding });
        expect([path, encoding, answer.status]).toEqual([path, encoding, 415]);
        expect(await answer.text()).toMatch(/compressed/);
      }
    // 403 means that the key is unknown, so the body was read.
    expect((await send('/licenses/validate', 'dlid=A', { 'Content-Encoding': 'identity' })).status).toBe(403);
  });

  it.each([
    ['en', 'This is too large. Go back, shorten what you typed'],
    ['de', 'Das ist zu groß. Bitte gehen Sie zurück, kürzen Sie Ihre Eingabe'],
  ])('is refused with a text if a public form is larger than 16 KiB: %s', async (language, words) => {
    for (const path of ['/pages/my', '/pages/my/link', '/pages/sign-in', '/pages/my/preferences']) {
      const field = (length: number) => `key=${'+'.repeat(length - 4)}`;
      const large = await send(path, field(16 * 1024 + 1), { 'Accept-Language': language });
      expect([large.status, textOf(await large.text())]).toEqual([413, expect.stringContaining(words)]);
      const fitting = await send(path, field(16 * 1024), { 'Accept-Language': language });
      expect([path, fitting.status]).not.toEqual([path, 413]);
    }
  });

  it('may be larger for an operator, who writes changelogs', async () => {
    const operator = await pagesClient(service);
    const refused = await operator.post('/products/new', { name: 'x'.repeat(1024 * 1024) });
    expect(refused.status).toBe(400);
    expect((await operator.post('/products/new', { name: 'x'.repeat(2 * 1024 * 1024) })).status).toBe(413);
  });

  it('is not awaited before the sender is known', async () => {
    const origin = { Origin: service.url };
    expect(await headOnly('/pages/products/new', origin)).toMatchObject({ status: 303 });
    const made = { ...origin, Cookie: `licensing=${generateSecret()}; licensing_my=${generateSecret()}` };
    expect(await headOnly('/pages/products/new', made)).toMatchObject({ status: 303 });
    expect(await headOnly('/pages/my/sites', made)).toMatchObject({ status: 303 });
    expect(await headOnly('/pages/nowhere', origin)).toMatchObject({ status: 405 });
    expect(await headOnly('/manage/products', { 'Content-Type': 'application/json' })).toMatchObject({
      status: 401,
    });
    expect(await headOnly('/pages/my', { Origin: 'https://other.example' })).toMatchObject({ status: 403 });
  });

  it('is not awaited from a network that has sent too much', async () => {
    const from = visit('198.51.100.1');
    for (let i = 0; i < FIXED_LIMITS.pages; i++) await headOnlyRefused(from);
    const refused = await headOnly('/pages/my', { Origin: service.url, ...from });
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    const asked = await send('/pages/my', 'key=WRONG', visit('198.51.100.2'));
    expect(asked.status).toBe(404);
  });
  const headOnlyRefused = (from: Record<string, string>) =>
    fetch(`${service.url}${PREFIX}/pages/my`, { method: 'HEAD', headers: from });

  it('of a message of Digistore24 is not awaited after too many wrong signatures, nor beyond 64 KiB', async () => {
    const from = visit('198.51.100.3');
    const large = await send('/hooks/ds24', 'a'.repeat(64 * 1024 + 1), from);
    expect([large.status, await large.text()]).toEqual([413, expect.stringContaining('64 KiB')]);
    const wrong = signDigistore24({ event: 'connection_test' }, 'another passphrase');
    const answers = await Promise.all(
      Array.from({ length: FIXED_LIMITS.hook_failures + 20 }, () => send('/hooks/ds24', wrong.body, from)),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(FIXED_LIMITS.hook_failures);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    expect(await headOnly('/hooks/ds24', from)).toMatchObject({ status: 429 });
    const right = signDigistore24({ event: 'connection_test' }, SHOP_SECRET);
    expect((await send('/hooks/ds24', right.body, visit('198.51.100.4'))).status).toBe(200);
  });

  it('can have long fields, which are read and shown again only in part', async () => {
    await giveLicense(service.db, await givePlan(service.db, {}, NOW), { customer: 'jane@example.com' }, NOW);
    const customer = await customerClient(service, { email: 'jane@example.com' });
    const long = 'y'.repeat(10_000);
    const found = await customer.post('/my/sites', { site: long });
    const typed = await customer.post('/my', { key: long });
    expect([found.status, typed.status]).toEqual([200, 404]);
    for (const { html } of [found, typed]) expect(html).not.toContain('y'.repeat(1_002));
    expect(found.html).not.toContain('y'.repeat(257));
  });
});

describe('one visitor among many', () => {
  let service: TestService;
  let license: TestLicense;
  let database: Connection;
  beforeAll(async () => {
    const url = await createMariaDbDatabase();
    service = await startTestService(
      { LICENSING_DATABASE_URL: url, LICENSING_DATABASE_CONNECTIONS: '5' },
      NOW,
    );
    const plan = await givePlan(service.db, {}, NOW);
    license = await giveLicense(service.db, plan, { customer: 'jane@example.com' }, NOW);
    database = await createConnection({ uri: url });
  });
  afterAll(async () => {
    await database.end();
    await service.stop();
  });

  const validate = () =>
    fetch(`${service.url}${PREFIX}/licenses/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: license.key }),
    });
  const open = (path: string, headers: Record<string, string>) =>
    fetch(`${service.url}${PREFIX}/pages${path}`, { redirect: 'manual', headers });
  /** Runs the work while a lock blocks reading the sessions. */
  async function whileHeld(work: () => Promise<void>): Promise<void> {
    await database.query('LOCK TABLES licensing_sessions WRITE');
    try {
      await work();
    } finally {
      await database.query('UNLOCK TABLES');
    }
  }

  /** Counts the statements that wait for the sessions. */
  async function waiting(): Promise<number> {
    const [rows] = await database.query<(RowDataPacket & { n: number })[]>(
      `SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST
        WHERE DB = DATABASE() AND ID <> CONNECTION_ID() AND INFO LIKE '%licensing_sessions%'`,
    );
    return Number(rows[0]?.n);
  }

  it('gets one answer at a time in a session, while few requests may wait', async () => {
    const customer = await customerClient(service, { email: 'jane@example.com' });
    const Cookie = `licensing_my=${customer.cookies.get('licensing_my')}`;
    let answers: Promise<number>[] = [];
    let refused = 0;
    await whileHeld(async () => {
      answers = Array.from({ length: 12 }, async () => {
        const { status } = await open('/my/mail', { Cookie });
        if (status === 429) refused++;
        return status;
      });
      await eventually(() => expect(refused).toBe(7));
    });
    const statuses = await Promise.all(answers);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    const [other, mine] = await Promise.all([
      customerClient(service, { key: license.key }),
      customer.get('/my/mail'),
    ]);
    expect([mine.status, (await other.get('/my')).status]).toEqual([200, 200]);
  });

  it('has a limit for each session, which does not affect other sessions', async () => {
    const [one, other] = [
      await customerClient(service, { email: 'jane@example.com' }),
      await customerClient(service, { email: 'jane@example.com' }),
    ];
    const { my_sessions: most } = FIXED_LIMITS;
    for (let i = 0; i < most; i++)
      expect((await one.get('/my/sites', { 'X-Forwarded-For': '198.51.100.9' })).status).toBe(303);
    const refused = await one.get('/my/mail', { 'X-Forwarded-For': '198.51.100.10' });
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect((await other.get('/my/mail')).status).toBe(200);
  });

  it('leaves database connections for customers’ calls, however long the pages wait', async () => {
    let pages: Promise<number>[] = [];
    await whileHeld(async () => {
      pages = Array.from({ length: 20 }, async (_, i) => {
        const cookies = `licensing=${generateSecret()}; licensing_my=${generateSecret()}`;
        return (await open(i % 2 === 0 ? '/licenses' : '/my/mail', { Cookie: cookies })).status;
      });
      // The pages use two of the five connections.
      await eventually(async () => expect(await waiting()).toBe(2));
      for (let i = 0; i < 5; i++) expect((await validate()).status).toBe(200);
      expect(await waiting()).toBe(2);
    });
    for (const status of await Promise.all(pages)) expect([303, 503]).toContain(status);
  });
});
