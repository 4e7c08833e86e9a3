import type { Knex } from 'knex';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex } from './schema';

/** The name of the token that issued a licence: such a token sees only its own licences. */
export async function up(knex: Knex): Promise<void> {
  await addColumns(knex, 'licenses', { issued_by: `${columnTypes(knex).text(190)} NULL` });
  await addIndex(knex, 'licenses', ['issued_by']);
}

export async function down(knex: Knex): Promise<void> {
  await dropIndex(knex, 'licenses', ['issued_by']);
  await dropColumns(knex, 'licenses', ['issued_by']);
}
