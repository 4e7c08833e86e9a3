/** Work of this process that a customer waits for is done at least as often. */
const AT_LEAST_EVERY_MS = 10;

/** Returns a function for long loops: awaited in each turn, it lets other work of the process run when its time has come. */
export function createPause(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < AT_LEAST_EVERY_MS) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        since = performance.now();
        resolve();
      }),
    );
  };
}
