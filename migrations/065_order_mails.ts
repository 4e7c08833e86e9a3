import type { Knex } from 'knex';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex } from './schema';

/**
 * Whether a shop's customers are mailed their keys; null: as its kind does. An order keeps what was so when it issued, and
 * a mail of keys names its order.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'shops', { mail: `${t.ascii(8)} NULL` });
  await addColumns(knex, 'orders', { mail: `${t.ascii(8)} NULL` });
  await addColumns(knex, 'outbox', { order_id: `${t.ref} NULL` });
  await addIndex(knex, 'outbox', ['order_id']);
}

export async function down(knex: Knex): Promise<void> {
  await dropIndex(knex, 'outbox', ['order_id']);
  await dropColumns(knex, 'outbox', ['order_id']);
  await dropColumns(knex, 'orders', ['mail']);
  await dropColumns(knex, 'shops', ['mail']);
}
