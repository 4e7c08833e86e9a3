import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/**
 * What shops and scripts call the operator's API with. `live_name` is the name in lower case while the token may be used
 * and null afterwards, so that a unique index allows one live token of a name and any number of ended ones.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'tokens', {
    columns: {
      id: t.smallId,
      name: `${t.text(190)} NOT NULL`,
      live_name: `${t.text(190)} NULL`,
      scope: `${t.ascii(16)} NOT NULL`,
      token_digest: `${t.digest} NOT NULL`,
      created_by: `${t.text(190)} NOT NULL`,
      joomla_user_id: `${t.smallRef} NULL`,
      created_at: `${t.time} NOT NULL`,
      expires_at: `${t.time} NULL`,
      last_used_at: `${t.time} NULL`,
      revoked_at: `${t.time} NULL`,
      revoked_by: `${t.text(190)} NULL`,
    },
    unique: [['token_digest'], ['live_name']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'tokens');
