import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * What the component in Joomla (php/door) says of who is signed in there: base64url of JSON, a dot, and its HMAC-SHA256 in
 * base64url. The key is derived from the site's `$secret`, with another label for each purpose.
 */

export type TicketPurpose = 'enter' | 'overview';

export interface Ticket {
  userId: number;
  /** the login name */
  login: string;
  expiresAt: Date;
  /** makes each ticket another */
  nonce: string;
}

/** Longer ones are refused unread: a login name has at most 150 characters, each of up to 12 bytes in JSON. */
const MAX_LENGTH = 4_000;

/** @returns undefined: it is not of this site and purpose, or has expired */
export function readTicket(
  text: string,
  purpose: TicketPurpose,
  secret: string,
  now: Date,
): Ticket | undefined {
  const [, payload, mac] = /^([\w-]{40,})\.([\w-]{43})$/.exec(text.slice(0, MAX_LENGTH + 1)) ?? [];
  if (payload === undefined || mac === undefined || text.length > MAX_LENGTH || secret === '')
    return undefined;
  const expected = createHmac('sha256', ticketKey(secret, purpose)).update(payload).digest();
  if (!timingSafeEqual(expected, Buffer.from(mac, 'base64url'))) return undefined;
  const { id, name, expires, nonce } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
    id: number;
    name: string;
    expires: number;
    nonce: string;
  };
  const expiresAt = new Date(expires * 1_000);
  return expiresAt > now ? { userId: id, login: name, expiresAt, nonce } : undefined;
}

export function ticketKey(secret: string, purpose: TicketPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `licensing door ${purpose}`, 32));
}
