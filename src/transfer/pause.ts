/** The longest time for which a loop keeps other work of the process waiting, such as a customer's request. */
const AT_LEAST_EVERY_MS = 10;

/** Returns a function that a long loop awaits in each turn. After each interval it lets the process run its other work. */
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
