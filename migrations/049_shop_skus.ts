import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** The plans that a shop's own article numbers mean. `awaited` is what order lines wait for (051). */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'shop_skus', {
    columns: {
      id: t.smallId,
      shop: `${t.ascii(40)} NOT NULL`,
      sku: `${t.text(190)} NOT NULL`,
      awaited: `${t.digest} NOT NULL`,
      plan_id: `${t.smallRef} NOT NULL`,
      quantity: `${t.ascii(16)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['awaited', 'plan_id']],
    indexes: [['shop'], ['plan_id']],
    references: { plan_id: 'plans' },
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'shop_skus');
