import { consumeCode } from '../../src/access/one-time-codes';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { issueLicenses } from '../../src/licensing/issue';
import { listMails, queueMail, type MailRequest } from '../../src/mail/queue';
import { customerDigest } from '../../src/store/customer-digest';
import { table, type Db } from '../../src/store/engine/database';
import { CUSTOMER_LANGUAGES } from '../../src/texts/customers/languages';
import { MAIL_PASSWORD, MAIL_USER, startMailServer, type MailServer } from '../support/mail-server';
import { eventually, freePort, temporaryFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  givePlan,
  rows,
  startTestService,
  type TestService,
} from '../support/service';

/** The outbox with a real mail server that fails in every way. */

const PUBLIC_URL = 'https://shop.example';
const SECRET = Buffer.alloc(32, 7);
const [HOUR, DAY] = [3_600_000, 86_400_000];

let server: MailServer;
const services: TestService[] = [];
beforeAll(async () => {
  server = await startMailServer();
});
afterEach(async () => {
  Object.assign(server.manners, { refuses: {}, password: MAIL_PASSWORD, holds: false, hangs: false });
  server.received.length = 0;
  for (const service of services.splice(0)) await service.stop();
});
afterAll(() => server.stop());

const login = (password = MAIL_PASSWORD) => `${MAIL_USER}:${encodeURIComponent(password)}@`;
const urlOf = (port: number, user = login()) => `smtp://${user}127.0.0.1:${port}?from=sales@shop.example`;

async function start(settings: Settings = {}): Promise<TestService> {
  const service = await startTestService({
    LICENSING_MAIL_URL: urlOf(server.port),
    LICENSING_PUBLIC_URL: PUBLIC_URL,
    LICENSING_KEY_SECRET: SECRET.toString('base64'),
    ...settings,
  });
  services.push(service);
  return service;
}

async function giveSold(db: Db, customer = 'jane@example.com') {
  const request = { planId: await givePlan(db), customer, reference: undefined, expiresAt: undefined };
  const terms = { activationLimit: undefined, key: undefined, count: 1 };
  const [issued] = await issueLicenses(db, { ...request, ...terms }, 'operator:test', SECRET, new Date());
  return { id: issued!.license.id, key: issued!.key! };
}

const queue = ({ db, clock }: TestService, request: MailRequest) =>
  queueMail(db, request, { now: clock.now, language: 'en' });

interface Stored {
  id: number;
  attempts: number;
  sent_at: string | null;
  failed_at: string | null;
  next_attempt_at: string | null;
  last_error: string | null;
  message_id: string;
  recipient: string | null;
  recipient_digest: string | null;
}

const stored = async ({ db }: TestService) => (await rows<Stored>(db, 'outbox')).at(-1) as Stored;

describe.each<[string, () => Promise<Settings>]>([
  ['SQLite', () => Promise.resolve({})],
  ['MariaDB', async () => ({ LICENSING_DATABASE_URL: await createMariaDbDatabase() })],
])('%s', (_name, database) => {
  test('a key is mailed at once, in both forms, and the row holds no secret', async () => {
    const service = await start(await database());
    const { id, key } = await giveSold(service.db);
    await queue(service, { type: 'license_key', licenseId: id });
    const mail = await eventually(() => server.received[0] ?? Promise.reject(new Error('no mail')));
    const row = await eventually(async () => {
      const one = await stored(service);
      expect(one.sent_at).not.toBeNull();
      return one;
    });
    expect(mail).toMatchObject({
      to: ['jane@example.com'],
      from: 'sales@shop.example',
      subject: 'Your licence key for Example Shop',
    });
    expect(mail.messageId).toBe(`<${row.message_id}@shop.example>`);
    expect(mail.text).toMatch(/^Content-Type: multipart\/alternative/m);
    expect(mail.text.split(key)).toHaveLength(3);
    expect(mail.text).toContain(`${PUBLIC_URL}/api/index.php/v1/licensing/pages/my and paste`);
    // The licence has no end and the shop no support address, so their lines are left out.
    expect(mail.text).not.toMatch(/valid until|Questions/);
    // No placeholder is left; the rules of the HTML's style have braces too.
    expect(mail.text.replace(/<style>[^]*?<\/style>/g, '')).not.toMatch(/[{}](?!;)/);
    expect(JSON.stringify(row)).not.toMatch(new RegExp(`${key}|jane`));
    expect(await listMails(service.db, id)).toEqual([
      {
        id: row.id,
        type: 'license_key',
        state: 'sent',
        createdAt: expect.any(Date),
        sentAt: expect.any(Date),
      },
    ]);
    expect(service.logLines.join('')).not.toMatch(new RegExp(`${key}|jane@|${MAIL_PASSWORD}`));
  });

  test('two services on one database send each mail once', async () => {
    const settings = await database();
    // Only one service can use an SQLite file.
    if (settings.LICENSING_DATABASE_URL === undefined) return;
    const [one, other] = [await start(settings), await start(settings)];
    const { id } = await giveSold(one.db);
    for (let i = 0; i < 24; i++)
      await queue(i % 2 === 0 ? one : other, { type: 'license_key', licenseId: id });
    await eventually(async () => {
      expect(await one.db(table(one.db, 'outbox')).whereNull('sent_at')).toEqual([]);
    });
    expect(new Set(server.received.map(({ messageId }) => messageId)).size).toBe(24);
    expect(server.received).toHaveLength(24);
  });
});

const VALID = /valid until|gültig bis/;
const [PAUSED, ENDED] = [
  /Your licence is paused|Ihre Lizenz ist ausgesetzt/,
  /Your licence ended on|Ihre Lizenz endete am/,
];

/** The licence's columns, and the sentence in the mail with its key. */
test.each<[string, Record<string, string | number>, RegExp | undefined]>([
  ['an active one', { expires_at: '2030-01-01 00:00:00' }, VALID],
  ['one for life', { status: 'active' }, undefined],
  ['a suspended one', { expires_at: '2030-01-01 00:00:00', status: 'suspended' }, PAUSED],
  [
    'one that was suspended before its end',
    { expires_at: '2020-01-01 00:00:00', status: 'suspended' },
    PAUSED,
  ],
  ['an expired one', { expires_at: '2020-01-01 00:00:00' }, ENDED],
  [
    'a subscription whose renewal is awaited',
    { expires_at: '2026-11-27 00:00:00', grace_days: 3, renews_itself: 1 },
    undefined,
  ],
])('the mail with the key of %s states its end correctly in each language', async (_name, columns, says) => {
  const service = await start();
  const { db, clock } = service;
  clock.now = new Date('2026-11-25T12:00:00Z');
  const { id } = await giveSold(db);
  await db(table(db, 'licenses')).where({ id }).update(columns);
  for (const language of CUSTOMER_LANGUAGES)
    await queueMail(db, { type: 'license_key', licenseId: id }, { now: clock.now, language });
  await eventually(() => expect(server.received).toHaveLength(CUSTOMER_LANGUAGES.length));
  for (const { text } of server.received)
    expect([VALID, PAUSED, ENDED].filter((one) => one.test(text))).toEqual(says === undefined ? [] : [says]);
});

test('a mail server is down, then back: pauses grow and nothing is lost; after two days the mail is given up', async () => {
  const port = await freePort();
  const service = await start({ LICENSING_MAIL_URL: urlOf(port, '') });
  const { id } = await giveSold(service.db);
  await queue(service, { type: 'license_key', licenseId: id });
  const began = service.clock.now.getTime();
  const pauses: number[] = [];
  const attempted = (attempts: number) =>
    eventually(async () => {
      const row = await stored(service);
      expect([row.attempts, row.last_error]).toEqual([attempts, 'NOT_CONNECTED']);
      const pause =
        row.next_attempt_at === null ? null : timeOf(row.next_attempt_at) - cut(service.clock.now);
      // The claim is for two minutes, which is not one of the pauses.
      expect(pause).not.toBe(120_000);
      return pause;
    });
  for (let attempts = 1; attempts <= 5; attempts++) {
    const pause = (await attempted(attempts)) as number;
    pauses.push(pause / 60_000);
    service.clock.now = new Date(service.clock.now.getTime() + pause + 1_000);
  }
  expect(pauses).toEqual([0.5, 3, 10, 30, 60]);
  await attempted(6);
  service.clock.now = new Date(began + 2 * DAY - HOUR);
  expect(await attempted(7)).toBeNull();
  expect(await listMails(service.db, id)).toMatchObject([{ state: 'failed' }]);

  // A waiting mail is sent when the server is back. The service asks again after ten minutes at the latest.
  service.clock.now = new Date(service.clock.now.getTime() + 11 * 60_000);
  await queue(service, { type: 'license_key', licenseId: id });
  await attempted(1);
  const back = await startMailServer({ port });
  service.clock.now = new Date(service.clock.now.getTime() + HOUR);
  await eventually(() => expect(back.received).toHaveLength(1));
  await back.stop();
});

const timeOf = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);
const cut = (date: Date) => Math.floor(date.getTime() / 1000) * 1000;

test('a server that hangs delays no request, and a stop does not wait for it', async () => {
  server.manners.hangs = true;
  const service = await start();
  const { id, key } = await giveSold(service.db);
  for (let i = 0; i < 8; i++) await queue(service, { type: 'license_key', licenseId: id });
  await eventually(async () => {
    const claimed = await service.db(table(service.db, 'outbox')).where('attempts', 1);
    expect(claimed).toHaveLength(4);
  });
  const answer = await fetch(`${service.url}/api/index.php/v1/licensing/licenses/validate`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ license_key: key, identifier: 'example.com' }),
  });
  expect(answer.status).toBe(200);
  // The server still hangs, and would for minutes: longer than the time limit of this test.
  const tried = await service.db(table(service.db, 'outbox')).whereNotNull('last_error');
  expect(tried).toEqual([]);
  await services.pop()!.stop();
});

test('a mail keeps its claim while the mail server takes minutes to accept it, so that no other process sends it again', async () => {
  server.manners.holds = true;
  const service = await start();
  const { id } = await giveSold(service.db);
  await queue(service, { type: 'license_key', licenseId: id });
  await eventually(() => expect(server.received).toHaveLength(1));
  for (let minutes = 0; minutes < 3; minutes++) {
    service.clock.now = new Date(service.clock.now.getTime() + 90_000);
    await eventually(async () => {
      const row = await stored(service);
      expect(row.attempts).toBe(1);
      expect(timeOf(row.next_attempt_at as string)).toBeGreaterThan(cut(service.clock.now) + 60_000);
    });
  }
  expect(server.received).toHaveLength(1);
});

test('a mail to a refused address is given up; a mail whose sender is refused is not, and the other mails are sent', async () => {
  server.manners.refuses = {
    'gone@example.com': 550,
    'gone@example.net': '554 5.1.1 No such user',
    'full@example.com': 452,
    'far@example.com': '554 5.7.1 Relay access denied',
    'far@example.net': '550 relay not permitted',
  };
  const service = await start();
  const ids: number[] = [];
  for (const customer of [...Object.keys(server.manners.refuses), 'jane@example.com']) {
    const { id } = await giveSold(service.db, customer);
    ids.push(id);
    await queue(service, { type: 'license_key', licenseId: id });
  }
  await eventually(async () => {
    const found = (await rows<Stored>(service.db, 'outbox')).map(({ failed_at, sent_at, last_error }) => [
      failed_at !== null,
      sent_at !== null,
      last_error,
    ]);
    expect(found).toEqual([
      [true, false, 'ADDRESS_REFUSED 550'],
      [true, false, 'ADDRESS_REFUSED 554'],
      [false, false, 'LATER 452'],
      [false, false, 'SENDER_REFUSED 554'],
      [false, false, 'SENDER_REFUSED 550'],
      [false, true, null],
    ]);
  });
  expect(server.received.map(({ to }) => to)).toEqual([['jane@example.com']]);
  expect(service.logLines.join('')).not.toContain('gone@');
});

test('a refused password: the server is rarely asked, no mail is given up, and no log contains the password', async () => {
  const before = server.refusedLogins;
  const service = await start({ LICENSING_MAIL_URL: urlOf(server.port, login('wrong-secret')) });
  const { id } = await giveSold(service.db);
  for (let i = 0; i < 12; i++) await queue(service, { type: 'license_key', licenseId: id });
  await eventually(async () => {
    const [first] = await rows<Stored>(service.db, 'outbox');
    expect([first?.last_error, first?.failed_at]).toEqual(['PASSWORD_REFUSED 535', null]);
  });
  service.clock.now = new Date(service.clock.now.getTime() + 31_000);
  // Mails that have not been tried yet show the reason too.
  await eventually(async () => {
    const waiting = await rows<Stored>(service.db, 'outbox');
    expect(waiting.map(({ last_error }) => last_error)).toEqual(Array(12).fill('PASSWORD_REFUSED 535'));
    expect(waiting.some(({ attempts }) => attempts === 0)).toBe(true);
  });
  server.manners.password = 'wrong-secret';
  service.clock.now = new Date(service.clock.now.getTime() + 181_000);
  await eventually(() => expect(server.received).toHaveLength(12));
  // Four mails were being sent at the same time, and one was tried after the pause.
  expect(server.refusedLogins - before).toBeLessThanOrEqual(5);
  expect(service.logLines.join('')).not.toContain('wrong-secret');
});

test("a link: a customer's has the address, and gets its code at sending; another address is a digest, deleted after an hour", async () => {
  const service = await start();
  await giveSold(service.db);
  await queue(service, { type: 'customer_link', email: 'Nobody@example.com' });
  const row = await stored(service);
  expect([row.recipient, JSON.stringify(row).includes('nobody')]).toEqual([null, false]);
  expect(row.recipient_digest).toBe(customerDigest('nobody@example.com'));
  service.clock.now = new Date(service.clock.now.getTime() + HOUR + 1_000);
  await queue(service, { type: 'customer_link', email: 'jane@example.com' });
  await eventually(() => expect(server.received.map(({ to }) => to)).toEqual([['jane@example.com']]));
  const [, code] = /pages\/my\/enter\/([\w-]+)/.exec(server.received[0]!.text) ?? [];
  expect(await consumeCode(service.db, 'customer', code!, service.clock.now)).toMatchObject({
    email: 'jane@example.com',
  });
  // The row for the unknown address is deleted.
  expect((await rows<Stored>(service.db, 'outbox')).map(({ recipient }) => recipient)).toEqual([
    'jane@example.com',
  ]);
});

test('without a server, mails become files, even if the address needs escaping', async () => {
  const folder = join(temporaryFolder(), 'mails');
  const service = await start({
    LICENSING_MAIL_URL: `file:${folder}?from=sales@shop.example`,
    LICENSING_MAIL_LANGUAGE: 'de',
  });
  const { id } = await giveSold(service.db);
  await queueMail(
    service.db,
    { type: 'license_key', licenseId: id },
    { now: service.clock.now, language: 'de' },
  );
  const [name] = await eventually(() => {
    const names = readdirSync(folder).filter((one) => one.endsWith('.eml'));
    expect(names).toHaveLength(1);
    return names;
  });
  expect(readFileSync(join(folder, name!), 'utf8')).toMatch(/^To: jane@example\.com$/m);
});
