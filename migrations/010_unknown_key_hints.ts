import type { Knex } from 'knex';
import { tableName } from './schema';

/**
 * Removes the ends of unknown keys that are not of our own shape: browsers put passwords into key fields. Our own
 * keys' ends have eight characters, others have four.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    `UPDATE ${tableName(knex, 'access_log')} SET key_hint = NULL
      WHERE license_id IS NULL AND key_hint IS NOT NULL AND LENGTH(key_hint) <> 8`,
  );
}

/** What was removed cannot come back. */
export const down = (): Promise<void> => Promise.resolve();
