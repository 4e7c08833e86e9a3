import { createHash } from 'node:crypto';
import { MAX_LABEL_LENGTH } from '../licensing/core/columns';

/** Digests that identify orders, events and articles, byte by byte. */

export function orderDigest(shop: string, order: string): string {
  return digest('order', shop, order);
}

export function skuDigest(shop: string, sku: string): string {
  return digest('sku', shop, sku);
}

/** Returns the digest of a shop's own id, such as a payment's id. */
export function linkDigest(shop: string, key: string): string {
  return digest('link', shop, key);
}

export function messageDigest(shop: string, id: string): string {
  return digest('message', shop, id);
}

/** Returns the digest of an order's event that matches nothing. */
export function unmatchedDigest(orderDigest: string, identity: string): string {
  return digest('unmatched', orderDigest, identity);
}

/**
 * Returns the reference of the `n`th licence of a line: `shop:order:line`, then `shop:order:line:2`. A reference that
 * is too long for its column ends in a digest of the whole.
 */
export function licenseReference(shop: string, order: string, line: string, n: number): string {
  const whole = [shop, escape(order), escape(line), ...(n > 1 ? [n] : [])].join(':');
  const characters = Array.from(whole);
  if (characters.length <= MAX_LABEL_LENGTH) return whole;
  const end = `~${digest(whole)}`;
  return characters.slice(0, MAX_LABEL_LENGTH - end.length).join('') + end;
}

/** Escapes the separators, and a trailing space, which MySQL ignores in comparisons. */
function escape(text: string): string {
  return text.replace(/[%:]|\s$/gu, encodeURIComponent);
}

interface NamedOrder {
  order: string;
  /** undefined for all lines */
  line: string | undefined;
}

/** Returns the meanings of a text that names an order to renew, likeliest first: `order`, or `order:line` as in references. */
export function namedOrders(text: string): NamedOrder[] {
  const whole = { order: unescape(text), line: undefined };
  const [, order, line] = /^(.+):([^:]+)$/su.exec(text) ?? [];
  if (order === undefined || line === undefined) return [whole];
  // Offer the whole text too, because an order's own number may contain a colon.
  return [{ order: unescape(order), line: unescape(line) }, whole];
}

function unescape(text: string): string {
  return text.replace(/%(25|3a|20)/gi, decodeURIComponent);
}

/** Returns a digest of a list of texts. Different lists have different digests. */
export function digest(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
