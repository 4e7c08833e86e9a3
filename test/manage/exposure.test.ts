import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { lastDownloads } from '../../migrations/license-downloads';
import { exposureRows, readExposure, refreshExposures } from '../../src/figures/exposure';
import { insertAccesses, type Access } from '../../src/store/access-log';
import { openDatabase, table, type Db } from '../../src/store/engine/database';
import { migrate } from '../../src/setup/database';
import { insertRows } from '../../src/store/engine/statements';
import { toSqlTime } from '../../src/store/engine/time';
import { recordReportedSites } from '../../src/store/reported-sites';
import { editProduct } from '../../src/licensing/catalogue';
import { recordDownloads, recordEarlierDownloads } from '../../src/store/licenses/license-downloads';
import type { Settings } from '../../src/settings/config';
import { NOW, startManaged, type Managed } from '../support/manage';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { pagesClient, textOf } from '../pages/support/session';
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

describe.each(DATABASE_KINDS)('the exposure to a hole, on %s', (kind) => {
  let service: Managed;
  let place: Settings;
  let fix: { id: number };
  const ids: Record<string, number> = {};

  beforeAll(async () => {
    place = {
      ...(await newPlace(kind)),
      LICENSING_MAIL_URL: 'smtp://127.0.0.1:9?from=shop@shop.example',
      LICENSING_PUBLIC_URL: 'https://shop.example',
    };
    service = await startManaged(place);
    const { db } = service;
    const plain = await givePlan(db);
    const kept = await givePlan(db, { afterExpiry: 'security' });
    const club = await givePlan(db, { productId: 44 });
    await editProduct(db, 44, { includes: [42] });
    const other = await givePlan(db, { productId: 43 });
    for (const [version, days] of Object.entries({ '2.4.0': 300, '2.4.1': 200, '3.0.0': 100 }))
      await giveRelease(service, { version, date: before(days) });
    const { release } = await giveRelease(service, { version: '2.4.2', date: before(1), security: true });
    fix = release;
    const { release: later } = await giveRelease(service, {
      version: '3.0.1',
      date: before(1),
      security: true,
    });
    await db(table(db, 'releases')).where({ id: later.id }).update({ same_fix_as: release.id });

    const sell = async (name: string, plan: number, customer: string | undefined, expiresAt?: Date) =>
      (ids[name] = (await giveLicense(db, plan, { customer, expiresAt }, NOW)).id);
    const report = (licenseId: number, site: string, version: string, days = 1, productId = 42) =>
      recordReportedSites(db, [{ licenseId, productId, site, version, at: before(days) }]);
    const gave = (licenseId: number, version: string, days: number) =>
      recordDownloads(db, [access(licenseId, version, before(days))]);
    const sites = await sell('sites', plain, 'a@example.com');
    await report(sites, 'new.example', '2.4.2');
    await report(sites, 'low.example', '2.4.1', 2);
    await report(sites, 'lowest.example', '2.3.0', 3);
    await gave(await sell('downloaded', plain, 'b@example.com'), '3.0.0', 4);
    await gave(await sell('covered', kept, 'c@example.com', before(150)), '2.4.1', 170);
    await sell('ended', plain, '=cmd@example.com', before(150));
    await gave(await sell('updated', plain, undefined), '2.4.2', 1);
    const newer = await sell('newer', plain, 'a@example.com');
    await gave(newer, '2.4.0', 100);
    await report(newer, 'newer.example', '3.0.1');
    const member = await sell('member', club, 'h@example.com');
    await report(member, 'old.example', '2.4.0', 181);
    await report(member, 'other.example', '2.4.0', 1, 43);
    // These do not count.
    const suspended = await sell('suspended', plain, 'g@example.com');
    await report(suspended, 'suspended.example', '2.4.0');
    await service.write.ok(`POST /licenses/${suspended}/suspend`, {});
    await sell('other', other, 'o@example.com');
  });
  afterAll(() => service.stop());

  const FIGURES = {
    sites: { '2.3.0': 1, '2.4.1': 1 },
    downloads: { '2.4.1': 1, '3.0.0': 1 },
    ...{ unknown: 2, active: 5, expired_covered: 1, expired_not_covered: 1 },
    ...{ customers: 5, customers_without_address: 1 },
    ...{ notified: 0, notified_first_at: null, notified_last_at: null, failed: 0 },
  };
  const ASKED = '/products/42/exposure?fixed_in=3.0.1&fixed_in=2.4.2';
  const asked = ['exposure', '--product', '42', '--fixed-in', '2.4.2', '--fixed-in', '3.0.1'];
  const line = (name: string, customer: string, rest: string) => `"${customer}",${ids[name]},${rest}`;
  const csv = (mailedAt = '') => [
    '"customer","license_id","state","version","basis","last_seen","covered","notified_at"',
    line('sites', 'a@example.com', `"active","2.3.0","site","2026-11-21T12:00:00Z",true,${mailedAt}`),
    line('downloaded', 'b@example.com', '"active","3.0.0","download","2026-11-20T12:00:00Z",true,'),
    line('ended', "'=cmd@example.com", '"expired",,"unknown",,false,'),
    line('covered', 'c@example.com', '"expired","2.4.1","download","2026-06-07T12:00:00Z",true,'),
    line('member', 'h@example.com', '"active",,"unknown",,true,'),
    '',
  ];

  test('is counted for the API and the command', async () => {
    expect(await service.read.ok(`GET ${ASKED}`)).toEqual({
      ...FIGURES,
      computed_at: '2026-11-24T12:00:00Z',
    });
    expect(await operator(place).json(asked)).toEqual({ ...FIGURES, computed_at: expect.any(String) });
    const { stdout } = await operator(place).run(asked);
    expect(stdout).toMatch(/sites with 2\.3\.0 +1\n/);
    expect(stdout).toMatch(/expired, may have a fixed version +1\n/);
    // A version without a fix in its branch is compared with the highest one.
    expect(await service.read.ok('GET /products/42/exposure?fixed_in=%202.4.2')).toMatchObject({
      sites: { '2.3.0': 1, '2.4.1': 1 },
      downloads: { '2.4.1': 1 },
    });
    // Before the fix is published, licences are judged as if it were today.
    expect(await service.read.ok('GET /products/42/exposure?fixed_in=2.4.9')).toMatchObject({
      sites: { '2.3.0': 1, '2.4.1': 1, '2.4.2': 1 },
      downloads: { '2.4.1': 1, '2.4.2': 1 },
      ...{ expired_covered: 1, expired_not_covered: 1 },
    });
  });

  test('is listed as CSV, by the API and the command', async () => {
    const response = await fetch(
      `${service.url}${PREFIX}/manage/products/42/exposure.csv?fixed_in=2.4.2&fixed_in=3.0.1`,
      {
        headers: { Authorization: `Bearer ${service.read.token}` },
      },
    );
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/csv');
    expect((await response.text()).split('\r\n')).toEqual(csv());
    const { code, stdout } = await operator(place).run([...asked, '--format', 'csv']);
    expect([code, stdout.split('\r\n')]).toEqual([0, csv()]);
  });

  test('refuses a request without versions, with too many, and for another product', async () => {
    const refuse = (query: string, refusal: 'INVALID_REQUEST' | 'NOT_FOUND', field?: string) =>
      service.read.refused(`GET ${query}`, undefined, refusal, field);
    const many = Array.from({ length: 21 }, (_, i) => `fixed_in=1.${i}.0`).join('&');
    for (const path of ['/products/42/exposure', '/products/42/exposure.csv']) {
      for (const query of ['', '?fixed_in=', '?fixed_in=%20', '?fixed_in=2.4.2&fixed_in=', `?${many}`])
        await refuse(`${path}${query}`, 'INVALID_REQUEST', 'fixed_in');
      for (const bad of ['2.4.2,3.0.1', 'a b', '9'.repeat(65), '%00', '<b>', '2.4.2%0d%0a'])
        await refuse(`${path}?fixed_in=${bad}x`, 'INVALID_REQUEST', 'fixed_in');
      await refuse(`${path}?fixed_in=2.4.2&fixed=1`, 'INVALID_REQUEST', 'fixed');
      await refuse(`${path.replace('42', '41')}?fixed_in=2.4.2`, 'NOT_FOUND');
    }
    await service.issue.refused(`GET ${ASKED}`, undefined, 'FORBIDDEN');
    const ended = await operator(place).run(['exposure', '--product', '42', '--fixed-in', ' ']);
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--fixed-in') });
    expect(await operator(place).run(['exposure', '--product', '42'])).toMatchObject({ code: 2 });
    expect(await operator(place).run([...asked.with(2, '41')])).toMatchObject({ code: 1 });
  });

  test('is a page of the security release, which leads to its mails', async () => {
    const path = `/releases/${fix.id}/exposure`;
    const pages = await pagesClient(service);
    expect((await pages.get('/releases?product_id=42')).html).toContain(`${path}"`);
    expect((await pages.get(`/releases/${fix.id}/edit`)).html).toContain(`${path}"`);
    const { status, html } = await pages.get(path);
    expect(status).toBe(200);
    expect(html).toContain(`/releases/${fix.id}/notify"`);
    const text = textOf(html);
    expect(text).toContain('Fixed in: 2.4.2, 3.0.1');
    expect(text).toContain('Expired licences that may have a fixed version 1');
    expect(text).toContain('Affected sites, by version 2.3.0: 1, 2.4.1: 1');
    const german = await pagesClient(service, { scope: 'read', language: 'de' });
    const page = await german.get(path);
    expect(page.html).not.toContain('/notify"');
    expect(textOf(page.html)).toContain('Behoben in: 2.4.2, 3.0.1');
    const file = await pages.get(`${path}.csv`);
    expect(file.html.split('\r\n').slice(1)).toEqual(csv().slice(1));
    const [plain] = await service.db(table(service.db, 'releases')).where({ version: '3.0.0' }).pluck('id');
    expect((await pages.get(`/releases/${plain}/exposure`)).status).toBe(404);
  });

  test('names the customers who were notified, for all releases with the fix', async () => {
    const { db } = service;
    await service.write.ok(`POST /releases/${fix.id}/notify`, {});
    const mails = db(table(db, 'outbox')).where({ type: 'security_release' });
    expect(await service.read.ok(`GET ${ASKED}`)).toMatchObject({ ...FIGURES, notified: 0 });
    await mails.clone().update({ failed_at: toSqlTime(NOW) });
    const sent = { failed_at: null, sent_at: '2026-11-24 12:00:05' };
    await mails.clone().where({ license_id: ids.sites! }).update(sent);
    const [first, last] = ['2026-11-24T12:00:05Z', '2026-11-24T12:00:05Z'];
    const all = await mails.clone();
    expect(all.length).toBeGreaterThan(2);
    expect(await service.read.ok('GET /products/42/exposure?fixed_in=3.0.1')).toMatchObject({
      ...{ notified: 1, notified_first_at: first, notified_last_at: last, failed: all.length - 1 },
    });
    const { stdout } = await operator(place).run([...asked, '--format', 'csv']);
    expect(stdout.split('\r\n')).toEqual(csv('"2026-11-24T12:00:05Z"'));
    expect(await service.read.ok('GET /products/42/exposure?fixed_in=2.4.1')).toMatchObject({ notified: 0 });
  });

  test('of many licences is counted once an hour, by a job, and its CSV is read as it is sent', async () => {
    const { db } = service;
    const planId = await givePlan(db, { productId: 77 });
    await insertRows(
      db,
      'licenses',
      Array.from({ length: 5_002 }, (_, i) => ({
        ...{ plan_id: planId, status: 'active', activation_limit: 1, created_at: toSqlTime(NOW) },
        customer: `${i}@example.com`,
        customer_digest: `${i}`,
      })),
    );
    const query = { productId: 77, fixedIn: ['1.0.0'] };
    const read = (waits: boolean, now = NOW) => readExposure(db, query, { now, waits });
    expect(await read(false)).toBeUndefined();
    const { release } = await giveRelease(service, { productId: 77, version: '1.0.1', security: true });
    const pages = await pagesClient(service);
    expect(textOf((await pages.get(`/releases/${release.id}/exposure`)).html)).toContain('are being counted');
    const counted = { unknown: 5_002, customers: 5_002, sites: {}, computedAt: NOW };
    expect(await read(true)).toMatchObject(counted);
    const [one] = await db(table(db, 'licenses')).where({ plan_id: planId }).limit(1).pluck<number[]>('id');
    await db(table(db, 'licenses')).where({ id: one! }).update({ status: 'revoked' });
    expect(await read(true)).toMatchObject(counted);
    const goesOn = () => Promise.resolve(true);
    const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
    await refreshExposures(db, () => later(50), goesOn);
    expect(await read(false, later(50))).toMatchObject(counted);
    await refreshExposures(db, () => later(61), goesOn);
    expect(await read(false, later(61))).toMatchObject({ unknown: 5_001, computedAt: later(61) });
    // A day later no one asks, and after a week the figures are forgotten.
    await refreshExposures(db, () => later(3 * 24 * 60), goesOn);
    expect(await read(false, later(61))).toMatchObject({ computedAt: later(61) });
    await refreshExposures(db, () => later(30 * 24 * 60), goesOn);
    expect(await db(table(db, 'exposures'))).toEqual([]);

    const rows = exposureRows(db, query, NOW);
    for (let i = 0; i < 3; i++) await rows.next();
    expect((await rows.return(undefined)).done).toBe(true);
  });
});
