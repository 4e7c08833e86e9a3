import type { Knex } from 'knex';
import { columnTypes, tableName } from './schema';

/**
 * A row may stand for several equal accesses or events: their number, and the time of the latest (null for a single
 * one).
 */
const COLUMNS = [
  { name: 'times', type: (t: ReturnType<typeof columnTypes>) => `${t.count} NOT NULL DEFAULT 1` },
  { name: 'last_at', type: (t: ReturnType<typeof columnTypes>) => `${t.time} NULL` },
];
const TABLES = ['access_log', 'events'];

/** Checks before adding each column, as 008 does, so that an interrupted migration can run again. */
export async function up(knex: Knex): Promise<void> {
  for (const table of TABLES.map((name) => tableName(knex, name)))
    for (const { name, type } of COLUMNS)
      if (!(await knex.schema.hasColumn(table, name)))
        await knex.raw(`ALTER TABLE ${table} ADD COLUMN ${name} ${type(columnTypes(knex))}`);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of TABLES.map((name) => tableName(knex, name)))
    for (const { name } of COLUMNS)
      if (await knex.schema.hasColumn(table, name))
        await knex.raw(`ALTER TABLE ${table} DROP COLUMN ${name}`);
}
