import type { Server } from 'node:http';

/** What Phusion Passenger's loader for Node puts into the global scope (its helper-scripts/node-loader.js). */
interface Passenger {
  configure(options: { autoInstall: boolean }): void;
  on(event: 'exit', listener: () => void): unknown;
}

/** For a start by hand, where nobody names another. */
const PORT = '3080';

function passenger(): Passenger | undefined {
  return (globalThis as { PhusionPassenger?: Passenger }).PhusionPassenger;
}

/** Reports whether Passenger started this process, and is the only peer that there is. */
export function isUnderPassenger(): boolean {
  return passenger() !== undefined;
}

/**
 * Once a process: Passenger takes one server. Below LiteSpeed's lsnode the first listen() is the site's, whatever it is
 * told; elsewhere it is a port of this machine.
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

/** Passenger ends the process at once where nobody listens for this. */
export function onPassengerExit(stop: () => void): void {
  passenger()?.on('exit', stop);
}
