import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** Shops that post orders, and receivers of shops' own messages. `created_by` is null where the first order made the row. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'shops', {
    columns: {
      id: t.smallId,
      name: `${t.ascii(40)} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      secret_sealed: `${t.longText} NULL`,
      is_test: `${t.flag} NOT NULL DEFAULT 0`,
      test_plan_id: `${t.smallRef} NULL`,
      rules_json: `${t.longText} NULL`,
      created_by: `${t.text(190)} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['name']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'shops');
