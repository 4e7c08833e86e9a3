import type { Knex } from 'knex';
import { columnTypes, tableName } from './schema';

/** A row stands for equal accesses or events: how many, and when the latest was; null when there was one. */
const COLUMNS = [
  { name: 'times', type: (t: ReturnType<typeof columnTypes>) => `${t.count} NOT NULL DEFAULT 1` },
  { name: 'last_at', type: (t: ReturnType<typeof columnTypes>) => `${t.time} NULL` },
];
const TABLES = ['access_log', 'events'];

/** Looks before each column, as 008: a migration that was killed half-way is run again. */
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
