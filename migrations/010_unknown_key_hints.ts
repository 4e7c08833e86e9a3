import type { Knex } from 'knex';
import { tableName } from './schema';

/**
 * Removes the ends of unknown keys that do not have our format, because browsers fill passwords into key fields. The
 * ends of keys in our format have eight characters, others four.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    `UPDATE ${tableName(knex, 'access_log')} SET key_hint = NULL
      WHERE license_id IS NULL AND key_hint IS NOT NULL AND LENGTH(key_hint) <> 8`,
  );
}

/** Removed ends cannot be restored. */
export const down = (): Promise<void> => Promise.resolve();
