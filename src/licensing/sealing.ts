import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { CodedError } from '../base/errors';
import { foldedDigest, keyDigest, keyHint, keyStart } from './core/keys';
import { OperatorError } from './operator-error';
import type { StoredKey } from '../store/licenses/license-keys';

/**
 * Sealed keys (encryption at rest), which `license reveal` can show again: AES-256-GCM with LICENSING_KEY_SECRET and the
 * key's digest as associated data, so that a sealed key opens only in its row. The bytes before base64 are: version (1
 * byte), key id (4), nonce (12), tag (16), ciphertext. The key id distinguishes another secret from a damaged value.
 */
const VERSION = 1;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES;

/** @param key in canonical form; without a secret it is not kept */
export function storedKey(key: string, secret: Buffer | undefined): StoredKey {
  const digest = keyDigest(key);
  return {
    keyDigest: digest,
    keyHint: keyHint(key),
    keyStart: keyStart(key),
    keySealed: secret ? sealKey(key, digest, secret) : null,
    foldedDigest: foldedDigest(key) ?? null,
  };
}

/** An error of a sealed key that this secret cannot open; the message states why. */
export class SealError extends CodedError<'SEALED_OTHERWISE'> {
  constructor(message: string) {
    super('SEALED_OTHERWISE', message);
  }
}

/** Seals a key; `secret` has 32 bytes, and `digest` is the digest of this key. */
export function sealKey(canonical: string, digest: string, secret: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(digest));
  const text = Buffer.concat([cipher.update(canonical, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.from([VERSION]), keyId(secret), nonce, cipher.getAuthTag(), text]).toString(
    'base64',
  );
}

/** @throws SealError if it was sealed with another secret or for another licence, or is damaged */
export function openSealedKey(sealed: string, digest: string, secret: Buffer): string {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < HEADER_BYTES || bytes[0] !== VERSION)
    throw new SealError('The stored key is damaged or was sealed by another version of this program.');
  if (!isSealedWith(sealed, secret))
    throw new SealError(
      'The stored key was sealed with another LICENSING_KEY_SECRET. Set the one this database was used with.',
    );
  let at = 1 + KEY_ID_BYTES;
  const nonce = bytes.subarray(at, (at += NONCE_BYTES));
  const tag = bytes.subarray(at, (at += TAG_BYTES));
  const decipher = createDecipheriv('aes-256-gcm', secret, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(digest))
    .setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(bytes.subarray(at)), decipher.final()]).toString('utf8');
  } catch {
    throw new SealError('The stored key is damaged, or belongs to another licence.');
  }
}

/** Returns the folded digest of a sealed key; null if it has no such digest or cannot be opened. */
export function foldedDigestOfSealed(sealed: string, digest: string, secret: Buffer): string | null {
  try {
    return foldedDigest(openSealedKey(sealed, digest, secret)) ?? null;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** Reports whether a sealed key was sealed with this secret; it may still be damaged. */
export function isSealedWith(sealed: string, secret: Buffer): boolean {
  return Buffer.from(sealed, 'base64')
    .subarray(1, 1 + KEY_ID_BYTES)
    .equals(keyId(secret));
}

function keyId(secret: Buffer): Buffer {
  return createHash('sha256').update('licensing key id').update(secret).digest().subarray(0, KEY_ID_BYTES);
}

/** Reports whether a key given for one site may be sent to another address. Without an address, nothing is sent. */
export function keepsOrigin(url: string | null, before: string | null): boolean {
  return url === null || (before !== null && new URL(url).origin === new URL(before).origin);
}

/**
 * Returns the refusal of a change that would send a stored secret elsewhere: a secret is bound to the scheme, host,
 * port and user that it was given for.
 * @param field the field in which the secret can be given again
 */
export function secretElsewhere(field: string): OperatorError {
  return new OperatorError(
    'The stored secret belongs to another scheme, host, port or user. Give it again together with the new address.',
    { code: 'INVALID_REQUEST', field, facts: { reason: 'secret-elsewhere' } },
  );
}
