import type { Knex } from 'knex';
import { addColumns, columnTypes, dropColumns } from './schema';

/**
 * What an event says of its payment. `reduced` is what the shop's rules do with licences that an upgrade takes away.
 * `language` is the customer's, as the shop told it.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'order_events', {
    payment: `${t.text(190)} NULL`,
    renews_itself: `${t.flag} NULL`,
    reduced: `${t.ascii(16)} NULL`,
  });
  await addColumns(knex, 'orders', { language: `${t.ascii(8)} NULL` });
}

export async function down(knex: Knex): Promise<void> {
  await dropColumns(knex, 'orders', ['language']);
  await dropColumns(knex, 'order_events', ['payment', 'renews_itself', 'reduced']);
}
