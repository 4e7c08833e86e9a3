import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../src/base/errors';
import { NOTHING_STORED } from '../../src/settings/names';
import { envFilePath, packageRoot, readConfig, type Config, type Variable } from '../../src/settings/config';
import { createAuthority } from '../support/certificates';
import { operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { entry, PROGRAM } from '../support/program';
import { processEnvironment, startProgram } from '../support/service-process';

const SECRET = randomBytes(32);
const SITE_NAME = 'Acme Extensions';
const SITE = join(temporaryFolder(), 'site');
mkdirSync(SITE);
writeFileSync(
  join(SITE, 'configuration.php'),
  `<?php class JConfig { public $dbtype = 'mysqli'; public $host = 'db.example:3307'; public $user = 'joomla';
  public $password = 'S3cret'; public $db = 'site'; public $dbprefix = 'jos_'; public $sitename = '${SITE_NAME}'; }`,
);

/** Reads a configuration from only these settings, on SQLite unless they name another database. */
function read(settings: Partial<Record<Variable, string>>): Config {
  return readConfig({
    LICENSING_ENV_FILE: '/dev/null',
    LICENSING_DATABASE_URL: 'sqlite:/srv/licensing.sqlite',
    ...settings,
  });
}

function refusal(settings: NodeJS.ProcessEnv): string {
  try {
    readConfig({
      LICENSING_ENV_FILE: '/dev/null',
      LICENSING_DATABASE_URL: 'sqlite:/srv/licensing.sqlite',
      ...settings,
    });
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error('It was accepted.');
}

function mysql(settings: object) {
  return {
    kind: 'mysql',
    host: 'db.example',
    port: 3306,
    user: 'u',
    password: 'p',
    database: 'd',
    ...settings,
  };
}

describe('a good value', () => {
  it.each<[Variable, string, keyof Config, unknown]>([
    ['LICENSING_DATABASE_URL', 'mysql://u:p@db.example/d', 'database', mysql({})],
    ['LICENSING_DATABASE_URL', 'mariadb://u:p@db.example/d', 'database', mysql({})],
    ['LICENSING_DATABASE_URL', 'mysql://u:p@db.example:3307/d', 'database', mysql({ port: 3307 })],
    ['LICENSING_DATABASE_URL', 'mysql://u@db.example/d', 'database', mysql({ password: '' })],
    ['LICENSING_DATABASE_URL', 'mysql://u:@db.example/d', 'database', mysql({ password: '' })],
    ['LICENSING_DATABASE_URL', 'mysql://u:p@[::1]:3307/d', 'database', mysql({ host: '::1', port: 3307 })],
    [
      'LICENSING_DATABASE_URL',
      'mysql://us%40er:%3A%2F%3F%23%40%25%20%C3%BC@db.example/d%2De',
      'database',
      mysql({ user: 'us@er', password: ':/?#@% ü', database: 'd-e' }),
    ],
    [
      'LICENSING_DATABASE_URL',
      'mysql://u:p@localhost/d?socketPath=/run/mysqld/mysqld.sock',
      'database',
      mysql({ host: 'localhost', socketPath: '/run/mysqld/mysqld.sock' }),
    ],
    [
      'LICENSING_DATABASE_URL',
      'mysql://u:p,q@db.example,[::1]:3307,10.0.0.13/d',
      'database',
      mysql({
        password: 'p,q',
        others: [
          { host: '::1', port: 3307 },
          { host: '10.0.0.13', port: 3306 },
        ],
      }),
    ],
    ['LICENSING_DATABASE_URL', 'sqlite:/srv/a.sqlite', 'database', { kind: 'sqlite', path: '/srv/a.sqlite' }],
    [
      'LICENSING_DATABASE_URL',
      'sqlite:///srv/a.sqlite',
      'database',
      { kind: 'sqlite', path: '/srv/a.sqlite' },
    ],
    ['LICENSING_TABLE_PREFIX', 'jos_', 'tablePrefix', 'jos_'],
    ['LICENSING_TABLE_PREFIX', 'a23456789012345', 'tablePrefix', 'a23456789012345'],
    ['LICENSING_REDIS_URL', 'redis://127.0.0.1:6379', 'redisUrls', ['redis://127.0.0.1:6379']],
    ['LICENSING_REDIS_URL', 'rediss://u:p@r.example/2', 'redisUrls', ['rediss://u:p@r.example/2']],
    ['LICENSING_REDIS_URL', 'redis://a:1, redis://b:2', 'redisUrls', ['redis://a:1', 'redis://b:2']],
    ['LICENSING_LISTEN', '0.0.0.0:80', 'listen', { host: '0.0.0.0', port: 80 }],
    ['LICENSING_LISTEN', 'localhost:3080', 'listen', { host: 'localhost', port: 3080 }],
    ['LICENSING_LISTEN', '[::1]:3080', 'listen', { host: '::1', port: 3080 }],
    ['LICENSING_LISTEN', 'unix:/run/licensing/http.sock', 'listen', { path: '/run/licensing/http.sock' }],
    ['LICENSING_ADMIN_LISTEN', '127.0.0.1:9000', 'adminListen', { host: '127.0.0.1', port: 9000 }],
    ['LICENSING_ADMIN_LISTEN', 'unix:/run/admin.sock', 'adminListen', { path: '/run/admin.sock' }],
    ['LICENSING_TRUSTED_PROXIES', '10.0.0.0/8', 'trustedProxies', ['10.0.0.0/8']],
    [
      'LICENSING_TRUSTED_PROXIES',
      '10.0.0.1, ::1,fd00::/8',
      'trustedProxies',
      ['10.0.0.1', '::1', 'fd00::/8'],
    ],
    ['LICENSING_PACKAGES_DIR', '/srv/packages', 'packagesDir', '/srv/packages'],
    ['LICENSING_ACCEL_LOCATION', '/_licensing_packages/', 'accelLocation', '/_licensing_packages/'],
    ['LICENSING_ACCEL_LOCATION', '/a/b-c/', 'accelLocation', '/a/b-c/'],
    ['LICENSING_XML_DIR', '/srv/xml', 'xmlDir', '/srv/xml'],
    ['LICENSING_PUBLIC_URL', 'https://shop.example', 'publicUrl', 'https://shop.example'],
    [
      'LICENSING_PUBLIC_URL',
      'HTTP://Shop.example:8080/joomla//',
      'publicUrl',
      'http://shop.example:8080/joomla',
    ],
    ['LICENSING_KEY_SECRET', SECRET.toString('base64'), 'keySecret', SECRET],
    ['LICENSING_KEY_SECRET', SECRET.toString('base64url'), 'keySecret', SECRET],
    ['LICENSING_TOKEN_DAYS', '7', 'tokenDays', 7],
    ['LICENSING_OFFLINE_DAYS', '3660', 'offlineDays', 3_660],
    ['LICENSING_WEBHOOK_NETWORKS', '127.0.0.1, fd00::/8', 'webhookNetworks', ['127.0.0.1', 'fd00::/8']],
    ['LICENSING_RATE_LIMIT', '1', 'rateLimit', 1],
    ['LICENSING_RATE_LIMIT', '1000000000', 'rateLimit', 1e9],
    ['LICENSING_RATE_LIMIT', '77', 'downloadRateLimit', 77],
    ['LICENSING_RATE_WINDOW', '86400', 'rateWindow', 86_400],
    ['LICENSING_DOWNLOAD_RATE_LIMIT', '5', 'downloadRateLimit', 5],
    ['LICENSING_DATABASE_CONNECTIONS', '2', 'databaseConnections', 2],
    ['LICENSING_MANAGE_RATE_LIMIT', '30', 'manageRateLimit', 30],
    ['LICENSING_OPERATOR_GROUPS', '7', 'operatorGroups', [7]],
    ['LICENSING_OPERATOR_GROUPS', ' 7, 8 ', 'operatorGroups', [7, 8]],
    ['LICENSING_PAGES_HOST', 'Licences.Shop.Example', 'pagesHost', 'licences.shop.example'],
    ['LICENSING_PAGES_HOST', 'licences.shop.example', 'operatorUrl', 'https://licences.shop.example'],
    ['LICENSING_SHOP_NAME', ' Acme & Söhne ', 'shopName', 'Acme & Söhne'],
    ['LICENSING_LOG_LEVEL', 'silent', 'logLevel', 'silent'],
    ['LICENSING_LOG_LEVEL', 'debug', 'logLevel', 'debug'],
    ['LICENSING_GRACE_DAYS', '0', 'graceDays', 0],
    [
      'LICENSING_FORMERLY',
      ' ars=07:42, path=/old/*.zip:43 ',
      'formerly',
      [
        { system: 'ars', id: '7', productId: 42 },
        { system: 'path', id: '/old/*.zip', productId: 43 },
      ],
    ],
    ['LICENSING_LOG_DAYS', '36500', 'logDays', 36_500],
    ['LICENSING_LOG_DAYS', ' 7 ', 'logDays', 7],
  ])('%s=%s', (name, value, field, expected) => {
    const config = read({ [name]: value });
    expect(config[field]).toEqual(expected);
    expect(config.warnings).toEqual([]);
  });

  it('is not needed where there is a default', () => {
    const { envFile, ...config } = read({});
    expect(envFile).toBe('/dev/null');
    expect(config).toEqual({
      database: { kind: 'sqlite', path: '/srv/licensing.sqlite' },
      databaseSource: 'LICENSING_DATABASE_URL',
      databaseConnections: 10,
      tablePrefix: '',
      tablePrefixChosen: false,
      mail: undefined,
      mailLanguage: 'en',
      mailOff: 'no-site',
      mailTexts: { builtIn: join(packageRoot, 'mails'), own: undefined, stored: {} },
      siteName: undefined,
      spreadFactor: 3,
      timeoutFactor: 1,
      formerly: [],
      joomlaRoot: undefined,
      redisUrls: [],
      listen: { host: '127.0.0.1', port: 3080 },
      adminListen: { host: '127.0.0.1', port: 3081 },
      trustedProxies: ['127.0.0.0/8', '::1'],
      packagesDir: join(packageRoot, 'var/packages'),
      accelLocation: undefined,
      uploadLimit: 268_435_456,
      xmlDir: join(packageRoot, 'var/xml'),
      publicUrl: undefined,
      pagesHost: undefined,
      operatorUrl: undefined,
      shopName: '',
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      shopLogo: undefined,
      keySecret: undefined,
      tokenDays: 14,
      offlineDays: 30,
      webhookNetworks: [],
      rateLimit: 60,
      rateWindow: 60,
      downloadRateLimit: 60,
      manageRateLimit: 600,
      operatorGroups: [8],
      logLevel: 'info',
      graceDays: 3,
      logDays: 90,
      warnings: [],
      environment: expect.objectContaining({ remarks: [] }),
      stored: NOTHING_STORED,
    });
  });

  it.each(['', '   '])('counts: %j is the same as a variable that is not set', (blank) => {
    expect(read({ LICENSING_RATE_LIMIT: blank, LICENSING_KEY_SECRET: blank }).rateLimit).toBe(60);
  });

  it('of LICENSING_JOOMLA_ROOT gives the database and the prefix, unless other settings do', () => {
    const site = { LICENSING_DATABASE_URL: '', LICENSING_JOOMLA_ROOT: SITE };
    expect(read(site)).toMatchObject({
      joomlaRoot: SITE,
      databaseSource: join(SITE, 'configuration.php'),
      tablePrefix: 'jos_',
      tablePrefixChosen: false,
      database: mysql({ port: 3307, user: 'joomla', password: 'S3cret', database: 'site' }),
    });
    expect(
      read({ ...site, LICENSING_DATABASE_URL: 'mysql://u:p@db.example/d', LICENSING_TABLE_PREFIX: 'x_' }),
    ).toMatchObject({
      joomlaRoot: SITE,
      tablePrefix: 'x_',
      tablePrefixChosen: true,
      database: mysql({}),
    });
  });
});

describe('$live_site of the site', () => {
  const root = join(temporaryFolder(), 'site');
  mkdirSync(root);
  const readWith = (value: string, settings = {}) => {
    const php = readFileSync(join(SITE, 'configuration.php'), 'utf8');
    writeFileSync(join(root, 'configuration.php'), php.replace('{', `{ public $live_site = ${value};`));
    return read({ LICENSING_JOOMLA_ROOT: root, ...settings });
  };

  it('is the public address if LICENSING_PUBLIC_URL is not set', () => {
    const site = "'https://shop.example/joomla/'";
    expect(readWith(site).publicUrl).toBe('https://shop.example/joomla');
    expect(readWith(site, { LICENSING_PUBLIC_URL: 'https://other.example' }).publicUrl).toBe(
      'https://other.example',
    );
    for (const none of ["''", 'false'])
      expect(readWith(none)).toMatchObject({ publicUrl: undefined, warnings: [] });
  });

  it('is ignored with a warning if it is not an address', () => {
    expect(readWith("'shop.example'")).toMatchObject({
      publicUrl: undefined,
      warnings: [expect.stringContaining('Set LICENSING_PUBLIC_URL')],
    });
  });
});

describe('the host name of the pages', () => {
  const publicUrl = { LICENSING_PUBLIC_URL: 'https://shop.example/joomla' };

  it("is where operators call, with the site's folder; without it they call the site", () => {
    expect(read({ ...publicUrl, LICENSING_PAGES_HOST: 'licences.shop.example' }).operatorUrl).toBe(
      'https://licences.shop.example/joomla',
    );
    expect(read(publicUrl).operatorUrl).toBe('https://shop.example/joomla');
  });

  it.each(['https://licences.shop.example', 'licences.shop.example:8443', 'shop.example', 'a b'])(
    'is not %j',
    (host) => {
      expect(() => read({ ...publicUrl, LICENSING_PAGES_HOST: host })).toThrow(ConfigError);
    },
  );
});

describe('a secret in a file', () => {
  const folder = temporaryFolder();
  const file = (text: string, name = 'secret') => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const settingsFile = (text: string) => file(text, '.env');

  it.each<[Variable, string, keyof Config, unknown]>([
    ['LICENSING_KEY_SECRET_FILE', SECRET.toString('base64'), 'keySecret', SECRET],
    ['LICENSING_DATABASE_URL_FILE', 'mysql://u:p@db.example/d', 'database', mysql({})],
    ['LICENSING_REDIS_URL_FILE', 'redis://:p@127.0.0.1:6379', 'redisUrls', ['redis://:p@127.0.0.1:6379']],
    ['LICENSING_MAIL_URL_FILE', 'smtp://u:p@mail.example?from=a@b.example', 'mail', expect.anything()],
  ])('%s', (name, text, field, expected) => {
    const without = name === 'LICENSING_DATABASE_URL_FILE' ? { LICENSING_DATABASE_URL: '' } : {};
    expect(read({ ...without, [name]: file(`  ${text}\n`) })).toMatchObject({
      [field]: expected,
      warnings: [],
    });
  });

  it('can be named in the settings file, relative to its folder, and the environment wins', () => {
    file(SECRET.toString('base64'));
    const other = randomBytes(32);
    const env = {
      LICENSING_DATABASE_URL: 'sqlite:a',
      LICENSING_ENV_FILE: settingsFile('LICENSING_KEY_SECRET_FILE=secret\n'),
    };
    expect(readConfig(env).keySecret).toEqual(SECRET);
    expect(readConfig({ ...env, LICENSING_KEY_SECRET: other.toString('base64') }).keySecret).toEqual(other);
  });

  it('may be missing if the environment gives the secret; otherwise the error names the settings file', () => {
    const path = settingsFile('LICENSING_DATABASE_URL=sqlite:a\nLICENSING_KEY_SECRET_FILE=/nowhere/secret\n');
    const env = { LICENSING_ENV_FILE: path };
    expect(() => readConfig(env)).toThrow(`${path}: LICENSING_KEY_SECRET_FILE names /nowhere/secret, which`);
    const secret = SECRET.toString('base64');
    expect(readConfig({ ...env, LICENSING_KEY_SECRET: secret }).keySecret).toEqual(SECRET);
    expect(readConfig({ ...env, LICENSING_KEY_SECRET_FILE: file(secret) }).keySecret).toEqual(SECRET);
  });

  it.each<[string, () => NodeJS.ProcessEnv, string]>([
    [
      'is missing',
      () => ({ LICENSING_KEY_SECRET_FILE: '/nowhere/secret' }),
      'names /nowhere/secret, which cannot be read (ENOENT).',
    ],
    ['is a folder', () => ({ LICENSING_KEY_SECRET_FILE: folder }), 'which cannot be read (EISDIR).'],
    ['has no end', () => ({ LICENSING_KEY_SECRET_FILE: '/dev/zero' }), 'which is a device.'],
    ['is empty', () => ({ LICENSING_KEY_SECRET_FILE: file(' \n') }), 'which is empty.'],
    [
      'is too large',
      () => ({ LICENSING_KEY_SECRET_FILE: file('x'.repeat(65_537)) }),
      'which is too large for a secret.',
    ],
    [
      'is not the only one',
      () => ({ LICENSING_KEY_SECRET_FILE: file('x'), LICENSING_KEY_SECRET: 'S3cret' }),
      'LICENSING_KEY_SECRET and LICENSING_KEY_SECRET_FILE are both set in the same place.',
    ],
  ])('that %s is refused with a reason', (_name, settings, words) => {
    const said = refusal(settings());
    expect(said).toContain(words);
    expect(said).not.toContain('S3cret');
  });
});

describe("the shop's name and picture", () => {
  const folder = temporaryFolder();
  const logo = (content: string | Buffer, name = 'logo') => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return read({ LICENSING_SHOP_LOGO: path });
  };

  it("is the site's where no name is set", () => {
    const site = { LICENSING_DATABASE_URL: '', LICENSING_JOOMLA_ROOT: SITE };
    expect(read(site).shopName).toBe(SITE_NAME);
    expect(read({ ...site, LICENSING_SHOP_NAME: 'Acme' }).shopName).toBe('Acme');
  });

  it.each([
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n...', 'latin1')],
    ['JPEG', Buffer.from('\xff\xd8\xff\xe0...', 'latin1')],
    ['WebP', 'RIFF\0\0\0\0WEBPVP8 '],
    [
      'SVG',
      '\uFEFF<?xml version="1.0"?>\n<!-- made > by hand -->\n<!DOCTYPE svg [<!ENTITY a "b">]>\n<svg xmlns="http://www.w3.org/2000/svg"/>',
    ],
  ])('may be a %s', (_type, content) => {
    expect(logo(content)).toMatchObject({ shopLogo: { bytes: Buffer.from(content) }, warnings: [] });
  });

  it.each<[string, () => ReturnType<typeof read>, RegExp]>([
    ['is missing', () => read({ LICENSING_SHOP_LOGO: '/nowhere/logo.png' }), /cannot be read: /],
    ['is a folder', () => read({ LICENSING_SHOP_LOGO: folder }), /is not a file\./],
    ['is a page', () => logo('<html><svg/></html>'), /is not a PNG, JPEG, WebP or SVG picture\./],
    ['is too large', () => logo(Buffer.alloc(201 * 1024)), /has 201 KB; the limit is 200 KB\./],
  ])('that %s is not shown, with a warning', (_name, readIt, message) => {
    const { shopLogo, warnings } = readIt();
    expect(shopLogo).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(message)]);
  });
});

describe('TLS in LICENSING_DATABASE_URL', () => {
  const authority = createAuthority();
  const { ca } = authority;
  const client = authority.issue('DNS:client');
  const other = authority.issue('DNS:other');
  const nothing = join(temporaryFolder(), 'nothing.pem');
  writeFileSync(nothing, 'S3cret');
  const text = (path: string) => readFileSync(path, 'utf8');
  const withParameters = (parameters: string) => ({
    LICENSING_DATABASE_URL: `mysql://u:S3cret@db.example/d?${parameters}`,
  });
  const both = `sslcert=${client.cert}&sslkey=${client.key}`;

  it.each<[string, object]>([
    ['ssl=require', { verify: false }],
    ['ssl=verify', { verify: true }],
    [`ssl=verify&sslca=${ca}`, { verify: true, ca: text(ca) }],
    [`ssl=require&${both}`, { verify: false, cert: text(client.cert), key: text(client.key) }],
    [
      `sslca=${ca}&${both}&sslcipher=AES128:AES256&ssl=verify`,
      {
        verify: true,
        ca: text(ca),
        cert: text(client.cert),
        key: text(client.key),
        ciphers: 'AES128:AES256',
      },
    ],
  ])('%s is understood', (parameters, tls) => {
    expect(read(withParameters(parameters)).database).toEqual(mysql({ password: 'S3cret', tls }));
    const LICENSING_DATABASE_URL = `mysql://u:S3cret@db.example,b.example/d?${parameters}`;
    const others = [{ host: 'b.example', port: 3306 }];
    expect(read({ LICENSING_DATABASE_URL }).database).toEqual(mysql({ password: 'S3cret', tls, others }));
  });

  it('may name files relative to the file of settings', () => {
    const folder = dirname(ca);
    const path = join(folder, 'licensing.env');
    writeFileSync(path, `LICENSING_DATABASE_URL='mysql://u:p@db.example/d?ssl=verify&sslca=ca.pem'\n`);
    expect(readConfig({ LICENSING_ENV_FILE: path }).database).toEqual(
      mysql({ tls: { verify: true, ca: text(ca) } }),
    );
  });

  const FORM = 'for TLS, write ssl=require (encrypted) or ssl=verify';
  it.each([
    ['ssl=', FORM],
    ['ssl=true', FORM],
    ['ssl=VERIFY', FORM],
    ['ssl=S3cret', FORM],
    [`sslca=${ca}`, FORM],
    ['sslcipher=AES128', FORM],
    [`ssl=require&sslca=${ca}`, FORM],
    [`ssl=verify&sslcert=${client.cert}`, FORM],
    [`ssl=verify&sslkey=${client.key}`, FORM],
    ['ssl=verify&ssl=require', 'without duplicates'],
    ['sslmode=require', 'socketPath, ssl, sslca, sslcert, sslkey, sslcipher are allowed'],
    ['ssl=verify&sslca=', 'cannot be read (EISDIR). It is sslca of'],
    ['ssl=verify&sslca=/nowhere/ca.pem', '/nowhere/ca.pem cannot be read (ENOENT). It is sslca of'],
    [
      `ssl=verify&sslca=${nothing}`,
      'which is sslca of LICENSING_DATABASE_URL, cannot be used (no start line)',
    ],
    [`ssl=verify&sslca=${client.key}`, 'It must contain the certificate of the authority'],
    [`ssl=verify&sslcert=${nothing}&sslkey=${client.key}`, 'which is sslcert of'],
    [`ssl=verify&sslcert=${client.cert}&sslkey=${nothing}`, 'which is sslkey of'],
    [`ssl=verify&sslcert=${client.cert}&sslkey=${other.key}`, '(key values mismatch)'],
    ['ssl=verify&sslcipher=S3cret', 'sslcipher of LICENSING_DATABASE_URL cannot be used (no cipher match)'],
  ])('%s is refused', (parameters, expected) => {
    const message = refusal(withParameters(parameters));
    expect(message).toContain(expected);
    expect(message).toContain('LICENSING_DATABASE_URL');
    expect(message).not.toContain('S3cret');
  });
});

describe('a bad value stops the start, with the name of the variable and what is expected', () => {
  const DATABASE = 'mysql://user:password@host:3306/database';
  it.each<[Variable, string, string]>([
    ...[
      ...[
        'mysql://db.example/d',
        'mysql://u:S3cret@db.example',
        'mysql://u:S3cret@db.example/',
        'mysql://:S3cret@db.example/d',
      ],
      ...[
        'mysql://u:S3cret@db.example/d/e',
        'postgres://u:S3cret@db.example/d',
        'S3cret',
        'sqlite:',
        'mysql:',
      ],
      // Unencoded passwords change the meaning of a URL.
      ...[
        'mysql://u:S3cret%@db.example/d',
        'mysql://u:S3cret/x@db.example/d',
        'mysql://u:a?S3cret@db.example/d',
      ],
      ...[
        'mysql://u:a#S3cret@db.example/d',
        'mysql://u:a@b/c?S3cret@db.example/d',
        'mysql://u:1?S3cret@db.example/d',
      ],
      ...[
        'mysql://u:S3cret@db.example:99999/d',
        'mysql://u:S3cret@db.example/d?S3cret=1',
        'mysql://u:1/d?S3cret@x/d',
      ],
      ...['mysql://u:S3cret@a,,b/d', 'mysql://u:S3cret@a,b:port/d', 'mysql://u:S3cret@a:3306,/d'],
    ].map((url): [Variable, string, string] => ['LICENSING_DATABASE_URL', url, DATABASE]),
    ['LICENSING_DATABASE_URL', 'mysql://u:S3cret@a,b/d?socketPath=/run/mysqld/mysqld.sock', 'name one host'],
    ['LICENSING_DATABASE_URL', 'mysql://u:S3cret@a:3306,b,a/d', 'each server once'],
    ['LICENSING_JOOMLA_ROOT', '/nonexistent/S3cret-is-no-password-here', 'configuration.php'],
    ['LICENSING_TABLE_PREFIX', 'a234567890123456', '15 letters'],
    ['LICENSING_TABLE_PREFIX', 'jos-', '15 letters'],
    ['LICENSING_TABLE_PREFIX', '4abc_', 'must not begin with a digit, because SQLite'],
    ['LICENSING_TABLE_PREFIX', 'jos_; DROP', '15 letters'],
    ['LICENSING_REDIS_URL', '127.0.0.1:6379', 'redis://host:6379'],
    ['LICENSING_REDIS_URL', 'http://:S3cret@a', 'redis://host:6379'],
    ['LICENSING_REDIS_URL', 'redis://a:1,,redis://:S3cret@b:2', 'redis://host:6379'],
    ['LICENSING_REDIS_URL', 'redis://:S3cret/x@a:port', 'redis://host:6379'],
    ...[
      '3080',
      ':3080',
      '127.0.0.1',
      '127.0.0.1:',
      '127.0.0.1:65536',
      '::1:3080',
      'http://127.0.0.1:3080',
      'unix:',
    ].flatMap((value): [Variable, string, string][] => [
      ['LICENSING_LISTEN', value, 'ADDRESS:PORT'],
      ['LICENSING_ADMIN_LISTEN', value, 'ADDRESS:PORT'],
    ]),
    ...[
      'localhost',
      '10.0.0.0/33',
      '10.0.0/8',
      '10.0.0.1/8/9',
      '::1/129',
      '10.0.0.1/',
      '*',
      '10.0.0.0/x',
    ].map((value): [Variable, string, string] => [
      'LICENSING_TRUSTED_PROXIES',
      value,
      'addresses or networks',
    ]),
    ...['localhost', '10.0.0.0/33'].map((value): [Variable, string, string] => [
      'LICENSING_WEBHOOK_NETWORKS',
      value,
      'addresses or networks',
    ]),
    ...['packages', '/packages', 'packages/', '/', '/a b/', '/../', '/a/;/', 'http://x/'].map(
      (value): [Variable, string, string] => ['LICENSING_ACCEL_LOCATION', value, 'with a slash at both ends'],
    ),
    ...['Super Users', '0', '-8', '7 8', '8,', '7.5'].map((value): [Variable, string, string] => [
      'LICENSING_OPERATOR_GROUPS',
      value,
      "ids of Joomla's user groups",
    ]),
    ...[
      'shop.example',
      'ftp://shop.example',
      'https://u:p@shop.example',
      'https://shop.example/?a',
      'https://#',
    ].map((value): [Variable, string, string] => [
      'LICENSING_PUBLIC_URL',
      value,
      "must be the site's address",
    ]),
    ...[
      'S3cret',
      randomBytes(31).toString('base64'),
      randomBytes(33).toString('base64'),
      SECRET.toString('hex'),
    ].map((value): [Variable, string, string] => ['LICENSING_KEY_SECRET', value, '32 bytes in base64']),
    ...(
      [
        'LICENSING_RATE_LIMIT',
        'LICENSING_RATE_WINDOW',
        'LICENSING_DOWNLOAD_RATE_LIMIT',
        'LICENSING_LOG_DAYS',
      ] as const
    ).flatMap((name) =>
      ['0', '-1', '1.5', '1e3', '0x10', 'many', '60 s', '１', '1000000001'].map(
        (value): [Variable, string, string] => [name, value, 'a whole number from 1 to'],
      ),
    ),
    ['LICENSING_FORMERLY', 'ars=7', 'such as ars=7:42'],
    ['LICENSING_FORMERLY', 'k2=7:42', 'The systems are ars, membershippro, edd, path'],
    ['LICENSING_FORMERLY', 'edd=Acme:42', 'must be a number'],
    ['LICENSING_FORMERLY', 'path=/old/"x".xml:42', 'the path must begin with /'],
    ['LICENSING_FORMERLY', 'path=/a/*/*.zip:42', 'and one *'],
    ['LICENSING_FORMERLY', 'ars=7:42,ars=7:43', 'ars=7 is named twice'],
    ['LICENSING_DATABASE_CONNECTIONS', '1', 'from 2 to 1000'],
    ['LICENSING_DATABASE_CONNECTIONS', '1001', 'from 2 to 1000'],
    ['LICENSING_RATE_WINDOW', '86401', 'from 1 to 86400'],
    ['LICENSING_LOG_DAYS', '36501', 'from 1 to 36500'],
    ['LICENSING_LOG_LEVEL', 'verbose', 'trace, debug, info, warn, error, fatal, silent'],
    ['LICENSING_LOG_LEVEL', 'INFO', 'trace, debug, info, warn, error, fatal, silent'],
  ])('%s=%s', (name, value, expected) => {
    const message = refusal({ [name]: value });
    expect(message).toContain(name);
    expect(message).toContain(expected);
    if (value.includes('S3cret') && !value.startsWith('/')) expect(message).not.toContain('S3cret');
    if (name === 'LICENSING_KEY_SECRET') expect(message).not.toContain(value);
  });

  it('without a database, the message says what to do', () => {
    const message = refusal({ LICENSING_DATABASE_URL: '' });
    expect(message).toMatch(/licensing init/);
    expect(message).toMatch(/LICENSING_DATABASE_URL/);
  });

  it.each([
    ['LICENSING_DATABSE_URL', 'Did you mean LICENSING_DATABASE_URL?'],
    ['LICENSING_DB_URL', 'The settings are: LICENSING_ENV_FILE, LICENSING_DATABASE_URL, '],
  ])('without a database and with %s, the message guesses what was meant', (name, guess) => {
    const message = refusal({ LICENSING_DATABASE_URL: '', [name]: 'mysql://u:S3cret@db.example/d' });
    expect(message).toContain(guess);
    expect(message).not.toContain('S3cret');
  });

  it.each(['sqlite://var/licensing.sqlite', 'sqlite://licensing.sqlite', 'sqlite://'])(
    '%s would be a file in the root folder: the message names both spellings that may be meant',
    (url) => {
      const message = refusal({ LICENSING_DATABASE_URL: url });
      expect(message).toContain('sqlite:var/licensing.sqlite');
      expect(message).toContain('sqlite:/var/lib/licensing/licensing.sqlite');
    },
  );

  it('a file of settings that does not exist or is a folder is refused', () => {
    const folder = temporaryFolder();
    expect(refusal({ LICENSING_ENV_FILE: join(folder, 'none.env') })).toMatch(
      /^LICENSING_ENV_FILE names .*none\.env, which does not exist/,
    );
    expect(refusal({ LICENSING_ENV_FILE: folder })).toContain(`The settings in ${folder} cannot be read`);
  });
});

describe('the file of settings', () => {
  function file(content: string): string {
    const path = join(temporaryFolder(), 'licensing.env');
    writeFileSync(path, content);
    return path;
  }

  it('is .env in the package root, unless LICENSING_ENV_FILE names another', () => {
    expect(envFilePath({})).toBe(join(packageRoot, '.env'));
    expect(envFilePath({ LICENSING_ENV_FILE: 'deploy/x.env' })).toBe(join(packageRoot, 'deploy/x.env'));
    expect(envFilePath({ LICENSING_ENV_FILE: '/etc/licensing.env' })).toBe('/etc/licensing.env');
  });

  it('wins over the defaults, and the environment wins over the file', () => {
    const LICENSING_ENV_FILE = file(
      'LICENSING_RATE_LIMIT=70\nLICENSING_RATE_WINDOW=80\nLICENSING_LOG_DAYS=\n',
    );
    const config = readConfig(
      { LICENSING_ENV_FILE, LICENSING_RATE_LIMIT: '90', LICENSING_RATE_WINDOW: '' },
      {
        LICENSING_DATABASE_URL: 'sqlite:/x',
        LICENSING_RATE_LIMIT: '1',
        LICENSING_RATE_WINDOW: '2',
        LICENSING_LOG_DAYS: '3',
      },
    );
    expect(config).toMatchObject({ rateLimit: 90, rateWindow: 80, logDays: 3, envFile: LICENSING_ENV_FILE });
  });

  it('is the base of relative paths, even of those in the environment', () => {
    const path = file('LICENSING_DATABASE_URL=sqlite:data/a.sqlite\nLICENSING_LISTEN=unix:http.sock\n');
    const folder = dirname(path);
    const config = readConfig({ LICENSING_ENV_FILE: path, LICENSING_PACKAGES_DIR: '../packages' });
    expect(config).toMatchObject({
      database: { path: join(folder, 'data/a.sqlite') },
      listen: { path: join(folder, 'http.sock') },
      packagesDir: join(dirname(folder), 'packages'),
    });
  });

  it('can name the folder of the Joomla site relative to itself', () => {
    const path = join(dirname(SITE), 'beside.env');
    writeFileSync(path, 'LICENSING_JOOMLA_ROOT=site\n');
    expect(readConfig({ LICENSING_ENV_FILE: path })).toMatchObject({ joomlaRoot: SITE, tablePrefix: 'jos_' });
  });

  it('may contain quoted values and comments', () => {
    const path = file(
      `# the shop\nexport LICENSING_DATABASE_URL="mysql://u:a%23b@db.example/d" # its database\n`,
    );
    expect(readConfig({ LICENSING_ENV_FILE: path }).database).toEqual(mysql({ password: 'a#b' }));
  });

  it('leads to a suggestion for a misspelled name, here or in the environment', () => {
    const path = file(
      'LICENSING_DATABASE_URL=sqlite:/x\nLICENSING_RATELIMIT=S3cret\nOTHER=1\nLISENCING_LISTEN=S3cret\nlicensing_log_days=S3cret\n',
    );
    const { warnings } = readConfig({
      LICENSING_ENV_FILE: path,
      LICENSING_KEY_SECERT: 'S3cret',
      PATH: '/bin',
    });
    expect(warnings).toHaveLength(4);
    for (const [name, meant] of [
      ['LICENSING_RATELIMIT', 'LICENSING_RATE_LIMIT'],
      ['LICENSING_KEY_SECERT', 'LICENSING_KEY_SECRET'],
      ['LISENCING_LISTEN', 'LICENSING_LISTEN'],
      ['licensing_log_days', 'LICENSING_LOG_DAYS'],
    ])
      expect(warnings).toContainEqual(
        expect.stringMatching(new RegExp(`^${name} is not a setting.* Did you mean ${meant}\\?$`)),
      );
    expect(warnings.join()).not.toContain('S3cret');
  });

  it('leads to warnings for lines that set nothing, or are overridden by another line', () => {
    const path = file(
      `# LICENSING_LISTEN 3
LICENSING_DATABASE_URL=sqlite:/x
LICENSING_RATE_LIMIT 100
  export LICENSING RATE_WINDOW=30
LICENSING_LOG_DAYS: 30
LICENSING_KEY_SECRET S3cret
LICENSING_LOG_LEVEL=debug
LICENSING_LOG_DAYS=30
LICENSING_LOG_LEVEL=warn

OTHER thing
OTHER=1
OTHER=2
`.replaceAll('\n', '\r\n'),
    );
    const { warnings, rateLimit, logDays, logLevel } = readConfig({ LICENSING_ENV_FILE: path });
    expect({ rateLimit, logDays, logLevel }).toEqual({ rateLimit: 60, logDays: 30, logLevel: 'warn' });
    expect(warnings).toEqual([
      `Line 3 of ${path} sets nothing. It must have the form LICENSING_RATE_LIMIT=VALUE.`,
      `Line 4 of ${path} sets nothing. It must have the form NAME=VALUE.`,
      `Line 6 of ${path} sets nothing. It must have the form LICENSING_KEY_SECRET=VALUE.`,
      `LICENSING_LOG_LEVEL is set twice in ${path}: the value in line 9 is used.`,
    ]);
  });

  it('leads to the same hint if the service cannot start without that line', () => {
    const path = file('LICENSING_DATABASE_URL mysql://u:S3cret@db.example/d\n');
    expect(() => readConfig({ LICENSING_ENV_FILE: path })).toThrow(
      /^No database is configured\. .* sets nothing\. It must have the form LICENSING_DATABASE_URL=VALUE\.$/,
    );
    expect(() => readConfig({ LICENSING_ENV_FILE: path })).not.toThrow(/S3cret/);
  });
});

describe('the built programs', () => {
  it('find the same .env in whatever folder they are started, even through a link', async () => {
    const root = join(temporaryFolder(), 'package');
    cpSync(PROGRAM, root, { recursive: true });
    symlinkSync(join(packageRoot, 'node_modules'), join(root, 'node_modules'));
    writeFileSync(join(root, '.env'), 'LICENSING_DATABASE_URL=sqlite:var/licensing.sqlite\n');
    const bin = join(temporaryFolder(), 'licensing');
    symlinkSync(join(root, 'dist/src/cli.js'), bin);
    const command = join(root, 'dist/src/cli.js');
    const env = { LICENSING_ENV_FILE: undefined };
    const { json } = operator({});

    await json(['migrate'], { command, env, cwd: '/' });
    expect(existsSync(join(root, 'var/licensing.sqlite'))).toBe(true);
    const elsewhere = temporaryFolder();
    await json(['product', 'add', '--name', 'X', '--id', '42'], { command: bin, env, cwd: elsewhere });
    expect(await json(['product', 'list'], { command, env, cwd: root })).toMatchObject([
      { id: 42, name: 'X' },
    ]);
    expect(existsSync(join(elsewhere, 'var'))).toBe(false);
  });

  it('stop with one sentence when the configuration is wrong, and do not repeat a password', async () => {
    const env = processEnvironment({ LICENSING_DATABASE_URL: 'mysql://u:S3cret/@db.example/d' });
    const command = await operator({}).run(['plan', 'list'], { env });
    const service = await startProgram(process.execPath, [entry('main')], env).ended;
    expect(command).toMatchObject({ code: 1, stdout: '' });
    expect(service).toMatchObject({ code: 1, stdout: '' });
    for (const { stderr } of [command, service]) {
      expect(stderr).toMatch(/^[^\n]*LICENSING_DATABASE_URL must read mysql:[^\n]*\n$/);
      expect(stderr).not.toContain('S3cret');
    }
  });

  it('warn of a misspelled setting on standard error, and continue', async () => {
    const shop = operator({ LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'a.sqlite')}` });
    await shop.json(['migrate']);
    const { code, stdout, stderr } = await shop.run(['product', 'list', '--json'], {
      env: { LICENSING_PACKAGE_DIR: '/x' },
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '[]\n' });
    expect(stderr).toMatch(/^LICENSING_PACKAGE_DIR is not a setting of this program/);
  });

  it('print their version', async () => {
    const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      version: string;
    };
    const { run } = operator({});
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(await run(['--version', '--json'])).toMatchObject({
      code: 0,
      stdout: `{"version":"${version}"}\n`,
    });
    expect((await run(['--help'])).stdout).toContain('licensing --version');
    // Elsewhere `--version` is another option.
    expect(await run(['release', 'list', '--version'])).toMatchObject({ code: 2, stdout: '' });
  });
});
