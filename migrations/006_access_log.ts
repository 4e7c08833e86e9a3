import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** No foreign keys: their shared lock on the licence's row would block the UPDATE of a batch of validations. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'access_log', {
    columns: {
      id: t.id,
      at: `${t.time} NOT NULL`,
      endpoint: `${t.ascii(16)} NOT NULL`,
      outcome: `${t.ascii(32)} NOT NULL`,
      license_id: `${t.ref} NULL`,
      key_hint: `${t.text(16)} NULL`,
      product_id: `${t.ref} NULL`,
      version: `${t.text(64)} NULL`,
      identifier: `${t.text(255)} NULL`,
      ip: `${t.ascii(45)} NULL`,
      user_agent: `${t.text(255)} NULL`,
    },
    indexes: [['at'], ['license_id', 'at'], ['ip', 'at'], ['key_hint', 'at']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'access_log');
