/** The `version` of a `targetplatform`: a regular expression that Joomla ties to the beginning of its own version only. */

/** Current Joomla: 4, 5 and 6, each with all its minor versions. */
export const DEFAULT_TARGET_PLATFORM = '(4|5|6)\\.[0-9]+';
const CURRENT = [4, 5, 6];

/** How to write one, in words that end where the expression does. */
export const MATCH_A_MAJOR = 'For all of Joomla 5 write 5\\.[0-9]+';
export const MATCH_A_MINOR = `${MATCH_A_MAJOR}, for 5.1 alone 5\\.1\\.`;

/** Every version a pattern is tried on: enough to see where one ends in the middle of a number. */
const MINORS = Array.from({ length: 21 }, (_, minor) => minor);
const PATCHES = Array.from({ length: 13 }, (_, patch) => patch);
const versionsOf = (major: number) =>
  MINORS.map((minor) => ({
    minor: `${major}.${minor}`,
    versions: PATCHES.map((p) => `${major}.${minor}.${p}`),
  }));
const PROBES = [3, ...CURRENT, 7, 10].map((major) => ({ major, minors: versionsOf(major) }));

/** Longer than one that lists every minor version of Joomla since 3. */
const MAX_LENGTH = 250;
/**
 * An expression that does not match is tried in each way it can be laid over a version before that is known. The ways
 * of what stands in a row multiply: twenty `.*` have millions, on seven characters. What says which Joomla an extension
 * runs on has a few dozen, and up to this many are tried on all probes within a moment.
 */
const MAX_WAYS = 2_000;
/** No version that is tried is longer, so nothing that repeats takes more turns. */
const MAX_TURNS = 9;

/**
 * Whether a pattern is not run at all, since it might not come to an end. Then it matches nothing here; whether it does
 * in Joomla is not known.
 */
export function isRunaway(pattern: string): boolean {
  return pattern.length > MAX_LENGTH || countWays(pattern) > MAX_WAYS;
}

/** As `preg_match('/^' . $pattern . '/')`; false too when it is no regular expression, or one that is not run. */
export function matchesPlatform(pattern: string, joomla: string): boolean {
  return compile(pattern)?.test(joomla) ?? false;
}

/** What is wrong with a pattern. */
export type PatternFault =
  /** it is not run */
  | { fault: 'runaway' }
  /** it is no regular expression, so that Joomla passes the update over */
  | { fault: 'no-expression' }
  /** it matches minor versions of Joomla that were not meant */
  | { fault: 'accidents'; accidents: string[] };

/** @returns undefined when nothing is wrong with it, whatever it matches */
export function findPatternFault(pattern: string): PatternFault | undefined {
  if (isRunaway(pattern)) return { fault: 'runaway' };
  if (!compile(pattern)) return { fault: 'no-expression' };
  const accidents = accidentalMatches(pattern);
  return accidents.length > 0 ? { fault: 'accidents', accidents } : undefined;
}

/** Whether any version of a current Joomla matches. */
export function matchesCurrentJoomla(pattern: string): boolean {
  const expression = compile(pattern);
  return PROBES.some(
    ({ major, minors }) =>
      CURRENT.includes(major) &&
      minors.some(({ versions }) => versions.some((version) => expression?.test(version))),
  );
}

/** Whether every Joomla that one pattern matches is matched by the other too. */
export function coversPlatform(pattern: string, other: string): boolean {
  const [wide, narrow] = [compile(pattern), compile(other)];
  if (!wide || !narrow) return pattern === other;
  return PROBES.every(({ minors }) =>
    minors.every(({ versions }) => versions.every((version) => !narrow.test(version) || wide.test(version))),
  );
}

/** Whether some Joomla is matched by both patterns. */
export function overlapsPlatform(pattern: string, other: string): boolean {
  const [one, two] = [compile(pattern), compile(other)];
  if (!one || !two) return pattern === other;
  return PROBES.some(({ minors }) =>
    minors.some(({ versions }) => versions.some((version) => one.test(version) && two.test(version))),
  );
}

/**
 * Minor versions that match by accident, because the pattern ends in the middle of a number or has a second half that
 * is not tied to the beginning: `5.1` also matches 5.10. A pattern that matches the whole of a major version means it.
 */
export function accidentalMatches(pattern: string): string[] {
  const loose = compile(pattern);
  if (!loose) return [];
  const exact = new RegExp(`^(?:${pattern})(?!(?<=[0-9])[0-9])`);
  return PROBES.flatMap(({ minors }) => {
    const matched = minors.filter(({ versions }) => versions.some((version) => loose.test(version)));
    if (matched.length === minors.length) return [];
    return matched
      .filter(({ versions }) => !versions.some((version) => exact.test(version)))
      .map(({ minor }) => minor);
  });
}

function compile(pattern: string): RegExp | undefined {
  if (isRunaway(pattern)) return undefined;
  // an unescaped slash would end the expression in Joomla
  if (/(?<!\\)(?:\\\\)*\//.test(pattern)) return undefined;
  try {
    return new RegExp(`^${pattern}`);
  } catch {
    return undefined;
  }
}

/** What counts in an expression: an escaped character and a class are one character, whatever is in them. */
const TOKENS =
  /\\.|\[(?:\\.|[^\]\\])*\]|(?<opened>\((?:\?(?:<?[=!]|:|<[^>]*>))?)|(?<closed>\))|(?<or>\|)|(?<optional>\?\??)|(?<repeated>(?:[*+]|\{[0-9]+(?:,[0-9]*)?\})\??)|./gs;

/** The ways of a group as far as it was read. */
interface Ways {
  /** of the alternatives before this one, together */
  alternatives: number;
  /** of this alternative without its last item, which may yet be repeated */
  row: number;
  last: number;
}

/** At most so many ways lead through an expression: alternatives add up, and what stands in a row multiplies. */
function countWays(pattern: string): number {
  const outer: Ways[] = [];
  let group: Ways = { alternatives: 0, row: 1, last: 1 };
  const append = (ways: number) => (group = { ...group, row: group.row * group.last, last: ways });
  for (const { 0: token, groups = {} } of pattern.matchAll(TOKENS))
    if (groups.opened !== undefined) {
      outer.push(group);
      group = { alternatives: 0, row: 1, last: 1 };
    } else if (groups.closed !== undefined) {
      const ways = totalOf(group);
      group = outer.pop() ?? group;
      append(ways);
    } else if (groups.or !== undefined) group = { alternatives: totalOf(group), row: 1, last: 1 };
    else if (groups.optional !== undefined) group.last += 1;
    else if (groups.repeated !== undefined) group.last = repeat(group.last, token);
    else append(1);
  return totalOf(group);
}

function totalOf({ alternatives, row, last }: Ways): number {
  return alternatives + row * last;
}

/** None, one, two or more turns, each in any of the ways. */
function repeat(ways: number, quantifier: string): number {
  const turns = Math.max(MAX_TURNS, ...(quantifier.match(/[0-9]+/g) ?? []).map(Number));
  return ways === 1 ? turns + 1 : ways ** (turns + 1);
}
