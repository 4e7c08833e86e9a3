import { isCoded, ConfigError } from '../base/errors';
import type { Config } from '../settings/config';
import { OperatorError } from '../licensing/operator-error';
import type { ProtectedFile } from '../packages/replace-file';
import { returnedLicenses } from './returned-licenses';
import { openDatabase, type Db } from '../store/engine/database';
import { toDatabaseUnusable } from '../store/engine/error-messages';
import {
  describePrefixes,
  emptySchemaState,
  findOtherPrefixes,
  runMigrations,
  readSchemaState,
  refuseOtherPrefix,
  refuseOtherSchema,
  requireCurrentSchema,
  SchemaError,
  type SchemaState,
} from '../store/engine/migrate';
import {
  describeMissing,
  grantStatement,
  MIGRATION_PRIVILEGES,
  REQUEST_PRIVILEGES,
  tryPrivileges,
} from '../store/engine/privileges';
import { companionFiles } from '../store/engine/sqlite';
import { holdsSealed } from '../store/sealed';

/** Opens the database for the command, creates its tables and migrates them. */

export { emptySchemaState, SchemaError, type Db };
export { driverReason } from '../store/engine/errors';
export { isOutcomeUnknown } from '../store/engine/transaction';

export const MIGRATION_RULES = { returnedLicenses };

/** Longer than reading the largest table takes, so that the command ends if the database does not respond. */
export const STATEMENT_TIMEOUT_MS = 300_000;

/** Runs `work` on the database, then closes it. @throws DATABASE_UNUSABLE */
export async function withDatabase<T>(
  config: Config,
  work: (db: Db) => Promise<T>,
  statementTimeout?: number,
): Promise<T> {
  const db = openDatabase(config.database, config.tablePrefix, 2, { statementTimeout });
  try {
    return await work(db);
  } catch (error) {
    throw withDatabaseHint(error, config);
  } finally {
    await db.destroy();
  }
}

/** Runs `work` like `withDatabase`, if the tables are those of this version. */
export function withCurrentDatabase<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const current = async (db: Db) => {
    await requireCurrentSchema(db);
    return work(db);
  };
  return withDatabase(config, current, STATEMENT_TIMEOUT_MS);
}

/** Returns the error, or one that explains it. */
export function withDatabaseHint(error: unknown, { database, databaseSource }: Config): unknown {
  return toDatabaseUnusable(error, database, databaseSource) ?? error;
}

/** Reports whether an error means that no database can be used: not configured, not reachable or not migrated. */
export function isWithoutDatabase(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof SchemaError || isCoded(error, 'DATABASE_UNUSABLE');
}

/** Returns the files of an SQLite database, or none for a server. */
export function databaseFiles(database: Config['database']): ProtectedFile[] {
  if (database.kind !== 'sqlite') return [];
  const what = 'the database of this installation';
  return [
    { path: database.path, what },
    ...companionFiles(database.path).map((path) => ({ path, what: `part of ${what}` })),
  ];
}

/** Reads the pending migrations. @throws SchemaError for the tables of another version or prefix */
export async function readMigrations(db: Db, { tablePrefixChosen }: Config): Promise<SchemaState> {
  const state = await readSchemaState(db);
  refuseOtherSchema(state);
  if (!tablePrefixChosen) await refuseOtherPrefix(db);
  return state;
}

/** Runs the pending migrations. @param onProgress is called for each piece of the rows that a migration fills */
export function migrate(
  db: Db,
  database: Config['database'],
  onProgress?: (done: number, all: number) => void,
): Promise<string[]> {
  return runMigrations(db, database, MIGRATION_RULES, onProgress);
}

/** Migrates the tables. @returns the migrations that it ran, and a text about other prefixes that may have been meant */
export async function bringUpToDate(
  db: Db,
  config: Config,
  { completed }: SchemaState,
  onProgress?: (done: number, all: number) => void,
) {
  const run = await migrate(db, config.database, onProgress);
  const others = config.tablePrefixChosen && completed.length === 0 ? await findOtherPrefixes(db) : [];
  return { run, others: describePrefixes(others) };
}

/** Refuses a new secret: it could not open the keys already sealed, and would hide that the old secret is missing. */
export async function refuseSecondSecret(db: Db, { completed }: SchemaState, file: string): Promise<void> {
  if (completed.length === 0 || !(await holdsSealed(db))) return;
  throw new OperatorError(
    `The database has keys that are sealed with a secret, but ${file} does not have that secret. Restore its line LICENSING_KEY_SECRET ` +
      'from a backup. If the secret is lost for good, write a line with a new one (openssl rand -base64 32 makes it). Nothing was changed.',
  );
}

/** @throws OperatorError that explains how to grant the missing privileges */
export async function requirePrivileges(db: Db, { database }: Config): Promise<void> {
  const missing = await tryPrivileges(db);
  if (missing.length > 0)
    throw new OperatorError(
      `The database user lacks rights that the service needs. Nothing was changed.\n  ${missing.map(describeMissing).join('\n  ')}\n` +
        (database.kind === 'mysql'
          ? `Run this as the database's administrator: ${grantStatement([...REQUEST_PRIVILEGES, ...MIGRATION_PRIVILEGES], database)}`
          : ''),
    );
}
