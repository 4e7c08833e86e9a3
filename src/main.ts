#!/usr/bin/env node
import { ConfigError, readConfig } from './config';
import { createLog } from './log';
import { startService } from './service';

/** Configuration, service, and the end of both; each step in service.ts. */
async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  for (const warning of config.warnings) log.warn(warning);
  const service = await startService(config, log);
  log.info({ listen: service.address }, 'listening');

  let stopping: Promise<void> | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // A terminal sends its signal to every process of the group, and people press Ctrl-C twice.
      stopping ??= service.stop().then(() => log.info({ signal }, 'stopped'));
    });
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`licensing-gateway cannot start: ${message}\n`);
  process.exitCode = error instanceof ConfigError ? 2 : 1;
});
