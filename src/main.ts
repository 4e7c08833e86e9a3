#!/usr/bin/env node
import './process/node-version';
import { describeStartError, reasonCode } from './app/start-error';
import { readConfig } from './settings/config';
import { writeCompileCache } from './process/compile-cache';
import { createLog } from './process/log';
import { stopOnSignal } from './process/stop';
import { startService } from './app/service';

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  const service = await startService(config, log);
  // Install the signal handlers before reporting "listening": a supervisor may send SIGTERM as soon as it sees that.
  stopOnSignal(() => service.stop(), log, reasonCode);
  for (const warning of config.warnings) log.warn(warning);
  log.info({ listen: service.address, admin: service.adminAddress }, 'listening');
  writeCompileCache();
}

main().catch((error: unknown) => {
  process.stderr.write(`licensing-gateway cannot start: ${describeStartError(error)}\n`);
  process.exit(1);
});
