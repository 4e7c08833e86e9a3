import type { Knex } from 'knex';
import { addColumns, columnTypes, dropColumns } from './schema';

/** How many sites a customer may remove on the customer's page within 30 days. */
export async function up(knex: Knex): Promise<void> {
  await addColumns(knex, 'plans', { self_service_moves: `${columnTypes(knex).count} NOT NULL DEFAULT 3` });
}

export const down = (knex: Knex): Promise<void> => dropColumns(knex, 'plans', ['self_service_moves']);
