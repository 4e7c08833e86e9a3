import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { queueMail } from '../../src/mail/queue';
import { toSqlTime } from '../../src/store/engine/time';
import { startMailServer } from '../support/mail-server';
import { Redis } from 'ioredis';
import type { Settings } from '../../src/settings/config';
import { packagePath } from '../../src/packages/package-files';
import { table, type Db } from '../../src/store/engine/database';
import { parseServerVersion } from '../../src/store/engine/server';
import { setWebhook } from '../../src/store/webhooks';
import { addWebhook, disabledNow } from '../../src/webhooks/receivers';
import { createAuthority } from '../support/certificates';
import { startNginx, type NginxOptions } from '../support/nginx';
import { ON_MYSQL } from '../support/mysql/program';
import { operator } from '../support/operator';
import { withdrawRelease } from '../../src/packages/releases';
import { giveRelease, makePackage } from '../support/packages';
import { freePort, sharedFolder, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { startMariaDb, startRedis, startRedisCluster, type MariaDb } from '../support/servers';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  unusedAddress,
  type TestService,
} from '../support/service';
import { startStaticSite, startTlsFront } from '../support/static-site';
import { openMigrated, processEnvironment, startProgram } from '../support/service-process';
import type { TestWebServer } from '../support/web-server-process';

/** Every finding of the doctor, provoked on real servers and found by the built command. */

const SECRET = Buffer.alloc(32, 7).toString('base64');
const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65534;

interface Finding {
  code: string;
  level: 'ok' | 'warning' | 'problem';
  checked: boolean;
  what: string;
  why: string | null;
  remedy: string | null;
}

interface Report {
  exit: number | null;
  problems: number;
  warnings: number;
  findings: Finding[];
  /** Everything that the command printed. */
  output: string;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function doctor(settings: Settings, ...args: string[]): Promise<Report> {
  return report(await operator(settings).run(['doctor', '--json', ...args]));
}

function report({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }): Report {
  if (stdout === '') throw new Error(stderr);
  return { ...(JSON.parse(stdout) as Report), exit: code, output: stdout + stderr };
}

/** Runs the doctor as a user who does not own everything. */
async function doctorAsNobody(settings: Settings): Promise<Report> {
  const args = [CLI, 'doctor', '--json'];
  const [command, ...rest] = IS_ROOT
    ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', process.execPath, ...args]
    : [process.execPath, ...args];
  const { ended } = startProgram(command, rest, processEnvironment(settings));
  return report(await ended);
}

/** Runs the doctor as that user on a machine whose nginx has this configuration. Only this process sees that. */
async function doctorBesideNginx(configuration: string, settings: Settings): Promise<Report> {
  const file = join(temporaryFolder(), 'nginx.conf');
  writeFileSync(file, `${configuration}\n`);
  const { ended } = startProgram(
    'unshare',
    [
      '--mount',
      'sh',
      '-c',
      `mount --bind ${file} /etc/nginx/nginx.conf && exec setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups "$0" "$@"`,
      process.execPath,
      CLI,
      'doctor',
      '--json',
    ],
    processEnvironment(settings),
  );
  return report(await ended);
}

/** Runs the doctor on a machine whose systemd runs these instances. Only this process sees that. */
async function doctorBesideInstances(names: string[], settings: Settings): Promise<Report> {
  const run = temporaryFolder();
  for (const name of names) {
    const folder = join(run, 'licensing', name);
    mkdirSync(folder, { recursive: true });
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(folder, 'http.sock'), resolve));
    cleanups.push(() => server.close());
  }
  const mounted = `mount --bind ${run} /run && exec "$0" "$@"`;
  const { ended } = startProgram(
    'unshare',
    ['--mount', 'sh', '-c', mounted, process.execPath, CLI, 'doctor', '--json'],
    processEnvironment(settings),
  );
  return report(await ended);
}

/** Runs the commands of a remedy as root would paste them. */
function followRemedy(remedy: string | null | undefined): void {
  const [, commands = ''] = /^As root, .*?: (.*)$/.exec(remedy ?? '') ?? [];
  expect(commands).toMatch(/^ch(?:own|mod) /);
  expect(spawnSync('sh', ['-c', commands])).toMatchObject({ status: 0 });
}

const find = ({ findings }: Report, code: string) => findings.find((one) => one.code === code);
const problems = ({ findings }: Report) =>
  findings.filter(({ level }) => level === 'problem').map(({ code }) => code);

/** Expects a complete finding: a problem or a warning states what is wrong, why, and what to do. */
function expectFinding(found: Report, code: string, level: Finding['level'], words: string | RegExp): void {
  const finding = find(found, code);
  expect(finding).toMatchObject({ level, checked: true });
  expect(finding?.what).toMatch(words);
  if (level !== 'ok') for (const text of [finding?.why, finding?.remedy]) expect(text).toMatch(/\w{3}/);
  expect(found.exit).toBe(problems(found).length > 0 ? 1 : 0);
}

function expectUnchecked(found: Report, ...codes: string[]): void {
  for (const code of codes)
    expect([code, find(found, code)]).toMatchObject([code, { level: 'warning', checked: false }]);
}

const sqlite = (): Settings => ({
  LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'doctor.sqlite')}`,
});

async function open(settings: Settings): Promise<Db> {
  const db = await openMigrated(settings);
  cleanups.push(() => db.destroy());
  return db;
}

describe('configuration', () => {
  test('an invalid setting is the only finding', async () => {
    const found = await doctor({ LICENSING_LOG_DAYS: 'many', LICENSING_DATABASE_URL: 'sqlite:/nowhere' });
    expectFinding(found, 'CONFIGURATION', 'problem', /LICENSING_LOG_DAYS/);
    expect(found.exit).toBe(1);
    expect(found.findings).toHaveLength(1);
  });

  test('the sources of settings, who can read them, and which of two sources wins', async () => {
    const file = join(temporaryFolder(), '.env');
    writeFileSync(
      file,
      `LICENSING_DATABASE_URL=${sqlite().LICENSING_DATABASE_URL}\nLICENSING_LOG_DAYS=2\nLICENSING_KEY_SECERT=x\n`,
    );
    chmodSync(file, 0o644);
    const settings = {
      LICENSING_ENV_FILE: file,
      LICENSING_LOG_DAYS: '1',
      LICENSING_TRUSTED_PROXIES: '0.0.0.0/0',
    };
    const found = await doctor(settings);
    expectFinding(
      found,
      'CONFIGURATION',
      'ok',
      new RegExp(`${file} \\(LICENSING_DATABASE_URL, .*the environment \\(`),
    );
    expectFinding(found, 'ENV_FILE_PUBLIC', 'problem', /0644/);
    expect(find(found, 'ENV_FILE_PUBLIC')?.remedy).toMatch(
      new RegExp(`^As root, with the user the service runs as: chown \\S+ ${file} && chmod 600 ${file}$`),
    );
    expectFinding(found, 'SETTING_OVERRIDDEN', 'warning', /LICENSING_LOG_DAYS otherwise/);
    expectFinding(
      found,
      'UNKNOWN_SETTING',
      'warning',
      /LICENSING_KEY_SECERT .* Did you mean LICENSING_KEY_SECRET\?/,
    );
    expectFinding(found, 'PROXIES_EVERYBODY', 'problem', '0.0.0.0/0');
    chmodSync(file, 0o640);
    expectFinding(
      await doctor({ LICENSING_ENV_FILE: file, LICENSING_LOG_DAYS: '1' }),
      'ENV_FILE',
      'ok',
      /0640/,
    );
  });

  (IS_ROOT && existsSync('/etc/nginx/nginx.conf') ? test : test.skip)(
    "a file that nginx's user can read, who also runs the site's PHP, with the commands that fix it",
    async () => {
      const folder = sharedFolder();
      const file = join(folder, '.env');
      const own = (owner: string, path = file) => expect(spawnSync('chown', [owner, path]).status).toBe(0);
      own(`${NOBODY}`, folder);
      writeFileSync(file, `LICENSING_DATABASE_URL=sqlite:${join(folder, 'shop.sqlite')}\n`);
      // "chown -R licensing:www-data" leaves the file like this.
      own(`${NOBODY}:www-data`);
      chmodSync(file, 0o640);
      const look = () => doctorBesideNginx('user www-data;', { LICENSING_ENV_FILE: file });
      const found = await look();
      expectFinding(found, 'ENV_FILE_NGINX', 'problem', `user www-data can read ${file} (mode 0640)`);
      const { why, remedy } = find(found, 'ENV_FILE_NGINX')!;
      expect(why).toContain('PHP');
      followRemedy(remedy);
      expect(statSync(file)).toMatchObject({ uid: NOBODY, mode: 0o100600 });
      expectFinding(await look(), 'ENV_FILE', 'ok', /0600/);
      // Root can read everything, whatever the mode.
      const asRoot = await doctorBesideNginx('user root;', { LICENSING_ENV_FILE: file });
      expectFinding(asRoot, 'ENV_FILE', 'ok', /0600/);
      // A service that runs as nginx's user needs its own user: nginx could read the file even if that user owned it.
      const asItself = await doctorBesideNginx('user nobody;', { LICENSING_ENV_FILE: file });
      expectFinding(asItself, 'ENV_FILE_NGINX', 'problem', /user nobody can read/);
      expect(find(asItself, 'ENV_FILE_NGINX')?.remedy).toBe(
        `As root, with a user of the service's own (docs/production.md): chown licensing ${file} && chmod 600 ${file}`,
      );
    },
  );
});

describe('the database', () => {
  let odd: MariaDb;
  beforeAll(async () => {
    odd = await startMariaDb([
      '--max-connections=20',
      // This applies to every user except root.
      '--init-connect=SET timestamp = UNIX_TIMESTAMP() - 3600',
    ]);
  });
  afterAll(() => odd.stop());

  async function settingsOn(mariadb: MariaDb, rights: string): Promise<Settings & { name: string }> {
    const name = (await mariadb.createDatabase()).split('/').at(-1) as string;
    const root = await mariadb.connect();
    await root.query(`CREATE USER u_${name}@'127.0.0.1' IDENTIFIED BY 'pass-word-of-the-user'`);
    await root.query(`GRANT ${rights} ON ${name}.* TO u_${name}@'127.0.0.1'`);
    await root.end();
    return {
      name,
      LICENSING_DATABASE_URL: `mysql://u_${name}:pass-word-of-the-user@127.0.0.1:${mariadb.port}/${name}`,
    };
  }

  test('a healthy one: every check is made, and no password is printed', async () => {
    const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    await open(settings);
    const found = await doctor({
      ...settings,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
      LICENSING_KEY_SECRET: SECRET,
    });
    expect(problems(found)).toEqual([]);
    expect(found.exit).toBe(0);
    const good = found.findings.filter(({ level }) => level === 'ok').map(({ code }) => code);
    const codes =
      'DATABASE DATABASE_VERSION CONNECTIONS CLOCK SCHEMA PRIVILEGES REDIS PACKAGES KEY_SECRET COUNTERS';
    for (const code of codes.split(' ')) expect(good).toContain(code);
  });

  test('several databases: which is in use, and which cannot be used', async () => {
    const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    const [, port] = /:(\d+)\//.exec(settings.LICENSING_DATABASE_URL) as unknown as [string, string];
    const away = await unusedAddress();
    const others = settings.LICENSING_DATABASE_URL.replace(/@/, `@${away},`);
    const root = await odd.connect();
    await root.query(`CREATE DATABASE ${others.split('/').at(-1)}`);
    await root.query('SET GLOBAL read_only = ON, GLOBAL innodb_flush_log_at_trx_commit = 2');
    try {
      const found = await doctor({ LICENSING_DATABASE_URL: others });
      const inUse = `127.0.0.1:${port} is in use`;
      expectFinding(found, 'DATABASE_NODES', 'warning', new RegExp(`${away} cannot be used .*, ${inUse}`));
      expect(find(found, 'DATABASE')?.level).toBe('ok');
      expect(find(found, 'DATABASE_FLUSH')).toBeUndefined();

      const standby = settings.LICENSING_DATABASE_URL.replace(/@/, `@127.0.0.1:${odd.port},`);
      const replica = await doctor({ LICENSING_DATABASE_URL: standby });
      expectFinding(replica, 'DATABASE_NODES', 'ok', new RegExp(`:${odd.port} is read-only, ${inUse}`));
      expectFinding(replica, 'DATABASE_FLUSH', 'warning', new RegExp(`:${odd.port} .* = 2`));
    } finally {
      await root.query('SET GLOBAL read_only = OFF, GLOBAL innodb_flush_log_at_trx_commit = 1');
      await root.end();
    }
  });

  test('an unreachable one: checks that need it are unknown, and the others are made', async () => {
    const found = await doctor({
      LICENSING_DATABASE_URL: `mysql://user:pass-word-of-the-user@${await unusedAddress()}/shop`,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
    });
    expectFinding(found, 'DATABASE_UNREACHABLE', 'problem', /shop as user at .*ECONNREFUSED/);
    expect(find(found, 'DATABASE_UNREACHABLE')?.remedy).toContain('LICENSING_DATABASE_URL');
    expectUnchecked(found, 'SCHEMA', 'PRIVILEGES', 'TABLES', 'PACKAGES', 'KEY_SECRET', 'COUNTERS', 'SITE');
    expect(find(found, 'REDIS')?.level).toBe('ok');
    expect(find(found, 'PACKAGES_SPACE')?.level).toBe('ok');
    expect(found.output).not.toContain('pass-word');
  });

  test('one that refuses the password', async () => {
    const { name, ...settings } = await settingsOn(odd, 'ALL');
    const found = await doctor({
      LICENSING_DATABASE_URL: settings.LICENSING_DATABASE_URL!.replace('pass-word', 'miss-word'),
    });
    expectFinding(found, 'DATABASE_UNREACHABLE', 'problem', new RegExp(`Access denied for user 'u_${name}'`));
    expect(found.output).not.toContain('word-of-the-user');
  });

  // MySQL cannot pretend to be another version.
  (ON_MYSQL ? test.skip : test)('an old one, which the service and migrations refuse', async () => {
    const old = await startMariaDb(['--version=10.5.29-MariaDB']);
    cleanups.push(() => old.stop());
    const settings = { LICENSING_DATABASE_URL: await old.createDatabase() };
    await expect(openMigrated(settings)).rejects.toThrow(
      /^The database server is MariaDB 10\.5\.29; this version needs MySQL 8\.0\.13 and MariaDB 10\.6 and later\./,
    );
    expectFinding(await doctor(settings), 'DATABASE_VERSION', 'problem', 'MariaDB 10.5.29');
  });

  test.each([
    ['10.6.0-MariaDB', true],
    ['11.4.2-MariaDB-deb12', true],
    ['5.5.5-10.6.0-MariaDB', true],
    ['10.5.29-MariaDB', false],
    ['8.0.12', false],
    ['8.0.13', true],
    ['8.4.0-cluster', true],
    ['5.7.44', false],
  ])('the version %s is supported: %s', (version, isSupported) => {
    expect(parseServerVersion(version)).toMatchObject({ isSupported });
  });

  test('one with few connections and another time', async () => {
    const { LICENSING_DATABASE_URL } = await settingsOn(odd, 'ALL');
    const settings = { LICENSING_DATABASE_URL } as Settings;
    await open(settings);
    const found = await doctorBesideInstances(['1', '2'], settings);
    expectFinding(
      found,
      'CONNECTIONS',
      'problem',
      /2 instances need up to 24 connections, and the server allows 20/,
    );
    expectFinding(found, 'CLOCK', 'warning', /3600 s behind|3599 s behind|3601 s behind/);
    expectFinding(await doctor(settings), 'CONNECTIONS', 'warning', /more than half of the 20/);
  });

  test('a SQLite file that others can read, with its log, and the command that fixes both', async () => {
    const settings = { ...sqlite(), LICENSING_PACKAGES_DIR: temporaryFolder() };
    const path = settings.LICENSING_DATABASE_URL!.slice('sqlite:'.length);
    // The database stays open, because the log exists only while a connection does.
    await (await open(settings))('licensing_products').update({ id: 1 });
    expectFinding(await doctor(settings), 'DATABASE_FILE', 'ok', `${path} (mode 0600)`);
    for (const file of [path, `${path}-wal`]) chmodSync(file, 0o644);
    const found = await doctor(settings);
    const named = `Every user of this machine can read ${path} (mode 0644), ${path}-wal (mode 0644).`;
    expectFinding(found, 'DATABASE_FILE_PUBLIC', 'problem', named);
    const { remedy } = find(found, 'DATABASE_FILE_PUBLIC')!;
    // The machine of the tests does not have this user.
    followRemedy(remedy!.replace('chown licensing ', `chown ${userInfo().username} `));
    expectFinding(await doctor(settings), 'DATABASE_FILE', 'ok', `${path}-wal (mode 0600)`);
  });

  test('a journal beside a SQLite file that others can read', async () => {
    const settings = { ...sqlite(), LICENSING_PACKAGES_DIR: temporaryFolder() };
    await open(settings);
    const journal = `${settings.LICENSING_DATABASE_URL!.slice('sqlite:'.length)}-journal`;
    writeFileSync(journal, '');
    chmodSync(journal, 0o644);
    expectFinding(await doctor(settings), 'DATABASE_FILE_PUBLIC', 'problem', `${journal} (mode 0644)`);
  });

  test('an older and a newer schema', async () => {
    const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    const empty = await doctor(settings);
    expectFinding(empty, 'SCHEMA_OLD', 'problem', '001_schema');
    expectUnchecked(empty, 'PACKAGES', 'KEY_SECRET', 'COUNTERS');
    const db = await open(settings);
    await db(table(db, 'migrations')).insert({
      name: '999_future',
      batch: 9,
      migration_time: '2030-01-01 00:00:00',
    });
    expectFinding(await doctor(settings), 'SCHEMA_NEWER', 'problem', '999_future');
  });

  const databases: [string, () => Promise<Settings>][] = [
    ['MariaDB', async () => ({ LICENSING_DATABASE_URL: await createMariaDbDatabase() })],
    ['SQLite', () => Promise.resolve(sqlite())],
  ];
  test.each(databases)('a missing table, on %s', async (_name, create) => {
    const settings = await create();
    await (await open(settings)).schema.dropTable('licensing_events');
    expectFinding(await doctor(settings), 'TABLES_MISSING', 'problem', 'licensing_events');
  });

  test.each(databases)(
    'no tables, or empty ones, beside those of another prefix, on %s',
    async (_name, create) => {
      const settings = await create();
      await givePlan(await open({ ...settings, LICENSING_TABLE_PREFIX: 'jos_' }));
      const none = await doctor(settings);
      expectFinding(
        none,
        'OTHER_PREFIX',
        'problem',
        /no tables named licensing_\.\.\., and there are jos_licensing_\.\.\./,
      );
      expect(find(none, 'OTHER_PREFIX')?.remedy).toContain('LICENSING_TABLE_PREFIX=jos_');
      const mistyped = { ...settings, LICENSING_TABLE_PREFIX: 'jos' };
      const db = await open(mistyped);
      expectFinding(await doctor(mistyped), 'OTHER_PREFIX', 'problem', /joslicensing_\.\.\. are empty/);
      await givePlan(db);
      expect(find(await doctor(mistyped), 'SCHEMA')?.level).toBe('ok');
    },
  );

  test('a user that may not write a table, and one that may not change tables', async () => {
    const { name, ...settings } = await settingsOn(odd, 'SELECT');
    const db = await open({ LICENSING_DATABASE_URL: odd.url(name) });
    const refused = await doctor(settings);
    expectFinding(refused, 'PRIVILEGES', 'problem', `INSERT on ${table(db, 'access_log')}`);
    expect(find(refused, 'PRIVILEGES')?.remedy).toContain('GRANT SELECT, INSERT, UPDATE, DELETE');
    expectFinding(refused, 'PRIVILEGES_UPGRADE', 'warning', /CREATE: /);
    const root = await odd.connect();
    await root.query(`GRANT INSERT, UPDATE, DELETE ON ${name}.* TO u_${name}@'127.0.0.1'`);
    await root.end();
    const served = await doctor(settings);
    expect(find(served, 'PRIVILEGES')?.level).toBe('ok');
    expectFinding(served, 'PRIVILEGES_UPGRADE', 'warning', /CREATE: /);
  });

  test('a table that lost its engine, and a database shared with the site', async () => {
    const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    const db = await open(settings);
    await db.raw(`ALTER TABLE ${table(db, 'events')} ENGINE=MyISAM`);
    await db.raw('CREATE TABLE jos_users (id INT)');
    const found = await doctor(settings);
    expectFinding(found, 'TABLE_ENGINE', 'problem', table(db, 'events'));
    expectFinding(found, 'SHARED_DATABASE', 'warning', / 1 table of others/);
    expect(find(found, 'SHARED_DATABASE')?.remedy).toContain('the tables named licensing_...,');
    await db.raw(find(found, 'TABLE_ENGINE')?.remedy?.replace(/;$/, '') as string);
    expect(problems(await doctor(settings))).not.toContain('TABLE_ENGINE');
  });
});

test('restrictions of systemd for the instances: a lost socket, read-only folders, a hidden home', async () => {
  const bin = temporaryFolder();
  const socket = join(bin, 'http.sock');
  const unit = (more: string) =>
    writeFileSync(
      join(bin, 'systemctl'),
      `#!/bin/sh\ncat <<'END'\nId=licensing@1.service\nActiveState=active\nUser=licensing\nGroup=www-data\nEnvironment=NODE_ENV=production LICENSING_LISTEN=unix:${socket}\n${more}\n\nId=licensing@2.service\nActiveState=inactive\nEnvironment=LICENSING_LISTEN=unix:/nowhere\nEND\n`,
      { mode: 0o755 },
    );
  const settings = { ...sqlite(), LICENSING_XML_DIR: '/opt/licensing-gateway/var/xml' };
  await open(settings);
  const look = async () =>
    report(
      await startProgram(
        process.execPath,
        [CLI, 'doctor', '--json'],
        processEnvironment(settings, { PATH: `${bin}:${process.env.PATH as string}` }),
      ).ended,
    );
  unit('ProtectSystem=strict\nProtectHome=yes\nStateDirectory=licensing licensing/xml');
  const lost = await look();
  expectFinding(lost, 'INSTANCE_SOCKET', 'problem', `licensing@1 runs, but its socket ${socket} is gone`);
  expect(find(lost, 'INSTANCE_SOCKET')!.remedy).toBe('As root: systemctl restart licensing@1');
  const closed = lost.findings.filter(({ code }) => code === 'UNIT_READ_ONLY');
  const xml = closed.find(({ what }) => what.includes('LICENSING_XML_DIR'));
  expect(xml).toMatchObject({
    level: 'problem',
    what: 'licensing@1 may not write to /opt/licensing-gateway/var/xml (LICENSING_XML_DIR), whatever its mode is.',
    remedy: expect.stringMatching(
      /^As root: install -d -m 750 -o licensing -g www-data \/var\/lib\/licensing\/xml && .*LICENSING_XML_DIR=\/var\/lib\/licensing\/xml >>.*update-xml write --product ID$/,
    ),
  });

  const server = createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  cleanups.push(() => server.close());
  unit('ProtectSystem=full\nProtectHome=no');
  const well = await look();
  expectFinding(well, 'INSTANCE_SOCKET', 'ok', /answers: licensing@1\.$/);
  expect(well.findings.map(({ code }) => code)).not.toContain('UNIT_READ_ONLY');
});

test('mail: off, able to send, a wrong password, a text that is not used, mails that were given up', async () => {
  const server = await startMailServer();
  cleanups.push(() => server.stop());
  const settings = { ...sqlite(), LICENSING_PUBLIC_URL: 'https://shop.example' };
  const db = await open(settings);
  expectFinding(await doctor(settings), 'MAIL', 'ok', /^Mail is off: LICENSING_MAIL_URL is not set/);
  const on = (login: string, more = {}) => {
    const LICENSING_MAIL_URL = `smtp://${login}127.0.0.1:${server.port}?from=shop@shop.example`;
    return doctor({ ...settings, LICENSING_MAIL_URL, ...more });
  };
  expectFinding(
    await on(''),
    'MAIL',
    'ok',
    /can be sent by 127\.0\.0\.1, port \d+, STARTTLS, sender shop@shop\.example \(LICENSING_MAIL_URL\)\.$/,
  );
  const refused = await on('shop:wrong-secret@');
  expectFinding(refused, 'MAIL', 'problem', /refused the user or the password \(535\)/);
  expect(JSON.stringify(refused)).not.toContain('wrong-secret');
  const said = async (mail_url: string) =>
    (await doctor({ ...settings, LICENSING_MAIL_URL: mail_url })).findings.find(
      ({ code }) => code === 'MAIL',
    );
  expect(await said('smtp://no-such-host.invalid?from=shop@shop.example')).toMatchObject({
    what: expect.stringMatching(
      /no-such-host\.invalid, port 25, .*: the name of the mail server was not found\./,
    ),
  });
  expect(await said(`smtp://127.0.0.1:${await freePort()}?from=shop@shop.example`)).toMatchObject({
    what: expect.stringMatching(
      /127\.0\.0\.1, port \d+, .*: no mail server answers at the port that is set\./,
    ),
  });
  expectFinding(await on('', { LICENSING_PUBLIC_URL: '' }), 'MAIL_OFF', 'warning', /LICENSING_PUBLIC_URL/);
  expectFinding(
    await on('', { LICENSING_MAIL_TEXTS_DIR: '/nonexistent' }),
    'MAIL_TEXT',
    'warning',
    /no such folder/,
  );
  await queueMail(
    db,
    { type: 'operator_link', email: 'jo@example.com' },
    { now: new Date(), language: 'en' },
  );
  await db(table(db, 'outbox')).update({ failed_at: toSqlTime(new Date()), next_attempt_at: null });
  expectFinding(await on(''), 'MAILS_NOT_SENT', 'warning', /within a week: 1\./);
});

test('webhooks: none, a stopped one, another key secret, and none', async () => {
  const settings = { ...sqlite(), LICENSING_KEY_SECRET: SECRET };
  const db = await open(settings);
  expect((await doctor(settings)).findings.map(({ code }) => code)).not.toContain('WEBHOOKS');
  const fields = { url: 'https://93.184.215.14/secret-path', events: ['*'], description: null };
  const keySecret = Buffer.from(SECRET, 'base64');
  const webhooks = { keySecret, webhookNetworks: [] };
  const { webhook } = await addWebhook(db, fields, { actor: 'operator:root', now: new Date() }, webhooks);
  expectFinding(await doctor(settings), 'WEBHOOKS', 'ok', 'Webhooks go to 1 address.');
  await setWebhook(db, webhook.id, disabledNow('gone', new Date()));
  const stopped = await doctor(settings);
  expectFinding(stopped, 'WEBHOOK_STOPPED', 'warning', /^Webhook 1 \(93\.184\.215\.14\).*410 Gone/);
  expect(JSON.stringify(stopped)).not.toContain('secret-path');
  const other = { ...settings, LICENSING_KEY_SECRET: Buffer.alloc(32, 8).toString('base64') };
  expectFinding(await doctor(other), 'WEBHOOK_SECRET', 'problem', /cannot be opened/);
  expectFinding(
    await doctor({ ...settings, LICENSING_KEY_SECRET: '' }),
    'WEBHOOKS',
    'problem',
    /none is sent/,
  );
});

describe('Redis', () => {
  (IS_ROOT ? test : test.skip)('not configured, with one instance and with several', async () => {
    const settings = sqlite();
    await open(settings);
    const one = await doctorBesideInstances(['1'], settings);
    expectFinding(one, 'REDIS', 'ok', /sees only those that systemd started on this machine/);
    const several = await doctorBesideInstances(['1', '2', 'blue'], settings);
    expectFinding(several, 'REDIS', 'warning', /3 instances .*\(licensing@1, licensing@2, licensing@blue\)/);
    expect(find(several, 'REDIS')).toMatchObject({
      why: expect.stringMatching(/up to 3 times LICENSING_RATE_LIMIT.*other hosts .* cannot be seen/),
      remedy: expect.stringContaining('LICENSING_REDIS_URL'),
    });
  });

  test('one that answers, one that is down, one that is read-only, and one that needs a password', async () => {
    const url = (port: number) => `redis://127.0.0.1:${port}`;
    const on = (LICENSING_REDIS_URL: string) => doctor({ ...sqlite(), LICENSING_REDIS_URL });
    expectFinding(await on(process.env.TEST_REDIS_URL as string), 'REDIS', 'ok', /takes writes/);
    expectFinding(await on(url(await freePort())), 'REDIS_UNREACHABLE', 'problem', /ECONNREFUSED/);
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(await freePort())]);
    cleanups.push(() => replica.stop());
    expectFinding(await on(replica.url), 'REDIS_NOT_WRITABLE', 'problem', /READONLY|MASTERDOWN/);
    const locked = await startRedis();
    cleanups.push(() => locked.stop());
    const admin = new Redis(locked.url);
    await admin.config('SET', 'requirepass', 'pass-word-of-redis');
    admin.disconnect();
    expectFinding(await on(locked.url), 'REDIS_PASSWORD', 'problem', /NOAUTH/);
    const wrong = await on(locked.url.replace('127.0.0.1', ':miss-word-of-redis@127.0.0.1'));
    expectFinding(wrong, 'REDIS_PASSWORD', 'problem', /WRONGPASS/);
    expect(wrong.output).not.toContain('word-of-redis');
  });

  test('a cluster that needs a password on nodes that it discovers, and one that is incomplete', async () => {
    const [named, other] = await startRedisCluster(2, 'pass-word-of-redis');
    cleanups.push(() => Promise.all([named!.stop('SIGKILL'), other!.stop('SIGKILL')]));
    const on = async (url: string) => {
      const found = await doctor({ ...sqlite(), LICENSING_REDIS_URL: `${url},${url}` });
      expect(found.output).not.toContain('word-of-redis');
      return found;
    };
    expectFinding(await on(named!.url), 'REDIS', 'ok', /takes writes/);
    const wrong = await on(named!.url.replace('pass-word', 'miss-word'));
    expectFinding(wrong, 'REDIS_PASSWORD', 'problem', /WRONGPASS/);
    await other!.stop('SIGKILL');
    // The result depends on what the client of the cluster has noticed by then.
    const codes = problems(await on(named!.url)).filter((code) => code.startsWith('REDIS_'));
    expect(codes).toEqual([expect.stringMatching(/^REDIS_(?:UNREACHABLE|NOT_WRITABLE)$/)]);
  });
});

describe('packages', () => {
  let service: TestService;
  let settings: Settings;
  beforeAll(async () => {
    const LICENSING_PACKAGES_DIR = sharedFolder();
    settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase(), LICENSING_PACKAGES_DIR };
    service = await startTestService(settings);
    await givePlan(service.db);
  });
  afterAll(() => service.stop());

  test('a folder that does not exist, or is a file', async () => {
    const folder = temporaryFolder();
    const missing = { ...settings, LICENSING_PACKAGES_DIR: join(folder, 'none') };
    const found = await doctor(missing);
    expectFinding(found, 'PACKAGES_FOLDER', 'problem', /ENOENT/);
    expect(find(found, 'PACKAGES_FOLDER')?.remedy).toMatch(
      new RegExp(`install -d -m 750 -o [\\w-]+ -g [\\w-]+ ${join(folder, 'none')};`),
    );
    writeFileSync(join(folder, 'file'), '');
    expectFinding(
      await doctor({ ...settings, LICENSING_PACKAGES_DIR: join(folder, 'file') }),
      'PACKAGES_FOLDER',
      'problem',
      /not a folder/,
    );
  });

  (IS_ROOT ? test : test.skip)(
    'access is tested for the user who runs it; for root it is unknown',
    async () => {
      const folder = sharedFolder();
      const here = { ...settings, LICENSING_PACKAGES_DIR: folder };
      expectUnchecked(await doctor(here), 'PACKAGES_ACCESS');
      chmodSync(folder, 0o777);
      expectFinding(await doctorAsNobody(here), 'PACKAGES_ACCESS', 'ok', /may read and write/);
      chmodSync(folder, 0o755);
      expectFinding(await doctorAsNobody(here), 'PACKAGES_NOT_WRITABLE', 'problem', folder);
      chmodSync(folder, 0o700);
      expectFinding(await doctorAsNobody(here), 'PACKAGES_UNREADABLE', 'problem', folder);
    },
  );

  test('a folder or a file that nginx cannot read as another user', async () => {
    const accelerated = { ...settings, LICENSING_ACCEL_LOCATION: '/_licensing_packages/' };
    expect(find(await doctor(accelerated), 'PACKAGES_NGINX')?.level).toBe('ok');
    const closed = temporaryFolder();
    mkdirSync(join(closed, 'packages'), { mode: 0o755 });
    expectFinding(
      await doctor({ ...accelerated, LICENSING_PACKAGES_DIR: join(closed, 'packages') }),
      'PACKAGES_NGINX',
      'problem',
      `read ${closed} (mode 0700)`,
    );
    const { release } = await giveRelease(service, { version: '1.0.0' });
    const path = packagePath(service.packagesDir, release.sha256);
    chmodSync(path, 0o600);
    expectFinding(await doctor(accelerated), 'PACKAGE_NGINX', 'problem', path);
    chmodSync(path, 0o644);
    expect(problems(await doctor(accelerated))).toEqual([]);
  });

  (IS_ROOT && existsSync('/etc/nginx/nginx.conf') ? test : test.skip)(
    "even before the first publish: a folder that nginx's group cannot read, with the command that fixes it",
    async () => {
      const folder = sharedFolder();
      const packages = join(folder, 'packages');
      mkdirSync(packages);
      chmodSync(packages, 0o750);
      const here = {
        ...settings,
        LICENSING_ACCEL_LOCATION: '/_licensing_packages/',
        LICENSING_PACKAGES_DIR: packages,
      };
      const found = await doctor(here);
      expectFinding(found, 'PACKAGES_NGINX', 'problem', /^nginx, which runs as \S+, may not read /);
      const [, remedy = ''] = /^As root: (.*); then: licensing doctor$/.exec(
        find(found, 'PACKAGES_NGINX')?.remedy ?? '',
      )!;
      expect(remedy).toMatch(new RegExp(`^chgrp \\S+ ${packages} && chmod g\\+rx ${packages}$`));
      expect(spawnSync('sh', ['-c', remedy]).status).toBe(0);
      expectFinding(await doctor(here), 'PACKAGES_NGINX', 'ok', /can reach the packages/);
    },
  );

  test("nginx and the service can read a package whatever the publisher's umask", async () => {
    const file = (await makePackage()).path;
    const { ended } = startProgram(
      'sh',
      [
        '-c',
        `umask 077; exec ${process.execPath} ${CLI} release publish --product 42 --version 1.0.1 --file ${file} --json`,
      ],
      processEnvironment(settings),
    );
    const { sha256 } = JSON.parse((await ended).stdout) as { sha256: string };
    expect(statSync(packagePath(service.packagesDir, sha256)).mode & 0o777).toBe(0o644);
  });

  test('packages that are missing, cut, or changed: each version by name, drafts as a warning', async () => {
    const versions = new Map<string, string>();
    for (const version of ['2.0.0', '2.0.1', '2.0.2', '2.0.3', '2.0.4']) {
      const { release } = await giveRelease(service, { version, draft: version === '2.0.3' });
      versions.set(version, packagePath(service.packagesDir, release.sha256));
    }
    expectFinding(await doctor(settings), 'PACKAGES', 'ok', /All \d stored versions/);
    rmSync(versions.get('2.0.0') as string);
    appendFileSync(versions.get('2.0.1') as string, 'x');
    const changed = readFileSync(versions.get('2.0.2') as string);
    changed[20]! ^= 1;
    writeFileSync(versions.get('2.0.2') as string, changed);
    rmSync(versions.get('2.0.3') as string);
    rmSync(versions.get('2.0.4') as string);
    spawnSync('mkfifo', [versions.get('2.0.4') as string]);
    const found = await doctor(settings);
    const damaged = found.findings.filter(({ code }) => code === 'PACKAGE_DAMAGED');
    expect(damaged).toMatchObject([
      { level: 'problem', what: expect.stringMatching(/version 2\.0\.0 \(published\), is missing/) },
      { level: 'problem', what: expect.stringMatching(/version 2\.0\.1 .* has \d+ bytes instead of \d+/) },
      {
        level: 'problem',
        what: expect.stringMatching(/version 2\.0\.2 .* differs from the published package/),
      },
      { level: 'warning', what: expect.stringMatching(/version 2\.0\.3 \(draft\), is missing/) },
      { level: 'problem', what: expect.stringMatching(/version 2\.0\.4 .* is a pipe/) },
    ]);
    expect(damaged[0]?.remedy).toContain('licensing release withdraw --product 42 --version 2.0.0');
    expect(found.exit).toBe(1);
    await service.db(table(service.db, 'releases')).where('version', 'like', '2.0.%').delete();
  });

  (IS_ROOT ? test : test.skip)(
    'packages that this user cannot read are not lost: it does not advise withdrawing',
    async () => {
      const packages = sharedFolder();
      const here = { ...settings, LICENSING_PACKAGES_DIR: packages };
      const releases = [];
      await service.db(table(service.db, 'releases')).delete();
      for (const version of ['2.1.0', '2.1.1', '2.1.2'])
        releases.push(
          (await giveRelease({ db: service.db, packagesDir: packages }, { version, draft: true })).release,
        );
      chmodSync(packages, 0o700);
      const closed = await doctorAsNobody(here);
      expectFinding(closed, 'PACKAGES_UNREADABLE', 'problem', packages);
      expectFinding(
        closed,
        'PACKAGE_UNREADABLE',
        'problem',
        /^This user cannot read 3 of the 3 stored packages /,
      );
      expect(closed.output).not.toMatch(/withdraw|PACKAGE_DAMAGED/);
      chmodSync(packages, 0o755);
      chmodSync(packagePath(packages, releases[1]!.sha256), 0o600);
      const one = await doctorAsNobody(here);
      expectFinding(one, 'PACKAGE_UNREADABLE', 'problem', / 1 of the 3 stored packages .*version 2\.1\.1/);
      expect(one.output).not.toMatch(/withdraw|PACKAGE_DAMAGED/);
      followRemedy(find(one, 'PACKAGE_UNREADABLE')?.remedy?.replace(/^.*(?=As root, )/, ''));
      expectFinding(await doctorAsNobody(here), 'PACKAGES', 'ok', /All 3 stored/);
      await service.db(table(service.db, 'releases')).delete();
    },
  );

  test('files that an interrupted publish left, once no process can still be writing them', async () => {
    const path = join(service.packagesDir, '.incoming-0123456789abcdef');
    writeFileSync(path, 'half');
    expect(find(await doctor(settings), 'PACKAGES_LEFTOVERS')?.level).toBe('ok');
    const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
    utimesSync(path, old, old);
    expectFinding(await doctor(settings), 'PACKAGES_LEFTOVERS', 'warning', '.incoming-0123456789abcdef');
    rmSync(path);
  });

  (IS_ROOT ? test : test.skip)('a disk that is nearly full', async () => {
    const folder = temporaryFolder();
    // This process sees a separate disk.
    const { ended } = startProgram(
      'unshare',
      [
        '--mount',
        'sh',
        '-c',
        `mount -t tmpfs -o size=3m none ${folder} && exec "$0" "$@"`,
        process.execPath,
        CLI,
        'doctor',
        '--json',
      ],
      processEnvironment({ ...settings, LICENSING_PACKAGES_DIR: folder }),
    );
    expectFinding(report(await ended), 'PACKAGES_SPACE', 'problem', /Only 3\.1 MB are free/);
  });
});

describe('sealed keys', () => {
  test('a secret that is missing, wrong or right, and a damaged row', async () => {
    const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    const db = await open(settings);
    const plan = await givePlan(db);
    expectFinding(await doctor(settings), 'KEY_SECRET', 'warning', /is not set: keys are shown once/);
    const sealing = { ...settings, LICENSING_KEY_SECRET: SECRET };
    await operator(sealing).json(['license', 'issue', '--plan', String(plan), '--count', '3']);
    expectFinding(await doctor(sealing), 'KEY_SECRET', 'ok', /3 tried/);
    expectFinding(await doctor(settings), 'KEY_SECRET', 'problem', /there are keys sealed/);
    expectFinding(
      await doctor({ ...settings, LICENSING_KEY_SECRET: Buffer.alloc(32, 8).toString('base64') }),
      'KEY_SECRET_OTHER',
      'problem',
      /3 of 3 .* licences 1, 2, 3/,
    );
    // The other keys of a licence are checked like its main key.
    await operator(sealing).json(['license', 'key', 'add', '2', '--label', 'Bakery']);
    const [first, , , other] = await rows<{ key_sealed: string }>(db, 'license_keys');
    const keys = () => db(table(db, 'license_keys')).where({ id: 4 });
    await keys().update({ key_sealed: first!.key_sealed });
    const found = await doctor(sealing);
    expectFinding(found, 'SEALED_KEY_DAMAGED', 'problem', /licences 2 \(key 4\)\.$/);
    expect(find(found, 'SEALED_KEY_DAMAGED')?.remedy).toMatch(
      /of license_keys; or licensing license rekey ID --key-id KEY_ID,/,
    );
    await keys().update({ key_sealed: other!.key_sealed });
    expect(problems(await doctor(sealing))).not.toContain('SEALED_KEY_DAMAGED');
  });
});

describe.each([
  ['SQLite', () => Promise.resolve(sqlite())],
  ['MariaDB', async () => ({ LICENSING_DATABASE_URL: await createMariaDbDatabase() })],
])('counters, on %s', (_name, backend) => {
  test('that differ from the activations are named, left unchanged without --repair, and corrected with it', async () => {
    const settings: Settings = { ...(await backend()), LICENSING_PACKAGES_DIR: temporaryFolder() };
    const db = await open(settings);
    const plan = await givePlan(db);
    for (let i = 0; i < 130; i++) await giveLicense(db, plan);
    const shop = operator(settings);
    await shop.json(['activation', 'add', '1', 'a.example']);
    await shop.json(['activation', 'add', '1', 'b.example']);
    await shop.json(['activation', 'add', '2', 'a.example']);
    expectFinding(await doctor(settings), 'COUNTERS', 'ok', /every licence/);

    await db(table(db, 'licenses')).where('id', '<>', 2).update({ activations_used: 3 });
    const found = await doctor(settings);
    expectFinding(
      found,
      'COUNTERS',
      'problem',
      /^More than 100 licences .*: 1 \(counts 3, has 2\), 3 \(counts 3, has 0\)/,
    );
    expect((await rows<{ activations_used: number }>(db, 'licenses'))[0]?.activations_used).toBe(3);

    const repaired = await doctor(settings, '--repair');
    expectFinding(repaired, 'COUNTERS_REPAIRED', 'ok', /^129 licences/);
    const counts = (await rows<{ activations_used: number }>(db, 'licenses')).map(
      (row) => row.activations_used,
    );
    expect(counts).toEqual([2, 1, ...Array.from({ length: 128 }, () => 0)]);
    const history = await shop.json<object[]>(['license', 'history', '1']);
    expect(history.at(-1)).toMatchObject({
      action: 'repair',
      actor: expect.stringMatching(/^operator:/),
      before: { activations_used: 3 },
      after: { activations_used: 2 },
    });
    expectFinding(await doctor(settings, '--repair'), 'COUNTERS', 'ok', /every licence/);
  });
});

describe('the site', () => {
  let settings: Settings;
  let service: TestService;
  let nginx: TestWebServer;
  const upstream = () => service.url.replace('http://', '');
  const LOGGED = ['licenses', 'events', 'activations'] as const;

  beforeAll(async () => {
    settings = {
      LICENSING_DATABASE_URL: await createMariaDbDatabase(),
      LICENSING_PACKAGES_DIR: sharedFolder(),
      LICENSING_ACCEL_LOCATION: '/_licensing_packages/',
      LICENSING_TRUSTED_PROXIES: '127.0.0.1',
      LICENSING_KEY_SECRET: SECRET,
    };
    service = await startTestService(settings);
    await givePlan(service.db);
    await giveRelease(service, { version: '2.1.0' });
    nginx = await startNginx({ upstream: upstream(), packagesDir: service.packagesDir });
  });
  afterAll(async () => {
    await nginx.stop();
    await service.stop();
  });

  /** Runs the doctor on a site whose configuration was changed. */
  async function lookAt(options: Partial<NginxOptions>, more: Settings = {}): Promise<Report> {
    const changed = await startNginx({ upstream: upstream(), packagesDir: service.packagesDir, ...options });
    cleanups.push(() => changed.stop());
    return doctor({ ...settings, ...more }, '--url', changed.url);
  }

  const editing = (file: string, from: string | RegExp, to: string): Partial<NginxOptions> => ({
    edit: (text, name) => {
      if (name !== file) return text;
      const edited = text.replace(from, to);
      if (edited === text) throw new Error(`${file} has changed: ${String(from)} is not in it.`);
      return edited;
    },
  });

  test('a correct site: reached at the right address, with updates and a whole download; no trace stays', async () => {
    const before = await Promise.all(LOGGED.map((name) => rows(service.db, name)));
    const found = await doctor(settings, '--url', nginx.url);
    expect(problems(found)).toEqual([]);
    expect(found.exit).toBe(0);
    expectFinding(found, 'SITE', 'ok', `${nginx.url}${PREFIX}/`);
    expectFinding(found, 'FORWARDED_ADDRESS', 'ok', /\(127\.94\.0\.7\), and trusts no other/);
    expectFinding(found, 'PACKAGES_PUBLIC', 'ok', /\(404\)/);
    expectFinding(found, 'UPDATES', 'ok', /version 2\.1\.0/);
    expectFinding(found, 'DOWNLOAD', 'ok', /through nginx arrives whole/);
    expectFinding(found, 'NOT_ENCRYPTED', 'warning', /not encrypted/);
    expect(await Promise.all(LOGGED.map((name) => rows(service.db, name)))).toEqual(before);
    const left = await rows<{ outcome: string; key_hint: null }>(service.db, 'access_log');
    expect(new Set(left.map((row) => `${row.outcome} ${row.key_hint}`))).toEqual(
      new Set(['INVALID_REQUEST null']),
    );
    expect(find(await doctor(settings), 'SITE')).toMatchObject({
      checked: false,
      remedy: expect.stringContaining('--url'),
    });
  });

  test('a version for few addresses is not a fault of the others', async () => {
    await giveRelease(service, { version: '2.2.0', rollout: 1 });
    try {
      const found = await doctor(settings, '--url', nginx.url);
      expect(problems(found)).toEqual([]);
      expectFinding(found, 'UPDATES', 'ok', /version 2\.[12]\.0/);
      expectFinding(found, 'DOWNLOAD', 'ok', /version 2\.1\.0, through nginx arrives whole/);
    } finally {
      await withdrawRelease(service.db, 42, '2.2.0', new Date());
    }
  });

  test('no answer; nginx answers for a service that is down; the site redirects', async () => {
    expectFinding(
      await doctor(settings, '--url', `http://${await unusedAddress()}`),
      'SITE_UNREACHABLE',
      'problem',
      /ECONNREFUSED/,
    );
    expectFinding(await lookAt({ upstream: await unusedAddress() }), 'SERVICE_AWAY', 'problem', /503/);
    expectFinding(
      await lookAt(
        editing(
          'licensing.conf',
          'set $args $licensing_args;',
          'return 301 https://www.shop.example$request_uri;',
        ),
      ),
      'SITE_REDIRECTS',
      'problem',
      'https://www.shop.example',
    );
    expect((await operator(settings).run(['doctor', '--url', 'shop.example'])).code).toBe(2);
  });

  test("the site's PHP answers in place of the service", async () => {
    const found = await lookAt(
      editing('licensing.conf', /(\/api\/index\.php)\/v1(?=\/licensing\/)/g, '$1/v2'),
    );
    expectFinding(found, 'PREFIX_NOT_REACHED', 'problem', /that is the site/);
  });

  test('a site in a sub-folder whose line is still a comment: the finding names the folder', async () => {
    const line =
      /remove the # from the line.*: (location \^~ \/joomla\/\S+ \{ set \S+ \/joomla; rewrite \S+ \$1 last; \}) Then/;
    const found = await doctor(settings, '--url', `${nginx.url}/joomla`);
    expect(find(found, 'PREFIX_NOT_REACHED')).toMatchObject({
      level: 'problem',
      remedy: expect.stringMatching(line),
    });
    const [, named = ''] = line.exec(find(found, 'PREFIX_NOT_REACHED')?.remedy ?? '')!;
    const changed = await startNginx({
      upstream: upstream(),
      packagesDir: service.packagesDir,
      ...editing('licensing.conf', `#${named}`, named),
    });
    cleanups.push(() => changed.stop());
    expectFinding(await doctor(settings, '--url', `${changed.url}/joomla/`), 'SITE', 'ok', '/joomla/api/');
  });

  /** Runs the doctor on a site that answers with these sign-in pages, by host name. */
  async function lookAtPages(pages: Record<string, string>, more: Settings, folder = ''): Promise<Report> {
    const site = await startStaticSite(({ url = '', headers }, response) => {
      const page = url.endsWith('/pages/sign-in') ? pages[headers.host?.replace(/:.*/, '') ?? ''] : undefined;
      response.writeHead(page === undefined ? 404 : 200, { 'Content-Type': 'text/html' }).end(page);
    });
    cleanups.push(() => site.stop());
    return doctor({ ...settings, ...more }, '--url', site.url.replace('127.0.0.1', 'localhost') + folder);
  }

  test("the pages: reachable, missing, without the site's folder, and on the wrong host", async () => {
    const publicUrl = { LICENSING_PUBLIC_URL: 'https://shop.example' };
    const alone = await lookAtPages({ localhost: '<form>' }, publicUrl);
    expectFinding(alone, 'PAGES', 'ok', /The pages answer at .*\/pages\/sign-in/);
    expect(find(alone, 'PUBLIC_URL')).toBeUndefined();
    const none = await lookAtPages({}, {});
    expectFinding(none, 'PAGES', 'problem', /answers 404/);
    expectFinding(none, 'PUBLIC_URL', 'warning', /LICENSING_PUBLIC_URL is not set/);
    const rooted = { localhost: `<form action="${PREFIX}/pages/sign-in">` };
    expectFinding(
      await lookAtPages(rooted, {}, '/joomla'),
      'PAGES',
      'problem',
      /without the folder \/joomla/,
    );

    const host = { LICENSING_PAGES_HOST: '127.0.0.1' };
    const own = await lookAtPages({ '127.0.0.1': '<form>' }, host);
    expectFinding(own, 'PAGES', 'ok', /127\.0\.0\.1/);
    expectFinding(own, 'PAGES_HOST', 'ok', /do not answer at localhost/);
    const both = await lookAtPages({ '127.0.0.1': '<form>', localhost: '<form>' }, host);
    expectFinding(both, 'PAGES_HOST', 'problem', /answers 200, although the pages belong to 127/);
  });

  test('a certificate of a private authority is accepted with --ca', async () => {
    const authority = createAuthority();
    const front = await startTlsFront(nginx.url, authority.issue('IP:127.0.0.1'));
    cleanups.push(() => front.stop());
    const unknown = await doctor(settings, '--url', front.url);
    expect(find(unknown, 'SITE_UNREACHABLE')).toMatchObject({ remedy: expect.stringContaining('--ca FILE') });
    const known = await doctor(settings, '--url', front.url, '--ca', authority.ca);
    for (const code of ['SITE', 'PACKAGES_PUBLIC', 'UPDATES', 'DOWNLOAD'])
      expect(find(known, code)).toMatchObject({ level: 'ok' });
    const { run } = operator(settings);
    expect(await run(['doctor', '--url', nginx.url, '--ca', authority.ca])).toMatchObject({
      code: 1,
      stdout: '',
    });
    expect(await run(['doctor', '--url', front.url, '--ca', CLI])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('PEM'),
    });
  });

  test("the client's address is not passed on", async () => {
    expectFinding(
      await lookAt(editing('licensing.conf', /proxy_set_header X-Forwarded-For.*/, '')),
      'FORWARDED_ADDRESS',
      'problem',
      'came from 127.94.0.7, and the service saw 127.0.0.1',
    );
  });

  test('an address that a client claims is believed', async () => {
    expectFinding(
      await lookAt(
        editing(
          'upstream.conf',
          /^upstream /m,
          'set_real_ip_from 0.0.0.0/0;\nreal_ip_header X-Forwarded-For;\nupstream ',
        ),
      ),
      'FORGED_ADDRESS',
      'problem',
      /trusts an address that the client sends/,
    );
  });

  test('a service on another database', async () => {
    const other = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    await open(other);
    const found = await doctor({ ...settings, ...other }, '--url', nginx.url);
    expectFinding(found, 'OTHER_SERVICE', 'problem', /this database/);
    expect(find(found, 'DOWNLOAD')).toBeUndefined();
  });

  test('packages that anyone can download', async () => {
    expectFinding(
      await lookAt(editing('licensing.conf', 'internal;', '')),
      'PACKAGES_PUBLIC',
      'problem',
      /answers 200/,
    );
  });

  test('nginx looks for the packages elsewhere, or there is no nginx to send them', async () => {
    expectFinding(
      await lookAt({ packagesDir: sharedFolder() }),
      'ACCEL_UNREADABLE',
      'problem',
      /package file is missing/,
    );
    expectFinding(
      await doctor(settings, '--url', service.url),
      'ACCEL_NOT_HONOURED',
      'problem',
      /X-Accel-Redirect/,
    );
  });

  test('a cache in front that keeps answers', async () => {
    const stale = `location = ${PREFIX}/updates/42 { return 200 '{"data":{"update_available":true,"version":"1.0.0"}}'; }\n`;
    expectFinding(
      await lookAt(editing('licensing.conf', /^location/m, `${stale}location`)),
      'UPDATES',
      'problem',
      /offers 1\.0\.0, while version 2\.1\.0/,
    );
  });

  test('a proxy that refuses downloads, and a package that arrives without its name', async () => {
    expectFinding(
      await lookAt(
        editing('licensing.conf', 'set $args $licensing_args;', 'if ($args ~ dlid) { return 418; }'),
      ),
      'DOWNLOAD',
      'problem',
      /answered with 418/,
    );
    const streaming = await startTestService({ ...settings, LICENSING_ACCEL_LOCATION: '' });
    cleanups.push(() => streaming.stop());
    expectFinding(
      await lookAt(
        {
          upstream: streaming.url.replace('http://', ''),
          ...editing('licensing.conf', 'gzip off;', 'gzip off; proxy_hide_header Content-Disposition;'),
        },
        { LICENSING_ACCEL_LOCATION: '' },
      ),
      'DOWNLOAD_NAME',
      'problem',
      /Content-Disposition/,
    );
  });

  test('a package that was damaged on disk', async () => {
    const { release } = await giveRelease(service, { version: '2.3.0' });
    const path = packagePath(service.packagesDir, release.sha256);
    const bytes = readFileSync(path);
    bytes[20]! ^= 1;
    writeFileSync(path, bytes);
    const found = await doctor(settings, '--url', nginx.url);
    expectFinding(found, 'DOWNLOAD', 'problem', /differs from the published package/);
    expectFinding(found, 'PACKAGE_DAMAGED', 'problem', /2\.3\.0/);
  });

  test('without products, checks that need one are unknown', async () => {
    const fresh = { ...settings, LICENSING_DATABASE_URL: await createMariaDbDatabase() };
    const empty = await startTestService(fresh);
    cleanups.push(() => empty.stop());
    const found = await doctor(fresh, '--url', empty.url);
    expect(find(found, 'SITE')?.level).toBe('ok');
    expectUnchecked(found, 'UPDATES', 'DOWNLOAD', 'PACKAGES_PUBLIC');
  });
});

test('as text: each finding with its reason and remedy, aligned, without colours in a file', async () => {
  const settings = { ...sqlite(), LICENSING_PACKAGES_DIR: temporaryFolder() };
  await open(settings);
  const { code, stdout, stderr } = await operator(settings).run(['doctor']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^ok {7}The settings come from .* the environment \(LICENSING_/m);
  expect(stdout).toMatch(
    /^warning {2}The database is SQLite, .*\n {9}why: .*\n {9}-> For a shop in earnest/m,
  );
  expect(stdout).toMatch(
    /^unknown {2}The site was not looked at from outside\.\n {9}-> licensing doctor --url/m,
  );
  const lines = (label: string) => stdout.match(new RegExp(`^${label} `, 'gm'))?.length ?? 0;
  const counted = `0 problems, ${lines('warning')} warnings, ${lines('unknown')} unknown.`;
  expect(stdout.endsWith(`\n\n${counted}\n`)).toBe(true);
  expect(lines('unknown')).toBeGreaterThan(0);
  expect(stdout).not.toContain('\u001b');
  rmSync(settings.LICENSING_PACKAGES_DIR, { recursive: true });
  const failed = await operator(settings).run(['doctor']);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toBe('error: The doctor found 1 problem.\n');
});
