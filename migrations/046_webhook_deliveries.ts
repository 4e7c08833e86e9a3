import type { Knex } from 'knex';
import { addColumns, columnTypes, dropColumns } from './schema';

/**
 * Outbox rows for receivers of webhooks. `lane` is the licence whose order a row keeps, until it is delivered; `failures`
 * counts those of its present schedule.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'outbox', {
    webhook_id: `${t.smallRef} NULL`,
    lane: `${t.ref} NULL`,
    revision: `${t.bigCount} NULL`,
    failures: `${t.count} NOT NULL DEFAULT 0`,
    attempted_at: `${t.time} NULL`,
    answer_status: `${t.count} NULL`,
    answer: `${t.longText} NULL`,
  });
}

export const down = (knex: Knex): Promise<void> =>
  dropColumns(knex, 'outbox', [
    'webhook_id',
    'lane',
    'revision',
    'failures',
    'attempted_at',
    'answer_status',
    'answer',
  ]);
