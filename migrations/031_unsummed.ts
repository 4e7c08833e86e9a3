import type { Knex } from 'knex';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex } from './schema';

/**
 * How many of a row's `times` the daily sums do not have yet; null: none of them. So the sums miss no row, whenever it is
 * written, imported or counted on, and rows of an earlier version need no change.
 */
const TABLES = ['access_log', 'events'];

export async function up(knex: Knex): Promise<void> {
  for (const name of TABLES) {
    await addColumns(knex, name, { unsummed: `${columnTypes(knex).count} NULL` });
    await addIndex(knex, name, ['unsummed']);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const name of TABLES) {
    await dropIndex(knex, name, ['unsummed']);
    await dropColumns(knex, name, ['unsummed']);
  }
}
