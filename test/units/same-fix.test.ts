import { describe, expect, test } from '@jest/globals';
import { lacksFix, withSameFix } from '../../src/licensing/same-fix';

/** Releases that bring the same fix to several branches. */

describe('linked releases', () => {
  const links: [id: number, sameFixAs: number | null][] = [
    [1, null],
    [2, 1],
    [3, 2],
    [4, 1],
    [5, null],
    [6, 5],
  ];
  const releases = links.map(([id, sameFixAs]) => ({ id, sameFixAs }));
  const linked = (id: number) => withSameFix(releases, id).map((one) => one.id);

  test.each([1, 2, 3, 4])('of %s are found in both directions and over several steps', (id) => {
    expect(linked(id)).toEqual([1, 2, 3, 4]);
  });

  test('of a release without a link are itself, and a circle ends', () => {
    expect(withSameFix([{ id: 7, sameFixAs: null }], 7)).toEqual([{ id: 7, sameFixAs: null }]);
    const circle = [
      { id: 1, sameFixAs: 2 },
      { id: 2, sameFixAs: 1 },
    ];
    expect(withSameFix(circle, 2)).toEqual(circle);
    expect(linked(5)).toEqual([5, 6]);
  });
});

const FIXED = ['2.4.2', '3.0.1'];

test.each([
  ['2.4.1', FIXED, 'minor', true],
  ['2.4.2', FIXED, 'minor', false],
  ['2.4.10', FIXED, 'minor', false],
  ['3.0.0', FIXED, 'minor', true],
  ['3.0.1', FIXED, 'minor', false],
  ['2.5.0', FIXED, 'minor', true],
  ['3.1.0', FIXED, 'minor', false],
  ['2.5.0', FIXED, 'major', false],
  ['1.9.9', FIXED, 'major', true],
  ['2.4.2', FIXED, 'any', false],
  ['2.9.0', FIXED, 'any', true],
  ['2.0.0', ['2.1.0'], 'minor', true],
  ['2.2.0', ['2.1.0'], 'minor', false],
  ['1.0.0', [], 'minor', false],
] as const)('%s with fixes in %j by the rule %s lacks the fix: %s', (version, fixedIn, rule, lacks) => {
  expect(lacksFix(version, fixedIn, rule)).toBe(lacks);
});
