import RateLimiterMySQL from 'rate-limiter-flexible/lib/RateLimiterMySQL.js';
import { inTransaction } from './engine/transaction';
import { shareOf, table, type Db, type Transaction } from './engine/database';
import type { Connection } from './engine/connections';
import { isLockConflict } from './engine/errors';
import type { MysqlSettings } from './engine/mysql';
import { placeholders, rawChange, rawRows } from './engine/statements';

/**
 * Counts of rate limits that several processes share without Redis. rate-limiter-flexible writes the rows of most
 * buckets (`open`). The counts of downloads depend on each other and are changed together (`change`).
 * For MySQL and MariaDB only: SQLite serves one process.
 */
export interface LimitCount {
  /** a bucket and a digest, such as `api:SHA256` */
  key: string;
  points: number;
  /** the end of the window, in ms since 1970; null: it never ends */
  expire: number | null;
}

/** Opens the counts on a share of the connections: in a flood, the other connections serve the admitted requests. */
export function openLimitCounts(whole: Db, { database }: Pick<MysqlSettings, 'database'>) {
  const db = shareOf(whole);
  return {
    open: (bucket: string, seconds: () => number) => openLimitStore(db, database, bucket, seconds),
    /** Changes counts together: while `change` runs, no other process changes counts with the same lock. */
    change: <T>(asked: Asked, change: (count: Count) => T) =>
      inTransaction(db, (trx) => changeCounts(trx, asked, change)),
  };
}

/** The maximum number of attempts if deadlocks occur. */
const ATTEMPTS = 3;

/** Opens the counts of a bucket. @param seconds returns the length of a window; called for each request */
function openLimitStore(db: Db, database: string, bucket: string, seconds: () => number) {
  const limiter = new RateLimiterMySQL({
    storeClient: lender(db),
    storeType: 'knex',
    dbName: database,
    tableName: table(db, 'limit_counts'),
    // Otherwise the limiter runs CREATE DATABASE.
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: bucket,
    // The caller decides by the count.
    points: Number.MAX_SAFE_INTEGER,
    duration: seconds(),
  });
  return {
    /** Adds points and returns the new count. @throws the driver's error */
    async add(key: string, points: number) {
      limiter.duration = seconds();
      for (let attempt = 1; ; attempt++)
        try {
          // Unlike consume(), penalty() returns a count above the limit.
          const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points);
          return { count: consumedPoints, endsIn: msBeforeNext };
        } catch (error) {
          if (!isLockConflict(error) || attempt >= ATTEMPTS) throw error;
        }
    },
    /** Returns the count of a window that has not ended. @throws the driver's error */
    async read(key: string) {
      const found = await limiter.get(key);
      return found === null ? undefined : { count: found.consumedPoints, endsIn: found.msBeforeNext };
    },
  };
}

type Done = (error: unknown, answer?: unknown) => void;

/**
 * Imitates the Knex handle that RateLimiterMySQL of rate-limiter-flexible 11.4.0 expects. It omits some of the three
 * arguments that our connections need. It does not wait for its ROLLBACK, which runs before the next user's statement.
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

interface Asked {
  /** the key whose row is locked, and inserted if it does not exist */
  lock: string;
  /** all keys that may be counted */
  keys: string[];
  now: number;
}

/** Adds points to a key's count, with a window of the given seconds, and returns the count. */
type Count = (
  key: string,
  seconds: number,
  points: -1 | 0 | 1,
  renews?: boolean,
) => { count: number; endsIn: number };

async function changeCounts<T>(trx: Transaction, { lock, keys, now }: Asked, change: (count: Count) => T) {
  // Lock the row. A missing row is inserted with an ended window, so that the first count begins a new one.
  await write(trx, [{ key: lock, points: 0, expire: 0 }], '`key` = `key`');
  // The first read comes after the lock, because REPEATABLE READ fixes its snapshot here.
  const found = await rawRows<LimitCount>(
    trx,
    `SELECT \`key\`, points, expire FROM ${table(trx, 'limit_counts')}
      WHERE \`key\` IN (${placeholders(keys.length)}) AND expire > ?`,
    [...keys, now],
  );
  const stored = new Map(found.map((row) => [row.key, row]));
  const changed = new Map<string, LimitCount>();
  const result = change((key, seconds, points, renews = false) => {
    const begun = { key, points: 0, expire: now + seconds * 1000 };
    const row = changed.get(key) ?? stored.get(key) ?? begun;
    const { expire } = renews && points > 0 ? begun : row;
    const next = { key, points: Math.max(0, row.points + points), expire };
    if (points !== 0) changed.set(key, next);
    return { count: next.points, endsIn: Number(next.expire) - now };
  });
  const rows = [...changed.values()];
  if (rows.length > 0) await write(trx, rows, 'points = VALUES(points), expire = VALUES(expire)');
  return result;
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
