import knex from 'knex';
import type { Connection, Pool } from './connections';

/** A concurrency limit on a connection pool: one kind of work may use only a part, so that the rest remains for others. */

/** @param most the number of connections @param patience the time in ms that a caller waits for one */
export function sharePool(pool: Pool, most: number, patience: number): Pool {
  let lent = 0;
  const waiting: (() => void)[] = [];

  /** Hands a connection's place to a waiting caller, or frees it. */
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

  /** Waits for a free place. @throws KnexTimeoutError, like a pool that is in use */
  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.splice(waiting.indexOf(take), 1);
        reject(new knex.KnexTimeoutError('All connections for pages are in use.'));
      }, patience);
      const take = () => {
        clearTimeout(late);
        resolve();
      };
      waiting.push(take);
    });
  }

  // The members that Knex uses of a pool (knex/lib/client.js, and knex/lib/pool.js to recognise it).
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
