import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import knex, { type Knex } from 'knex';
import type { ConnectionOptions } from 'mysql2';
import { isCertificationConflict, isLockConflict, isOutOfConnections } from './errors';

/**
 * A connection pool for MySQL, for Knex and for our own statements. If a connection goes silent (a firewall dropped it,
 * or a host died), its statements time out and it leaves the pool. test/units/package-versions.test.ts lists what to
 * check in versions other than knex 3.3.0 (`query({ sql }, bindings, done)`; a transaction's client acquires its
 * connection) and mysql2 3.24.6 (a running statement fails with the error that its socket was destroyed with).
 */

/** The parts of the driver's connection that this code and Knex use, and our own data about it. */
export interface Connection {
  /** the server's number for the connection, which is not reused until the server restarts */
  threadId: number;
  readonly state: string;
  query: Send;
  execute: Send;
  on(event: 'error', listener: () => void): void;
  connect(done: (error: Error | null) => void): void;
  end(done: () => void): void;
  socket: Socket;
  answeredAt: number;
  /** needed if lost connections are killed (`askWhichServer`) */
  server?: Server | undefined;
  /** only in commands: the server's own settings, such as `completion_type = CHAIN` */
  overridden?: string[];
  /** true if the server is a node of a Galera cluster */
  isGalera?: boolean;
  /** called after such a node has rolled a transaction back, because another node changed the same rows */
  onConflict?: () => void;
}

type Send = (
  sql: string | { sql: string },
  bindings: Knex.RawBinding[],
  done: (
    error: (Error & { fatal?: boolean; errno?: number }) | null,
    answer: unknown,
    fields?: unknown,
  ) => void,
) => unknown;

export interface StatementOptions {
  /** Uses a prepared statement, which saves 0.1 ms. Use few: the server's limit is shared with the site. */
  prepared?: boolean;
}

export interface ConnectionSettings {
  driver: ConnectionOptions;
  openSocket: () => Socket;
  setUp: (connection: Connection) => Promise<void>;
  /** the time limit in ms for connecting and setting up */
  connectTimeout?: number;
  /** the time in ms without a response after which a connection is lost; by default no limit */
  statementTimeout: number | undefined;
  /** the time in ms for which a statement outside transactions is retried after a lock conflict; by default it is not */
  lockPatience?: number | undefined;
}

/** A pool whose limits may change while it is in use: tarn leaves these fields to subclasses, and reads them at each use. */
export class Pool extends knex.KnexPool<Connection> {
  resize(max: number, idleTimeout: number): void {
    this.max = max;
    this.idleTimeoutMillis = idleTimeout;
  }
}

interface PoolSettings {
  /** opens a connection; `onLost` is called when one of its statements has timed out */
  open: (onLost: OnLost) => Promise<Connection>;
  /** reports whether a connection may be used again; if not, it leaves the pool */
  isUsable?: ((connection: Connection) => boolean) | undefined;
  /** returns the present maximum number of connections; surplus ones are closed when they are idle or taken next */
  size: () => number;
  /** the time in ms after which an idle connection is closed */
  idleTimeout: number;
  /** the time that a caller waits for a connection */
  acquireTimeout: number;
  /** whether lost connections are killed on the server; otherwise their transactions keep their locks */
  killsLost: boolean;
}

export type OnLost = (connection: Connection, sentAt: number) => void;

/**
 * The time that a command waits for locked rows. A success after a quarter of a minute is better than an error that
 * asks the user to run the command again.
 */
export const LOCK_TIMEOUT_MS = 15_000;
const LOCK_PAUSE_MS = 100;
export const CONNECT_TIMEOUT_MS = 2_000;
/** The time limit for closing a connection. A server that responds does so at once. */
const FAREWELL_MS = 1_000;
const RETRY_MS = 100;
/** Disables Knex's own limit, because a connection has its own timeout, except while it waits for a full server. */
const NEVER_MS = 2 ** 31 - 1;

export function openPool({
  open,
  isUsable = () => true,
  size,
  idleTimeout,
  acquireTimeout,
  killsLost,
}: PoolSettings): Pool {
  /** The time at which the latest statement that timed out was sent. */
  let silentSince = -Infinity;
  /** Connections that are killing a lost one. If such a connection is lost too, it is not killed in turn. */
  const killing = new WeakSet<Connection>();

  const pool: Pool = new Pool({
    min: 0,
    max: size(),
    idleTimeoutMillis: idleTimeout,
    acquireTimeoutMillis: acquireTimeout,
    createTimeoutMillis: NEVER_MS,
    createRetryIntervalMillis: RETRY_MS,
    // Fail when a connection cannot be opened; otherwise callers would wait for their timeout.
    propagateCreateError: true,
    create: connectWhenThereIsRoom,
    // If one connection went silent, others may have too: drop all without a response since then.
    validate: (connection) =>
      connection.state === 'authenticated' &&
      connection.answeredAt >= silentSince &&
      pool.numUsed() + pool.numFree() <= size() &&
      isUsable(connection),
    destroy: sayGoodbye,
  });
  return pool;

  /** Waits while the server is full: the limit is shared with the site, which usually needs its connections only briefly. */
  async function connectWhenThereIsRoom(): Promise<Connection> {
    // Fail before the caller's own timeout, whose error would not name the cause.
    const until = performance.now() + acquireTimeout - 2 * RETRY_MS;
    for (;;) {
      try {
        return await open(onLost);
      } catch (error) {
        const isOver = pool.numPendingAcquires() === 0 || performance.now() > until;
        if (!isOutOfConnections(error) || isOver) throw error;
      }
      await sleep(RETRY_MS);
    }
  }

  function onLost(connection: Connection, sentAt: number): void {
    silentSince = Math.max(silentSince, sentAt);
    if (killsLost && !killing.has(connection))
      killOnServer(connection).catch(() => {
        // The connection is already closed, or the server is unreachable; then wait_timeout ends it.
      });
  }

  async function killOnServer({ threadId, server }: Connection): Promise<void> {
    const connection = await pool.acquire().promise;
    try {
      // Another or restarted server may have given the number to another connection.
      if (!isSame(connection.server, server)) return;
      killing.add(connection);
      const processes = await sendStatement<{ Id: number; Time: number }[]>(connection, LIST_CONNECTIONS);
      if (processes.some(({ Id, Time }) => Id === threadId && Time >= SILENT_S))
        await sendStatement(connection, `KILL ${threadId}`);
    } finally {
      killing.delete(connection);
      pool.release(connection);
    }
  }
}

/** Lists connections without information_schema, for which MariaDB makes a table on disk: it could be killed itself. */
export const LIST_CONNECTIONS = 'SHOW PROCESSLIST';
/** The seconds for which the server had nothing to do for a connection, so that it is the lost one. */
const SILENT_S = 3;

/** Runs a statement on a connection. @returns the driver's result: rows, or the result of a write */
export function sendStatement<Answer>(
  connection: Connection,
  sql: string,
  bindings: Knex.RawBinding[] = [],
  { prepared = false }: StatementOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    connection[prepared ? 'execute' : 'query'](sql, bindings, (error, answer) => {
      if (!error) resolve(answer as Answer);
      else if (prepared && HAD_NO_ROOM.has(error.errno)) resolve(sendStatement(connection, sql, bindings));
      else reject(error);
    });
  });
}

/**
 * Errors after which the statement has not run: the limit of prepared statements, shared with the site, was reached
 * (ER_MAX_PREPARED_STMT_COUNT_REACHED), or the table cache was too small three times in a row (ER_NEED_REPREPARE).
 */
const HAD_NO_ROOM = new Set<number | undefined>([1461, 1615]);

/** Opens a connection. @throws the driver's error */
export async function openConnection(
  {
    driver,
    openSocket,
    setUp,
    connectTimeout = CONNECT_TIMEOUT_MS,
    statementTimeout,
    lockPatience,
  }: ConnectionSettings,
  onLost: OnLost = ignore,
): Promise<Connection> {
  // Load the driver here, because an installation on SQLite does not need it.
  const { createConnection } = await import('mysql2');
  const socket = openSocket();
  const connection = Object.assign(
    createConnection({ ...driver, stream: () => socket }) as unknown as Connection,
    { socket, answeredAt: 0 },
  );
  // Without a listener, an error would end the process. `state` shows that the connection is lost.
  connection.on('error', ignore);
  const late = setTimeout(() => socket.destroy(lateError()), connectTimeout);
  try {
    await new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
    await setUp(connection);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
  }
  connection.answeredAt = performance.now();
  guard(connection, statementTimeout, onLost);
  if (lockPatience !== undefined) repeatAlone(connection, lockPatience);
  return connection;
}

function guard(connection: Connection, timeout: number | undefined, onLost: OnLost): void {
  let lost: Error | undefined;
  for (const method of ['query', 'execute'] as const) {
    const pass = connection[method].bind(connection);
    connection[method] = (sql, bindings, done) => {
      // Report the original error instead of the failed ROLLBACK.
      if (lost) return done(lost, undefined);
      const sentAt = performance.now();
      const timer =
        timeout === undefined
          ? undefined
          : setTimeout(() => {
              connection.socket.destroy(lateError());
              onLost(connection, sentAt);
            }, timeout);
      try {
        return pass(sql, bindings, (error, answer, fields) => {
          clearTimeout(timer);
          if (error && connection.isGalera) noteGalera(error, connection);
          if (error?.fatal) lost = error;
          else connection.answeredAt = performance.now();
          done(error, answer, fields);
        });
      } catch (error) {
        // The driver throws for some bindings before it sends anything.
        clearTimeout(timer);
        throw error;
      }
    };
  }
}

/** Retries a statement after a lock conflict, except in a transaction, which only its caller can run again. */
function repeatAlone(connection: Connection, patience: number): void {
  let isInTransaction = false;
  for (const method of ['query', 'execute'] as const) {
    const pass = connection[method].bind(connection);
    connection[method] = (sql, bindings, done) => {
      const text = typeof sql === 'string' ? sql : sql.sql;
      if (/^(?:BEGIN|START)\b/i.test(text)) isInTransaction = true;
      const isAlone = !isInTransaction;
      // Do not retry a failed COMMIT: the second one would succeed without having committed anything.
      if (/^(?:COMMIT|ROLLBACK)\b(?! TO)/i.test(text)) isInTransaction = false;
      const until = performance.now() + patience;
      const attempt = (): unknown =>
        pass(sql, bindings, (error, answer, fields) => {
          if (error && isAlone && isLockConflict(error) && performance.now() < until)
            setTimeout(attempt, Math.random() * LOCK_PAUSE_MS);
          else done(error, answer, fields);
        });
      return attempt();
    };
  }
}

function noteGalera(error: Error, { onConflict }: Connection): void {
  Object.assign(error, { isGalera: true });
  if (isCertificationConflict(error)) onConflict?.();
}

/** Closes a connection, and its socket after a timeout: the driver would wait for the server to close it. */
function sayGoodbye(connection: Connection): void {
  const { socket } = connection;
  const late = setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
  socket.once('close', () => clearTimeout(late));
  connection.end(ignore);
}

/** The server's own name, because one address may lead to different servers, and the time of its start. */
interface Server {
  host: string;
  port: number;
  /** the maximum of our user's connections; 0 if there is none */
  userLimit: number;
  startedAt: number;
}

export async function askWhichServer(connection: Connection): Promise<Server | undefined> {
  const [name] = await sendStatement<Omit<Server, 'startedAt'>[]>(
    connection,
    'SELECT @@hostname AS host, @@port AS port, @@max_user_connections AS userLimit',
  );
  const [uptime] = await sendStatement<{ Value: string }[]>(connection, "SHOW GLOBAL STATUS LIKE 'Uptime'");
  return name && uptime && { ...name, startedAt: performance.now() / 1000 - Number(uptime.Value) };
}

/** The tolerance for the start time: the uptime is in whole seconds, and older by the time that its response took. */
const START_TOLERANCE = (1_000 + CONNECT_TIMEOUT_MS) / 1000;

function isSame(one: Server | undefined, other: Server | undefined): boolean {
  return (
    one !== undefined &&
    one.host === other?.host &&
    one.port === other.port &&
    Math.abs(one.startedAt - other.startedAt) <= START_TOLERANCE
  );
}

function lateError(): Error {
  return Object.assign(new Error('The database did not answer in time.'), { code: 'ETIMEDOUT' });
}

function ignore(): void {
  // nothing to do
}
