import type { Knex } from 'knex';
import { addColumns, columnTypes, dropColumns } from './schema';

/** The site that said it downloads, and the version it said is installed. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'access_log', {
    site: `${t.text(255)} NULL`,
    installed_version: `${t.ascii(64)} NULL`,
  });
}

export const down = (knex: Knex): Promise<void> =>
  dropColumns(knex, 'access_log', ['site', 'installed_version']);
