import { LRUCache } from 'lru-cache';

/** The caches of a process, which save queries to the database. */

/** A cache of a limited number of values, each kept for a limited time after its own `at`. */
export interface TtlMap<T extends { at: Date }> {
  get(key: string, now: Date): T | undefined;
  set(key: string, value: T): T;
}

/**
 * @param max the maximum of values; above it, the value that was set first is removed. That takes 0.5 µs with
 *   20,000 values, and 6 µs with a Map, which looks for its first key among deleted ones.
 */
export function createTtlMap<T extends { at: Date }>(max: number, windowMs: number): TtlMap<T> {
  // Limited by size, so that it grows: with `max`, the eight of a service took 4.5 MB and 20 ms at its start.
  const values = new LRUCache<string, T>({ maxSize: max, sizeCalculation: () => 1 });
  return {
    get(key, now) {
      const value = values.peek(key);
      // If the clock was set back, the value is ignored.
      return value && Math.abs(now.getTime() - value.at.getTime()) < windowMs ? value : undefined;
    },
    set(key, value) {
      values.set(key, value);
      return value;
    },
  };
}

/** The maximum number of entries: unknown names are kept too, and a client that tries many must not fill the memory. */
const MAX_CACHED = 1_000;

/**
 * Creates a cache that keeps a loaded value for `lifetime` ms from the start of loading, if `keeps` accepts it.
 * Simultaneous callers share one load, and a failure is not kept. A full cache removes the least recently used entry.
 */
export function createCache<T>(
  lifetime: number,
  clock: () => number = () => performance.now(),
  keeps: (value: T) => boolean = () => true,
): (key: string | number, load: () => Promise<T>) => Promise<T> {
  const entries = new LRUCache<string | number, { at: number; value: Promise<T> }>({ max: MAX_CACHED });
  return (key, load) => {
    const at = clock();
    const known = entries.get(key);
    // A clock that was set back must not prolong an entry.
    if (known && at >= known.at && at - known.at < lifetime) return known.value;
    const entry = { at, value: load() };
    entries.set(key, entry);
    // After a slow load, the cache may contain a newer entry.
    const forget = () => {
      if (entries.peek(key) === entry) entries.delete(key);
    };
    entry.value.then((value) => keeps(value) || forget(), forget);
    return entry.value;
  };
}
