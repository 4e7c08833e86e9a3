import { hash, randomBytes } from 'node:crypto';
import type { KeyDigests } from '../../store/licenses/license-keys';

/**
 * Licence keys: generating, normalising, case folding, redacting, hashing. A key has one canonical form, so that a pasted
 * key matches the issued one. Only its digest is stored. Rules with examples, which the tests read: docs/key-spellings.md.
 */

const OWN_SHAPE = /^[0-9A-F]{8}(?:-[0-9A-F]{8}){3}$/i;

/** White space and invisible characters: zero-width characters, joiners, soft hyphens, direction marks, BOM. */
const BLANK = '[\\s\\p{Default_Ignorable_Code_Point}]';
const BLANKS = new RegExp(`${BLANK}+`, 'gu');

/** White space that a mail or web page may put between the characters of one of our own keys. */
const GAP = `${BLANK}*`;
const ANY_DASH = /[-\u2010-\u2015\u2212]/;
const GROUP = `[0-9a-f](?:${GAP}[0-9a-f]){7}`;
const WRITTEN_KEY = `${GROUP}(?:${GAP}${ANY_DASH.source}${GAP}${GROUP}){3}`;
const KEY_BY_ITSELF = new RegExp(`(?<![0-9a-z-])${WRITTEN_KEY}(?![0-9a-z-])`, 'iu');
const KEY_ANYWHERE = new RegExp(WRITTEN_KEY, 'giu');
const TOKEN_ANYWHERE = /lgw_[\w-]{49}/g;

const WRAPPING = new Set('"\'`´_“”„‟‘’‚‛«»‹›');
/** Prefixes that clients and other systems put before a key: the parameter's name, and an id as in `12345:KEY`. */
const IN_FRONT = /(?:dlid=)+|(?:[0-9]+:(?=.))+/iy;

const BEYOND_ASCII = /[\u0080-\uffff]/;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu;
/** The hyphen to which NFKC converts U+2011 and the full-width hyphen, and other dashes that look alike. */
const DASHES = /[\u2010-\u2015\u2212]/g;
/** Letters, digits and their diacritics. A key that touches one of them is part of a longer word. */
const WORD = '[\\p{L}\\p{N}\\p{M}]';
const WORDS = new RegExp(`${WORD}+`, 'gu');
/** Words joined by hyphens. Each is matched once from its first letter, so the time is linear in the text's length. */
const JOINED = new RegExp(`${WORD}(?:[\\p{L}\\p{N}\\p{M}-]*${WORD})?`, 'gu');
/** A cheap check before the words are read: every text that contains a key matches this. */
const ANY_GROUPS = /[0-9a-f]{8}(?:[0-9a-f]{24}|[\s-]+[0-9a-f]{8})/i;
const HEX = /^[0-9a-f]{8}$/i;
const KEY_TEXT = '(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{8}){3})';
const KEYS_ALONE = new RegExp(`^${KEY_TEXT}(?:-?${KEY_TEXT})*$`, 'i');
/** The number of hexadecimal digits of a key. A text with fewer characters cannot contain a key. */
const KEY_DIGITS = 32;
/** The maximum length of a text that is searched for a key, such as a mail. */
const MAX_SEARCHED = 10_000;

/** Generates a key with 128 random bits from the system's CSPRNG, such as `A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6`. */
export function generateKey(): string {
  return inGroups(randomBytes(16).toString('hex').toUpperCase());
}

/**
 * Returns the canonical form of a key, for issuing, importing and looking it up (docs/key-spellings.md). It removes
 * blanks, surrounding quotes and underscores, and prefixes. If the text contains exactly one key of our own shape, the
 * result is this key in upper case. An empty result counts as a missing key.
 */
export function canonicalKey(text: string): string {
  if (text === '') return text;
  if (isNativeKey(text)) return text.toUpperCase();
  const bare = unwrap(text.replace(BLANKS, ''));
  if (isNativeKey(bare)) return bare.toUpperCase();
  if (text.length < KEY_DIGITS || text.length > MAX_SEARCHED) return bare;
  return keyAlone(bare) ?? keyWithin(text) ?? bare;
}

function unwrap(text: string): string {
  // Move indexes inwards from both ends, because a regular expression would retry at every quote of a long run.
  let start = 0;
  let end = text.length;
  while (start < end)
    if (WRAPPING.has(text.charAt(start))) start++;
    else if (WRAPPING.has(text.charAt(end - 1))) end--;
    else {
      IN_FRONT.lastIndex = start;
      if (!IN_FRONT.test(text) || IN_FRONT.lastIndex > end) break;
      start = IN_FRONT.lastIndex;
    }
  return text.slice(start, end);
}

/** Returns the key if a text without blanks is one key of our own shape and nothing else, even if it is repeated. */
function keyAlone(bare: string): string | undefined {
  const plain = inPlainDigits(bare);
  return KEYS_ALONE.test(plain) ? theOne(keysOf(plain)) : undefined;
}

/** Returns the only key of our own shape in a text. A key with blanks between its groups counts if there is no other. */
function keyWithin(text: string): string | undefined {
  const plain = inPlainDigits(text);
  if (!ANY_GROUPS.test(plain)) return undefined;
  const joined = (plain.match(JOINED) ?? []).filter((word) => KEYS_ALONE.test(word)).flatMap(keysOf);
  return theOne(joined.length > 0 ? joined : keysInGroups(plain));
}

/** Replaces full-width letters and digits, and all dashes, with those that keys are written with. */
function inPlainDigits(text: string): string {
  // Skip the conversion for nearly all texts, which contain only ASCII.
  if (!BEYOND_ASCII.test(text)) return text;
  return text.replace(INVISIBLE, '').normalize('NFKC').replace(DASHES, '-');
}

/** Splits a run of keys into the keys, in canonical form. @param plain a text that matches KEYS_ALONE */
function keysOf(plain: string): string[] {
  const digits = plain.replaceAll('-', '').toUpperCase();
  return (digits.match(/.{32}/g) ?? []).map(inGroups);
}

function inGroups(digits: string): string {
  return (digits.match(/.{8}/g) ?? []).join('-');
}

/** Finds keys with blanks around their hyphens or instead of them. A run of groups must be a multiple of four long. */
function keysInGroups(plain: string): string[] {
  const keys: string[] = [];
  let chain: string[] = [];
  let end = 0;
  const close = () => {
    if (chain.length % 4 === 0 && chain.every((word) => HEX.test(word))) keys.push(...keysOf(chain.join('')));
  };
  for (const { 0: word, index } of plain.matchAll(WORDS)) {
    const between = plain.slice(end, index);
    end = index + word.length;
    const areGroups = HEX.test(word) && HEX.test(chain.at(-1) ?? '');
    // A hyphen joins any two words, so that a word that touches a group makes it part of something longer.
    if (between === '-' || (areGroups && ['', '-'].includes(between.trim()))) chain.push(word);
    else {
      close();
      chain = [word];
    }
  }
  close();
  return keys;
}

function theOne(keys: string[]): string | undefined {
  const [first, ...others] = new Set(keys);
  return others.length === 0 ? first : undefined;
}

/**
 * Folds the case and the hyphens of another system's key, so that it is found however it is typed.
 * @returns undefined for a key of our own shape, whose canonical form is already folded
 */
export function foldKey(canonical: string): string | undefined {
  return isNativeKey(canonical) ? undefined : inPlainDigits(canonical).toLowerCase();
}

/** Reports whether a key has the shape of our own keys: 32 hexadecimal digits in four groups of eight. */
export function isNativeKey(key: string): boolean {
  return OWN_SHAPE.test(key);
}

/**
 * Reports whether a canonical text may be one of our keys with one typing error: four groups with at most one character
 * that is missing, superfluous or not a digit. Letters that look like digits count as digits.
 */
export function isAlmostNativeKey(key: string): boolean {
  if (!/^[0-9A-Z]{7,9}(?:-[0-9A-Z]{7,9}){3}$/i.test(key)) return false;
  return Math.abs(key.length - 35) <= 1 && key.replace(/[0-9A-FOIL-]/gi, '').length <= 1;
}

/**
 * Reports whether a text contains one of our keys: customers paste keys into the wrong field. Parts of words do not count.
 */
export function containsKey(text: string): boolean {
  return KEY_BY_ITSELF.test(text);
}

/** The minimum length of a key that is looked for in a text. Shorter strings are too common inside other text. */
export const MIN_KEY_LENGTH = 8;

/**
 * Reports whether a text is only this canonical key, pasted in any form. It is false for an address or a device id that
 * contains the key, and for a key shorter than MIN_KEY_LENGTH.
 */
export function isKey(text: string, key: string): boolean {
  // Compare the lengths first, which is cheap and excludes almost all texts.
  if (key.length < MIN_KEY_LENGTH || text.length < Math.min(key.length, KEY_DIGITS)) return false;
  if (text.length > 3 * key.length + 20) return false;
  // Normalising takes 2 µs, and the last character excludes nearly all of the rest.
  if (!BEYOND_ASCII.test(text) && !BEYOND_ASCII.test(key) && lastLetter(text) !== lastLetter(key))
    return false;
  const written = lettersOf(text).replace(/^(?:dlid|licensekey)/, '');
  const letters = lettersOf(key);
  return letters === '' ? text.trim() === key : written === letters;
}

/** Returns the last letter or digit of an ASCII text in lower case, or an empty text. */
function lastLetter(text: string): string {
  for (let i = text.length - 1; i >= 0; i--)
    if (/[a-z0-9]/i.test(text.charAt(i))) return text.charAt(i).toLowerCase();
  return '';
}

/** Returns the letters and digits of a text in lower case. Two spellings of the same key have the same result. */
function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

/**
 * Reports whether Joomla's updater can send a key unchanged. It puts the Download Key into a URL as it was typed: the
 * part after `#` or `&` is lost, `%41` is decoded to `A`, and nginx removes characters outside ASCII (upstream.conf).
 */
export function isUrlSafeKey(key: string): boolean {
  return !/[#&]|%[0-9a-f]{2}|[^\x21-\x7e]/i.test(key);
}

/** A note for customers with Joomla extensions. Other software may send such a key in a request's body. */
export const KEY_NOT_URL_SAFE =
  "Joomla's updater cannot send a key with #, &, % before two hexadecimal digits, or anything beyond ASCII.";

/** Redacts a canonical key in a text, in any case and with any hyphens. */
export function redactKey(text: string, key: string): string {
  // Redact a text that is exactly the key, even a short one: browsers put passwords into key fields.
  if (text.trim() === key) return '[key]';
  const rest = withoutSpelled(text, key);
  // Redact a spelling that only the look-up understands.
  return isKey(rest, key) ? '[key]' : rest;
}

function withoutSpelled(text: string, key: string): string {
  // Check the first characters before building a regular expression for this key: nearly no text contains the key.
  if (key.length < MIN_KEY_LENGTH || !text.toLowerCase().includes(key.slice(0, 4).toLowerCase())) return text;
  const parts = key.split(ANY_DASH).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  const dash = `${ANY_DASH.source}${isNativeKey(key) ? '?' : ''}`;
  return text.replace(new RegExp(parts.join(`${GAP}${dash}${GAP}`), 'giu'), '[key]');
}

/** Redacts keys of our own shape, and tokens (access/token-text.ts), in a text for logs and messages. */
export function redactKeys(text: string): string {
  return text.replace(KEY_ANYWHERE, '[key]').replace(TOKEN_ANYWHERE, '[token]');
}

/** Returns the SHA-256 of a key in hex, like `SHA2(key, 256)` in SQL. Our keys' 128 random bits make guessing hopeless. */
export function keyDigest(canonical: string): string {
  return hash('sha256', canonical);
}

/** Returns the digest that finds another system's key in any case; undefined for a key of our own shape. */
export function foldedDigest(canonical: string): string | undefined {
  const folded = foldKey(canonical);
  // Hash a prefix too, so that no key has the same digest as the folded form of another key.
  return folded === undefined ? undefined : keyDigest(`folded ${folded}`);
}

/** Returns both digests of a canonical key, by which the store finds its row. */
export function keyDigests(canonical: string): KeyDigests {
  return { keyDigest: keyDigest(canonical), foldedDigest: foldedDigest(canonical) };
}

/** Returns the last group of one of our keys, the last 4 characters of another key of 16 or more, otherwise null. */
export function keyHint(canonical: string): string | null {
  if (isNativeKey(canonical)) return canonical.slice(-8);
  const characters = Array.from(canonical);
  return characters.length >= 16 ? characters.slice(-4).join('') : null;
}

/** The number of digits at the beginning of a key that are stored, so that a seller can search for them. */
const START = 6;

/** Returns the beginning of one of our keys, otherwise null: too little of a shorter key would remain unknown. */
export function keyStart(canonical: string): string | null {
  return isNativeKey(canonical) ? canonical.slice(0, START) : null;
}

/** Reads a text as the beginning of one of our keys. @returns undefined if it is a whole key or cannot be a beginning */
export function parseKeyStart(text: string): string | undefined {
  const begun = canonicalKey(text).toUpperCase();
  const isBegun = /^[0-9A-F]{6,8}$|^[0-9A-F]{8}-(?:[0-9A-F]{8}-){0,2}[0-9A-F]{0,8}$/.test(begun);
  return isBegun && !isAlmostNativeKey(begun) ? begun.slice(0, START) : undefined;
}

/** Reads a text as a key's hint of eight or four characters (`keyHint`). @returns undefined if it cannot be one */
export function parseKeyHint(text: string): string | undefined {
  const end = canonicalKey(text);
  if (/^[0-9a-f]{8}$/i.test(end)) return end.toUpperCase();
  return [4, 8].includes(Array.from(end).length) ? end : undefined;
}
