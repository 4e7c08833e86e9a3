import { LRUCache } from 'lru-cache';

/** The memory of a process, which saves questions to the database. */

/** Remembers a limited number of values, each for a limited time after its own `at`. */
export interface Memory<T extends { at: Date }> {
  get(key: string, now: Date): T | undefined;
  set(key: string, value: T): T;
}

/**
 * @param max the most values; then the value that was set first is forgotten. That takes 0.5 µs with 20,000 values, and
 *   6 µs with a Map, which looks for its first key among deleted ones.
 */
export function createMemory<T extends { at: Date }>(max: number, windowMs: number): Memory<T> {
  // By its size, so that it grows: with `max`, the eight of a service took 4.5 MB and 20 ms at its start.
  const values = new LRUCache<string, T>({ maxSize: max, sizeCalculation: () => 1 });
  return {
    get(key, now) {
      const value = values.peek(key);
      // If the clock was set back, forget the value.
      return value && Math.abs(now.getTime() - value.at.getTime()) < windowMs ? value : undefined;
    },
    set(key, value) {
      values.set(key, value);
      return value;
    },
  };
}

/** Entries of a cache. Unknown names are kept, too: a client that tries them all must not fill the memory. */
const MAX_CACHED = 1_000;

/**
 * Keeps what was loaded for `lifetime` ms from the start of loading, and only what `keeps` accepts. Callers that ask at
 * the same time share one load, and a failure is not kept. When the cache is full, the least recently used entry goes.
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
    // A slow load may find a newer entry in its place.
    const forget = () => {
      if (entries.peek(key) === entry) entries.delete(key);
    };
    entry.value.then((value) => keeps(value) || forget(), forget);
    return entry.value;
  };
}
