import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** How many messages a receiver refused for their signature on each UTC day. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'shop_refusals', {
    columns: {
      shop: `${t.ascii(40)} NOT NULL`,
      day: `${t.ascii(10)} NOT NULL`,
      times: `${t.bigCount} NOT NULL`,
    },
    primary: ['shop', 'day'],
    indexes: [['day']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'shop_refusals');
