/**
 * Turns a version into a string whose byte order is that of PHP's `version_compare`, which Joomla uses, so that
 * databases can sort it. PHP (ext/standard/versioning.c) splits a version at `.`, `-`, `_`, `+` and between digits and
 * letters. It compares numbers as numbers, words by the table below (by prefix: "patch" counts as "p"), and a number
 * against a word as "#". A longer version is greater if it continues with a number; a word is compared with "#". So
 * `1.0rc` < `1.0` < `1.0.0` and `1.0` < `1.0pl`.
 */

/** The words in PHP's lookup order: the first entry that is a prefix of the part decides. */
const WORDS: [string, number][] = [
  ['dev', 1],
  ['alpha', 2],
  ['a', 2],
  ['beta', 3],
  ['b', 3],
  ['RC', 4],
  ['rc', 4],
  ['pl', 7],
  ['p', 7],
];
/** The words that PHP reads as people do. */
const KNOWN_WORDS = new Set([...WORDS.map(([word]) => word), 'patch']);
const UNKNOWN_WORD = 0;
const END = 5;
const NUMBER = 6;

const MAX_VERSION_LENGTH = 64;
/** Runs of letters or digits joined by single separators; only for these are PHP's rules unambiguous. */
const VERSION = /^[0-9A-Za-z]+(?:[.+_-][0-9A-Za-z]+)*$/;
/** The maximum number of digits: PHP reads numbers into 64 bits and clamps those beyond 18 digits. */
const MAX_DIGITS = 18;

/** Reports whether this service publishes such a version. */
export function isVersion(text: string): boolean {
  return (
    text.length <= MAX_VERSION_LENGTH &&
    VERSION.test(text) &&
    parts(text).every((part) => part.length <= MAX_DIGITS || !isNumber(part))
  );
}

/** Returns a rank digit for each part; numbers are followed by their length (as a letter) and their digits. */
export function versionOrder(version: string): string {
  return parts(version).map(encode).join('') + String(END);
}

/** Returns less than, equal to or greater than 0, like PHP's `version_compare(a, b)`. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [versionOrder(a), versionOrder(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Reports whether it precedes the final release of its number: dev, alpha, beta, rc, and words unknown to PHP. */
export function isPrerelease(version: string): boolean {
  return parts(version).some((part) => rank(part) < END);
}

/**
 * Returns the latest of published releases, which are listed highest first: a pre-release only while no final one is
 * published. Only `updates.ts` may call it (oxlint.config.mjs): during a rollout, some addresses are not offered it.
 */
export function latestRelease<T extends { version: string }>(published: readonly T[]): T | undefined {
  return published.find(({ version }) => !isPrerelease(version)) ?? published[0];
}

/** From least to most stable, as Joomla ranks them. */
export const STABILITIES = ['dev', 'alpha', 'beta', 'rc', 'stable'] as const;
export type Stability = (typeof STABILITIES)[number];

/** Returns the stability that a version's words express: `2.0-rc1` is rc; a word unknown to PHP ranks as dev. */
export function stabilityOf(version: string): Stability {
  const lowest = Math.min(END, ...parts(version).map(rank));
  return lowest === UNKNOWN_WORD ? 'dev' : (STABILITIES[lowest - 1] as Stability);
}

/** Warns if PHP's order may surprise: it knows few words and reads others by prefix. Invalid versions are ignored. */
export function remarkOnVersion(
  version: string,
): { code: 'odd-version' | 'pre-release'; message: string } | undefined {
  if (!isVersion(version)) return undefined;
  const words = parts(version).filter((part) => !isNumber(part));
  const odd = words.find((word) => !KNOWN_WORDS.has(word));
  if (odd !== undefined) {
    const known = WORDS.find(([word]) => odd.startsWith(word))?.[0];
    const counts =
      known === undefined
        ? `Joomla does not know "${odd}", and sorts ${version} below every alpha`
        : `Joomla reads "${odd}" as "${known}", because it begins with that`;
    return {
      code: 'odd-version',
      message: `${counts}. Write only numbers for a release, such as 2.1.0, and 2.1.0-dev, -alpha1, -beta1 or -rc1, in lower case, before it.`,
    };
  }
  return isPrerelease(version)
    ? {
        code: 'pre-release',
        message: `${version} is a pre-release (${stabilityOf(version)}): the API offers it only while no stable release is published, and the update XML offers it to sites whose minimum stability is "${stabilityOf(version)}" or lower.`,
      }
    : undefined;
}

/** Splits a version into numbers and words. PHP reads blanks at its beginning or end as an unknown word. */
function parts(version: string): string[] {
  return version.match(/[0-9]+|[A-Za-z]+|^\s+|\s+$/g) ?? [];
}

function encode(part: string): string {
  if (!isNumber(part)) return String(rank(part));
  const digits = part.replace(/^0+(?=.)/, '');
  return `${NUMBER}${String.fromCharCode(96 + digits.length)}${digits}`;
}

function rank(part: string): number {
  if (isNumber(part)) return NUMBER;
  return WORDS.find(([word]) => part.startsWith(word))?.[1] ?? UNKNOWN_WORD;
}

function isNumber(part: string): boolean {
  return /^[0-9]/.test(part);
}
