import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** Which instance does a piece of periodic work, and until when. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'leases', {
    columns: {
      name: `${t.ascii(64)} NOT NULL`,
      holder: `${t.ascii(64)} NOT NULL`,
      until: `${t.time} NOT NULL`,
    },
    primary: ['name'],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'leases');
