import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'products', {
    columns: {
      id: t.smallId,
      name: `${t.text(190)} NOT NULL`,
      element: `${t.text(100)} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'products');
