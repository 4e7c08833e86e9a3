import { hash, randomBytes } from 'node:crypto';

/** Keys have one canonical form, so that a pasted key matches the issued one. Only its digest is stored. */

const OWN_SHAPE = /^[0-9A-F]{8}(?:-[0-9A-F]{8}){3}$/i;

/** White space and invisible characters: zero-width characters, joiners, soft hyphens, direction marks, BOM. */
const BLANK = '[\\s\\p{Default_Ignorable_Code_Point}]';
const BLANKS = new RegExp(`${BLANK}+`, 'gu');

/** A key of our own shape as pasted: mails and web pages may put blanks between its characters. */
const GAP = `${BLANK}*`;
const GROUP = `[0-9a-f](?:${GAP}[0-9a-f]){7}`;
const WRITTEN_KEY = `${GROUP}(?:${GAP}-${GAP}${GROUP}){3}`;
const KEY_BY_ITSELF = new RegExp(`(?<![0-9a-z-])${WRITTEN_KEY}(?![0-9a-z-])`, 'iu');
const KEY_ANYWHERE = new RegExp(WRITTEN_KEY, 'giu');
const TOKEN_ANYWHERE = /lgw_[\w-]{49}/g;

const WRAPPING = new Set('"\'`´_“”„‟‘’‚‛«»‹›');
const PASTED_NAME = 'dlid=';

/** A new key with 128 bits from the system's CSPRNG, such as `A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6`. */
export function generateKey(): string {
  return (randomBytes(16).toString('hex').toUpperCase().match(/.{8}/g) as string[]).join('-');
}

/**
 * Removes blanks, surrounding quotes and underscores, and a pasted `dlid=`. Upper-cases keys of our own shape only. An
 * empty result counts as a missing key.
 */
export function canonicalKey(text: string): string {
  if (hasOwnShape(text)) return text.toUpperCase();
  const bare = text.replace(BLANKS, '');
  // By index from both ends: a regular expression would retry at every quote of a long run.
  let start = 0;
  let end = bare.length;
  while (start < end)
    if (WRAPPING.has(bare.charAt(start))) start++;
    else if (WRAPPING.has(bare.charAt(end - 1))) end--;
    else if (bare.slice(start, start + PASTED_NAME.length).toLowerCase() === PASTED_NAME)
      start += PASTED_NAME.length;
    else break;
  const key = bare.slice(start, Math.max(start, end));
  return hasOwnShape(key) ? key.toUpperCase() : key;
}

/** Whether a key has the shape this service makes: 32 hex digits in four groups of eight. */
export function hasOwnShape(key: string): boolean {
  return OWN_SHAPE.test(key);
}

/**
 * Whether a canonical text may be one of our keys with one typing error: four groups with at most one character too
 * many, too few or not a digit. Letters that look like digits count as digits.
 */
export function hasAboutOwnShape(key: string): boolean {
  if (!/^[0-9A-Z]{7,9}(?:-[0-9A-Z]{7,9}){3}$/i.test(key)) return false;
  return Math.abs(key.length - 35) <= 1 && key.replace(/[0-9A-FOIL-]/gi, '').length <= 1;
}

/** Customers paste keys into the wrong field. A part of a longer word does not count. */
export function containsKey(text: string): boolean {
  return KEY_BY_ITSELF.test(text);
}

/** Shorter strings inside other text are too common to be treated as keys. */
export const LEAST_KEY = 8;

/** Whether a text is this canonical key, pasted in any form: keys of other systems have no shape to look for. */
export function isKey(text: string, key: string): boolean {
  // The cheap check first: almost no text contains the key.
  return key.length >= LEAST_KEY && text.includes(key) && canonicalKey(text) === key;
}

/**
 * Joomla's updater puts the Download Key into a URL as typed: everything after `#` or `&` is lost, `%41` is decoded to
 * `A`, and nginx removes characters beyond ASCII (upstream.conf).
 */
export function isSentWhole(key: string): boolean {
  return !/[#&]|%[0-9a-f]{2}|[^\x21-\x7e]/i.test(key);
}

/** For the customers of an extension; other software may send such a key in a body. */
export const NOT_SENT_WHOLE =
  "Joomla's updater cannot send a key with #, &, % before two hexadecimal digits, or anything beyond ASCII.";

/** Replaces keys of our own shape and tokens (access/token-text.ts) in a text for logs and messages. */
export function redactKeys(text: string): string {
  return text.replace(KEY_ANYWHERE, '[key]').replace(TOKEN_ANYWHERE, '[token]');
}

/** SHA-256 in hex, `SHA2(key, 256)` in SQL. Nobody can guess one of our keys from it: they have 128 random bits. */
export function keyDigest(canonical: string): string {
  return hash('sha256', canonical);
}

/** The last group of a key of our own shape, the last 4 characters of another key of 16 or more, otherwise null. */
export function keyHint(canonical: string): string | null {
  if (hasOwnShape(canonical)) return canonical.slice(-8);
  const characters = Array.from(canonical);
  return characters.length >= 16 ? characters.slice(-4).join('') : null;
}

/** As many digits of a key as its beginning is stored and found by. */
const START = 6;

/** The beginning of a key of our own shape, otherwise null: too little would stay unknown of a shorter key. */
export function keyStart(canonical: string): string | null {
  return hasOwnShape(canonical) ? canonical.slice(0, START) : null;
}

/** Reads a text as a key that is cut off, such as its first group; undefined when it cannot be one, or is whole. */
export function asStart(text: string): string | undefined {
  const begun = canonicalKey(text).toUpperCase();
  const isBegun = /^[0-9A-F]{6,8}$|^[0-9A-F]{8}-(?:[0-9A-F]{8}-){0,2}[0-9A-F]{0,8}$/.test(begun);
  return isBegun && !hasAboutOwnShape(begun) ? begun.slice(0, START) : undefined;
}

/** Reads a text as a key's hint, which has eight or four characters (`keyHint`); undefined when it cannot be one. */
export function asHint(text: string): string | undefined {
  const end = canonicalKey(text);
  if (/^[0-9a-f]{8}$/i.test(end)) return end.toUpperCase();
  return [4, 8].includes(Array.from(end).length) ? end : undefined;
}
