import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Db } from '../../src/store/engine/database';
import { ars } from '../../src/transfer/moving/ars';
import { hikaSerial } from '../../src/transfer/moving/hikaserial';
import { membershipPro } from '../../src/transfer/moving/membershippro';
import { moveLicensesIn, type MoveOptions } from '../../src/transfer/moving/run';
import type { MovingSource } from '../../src/transfer/moving/source';
import { undoImport } from '../../src/transfer/moving/undo';
import { newPlace, rows, startTestService, type TestService } from '../support/service';

/**
 * Whole moves from tables as they exist in the field: another prefix, a second copy of the tables, MyISAM in latin1,
 * missing columns of an older version, and cells with unexpected values.
 */

const NOW = new Date('2026-06-01T12:00:00Z');
const KEY = (n: number) => `${n}41D8CD98F00B204E9800998ECF8427E`.slice(-32).padStart(32, 'A');

interface Stored {
  reference: string;
  customer: string | null;
  status: string;
  expires_at: string | null;
  activation_limit: number;
}

let service: TestService;
let db: Db;
beforeAll(async () => {
  service = await startTestService(await newPlace('MariaDB'), NOW);
  ({ db } = service);
});
afterAll(() => service.stop());

/** Creates tables as they were made before 2010: without defaults, and in latin1. */
async function make(prefix: string, tables: Record<string, string>): Promise<void> {
  for (const [name, columns] of Object.entries(tables))
    await db.raw(`CREATE TABLE ${prefix}${name} (${columns}) ENGINE=MyISAM DEFAULT CHARSET=latin1`);
}
const fill = async (prefix: string, all: Record<string, object[]>) => {
  for (const [name, some] of Object.entries(all)) await db(`${prefix}${name}`).insert(some);
};

const run = (source: MovingSource, more: Partial<MoveOptions> = {}) =>
  moveLicensesIn(db, {
    ...{ source, makePlans: true, dryRun: false, confirmed: true, sitePrefix: 'abc_', secret: undefined },
    ...{ actor: 'operator:test', now: NOW, ...more },
  });
const licenses = async () =>
  (await rows<Stored>(db, 'licenses')).map(
    ({ reference, customer, status, expires_at, activation_limit }) => [
      ...[reference, customer, status, expires_at, activation_limit],
    ],
  );

/** Tries the move, makes it, repeats it and undoes it. @returns the licences that it brought, and the rows that it left out */
async function cycle(source: MovingSource) {
  const dry = await run(source, { dryRun: true });
  expect(await licenses()).toEqual([]);
  const { id, ...moved } = await run(source);
  expect([moved.new, moved.leftOut]).toEqual([dry.new, dry.leftOut]);
  const here = await licenses();
  expect(await run(source, { makePlans: false })).toMatchObject({
    new: 0,
    changed: 0,
    kept: 0,
    same: dry.new,
  });
  expect(await licenses()).toEqual(here);
  const undone = await undoImport(db, id as number, { now: NOW });
  expect([undone.removed.license, undone.left]).toEqual([dry.new, []]);
  expect(await licenses()).toEqual([]);
  return {
    here,
    leftOut: Object.fromEntries(dry.leftOut.map(({ code, rows: some }) => [code, some])),
    warnings: Object.fromEntries(dry.warnings.map(({ code, rows: some }) => [code, some])),
  };
}

describe('moves from tables of the field', () => {
  it('of Membership Pro, whose tables exist twice and lack optional columns', async () => {
    const tables = {
      osmembership_plans: 'id int PRIMARY KEY, title varchar(255)',
      osmembership_subscribers:
        'id int PRIMARY KEY, plan_id int, user_id int, email varchar(100), first_name varchar(50), plan_main_record tinyint, plan_subscription_status tinyint, plan_subscription_from_date datetime, plan_subscription_to_date datetime',
      osmembership_downloadids:
        'id int PRIMARY KEY, user_id int, download_id varchar(50), domain varchar(255)',
    };
    for (const prefix of ['abc_', 'bak_']) await make(prefix, tables);
    await expect(run(membershipPro, { sitePrefix: undefined })).rejects.toMatchObject({
      field: 'site_prefix',
      facts: { code: 'several-sites', facts: ['abc_', 'bak_'] },
    });
    await expect(run(membershipPro, { sitePrefix: 'nope_' })).rejects.toMatchObject({
      facts: { code: 'missing-columns' },
    });
    await db.raw("SET sql_mode = ''");
    const one = (id: number, user_id: number | null, to: string | null, more = {}) => ({
      ...{
        id,
        plan_id: 3,
        user_id,
        email: `user${id}@example.com`,
        first_name: 'Jürgen',
        plan_main_record: 1,
      },
      ...{ plan_subscription_status: 1, plan_subscription_from_date: '2026-01-01 00:00:00' },
      ...{ plan_subscription_to_date: to, ...more },
    });
    await fill('abc_', {
      osmembership_plans: [{ id: 3, title: 'Jahresabo für Händler' }],
      osmembership_subscribers: [
        one(1, 11, '2030-01-01 00:00:00'),
        one(2, null, '2030-01-01 00:00:00'),
        one(3, 13, '2026-02-00 00:00:00'),
        one(4, 14, '0000-00-00 00:00:00'),
        one(5, 15, '9999-12-31 23:59:59'),
        one(6, 16, null, { plan_subscription_from_date: '9999-06-01 00:00:00' }),
      ],
      osmembership_downloadids: [11, 13, 14].map((user_id, i) => ({ id: i, user_id, download_id: KEY(i) })),
    });
    const { here, leftOut } = await cycle(membershipPro);
    expect(here).toEqual([
      ['membershippro:2', 'user2@example.com', 'active', '2030-01-01 00:00:00', 0],
      ['membershippro:1', 'user1@example.com', 'active', '2030-01-01 00:00:00', 0],
      // Its end is missing. It gets the plan's period, which is the period of most licences of the plan.
      ['membershippro:4', 'user4@example.com', 'active', '2030-01-01 00:00:00', 0],
      ['membershippro:5', 'user5@example.com', 'active', null, 0],
    ]);
    expect(leftOut).toEqual({ 'bad-end': [3, 6], 'no-subscription': [1] });
  });

  it('of HikaSerial, without the optional tables of the shop', async () => {
    await make('abc_', {
      hikaserial_serial:
        'serial_id int PRIMARY KEY, serial_pack_id int, serial_data mediumtext, serial_status varchar(20), serial_assign_date int, serial_order_id int, serial_user_id int, serial_order_product_id int',
      hikaserial_pack: 'pack_id int PRIMARY KEY, pack_name varchar(255)',
      hikashop_user: 'user_id int PRIMARY KEY, user_email varchar(255)',
    });
    const serial = (serial_id: number, serial_data: string, more = {}) => ({
      ...{ serial_id, serial_pack_id: 1, serial_data, serial_status: 'used', serial_user_id: 7 },
      ...{ serial_assign_date: 1_767_225_600, serial_order_id: 0, serial_order_product_id: 0, ...more },
    });
    await fill('abc_', {
      hikaserial_pack: [{ pack_id: 1, pack_name: 'Schlüssel' }],
      hikashop_user: [{ user_id: 7, user_email: 'jo@example.com' }],
      hikaserial_serial: [
        serial(1, 'SERIAL-NUMBER-1'),
        serial(2, '<a'.repeat(1_000_000)),
        serial(3, 'x'.repeat(2_000_000)),
        serial(4, 'SERIAL-NUMBER-1'),
        serial(5, 'SERIAL-NUMBER-5', { serial_user_id: 8, serial_assign_date: 0 }),
      ],
    });
    const started = Date.now();
    const { here, leftOut, warnings } = await cycle(hikaSerial);
    expect(Date.now() - started).toBeLessThan(20_000);
    expect(here).toEqual([
      ['hikaserial:1', 'jo@example.com', 'active', null, 0],
      ['hikaserial:4', 'jo@example.com', 'active', null, 0],
      ['hikaserial:5', null, 'active', null, 0],
    ]);
    expect(leftOut).toEqual({ 'key-not-typed': [2, 3] });
    expect(warnings).toMatchObject({ 'key-twice': [4], 'no-customer': [5] });
  });

  describe('of Akeeba Release System before 7', () => {
    const users = [1, 2, 3].map((id) => ({ id, name: `Jürgen ${id}`, email: `ars${id}@example.com` }));
    beforeAll(async () => {
      await make('abc_', {
        users: 'id int PRIMARY KEY, name varchar(255), email varchar(100)',
        ars_dlidlabels: 'id int PRIMARY KEY, user_id int, dlid char(32), `primary` tinyint, enabled tinyint',
        usergroups: 'id int PRIMARY KEY, title varchar(100)',
        user_usergroup_map: 'user_id int, group_id int, PRIMARY KEY (user_id, group_id)',
      });
      await fill('abc_', {
        users,
        ars_dlidlabels: users.map(({ id }) => ({
          ...{ id, user_id: id, dlid: KEY(id).toLowerCase(), primary: 1, enabled: id === 3 ? 0 : 1 },
        })),
        usergroups: [
          { id: 2, title: 'Registered' },
          { id: 10, title: 'Käufer' },
        ],
        user_usergroup_map: users.flatMap(({ id }) => [
          { user_id: id, group_id: 2 },
          { user_id: id, group_id: 10 },
        ]),
      });
    });

    it('with user groups', async () => {
      const { here, warnings } = await cycle(ars);
      expect(here).toEqual(users.map(({ id, email }) => [`ars:group-${id}-10`, email, 'active', null, 0]));
      expect(warnings).toMatchObject({ 'unpublished-ends': [3], 'own-key': [3], 'no-end': [1, 2, 3] });
    });

    it('with RD-Subscriptions', async () => {
      await make('abc_', {
        rd_subs_product2user: 'id int PRIMARY KEY, userid int, product_id int, order_id int, valid_to date',
        rd_subs_products: 'id int PRIMARY KEY, name varchar(100)',
      });
      await fill('abc_', {
        rd_subs_products: [{ id: 4, name: 'Pro' }],
        rd_subs_product2user: [
          { id: 1, userid: 1, product_id: 4, order_id: 1, valid_to: '2030-01-01' },
          { id: 2, userid: 2, product_id: 4, order_id: 2, valid_to: '2030-02-00' },
          { id: 3, userid: 3, product_id: 9, order_id: 3, valid_to: '2030-01-01' },
        ],
      });
      const { here, leftOut } = await cycle(ars);
      expect(here).toEqual([['ars:rdsubs-1-4', 'ars1@example.com', 'active', '2030-01-01 23:59:59', 0]]);
      expect(leftOut).toEqual({ 'bad-end': [2], 'product-gone': [3], 'nothing-moved': [2, 3] });
      await db.raw('DELETE FROM abc_rd_subs_product2user');
    });

    it('with Payplans', async () => {
      await make('abc_', {
        payplans_subscription:
          'subscription_id int PRIMARY KEY, user_id int, plan_id int, status int, subscription_date datetime, expiration_date datetime',
        payplans_plan: 'plan_id int PRIMARY KEY, title varchar(100)',
      });
      const subscription = (subscription_id: number, user_id: number, status: number, to: string) => ({
        ...{ subscription_id, user_id, plan_id: 4, status, subscription_date: '2026-01-01 00:00:00' },
        expiration_date: to,
      });
      await fill('abc_', {
        payplans_plan: [{ plan_id: 4, title: 'Pro' }],
        payplans_subscription: [
          subscription(1, 1, 1601, '0000-00-00 00:00:00'),
          subscription(2, 2, 1603, '2026-02-01 00:00:00'),
          subscription(3, 3, 0, '2030-01-01 00:00:00'),
        ],
      });
      const { here, leftOut } = await cycle(ars);
      expect(here).toEqual([
        ['ars:payplans-1-4', 'ars1@example.com', 'active', null, 0],
        ['ars:payplans-2-4', 'ars2@example.com', 'active', '2026-02-01 00:00:00', 0],
      ]);
      expect(leftOut).toEqual({ 'never-paid': [3], 'nothing-moved': [3] });
    });
  });
});
