import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { operator, addPlan, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { eventually, startProcess, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { processEnvironment } from '../support/service-process';

let folder: string;
let shop: Operator;
const inFolder = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = realpathSync(temporaryFolder());
  writeFileSync(
    inFolder('.env'),
    'LICENSING_DATABASE_URL=sqlite:w.sqlite\nLICENSING_PACKAGES_DIR=packages\n',
  );
  symlinkSync(inFolder('w.sqlite'), inFolder('link.sqlite'));
  mkdirSync(inFolder('real'));
  symlinkSync(folder, inFolder('real/folder'));
  shop = operator({ LICENSING_ENV_FILE: inFolder('.env') });
  await shop.run(['migrate']);
  await shop.json(['product', 'add', '--id', '42', '--name', 'Example', '--element', 'pkg_example']);
  await addPlan(shop, '42', 'Single', 'domain', '1');
  await shop.json(['license', 'issue', '--plan', '1', '--customer', 'jane@example.com']);
});

/** The commands that write a file to a given path, with their arguments. */
const WRITERS: [string, string[]][] = [
  ['export', ['export', '--out']],
  ['customer export', ['customer', 'export', 'jane@example.com', '--out']],
  ['update-xml write', 'update-xml write --product 42 --base-url https://shop.example --out'.split(' ')],
];

describe.each(WRITERS)('"%s"', (name, command) => {
  const write = (file: string) => shop.run([...command, file], { cwd: folder });

  it.each([
    ['w.sqlite', 'the database of this installation'],
    ['./w.sqlite-wal', 'part of the database of this installation'],
    ['w.sqlite-shm', 'part of the database of this installation'],
    ['link.sqlite', 'the database of this installation'],
    ['real/folder/w.sqlite-shm', 'part of the database of this installation'],
    ['.env', 'the settings file of this installation'],
  ])('does not overwrite %s', async (file, what) => {
    const settings = readFileSync(inFolder('.env'));
    const { code, stdout, stderr } = await write(file);
    expect({ code, stdout, stderr: stderr.replace(folder, '.') }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^error: \\S*${file.replace('./', '')} was not written: it is ${what}\\. Name another file\\.\n$`,
        ),
      ),
    });
    expect(readFileSync(inFolder('.env')).equals(settings)).toBe(true);
    expect(await shop.json(['license', 'list'])).toMatchObject([{ id: 1, customer: 'jane@example.com' }]);
  });

  it('does not overwrite a file with other contents, and explains how to continue', async () => {
    const file = inFolder(`${name} notes.txt`);
    for (const text of ['of yesterday', '<html/>', '{"type":"footer"}', ' ', '<updatesite/>']) {
      writeFileSync(file, text);
      const { code, stdout, stderr } = await write(file);
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /notes\.txt was not written: it contains something other than an? .*, which would be lost\. Name another file, or remove this one first\.\n$/,
        ),
      });
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
  });

  it('replaces an empty file, and its own', async () => {
    const file = inFolder(`${name}.out`);
    writeFileSync(file, '');
    for (let i = 0; i < 2; i++) expect(await write(file)).toMatchObject({ code: 0 });
  });

  it('does not overwrite the files of the other commands', async () => {
    for (const [other, otherCommand] of WRITERS.filter((one) => one[0] !== name)) {
      const file = inFolder(`${name} after ${other}`);
      expect(await shop.run([...otherCommand, file])).toMatchObject({ code: 0 });
      expect(await write(file)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/something other than/),
      });
    }
  });
});

it('an update XML may begin with a comment, and be edited by hand', async () => {
  const file = inFolder('edited.xml');
  writeFileSync(
    file,
    `\ufeff<?xml version="1.0"?>\n<!-- <b> -->\n<!-- ${'x'.repeat(5_000)} -->\n<updates\n></updates>`,
  );
  expect(await shop.run([...WRITERS[2]![1], file])).toMatchObject({ code: 0 });
});

it('a version is not published if its update XML would overwrite something else', async () => {
  const { path } = await makePackage({
    'pkg.xml':
      '<extension type="package"><packagename>example</packagename><version>1.0.0</version></extension>',
  });
  await shop.json([...WRITERS[2]![1], inFolder('u.xml')]);
  const publish = `release publish --product 42 --version 1.0.0 --file ${path} --write-xml`.split(' ');
  for (const file of ['w.sqlite', '.env'])
    expect(await shop.run([...publish, inFolder(file)])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: \S+ was not written: it is .*\. Name another file\.\n$/),
    });
  expect(await shop.json(['release', 'list', '--product', '42'])).toEqual([]);
});

it("nginx's configuration overwrites none of the installation's files", async () => {
  const conf = temporaryFolder();
  const env = join(conf, 'upstream.conf.new');
  writeFileSync(env, 'LICENSING_DATABASE_URL=sqlite:licensing.conf\n');
  writeFileSync(join(conf, 'upstream.conf'), 'mine');
  const here = operator({ LICENSING_ENV_FILE: env });
  const nginx = () => here.run(['nginx', '--server-name', 'shop.example', '--out', conf]);
  expect(await nginx()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the settings file of this installation'),
  });
  expect(readFileSync(env, 'utf8')).toMatch(/^LICENSING_DATABASE_URL/);
  writeFileSync(join(conf, 'upstream.conf'), '');
});

it('settings are not written into the database', async () => {
  const both = join(temporaryFolder(), 'both');
  const env = { LICENSING_ENV_FILE: both, LICENSING_DATABASE_URL: `sqlite:${both}` };
  const { code, stderr } = await operator(env).run(['init']);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/was not written: it is the database/),
  });
});

it('an interrupted update XML leaves nothing in the public folder', async () => {
  const place = temporaryFolder();
  // Simulates a slow disk.
  const slow = join(temporaryFolder(), 'slow.js');
  writeFileSync(
    slow,
    "require('node:fs/promises').rename = () => new Promise((done) => setTimeout(done, 60_000));",
  );
  const child = startProcess(process.execPath, [CLI, ...WRITERS[2]![1], join(place, 'update.xml')], {
    env: processEnvironment({ LICENSING_ENV_FILE: inFolder('.env') }, { NODE_OPTIONS: `--require ${slow}` }),
  });
  const ended = once(child, 'exit');
  await eventually(() => expect(readdirSync(place)).toHaveLength(1));
  child.kill('SIGINT');
  expect(await ended).toEqual([null, 'SIGINT']);
  expect(readdirSync(place)).toEqual([]);
  expect(existsSync(join(place, 'update.xml'))).toBe(false);
});

/** A user other than the one who runs the tests. */
const SOMEBODY = 65_534;

// Only root can make a link that belongs to another user.
(process.getuid?.() === 0 ? describe : describe.skip)('in a folder that every user can write to', () => {
  let shared: string;
  beforeEach(() => {
    shared = realpathSync(temporaryFolder());
    chmodSync(shared, 0o1777);
  });

  /** Plants another user's link to a file that only root can read. */
  function plant(name: string, content = ''): { link: string; secret: string } {
    const secret = join(temporaryFolder(), 'secret');
    writeFileSync(secret, content, { mode: 0o600 });
    const link = join(shared, name);
    symlinkSync(secret, link);
    lchownSync(link, SOMEBODY, SOMEBODY);
    return { link, secret };
  }

  it.each(WRITERS)(`"%s" does not follow another user's link`, async (_name, command) => {
    for (const file of ['out', 'folder/out']) {
      const { link, secret } = plant(file.split('/')[0]!, '');
      if (file !== 'out') {
        rmSync(link);
        symlinkSync(join(secret, '..'), link);
        lchownSync(link, SOMEBODY, SOMEBODY);
      }
      const before = readdirSync(join(secret, '..'));
      expect(await shop.run([...command, join(shared, file)])).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^error: \S+ was not written: \S+ is a link of another user\. Name a file in a folder of your own\.\n$/,
        ),
      });
      expect(readFileSync(secret, 'utf8')).toBe('');
      expect(readdirSync(join(secret, '..'))).toEqual(before);
    }
  });

  it.each([
    ['nginx', ['nginx', '--server-name', 'shop.example', '--out'], 'upstream.conf.new'],
    ['php', ['php', '--namespace', 'Acme\\Licensing', '--out'], 'Client.php'],
    ['shop plugin', ['shop', 'plugin', 'hikashop', '--out'], ''],
    ['joomla-plugin', ['joomla-plugin', '--product', '42', '--vendor', 'Acme', '--out'], ''],
  ])('"%s" writes through no such link, neither to a folder nor to a file', async (_name, command, name) => {
    const { link } = plant('folder');
    rmSync(link);
    const elsewhere = temporaryFolder();
    symlinkSync(elsewhere, link);
    lchownSync(link, SOMEBODY, SOMEBODY);
    expect(await shop.run([...command, link])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is a link of another user'),
    });
    expect(readdirSync(elsewhere)).toEqual([]);
    if (name === '') return;
    // The existing file stays, and the new one is written next to it.
    writeFileSync(join(shared, 'upstream.conf'), 'mine');
    const { secret } = plant(name);
    expect(await shop.run([...command, shared])).toMatchObject({ code: 1 });
    expect(readFileSync(secret, 'utf8')).toBe('');
  });

  it('writes into no pipe of another user, who would read it', async () => {
    const pipe = join(shared, 'export');
    execFileSync('mkfifo', [pipe]);
    chownSync(pipe, SOMEBODY, SOMEBODY);
    expect(await shop.run(['export', '--out', pipe])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it is a pipe of another user'),
    });
  });

  it("follows the user's own link, and one in a folder of its owner", async () => {
    const real = join(temporaryFolder(), 'real');
    const link = join(shared, 'mine');
    writeFileSync(real, '');
    symlinkSync(real, link);
    expect(await shop.run(['export', '--out', link])).toMatchObject({ code: 0 });
    expect(readFileSync(real, 'utf8')).toContain('"type"');
    const theirs = temporaryFolder();
    const site = temporaryFolder();
    symlinkSync(site, join(theirs, 'current'));
    lchownSync(join(theirs, 'current'), SOMEBODY, SOMEBODY);
    chownSync(theirs, SOMEBODY, SOMEBODY);
    chmodSync(theirs, 0o755);
    expect(await shop.run(['export', '--out', join(theirs, 'current/out')])).toMatchObject({ code: 0 });
    expect(readdirSync(site)).toEqual(['out']);
  });
});
