import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** Operators who may have a sign-in link mailed to them. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'operators', {
    columns: {
      id: t.smallId,
      email: `${t.text(190)} NOT NULL`,
      scope: `${t.ascii(16)} NOT NULL`,
      created_by: `${t.text(190)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['email']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'operators');
