import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Single sign-on tickets of the component in Joomla (php/door): base64url of JSON, a dot, and its HMAC-SHA256 in
 * base64url. The key is derived from the site's `$secret`, with a different label for each purpose.
 */

export type TicketPurpose = 'enter' | 'overview';

export interface Ticket {
  userId: number;
  /** the login name */
  login: string;
  expiresAt: Date;
  /** a random text, which makes each ticket unique */
  nonce: string;
}

/** The maximum length of a ticket that is read: a login name has at most 150 characters, each of up to 12 bytes in JSON. */
const MAX_LENGTH = 4_000;

/** The maximum lifetime. The component makes tickets for a minute; the rest allows for a clock that is ahead. */
const MAX_AGE_MS = 5 * 60_000;

/** Verifies a ticket. @returns undefined if site or purpose differ, it has expired, or its lifetime is too long */
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
  const said = parse(Buffer.from(payload, 'base64url').toString());
  if (said === undefined) return undefined;
  const { id: userId, name: login, expires, nonce } = said;
  const left = expires * 1_000 - now.getTime();
  return left > 0 && left <= MAX_AGE_MS
    ? { userId, login, expiresAt: new Date(expires * 1_000), nonce }
    : undefined;
}

interface Said {
  id: number;
  name: string;
  /** in seconds since 1970 */
  expires: number;
  nonce: string;
}

function parse(json: string): Said | undefined {
  try {
    const { id, name, expires, nonce } = JSON.parse(json) as Record<keyof Said, unknown>;
    const isRight =
      [id, expires].every((one) => Number.isSafeInteger(one)) &&
      [name, nonce].every((one) => typeof one === 'string' && one !== '');
    return isRight ? ({ id, name, expires, nonce } as Said) : undefined;
  } catch {
    return undefined;
  }
}

export function ticketKey(secret: string, purpose: TicketPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `licensing door ${purpose}`, 32));
}
