import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { type Settings } from '../../src/settings/config';
import { createAccessLog, type AccessLog } from '../../src/licensing/access-log';
import { createClientHistory } from '../../src/licensing/client-history';
import { issueLicenses } from '../../src/licensing/issue';
import { createLedger } from '../../src/licensing/core/ledger';
import { countLicensesByProduct } from '../../src/licensing/lists';
import { changeState, renew } from '../../src/licensing/lifecycle';
import {
  countAllLicenses,
  countLicensesByPlan,
  readStatistics,
  aggregateNewRows,
  type DayStatistics,
} from '../../src/figures/statistics';
import { startHousekeeping } from '../../src/runner/housekeeping';
import { openDatabase, table, type Db } from '../../src/store/engine/database';
import { findLicense, type License } from '../../src/store/licenses/licenses';
import { acquireOrRenewLease, releaseLease, type Lease } from '../../src/store/leases';
import { exportRecords } from '../../src/transfer/export';
import { importRecords } from '../../src/transfer/import';
import { anyCsv } from '../../src/transfer/moving/any-csv';
import { moveLicensesIn } from '../../src/transfer/moving/run';
import { eventually, temporaryFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  rows,
  startTestService,
  testConfig,
} from '../support/service';
import { openMigrated } from '../support/service-process';

const DATABASES: [string, () => Promise<Settings>][] = [
  ['MariaDB', async () => ({ LICENSING_DATABASE_URL: await createMariaDbDatabase() })],
  ['SQLite', () => Promise.resolve({ LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/test.sqlite` })],
];

const silent = pino({ level: 'silent' });
const LEASES = ['a', 'b'].map((holder): Lease => ({ name: 'housekeeping', holder }));
const DAYS = ['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23'];
const RANGE = { from: DAYS[0]!, to: DAYS.at(-1)! };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe.each(DATABASES)('statistics on %s', (_name, createSettings) => {
  let settings: Settings;
  let db: Db;
  let second: Db;
  const clock = { now: new Date() };
  const now = () => clock.now;
  let accessLog: AccessLog;

  beforeEach(async () => {
    settings = await createSettings();
    db = await openMigrated(settings);
    second = another(settings);
    clock.now = new Date('2026-11-20T09:00:00Z');
    accessLog = createAccessLog(db, (error) => {
      throw error;
    });
    closing.push(
      () => db.destroy(),
      () => accessLog.flush(),
    );
  });

  function another(of: Settings): Db {
    const { database, tablePrefix } = testConfig(of);
    const handle = openDatabase(database, tablePrefix, 4);
    closing.push(() => handle.destroy());
    return handle;
  }

  function access(license: License | undefined, productId: number, outcome: string, client = '198.51.100.1') {
    accessLog.record({
      ...{ at: clock.now, endpoint: 'download', outcome, license, productId, version: '2.1.0' },
      ...{ ip: client, client, userAgent: 'Joomla/5' },
    });
  }

  /** Sums up like an instance that finds the lease free. */
  async function sum(on = db, lease = LEASES[0]!): Promise<void> {
    if (await acquireOrRenewLease(on, lease, clock.now)) await aggregateNewRows(on, lease, now);
  }

  const days = async (productId?: number, of = db): Promise<DayStatistics[]> =>
    (await readStatistics(of, { ...RANGE, productId }, clock.now)).days;

  const csv = (keys: string[], planId: number) =>
    moveLicensesIn(db, {
      ...{ source: anyCsv, file: Readable.from([Buffer.from(['key', ...keys].join('\n'))]) },
      table: { map: new Map(), ignore: [], product: '42', plan: String(planId) },
      ...{ dryRun: false, secret: undefined, actor: 'operator:test', now: clock.now },
    });

  test('match a model, whichever instance sums at any time, and stay when the access log is pruned', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = randomNumbers(seed);
    const pick = <T>(from: T[]): T => from[Math.floor(random() * from.length)]!;
    const model = createModel(DAYS);
    const plans = new Map([
      [42, await givePlan(db, { limit: 0 })],
      [43, await givePlan(db, { limit: 0, productId: 43 })],
    ]);
    const ledger = createLedger(db, createClientHistory());
    const licenses: License[] = [];
    const issue = async () => {
      const productId = pick([42, 43]);
      const count = pick([1, 1, 3]);
      const issued = await issueLicenses(
        db,
        {
          ...{
            planId: plans.get(productId)!,
            customer: undefined,
            reference: undefined,
            expiresAt: undefined,
          },
          ...{ activationLimit: undefined, key: undefined, count },
        },
        'operator:test',
        undefined,
        clock.now,
      );
      licenses.push(...issued.map(({ license }) => license));
      model.count(clock.now, productId, 'issued', count);
    };
    let imported = 0;
    const actions: (() => Promise<unknown>)[] = [
      issue,
      async () => {
        const { id, product } = pick(licenses);
        await renew(db, id, { until: new Date('2027-11-20') }, { actor: 'operator:test', now: clock.now });
        model.count(clock.now, product.id, 'renewed', 1);
      },
      async () => {
        const keys = Array.from({ length: 3 }, () => `imported-key-${++imported}`);
        await csv(keys, plans.get(42)!);
        model.count(clock.now, 42, 'imported', keys.length);
      },
      async () => {
        const license = pick(licenses);
        const claim = {
          key: '',
          keyDigest: license.keyDigest,
          now: clock.now,
          actor: 'customer:198.51.100.1',
        };
        // Repeated changes of an activation share one event.
        const identifier = pick(['one.example', 'two.example']);
        await ledger.activate({ ...claim, identifier });
        await ledger.deactivate({ ...claim, identifier });
        model.count(clock.now, license.product.id, 'activated', 1);
      },
      async () => {
        const [license, times, client] = [
          pick(licenses),
          pick([1, 2, 5]),
          pick(['198.51.100.1', '198.51.100.2']),
        ];
        for (let i = 0; i < times; i++) access(license, license.product.id, 'ok', client);
        model.download(clock.now, license.product.id, '2.1.0', times);
        if (random() < 0.5) await accessLog.flush();
      },
      async () => {
        const license = pick([undefined, ...licenses]);
        const [productId, outcome] = [pick([42, 43]), pick(['LICENSE_EXPIRED', 'PRODUCT_MISMATCH'])];
        access(license, productId, outcome);
        model.refuse(clock.now, productId, outcome, license?.id);
        if (random() < 0.5) await accessLog.flush();
      },
      () => sum(),
      () => sum(second, LEASES[1]),
      () => Promise.all([sum(), sum(second, LEASES[1])]),
      // Long enough for a lease to expire.
      () => Promise.resolve((clock.now = new Date(clock.now.getTime() + 60_000))),
    ];
    await issue();
    for (const day of DAYS) {
      // Includes the last hour before midnight, when a row begins that is still counted on after midnight.
      for (const hour of ['00:10', '12:00', '23:50']) {
        clock.now = new Date(Math.max(clock.now.getTime(), Date.parse(`${day}T${hour}:00Z`)));
        for (let i = 0; i < 12; i++) await pick(actions)();
      }
    }
    await accessLog.flush();
    clock.now = new Date('2026-11-23T23:59:59Z');
    clock.now = new Date(clock.now.getTime() + 10 * 60_000);
    await sum();
    const expectModel = async () => {
      for (const productId of [undefined, 42, 43])
        expect({ seed, productId, days: await days(productId) }).toEqual({
          ...{ seed, productId, days: model.days(productId) },
        });
    };
    await expectModel();
    await sum();
    await expectModel();

    clock.now = new Date('2027-06-01T00:00:00Z');
    const stop = startHousekeeping(db, () => 90, silent, now);
    await eventually(async () => {
      expect(await rows(db, 'access_log')).toEqual([]);
      expect(await db(table(db, 'refused_licenses'))).toEqual([]);
    });
    await stop();
    await expectModel();
  });

  test('are counted once if the holder is stopped in a backlog and another takes over', async () => {
    const planId = await givePlan(db);
    const keys = Array.from({ length: 1_200 }, (_, i) => `imported-key-${i}`);
    await csv(keys, planId);
    expect(await acquireOrRenewLease(db, LEASES[0]!, clock.now)).toBe(true);
    const stalled = aggregateNewRows(db, LEASES[0]!, now, async () => {
      // The first holder hangs until it has lost the lease, and then continues.
      expect(await acquireOrRenewLease(second, LEASES[1]!, clock.now)).toBe(false);
      clock.now = new Date(clock.now.getTime() + 60_000);
      expect(await acquireOrRenewLease(second, LEASES[1]!, clock.now)).toBe(true);
      await sleep(1);
      return true;
    });
    expect(await stalled).toBe(false);
    expect((await days())[0]).toMatchObject({ imported: 500 });
    expect(await aggregateNewRows(second, LEASES[1]!, now)).toBe(true);
    expect((await days())[0]).toMatchObject({ imported: 1_200, issued: 0 });
  });

  test('a lease belongs to one instance until it expires, is released, or was taken by a wrong clock', async () => {
    const [a, b] = LEASES as [Lease, Lease];
    const later = (seconds: number) => new Date(clock.now.getTime() + seconds * 1_000);
    expect(
      (await Promise.all([acquireOrRenewLease(db, a, now()), acquireOrRenewLease(second, b, now())])).sort(),
    ).toEqual([false, true]);
    const [{ holder } = {}] = await db(table(db, 'leases'));
    const [own, other] = holder === 'a' ? [a, b] : [b, a];
    expect(await acquireOrRenewLease(db, other, later(20))).toBe(false);
    expect(await acquireOrRenewLease(db, own, later(20))).toBe(true);
    expect(await acquireOrRenewLease(db, other, later(40))).toBe(false);
    expect(await acquireOrRenewLease(db, other, later(45))).toBe(true);
    expect(await acquireOrRenewLease(db, own, later(46))).toBe(false);
    expect(await acquireOrRenewLease(db, own, later(-24 * 60 * 60))).toBe(true);
    await releaseLease(second, other);
    expect(await acquireOrRenewLease(db, other, later(-24 * 60 * 60))).toBe(false);
    await releaseLease(db, own);
    expect(await acquireOrRenewLease(db, other, later(-24 * 60 * 60))).toBe(true);
  });

  test('show licences by live status, and the ends of active ones by month', async () => {
    const [planId, other] = [await givePlan(db), await givePlan(db, { productId: 43 })];
    const give = (expiresAt: string | null, plan = planId) =>
      giveLicense(db, plan, { expiresAt: expiresAt === null ? null : new Date(expiresAt) }, clock.now);
    for (const end of [null, '2026-11-30', '2026-12-31T23:59:59Z', '2027-11-20', '2027-12-01', '2026-11-21'])
      await give(end);
    const suspended = await give('2026-12-05');
    await changeState(db, suspended.id, 'suspend', { actor: 'operator:test', now: clock.now });
    await give('2026-12-05', other);
    await give('2020-01-01', other);
    const third = await givePlan(db);
    await give(null, third);
    clock.now = new Date('2026-11-21T00:00:00Z');
    await acquireOrRenewLease(db, LEASES[0]!, clock.now);
    expect(await countAllLicenses(second, LEASES[1]!, now)).toBe(false);
    for (let i = 0; i < 2; i++) expect(await countAllLicenses(db, LEASES[0]!, now)).toBe(true);
    const all = await readStatistics(db, {}, clock.now);
    expect(all.licenses).toEqual({ active: 7, expired: 2, suspended: 1 });
    expect(all.expiring).toHaveLength(13);
    expect(all.expiring.filter(({ count }) => count > 0)).toEqual([
      { month: '2026-11', count: 1 },
      { month: '2026-12', count: 2 },
      { month: '2027-11', count: 1 },
    ]);
    expect((await readStatistics(db, { productId: 43 }, clock.now)).licenses).toEqual({
      active: 1,
      expired: 1,
    });
    expect((await readStatistics(db, { productId: 7 }, clock.now)).licenses).toEqual({});
    expect([...(await countLicensesByPlan(db, 42))]).toEqual([
      [planId, 7],
      [third, 1],
    ]);
    expect([...(await countLicensesByProduct(db))]).toEqual([
      [42, 8],
      [43, 2],
    ]);
    clock.now = new Date('2026-12-05T00:00:00Z');
    await countAllLicenses(db, LEASES[0]!, now);
    const then = await readStatistics(db, {}, clock.now);
    expect(then.licenses).toEqual({ active: 5, expired: 4, suspended: 1 });
    expect(then.expiring.filter(({ count }) => count > 0)).toEqual([
      { month: '2026-12', count: 1 },
      { month: '2027-11', count: 1 },
      { month: '2027-12', count: 1 },
    ]);
  });

  test('are of the last 30 days, or of up to 366', async () => {
    const read = (from?: string, to?: string) => readStatistics(db, { from, to }, clock.now);
    const span = async (from?: string, to?: string) => {
      const list = (await read(from, to)).days;
      return [list.length, list[0]?.day, list.at(-1)?.day];
    };
    expect(await span()).toEqual([30, '2026-10-22', '2026-11-20']);
    expect(await span(undefined, '2026-03-01')).toEqual([30, '2026-01-31', '2026-03-01']);
    expect(await span('2026-11-20')).toEqual([1, '2026-11-20', '2026-11-20']);
    expect(await span('2024-01-01', '2024-12-31')).toEqual([366, '2024-01-01', '2024-12-31']);
    for (const [from, to, field] of [
      ['2024-01-01', '2025-01-01', 'from'],
      ['2026-11-21', undefined, 'from'],
      ['yesterday', undefined, 'from'],
      [undefined, '2026-02-30', 'to'],
    ])
      await expect(read(from, to)).rejects.toMatchObject({ code: 'INVALID_REQUEST', field });
  });

  test('leave out dry runs of downloads, and include rows that an earlier version wrote', async () => {
    const planId = await givePlan(db, {}, clock.now);
    const { id } = await giveLicense(db, planId, {}, clock.now);
    const license = (await findLicense(db, id))!;
    for (const outcome of ['ok', 'LICENSE_EXPIRED'])
      accessLog.record({
        ...{ at: clock.now, endpoint: 'check', outcome, license, productId: 42 },
        ...{ ip: '198.51.100.1', client: '198.51.100.1', userAgent: 'Joomla/5' },
      });
    await accessLog.flush();
    // Clients can send any number of product ids.
    access(undefined, 999, 'LICENSE_NOT_FOUND');
    access(license, 998, 'PRODUCT_MISMATCH');
    await accessLog.flush();
    // An earlier version wrote and counted these rows.
    const old = {
      at: '2026-11-20 08:00:00',
      endpoint: 'download',
      product_id: 42,
      version: '1.0.0',
      times: 7,
    } as const;
    await db(table(db, 'access_log')).insert({ ...old, outcome: 'ok', last_at: '2026-11-20 08:30:00' });
    await sum();
    const mismatch = { PRODUCT_MISMATCH: { requests: 1, licenses: 1 } };
    expect((await days(42))[0]).toMatchObject({ issued: 1, downloads: { '1.0.0': 7 }, refused: mismatch });
    expect((await days())[0]?.refused).toEqual({
      ...mismatch,
      LICENSE_NOT_FOUND: { requests: 1, licenses: 0 },
    });
    expect(await db(table(db, 'daily_sums')).whereNotIn('product_id', [0, 42])).toEqual([]);
  });

  test('are kept up by a service, which releases its lease when it stops', async () => {
    await giveLicense(db, await givePlan(db), {}, clock.now);
    const service = await startTestService(settings, clock.now);
    await eventually(async () =>
      expect((await readStatistics(db, {}, clock.now)).licenses).toEqual({ active: 1 }),
    );
    expect((await days(42))[0]).toMatchObject({ issued: 1 });
    await service.stop();
    expect(await db(table(db, 'leases'))).toEqual([]);
  });

  test('are restored with the history of an export', async () => {
    const planId = await givePlan(db, {}, clock.now);
    const { id } = await giveLicense(db, planId, {}, clock.now);
    await csv(['imported-key-1'], planId);
    const license = await findLicense(db, id);
    for (let i = 0; i < 3; i++) access(license, 42, 'LICENSE_EXPIRED');
    await accessLog.flush();
    await sum();
    const lines: string[] = [];
    await exportRecords(db, (text) => Promise.resolve(void lines.push(text)));
    const there = await openMigrated(await createSettings());
    closing.push(() => there.destroy());
    await importRecords(there, Readable.from([Buffer.from(lines.join(''))]), {
      ...{
        packagesDir: temporaryFolder(),
        packagesFrom: undefined,
        secret: undefined,
        withoutSealedKeys: false,
      },
      ...{ dryRun: false, actor: 'operator:test', now: new Date('2026-11-23T12:00:00Z') },
      settingFault: () => undefined,
      isOnSite: () => false,
    });
    await sum(there);
    expect(await days(42, there)).toEqual(await days(42));
    expect((await days(42, there))[0]).toMatchObject({ issued: 1, imported: 1 });
  });
});

/** Returns a generator of numbers from 0 to 1, which are the same for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Makes a model of the expected statistics, which is updated with each action. */
function createModel(all: string[]) {
  const figures = new Map<number | undefined, Map<string, DayStatistics>>();
  const refused = new Set<string>();
  for (const productId of [undefined, 42, 43])
    figures.set(
      productId,
      new Map(
        all.map((day) => [
          day,
          { day, issued: 0, imported: 0, renewed: 0, activated: 0, downloads: {}, refused: {} },
        ]),
      ),
    );
  const each = (
    at: Date,
    productId: number,
    change: (day: DayStatistics, product: number | undefined) => void,
  ) => {
    const day = at.toISOString().slice(0, 10);
    for (const product of [undefined, productId]) change(figures.get(product)!.get(day)!, product);
  };
  return {
    count: (
      at: Date,
      productId: number,
      kind: 'issued' | 'imported' | 'renewed' | 'activated',
      times: number,
    ) => each(at, productId, (day) => (day[kind] += times)),
    download: (at: Date, productId: number, version: string, times: number) =>
      each(at, productId, ({ downloads }) => (downloads[version] = (downloads[version] ?? 0) + times)),
    refuse: (at: Date, productId: number, code: string, licenseId: number | undefined) =>
      each(at, productId, (day, product) => {
        const one = (day.refused[code] ??= { requests: 0, licenses: 0 });
        one.requests++;
        const licensed = `${day.day} ${product} ${code} ${licenseId}`;
        if (licenseId !== undefined && !refused.has(licensed)) one.licenses++;
        refused.add(licensed);
      }),
    days: (productId: number | undefined) => [...figures.get(productId)!.values()],
  };
}
