import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { createConnection, type Connection } from 'mysql2/promise';
import { keepAuthority, withAuthority } from '../../src/cli/machine/authority';
import { readConfig } from '../../src/settings/config';
import { backUpTables, readBackTables } from '../../src/setup/backup';
import { giveRights } from '../../src/setup/files';
import {
  removeFromJournal,
  appendToJournal,
  readJournal,
  lastWrittenText,
  type JournalEntry,
} from '../../src/setup/journal';
import { groupsToJoin } from '../../src/setup/readers';
import { filesOf } from '../../src/setup/glob';
import { openDatabase } from '../../src/store/engine/database';
import { countRowsSince, ownTables, readHighestIds } from '../../src/store/engine/whole-tables';
import { operator } from '../support/operator';
import { endProcess, eventually, startProcess, temporaryFolder } from '../support/processes';
import { createMariaDbDatabase, giveLicense, givePlan } from '../support/service';
import { openMigrated } from '../support/service-process';

/** The work of setup and upgrade without systemd. test/setup has the rest. */

const IS_ROOT = process.getuid!() === 0;

describe('the commands', () => {
  it.each([
    ['setup --joomla-root /srv/site --url shop.example', 2, '--url'],
    ['setup --joomla-root /srv/site --url https://shop.example --instances 10', 2, '--instances'],
    ['setup --joomla-root /srv/site --url https://shop.example --ca /nowhere', 2, '--ca'],
    ['upgrade', 2, 'Name the archive'],
    ['upgrade a.tar.gz --ca /nowhere', 2, '--ca'],
    ['upgrade a.tar.gz --back', 2, '--back takes no file'],
    ['setup --undo', 1, IS_ROOT ? 'systemd does not run on this machine' : 'Run this as root'],
    ['upgrade a.tar.gz', 1, IS_ROOT ? 'systemd does not run on this machine' : 'Run this as root'],
  ])('licensing %s: %i', async (line, code, words) => {
    // A machine without systemctl.
    const ended = await operator({}).run(line.split(' '), { env: { PATH: temporaryFolder() } });
    expect(ended).toMatchObject({ code, stderr: expect.stringContaining(words) });
  });
});

test('an authority is kept for later runs of the doctor, which gets a copy that its user can read', async () => {
  const state = join(temporaryFolder(), 'state');
  const looked = (url: string) =>
    withAuthority(
      url,
      ([option, file = '']) =>
        Promise.resolve([option, file && readFileSync(file, 'utf8'), file && statSync(file).mode & 0o777]),
      state,
    );
  await keepAuthority(undefined, { NODE_EXTRA_CA_CERTS: join(state, 'none.pem') }, state);
  expect(await looked('https://shop.example')).toEqual([undefined, '', '']);
  const pem = rootCertificates[0]!;
  const file = join(temporaryFolder(), 'ca.pem');
  writeFileSync(file, pem, { mode: 0o600 });
  await keepAuthority(undefined, { NODE_EXTRA_CA_CERTS: file }, state);
  await keepAuthority(undefined, {}, state);
  expect(await looked('https://shop.example')).toEqual(['--ca', pem, 0o644]);
  expect(await looked('http://shop.example')).toEqual([undefined, '', '']);
  writeFileSync(file, rootCertificates[1]!);
  await keepAuthority(file, {}, state);
  expect(await looked('https://shop.example')).toEqual(['--ca', rootCertificates[1], 0o644]);
});

describe('one change of the machine at a time', () => {
  const LOCK = join(__dirname, '../../dist/src/setup/lock.js');
  const MACHINE = join(__dirname, '../../dist/src/setup/machine.js');
  /** Starts a process that takes the lock, prints "held", and then runs this code. */
  const holder = (lock: string, then: string) =>
    startProcess(process.execPath, [
      '-e',
      `const { holdLock, heldLock } = require('${LOCK}');
holdLock('licensing upgrade', new Date('2026-11-27T21:00:00Z'), '${lock}').then(() => { console.log('held'); ${then} }, (error) => console.log(error.message));`,
    ]);
  const said = async (child: ChildProcess) => String((await once(child.stdout!, 'data'))[0]).trim();
  const refused = (pid: number | undefined, more = '') =>
    `Nothing was changed, because another run changes this machine: licensing upgrade (process ${pid}) since 2026-11-27 21:00:00 UTC. ${more}Run this again once it has ended.`;

  test('the second one learns who has been running since when, and a killed one leaves no lock', async () => {
    const lock = join(temporaryFolder(), 'lock');
    const first = holder(lock, 'setInterval(() => {}, 1e6)');
    expect(await said(first)).toBe('held');
    expect(await said(holder(lock, ''))).toBe(refused(first.pid));
    expect(statSync(lock).mode & 0o777).toBe(0o600);
    await endProcess(first, 'SIGKILL');
    expect(await said(holder(lock, ''))).toBe('held');
  });

  test('a program that outlives it keeps the lock, and a program that it starts may take it', async () => {
    const lock = join(temporaryFolder(), 'lock');
    const nested = `const { holdLock } = require('${LOCK}'); holdLock('licensing setup', new Date(), '${lock}').then(() => console.log('held, too'))`;
    const run = `const { runLine } = require('${MACHINE}'); const pass = heldLock();`;
    const first = holder(
      lock,
      `${run} runLine([process.execPath, '-e', ${JSON.stringify(nested)}], { pass }).then(({ stdout }) => {
        console.log(stdout); runLine(['sh', '-c', 'echo $$ > ${lock}.pid; exec sleep 60'], { pass }); });`,
    );
    expect(await said(first)).toBe('held');
    expect(await said(first)).toBe('held, too');
    const left = await eventually(() => {
      expect(readFileSync(`${lock}.pid`, 'utf8')).toMatch(/\n$/);
      return Number(readFileSync(`${lock}.pid`, 'utf8'));
    });
    await endProcess(first, 'SIGKILL');
    expect(await said(holder(lock, ''))).toBe(
      refused(first.pid, 'It was ended, but a program that it started is still running. '),
    );
    process.kill(left, 'SIGKILL');
    await eventually(async () => expect(await said(holder(lock, ''))).toBe('held'));
  });
});

(IS_ROOT ? describe : describe.skip)('the groups that a user must join to read a file', () => {
  const make = (folder: [number, number, number], file: [number, number, number]) => {
    const top = temporaryFolder();
    chmodSync(top, 0o755);
    const [inner, path] = [join(top, 'site'), join(top, 'site/configuration.php')];
    mkdirSync(inner);
    writeFileSync(path, '');
    for (const [one, [mode, uid, gid]] of [
      [inner, folder],
      [path, file],
    ] as const) {
      chownSync(one, uid, gid);
      chmodSync(one, mode);
    }
    return { inner, path };
  };

  it.each<[string, [number, number, number], [number, number, number], number[]]>([
    ['nobody: everybody may', [0o755, 0, 0], [0o644, 0, 0], []],
    ["the file's group", [0o755, 0, 0], [0o640, 0, 3001], [3001]],
    ["a folder's group and the file's", [0o710, 0, 3002], [0o640, 0, 3001], [3002, 3001]],
    ['nobody: a group of theirs may', [0o750, 0, 3003], [0o440, 0, 3003], []],
    ['nobody: it is theirs', [0o700, 3000, 0], [0o400, 3000, 0], []],
  ])('%s', (_name, folder, file, groups) => {
    const { path } = make(folder, file);
    expect(groupsToJoin(path, 3000, [3003])).toEqual({ groups, closed: undefined });
  });

  it('names a file or folder that only its owner or root’s group can read', () => {
    const folder = make([0o700, 0, 3001], [0o644, 0, 0]);
    expect(groupsToJoin(folder.path, 3000, []).closed).toEqual({ path: folder.inner, isFolder: true });
    const file = make([0o755, 0, 0], [0o640, 0, 0]);
    expect(groupsToJoin(file.path, undefined, []).closed).toEqual({ path: file.path, isFolder: false });
  });

  it('checks the folders of a link, and of its target', () => {
    const [site, elsewhere] = [make([0o755, 0, 0], [0o644, 0, 0]), make([0o750, 0, 3001], [0o640, 0, 3002])];
    rmSync(site.path);
    symlinkSync(elsewhere.path, site.path);
    expect(groupsToJoin(site.path, 3000, [])).toEqual({ groups: [3001, 3002], closed: undefined });
    chmodSync(elsewhere.inner, 0o700);
    expect(groupsToJoin(site.path, 3000, []).closed).toEqual({ path: elsewhere.inner, isFolder: true });
  });
});

(IS_ROOT ? test : test.skip)(
  'root changes rights of existing files, and of nothing that the service’s user links to',
  async () => {
    const folder = temporaryFolder();
    const [file, link] = [join(folder, 'file'), join(folder, 'link')];
    writeFileSync(file, '', { mode: 0o640 });
    symlinkSync(file, link);
    await giveRights(link, { mode: 0o600, owner: [3000, 3001] });
    expect(statSync(file)).toMatchObject({ mode: 0o100600, uid: 3000, gid: 3001 });
    lchownSync(link, 3000, 3000);
    await expect(giveRights(link, { mode: 0o666, owner: [3002, 3002] })).rejects.toThrow(
      /is a link of another user/,
    );
    expect(statSync(file)).toMatchObject({ mode: 0o100600, uid: 3000 });
  },
);

test('patterns match the files that nginx and Apache include', () => {
  const folder = temporaryFolder();
  for (const name of ['b.conf', 'a.conf', '.hidden.conf', 'a.conf.bak', 'x+y.conf'])
    writeFileSync(join(folder, name), '');
  mkdirSync(join(folder, 'sub.conf'));
  writeFileSync(join(folder, 'sub.conf/c'), '');
  const names = (pattern: string) =>
    filesOf(join(folder, pattern)).map((path) => path.slice(folder.length + 1));
  expect(names('*.conf')).toEqual(['a.conf', 'b.conf', 'x+y.conf']);
  expect(names('[ab].con?')).toEqual(['a.conf', 'b.conf']);
  expect(names('*/c')).toEqual(['sub.conf/c']);
  expect(names('a.conf')).toEqual(['a.conf']);
  expect(names('none/*')).toEqual([]);
});

test('the journal keeps each change once, with the state before', async () => {
  const state = join(temporaryFolder(), 'state');
  const link = (to: string, before: string | null): JournalEntry => ({
    kind: 'link',
    path: '/opt/program',
    to,
    before,
  });
  await appendToJournal(link('/opt/a', null), state);
  await appendToJournal({ kind: 'file', path: '/etc/x', text: 'one' }, state);
  await appendToJournal(link('/opt/b', '/opt/a'), state);
  await appendToJournal({ kind: 'file', path: '/etc/x', text: 'two' }, state);
  expect(readJournal(state).made).toEqual([
    link('/opt/b', null),
    { kind: 'file', path: '/etc/x', text: 'two' },
  ]);
  expect(lastWrittenText('/etc/x', state)).toBe('two');
  // The instance licensing@1 ran before setup.
  for (const names of [['licensing@2'], ['licensing@3'], ['licensing@2']])
    await appendToJournal({ kind: 'instances', names }, state);
  expect(readJournal(state).made.at(-1)).toEqual({
    kind: 'instances',
    names: ['licensing@2', 'licensing@3'],
  });
  expect(statSync(join(state, 'setup.json')).mode & 0o777).toBe(0o600);
  for (const made of readJournal(state).made) await removeFromJournal(made, state);
  expect(existsSync(join(state, 'setup.json'))).toBe(false);
});

describe('the tables, saved and read back', () => {
  const PASSWORD = `it's "a" \\ p@ss:word#/?%`;
  let root: Connection;
  beforeAll(async () => {
    root = await createConnection({ socketPath: process.env.TEST_MARIADB_SOCKET as string, user: 'root' });
  });
  afterAll(() => root.end());

  test.each(['mysql', 'sqlite'])(
    '%s: as they were, without a table that only a newer version has',
    async (kind) => {
      const folder = temporaryFolder();
      const database = (await createMariaDbDatabase()).split('/').at(-1)!;
      await root.query(`DROP USER IF EXISTS backup@'%'`);
      await root.query(`CREATE USER backup@'%' IDENTIFIED BY ${root.escape(PASSWORD)}`);
      await root.query(`GRANT ALL ON ${database}.* TO backup@'%'`);
      const server = `mysql://backup:${encodeURIComponent(PASSWORD)}@127.0.0.1:${process.env.TEST_MARIADB_PORT}/${database}`;
      const settings = {
        LICENSING_ENV_FILE: '/dev/null',
        LICENSING_DATABASE_URL: kind === 'mysql' ? server : `sqlite:${join(folder, 'data.sqlite')}`,
        LICENSING_TABLE_PREFIX: 'jos_',
      };
      const config = readConfig(settings);
      const db = await openMigrated(settings);
      await db.schema.createTable('jos_other', (one) => void one.increments());
      const plan = await givePlan(db);
      await giveLicense(db, plan);
      const extent = await readHighestIds(db);
      const file = await backUpTables(db, config, join(folder, 'backups'), 'before');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const before = await ownTables(db);
      const license = await db('jos_licensing_licenses').select();

      await giveLicense(db, plan);
      await giveLicense(db, plan);
      await db.schema.createTable('jos_licensing_notes', (one) => void one.increments());
      expect(await countRowsSince(db, extent)).toMatchObject({ licenses: 2, orders: 0 });
      await db.destroy();

      await readBackTables(config, file);
      const again = openDatabase(config.database, config.tablePrefix, 2);
      try {
        expect(await ownTables(again)).toEqual(before);
        expect(await again('jos_licensing_licenses').select()).toEqual(license);
        expect(await countRowsSince(again, extent)).toMatchObject({ licenses: 0 });
        expect(await again.schema.hasTable('jos_other')).toBe(true);
      } finally {
        await again.destroy();
      }
    },
  );

  test('sqlite: an administrator’s link to another disk stays, and a link of the service’s user is not followed', async () => {
    const folder = temporaryFolder();
    const [file, link] = [join(folder, 'disk.sqlite'), join(folder, 'data.sqlite')];
    const settings = { LICENSING_ENV_FILE: '/dev/null', LICENSING_DATABASE_URL: `sqlite:${link}` };
    const config = readConfig(settings);
    const db = await openMigrated(settings);
    const backup = await backUpTables(db, config, join(folder, 'backups'), 'before');
    await givePlan(db);
    await db.destroy();
    renameSync(link, file);
    symlinkSync(file, link);
    await readBackTables(config, backup);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(file)).toEqual(readFileSync(backup));
    if (!IS_ROOT) return;
    writeFileSync(file, 'of root');
    lchownSync(link, 3000, 3000);
    await expect(readBackTables(config, backup)).rejects.toThrow(/is a link of another user/);
    expect(readFileSync(file, 'utf8')).toBe('of root');
  });

  test('an incomplete file drops nothing', async () => {
    const database = (await createMariaDbDatabase()).split('/').at(-1)!;
    const settings = {
      LICENSING_ENV_FILE: '/dev/null',
      LICENSING_DATABASE_URL: `mysql://root@localhost/${database}?socketPath=${process.env.TEST_MARIADB_SOCKET}`,
    };
    const config = readConfig(settings);
    const db = await openMigrated(settings);
    try {
      const folder = temporaryFolder();
      const file = await backUpTables(db, config, folder, 'whole');
      const cut = join(folder, 'cut.sql');
      writeFileSync(cut, readFileSync(file, 'utf8').slice(0, -500));
      const before = await ownTables(db);
      await expect(readBackTables(config, cut)).rejects.toThrow(/is not complete\. Nothing was changed/);
      expect(await ownTables(db)).toEqual(before);
    } finally {
      await db.destroy();
    }
  });
});
