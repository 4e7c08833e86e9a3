import { createHash } from 'node:crypto';
import { MAX_LABEL_LENGTH } from '../licensing/core/columns';

/** What tells orders, events and articles apart, to the byte. */

export function orderDigest(shop: string, order: string): string {
  return digest('order', shop, order);
}

export function skuDigest(shop: string, sku: string): string {
  return digest('sku', shop, sku);
}

/** Of a shop's own id, such as that of a payment. */
export function linkDigest(shop: string, key: string): string {
  return digest('link', shop, key);
}

export function messageDigest(shop: string, id: string): string {
  return digest('message', shop, id);
}

/** Of an order's event that finds nothing. */
export function unmatchedDigest(orderDigest: string, identity: string): string {
  return digest('unmatched', orderDigest, identity);
}

/**
 * The reference of the `n`th licence of a line: `shop:order:line`, then `shop:order:line:2`. One that is longer than its
 * column ends in a digest of the whole.
 */
export function licenseReference(shop: string, order: string, line: string, n: number): string {
  const whole = [shop, escape(order), escape(line), ...(n > 1 ? [n] : [])].join(':');
  const characters = Array.from(whole);
  if (characters.length <= MAX_LABEL_LENGTH) return whole;
  const end = `~${digest(whole)}`;
  return characters.slice(0, MAX_LABEL_LENGTH - end.length).join('') + end;
}

/** MySQL does not compare a space at the end. */
function escape(text: string): string {
  return text.replace(/[%:]|\s$/gu, encodeURIComponent);
}

interface NamedOrder {
  order: string;
  /** undefined: all lines */
  line: string | undefined;
}

/** What a text that names an order to renew may mean, the likeliest first: `order`, or `order:line` as in references. */
export function namedOrders(text: string): NamedOrder[] {
  const whole = { order: unescape(text), line: undefined };
  const [, order, line] = /^(.+):([^:]+)$/su.exec(text) ?? [];
  if (order === undefined || line === undefined) return [whole];
  // An order's own number may have a colon, as the shop writes it.
  return [{ order: unescape(order), line: unescape(line) }, whole];
}

function unescape(text: string): string {
  return text.replace(/%(25|3a|20)/gi, decodeURIComponent);
}

/** Returns a digest that tells lists of texts apart. */
export function digest(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
