import {
  askWhichServer,
  CONNECT_TIMEOUT_MS,
  openConnection,
  LOCK_PATIENCE_MS,
  openPool,
  send,
  type Connection,
  type ConnectionSettings,
  type OnLost,
  type Pool,
} from './connections';
import { openNodes, type Nodes, type NodeSwitch, type Returning } from './nodes';
import { driverTls, openSocket, type ServerLocation, type TlsSettings } from './tls';

export interface MysqlSettings extends ServerLocation {
  kind: 'mysql';
  /** the servers to use when the one above cannot be written to, in this order */
  others?: ServerLocation[];
  user: string;
  password: string;
  database: string;
  /** undefined: connections are not encrypted */
  tls?: TlsSettings;
  /** LICENSING_TIMEOUT_FACTOR: whoever opens it waits so many times longer; undefined: 1 */
  timeoutFactor?: number | undefined;
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
  /** Several servers are watched, and this is called when another one is taken into use. */
  onSwitch?: (change: NodeSwitch) => void;
  returning?: Returning;
}

export interface MysqlPool {
  pool: Pool;
  /** undefined: there is one server */
  nodes: Nodes | undefined;
  /** how often a Galera node has rolled a transaction back because another node changed the same rows */
  conflicts: () => number;
}

/** A server that takes longer to say how it is does not serve requests either. */
const PROBE_TIMEOUT_MS = 1_500;

/** Opens a pool of connections to a MySQL or MariaDB server; the first caller makes the first connection. */
export function openMysqlPool(
  settings: MysqlSettings,
  max: number,
  acquireTimeout: number,
  { statementTimeout, isService = false, ...rules }: ConnectionRules,
): MysqlPool {
  const locations = locationsOf(settings);
  let conflicts = 0;
  const open = (location: ServerLocation, onLost?: OnLost) =>
    openConnection(
      {
        ...connectionSettings(settings, location),
        setUp: async (connection) => {
          connection.onConflict = () => conflicts++;
          await setUp(connection, isService);
        },
        statementTimeout,
        connectTimeout: CONNECT_TIMEOUT_MS * (settings.timeoutFactor ?? 1),
        lockPatience: isService ? undefined : LOCK_PATIENCE_MS,
      },
      onLost,
    );
  const nodes =
    locations.length === 1
      ? undefined
      : openNodes(locations, { ...rules, openProbe: (location) => openProbe(settings, location) });
  const pool = openPool({
    open: (onLost) => (nodes ? nodes.connect((location) => open(location, onLost)) : open(settings, onLost)),
    isUsable: nodes && ((connection) => nodes.isInUse(connection)),
    max,
    // Choosing one of several servers comes before the connection.
    acquireTimeout: acquireTimeout + (nodes ? PROBE_TIMEOUT_MS : 0),
    killsLost: isService,
  });
  return { pool, nodes, conflicts: () => conflicts };
}

/** The servers, in the order of their use. */
export function locationsOf({ host, port, socketPath, others = [] }: MysqlSettings): ServerLocation[] {
  return [{ host, port, ...(socketPath === undefined ? {} : { socketPath }) }, ...others];
}

/** A connection to look at a server with, also at one that refuses to serve. */
export function openProbe(settings: MysqlSettings, location: ServerLocation): Promise<Connection> {
  return openConnection({
    ...connectionSettings(settings, location),
    setUp: () => Promise.resolve(),
    connectTimeout: PROBE_TIMEOUT_MS,
    statementTimeout: PROBE_TIMEOUT_MS,
  });
}

function connectionSettings(
  { user, password, database, tls }: MysqlSettings,
  location: ServerLocation,
): Pick<ConnectionSettings, 'driver' | 'openSocket'> {
  return {
    driver: {
      // With a socket, the host is only the name in the server's certificate.
      host: location.host,
      port: location.port,
      ...(tls && { ssl: driverTls(tls) }),
      user,
      password,
      database,
      charset: 'utf8mb4',
      timezone: 'Z',
      // At most five are prepared on a connection; the driver's 16,000 reserve 512 KB for each connection.
      maxPreparedStatements: 50,
      // Times travel as text (see time.ts), so the driver converts no time zones.
      dateStrings: true,
      supportBigNumbers: true,
    },
    openSocket: () => openSocket(location, tls),
  };
}

async function setUp(connection: Connection, isService: boolean): Promise<void> {
  if (!isService) connection.overridden = await askWhatIsUnusual(connection);
  await send(connection, isService ? SERVICE_SESSION : MYSQL_SESSION);
  await send(connection, ISOLATION);
  connection.isGalera = await askWhetherGalera(connection);
  if (connection.isGalera) await send(connection, 'SET wsrep_sync_wait = 1');
  if (isService) connection.server = await askWhichServer(connection);
}

async function askWhetherGalera(connection: Connection): Promise<boolean> {
  const [found] = await send<{ Value: string }[]>(connection, "SHOW VARIABLES LIKE 'wsrep_on'");
  return found?.Value === 'ON';
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
