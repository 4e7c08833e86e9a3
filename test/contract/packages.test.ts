import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ZipFile } from 'yazl';
import type { Settings } from '../../src/settings/config';
import { versionOrder } from '../../src/licensing/versions';
import { lockProduct } from '../../src/store/catalogue';
import { insertRelease } from '../../src/store/releases';
import { operator, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { endProcess, eventually, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { BACKENDS, ONE_BACKEND, PREFIX, rows, startTestService, type TestService } from '../support/service';
import { processEnvironment, startLicensing, startProgram } from '../support/service-process';

interface ReleaseRow {
  id: number;
  version: string;
  state: string;
  published_at: string | null;
  changelog: string;
  file_name: string;
  file_size: number;
  sha256: string;
  sha384: string;
  sha512: string;
}

interface Shop extends Operator {
  service: TestService;
  settings: Settings;
  releases(): Promise<ReleaseRow[]>;
  /** Returns the names in the packages folder. */
  files(): string[];
}

/** Opens a migrated database with product 42, a service on it, and the operator's command. */
async function openShop(settings: Settings): Promise<Shop> {
  const folder = temporaryFolder();
  const all = {
    LICENSING_DATABASE_URL: `sqlite:${join(folder, 'shop.sqlite')}`,
    LICENSING_PACKAGES_DIR: join(folder, 'packages'),
    ...settings,
  };
  const service = await startTestService(all);
  const shop = operator(all);
  await shop.json(['product', 'add', '--id', '42', '--name', 'Example Shöp (Pro)']);
  mkdirSync(service.packagesDir, { recursive: true });
  return {
    ...shop,
    service,
    settings: all,
    releases: () => rows<ReleaseRow>(service.db, 'releases'),
    files: () => readdirSync(service.packagesDir),
  };
}

function publishing(version: string, ...options: string[]): string[] {
  return ['release', 'publish', '--product', '42', '--version', version, ...options];
}

const digest = (algorithm: string, bytes: Buffer) => createHash(algorithm).update(bytes).digest('hex');

describe.each(BACKENDS)('publishing, on %s', (_name, settings) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop(await settings());
  });
  afterAll(() => shop.service.stop());

  const offered = async () => {
    // The service caches an update check for a second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { body } = (await request(shop.service.url).get(`${PREFIX}/updates/42`)) as {
      body: { data: Record<string, unknown> };
    };
    return body.data;
  };

  it('stores the bytes unchanged, with their size and hashes', async () => {
    const { path, bytes } = await makePackage({}, 3_000_000);
    const published = await shop.json(publishing('1.0.0', '--file', path, '--changelog', 'Faster\nSmaller'));
    const sha256 = digest('sha256', bytes);
    const facts = {
      version: '1.0.0',
      state: 'published',
      changelog: 'Faster\nSmaller',
      file_name: 'example-shop-pro-1.0.0.zip',
      file_size: bytes.length,
      sha256,
      sha384: digest('sha384', bytes),
      sha512: digest('sha512', bytes),
    };
    expect(published).toMatchObject({ product_id: 42, ...facts });
    expect(await shop.releases()).toMatchObject([{ id: published.id, ...facts }]);
    expect(shop.files()).toEqual([`${sha256}.zip`]);
    expect(readFileSync(join(shop.service.packagesDir, `${sha256}.zip`)).equals(bytes)).toBe(true);
    // nginx sends the file, and runs as another user.
    expect(statSync(join(shop.service.packagesDir, `${sha256}.zip`)).mode & 0o444).toBe(0o444);
    expect(await offered()).toMatchObject({
      update_available: true,
      version: '1.0.0',
      changelog: 'Faster\nSmaller',
      file_size: bytes.length,
    });
  });

  it('refuses a version that is published already, and keeps its package', async () => {
    const before = await shop.releases();
    const { path } = await makePackage();
    const { code, stdout, stderr } = await shop.run(publishing('1.0.0', '--file', path));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/Version 1\.0\.0 is already published\. .* Publish the next version\./);
    expect(await shop.releases()).toEqual(before);
    expect(shop.files()).toHaveLength(1);
  });

  it('refuses a version that is the same to Joomla', async () => {
    const { path } = await makePackage();
    await shop.json(publishing('2.0-rc1', '--file', path));
    const before = await shop.releases();
    for (const same of ['2.0.rc.1', '2.0RC1', '2-0-rc-01', '02.0rc1']) {
      const { code, stderr } = await shop.run(publishing(same, '--file', path));
      expect([same, code]).toEqual([same, 1]);
      expect(stderr).toContain(`Version ${same} is the same to Joomla as version 2.0-rc1`);
    }
    expect(await shop.releases()).toEqual(before);
  });

  it('stores a draft without offering it, replaces it, and publishes it with its changelog', async () => {
    const [first, second] = [await makePackage(), await makePackage()];
    await shop.json(publishing('3.0', '--file', first.path, '--draft', '--changelog', 'Soon'));
    expect(await offered()).toMatchObject({ version: '1.0.0' });
    await shop.json(publishing('3.0', '--file', second.path, '--draft'));
    expect((await shop.releases()).at(-1)).toMatchObject({
      state: 'draft',
      published_at: null,
      sha256: digest('sha256', second.bytes),
    });
    const published = await shop.json(publishing('3.0', '--date', '2026-01-31'));
    expect(published).toMatchObject({
      state: 'published',
      changelog: 'Soon',
      published_at: '2026-01-31T00:00:00Z',
      sha256: digest('sha256', second.bytes),
    });
    expect((await shop.releases()).at(-1)).toMatchObject({
      state: 'published',
      published_at: '2026-01-31 00:00:00',
    });
    expect(await offered()).toMatchObject({ version: '3.0', date: '2026-01-31T00:00:00Z' });
  });

  it('withdraws a version for good', async () => {
    const text = await shop.run(['release', 'withdraw', '--product', '42', '--version', '3.0']);
    expect(text).toEqual({ code: 0, stdout: 'Version 3.0 is withdrawn.\n', stderr: '' });
    expect(await offered()).toMatchObject({ version: '1.0.0' });
    const again = await shop.run(['release', 'withdraw', '--product', '42', '--version', '3.0']);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is already withdrawn') });
    const { path } = await makePackage();
    const { code, stderr } = await shop.run(publishing('3.0', '--file', path));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('was withdrawn') });
    expect((await shop.releases()).at(-1)).toMatchObject({ version: '3.0', state: 'withdrawn' });
  });

  it('refuses a package whose manifest says another version, which Joomla would offer for ever', async () => {
    const before = await shop.releases();
    const pack = async (version: string) =>
      (
        await makePackage({
          'pkg_example.xml': `<extension type="package"><packagename>example</packagename><version>${version}</version></extension>`,
        })
      ).path;
    const { code, stdout, stderr } = await shop.run(publishing('3.0.1', '--file', await pack('3.0.0')));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error: The manifest in the package \(pkg_example\.xml\) says version "3\.0\.0", and not "3\.0\.1"\..* Nothing was published\..* --version 3\.0\.0\.\n$/,
    );
    const draft = await shop.run(publishing('3.0.1', '--draft', '--file', await pack('')));
    expect(draft.stderr).toContain('says version "", and not "3.0.1"');
    expect(await shop.releases()).toEqual(before);
    expect((await shop.run(publishing('3 0', '--file', await pack('3.0')))).stderr).toContain(
      'is not a version',
    );
    await shop.json(publishing('3.0.0', '--draft', '--file', await pack('3.0.0')));
    const later = await shop.run(publishing('3.0.0', '--date', '2099-01-01'));
    expect(later).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^note: the date is in the future/),
    });
    // Joomla reads both spellings as the same version.
    await shop.json(publishing('3.0.1-rc1', '--file', await pack('3.0.1.rc.1')));
    await shop.json(publishing('3.0.1', '--file', await pack('3.0.1')));
    for (const version of ['3.0.0', '3.0.1-rc1', '3.0.1'])
      await shop.json(['release', 'withdraw', '--product', '42', '--version', version]);
  });

  describe('of a product for Joomla', () => {
    beforeAll(() => shop.json(['product', 'edit', '42', '--element', 'pkg_example']));
    afterAll(() => shop.json(['product', 'edit', '42', '--element', '']));

    const packageOf = (name: string, more = '') => ({
      'pkg.xml': `<extension type="package"><packagename>${name}</packagename><version>3.2.0</version>${more}</extension>`,
    });
    const withdraw = () => shop.json(['release', 'withdraw', '--product', '42', '--version', '3.2.0']);

    it.each([
      ['no XML', {}],
      ['no manifest', { 'readme.xml': '<readme/>' }],
    ])('refuses a package with %s, which Joomla cannot install', async (_what, entries) => {
      const before = [await shop.releases(), shop.files()];
      const { path } = await makePackage(entries);
      for (const options of [[], ['--draft']]) {
        const { code, stdout, stderr } = await shop.run(publishing('3.2.0', '--file', path, ...options));
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toMatch(
          /^error: The package has no Joomla manifest .*"pkg_example"\. Nothing was published\.\nPack it again .*; or, .*: licensing product edit 42 --element ''\n$/,
        );
      }
      expect([await shop.releases(), shop.files()]).toEqual(before);
    });

    it('refuses a package with more XML than is looked through for the manifest', async () => {
      const before = [await shop.releases(), shop.files()];
      const large = `<a>${' '.repeat(4_000_000)}</a>`;
      const { path } = await makePackage({
        ...packageOf('example'),
        ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((i) => [`${i}.xml`, large])),
      });
      const { code, stderr } = await shop.run(publishing('3.2.0', '--file', path));
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^error: The package cannot be examined: the XML files at its top .* more than 20 MB, .*\. Nothing was published\.\nPack it again /,
      );
      expect([await shop.releases(), shop.files()]).toEqual(before);
    });

    it.each([
      ['package', packageOf('other'), 'pkg_other'],
      [
        'package of another version',
        { 'pkg.xml': packageOf('other')['pkg.xml'].replace('3.2', '1.0') },
        'pkg_other',
      ],
      [
        'component',
        {
          'a.xml': '<extension type="component"><name>COM_EXAMPLE</name><version>3.2.0</version></extension>',
        },
        'com_example',
      ],
      [
        'module',
        {
          'a.xml':
            '<extension type="module"><version>3.2.0</version><files><filename module="mod_example">e.php</filename></files></extension>',
        },
        'mod_example',
      ],
      [
        'plugin',
        {
          'a.xml':
            '<extension type="plugin"><version>3.2.0</version><files><filename plugin="Example">e.php</filename></files></extension>',
        },
        'example',
      ],
    ])("refuses another extension's: a %s", async (_what, entries, element) => {
      const before = [await shop.releases(), shop.files()];
      const { path } = await makePackage(entries);
      const { code, stdout, stderr } = await shop.run(publishing('3.2.0', '--file', path));
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        new RegExp(
          `^error: The manifest in the package \\(.*\\.xml\\) is for "${element}", .*"pkg_example".* Nothing was published\\.\nPublish the package of "pkg_example"; or, .*: licensing product edit 42 --element ${element}\n$`,
        ),
      );
      expect([await shop.releases(), shop.files()]).toEqual(before);
    });

    it('says what customers will miss', async () => {
      const publish = async (entries: Record<string, string>) => {
        const { path } = await makePackage(entries);
        const { code, stderr } = await shop.run(publishing('3.2.0', '--draft', '--file', path));
        expect(code).toBe(0);
        return stderr;
      };
      const complete =
        '<dlid prefix="dlid=" suffix=""/><updateservers><server>https://shop.example/u.xml</server></updateservers>';
      expect(await publish(packageOf('Example', complete))).toBe('');
      expect(await publish(packageOf('example'))).toMatch(
        /^note: the manifest in the package \(pkg\.xml\) has no <dlid>: .* It has no <updateservers>: .*\n$/,
      );
      await withdraw();
    });
  });

  it.each([
    ['v4.0.0', /^note: Joomla does not know "v", and sorts v4\.0\.0 below every alpha\. Write/],
    ['4.0.0-stable', /^note: Joomla does not know "stable"/],
    ['4.0.0-Beta1', /^note: Joomla does not know "Beta".*in lower case/],
    ['4.0.0-build7', /^note: Joomla reads "build" as "b", because it begins with that/],
    [
      '4.0.0-beta2',
      /^note: 4\.0\.0-beta2 is a pre-release \(beta\): the API offers it only while no stable release is published, and the update XML offers it to sites whose minimum stability is "beta" or lower\.\n$/,
    ],
    ['4.0.0-pl1', /^$/],
    ['4.0.0', /^$/],
  ])('says what Joomla makes of the version %s', async (version, note) => {
    const { path } = await makePackage();
    const { code, stderr } = await shop.run(publishing(version, '--draft', '--file', path));
    expect(code).toBe(0);
    expect(stderr).toMatch(note);
    await shop.json(['release', 'withdraw', '--product', '42', '--version', version]);
  });

  it('refuses an unknown product, a missing draft and an unknown version', async () => {
    const before = await shop.releases();
    const { path } = await makePackage();
    const withdraw = ['release', 'withdraw', '--product', '42', '--version'];
    const utf16 = join(temporaryFolder(), 'CHANGES.txt');
    writeFileSync(utf16, 'Faster', 'utf16le');
    for (const [args, reason] of [
      [
        ['release', 'publish', '--product', '43', '--version', '1', '--file', path],
        'There is no product 43.',
      ],
      [publishing('9.9'), 'There is no draft of version 9.9.'],
      [publishing('9..9', '--file', path), '"9..9" is not a version'],
      [
        publishing('9.9', '--file', path, '--changelog-file', '/nonexistent'),
        'The changelog /nonexistent cannot be read: there is no such file.',
      ],
      [publishing('9.9', '--file', path, '--changelog-file', utf16), 'The changelog is not UTF-8 text.'],
      [[...withdraw, '9.9'], 'Product 42 has no version 9.9.'],
      [[...withdraw, '９.9'], 'Product 42 has no version ９.9.'],
    ] as const) {
      const { code, stdout, stderr } = await shop.run([...args]);
      expect({ args, code, stdout, stderr }).toEqual({
        args,
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(reason),
      });
    }
    expect(await shop.releases()).toEqual(before);
  });

  it('by two operators at the same moment succeeds for one of them', async () => {
    const packages = await Promise.all([makePackage(), makePackage(), makePackage()]);
    const outcomes = await Promise.all(
      packages.map(({ path }) => shop.run(publishing('4.0', '--file', path), { ownProcess: true })),
    );
    expect(outcomes.map(({ code }) => code).sort()).toEqual([0, 1, 1]);
    for (const { code, stderr } of outcomes)
      if (code === 1) expect(stderr).toMatch(/is already published|published version 4\.0 meanwhile/);
    const winner = packages[outcomes.findIndex(({ code }) => code === 0)]!;
    expect((await shop.releases()).filter(({ version }) => version === '4.0')).toMatchObject([
      { state: 'published', sha256: digest('sha256', winner.bytes) },
    ]);
  });
});

describe.each(ONE_BACKEND)('publishing, whatever the database, on %s', (_name, settings) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop(await settings());
  });
  afterAll(() => shop.service.stop());

  it('accepts a file, even through a link, and nothing that may be endless', async () => {
    const before = [await shop.releases(), shop.files()];
    const folder = temporaryFolder();
    const pipe = join(folder, 'pipe.zip');
    execFileSync('mkfifo', [pipe]);
    symlinkSync('/dev/zero', join(folder, 'zero.zip'));
    for (const [file, what] of [
      [pipe, 'a pipe'],
      [join(folder, 'zero.zip'), 'a device'],
      [folder, 'a folder'],
    ] as const) {
      // If the command copied one, this limit would stop it at a megabyte.
      const { ended } = startProgram(
        'sh',
        ['-c', 'ulimit -f 1000; exec timeout 60 "$0" "$@"', process.execPath, CLI].concat(
          publishing('3.9', '--file', file),
        ),
        processEnvironment(shop.settings),
      );
      expect(await ended).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `error: ${file} is ${what}, not a zip file.\n`,
      });
    }
    expect([await shop.releases(), shop.files()]).toEqual(before);
    symlinkSync((await makePackage()).path, join(folder, 'link.zip'));
    await shop.json(publishing('3.9', '--file', join(folder, 'link.zip'), '--draft'));
    await shop.json(['release', 'withdraw', '--product', '42', '--version', '3.9']);
  });

  it('that is killed while it copies leaves nothing published, and the next attempt succeeds', async () => {
    const before = await shop.releases();
    const { path, bytes } = await makePackage({}, 80_000_000);
    const sha256 = digest('sha256', bytes);
    const publisher = startLicensing(publishing('5.0', '--file', path), shop.settings);
    const half = () => shop.files().find((name) => name.startsWith('.incoming-'));
    await eventually(() => {
      const name = half();
      if (name === undefined || statSync(join(shop.service.packagesDir, name)).size === 0)
        throw new Error('It has not begun to copy.');
    });
    await endProcess(publisher.process, 'SIGKILL');
    expect(await shop.releases()).toEqual(before);
    expect(shop.files()).not.toContain(`${sha256}.zip`);
    // On a busy machine the copy may be complete by now. It still has the name of an unpublished one.
    const left = half()!;
    expect(left).toBeDefined();

    // Another process may still be writing a recent copy, so only an old one is deleted.
    await shop.json(publishing('5.0', '--file', path));
    expect((await shop.releases()).at(-1)).toMatchObject({ version: '5.0', state: 'published', sha256 });
    expect(half()).toBe(left);
    const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
    utimesSync(join(shop.service.packagesDir, left), old, old);
    await shop.json(publishing('5.1', '--file', (await makePackage()).path));
    expect(half()).toBeUndefined();
  });
});

describe.each(BACKENDS)('a draft, on %s', (_name, settings) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop(await settings());
  });
  afterAll(() => shop.service.stop());

  it('whose package is missing, truncated or changed is not published until it is restored', async () => {
    const { path, bytes } = await makePackage();
    await shop.json(publishing('1.0', '--file', path, '--draft'));
    const kept = join(shop.service.packagesDir, shop.files()[0]!);
    const changed = Buffer.from(bytes);
    changed[99]! ^= 1;
    for (const spoil of [
      () => writeFileSync(kept, changed),
      () => writeFileSync(kept, bytes.subarray(0, 99)),
      () => rmSync(kept),
    ]) {
      spoil();
      const { code, stdout, stderr } = await shop.run(publishing('1.0'));
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /^error: The package of the draft of version 1\.0 is no longer in .*--file\.\n$/,
      );
      expect(await shop.releases()).toMatchObject([{ state: 'draft', published_at: null }]);
    }
    await shop.json(publishing('1.0', '--file', path));
    expect(await shop.releases()).toMatchObject([{ state: 'published' }]);
    expect(readFileSync(kept).equals(bytes)).toBe(true);
  });
});

describe('publishing beside another connection, on MariaDB', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop(await BACKENDS.at(-1)![1]());
  });
  afterAll(() => shop.service.stop());

  it.each([
    [
      'package',
      /^error: The package \S+\/package\.zip cannot be read: the user \S+ may not read it\. Give that user /,
    ],
    [
      'folder of packages',
      /^error: The package was not stored, and nothing was published: the user \S+ may not write to the folder \S+\. Run /,
    ],
  ])('says who may not use the %s, and what to do', async (what, words) => {
    const { path } = await makePackage();
    chmodSync(path, what === 'package' ? 0 : 0o644);
    chmodSync(dirname(path), 0o755);
    const packages = temporaryFolder();
    chmodSync(packages, what === 'package' ? 0o777 : 0o555);
    const asNobody =
      process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
    const { ended } = startProgram(
      '/usr/bin/env',
      [...asNobody, process.execPath, CLI, ...publishing('8.0', '--file', path)],
      processEnvironment({ ...shop.settings, LICENSING_PACKAGES_DIR: packages }),
    );
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(words) });
    expect(await shop.releases()).toEqual([]);
  });

  /** Starts a transaction that has inserted the version, so that no other one can record it. */
  async function holdVersion(version: string) {
    const trx = await shop.service.db.transaction();
    await insertRelease(trx, {
      productId: 42,
      version,
      versionOrder: versionOrder(version),
      state: 'published',
      changelog: '',
      publishedAt: new Date(),
      fileName: 'x.zip',
      fileSize: 1,
      sha256: '0'.repeat(64),
      sha384: '0'.repeat(96),
      sha512: '0'.repeat(128),
      createdAt: new Date(),
    });
    return trx;
  }
  const stored = (sha256: string) =>
    eventually(() => {
      if (!shop.files().includes(`${sha256}.zip`)) throw new Error('The package is not stored.');
    });

  it('that is killed between the package and its record leaves nothing published', async () => {
    const { path, bytes } = await makePackage();
    const trx = await holdVersion('1.0');
    const publisher = startLicensing(publishing('1.0', '--file', path), shop.settings);
    await stored(digest('sha256', bytes));
    await endProcess(publisher.process, 'SIGKILL');
    // The killed process's INSERT still waits for the lock, until the session's lock wait timeout.
    await eventually(async () => {
      const [running] = await shop.service.db.raw<[object[]]>(
        "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'insert into `licensing_releases`%' AND id <> CONNECTION_ID()",
      );
      if (running?.length !== 0) throw new Error('It is still waiting.');
    });
    await trx.rollback();
    expect(await shop.releases()).toEqual([]);
    await shop.json(publishing('1.0', '--file', path));
    expect(await shop.releases()).toMatchObject([{ version: '1.0', state: 'published' }]);
  });

  it('is refused when another publisher is a moment faster', async () => {
    const { path, bytes } = await makePackage();
    const trx = await holdVersion('2.0');
    const publisher = startLicensing(publishing('2.0', '--file', path), shop.settings);
    await stored(digest('sha256', bytes));
    await trx.commit();
    const { code, stdout, stderr } = await publisher.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe('error: Another operator published version 2.0 meanwhile.\n');
    expect((await shop.releases()).at(-1)).toMatchObject({ version: '2.0', sha256: '0'.repeat(64) });
  });
});

describe('two spellings that Joomla reads as one version', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop(await BACKENDS.at(-1)![1]());
  });
  afterAll(() => shop.service.stop());

  it('are published once if both arrive at the same moment, and the other is refused with a message', async () => {
    const packages = [await makePackage(), await makePackage()];
    // Hold the product until both have checked the version and copied their package.
    const trx = await shop.service.db.transaction();
    await lockProduct(trx, 42);
    const publishers = ['3.0-rc1', '3.0.rc.1'].map((version, i) =>
      startLicensing(publishing(version, '--file', packages[i]!.path), shop.settings),
    );
    await eventually(() => expect(shop.files()).toHaveLength(2));
    await trx.rollback();
    const ended = await Promise.all(publishers.map((publisher) => publisher.ended));
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(ended.find(({ code }) => code === 1)?.stderr).toMatch(
      /^error: Version 3\.0[.-]rc\.?1 is the same to Joomla as version 3\.0[.-]rc\.?1, which already exists\.$/m,
    );
    expect(await shop.releases()).toHaveLength(1);
  });
});

describe('a file that is no good package is refused, and nothing of it is kept:', () => {
  let shop: Shop;
  let folder: string;
  beforeAll(async () => {
    shop = await openShop({});
    folder = temporaryFolder();
  });
  afterAll(() => shop.service.stop());

  async function refusal(file: string): Promise<string> {
    const { code, stdout, stderr } = await shop.run(publishing('1.0', '--file', file));
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: [^\n]*\n$/),
    });
    expect(await shop.releases()).toEqual([]);
    expect(shop.files()).toEqual([]);
    return stderr;
  }

  const text = { name: 'a/manifest.xml', content: '<extension>'.repeat(500) };
  const good = zip([text, { name: 'b.php', content: '<?php' }]);

  it.each<[string, Buffer, RegExp]>([
    ['its second half is missing', good.subarray(0, good.length / 2), /not a readable zip file/],
    ['its last byte is missing', good.subarray(0, -1), /not a readable zip file/],
    ['its first 100 bytes are missing', good.subarray(100), /not a readable zip file/],
    [
      'a checksum is wrong',
      zip([text, { ...text, name: 'b', crc: 1 }]),
      /"b" in it does not match its checksum/,
    ],
    [
      'a checksum is wrong, uncompressed',
      zip([{ ...text, method: 0, crc: 1 }]),
      /does not match its checksum/,
    ],
    [
      'a byte of a compressed file is damaged',
      damaged(good),
      /not a readable zip file|does not match its checksum/,
    ],
    ['an entry is encrypted', zip([{ ...text, flags: 1 }]), /"a\/manifest\.xml" in it is encrypted/],
    [
      'an entry is compressed in a way Joomla does not know',
      zip([{ ...text, method: 12 }]),
      /compression method/,
    ],
    ['an entry is said to be larger than it is', zip([{ ...text, size: 6_000 }]), /not a readable zip file/],
    ['an entry is said to be smaller than it is', zip([{ ...text, size: 5_000 }]), /not a readable zip file/],
    [
      'it would unpack to more than any extension has',
      zip(['a', 'b'].map((name) => ({ name, content: 'x', size: 1.5 * 2 ** 30 }))),
      /not a readable zip file: unpacked, it would have more than 2 GiB/,
    ],
    [
      'its entries share their bytes',
      zip(
        Array.from({ length: 50 }, (_, i) => ({
          ...{ name: `${i}.bin`, content: '0'.repeat(100_000) },
          ...(i === 0 ? {} : { at: 0 }),
        })),
      ),
      /not a readable zip file: its entries claim more bytes than it has/,
    ],
    ['it has no entries', zip([]), /The package is an empty zip file/],
    ['it is empty', Buffer.alloc(0), /not a readable zip file/],
    ['it is a text', Buffer.from('<!doctype html><title>404</title>'), /not a readable zip file/],
    ['it is chance', randomBytes(100_000), /not a readable zip file/],
    ...[
      '../evil.php',
      'a/../../evil.php',
      '..',
      '/etc/evil',
      'C:/evil.php',
      'a\\..\\evil.php',
      '..\\evil.php',
    ].map((name): [string, Buffer, RegExp] => [
      `an entry would be unpacked at ${name}`,
      zip([text, { name, content: 'x' }]),
      /invalid characters in fileName|absolute path|invalid relative path/,
    ]),
  ])('%s', async (_what, bytes, reason) => {
    const path = join(folder, 'package.zip');
    writeFileSync(path, bytes);
    expect(await refusal(path)).toMatch(reason);
  });

  it('there is no such file', async () => {
    expect(await refusal(join(folder, 'none.zip'))).toBe(
      `error: There is no file ${join(folder, 'none.zip')}.\n`,
    );
  });

  it('it is a folder', async () => {
    expect(await refusal(folder)).toBe(`error: ${folder} is a folder, not a zip file.\n`);
  });

  it('(a good file that was made the same way is accepted)', async () => {
    const path = join(folder, 'good.zip');
    writeFileSync(path, good);
    await shop.json(publishing('1.0', '--file', path));
    expect(shop.files()).toEqual([`${digest('sha256', good)}.zip`]);
  });
});

describe('a large package', () => {
  it('of 200 MB is not held in memory', async () => {
    const shop = await openShop({});
    const folder = temporaryFolder();
    const large = join(folder, 'large.zip');
    const archive = new ZipFile();
    const chunk = randomBytes(1_000_000);
    archive.addReadStream(Readable.from(Array.from({ length: 200 }, () => chunk)), 'large.bin', {
      compress: false,
    });
    archive.end();
    await pipeline(archive.outputStream, createWriteStream(large));
    expect(statSync(large).size).toBeGreaterThan(200_000_000);

    const hook = join(folder, 'peak.cjs');
    writeFileSync(
      hook,
      `process.on('exit', () => require('node:fs').writeFileSync(process.env.PEAK_FILE, String(process.resourceUsage().maxRSS)));`,
    );
    const peak = async (version: string, file: string) => {
      const PEAK_FILE = join(folder, `${version}.peak`);
      await shop.json(publishing(version, '--file', file), {
        env: { NODE_OPTIONS: `--require ${hook}`, PEAK_FILE },
      });
      // maxRSS is in kilobytes on every platform.
      return Number(readFileSync(PEAK_FILE, 'utf8')) / 1_000;
    };
    const small = await peak('1.0', (await makePackage()).path);
    const grown = (await peak('2.0', large)) - small;
    expect(small).toBeGreaterThan(10);
    expect(grown).toBeLessThan(100);
    await shop.service.stop();
  });
});

interface EntryOptions {
  name: string;
  content: string;
  /** 8 if deflated, 0 if stored. */
  method?: number;
  flags?: number;
  /** False values in place of the right ones. */
  crc?: number;
  size?: number;
  /** The offset of an earlier entry whose bytes this one shares. */
  at?: number;
}

/** Builds a zip by hand, with any fault (PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16). */
function zip(entries: EntryOptions[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, method = 8, flags = 0, ...claims } of entries) {
    const data = method === 8 ? deflateRawSync(content) : Buffer.from(content);
    const { crc = crc32(content), size = Buffer.byteLength(content) } = claims;
    const common = numbers(
      [20, 2],
      [flags, 2],
      [method, 2],
      [0, 2],
      [0x21, 2],
      [crc, 4],
      [data.length, 4],
      [size, 4],
    );
    const names = numbers([Buffer.byteLength(name), 2], [0, 2]);
    const whole = Buffer.concat([numbers([0x04034b50, 4]), common, names, Buffer.from(name), data]);
    const file = claims.at === undefined ? whole : Buffer.alloc(0);
    const rest = numbers([0, 2], [0, 2], [0, 2], [0, 4], [claims.at ?? at, 4]);
    directory.push(numbers([0x02014b50, 4], [20, 2]), common, names, rest, Buffer.from(name));
    files.push(file);
    at += file.length;
  }
  const central = Buffer.concat(directory);
  const counts = numbers([0, 2], [0, 2], [entries.length, 2], [entries.length, 2]);
  const end = numbers([central.length, 4], [at, 4], [0, 2]);
  return Buffer.concat([...files, central, numbers([0x06054b50, 4]), counts, end]);
}

/** Encodes little-endian numbers, each in the given number of bytes. */
function numbers(...fields: [value: number, bytes: number][]): Buffer {
  return Buffer.concat(
    fields.map(([value, bytes]) => {
      const field = Buffer.alloc(bytes);
      field.writeUIntLE(value, 0, bytes);
      return field;
    }),
  );
}

function damaged(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[60]! ^= 0xff;
  return copy;
}
