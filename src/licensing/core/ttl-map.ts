import { LRUCache } from 'lru-cache';

/** The caches of a process, which save queries to the database. */

/** A cache of a limited number of values, each kept for a limited time after its own `at`. */
export interface TtlMap<T extends { at: Date }> {
  get(key: string, now: Date): T | undefined;
  set(key: string, value: T): T;
}

/**
 * Creates it with two Maps: when the newer one has half of the values, it replaces the older one. Removing the oldest
 * value for each new one took 0.5 µs with an LRUCache, and 6 µs with one Map, which looks for its first key among
 * deleted ones.
 *
 * @param max the maximum of values; the latest half of them are never removed
 */
export function createTtlMap<T extends { at: Date }>(max: number, windowMs: number): TtlMap<T> {
  let older = new Map<string, T>();
  let newer = new Map<string, T>();
  return {
    get(key, now) {
      const value = newer.get(key) ?? older.get(key);
      // If the clock was set back, the value is ignored.
      return value && Math.abs(now.getTime() - value.at.getTime()) < windowMs ? value : undefined;
    },
    set(key, value) {
      newer.set(key, value);
      if (newer.size >= max / 2) {
        older = newer;
        newer = new Map();
      }
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
