import { createHmac, timingSafeEqual, type BinaryToTextEncoding } from 'node:crypto';
import { MINUTE_MS } from '../../base/days';
import type { ShopAdapter } from './adapter';

/** What the senders' signatures have in common. */

/** For senders that sign anew for each try. */
export const FIVE_MINUTES_MS = 5 * MINUTE_MS;

export function hmac(text: string | Buffer, secret: string | Buffer, encoding: BinaryToTextEncoding): string {
  return createHmac('sha256', secret).update(text).digest(encoding);
}

/** Verifies a header that has an HMAC-SHA256 over the body. */
export function signedIn(name: string, encoding: BinaryToTextEncoding): ShopAdapter['verify'] {
  return ({ body, header }, secret) =>
    isEqual(header(name) ?? '', hmac(body, secret, encoding)) ? 'right' : 'wrong';
}

/** Whether one of the given signatures, of which there are several while a secret is changed, is the right one. */
export function isAmong(given: string[], right: string): boolean {
  return given.some((one) => isEqual(one, right));
}

export function isEqual(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** @param seconds since 1970, as a sender writes them @returns whether the time is within `maxAge` (ms), or ahead by five minutes at most */
export function isFresh(seconds: string, now: Date, maxAge = FIVE_MINUTES_MS): boolean {
  const age = now.getTime() - Number(seconds) * 1000;
  return age <= maxAge && age >= -FIVE_MINUTES_MS;
}

/** The values of `name=value` parts. */
export function partsOf(header: string, separator: string, name: string): string[] {
  return header
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}
