import type { Knex } from 'knex';
import { addIndex, dropIndex } from './schema';

/** The indexes by which licences and requests are listed and found. Those with `id` have that as the page's order. */
const INDEXES: [table: string, columns: string[]][] = [
  ['licenses', ['status', 'id', 'expires_at']],
  ['licenses', ['status', 'expires_at']],
  ['licenses', ['plan_id', 'status', 'id', 'expires_at']],
  ['licenses', ['plan_id', 'status', 'expires_at']],
  ['activations', ['identifier', 'license_id']],
  ['access_log', ['outcome', 'at']],
  ['access_log', ['product_id', 'at']],
  ['access_log', ['product_id', 'outcome', 'at']],
];

/** Each index is a statement of its own, which MySQL commits; one that is there is skipped. */
export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  for (const [table, columns] of INDEXES) await addIndex(knex, table, columns);
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, columns] of INDEXES) await dropIndex(knex, table, columns);
}
