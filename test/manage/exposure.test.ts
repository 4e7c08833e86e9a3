import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { lastDownloads } from '../../migrations/license-downloads';
import { insertAccesses, type Access } from '../../src/store/access-log';
import { openDatabase, table, type Db } from '../../src/store/engine/database';
import { migrate } from '../../src/setup/database';
import { recordEarlierDownloads } from '../../src/store/licenses/license-downloads';
import type { Settings } from '../../src/settings/config';
import { NOW, startManaged, type Managed } from '../support/manage';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { DATABASE_KINDS, giveLicense, givePlan, newPlace, PREFIX, testConfig } from '../support/service';

/** Tests who runs a version with a hole (docs/security-updates.md), and the last downloads that show it. */

const DAY_MS = 24 * 60 * 60 * 1000;
const before = (days: number) => new Date(NOW.getTime() - days * DAY_MS);

const downloads = (db: Db) => db(table(db, 'license_downloads')).orderBy(['license_id', 'product_id']);

const access = (licenseId: number | null, version: string | null, at: Date, more: Partial<Access> = {}) => ({
  ...({
    at,
    endpoint: 'download',
    outcome: 'ok',
    licenseId,
    keyId: null,
    keyHint: null,
    productId: 42,
  } as const),
  ...{ version, identifier: null, ip: null, userAgent: null, times: 1, lastAt: null },
  ...more,
});

test('of several downloads, the last one counts, in the order of ids', () => {
  expect(
    lastDownloads([
      [2, 42, '1.0', '2026-01-02 00:00:00'],
      [1, 43, '1.0', '2026-01-01 00:00:00'],
      [2, 42, '0.9', '2026-01-01 00:00:00'],
      [1, 42, '1.1', '2026-01-01 00:00:00'],
      [2, 42, '1.2', '2026-01-02 00:00:00'],
    ]),
  ).toEqual([
    [1, 42, '1.1', '2026-01-01 00:00:00'],
    [1, 43, '1.0', '2026-01-01 00:00:00'],
    [2, 42, '1.2', '2026-01-02 00:00:00'],
  ]);
});

describe.each(DATABASE_KINDS)('the last download of each licence, on %s', (kind) => {
  let service: Managed;
  let place: Settings;
  let plan: Awaited<ReturnType<typeof givePlan>>;
  beforeAll(async () => {
    place = await newPlace(kind);
    service = await startManaged(place);
    plan = await givePlan(service.db);
    await giveRelease(service, { version: '1.8.0', date: before(100) });
    await giveRelease(service, { version: '2.0.0', date: before(2) });
  });
  afterAll(() => service.stop());

  const download = (key: string, query: object = {}) =>
    request(service.url)
      .get(`${PREFIX}/downloads/42`)
      .query({ dlid: key, ...query });

  test('is kept, shown, exported, imported and erased with its customer', async () => {
    const { db } = service;
    const { id, key } = await giveLicense(db, plan, { customer: 'jo@example.com' });
    const stopped = await giveLicense(db, plan);
    await service.write.ok(`POST /licenses/${stopped.id}/suspend`, {});
    await download(key).expect(200);
    await download(key, { check: 1 }).expect(200);
    await download(stopped.key).expect(403);
    const last = { license_id: id, product_id: 42, version: '2.0.0', at: '2026-11-24 12:00:00' };
    await eventually(async () => expect(await downloads(db)).toEqual([last]));
    service.clock.now = new Date(NOW.getTime() + 60_000);
    await download(key, { version: '1.8.0' }).expect(200);
    const later = { ...last, version: '1.8.0', at: '2026-11-24 12:01:00' };
    await eventually(async () => expect(await downloads(db)).toEqual([later]));

    const shown = await service.read.ok('GET /customers/jo@example.com');
    expect(shown.downloads).toEqual([{ ...later, at: '2026-11-24T12:01:00Z' }]);
    // The import takes it from the accesses.
    const file = join(temporaryFolder(), 'all.jsonl');
    expect(await operator(place).run(['export', '--out', file])).toMatchObject({ code: 0 });
    const other = await newPlace(kind);
    expect(await operator(other).run(['migrate'])).toMatchObject({ code: 0 });
    expect(await operator(other).run(['import', file, '--packages', service.packagesDir])).toMatchObject({
      code: 0,
    });
    const { database, tablePrefix } = testConfig(other);
    const imported = openDatabase(database, tablePrefix, 1);
    expect(await downloads(imported)).toEqual([later]);
    await imported.destroy();

    await service.write.ok('DELETE /customers/jo@example.com', undefined, 204);
    expect(await downloads(db)).toEqual([]);
  });
});

describe.each(DATABASE_KINDS)('an upgrade on %s', (kind) => {
  test('takes the last downloads from the access log, again after it was killed, and those of an old instance', async () => {
    const settings = await newPlace(kind);
    const { database, tablePrefix } = testConfig(settings);
    const db = openDatabase(database, tablePrefix, 2);
    await migrate(db, database);
    const plan = await givePlan(db);
    const [one, two] = [await giveLicense(db, plan), await giveLicense(db, plan)];
    await insertAccesses(db, [
      access(one.id, '1.0.0', before(30)),
      access(one.id, '1.1.0', before(20), { endpoint: 'check' }),
      access(one.id, '1.1.0', before(10), { outcome: 'LICENSE_EXPIRED' }),
      { ...access(two.id, '1.2.0', before(9)), times: 2, lastAt: before(3) },
      access(two.id, '1.1.0', before(4)),
      access(two.id, '7.0.0', before(5), { productId: 43 }),
      access(null, '1.0.0', before(1)),
      access(one.id, null, before(1)),
    ]);
    // Restore the tables of the previous version.
    const undone = () => db(table(db, 'migrations')).where({ name: '006_license_downloads' }).delete();
    await db.schema.dropTable(table(db, 'license_downloads'));
    await undone();
    const seen: number[][] = [];
    expect(await migrate(db, database, (...progress) => seen.push(progress))).toEqual([
      '006_license_downloads',
    ]);
    expect(seen).toEqual([[8, 8]]);
    const filled = [
      [one.id, 42, '1.0.0', '2026-10-25 12:00:00'],
      [two.id, 42, '1.2.0', '2026-11-21 12:00:00'],
      [two.id, 43, '7.0.0', '2026-11-19 12:00:00'],
    ];
    const rows = async () =>
      (await downloads(db)).map((row) => [row.license_id, row.product_id, row.version, row.at]);
    expect(await rows()).toEqual(filled);
    // Leave the table as a killed migration does: partly filled, and not recorded.
    await undone();
    await db(table(db, 'license_downloads')).where({ license_id: one.id }).delete();
    await migrate(db, database);
    expect(await rows()).toEqual(filled);

    // An instance of the earlier version writes the log only.
    await insertAccesses(db, [access(one.id, '1.3.0', new Date())]);
    await recordEarlierDownloads(db, new Date(Date.now() + 60_000));
    expect(await rows()).toEqual(filled);
    await recordEarlierDownloads(db, new Date(Date.now() - 60_000));
    expect((await rows())[0]).toEqual([one.id, 42, '1.3.0', expect.any(String)]);
    await db.destroy();
  });
});
