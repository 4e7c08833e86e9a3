import type { Knex } from 'knex';
import { columnTypes, tableName } from './schema';

/** What an expired licence of the plan may still do. */
const COLUMN = 'after_expiry';

/** Checks before adding the column, as 008 does. */
export async function up(knex: Knex): Promise<void> {
  const table = tableName(knex, 'plans');
  if (await knex.schema.hasColumn(table, COLUMN)) return;
  await knex.raw(
    `ALTER TABLE ${table} ADD COLUMN ${COLUMN} ${columnTypes(knex).ascii(16)} NOT NULL DEFAULT 'nothing'`,
  );
}

export async function down(knex: Knex): Promise<void> {
  const table = tableName(knex, 'plans');
  if (!(await knex.schema.hasColumn(table, COLUMN))) return;
  await knex.raw(`ALTER TABLE ${table} DROP COLUMN ${COLUMN}`);
}
