import { hash, randomBytes } from 'node:crypto';
import type { WrittenKey } from '../../store/licenses/license-keys';

/**
 * Keys have one canonical form, so that a pasted key matches the issued one. Only its digest is stored. The rules with
 * their examples, which the tests read: docs/key-spellings.md.
 */

const OWN_SHAPE = /^[0-9A-F]{8}(?:-[0-9A-F]{8}){3}$/i;

/** White space and invisible characters: zero-width characters, joiners, soft hyphens, direction marks, BOM. */
const BLANK = '[\\s\\p{Default_Ignorable_Code_Point}]';
const BLANKS = new RegExp(`${BLANK}+`, 'gu');

/** A key of our own shape as pasted: mails and web pages may put blanks between its characters. */
const GAP = `${BLANK}*`;
const ANY_DASH = /[-\u2010-\u2015\u2212]/;
const GROUP = `[0-9a-f](?:${GAP}[0-9a-f]){7}`;
const WRITTEN_KEY = `${GROUP}(?:${GAP}${ANY_DASH.source}${GAP}${GROUP}){3}`;
const KEY_BY_ITSELF = new RegExp(`(?<![0-9a-z-])${WRITTEN_KEY}(?![0-9a-z-])`, 'iu');
const KEY_ANYWHERE = new RegExp(WRITTEN_KEY, 'giu');
const TOKEN_ANYWHERE = /lgw_[\w-]{49}/g;

const WRAPPING = new Set('"\'`´_“”„‟‘’‚‛«»‹›');
/** What clients and other systems put in front of a key: its parameter, and an id as in `12345:KEY`. */
const IN_FRONT = /(?:dlid=)+|(?:[0-9]+:(?=.))+/iy;

const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu;
/** What U+2011 and the full-width hyphen become by NFKC, and the others that look alike. */
const DASHES = /[\u2010-\u2015\u2212]/g;
/** Letters, digits, and marks upon them: a key with one of these beside it is a part of something longer. */
const WORD = '[\\p{L}\\p{N}\\p{M}]';
const WORDS = new RegExp(`${WORD}+`, 'gu');
/** Words joined by hyphens. Each is matched once from its first letter: the time is linear in the text's length. */
const JOINED = new RegExp(`${WORD}(?:[\\p{L}\\p{N}\\p{M}-]*${WORD})?`, 'gu');
/** Each text with a key in it has this: the cheap check before the words are read. */
const ANY_GROUPS = /[0-9a-f]{8}(?:[0-9a-f]{24}|[\s-]+[0-9a-f]{8})/i;
const HEX = /^[0-9a-f]{8}$/i;
const KEY_TEXT = '(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{8}){3})';
const KEYS_ALONE = new RegExp(`^${KEY_TEXT}(?:-?${KEY_TEXT})*$`, 'i');
/** Digits of a key without its hyphens: a shorter text contains none. */
const KEY_DIGITS = 32;
/** Characters of a text in which a key is looked for, such as a mail with the key in it. */
const MOST_SEARCHED = 10_000;

/** A new key with 128 bits from the system's CSPRNG, such as `A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6`. */
export function generateKey(): string {
  return inGroups(randomBytes(16).toString('hex').toUpperCase());
}

/**
 * The one spelling of a key, for issuing, importing and looking up (docs/key-spellings.md). Removes blanks, surrounding
 * quotes and underscores, and what is pasted in front. A text with one key of our own shape in it is that key, in upper
 * case. An empty result counts as a missing key.
 */
export function canonicalKey(text: string): string {
  if (hasOwnShape(text)) return text.toUpperCase();
  const bare = unwrap(text.replace(BLANKS, ''));
  if (hasOwnShape(bare)) return bare.toUpperCase();
  if (text.length < KEY_DIGITS || text.length > MOST_SEARCHED) return bare;
  return keyAlone(bare) ?? keyWithin(text) ?? bare;
}

function unwrap(text: string): string {
  // By index from both ends: a regular expression would retry at every quote of a long run.
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

/** The key of our own shape that a text without blanks is, once or again and again. */
function keyAlone(bare: string): string | undefined {
  const plain = inPlainDigits(bare);
  return KEYS_ALONE.test(plain) ? theOne(keysOf(plain)) : undefined;
}

/** The only key of our own shape in a text. Groups with blanks between them count where there is no other key. */
function keyWithin(text: string): string | undefined {
  const plain = inPlainDigits(text);
  if (!ANY_GROUPS.test(plain)) return undefined;
  const joined = (plain.match(JOINED) ?? []).filter((word) => KEYS_ALONE.test(word)).flatMap(keysOf);
  return theOne(joined.length > 0 ? joined : keysInGroups(plain));
}

/** Full-width letters and digits, and dashes, as those of a key. */
function inPlainDigits(text: string): string {
  // Nearly all texts are of ASCII alone.
  if (!/[\u0080-\uffff]/.test(text)) return text;
  return text.replace(INVISIBLE, '').normalize('NFKC').replace(DASHES, '-');
}

/** @param plain what KEYS_ALONE matches */
function keysOf(plain: string): string[] {
  const digits = plain.replaceAll('-', '').toUpperCase();
  return (digits.match(/.{32}/g) ?? []).map(inGroups);
}

function inGroups(digits: string): string {
  return (digits.match(/.{8}/g) ?? []).join('-');
}

/** Keys whose groups have blanks between them, also around the hyphens. A group more or less is no key. */
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
    // A hyphen alone joins any two words, so that what touches a group makes it a part of something longer.
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
 * A key of another system without regard to case and kinds of hyphens; undefined for one of our own shape, whose
 * canonical form has neither.
 */
export function foldKey(canonical: string): string | undefined {
  return hasOwnShape(canonical) ? undefined : inPlainDigits(canonical).toLowerCase();
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

/**
 * Whether a text is this canonical key and nothing else, pasted in any form. An address or a device's id with the key in it
 * is another text.
 */
export function isKey(text: string, key: string): boolean {
  // The cheap check first: almost no text is as long.
  if (key.length < LEAST_KEY || text.length < Math.min(key.length, KEY_DIGITS)) return false;
  if (text.length > 3 * key.length + 20) return false;
  const written = lettersOf(text).replace(/^(?:dlid|licensekey)/, '');
  const letters = lettersOf(key);
  return letters === '' ? text.trim() === key : written === letters;
}

/** What a key is told by, whatever stands between: letters and digits, in one case. */
function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
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

/** Replaces a canonical key in a text, however its letters and hyphens are written there. */
export function withoutKey(text: string, key: string): string {
  // However short: browsers put passwords into key fields.
  if (text.trim() === key) return '[key]';
  const rest = withoutSpelled(text, key);
  // In a spelling that only the look-up understands.
  return isKey(rest, key) ? '[key]' : rest;
}

function withoutSpelled(text: string, key: string): string {
  // The cheap check first: nearly no text has the key in it, and each key needs an expression of its own.
  if (key.length < LEAST_KEY || !text.toLowerCase().includes(key.slice(0, 4).toLowerCase())) return text;
  const parts = key.split(ANY_DASH).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  const dash = `${ANY_DASH.source}${hasOwnShape(key) ? '?' : ''}`;
  return text.replace(new RegExp(parts.join(`${GAP}${dash}${GAP}`), 'giu'), '[key]');
}

/** Replaces keys of our own shape and tokens (access/token-text.ts) in a text for logs and messages. */
export function redactKeys(text: string): string {
  return text.replace(KEY_ANYWHERE, '[key]').replace(TOKEN_ANYWHERE, '[token]');
}

/** SHA-256 in hex, `SHA2(key, 256)` in SQL. Nobody can guess one of our keys from it: they have 128 random bits. */
export function keyDigest(canonical: string): string {
  return hash('sha256', canonical);
}

/** The digest by which a key of another system is found in any case; undefined for one of our own shape. */
export function foldedDigest(canonical: string): string | undefined {
  const folded = foldKey(canonical);
  // With a word in front: no key has the digest of another one's folded form.
  return folded === undefined ? undefined : keyDigest(`folded ${folded}`);
}

/** A canonical key as the store looks for it. */
export function writtenKey(canonical: string): WrittenKey {
  return { keyDigest: keyDigest(canonical), foldedDigest: foldedDigest(canonical) };
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
