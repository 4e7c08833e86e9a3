/** The version of a `targetplatform`: a regular expression, anchored by Joomla only at the beginning of its own version. */

/** Joomla 4, 5 and 6 with all their minor versions. */
export const DEFAULT_TARGET_PLATFORM = '(4|5|6)\\.[0-9]+';
const CURRENT = [4, 5, 6];

/** Advice for writing a pattern. It ends with a regular expression. */
export const MATCH_A_MAJOR = 'For all of Joomla 5 write 5\\.[0-9]+';
export const MATCH_A_MINOR = `${MATCH_A_MAJOR}, for 5.1 only 5\\.1\\.`;

/** The versions on which patterns are tested. They reveal a pattern that ends in the middle of a number. */
const MINORS = Array.from({ length: 21 }, (_, minor) => minor);
const PATCHES = Array.from({ length: 13 }, (_, patch) => patch);
const versionsOf = (major: number) =>
  MINORS.map((minor) => ({
    minor: `${major}.${minor}`,
    versions: PATCHES.map((p) => `${major}.${minor}.${p}`),
  }));
const PROBES = [3, ...CURRENT, 7, 10].map((major) => ({ major, minors: versionsOf(major) }));

/** The maximum length, which exceeds a list of every minor version since Joomla 3. */
const MAX_LENGTH = 250;
/** The maximum number of ways to match. Items in sequence multiply: twenty `.*` have millions, real patterns a few dozen. */
const MAX_WAYS = 2_000;
/** The maximum number of turns of a repetition, because no tested version is longer. */
const MAX_TURNS = 9;

/** Reports whether a pattern is not tested, because it might run too long or only PHP can read it. It then does not match. */
export function isUntried(pattern: string): boolean {
  return isRunaway(pattern) || translate(pattern) === undefined;
}

function isRunaway(pattern: string): boolean {
  return pattern.length > MAX_LENGTH || countWays(pattern) > MAX_WAYS;
}

/** Matches like `preg_match('/^' . $pattern . '/')`; false for an invalid or untested expression. */
export function matchesPlatform(pattern: string, joomla: string): boolean {
  return compile(pattern)?.test(joomla) ?? false;
}

type PatternFault =
  /** skipped as too expensive */
  | { fault: 'runaway' }
  /** not tested, because a part of it can only be read by PHP */
  | { fault: 'php-only' }
  /** not a valid regular expression, so that Joomla skips the update */
  | { fault: 'no-expression' }
  /** it matches unintended versions of Joomla, listed as text for a sentence */
  | { fault: 'accidents'; accidents: string };

/** Returns the fault of a pattern; undefined without one, whatever versions it matches. */
export function findPatternFault(pattern: string): PatternFault | undefined {
  if (pattern.length <= MAX_LENGTH && translate(pattern) === undefined) return { fault: 'php-only' };
  if (isRunaway(pattern)) return { fault: 'runaway' };
  if (!compile(pattern)) return { fault: 'no-expression' };
  const accidents = accidentalMatches(pattern);
  return accidents.length > 0 ? { fault: 'accidents', accidents: describeAccidents(accidents) } : undefined;
}

/** Reports whether the pattern matches any version of a current Joomla. */
export function matchesCurrentJoomla(pattern: string): boolean {
  const expression = compile(pattern);
  return PROBES.some(
    ({ major, minors }) =>
      CURRENT.includes(major) &&
      minors.some(({ versions }) => versions.some((version) => expression?.test(version))),
  );
}

/** Reports whether `pattern` matches every Joomla version that `other` matches. */
export function coversPlatform(pattern: string, other: string): boolean {
  const [wide, narrow] = [compile(pattern), compile(other)];
  if (!wide || !narrow) return pattern === other;
  return PROBES.every(({ minors }) =>
    minors.every(({ versions }) => versions.every((version) => !narrow.test(version) || wide.test(version))),
  );
}

/** Reports whether a Joomla version exists that both patterns match. */
export function overlapsPlatform(pattern: string, other: string): boolean {
  const [one, two] = [compile(pattern), compile(other)];
  if (!one || !two) return pattern === other;
  return PROBES.some(({ minors }) =>
    minors.some(({ versions }) => versions.some((version) => one.test(version) && two.test(version))),
  );
}

/**
 * Returns the first version of each minor version that is matched by accident: 5.10.0 by `5.1`, and 4.0.5 by `4.4|5`,
 * whose second alternative is not anchored at the beginning. A pattern for a whole major version is not an accident.
 */
export function accidentalMatches(pattern: string): string[] {
  const [loose, tied, exact] = [compile(pattern), compile(pattern, (p) => `(?:${p})`), compileExact(pattern)];
  if (!loose || !tied || !exact) return [];
  return PROBES.flatMap(({ minors }) => {
    const isWhole = minors.every(({ versions }) => versions.some((version) => tied.test(version)));
    return minors.flatMap(({ versions }) => {
      const untied = versions.find((version) => loose.test(version) && !tied.test(version));
      if (untied !== undefined) return [untied];
      const first = versions.find((version) => loose.test(version));
      return first === undefined || isWhole || versions.some((version) => exact.test(version)) ? [] : [first];
    });
  });
}

/** Compiles a pattern that must end where a number ends, so that `5.1` does not match 5.10. */
function compileExact(pattern: string): RegExp | undefined {
  return compile(pattern, (p) => `(?:${p})(?!(?<=[0-9])[0-9])`);
}

const SHOWN_PER_MAJOR = 3;

/** Lists a few versions of each current major version; if there are none, of the others. */
function describeAccidents(accidents: string[]): string {
  const of = (major: number) =>
    accidents.filter((version) => version.startsWith(`${major}.`)).slice(0, SHOWN_PER_MAJOR);
  const current = CURRENT.flatMap(of);
  const shown = current.length > 0 ? current : PROBES.flatMap(({ major }) => of(major));
  return shown.join(', ') + (shown.length === accidents.length ? '' : ' and others');
}

function compile(pattern: string, wrap = (source: string) => source): RegExp | undefined {
  if (isRunaway(pattern)) return undefined;
  // Joomla uses "/" as the delimiter, so an unescaped slash would end the expression.
  if (/(?<!\\)(?:\\\\)*\//.test(pattern)) return undefined;
  const translated = translate(pattern);
  if (translated === undefined) return undefined;
  try {
    return new RegExp(`^${wrap(translated.source)}`, translated.flags);
  } catch {
    return undefined;
  }
}

/** POSIX classes and their equivalents within brackets. */
const POSIX_CLASSES: Record<string, string> = {
  digit: '0-9',
  alpha: 'A-Za-z',
  alnum: 'A-Za-z0-9',
  upper: 'A-Z',
  lower: 'a-z',
  xdigit: '0-9A-Fa-f',
  word: '\\w',
  space: '\\s',
};

/** Escapes that only PHP has; JavaScript reads each as the letter itself. */
const PHP_ESCAPE = /^\\[AaCEeGgHhKNoPpQRVXZzUuLl]$/;

/** Translates a PHP pattern to JavaScript; undefined if a part of it has no equivalent. */
function translate(pattern: string): { source: string; flags: string } | undefined {
  const [, flags = '', rest = ''] = /^(?:\(\?([ims]+)\))?([^]*)$/.exec(pattern) ?? [];
  let isKnown = !/\(\*|\[[:.=]\^/.test(rest);
  const source = rest
    .replaceAll('(?P<', '(?<')
    .replace(/(?<=\[[^\]]*)\[:(\w+):\]/g, (whole, name: string) => {
      isKnown &&= name in POSIX_CLASSES;
      return POSIX_CLASSES[name] ?? whole;
    });
  let last: 'opened' | 'quantifier' | undefined;
  for (const { 0: token, groups = {} } of source.matchAll(TOKENS)) {
    const isQuantifier = groups.optional !== undefined || groups.repeated !== undefined;
    // Unknown are possessive quantifiers (a++), and groups that only PHP has: (?>...), (?|...), (?i), (?R).
    if (isQuantifier && last !== undefined) isKnown &&= last === 'quantifier' && !/^[+]/.test(token);
    if (PHP_ESCAPE.test(token)) isKnown = false;
    last = isQuantifier ? 'quantifier' : groups.opened === undefined ? undefined : 'opened';
  }
  return isKnown ? { source, flags: [...new Set(flags)].join('') } : undefined;
}

/** The parts of an expression that are counted: an escaped character or a class counts as one character. */
const TOKENS =
  /\\.|\[(?:\\.|[^\]\\])*\]|(?<opened>\((?:\?(?:<?[=!]|:|<[^>]*>))?)|(?<closed>\))|(?<or>\|)|(?<optional>\?\??)|(?<repeated>(?:[*+]|\{[0-9]+(?:,[0-9]*)?\})\??)|./gs;

interface Ways {
  /** the sum over the earlier alternatives */
  alternatives: number;
  /** the ways of the present alternative without its last item, which may still be repeated */
  row: number;
  last: number;
}

/** Returns an upper bound on the ways through an expression: alternatives add up, items in sequence multiply. */
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

/** Returns the sum over all numbers of turns, each of which may take any way. */
function repeat(ways: number, quantifier: string): number {
  const turns = Math.max(MAX_TURNS, ...(quantifier.match(/[0-9]+/g) ?? []).map(Number));
  return ways === 1 ? turns + 1 : ways ** (turns + 1);
}
