import { DAY_MS } from '../../base/days';
import type { LicenseTerms } from '../../store/licenses/licenses';
import type { LiveStatus } from './states';

/** The claims of signed answers and offline licence files (docs/signed-answers.md). It is pure. */

/** The facts about a licence that a signed answer states. */
export interface ClaimsSubject {
  /** the licence as its key sees it, with the key's own limit */
  license: LicenseTerms;
  /** the end of the key in the request; null if it never ends */
  keyEndsAt: Date | null;
  status: LiveStatus;
  valid: boolean;
  /** present if the request had an identifier; `text` is normalised, and null if it fits no type */
  identifier?: { text: string | null; activated: boolean } | undefined;
  /** the product in the request, and whether the licence covers it */
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

/** The lifetime of a token for a licence that is not valid. It is short, so that a client soon sees a renewal. */
const INVALID_MS = 3_600_000;

/** Returns when a token made at `from` ends. A valid licence's token ends no later than the licence or its key. */
export function tokenExpiry(
  { license, keyEndsAt, valid }: Pick<ClaimsSubject, 'license' | 'keyEndsAt' | 'valid'>,
  from: Date,
  days: number,
): Date {
  const start = Math.floor(from.getTime() / 1000) * 1000;
  if (!valid) return new Date(start + INVALID_MS);
  const ends = [license.expiresAt, keyEndsAt].flatMap((end) => end ?? []);
  return new Date(Math.min(start + days * DAY_MS, ...ends.map((end) => end.getTime())));
}

/** The claims that remain the same while nothing changes: all except the times, the token's id and the nonce. */
export type LastingClaims = Omit<Claims, 'iat' | 'nbf' | 'exp' | 'jti' | 'nonce'>;

/** @param covered the ids of all products that the licence covers */
export function staticClaims(
  { license, status, valid, identifier, asked }: ClaimsSubject,
  covered: number[],
  issuer: string,
): LastingClaims {
  const others = covered.filter((id) => id !== asked?.productId);
  // Correct the list by the answer, because `covered` was read later and may differ.
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
