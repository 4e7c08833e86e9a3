import type { Knex } from 'knex';
import { columnTypes, isSqlite, tableName } from './schema';

/**
 * Lets licences be added without the key columns, which 019 drops once no process of an earlier version reads them.
 * SQLite cannot change a column; there 019 always runs together with this.
 */
export async function up(knex: Knex): Promise<void> {
  if (isSqlite(knex)) return;
  await knex.raw(
    `ALTER TABLE ${tableName(knex, 'licenses')} MODIFY key_digest ${columnTypes(knex).digest} NULL`,
  );
}

export const down = (): Promise<void> => Promise.resolve();
