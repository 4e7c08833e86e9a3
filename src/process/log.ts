import { pino, type Logger } from 'pino';

/** The size of the buffer for lines that cannot be written. Further lines are lost. */
const MAX_BUFFERED_BYTES = 1_000_000;

/** Returns a logger for JSON lines on standard output, written synchronously to keep the last line before a crash. */
export function createLog(level: string): Logger {
  // Set minLength, because pino's flush() does nothing without it; 1 does not delay any line.
  const output = pino.destination({ sync: true, minLength: 1, maxLength: MAX_BUFFERED_BYTES });
  // Ignore write errors: a full disk must not stop the service.
  output.on('error', () => undefined);
  // Flush here, because pino does not retry on its own once its buffer is full.
  output.on('drop', () => output.flush());
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, output);
}
