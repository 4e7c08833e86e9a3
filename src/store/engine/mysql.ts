import {
  askWhichServer,
  CONNECT_TIMEOUT_MS,
  openConnection,
  LOCK_TIMEOUT_MS,
  openPool,
  sendStatement,
  type Connection,
  type ConnectionSettings,
  type OnLost,
  type Pool,
} from './connections';
import { openNodes, type Nodes, type NodeSwitch, type FailbackDelay } from './nodes';
import { driverTls, openSocket, type ServerLocation, type TlsSettings } from './tls';

export interface MysqlSettings extends ServerLocation {
  kind: 'mysql';
  /** the servers to use if the first one is not writable, in this order */
  others?: ServerLocation[];
  user: string;
  password: string;
  database: string;
  /** undefined if connections are not encrypted */
  tls?: TlsSettings;
  /** LICENSING_TIMEOUT_FACTOR, by which callers multiply timeouts; 1 by default */
  timeoutFactor?: number | undefined;
}

/**
 * Session settings. Strict mode makes values that do not fit an error. A lock wait of 1 s lets a locked row delay only
 * its own callers. SET NAMES, because a server may ignore the driver's character set. No completion_type CHAIN, which
 * would delay autocommitted statements until the next COMMIT.
 */
const MYSQL_SESSION = `SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 1, autocommit = 1, completion_type = 0`;

/** The default of both servers, which this code needs. SET works in all versions; the variable's name differs. */
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ';

/** A service's session: the server drops a lost connection that cannot be killed after 60 s, the pool an idle one after 30. */
const SERVICE_SESSION = `${MYSQL_SESSION}, wait_timeout = 60`;

/** The server's defaults that this code needs. */
const USUAL_SESSION: Record<string, string> = {
  autocommit: 'ON',
  character_set_client: 'utf8mb4',
  completion_type: 'NO_CHAIN',
  transaction_isolation: 'REPEATABLE-READ',
  // MariaDB's name for it before 11.1
  tx_isolation: 'REPEATABLE-READ',
};

export interface ConnectionRules {
  /** the time in ms without a response after which a connection is lost; by default no limit */
  statementTimeout?: number | undefined;
  /** true if the process answers requests, so that its transactions are short */
  isService?: boolean;
  /** is called when another of several servers is taken into use; if set, the servers are watched */
  onSwitch?: (change: NodeSwitch) => void;
  returning?: FailbackDelay;
}

export interface MysqlPool {
  pool: Pool;
  /** returns the present maximum number of connections */
  size: () => number;
  /** returns the maximum of the user's connections; 0 if there is none, or before the first connection of a service */
  userLimit: () => number;
  /** leaves half of the user's connections to the site, and divides the rest by the number of processes */
  share: (processes: number) => void;
  /** undefined if there is only one server */
  nodes: Nodes | undefined;
  /** returns the number of transactions that a Galera node rolled back because another node changed the same rows */
  conflicts: () => number;
}

/** The timeout of a health check. A server that takes longer cannot serve requests either. */
const PROBE_TIMEOUT_MS = 1_500;

const IDLE_MS = 30_000;
/** The idle timeout if the site may need the connection. */
const SHORT_IDLE_MS = 3_000;

/** Opens a pool of connections to a MySQL or MariaDB server. The first caller opens the first connection. */
export function openMysqlPool(
  settings: MysqlSettings,
  max: number,
  acquireTimeout: number,
  { statementTimeout, isService = false, ...rules }: ConnectionRules,
): MysqlPool {
  const locations = locationsOf(settings);
  let conflicts = 0;
  let userLimit = 0;
  let processes = 1;
  const size = () =>
    userLimit === 0 ? max : Math.min(max, Math.max(1, Math.floor(userLimit / 2 / processes)));
  const share = (among: number) => {
    processes = among;
    pool.resize(size(), userLimit === 0 && isService ? IDLE_MS : SHORT_IDLE_MS);
  };
  const open = (location: ServerLocation, onLost?: OnLost) =>
    openConnection(
      {
        ...connectionSettings(settings, location),
        setUp: async (connection) => {
          connection.onConflict = () => conflicts++;
          await setUp(connection, isService);
          userLimit = connection.server?.userLimit ?? 0;
          share(processes);
        },
        statementTimeout,
        connectTimeout: CONNECT_TIMEOUT_MS * (settings.timeoutFactor ?? 1),
        lockPatience: isService ? undefined : LOCK_TIMEOUT_MS,
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
    size,
    idleTimeout: SHORT_IDLE_MS,
    // Allow for choosing one of several servers before connecting.
    acquireTimeout: acquireTimeout + (nodes ? PROBE_TIMEOUT_MS : 0),
    killsLost: isService,
  });
  return { pool, nodes, size, userLimit: () => userLimit, share, conflicts: () => conflicts };
}

/** Lists the servers, in the order in which they are used. */
export function locationsOf({ host, port, socketPath, others = [] }: MysqlSettings): ServerLocation[] {
  return [{ host, port, ...(socketPath === undefined ? {} : { socketPath }) }, ...others];
}

/** Opens a connection for a health check, even to a server that refuses to serve. */
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
      // At most five are prepared on a connection; the driver's default of 16,000 reserves 512 KB for each connection.
      maxPreparedStatements: 50,
      // Read times as text (see time.ts), so that the driver does not convert time zones.
      dateStrings: true,
      supportBigNumbers: true,
    },
    openSocket: () => openSocket(location, tls),
  };
}

async function setUp(connection: Connection, isService: boolean): Promise<void> {
  if (!isService) connection.overridden = await askWhatIsUnusual(connection);
  await sendStatement(connection, isService ? SERVICE_SESSION : MYSQL_SESSION);
  await sendStatement(connection, ISOLATION);
  connection.isGalera = await askWhetherGalera(connection);
  if (connection.isGalera) await sendStatement(connection, 'SET wsrep_sync_wait = 1');
  if (isService) connection.server = await askWhichServer(connection);
}

async function askWhetherGalera(connection: Connection): Promise<boolean> {
  const [found] = await sendStatement<{ Value: string }[]>(connection, "SHOW VARIABLES LIKE 'wsrep_on'");
  return found?.Value === 'ON';
}

async function askWhatIsUnusual(connection: Connection): Promise<string[]> {
  const names = Object.keys(USUAL_SESSION);
  const variables = await sendStatement<{ Variable_name: string; Value: string }[]>(
    connection,
    `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.map(() => '?').join(', ')})`,
    names,
  );
  return variables
    .filter(({ Variable_name: name, Value }) => Value !== USUAL_SESSION[name])
    .map(({ Variable_name: name, Value }) => `${name} = ${Value}`);
}
