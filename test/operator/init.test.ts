import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import request from 'supertest';
import { operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { createMariaDbDatabase, PREFIX } from '../support/service';
import {
  processEnvironment,
  startProgram,
  startServiceProcess,
  type Ended,
} from '../support/service-process';

/** `licensing init` next to a Joomla site: a configuration.php, and a database with the site's own tables. */

const ROOT = join(__dirname, '../..');
const PASSWORD = "it's \\ a p@ss:word/#?%";
let root: Connection;
let database: string;
let site: string;
let envFile: string;

beforeAll(async () => {
  root = await createConnection({ socketPath: process.env.TEST_MARIADB_SOCKET as string, user: 'root' });
});

afterAll(() => root.end());

beforeEach(async () => {
  database = (await createMariaDbDatabase()).split('/').at(-1) as string;
  for (const host of ['localhost', '127.0.0.1']) {
    await root.query(`DROP USER IF EXISTS joomla@'${host}'`);
    await root.query(`CREATE USER joomla@'${host}' IDENTIFIED BY ${root.escape(PASSWORD)}`);
    await root.query(`GRANT ALL ON ${database}.* TO joomla@'${host}'`);
  }
  await root.query(`CREATE TABLE ${database}.jos_users (id INT PRIMARY KEY, name VARCHAR(100))`);
  await root.query(`CREATE TABLE ${database}.jos_session (id INT PRIMARY KEY, data TEXT) ENGINE=InnoDB`);
  await root.query(`INSERT INTO ${database}.jos_users VALUES (1, 'Super User'), (2, 'Jane')`);
  await root.query(`INSERT INTO ${database}.jos_session VALUES (7, 'abc')`);
  const folder = temporaryFolder();
  site = join(folder, 'site');
  envFile = join(folder, 'licensing', '.env');
  mkdirSync(site);
  mkdirSync(join(folder, 'licensing'));
  writeConfiguration({});
});

function writeConfiguration(changes: Record<string, string>): void {
  const values = {
    dbtype: 'mysqli',
    host: `127.0.0.1:${process.env.TEST_MARIADB_PORT as string}`,
    user: 'joomla',
    password: PASSWORD,
    db: database,
    dbprefix: 'jos_',
    ...changes,
  };
  const lines = Object.entries(values).map(
    ([name, value]) => `\tpublic $${name} = '${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}';\n`,
  );
  writeFileSync(join(site, 'configuration.php'), `<?php\nclass JConfig {\n${lines.join('')}}\n`);
}

function licensing(...args: string[]): Promise<Ended> {
  return licensingWith({}, ...args);
}

/** Runs the command with only these settings in the environment, because init writes all that it finds there. */
function licensingWith(settings: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> {
  const none = {
    LICENSING_LISTEN: undefined,
    LICENSING_ADMIN_LISTEN: undefined,
    LICENSING_RATE_LIMIT: undefined,
    LICENSING_TIMEOUT_FACTOR: undefined,
  };
  return operator({}).run(args, { env: { ...none, LICENSING_ENV_FILE: envFile, ...settings } });
}

/** Returns the structure and the checksums of the site's own tables. */
async function siteTables(): Promise<unknown> {
  const [tables] = await root.query<RowDataPacket[]>(
    "SELECT TABLE_NAME, CREATE_TIME, TABLE_COLLATION FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME NOT LIKE '%licensing\\_%' ORDER BY 1",
    [database],
  );
  const [checksums] = await root.query(
    `CHECKSUM TABLE ${database}.jos_users, ${database}.jos_session EXTENDED`,
  );
  return { tables, checksums };
}

describe('licensing init --joomla-root', () => {
  test('sets the service up: settings, tables under the prefix, next steps; the site is unchanged', async () => {
    const before = await siteTables();
    const init = await licensing('init', '--joomla-root', site, '--json');
    expect(init).toMatchObject({ code: 0 });
    expect(JSON.parse(init.stdout)).toMatchObject({
      env_file: envFile,
      added: ['LICENSING_JOOMLA_ROOT', 'LICENSING_KEY_SECRET'],
      table_prefix: 'jos_',
      migrated: true,
      signing_key: `${new Date().getUTCFullYear()}-1`,
    });
    const again = await licensing('init', '--joomla-root', site, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ added: [], signing_key: null });
    const settings = readFileSync(envFile, 'utf8');
    expect(statSync(envFile).mode & 0o777).toBe(0o600);
    expect(settings).toContain(`LICENSING_JOOMLA_ROOT=${site}\n`);
    expect(settings).toMatch(/^LICENSING_KEY_SECRET=[A-Za-z0-9+/]{43}=$/m);
    // The password is only in configuration.php.
    for (const text of [settings, init.stdout, init.stderr]) expect(text).not.toContain('p@ss');
    const [tables] = await root.query<RowDataPacket[]>(
      "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME LIKE 'jos\\_licensing\\_%'",
      [database],
    );
    expect(tables.length).toBeGreaterThanOrEqual(9);

    for (const command of [
      ['product', 'add', '--name', 'Example', '--id', '42'],
      'plan add --product 42 --name One --activation-type domain --activation-limit 1'.split(' '),
    ])
      expect(await licensing(...command)).toMatchObject({ code: 0 });
    const issued = await licensing('license', 'issue', '--plan', '1', '--json');
    const { license_key } = JSON.parse(issued.stdout) as { license_key: string };
    const service = await startServiceProcess({}, { LICENSING_ENV_FILE: envFile });
    await request(service.url)
      .post(`${PREFIX}/licenses/activate`)
      .send({ license_key, identifier: 'example.com' })
      .expect(200);
    await service.stop();
    expect(await siteTables()).toEqual(before);
  });

  test("installed by docs/production.md, .env is readable by the service's user only, and the packages by nginx's group too", () => {
    const machine = temporaryFolder();
    const guide = readFileSync(join(ROOT, 'docs/production.md'), 'utf8');
    const [, commands = ''] = /```sh\n(cat >> [^]*?)```/.exec(guide)!;
    const log = join(machine, 'log');
    for (const [name, does] of [
      ['licensing', `exec node ${CLI} "$@"`],
      // The machine does not have the service's own user.
      ['chown', `echo "chown $*" >> ${log}`],
      ['install', `echo "install $*" >> ${log}`],
    ] as const)
      writeFileSync(join(machine, name), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
    const { status, stderr } = spawnSync(
      'sh',
      [
        '-e',
        '-c',
        `umask 022\n${commands
          .replaceAll('/var/www/shop', site)
          .replaceAll('/opt/licensing-gateway/.env', envFile)
          .replaceAll('/var/lib/licensing', machine)}`,
      ],
      {
        encoding: 'utf8',
        env: { PATH: `${machine}:${process.env.PATH}`, LICENSING_ENV_FILE: envFile },
      },
    );
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(statSync(envFile).mode & 0o777).toBe(0o600);
    expect(readFileSync(log, 'utf8').split('\n').slice(0, 2)).toEqual([
      `chown licensing:licensing ${envFile}`,
      `chown -R licensing:www-data ${machine}`,
    ]);
  });

  test('run again, it changes nothing that is set', async () => {
    writeFileSync(envFile, '# mine\nLICENSING_LOG_DAYS=2', { mode: 0o644 });
    expect(await licensing('init', '--joomla-root', site)).toMatchObject({ code: 0 });
    const first = readFileSync(envFile, 'utf8');
    expect(first).toMatch(/^# mine\nLICENSING_LOG_DAYS=2\nLICENSING_JOOMLA_ROOT=/);
    const again = await licensing('init', '--joomla-root', site, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ added: [] });
    const { stdout } = await licensing('init');
    expect(stdout).toContain('--update-xml-url https://YOUR.SITE/licensing-updates/pkg_yours.xml');
    // The guides contain each step.
    const guides = ['joomla-site', 'production']
      .map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'))
      .join('');
    const steps = [...stdout.matchAll(/(?:^| {2,})(licensing [a-z-]+(?: [a-z]+)?|systemctl .*)/gm)];
    expect(steps).toHaveLength(9);
    for (const [, step] of steps) expect(guides).toContain(step);
    expect(readFileSync(envFile, 'utf8')).toBe(first);
    const elsewhere = await licensing('init', '--joomla-root', temporaryFolder());
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stderr).toContain('set up next to');
    expect(readFileSync(envFile, 'utf8')).toBe(first);
  });

  test('keeps the owner of .env, even behind a link, and recognizes a relative path to the site', async () => {
    const settings = join(dirname(envFile), 'settings');
    writeFileSync(settings, 'LICENSING_JOOMLA_ROOT=../site\n');
    const owner = process.getuid!() === 0 ? 65534 : process.getuid!();
    chownSync(settings, owner, -1);
    chmodSync(settings, 0o640);
    symlinkSync(settings, envFile);
    expect(await licensing('init', '--joomla-root', site)).toMatchObject({ code: 0 });
    expect(lstatSync(envFile).isSymbolicLink()).toBe(true);
    const { uid, mode } = statSync(settings);
    expect({ uid, mode: mode & 0o777 }).toEqual({ uid: owner, mode: 0o640 });
    expect(readFileSync(settings, 'utf8')).toMatch(/^LICENSING_JOOMLA_ROOT=..\/site\nLICENSING_KEY_SECRET=/);
  });

  test('writes the secret under an unpredictable name, and leaves nothing else behind', async () => {
    const elsewhere = join(temporaryFolder(), 'elsewhere');
    writeFileSync(elsewhere, 'untouched');
    symlinkSync(elsewhere, `${envFile}.new`);
    expect(await licensing('init', '--joomla-root', site)).toMatchObject({ code: 0 });
    expect(readFileSync(elsewhere, 'utf8')).toBe('untouched');
    expect(readdirSync(dirname(envFile)).sort()).toEqual(['.env', '.env.new']);
    expect(statSync(envFile).mode & 0o777).toBe(0o600);
  });

  (process.getuid!() === 0 ? test : test.skip)(
    'does not replace a device with a file, because others may use it',
    async () => {
      // Another /dev/null.
      execFileSync('mknod', [envFile, 'c', '1', '3']);
      expect(await licensing('init', '--joomla-root', site)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`${envFile} was not written: it is not a file.`),
      });
      expect(statSync(envFile).isCharacterDevice()).toBe(true);
    },
  );

  (process.getuid!() === 0 ? test : test.skip)(
    'a full disk leaves .env unchanged, and no trace of the secret next to it',
    async () => {
      const folder = dirname(envFile);
      // This process sees a separate disk, which has room only for the present file.
      const before = `LICENSING_PACKAGES_DIR=${temporaryFolder()}\n${'# mine\n'.repeat(580)}`;
      const { ended } = startProgram(
        'unshare',
        [
          '--mount',
          'sh',
          '-c',
          `mount -t tmpfs -o size=8k none ${folder} && printf %s "$0" > ${envFile} && chmod 640 ${envFile}
           "$@"; echo "exit $?"; ls -lA ${folder}; cat ${envFile}`,
          before,
          ...[process.execPath, CLI, 'init', '--joomla-root', site],
        ],
        processEnvironment({}, { LICENSING_ENV_FILE: envFile }),
      );
      const { stdout, stderr } = await ended;
      expect(stderr).toMatch(/error: .*disk is full/);
      expect(stderr).not.toContain('.part');
      expect(stdout).toMatch(/^exit 1\ntotal 8\n-rw-r----- .*\.env\n/);
      expect(stdout.endsWith(`.env\n${before}`)).toBe(true);
    },
  );

  test('fills in an existing setting without a value', async () => {
    writeFileSync(envFile, 'LICENSING_JOOMLA_ROOT=\n');
    expect(await licensing('init', '--joomla-root', site)).toMatchObject({ code: 0 });
    expect(readFileSync(envFile, 'utf8')).toContain(`\nLICENSING_JOOMLA_ROOT=${site}\n`);
  });

  test('keeps the site that the environment names', async () => {
    const { stdout } = await licensingWith({ LICENSING_JOOMLA_ROOT: site }, 'init', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ added: ['LICENSING_JOOMLA_ROOT', 'LICENSING_KEY_SECRET'] });
    expect(await licensing('product', 'list')).toMatchObject({ code: 0 });
  });

  test('writes every setting that the environment has, and keeps existing ones', async () => {
    const packages = join(dirname(envFile), 'my packages');
    writeFileSync(envFile, 'LICENSING_LOG_DAYS=30\n');
    const given = {
      LICENSING_PACKAGES_DIR: packages,
      LICENSING_RATE_LIMIT: '120',
      LICENSING_KEY_SECRET: 'A'.repeat(43),
      LICENSING_LOG_DAYS: '31',
      LICENSING_PACKAGE_DIR: '/misspelled',
    };
    const { code, stdout, stderr } = await licensingWith(given, 'init', '--joomla-root', site, '--json');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const added = [
      'LICENSING_PACKAGES_DIR',
      'LICENSING_RATE_LIMIT',
      'LICENSING_KEY_SECRET',
      'LICENSING_JOOMLA_ROOT',
    ];
    expect((JSON.parse(stdout) as { added: string[] }).added.sort()).toEqual(added.sort());
    expect(stderr).toContain(`LICENSING_LOG_DAYS has another value in ${envFile}`);
    expect(readFileSync(envFile, 'utf8').split('\n').sort()).toEqual([
      '',
      `LICENSING_JOOMLA_ROOT=${site}`,
      `LICENSING_KEY_SECRET=${'A'.repeat(43)}`,
      'LICENSING_LOG_DAYS=30',
      `LICENSING_PACKAGES_DIR='${packages}'`,
      'LICENSING_RATE_LIMIT=120',
    ]);
    expect(readdirSync(packages)).toEqual([]);
  });

  test("refuses empty tables next to this program's own if the site's prefix has changed", async () => {
    expect(await licensing('init', '--joomla-root', site)).toMatchObject({ code: 0 });
    writeConfiguration({ dbprefix: 'new_' });
    const settings = readFileSync(envFile, 'utf8');
    for (const args of [['init'], ['init', '--dry-run'], ['migrate']]) {
      const refused = await licensing(...args);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain('LICENSING_TABLE_PREFIX=jos_');
    }
    expect(readFileSync(envFile, 'utf8')).toBe(settings);
    const [tables] = await root.query(`SHOW TABLES FROM ${database} LIKE 'new\\_licensing%'`);
    expect(tables).toEqual([]);
  });

  test('makes no new secret if keys are sealed with one that is no longer in .env', async () => {
    expect(await licensing('init', '--joomla-root', site)).toMatchObject({ code: 0 });
    const plan = '--product 1 --name One --activation-type domain --activation-limit 1';
    for (const command of ['product add --name Example --id 1', `plan add ${plan}`, 'license issue --plan 1'])
      expect(await licensing(...command.split(' '))).toMatchObject({ code: 0 });
    const before = readFileSync(envFile, 'utf8');
    const emptied = 'LICENSING_ACCEL_LOCATION=/_licensing_packages/\n';
    writeFileSync(envFile, emptied);
    for (const args of [[], ['--dry-run']]) {
      const refused = await licensing('init', '--joomla-root', site, ...args);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/sealed.*Restore its line LICENSING_KEY_SECRET from a backup/s);
      expect(readFileSync(envFile, 'utf8')).toBe(emptied);
    }
    writeFileSync(envFile, before);
    expect(await licensing('init', '--joomla-root', site)).toMatchObject({ code: 0 });
  });

  test('--dry-run describes its changes, and makes none', async () => {
    const dry = await licensing('init', '--joomla-root', site, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stdout: 'Nothing was changed.\n' });
    expect(dry.stderr).toContain(`${database} as joomla at 127.0.0.1`);
    expect(dry.stderr).toContain('jos_licensing_');
    expect(existsSync(envFile)).toBe(false);
    const [tables] = await root.query<RowDataPacket[]>(
      "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME LIKE '%licensing%'",
      [database],
    );
    expect(tables).toHaveLength(0);
  });

  test.each([
    ['a folder that is no site', () => temporaryFolder(), /configuration\.php/],
    [
      'a site on another kind of database',
      () => {
        writeConfiguration({ dbtype: 'pgsql' });
        return site;
      },
      /is not a MySQL driver.*LICENSING_DATABASE_URL/,
    ],
    [
      'a wrong password',
      () => {
        writeConfiguration({ password: 'wrong-p@ss' });
        return site;
      },
      /cannot be reached|Access denied|ER_ACCESS_DENIED/,
    ],
    [
      'a server that does not run',
      () => {
        writeConfiguration({ host: '127.0.0.1:1' });
        return site;
      },
      /ECONNREFUSED/,
    ],
  ])('refuses %s with a reason, and writes nothing', async (_what, prepare, words) => {
    const refused = await licensing('init', '--joomla-root', prepare());
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(words);
    expect(refused.stderr).not.toMatch(/p@ss|\n\s+at /);
    expect(existsSync(envFile)).toBe(false);
  });

  test('names the privileges that its database user lacks, and how to grant them', async () => {
    for (const host of ['localhost', '127.0.0.1']) {
      await root.query(`REVOKE ALL PRIVILEGES ON ${database}.* FROM joomla@'${host}'`);
      await root.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${database}.* TO joomla@'${host}'`);
    }
    const refused = await licensing('init', '--joomla-root', site);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('CREATE command denied');
    expect(refused.stderr).toContain(
      'GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, REFERENCES',
    );
    expect(existsSync(envFile)).toBe(false);
  });
});

test('a separate database: its URL is copied from the environment to .env', async () => {
  const url = `mysql://root:@127.0.0.1:${process.env.TEST_MARIADB_PORT as string}/${database}`;
  const init = await operator({ LICENSING_DATABASE_URL: url }).run(['init'], {
    env: { LICENSING_ENV_FILE: envFile },
  });
  expect(init).toMatchObject({ code: 0 });
  expect(readFileSync(envFile, 'utf8')).toContain(`LICENSING_DATABASE_URL=${url}\n`);
  expect(await licensing('product', 'list')).toMatchObject({ code: 0 });
});

test('neither a site nor a database: explains how to name one, and how to try it without', async () => {
  writeFileSync(envFile, '');
  for (const command of [['init'], ['product', 'list']]) {
    const refused = await licensing(...command);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/LICENSING_DATABASE_URL.*licensing init --sqlite/);
  }
});

test('--sqlite: a service without Joomla and without a server', async () => {
  const file = join(dirname(envFile), 'trial.sqlite');
  const dry = await licensing('init', '--sqlite', file, '--dry-run');
  expect(dry).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('Tables: to be made or changed (001_'),
  });
  expect(existsSync(file)).toBe(false);
  const packages = { LICENSING_PACKAGES_DIR: join(dirname(envFile), 'packages') };
  for (const added of [
    ['LICENSING_PACKAGES_DIR', 'LICENSING_DATABASE_URL', 'LICENSING_XML_DIR', 'LICENSING_KEY_SECRET'],
    [],
  ]) {
    const init = await licensingWith(packages, 'init', '--sqlite', file, '--json');
    expect(init).toMatchObject({ code: 0 });
    expect(JSON.parse(init.stdout)).toMatchObject({ added, migrated: true });
  }
  expect(readFileSync(envFile, 'utf8')).toContain(`LICENSING_DATABASE_URL=sqlite:${file}\n`);
  expect(statSync(file).isFile()).toBe(true);
  expect(await licensing('product', 'add', '--name', 'Example')).toMatchObject({ code: 0 });
  const service = await startServiceProcess(packages, { LICENSING_ENV_FILE: envFile });
  await request(service.url).get(`${PREFIX}/updates/1`).expect(200);
  await service.stop();

  for (const args of [
    ['--sqlite', join(dirname(envFile), 'other.sqlite')],
    ['--sqlite', file, '--joomla-root', site],
  ])
    expect(await licensing('init', ...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already has its tables elsewhere'),
    });
  const usual = await licensingWith(
    { ...packages, LICENSING_ENV_FILE: join(dirname(envFile), 'other') },
    'init',
    '--sqlite',
    '--dry-run',
  );
  expect(usual.stderr).toContain(`Database: SQLite, ${join(ROOT, 'var/licensing.sqlite')}`);
});
