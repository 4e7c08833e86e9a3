import type { Knex } from 'knex';
import { addIndex, dropIndex } from './schema';

const INDEXES = [
  // what is due for a receiver, and the first of a licence's lane
  ['webhook_id', 'next_attempt_at'],
  ['webhook_id', 'lane', 'revision'],
  // lists, and what is old
  ['webhook_id', 'created_at'],
  ['kind', 'created_at'],
];

export async function up(knex: Knex): Promise<void> {
  for (const columns of INDEXES) await addIndex(knex, 'outbox', columns);
}

export async function down(knex: Knex): Promise<void> {
  for (const columns of INDEXES) await dropIndex(knex, 'outbox', columns);
}
