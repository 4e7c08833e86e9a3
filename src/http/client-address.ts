import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { canonicalAddress, createNetworkMatcher, networkOfClient } from '../ip-addresses';

export interface ClientAddress {
  /** canonical text; IPv4 also when it came mapped into IPv6 */
  ip: string;
  /** whom a limit counts: an IPv4 address, or an IPv6 /64, which is what one customer is given */
  limitKey: string;
}

interface Peer {
  /** undefined behind a Unix socket */
  ip: string | undefined;
  trusted: boolean;
}

/**
 * Who is asking: the peer of the connection, unless that is a trusted proxy; then whom the last untrusted hop names.
 * A header from any other peer is never believed. A Unix socket's peer can only be a proxy on this machine; on an
 * address, server.ts lets nobody in whose own it does not know.
 *
 * @param trustedProxies addresses and networks
 */
export function createClientAddressReader(trustedProxies: string[]): {
  read: (request: IncomingMessage) => ClientAddress;
  isTrusted: (request: IncomingMessage) => boolean;
} {
  const isTrusted = createNetworkMatcher(trustedProxies);

  /** A connection's peer stays who it is, and asking a BlockList costs as much as the rest of this file. */
  const peers = new WeakMap<Socket, Peer>();
  function peerOf(socket: Socket): Peer {
    let peer = peers.get(socket);
    if (peer === undefined) {
      const ip = readAddress(socket.remoteAddress);
      peers.set(socket, (peer = { ip, trusted: ip === undefined || isTrusted(ip) }));
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
        // From the nearest hop outwards, past our own proxies, to the first who is somebody else.
        for (let hop = hops.pop(); hop !== undefined; hop = hops.pop()) {
          const named = readAddress(hop.trim());
          if (named === undefined) break;
          client = named;
          if (hops.length > 0 && !isTrusted(named)) break;
        }
      }
      // Behind a Unix socket without the header, everybody is the machine itself.
      const ip = client ?? '127.0.0.1';
      return { ip, limitKey: networkOfClient(ip) };
    },
  };
}

function readAddress(text: string | undefined): string | undefined {
  // The common case by far, and it is canonical as it stands.
  if (text === undefined || isIP(text) === 4) return text;
  // Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711.
  return canonicalAddress(text.replace(/^([0-9.]+):[0-9]+$/, '$1').replace(/^\[(.*)\](?::[0-9]+)?$/, '$1'));
}
