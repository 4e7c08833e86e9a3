import {
  spawn,
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  type SpawnOptions,
} from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { IS_WHOLE } from './extent';

/** Private processes and folders of the tests, which are removed even when a test fails or is interrupted. */

let guardian: ChildProcessWithoutNullStreams | undefined;

function guard(line: string): void {
  guardian ??= spawn(process.execPath, [join(__dirname, 'guardian.mjs')], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  }) as unknown as ChildProcessWithoutNullStreams;
  guardian.unref();
  (guardian.stdin as unknown as { unref(): void }).unref();
  guardian.stdin.write(`${line}\n`);
}

/** Creates a folder that is removed when this process ends. */
export function temporaryFolder(name = 'licensing-test', parent = tmpdir()): string {
  const path = mkdtempSync(join(parent, `${name}-`));
  guard(`dir ${path}`);
  return path;
}

/** Creates a folder that a web server's workers can read: under root they run as another user, as in production. */
export function sharedFolder(): string {
  const folder = temporaryFolder('licensing-shared');
  chmodSync(folder, 0o755);
  return folder;
}

/** Starts a process that ends with this one at the latest. Its own process group keeps Ctrl-C from reaching it. */
export function startProcess(command: string, args: string[], options: SpawnOptions = {}): ChildProcess {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const { pid } = child;
  if (pid !== undefined) {
    guard(`pid ${pid}`);
    child.once('exit', () => guard(`done ${pid}`));
  }
  return child;
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Ends a process by id and waits for it; SIGKILL after `patience` ms. */
export async function endProcess(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
  patience = 15_000,
): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  // A stopped process ignores other signals.
  if (signal !== 'SIGKILL') child.kill('SIGCONT');
  const late = setTimeout(() => child.kill('SIGKILL'), patience);
  await ended;
  clearTimeout(late);
}

/** The ports below those that Linux, macOS and Windows give to a connection or to `listen(0)`: 32,768 upwards. */
const PORTS = { from: 10_240, to: 32_768, workers: 16 };
const PORTS_OF_WORKER = Math.floor((PORTS.to - PORTS.from) / PORTS.workers);
let nextPort = Math.floor(Math.random() * PORTS_OF_WORKER);

/**
 * Returns a port without a listener. It remains free until the caller takes it: the system never assigns ports of this
 * range, each of Jest's workers has its own part, and a worker reuses a port only after all others.
 */
export async function freePort(): Promise<number> {
  const worker = Number(process.env.JEST_WORKER_ID ?? 0) % PORTS.workers;
  const port = PORTS.from + worker * PORTS_OF_WORKER + (nextPort++ % PORTS_OF_WORKER);
  const server = createServer();
  const free = await new Promise<boolean>((resolve) =>
    server
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true))),
  );
  return free ? port : freePort();
}

/** Connects, and rejects without a listener. */
export function connects(to: { port: number } | { path: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect('port' in to ? { ...to, host: '127.0.0.1' } : to)
      .once('connect', () => {
        socket.destroy();
        resolve();
      })
      .once('error', reject);
  });
}

/** Drops all connections to a free port until `times` connections were attempted; then the port is free again. */
export async function untilTried(port: number, times: number): Promise<void> {
  const server = createServer();
  const tried = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      socket.destroy();
      if (--times === 0) resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await tried;
  await new Promise((resolve) => server.close(resolve));
}

/** Repeats `attempt` until it succeeds, at first soon; throws its last error after `patience` ms. */
export async function eventually<T>(attempt: () => Promise<T> | T, patience = 120_000): Promise<T> {
  const until = performance.now() + patience;
  for (let pause = 5; ; pause = Math.min(2 * pause, 50)) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(pause);
    }
  }
}

/** Returns a time for a person's patience: these seconds in `npm run test:faults`, which runs alone, else ten times. */
export const inTime = (seconds: number): number => (IS_WHOLE ? seconds : 10 * seconds);

/** Returns the resident memory (MB) of a process. */
export function residentMemory(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
