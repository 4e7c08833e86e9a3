import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { RowDataPacket } from 'mysql2/promise';
import { packageRoot, type Settings } from '../src/settings/config';
import { startNginx } from '../test/support/nginx';
import { endProcess, sharedFolder, startProcess } from '../test/support/processes';
import { installMariaDb, startMariaDb, startRedis, type MariaDb } from '../test/support/servers';
import { processEnvironment, startServiceProcess } from '../test/support/service-process';
import { hasDataSet, makeDataSet, publishPackages, warmDataSet } from './data';
import type { TestWebServer } from '../test/support/web-server-process';

const KEPT = join(packageRoot, 'var/bench/mariadb');
const GIGABYTE = 1024 ** 3;
/** The size of the data set that every run rebuilds. */
export const SMALL = 10_000;
const OUT_OF_REACH = '1000000000';

export interface Server {
  url: string;
  pid: number;
}

export interface Stage {
  mariadb: MariaDb;
  /** the file name of the 20 MB package */
  largePackage: string;
  /** returns the LICENSING_DATABASE_URL of a data set of this size, created or kept, and read into memory */
  dataSet(licences: number): Promise<string>;
  /** creates a data set that rows may change */
  freshDataSet(name: string): Promise<string>;
  /** Publishes the packages for another data set. @returns their folder */
  publish(url: string): Promise<string>;
  isKept(licences: number): Promise<boolean>;
  /** starts the build, with Redis; on the small data set unless the settings have another one */
  service(settings?: Settings): Promise<Server>;
  bare(): Promise<Server>;
  /** starts the service without a part (reduced-service.ts), with the same default */
  without(part: 'grouping' | 'counting' | 'nothing', settings?: Settings): Promise<Server>;
  /** starts nginx in front of a service; it also serves the packages below /static/ */
  nginx(service: Server): Promise<TestWebServer>;
  facts(): Promise<string[]>;
  /** Stops everything started since the last call, in reverse order. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** Opens the stage. @param profiles a folder for services' CPU profiles, which are written when they end */
export async function openStage(say: (text: string) => void, profiles?: string): Promise<Stage> {
  writeProgram(packageRoot);
  if (!existsSync(KEPT)) {
    const unfinished = `${KEPT}.new`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(dirname(KEPT), { recursive: true });
    cpSync(installMariaDb(), unfinished, { recursive: true });
    renameSync(unfinished, KEPT);
  }
  const bufferPool = Math.min(8, Math.floor(totalmem() / GIGABYTE / 2)) || 0.5;
  const [mariadb, redis] = await Promise.all([
    startMariaDb(
      [
        `--innodb-buffer-pool-size=${bufferPool * 1024}M`,
        '--innodb-log-file-size=1G',
        // InnoDB would reload the last run's pages for ten seconds on more than one core. Data sets are warmed instead.
        '--innodb-buffer-pool-load-at-startup=OFF',
        '--innodb-buffer-pool-dump-at-shutdown=OFF',
      ],
      { data: KEPT },
    ),
    startRedis(),
  ]);
  const packagesDir = sharedFolder();
  const stops: (() => unknown)[] = [];
  const sets = new Map<number, Promise<string>>();

  const smallUrl = await makeDataSet(mariadb, SMALL);
  sets.set(SMALL, Promise.resolve(smallUrl));
  const largePackage = await publishPackages(smallUrl, packagesDir);

  async function prepare(licences: number): Promise<string> {
    if (!(await hasDataSet(mariadb, licences, SMALL))) {
      say(`making ${licences.toLocaleString('en')} licences, kept in var/bench for the next run`);
      await makeDataSet(mariadb, licences);
    }
    const bytes = await warmDataSet(mariadb, licences);
    const size = (bytes / GIGABYTE).toFixed(1);
    say(
      `${licences.toLocaleString('en')} licences: ${size} GB with indexes, in a buffer pool of ${bufferPool} GB`,
    );
    return mariadb.url(`licences_${licences}`);
  }

  const settings = {
    LICENSING_REDIS_URL: redis.url,
    LICENSING_RATE_LIMIT: OUT_OF_REACH,
    LICENSING_LOG_LEVEL: 'info',
    LICENSING_PACKAGES_DIR: packagesDir,
  };

  let profiled = 0;
  const profilerOf = (folder: string) => ({
    NODE_OPTIONS: `--import=${pathToFileURL(join(__dirname, 'profiler.mjs')).href}`,
    BENCH_PROFILE: join(folder, `${++profiled}.cpuprofile`),
  });

  /** Runs a compiled server of this folder, like the service: ts-node's hooks would slow Node's events. */
  async function compiled(name: string, env: NodeJS.ProcessEnv): Promise<Server> {
    const child = startProcess(
      process.execPath,
      [join(packageRoot, 'var/bench/servers/bench', `${name}.js`)],
      {
        env,
        cwd: packageRoot,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    stops.push(() => endProcess(child));
    const [url] = (await Promise.race([
      once(createInterface({ input: child.stdout! }), 'line'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${name} ended at its start.`))),
    ])) as [string];
    return { url, pid: child.pid as number };
  }

  const stage: Stage = {
    mariadb,
    largePackage,
    dataSet(licences) {
      const known = sets.get(licences) ?? prepare(licences);
      sets.set(licences, known);
      return known;
    },
    freshDataSet: (name) => makeDataSet(mariadb, SMALL, name),
    async publish(url) {
      const folder = sharedFolder();
      await publishPackages(url, folder);
      return folder;
    },
    isKept: (licences) => hasDataSet(mariadb, licences, SMALL),
    async service(more = {}) {
      const service = await startServiceProcess(
        { ...settings, LICENSING_DATABASE_URL: smallUrl, ...more },
        profiles === undefined ? {} : profilerOf(profiles),
      );
      stops.push(() => service.stop());
      if (profiles !== undefined) service.process.kill('SIGUSR2');
      return { url: service.url, pid: service.process.pid as number };
    },
    bare: () => compiled('bare-server', processEnvironment()),
    without: (part, more = {}) =>
      compiled(
        'reduced-service',
        processEnvironment(
          { ...settings, LICENSING_DATABASE_URL: smallUrl, ...more },
          { BENCH_WITHOUT: part },
        ),
      ),
    async nginx(service) {
      const nginx = await startNginx({ upstream: new URL(service.url).host, packagesDir, edit: forLoad });
      stops.push(() => nginx.stop());
      return nginx;
    },
    facts: () => machineFacts(mariadb),
    async clear() {
      for (const stop of stops.splice(0).reverse()) await stop();
    },
    async stop() {
      await stage.clear();
      await redis.stop();
      // Wait long, because the shutdown writes gigabytes of changed pages; after a kill the next start would do so.
      await endProcess(mariadb.process, 'SIGTERM', 300_000);
    },
  };

  /** Edits the files for a load balancer that sends the clients' addresses, and serves the packages as plain files. */
  function forLoad(text: string, file: string): string {
    if (file === 'upstream.conf')
      return `${text}\nset_real_ip_from 127.0.0.1;\nreal_ip_header X-Forwarded-For;\n`;
    if (file === 'licensing.conf')
      return `${text}\nlocation ^~ /static/ { alias ${packagesDir}/; sendfile on; tcp_nopush on; gzip off; }\n`;
    return text;
  }
  return stage;
}

/** Writes the program of a checkout that its services start from, which the build does not (test/support/program.ts). */
export function writeProgram(dir: string): void {
  const script = join(dir, 'test/support/write-program.mjs');
  // Older versions start from their build.
  if (existsSync(script)) execFileSync(process.execPath, [script, join(dir, 'node_modules/.cache/program')]);
}

/** Returns the conditions on which the figures depend. */
async function machineFacts(mariadb: MariaDb): Promise<string[]> {
  const connection = await mariadb.connect();
  const [[row]] = await connection.query<RowDataPacket[]>('SELECT VERSION() AS version');
  await connection.end();
  const [cpu] = cpus();
  return [
    `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / GIGABYTE)} GB, shared by ` +
      `everything below; load average at the end ${loadavg()[0]?.toFixed(1) ?? ''}`,
    `Node ${process.version}, Redis ${firstNumber('redis-server', '--version')}, ` +
      `nginx ${firstNumber('/usr/sbin/nginx', '-v')}, wrk ${firstNumber('wrk', '-v')} with one thread`,
    `MariaDB ${row?.version as string}: \`${serverOptions(mariadb.process.spawnargs)}\``,
  ];
}

/** Returns a server's options without its locations. If an option is repeated, the last one counts. */
function serverOptions(args: string[]): string {
  const options = args.filter((arg) => /^--(?!datadir|tmpdir|socket|port|pid|log-error|user|bind)/.test(arg));
  return [...new Map(options.map((option) => [option.split('=')[0], option])).values()].join(' ');
}

/** Returns a program's version, from stdout or stderr. */
function firstNumber(program: string, argument: string): string {
  try {
    const output = execFileSync('sh', ['-c', `"${program}" ${argument} 2>&1 || true`], { encoding: 'utf8' });
    return /\d+(?:\.\d+)+/.exec(output)?.[0] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}
