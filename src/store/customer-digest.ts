import { createHash } from 'node:crypto';

export const DIGEST_DIGITS = 32;

/** Returns a customer's id: hex digits of the address's digest, which a log can name after the customer is erased. */
export function customerDigest(customer: string): string;
export function customerDigest(customer: string | null): string | null;
export function customerDigest(customer: string | null): string | null {
  return customer && createHash('sha256').update(customer).digest('hex').slice(0, DIGEST_DIGITS);
}

export function isCustomerDigest(text: string): boolean {
  return /^[0-9a-f]+$/.test(text) && text.length === DIGEST_DIGITS;
}
