#!/usr/bin/env node
import './process/node-version';
import type { Logger } from 'pino';
import { withSchemaHint } from './cli/hints';
import { readConfig } from './config';
import { keepCompiled } from './process/compile-cache';
import { createLog } from './process/log';
import { startService, type Running } from './service';
import { reasonCode } from './store/errors';
import { SchemaError } from './store/migrate';

/** After this time the process exits anyway: a database that hangs must not block a restart. */
const STOP_LIMIT_MS = 15 * 1000;

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  const service = await startService(config, log);
  // Install the signal handlers before reporting "listening": a supervisor may send SIGTERM as soon as it sees that.
  stopOnSignal(service, log);
  for (const warning of config.warnings) log.warn(warning);
  log.info({ listen: service.address, admin: service.adminAddress }, 'listening');
  keepCompiled();
}

function stopOnSignal(service: Running, log: Logger): void {
  let stopping = false;
  const stop = (signal: string) => {
    // People press Ctrl-C twice.
    if (stopping) return;
    stopping = true;
    log.info({ reason: signal }, 'stopping');
    setTimeout(() => {
      log.error('something did not end in time and is cut off');
      process.exit(1);
    }, STOP_LIMIT_MS).unref();
    service.stop().then(
      () => {
        log.info('stopped');
        process.exit(0);
      },
      (error: unknown) => {
        log.error({ reason: reasonCode(error) }, 'stopped, but not everything ended well');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
}

main().catch((error: unknown) => {
  const message =
    error instanceof SchemaError
      ? withSchemaHint(error)
      : error instanceof Error
        ? error.message
        : String(error);
  process.stderr.write(`licensing-gateway cannot start: ${message}\n`);
  process.exit(1);
});
