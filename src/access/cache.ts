/** Entries of a cache; a shop has a handful of tokens. */
const MOST = 1_000;

/**
 * Keeps what was loaded for `lifetime` ms from the start of loading, and only what `keeps` accepts. Callers that ask at
 * the same time share one load. When it is full, the oldest entry goes.
 */
export function createCache<T>(
  lifetime: number,
  clock: () => number,
  keeps: (value: T) => boolean,
): (key: string, load: () => Promise<T>) => Promise<T> {
  const entries = new Map<string, { at: number; value: Promise<T> }>();
  return (key, load) => {
    const at = clock();
    const known = entries.get(key);
    // A clock that was set back must not prolong an entry.
    if (known && at >= known.at && at - known.at < lifetime) return known.value;
    entries.delete(key);
    for (const oldest of entries.keys()) {
      if (entries.size < MOST) break;
      entries.delete(oldest);
    }
    const entry = { at, value: load() };
    entries.set(key, entry);
    const forget = () => {
      if (entries.get(key) === entry) entries.delete(key);
    };
    entry.value.then((value) => keeps(value) || forget(), forget);
    return entry.value;
  };
}
