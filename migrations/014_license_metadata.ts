import type { Knex } from 'knex';
import { columnTypes, tableName } from './schema';

/** The shop's own names and texts as a JSON object (null: none), and the number of the licence's latest change. */
const COLUMNS = {
  metadata: () => 'TEXT NULL',
  revision: (t: ReturnType<typeof columnTypes>) => `${t.bigCount} NOT NULL DEFAULT 0`,
};

/** Checks before adding each column, as 008 does. Both go last in the table, so that MySQL adds them without a copy. */
export async function up(knex: Knex): Promise<void> {
  const table = tableName(knex, 'licenses');
  for (const [name, type] of Object.entries(COLUMNS))
    if (!(await knex.schema.hasColumn(table, name)))
      await knex.raw(`ALTER TABLE ${table} ADD COLUMN ${name} ${type(columnTypes(knex))}`);
}

export async function down(knex: Knex): Promise<void> {
  const table = tableName(knex, 'licenses');
  for (const name of Object.keys(COLUMNS))
    if (await knex.schema.hasColumn(table, name)) await knex.raw(`ALTER TABLE ${table} DROP COLUMN ${name}`);
}
