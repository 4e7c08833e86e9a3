import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { isUntried, matchesPlatform } from '../../src/joomla/target-platform';

/** Tests that a pattern matches as in PHP, or is reported as not checked. PHP itself gives the expected results. */

const PATTERNS = [
  '5.1',
  '5\\.1\\.',
  '4.4|5',
  '5.0.6|6',
  '(4|5|6)\\.[0-9]+',
  '5\\.[[:digit:]]+',
  '5\\.[[:digit:].]+',
  '[[:alnum:]]\\.1',
  '(?i)5\\.[0-9]+',
  '(?s)5.*',
  '(?P<major>5|6)\\.(?P<minor>[0-9])',
  '5\\.[0-9]+?$',
  '(?=5)..1',
  '[^6]\\.\\d',
  '5\\.(?:1|2)\\b',
  '.*',
  '5[',
  '5)',
];
const VERSIONS = [3, 4, 5, 6, 10].flatMap((major) =>
  [0, 1, 2, 5, 10, 15].flatMap((minor) => [0, 5, 6, 12].map((patch) => `${major}.${minor}.${patch}`)),
);

/** Returns PHP's own matches, by pattern and version. */
function byPhp(patterns: string[]): boolean[][] {
  const code =
    '[$patterns, $versions] = json_decode(stream_get_contents(STDIN));' +
    'echo json_encode(array_map(fn($p) => array_map(fn($v) => (bool) @preg_match("/^" . $p . "/", $v), $versions), $patterns));';
  const output = execFileSync('php', ['-r', code], { input: JSON.stringify([patterns, VERSIONS]) });
  return JSON.parse(output.toString()) as boolean[][];
}

describe('A target platform', () => {
  const expected = byPhp(PATTERNS);
  it.each(PATTERNS.map((pattern, index) => ({ pattern, matched: expected[index] })))(
    'matches the same versions with $pattern as PHP',
    ({ pattern, matched }) => {
      expect(isUntried(pattern)).toBe(false);
      expect(VERSIONS.map((version) => matchesPlatform(pattern, version))).toEqual(matched);
    },
  );

  it.each([
    '5\\.[0-9]++',
    '5\\.[0-9]*+',
    '5\\.[0-9]{1,2}+',
    '(?>5)\\.1',
    '(?|5|6)\\.1',
    '5(?i)\\.1',
    '(?i:5)\\.1',
    '(?#all)5',
    '\\A5',
    '5\\.1\\z',
    '\\Q5.1\\E',
    '5\\.[[:^alpha:]]',
    '5\\.[[:graph:]]',
    '(5|6)(?1)?',
    '(*UTF8)5',
  ])('is not tried with %s, which only PHP can read', (pattern) => {
    expect(isUntried(pattern)).toBe(true);
    expect(matchesPlatform(pattern, '5.1.0')).toBe(false);
  });
});
