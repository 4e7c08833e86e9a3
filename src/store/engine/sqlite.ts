import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as turnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import knex, { type Knex } from 'knex';
import type { Pool } from './connections';
import { isLockConflict } from './errors';

export interface SqliteSettings {
  kind: 'sqlite';
  path: string;
  /** LICENSING_TIMEOUT_FACTOR, by which callers multiply timeouts; 1 by default */
  timeoutFactor?: number | undefined;
}

/** Lists the files that SQLite may keep next to a database. They are part of it. */
export function companionFiles(path: string): string[] {
  return ['-wal', '-shm', '-journal'].map((suffix) => path + suffix);
}

/** Opens a pool of one connection, which creates the file. The driver is synchronous, so a second one would only wait. */
export function openSqlitePool(path: string, acquireTimeout: number): Pool {
  return new knex.KnexPool<LibsqlConnection>({
    min: 1,
    max: 1,
    acquireTimeoutMillis: acquireTimeout,
    propagateCreateError: true,
    create: () => Promise.resolve().then(() => connect(path)),
    destroy: (connection) => connection.close(),
  }) as unknown as Pool;
}

function connect(path: string): LibsqlConnection {
  mkdirSync(dirname(path), { recursive: true });
  makePrivate(path);
  const connection = new (loadLibsql())(path);
  // WAL with FULL keeps acknowledged commits after a power cut, and lets commands read at the same time.
  for (const pragma of [
    'busy_timeout = 5000',
    'journal_mode = WAL',
    'synchronous = FULL',
    'foreign_keys = ON',
    // An import makes a log as large as itself, which would keep its size.
    `journal_size_limit = ${WAL_LIMIT_BYTES}`,
    `busy_timeout = ${SQLITE_BUSY_TIMEOUT_MS}`,
  ])
    connection.exec(`PRAGMA ${pragma}`);
  return connection;
}

function loadLibsql(): new (path: string) => LibsqlConnection {
  try {
    // oxlint-disable-next-line typescript/no-require-imports -- an installation on MySQL works without it
    return require('libsql') as new (path: string) => LibsqlConnection;
  } catch (cause) {
    throw new Error(explainLoadFault(cause as NodeJS.ErrnoException), { cause });
  }
}

const ANOTHER_DATABASE = 'set LICENSING_DATABASE_URL to a MySQL or MariaDB database';

function explainLoadFault({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'MODULE_NOT_FOUND')
    return `The embedded database driver (the npm package libsql) is not installed. Run "npm ci" again without --omit=optional, or ${ANOTHER_DATABASE}.`;
  const reason = message.split('\n')[0] ?? message;
  const limit = addressSpaceLimit();
  return limit !== undefined && /map segment|allocate memory/.test(reason)
    ? `The embedded database driver does not fit into the memory that this process may use: its address space is limited to ${Math.round(limit / MB)} MB ("ulimit -v"). Raise the limit to 2000 MB or more, or ${ANOTHER_DATABASE}. Reason: ${reason}`
    : `The embedded database driver cannot be loaded on this machine: ${reason}. Correct that, or ${ANOTHER_DATABASE}.`;
}

const MB = 1024 * 1024;

/** Returns the limit in bytes; undefined without one, or where Linux does not report it. */
function addressSpaceLimit(): number | undefined {
  try {
    const [, bytes] = /^Max address space\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return bytes === undefined ? undefined : Number(bytes);
  } catch {
    return undefined;
  }
}

/** The size to which the log is cut when it begins again, which SQLite does at 4 MB unless a reader prevents it. */
const WAL_LIMIT_BYTES = 8 * 1024 * 1024;

interface LibsqlConnection {
  exec(sql: string): void;
  close(): void;
  inTransaction: boolean;
}

/** The driver's own wait for a lock. It blocks the whole process, so it is short, and callers repeat it. */
const SQLITE_BUSY_TIMEOUT_MS = 50;
/** The total time to wait for a lock, the same as for MySQL's locks (mysql.ts). */
const SQLITE_LOCK_WAIT_MS = 1_000;

const WRITES = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP)\b/i;

/**
 * Returns Knex's better-sqlite3 dialect for libsql, which needs neither compiler nor download. It overrides the private
 * `_query` of knex 3.3.0; test/units/package-versions.test.ts lists what to check in other versions. libsql 0.5.29 has
 * a bug: a prepared statement that met SQLITE_BUSY stays open until garbage collection, and until then writes succeed
 * but are not committed. So this takes the write lock with exec() first, which closes its statements.
 * @param lockWait the time in ms to wait for the write lock
 */
export function libsqlClient(lockWait = SQLITE_LOCK_WAIT_MS): typeof Knex.Client {
  // oxlint-disable-next-line typescript/no-require-imports -- the dialect has no types, and only SQLite needs it
  const Dialect = require('knex/lib/dialects/better-sqlite3') as new (config: Knex.Config) => SqliteDialect;
  /** Connections with a pending BEGIN. Not a field, because Knex does not copy fields to a transaction's client. */
  const beginning = new WeakSet<LibsqlConnection>();
  /** The number of characters of statements in this turn of the event loop. */
  let prepared = 0;
  class LibsqlDialect extends Dialect {
    override _driver(): void {
      // Does nothing, because the pool opens connections itself.
    }

    override async _query(connection: LibsqlConnection, query: { sql: string }): Promise<unknown> {
      const { sql } = query;
      prepared += sql.length;
      if (prepared > MAX_PREPARED) {
        prepared = 0;
        await turnOfLoop();
      }
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
        if (WRITES.test(sql)) await takeWriteLock(connection, lockWait);
        else connection.exec('BEGIN');
      }
      // Skip the ROLLBACK if the transaction has ended, which a full disk does.
      if (sql.startsWith('ROLLBACK') && !connection.inTransaction) return query;
      return WRITES.test(sql) && !connection.inTransaction
        ? this.writeAlone(connection, query)
        : super._query(connection, query);
    }

    private async writeAlone(connection: LibsqlConnection, query: { sql: string }): Promise<unknown> {
      await takeWriteLock(connection, lockWait);
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
 * The maximum number of characters of statements in a turn of the event loop. The driver frees a statement, about 60
 * bytes for each character, only when the loop turns after a garbage collection: an import of 100,000 licences took 979 MB.
 */
const MAX_PREPARED = 100_000;

/** Creates the file so that only its owner can read it and the files next to it; the driver would use the umask. */
function makePrivate(filename: string): void {
  if (existsSync(filename)) return;
  try {
    closeSync(openSync(filename, 'a', 0o600));
  } catch {
    // Let the driver fail instead, with an error that error-messages.ts explains.
  }
}

/** The parts of the dialect that this code uses; the dialect has no types. */
declare class SqliteDialect {
  _driver(): void;
  _query(connection: LibsqlConnection, query: { sql: string }): Promise<unknown>;
}

/** Takes the write lock. @throws SQLITE_BUSY (`isLockConflict`) if another process holds it for too long */
async function takeWriteLock(connection: LibsqlConnection, lockWait: number): Promise<void> {
  const until = performance.now() + lockWait;
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
