/** Runs `cleanUp`, synchronously, before Ctrl-C or a stop ends this process. Calling the result calls this off. */
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
