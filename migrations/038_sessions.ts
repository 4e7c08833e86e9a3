import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** Sessions of the pages, with what opened each: its end ends the session. `expires_at` is the latest possible end. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'sessions', {
    columns: {
      id: t.id,
      cookie_digest: `${t.digest} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      actor: `${t.text(190)} NULL`,
      name: `${t.text(190)} NULL`,
      scope: `${t.ascii(16)} NULL`,
      token_id: `${t.smallRef} NULL`,
      joomla_user_id: `${t.smallRef} NULL`,
      operator_id: `${t.smallRef} NULL`,
      license_id: `${t.ref} NULL`,
      key_digest: `${t.digest} NULL`,
      customer_digest: `${t.ascii(32)} NULL`,
      created_at: `${t.time} NOT NULL`,
      used_at: `${t.time} NOT NULL`,
      expires_at: `${t.time} NOT NULL`,
      ended_at: `${t.time} NULL`,
    },
    unique: [['cookie_digest']],
    indexes: [['expires_at']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'sessions');
