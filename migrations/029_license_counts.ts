import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** How many licences each product has, by live status; active ones also by the month of their end. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'license_counts', {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      status: `${t.ascii(16)} NOT NULL`,
      month: `${t.ascii(7)} NOT NULL`,
      licenses: `${t.bigCount} NOT NULL`,
    },
    primary: ['product_id', 'status', 'month'],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'license_counts');
