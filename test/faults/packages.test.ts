import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addProduct } from '../../src/licensing/catalogue';
import { underFault, unhealthy } from '../support/faults';
import { giveGoods, isUnavailable, openStand, tally, type Call, type Stand } from '../support/load';
import { pagesClient } from '../pages/support/session';
import { operator, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { PREFIX, rows } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** The packages folder, and the disk under it and under the database. */

let stand: Stand;
let url: string;
let command: Operator;

beforeAll(async () => {
  stand = await openStand();
  ({ url } = await stand.start());
  command = operator(stand.settings);
});

afterAll(() => stand.close());

const isMissing = ({ status, code }: Call) => status === 404 && code === 'The package file is missing';
const downloads = (calls: Call[]) => calls.filter(({ kind }) => kind === 'download');

describe.each<[string, (paths: { folder: string; aside: string; file: string }) => [() => void, () => void]]>(
  [
    [
      'folder is missing',
      ({ folder, aside }) => [() => renameSync(folder, aside), () => renameSync(aside, folder)],
    ],
    [
      'folder is no folder',
      ({ folder, aside }) => [
        () => {
          renameSync(folder, aside);
          writeFileSync(folder, '');
        },
        () => {
          rmSync(folder);
          renameSync(aside, folder);
        },
      ],
    ],
    [
      'file cannot be read',
      ({ file, aside }) => [
        () => {
          renameSync(file, aside);
          mkdirSync(file);
        },
        () => {
          rmSync(file, { recursive: true });
          renameSync(aside, file);
        },
      ],
    ],
    [
      'file was cut off',
      ({ file, aside }) => [
        () => {
          execFileSync('cp', [file, aside]);
          truncateSync(file, 10_000);
        },
        () => renameSync(aside, file),
      ],
    ],
  ],
)("the packages' %s", (what, make) => {
  test('downloads are refused as missing, everything else goes on, and so do they afterwards', async () => {
    const goods = await stand.newGoods();
    const { packagesDir: folder } = stand;
    const file = join(folder, `${goods.sha256}.zip`);
    const [begin, end] = make({ folder, file, aside: `${folder}.aside` });
    const { meanwhile, load } = await underFault({
      url,
      goods,
      db: stand.db,
      begin,
      lasts: 2,
      end,
      recovers: 1,
    });

    expect(downloads(meanwhile).length).toBeGreaterThan(0);
    expect(tally(downloads(meanwhile).filter((call) => !isMissing(call)))).toEqual({});
    // A package that was being sent when its file was cut must end too, so that its client does not wait.
    const cut = load.calls.filter(({ kind, failure }) => kind === 'download' && failure?.startsWith('cut'));
    expect(cut.length).toBeLessThanOrEqual(what === 'file was cut off' ? 24 : 0);
    expect(tally(unhealthy(load.calls).filter((call) => !isMissing(call) && !cut.includes(call)))).toEqual(
      {},
    );
  });
});

/** Mounts a separate disk of this size in MB; undefined if this user may not mount one. */
function mountDisk(megabytes: number): { folder: string; fill: () => void; clear: () => void } | undefined {
  const folder = temporaryFolder('licensing-disk');
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  if (status !== 0) {
    console.log('Left out: this user may not mount a small disk to fill.');
    return undefined;
  }
  mounted.push(folder);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: () => void spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k'], { stdio: 'ignore' }),
    clear: () => rmSync(ballast, { force: true }),
  };
}

const mounted: string[] = [];
afterAll(() => {
  for (const folder of mounted) spawnSync('umount', ['-l', folder]);
});

describe('a full disk', () => {
  test('while a package is published: refused in words, nothing is half published, the next attempt succeeds', async () => {
    const disk = mountDisk(1);
    if (disk === undefined) return;
    const packages = join(disk.folder, 'packages');
    const env = { LICENSING_PACKAGES_DIR: packages };
    // Use a separate product, because the load downloads the other's latest version from another folder.
    const { id } = await addProduct(stand.db, { name: 'Large' }, new Date());
    const publish = (file: string) =>
      command.run(['release', 'publish', '--product', `${id}`, '--version', '3.0.0', '--file', file], {
        env,
      });
    const [large, small] = [await makePackage({}, 2_000_000), await makePackage({}, 100_000)];
    const before = await rows(stand.db, 'releases');

    const { load } = await underFault({
      url,
      goods: await stand.newGoods(),
      db: stand.db,
      async begin() {
        const { code, stderr } = await publish(large.path);
        expect(code).toBe(1);
        expect(stderr).toMatch(/disk is full.*nothing was published/i);
      },
      lasts: 1,
      async end() {
        expect(readdirSync(packages)).toEqual([]);
        expect(await rows(stand.db, 'releases')).toEqual(before);
        expect(await publish(small.path)).toMatchObject({ code: 0 });
        expect(readdirSync(packages)).toHaveLength(1);
      },
      recovers: 0,
    });
    expect(tally(unhealthy(load.calls))).toEqual({});
  });

  test('while a package is uploaded: 507 in words over the API and on the page', async () => {
    const disk = mountDisk(1);
    if (disk === undefined) return;
    const packages = join(disk.folder, 'packages');
    const service = await stand.start({
      LICENSING_PACKAGES_DIR: packages,
      LICENSING_PUBLIC_URL: 'https://shop.example',
    });
    const { id } = await addProduct(stand.db, { name: 'Uploaded' }, new Date());
    const token = await command.json<{ token: string }>([
      'token',
      'add',
      '--name',
      'upload',
      '--scope',
      'write',
    ]);
    const { bytes } = await makePackage({}, 2_000_000);
    const before = await rows(stand.db, 'releases');
    const answer = await fetch(`${service.url}${PREFIX}/manage/products/${id}/releases?version=3.0.0`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token.token}`, 'Content-Type': 'application/zip' },
      body: new Uint8Array(bytes),
    });
    expect([answer.status, await answer.json()]).toEqual([
      507,
      {
        error: {
          code: 'INSUFFICIENT_STORAGE',
          message: `The disk is full: the package was not stored in ${packages}, and nothing was published. Make room there, and try again.`,
        },
      },
    ]);
    for (const [language, words] of [
      ['en', 'Make room in the folder of the packages, and upload the package again.'],
      ['de', 'Schaffen Sie Platz im Ordner der Pakete, und laden Sie das Paket noch einmal hoch.'],
    ] as const) {
      const clock = { now: new Date() };
      const operator = await pagesClient({ url: service.url, db: stand.db, clock }, { language });
      const form = new FormData();
      form.set('version', '3.0.0');
      form.set('file', new Blob([new Uint8Array(bytes)]), 'package.zip');
      const page = await operator.post(`/products/${id}/releases/new?once=full-${language}`, form);
      expect([page.status, page.html]).toEqual([507, expect.stringContaining(words)]);
    }
    expect(readdirSync(packages)).toEqual([]);
    expect(await rows(stand.db, 'releases')).toEqual(before);
  });

  test('under the embedded database: what has to be written is refused, downloads go on, nothing is lost', async () => {
    const disk = mountDisk(8);
    if (disk === undefined) return;
    const settings = {
      LICENSING_DATABASE_URL: `sqlite:${join(disk.folder, 'test.sqlite')}`,
      LICENSING_PACKAGES_DIR: stand.packagesDir,
    };
    const db = await openMigrated(settings);
    const goods = await giveGoods(db, stand.packagesDir);
    const service = await startServiceProcess(settings);
    const { load, meanwhile } = await underFault({
      url: service.url,
      goods,
      db,
      begin: disk.fill,
      lasts: 5,
      end: disk.clear,
    });

    expect(meanwhile.some((call) => call.kind === 'validate' && isUnavailable(call))).toBe(true);
    expect(meanwhile.some((call) => call.kind === 'activate' && isUnavailable(call))).toBe(true);
    expect(tally(unhealthy(load.calls).filter((call) => !isUnavailable(call)))).toEqual({});
    const reads = meanwhile.filter(({ kind }) => kind === 'download' || kind === 'repeat');
    expect(reads.length).toBeGreaterThan(0);
    expect(tally(unhealthy(reads))).toEqual({});
    await service.stop();
    await db.destroy();
  });

  test('under MariaDB: refused while there is no room, back when there is, nothing lost', async () => {
    const disk = mountDisk(512);
    if (disk === undefined) return;
    const data = join(disk.folder, 'data');
    execFileSync('cp', ['-r', process.env.TEST_MARIADB_DATA as string, data]);
    const own = await openStand({}, { data });
    try {
      const { url: at } = await own.start();
      const { load } = await underFault({
        url: at,
        goods: await own.newGoods(),
        db: own.db,
        begin: disk.fill,
        lasts: 8,
        async end() {
          disk.clear();
          // MariaDB aborts if it has no space to roll back; on a seller's machine systemd restarts it.
          const { exitCode, signalCode } = own.mariadb.process;
          if (exitCode !== null || signalCode !== null) await own.mariadb.start();
        },
      });

      expect(tally(unhealthy(load.calls).filter((call) => !isUnavailable(call)))).toEqual({});
      expect(load.calls.some(isUnavailable)).toBe(true);
    } finally {
      await own.close();
    }
  }, 120_000);
});
