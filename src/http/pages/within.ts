import type { Db } from '../../licensing/licensing';
import type { PageCall } from './page';

const PATIENCE_MS = 300;
/** For somebody who asked for it: less than a request's deadline. */
export const LONG_PATIENCE_MS = 3_500;

/** What is nice to have, such as counts: undefined when it fails or takes longer than `patience` ms times LICENSING_TIMEOUT_FACTOR. */
export async function within<T>(
  { db, settings }: Pick<PageCall, 'db' | 'settings'>,
  load: (db: Db) => Promise<T>,
  patience = PATIENCE_MS,
): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), patience * settings.timeoutFactor);
  });
  return Promise.race([load(db).catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
