import { statSync } from 'node:fs';
import type { Knex } from 'knex';
import { isOtherSchema, migrationNames, migrationSource } from '../../../migrations/index';
import type { ReturnRows } from '../../../migrations/returned-payments';
import { CodedError } from '../../base/errors';
import {
  isSqlite,
  openDatabase,
  sqliteFile,
  table,
  tablePrefix,
  type DatabaseSettings,
  type Db,
} from './database';
import { isLockConflict } from './errors';
import { parseServerVersion, SUPPORTED_SERVERS } from './server';
import { rawRows } from './statements';
import { inTransaction } from './transaction';
import { explainRefusedLock } from './error-messages';

const LOCK_WAIT_SECONDS = 120;

export interface SchemaState {
  /** the migrations that the database lacks */
  pending: string[];
  completed: string[];
  /** the first migration of a version before 1.0.0 that had different tables */
  other: string | undefined;
  /** the migrations that only a newer version knows */
  newer: string[];
}

/** A state that commands can mend; the caller names them. */
export type SchemaFacts =
  | { reason: 'pending'; missing: string[] }
  | { reason: 'no-file'; file: string }
  | { reason: 'other-schema' };

/** The error for a schema that does not fit this code. */
export class SchemaError extends CodedError<'SCHEMA', SchemaFacts> {
  constructor(message: string, facts?: SchemaFacts) {
    super('SCHEMA', message, facts);
  }
}

export type { ReturnRows };

/** The rules by which migrations fill columns whose present value every later change is compared with. */
export interface MigrationRules {
  /** lists the licences whose payments were all given back */
  returnedLicenses: (rows: ReturnRows) => number[];
}

/** Provides transactions and rules in Knex's `userParams`, because a migration imports nothing of src (decision 6). */
const withParams = (rules: MigrationRules): Knex.MigrationSource<string> => ({
  ...migrationSource,
  async getMigration(name) {
    const migration = await migrationSource.getMigration(name);
    const up = (knex: Knex) => {
      Object.assign(knex.userParams, { inTransaction: inTransaction.bind(null, knex), ...rules });
      return migration.up(knex);
    };
    return { ...migration, up };
  },
});

/** Returns Knex's configuration, for `knex.migrate` and knexfile.ts, so that both use the same migrations table. */
export function migrationConfig(prefix: string, rules: MigrationRules): Knex.MigratorConfig {
  return { ...migrationTable(prefix), migrationSource: withParams(rules) };
}

const migrationTable = (prefix: string) => ({ tableName: `${prefix}licensing_migrations` });

/** Compares the database's migrations with those of this code. On an empty database, all are pending. */
export async function readSchemaState(db: Db): Promise<SchemaState> {
  const book = table(db, 'migrations');
  const completed = (await db.schema.hasTable(book))
    ? await db(book).orderBy('id').pluck<string[]>('name')
    : [];
  const known = migrationNames();
  const unknown = completed.filter((name) => !known.includes(name));
  const other = unknown.find(isOtherSchema);
  return {
    pending: known.filter((name) => !completed.includes(name)),
    completed,
    other,
    newer: other === undefined ? unknown : [],
  };
}

/** Reports whether a migration was recorded since a time. */
export async function wasMigrated(db: Db, name: string, since: Date): Promise<boolean> {
  const done = await db(table(db, 'migrations')).where({ name }).where('migration_time', '>=', since).first();
  return done !== undefined;
}

/** Returns the state of a database that does not exist yet. Connecting to an SQLite file would create it. */
export function emptySchemaState(): SchemaState {
  return { pending: migrationNames(), completed: [], other: undefined, newer: [] };
}

/** Checks server and schema. @throws SchemaError if the schema is not the one of this code, or the server is too old */
export async function requireCurrentSchema(db: Db): Promise<void> {
  refuseMissingFile(db);
  await refuseOldServer(db);
  const state = await readSchemaState(db);
  refuseOtherSchema(state);
  if (state.pending.length > 0)
    throw new SchemaError(`The database's schema is not up to date (missing: ${state.pending.join(', ')}).`, {
      reason: 'pending',
      missing: state.pending,
    });
}

async function refuseOldServer(db: Db): Promise<void> {
  if (isSqlite(db)) return;
  const [row] = await rawRows<{ version: string }>(db, 'SELECT VERSION() AS version', []);
  const { name, isSupported } = parseServerVersion(row?.version ?? '');
  if (!isSupported)
    throw new SchemaError(
      `The database server is ${name}; this version needs ${SUPPORTED_SERVERS}. Upgrade the server, or give the service a database of its own on a newer one.`,
    );
}

/** Refuses a missing SQLite file: connecting would create it, so that a mistyped path looked like an empty shop. */
function refuseMissingFile(db: Db): void {
  const file = sqliteFile(db);
  if (file !== undefined && statSync(file, { throwIfNoEntry: false }) === undefined)
    throw new SchemaError(`There is no database ${file}.`, { reason: 'no-file', file });
}

/** Refuses tables that this code cannot migrate. @throws SchemaError */
export function refuseOtherSchema({ other, newer }: SchemaState): void {
  if (other !== undefined)
    throw new SchemaError(
      `The database has the tables of another version before 1.0.0 (${other}). This version cannot change them; nothing was changed.`,
      { reason: 'other-schema' },
    );
  if (newer.length > 0)
    throw new SchemaError(
      `The database was migrated by a newer version of this program (it has ${newer.join(', ')}). ` +
        'Install that version, or restore the backup made before the upgrade; nothing was changed.',
    );
}

/**
 * Refuses to create tables next to those of another prefix. If the prefix was lost (`.env` without the Joomla site, or
 * a new prefix in the site), the service would start with an empty shop. Skip this if the operator chose the prefix.
 * @throws SchemaError with the settings for the existing tables
 */
export async function refuseOtherPrefix(db: Db): Promise<void> {
  if ((await readSchemaState(db)).completed.length > 0) return;
  const others = await findOtherPrefixes(db);
  if (others.length > 0)
    throw new SchemaError(
      `This database has no tables named ${describePrefixes([tablePrefix(db)])}, but it has this program's tables under another prefix: ${describePrefixes(others)}. ` +
        `To use them, write ${settingsForPrefixes(others)} in .env. ` +
        'For another shop in this database, write another LICENSING_TABLE_PREFIX there. Nothing was changed.',
    );
}

/** Lists the other prefixes for which the database has this program's tables. */
export async function findOtherPrefixes(db: Db): Promise<string[]> {
  const own = table(db, 'migrations');
  const book = own.slice(tablePrefix(db).length);
  const tables: { name: string }[] = isSqlite(db)
    ? await db('sqlite_master').where({ type: 'table' }).select('name')
    : await db('information_schema.tables')
        .whereRaw('table_schema = DATABASE()')
        .select({ name: 'table_name' });
  return tables
    .map(({ name }) => name)
    .filter((name) => name.endsWith(book) && name !== own)
    .map((name) => name.slice(0, -book.length))
    .sort();
}

/** Returns table names for these prefixes, in a form that users know. */
export function describePrefixes(prefixes: string[], or = 'or'): string {
  return prefixes.map((prefix) => `${prefix}licensing_...`).join(` ${or} `);
}

/** Returns the `.env` settings for tables with these prefixes. An empty prefix cannot be set, only left out. */
export function settingsForPrefixes(prefixes: string[]): string {
  return prefixes
    .map((prefix) =>
      prefix === ''
        ? 'LICENSING_DATABASE_URL, without LICENSING_TABLE_PREFIX and LICENSING_JOOMLA_ROOT,'
        : `LICENSING_TABLE_PREFIX=${prefix}`,
    )
    .join(' or ');
}

/**
 * Runs the pending migrations under a lock, so that processes take turns. Instances of the earlier version keep running.
 * @param onProgress is called for each piece of the rows that a migration fills
 * @returns the migrations that this call ran
 * @throws SchemaError if this code cannot migrate the tables
 */
export async function runMigrations(
  db: Db,
  settings: DatabaseSettings,
  rules: MigrationRules,
  onProgress?: (done: number, all: number) => void,
): Promise<string[]> {
  const unlock = await lockMigrations(settings, tablePrefix(db));
  try {
    const { pending, completed } = await prepareMigration(db);
    // Stop a service first on SQLite: after the migration, its earlier version would respond with 500.
    const isUsed = pending.length > 0 && completed.length > 0;
    const release = isUsed ? await claimDatabase(settings, servedMeanwhile) : undefined;
    Object.assign(db.userParams as object, { onProgress });
    try {
      for (const name of pending) await db.migrate.up({ ...migrationConfig(tablePrefix(db), rules), name });
    } finally {
      await release?.();
    }
    return pending;
  } finally {
    await unlock();
  }
}

/** Releases Knex's lock, which a killed process may have left. Under our own lock, no other process can be migrating. */
export async function prepareMigration(db: Db): Promise<SchemaState> {
  await refuseOldServer(db);
  const state = await readSchemaState(db);
  refuseOtherSchema(state);
  if (await db.schema.hasTable(`${table(db, 'migrations')}_lock`))
    await db.migrate.forceFreeMigrationsLock(migrationTable(tablePrefix(db)));
  return state;
}

/**
 * Takes an advisory lock that ends with the process: on a connection of its own, or on an open SQLite file. @returns
 * unlocks it
 */
export async function lockMigrations(
  settings: DatabaseSettings,
  prefix: string,
): Promise<() => Promise<void>> {
  if (settings.kind === 'sqlite')
    return lockFile(`${settings.path}.migrate-lock`, LOCK_WAIT_SECONDS, otherMigration);
  const holder = openDatabase(settings, prefix, 1);
  // Keep a transaction open: the pool closes connections that are idle for 30 s, and the lock with them.
  const held = await holder.transaction().catch(async (error: unknown) => {
    await holder.destroy();
    throw error;
  });
  const release = async () => {
    await held.rollback();
    await holder.destroy();
  };
  try {
    // Lock names are global to the server and have at most 64 characters.
    const name = `licensing ${settings.database}.${prefix}`.slice(0, 64);
    const [rows] = await held.raw<[{ got: number | null }[]]>('SELECT GET_LOCK(?, ?) AS got', [
      name,
      LOCK_WAIT_SECONDS,
    ]);
    if (rows?.[0]?.got !== 1) throw otherMigration();
  } catch (error) {
    await release();
    throw explainRefusedLock(error, settings) ?? error;
  }
  return release;
}

/**
 * Claims an SQLite database for one service, because two would wait for each other's writes and count limits
 * separately. Commands may run at the same time.
 * @returns a function that releases it; the end of the process also does
 */
export async function claimDatabase(
  settings: DatabaseSettings,
  refusal: (path: string) => Error = servedAlready,
): Promise<() => Promise<void>> {
  if (settings.kind !== 'sqlite') return () => Promise.resolve();
  const { path } = settings;
  return lockFile(`${path}.service-lock`, 0, () => refusal(path));
}

function servedAlready(path: string): Error {
  return new Error(
    `Another process already uses ${path}. Only one can use an SQLite database: stop the other one, or set LICENSING_DATABASE_URL to MySQL or MariaDB.`,
  );
}

function servedMeanwhile(path: string): Error {
  return new SchemaError(
    `A service is using ${path}, and could not read the new tables. Stop it, migrate, and start it again. Nothing was changed.`,
  );
}

async function lockFile(path: string, seconds: number, refusal: () => Error): Promise<() => Promise<void>> {
  const holder = openDatabase({ kind: 'sqlite', path }, '');
  try {
    await holder.raw(`PRAGMA busy_timeout = ${seconds * 1000}`);
    await holder.raw('BEGIN EXCLUSIVE');
  } catch (error) {
    await holder.destroy();
    throw isLockConflict(error) ? refusal() : error;
  }
  return async () => {
    // Roll back, because the driver's close keeps the lock, and this process's next migration would wait for it.
    await holder.raw('ROLLBACK');
    await holder.destroy();
  };
}

function otherMigration(): Error {
  return new Error(
    `Another process has been migrating this database for more than ${LOCK_WAIT_SECONDS} s. Try again when it has ended.`,
  );
}
