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
  /** as a person would type it: `http://127.0.0.1:3080` or `unix:/run/licensing/http.sock` */
  address: string;
  /** The path of its socket when that is not there any more, or another process's: nobody can connect. */
  lostSocket(): string | undefined;
  /** Stops accepting connections, answers the requests under way, and ends. */
  drain(): Promise<void>;
}

/** Longer than a reverse proxy keeps idle connections (nginx: 60 s), so it never uses one that is closing. */
const KEEP_ALIVE_MS = 75_000;
/** Four times a request with the longest key that fits a Joomla field, fully percent-encoded. */
const MAX_HEADER_BYTES = 16 * 1024;
/** For a request line, headers and 64 KiB of body. Slower clients hold a socket and nothing else. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;
/** For a package on a slow line; one on which nothing moves is cut off by the stall limit. */
const UPLOAD_TIMEOUT_MS = 3_600_000;

/** How often the limits above are checked; Node's default of 30 s would be too coarse. */
const TIMEOUT_CHECK_MS = 5_000;
/** The time a refused client has to read the answer before its connection is closed. */
const LINGER_MS = 1_000;
/** A client that takes nothing of its answer for this long is cut off, as with nginx's send_timeout. */
const STALL_LIMIT_MS = 60_000;
/** Slow downloads hold two descriptors each; the unit's LimitNOFILE allows 65,536. */
const MAX_CONNECTIONS = 20_000;

/** While draining, idle connections stay open this long for requests already on their way. */
const GRACE_MS = 1_500;
const DRAIN_LIMIT_MS = 10_000;

/** nginx's user must be able to connect; the folder's permissions decide who may. */
const SOCKET_MODE = 0o666;

/** Starts listening, replacing a killed process's socket. `stallLimit` is in ms. @throws Error for the operator */
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
  // Node cuts connections on which nothing moves; before and between requests the limits above apply. If part of the
  // last write was taken meanwhile, Node waits once more.
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
      // Not earlier: a client told to close comes back on a new connection.
      draining = true;
      await drain(server);
    },
  };
}

const slowBodies = new WeakSet<IncomingMessage>();

/** Lets a body take longer than others: an upload by somebody who is known. */
export function allowSlowBody(request: IncomingMessage): void {
  slowBodies.add(request);
}

/** Node has one limit for all requests; this one is for those that are no upload. */
function limitBody(server: Server, request: IncomingMessage): void {
  const { headers, socket } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  const timer = setTimeout(() => {
    if (!request.complete && !slowBodies.has(request))
      server.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  }, REQUEST_TIMEOUT_MS).unref();
  request.once('close', () => clearTimeout(timer));
}

/** A client that resets before it is accepted has no address, so its headers would be believed. */
function dropNameless(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
}

/** Otherwise the client would send its next request on this connection. */
function closeAfter(response: ServerResponse): void {
  response.setHeader('Connection', 'close');
}

/**
 * Waits for two event-loop turns without a new connection, at most `limit` ms. Node accepts one a turn, and closing
 * the listening socket would cut off those still queued.
 */
async function untilNoneComes(hasCome: () => boolean, limit: number): Promise<void> {
  const until = performance.now() + limit;
  for (let quiet = 0; quiet < 2 && performance.now() < until;) {
    await nextTurn();
    quiet = hasCome() ? 0 : quiet + 1;
  }
}

/** @returns tells whether a connection came since the last call */
function connectionsOf(server: Server): () => boolean {
  let came = false;
  server.on('connection', () => (came = true));
  return () => {
    const since = came;
    came = false;
    return since;
  };
}

/** Answers with `Connection: close` first: `server.close()` alone would cut off requests on their way. */
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

/** Answers what Node's parser refuses: raw non-ASCII bytes in the request line, large headers, slow requests. */
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
  // A client may keep its side open silently, and Node would keep the socket as long.
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
  // Any other result means that a process is there, perhaps a busy one.
  if (code !== 'ECONNREFUSED') throw new Error(`Another process answers on ${path} already. Stop it first.`);
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
      return new Error(`${where} is no address of this machine.`);
    case 'EACCES':
    case 'ENOENT':
      // Node reports EACCES for both.
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
