import type { Knex } from 'knex';
import { addColumns, columnTypes, dropColumns } from './schema';

/** Until when an activation cannot be given back, because a file for a machine without network was made for it. */
export async function up(knex: Knex): Promise<void> {
  await addColumns(knex, 'activations', { held_until: `${columnTypes(knex).time} NULL` });
}

export const down = (knex: Knex): Promise<void> => dropColumns(knex, 'activations', ['held_until']);
