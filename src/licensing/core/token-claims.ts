import { DAY_MS } from '../../base/days';
import type { LicenseTerms } from '../../store/licenses/licenses';
import type { LiveStatus } from './states';

/** What a signed answer or file says (docs/signed-answers.md). Pure. */

/** What an answer says of a licence. */
export interface TokenSubject {
  /** as its key sees it */
  license: LicenseTerms;
  /** when the key that the request came by ends; null: never */
  keyEndsAt: Date | null;
  status: LiveStatus;
  valid: boolean;
  /** only when one was sent; `text` is normalised, null when it fits no type */
  identifier?: { text: string | null; activated: boolean } | undefined;
  /** the product that was asked for, and the answer */
  asked?: { productId: number; covered: boolean } | undefined;
}

export interface Claims {
  iss: string;
  sub: string;
  aud: string[];
  valid: boolean;
  status: LiveStatus;
  plan: string;
  limit: number;
  identifier?: string | null;
  activated?: boolean;
  license_exp: number | null;
  iat: number;
  nbf: number;
  exp: number;
  jti: string;
  nonce?: string;
}

/** Of a token that says that a licence is not valid: a renewal shall be seen soon. */
const INVALID_MS = 3_600_000;

/** When a token made at `from` ends: never after the licence or its key, while that is valid. */
export function tokenEnd(
  { license, keyEndsAt, valid }: Pick<TokenSubject, 'license' | 'keyEndsAt' | 'valid'>,
  from: Date,
  days: number,
): Date {
  const start = Math.floor(from.getTime() / 1000) * 1000;
  if (!valid) return new Date(start + INVALID_MS);
  const ends = [license.expiresAt, keyEndsAt].flatMap((end) => end ?? []);
  return new Date(Math.min(start + days * DAY_MS, ...ends.map((end) => end.getTime())));
}

/** The claims that stay the same while nothing changes: all but times, the token's id and the nonce. */
export type LastingClaims = Omit<Claims, 'iat' | 'nbf' | 'exp' | 'jti' | 'nonce'>;

/** @param covered the ids of all products that the licence covers */
export function lastingClaims(
  { license, status, valid, identifier, asked }: TokenSubject,
  covered: number[],
  issuer: string,
): LastingClaims {
  const others = covered.filter((id) => id !== asked?.productId);
  // The coverage is read after the answer, which goes first.
  const audience = asked === undefined ? covered : asked.covered ? [...others, asked.productId] : others;
  return {
    iss: issuer,
    sub: String(license.id),
    aud: audience.sort((a, b) => a - b).map(String),
    valid,
    status,
    plan: license.plan.name,
    limit: license.activationLimit,
    ...(identifier && { identifier: identifier.text, activated: identifier.activated }),
    license_exp: license.expiresAt && toSeconds(license.expiresAt),
  };
}

export function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
