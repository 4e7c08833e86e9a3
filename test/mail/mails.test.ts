import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { packageRoot } from '../../src/settings/config';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { composeMail, type ComposeResult, type ComposerSettings } from '../../src/mail/compose';
import { queueMail, type MailRequest } from '../../src/mail/queue';
import { queueReminders } from '../../src/mail/reminders';
import { inTransaction } from '../../src/store/engine/transaction';
import { setAllReturned } from '../../src/store/licenses/licenses';
import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../../src/texts/customers/languages';
import { findTextFaults, PLACEHOLDERS, readMailText, TEXT_NAMES } from '../../src/mail/texts';
import { table } from '../../src/store/engine/database';
import { acquireOrRenewLease } from '../../src/store/leases';
import { rowToFields } from '../../src/store/engine/row-fields';
import type { OutboxRow } from '../../src/store/outbox';
import { startMailServer, type MailServer } from '../support/mail-server';
import { expectNoSecrets, startManaged, type Managed, type Thing } from '../support/manage';
import { eventually, temporaryFolder } from '../support/processes';
import { rows } from '../support/service';

/** The texts of mails, the times of reminders, and the operator's API. */

const DAY = 86_400_000;
const texts = { builtIn: join(packageRoot, 'mails'), own: undefined };

let server: MailServer;
let service: Managed;
let planId: number;
beforeAll(async () => {
  server = await startMailServer();
  service = await startManaged({
    LICENSING_MAIL_URL: `smtp://127.0.0.1:${server.port}?from=sales@shop.example`,
    LICENSING_PUBLIC_URL: 'https://shop.example',
  });
  const { write } = service;
  const product = { name: 'Gallery <Pro>', id: 42, renew_url: 'https://shop.example/renew?a=1&b=2' };
  expect(await write.ok('POST /products', product, 201)).toMatchObject({ reminders: false });
  const plan = { product_id: 42, name: 'Agency', activation_type: 'domain', activation_limit: 5 };
  planId = (await write.ok('POST /plans', plan, 201)).id as number;
});
afterAll(async () => {
  await service.stop();
  await server.stop();
});

const sell = (terms: object = {}): Promise<Thing> =>
  service.write.ok('POST /licenses', { plan_id: planId, customer: 'jane@example.com', ...terms }, 201);

describe('the API', () => {
  test('a key is mailed when it is sold, and again', async () => {
    const { id, license_key } = await sell({ send: true, reference: 'order-1' });
    const mails = () => service.write.ok(`GET /licenses/${id}/mails`);
    await eventually(() => expect(server.received).toHaveLength(1));
    expect(server.received[0]?.text).toContain(license_key);
    await service.write.ok('POST /licenses', { plan_id: planId, send: true, reference: 'order-1' });
    const again = await service.write.ok(`POST /licenses/${id}/mails`, {}, 201);
    expect(again).toEqual({
      id: again.id as number,
      type: 'license_key',
      state: 'queued',
      created_at: expect.any(String),
      sent_at: null,
    });
    await eventually(async () => expect(await mails()).toMatchObject([{ state: 'sent' }, { state: 'sent' }]));
    expect(server.received).toHaveLength(2);
    expect((await service.write.send(`GET /licenses/${id}/mails?limit=1`)).body.next).not.toBeNull();
  });

  test('a mail that cannot be sent is refused, and no licence is issued', async () => {
    const { write, issue, read, db } = service;
    const body = { plan_id: planId, send: true };
    expect(await write.refused('POST /licenses', body, 'CONFLICT')).toMatch(/no customer/);
    await write.refused(
      'POST /licenses',
      { ...body, customer: 'jane@example.com', count: 1 },
      'INVALID_REQUEST',
      'send',
    );
    const { id } = await sell();
    await issue.refused(`POST /licenses/${id}/mails`, {}, 'FORBIDDEN');
    await read.refused(`POST /licenses/${id}/mails`, {}, 'FORBIDDEN');
    await write.refused('POST /licenses/9999/mails', {}, 'NOT_FOUND');
    await db(table(db, 'license_keys'))
      .where({ license_id: id as number })
      .update({ key_sealed: null });
    expect(await write.refused(`POST /licenses/${id}/mails`, {}, 'CONFLICT')).toMatch(/not kept/);
    expect(await db(table(db, 'licenses')).whereNull('customer')).toEqual([]);

    const off = await startManaged();
    await off.write.ok('POST /products', { name: 'A', id: 42 }, 201);
    const plan = { product_id: 42, name: 'P', activation_type: 'domain', activation_limit: 5 };
    const sold = await off.write.ok('POST /plans', plan, 201);
    const sale = { plan_id: sold.id as number, customer: 'jane@example.com' };
    expect(await off.write.refused('POST /licenses', { ...sale, send: true }, 'CONFLICT')).toMatch(
      /not set up/,
    );
    expect(await rows(off.db, 'licenses')).toEqual([]);
    await off.stop();
  });
});

describe('the texts of mails', () => {
  const settings: ComposerSettings = {
    publicUrl: 'https://shop.example',
    operatorUrl: 'https://shop.example',
    shopName: 'Böhm & Söhne',
    texts,
    keySecret: undefined,
    createCode: ({ kind }) => Promise.resolve(`${kind}-code`),
  };

  async function compose(
    request: MailRequest,
    language: CustomerLanguage = 'en',
    more = {},
  ): Promise<ComposeResult> {
    const { db, clock } = service;
    const now = clock.now;
    // The row is rolled back, so that the sender does not see it.
    let composed: ComposeResult | undefined;
    const undo = new Error('undone');
    const composing = db.transaction(async (trx) => {
      const id = await queueMail(trx, request, { now, language });
      const row = (await trx(table(trx, 'outbox')).where({ id }).first()) as object;
      composed = await composeMail(trx, rowToFields(row) as OutboxRow, { ...settings, ...more }, now);
      throw undo;
    });
    await expect(composing).rejects.toBe(undo);
    return composed!;
  }

  const mailOf = async (...args: Parameters<typeof compose>) => {
    const composed = await compose(...args);
    if (!('mail' in composed)) throw new Error(JSON.stringify(composed));
    return composed.mail;
  };

  test('each text exists in both languages, and every placeholder is used', () => {
    for (const name of TEXT_NAMES)
      for (const language of CUSTOMER_LANGUAGES) {
        const { subject, body } = readMailText(texts, name, language);
        const missing = PLACEHOLDERS[name].filter((word) => !`${subject}${body}`.includes(`{${word}}`));
        expect([name, missing.filter((word) => !['ends', 'renew_url'].includes(word))]).toEqual([name, []]);
      }
  });

  test('links, with a code made for the mail; in HTML every value is escaped', async () => {
    const { id } = await sell({ expires_at: '2028-03-03' });
    const link = await mailOf({ type: 'customer_link', email: 'Jane@example.com' });
    expect(link).toMatchObject({ to: 'jane@example.com', subject: 'Your licences at Böhm & Söhne' });
    expect(link.text).toContain(
      'https://shop.example/api/index.php/v1/licensing/pages/my/enter/customer-code\n',
    );
    const operator = await mailOf({ type: 'operator_link', email: 'boss@example.com' }, 'de');
    expect(operator.html).toMatch(/<a class="button" href="[^"]*\/pages\/enter\/operator-code"/);
    expect(await compose({ type: 'customer_link', email: 'nobody@example.com' })).toEqual({ obsolete: true });

    const removed = await mailOf({
      type: 'site_removed',
      licenseId: id as number,
      site: '<b>x</b>\nhttps://evil.example',
    });
    expect(removed.html).not.toContain('<b>');
    expect(removed.text).toContain('<b>x</b> https://evil.example was removed');
    expect(removed.text).not.toContain('test sites');
    const both = await mailOf({
      type: 'site_removed',
      licenseId: id as number,
      site: 'one.example',
      testSites: ['dev.one.example', 'staging.one.example'],
    });
    expect(both.text).toContain(
      'Its test sites were removed with it: dev.one.example, staging.one.example\n',
    );
    const { id: soon } = await sell({ expires_at: new Date(+service.clock.now + 28 * DAY).toISOString() });
    const late = await mailOf({ type: 'reminder', licenseId: soon as number, daysBefore: 30 });
    expect(late.text).toContain(', in 28 days.');
    const reminder = await mailOf({ type: 'reminder', licenseId: id as number, daysBefore: 30 }, 'de');
    expect(reminder.subject).toBe('Ihre Lizenz für Gallery <Pro> endet am 03.03.2028');
    expect(reminder.text).toContain('Hier verlängern Sie: https://shop.example/renew?a=1&b=2');
    expect((await mailOf({ type: 'key_changed', licenseId: id as number })).text).toMatch(
      /It ends in [0-9A-F]{8}\./,
    );
    await service.write.ok(`POST /licenses/${id}/rekey`, { overlap: '14d' });
    const changed = await mailOf({ type: 'key_changed', licenseId: id as number }, 'de');
    expect(changed.text).toMatch(/Der alte Schlüssel gilt bis \d\d\.\d\d\.\d{4}\. Bis dahin/);
  });

  test("the seller's own texts are used; a broken one is reported and not used", async () => {
    const own = join(temporaryFolder(), 'texts');
    mkdirSync(own);
    writeFileSync(
      join(own, 'customer_link.en.txt'),
      'Hello from {shop}\n\nOpen {link}\nor read https://shop.example/help.\n',
    );
    writeFileSync(join(own, 'operator_link.en.txt'), 'Sign in\n\n{lnk}\n');
    writeFileSync(join(own, 'license_key.de.txt'), 'Schlüssel\n\n{key}\n', 'latin1');
    writeFileSync(join(own, 'license_key.en.txt'), 'Key\n\n{key}, for { product }\n');
    writeFileSync(join(own, 'reminder.en.txt'), 'Reminder\n\n{product ends\n');
    writeFileSync(join(own, 'license-key.en.txt'), 'Key\n\n{key}\n');
    writeFileSync(join(own, 'customer_link.en.txt~'), 'A backup');
    const folders = { ...texts, own };
    const { subject, html } = await mailOf({ type: 'customer_link', email: 'jane@example.com' }, 'en', {
      texts: folders,
    });
    expect(subject).toBe('Hello from Böhm & Söhne');
    expect(html).toMatch(/ href="https:\/\/shop\.example\/help"[^>]*>shop\.example\/help<\/a>\./);
    expect(readMailText(folders, 'operator_link', 'en')).toEqual(readMailText(texts, 'operator_link', 'en'));
    expect(findTextFaults(folders)).toEqual([
      expect.stringMatching(/license-key\.en\.txt is not used: no mail has this name/),
      expect.stringMatching(/license_key\.de\.txt is not used: it is not in UTF-8/),
      expect.stringMatching(/license_key\.en\.txt is not used: it has \{ product \} in line 3;/),
      expect.stringMatching(/operator_link\.en\.txt is not used: it has \{lnk\} in line 3;/),
      expect.stringMatching(/reminder\.en\.txt is not used: it has \{product ends in line 3;/),
    ]);
  });
});

test('reminders: once per end and step, only while they are on, and not for licences that ended otherwise', async () => {
  const { db, write } = service;
  const at = (days: number) => new Date(service.clock.now.getTime() + days * DAY);
  const lease = { name: 'reminders-test', holder: 'test' };
  const remind = async (now: Date) => {
    expect(await acquireOrRenewLease(db, lease, now)).toBe(true);
    const goesOn = () => Promise.resolve(true);
    return queueReminders(db, { lease, mailing: { language: 'en' }, now, goesOn });
  };
  const until = async (days: number, terms = {}) =>
    (await sell({ expires_at: at(days).toISOString(), ...terms })).id as number;
  const [one, renewed, suspended] = [await until(100), await until(100), await until(100)];
  await write.ok('POST /licenses', { plan_id: planId, expires_at: at(100).toISOString() }, 201);
  await db(table(db, 'leases'))
    .where({ name: 'housekeeping' })
    .update({ holder: 'nobody', until: '2099-01-01 00:00:00' });

  expect(await remind(at(70.1))).toBe(0);
  expect(await write.ok('PATCH /products/42', { reminders: true })).toMatchObject({ reminders: true });
  // A subscription renews automatically, so it gets no reminder.
  await db(table(db, 'licenses'))
    .where({ id: await until(100) })
    .update({ renews_itself: 1 });
  const context = { actor: 'operator:test', now: service.clock.now };
  await changeState(db, suspended, 'suspend', context);
  expect(await remind(at(69.9))).toBe(0);
  expect(await remind(at(70.1))).toBe(2);
  const dueAt = await db(table(db, 'outbox')).whereNotNull('once').pluck<string[]>('next_attempt_at');
  const [first, second] = dueAt.map((time) => Date.parse(`${time.replace(' ', 'T')}Z`)) as [number, number];
  expect(second - first).toBe(1_000);
  expect(await remind(at(70.2))).toBe(0);
  await renew(db, renewed, { until: at(200) }, context);
  expect(await remind(at(93.1))).toBe(1);
  expect(await remind(at(100.1))).toBe(1);
  // A licence whose payments were all given back gets no mail after its end.
  const returned = await until(150);
  await inTransaction(db, (trx) => setAllReturned(trx, returned, true));
  expect(await remind(at(143.1))).toBe(1);
  expect(await remind(at(150.1))).toBe(0);
  // The new end has its own reminders.
  expect(await remind(at(170.5))).toBe(1);
  // Too late for the reminder of 7 days.
  expect(await remind(at(194.5))).toBe(0);
  // Issued for less than the 30 days of the first reminder.
  await until(20);
  expect(await remind(at(0.1))).toBe(0);
  const queued = await db(table(db, 'outbox')).whereNotNull('once').orderBy('id').pluck<string[]>('once');
  expect(queued.map((name) => name.split(':').slice(1, 3).map(Number))).toEqual(
    expect.arrayContaining([
      [one, 30],
      [renewed, 30],
      [one, 7],
      [one, 0],
      [renewed, 30],
    ]),
  );
});

test('nothing secret is in the log', () => expectNoSecrets(service));
