import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'licenses', {
    columns: {
      id: t.id,
      key_digest: `${t.digest} NOT NULL`,
      key_hint: `${t.text(16)} NULL`,
      key_sealed: `${t.ascii(512)} NULL`,
      plan_id: `${t.smallRef} NOT NULL`,
      status: `${t.ascii(16)} NOT NULL`,
      activation_limit: `${t.count} NOT NULL`,
      activations_used: `${t.count} NOT NULL DEFAULT 0`,
      customer: `${t.text(190)} NULL`,
      reference: `${t.text(190)} NULL`,
      expires_at: `${t.time} NULL`,
      last_check_at: `${t.time} NULL`,
      last_check_ip: `${t.ascii(45)} NULL`,
      check_count: `${t.bigCount} NOT NULL DEFAULT 0`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['key_digest'], ['reference']],
    indexes: [['customer'], ['expires_at'], ['key_hint'], ['plan_id']],
    references: { plan_id: 'plans' },
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'licenses');
