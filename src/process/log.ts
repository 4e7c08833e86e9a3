import { pino, type Logger } from 'pino';

/** Kept in memory while nothing can be written; lines beyond this are lost. */
const MOST_KEPT_BYTES = 1_000_000;

/** JSON lines on standard output, written synchronously so that the last line before a crash is there too. */
export function createLog(level: string): Logger {
  // pino's flush() does nothing without minLength; 1 does not delay any line.
  const output = pino.destination({ sync: true, minLength: 1, maxLength: MOST_KEPT_BYTES });
  // Ignore write errors: a full disk must not stop the service.
  output.on('error', () => undefined);
  // pino does not retry by itself once its buffer is full.
  output.on('drop', () => output.flush());
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, output);
}
