import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { isLockConflict } from './errors';

export interface SqliteSettings {
  kind: 'sqlite';
  /** Absolute path of the database file. */
  path: string;
}

/** The files that SQLite may keep beside a database; what is in them is part of it. */
export function sideFiles(path: string): string[] {
  return ['-wal', '-shm', '-journal'].map((suffix) => path + suffix);
}

/**
 * What Knex is told of a file. One process, one connection: the driver is synchronous, so a second would only wait for
 * the first.
 */
export function sqliteConfig(settings: SqliteSettings): Knex.Config {
  return {
    client: libsqlClient(),
    connection: { filename: settings.path },
    useNullAsDefault: true,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: LibsqlConnection, done: (error: Error | null, connection: unknown) => void) {
        // WAL with FULL: a commit that was acknowledged survives a power cut, and the command line reads meanwhile.
        for (const pragma of [
          'busy_timeout = 5000',
          'journal_mode = WAL',
          'synchronous = FULL',
          'foreign_keys = ON',
          // An import makes a log as large as itself, which would stay so.
          `journal_size_limit = ${WAL_LIMIT_BYTES}`,
          `busy_timeout = ${SQLITE_BUSY_TIMEOUT_MS}`,
        ])
          connection.exec(`PRAGMA ${pragma}`);
        done(null, connection);
      },
    },
  };
}

/** Beyond this the log is cut when it is begun again; SQLite begins it again at 4 MB where no reader is in its way. */
const WAL_LIMIT_BYTES = 8 * 1024 * 1024;

interface LibsqlConnection {
  exec(sql: string): void;
  inTransaction: boolean;
}

/** The whole process stands still while the driver waits, so it waits for a moment at a time ... */
const SQLITE_BUSY_TIMEOUT_MS = 50;
/** ... until this is over, which is MySQL's lock wait (mysql.ts). */
const SQLITE_LOCK_WAIT_MS = 1_000;

const WRITES = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP)\b/i;

/**
 * Knex's better-sqlite3 dialect on libsql, which has the same interface and needs neither compiler nor download.
 *
 * One thing it does not do: a prepared statement that met SQLITE_BUSY stays open until it is garbage-collected, and
 * until then the connection commits nothing, though every write is answered as if it did (libsql 0.5.29). Its exec()
 * closes what it opens. So SQLite's one write lock is taken through exec() before anything is written: by a
 * transaction whose first statement writes, and by a write that is its own transaction.
 */
function libsqlClient(): typeof Knex.Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the dialect has no types and is needed for SQLite alone
  const Dialect = require('knex/lib/dialects/better-sqlite3') as new (config: Knex.Config) => SqliteDialect;
  /** Those that were told to begin and have had no statement since. Knex copies no fields to a transaction's client. */
  const beginning = new WeakSet<LibsqlConnection>();
  class LibsqlDialect extends Dialect {
    _driver(): unknown {
      try {
        // eslint-disable-next-line @typescript-eslint/no-require-imports -- an installation on MySQL works without it
        return require('libsql');
      } catch (cause) {
        throw new Error(
          'The embedded database driver (the npm package libsql) could not be loaded on this machine. ' +
            'Run "npm ci" again without --omit=optional, or set LICENSING_DATABASE_URL to a MySQL or MariaDB database.',
          { cause },
        );
      }
    }

    override acquireRawConnection(): Promise<unknown> {
      const { filename } = this.connectionSettings as { filename: string };
      mkdirSync(dirname(filename), { recursive: true });
      makePrivate(filename);
      return super.acquireRawConnection();
    }

    override async _query(connection: LibsqlConnection, query: { sql: string }): Promise<unknown> {
      const { sql } = query;
      if (sql === 'BEGIN;') {
        beginning.add(connection);
        return query;
      }
      if (sql.startsWith('BEGIN')) {
        connection.exec(sql);
        return query;
      }
      if (beginning.delete(connection)) {
        if (/^(?:COMMIT|ROLLBACK)/.test(sql)) return query;
        if (WRITES.test(sql)) await takeWriteLock(connection);
        else connection.exec('BEGIN');
      }
      // A full disk ends a transaction by itself.
      if (sql.startsWith('ROLLBACK') && !connection.inTransaction) return query;
      return WRITES.test(sql) && !connection.inTransaction
        ? this.writeAlone(connection, query)
        : super._query(connection, query);
    }

    private async writeAlone(connection: LibsqlConnection, query: { sql: string }): Promise<unknown> {
      await takeWriteLock(connection);
      try {
        const result = await super._query(connection, query);
        connection.exec('COMMIT');
        return result;
      } catch (error) {
        if (connection.inTransaction) connection.exec('ROLLBACK');
        throw error;
      }
    }
  }
  return LibsqlDialect as unknown as typeof Knex.Client;
}

/**
 * Makes the file for its owner alone. The driver would make it as the umask says, mostly for everybody to read, and
 * gives the log and the index beside it the file's own mode. One that is there keeps its mode.
 */
function makePrivate(filename: string): void {
  if (existsSync(filename)) return;
  try {
    closeSync(openSync(filename, 'a', 0o600));
  } catch {
    // Nor can the driver make it then, and its error is the one that is explained (trouble.ts).
  }
}

/** What is used here of the dialect, which has no types. */
declare class SqliteDialect {
  connectionSettings: unknown;
  acquireRawConnection(): Promise<unknown>;
  _query(connection: LibsqlConnection, query: { sql: string }): Promise<unknown>;
}

/** @throws SQLITE_BUSY (`isLockConflict`) when another process holds it for too long */
async function takeWriteLock(connection: LibsqlConnection): Promise<void> {
  const until = performance.now() + SQLITE_LOCK_WAIT_MS;
  for (;;) {
    try {
      connection.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (!isLockConflict(error) || performance.now() > until) throw error;
      await sleep(Math.random() * 10);
    }
  }
}
