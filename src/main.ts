#!/usr/bin/env node
import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { readConfig } from './config';
import { createLog } from './log';
import { startService, type Running } from './service';
import { reasonCode } from './store/errors';
import { runWorker, startWorkers } from './workers';

/** After this long, what has not ended by itself is cut off: a database that hangs must not keep a restart waiting. */
const STOP_LIMIT_MS = 15_000;

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  const service = cluster.isWorker
    ? await runWorker(config, log)
    : config.workers > 1
      ? await startWorkers(config, log)
      : await startService(config, log);
  // Before it says that it is there: whoever waits for that may end it at once.
  stopOnSignal(service, log);
  if (cluster.isPrimary) {
    for (const warning of config.warnings) log.warn(warning);
    log.info({ listen: service.address, admin: service.adminAddress, workers: config.workers }, 'listening');
  }
}

function stopOnSignal(service: Running, log: Logger): void {
  let stopping = false;
  const stop = (reason: string) => {
    // A terminal signals every process of the group, and people press Ctrl-C twice.
    if (stopping) return;
    stopping = true;
    log.info({ reason }, 'stopping');
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
  const { worker } = cluster;
  // Before Node's own listener, which would end a worker whose primary was killed in the middle of requests.
  if (worker)
    process.prependOnceListener('disconnect', () => {
      worker.exitedAfterDisconnect = true;
      stop('the primary is gone');
    });
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`licensing-gateway cannot start: ${message}\n`);
  process.exit(1);
});
