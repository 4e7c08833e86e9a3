/** A `targetplatform`'s version: a regular expression that Joomla anchors only at the start of its own version. */

/** Joomla 4, 5 and 6 with all their minor versions. */
export const DEFAULT_TARGET_PLATFORM = '(4|5|6)\\.[0-9]+';
const CURRENT = [4, 5, 6];

/** Advice for writing a pattern. It ends with an expression. */
export const MATCH_A_MAJOR = 'For all of Joomla 5 write 5\\.[0-9]+';
export const MATCH_A_MINOR = `${MATCH_A_MAJOR}, for 5.1 alone 5\\.1\\.`;

/** Patterns are tried on all these versions, which reveals a pattern that ends in the middle of a number. */
const MINORS = Array.from({ length: 21 }, (_, minor) => minor);
const PATCHES = Array.from({ length: 13 }, (_, patch) => patch);
const versionsOf = (major: number) =>
  MINORS.map((minor) => ({
    minor: `${major}.${minor}`,
    versions: PATCHES.map((p) => `${major}.${minor}.${p}`),
  }));
const PROBES = [3, ...CURRENT, 7, 10].map((major) => ({ major, minors: versionsOf(major) }));

/** Longer than a list of every minor version since Joomla 3. */
const MAX_LENGTH = 250;
/** Items in sequence multiply the ways to fail: twenty `.*` have millions. Real patterns have a few dozen ways. */
const MAX_WAYS = 2_000;
/** No version tried is longer, so a repetition needs no more turns. */
const MAX_TURNS = 9;

/** Whether a pattern is skipped because it might run too long. It then counts as not matching. */
export function isRunaway(pattern: string): boolean {
  return pattern.length > MAX_LENGTH || countWays(pattern) > MAX_WAYS;
}

/** Like `preg_match('/^' . $pattern . '/')`; false for an invalid or skipped expression. */
export function matchesPlatform(pattern: string, joomla: string): boolean {
  return compile(pattern)?.test(joomla) ?? false;
}

export type PatternFault =
  /** skipped as too expensive */
  | { fault: 'runaway' }
  /** not a valid regular expression: Joomla skips the update */
  | { fault: 'no-expression' }
  /** it matches unintended minor versions of Joomla */
  | { fault: 'accidents'; accidents: string[] };

/** @returns undefined when the pattern has no fault, whatever it matches */
export function findPatternFault(pattern: string): PatternFault | undefined {
  if (isRunaway(pattern)) return { fault: 'runaway' };
  if (!compile(pattern)) return { fault: 'no-expression' };
  const accidents = accidentalMatches(pattern);
  return accidents.length > 0 ? { fault: 'accidents', accidents } : undefined;
}

/** Whether the pattern matches any version of a current Joomla. */
export function matchesCurrentJoomla(pattern: string): boolean {
  const expression = compile(pattern);
  return PROBES.some(
    ({ major, minors }) =>
      CURRENT.includes(major) &&
      minors.some(({ versions }) => versions.some((version) => expression?.test(version))),
  );
}

/** Whether `pattern` matches every Joomla version that `other` matches. */
export function coversPlatform(pattern: string, other: string): boolean {
  const [wide, narrow] = [compile(pattern), compile(other)];
  if (!wide || !narrow) return pattern === other;
  return PROBES.every(({ minors }) =>
    minors.every(({ versions }) => versions.every((version) => !narrow.test(version) || wide.test(version))),
  );
}

/** Whether both patterns match a common Joomla version. */
export function overlapsPlatform(pattern: string, other: string): boolean {
  const [one, two] = [compile(pattern), compile(other)];
  if (!one || !two) return pattern === other;
  return PROBES.some(({ minors }) =>
    minors.some(({ versions }) => versions.some((version) => one.test(version) && two.test(version))),
  );
}

/** Minor versions matched by accident, such as 5.10 by `5.1`. A pattern for a whole major version means all of them. */
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
  // Joomla uses "/" as the delimiter, so an unescaped slash would end the expression.
  if (/(?<!\\)(?:\\\\)*\//.test(pattern)) return undefined;
  try {
    return new RegExp(`^${pattern}`);
  } catch {
    return undefined;
  }
}

/** The parts of an expression that are counted: an escaped character or a class is one character. */
const TOKENS =
  /\\.|\[(?:\\.|[^\]\\])*\]|(?<opened>\((?:\?(?:<?[=!]|:|<[^>]*>))?)|(?<closed>\))|(?<or>\|)|(?<optional>\?\??)|(?<repeated>(?:[*+]|\{[0-9]+(?:,[0-9]*)?\})\??)|./gs;

interface Ways {
  /** the sum over its earlier alternatives */
  alternatives: number;
  /** the current alternative without its last item, which may yet be repeated */
  row: number;
  last: number;
}

/** An upper bound on the ways through an expression: alternatives add up, items in sequence multiply. */
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

/** The sum over every number of turns, each in any of the ways. */
function repeat(ways: number, quantifier: string): number {
  const turns = Math.max(MAX_TURNS, ...(quantifier.match(/[0-9]+/g) ?? []).map(Number));
  return ways === 1 ? turns + 1 : ways ** (turns + 1);
}
