import { withRightsOfNow } from './rights';

let isPutOff = false;
let isAsked = false;

/**
 * From here on Ctrl-C and a stop end this process no longer, but are asked for by `isAskedToStop`. A terminal that is closed
 * stops nothing: whoever lost the connection wants the work done.
 * @param say is called when a stop is asked for
 */
export function putOffInterrupts(say: () => void): void {
  isPutOff = true;
  process.on('SIGHUP', () => undefined);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      isAsked = true;
      say();
    });
}

export function isAskedToStop(): boolean {
  return isAsked;
}

/** Runs `cleanUp`, synchronously, before Ctrl-C or a stop ends this process. Calling the result calls this off. */
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
