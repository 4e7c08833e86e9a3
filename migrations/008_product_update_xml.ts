import type { Knex } from 'knex';
import { columnTypes, tableName } from './schema';

/** The operator's latest options for a product's update XML, as JSON text, so that the next write needs no options. */
const COLUMN = 'update_xml';

/** MySQL lacks ADD COLUMN IF NOT EXISTS. Migrations run one at a time, so a check before adding is safe. */
export async function up(knex: Knex): Promise<void> {
  const table = tableName(knex, 'products');
  if (await knex.schema.hasColumn(table, COLUMN)) return;
  await knex.raw(`ALTER TABLE ${table} ADD COLUMN ${COLUMN} ${columnTypes(knex).longText} NULL`);
}

export async function down(knex: Knex): Promise<void> {
  const table = tableName(knex, 'products');
  if (!(await knex.schema.hasColumn(table, COLUMN))) return;
  await knex.raw(`ALTER TABLE ${table} DROP COLUMN ${COLUMN}`);
}
