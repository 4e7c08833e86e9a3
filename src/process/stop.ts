import type { Logger } from 'pino';

/** The time after which the process exits anyway: a database that hangs must not block a restart. */
const STOP_LIMIT_MS = 15 * 1000;

/**
 * Stops the process gracefully after a signal.
 * @param reasonOf returns the log's code for an error
 * @returns a function that does the same for another event
 */
export function stopOnSignal(
  stop: () => Promise<void>,
  log: Logger,
  reasonOf: (error: unknown) => string,
): (event: string) => void {
  let stopping = false;
  const begin = (event: string) => {
    // Ignore a second signal, because users press Ctrl-C twice.
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
