import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { moved } from '../../src/texts/operators/en/moved';
import { skipCodeOf, importMessageOf } from '../../src/transfer/moving/import-messages';
import { openDatabase, type Db } from '../../src/store/engine/database';
import { hikaSerial } from '../../src/transfer/moving/hikaserial';
import type { MovingSource, SourceItem, SourceLicense } from '../../src/transfer/moving/source';
import { DATABASE_KINDS, newPlace, testConfig } from '../support/service';

/** Sources that read the site's own tables, which are created with the columns and types of their installers. */

const NOW = new Date('2026-11-27T12:00:00Z');

async function read(source: MovingSource, db: Db, file?: string) {
  const opened = await source.open({
    ...{ db, sitePrefix: undefined, users: undefined, dates: undefined, confirmed: false, now: NOW },
    file: file === undefined ? undefined : bytesOf(file),
  });
  const items: SourceItem[] = [];
  for await (const item of opened.items()) items.push(item);
  const leftOut: Record<string, number[]> = {};
  for (const item of items)
    if ('leftOut' in item)
      (leftOut[importMessageOf(moved.leftOut, skipCodeOf(item.leftOut))] ??= []).push(item.row);
  return {
    plans: opened.plans,
    columns: opened.columns,
    licenses: items.filter((item): item is SourceLicense => 'keys' in item),
    leftOut,
  };
}

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from(text));
}

describe.each(DATABASE_KINDS)('on %s', (kind) => {
  let db: Db;

  beforeAll(async () => {
    const { database } = testConfig(await newPlace(kind));
    db = openDatabase(database, '', 2);
  });

  afterAll(() => db.destroy());

  it('says which tables it looked for', async () => {
    await expect(read(hikaSerial, db)).rejects.toThrow('no table whose name ends in hikaserial_serial');
  });

  describe('HikaSerial', () => {
    const KEY = '1F1C7E4B-A0C54B1D-8A8D6C2D-4A3F0E9B';
    const ASSIGNED = Date.parse('2026-03-01T10:00:00Z') / 1_000;

    beforeAll(async () => {
      await db.schema.createTable('jos_hikaserial_config', (t) => {
        t.string('config_namekey', 200).primary();
        t.text('config_value').notNullable();
      });
      await db.schema.createTable('jos_hikaserial_pack', (t) => {
        t.increments('pack_id');
        t.string('pack_name').notNullable();
      });
      await db.schema.createTable('jos_hikaserial_serial', (t) => {
        t.increments('serial_id');
        t.integer('serial_pack_id').notNullable();
        t.text('serial_data').notNullable();
        t.text('serial_extradata').notNullable();
        t.string('serial_status').notNullable();
        for (const name of ['assign_date', 'order_id', 'user_id', 'order_product_id'])
          t.integer(`serial_${name}`).nullable();
      });
      await db.schema.createTable('jos_hikaserial_product_pack', (t) => {
        t.integer('product_id');
        t.integer('pack_id');
        t.integer('quantity').defaultTo(1);
        t.primary(['pack_id', 'product_id']);
      });
      await db.schema.createTable('jos_hikashop_user', (t) => {
        t.increments('user_id');
        t.integer('user_cms_id').notNullable();
        t.string('user_email').notNullable();
      });
      await db.schema.createTable('jos_hikashop_order', (t) => {
        t.increments('order_id');
        t.string('order_status').notNullable();
        t.string('order_number').notNullable();
      });
      await db.schema.createTable('jos_hikashop_order_product', (t) => {
        t.increments('order_product_id');
        t.integer('order_id');
        t.integer('product_id');
        t.string('order_product_name');
      });
      await db.schema.createTable('jos_hikashop_product', (t) => {
        t.increments('product_id');
        t.string('product_name');
      });
      await db('jos_hikaserial_pack').insert([
        { pack_id: 1, pack_name: 'Gallery keys' },
        { pack_id: 2, pack_name: 'Shared keys' },
      ]);
      await db('jos_hikaserial_product_pack').insert([
        { product_id: 10, pack_id: 1 },
        { product_id: 11, pack_id: 2 },
        { product_id: 12, pack_id: 2 },
      ]);
      await db('jos_hikashop_product').insert([
        { product_id: 10, product_name: 'Gallery' },
        { product_id: 11, product_name: 'Forms, one year' },
      ]);
      // HikaShop's user 42 is Joomla's user 900. Its user 43 is a guest, and Joomla's user 42 is another customer.
      await db('jos_hikashop_user').insert([
        { user_id: 42, user_cms_id: 900, user_email: 'jane@example.com' },
        { user_id: 43, user_cms_id: 0, user_email: 'guest@example.com' },
        { user_id: 900, user_cms_id: 42, user_email: 'somebody-else@example.com' },
      ]);
      await db('jos_hikashop_order').insert([
        { order_id: 7, order_status: 'confirmed', order_number: 'B7' },
        { order_id: 8, order_status: 'refunded', order_number: 'B8' },
      ]);
      await db('jos_hikashop_order_product').insert([
        { order_product_id: 70, order_id: 7, product_id: 11, order_product_name: 'Forms' },
        { order_product_id: 71, order_id: 7, product_id: 99, order_product_name: 'Gone <b>product</b>' },
        { order_product_id: 80, order_id: 8, product_id: 10, order_product_name: 'Gallery' },
      ]);
      const serial = (data: string, status: string, more: object = {}) => ({
        ...{ serial_pack_id: 1, serial_data: data, serial_extradata: '', serial_status: status },
        ...{ serial_assign_date: ASSIGNED, serial_order_id: 7, serial_user_id: 42 },
        ...{ serial_order_product_id: 0, ...more },
      });
      const stock = { serial_assign_date: null, serial_order_id: null, serial_user_id: null };
      await db('jos_hikaserial_serial').insert([
        serial('KEY-NUMBER-0001', 'assigned'),
        serial('KEY-NUMBER-0002', 'used', { serial_pack_id: 2, serial_order_product_id: 70 }),
        serial('KEY-NUMBER-0003', 'free', stock),
        serial('KEY-NUMBER-0004', 'reserved', stock),
        serial('KEY-NUMBER-0005', 'unassigned'),
        serial('KEY-NUMBER-0006', 'used', {
          ...{ serial_order_id: 8, serial_user_id: 43, serial_order_product_id: 80 },
        }),
        serial('<p><strong>KEY-NUMBER-0007</strong>&nbsp;</p>', 'assigned', { serial_pack_id: 2 }),
        serial(`Thank you!\r\nYour key: ${KEY}\r\n`, 'assigned', { serial_order_product_id: 71 }),
        serial('user: jane\npassword: secret', 'assigned'),
        serial('<br/>', 'assigned'),
        serial('KEY-NUMBER-0011', 'assigned', {
          ...{ serial_user_id: 5, serial_order_id: null, serial_assign_date: null },
        }),
      ]);
    });

    it('has the serials that customers have, with the shop’s users, orders and products', async () => {
      const { plans, licenses, leftOut } = await read(hikaSerial, db);
      expect(
        licenses.map(({ id, plan, keys, customer, status, startsAt, expiresAt, metadata }) => [
          ...[id, plan, keys[0]?.key, customer, status, startsAt?.toISOString(), expiresAt],
          metadata.hikashop_order,
        ]),
      ).toEqual([
        ...[
          ['1', '10', 'KEY-NUMBER-0001', 'jane@example.com', 'active'],
          ['2', '11', 'KEY-NUMBER-0002', 'jane@example.com', 'active'],
        ].map((all) => [...all, '2026-03-01T10:00:00.000Z', undefined, 'B7']),
        [
          ...['6', '10', 'KEY-NUMBER-0006', 'guest@example.com', 'cancelled'],
          ...['2026-03-01T10:00:00.000Z', undefined, 'B8'],
        ],
        ...[
          ['7', 'pack:2', 'KEY-NUMBER-0007', 'jane@example.com', 'active'],
          ['8', '99', KEY, 'jane@example.com', 'active'],
        ].map((all) => [...all, '2026-03-01T10:00:00.000Z', undefined, 'B7']),
        ['11', '10', 'KEY-NUMBER-0011', null, 'active', undefined, undefined, undefined],
      ]);
      expect(plans.map(({ key, name }) => [key, name])).toEqual([
        ['10', 'Gallery'],
        ['11', 'Forms, one year'],
        ['pack:2', 'Shared keys'],
        ['99', 'Gone product'],
      ]);
      expect(leftOut).toEqual({
        'stock that was never sold': [3, 4, 5],
        'the serial has several lines: which one is the key is not known': [9],
        'the serial is empty': [10],
      });
    });

    it('knows the states by the names that the shop gave them', async () => {
      await db('jos_hikaserial_config').insert({
        config_namekey: 'assigned_serial_status',
        config_value: 'reserved',
      });
      const { licenses } = await read(hikaSerial, db);
      expect(licenses.map(({ id }) => id)).toEqual(['2', '4', '6']);
      await db('jos_hikaserial_config').delete();
    });
  });
});
