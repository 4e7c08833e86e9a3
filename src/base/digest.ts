import { hash } from 'node:crypto';

/** Returns the first 64 bits of a text's SHA-256 in hex, which are enough to recognise the text again. */
export function shortDigest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16);
}
