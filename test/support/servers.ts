import { execFileSync, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createConnection, type Connection } from 'mysql2/promise';
import { mysqlProgram, ON_MYSQL } from './mysql/program';
import { endProcess, eventually, freePort, startProcess, temporaryFolder } from './processes';

/** Real servers for the tests, on free ports in temporary folders. */

export interface PrivateServer {
  port: number;
  process: ChildProcess;
  /** SIGTERM by default */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Restarts the server on the same port and data. `more`: options for this start only */
  start(more?: string[]): Promise<void>;
  /** Hangs the server by SIGSTOP; its sockets remain open. */
  hang(): void;
  resume(): void;
}

export interface MariaDb extends PrivateServer {
  socket: string;
  /** its error log */
  log(): string;
  /** Gives the stopped server a new data folder. */
  empty(): void;
  /** Runs the server with `more` options until its own end. @returns its log */
  runOnce(more: string[]): string;
  /** returns the address for LICENSING_DATABASE_URL */
  url(database: string): string;
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  connect(database?: string): Promise<Connection>;
}

/** A program, and the arguments before all others. */
type Program = [command: string, ...before: string[]];

const MARIADBD: Program = [
  ['/usr/sbin/mariadbd', '/usr/local/sbin/mariadbd'].find((path) => existsSync(path)) ?? 'mariadbd',
];

/** The server of the tests. With MySQL's folder in TEST_MYSQL (`npm run test:mysql`), MySQL replaces MariaDB. */
const SERVER: Program = ON_MYSQL ? mysqlProgram() : MARIADBD;

/** An unusual character set, collation and time zone, because the service must not depend on them. */
const MARIADB_OPTIONS = [
  '--bind-address=127.0.0.1',
  '--skip-log-bin',
  '--innodb-buffer-pool-size=64M',
  ON_MYSQL ? '--innodb-redo-log-capacity=64M' : '--innodb-log-file-size=32M',
  '--innodb-flush-log-at-trx-commit=1',
  '--max-connections=200',
  '--character-set-server=latin1',
  '--collation-server=latin1_swedish_ci',
  '--default-time-zone=+05:00',
];

/** Creates the data of a newly installed server once, to be copied for each server. */
export function installMariaDb(): string {
  const parent = temporaryFolder('licensing-mariadb');
  const folder = join(parent, 'data');
  if (ON_MYSQL) {
    const [command, ...args] = SERVER;
    const own = [`--datadir=${folder}`, `--tmpdir=${parent}`, `--user=${userInfo().username}`];
    execFileSync(command, [...args, ...own, '--initialize-insecure'], { stdio: 'pipe' });
    return folder;
  }
  execFileSync(
    'mariadb-install-db',
    [
      '--no-defaults',
      `--datadir=${folder}`,
      `--tmpdir=${parent}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--innodb-log-file-size=32M',
      `--user=${userInfo().username}`,
    ],
    { stdio: 'pipe' },
  );
  return folder;
}

export interface MariaDbStart {
  /** an installed data folder that outlives the server; by default a new one */
  data?: string | undefined;
  /** options for the first start only */
  first?: string[];
  /** the parent of its folder */
  parent?: string;
  /** the user that runs it; by default the tests' own */
  user?: string | undefined;
  /** a check in addition to a connection before the server counts as started */
  ready?: (connection: Connection) => Promise<void>;
}

/** Starts MariaDB. @param options added after the defaults, so they win */
export async function startMariaDb(
  options: string[] = [],
  { data: kept, first, parent, user = userInfo().username, ready: check }: MariaDbStart = {},
): Promise<MariaDb> {
  const folder = temporaryFolder('licensing-mariadb', parent);
  const data = kept ?? join(folder, 'data');
  const empty = () => {
    rmSync(data, { recursive: true, force: true });
    cpSync(process.env.TEST_MARIADB_DATA ?? installMariaDb(), data, { recursive: true });
    if (user !== userInfo().username) execFileSync('chown', ['-R', user, folder]);
  };
  if (kept === undefined) empty();
  const socket = join(folder, 'mysql.sock');
  const port = await freePort();
  let databases = 0;
  const log = join(folder, 'error.log');
  const [command, ...before] = SERVER;
  const all = [
    ...(ON_MYSQL ? before : ['--no-defaults']),
    ...MARIADB_OPTIONS,
    `--datadir=${data}`,
    // Use a separate folder: a starting server deletes files that look like temporary tables, even another server's.
    `--tmpdir=${folder}`,
    `--socket=${socket}`,
    `--port=${port}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--log-error=${log}`,
    `--user=${user}`,
    ...options,
  ];
  const server = privateServer(port, command, all);
  const connect = (database?: string) =>
    createConnection({
      socketPath: socket,
      user: 'root',
      ...(database ? { database } : {}),
      dateStrings: true,
    });
  const ready = async () => {
    const connection = await connect();
    try {
      await check?.(connection);
    } finally {
      await connection.end();
    }
  };
  const url = (database: string) => `mysql://root:@127.0.0.1:${port}/${database}`;
  const start = (more?: string[]) => startAndWait(server, ready, () => readFileSync(log, 'utf8'), more);
  await start(first);
  return Object.assign(server, {
    socket,
    url,
    connect,
    async createDatabase() {
      const name = `test_${process.pid}_${++databases}`;
      const connection = await connect();
      await connection.query(`CREATE DATABASE ${name}`);
      await connection.end();
      return url(name);
    },
    start,
    empty,
    log: () => readFileSync(log, 'utf8'),
    runOnce(more: string[]) {
      const from = statSync(log).size;
      execFileSync(command, [...all, ...more], { stdio: 'ignore' });
      return readFileSync(log, 'utf8').slice(from);
    },
  });
}

/** The databases of the shared Redis, so many that suites do not share one by chance and count requests together. */
export const REDIS_DATABASES = 4_096;

/** Copies a configuration with another data folder, because Redis changes into the folder that it names. */
function copyConf(conf: string, folder: string): string {
  const copy = join(folder, 'redis.conf');
  writeFileSync(copy, readFileSync(conf, 'utf8').replace(/^dir .*$/m, `dir ${folder}`));
  return copy;
}

/** Starts Redis. @param conf a configuration file, which the options override */
export async function startRedis(
  options: string[] = [],
  { conf, password }: { conf?: string; password?: string } = {},
): Promise<PrivateServer & { url: string }> {
  const folder = temporaryFolder('licensing-redis');
  const port = await freePort();
  const args = [
    ...(conf === undefined ? [] : [copyConf(conf, folder)]),
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const server = privateServer(port, 'redis-server', [...args, ...options]);
  const ready = async () => {
    const client = new Redis(port, '127.0.0.1', {
      ...(password === undefined ? {} : { password }),
      lazyConnect: true,
      retryStrategy: () => null,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.ping();
    } catch (error) {
      // NOAUTH also shows that it answers, if a password is set.
      if (!(error as Error).message.includes('NOAUTH')) throw error;
    } finally {
      client.disconnect();
    }
  };
  await startAndWait(server, ready);
  return Object.assign(server, {
    url: `redis://127.0.0.1:${port}`,
    start: () => startAndWait(server, ready),
  });
}

export interface RedisNode extends PrivateServer {
  /** the address, including the password */
  url: string;
  /** a connection that ends with the node */
  commander: Redis;
}

/** The file that a seller copies to each node. */
const CLUSTER_CONF = join(__dirname, '../../deploy/cluster/redis-cluster.conf');

/** Starts masters that share the slots and require a password, and then, in their order, their replicas. */
export async function startRedisCluster(
  masters: number,
  password: string,
  replicas = 0,
): Promise<RedisNode[]> {
  const nodes = await Promise.all(
    Array.from({ length: masters + replicas }, async () => {
      const busPort = await freePort();
      const redis = await startRedis(
        ['--cluster-port', String(busPort), '--requirepass', password, '--masterauth', password],
        { conf: CLUSTER_CONF, password },
      );
      const commander = new Redis(redis.port, '127.0.0.1', { password, retryStrategy: () => null });
      commander.on('error', () => undefined);
      return Object.assign(redis, { url: redis.url.replace('//', `//:${password}@`), commander, busPort });
    }),
  );
  const [first] = nodes;
  const share = 16_384 / masters;
  for (const [i, { commander }] of nodes.entries()) {
    if (i < masters)
      await commander.call('CLUSTER', 'ADDSLOTSRANGE', Math.ceil(i * share), Math.ceil((i + 1) * share) - 1);
    await commander.call('CLUSTER', 'MEET', '127.0.0.1', first!.port, first!.busPort);
  }
  for (const { commander } of nodes)
    await eventually(async () => {
      const info = await commander.cluster('INFO');
      if (!info.includes('cluster_state:ok') || !info.includes(`cluster_known_nodes:${nodes.length}\r`))
        throw new Error(`The nodes did not find each other: ${info}`);
    });
  for (const [i, { commander }] of nodes.slice(masters).entries()) {
    await commander.cluster('REPLICATE', await nodes[i % masters]!.commander.cluster('MYID'));
    await eventually(async () => {
      if (!(await commander.info('replication')).includes('master_link_status:up'))
        throw new Error('A replica did not find its master.');
    });
  }
  return nodes;
}

interface Launchable extends PrivateServer {
  launch(more?: string[]): void;
}

function privateServer(port: number, command: string, args: string[]): Launchable {
  const server: Launchable = {
    port,
    process: undefined as unknown as ChildProcess,
    launch(more = []) {
      server.process = startProcess(command, [...args, ...more], { stdio: 'ignore' });
    },
    stop: (signal) => endProcess(server.process, signal),
    start: () => Promise.reject(new Error('set by the caller')),
    hang: () => void server.process.kill('SIGSTOP'),
    resume: () => void server.process.kill('SIGCONT'),
  };
  return server;
}

async function startAndWait(
  server: Launchable,
  ready: () => Promise<void>,
  log: () => string = () => '',
  more?: string[],
): Promise<void> {
  server.launch(more);
  await eventually(async () => {
    if (server.process.exitCode !== null) throw new Error(`A private server ended at its start.\n${log()}`);
    await ready();
  });
}
