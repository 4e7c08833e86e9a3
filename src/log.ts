import { pino, type Logger } from 'pino';

/** Kept while nothing can be written, and written as soon as it can; what comes on top of that is lost. */
const MOST_KEPT_BYTES = 1_000_000;

/** JSON lines on standard output, which is written synchronously: the last line before a crash is there too. */
export function createLog(level: string): Logger {
  // Every line is longer than minLength; without one, flush would do nothing.
  const output = pino.destination({ sync: true, minLength: 1, maxLength: MOST_KEPT_BYTES });
  // A full disk ends no service; and there is no place left to tell of it.
  output.on('error', () => undefined);
  // Once it keeps all it may, it would not try to write again.
  output.on('drop', () => output.flush());
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, output);
}
