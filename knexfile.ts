/** For `npx knex migrate:latest`; `licensing migrate` does the same in the build. */
import type { Knex } from 'knex';
import { readConfig } from './src/settings/config';
import { MIGRATION_RULES } from './src/setup/database';
import { knexConfig, openDatabase } from './src/store/engine/database';
import {
  lockMigrations,
  migrationConfig,
  prepareMigration,
  refuseOtherPrefix,
} from './src/store/engine/migrate';

export default async function config(): Promise<Knex.Config> {
  const { database, tablePrefix, tablePrefixChosen } = readConfig();
  // Held until this process ends: Knex's own lock neither waits nor survives a kill.
  await lockMigrations(database, tablePrefix);
  const db = openDatabase(database, tablePrefix);
  if (!tablePrefixChosen) await refuseOtherPrefix(db);
  await prepareMigration(db);
  await db.destroy();
  return {
    ...knexConfig(database, tablePrefix),
    migrations: migrationConfig(tablePrefix, MIGRATION_RULES),
    seeds: { directory: './seeds', loadExtensions: ['.ts'] },
  };
}
