import { createServer } from 'mysql2';
import { freePort } from './processes';

/** The error of a server that cannot run here. */
export interface Refusal {
  code: number;
  message: string;
}

/** The column of an answer without rows, which needs one. */
const COLUMN = {
  ...{ catalog: 'def', schema: '', table: '', orgTable: '', name: 'none', orgName: '' },
  ...{ characterSet: 33, columnLength: 1, columnType: 253, flags: 0, decimals: 0 },
};

/** Starts a server with MySQL's protocol and no data: every statement succeeds except those that are refused. */
export async function startRefusingServer({
  login,
  statement = () => undefined,
}: {
  login?: Refusal;
  statement?: (sql: string) => Refusal | undefined;
}): Promise<{ url: string; stop: () => Promise<void> }> {
  const port = await freePort();
  const server = createServer(() => undefined);
  server.on('connection', (connection: ServerConnection) => {
    connection.on('error', () => undefined);
    connection.serverHandshake({
      protocolVersion: 10,
      serverVersion: '8.0.36',
      connectionId: 1,
      statusFlags: 2,
      characterSet: 8,
      // All flags except CLIENT_SSL
      capabilityFlags: 0xff_f7_ff,
      authCallback(_credentials: unknown, done: (error: null, refusal?: Refusal) => void) {
        done(null, login);
        connection.sequenceId = 0;
      },
    });
    const answer = (sql: string) => {
      const refusal = statement(sql);
      if (refusal !== undefined) connection.writeError(refusal);
      else if (/^(?:SELECT|SHOW)\b/i.test(sql)) connection.writeTextResult([], [COLUMN]);
      else connection.writeOk();
      // Restart the packet numbers for each statement.
      connection.sequenceId = 0;
    };
    connection.on('query', answer);
    // Answer this too, because the driver prepares every SET.
    connection.on('stmt_prepare', answer);
  });
  server.listen(port);
  return {
    url: `mysql://shop:S3cret@127.0.0.1:${port}/shop`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

interface ServerConnection {
  sequenceId: number;
  serverHandshake(settings: object): void;
  writeOk(): void;
  writeTextResult(rows: object[], columns: object[]): void;
  writeError(refusal: Refusal): void;
  on(event: 'error', listener: () => void): void;
  on(event: 'query' | 'stmt_prepare', listener: (sql: string) => void): void;
}
