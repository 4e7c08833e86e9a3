import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import request from 'supertest';
import { underFault, unhealthy } from '../support/faults';
import { isUnavailable, openStand, tally, type Call, type Stand } from '../support/load';
import { operator, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, PREFIX, rows } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** The packages folder, and the disk under it and under the database. */

let stand: Stand;
let url: string;
let command: Operator;

beforeAll(async () => {
  stand = await openStand();
  ({ url } = await stand.start());
  command = operator(stand.settings);
}, 60_000);

afterAll(() => stand.close(), 60_000);

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
    // One that was being sent when its file was cut is cut too, and not left to wait.
    const cut = load.calls.filter(({ kind, failure }) => kind === 'download' && failure?.startsWith('cut'));
    expect(cut.length).toBeLessThanOrEqual(what === 'file was cut off' ? 24 : 0);
    expect(tally(unhealthy(load.calls).filter((call) => !isMissing(call) && !cut.includes(call)))).toEqual(
      {},
    );
  }, 60_000);
});

/** A disk of so many MB of its own; undefined where this user may not mount one. */
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
    const publish = (file: string) =>
      command.run(['release', 'publish', '--product', '42', '--version', '3.0.0', '--file', file, '--json'], {
        env,
      });
    const before = await rows(stand.db, 'releases');

    const { code, stderr } = await publish((await makePackage({}, 2_000_000)).path);
    expect(code).toBe(1);
    expect(stderr).toMatch(/disk is full.*nothing was published/i);
    expect(readdirSync(packages)).toEqual([]);
    expect(await rows(stand.db, 'releases')).toEqual(before);

    expect(await publish((await makePackage({}, 100_000)).path)).toMatchObject({ code: 0 });
    expect(readdirSync(packages)).toHaveLength(1);
    // Other tests download the latest version from another folder.
    await command.json(['release', 'withdraw', '--product', '42', '--version', '3.0.0'], { env });
  }, 60_000);

  test('under the embedded database: what has to be written is refused, downloads go on, nothing is lost', async () => {
    const disk = mountDisk(8);
    if (disk === undefined) return;
    const settings = {
      LICENSING_DATABASE_URL: `sqlite:${join(disk.folder, 'test.sqlite')}`,
      LICENSING_PACKAGES_DIR: stand.packagesDir,
    };
    const db = await openMigrated(settings);
    const { key } = await giveLicense(db, await givePlan(db, { limit: 0 }));
    const release = (await rows(stand.db, 'releases')).find(({ version }) => version === '2.1.0');
    await db('licensing_releases').insert({ ...release, id: 1 });
    const service = await startServiceProcess(settings);
    const post = (path: string, identifier?: string) =>
      request(service.url).post(`${PREFIX}/licenses/${path}`).send({ license_key: key, identifier });
    const download = () => request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}`);
    let sent = 0;
    let acknowledged = 0;
    const validate = async () => {
      const { status, text } = await post('validate');
      sent++;
      if (status === 200) acknowledged++;
      else
        expect({ status, text }).toEqual({ status: 503, text: expect.stringMatching(/SERVICE_UNAVAILABLE/) });
      return status;
    };
    await post('activate', 'first.example').expect(200);
    expect(await validate()).toBe(200);

    disk.fill();
    const statuses: number[] = [];
    for (let i = 0; i < 200 && statuses.at(-1) !== 503; i++) statuses.push(await validate());
    expect(statuses.at(-1)).toBe(503);
    const activated: string[] = [];
    for (let i = 0; i < 20; i++)
      if ((await post('activate', `site-${i}.example`)).status === 200) activated.push(`site-${i}.example`);
    await download().expect(200);
    await post('activate', 'first.example').expect(200);

    disk.clear();
    expect(await validate()).toBe(200);
    await post('activate', 'last.example').expect(200);
    await service.stop();
    const [license] = await rows<{ check_count: number; activations_used: number }>(db, 'licenses');
    const activations = await rows<{ identifier: string }>(db, 'activations');
    expect(license!.check_count).toBeGreaterThanOrEqual(acknowledged);
    expect(license!.check_count).toBeLessThanOrEqual(sent);
    expect(license!.activations_used).toBe(activations.length);
    expect(activations.map(({ identifier }) => identifier)).toEqual(
      expect.arrayContaining(['first.example', ...activated, 'last.example']),
    );
    await db.destroy();
  }, 60_000);

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
        end: disk.clear,
      });

      expect(tally(unhealthy(load.calls).filter((call) => !isUnavailable(call)))).toEqual({});
      expect(existsSync(join(disk.folder, 'ballast'))).toBe(false);
    } finally {
      await own.close();
    }
  }, 120_000);
});
