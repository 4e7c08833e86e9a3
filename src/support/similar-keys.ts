import { canonicalKey, isNativeKey } from '../licensing/core/keys';
import type { Slip } from './finding-model';

/**
 * Finds the licence for which a mistyped key was meant. Only the hint of a key in a request is known (see `keyHint`). A
 * whole key that support knows is compared with more certainty, by the digests of all keys within one slip.
 */

const HEX = '0123456789ABCDEF';
const ALPHANUMERIC = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const EMAIL_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789.-_+@';
const GROUP = /^[0-9A-F]{8}$/;

/** Returns how a mistyped key ending in `seen` can be a key ending in `hint`; undefined if it is another key. */
export function compareHints(seen: string, hint: string): Slip | undefined {
  if (seen.length === hint.length) {
    if (seen === hint) return 'elsewhere';
    // Among four characters, too many keys are within one slip.
    if (!GROUP.test(seen))
      return seen.toUpperCase() === hint.toUpperCase()
        ? 'spelling'
        : straighten(seen) === straighten(hint)
          ? 'confused'
          : undefined;
    if (differences(seen, hint) === 1) return 'one-character';
    return transpositions(seen).includes(hint) ? 'transposed' : undefined;
  }
  if (!GROUP.test(hint) || seen.length !== 4) return undefined;
  const end = hint.slice(-4);
  const straight = straighten(seen);
  if (straight === end) return seen.toUpperCase() === end ? 'shape' : 'confused';
  if (endsWithOneMissing(hint).includes(straight)) return 'missing';
  return !isHex(straight) && differences(straight, end) === 1 ? 'one-character' : undefined;
}

/** Returns the hints of keys that may be mistyped as `seen`: exact hints, and LIKE patterns for eight characters. */
export function hintsWithinOneTypo(seen: string): { exact: string[]; patterns: string[] } {
  if (GROUP.test(seen))
    return { exact: [seen, ...substitutions(seen, HEX), ...transpositions(seen)], patterns: [] };
  const straight = straighten(seen);
  const exact = [...new Set([...cases(seen), straight])];
  if (!/^[0-9A-Z]{4}$/.test(straight)) return { exact, patterns: [] };
  const missing = [1, 2, 3, 4].map((at) => `___${straight.slice(0, at)}_${straight.slice(at)}`);
  return { exact, patterns: [`____${straight.replace(/[^0-9A-F]/, '_')}`, ...missing] };
}

/** Returns the hints that are recorded for mistyped keys which should end in `hint`. */
export function hintsOfTypos(hint: string): string[] {
  if (!GROUP.test(hint)) return cases(hint);
  const ends = [hint.slice(-4), ...endsWithOneMissing(hint), ...confusions(hint.slice(-4))];
  return [
    ...new Set([
      hint,
      ...substitutions(hint, HEX),
      ...transpositions(hint),
      ...ends.flatMap((end) => [end, end.toUpperCase(), end.toLowerCase()]),
    ]),
  ];
}

/** Returns all keys within one slip of a canonical key, at most a few thousand, likeliest first. */
export function keysWithinOneTypo(canonical: string): { key: string; slip: Slip }[] {
  const near = [
    ...ownKeysNear(canonical),
    ...(isNativeKey(canonical) || canonical.length > 64 ? [] : foreignKeysNear(canonical)),
  ];
  const likeliest = new Map(near.reverse().map(({ key, slip }) => [key, slip]));
  likeliest.delete(canonical);
  return [...likeliest].map(([key, slip]) => ({ key, slip })).reverse();
}

/** Returns all e-mail addresses within one slip of an address. */
export function emailsWithinOneTypo(email: string): string[] {
  const near = [
    ...transpositions(email),
    ...deletions(email),
    ...substitutions(email, EMAIL_ALPHABET),
    ...insertions(email, EMAIL_ALPHABET),
  ];
  return [...new Set(near)].filter((other) => other !== email);
}

/** Reports whether a whole key may be in our format with about one slip. Any other key's end is like too many keys. */
export function mayBeNativeKey(canonical: string): boolean {
  const straight = straighten(bare(canonical));
  return isAboutAsLong(straight) && straight.replace(/[0-9A-F]/g, '').length <= 1;
}

function ownKeysNear(canonical: string): { key: string; slip: Slip }[] {
  const asSent = bare(canonical).toUpperCase();
  const straight = straighten(asSent);
  if (!isAboutAsLong(straight)) return [];
  const regrouped = (digits: string[], slip: Slip) =>
    digits
      .map((all) => (all.match(/.{1,8}/g) ?? []).join('-'))
      .filter(isNativeKey)
      .map((key) => ({ key, slip }));
  return [
    ...regrouped([straight], asSent === straight ? 'spelling' : 'confused'),
    ...regrouped(transpositions(straight), 'transposed'),
    ...regrouped(substitutions(straight, HEX), 'one-character'),
    ...regrouped(insertions(straight, HEX), 'missing'),
    ...regrouped(deletions(straight), 'extra'),
  ];
}

/** Returns similar keys of other systems, which have any format and are case-sensitive. */
function foreignKeysNear(key: string): { key: string; slip: Slip }[] {
  const as = (keys: string[], slip: Slip) => keys.map((one) => ({ key: canonicalKey(one), slip }));
  return [
    ...as([key.toUpperCase(), key.toLowerCase()], 'spelling'),
    ...as(confusions(key), 'confused'),
    ...as(transpositions(key), 'transposed'),
    ...as(deletions(key), 'extra'),
    ...as(substitutions(key, ALPHANUMERIC), 'one-character'),
    ...as(insertions(key, `${ALPHANUMERIC}-`), 'missing'),
  ];
}

function bare(key: string): string {
  return key.replace(/[^0-9A-Za-z]/g, '');
}

function isAboutAsLong(digits: string): boolean {
  return digits.length >= 31 && digits.length <= 33;
}

function straighten(text: string): string {
  return text.toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
}

function isHex(text: string): boolean {
  return /^[0-9A-F]*$/.test(text);
}

/** Returns a four-character hint in all variants of upper and lower case, at most sixteen. */
function cases(hint: string): string[] {
  return Array.from(hint).reduce(
    (starts, character) => [
      ...new Set(
        starts.flatMap((start) => [start + character.toLowerCase(), start + character.toUpperCase()]),
      ),
    ],
    [''],
  );
}

function differences(a: string, b: string): number {
  return Array.from(a).filter((character, i) => character !== b[i]).length;
}

/** Returns the hints without one of the last four digits: the digit before them moves into the hint. */
function endsWithOneMissing(hint: string): string[] {
  return [4, 5, 6, 7].map((at) => (hint.slice(0, at) + hint.slice(at + 1)).slice(-4));
}

function confusions(text: string): string[] {
  const confused: Record<string, string> = { 0: 'O', 1: 'IL', O: '0', o: '0', I: '1', l: '1', L: '1' };
  return Array.from(text).flatMap((character, i) =>
    Array.from(confused[character] ?? '').map((other) => text.slice(0, i) + other + text.slice(i + 1)),
  );
}

function substitutions(text: string, alphabet: string): string[] {
  return Array.from(text).flatMap((character, i) =>
    Array.from(alphabet)
      .filter((other) => other !== character)
      .map((other) => text.slice(0, i) + other + text.slice(i + 1)),
  );
}

function transpositions(text: string): string[] {
  return Array.from(text.slice(1))
    .map((after, i) => text.slice(0, i) + after + (text[i] as string) + text.slice(i + 2))
    .filter((other) => other !== text);
}

function insertions(text: string, alphabet: string): string[] {
  return Array.from({ length: text.length + 1 }, (_, i) => i).flatMap((i) =>
    Array.from(alphabet).map((character) => text.slice(0, i) + character + text.slice(i)),
  );
}

function deletions(text: string): string[] {
  return Array.from(text).map((_, i) => text.slice(0, i) + text.slice(i + 1));
}
