import type { Server } from 'node:http';

/** The global object that Phusion Passenger's loader for Node creates (its helper-scripts/node-loader.js). */
interface Passenger {
  configure(options: { autoInstall: boolean }): void;
  on(event: 'exit', listener: () => void): unknown;
}

/** The default port of a start by hand. */
const PORT = '3080';

function passenger(): Passenger | undefined {
  return (globalThis as { PhusionPassenger?: Passenger }).PhusionPassenger;
}

/** Reports whether Passenger started this process and is its only peer. */
export function isUnderPassenger(): boolean {
  return passenger() !== undefined;
}

/**
 * Listens once per process, because Passenger takes one server. Under LiteSpeed's lsnode the first listen() belongs to
 * the site, whatever its arguments. Elsewhere it opens a port of this machine.
 */
export function listenForPassenger(server: Server, port = PORT): void {
  const by = passenger();
  if (by === undefined) {
    server.listen({ host: '127.0.0.1', port: Number(port) });
    return;
  }
  by.configure({ autoInstall: false });
  server.listen('passenger');
}

/** Calls `stop` when Passenger ends the process. Without a listener, Passenger ends it at once. */
export function onPassengerExit(stop: () => void): void {
  passenger()?.on('exit', stop);
}
