import { pino, type Logger } from 'pino';

/** JSON lines on standard output, which is written synchronously: the last line before a crash is there too. */
export function createLog(level: string): Logger {
  return pino(
    { level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ sync: true }),
  );
}
