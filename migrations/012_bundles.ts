import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable, tableName } from './schema';

/** Products that include others, and where a customer of a product renews and gets help. */
const COLUMNS = [
  { name: 'includes_all', type: (t: ReturnType<typeof columnTypes>) => `${t.count} NOT NULL DEFAULT 0` },
  { name: 'renew_url', type: (t: ReturnType<typeof columnTypes>) => `${t.text(500)} NULL` },
  { name: 'support_url', type: (t: ReturnType<typeof columnTypes>) => `${t.text(500)} NULL` },
];

/** Checks before adding each column, as 008 does, so that an interrupted migration can run again. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  const products = tableName(knex, 'products');
  for (const { name, type } of COLUMNS)
    if (!(await knex.schema.hasColumn(products, name)))
      await knex.raw(`ALTER TABLE ${products} ADD COLUMN ${name} ${type(t)}`);
  await createTable(knex, 'product_includes', {
    columns: { product_id: `${t.smallRef} NOT NULL`, included_id: `${t.smallRef} NOT NULL` },
    primary: ['product_id', 'included_id'],
    indexes: [['included_id']],
    references: { product_id: 'products', included_id: 'products' },
  });
}

export async function down(knex: Knex): Promise<void> {
  await dropTable(knex, 'product_includes');
  const products = tableName(knex, 'products');
  for (const { name } of COLUMNS)
    if (await knex.schema.hasColumn(products, name))
      await knex.raw(`ALTER TABLE ${products} DROP COLUMN ${name}`);
}
