import { isCoded, ConfigError } from '../base/errors';
import type { Config } from '../settings/config';
import type { OwnFile } from '../packages/replace-file';
import { openDatabase, type Db } from '../store/engine/database';
import { toDatabaseUnusable } from '../store/engine/error-messages';
import { requireCurrentSchema, SchemaError } from '../store/engine/migrate';
import { sideFiles } from '../store/engine/sqlite';

export type { Db };

/** Longer than reading the largest table takes, so that an unresponsive database ends the command eventually. */
export const STATEMENT_TIMEOUT_MS = 300_000;

/** Closes the database afterwards. @throws DATABASE_UNUSABLE */
export async function withDatabase<T>(
  config: Config,
  work: (db: Db) => Promise<T>,
  statementTimeout?: number,
): Promise<T> {
  const db = openDatabase(config.database, config.tablePrefix, 2, { statementTimeout });
  try {
    return await work(db);
  } catch (error) {
    throw explained(error, config);
  } finally {
    await db.destroy();
  }
}

/** Like `withDatabase`, for a database whose tables are those of this version. */
export function withCurrentDatabase<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const current = async (db: Db) => {
    await requireCurrentSchema(db);
    return work(db);
  };
  return withDatabase(config, current, STATEMENT_TIMEOUT_MS);
}

/** The error itself, or one that explains it. */
export function explained(error: unknown, { database, databaseSource }: Config): unknown {
  return toDatabaseUnusable(error, database, databaseSource) ?? error;
}

/** Whether an error says that there is no database to work with: not configured, not reachable or not migrated. */
export function isWithoutDatabase(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof SchemaError || isCoded(error, 'DATABASE_UNUSABLE');
}

/** The files of an SQLite database; none for a server. */
export function databaseFiles(database: Config['database']): OwnFile[] {
  if (database.kind !== 'sqlite') return [];
  const what = 'the database of this installation';
  return [
    { path: database.path, what },
    ...sideFiles(database.path).map((path) => ({ path, what: `part of ${what}` })),
  ];
}
