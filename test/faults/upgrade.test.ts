import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../src/settings/config';
import { keyDigest } from '../../src/licensing/core/keys';
import type { Db } from '../../src/store/engine/database';
import { sequence } from '../support/mysql/program';
import { findLosses, giveGoods, isHealthy, startLoad, tally, type Goods } from '../support/load';
import { NEXT_MIGRATION, NEXT_VERSION } from '../support/next-version';
import { operator } from '../support/operator';
import { endProcess, hasEnded, temporaryFolder } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import { PREFIX } from '../support/service';
import { openMigrated, startLicensing, startServiceProcess } from '../support/service-process';

/** The upgrade of a shop in use to a version with another migration, while an instance of the present one serves. */

const LICENCES = 40_000;
/** The distance between licences with calls, so that each piece of the migration has some. */
const CALLED = 40;

let mariadb: MariaDb;
let settings: Settings;
let db: Db;
let goods: Goods;

const keyOf = (id: number) => `A1B2C3D4-E5F6A7B8-C9D0E1F2-${id.toString(16).toUpperCase().padStart(8, '0')}`;

beforeAll(async () => {
  mariadb = await startMariaDb();
  const packagesDir = temporaryFolder();
  settings = {
    LICENSING_DATABASE_URL: await mariadb.createDatabase(),
    LICENSING_PACKAGES_DIR: packagesDir,
  };
  db = await openMigrated(settings);
  goods = await giveGoods(db, packagesDir);
  const from = 1_000;
  const seq = sequence(from + 1, from + LICENCES);
  await db.raw(
    `INSERT INTO licensing_licenses (id, plan_id, status, activation_limit, main_key_id, created_at)
     SELECT seq, 1, 'active', 0, seq, '2026-01-01' FROM ${seq}`,
  );
  const hint = `LPAD(HEX(seq), 8, '0')`;
  await db.raw(
    `INSERT INTO licensing_license_keys (id, license_id, key_digest, key_hint, created_at)
     SELECT seq, seq, SHA2(CONCAT('A1B2C3D4-E5F6A7B8-C9D0E1F2-', ${hint}), 256), ${hint}, '2026-01-01' FROM ${seq}`,
  );
  const called = Array.from({ length: LICENCES / CALLED }, (_, i) => from + 1 + i * CALLED);
  goods.licenses = called.map((id) => ({ ...goods.licenses[0]!, id, key: keyOf(id) }));
  expect(await db('licensing_license_keys').where({ key_digest: keyDigest(keyOf(called[7]!)) })).toHaveLength(
    1,
  );
}, 120_000);

afterAll(async () => {
  await db.destroy();
  await endProcess(mariadb.process);
});

const startUpgrade = () => startLicensing(['migrate', '--json'], settings, NEXT_VERSION);

async function countFilled(): Promise<number> {
  if (!(await db.schema.hasColumn('licensing_licenses', 'noted_at'))) return 0;
  const [{ n }] = (await db('licensing_licenses').whereNotNull('noted_at').count({ n: '*' })) as [
    { n: number },
  ];
  return n;
}

/** Kills an upgrade. @returns the number of filled licences */
async function upgradeKilledAfter(filled: number): Promise<number> {
  const running = startUpgrade();
  while ((await countFilled()) < filled) {
    if (hasEnded(running.process)) throw new Error(JSON.stringify(await running.ended));
    await sleep(5);
  }
  await endProcess(running.process, 'SIGKILL');
  return countFilled();
}

test('no call is lost or refused, although the migration is killed twice, and run by two at once in the end', async () => {
  const service = await startServiceProcess(settings);
  const load = startLoad(service.url, goods);
  for (const filled of [2_000, 10_000]) {
    const done = await upgradeKilledAfter(filled);
    expect(done).toBeGreaterThanOrEqual(filled);
    expect(done).toBeLessThan(LICENCES);
  }
  const ended = await Promise.all([startUpgrade().ended, startUpgrade().ended]);
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(Array(2).fill({ code: 0, stderr: '' }));
  expect(ended.map(({ stdout }) => (JSON.parse(stdout) as { run: string[] }).run).sort()).toEqual([
    [],
    [NEXT_MIGRATION],
  ]);
  const during = load.calls.length;
  while (load.calls.length < during + 100) await sleep(5);
  await load.stop();
  expect(await service.stop()).toBe(0);
  expect(tally(load.calls.filter((call) => !isHealthy(call)))).toEqual({});
  expect(await findLosses(db, load.book)).toEqual([]);
}, 240_000);

test('each licence was filled once', async () => {
  const [{ n }] = (await db('licensing_licenses').count({ n: '*' })) as [{ n: number }];
  expect(await countFilled()).toBe(n);
  expect(await db('licensing_notes').count({ n: '*' })).toEqual([{ n }]);
});

test('the later version serves, and the earlier one refuses the database in words', async () => {
  const service = await startServiceProcess(settings, NEXT_VERSION);
  const answer = await fetch(`${service.url}${PREFIX}/licenses/validate`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ license_key: goods.licenses[0]!.key }),
  });
  expect(await answer.json()).toMatchObject({ data: { valid: true } });
  expect(await service.stop()).toBe(0);
  const words = new RegExp(`migrated by a newer version .*${NEXT_MIGRATION}`);
  await expect(startServiceProcess(settings)).rejects.toThrow(words);
  for (const args of [['migrate'], ['migrate', '--status'], ['product', 'list']]) {
    const { code, stderr } = await operator(settings).run(args);
    expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
  }
}, 120_000);
