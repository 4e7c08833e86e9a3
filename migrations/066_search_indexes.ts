import type { Knex } from 'knex';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex } from './schema';

/**
 * What the search field finds besides the end of a key: its beginning, and the names of an agency's clients and of
 * orders' customers. The beginning has six of the 32 digits: with the eight of the hint, 72 bits of a key stay unknown.
 */
const INDEXES: [table: string, columns: string[]][] = [
  ['license_keys', ['key_start']],
  ['license_keys', ['label']],
  ['orders', ['customer_name']],
];

export async function up(knex: Knex): Promise<void> {
  await addColumns(knex, 'license_keys', { key_start: `${columnTypes(knex).ascii(6)} NULL` });
  for (const [table, columns] of INDEXES) await addIndex(knex, table, columns);
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, columns] of INDEXES) await dropIndex(knex, table, columns);
  await dropColumns(knex, 'license_keys', ['key_start']);
}
