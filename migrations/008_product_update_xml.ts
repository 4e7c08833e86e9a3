import type { Knex } from 'knex';
import { columnTypes, tableName } from './schema';

/** What the operator last said about a product's update XML, so that the next one needs no options. JSON as text. */
const COLUMN = 'update_xml';

/** MySQL has no ADD COLUMN IF NOT EXISTS; migrations take turns, so looking first is safe. */
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
