import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeHTML } from 'entities';
import { MAIL_PASSWORD, MAIL_USER, startMailServer, type MailServer } from '../support/mail-server';
import { giveToken, manageClient, type ManageClient, type Thing } from '../support/manage';
import { eventually } from '../support/processes';
import {
  giveLicense,
  givePlan,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** The pages of the settings, and the answer that is sent from a licence's page and from the search. */

const CUSTOMER = 'jana@kunde.example';

let mailServer: MailServer;
let service: TestService;
let api: ManageClient;
let pages: PagesClient;
let license: TestLicense;

beforeAll(async () => {
  mailServer = await startMailServer();
  service = await startTestService({
    LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_LOG_DAYS: '30',
  });
  api = manageClient(service.url, (await giveToken(service.db, 'write', 'admin')).token);
  license = await giveLicense(service.db, await givePlan(service.db), { customer: CUSTOMER });
  pages = await pagesClient(service);
});
afterAll(async () => {
  await service.stop();
  await mailServer.stop();
});
beforeEach(() => {
  mailServer.received.length = 0;
});

const server = (more: Record<string, string> = {}) => ({
  ...{ host: '127.0.0.1', tls: 'smtp', port: String(mailServer.port), from: 'shop@shop.example' },
  ...{ user: MAIL_USER, password: MAIL_PASSWORD, mail_language: 'en', ...more },
});

describe('the settings', () => {
  it('show the values in effect and their sources, and never a secret', async () => {
    const { html } = await pages.get('/settings');
    const text = textOf(html);
    expect(text).toContain('set at the start');
    expect(text).toMatch(/LICENSING_LOG_DAYS\s+30 days\s+environment/);
    expect(text).toMatch(/LICENSING_KEY_SECRET\s+set\s+environment/);
    expect(html).not.toContain(Buffer.alloc(32, 7).toString('base64'));
    const keeping = textOf((await pages.get('/settings/keeping')).html);
    expect(keeping).toContain('Remove it there and restart the service to change it here.');
    const reader = await pagesClient(service, { scope: 'read' });
    expect((await reader.get('/settings')).html).not.toContain('/settings/shop');
  });

  it('are changed with forms, which explain mistakes in German', async () => {
    const german = await pagesClient(service, { language: 'de' });
    await german.get('/settings/limits');
    const refused = await german.post('/settings/limits', { rate_window: '99999', rate_limit: '' });
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining('Bitte geben Sie eine ganze Zahl von 1 bis 86.400 ein.'),
    ]);
    await pages.get('/settings/shop');
    const saved = await pages.send('/settings/shop', { shop_name: 'Acme <b>' });
    expect(textOf(saved.html)).toContain('Saved.');
    expect(saved.html).toContain('Acme &lt;b&gt;');
    await pages.get('/settings/shop');
    await pages.post('/settings/shop', { shop_name: '' });
    expect((await api.ok('GET /settings')) as Thing[]).toContainEqual(
      expect.objectContaining({ name: 'shop_name', source: 'default' }),
    );
  });

  it('try a mail server first, keep its password, and send a test mail', async () => {
    await pages.get('/settings/mail');
    const wrong = await pages.post('/settings/mail', server({ password: 'wrong' }));
    expect([wrong.status, textOf(wrong.html)]).toEqual([
      409,
      expect.stringContaining('Nothing was saved: the mail server refused the user or the password (535).'),
    ]);
    expect(wrong.html).not.toContain('value="wrong"');
    await pages.send('/settings/mail', server());
    // The sender is changed, and the stored password is kept.
    await pages.get('/settings/mail');
    const shown = await pages.send('/settings/mail', server({ password: '', from: 'desk@shop.example' }));
    expect(textOf(shown.html)).toContain('Saved.');
    expect(shown.html).not.toContain(encodeURIComponent(MAIL_PASSWORD));
    await pages.get('/settings/mail/test');
    const sent = await pages.send('/settings/mail/test', { to: 'seller@example.com' });
    expect(textOf(sent.html)).toContain('The mail server accepted the test mail to seller@example.com.');
    expect(mailServer.received).toMatchObject([{ to: ['seller@example.com'], from: 'desk@shop.example' }]);
    const inWords = `127.0.0.1, port ${mailServer.port}, STARTTLS, user ${MAIL_USER}, sender desk@shop.example`;
    const { html: words } = await pages.get('/settings');
    expect([textOf(words), words]).toEqual([
      expect.stringContaining(inWords),
      expect.not.stringContaining('smtp://'),
    ]);
    const german = await pagesClient(service, { language: 'de' });
    expect(textOf((await german.get('/settings')).html)).toContain(`Benutzer ${MAIL_USER}, Absender desk@`);
    // The stored password is not sent to another server.
    await pages.get('/settings/mail');
    for (const elsewhere of [{ host: 'localhost' }, { port: '2526' }, { tls: 'smtps' }, { user: 'other' }]) {
      const form = server({ password: '', untried: '1', ...elsewhere });
      const other = await pages.post('/settings/mail', form);
      expect([other.status, textOf(other.html)]).toEqual([
        400,
        expect.stringContaining('The stored secret belongs to another address, port or user.'),
      ]);
    }
  });

  it('preview, save and reset a text of a mail', async () => {
    const path = '/settings/texts/license_key/de';
    await pages.get(path);
    const wrong = await pages.post(path, { text: 'Ihr Schlüssel\n\n{key}\n{kye}' });
    expect(textOf(wrong.html)).toContain('Line 4 has {kye}.');
    const text = 'Ihr Schlüssel\n\n{key}\n<script>{shop}</script>';
    const preview = await pages.post(path, { text, do: 'preview' });
    expect(preview.html).toContain('&lt;script&gt;Example Shop&lt;/script&gt;');
    const frame = /<iframe [^>]*sandbox=""[^>]*srcdoc="([^"]*)"/.exec(preview.html)?.[1] ?? '';
    const mail = decodeHTML(frame);
    expect(mail).toContain('&#60;script&#62;');
    expect(mail).not.toContain('<script');
    const styles = [...mail.matchAll(/<style>([^]*?)<\/style>| style="([^"]*)"/g)];
    expect(styles.length).toBeGreaterThan(5);
    const policy = preview.headers.get('content-security-policy') ?? '';
    expect(policy).not.toContain("'unsafe-inline'");
    for (const [, sheet, own = ''] of styles)
      expect(policy).toContain(
        `'sha256-${createHash('sha256')
          .update(sheet ?? own)
          .digest('base64')}'`,
      );
    expect((await api.ok('GET /mail-texts/license_key/de')).source).toBe('built_in');
    await pages.send(path, { text });
    expect((await api.ok('GET /mail-texts/license_key/de')).source).toBe('stored');
    const reset = await pages.send(`${path}/reset`);
    expect(textOf(reset.html)).toContain('The mail has the standard text again.');
  });
});

describe('the answer', () => {
  it('is absent as a mail while mail is off, with the reason', async () => {
    await api.ok('PATCH /settings', { mail_url: null });
    const { html } = await pages.get(`/licenses/${license.id}`);
    expect(textOf(html)).toContain('It cannot be sent from here. Mail is not set up.');
    expect(html).not.toContain('Send it by mail');
    await api.refused('POST /answers', { license_id: license.id, subject: 'x', body: 'y' }, 'CONFLICT');
    const url = `smtp://${MAIL_USER}:${encodeURIComponent(MAIL_PASSWORD)}@127.0.0.1:${mailServer.port}?from=shop@shop.example`;
    await api.ok('PATCH /settings', { mail_url: url });
  });

  it('is shown before it is sent, arrives in German, and is in the history and the list of mails', async () => {
    await api.ok(`PATCH /customers/${CUSTOMER}`, { language: 'de' });
    const page = await pages.get(`/licenses/${license.id}`);
    expect(page.html).toContain('Send it by mail');
    expect(page.html).toContain('https://shop.example/api/index.php/v1/licensing/pages/my');
    const shown = await pages.get(`/licenses/${license.id}/answer`);
    expect(shown.html).toContain(`value="${CUSTOMER}"`);
    expect(shown.html).toContain('Guten Tag,');
    const subject = 'Ihre Lizenz für <Shop>';
    const fields = { language: 'de', to: CUSTOMER, subject, body: 'Guten Tag,\n\nsie gilt: {key} <b>\n' };
    const checked = await pages.post(`/licenses/${license.id}/answer`, { ...fields, do: 'check' });
    expect(checked.html).toContain('sie gilt: {key} &lt;b&gt;');
    expect(mailServer.received).toEqual([]);
    const sent = await pages.send(`/licenses/${license.id}/answer`, { ...fields, do: 'send' });
    expect(textOf(sent.html)).toContain(`The mail to ${CUSTOMER} is on its way.`);
    await eventually(() => {
      expect(mailServer.received).toHaveLength(1);
      return Promise.resolve();
    });
    const [mail] = mailServer.received;
    expect(mail).toMatchObject({ to: [CUSTOMER], text: expect.stringContaining('sie gilt: {key} <b>') });
    expect(mail?.text).toContain('sie gilt: {key} &#60;b&#62;');
    const events = (await api.ok(`GET /licenses/${license.id}/events`)) as Thing[];
    expect(events.find(({ action }) => action === 'answer')).toMatchObject({
      actor: 'operator:root',
      after: { to: CUSTOMER },
    });
    const history = await pages.get(`/licenses/${license.id}/history`);
    expect(textOf(history.html)).toContain(`Answer mailed to ${CUSTOMER}`);
    const stored = (await service.db('licensing_outbox').where({ type: 'answer' })) as Thing[];
    await eventually(async () => {
      const [row] = (await service.db('licensing_outbox').where({ type: 'answer' })) as Thing[];
      expect(row).toMatchObject({ sent_at: expect.anything(), details_json: null });
    });
    expect(stored).toHaveLength(1);
    expect(textOf((await pages.get('/mails')).html)).toContain('Answer');
  });

  it('is written for an unknown key and for an address without a licence, in both languages', async () => {
    const unknown = await pages.post('/find', { about: 'AAAAAAAA-BBBBBBBB-CCCCCCCC-DDDDDDDD' });
    expect(unknown.html).toContain('is not known to us');
    expect(unknown.html).toContain('ist uns nicht bekannt');
    const address = await pages.post('/find', { about: 'nobody@example.net' });
    expect(address.html).toContain('Nothing was bought here with the e-mail address');
    expect(address.html).toContain('name="to" value="nobody@example.net"');
    const body = { language: 'en', to: 'nobody@example.net', subject: 'Your licence key', body: 'Hello' };
    const shown = await pages.post('/answer', { ...body, do: 'check' });
    expect(shown.html).toContain('Your licence key');
    await pages.send('/answer', { ...body, do: 'send' });
    await eventually(() => {
      expect(mailServer.received.map(({ to }) => to)).toContainEqual(['nobody@example.net']);
      return Promise.resolve();
    });
  });

  it('waits sealed, and its languages can be switched', async () => {
    mailServer.manners.password = 'changed';
    const subject = 'A secret subject';
    await api.ok('POST /answers', { license_id: license.id, subject, body: `Key ${license.key}` }, 201);
    const stored = JSON.stringify(await service.db('licensing_outbox').where({ type: 'answer' }));
    expect(stored).not.toContain(license.key);
    const path = `GET /licenses/${license.id}/answer`;
    expect(await api.ok(path)).toMatchObject({ language: 'de', to: CUSTOMER, may_send: true });
    const english = await api.ok(`${path}?language=en`);
    expect(english.body).toContain('Your licences, their sites and keys are on your page:');
  });
});
