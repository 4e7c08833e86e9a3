import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** The licences that `daily_sums` has counted as refused, so that it counts each once a day; pruned with the access log. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'refused_licenses', {
    columns: {
      day: `${t.ascii(10)} NOT NULL`,
      product_id: `${t.ref} NOT NULL`,
      code: `${t.ascii(32)} NOT NULL`,
      license_id: `${t.ref} NOT NULL`,
    },
    primary: ['day', 'product_id', 'code', 'license_id'],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'refused_licenses');
