import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { MAIL_PASSWORD, MAIL_USER, startMailServer, type MailServer } from '../support/mail-server';
import { giveToken, manageClient, type ManageClient, type Thing } from '../support/manage';
import { operator } from '../support/operator';
import { eventually, freePort, temporaryFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  newPlace,
  PREFIX,
  startTestService,
  type TestService,
} from '../support/service';

/** Settings that are stored in the database: through the API, in every instance, and in the command. */

const KEY_SECRET = Buffer.alloc(32, 7).toString('base64');
const PUBLIC_URL = 'https://shop.example';
const PNG = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1');

let mailServer: MailServer;
let one: TestService;
let other: TestService;
let api: ManageClient;
let environment: Settings;

beforeAll(async () => {
  mailServer = await startMailServer();
  environment = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_KEY_SECRET: KEY_SECRET,
    LICENSING_PUBLIC_URL: PUBLIC_URL,
    LICENSING_RATE_LIMIT: '100000',
  };
  one = await startTestService(environment);
  other = await startTestService(environment);
  api = manageClient(one.url, (await giveToken(one.db, 'write', 'admin')).token);
});
afterAll(async () => {
  await one.stop();
  await other.stop();
  await mailServer.stop();
});
beforeEach(() => {
  mailServer.received.length = 0;
});

const mailUrl = (password = MAIL_PASSWORD, port = mailServer.port) =>
  `smtp://${MAIL_USER}:${encodeURIComponent(password)}@127.0.0.1:${port}?from=shop@shop.example`;

const settingsOf = async (client = api): Promise<Record<string, Thing>> =>
  Object.fromEntries(((await client.ok('GET /settings')) as Thing[]).map((row) => [row.name as string, row]));

test('a change takes effect in another instance and in the command, and null restores the default', async () => {
  const there = manageClient(other.url, api.token);
  expect((await settingsOf()).shop_name).toMatchObject({ value: null, source: 'default', changed_by: null });
  const changed = await api.ok('PATCH /settings', { shop_name: 'Acme', manage_rate_limit: 5_000 });
  expect(changed).toMatchObject([
    { name: 'shop_name', value: 'Acme', source: 'stored', changed_by: 'token:admin' },
    { name: 'manage_rate_limit', value: 5_000, source: 'stored' },
  ]);
  await eventually(async () => {
    const page = await (await fetch(`${other.url}${PREFIX}/pages/my`)).text();
    expect(page).toContain('Acme');
  });
  expect((await settingsOf(there)).manage_rate_limit?.value).toBe(5_000);
  const { json, run } = operator(environment);
  const listed = await json<Thing[]>(['settings', 'list']);
  expect(listed.find(({ name }) => name === 'shop_name')).toMatchObject({ value: 'Acme', source: 'stored' });
  await json(['settings', 'set', 'shop_name', 'Acme & Sons']);
  await eventually(async () => {
    const page = await (await fetch(`${one.url}${PREFIX}/pages/my`)).text();
    expect(page).toContain('Acme &amp; Sons');
  });
  await json(['settings', 'unset', 'shop_name']);
  expect((await settingsOf()).shop_name).toMatchObject({ value: null, source: 'default' });
  await api.ok('PATCH /settings', { manage_rate_limit: null });
  const { code, stderr } = await run(['settings', 'set', 'log_days', '0']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('must be >= 1')]);
});

test('a limit takes effect while the service runs', async () => {
  const settings = { ...environment, LICENSING_RATE_LIMIT: '' };
  const service = await startTestService(settings);
  try {
    const check = async () =>
      (await fetch(`${service.url}${PREFIX}/licenses/validate`, { method: 'POST' })).status;
    expect(await check()).toBe(400);
    await manageClient(service.url, api.token).ok('PATCH /settings', { rate_limit: 1 });
    expect(await check()).toBe(429);
    await manageClient(service.url, api.token).ok('PATCH /settings', { rate_limit: null });
    expect(await check()).toBe(400);
  } finally {
    await service.stop();
  }
});

test('a variable that is set later wins, is shown as the source, and cannot be changed here', async () => {
  await api.ok('PATCH /settings', { mail_language: 'de', token_days: 20 });
  const settings = { ...environment, LICENSING_MAIL_LANGUAGE: 'en', LICENSING_TOKEN_DAYS: '7' };
  const service = await startTestService(settings);
  try {
    const client = manageClient(service.url, api.token);
    expect(await settingsOf(client)).toMatchObject({
      mail_language: { value: 'en', source: 'environment', variable: 'LICENSING_MAIL_LANGUAGE' },
      token_days: { value: 7, source: 'environment' },
    });
    const message = await client.refused(
      'PATCH /settings',
      { shop_name: 'Not stored', token_days: 30 },
      'CONFLICT',
      'token_days',
    );
    expect(message).toContain('LICENSING_TOKEN_DAYS');
    expect((await settingsOf(client)).shop_name?.source).toBe('default');
  } finally {
    await service.stop();
  }
  expect((await settingsOf()).mail_language).toMatchObject({ value: 'de', source: 'stored' });
  await api.ok('PATCH /settings', { mail_language: null, token_days: null });
});

test("values follow the rules of the environment's variables", async () => {
  const refused = (body: object, field: string) =>
    api.refused('PATCH /settings', body, 'INVALID_REQUEST', field);
  expect(await refused({ rate_window: 86_401 }, 'rate_window')).toContain('86400');
  expect(await refused({ mail_url: 'http://x' }, 'mail_url')).toContain('mail_url must read smtp://');
  expect(await refused({ mail_url: 'file:/tmp/mails?from=a@b.example' }, 'mail_url')).toContain('smtp://');
  expect(await refused({ shop_name: 'A\nBcc: x@y.example' }, 'shop_name')).toContain('must be on one line');
  expect(await refused({ mail_language: 'fr' }, 'mail_language')).toContain('en, de');
  expect(await refused({ key_secret: 'x' }, 'key_secret')).toContain('not a known field');
  const own = await startTestService({ ...environment, LICENSING_PUBLIC_URL: '' });
  try {
    const client = manageClient(own.url, api.token);
    await client.refused('PATCH /settings', { public_url: 'shop' }, 'INVALID_REQUEST', 'public_url');
  } finally {
    await own.stop();
  }
});

describe('a mail server', () => {
  afterEach(async () => {
    mailServer.manners.password = MAIL_PASSWORD;
    await api.ok('PATCH /settings', { mail_url: null });
  });

  test('is tried before it is saved, and saved anyway on request', async () => {
    const wrong = await api.refused(
      'PATCH /settings',
      { mail_url: mailUrl('wrong') },
      'CONFLICT',
      'mail_url',
    );
    expect(wrong).toContain('refused the user or the password');
    expect(mailServer.refusedLogins).toBe(1);
    const closed = await freePort();
    const away = mailUrl(MAIL_PASSWORD, closed);
    const gone = await api.refused('PATCH /settings', { mail_url: away }, 'CONFLICT', 'mail_url');
    expect(gone).toContain('no mail server answers at the port that is set');
    expect((await settingsOf()).mail_url?.source).toBe('default');
    await api.ok('PATCH /settings', { mail_url: away, untried: true });
    expect((await settingsOf()).mail_url).toMatchObject({
      source: 'stored',
      value: `smtp://${MAIL_USER}:***@127.0.0.1:${closed}?from=shop%40shop.example`,
    });
    const { stdout } = await operator(environment).run(['settings', 'list']);
    expect(stdout).toContain('127.0.0.1, port ');
    expect(stdout).not.toContain('smtp://');
    const unknown = { mail_url: 'smtp://no-such-host.invalid?from=shop@shop.example' };
    expect(await api.refused('PATCH /settings', unknown, 'CONFLICT', 'mail_url')).toContain(
      'the name of the mail server was not found',
    );
  });

  test('that was stored sends at once in every instance, and so does a corrected one', async () => {
    const planId = await givePlan(one.db);
    const license = await giveLicense(one.db, planId, { customer: 'jane@example.com', key: undefined });
    await api.refused(`POST /licenses/${license.id}/mails`, {}, 'CONFLICT');
    await api.ok('PATCH /settings', { mail_url: mailUrl() });
    const sent = await api.ok('POST /settings/test-mail', { to: 'seller@example.com' });
    expect(sent).toMatchObject({ to: 'seller@example.com', from: 'shop@shop.example' });
    expect(mailServer.received).toMatchObject([{ to: ['seller@example.com'] }]);
    const { run } = operator(environment);
    expect((await run(['mail', 'test', 'shell@example.com'])).code).toBe(0);
    expect(mailServer.received).toHaveLength(2);
    // With the URL as it is shown, the stored password is kept for the same server.
    await api.ok('PATCH /settings', { mail_url: mailUrl('***') });
    await api.ok('POST /settings/test-mail', { to: 'seller@example.com' });
    expect(mailServer.received).toHaveLength(3);
    const elsewhere = mailUrl('***', mailServer.port + 1);
    const says = 'The stored secret belongs to another scheme, host, port or user.';
    const body = { mail_url: elsewhere, untried: true };
    expect(await api.refused('PATCH /settings', body, 'INVALID_REQUEST', 'mail_url')).toContain(says);
    const set = await run(['settings', 'set', 'mail_url', elsewhere, '--untried']);
    expect([set.code, set.stderr]).toEqual([1, expect.stringContaining(says)]);
    await eventually(async () => {
      const page = await (await fetch(`${other.url}${PREFIX}/pages/my`)).text();
      expect(page).toContain('my/link');
    });
    const asked = await fetch(`${other.url}${PREFIX}/pages/my/link`, {
      method: 'POST',
      body: new URLSearchParams({ email: 'jane@example.com' }),
      headers: { Origin: other.url },
      redirect: 'manual',
    });
    expect(asked.status).toBeLessThan(400);
    // An instance that does not know the new server yet tries once with the old one, and again after half a minute.
    await eventually(() => {
      for (const { clock } of [one, other]) clock.now = new Date(clock.now.getTime() + 1_000);
      expect(mailServer.received.map(({ to }) => to)).toContainEqual(['jane@example.com']);
      return Promise.resolve();
    });
    mailServer.manners.password = 'changed';
    const refused = await api.refused('POST /settings/test-mail', { to: 'seller@example.com' }, 'CONFLICT');
    expect(refused).toContain('refused the user or the password');
  });

  test('is quoted only if it answers like a mail server', async () => {
    const ssh = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6 inside\r\n'));
    await new Promise<void>((resolve) => ssh.listen(0, '127.0.0.1', resolve));
    const { port } = ssh.address() as AddressInfo;
    const body = { mail_url: mailUrl('wrong', port) };
    expect(await api.refused('PATCH /settings', body, 'CONFLICT', 'mail_url')).not.toMatch(/SSH|inside/);
    ssh.close();
  });

  test('has its password stored sealed: no export, answer, page or log contains it', async () => {
    await api.ok('PATCH /settings', { mail_url: mailUrl() });
    const stored = (await one.db('licensing_settings')) as Thing[];
    expect(stored.find(({ name }) => name === 'mail_url')).toMatchObject({ value: null });
    const answer = await api.send('GET /settings');
    const { stdout } = await operator(environment).run(['export', '--out', '-']);
    const all = [JSON.stringify(stored), answer.text, stdout, ...one.logLines, ...other.logLines].join('\n');
    expect(stdout).toContain('"type":"header"');
    for (const password of [MAIL_PASSWORD, encodeURIComponent(MAIL_PASSWORD)])
      expect(all).not.toContain(password);
  });

  test('with a password is refused without LICENSING_KEY_SECRET, with the remedy', async () => {
    const service = await startTestService({ ...environment, LICENSING_KEY_SECRET: '' });
    try {
      const client = manageClient(service.url, api.token);
      const message = await client.refused(
        'PATCH /settings',
        { mail_url: mailUrl() },
        'CONFLICT',
        'mail_url',
      );
      expect(message).toContain('LICENSING_KEY_SECRET');
    } finally {
      await service.stop();
    }
  });

  test('that was sealed with another secret is not used, and the command says so', async () => {
    await api.ok('PATCH /settings', { mail_url: mailUrl() });
    const elsewhere = { ...environment, LICENSING_KEY_SECRET: Buffer.alloc(32, 9).toString('base64') };
    const { code, stderr } = await operator(elsewhere).run(['settings', 'list']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('licensing settings set mail_url')]);
  });
});

test('the picture is uploaded, served with its type, replaced and removed', async () => {
  const logo = () => fetch(`${other.url}${PREFIX}/pages/my/logo`);
  expect((await logo()).status).toBe(404);
  const png = { headers: { 'Content-Type': 'image/png' } };
  const set = await api.send('PUT /settings/picture', { body: PNG, ...png });
  expect(set.body.data).toEqual({ type: 'image/png', bytes: PNG.length, source: 'stored' });
  await eventually(async () => expect((await logo()).status).toBe(200));
  const answer = await logo();
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining('sandbox'),
  });
  expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true);
  const svg = await api.send('PUT /settings/picture', {
    body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
    ...png,
  });
  expect(svg.status).toBe(400);
  const large = Buffer.concat([PNG, Buffer.alloc(256 * 1024)]);
  expect((await api.send('PUT /settings/picture', { body: large, ...png })).status).toBe(413);
  const jpeg = Buffer.from('\xff\xd8\xff\xe0 and so on', 'latin1');
  const replaced = await api.send('PUT /settings/picture', {
    body: jpeg,
    headers: { 'Content-Type': 'image/jpeg' },
  });
  expect(replaced.body.data.type).toBe('image/jpeg');
  await api.ok('DELETE /settings/picture', undefined, 204);
  await api.refused('DELETE /settings/picture', undefined, 'NOT_FOUND');
  await eventually(async () => expect((await logo()).status).toBe(404));
});

test('an export has the settings except the mail server, and an import takes them over', async () => {
  const png = { headers: { 'Content-Type': 'image/png' } };
  await api.ok('PATCH /settings', {
    shop_name: 'Acme',
    mail_url: `smtp://127.0.0.1:${mailServer.port}?from=a@b.example`,
  });
  await api.send('PUT /settings/picture', { body: PNG, ...png });
  const file = join(temporaryFolder(), 'export.jsonl');
  await operator(environment).json(['export', '--out', file]);
  expect(readFileSync(file, 'utf8')).not.toContain('smtp:');
  const there = operator({ ...(await newPlace('SQLite')), LICENSING_KEY_SECRET: KEY_SECRET });
  await there.json(['migrate']);
  const { records } = await there.json<{ records: Thing }>(['import', file]);
  expect(records.setting).toMatchObject({ new: 2, conflicting: 0 });
  const listed = await there.json<Thing[]>(['settings', 'list']);
  expect(listed.find(({ name }) => name === 'shop_name')).toMatchObject({ value: 'Acme', source: 'stored' });
  await there.json(['settings', 'set', 'shop_name', 'Other']);
  const again = await there.json<{ records: Thing }>(['import', file]);
  expect(again.records.setting).toMatchObject({ new: 0, same: 1, changed: 1 });
  await api.ok('PATCH /settings', { shop_name: null, mail_url: null });
  await api.ok('DELETE /settings/picture', undefined, 204);
});

test('an import leaves out settings that could not be set here, such as the mail server, and says so', async () => {
  const there = operator({ ...(await newPlace('SQLite')), LICENSING_KEY_SECRET: KEY_SECRET });
  await there.json(['migrate']);
  await there.json(['settings', 'set', 'grace_days', '5']);
  const file = join(temporaryFolder(), 'export.jsonl');
  await there.json(['export', '--out', file]);
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const footer = JSON.parse(lines.pop()!) as { records: Thing };
  const good = {
    ...{ shop_name: 'Acme', public_url: 'https://new.example', token_days: '70', mail_language: 'de' },
    'mail_text.license_key.en': 'Your key\n\n{key}\n',
    picture: PNG.toString('base64'),
  };
  const bad: [string, string, string][] = [
    ['mail_url', 'smtp://evil.example?from=a@b.example', 'The mail server is not set in a file.'],
    ['mail_url', 'file:/tmp/mails?from=a@b.example', 'The mail server is not set in a file.'],
    ['public_url', 'javascript:alert(1)', "must be the site's address"],
    ['rate_limit', 'abc', 'must be of type integer'],
    ['log_days', '0', 'must be'],
    ['token_days', '', 'must be of type integer'],
    ['mail_language', 'xx', 'must be one of en, de'],
    ['shop_name', 'A'.repeat(101), 'must NOT have more than 100 characters'],
    ['key_secret', 'x', 'There is no such setting.'],
    ['untried', '1', 'There is no such setting.'],
    ['picture', 'PHN2Zz4=', 'It must be a PNG, JPEG or WebP picture'],
    ['picture', Buffer.concat([PNG, Buffer.alloc(262_144)]).toString('base64'), 'at most 256 KiB'],
    ['mail_text.license_key.en', 'Your key\n\nis gone\n', 'it lacks {key}'],
    ['mail_text.license_key.xx', 'Your key\n\n{key}\n', 'There is no such mail text.'],
  ];
  const importing = async (settings: (readonly string[])[], options: string[] = []) => {
    const records = settings.map(([name, value], i) =>
      JSON.stringify({
        ...{ type: 'setting', id: i + 1, name, value },
        ...{ changed_by: 'operator:root', changed_at: '2026-11-24T10:00:00Z' },
      }),
    );
    const others = lines.filter((line) => !line.includes('"type":"setting"'));
    const end = JSON.stringify({ ...footer, records: { ...footer.records, setting: records.length } });
    writeFileSync(file, [header, ...others, ...records, end, ''].join('\n'));
    return there.run(['import', file, ...options]);
  };
  for (const [name, value, fault] of bad) {
    const { code, stdout, stderr } = await importing([[name, value]], ['--json']);
    expect({ name, value, code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(fault) });
    expect(JSON.parse(stdout)).toMatchObject({
      records: { setting: { new: 0, same: 0, changed: 0, conflicting: 0 } },
      left_out: [{ message: expect.stringContaining(fault) }],
    });
  }
  const names = async () =>
    (await there.json<{ name: string; source: string }[]>(['settings', 'list']))
      .filter(({ source }) => source === 'stored')
      .map(({ name }) => name);
  expect(await names()).toEqual(['grace_days']);
  const all = [...Object.entries(good), ...bad.slice(0, 1), ...bad.slice(8, 9)];
  expect(await importing(all, ['--dry-run'])).toMatchObject({
    ...{ code: 0, stderr: expect.stringMatching(/^Left out:\n {2}line \d+: mail_url: /) },
  });
  expect(await importing(all)).toMatchObject({ code: 0 });
  expect(await names()).toEqual(['shop_name', 'public_url', 'mail_language', 'grace_days', 'token_days']);
});

describe('texts of mails', () => {
  const text = 'Ihr Schlüssel für {product}\n\nHier ist er:\n\n{key}\n\n<b>{shop}</b>';

  test('are set, previewed with escaped values, mailed and reset', async () => {
    const before = await api.ok('GET /mail-texts/license_key/de');
    expect(before).toMatchObject({ source: 'built_in', placeholders: expect.arrayContaining(['{key}']) });
    const preview = await api.ok('POST /mail-texts/license_key/de/preview', { text });
    expect(preview).toMatchObject({ subject: 'Ihr Schlüssel für Gallery Pro' });
    expect(preview.text).toContain('<b>');
    expect(preview.html).toContain('&#60;b&#62;');
    expect(preview.html).not.toContain('<b>');
    expect(await api.ok('PUT /mail-texts/license_key/de', { text })).toMatchObject({
      source: 'stored',
      text: `${text}\n`,
      built_in: before.text as string,
    });
    const { run } = operator(environment);
    const shown = await run(['mail', 'text', 'show', 'license_key', 'de', '--preview']);
    expect(shown.stdout).toContain('Hier ist er:');
    await api.ok('DELETE /mail-texts/license_key/de', undefined, 204);
    await api.refused('DELETE /mail-texts/license_key/de', undefined, 'NOT_FOUND');
    expect(await api.ok('GET /mail-texts/license_key/de')).toEqual(before);
  });

  test('with an unknown placeholder or without the key are refused, with the line', async () => {
    const set = (wrong: string) =>
      api.refused('PUT /mail-texts/license_key/en', { text: wrong }, 'INVALID_REQUEST', 'text');
    expect(await set('Your key\n\n{key}\n{kye}')).toContain('it has {kye} in line 4');
    expect(await set('Your key\n\nSoon.')).toContain('it lacks {key}');
    expect(await set('Your key')).toContain('it needs a subject in its first line');
    await api.refused('GET /mail-texts/operator/en', undefined, 'NOT_FOUND');
  });

  test('in a file win over a stored text', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'test.en.txt'), 'Of a file\n\nFrom {shop}.');
    const { json, run } = operator({ ...environment, LICENSING_MAIL_TEXTS_DIR: folder });
    await api.ok('PUT /mail-texts/test/en', { text: 'Stored\n\nFrom {shop}.' });
    expect(await json(['mail', 'text', 'show', 'test', 'en'])).toMatchObject({ source: 'file' });
    const file = join(folder, 'mine');
    writeFileSync(file, 'Mine\n\nFrom {shop}.');
    const { code, stderr } = await run(['mail', 'text', 'set', 'test', 'en', file]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('takes precedence over a text that is set here'),
    ]);
    await api.ok('DELETE /mail-texts/test/en', undefined, 204);
  });
});
