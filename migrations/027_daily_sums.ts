import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** What happened on each UTC day (src/store/sums.ts), of each product, and of all of them together: product 0. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'daily_sums', {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      day: `${t.ascii(10)} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      name: `${t.text(64)} NOT NULL`,
      times: `${t.bigCount} NOT NULL`,
      licenses: `${t.count} NOT NULL`,
    },
    primary: ['product_id', 'day', 'kind', 'name'],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'daily_sums');
