import type { Knex } from 'knex';
import { addColumns, columnTypes, dropColumns } from './schema';

/** Whether a plan's staging and local sites take no slot, and the key that an access came by. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'plans', { free_staging: `${t.flag} NOT NULL DEFAULT 0` });
  await addColumns(knex, 'access_log', { key_id: `${t.ref} NULL` });
}

export async function down(knex: Knex): Promise<void> {
  await dropColumns(knex, 'plans', ['free_staging']);
  await dropColumns(knex, 'access_log', ['key_id']);
}
