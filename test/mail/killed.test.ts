import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { issueLicenses } from '../../src/licensing/issue';
import { queueMail } from '../../src/mail/queue';
import { table } from '../../src/store/engine/database';
import { createAuthority } from '../support/certificates';
import { runs } from '../support/extent';
import { MAIL_PASSWORD, MAIL_USER, startMailServer } from '../support/mail-server';
import { giveToken, manageClient } from '../support/manage';
import { operator } from '../support/operator';
import { eventually, freePort, temporaryFolder } from '../support/processes';
import { createMariaDbDatabase, givePlan, rows } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** The built service, killed while it sends, and its mail over TLS. */

const PUBLIC_URL = 'https://shop.example';
const authority = createAuthority();
let secure: Awaited<ReturnType<typeof startMailServer>>;
beforeAll(async () => {
  secure = await startMailServer({ certificate: authority.issue('DNS:localhost'), secure: true });
});
afterAll(() => secure.stop());
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test("killed after the mail server's 250 and before it is recorded: sent once more, with the same Message-ID", async () => {
  const server = await startMailServer();
  closing.push(() => server.stop());
  server.manners.holds = true;
  const settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_PUBLIC_URL: PUBLIC_URL,
    LICENSING_MAIL_URL: `smtp://127.0.0.1:${server.port}?from=sales@shop.example`,
    LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
  };
  const db = await openMigrated(settings);
  closing.push(() => db.destroy());
  const request = {
    planId: await givePlan(db),
    customer: 'jane@example.com',
    reference: undefined,
    count: 1,
  };
  const terms = { expiresAt: undefined, activationLimit: undefined, key: undefined };
  const [issued] = await issueLicenses(
    db,
    { ...request, ...terms },
    'operator:test',
    Buffer.alloc(32, 7),
    new Date(),
  );
  const { id } = issued!.license;

  const service = await startServiceProcess(settings);
  closing.push(() => service.stop());
  await queueMail(db, { type: 'license_key', licenseId: id }, { now: new Date(), language: 'en' });
  await eventually(() => expect(server.received).toHaveLength(1));
  await service.stop('SIGKILL');
  server.manners.holds = false;
  // Its claim would expire, but the test does not wait for it.
  const claimed = await rows<{ attempts: number; sent_at: null; next_attempt_at: string }>(db, 'outbox');
  expect(claimed).toMatchObject([{ attempts: 1, sent_at: null }]);
  expect(Date.parse(`${claimed[0]!.next_attempt_at.replace(' ', 'T')}Z`) - Date.now()).toBeLessThan(120_000);
  await db(table(db, 'outbox')).update({ next_attempt_at: '2026-01-01 00:00:00' });

  const next = await startServiceProcess(settings);
  closing.push(() => next.stop());
  await eventually(async () => {
    expect((await rows<{ sent_at: string | null }>(db, 'outbox'))[0]?.sent_at).toBeTruthy();
  });
  expect(server.received).toHaveLength(2);
  expect(new Set(server.received.map(({ messageId }) => messageId)).size).toBe(1);
});

test('killed between recording an order and sending its keys: each order gets exactly one mail', async () => {
  const server = await startMailServer();
  closing.push(() => server.stop());
  const settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_PUBLIC_URL: PUBLIC_URL,
    LICENSING_MAIL_URL: `smtp://127.0.0.1:${server.port}?from=sales@shop.example`,
    LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
  };
  const db = await openMigrated(settings);
  closing.push(() => db.destroy());
  const planId = await givePlan(db);
  const { token } = await giveToken(db, 'issue', 'shop', { now: new Date() });
  const at = new Date().toISOString();
  let service = await startServiceProcess(settings);
  closing.push(() => service.stop());
  const tell = (order: number) =>
    manageClient(service.url, token).ok('POST /orders', {
      ...{ shop: 'own', order: `${order}`, event: 'paid', at, customer: { email: `${order}@example.com` } },
      lines: [{ line: '1', plan_id: planId, quantity: 2 }],
    });
  const told = Array.from({ length: 24 }, (_, i) => i + 1);
  for (let kill = 1; kill <= runs(1, 3); kill++) {
    // The service is killed as soon as some orders are recorded. Others are half recorded, and mails are being sent.
    const telling = told.map((order) => tell(order).catch(() => undefined));
    await Promise.race(telling.slice(0, 8 * kill));
    await service.stop('SIGKILL');
    await Promise.all(telling);
    service = await startServiceProcess(settings);
  }
  for (const order of told) await tell(order);
  // Claims of a killed process would expire, but the test does not wait for it.
  await db(table(db, 'outbox')).whereNull('sent_at').update({ next_attempt_at: '2026-01-01 00:00:00' });
  await eventually(async () => {
    const queued = await rows<{ type: string; sent_at: string | null; order_id: number }>(db, 'outbox');
    const mails = queued.filter(({ type }) => type === 'order_keys');
    expect(mails).toHaveLength(told.length);
    expect(new Set(mails.map(({ order_id }) => order_id)).size).toBe(told.length);
    expect(mails.every(({ sent_at }) => sent_at !== null)).toBe(true);
  });
  for (const order of told) {
    const mails = server.received.filter((mail) => mail.to.includes(`${order}@example.com`));
    expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(1);
  }
  expect(await rows(db, 'licenses')).toHaveLength(2 * told.length);
});

/** @param database names the database with the stored settings */
const testMail = async (LICENSING_MAIL_URL: string, database: Settings) => {
  const { run } = operator({
    ...database,
    LICENSING_PUBLIC_URL: PUBLIC_URL,
    LICENSING_MAIL_URL,
  });
  const { code, stdout, stderr } = await run(['mail', 'test', 'jane@example.com']);
  return { code, said: stdout + stderr };
};

test('mail test succeeds over TLS with a password, and explains each failure in plain words', async () => {
  const database = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'mail.sqlite')}` };
  await (await openMigrated(database)).destroy();
  const user = `${MAIL_USER}:${encodeURIComponent(MAIL_PASSWORD)}@`;
  const end = `localhost:${secure.port}?from=sales@shop.example`;
  const ca = `&ca=${authority.ca}`;
  const taken = await testMail(`smtps://${user}${end}${ca}`, database);
  expect([taken.code, taken.said]).toEqual([0, expect.stringMatching(/accepted the mail .*: 250/)]);
  expect(secure.received).toMatchObject([{ to: ['jane@example.com'], subject: 'Test mail of shop.example' }]);

  const other = createAuthority().ca;
  const failing: [string, RegExp][] = [
    [`smtps://${user}${end}&ca=${other}`, /certificate is not valid/],
    [`smtps://shop:wrong-secret@${end}${ca}`, /refused the user or the password \(535\)/],
    [`smtp://localhost:${await freePort()}?from=sales@shop.example`, /no mail server answers at the port/],
    [`smtp://no-such-host.invalid?from=sales@shop.example`, /name of the mail server was not found/],
  ];
  for (const [url, why] of failing) {
    const { code, said } = await testMail(url, database);
    expect([code, said]).toEqual([1, expect.stringMatching(why)]);
    expect(said).not.toMatch(/wrong-secret|a:b@c/);
  }
  secure.manners.refuses = { 'jane@example.com': 550 };
  expect((await testMail(`smtps://${user}${end}${ca}`, database)).said).toMatch(
    /no mail for this address \(550\).*is refused/,
  );
});
