import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/**
 * Orders, and their events as they came. Digests tell orders and events apart to the byte: MySQL compares texts without
 * the spaces at their end. `owner` is the name of the token that posted the order first.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'orders', {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      number: `${t.text(100)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      owner: `${t.text(190)} NULL`,
      own_only: `${t.flag} NOT NULL DEFAULT 0`,
      customer: `${t.text(190)} NULL`,
      customer_name: `${t.text(190)} NULL`,
      customer_digest: `${t.ascii(32)} NULL`,
      is_test: `${t.flag} NOT NULL DEFAULT 0`,
      state: `${t.ascii(16)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['digest']],
    indexes: [
      ['shop'],
      ['shop', 'state'],
      ['state'],
      ['owner'],
      ['owner', 'state'],
      ['number'],
      ['customer_digest'],
    ],
  });
  await createTable(knex, 'order_events', {
    columns: {
      id: t.id,
      order_id: `${t.ref} NOT NULL`,
      event: `${t.ascii(32)} NOT NULL`,
      event_id: `${t.text(190)} NULL`,
      identity: `${t.digest} NOT NULL`,
      at: `${t.time} NOT NULL`,
      received_at: `${t.time} NOT NULL`,
      actor: `${t.text(190)} NOT NULL`,
      partial: `${t.flag} NOT NULL DEFAULT 0`,
      is_test: `${t.flag} NOT NULL DEFAULT 0`,
      effect: `${t.ascii(16)} NOT NULL`,
      lines_json: `${t.longText} NULL`,
      outcome_json: `${t.longText} NOT NULL`,
    },
    unique: [['order_id', 'identity']],
  });
}

export async function down(knex: Knex): Promise<void> {
  await dropTable(knex, 'order_events');
  await dropTable(knex, 'orders');
}
