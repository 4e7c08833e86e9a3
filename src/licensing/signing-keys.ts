import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { DAY_MS } from '../base/days';
import type { Db } from '../store/engine/database';
import {
  insertSigningKey,
  listSigningKeys as list,
  lockSigningKeys,
  setRetired,
  type SigningKey,
} from '../store/signing-keys';
import { inTransaction } from '../store/engine/transaction';
import { isCursorId, readCursor, toPage, type Page, type PageRequest } from './cursors';
import type { ChangeContext } from './lifecycle';
import { OperatorError } from './operator-error';
import { isSealedWith, openSealedKey, sealKey, SealError } from './sealing';

/** The Ed25519 keys that sign answers and files (docs/signed-answers.md). The oldest key that is not retired signs. */

type SigningState = 'current' | 'next' | 'retired';

export interface SigningKeyInUse extends SigningKey {
  state: SigningState;
}

/** A public key as a JWK (RFC 8037). */
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  alg: 'EdDSA';
  use: 'sig';
}

/** An instance may sign with a retired key until it has read the keys again. */
const FOLLOW_MS = 60_000;

export function withSigningState(keys: SigningKey[]): SigningKeyInUse[] {
  const current = keys.find(({ retiredAt }) => retiredAt === null);
  return keys.map((key) => ({
    ...key,
    state: key === current ? 'current' : key.retiredAt === null ? 'next' : 'retired',
  }));
}

/** Lists the keys in the order in which they sign. */
export async function listKeysInUse(db: Db): Promise<SigningKeyInUse[]> {
  return withSigningState(await list(db));
}

export async function listSigningKeyPage(
  db: Db,
  { after, limit }: PageRequest,
): Promise<Page<SigningKeyInUse>> {
  const [last] = readCursor<[number]>(after, [isCursorId]) ?? [];
  const keys = await listKeysInUse(db);
  const from = last === undefined ? 0 : keys.findIndex(({ id }) => id === last) + 1;
  return toPage(keys.slice(from, from + limit + 1), limit, ({ id }) => [id]);
}

/** Returns the keys whose tokens are accepted: those that sign now or later, or whose tokens are still valid. */
export function verificationKeys<Key extends SigningKey>(keys: Key[], now: Date): Key[] {
  return keys.filter(
    ({ retiredAt, compromised, tokenDays }) =>
      !compromised &&
      (retiredAt === null || now.getTime() < retiredAt.getTime() + FOLLOW_MS + tokenDays * DAY_MS),
  );
}

export function toJwk({ kid, x }: Pick<SigningKey, 'kid' | 'x'>): PublicJwk {
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
}

/** Returns the public key in PEM (SPKI). */
export function toPem({ x }: Pick<SigningKey, 'x'>): string {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
}

/**
 * Creates a key. The first one signs at once, a further one after the earlier ones are retired.
 * @param secret LICENSING_KEY_SECRET
 * @throws OperatorError without a secret
 */
export function addSigningKey(
  db: Db,
  secret: Buffer | undefined,
  context: ChangeContext,
): Promise<SigningKeyInUse> {
  return inTransaction(db, async (trx) => {
    const keys = await lockSigningKeys(trx);
    const kid = await insertNew(trx, keys, secret, context);
    return find(await listKeysInUse(trx), kid);
  });
}

/** Creates the first key, unless a key exists. @returns its kid; undefined if a key existed */
export function addFirstSigningKey(
  db: Db,
  secret: Buffer,
  context: ChangeContext,
): Promise<string | undefined> {
  return inTransaction(db, async (trx) => {
    const keys = await lockSigningKeys(trx);
    return keys.length === 0 ? insertNew(trx, keys, secret, context) : undefined;
  });
}

async function insertNew(
  trx: Db,
  keys: SigningKey[],
  secret: Buffer | undefined,
  { actor, now }: ChangeContext,
): Promise<string> {
  if (secret === undefined)
    throw new OperatorError('A signing key is kept sealed, and LICENSING_KEY_SECRET is not set.', {
      code: 'CONFLICT',
      facts: { reason: 'no-key-secret' },
    });
  const kid = nextKid(keys, now.getUTCFullYear());
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as {
    d: string;
    x: string;
  };
  const sealed = sealKey(d, sealedFor(kid), secret);
  await insertSigningKey(trx, { kid, x, sealed, createdBy: actor, createdAt: now });
  return kid;
}

/** Returns the next kid. Retired keys count too, because a kid is never reused. */
function nextKid(keys: SigningKey[], year: number): string {
  const numbers = keys.map(({ kid }) => Number(new RegExp(`^${year}-(\\d+)$`).exec(kid)?.[1] ?? 0));
  return `${year}-${Math.max(0, ...numbers) + 1}`;
}

/**
 * Retires a key. A compromised key, even one that was retired before, is rejected from now on.
 * @throws OperatorError if the key does not exist, is already retired, or no other key could sign
 */
export function retireSigningKey(
  db: Db,
  kid: string,
  { compromised = false }: { compromised?: boolean | undefined },
  { actor, now }: ChangeContext,
): Promise<SigningKeyInUse> {
  return inTransaction(db, async (trx) => {
    const keys = await lockSigningKeys(trx);
    const key = keys.find((one) => one.kid === kid);
    if (key === undefined)
      throw new OperatorError(`There is no signing key ${kid}.`, {
        code: 'NOT_FOUND',
        facts: { reason: 'no-signing-key' },
      });
    if (key.retiredAt !== null && (key.compromised || !compromised))
      throw new OperatorError(`Signing key ${kid} is already retired.`, {
        code: 'CONFLICT',
        facts: { reason: 'signing-key-retired' },
      });
    if (key.retiredAt === null && keys.filter(({ retiredAt }) => retiredAt === null).length === 1)
      throw new OperatorError(`Signing key ${kid} is the only one that can sign.`, {
        code: 'CONFLICT',
        facts: { reason: 'last-signing-key' },
      });
    await setRetired(trx, key.id, {
      retiredAt: key.retiredAt ?? now,
      retiredBy: key.retiredBy ?? actor,
      compromised,
    });
    return find(await listKeysInUse(trx), kid);
  });
}

function find(keys: SigningKeyInUse[], kid: string): SigningKeyInUse {
  return keys.find((key) => key.kid === kid) as SigningKeyInUse;
}

/** Returns why this installation cannot sign with a key; undefined if it can, unless the key is damaged. */
export function sealFault({ kid, sealed }: SigningKey, secret: Buffer | undefined): string | undefined {
  if (sealed === null) return `The private part of signing key ${kid} was not in the import.`;
  if (secret === undefined) return `Signing key ${kid} is sealed, and LICENSING_KEY_SECRET is not set.`;
  if (!isSealedWith(sealed, secret))
    return `Signing key ${kid} was sealed with another LICENSING_KEY_SECRET than the one that is set.`;
  return undefined;
}

/** Opens the private key. @returns the key, or a sentence about why it cannot be opened */
export function openSigningKey(key: SigningKey, secret: Buffer | undefined): KeyObject | string {
  const fault = sealFault(key, secret);
  if (fault !== undefined) return fault;
  try {
    const d = openSealedKey(key.sealed as string, sealedFor(key.kid), secret as Buffer);
    return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x: key.x }, format: 'jwk' });
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return `Signing key ${key.kid} is damaged.`;
  }
}

/** Returns associated data, so that a sealed key opens only in its own row. */
function sealedFor(kid: string): string {
  return `signing key ${kid}`;
}
