import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/**
 * Codes of one-time links, and the requests for such links, which are counted by address. Neither table holds a
 * customer's address, so erasing a customer leaves nothing here.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'one_time_codes', {
    columns: {
      code_digest: `${t.digest} NOT NULL PRIMARY KEY`,
      kind: `${t.ascii(16)} NOT NULL`,
      actor: `${t.text(190)} NULL`,
      name: `${t.text(190)} NULL`,
      scope: `${t.ascii(16)} NULL`,
      operator_id: `${t.smallRef} NULL`,
      customer_digest: `${t.ascii(32)} NULL`,
      created_at: `${t.time} NOT NULL`,
      expires_at: `${t.time} NOT NULL`,
    },
    indexes: [['expires_at']],
  });
  await createTable(knex, 'link_requests', {
    columns: {
      address_digest: `${t.digest} NOT NULL`,
      slot: `${t.flag} NOT NULL`,
      requested_at: `${t.time} NOT NULL`,
    },
    primary: ['address_digest', 'slot'],
    indexes: [['requested_at']],
  });
}

export async function down(knex: Knex): Promise<void> {
  await dropTable(knex, 'link_requests');
  await dropTable(knex, 'one_time_codes');
}
