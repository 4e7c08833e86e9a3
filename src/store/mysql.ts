import type { Knex } from 'knex';

export interface MysqlSettings {
  kind: 'mysql';
  host: string;
  port: number;
  /** A Unix socket; goes before host and port. */
  socketPath?: string;
  user: string;
  password: string;
  database: string;
  /** PEM texts; without `verifyIdentity` a certificate for any name will do. */
  ssl?: {
    ca?: string;
    cert?: string;
    key?: string;
    ciphers?: string;
    rejectUnauthorized: boolean;
    verifyIdentity?: boolean;
  };
}

/** How long a caller can wait before "not reachable" is the honest answer. */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Strict, so that a value which does not fit is an error and never cut; one second of lock wait, so that a row
 * held by somebody else delays its own callers and nobody else.
 */
const MYSQL_SESSION = `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 1`;

/** What Knex is told of a MySQL or MariaDB server. */
export function mysqlConfig(settings: MysqlSettings, poolSize: number): Knex.Config {
  const { host, port, socketPath, user, password, database, ssl } = settings;
  return {
    client: 'mysql2',
    connection: {
      ...(socketPath === undefined ? { host, port } : { socketPath }),
      ...(ssl === undefined ? {} : { ssl }),
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
      // The first refusal to connect is the answer; otherwise Knex repeats it until the pool's time is up.
      propagateCreateError: true,
      afterCreate(connection: MysqlConnection, done: (error: Error | null, connection: unknown) => void) {
        connection.query(MYSQL_SESSION, (error) => done(error, connection));
      },
    },
  };
}

interface MysqlConnection {
  query(sql: string, done: (error: Error | null) => void): void;
}

/** Longer than every lock wait, shorter than the deadline of a request. */
const STATEMENT_TIMEOUT_MS = 3_500;

/** Knex's mysql2 dialect with a time limit on every statement: `openServiceDatabase`. */
export function timedMysqlClient(): typeof Knex.Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the dialect has no types
  const Dialect = require('knex/lib/dialects/mysql2') as new (config: Knex.Config) => QueryingClient;
  /** When the latest statement was sent that had no answer in time. */
  let silentSince = -Infinity;
  return class TimedMysql2Dialect extends Dialect {
    /** What makes one connection silent does it to its neighbours: a request each would find that out one by one. */
    override validateConnection(connection: TimedConnection): Promise<boolean> {
      const { answeredAt = Infinity } = connection;
      return answeredAt >= silentSince ? super.validateConnection(connection) : Promise.resolve(false);
    }

    override async _query(connection: TimedConnection, query: Statement): Promise<unknown> {
      const sentAt = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => {
          const error = Object.assign(new Error('The database did not answer in time.'), {
            code: 'ETIMEDOUT',
          });
          // Knex's mark for a connection that must not go back to the pool.
          connection.__knex__disposed = error;
          connection.destroy();
          silentSince = Math.max(silentSince, sentAt);
          reject(error);
        }, STATEMENT_TIMEOUT_MS);
      });
      try {
        const asText = () => super._query(connection, query);
        const sent = query.prepared ? execute(connection, query).catch(ifNoRoom(asText)) : asText();
        const answer = await Promise.race([sent, late]);
        connection.answeredAt = performance.now();
        return answer;
      } finally {
        clearTimeout(timer);
      }
    }
  } as unknown as typeof Knex.Client;
}

/** What Knex's dialect does with a query, by a prepared statement, which the connection keeps. */
function execute(connection: TimedConnection, { sql, bindings }: Statement): Promise<Answered> {
  return new Promise((resolve, reject) => {
    connection.execute(sql, bindings, (error, answer) => {
      if (error) reject(error);
      else resolve({ response: [answer] });
    });
  });
}

/** The server holds as many prepared statements as it may (ER_MAX_PREPARED_STMT_COUNT_REACHED), the site's with ours. */
function ifNoRoom<T>(otherwise: () => T): (error: Error & { errno?: number }) => T {
  return (error) => {
    if (error.errno === 1461) return otherwise();
    throw error;
  };
}

interface QueryingClient extends Knex.Client {
  _query(connection: unknown, query: Statement): Promise<unknown>;
}

interface TimedConnection {
  answeredAt?: number;
  __knex__disposed?: Error;
  destroy(): void;
  execute(
    sql: string,
    bindings: Knex.RawBinding[],
    done: (error: Error | null, answer: unknown) => void,
  ): void;
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
