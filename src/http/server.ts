import { chmodSync, existsSync, lstatSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { describeListen, hostAndPort, type Listen } from '../process/listen';
import { listenForPassenger } from './passenger';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

export interface RunningServer {
  /** the address as a person would type it: `http://127.0.0.1:3080` or `unix:/run/licensing/http.sock` */
  address: string;
  /** Returns the path of the socket if it was deleted or replaced by another process, so that no client can connect. */
  lostSocket(): string | undefined;
  /** Drains the server: it stops accepting connections, answers the requests in progress, and ends. */
  drain(): Promise<void>;
}

/** The keep-alive timeout, longer than a reverse proxy's (nginx: 60 s), which so never uses a closing connection. */
const KEEP_ALIVE_MS = 75_000;
/** The maximum size of headers: four times a request with the longest key of a Joomla field, fully percent-encoded. */
const MAX_HEADER_BYTES = 16 * 1024;
/** The limits for a request line, headers and 64 KiB of body. A slower client occupies only a socket. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;
/** The limit for a package on a slow line. The stall limit ends a connection without progress earlier. */
const UPLOAD_TIMEOUT_MS = 3_600_000;

/** The interval at which the limits above are checked, because Node's default of 30 s is too coarse. */
const TIMEOUT_CHECK_MS = 5_000;
/** The time in which a refused client can read the answer before its connection is closed. */
const LINGER_MS = 1_000;
/** The time without progress of an answer after which the client is disconnected, like nginx's send_timeout. */
const STALL_LIMIT_MS = 60_000;
/** The maximum number of connections. A slow download has two descriptors, and the unit's LimitNOFILE allows 65,536. */
const MAX_CONNECTIONS = 20_000;

/** The time for which idle connections remain open during a drain, for requests that are already on their way. */
const GRACE_MS = 1_500;
const DRAIN_LIMIT_MS = 10_000;

/** The mode of the socket: nginx's user must be able to connect, and the folder's permissions restrict access. */
const SOCKET_MODE = 0o666;

/** Starts listening, and replaces a killed process's socket. `stallLimit` is in ms. @throws Error for the operator */
export async function startServer(
  listener: RequestListener,
  listen: Listen,
  stallLimit = STALL_LIMIT_MS,
): Promise<RunningServer> {
  if ('path' in listen) await removeStaleSocket(listen.path);
  let draining = false;
  const answer: RequestListener = (request, response) => {
    if (draining) closeAfter(response);
    limitBody(server, request);
    listener(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: UPLOAD_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    answer,
  );
  server.maxConnections = MAX_CONNECTIONS;
  // Let Node close connections without progress; before and between requests the limits above apply. If a part of the
  // last write was sent meanwhile, Node waits once more.
  server.timeout = stallLimit;
  if ('host' in listen) server.on('connection', dropNameless);
  server.on('clientError', answerClientError);
  // Answer as usual: RFC 9110 (10.1.1) allows ignoring an unknown expectation, and Node's own 417 has no body.
  server.on('checkExpectation', answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, listen)));
    server.once('listening', () => resolve());
    if ('passenger' in listen) listenForPassenger(server, listen.ownPort);
    else server.listen(listen);
  });
  if ('path' in listen) chmodSync(listen.path, SOCKET_MODE);
  const socket = 'path' in listen ? lstatSync(listen.path) : undefined;
  return {
    address: addressOf(server, listen),
    lostSocket() {
      if (!('path' in listen) || socket === undefined) return undefined;
      return lstatSync(listen.path, { throwIfNoEntry: false })?.ino === socket.ino ? undefined : listen.path;
    },
    async drain() {
      await untilNoneComes(connectionsOf(server), GRACE_MS);
      // Do not set this earlier: a client that receives `Connection: close` returns on a new connection.
      draining = true;
      await drain(server);
    },
  };
}

const slowBodies = new WeakSet<IncomingMessage>();

/** Allows a body to take longer than others: an upload of an authenticated caller. */
export function allowSlowBody(request: IncomingMessage): void {
  slowBodies.add(request);
}

/** Applies the time limit to requests that are not uploads. Node has only one limit for all requests. */
function limitBody(server: Server, request: IncomingMessage): void {
  const { headers, socket } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  const timer = setTimeout(() => {
    if (!request.complete && !slowBodies.has(request))
      server.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  }, REQUEST_TIMEOUT_MS).unref();
  request.once('close', () => clearTimeout(timer));
}

/** Drops a connection without an address, because its headers would be trusted: its client reset it before `accept`. */
function dropNameless(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
}

/** Closes the connection after the answer, so that the client does not send its next request on it. */
function closeAfter(response: ServerResponse): void {
  response.setHeader('Connection', 'close');
}

/**
 * Waits for two event-loop turns without a new connection, at most `limit` ms. Node accepts one connection in a turn,
 * and closing the listening socket would disconnect clients in its queue.
 */
async function untilNoneComes(hasCome: () => boolean, limit: number): Promise<void> {
  const until = performance.now() + limit;
  for (let quiet = 0; quiet < 2 && performance.now() < until;) {
    await nextTurn();
    quiet = hasCome() ? 0 : quiet + 1;
  }
}

/** Returns a function that reports whether a connection was opened since its last call. */
function connectionsOf(server: Server): () => boolean {
  let came = false;
  server.on('connection', () => (came = true));
  return () => {
    const since = came;
    came = false;
    return since;
  };
}

/** Drains by answering with `Connection: close` first. `server.close()` would cut off requests on their way. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
  await Promise.race([closed, sleep(GRACE_MS, undefined, { ref: false })]);
  server.closeIdleConnections();
  await Promise.race([closed, sleep(DRAIN_LIMIT_MS - GRACE_MS, undefined, { ref: false })]);
  server.closeAllConnections();
  await closed;
}

/** Answers requests that Node's parser refuses: non-ASCII bytes in the request line, large headers, slow requests. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, text] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are too large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request took too long']
        : [
            '400 Bad Request',
            'The request has characters that are not allowed. Please check the license key.',
          ];
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` +
      `Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${text}`,
  );
  // Destroy the socket later, because a silent client may keep its side open.
  const late = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(late));
}

async function removeStaleSocket(path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isSocket()) throw new Error(`${path} is not a socket, and is not removed. Choose another path.`);
  const code = await new Promise<string | undefined>((resolve) => {
    const probe = connect(path)
      .once('connect', () => {
        probe.destroy();
        resolve(undefined);
      })
      .once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  // Any other result means that a process listens, perhaps a busy one.
  if (code !== 'ECONNREFUSED') throw new Error(`Another process already answers on ${path}. Stop it first.`);
  rmSync(path, { force: true });
}

function listenError(error: NodeJS.ErrnoException, listen: Listen): Error {
  const where = 'passenger' in listen ? 'Passenger' : 'path' in listen ? listen.path : hostAndPort(listen);
  switch (error.code) {
    case 'EADDRINUSE':
      return new Error(
        `${where} is in use by another program, or by another copy of this one. Stop it, or choose another address.`,
      );
    case 'EADDRNOTAVAIL':
      return new Error(`${where} is not an address of this machine.`);
    case 'EACCES':
    case 'ENOENT':
      // Distinguish the two cases, because Node reports EACCES for both.
      return new Error(
        'path' in listen && !existsSync(dirname(listen.path))
          ? `The folder of ${where} does not exist.`
          : `No permission to listen on ${where}.`,
      );
    default:
      return new Error(`Cannot listen on ${where}: ${error.message}`);
  }
}

function addressOf(server: Server, listen: Listen): string {
  if (!('host' in listen)) return describeListen(listen);
  const { address, port } = server.address() as AddressInfo;
  return describeListen({ host: address, port });
}
