import type { Knex } from 'knex';
import { isSqlite, type Db } from './database';
import { rawRows, runOn, withConnection, type StatementOptions } from './statements';

/**
 * Runs a statement that commits by itself, and gives it up when it waits too long for somebody's lock. The server's
 * own limit is a whole second at the least, which is too long for the neighbours in a batch.
 *
 * A statement given up by KILL QUERY is rolled back whole; whether the kill came in time is told by the statement's
 * own outcome, so there is never a doubt about what was written. Everybody may see and kill statements of his own
 * user.
 *
 * @param patience in ms
 * @throws a lock conflict (`isLockConflict`) when it was given up
 */
export async function rawWithPatience(
  db: Db,
  patience: number,
  sql: string,
  bindings: Knex.RawBinding[],
  options?: StatementOptions,
): Promise<void> {
  if (isSqlite(db)) {
    await db.raw(sql, bindings);
    return;
  }
  await withConnection(db, async (connection) => {
    let giving: Promise<void> | undefined;
    const outcome = { killed: false };
    const timer = setInterval(() => {
      // One look at a time: it needs a connection too, and may have to wait for it.
      giving ??= giveUp(db, connection.threadId).then((done) => {
        outcome.killed ||= done;
        giving = undefined;
      });
    }, patience);
    try {
      await runOn(db, connection, sql, bindings, options);
    } finally {
      clearInterval(timer);
      // A kill that came too late would meet the connection's next statement: let it be this one.
      await giving;
      if (outcome.killed) await runOn(db, connection, 'DO 0').catch(() => undefined);
    }
  });
}

/**
 * Kills a connection's statement if it is still at its rows: one that waits for a slow disk to commit is left alone.
 * Best effort; where it fails, the server's own limit ends the wait.
 *
 * @returns whether it was killed
 */
async function giveUp(db: Db, threadId: number): Promise<boolean> {
  try {
    const [statement] = await rawRows<{ state: string | null }>(
      db,
      'SELECT STATE AS state FROM information_schema.PROCESSLIST WHERE ID = ?',
      [threadId],
    );
    if (!/^updating$/i.test(statement?.state ?? '')) return false;
    await db.raw(`KILL QUERY ${threadId}`);
    return true;
  } catch {
    return false;
  }
}
