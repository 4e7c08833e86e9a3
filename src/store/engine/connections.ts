import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import knex, { type Knex } from 'knex';
import type { ConnectionOptions } from 'mysql2';
import { isCertificationConflict, isLockConflict, isOutOfConnections } from './errors';

/**
 * A pool of MySQL connections for Knex and for our own statements. When a connection goes silent (a firewall forgot it,
 * or a host died), its statements time out and it leaves the pool. test/units/package-versions.test.ts says what to
 * check in versions other than knex 3.3.0 (`query({ sql }, bindings, done)`, a transaction's client acquires its
 * connection) and mysql2 3.24.6 (the statement under way ends with the error that its socket was destroyed with).
 */
export type Pool = InstanceType<typeof knex.KnexPool<Connection>>;

/** The parts of the driver's connection used here and by Knex, and our own notes on it. */
export interface Connection {
  /** the server's number for it, not reused until the server restarts */
  threadId: number;
  readonly state: string;
  query: Send;
  execute: Send;
  on(event: 'error', listener: () => void): void;
  connect(done: (error: Error | null) => void): void;
  end(done: () => void): void;
  socket: Socket;
  answeredAt: number;
  /** needed where lost connections are killed (`askWhichServer`) */
  server?: Server | undefined;
  /** only outside a service: the server's own settings, such as `completion_type = CHAIN` */
  overridden?: string[];
  /** the server is a node of a Galera cluster */
  isGalera?: boolean;
  /** called when such a node has rolled a transaction back because another node changed the same rows */
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
  /** Saves 0.1 ms. For few statements only: the site shares the server's limit of prepared statements. */
  prepared?: boolean;
}

export interface ConnectionSettings {
  driver: ConnectionOptions;
  openSocket: () => Socket;
  setUp: (connection: Connection) => Promise<void>;
  /** ms until the connection has to be set up */
  connectTimeout?: number;
  /** ms without an answer until a connection counts as lost; undefined: never */
  statementTimeout: number | undefined;
  /** ms for which a statement outside of transactions is sent again after a lock conflict; undefined: not at all */
  lockPatience?: number | undefined;
}

interface PoolSettings {
  /** `onLost` is called when a statement of the connection has timed out */
  open: (onLost: OnLost) => Promise<Connection>;
  /** false: the connection leaves the pool before it is lent again */
  isUsable?: ((connection: Connection) => boolean) | undefined;
  max: number;
  /** how long a caller may wait for a connection */
  acquireTimeout: number;
  /** whether to kill lost connections on the server; otherwise their transactions keep their locks */
  killsLost: boolean;
}

export type OnLost = (connection: Connection, sentAt: number) => void;

/**
 * A command waits so long for rows that somebody else works on. Whatever it was told to do, an answer after a quarter of a
 * minute is better than one that asks to run it again.
 */
export const LOCK_PATIENCE_MS = 15_000;
const LOCK_PAUSE_MS = 100;
export const CONNECT_TIMEOUT_MS = 2_000;
/** A server that ends a connection does so at once. */
const FAREWELL_MS = 1_000;
const RETRY_MS = 100;
/** Creating a connection has a time-out of its own, except while it waits for a full server. */
const NEVER_MS = 2 ** 31 - 1;

export function openPool({
  open,
  isUsable = () => true,
  max,
  acquireTimeout,
  killsLost,
}: PoolSettings): Pool {
  /** When the latest statement was sent that timed out. */
  let silentSince = -Infinity;
  let connecting = 0;
  /** Connections that are killing a lost one; if such a connection is lost too, nobody kills it in turn. */
  const killing = new WeakSet<Connection>();

  const pool: Pool = new knex.KnexPool<Connection>({
    min: 0,
    max,
    acquireTimeoutMillis: acquireTimeout,
    createTimeoutMillis: NEVER_MS,
    createRetryIntervalMillis: RETRY_MS,
    // Fail at the first connection that cannot be made; otherwise callers wait for their time-out.
    propagateCreateError: true,
    create: connectWhenThereIsRoom,
    // If one connection goes silent, others have too: drop those without an answer since then.
    validate: (connection) =>
      connection.state === 'authenticated' && connection.answeredAt >= silentSince && isUsable(connection),
    destroy: sayGoodbye,
  });
  return pool;

  /** When the server is full, callers wait for our connections: the site shares its limit, usually only briefly. */
  async function connectWhenThereIsRoom(): Promise<Connection> {
    for (;;) {
      connecting++;
      try {
        return await open(onLost).finally(() => connecting--);
      } catch (error) {
        const hasOthers = pool.numUsed() + pool.numFree() + connecting > 0;
        if (!isOutOfConnections(error) || !hasOthers || pool.numPendingAcquires() === 0) throw error;
      }
      await sleep(RETRY_MS);
    }
  }

  function onLost(connection: Connection, sentAt: number): void {
    silentSince = Math.max(silentSince, sentAt);
    if (killsLost && !killing.has(connection))
      killOnServer(connection).catch(() => {
        // Already gone, or the server is unreachable; then wait_timeout ends it.
      });
  }

  async function killOnServer({ threadId, server }: Connection): Promise<void> {
    const connection = await pool.acquire().promise;
    try {
      // Another or restarted server may have given the number to somebody else.
      if (!isSame(connection.server, server)) return;
      killing.add(connection);
      const processes = await send<{ Id: number; Time: number }[]>(connection, LIST_CONNECTIONS);
      if (processes.some(({ Id, Time }) => Id === threadId && Time >= SILENT_S))
        await send(connection, `KILL ${threadId}`);
    } finally {
      killing.delete(connection);
      pool.release(connection);
    }
  }
}

/** Not by information_schema, for which MariaDB makes a table on disk: this very statement may be killed too. */
export const LIST_CONNECTIONS = 'SHOW PROCESSLIST';
/** Since it was lost, the server has had nothing else to do for a connection. */
const SILENT_S = 3;

/** Runs a statement on a connection. @returns the driver's answer: rows, or the result of a write */
export function send<Answer>(
  connection: Connection,
  sql: string,
  bindings: Knex.RawBinding[] = [],
  { prepared = false }: StatementOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    connection[prepared ? 'execute' : 'query'](sql, bindings, (error, answer) => {
      if (!error) resolve(answer as Answer);
      else if (prepared && HAD_NO_ROOM.has(error.errno)) resolve(send(connection, sql, bindings));
      else reject(error);
    });
  });
}

/**
 * The statement has not run: the limit that the site shares is reached (ER_MAX_PREPARED_STMT_COUNT_REACHED), or the
 * table cache was too small three times in a row (ER_NEED_REPREPARE).
 */
const HAD_NO_ROOM = new Set<number | undefined>([1461, 1615]);

/** @throws the driver's error */
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
  // Loaded here, because an installation on SQLite does not need it.
  const { createConnection } = await import('mysql2');
  const socket = openSocket();
  const connection = Object.assign(
    createConnection({ ...driver, stream: () => socket }) as unknown as Connection,
    { socket, answeredAt: 0 },
  );
  // Without a listener, an error would end the process. `state` tells that the connection is lost.
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
      // Report the original error, not the failed ROLLBACK.
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
        // The driver refuses some bindings before it sends anything.
        clearTimeout(timer);
        throw error;
      }
    };
  }
}

/** Sends what meets a lock conflict again, unless it is a part of a transaction, which only its caller can run again. */
function repeatAlone(connection: Connection, patience: number): void {
  let isInTransaction = false;
  for (const method of ['query', 'execute'] as const) {
    const pass = connection[method].bind(connection);
    connection[method] = (sql, bindings, done) => {
      const text = typeof sql === 'string' ? sql : sql.sql;
      if (/^(?:BEGIN|START)\b/i.test(text)) isInTransaction = true;
      const isAlone = !isInTransaction;
      // A COMMIT that is refused is a part of it, too: sent again, it would succeed and have committed nothing.
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

/** The driver would wait for the other side to close the socket. */
function sayGoodbye(connection: Connection): void {
  const { socket } = connection;
  const late = setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
  socket.once('close', () => clearTimeout(late));
  connection.end(ignore);
}

/** The server's own name for itself, because one address may lead to different servers, and its start time. */
interface Server {
  host: string;
  port: number;
  startedAt: number;
}

export async function askWhichServer(connection: Connection): Promise<Server | undefined> {
  const [name] = await send<Pick<Server, 'host' | 'port'>[]>(
    connection,
    'SELECT @@hostname AS host, @@port AS port',
  );
  const [uptime] = await send<{ Value: string }[]>(connection, "SHOW GLOBAL STATUS LIKE 'Uptime'");
  return name && uptime && { ...name, startedAt: performance.now() / 1000 - Number(uptime.Value) };
}

/** A server's uptime is in whole seconds, and is late by the time its answer took. */
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
