import { chmodSync, existsSync, lstatSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { connect, Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** An address and port, or a Unix socket. */
export type Listen = { host: string; port: number } | { path: string };

export interface RunningServer {
  /** as a person would type it: `http://127.0.0.1:3080` or `unix:/run/licensing/http.sock` */
  address: string;
  /** Takes no new connection, answers what is under way, and ends. */
  drain(): Promise<void>;
}

/** Longer than a reverse proxy keeps its idle connections (nginx: 60 s), or it would meet a closing one at random. */
const KEEP_ALIVE_MS = 75_000;
/** Four times what the longest key a Joomla field holds makes of a request, every character of it percent-encoded. */
const MAX_HEADER_BYTES = 16 * 1024;
/** A request line, headers and 64 KiB of body; slower clients hold a socket and nothing else. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;

/** How often those limits are looked at; Node's own 30 s would make them mean little. */
const TIMEOUT_CHECK_MS = 5_000;
/** How long a client that was refused has to read why, before its connection is ended for it. */
const LINGER_MS = 1_000;
/** A client that takes nothing of its answer for so long gets no more of it: as nginx does (send_timeout). */
const STALL_LIMIT_MS = 60_000;
/** Slow downloads hold two descriptors each; the unit's LimitNOFILE lets a process have 65,536. */
const MAX_CONNECTIONS = 20_000;

/** While draining: how long idle connections are left open for a request that is on its way. */
const GRACE_MS = 1_500;
const DRAIN_LIMIT_MS = 10_000;

/** nginx's user has to be able to connect; who may is decided by the folder's permissions. */
const SOCKET_MODE = 0o666;

/**
 * Removes a Unix socket that a killed process left behind. A socket on which somebody answers stays.
 *
 * @param stallLimit in ms
 * @throws Error in words when the address is taken, or a file that is not a socket has its path
 */
export async function startServer(
  listener: RequestListener,
  listen: Listen,
  stallLimit = STALL_LIMIT_MS,
): Promise<RunningServer> {
  if ('path' in listen) await removeStaleSocket(listen.path);
  let draining = false;
  const answer: RequestListener = (request, response) => {
    if (draining) closeAfter(response);
    listener(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    answer,
  );
  server.maxConnections = MAX_CONNECTIONS;
  // Node ends a connection on which nothing moves; before its first request and between two it has the limits above.
  // If part of the last write was taken meanwhile, it waits for one such time more.
  server.timeout = stallLimit;
  if ('host' in listen) server.on('connection', dropNameless);
  server.on('clientError', answerClientError);
  // An expectation nobody knows: RFC 9110 (10.1.1) lets it be ignored; Node's own 417 has no body.
  server.on('checkExpectation', answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, listen)));
    server.listen(listen, resolve);
  });
  if ('path' in listen) chmodSync(listen.path, SOCKET_MODE);
  return {
    address: addressOf(server, listen),
    async drain() {
      await untilNoneComes(connectionsOf(server), GRACE_MS);
      // Not before: a client that is asked to close comes back on a new connection.
      draining = true;
      await drain(server);
    },
  };
}

/**
 * A connection that its client has reset before it is taken has no address any more, and its request is still there to
 * be read. As on a Unix socket, whoever a header names would be believed (client-address.ts).
 */
function dropNameless(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
}

/** Where it listens, as a person would type it; an IPv6 address stands in brackets there. */
export function describeListen(listen: Listen, port?: number): string {
  return 'path' in listen ? `unix:${listen.path}` : `http://${hostAndPort(listen, port)}`;
}

/** @param port the one it got, where the setting left it open */
export function hostAndPort({ host, port }: Extract<Listen, { host: string }>, chosen = port): string {
  return `${host.includes(':') ? `[${host}]` : host}:${chosen}`;
}

/** The client is asked to close; it would otherwise send its next request on this connection. */
function closeAfter(response: ServerResponse): void {
  response.setHeader('Connection', 'close');
}

/**
 * Waits for two turns of the event loop in a row in which no connection came. Node takes one at each turn, and closing
 * the listening socket would cut those that still wait there, with the requests they have sent.
 *
 * @param hasCome whether one came since it was last asked
 * @param limit in ms
 */
async function untilNoneComes(hasCome: () => boolean, limit: number): Promise<void> {
  const until = performance.now() + limit;
  for (let quiet = 0; quiet < 2 && performance.now() < until;) {
    await nextTurn();
    quiet = hasCome() ? 0 : quiet + 1;
  }
}

/** @returns tells whether a connection came since it was last asked */
function connectionsOf(server: Server): () => boolean {
  let came = false;
  server.on('connection', () => (came = true));
  return () => {
    const since = came;
    came = false;
    return since;
  };
}

/**
 * Node's own `server.close()` closes idle connections at once, under a request that is on its way. So: stop
 * listening, answer with `Connection: close` for a while, and only then close what is idle.
 */
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

/**
 * What Node's parser refuses never reaches the application: raw non-ASCII bytes in the request line (a key pasted
 * with a no-break space, where no nginx drops them), headers too large, a request that takes too long.
 */
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
  // A client may leave its own side open without a word, and Node would keep the socket as long as it does.
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
  // Anything but a refusal comes from somebody who is there, and may only be busy.
  if (code !== 'ECONNREFUSED') throw new Error(`Another process answers on ${path} already. Stop it first.`);
  rmSync(path, { force: true });
}

function listenError(error: NodeJS.ErrnoException, listen: Listen): Error {
  const where = 'path' in listen ? listen.path : hostAndPort(listen);
  switch (error.code) {
    case 'EADDRINUSE':
      return new Error(
        `${where} is in use by another program, or by another copy of this one. Stop it, or choose another address.`,
      );
    case 'EADDRNOTAVAIL':
      return new Error(`${where} is no address of this machine.`);
    case 'EACCES':
    case 'ENOENT':
      // Node says EACCES for both.
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
  if ('path' in listen) return describeListen(listen);
  const { address, port } = server.address() as AddressInfo;
  return describeListen({ host: address, port });
}
