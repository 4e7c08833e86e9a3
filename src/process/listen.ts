/** A listening address. `passenger`: Phusion Passenger assigns it (http/passenger.ts); `ownPort`: the port without it. */
export type Listen =
  | { host: string; port: number }
  | { path: string }
  | { passenger: true; ownPort?: string | undefined };

/** Returns the listening address as a user would type it, with brackets around IPv6. */
export function describeListen(listen: Listen, port?: number): string {
  if ('passenger' in listen) return 'passenger';
  return 'path' in listen ? `unix:${listen.path}` : `http://${hostAndPort(listen, port)}`;
}

/** @param chosen the actual port if the setting leaves it open */
export function hostAndPort({ host, port }: Extract<Listen, { host: string }>, chosen = port): string {
  return `${host.includes(':') ? `[${host}]` : host}:${chosen}`;
}
