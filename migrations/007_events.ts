import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** No foreign key, for the same reason as in 006_access_log. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'events', {
    columns: {
      id: t.id,
      license_id: `${t.ref} NOT NULL`,
      at: `${t.time} NOT NULL`,
      actor: `${t.text(190)} NOT NULL`,
      action: `${t.ascii(32)} NOT NULL`,
      before_json: `${t.longText} NULL`,
      after_json: `${t.longText} NULL`,
    },
    indexes: [['license_id', 'at']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'events');
