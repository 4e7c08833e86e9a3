/** Values that are remembered for a time from their own moment on, the latest so many of them. */
export interface Memory<T extends { at: Date }> {
  get(key: string, now: Date): T | undefined;
  /** @returns the value */
  set(key: string, value: T): T;
}

/**
 * @param max values; the oldest are forgotten
 * @param windowMs how long a value is remembered
 */
export function createMemory<T extends { at: Date }>(max: number, windowMs: number): Memory<T> {
  // In the order of writing, as a Map keeps its keys.
  const values = new Map<string, T>();
  return {
    get(key, now) {
      const value = values.get(key);
      // A clock that was set back begins anew.
      return value && Math.abs(now.getTime() - value.at.getTime()) < windowMs ? value : undefined;
    },
    set(key, value) {
      values.delete(key);
      values.set(key, value);
      const [oldest] = values.keys();
      if (values.size > max && oldest !== undefined) values.delete(oldest);
      return value;
    },
  };
}
