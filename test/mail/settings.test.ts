import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readConfig, type Settings } from '../../src/settings/config';
import { mailingOf } from '../../src/mail/queue';
import { temporaryFolder } from '../support/processes';

/** Mail settings come from LICENSING_MAIL_URL, or from the site's configuration.php. */

const read = (settings: Settings) =>
  readConfig(
    { LICENSING_ENV_FILE: '/dev/null' },
    { LICENSING_DATABASE_URL: 'sqlite:test.sqlite', ...settings },
  );

const mailOf = (LICENSING_MAIL_URL: string) => read({ LICENSING_MAIL_URL }).mail;

test('LICENSING_MAIL_URL: encryption, port and sender', () => {
  const from = { address: 'sales@shop.example', name: undefined };
  const smtp = { kind: 'smtp', host: 'mail.example', ca: undefined };
  const end = '?from=Sales@shop.example';
  expect(mailOf(`smtp://a%40b:p%2Fss%25@mail.example${end}`)).toEqual({
    ...{ from, source: 'LICENSING_MAIL_URL' },
    route: { ...smtp, port: 587, tls: 'required', login: { user: 'a@b', password: 'p/ss%' } },
  });
  expect(mailOf(`smtps://mail.example${end}`)?.route).toMatchObject({ port: 465, tls: 'implicit' });
  expect(mailOf(`smtp://mail.example${end}`)?.route).toMatchObject({ port: 25, tls: 'offered' });
  expect(mailOf(`smtp://u:p@[::1]:2525${end}`)?.route).toMatchObject({
    host: '::1',
    port: 2525,
    tls: 'offered',
  });
  expect(mailOf('smtp://jo%40shop.example:p@mail.example')?.from.address).toBe('jo@shop.example');
  expect(mailOf(`file:/tmp/mails${end}`)?.route).toEqual({ kind: 'folder', path: '/tmp/mails' });
});

test('an unusable setting stops the start, and no message contains the password', () => {
  for (const url of [
    'http://u:very-secret@mail.example?from=a@b.example',
    'smtp://u:very-secret@mail.example',
    'smtp://u:very-secret@mail.example?from=nobody',
    'smtp://u:very-secret%@mail.example?from=a@b.example',
    'smtp://u:very-secret@mail.example?from=a@b.example&form=x',
    'smtp://u:very-secret@mail.example/?from=a@b.example&ca=/nonexistent.pem',
    'smtp://u:very-secret@mail.example:port?from=a@b.example',
    'file:?from=a@b.example',
  ]) {
    const reading = () => mailOf(url);
    expect(reading).toThrow(/LICENSING_MAIL_URL/);
    expect(reading).not.toThrow(/very-secret/);
  }
  expect(() => read({ LICENSING_MAIL_LANGUAGE: 'fr' })).toThrow(
    'LICENSING_MAIL_LANGUAGE must be one of en, de',
  );
});

function siteWith(lines: string): string {
  const root = join(temporaryFolder(), 'site');
  mkdirSync(root);
  const base = `public $host = 'localhost'; public $user = 'u'; public $password = 'p'; public $db = 'd'; public $dbprefix = 'j_';`;
  writeFileSync(join(root, 'configuration.php'), `<?php\nclass JConfig { ${base} ${lines} }\n`);
  return root;
}

test("the site's own settings, as Joomla uses them; off when the site sends no mail", () => {
  const siteOf = (lines: string, more: Settings = {}) =>
    read({
      LICENSING_JOOMLA_ROOT: siteWith(
        `public $sitename = 'My Shop'; public $mailfrom = 'shop@joomla.example'; ${lines}`,
      ),
      ...more,
    });
  const smtp = `public $mailer = 'smtp'; public $smtphost = 'mail.example'; public $smtpport = '465'; public $smtpsecure = 'ssl';`;
  const login = `public $smtpauth = true; public $smtpuser = 'u'; public $smtppass = 'it\\'s'; public $fromname = 'The shop';`;
  expect(siteOf(`public $mailonline = true; ${smtp} ${login}`).mail).toEqual({
    ...{ from: { address: 'shop@joomla.example', name: 'The shop' }, source: "the site's configuration.php" },
    route: {
      ...{ kind: 'smtp', host: 'mail.example', port: 465, tls: 'implicit', ca: undefined },
      login: { user: 'u', password: "it's" },
    },
  });
  const asPhpMailer = `public $mailer = 'smtp'; public $smtphost = ' ssl://mail.example:465;other.example';`;
  expect(siteOf(asPhpMailer).mail?.route).toMatchObject({ host: 'mail.example', port: 465, tls: 'implicit' });
  const ipv6 = `public $mailer = 'smtp'; public $smtphost = '[::1]'; public $smtpport = '2525';`;
  expect(siteOf(ipv6).mail?.route).toMatchObject({ host: '::1', port: 2525, tls: 'offered' });
  const php = siteOf(`public $mailer = 'mail'; public $sendmail = '/usr/lib/sendmail -t';`);
  expect([php.mail?.route, php.shopName]).toEqual([
    { kind: 'sendmail', path: '/usr/lib/sendmail' },
    'My Shop',
  ]);
  expect(siteOf(`public $mailonline = false; ${smtp}`)).toMatchObject({
    mail: undefined,
    mailOff: 'offline',
  });
  // The service's own setting wins. The sender's address still comes from the site.
  const own = siteOf(smtp, { LICENSING_MAIL_URL: 'smtp://localhost' });
  expect(own.mail).toMatchObject({ route: { host: 'localhost' }, from: { address: 'shop@joomla.example' } });
  expect(mailingOf(own)).toBeUndefined();
  expect(mailingOf({ ...own, publicUrl: 'https://shop.example' })).toEqual({ language: 'en' });
  expect(read({})).toMatchObject({ mail: undefined, mailOff: 'no-site' });
});
