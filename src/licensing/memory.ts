/** Remembers a limited number of values, each for a limited time after its own `at`. */
export interface Memory<T extends { at: Date }> {
  get(key: string, now: Date): T | undefined;
  set(key: string, value: T): T;
}

/** @param max beyond so many values the oldest is forgotten */
export function createMemory<T extends { at: Date }>(max: number, windowMs: number): Memory<T> {
  // A Map keeps its keys in the order of insertion.
  const values = new Map<string, T>();
  return {
    get(key, now) {
      const value = values.get(key);
      // If the clock was set back, forget the value.
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
