import { hash, randomBytes } from 'node:crypto';

/** The form of a secret: 32 bytes from the system's CSPRNG, which cannot be guessed, even from its digest. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function generateSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the digest of a secret, which is stored; undefined for a text that cannot be a secret. */
export function secretDigest(text: string): string | undefined {
  return SECRET.test(text) ? hash('sha256', text) : undefined;
}
