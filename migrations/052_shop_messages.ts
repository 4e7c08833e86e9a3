import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/**
 * The messages that receivers took, and what they told of a shop's own ids: the order that a payment is of, the invoice
 * that it paid, or the address of a customer. A message whose id is not known yet waits for it (`awaits`, the digest of
 * a link).
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'shop_messages', {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      type: `${t.text(100)} NOT NULL`,
      result: `${t.ascii(16)} NOT NULL`,
      reason: `${t.text(190)} NULL`,
      order_id: `${t.ref} NULL`,
      awaits: `${t.digest} NULL`,
      pending_json: `${t.longText} NULL`,
      received_at: `${t.time} NOT NULL`,
    },
    unique: [['digest']],
    indexes: [['shop'], ['shop', 'result'], ['awaits'], ['received_at']],
  });
  await createTable(knex, 'shop_links', {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      target: `${t.text(190)} NULL`,
      paid: `${t.bigCount} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['digest']],
  });
}

export async function down(knex: Knex): Promise<void> {
  await dropTable(knex, 'shop_links');
  await dropTable(knex, 'shop_messages');
}
