import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Settings } from '../../src/settings/config';
import { openDatabase, type Db } from '../../src/store/engine/database';
import { endProcess, startProcess, temporaryFolder } from './processes';
import { entry } from './program';
import { createMariaDbDatabase, migrateNew, testConfig, TIMEOUTS } from './service';

/** The released program as in production: separate processes, used over HTTP and observed by their logs. */

const START_TIMEOUT_MS = 120_000;

export type LogEntry = Record<string, unknown> & { msg: string };

export interface ServiceProcess {
  url: string;
  process: ChildProcess;
  /** every line from standard output and standard error; grows while it runs */
  lines: string[];
  /** the lines that are log entries */
  log(): LogEntry[];
  /** SIGTERM by default; resolves with its exit code (null after a signal) */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Returns the environment of a service's process: its answers are compared with the document at the end of the run. */
export function recorded(): NodeJS.ProcessEnv {
  const { TEST_ANSWERS } = process.env;
  const recorder = join(__dirname, 'answer-recorder.cjs');
  return { TEST_ANSWERS, TEST_ANSWERS_LATER: '1', NODE_OPTIONS: `--require ${JSON.stringify(recorder)}` };
}

/** Returns settings that isolate a process from this machine: free ports, its own folders, no rate limit. */
export function processEnvironment(settings: Settings = {}, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return {
    PATH,
    HOME,
    LICENSING_ENV_FILE: '/dev/null',
    LICENSING_LISTEN: '127.0.0.1:0',
    LICENSING_ADMIN_LISTEN: '127.0.0.1:0',
    LICENSING_RATE_LIMIT: '1000000',
    ...TIMEOUTS,
    ...settings,
    ...env,
  };
}

/**
 * Starts the service and waits until it reports that it listens.
 *
 * @param env variables in addition to the settings, such as TZ
 * @throws Error with its output if it ends before
 */
export async function startServiceProcess(
  settings: Settings,
  env: NodeJS.ProcessEnv = {},
): Promise<ServiceProcess> {
  const child = startProcess(process.execPath, [entry('main', env)], {
    env: {
      ...recorded(),
      ...processEnvironment({ LICENSING_PACKAGES_DIR: temporaryFolder(), ...settings }, env),
    },
  });
  const lines: string[] = [];
  const log = () => lines.flatMap(parseEntry);
  // Wait for "close", because "exit" may come before the last lines.
  const closed = once(child, 'close');
  const address = await new Promise<string>((resolve, reject) => {
    const fail = (what: string) => reject(new Error(`The service ${what}.\n${lines.join('\n')}`));
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`did not listen within ${START_TIMEOUT_MS / 1000} s`);
    }, START_TIMEOUT_MS);
    for (const stream of [child.stdout!, child.stderr!])
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        const [entry] = parseEntry(line);
        if (entry?.msg !== 'listening') return;
        clearTimeout(late);
        resolve(entry.listen as string);
      });
    child.once('close', (code) => {
      clearTimeout(late);
      fail(`ended with exit code ${code}`);
    });
  });
  // A test that fails before stopping its service must not block the end of the run, which stops the service.
  child.unref();
  for (const stream of [child.stdout!, child.stderr!]) (stream as unknown as { unref(): void }).unref();
  return {
    url: address,
    process: child,
    lines,
    log,
    async stop(signal) {
      child.ref();
      await endProcess(child, signal);
      await closed;
      return child.exitCode;
    },
  };
}

/** Starts several such processes on a new MariaDB database, and opens the test's own connection to it. */
export async function startServicesOnMariaDb(count: number) {
  const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
  const db = await openMigrated(settings);
  const services = await Promise.all(Array.from({ length: count }, () => startServiceProcess(settings)));
  return {
    settings,
    db,
    services,
    stop: async () => {
      await Promise.all(services.map((service) => service.stop()));
      await db.destroy();
    },
  };
}

/** Opens the test's own connection to such a process's migrated database. */
export async function openMigrated(settings: Settings): Promise<Db> {
  const { database, tablePrefix } = testConfig(settings);
  const db = openDatabase(database, tablePrefix, 4);
  await migrateNew(db, database);
  return db;
}

export interface Ended {
  /** null after a signal */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A program that the test may end. */
export interface Running {
  process: ChildProcess;
  ended: Promise<Ended>;
}

/** Starts the operator's command: `startLicensing(['plan', 'list'], settings)`. */
export function startLicensing(args: string[], settings: Settings, env: NodeJS.ProcessEnv = {}): Running {
  return startProgram(process.execPath, [entry('cli', env), ...args], processEnvironment(settings, env));
}

/** Starts any program in the package's root. */
export function startProgram(command: string, args: string[], env: NodeJS.ProcessEnv): Running {
  const child = startProcess(command, args, { env, cwd: join(__dirname, '../..') });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]!.setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }));
  return { process: child, ended };
}

function parseEntry(line: string): LogEntry[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null && 'msg' in entry ? [entry as LogEntry] : [];
  } catch {
    return [];
  }
}
