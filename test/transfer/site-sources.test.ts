import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { moved } from '../../src/texts/operators/en/moved';
import { codeOf, say } from '../../src/transfer/moving/sayings';
import { readConfig } from '../../src/config';
import { openDatabase, type Db } from '../../src/store/database';
import { hikaSerial } from '../../src/transfer/moving/hikaserial';
import type { MovingSource, SourceItem, SourceLicense } from '../../src/transfer/moving/source';
import { easyCommerce, licenseDock } from '../../src/transfer/moving/unseen';
import { DATABASE_KINDS, newPlace } from '../support/service';

/** Sources in the site's own tables, made with the columns and types of their installers. */

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
    if ('leftOut' in item) (leftOut[say(moved.leftOut, codeOf(item.leftOut))] ??= []).push(item.row);
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
    const { database } = readConfig({ LICENSING_ENV_FILE: '/dev/null' }, await newPlace(kind));
    db = openDatabase(database, '', 2);
  });

  afterAll(() => db.destroy());

  it('says which tables it looked for', async () => {
    await expect(read(hikaSerial, db)).rejects.toThrow('no table whose name ends in hikaserial_serial');
    await expect(read(licenseDock, db)).rejects.toThrow('no table whose name ends in licensedock_licenses');
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
      // Number 42 of HikaShop is number 900 of Joomla, or nobody.
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

  describe('LicenseDock', () => {
    it('is read by the columns that are found, which the seller confirms', async () => {
      await db.schema.createTable('jos_licensedock_licenses', (t) => {
        t.increments('id');
        t.string('license_key', 40);
        for (const name of ['customer_id', 'product_id', 'subscription_id']) t.integer(name);
        t.string('status', 20);
        t.string('activation_type', 20);
        t.integer('activation_limit');
        t.dateTime('expires_at');
        t.dateTime('created');
        t.integer('is_test').defaultTo(0);
      });
      await db.schema.createTable('jos_licensedock_customers', (t) => {
        t.increments('id');
        t.string('email');
        t.string('name');
      });
      await db.schema.createTable('jos_licensedock_products', (t) => {
        t.increments('id');
        t.string('title');
      });
      await db.schema.createTable('jos_licensedock_activations', (t) => {
        t.increments('id');
        t.integer('license_id');
        t.string('identifier');
        t.dateTime('deactivated_at').nullable();
      });
      await db('jos_licensedock_customers').insert({ id: 3, email: 'jane@example.com', name: 'Jane Roe' });
      await db('jos_licensedock_products').insert({ id: 5, title: 'Gallery' });
      const license = (key: string, status: string, more: object = {}) => ({
        ...{ license_key: key, customer_id: 3, product_id: 5, status, activation_type: 'domain' },
        ...{ activation_limit: 2, expires_at: '2027-01-31 10:00:00', created: '2026-01-31 10:00:00' },
        ...more,
      });
      await db('jos_licensedock_licenses').insert([
        license('A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6', 'active'),
        license('B1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6', 'revoked', { expires_at: null, activation_limit: 0 }),
        license('C1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6', 'suspended', { customer_id: 4, product_id: 6 }),
        license('D1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6', 'active', { is_test: 1 }),
        license('E1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6', 'odd'),
      ]);
      await db('jos_licensedock_activations').insert([
        { license_id: 1, identifier: 'example.com', deactivated_at: null },
        { license_id: 1, identifier: 'old.example.com', deactivated_at: '2026-02-01 00:00:00' },
      ]);
      const { plans, columns, licenses, leftOut } = await read(licenseDock, db);
      expect(columns).toEqual(
        expect.arrayContaining([
          'licensedock_licenses.license_key as key',
          'licensedock_licenses.expires_at as end',
          'licensedock_customers.email as email',
          'licensedock_activations.identifier as site',
        ]),
      );
      expect(plans.map(({ key, name }) => [key, name])).toEqual([
        ['5', 'Gallery'],
        ['6', 'Product 6'],
      ]);
      expect(licenses).toEqual([
        expect.objectContaining({
          ...{ id: '1', plan: '5', customer: 'jane@example.com', customerName: 'Jane Roe', status: 'active' },
          ...{ startsAt: new Date('2026-01-31T10:00:00Z'), expiresAt: new Date('2027-01-31T10:00:00Z') },
          ...{ limit: 2, sites: ['example.com'] },
        }),
        expect.objectContaining({ id: '2', status: 'revoked', expiresAt: null, limit: 0 }),
        expect.objectContaining({ id: '3', status: 'suspended', customer: null, plan: '6' }),
      ]);
      expect(leftOut).toEqual({ 'a licence of a test order': [4], 'this state is not known': [5] });
    });
  });

  describe('EasyCommerce', () => {
    it('is read from a file where one is given', async () => {
      const { columns, licenses, plans } = await read(
        easyCommerce,
        db,
        'license_key,status,product_title,customer_email,order_id,max_activations,expires_at,activations\n' +
          'shop-ec5f20ad-fd08-4c6f-b105-0b85af458a25,active,Gallery,jane@example.com,9,3,2027-01-31 10:00:00,"a.example, b.example"\n' +
          'shop-fc5f20ad-fd08-4c6f-b105-0b85af458a25,suspended,Gallery,jane@example.com,10,1,,2\n',
      );
      expect(columns).toEqual([
        ...['license_key as key', 'customer_email as email', 'product_title as product', 'status as status'],
        ...['order_id as order', 'max_activations as limit', 'activations as sites', 'expires_at as end'],
      ]);
      expect(plans.map(({ key }) => key)).toEqual(['Gallery']);
      expect(licenses).toEqual([
        expect.objectContaining({
          ...{
            status: 'active',
            limit: 3,
            sites: ['a.example', 'b.example'],
            metadata: { former_order: '9' },
          },
        }),
        expect.objectContaining({ status: 'suspended', limit: 1, expiresAt: null, sites: [] }),
      ]);
    });

    it('is read from its tables, by the names that its documentation has', async () => {
      await db.schema.createTable('jos_easycommerce_licenses', (t) => {
        t.increments('id');
        t.string('license_key', 120);
        t.string('status', 20);
        for (const name of ['product_id', 'customer_id', 'order_id', 'max_activations', 'activations_count'])
          t.integer(name);
        for (const name of ['expires_at', 'created', 'modified']) t.dateTime(name);
      });
      await db.schema.createTable('jos_easycommerce_license_activations', (t) => {
        t.increments('id');
        t.integer('license_id');
        t.string('domain');
        t.string('status', 20);
      });
      await db('jos_easycommerce_licenses').insert({
        ...{ license_key: 'shop-ec5f20ad-fd08-4c6f-b105-0b85af458a25', status: 'expired', product_id: 4 },
        ...{ customer_id: 1, order_id: 9, max_activations: 1, activations_count: 1 },
        ...{ expires_at: '2026-01-31 10:00:00', created: '2025-01-31 10:00:00' },
      });
      await db('jos_easycommerce_license_activations').insert([
        { license_id: 1, domain: 'example.com', status: 'active' },
        { license_id: 1, domain: 'old.example.com', status: 'inactive' },
      ]);
      const { licenses, plans } = await read(easyCommerce, db);
      expect(plans.map(({ name }) => name)).toEqual(['Product 4']);
      expect(licenses).toEqual([
        expect.objectContaining({
          ...{ id: '1', plan: '4', status: 'expired', customer: null, limit: 1, sites: ['example.com'] },
          ...{ expiresAt: new Date('2026-01-31T10:00:00Z'), metadata: { former_order: '9' } },
        }),
      ]);
    });
  });
});
