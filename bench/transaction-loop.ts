import { createConnection, type Connection } from 'mysql2/promise';
import { DEFAULT_POOL_SIZE } from '../src/store/engine/database';
import { toSqlTime } from '../src/store/engine/time';

/**
 * Runs the bare transaction of a new activation (lock, look-up, insert, update, commit) as prepared statements, without
 * pauses, on as many connections as the service has. It shows the limit of the database and its driver on this machine.
 */
export interface TransactionLoop {
  /** @returns the committed transactions and the duration of each (ms) */
  run(seconds: number): Promise<{ seconds: number; durations: number[] }>;
  stop(): Promise<void>;
}

/** Opens the connections. @param url the address of a data set with `licences` licences */
export async function openTransactionLoop(url: string, licences: number): Promise<TransactionLoop> {
  const connections = await Promise.all(
    Array.from({ length: DEFAULT_POOL_SIZE }, () => createConnection({ uri: url, dateStrings: true })),
  );
  let inserted = 0;
  const one = async (connection: Connection): Promise<void> => {
    const id = 1 + Math.floor(Math.random() * licences);
    const identifier = `loop-${process.pid}-${++inserted}.example.com`;
    await connection.query('BEGIN');
    await connection.execute('SELECT * FROM licensing_licenses WHERE id = ? FOR UPDATE', [id]);
    await connection.execute('SELECT * FROM licensing_activations WHERE license_id = ? AND identifier = ?', [
      id,
      identifier,
    ]);
    await connection.execute(
      'INSERT INTO licensing_activations (license_id, identifier, ip, activated_at) VALUES (?, ?, ?, ?)',
      [id, identifier, '10.0.0.1', toSqlTime(new Date())],
    );
    await connection.execute(
      'UPDATE licensing_licenses SET activations_used = activations_used + 1 WHERE id = ?',
      [id],
    );
    await connection.query('COMMIT');
  };
  return {
    async run(seconds) {
      const durations: number[] = [];
      const started = performance.now();
      const until = started + seconds * 1000;
      await Promise.all(
        connections.map(async (connection) => {
          for (let at = performance.now(); at < until;) {
            await one(connection);
            const after = performance.now();
            durations.push(after - at);
            at = after;
          }
        }),
      );
      return { seconds: (performance.now() - started) / 1000, durations };
    },
    async stop() {
      await Promise.all(connections.map((connection) => connection.end()));
    },
  };
}
