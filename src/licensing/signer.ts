import { randomBytes, sign, type KeyObject } from 'node:crypto';
import { MINUTE_MS } from '../base/days';
import { findCoverage } from '../store/bundles';
import type { Db } from '../store/engine/database';
import { listSigningKeys, raiseTokenDays } from '../store/signing-keys';
import { createBatches } from './core/batches';
import { createTtlMap } from './core/ttl-map';
import { verificationKeys, openSigningKey, toJwk, withSigningState, type PublicJwk } from './signing-keys';
import {
  staticClaims,
  tokenExpiry,
  toSeconds,
  type ClaimsSubject,
  type Claims,
  type LastingClaims,
} from './core/token-claims';
import { cacheBriefly } from './updates';

export interface SigningSettings {
  /** the claim `iss` */
  issuer: string;
  /** undefined: nothing can be signed */
  keySecret: Buffer | undefined;
  tokenDays: number;
  offlineDays: number;
}

export const NO_SIGNING: SigningSettings = {
  issuer: 'licensing',
  keySecret: undefined,
  tokenDays: 14,
  offlineDays: 30,
};

export interface SignedToken {
  token: string;
  expiresAt: Date;
}

/** Signs answers and files as compact JWS (RFC 7515, RFC 8037). Only requests for a token take time for it. */
export interface Signer {
  /** the days for which a file is valid */
  offlineDays: number;
  /** the accepted keys (`keys.json`), at most a moment old */
  publicKeys(): Promise<PublicJwk[]>;
  /** whether a key to sign with exists */
  canSign(): Promise<boolean>;
  /** @param keyDigest the digest of the request's key @returns undefined if no key to sign with exists */
  signAnswer(
    subject: ClaimsSubject,
    request: { keyDigest: string; nonce: string | undefined; now: Date },
  ): Promise<SignedToken | undefined>;
  /** Signs a file whose time and end the ledger has recorded as `file`. @returns undefined if no key to sign with exists */
  signFile(
    subject: ClaimsSubject,
    request: { keyDigest: string; file: { madeAt: Date; endsAt: Date } },
  ): Promise<SignedToken | undefined>;
}

/** The maximum number of tokens that are remembered for a minute; about 20 MB. */
const MAX_REMEMBERED = 20_000;

const ANSWER_TYPE = 'license+jwt';
const FILE_TYPE = 'license-file+jwt';

/** @param onFault called if a key exists but cannot be used, with the reason as a sentence, once for each reason */
export function createSigner(
  db: Db,
  settings: Readonly<SigningSettings>,
  now: () => Date,
  onFault: (reason: string) => void = () => undefined,
): Signer {
  const { keySecret } = settings;
  const remembered = createTtlMap<SignedToken & { at: Date }>(MAX_REMEMBERED, MINUTE_MS);
  const coverageOf = createBatches(async (asked: { licenseId: number; productId: number }[]) => {
    const distinct = (ids: number[]) => [...new Set(ids)];
    const { revisions, included } = await findCoverage(
      db,
      distinct(asked.map(({ licenseId }) => licenseId)),
      distinct(asked.map(({ productId }) => productId)),
    );
    return asked.map(({ licenseId, productId }) => ({
      revision: revisions.get(licenseId),
      covered: [productId, ...(included.get(productId) ?? [])],
    }));
  });
  let reported: string | undefined;

  const readKeys = cacheBriefly(async () => {
    const keys = withSigningState(await listSigningKeys(db));
    const current = keys.find(({ state }) => state === 'current');
    const opened = current && openSigningKey(current, keySecret);
    const fault = typeof opened === 'string' ? opened : undefined;
    if (fault !== undefined && fault !== reported) onFault(fault);
    reported = fault;
    return {
      keys,
      signing: current && typeof opened === 'object' ? { ...current, key: opened } : undefined,
      // Recorded before the first token, so that keys.json shows the key until the last token ends.
      noted: new Set<number>(),
    };
  });

  async function signToken(
    subject: ClaimsSubject,
    { keyDigest, nonce, type, at, days, endsAt }: TokenRequest,
  ): Promise<SignedToken | undefined> {
    const { signing, noted } = await readKeys(0);
    if (signing === undefined) return undefined;
    const { license, asked } = subject;
    const { revision, covered } = await coverageOf({
      licenseId: license.id,
      productId: license.product.id,
    });
    const lasting = staticClaims(subject, covered, settings.issuer);
    const what = JSON.stringify([
      ...[type, signing.kid, keyDigest, Math.floor(at.getTime() / MINUTE_MS), asked?.productId, revision],
      ...[lasting, subject.keyEndsAt, type === FILE_TYPE && endsAt],
    ]);
    const known = nonce === undefined ? remembered.get(what, at) : undefined;
    if (known !== undefined && known.expiresAt > at) return known;
    if (signing.tokenDays < days && !noted.has(days)) {
      await raiseTokenDays(db, signing.id, days);
      noted.add(days);
    }
    const claims = { ...lasting, ...times(at, endsAt), jti: randomBytes(16).toString('base64url') };
    const token = {
      token: compact({ alg: 'EdDSA', kid: signing.kid, typ: type }, withNonce(claims, nonce), signing.key),
      expiresAt: endsAt,
    };
    if (nonce === undefined) remembered.set(what, { ...token, at });
    return token;
  }

  return {
    get offlineDays() {
      return settings.offlineDays;
    },
    publicKeys: async () => verificationKeys((await readKeys(0)).keys, now()).map(toJwk),
    canSign: async () => (await readKeys(0)).signing !== undefined,
    signAnswer: (subject, { now: at, ...request }) => {
      const { tokenDays: days } = settings;
      const endsAt = tokenExpiry(subject, at, days);
      return signToken(subject, { ...request, type: ANSWER_TYPE, at, days, endsAt });
    },
    signFile: (subject, { keyDigest, file: { madeAt, endsAt } }) =>
      signToken(subject, {
        keyDigest,
        nonce: undefined,
        type: FILE_TYPE,
        at: madeAt,
        days: settings.offlineDays,
        endsAt,
      }),
  };
}

interface TokenRequest {
  keyDigest: string;
  nonce: string | undefined;
  type: typeof ANSWER_TYPE | typeof FILE_TYPE;
  at: Date;
  /** the maximum validity of this kind */
  days: number;
  endsAt: Date;
}

function times(at: Date, endsAt: Date): Pick<Claims, 'iat' | 'nbf' | 'exp'> {
  const iat = toSeconds(at);
  return { iat, nbf: iat, exp: toSeconds(endsAt) };
}

function withNonce(claims: LastingClaims & Omit<Claims, 'nonce'>, nonce: string | undefined): Claims {
  return nonce === undefined ? claims : { ...claims, nonce };
}

function compact(header: object, claims: Claims, key: KeyObject): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode(header)}.${encode(claims)}`;
  // This takes 25 µs; Ed25519 has no digest parameter.
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
}
