import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * API tokens: `lgw_`, 43 characters of base64url for 32 random bytes, and 6 for the CRC-32 of those 43. The prefix lets
 * scanners find leaked tokens, and the checksum refuses mistyped or foreign ones without the database.
 */
const TOKEN = /^lgw_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})$/;

/** Generates a token with 256 bits from the system's CSPRNG. */
export function generateToken(): string {
  const random = randomBytes(32).toString('base64url');
  return `lgw_${random}${checksum(random)}`;
}

/** Reports whether a text has the form of our tokens, with the right checksum. */
export function isTokenText(text: string): boolean {
  const [, random, given] = TOKEN.exec(text) ?? [];
  return random !== undefined && given === checksum(random);
}

/** Returns the digest that is stored. A token of 256 bits cannot be guessed from it. */
export function tokenDigest(token: string): string {
  return hash('sha256', token);
}

function checksum(random: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(random));
  return bytes.toString('base64url');
}
