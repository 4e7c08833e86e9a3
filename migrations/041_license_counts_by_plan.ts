import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';
import { up as createByProduct } from './029_license_counts';

/** Counts by plan too, for a product's page. What is counted is counted anew within a minute. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await dropTable(knex, 'license_counts');
  await createTable(knex, 'license_counts', {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      // An earlier version that still runs counts by product alone.
      plan_id: `${t.ref} NOT NULL DEFAULT 0`,
      status: `${t.ascii(16)} NOT NULL`,
      month: `${t.ascii(7)} NOT NULL`,
      licenses: `${t.bigCount} NOT NULL`,
    },
    primary: ['product_id', 'plan_id', 'status', 'month'],
  });
}

export async function down(knex: Knex): Promise<void> {
  await dropTable(knex, 'license_counts');
  await createByProduct(knex);
}
