import RateLimiterMySQL from 'rate-limiter-flexible/lib/RateLimiterMySQL.js';
import { inTransaction } from './engine/transaction';
import { table, type Db, type Transaction } from './engine/database';
import type { Connection } from './engine/connections';
import type { MysqlSettings } from './engine/mysql';
import { placeholders, rawChange, rawRows } from './engine/statements';

/**
 * Counts of limits that several processes share without Redis. rate-limiter-flexible writes the rows of most buckets
 * (`openLimitStore`), and those of downloads, which depend on each other, are changed together (`changeCounts`).
 * For MySQL and MariaDB only: SQLite serves one process.
 */
export interface LimitCount {
  /** a bucket and a digest, such as `api:SHA256` */
  key: string;
  points: number;
  /** when the window ends, in ms since 1970; null: never */
  expire: number | null;
}

export interface LimitStore {
  /** Adds points, and tells what there is then. @throws the driver's error */
  add(key: string, points: number): Promise<{ points: number; endsIn: number }>;
  /** What there is in a window that has not ended. @throws the driver's error */
  read(key: string): Promise<{ points: number; endsIn: number } | undefined>;
}

/**
 * The counts of a bucket.
 * @param seconds of a window, read for each request
 */
export function openLimitStore(
  db: Db,
  { database }: Pick<MysqlSettings, 'database'>,
  bucket: string,
  seconds: () => number,
): LimitStore {
  const limiter = new RateLimiterMySQL({
    storeClient: lender(db),
    storeType: 'knex',
    dbName: database,
    tableName: table(db, 'limit_counts'),
    // Otherwise it runs CREATE DATABASE.
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: bucket,
    // The caller judges by the count.
    points: Number.MAX_SAFE_INTEGER,
    duration: seconds(),
  });
  return {
    async add(key, points) {
      limiter.duration = seconds();
      // Unlike consume(), it returns a count above the limit.
      const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points);
      return { points: consumedPoints, endsIn: msBeforeNext };
    },
    async read(key) {
      const found = await limiter.get(key);
      return found === null ? undefined : { points: found.consumedPoints, endsIn: found.msBeforeNext };
    },
  };
}

type Done = (error: unknown, answer?: unknown) => void;

/**
 * What RateLimiterMySQL of rate-limiter-flexible 11.4.0 asks of a Knex handle. Our connections want all three arguments,
 * which it leaves out, and it does not wait for a ROLLBACK, which the connection runs before whatever its next user sends.
 */
function lender(db: Db): object {
  const client = db.client as {
    acquireConnection: () => Promise<Connection>;
    releaseConnection: (connection: Connection) => Promise<void>;
  };
  const lent = new WeakMap<object, Connection>();
  return {
    client: {
      async acquireConnection() {
        const connection = await client.acquireConnection();
        const query = (sql: string, values: unknown[] | Done, done?: Done) =>
          connection.query(
            sql,
            typeof values === 'function' ? [] : (values as string[]),
            (typeof values === 'function' ? values : done) as Done,
          );
        const face = { query, rollback: () => query('ROLLBACK', () => undefined) };
        lent.set(face, connection);
        return face;
      },
      releaseConnection: (face: object) => client.releaseConnection(lent.get(face) as Connection),
    },
  };
}

/**
 * Changes counts together: while `change` runs, nobody else changes counts with the same lock.
 * @param lock the key whose row is locked, and made where there is none
 * @param keys all that `change` may read and set
 * @param change gets those whose window has not ended, and returns the rows to write
 */
export function changeCounts<T>(
  db: Db,
  { lock, keys, now }: { lock: string; keys: string[]; now: number },
  change: (counts: Map<string, LimitCount>) => { rows: LimitCount[]; result: T },
): Promise<T> {
  return inTransaction(db, async (trx) => {
    // A row whose window has ended: whoever counts first begins one.
    await write(trx, [{ key: lock, points: 0, expire: 0 }], '`key` = `key`');
    // The first read, after the lock: REPEATABLE READ fixes its snapshot here.
    const found = await rawRows<LimitCount>(
      trx,
      `SELECT \`key\`, points, expire FROM ${table(trx, 'limit_counts')}
        WHERE \`key\` IN (${placeholders(keys.length)}) AND expire > ?`,
      [...keys, now],
    );
    const { rows, result } = change(new Map(found.map((row) => [row.key, row])));
    if (rows.length > 0) await write(trx, rows, 'points = VALUES(points), expire = VALUES(expire)');
    return result;
  });
}

async function write(trx: Transaction, rows: LimitCount[], onDuplicate: string): Promise<void> {
  await rawChange(
    trx,
    `INSERT INTO ${table(trx, 'limit_counts')} (\`key\`, points, expire)
      VALUES (?, ?, ?)${', (?, ?, ?)'.repeat(rows.length - 1)} ON DUPLICATE KEY UPDATE ${onDuplicate}`,
    rows.flatMap(({ key, points, expire }) => [key, points, expire]),
  );
}

/** Deletes a few counts whose window has ended. @returns how many were found */
export async function pruneLimitCounts(db: Db, before: Date, limit: number): Promise<number> {
  const ended = before.getTime();
  const keys = await db(table(db, 'limit_counts'))
    .where('expire', '<', ended)
    .orderBy('expire')
    .limit(limit)
    .pluck('key');
  // A new window may have begun in the row since.
  for (const key of keys)
    await db(table(db, 'limit_counts')).where({ key }).where('expire', '<', ended).delete();
  return keys.length;
}
