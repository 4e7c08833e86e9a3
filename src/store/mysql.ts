import type { Knex } from 'knex';
import { isOutOfConnections } from './errors';
import { driverTls, type ServerLocation, type TlsSettings } from './tls';

export interface MysqlSettings extends ServerLocation {
  kind: 'mysql';
  user: string;
  password: string;
  database: string;
  /** Without it nothing is encrypted. */
  tls?: TlsSettings;
}

/** How long a caller can wait before "not reachable" is the honest answer. */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Strict, so that a value which does not fit is an error and never cut; one second of lock wait, so that a row
 * held by somebody else delays its own callers and nobody else. The character set, because a server may ignore what
 * the driver asks for; no chain, with which what is committed by itself would wait for the next COMMIT.
 */
const MYSQL_SESSION = `SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 1, autocommit = 1, completion_type = 0`;

/** What both servers do unless they are told otherwise, and all here relies on. The variable's name is not the same in all. */
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ';

/**
 * For a service besides: what a lost connection has left behind ends with the server's patience, its locks too, if the
 * server could not be told (`killOnServer`). Knex closes a connection that is idle for half as long.
 */
const SERVICE_SESSION = `${MYSQL_SESSION}, wait_timeout = 60`;

/** What a server gives to connections by default, where it could break what is relied on here. */
const USUAL_SESSION: Record<string, string> = {
  autocommit: 'ON',
  character_set_client: 'utf8mb4',
  completion_type: 'NO_CHAIN',
  transaction_isolation: 'REPEATABLE-READ',
  // MariaDB's name for it, before 11.1
  tx_isolation: 'REPEATABLE-READ',
};

export interface ConnectionRules {
  /** ms until a statement without an answer has lost its connection; undefined: never */
  statementTimeout?: number | undefined;
  /** the process answers requests, so a transaction of it is short */
  isService?: boolean;
}

/** What Knex is told of a MySQL or MariaDB server. */
export function mysqlConfig(
  settings: MysqlSettings,
  poolSize: number,
  { statementTimeout, isService = false }: ConnectionRules = {},
): Knex.Config {
  const { host, port, socketPath, user, password, database, tls } = settings;
  return {
    client: mysqlClient({ statementTimeout, isService }),
    // It would be asked of the server, for what is not used here.
    version: 'latest',
    connection: {
      // The host of a socket is a name only, for the server's certificate.
      ...(socketPath === undefined ? { host, port } : { host, socketPath }),
      ...(tls === undefined ? {} : driverTls(tls, settings)),
      user,
      password,
      database,
      charset: 'utf8mb4',
      timezone: 'Z',
      // Times travel as text (see time.ts): no driver's idea of a time zone comes between.
      dateStrings: true,
      supportBigNumbers: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
    },
    pool: {
      min: 0,
      max: poolSize,
      createTimeoutMillis: CONNECT_TIMEOUT_MS,
      createRetryIntervalMillis: 100,
      // The first refusal to connect is the answer, but for `initializePool`; else Knex repeats it until the pool's
      // time is up.
      propagateCreateError: true,
      afterCreate(connection: MysqlConnection, done: (error: Error | null, connection: unknown) => void) {
        setUp(connection, isService)
          .then(
            () => {
              done(null, connection);
            },
            (error: unknown) => {
              // Knex forgets it, and says nothing to it.
              cut(connection);
              done(error as Error, connection);
            },
          )
          .finally(() => clearTimeout(connection.settingUp));
      },
    },
  };
}

/** Makes a new connection one of ours. @throws what the server refuses it with */
async function setUp(connection: MysqlConnection, isService: boolean): Promise<void> {
  if (!isService) connection.overridden = await askWhatIsUnusual(connection);
  await ask(connection, isService ? SERVICE_SESSION : MYSQL_SESSION);
  await ask(connection, ISOLATION);
  if (isService) connection.server = await askWhichServer(connection);
}

async function askWhatIsUnusual(connection: MysqlConnection): Promise<string[]> {
  const names = Object.keys(USUAL_SESSION).map((name) => `'${name}'`);
  const variables = await ask<{ Variable_name: string; Value: string }>(
    connection,
    `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.join(', ')})`,
  );
  return variables
    .filter(({ Variable_name: name, Value }) => Value !== USUAL_SESSION[name])
    .map(({ Variable_name: name, Value }) => `${name} = ${Value}`);
}

async function askWhichServer(connection: MysqlConnection): Promise<Server | undefined> {
  const [name] = await ask<Pick<Server, 'host' | 'port'>>(
    connection,
    'SELECT @@hostname AS host, @@port AS port',
  );
  const [uptime] = await ask<{ Value: string }>(connection, "SHOW GLOBAL STATUS LIKE 'Uptime'");
  return name && uptime && { ...name, startedAt: performance.now() / 1000 - Number(uptime.Value) };
}

function ask<Row>(connection: MysqlConnection, sql: string): Promise<Row[]> {
  return new Promise((resolve, reject) =>
    connection.query(sql, (error, rows) => {
      if (error) reject(error);
      else resolve(rows);
    }),
  );
}

/** Its own name for itself, since behind one address may be one today and another tomorrow, and when it was started. */
interface Server {
  host: string;
  port: number;
  /** by our clock, in seconds */
  startedAt: number;
}

/** What is used here of the driver's connection, and what is kept with it. */
interface MysqlConnection {
  /** the server's number for it, given to no other until the server is restarted */
  threadId: number;
  /** of a service's */
  server?: Server | undefined;
  /** of an operator's */
  overridden?: string[];
  stream: { destroy(error?: Error): void; once(event: 'close', listener: () => void): void };
  /** ends one that says nothing before it can be used */
  settingUp: NodeJS.Timeout;
  endOnServer: () => Promise<void>;
  answeredAt?: number;
  /** Knex's mark for a connection that must not go back to the pool */
  __knex__disposed?: Error;
  on(event: 'error', listener: () => void): void;
  end(done: () => void): void;
  query(sql: string, done: (error: Error | null, rows: never[]) => void): void;
  execute(
    sql: string,
    bindings: Knex.RawBinding[],
    done: (error: Error | null, answer: unknown) => void,
  ): void;
}

/** What is used here of Knex's dialect, which has no types. */
interface MysqlDialect extends Knex.Client {
  _driver(): { createConnection(settings: object): MysqlConnection };
  _query(connection: unknown, query: Statement): Promise<unknown>;
  initializePool(config: Knex.Config): void;
}

/** What is used here of tarn's pool. */
interface CreatingPool {
  creator: () => Promise<unknown>;
  numUsed(): number;
  numFree(): number;
  numPendingCreates(): number;
}

/** A server that ends a connection does so at once. */
const FAREWELL_MS = 1_000;

/**
 * Knex's mysql2 dialect for connections that may go silent, though nothing says so: a firewall forgot them, a host died.
 * Such a one is never waited for without end, and its socket is closed; the driver would wait for the other side's word.
 */
function mysqlClient({ statementTimeout, isService }: ConnectionRules): typeof Knex.Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the dialect has no types
  const Dialect = require('knex/lib/dialects/mysql2') as new (config: Knex.Config) => MysqlDialect;
  /** When the latest statement was sent that had no answer in time. */
  let silentSince = -Infinity;
  /** Those that are told of others; of them nobody is. */
  const ending = new WeakSet<MysqlConnection>();
  return class SilenceProofDialect extends Dialect {
    override _driver() {
      const driver = super._driver();
      const createConnection = (settings: object): MysqlConnection => {
        const connection = driver.createConnection(settings);
        connection.settingUp = setTimeout(() => cut(connection, lateError()), CONNECT_TIMEOUT_MS);
        // One that was refused is no reason to stay.
        connection.settingUp.unref();
        // A transaction's own client has no pool to take another connection from.
        connection.endOnServer = () => this.killOnServer(connection);
        return connection;
      };
      return Object.create(driver, { createConnection: { value: createConnection } }) as typeof driver;
    }

    /**
     * Where the server has no connection to spare, callers wait for one that is here already, until the pool's time is
     * up: the server's limit is the site's too, and full for moments only.
     */
    override initializePool(config: Knex.Config): void {
      super.initializePool(config);
      const pool = this.pool as unknown as CreatingPool;
      const { creator } = pool;
      let isFull = false;
      pool.creator = async () => {
        try {
          return await creator();
        } catch (error) {
          isFull = isOutOfConnections(error);
          throw error;
        }
      };
      const hasSome = () => pool.numUsed() + pool.numFree() + pool.numPendingCreates() > 0;
      Object.defineProperty(pool, 'propagateCreateError', { get: () => !(isFull && hasSome()) });
    }

    /** Not Knex's, which hears no more of a connection once it has said goodbye. */
    override destroyRawConnection(connection: MysqlConnection): Promise<void> {
      clearTimeout(connection.settingUp);
      const late = setTimeout(() => cut(connection), FAREWELL_MS).unref();
      connection.stream.once('close', () => clearTimeout(late));
      connection.on('error', ignore);
      connection.end(ignore);
      return Promise.resolve();
    }

    /** What makes one connection silent does it to its neighbours: a request each would find that out one by one. */
    override validateConnection(connection: MysqlConnection): Promise<boolean> {
      const { answeredAt = Infinity } = connection;
      return answeredAt >= silentSince ? super.validateConnection(connection) : Promise.resolve(false);
    }

    override async _query(connection: MysqlConnection, query: Statement): Promise<unknown> {
      const asText = () => super._query(connection, query);
      const send = () => (query.prepared ? execute(connection, query).catch(ifNoRoom(asText)) : asText());
      // What it was lost by, and not that a ROLLBACK cannot be sent on it any more.
      if (connection.__knex__disposed) throw connection.__knex__disposed;
      if (statementTimeout === undefined) return send();
      const sentAt = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => {
          const error = lateError();
          connection.__knex__disposed = error;
          cut(connection, error);
          silentSince = Math.max(silentSince, sentAt);
          if (isService && !ending.has(connection)) void connection.endOnServer();
          reject(error);
        }, statementTimeout);
      });
      try {
        const answer = await Promise.race([send(), late]);
        connection.answeredAt = performance.now();
        return answer;
      } finally {
        clearTimeout(timer);
      }
    }

    /** Ends the server's side of a lost connection: its transaction would hold its locks for as long as that lives. */
    private async killOnServer(lost: MysqlConnection): Promise<void> {
      const { threadId } = lost;
      try {
        const connection = (await this.acquireConnection()) as MysqlConnection;
        try {
          // Another server, or a restarted one, has given the number to somebody else, or will.
          if (!isSame(connection.server, lost.server)) return;
          ending.add(connection);
          const { response } = (await this._query(connection, {
            sql: 'SELECT ID FROM information_schema.PROCESSLIST WHERE ID = ? AND TIME >= 3',
            bindings: [threadId],
          })) as Answered;
          if ((response[0] as unknown[]).length > 0)
            await this._query(connection, { sql: `KILL ${threadId}`, bindings: [] });
        } finally {
          ending.delete(connection);
          await this.releaseConnection(connection);
        }
      } catch {
        // It is gone by itself, or nobody can be reached now; then its idle time ends it.
      }
    }
  } as unknown as typeof Knex.Client;
}

/** A server says in whole seconds when it was started, and late by how long its answer took. */
const START_TOLERANCE = (1_000 + CONNECT_TIMEOUT_MS) / 1000;

function isSame(one: Server | undefined, other: Server | undefined): boolean {
  return (
    one !== undefined &&
    one.host === other?.host &&
    one.port === other.port &&
    Math.abs(one.startedAt - other.startedAt) <= START_TOLERANCE
  );
}

/** Closes a connection's socket. Whatever it still has to say of that is an error of nobody's. */
function cut(connection: MysqlConnection, error?: Error): void {
  connection.on('error', ignore);
  connection.stream.destroy(error);
}

function ignore(): void {
  // nothing to do
}

function lateError(): Error {
  return Object.assign(new Error('The database did not answer in time.'), { code: 'ETIMEDOUT' });
}

/** What Knex's dialect does with a query, by a prepared statement, which the connection keeps. */
function execute(connection: MysqlConnection, { sql, bindings }: Statement): Promise<Answered> {
  return new Promise((resolve, reject) => {
    connection.execute(sql, bindings, (error, answer) => {
      if (error) reject(error);
      else resolve({ response: [answer] });
    });
  });
}

/**
 * Where the server has no room for a prepared statement, which it then has not executed: it holds as many as it may
 * (ER_MAX_PREPARED_STMT_COUNT_REACHED), the site's with ours; or it has lost the table it was prepared for three times in
 * a row to those of others (ER_NEED_REPREPARE), as its cache of tables is small.
 */
function ifNoRoom<T>(otherwise: () => T): (error: Error & { errno?: number }) => T {
  return (error) => {
    if (error.errno === 1461 || error.errno === 1615) return otherwise();
    throw error;
  };
}

export interface Statement {
  sql: string;
  bindings: Knex.RawBinding[];
  /**
   * Saves a tenth of a millisecond, on the connections of a service, which last. For few texts only: the server has
   * room for so many prepared statements, and shares it with the site.
   */
  prepared?: boolean;
}

export interface Answered {
  response: unknown[];
}
