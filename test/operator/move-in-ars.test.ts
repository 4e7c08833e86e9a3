import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { canonicalKey, keyDigest } from '../../src/licensing/core/keys';
import { readUpdateXmlOptions, setUpdateXmlOptions } from '../../src/joomla/update-xml/options';
import { table, type Db } from '../../src/store/engine/database';
import { makeArs } from '../support/ars';
import { fillTable } from '../support/membership-pro';
import { operator, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { newPlace, PREFIX, rows, startTestService, type TestService } from '../support/service';

/** A move from Akeeba Release System, for a database user who can only read its tables. */

interface Moved {
  id: number | null;
  new: number;
  plans: { key: string; name: string; licenses: number }[];
  warnings: { code: string; count: number }[];
  left_out: { code: string; reason: string; count: number }[];
}

const hex = () => randomBytes(16).toString('hex');
const KEYS = Array.from({ length: 8 }, hex);
const key = (i: number) => KEYS[i] as string;
const SITE = 'site_';

const payment = (
  id: number,
  user: number,
  level: number,
  from: number,
  to: number,
  state: string,
  more = {},
) => ({
  ...{ akeebasubs_subscription_id: id, user_id: user, akeebasubs_level_id: level, state },
  ...{ publish_up: `${from}-01-01 00:00:00`, publish_down: `${to}-01-01 00:00:00` },
  ...{ enabled: from <= 2026 && to > 2026 ? 1 : 0, processor_key: `P${id}`, ...more },
});

const SHOP = {
  users: [101, 102, 103, 104, 105, 106].map((id) => ({
    id,
    name: `User ${id}`,
    email: `USER${id}@example.com`,
  })),
  akeebasubs_levels: [
    { akeebasubs_level_id: 1, title: 'Backup Pro', duration: 365 },
    { akeebasubs_level_id: 2, title: 'Tickets', duration: 365 },
  ],
  akeebasubs_subscriptions: [
    // A renewal that was paid early extends the end.
    payment(1, 101, 1, 2026, 2027, 'C'),
    payment(2, 101, 1, 2027, 2028, 'C'),
    // The renewal was refunded.
    payment(3, 102, 1, 2026, 2027, 'C'),
    payment(4, 102, 1, 2027, 2028, 'X'),
    // Everything was refunded: an active row of the same payment does not count.
    payment(5, 103, 1, 2026, 2027, 'X', { processor_key: 'SAME' }),
    payment(6, 103, 1, 2026, 2027, 'C', { processor_key: 'SAME' }),
    payment(7, 104, 1, 2026, 2027, 'N'),
    payment(8, 104, 2, 2020, 2021, 'C'),
    payment(9, 105, 1, 2026, 2040, 'C'),
    payment(10, 106, 9, 2026, 2027, 'C'),
  ],
  ars_log: [
    { user_id: 101, item_id: 1, accessed_on: '2026-01-05 10:00:00', authorized: 1, ip: '192.0.2.1' },
    { user_id: 101, item_id: 2, accessed_on: '2026-02-05 10:00:00', authorized: 1, ip: '192.0.2.1' },
    { user_id: 101, item_id: 2, accessed_on: '2026-03-05 10:00:00', authorized: 0, ip: '192.0.2.1' },
  ],
  ars_dlidlabels: [
    { id: 1, user_id: 101, primary: 0, title: 'Client', dlid: key(1), published: 1 },
    { id: 2, user_id: 101, primary: 1, title: '_MAIN_', dlid: key(0), published: 1 },
    { id: 3, user_id: 101, primary: 0, title: 'Gone', dlid: key(2), published: 0 },
    { id: 4, user_id: 102, primary: 1, title: '_MAIN_', dlid: key(3), published: 1 },
    { id: 5, user_id: 103, primary: 1, title: '_MAIN_', dlid: key(4), published: 1 },
    { id: 6, user_id: 104, primary: 1, title: '_MAIN_', dlid: key(5), published: 1 },
    { id: 7, user_id: 999, primary: 1, title: '_MAIN_', dlid: key(6), published: 1 },
  ],
};

describe('moving in from Akeeba Release System', () => {
  let settings: Settings;
  let service: TestService;
  let db: Db;
  let seller: Operator;
  const validate = async (license_key: string) => {
    const answer = await request(service.url).post(`${PREFIX}/licenses/validate`).send({ license_key });
    return (answer.body as { data: object }).data;
  };
  const isEnded = async (text: string) => {
    const digest = keyDigest(canonicalKey(text));
    const [row] = await db(table(db, 'license_keys')).where({ key_digest: digest });
    return row!.ends_at !== null;
  };
  const move = (...args: string[]) => seller.json<Moved>(['import', '--from', 'ars', ...args]);

  beforeAll(async () => {
    settings = {
      ...(await newPlace('MariaDB')),
      LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
    };
    service = await startTestService(settings);
    ({ db } = service);
    seller = operator(settings);
    await makeArs(db, SITE);
    await fillTable(db, SITE, SHOP);
    await db(`${SITE}usergroups`).insert([
      { id: 2, title: 'Registered' },
      { id: 20, title: 'Club' },
    ]);
    await db(`${SITE}user_usergroup_map`).insert([
      { user_id: 101, group_id: 2 },
      { user_id: 101, group_id: 20 },
      { user_id: 102, group_id: 2 },
    ]);
  });
  afterAll(() => service.stop());

  it('reads what users have bought, by a user who may only read the site', async () => {
    const moved = await asReader((reader) =>
      reader.json<Moved>(['import', '--from', 'ars', '--make-plans', '--site-prefix', SITE]),
    );
    expect(moved).toMatchObject({ new: 5 });
    expect(moved.plans).toMatchObject([
      { key: '1', name: 'Backup Pro', licenses: 4 },
      { key: '2', name: 'Tickets', licenses: 1 },
    ]);
    expect(Object.fromEntries(moved.left_out.map(({ reason, count }) => [reason, count]))).toEqual({
      'it was never paid (new or pending)': 1,
      'its level no longer exists': 1,
      'a Download ID whose user has nothing that is moved': 1,
    });
    const licenses = await rows<{
      reference: string;
      status: string;
      expires_at: string | null;
      customer: string;
    }>(db, 'licenses');
    expect(licenses.map(({ reference, status, expires_at }) => [reference, status, expires_at])).toEqual([
      ['ars:akeebasubs-101-1', 'active', '2028-01-01 00:00:00'],
      ['ars:akeebasubs-102-1', 'active', '2027-01-01 00:00:00'],
      ['ars:akeebasubs-103-1', 'cancelled', '2027-01-01 00:00:00'],
      ['ars:akeebasubs-104-2', 'active', '2021-01-01 00:00:00'],
      ['ars:akeebasubs-105-1', 'active', null],
    ]);
    expect(licenses[0]).toMatchObject({
      customer: 'user101@example.com',
      // The latest download that was granted.
      ...{ last_check_at: '2026-02-05 10:00:00', last_check_ip: null, check_count: 0 },
    });
    expect(licenses[1]).toMatchObject({ last_check_at: null });
  });

  it('accepts the old Download IDs in every spelling', async () => {
    for (const text of [key(0), key(0).toUpperCase(), `101:${key(1)}`, `101:${key(1).toUpperCase()}`])
      expect(await validate(text)).toMatchObject({ valid: true, plan: 'Backup Pro' });
    // An unpublished Download ID is imported as an ended key.
    expect(await isEnded(key(2))).toBe(true);
    expect(await isEnded(key(1))).toBe(false);
    expect(await validate(key(4))).toMatchObject({ valid: false, status: 'cancelled' });
    expect(await validate(key(5))).toMatchObject({ valid: false, status: 'expired' });
  });

  it('ends a Download ID that was unpublished since the last run, and brings a new one', async () => {
    await db(`${SITE}ars_dlidlabels`).where({ id: 1 }).update({ published: 0 });
    await db(`${SITE}ars_dlidlabels`).insert({ id: 8, user_id: 102, dlid: key(7), title: 'New' });
    expect(await move()).toMatchObject({ new: 0, changed: 2, same: 3 });
    expect(await isEnded(key(1))).toBe(true);
    expect(await validate(key(7))).toMatchObject({ valid: true });
    expect(await move()).toMatchObject({ new: 0, changed: 0, same: 5 });
  });

  it("publishes the versions that are in the site's folder, in their order", async () => {
    const root = temporaryFolder();
    mkdirSync(join(root, 'arsrepo/pro'), { recursive: true });
    writeFileSync(
      join(root, 'configuration.php'),
      "<?php\nclass JConfig {\n\tpublic $dbtype = 'mysqli';\n\tpublic $host = 'localhost';\n\tpublic $user = 'x';\n\tpublic $password = 'x';\n\tpublic $db = 'x';\n\tpublic $dbprefix = '';\n\tpublic $secret = 'x';\n}",
    );
    const manifest = (version: string) =>
      `<?xml version="1.0"?><extension type="package" method="upgrade"><name>Pro</name><packagename>pro</packagename><version>${version}</version></extension>`;
    const packages = await Promise.all(
      ['1.9.0', '1.10.0', '2.0.0'].map((version) => makePackage({ 'pkg_pro.xml': manifest(version) })),
    );
    packages.forEach(({ bytes }, i) => writeFileSync(join(root, 'arsrepo/pro', `pro-${i}.zip`), bytes));
    const sha = (i: number) => createHash('sha256').update(packages[i]!.bytes).digest('hex');
    const item = (id: number, release_id: number, filename: string, more = {}) => ({
      id,
      release_id,
      filename,
      type: 'file',
      updatestream: 1,
      ...more,
    });
    await seller.json(['product', 'add', '--name', 'Pro', '--id', '42', '--element', 'pkg_pro']);
    await fillTable(db, SITE, {
      ars_categories: [
        { id: 1, title: 'Pro', directory: 'arsrepo/pro' },
        { id: 2, title: 'Other' },
      ],
      ars_updatestreams: [{ id: 1, element: 'pkg_pro', category: 1 }],
      ars_environments: [
        { id: 33, title: 'Joomla! 4.1', xmltitle: 'joomla/4.1' },
        { id: 34, title: 'Joomla! 5', xmltitle: 'joomla/5' },
        { id: 35, title: 'PHP 8.1', xmltitle: 'php/8.1' },
      ],
      ars_releases: [
        {
          id: 1,
          category_id: 1,
          version: '1.10.0',
          notes: '<ul><li>Faster &amp; better</li></ul>',
          created: '2025-02-01 10:00:00',
          published: 1,
        },
        {
          id: 2,
          category_id: 1,
          version: '1.9.0',
          notes: null,
          created: '2025-01-01 10:00:00',
          published: 1,
        },
        { id: 3, category_id: 1, version: '2.0.0', notes: null, created: null, published: 1 },
        { id: 4, category_id: 1, version: '2.1.0', notes: null, created: null, published: 0 },
        { id: 5, category_id: 1, version: '1.0.0', notes: null, created: null, published: 1 },
        { id: 6, category_id: 2, version: '1.0.0', notes: null, created: null, published: 1 },
      ],
      ars_items: [
        item(1, 1, 'pro-1.zip', { sha256: sha(1) }),
        item(2, 2, 'pro-0.zip', { sha256: sha(0) }),
        // The file was replaced without ARS.
        item(3, 3, 'pro-2.zip', { sha256: sha(1), environments: '["33","34"]' }),
        item(4, 1, 'manual.zip', { updatestream: null }),
        item(5, 5, '../../../etc/hosts.zip'),
      ],
    });
    const sites = operator({ ...settings, LICENSING_JOOMLA_ROOT: root });
    const releases = (...args: string[]) =>
      sites.json<{
        releases: { version: string; published: boolean }[];
        left_out: { version: string | null; reason: string }[];
        environments: object;
        target_platforms: object;
      }>(['import', '--from', 'ars', '--site-prefix', SITE, '--releases', ...args]);
    const platform = async () => (await readUpdateXmlOptions(db, 42)).target_platform;
    const dry = await releases('--dry-run');
    expect(dry.releases.map(({ version, published }) => [version, published])).toEqual([
      ['1.9.0', false],
      ['1.10.0', false],
    ]);
    expect(dry.left_out.map(({ version, reason }) => [version, reason])).toEqual([
      ['1.0.0', 'its file is outside the site'],
      ['2.0.0', 'its file is not the one that was released there: the SHA-256 differs'],
      [null, 'no product here has the element of its update stream: name it'],
    ]);
    expect(dry.environments).toEqual({ 42: ['joomla/4.1', 'joomla/5'] });
    expect(dry.target_platforms).toEqual({ 42: '(4\\.1\\.|5\\.[0-9]+)' });
    expect(await platform()).toBe(null);
    expect(await rows(db, 'releases')).toEqual([]);
    expect((await releases()).releases).toMatchObject([
      { published: true, reason: null },
      { published: true, reason: null },
    ]);
    expect(await platform()).toBe('(4\\.1\\.|5\\.[0-9]+)');
    expect(await rows<object>(db, 'releases')).toMatchObject([
      { version: '1.9.0', state: 'published', published_at: '2025-01-01 10:00:00' },
      { version: '1.10.0', changelog: '- Faster & better', sha256: sha(1) },
    ]);
    // The target platform is set only if there is none.
    await setUpdateXmlOptions(db, 42, { target_platform: '6\\.[0-9]+' });
    expect(await releases()).toMatchObject({ releases: [], target_platforms: {} });
    expect(await platform()).toBe('6\\.[0-9]+');
    const refused = await sites.run(['import', '--from', 'ars', '--site-prefix', SITE, '--releases', '7=42']);
    expect(refused.stderr).toContain('no category 7');
  });

  it('takes user groups for plans if there is no subscription component', async () => {
    await db.raw(`RENAME TABLE ${SITE}akeebasubs_subscriptions TO ${SITE}gone`);
    const dry = await move('--dry-run');
    expect(dry.plans).toMatchObject([{ key: '20', name: 'Club', licenses: 1 }]);
  });

  const licensesOf = async (source: string) =>
    (
      await rows<{ reference: string; status: string; expires_at: string | null; customer: string }>(
        db,
        'licenses',
      )
    )
      .filter(({ reference }) => reference.startsWith(`ars:${source}-`))
      .map(({ reference, status, expires_at }) => [
        reference.slice(`ars:${source}-`.length),
        status,
        expires_at,
      ]);

  it('reads the subscriptions of Payplans, with the same Download IDs', async () => {
    await db.raw(`CREATE TABLE ${SITE}payplans_plan (
      plan_id int NOT NULL AUTO_INCREMENT PRIMARY KEY, title varchar(255) NOT NULL, published tinyint DEFAULT 1)`);
    await db.raw(`CREATE TABLE ${SITE}payplans_subscription (
      subscription_id int NOT NULL AUTO_INCREMENT PRIMARY KEY, order_id int NOT NULL DEFAULT 0, user_id int NOT NULL,
      plan_id int NOT NULL, status int NOT NULL DEFAULT 0, total decimal(15,5) DEFAULT 0,
      subscription_date datetime DEFAULT '0000-00-00 00:00:00', expiration_date datetime DEFAULT '0000-00-00 00:00:00',
      cancel_date datetime DEFAULT '0000-00-00 00:00:00', params text)`);
    await fillTable(db, SITE, {
      payplans_plan: [{ plan_id: 5, title: 'Backup yearly' }],
      payplans_subscription: [
        [1, 101, 1601, '2030-01-01 00:00:00'],
        [2, 102, 1602, '2030-01-01 00:00:00'],
        [3, 103, 1603, '2025-01-01 00:00:00'],
        [4, 104, 0, '2030-01-01 00:00:00'],
        // Without an end, the licence never expires.
        [5, 105, 1601, null],
      ].map(([subscription_id, user_id, status, expiration_date]) => ({
        ...{ subscription_id, user_id, status, expiration_date, plan_id: 5 },
        subscription_date: '2024-01-01 00:00:00',
      })),
    });
    // Two moves within one second could not be told apart, which does not happen in practice.
    await db(table(db, 'license_keys')).update({ created_at: '2026-01-01 00:00:00' });
    const moved = await move('--make-plans');
    expect(moved.plans.filter(({ licenses }) => licenses > 0)).toMatchObject([
      { key: '5', name: 'Backup yearly', licenses: 4 },
    ]);
    expect(moved.left_out).toContainEqual(expect.objectContaining({ code: 'never-paid', count: 1 }));
    expect(await licensesOf('payplans')).toEqual([
      ['101-5', 'active', '2030-01-01 00:00:00'],
      ['102-5', 'suspended', '2030-01-01 00:00:00'],
      ['103-5', 'active', '2025-01-01 00:00:00'],
      ['105-5', 'active', null],
    ]);
    // The keys moved here from the licences that came from Akeeba Subscriptions.
    expect(await validate(key(0))).toMatchObject({ valid: true, plan: 'Backup yearly' });
    // Undoing the move must not delete the keys, because sites use them.
    const undone = await seller.json<{ removed: object; left: object[] }>([
      'import',
      '--undo',
      String(moved.id),
    ]);
    expect(undone).toMatchObject({
      removed: { licenses: 1 },
      left: expect.arrayContaining([expect.objectContaining({ kind: 'license', code: 'older-key' })]),
    });
    expect(await validate(key(0))).toMatchObject({ valid: true, plan: 'Backup yearly' });
    await db.raw(`DROP TABLE ${SITE}payplans_subscription`);
  });

  it('reads RD-Subscriptions, after the columns are confirmed', async () => {
    await db.raw(`CREATE TABLE ${SITE}rd_subs_products (
      id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(255) NOT NULL)`);
    await db.raw(`CREATE TABLE ${SITE}rd_subs_product2user (
      id int NOT NULL AUTO_INCREMENT PRIMARY KEY, order_id int, product_id int, userid int, valid_to datetime NULL)`);
    await db.raw(`CREATE TABLE ${SITE}rd_subs_orders (
      id int NOT NULL AUTO_INCREMENT PRIMARY KEY, ordercode varchar(50), product_id int, date datetime)`);
    await db.raw(`CREATE TABLE ${SITE}rd_subs_invoices (
      id int NOT NULL AUTO_INCREMENT PRIMARY KEY, ordercode varchar(50), userid int, refund_invoice int DEFAULT 0)`);
    await fillTable(db, SITE, {
      rd_subs_products: [{ id: 3, name: 'Gallery' }],
      rd_subs_orders: [
        { id: 1, ordercode: 'A1', product_id: 3 },
        { id: 2, ordercode: 'A2', product_id: 3 },
        { id: 3, ordercode: 'A3', product_id: 3 },
      ],
      rd_subs_invoices: [
        { ordercode: 'A1', userid: 101, refund_invoice: 0 },
        { ordercode: 'A2', userid: 102, refund_invoice: 1 },
      ],
      rd_subs_product2user: [
        { order_id: 1, product_id: 3, userid: 101, valid_to: '2029-01-01 00:00:00' },
        { order_id: 3, product_id: 3, userid: 101, valid_to: '2031-01-01 00:00:00' },
        { order_id: 2, product_id: 3, userid: 102, valid_to: '2029-01-01 00:00:00' },
        { order_id: 9, product_id: 8, userid: 103, valid_to: '2029-01-01 00:00:00' },
      ],
    });
    const refused = await seller.run(['import', '--from', 'ars', '--make-plans']);
    expect(refused.stderr).toContain('rd_subs_product2user.valid_to');
    const moved = await move('--make-plans', '--confirm-columns');
    expect(moved.left_out).toContainEqual(expect.objectContaining({ code: 'product-gone', count: 1 }));
    expect(await licensesOf('rdsubs')).toEqual([
      ['101-3', 'active', '2031-01-01 00:00:00'],
      ['102-3', 'cancelled', '2029-01-01 00:00:00'],
    ]);
    await db.raw(`DROP TABLE ${SITE}rd_subs_product2user`);
  });

  it('names the tables that are missing', async () => {
    await db.raw(`DROP TABLE ${SITE}ars_dlidlabels`);
    const refused = await seller.run(['import', '--from', 'ars', '--dry-run']);
    expect(refused.stderr).toContain('there is no table whose name ends in ars_dlidlabels');
  });

  /** Runs a command as a database user who can change the service's tables, but only read the site's. */
  async function asReader<T>(work: (reader: Operator) => Promise<T>): Promise<T> {
    const url = new URL(settings.LICENSING_DATABASE_URL as string);
    const database = url.pathname.slice(1);
    const name = `reader_${randomBytes(6).toString('hex')}`;
    const root = await createConnection({
      socketPath: process.env.TEST_MARIADB_SOCKET as string,
      user: 'root',
      database,
    });
    try {
      await root.query(`CREATE USER ${name}@'127.0.0.1' IDENTIFIED BY 'secret'`);
      for (const one of [
        'users',
        'usergroups',
        'user_usergroup_map',
        'ars_dlidlabels',
        'ars_categories',
        'ars_log',
        'akeebasubs_levels',
        'akeebasubs_subscriptions',
      ])
        await root.query(`GRANT SELECT ON ${database}.${SITE}${one} TO ${name}@'127.0.0.1'`);
      const [own] = await root.query(`SHOW TABLES LIKE '${table(db, 'licenses').replace('licenses', '')}%'`);
      for (const row of own as Record<string, string>[])
        await root.query(
          `GRANT SELECT, INSERT, UPDATE, DELETE ON ${database}.${Object.values(row)[0] as string} TO ${name}@'127.0.0.1'`,
        );
    } finally {
      await root.end();
    }
    url.username = name;
    url.password = 'secret';
    return work(operator({ ...settings, LICENSING_DATABASE_URL: url.href }));
  }
});
