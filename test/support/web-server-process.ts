import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPhp } from './php-fpm';
import { connects, endProcess, eventually, hasEnded, startProcess } from './processes';
import type { WebServer } from './web-server';

/** A private web server, and a private PHP-FPM that serves the site. */

export interface TestWebServer extends WebServer {
  /** the port of plain HTTP; equals `port` without TLS */
  httpPort: number;
  /** returns a log file's text; empty if the file does not exist */
  log(name: 'access.log' | 'error.log' | 'licensing.log'): string;
  /** returns everything that it wrote to its logs and standard error */
  allLogs(): string;
  stop(): Promise<void>;
}

/** Starts `command` with PHP-FPM, and waits until it listens. @param folder contains its configuration, and `logs` */
export async function startWebServer(
  command: string[],
  folder: string,
  { url, port, httpPort }: Pick<TestWebServer, 'url' | 'port' | 'httpPort'>,
): Promise<TestWebServer> {
  const [program = '', ...args] = command;
  const stopPhp = await startPhp(folder);
  const child = startProcess(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('latin1')));
  const logs = join(folder, 'logs');
  const log = (name: string) => {
    const path = join(logs, name);
    return existsSync(path) ? readFileSync(path, 'latin1') : '';
  };
  const stop = async () => {
    await endProcess(child);
    await stopPhp();
  };
  try {
    await eventually(async () => {
      if (hasEnded(child)) throw new Error(`${program} ended at its start.\n${stderr}${log('error.log')}`);
      await connects({ port });
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, port, httpPort, log, allLogs: () => readdirSync(logs).map(log).join('') + stderr, stop };
}

/** Lets a web server check its configuration. */
export function checkConfiguration(command: string[]): { ok: boolean; output: string } {
  const [program = '', ...args] = command;
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { ok: status === 0, output: stderr };
}
