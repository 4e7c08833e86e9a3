import type { Knex } from 'knex';
import { isOutOfConnections } from './errors';
import { driverTls, type ServerLocation, type TlsSettings } from './tls';

export interface MysqlSettings extends ServerLocation {
  kind: 'mysql';
  user: string;
  password: string;
  database: string;
  /** undefined: connections are not encrypted */
  tls?: TlsSettings;
}

/** How long a caller may wait before the database counts as unreachable. */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Strict mode, so that values that do not fit are errors and never cut. A lock wait of 1 s, so that a held row delays
 * only its own callers. SET NAMES, because a server may ignore the driver's character set. No completion_type CHAIN,
 * which would delay autocommitted statements until the next COMMIT.
 */
const MYSQL_SESSION = `SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 1, autocommit = 1, completion_type = 0`;

/** The default of both servers, which this code relies on. SET works in all versions; the variable's name differs. */
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ';

/**
 * For a service: if KILL cannot be sent (`killOnServer`), the server drops a lost connection, and its locks, after 60
 * s. Knex closes idle connections after half that time.
 */
const SERVICE_SESSION = `${MYSQL_SESSION}, wait_timeout = 60`;

/** The server's defaults that this code relies on. */
const USUAL_SESSION: Record<string, string> = {
  autocommit: 'ON',
  character_set_client: 'utf8mb4',
  completion_type: 'NO_CHAIN',
  transaction_isolation: 'REPEATABLE-READ',
  // MariaDB's name for it before 11.1
  tx_isolation: 'REPEATABLE-READ',
};

export interface ConnectionRules {
  /** ms without an answer until the connection counts as lost; undefined: never */
  statementTimeout?: number | undefined;
  /** the process answers requests, so its transactions are short */
  isService?: boolean;
}

/** Knex's configuration for a MySQL or MariaDB server. */
export function mysqlConfig(
  settings: MysqlSettings,
  poolSize: number,
  { statementTimeout, isService = false }: ConnectionRules = {},
): Knex.Config {
  const { host, port, socketPath, user, password, database, tls } = settings;
  return {
    client: mysqlClient({ statementTimeout, isService }),
    // Otherwise Knex asks the server for its version, which is not needed here.
    version: 'latest',
    connection: {
      // With a socket, the host is only the name in the server's certificate.
      ...(socketPath === undefined ? { host, port } : { host, socketPath }),
      ...(tls === undefined ? {} : driverTls(tls, settings)),
      user,
      password,
      database,
      charset: 'utf8mb4',
      timezone: 'Z',
      // Times travel as text (see time.ts), so the driver converts no time zones.
      dateStrings: true,
      supportBigNumbers: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
    },
    pool: {
      min: 0,
      max: poolSize,
      createTimeoutMillis: CONNECT_TIMEOUT_MS,
      createRetryIntervalMillis: 100,
      // Fail at the first refused connection (exception: `initializePool`); otherwise Knex retries until the pool's
      // time-out.
      propagateCreateError: true,
      afterCreate(connection: MysqlConnection, done: (error: Error | null, connection: unknown) => void) {
        setUp(connection, isService)
          .then(
            () => {
              done(null, connection);
            },
            (error: unknown) => {
              // Knex forgets this connection without closing it.
              cut(connection);
              done(error as Error, connection);
            },
          )
          .finally(() => clearTimeout(connection.settingUp));
      },
    },
  };
}

/** Sets up a new connection. @throws the server's error */
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

/** The server's own name for itself, because one address may lead to different servers, and its start time. */
interface Server {
  host: string;
  port: number;
  /** seconds, by our clock */
  startedAt: number;
}

/** The parts of the driver's connection used here, and our own fields on it. */
interface MysqlConnection {
  /** the server's number for it, not reused until the server restarts */
  threadId: number;
  /** only in a service */
  server?: Server | undefined;
  /** only outside a service */
  overridden?: string[];
  stream: { destroy(error?: Error): void; once(event: 'close', listener: () => void): void };
  /** cuts a connection that is not set up in time */
  settingUp: NodeJS.Timeout;
  endOnServer: () => Promise<void>;
  answeredAt?: number;
  /** Knex's mark: the connection must not return to the pool */
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

/** The parts of Knex's dialect used here; the dialect has no types. */
interface MysqlDialect extends Knex.Client {
  _driver(): { createConnection(settings: object): MysqlConnection };
  _query(connection: unknown, query: Statement): Promise<unknown>;
  initializePool(config: Knex.Config): void;
}

/** The parts of tarn's pool used here. */
interface CreatingPool {
  creator: () => Promise<unknown>;
  numUsed(): number;
  numFree(): number;
  numPendingCreates(): number;
}

/** A server that ends a connection does so at once. */
const FAREWELL_MS = 1_000;

/**
 * Knex's mysql2 dialect for connections that may go silent without an error, when a firewall forgets them or a host
 * dies. It never waits for them endlessly and closes the socket, while the driver would wait for the other side.
 */
function mysqlClient({ statementTimeout, isService }: ConnectionRules): typeof Knex.Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the dialect has no types
  const Dialect = require('knex/lib/dialects/mysql2') as new (config: Knex.Config) => MysqlDialect;
  /** When the latest statement was sent that timed out. */
  let silentSince = -Infinity;
  /** Connections that are killing a lost one; if such a connection times out too, nobody kills it in turn. */
  const ending = new WeakSet<MysqlConnection>();
  return class SilenceProofDialect extends Dialect {
    override _driver() {
      const driver = super._driver();
      const createConnection = (settings: object): MysqlConnection => {
        const connection = driver.createConnection(settings);
        connection.settingUp = setTimeout(() => cut(connection, lateError()), CONNECT_TIMEOUT_MS);
        // The timer must not keep the process alive after a refused connection.
        connection.settingUp.unref();
        // Bound to this client: a transaction's own client has no pool for a second connection.
        connection.endOnServer = () => this.killOnServer(connection);
        return connection;
      };
      return Object.create(driver, { createConnection: { value: createConnection } }) as typeof driver;
    }

    /**
     * When the server has no free connection, callers wait for one of ours until the pool's time-out: the server's
     * limit is shared with the site and usually reached only briefly.
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

    /** Replaces Knex's method, which ignores a connection once it has sent the goodbye. */
    override destroyRawConnection(connection: MysqlConnection): Promise<void> {
      clearTimeout(connection.settingUp);
      const late = setTimeout(() => cut(connection), FAREWELL_MS).unref();
      connection.stream.once('close', () => clearTimeout(late));
      connection.on('error', ignore);
      connection.end(ignore);
      return Promise.resolve();
    }

    /** If one connection goes silent, others have too: drop those without an answer since then. */
    override validateConnection(connection: MysqlConnection): Promise<boolean> {
      const { answeredAt = Infinity } = connection;
      return answeredAt >= silentSince ? super.validateConnection(connection) : Promise.resolve(false);
    }

    override async _query(connection: MysqlConnection, query: Statement): Promise<unknown> {
      const asText = () => super._query(connection, query);
      const send = () => (query.prepared ? execute(connection, query).catch(ifNoRoom(asText)) : asText());
      // Report the original error, not the failed ROLLBACK.
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

    /** Kills a lost connection on the server; otherwise its transaction would keep its locks. */
    private async killOnServer(lost: MysqlConnection): Promise<void> {
      const { threadId } = lost;
      try {
        const connection = (await this.acquireConnection()) as MysqlConnection;
        try {
          // Another or restarted server may have given the number to somebody else.
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
        // Already gone, or the server is unreachable; then wait_timeout ends it.
      }
    }
  } as unknown as typeof Knex.Client;
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

/** Closes a connection's socket. Ignore errors after close. */
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

/** Like Knex's own query, but with a prepared statement, which the connection keeps. */
function execute(connection: MysqlConnection, { sql, bindings }: Statement): Promise<Answered> {
  return new Promise((resolve, reject) => {
    connection.execute(sql, bindings, (error, answer) => {
      if (error) reject(error);
      else resolve({ response: [answer] });
    });
  });
}

/**
 * Falls back when the server has no room for a prepared statement and so has not run it: either its limit, shared with
 * the site, is reached (ER_MAX_PREPARED_STMT_COUNT_REACHED), or its small table cache lost the statement's table three
 * times in a row (ER_NEED_REPREPARE).
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
   * Saves 0.1 ms on a service's long-lived connections. For few statements only: the server limits prepared statements,
   * and the site shares the limit.
   */
  prepared?: boolean;
}

export interface Answered {
  response: unknown[];
}
