import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { createSiteRecorder, maxNetworks, maxSitesOfKey } from '../../src/licensing/spreading';
import type { Access } from '../../src/store/access-log';
import { table } from '../../src/store/engine/database';
import { MAX_NETWORKS, MAX_REPORTED_SITES, recordReportedSites } from '../../src/store/reported-sites';
import { NOW, startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import { DATABASE_KINDS, giveLicense, givePlan, newPlace, PREFIX } from '../support/service';

/** Tests what sites report with their downloads, and in how many networks keys are used (docs/told-sites.md). */

const DAY_MS = 24 * 60 * 60 * 1000;

describe.each(DATABASE_KINDS)('what sites report, on %s', (kind) => {
  let service: Managed;
  let plan: Awaited<ReturnType<typeof givePlan>>;
  beforeAll(async () => {
    service = await startManaged(await newPlace(kind));
    plan = await givePlan(service.db, { limit: 1 });
    await giveRelease(service, { version: '1.8.0', date: new Date('2026-06-01T00:00:00Z') });
    await giveRelease(service, { version: '2.0.0', date: new Date(NOW.getTime() - 2 * DAY_MS) });
  });
  afterAll(() => service.stop());

  const tell = (key: string, site: string, version: string, path = '42') =>
    request(service.url)
      .get(`${PREFIX}/downloads/${path}`)
      .query({ dlid: key })
      .set({ 'X-Licensing-Site': site, 'X-Licensing-Version': version });
  const told = () => service.db(table(service.db, 'told_sites')).orderBy(['license_id', 'site']);

  it('is kept as the latest report of each licence and site, even from a refused download', async () => {
    const { db } = service;
    const good = await giveLicense(db, plan, { customer: 'jo@example.com' });
    const stopped = await giveLicense(db, plan);
    await service.write.ok(`POST /licenses/${stopped.id}/suspend`, {});
    expect(await service.read.ok('GET /products/42/sites')).toMatchObject({
      ...{ newest: '2.0.0', share: null, half_days: null, counted: 0, versions: [], sites: [], next: null },
    });
    await tell(good.key, 'https://one.example', '1.8.0').expect(200);
    await tell(good.key, 'https://www.two.example/joomla', '2.0.0', '42?check=1').expect(200);
    await tell(stopped.key, 'three.example', '1.8.0').expect(403);
    await tell('ffff0000-ffff0000-ffff0000-ffff0000', 'four.example', '1.8.0').expect(403);
    await eventually(async () => expect(await told()).toHaveLength(3));

    expect(await service.read.ok('GET /products/42/sites')).toMatchObject({
      ...{ newest: '2.0.0', share: 1 / 3, half_days: null, counted: 3, next: null },
      versions: [
        { version: '1.8.0', sites: 2 },
        { version: '2.0.0', sites: 1 },
      ],
      sites: [
        { site: 'three.example', license_id: stopped.id, may_update: false, code: 'LICENSE_INACTIVE' },
        { site: 'one.example', customer: 'jo@example.com', version: '1.8.0', may_update: true, code: null },
      ],
    });

    service.clock.now = new Date(NOW.getTime() + DAY_MS);
    await tell(good.key, 'one.example', '2.0.0').expect(200);
    await eventually(async () =>
      expect(await service.read.ok('GET /products/42/sites')).toMatchObject({ share: 2 / 3, half_days: 3 }),
    );
    const { findings } = (await service.read.ok('POST /why', { about: String(good.id) })) as {
      findings: { code: string }[];
    };
    expect(findings.find(({ code }) => code === 'SITES_RUN')).toMatchObject({
      facts: { sites: [{ site: 'one.example', version: '2.0.0' }, { site: 'two.example' }] },
    });
  });

  it('comes a page at a time, each site once', async () => {
    const license = await giveLicense(service.db, plan);
    const at = service.clock.now;
    await recordReportedSites(
      service.db,
      Array.from({ length: 7 }, (_, i) => ({
        ...{ licenseId: license.id, productId: 42, site: `s${i}.example`, version: '1.0.0', at },
      })),
    );
    const seen: string[] = [];
    let after = '';
    do {
      const page = await service.read.ok(`GET /products/42/sites?limit=3${after}`);
      seen.push(...(page.sites as { site: string }[]).map(({ site }) => site));
      after = page.next === null ? '' : `&after=${page.next}`;
    } while (after !== '');
    expect(seen.filter((site) => /^s\d/.test(site))).toHaveLength(7);
    expect(new Set(seen).size).toBe(seen.length);
    await service.read.refused('GET /products/42/sites?after=x', undefined, 'INVALID_REQUEST', 'after');
    await service.read.refused('GET /products/41/sites', undefined, 'NOT_FOUND');
  });

  it('is bounded for a licence: the site with the oldest report is forgotten', async () => {
    const { id: licenseId } = await giveLicense(service.db, plan);
    const site = (i: number) => ({
      ...{ licenseId, productId: 42, site: `s${i}.example`, version: '1.0.0' },
      at: new Date(NOW.getTime() + i * 1_000),
    });
    for (let from = 0; from < MAX_REPORTED_SITES + 200; from += 300)
      await recordReportedSites(
        service.db,
        Array.from({ length: 300 }, (_, i) => site(from + i)),
      );
    const rows = await service.db(table(service.db, 'told_sites')).where({ license_id: licenseId });
    expect(rows).toHaveLength(MAX_REPORTED_SITES);
    expect(rows.some((row) => row.site === 's0.example')).toBe(false);
  });

  it('is bounded under a flood of versions and networks, at the cost of a few statements', async () => {
    const { db } = service;
    const license = await giveLicense(db, plan);
    const [keyId] = await db(table(db, 'license_keys'))
      .where({ license_id: license.id })
      .pluck<number[]>('id');
    const access = (i: number): Access => ({
      ...{ at: new Date(NOW.getTime() + i), endpoint: 'download', outcome: 'ok' },
      ...{
        licenseId: license.id,
        keyId: keyId!,
        keyHint: null,
        productId: 42,
        version: null,
        identifier: null,
      },
      ...{ ip: `2001:db8:${i.toString(16)}::1`, userAgent: null },
      ...{ site: `flood${i}.example`, installedVersion: `9.${i}.0` },
    });
    const networks = () => db(table(db, 'key_networks')).where({ key_id: keyId! });
    const sites = () => db(table(db, 'told_sites')).where({ license_id: license.id });
    let statements = 0;
    const count = () => {
      statements++;
    };
    db.on('query', count);
    const batch = 500;
    const costs: number[] = [];
    // A second process, or a restarted one, does not know which keys are full.
    for (const [tellers, from, to] of [
      [createSiteRecorder(db, 3), 0, 14],
      [createSiteRecorder(db, 3), 14, 16],
    ] as const)
      for (let i = from; i < to; i++) {
        statements = 0;
        await tellers(Array.from({ length: batch }, (_, n) => access(i * batch + n)));
        costs.push(statements);
        expect((await networks()).length).toBeLessThanOrEqual(MAX_NETWORKS);
        expect((await sites()).length).toBeLessThanOrEqual(MAX_REPORTED_SITES);
      }
    db.removeListener('query', count);

    expect(await networks()).toHaveLength(MAX_NETWORKS);
    expect(await sites()).toHaveLength(MAX_REPORTED_SITES);
    expect(Math.max(...costs)).toBeLessThan(25);
    // Further networks of a full key cost no statements.
    expect(Math.max(...costs.slice(11, 14))).toBeLessThanOrEqual(4);
    const told = await service.read.ok('GET /products/42/sites?limit=1');
    expect(told.versions).toHaveLength(100);
    expect(told.counted).toBeGreaterThanOrEqual(MAX_REPORTED_SITES);
    await sites().delete();
    await networks().delete();
  });

  it('survives clocks that go back, and services whose clocks differ', async () => {
    const { db, clock } = service;
    const license = await giveLicense(db, plan);
    const now = clock.now;
    const seen = async () =>
      (await service.read.ok(`GET /products/42/sites?limit=500`)) as {
        half_days: number | null;
        sites: { site: string; version: string; version_at: string; at: string }[];
      };
    const siteOf = async () => (await seen()).sites.find(({ site }) => site === 'clock.example');
    try {
      await tell(license.key, 'clock.example', '1.0.0').expect(200);
      await eventually(async () => expect(await siteOf()).toMatchObject({ version: '1.0.0' }));
      // An hour back, a day back, and to before the newest version was published.
      for (const back of [DAY_MS / 24, DAY_MS, 30 * DAY_MS]) {
        clock.now = new Date(now.getTime() - back);
        await tell(license.key, 'clock.example', '1.8.0').expect(200);
        await tell(license.key, 'clock.example', '1.8.0', '42?check=1').expect(200);
        const at = clock.now;
        await recordReportedSites(db, [
          { licenseId: license.id, productId: 42, site: `back${back}.example`, version: '2.0.0', at },
        ]);
        const told = await seen();
        expect(told.half_days ?? 0).toBeGreaterThanOrEqual(0);
        for (const { version_at: first, at: last } of told.sites)
          expect(Date.parse(first)).toBeLessThanOrEqual(Date.parse(last));
      }
      // The report with the latest time stays.
      expect(await siteOf()).toMatchObject({ version: '1.0.0' });
      clock.now = new Date(now.getTime() + 1_000);
      await tell(license.key, 'clock.example', '1.8.0').expect(200);
      await eventually(async () => expect(await siteOf()).toMatchObject({ version: '1.8.0' }));
    } finally {
      clock.now = now;
    }
  });

  it('counts the networks of a key, and names the key once they are too many', async () => {
    const { db } = service;
    const hook = await service.write.ok(
      'POST /webhooks',
      { url: 'https://93.184.216.34/', events: ['key.spreading'] },
      201,
    );
    const wide = await giveLicense(db, await givePlan(db, { limit: 0 }));
    const shared = await giveLicense(db, plan, { customer: 'jane@example.com' });
    const from = (key: string, ip: string) =>
      request(service.url)
        .get(`${PREFIX}/downloads/42`)
        .query({ dlid: key })
        .set('X-Forwarded-For', ip)
        .expect(200);
    // Neighbouring addresses are one network. A key of one slot may be in 3 + 10 networks.
    for (let i = 0; i < 13; i++) for (const last of [1, 2]) await from(shared.key, `198.51.${i}.${last}`);
    for (let i = 0; i < 20; i++) await from(wide.key, `2001:db8:${i}:1::1`);
    const networks = (id: number) => db(table(db, 'key_networks')).where({ key_id: id });
    const [keyId] = await db(table(db, 'license_keys'))
      .where({ license_id: shared.id })
      .pluck<number[]>('id');
    await eventually(async () => expect(await networks(keyId!)).toHaveLength(13));
    expect(await service.read.ok('GET /spreading')).toEqual([]);

    await from(shared.key, '2001:db8:1:1::1');
    await from(shared.key, '2001:db8:1:2::1');
    await eventually(async () =>
      expect(await service.read.ok('GET /spreading')).toMatchObject([
        {
          ...{
            license_id: shared.id,
            customer: 'jane@example.com',
            slots: 1,
            networks: 14,
            most: 13,
            sites: [],
          },
        },
      ]),
    );
    const queued = await db(table(db, 'outbox')).where({ webhook_id: hook.id as number });
    expect(queued).toMatchObject([{ type: 'key.spreading', license_id: shared.id }]);
    expect(queued[0]?.details_json).not.toMatch(/198\.51|2001:db8/);

    const { license_key } = await service.write.ok(`POST /licenses/${shared.id}/rekey`, { overlap: '14d' });
    expect(license_key).toMatch(/-/);
    expect(await service.read.ok('GET /spreading')).toEqual([]);
  });
});

it.each([
  [1, null, 1, 13],
  [0, null, 0, undefined],
  [0, 2, 2, 16],
  [5, 2, 2, 16],
  [1, 4, 1, 13],
])('a licence of %d slots and a key of %p have %d, and may be in %p networks', (all, own, slots, most) => {
  expect(maxSitesOfKey({ activationLimit: own }, { activationLimit: all })).toBe(slots);
  expect(maxNetworks(slots, 3)).toBe(most);
});
