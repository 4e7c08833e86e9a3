import { hash, randomBytes } from 'node:crypto';

/**
 * Licence keys: one canonical form for issuing, importing and looking up, so that what a customer pastes finds what
 * was issued. Only the digest of that form is stored.
 */

const OWN_SHAPE = /^[0-9A-F]{8}(?:-[0-9A-F]{8}){3}$/i;

/** White space, and what looks like none: zero-width characters, joiners, soft hyphens, direction marks, BOM. */
const BLANK = '[\\s\\p{Default_Ignorable_Code_Point}]';
const BLANKS = new RegExp(`${BLANK}+`, 'gu');

/** A key of our own shape as canonicalKey reads it: what a mail or a page put between its characters is no matter. */
const GAP = `${BLANK}*`;
const GROUP = `[0-9a-f](?:${GAP}[0-9a-f]){7}`;
const WRITTEN_KEY = `${GROUP}(?:${GAP}-${GAP}${GROUP}){3}`;
const KEY_BY_ITSELF = new RegExp(`(?<![0-9a-z-])${WRITTEN_KEY}(?![0-9a-z-])`, 'iu');
const KEY_ANYWHERE = new RegExp(WRITTEN_KEY, 'giu');

const WRAPPING = new Set('"\'`´_“”„‟‘’‚‛«»‹›');
const PASTED_NAME = 'dlid=';

/** A new key: 128 bits from the system's CSPRNG, as `A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6`. */
export function generateKey(): string {
  return (randomBytes(16).toString('hex').toUpperCase().match(/.{8}/g) as string[]).join('-');
}

/**
 * The one spelling of a key. Blanks, quotes and underscores around it and a pasted `dlid=` go; a key of our own
 * shape is upper-cased; any other keeps its case.
 *
 * @returns the empty string when nothing is left: such a key counts as missing
 */
export function canonicalKey(text: string): string {
  // As most come.
  if (hasOwnShape(text)) return text.toUpperCase();
  const bare = text.replace(BLANKS, '');
  // By index from both ends: a regular expression would try again from every quote of a long run of them.
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

/** Whether a key looks like one this service made: 32 hex digits in four groups of eight. */
export function hasOwnShape(key: string): boolean {
  return OWN_SHAPE.test(key);
}

/**
 * Whether a text can be one of our keys with about one slip in it: four groups, and at most a character too many, too
 * few, or not a digit. A letter may stand for the digit that it looks like.
 *
 * @param key canonical
 */
export function hasAboutOwnShape(key: string): boolean {
  if (!/^[0-9A-Z]{7,9}(?:-[0-9A-Z]{7,9}){3}$/i.test(key)) return false;
  return Math.abs(key.length - 35) <= 1 && key.replace(/[0-9A-FOIL-]/gi, '').length <= 1;
}

/**
 * Whether a key of our own shape stands by itself in a text: customers paste theirs into the wrong field. One that is
 * a piece of something longer is not one.
 */
export function containsKey(text: string): boolean {
  return KEY_BY_ITSELF.test(text);
}

/** A shorter one, in another text, is no key but letters. */
export const LEAST_KEY = 8;

/**
 * Whether a text is this very key, as a customer may paste it: those of other systems have no shape to know them by.
 *
 * @param key canonical
 */
export function isKey(text: string, key: string): boolean {
  // Nearly no text holds it, and to look is cheap.
  return key.length >= LEAST_KEY && text.includes(key) && canonicalKey(text) === key;
}

/**
 * Whether Joomla's updater sends a key as it is. It puts the Download Key into an address as it was typed: what follows
 * a `#` or `&` is lost, `%41` is an `A` to whoever reads it, and nginx takes out what is not ASCII (upstream.conf).
 */
export function isSentWhole(key: string): boolean {
  return !/[#&]|%[0-9a-f]{2}|[^\x21-\x7e]/i.test(key);
}

/** What follows for the customers of an extension; other software may send such a key in a body. */
export const NOT_SENT_WHOLE =
  'Joomla\'s updater cannot send a key with #, &, % before two hexadecimal digits, or anything beyond ASCII. "licensing license rekey" makes another.';

/** A text in which keys of our own shape are replaced: for logs and messages. */
export function redactKeys(text: string): string {
  return text.replace(KEY_ANYWHERE, '[key]');
}

/**
 * SHA-256 in hex of a canonical key: what the database holds. Keys of our own shape have 128 bits of chance, so a
 * plain digest cannot be guessed back; and an operator's own SQL can say `SHA2(key, 256)`.
 */
export function keyDigest(canonical: string): string {
  return hash('sha256', canonical);
}

/**
 * Enough of a key for support to recognise it, and too little to use it: the last group of one of our shape, the
 * last 4 characters of another of 16 or more, else nothing.
 */
export function keyHint(canonical: string): string | null {
  if (hasOwnShape(canonical)) return canonical.slice(-8);
  const characters = Array.from(canonical);
  return characters.length >= 16 ? characters.slice(-4).join('') : null;
}

/** A text as the end of a key, which has eight or four characters (see keyHint); undefined when it cannot be one. */
export function asHint(text: string): string | undefined {
  const end = canonicalKey(text);
  if (/^[0-9a-f]{8}$/i.test(end)) return end.toUpperCase();
  return [4, 8].includes(Array.from(end).length) ? end : undefined;
}
