import { connect, type Socket } from 'node:net';

/** Raw HTTP: requests that no client library would send, and answers byte by byte. */

export interface RawAnswer {
  status: number;
  /** by lower-case name; repeated headers are joined with ", " */
  headers: Map<string, string>;
  /** lower-case names, repeated as received */
  names: string[];
  body: Buffer;
}

export interface RawConnection {
  /**
   * Sends a request and waits for its answer; one at a time.
   *
   * @param last closes this side of the connection after the request
   * @returns undefined when the connection was closed without an answer
   */
  send(bytes: Buffer | string, options?: { head?: boolean; last?: boolean }): Promise<RawAnswer | undefined>;
  /** reports whether the connection can take another request */
  isOpen(): boolean;
  close(): void;
}

const TIMEOUT_MS = 120_000;

export function openRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect({ port: Number(port), host: hostname, noDelay: true });
  let received = Buffer.alloc(0);
  let open = true;
  let look: () => void = () => undefined;
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    look();
  });
  socket.on('error', () => undefined);
  for (const event of ['end', 'close'])
    socket.on(event, () => {
      open = false;
      look();
    });
  return {
    isOpen: () => open,
    close() {
      open = false;
      socket.destroy();
    },
    send(bytes, { head = false, last = false } = {}) {
      if (last) socket.end(bytes);
      else socket.write(bytes);
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error('There was no answer.')), TIMEOUT_MS);
        look = () => {
          let answer: ReturnType<typeof readAnswer>;
          try {
            answer = readAnswer(received, head);
          } catch (error) {
            clearTimeout(late);
            reject(error instanceof Error ? error : new Error(String(error)));
            return;
          }
          if (answer === undefined && open) return;
          clearTimeout(late);
          look = () => undefined;
          if (answer) {
            received = received.subarray(answer.length);
            if (last || answer.headers.get('connection') === 'close') open = false;
          }
          if (!open) socket.destroy();
          resolve(answer);
        };
        look();
      });
    },
  };
}

/** Sends one request on a new connection. */
export function sendRaw(url: string, bytes: Buffer | string, head = false): Promise<RawAnswer | undefined> {
  const connection = openRaw(url);
  return connection.send(bytes, { head }).finally(() => connection.close());
}

/** Reads an answer. @returns undefined until it is complete */
function readAnswer(bytes: Buffer, head: boolean): (RawAnswer & { length: number }) | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`This is no answer: ${bytes.toString('latin1').slice(0, 200)}`);
  if (status >= 100 && status < 200) {
    const rest = readAnswer(bytes.subarray(end + 4), head);
    return rest && { ...rest, length: rest.length + end + 4 };
  }
  const headers = new Map<string, string>();
  const names: string[] = [];
  for (const line of lines) {
    const at = line.indexOf(':');
    const name = line.slice(0, at).toLowerCase();
    const value = line.slice(at + 1).trim();
    names.push(name);
    headers.set(name, headers.has(name) ? `${headers.get(name)!}, ${value}` : value);
  }
  const size = head || status === 304 || status === 204 ? 0 : Number(headers.get('content-length') ?? 0);
  if (bytes.length < end + 4 + size) return undefined;
  return { status, headers, names, body: bytes.subarray(end + 4, end + 4 + size), length: end + 4 + size };
}
