import type { Db } from '../../store/database';

const PATIENCE_MS = 300;

/** What is nice to have, such as counts: undefined when it fails or takes longer than 300 ms. */
export async function within<T>(db: Db, load: (db: Db) => Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  return Promise.race([load(db).catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
