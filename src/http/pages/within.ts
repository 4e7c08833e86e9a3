import type { LRUCache } from 'lru-cache';
import type { Db } from '../../licensing/licensing';

/** The parts of a page's call that loading needs. */
interface Loading {
  db: Db;
  settings: { timeoutFactor: number };
}

const PATIENCE_MS = 300;
/** For somebody who asked for it: less than a request's deadline. */
export const LONG_PATIENCE_MS = 3_500;

/** What is nice to have, such as counts: undefined when it fails or takes longer than `patience` ms times LICENSING_TIMEOUT_FACTOR. */
export async function within<T>(
  { db, settings }: Loading,
  load: (db: Db) => Promise<T>,
  patience = PATIENCE_MS,
): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), patience * settings.timeoutFactor);
  });
  return Promise.race([load(db).catch(() => undefined), late]).finally(() => clearTimeout(timer));
}

/** A figure, and when it was counted. */
export interface Figure<T> {
  value: T;
  at: Date;
}

/** The last figures of this process by their names, and those that are being counted. */
export interface LastFigures {
  kept: LRUCache<string, Figure<unknown>>;
  running: Map<string, Promise<Figure<unknown>>>;
}

/**
 * Counts a figure, or returns it as it was counted last, when counting fails or takes longer than a moment. Waits longer if
 * it was never counted, or the caller asks for it. Counts a figure once at a time: the database may be slow.
 */
export async function countOrLast<T>(
  call: Loading & { at: Date; lastFigures: LastFigures },
  name: string,
  load: (db: Db) => Promise<T>,
  waits: boolean,
): Promise<Figure<T> | undefined> {
  const { db, at } = call;
  const { kept, running } = call.lastFigures;
  const count = async () => {
    const figure = { value: await load(db), at };
    kept.set(name, figure);
    return figure;
  };
  const run = running.get(name) ?? count().finally(() => running.delete(name));
  running.set(name, run);
  const patience = waits || !kept.has(name) ? LONG_PATIENCE_MS : undefined;
  // A name stands for one figure, and so for one type.
  return ((await within(call, () => run, patience)) ?? kept.get(name)) as Figure<T> | undefined;
}
