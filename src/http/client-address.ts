import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { canonicalAddress, createNetworkMatcher, networkOfClient } from '../licensing/ip-addresses';

export interface ClientAddress {
  /** the address in canonical form; an IPv4-mapped IPv6 address as IPv4 */
  ip: string;
  /** the network that rate limits count as one client (`networkOfClient`) */
  limitKey: string;
}

interface Peer {
  /** the peer's address; undefined for a Unix socket */
  ip: string | undefined;
  trusted: boolean;
}

/**
 * Creates a reader of client addresses for requests that come through a reverse proxy. The client is the connection's
 * peer or, behind trusted proxies, the last untrusted hop in X-Forwarded-For. The peer on a Unix socket can only be a
 * proxy on this machine. Passenger is always the only peer: it has the address 127.0.0.1 and appends the client's.
 */
export function createAddressReader(
  trustedProxies: string[],
  { behindPassenger = false } = {},
): {
  read: (request: IncomingMessage) => ClientAddress;
  isTrusted: (request: IncomingMessage) => boolean;
} {
  const isTrusted = createNetworkMatcher(trustedProxies);

  /** The peers by connection. Checking a BlockList costs as much as the rest of this file. */
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
      // Use this machine's address if a Unix socket sent no header.
      const ip = client ?? '127.0.0.1';
      return { ip, limitKey: networkOfClient(ip) };
    },
  };
}

function readAddress(text: string | undefined): string | undefined {
  if (text === undefined || isIP(text) === 4) return text;
  // Remove the port that some proxies add: 192.0.2.1:4711, [2001:db8::1]:4711.
  return canonicalAddress(text.replace(/^([0-9.]+):[0-9]+$/, '$1').replace(/^\[(.*)\](?::[0-9]+)?$/, '$1'));
}
