import './process/node-version';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { describeStartError, reasonCode, SchemaError } from './app/start-error';
import { environment, packageRoot, type Config } from './settings/config';
import { prepareHosted } from './app/first-start';
import { emulateWebServer, unavailable } from './http/hosted';
import { onPassengerExit } from './http/passenger';
import { startServer, type RunningServer } from './http/server';
import { createLog } from './process/log';
import { stopOnSignal } from './process/stop';
import { startService, type Running } from './app/service';

/**
 * The entry on shared hosting, which app.js loads under Passenger. Passenger gets its server at once, and requests wait
 * for the service behind it. While the service cannot start, requests get an error, and one of them triggers the next
 * attempt. The reason is written to the log, which only the seller can read.
 */

const TRY_AGAIN_MS = 5_000;

/** A start of the service: in progress, completed or failed. */
interface Start {
  service: Promise<Running | undefined>;
  listener?: RequestListener;
  failedAt?: number;
}

async function main(): Promise<void> {
  const log = createLog('info');
  const { PASSENGER_BASE_URI, PORT: ownPort } = environment();
  const base = (PASSENGER_BASE_URI ?? '').replace(/\/+$/, '');
  let latest: Start | undefined;
  let isStopping = false;

  function current(): Start {
    const failedAt = latest?.failedAt;
    if (latest === undefined || (failedAt !== undefined && performance.now() - failedAt > TRY_AGAIN_MS))
      latest = begin();
    return latest;
  }

  function begin(): Start {
    const start: Start = { service: Promise.resolve(undefined) };
    start.service = startBehind(server, start, base, log).catch((error: unknown) => {
      start.failedAt = performance.now();
      const why = `cannot start: ${explain(error)}`;
      log.error({ reason: reasonCode(error) }, why);
      // Write to standard error, the only stream that LiteSpeed keeps, as stderr.log.
      process.stderr.write(`licensing-gateway ${why}\n`);
      return undefined;
    });
    return start;
  }

  const front: RequestListener = (request, response) => {
    const start = isStopping && latest !== undefined ? latest : current();
    if (start.listener) return start.listener(request, response);
    void start.service.then(() => {
      const listener = start.listener ?? unavailable(base);
      listener(request, response);
    });
  };

  const server = await startServer(front, { passenger: true, ownPort });
  const stop = stopOnSignal(
    async () => {
      isStopping = true;
      const service = await latest?.service;
      await (service ? service.stop() : server.drain());
    },
    log,
    reasonCode,
  );
  onPassengerExit(() => stop('exit'));
  current();
}

async function startBehind(server: RunningServer, start: Start, base: string, log: Logger): Promise<Running> {
  const config = await prepareHosted(new Date(), base);
  log.level = config.logLevel;
  const service = await startService(config, log, undefined, (listener) => {
    start.listener = emulateWebServer(listener, { base, folder: folderOf(config) });
    return Promise.resolve(server);
  });
  for (const warning of config.warnings) log.warn(warning);
  log.info({ listen: service.address }, 'listening');
  return service;
}

function folderOf({ publicUrl }: Config): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
}

/** Explains to the seller why the service cannot start. */
function explain(error: unknown): string {
  if (error instanceof SchemaError && error.facts?.reason === 'pending')
    return `${error.message} Back the tables up. Then let the panel's cron run this once: ${process.execPath} ${join(packageRoot, 'dist/src/cli.js')} migrate`;
  return describeStartError(error);
}

main().catch((error: unknown) => {
  process.stderr.write(`licensing-gateway cannot start: ${describeStartError(error)}\n`);
  process.exit(1);
});
