import { withRightsOfNow } from './rights';

let isPutOff = false;
let isAsked = false;

/**
 * Postpones Ctrl-C and SIGTERM: they do not end this process, and the work checks `isStopRequested`. A closed terminal is
 * ignored, because a user who lost the connection wants the work finished.
 * @param say is called when a stop is requested
 */
export function deferSignals(say: () => void): void {
  isPutOff = true;
  process.on('SIGHUP', () => undefined);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      isAsked = true;
      say();
    });
}

export function isStopRequested(): boolean {
  return isAsked;
}

/** Runs `cleanUp`, which must be synchronous, before Ctrl-C or a stop ends this process. @returns cancels this */
export function onInterrupt(cleanUp: () => void): () => void {
  if (isPutOff) return () => undefined;
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const clean = withRightsOfNow(cleanUp);
  const end = (signal: NodeJS.Signals) => {
    clean();
    restore();
    process.kill(process.pid, signal);
  };
  const restore = () => signals.forEach((signal) => process.off(signal, end));
  signals.forEach((signal) => process.on(signal, end));
  return restore;
}
