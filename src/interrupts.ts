/**
 * Cleans up before Ctrl-C or a stop ends this process.
 *
 * @param cleanUp must be done when it returns: nothing that is awaited happens any more
 * @returns what is called when there is nothing to clean up any more
 */
export function onInterrupt(cleanUp: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const end = (signal: NodeJS.Signals) => {
    cleanUp();
    restore();
    process.kill(process.pid, signal);
  };
  const restore = () => signals.forEach((signal) => process.off(signal, end));
  signals.forEach((signal) => process.on(signal, end));
  return restore;
}
