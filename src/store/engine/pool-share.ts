import knex from 'knex';
import type { Connection, Pool } from './connections';

/** The connections of a pool that one kind of work may have at once, so that the pool is never empty for the others. */

/** @param most connections @param patience ms that a caller may wait for its turn */
export function sharePool(pool: Pool, most: number, patience: number): Pool {
  let lent = 0;
  const waiting: (() => void)[] = [];

  /** A caller that waits takes the place over. */
  function giveBack(): void {
    const next = waiting.shift();
    if (next === undefined) lent--;
    else next();
  }

  async function acquire(): Promise<Connection> {
    if (lent >= most) await turn();
    else lent++;
    try {
      return await pool.acquire().promise;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  /** @throws KnexTimeoutError, as of a pool that is in use */
  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.splice(waiting.indexOf(take), 1);
        reject(new knex.KnexTimeoutError('The connections for pages are in use.'));
      }, patience);
      const take = () => {
        clearTimeout(late);
        resolve();
      };
      waiting.push(take);
    });
  }

  // What Knex uses of a pool (knex/lib/client.js, and knex/lib/pool.js to know it by).
  const share = {
    acquire: () => ({ promise: acquire() }),
    release(connection: Connection) {
      const isOurs = pool.release(connection);
      if (isOurs) giveBack();
      return isOurs;
    },
    destroy: () => Promise.resolve(),
    numUsed: () => lent,
    numFree: () => most - lent,
    numPendingAcquires: () => waiting.length,
  };
  return share as unknown as Pool;
}
