import { createHmac, timingSafeEqual, type BinaryToTextEncoding } from 'node:crypto';
import { MINUTE_MS } from '../../base/days';
import type { ShopAdapter } from './adapter';

/** HMAC signatures and timestamps, for all adapters. */

/** The accepted age of a signature from senders that sign each attempt again. */
export const FIVE_MINUTES_MS = 5 * MINUTE_MS;

export function hmac(text: string | Buffer, secret: string | Buffer, encoding: BinaryToTextEncoding): string {
  return createHmac('sha256', secret).update(text).digest(encoding);
}

/** Returns a function that verifies a header with an HMAC-SHA256 over the body. */
export function signedIn(name: string, encoding: BinaryToTextEncoding): ShopAdapter['verify'] {
  return ({ body, header }, secret) =>
    isEqual(header(name) ?? '', hmac(body, secret, encoding)) ? 'right' : 'wrong';
}

/** Reports whether one of several signatures is right. A sender sends several while its secret is being changed. */
export function matchesAny(given: string[], right: string): boolean {
  return given.some((one) => isEqual(one, right));
}

export function isEqual(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Reports whether a time is at most `maxAge` (ms) old and at most five minutes ahead. @param seconds since 1970, as text */
export function isFresh(seconds: string, now: Date, maxAge = FIVE_MINUTES_MS): boolean {
  const age = now.getTime() - Number(seconds) * 1000;
  return age <= maxAge && age >= -FIVE_MINUTES_MS;
}

/** Returns the values of all `name=value` parts. */
export function headerParts(header: string, separator: string, name: string): string[] {
  return header
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}
