import type { LRUCache } from 'lru-cache';
import type { Db } from '../../licensing/licensing';

/** The parts of a page's call that are needed for loading. */
interface Loading {
  db: Db;
  settings: { timeoutFactor: number };
}

const TIMEOUT_MS = 300;
/** The timeout of a figure that the user requested: less than a request's deadline. */
export const LONG_TIMEOUT_MS = 3_500;

/** Loads an optional value. @returns undefined if it fails or exceeds `timeoutMs` times LICENSING_TIMEOUT_FACTOR */
export async function loadOptional<T>(
  { db, settings }: Loading,
  load: (db: Db) => Promise<T>,
  timeoutMs = TIMEOUT_MS,
): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs * settings.timeoutFactor);
  });
  return Promise.race([load(db).catch(() => undefined), late]).finally(() => clearTimeout(timer));
}

/** The age up to which a figure counts as current. Aggregates are as old too. */
export const FRESH_MS = 60_000;

/** The name of the counts in the navigation, which the overview keeps. */
export const NAV_COUNTS = 'navigation';
/** The age up to which the navigation shows them. */
export const NAV_COUNTS_MS = 10 * FRESH_MS;

/** A figure with the time of its count. */
export interface Figure<T> {
  value: T;
  at: Date;
  /** whether it is kept while it is current */
  isSlow: boolean;
}

/** The last figures of this process by name, and the counts in progress. */
export interface LastFigures {
  kept: LRUCache<string, Figure<unknown>>;
  running: Map<string, Promise<Figure<unknown>>>;
}

/**
 * Counts a figure, or returns the last one if counting fails or takes longer than a moment. It waits longer for the
 * first count, or if `waits` is true. A figure is counted only once at a time, because the database may be slow. Without
 * `waits`, a slow figure is counted again only when it is no longer current.
 * @param isSlowToCount whether a value shows that its count reads so much that pages should not repeat it
 */
export async function countOrLast<T>(
  call: Loading & { at: Date; lastFigures: LastFigures },
  name: string,
  load: (db: Db) => Promise<T>,
  waits: boolean,
  isSlowToCount: (value: T) => boolean = () => false,
): Promise<Figure<T> | undefined> {
  const { db, at, settings } = call;
  const { kept, running } = call.lastFigures;
  // The casts are safe because a name identifies one figure and therefore one type.
  const last = kept.get(name) as Figure<T> | undefined;
  if (!waits && last?.isSlow === true && Number(at) - Number(last.at) < FRESH_MS) return last;
  const count = async () => {
    const started = performance.now();
    const value = await load(db);
    const isSlow = isSlowToCount(value) || performance.now() - started > TIMEOUT_MS * settings.timeoutFactor;
    kept.set(name, { value, at, isSlow });
    return { value, at, isSlow };
  };
  const run = running.get(name) ?? count().finally(() => running.delete(name));
  running.set(name, run);
  const timeoutMs = waits || last === undefined ? LONG_TIMEOUT_MS : undefined;
  return ((await loadOptional(call, () => run, timeoutMs)) ?? kept.get(name)) as Figure<T> | undefined;
}
