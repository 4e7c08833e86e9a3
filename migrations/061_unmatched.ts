import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/**
 * What shops told of money that found no order, no line or no payment: an event of an order, or a receiver's message.
 * `digest` is of the event or message, so that each is kept once. It is `open` until somebody acts, and is deleted once
 * what it lacked has come.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'unmatched', {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      order_id: `${t.ref} NULL`,
      message_id: `${t.ref} NULL`,
      event: `${t.text(100)} NOT NULL`,
      reason: `${t.text(190)} NOT NULL`,
      state: `${t.ascii(16)} NOT NULL`,
      at: `${t.time} NOT NULL`,
      acted_by: `${t.text(190)} NULL`,
      acted_at: `${t.time} NULL`,
    },
    unique: [['digest']],
    indexes: [['shop', 'state'], ['state'], ['order_id'], ['message_id']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'unmatched');
