import type { Db } from '../store/database';
import { findHeld } from '../store/licenses';
import { GroupFullError } from './group';

/**
 * Work that may have to wait for a licence's row, which somebody else holds: an import, a transaction of the site's, one
 * that a lost connection left behind. Whoever waits has a connection of the pool, so only a few may at once, and of one
 * licence only one: whatever is held, and however many ask for it, everybody else's requests find a connection free.
 */
export type LockWaits = <T>(licenseId: number, work: () => Promise<T>) => Promise<T>;

/** Of the pool's ten connections. */
const MOST_WAITING = 4;
/** In all, for the turn: less than a request's deadline, or the work would be done for nobody. */
const PATIENCE_MS = 3_000;

/** @returns does work on a licence when it is its turn; throws GroupFullError when that does not come in time */
export function createLockWaits(db: Db): LockWaits {
  const waiting = createTurns(MOST_WAITING);
  const lines = new Map<number, Turns>();
  return async (licenseId, work) => {
    const line = lines.get(licenseId) ?? createTurns(1);
    lines.set(licenseId, line);
    const until = performance.now() + PATIENCE_MS;
    try {
      return await line.take(until, async () => {
        const isHeld = (await findHeld(db, [licenseId])).size > 0;
        return isHeld ? waiting.take(until, work) : work();
      });
    } finally {
      if (line.areFree()) lines.delete(licenseId);
    }
  };
}

interface Turns {
  /** @param until when nobody waits for it any more, by performance.now() */
  take<T>(until: number, work: () => Promise<T>): Promise<T>;
  areFree(): boolean;
}

/** Lets so many work at once, the others in the order in which they came. */
function createTurns(most: number): Turns {
  let taken = 0;
  const queue: (() => void)[] = [];

  function comeUp(until: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        queue.splice(queue.indexOf(next), 1);
        reject(new GroupFullError());
      }, until - performance.now());
      const next = () => {
        clearTimeout(late);
        resolve();
      };
      queue.push(next);
    });
  }

  return {
    async take(until, work) {
      if (taken === most) await comeUp(until);
      else taken++;
      try {
        return await work();
      } finally {
        // The turn goes from one to the next.
        const next = queue.shift();
        if (next) next();
        else taken--;
      }
    },
    areFree: () => taken === 0,
  };
}
