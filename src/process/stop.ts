import type { Logger } from 'pino';

/** After this time the process exits anyway: a database that hangs must not block a restart. */
const STOP_LIMIT_MS = 15 * 1000;

/**
 * Ends the process in order when a signal says so.
 * @param reasonOf the log's word for an error
 * @returns does the same for another event
 */
export function stopOnSignal(
  stop: () => Promise<void>,
  log: Logger,
  reasonOf: (error: unknown) => string,
): (event: string) => void {
  let stopping = false;
  const begin = (event: string) => {
    // People press Ctrl-C twice.
    if (stopping) return;
    stopping = true;
    log.info({ reason: event }, 'stopping');
    setTimeout(() => {
      log.error('something did not end in time and is cut off');
      process.exit(1);
    }, STOP_LIMIT_MS).unref();
    stop().then(
      () => {
        log.info('stopped');
        process.exit(0);
      },
      (error: unknown) => {
        log.error({ reason: reasonOf(error) }, 'stopped, but not everything ended well');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => begin(signal));
  return begin;
}
