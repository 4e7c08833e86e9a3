import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/**
 * What still has to be sent, and what was. `next_attempt_at` is null once a row is sent or given up; until then a claimed
 * row carries the end of its claim there. `once` keeps a row from being queued twice.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'outbox', {
    columns: {
      id: t.id,
      kind: `${t.ascii(16)} NOT NULL`,
      type: `${t.ascii(32)} NOT NULL`,
      license_id: `${t.ref} NULL`,
      recipient: `${t.text(255)} NULL`,
      recipient_digest: `${t.ascii(32)} NULL`,
      details_json: `${t.longText} NULL`,
      language: `${t.ascii(8)} NOT NULL`,
      message_id: `${t.ascii(64)} NOT NULL`,
      once: `${t.ascii(64)} NULL`,
      created_at: `${t.time} NOT NULL`,
      next_attempt_at: `${t.time} NULL`,
      attempts: `${t.count} NOT NULL DEFAULT 0`,
      sent_at: `${t.time} NULL`,
      failed_at: `${t.time} NULL`,
      last_error: `${t.ascii(64)} NULL`,
    },
    unique: [['once']],
    indexes: [
      ['kind', 'next_attempt_at'],
      ['license_id'],
      ['recipient_digest', 'created_at'],
      ['created_at'],
      ['failed_at'],
    ],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'outbox');
