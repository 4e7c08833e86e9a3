import { hash, randomBytes } from 'node:crypto';

/** 32 bytes of the system's CSPRNG: nobody can guess it, also not from its digest. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function generateSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** What is stored of a secret; undefined for a text that cannot be one. */
export function secretDigest(text: string): string | undefined {
  return SECRET.test(text) ? hash('sha256', text) : undefined;
}
