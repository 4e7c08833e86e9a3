import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'plans', {
    columns: {
      id: t.smallId,
      product_id: `${t.smallRef} NOT NULL`,
      name: `${t.text(190)} NOT NULL`,
      activation_type: `${t.ascii(16)} NOT NULL`,
      activation_limit: `${t.count} NOT NULL`,
      duration: `${t.ascii(16)} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    indexes: [['product_id']],
    references: { product_id: 'products' },
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'plans');
