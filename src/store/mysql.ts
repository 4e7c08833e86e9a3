import { openPool, send, type Connection, type Pool } from './connections';
import { driverTls, openSocket, type ServerLocation, type TlsSettings } from './tls';

export interface MysqlSettings extends ServerLocation {
  kind: 'mysql';
  user: string;
  password: string;
  database: string;
  /** undefined: connections are not encrypted */
  tls?: TlsSettings;
}

/**
 * Strict mode, so that values that do not fit are errors. A lock wait of 1 s, so that a held row delays only its own
 * callers. SET NAMES, because a server may ignore the driver's character set. No completion_type CHAIN, which would
 * delay autocommitted statements until the next COMMIT.
 */
const MYSQL_SESSION = `SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 1, autocommit = 1, completion_type = 0`;

/** The default of both servers, which this code relies on. SET works in all versions; the variable's name differs. */
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ';

/** If a lost connection cannot be killed, the server drops it after 60 s; the pool drops idle ones after 30. */
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

/** Opens a pool of connections to a MySQL or MariaDB server; the first caller makes the first connection. */
export function openMysqlPool(
  settings: MysqlSettings,
  max: number,
  acquireTimeout: number,
  { statementTimeout, isService = false }: ConnectionRules,
): Pool {
  const { host, port, user, password, database, tls } = settings;
  return openPool({
    driver: {
      // With a socket, the host is only the name in the server's certificate.
      host,
      port,
      ...(tls && { ssl: driverTls(tls) }),
      user,
      password,
      database,
      charset: 'utf8mb4',
      timezone: 'Z',
      // Times travel as text (see time.ts), so the driver converts no time zones.
      dateStrings: true,
      supportBigNumbers: true,
    },
    openSocket: () => openSocket(settings, tls),
    setUp: (connection) => setUp(connection, isService),
    max,
    acquireTimeout,
    statementTimeout,
    killsLost: isService,
  });
}

async function setUp(connection: Connection, isService: boolean): Promise<void> {
  if (!isService) connection.overridden = await askWhatIsUnusual(connection);
  await send(connection, isService ? SERVICE_SESSION : MYSQL_SESSION);
  await send(connection, ISOLATION);
}

async function askWhatIsUnusual(connection: Connection): Promise<string[]> {
  const names = Object.keys(USUAL_SESSION);
  const variables = await send<{ Variable_name: string; Value: string }[]>(
    connection,
    `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.map(() => '?').join(', ')})`,
    names,
  );
  return variables
    .filter(({ Variable_name: name, Value }) => Value !== USUAL_SESSION[name])
    .map(({ Variable_name: name, Value }) => `${name} = ${Value}`);
}
