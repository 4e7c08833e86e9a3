import { expect, test } from '@jest/globals';
import { readChosen } from '../../src/licensing/updates';
import type { Release } from '../../src/store/releases';

/** Reading the release that is chosen from a product's published versions, while its rows change. */

const listed = (...versions: string[]) => versions.map((version) => ({ version }));
const release = (version: string, state: Release['state']) => ({ version, state }) as Release;
const first = <T>(published: T[]): T | undefined => published[0];

test('chooses again if a version is withdrawn between the list and the look-up', async () => {
  const lists = [listed('2.0', '1.0'), listed('1.0')];
  const rows = [release('2.0', 'withdrawn'), release('1.0', 'published')];
  const found = readChosen(
    () => Promise.resolve(lists.shift()!),
    first,
    (version) => Promise.resolve(rows.find((row) => row.version === version)),
  );
  expect(await found).toBe(rows[1]);
});

test.each([undefined, release('2.0', 'withdrawn')])(
  'ends if a version stays listed, and its row is %j',
  async (row) => {
    let times = 0;
    const list = () => {
      // Without an end, this test would not end either.
      if (++times > 5) throw new Error('It was listed too often.');
      return Promise.resolve(listed('2.0'));
    };
    expect(await readChosen(list, first, () => Promise.resolve(row))).toBeUndefined();
    expect(times).toBe(2);
  },
);
