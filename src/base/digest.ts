import { hash } from 'node:crypto';

/** The first 64 bits of a text's SHA-256, in hex: enough to recognise a text again. */
export function shortDigest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16);
}
