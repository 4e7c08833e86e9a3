/** The `version` of a `targetplatform`: a regular expression that Joomla ties to the beginning of its own version only. */

/** Current Joomla: 4, 5 and 6, each with all its minor versions. */
export const DEFAULT_TARGET_PLATFORM = '(4|5|6)\\.[0-9]+';
const CURRENT = [4, 5, 6];

/** Every version a pattern is tried on: enough to see where one ends in the middle of a number. */
const MINORS = Array.from({ length: 21 }, (_, minor) => minor);
const PATCHES = Array.from({ length: 13 }, (_, patch) => patch);
const versionsOf = (major: number) =>
  MINORS.map((minor) => ({
    minor: `${major}.${minor}`,
    versions: PATCHES.map((p) => `${major}.${minor}.${p}`),
  }));
const PROBES = [3, ...CURRENT, 7, 10].map((major) => ({ major, minors: versionsOf(major) }));

/** As `preg_match('/^' . $pattern . '/')`; undefined when it is no regular expression. */
export function matchesPlatform(pattern: string, joomla: string): boolean | undefined {
  return compile(pattern)?.test(joomla);
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
  return PROBES.every(({ minors }) =>
    minors.every(({ versions }) =>
      versions.every((version) => !narrow?.test(version) || wide?.test(version) === true),
    ),
  );
}

/**
 * Minor versions that match by accident, because the pattern ends in the middle of a number or has a second half that
 * is not tied to the beginning: `5.1` also matches 5.10. A pattern that matches the whole of a major version means it.
 */
export function accidentalMatches(pattern: string): string[] {
  const loose = compile(pattern);
  const exact = compile(`(?:${pattern})(?!(?<=[0-9])[0-9])`);
  if (!loose || !exact) return [];
  return PROBES.flatMap(({ minors }) => {
    const matched = minors.filter(({ versions }) => versions.some((version) => loose.test(version)));
    if (matched.length === minors.length) return [];
    return matched
      .filter(({ versions }) => !versions.some((version) => exact.test(version)))
      .map(({ minor }) => minor);
  });
}

function compile(pattern: string): RegExp | undefined {
  // an unescaped slash would end the expression in Joomla
  if (/(?<!\\)(?:\\\\)*\//.test(pattern)) return undefined;
  try {
    return new RegExp(`^${pattern}`);
  } catch {
    return undefined;
  }
}
