import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Settings } from '../../src/settings/config';
import { openDatabase } from '../../src/store/engine/database';
import { driverTls } from '../../src/store/engine/tls';
import { createAuthority, type Certificate } from '../support/certificates';
import { operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { startRefusingServer } from '../support/refusing-server';
import { ON_MYSQL } from '../support/mysql/program';
import { startMariaDb, type MariaDb } from '../support/servers';
import { createMariaDbDatabase, testConfig } from '../support/service';

const authority = createAuthority();
const stranger = createAuthority();
const client = authority.issue('DNS:client');
/** One server for each certificate, because the certificate decides which names are accepted. */
let byName: MariaDb;
let byAddress: MariaDb;

beforeAll(async () => {
  [byName, byAddress] = await Promise.all([
    startTlsMariaDb(authority.issue('DNS:localhost')),
    // TLS 1.3 has its own ciphers, and ignores the list.
    startTlsMariaDb(authority.issue('IP:127.0.0.1'), ['--tls-version=TLSv1.2']),
  ]);
});
afterAll(() => Promise.all([byName.stop(), byAddress.stop()]));

/** Starts a server with a user who must use TLS, and one who must also present a certificate. */
async function startTlsMariaDb({ cert, key }: Certificate, options: string[] = []): Promise<MariaDb> {
  const server = await startMariaDb([
    `--ssl-ca=${authority.ca}`,
    `--ssl-cert=${cert}`,
    `--ssl-key=${key}`,
    ...options,
  ]);
  const root = await server.connect();
  await root.query('CREATE DATABASE shop');
  for (const [user, demand] of [
    ['guarded', 'SSL'],
    ['known', 'X509'],
  ]) {
    await root.query(`CREATE USER ${user}@'%' IDENTIFIED BY 'S3cret' REQUIRE ${demand}`);
    await root.query(`GRANT ALL ON shop.* TO ${user}@'%'`);
  }
  await root.end();
  return server;
}

function url({ port }: MariaDb, parameters: string, host = 'localhost', user = 'guarded'): string {
  return `mysql://${user}:S3cret@${host}:${port}/shop?${parameters}`;
}

/** Returns the settings of a Joomla site that verifies the certificate. */
function joomlaSite({ port }: MariaDb, host: string, ca: string): Settings {
  const folder = join(temporaryFolder(), 'site');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'configuration.php'),
    `<?php class JConfig { public $dbtype = 'mysqli'; public $host = '${host}:${port}'; public $user = 'guarded';
    public $password = 'S3cret'; public $db = 'shop'; public $dbprefix = 'jos_'; public $dbencryption = 1;
    public $dbsslverifyservercert = true; public $dbsslca = '${ca}'; }`,
  );
  return { LICENSING_JOOMLA_ROOT: folder };
}

/** Returns the cipher of a connection with these settings, or an empty text without TLS. */
async function cipher(settings: Settings): Promise<string> {
  const { database, tablePrefix } = testConfig(settings);
  const db = openDatabase(database, tablePrefix);
  try {
    const [[status]] = (await db.raw("SHOW STATUS LIKE 'Ssl_cipher'")) as [[{ Value: string }]];
    return status.Value;
  } finally {
    await db.destroy();
  }
}

/** Returns the message that the operator reads with these settings. */
async function refusal(settings: Settings): Promise<string> {
  // In Jest, Node's own errors have another class Error, which the description of errors depends on.
  const { code, stderr } = await operator(settings).run(['migrate'], { ownProcess: true });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: [^\n]+\n$/);
  expect(stderr).not.toContain('S3cret');
  return stderr;
}

describe('a server that demands TLS', () => {
  test.each<[string, () => string]>([
    ['encrypted alone', () => url(byName, 'ssl=require')],
    ['encrypted alone, to any name', () => url(byName, 'ssl=require', '127.0.0.1')],
    ['verified, by name', () => url(byName, `ssl=verify&sslca=${authority.ca}`)],
    ['verified, by address', () => url(byAddress, `ssl=verify&sslca=${authority.ca}`, '127.0.0.1')],
    [
      'verified, by a socket',
      () => url(byName, `ssl=verify&sslca=${authority.ca}&socketPath=${byName.socket}`),
    ],
    [
      'verified, by a socket and an address',
      () => url(byAddress, `ssl=verify&sslca=${authority.ca}&socketPath=${byAddress.socket}`, '127.0.0.1'),
    ],
    [
      'with a certificate of the client',
      () => url(byName, `ssl=require&sslcert=${client.cert}&sslkey=${client.key}`, 'localhost', 'known'),
    ],
  ])('is reached %s', async (_how, createUrl) => {
    expect(await cipher({ LICENSING_DATABASE_URL: createUrl() })).not.toBe('');
  });

  test('is reached with the requested cipher', async () => {
    const name = 'ECDHE-ECDSA-AES256-GCM-SHA384';
    const asked = url(byAddress, `ssl=require&sslcipher=${name}`);
    expect(await cipher({ LICENSING_DATABASE_URL: asked })).toBe(name);
    expect(await cipher({ LICENSING_DATABASE_URL: url(byAddress, 'ssl=require') })).not.toBe(name);
  });

  test('is reached with the settings of a Joomla site', async () => {
    expect(await cipher(joomlaSite(byAddress, '127.0.0.1', authority.ca))).not.toBe('');
  });

  test('serves the command, over several connections', async () => {
    const { json } = operator({ LICENSING_DATABASE_URL: url(byName, `ssl=verify&sslca=${authority.ca}`) });
    await json(['migrate']);
    expect(await json(['product', 'list'])).toEqual([]);
  });

  test('refuses a connection without it, and the message names the missing setting', async () => {
    for (const demand of ['OFF', 'ON']) {
      const root = await byName.connect();
      await root.query(`SET GLOBAL require_secure_transport = ${demand}`);
      await root.end();
      expect(await refusal({ LICENSING_DATABASE_URL: url(byName, '') })).toContain('(ssl=require)');
    }
  });

  test('that is MySQL reports it in its own words, and the message names the setting', async () => {
    const server = await startRefusingServer({
      login: {
        code: 3159,
        message: 'Connections using insecure transport are prohibited while --require_secure_transport=ON.',
      },
    });
    const message = await refusal({ LICENSING_DATABASE_URL: server.url });
    expect(message).toContain('accepts only TLS connections (ER_SECURE_TRANSPORT_REQUIRED)');
    expect(message).toContain('Turn TLS on in LICENSING_DATABASE_URL: ssl=require.');
    await server.stop();
  });

  test('is not the reason for a refusal if TLS is in use', async () => {
    const message = await refusal({
      LICENSING_DATABASE_URL: url(byName, 'ssl=require', 'localhost', 'known'),
    });
    expect(message).toContain('ER_ACCESS_DENIED_ERROR');
    expect(message).not.toContain('TLS');
  });
});

describe('a server that is verified is refused', () => {
  const otherAuthority = /self-signed certificate.*authority in LICENSING_DATABASE_URL: sslca=PATH\./;
  const otherName = /altnames.*Write a host that is in the certificate into LICENSING_DATABASE_URL/;

  test.each<[string, () => string, RegExp]>([
    ['of another authority', () => url(byName, `ssl=verify&sslca=${stranger.ca}`), otherAuthority],
    ['of an authority this machine does not know', () => url(byName, 'ssl=verify'), otherAuthority],
    ['with another name', () => url(byAddress, `ssl=verify&sslca=${authority.ca}`), otherName],
    [
      'with a name, at an address',
      () => url(byName, `ssl=verify&sslca=${authority.ca}`, '127.0.0.1'),
      otherName,
    ],
    [
      'with another name, at a socket',
      () => url(byName, `ssl=verify&sslca=${authority.ca}&socketPath=${byName.socket}`, 'db.example'),
      otherName,
    ],
  ])('%s', async (_what, createUrl, expected) => {
    expect(await refusal({ LICENSING_DATABASE_URL: createUrl() })).toMatch(expected);
  });

  test('for a Joomla site too, with the names of its settings', async () => {
    expect(await refusal(joomlaSite(byName, '127.0.0.1', authority.ca))).toMatch(
      /altnames.*Write a host that is in the certificate into .*configuration\.php/,
    );
    expect(await refusal(joomlaSite(byAddress, '127.0.0.1', stranger.ca))).toMatch(
      /authority in .*configuration\.php: \$dbsslca\./,
    );
  });
});

test('a server without TLS is not used if the settings require it', async () => {
  // MySQL makes certificates for itself, so it has TLS unless it is told not to.
  const without = ON_MYSQL ? await startMariaDb(['--tls-version=']) : undefined;
  try {
    const plain = await (without?.createDatabase() ?? createMariaDbDatabase());
    const root = await refusal({ LICENSING_DATABASE_URL: `${plain}?ssl=require` });
    expect(root).toContain('the server offers no TLS');
  } finally {
    await without?.stop('SIGKILL');
  }
});

test('the authorities are those of this machine, unless the settings name others', () => {
  const found = ['/nonexistent/ca.pem', authority.ca, stranger.ca];
  const [ca, other] = [authority.ca, stranger.ca].map((path) => readFileSync(path, 'utf8'));
  expect(driverTls({ verify: true }, found)).toMatchObject({ ca });
  expect(driverTls({ verify: true, ca: other! }, found)).toMatchObject({ ca: other });
  for (const none of [driverTls({ verify: true }, []), driverTls({ verify: false }, found)])
    expect(none).not.toHaveProperty('ca');
});
