import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { canonicalAddress, createNetworkMatcher, networkOfClient } from '../licensing/ip-addresses';

export interface ClientAddress {
  /** canonical; an IPv4-mapped IPv6 address as IPv4 */
  ip: string;
  /** the network that limits count as one client (`networkOfClient`) */
  limitKey: string;
}

interface Peer {
  /** undefined behind a Unix socket */
  ip: string | undefined;
  trusted: boolean;
}

/**
 * Finds the client's address: the connection's peer or, behind trusted proxies, the last untrusted hop in
 * X-Forwarded-For. Only a proxy on this machine can be the peer on a Unix socket. Passenger is the only peer there is,
 * gives it the address 127.0.0.1, and appends the client.
 */
export function createClientAddressReader(
  trustedProxies: string[],
  { behindPassenger = false } = {},
): {
  read: (request: IncomingMessage) => ClientAddress;
  isTrusted: (request: IncomingMessage) => boolean;
} {
  const isTrusted = createNetworkMatcher(trustedProxies);

  /** Cached for each connection: checking a BlockList costs as much as the rest of this file. */
  const peers = new WeakMap<Socket, Peer>();
  function peerOf(socket: Socket): Peer {
    let peer = peers.get(socket);
    if (peer === undefined) {
      const ip = readAddress(socket.remoteAddress);
      peers.set(socket, (peer = { ip, trusted: behindPassenger || ip === undefined || isTrusted(ip) }));
    }
    return peer;
  }

  return {
    isTrusted: ({ socket }) => peerOf(socket).trusted,
    read({ socket, headers }) {
      const peer = peerOf(socket);
      let client = peer.ip;
      const forwarded = headers['x-forwarded-for'];
      if (peer.trusted && forwarded !== undefined) {
        const hops = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',');
        for (let hop = hops.pop(); hop !== undefined; hop = hops.pop()) {
          const named = readAddress(hop.trim());
          if (named === undefined) break;
          client = named;
          if (hops.length > 0 && !isTrusted(named)) break;
        }
      }
      // A Unix socket without the header: the client is this machine.
      const ip = client ?? '127.0.0.1';
      return { ip, limitKey: networkOfClient(ip) };
    },
  };
}

function readAddress(text: string | undefined): string | undefined {
  if (text === undefined || isIP(text) === 4) return text;
  // Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711.
  return canonicalAddress(text.replace(/^([0-9.]+):[0-9]+$/, '$1').replace(/^\[(.*)\](?::[0-9]+)?$/, '$1'));
}
