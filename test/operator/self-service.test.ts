import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { rmSync } from 'node:fs';
import request from 'supertest';
import { addActivation, removeActivation } from '../../src/licensing/activations';
import { editPlan, editProduct } from '../../src/licensing/catalogue';
import { keyDigest } from '../../src/licensing/core/keys';
import { addKey, endKey, rekey } from '../../src/licensing/license-keys';
import { findLicense } from '../../src/licensing/licenses';
import { createLicensing } from '../../src/licensing/licensing';
import { changeState } from '../../src/licensing/lifecycle';
import { issueLicenses } from '../../src/licensing/issue';
import { packagePath } from '../../src/packages/package-files';
import { withdrawRelease } from '../../src/packages/releases';
import { openMyDownload, findByTypedKey, readByKey, type KeyView } from '../../src/selfservice/by-key';
import {
  findMySite,
  listMySites,
  mySiteRows,
  readByMail,
  readMySite,
  type MySite,
} from '../../src/selfservice/by-mail';
import { table } from '../../src/store/engine/database';
import { toSqlTime } from '../../src/store/engine/time';
import { freeMySite, newMyKey, revealMyKey, type ChangeMail } from '../../src/selfservice/changes';
import { CUSTOMERS } from '../../src/texts/customers/languages';
import { tellStanding } from '../../src/texts/customers/sentences';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import {
  ONE_KIND,
  givePlan,
  newPlace,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** The data and the actions of the customer's page, without its HTML. */

const NOW = new Date('2026-11-23T12:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;
const days = (count: number) => new Date(NOW.getTime() + count * DAY_MS);
const NETWORK = '198.51.100.7';
const SECRET = Buffer.alloc(32, 7);
const STUDIO = 'studio@example.net';
const OTHER = 'other@example.net';

describe.each(ONE_KIND)('on %s', (kind) => {
  let service: TestService;
  let plan: number;
  const byOperator = { actor: 'operator:test', now: NOW };

  beforeAll(async () => {
    service = await startTestService(await newPlace(kind), NOW);
    plan = await givePlan(service.db, { limit: 25 }, NOW);
    await giveRelease(service, { version: '2.0.7', date: days(-120), changelog: 'Older.' });
    await giveRelease(service, { version: '2.0.9', date: days(-52), changelog: 'No flicker on load.' });
    await giveRelease(service, { version: '2.1.0', date: days(-4), changelog: 'Faster start.' });
  });
  afterAll(() => service.stop());
  beforeEach(() => {
    service.clock.now = NOW;
  });

  async function issue(
    customer: string,
    planId = plan,
    terms: { expiresAt?: Date | null; activationLimit?: number; reference?: string } = {},
  ): Promise<TestLicense> {
    const { expiresAt = null, activationLimit, reference } = terms;
    const wanted = { planId, customer, reference, expiresAt, activationLimit, key: undefined, count: 1 };
    const [issued] = await issueLicenses(service.db, wanted, 'operator:test', SECRET, days(-300));
    return { id: issued!.license.id, key: issued!.key! };
  }

  it('reads only the licences of one page, however many the customer has', async () => {
    const customer = 'many@example.net';
    const wanted = {
      planId: plan,
      customer,
      reference: undefined,
      expiresAt: null,
      activationLimit: undefined,
    };
    await issueLicenses(
      service.db,
      { ...wanted, key: undefined, count: 90 },
      'operator:test',
      SECRET,
      days(-300),
    );
    const soon = await issue(customer, plan, { expiresAt: days(3) });
    const last = await issue(customer, plan, { expiresAt: days(-3) });
    let rowsRead = 0;
    const count = (answer: unknown) => {
      const [found] = (Array.isArray(answer) && Array.isArray(answer[0]) ? answer : [answer]) as unknown[];
      if (Array.isArray(found))
        rowsRead += found.filter((row) => (row as { customer?: string }).customer === customer).length;
    };
    service.db.on('query-response', count);
    try {
      const options = { now: NOW, packagesDir: service.packagesDir, keySecret: SECRET, network: NETWORK };
      const read = await readByMail(service.db, customer, { from: 0, limit: 25 }, options);
      expect(rowsRead).toBe(25);
      expect(read.licenses.slice(0, 2).map(({ id }) => id)).toEqual([soon.id, last.id]);
      expect(read).toMatchObject({ total: { licenses: 92, attention: 2 }, next: 25, more: false });
      rowsRead = 0;
      const end = await readByMail(service.db, customer, { from: 75, limit: 25 }, options);
      expect([end.licenses.length, end.next, rowsRead]).toEqual([17, null, 17]);
      await activate(soon, 'one-of-many.example');
      rowsRead = 0;
      expect((await findMySite(service.db, customer, 'one-of-many')).items).toHaveLength(1);
      expect(rowsRead).toBe(1);
    } finally {
      service.db.removeListener('query-response', count);
    }
  });

  async function activate({ key }: Pick<TestLicense, 'key'>, ...identifiers: string[]): Promise<void> {
    for (const identifier of identifiers)
      await request(service.url)
        .post(`${PREFIX}/licenses/activate`)
        .send({ license_key: key, identifier })
        .expect(200);
  }

  const byKey = async ({ id, key }: TestLicense, more: { now?: Date; allOf?: number } = {}) =>
    (await readByKey(service.db, {
      licenseId: id,
      keyDigest: keyDigest(key),
      now: NOW,
      packagesDir: service.packagesDir,
      network: NETWORK,
      ...more,
    })) as KeyView;
  const byMail = async (email = STUDIO, now = NOW) =>
    (
      await readByMail(
        service.db,
        email,
        { from: 0, limit: 100 },
        { now, packagesDir: service.packagesDir, keySecret: SECRET, network: NETWORK },
      )
    ).licenses;
  const mine = async ({ id }: TestLicense, email = STUDIO) =>
    (await byMail(email)).find((license) => license.id === id)!;
  const sitesOf = async ({ id }: TestLicense, email = STUDIO) =>
    (await listMySites(service.db, email, id, { limit: 500 }))?.items ?? [];
  const siteNamed = async (license: TestLicense, identifier: string) =>
    (await sitesOf(license)).find((site) => site.identifier === identifier)!;
  const codesOf = (view: KeyView) =>
    Object.fromEntries(
      view.products.flatMap(({ versions }) => versions.map((one) => [one.version, one.code])),
    );

  describe('with the key', () => {
    it('an active licence: its end, its slots, and every version', async () => {
      const license = await issue(STUDIO, plan, { expiresAt: days(100) });
      await activate(license, 'a.example', 'b.example');
      const view = await byKey(license);
      expect(view).toEqual({
        standing: { code: 'ACTIVE', until: days(100), nextPayment: null },
        ...{ status: 'active', expiresAt: days(100), nextPayment: null, slots: { limit: 25, used: 2 } },
        ...{ keyHint: license.key.slice(-8), keyEndsAt: null },
        ...{ product: { id: 42, name: 'Example Shop' }, plan: 'Developer', activationType: 'domain' },
        covers: [{ id: 42, name: 'Example Shop' }],
        entries: [{ name: 'Example Shop' }],
        products: [
          {
            ...{
              id: 42,
              name: 'Example Shop',
              renewUrl: null,
              supportUrl: null,
              supportUntil: null,
              latest: '2.1.0',
              more: false,
            },
            versions: [
              expect.objectContaining({ version: '2.1.0', releasedAt: days(-4), changelog: 'Faster start.' }),
              expect.objectContaining({ version: '2.0.9', code: null }),
              expect.objectContaining({ version: '2.0.7', size: expect.any(Number) }),
            ],
          },
        ],
        ...{ renewUrl: null, supportUrl: null, upgradeUrl: null },
      });
      expect(JSON.stringify(view)).not.toMatch(/a\.example|studio/);
    });

    it('a full one, by the limit of the licence or of the key', async () => {
      const license = await issue(STUDIO, plan, { activationLimit: 2 });
      await activate(license, 'a.example');
      expect((await byKey(license)).standing.code).toBe('ACTIVE');
      await activate(license, 'b.example');
      expect((await byKey(license)).standing).toEqual({
        ...{ code: 'FULL', until: null, nextPayment: null, limit: 2 },
      });
      const agency = await issue(STUDIO);
      const client = await addKey(service.db, agency.id, { activationLimit: 1 }, SECRET, byOperator);
      await activate(client, 'c.example');
      const view = await byKey({ id: agency.id, key: client.key });
      expect([view.standing, view.slots]).toEqual([
        { code: 'FULL', until: null, nextPayment: null, limit: 1 },
        { limit: 1, used: 1 },
      ]);
      expect((await byKey(agency)).standing.code).toBe('ACTIVE');
    });

    it('one that has ended downloads nothing, or what its plan still grants', async () => {
      const ended = await byKey(await issue(STUDIO, plan, { expiresAt: days(-11) }));
      expect(ended.standing).toEqual({ code: 'EXPIRED', endedAt: days(-11), stillDownloads: false });
      expect(new Set(Object.values(codesOf(ended)))).toEqual(new Set(['LICENSE_EXPIRED']));
      expect(ended.products[0]?.latest).toBeNull();
      const faithful = await givePlan(service.db, { afterExpiry: 'last_release' }, NOW);
      const license = await issue(STUDIO, faithful, { expiresAt: days(-11) });
      const view = await byKey(license);
      expect(view.standing).toMatchObject({ code: 'EXPIRED', stillDownloads: true });
      expect(codesOf(view)).toEqual({ '2.1.0': 'LICENSE_EXPIRED', '2.0.9': null, '2.0.7': null });
      expect(view.products[0]?.latest).toBe('2.0.9');
    });

    it('a suspended, a revoked and an ended one', async () => {
      const paused = await issue(STUDIO);
      await changeState(service.db, paused.id, 'suspend', byOperator);
      const view = await byKey(paused);
      expect([view.standing.code, codesOf(view)['2.1.0']]).toEqual(['SUSPENDED', 'LICENSE_INACTIVE']);
      for (const transition of ['revoke', 'cancel'] as const) {
        const gone = await issue(STUDIO);
        await changeState(service.db, gone.id, transition, byOperator);
        expect((await byKey(gone)).standing).toEqual({ code: 'WITHDRAWN' });
      }
      const agency = await issue(STUDIO);
      const client = await addKey(service.db, agency.id, { label: 'Bakery' }, SECRET, byOperator);
      await endKey(service.db, agency.id, client.stored.id, { free: false }, byOperator);
      expect(await byKey({ id: agency.id, key: client.key })).toEqual({ endedAt: NOW });
      expect(await findByTypedKey(service.db, client.key, NOW)).toEqual({ unknown: true, length: 35 });
    });

    it('a bundle: everything that it covers, and where to renew it', async () => {
      const club = await givePlan(service.db, { productId: 44 }, NOW);
      await givePlan(service.db, { productId: 43 }, NOW);
      const urls = { renewUrl: 'https://shop.example/club', supportUrl: 'https://shop.example/help' };
      await editProduct(service.db, 44, { includes: [42, 43], ...urls });
      await giveRelease(service, { version: '1.0', productId: 43, date: days(-9) });
      const license = await issue(STUDIO, club);
      const view = await byKey(license);
      expect(view).toMatchObject({ product: { id: 44 }, ...urls });
      expect(view.covers.map(({ id }) => id)).toEqual([44, 42, 43]);
      expect(view.products.map(({ id, latest }) => [id, latest])).toEqual([
        [42, '2.1.0'],
        [43, '1.0'],
      ]);
      expect((await mine(license)).downloads).toEqual([
        { productId: 42, product: 'Example Shop', version: '2.1.0', security: false },
        { productId: 43, product: 'Product 43', version: '1.0', security: false },
      ]);
    });

    it('of many versions, the latest and the one that the licence still includes', async () => {
      const faithful = await givePlan(service.db, { productId: 45, afterExpiry: 'last_release' }, NOW);
      for (let i = 1; i <= 13; i++)
        await giveRelease(service, { version: `1.${i}`, productId: 45, date: days(i - 60) });
      const license = await issue(STUDIO, faithful, { expiresAt: days(-58) });
      const [offered] = (await byKey(license)).products;
      expect(offered).toMatchObject({ latest: '1.2', more: true });
      expect(offered!.versions.map(({ version }) => version)).toEqual([
        ...['1.13', '1.12', '1.11', '1.10', '1.9', '1.8', '1.7', '1.6', '1.5', '1.4', '1.2'],
      ]);
      expect((await byKey(license, { allOf: 45 })).products[0]).toMatchObject({ more: false });
    });

    it('finds a typed key in any form, and states only the length of an unknown one', async () => {
      const license = await issue(STUDIO);
      const found = { licenseId: license.id, keyDigest: keyDigest(license.key) };
      for (const typed of [license.key, ` ${license.key.toLowerCase()}\n`, `dlid=${license.key}`])
        expect(await findByTypedKey(service.db, typed, NOW)).toEqual(found);
      expect(await findByTypedKey(service.db, license.key.slice(0, 31), NOW)).toEqual({
        ...{ unknown: true, length: 31 },
      });
      expect(await findByTypedKey(service.db, ' ', NOW)).toEqual({ unknown: true, length: 0 });
      expect(await byKey({ id: license.id + 1, key: license.key })).toBeUndefined();
    });
  });

  describe('a download', () => {
    const client = { ip: '192.0.2.7', limitKey: '192.0.2.7', userAgent: 'Browser/1' };
    const OF_ACCESS = 'endpoint outcome license_id key_id key_hint product_id version identifier'.split(' ');

    async function logged(userAgent: string): Promise<Record<string, unknown>> {
      let row: Record<string, unknown> | undefined;
      await eventually(async () => {
        row = (await rows(service.db, 'access_log')).findLast((one) => one.user_agent === userAgent);
        expect(row).toBeDefined();
      });
      return Object.fromEntries(OF_ACCESS.map((column) => [column, row?.[column]]));
    }

    it('is decided and logged like one through the API', async () => {
      const licensing = createLicensing(
        service.db,
        () => NOW,
        (error) => {
          throw error;
        },
      );
      const active = await issue(STUDIO);
      const ended = await issue(STUDIO, plan, { expiresAt: days(-11) });
      const agency = await issue(STUDIO);
      const key = (await addKey(service.db, agency.id, { activationLimit: 2 }, SECRET, byOperator)).key;
      const old = await issue(STUDIO);
      await rekey(service.db, old.id, {}, SECRET, byOperator);
      const damaged = await giveRelease(service, { version: '2.0.1', date: days(-200) });
      rmSync(packagePath(service.packagesDir, damaged.release.sha256));
      await giveRelease(service, { version: '2.0.2', date: days(-199) });
      await withdrawRelease(service.db, 42, '2.0.2', new Date());
      const cases: [TestLicense, string | undefined, number, string][] = [
        [active, undefined, 42, 'ok'],
        [active, '2.0.7', 42, 'ok'],
        [{ id: agency.id, key }, '2.0.7', 42, 'ok'],
        [active, '2.0.1', 42, 'FILE_NOT_FOUND'],
        [active, '2.0.2', 42, 'DOWNLOAD_NOT_FOUND'],
        [active, 'no version', 42, 'DOWNLOAD_NOT_FOUND'],
        [active, undefined, 43, 'PRODUCT_MISMATCH'],
        [ended, '2.0.7', 42, 'LICENSE_EXPIRED'],
        [old, undefined, 42, 'LICENSE_NOT_FOUND'],
      ];
      for (const [i, [license, version, productId, outcome]] of cases.entries()) {
        const query = { dlid: license.key, ...(version !== undefined && { version }) };
        await request(service.url)
          .get(`${PREFIX}/downloads/${productId}`)
          .query(query)
          .set('User-Agent', `Api/${i}`);
        const opener = { by: 'key', licenseId: license.id, keyDigest: keyDigest(license.key) } as const;
        const wanted = { productId, version };
        const browser = { ...client, userAgent: `Browser/${i}` };
        const download = await openMyDownload(licensing, service.packagesDir, opener, wanted, browser);
        if (outcome === 'ok') {
          if (!download || 'refused' in download) throw new Error('It was refused.');
          expect(download.path).toBe(packagePath(service.packagesDir, download.release.sha256));
          download.record(true);
        } else expect(download).toEqual({ refused: outcome });
        await licensing.accessLog.flush();
        expect(await logged(`Browser/${i}`)).toEqual(await logged(`Api/${i}`));
        expect(await logged(`Browser/${i}`)).toMatchObject({ endpoint: 'download', outcome });
      }
    });

    it('with the mailed link needs a licence of that address', async () => {
      const licensing = createLicensing(
        service.db,
        () => NOW,
        () => undefined,
      );
      const { id: licenseId } = await issue(STUDIO);
      const wanted = { productId: 42, version: undefined };
      const decide = (email: string) =>
        openMyDownload(licensing, service.packagesDir, { by: 'mail', email, licenseId }, wanted, client);
      expect(await decide(STUDIO)).toMatchObject({ release: { version: '2.1.0' } });
      expect(await decide(OTHER)).toBeUndefined();
    });
  });

  describe('with the link by mail', () => {
    it('shows all licences of the address, with those that need attention first', async () => {
      const email = 'order@example.net';
      const lasting = await issue(email);
      const later = await issue(email, plan, { expiresAt: days(31) });
      const full = await issue(email, plan, { activationLimit: 2 });
      await activate(full, 'full.example', 'full.test.example');
      // One site of one is what was bought, so it needs no attention.
      const single = await issue(email, plan, { activationLimit: 1 });
      await activate(single, 'single.example');
      const gone = await issue(email);
      await changeState(service.db, gone.id, 'revoke', byOperator);
      const endedLongAgo = await issue(email, plan, { expiresAt: days(-200) });
      const ended = await issue(email, plan, { expiresAt: days(-2) });
      const soon = await issue(email, plan, { expiresAt: days(17), reference: `order-${kind}` });
      await issue('someone@example.net');
      expect((await byMail(email)).map(({ id, attention }) => [id, attention])).toEqual([
        [soon.id, 'ENDS_SOON'],
        [ended.id, 'ENDED'],
        [endedLongAgo.id, 'ENDED'],
        [full.id, 'FULL'],
        [later.id, null],
        [lasting.id, null],
        [single.id, null],
        [gone.id, null],
      ]);
      expect((await byMail(email))[0]).toMatchObject({
        ...{ product: { id: 42 }, plan: 'Developer', reference: `order-${kind}` },
        ...{ status: 'active', slots: { limit: 25, used: 0 }, sites: { newest: [], total: 0 } },
        removals: { allowed: 3, left: 3, nextAt: null },
        keys: [{ isMain: true, keyHint: soon.key.slice(-8), canBeShown: true, canBeReplaced: true, used: 0 }],
        downloads: [{ productId: 42, version: '2.1.0' }],
      });
      expect(await byMail('nobody@example.net')).toEqual([]);
    });

    it('an agency with many sites and keys is read by a fixed number of statements', async () => {
      const statementsOf = async (email: string) => {
        let count = 0;
        const counted = () => count++;
        service.db.on('query', counted);
        const licenses = await byMail(email);
        service.db.off('query', counted);
        return { count, licenses };
      };
      const small = 'small@example.net';
      await activate(await issue(small), 'one.example');
      const agency = 'agency@example.net';
      for (let i = 0; i < 6; i++) {
        const license = await issue(agency, plan, { activationLimit: 0 });
        for (let k = 0; k < 4; k++) {
          const { key } = await addKey(service.db, license.id, { label: `C${k}` }, SECRET, byOperator);
          await activate({ key }, `c${k}.l${i}.example`);
        }
        await activate(license, ...Array.from({ length: 6 }, (_, k) => `m${k}.l${i}.example`));
      }
      const { licenses, count } = await statementsOf(agency);
      expect(licenses.map(({ sites, keys }) => [sites.total, sites.newest.length, keys.length])).toEqual(
        Array.from({ length: 6 }, () => [10, 5, 5]),
      );
      expect(licenses[0]?.sites.newest[0]?.identifier).toBe('m5.l0.example');
      expect(licenses[0]?.keys.map(({ used }) => used)).toEqual([6, 1, 1, 1, 1]);
      expect(count).toBe((await statementsOf(small)).count);
    });

    it('lists, filters and finds sites, page by page and as rows of a file', async () => {
      const email = 'sites@example.net';
      const license = await issue(email);
      const names = Array.from({ length: 7 }, (_, i) => `site${i}.example`);
      await activate(license, ...names);
      const second = await issue(email);
      await activate(second, 'bakery.example');
      const elsewhere = await issue('not-me@example.net');
      await activate(elsewhere, 'bakery.example');
      const newest = names.toReversed();
      const identifiers = (sites: MySite[] = []) => sites.map(({ identifier }) => identifier);
      const first = await listMySites(service.db, email, license.id, { limit: 5 });
      expect(identifiers(first?.items)).toEqual(newest.slice(0, 5));
      const rest = await listMySites(service.db, email, license.id, { limit: 5, after: first!.next! });
      expect([identifiers(rest?.items), rest?.next]).toEqual([newest.slice(5), null]);
      const filtered = await listMySites(service.db, email, license.id, { q: 'ITE3', limit: 5 });
      expect(identifiers(filtered?.items)).toEqual(['site3.example']);
      const found = await findMySite(service.db, email, 'https://www.Bakery.example/shop');
      expect(found).toMatchObject({
        items: [{ licenseId: second.id, site: { identifier: 'bakery.example' } }],
        more: false,
      });
      expect((await findMySite(service.db, email, '%')).items).toEqual([]);
      const all: string[] = [];
      for await (const { identifier } of (await mySiteRows(service.db, email, license.id))!)
        all.push(identifier);
      expect(all).toEqual(newest);
    });

    it("another customer's licence is not found, whatever is requested", async () => {
      const license = await issue(STUDIO);
      await activate(license, 'mine.example');
      const site = await siteNamed(license, 'mine.example');
      const { id } = license;
      const secret = { keySecret: SECRET, now: NOW };
      expect(await listMySites(service.db, OTHER, id, { limit: 5 })).toBeUndefined();
      expect(await mySiteRows(service.db, OTHER, id)).toBeUndefined();
      expect(await readMySite(service.db, OTHER, id, site.id, NOW)).toBeUndefined();
      expect(await freeMySite(service.db, OTHER, id, site.id, { now: NOW })).toBeUndefined();
      expect(await newMyKey(service.db, OTHER, id, secret)).toBeUndefined();
      expect(await revealMyKey(service.db, OTHER, id, secret)).toBeUndefined();
      expect((await findMySite(service.db, OTHER, 'mine.example')).items).toEqual([]);
      const foreign = await issue(OTHER);
      expect(await freeMySite(service.db, OTHER, foreign.id, site.id, { now: NOW })).toBeUndefined();
      const keyId = (await findLicense(service.db, id))!.mainKeyId;
      expect(await newMyKey(service.db, OTHER, foreign.id, { keyId, ...secret })).toBeUndefined();
      expect(await revealMyKey(service.db, OTHER, foreign.id, { keyId, ...secret })).toBeUndefined();
      expect((await sitesOf(license)).length).toBe(1);
      expect(await byKey(license)).toMatchObject({ standing: { code: 'ACTIVE' } });
    });

    it('removes as many sites in 30 days as the plan allows, and states when the next can be removed', async () => {
      const license = await issue(STUDIO);
      await activate(license, 'a.example', 'b.example', 'c.example', 'd.example', 'e.example');
      const mails: ChangeMail[] = [];
      const free = async (identifier: string, now: Date) =>
        freeMySite(service.db, STUDIO, license.id, (await siteNamed(license, identifier)).id, {
          now,
          queue: (_trx, mail) => Promise.resolve(mails.push(mail)),
        });
      expect(await free('a.example', NOW)).toEqual({
        freed: 'a.example',
        activationType: 'domain',
        left: 2,
        nextAt: days(30),
      });
      expect(await free('b.example', days(9))).toMatchObject({ left: 1, nextAt: days(30) });
      expect(await free('c.example', days(10))).toEqual({
        freed: 'c.example',
        activationType: 'domain',
        left: 0,
        nextAt: days(30),
      });
      const refused = { refused: 'NO_MOVES_LEFT', nextAt: days(30) };
      expect(await free('d.example', days(29))).toEqual(refused);
      // The limit belongs to the page: removals by the seller and by the client's own call ignore it, and do not count.
      await removeActivation(
        service.db,
        (await findLicense(service.db, license.id))!,
        'e.example',
        byOperator,
      );
      expect(await free('d.example', days(30))).toEqual({
        freed: 'd.example',
        activationType: 'domain',
        left: 0,
        nextAt: days(39),
      });
      expect(mails).toEqual(
        ['a', 'b', 'c', 'd'].map((name) => ({
          ...{ type: 'site_removed', licenseId: license.id, site: `${name}.example`, testSites: [] },
        })),
      );
      const events = (await rows(service.db, 'events')).filter((one) => one.license_id === license.id);
      expect(events.filter(({ actor }) => actor === 'customer').map(({ action }) => action)).toEqual(
        Array(4).fill('deactivate'),
      );
      expect((await mine(license)).slots.used).toBe(0);
    });

    it('a removal whose mail cannot be queued does not happen', async () => {
      const license = await issue(STUDIO);
      await activate(license, 'a.example');
      const queue = () => Promise.reject(new Error('no outbox'));
      const { id } = await siteNamed(license, 'a.example');
      await expect(freeMySite(service.db, STUDIO, license.id, id, { now: NOW, queue })).rejects.toThrow(
        'no outbox',
      );
      await expect(
        newMyKey(service.db, STUDIO, license.id, { keySecret: SECRET, now: NOW, queue }),
      ).rejects.toThrow('no outbox');
      expect(await mine(license)).toMatchObject({ slots: { used: 1 }, removals: { left: 3 } });
      expect((await byKey(license)).standing.code).toBe('ACTIVE');
    });

    it('twenty simultaneous removals do not exceed the limit', async () => {
      const license = await issue(STUDIO);
      await activate(license, ...Array.from({ length: 20 }, (_, i) => `s${i}.example`));
      const answers = await Promise.all(
        (await sitesOf(license)).map(({ id }) =>
          freeMySite(service.db, STUDIO, license.id, id, { now: NOW }),
        ),
      );
      expect(answers.filter((answer) => answer && 'freed' in answer)).toHaveLength(3);
      expect(answers.filter((answer) => answer && 'refused' in answer)).toHaveLength(17);
      expect(await mine(license)).toMatchObject({ slots: { used: 17 }, removals: { left: 0 } });
    });

    it('a site that an offline file holds stays, and no removal is counted', async () => {
      const license = await issue(STUDIO);
      await activate(license, 'held.example');
      const until = days(30);
      await service
        .db(table(service.db, 'activations'))
        .where({ license_id: license.id })
        .update({ held_until: toSqlTime(until) });
      const { id } = await siteNamed(license, 'held.example');
      const refused = await freeMySite(service.db, STUDIO, license.id, id, { now: NOW });
      expect(refused).toEqual({ refused: 'ACTIVATION_HELD', heldUntil: until });
      expect(await mine(license)).toMatchObject({ slots: { used: 1 }, removals: { left: 3 } });
      expect(await freeMySite(service.db, STUDIO, license.id, id, { now: until })).toMatchObject({
        freed: 'held.example',
      });
    });

    it('a plan without removals leaves them to the seller; free staging sites never count', async () => {
      const none = await givePlan(service.db, { selfServiceMoves: 0, freeStaging: true }, NOW);
      const license = await issue(STUDIO, none);
      await activate(license, 'shop.net', 'staging.shop.net');
      const free = async (identifier: string) =>
        freeMySite(service.db, STUDIO, license.id, (await siteNamed(license, identifier)).id, { now: NOW });
      expect(await free('shop.net')).toEqual({ refused: 'NO_MOVES_LEFT', nextAt: null });
      expect(await free('staging.shop.net')).toEqual({
        ...{ freed: 'staging.shop.net', activationType: 'domain', left: 0 },
        nextAt: null,
      });
      await editPlan(service.db, none, { selfServiceMoves: 2 });
      await activate(license, 'staging.shop.net');
      expect(await free('shop.net')).toMatchObject({ left: 1 });
      expect(await sitesOf(license)).toEqual([]);
    });

    it('makes a new key, at once or with an overlap, and shows a kept one', async () => {
      const license = await issue(STUDIO);
      const mails: ChangeMail[] = [];
      const queue = (_trx: unknown, mail: ChangeMail) => Promise.resolve(mails.push(mail));
      const changing = { keySecret: SECRET, now: NOW, queue };
      const first = await newMyKey(service.db, STUDIO, license.id, { overlap: '14d', ...changing });
      if (!first || 'refused' in first) throw new Error('It was refused.');
      expect(first).toMatchObject({ keyHint: first.key.slice(-8), oldEndsAt: days(14) });
      expect(await byKey(license)).toMatchObject({ keyEndsAt: days(14), standing: { code: 'ACTIVE' } });
      expect(mails).toEqual([{ type: 'key_changed', licenseId: license.id, keyId: first.keyId }]);
      const [main, old] = (await mine(license)).keys;
      expect([main, old]).toMatchObject([
        { id: first.keyId, isMain: true, canBeReplaced: true },
        { endsAt: days(14), isMain: false, canBeReplaced: false },
      ]);
      expect(await newMyKey(service.db, STUDIO, license.id, { keyId: old!.id, ...changing })).toEqual({
        refused: 'KEY_ENDED',
      });
      const second = await newMyKey(service.db, STUDIO, license.id, changing);
      expect(second).toMatchObject({ oldEndsAt: NOW });
      expect(await byKey({ id: license.id, key: first.key })).toEqual({ endedAt: NOW });
      const reveal = (keyId?: number, keySecret: Buffer | undefined = SECRET) =>
        revealMyKey(service.db, STUDIO, license.id, { keyId, keySecret, now: NOW });
      expect(await reveal()).toMatchObject({ key: (second as { key: string }).key });
      expect(await reveal(first.keyId)).toEqual({ refused: 'KEY_ENDED' });
      expect(await reveal(undefined, Buffer.alloc(32, 8))).toEqual({ refused: 'KEY_NOT_KEPT' });
      const events = (await rows(service.db, 'events')).filter((one) => one.license_id === license.id);
      expect(events.map(({ action, actor }) => [action, actor])).toEqual([
        ['issue', 'operator:test'],
        ['rekey', 'customer'],
        ['rekey', 'customer'],
        ['reveal', 'customer'],
      ]);
    });

    it('an operator may add a site that a customer removed, even over the limit', async () => {
      const license = await issue(STUDIO, plan, { activationLimit: 1 });
      await activate(license, 'a.example');
      const { id } = await siteNamed(license, 'a.example');
      await freeMySite(service.db, STUDIO, license.id, id, { now: NOW });
      const stored = (await findLicense(service.db, license.id))!;
      await addActivation(service.db, stored, { identifier: 'a.example' }, byOperator);
      expect((await mine(license)).standing.code).toBe('FULL');
    });
  });
});

describe('the sentences', () => {
  const until = new Date('2027-03-03T23:59:59Z');
  const endedAt = new Date('2026-11-12T23:59:59Z');
  const [en, de] = [CUSTOMERS.en.sentences, CUSTOMERS.de.sentences];

  it('state the condition of a licence', () => {
    const told = (standing: Parameters<typeof tellStanding>[1], type = 'domain') =>
      [en, de].map((language) => tellStanding(language, standing, type).sentence);
    const end = { until, nextPayment: null };
    expect(told({ code: 'ACTIVE', until, nextPayment: 'by_itself' })).toEqual([
      'Your licence is paid until 3 Mar 2027, and renews automatically. Updates work.',
      'Ihre Lizenz ist bis 03.03.2027 bezahlt und verlängert sich von selbst. Updates funktionieren.',
    ]);
    expect(told({ code: 'ACTIVE', until, nextPayment: 'awaited' })).toEqual([
      'Your licence is paid until 3 Mar 2027, and its renewal is expected. Updates work.',
      'Ihre Lizenz ist bis 03.03.2027 bezahlt, und ihre Verlängerung wird erwartet. Updates funktionieren.',
    ]);
    expect(told({ code: 'ACTIVE', ...end })).toEqual([
      'Your licence is valid until 3 Mar 2027. Updates work.',
      'Ihre Lizenz ist gültig bis 03.03.2027. Updates funktionieren.',
    ]);
    expect(told({ code: 'FULL', ...end, limit: 25 })[0]).toBe(
      'All 25 sites are used. Updates work, but a new site is refused until one is removed.',
    );
    expect(told({ code: 'FULL', ...end, limit: 1 })).toEqual([
      'Your licence is valid until 3 Mar 2027. Updates work. The only site is in use.',
      'Ihre Lizenz ist gültig bis 03.03.2027. Updates funktionieren. Die einzige Website ist belegt.',
    ]);
    expect(told({ code: 'FULL', ...end, limit: 3 }, 'seat')[1]).toBe(
      'Alle 3 Nutzer sind belegt. Updates funktionieren, aber ein neuer Nutzer wird abgelehnt, bis ein Platz frei wird.',
    );
    expect(told({ code: 'EXPIRED', endedAt, stillDownloads: false })).toEqual([
      'Your licence ended on 12 Nov 2026.',
      'Ihre Lizenz ist am 12.11.2026 abgelaufen.',
    ]);
    expect(told({ code: 'SUSPENDED' })[0]).toBe('Your licence is paused. Please ask the seller.');
    expect(told({ code: 'WITHDRAWN' })[0]).toBe('This licence was withdrawn by the seller.');
    expect(tellStanding(en, { code: 'SUSPENDED' }, 'domain').meaning).toContain('Joomla says');
    expect(tellStanding(en, { code: 'ACTIVE', ...end }, 'domain').meaning).toBeNull();
  });

  it('state what is left and what is wrong', () => {
    expect(en.unknownKey({ length: 31 })).toBe(
      'No licence has this key. Please copy it again as a whole: this one has 31 characters.',
    );
    const nextAt = new Date('2026-12-14T10:00:00Z');
    const activationType = 'domain';
    expect(en.removalsLeft({ allowed: 3, left: 2, nextAt, activationType })).toBe(
      'You can remove 2 more until 14 Dec 2026.',
    );
    expect(en.noMovesLeft({ allowed: 3, nextAt, activationType })).toBe(
      'You have removed 3 sites within 30 days. You can remove the next on 14 Dec 2026, or ask the seller.',
    );
    const facts = { product: 'Form Kit', endsAt: days(17), days: 17, limit: 1, activationType };
    expect(en.attention.ENDS_SOON(facts)).toBe(
      'Form Kit ends in 17 days, on 10 Dec 2026. Until then nothing changes.',
    );
    expect(de.attention.ENDS_SOON(facts)).toBe(
      'Form Kit läuft in 17 Tagen ab, am 10.12.2026. Bis dahin ändert sich nichts.',
    );
  });
});

test('the command says where customers get a larger licence', async () => {
  const place = await newPlace('SQLite');
  const service = await startTestService(place);
  const shop = operator(place);
  await shop.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
  const add = 'plan add --product 42 --activation-type domain --activation-limit 3 --name One'.split(' ');
  const edit = ['plan', 'edit', '1', '--upgrade-url'];
  const url = 'https://shop.example/upgrade';
  expect((await shop.run([...add, '--upgrade-url', 'http://shop.example'])).code).toBe(2);
  expect(await shop.json([...add, '--upgrade-url', url])).toMatchObject({ upgrade_url: url });
  expect((await shop.run(['plan', 'list'])).stdout).toContain('upgrade at');
  expect((await shop.run([...edit, `https://shop.example/${'x'.repeat(500)}`])).code).toBe(2);
  expect(await shop.json([...edit, 'none'])).toMatchObject({ upgrade_url: null });
  await service.stop();
});

test('the command sets how many sites customers may remove', async () => {
  const place = await newPlace('SQLite');
  const service = await startTestService(place);
  const shop = operator(place);
  await shop.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
  const add = 'plan add --product 42 --activation-type domain --activation-limit 3 --name'.split(' ');
  expect(await shop.json([...add, 'One'])).toMatchObject({ self_service_moves: 3 });
  const two = await shop.json<{ id: number }>([...add, 'Two', '--self-service-moves', '0']);
  expect(two).toMatchObject({ self_service_moves: 0 });
  expect((await shop.run(['plan', 'list'])).stdout).toContain('0 self-service moves');
  const edit = ['plan', 'edit', String(two.id), '--self-service-moves'];
  expect(await shop.json([...edit, '10'])).toMatchObject({ self_service_moves: 10 });
  expect((await shop.run([...edit, '-1'])).code).toBe(2);
  await service.stop();
});
