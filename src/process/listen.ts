/** `passenger`: where Phusion Passenger, or what stands in for it, wants it (http/passenger.ts); `port`: without one */
export type Listen =
  | { host: string; port: number }
  | { path: string }
  | { passenger: true; ownPort?: string | undefined };

/** The listening address, as a person would type it; an IPv6 address is in brackets. */
export function describeListen(listen: Listen, port?: number): string {
  if ('passenger' in listen) return 'passenger';
  return 'path' in listen ? `unix:${listen.path}` : `http://${hostAndPort(listen, port)}`;
}

/** @param chosen the actual port, where the setting left it open */
export function hostAndPort({ host, port }: Extract<Listen, { host: string }>, chosen = port): string {
  return `${host.includes(':') ? `[${host}]` : host}:${chosen}`;
}
