import { describe, expect, it, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { shortDigest } from '../../src/base/digest';
import { chunksOf, inChunks } from '../../src/base/chunks';

const SRC = join(__dirname, '../../src');
const BASE = join(SRC, 'base');
const files = readdirSync(BASE);
const textOf = (file: string) => readFileSync(join(BASE, file), 'utf8');

/** Words that belong to this product. */
const OF_THE_PRODUCT =
  /\b(?:licen[cs]\w*|customers?|orders|order's|shops?|products?|plans?|releases?|activat\w*|sellers?|joomla)\b/i;

/** Returns the folders of src that import a file of the base. */
function importersOf(file: string): Set<string | undefined> {
  const imported = new RegExp(`from '(?:\\.\\./)+base/${file.replace('.ts', '')}'`);
  const importing = readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && entry.parentPath !== BASE)
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => imported.test(readFileSync(path, 'utf8')));
  return new Set(importing.map((path) => relative(SRC, path).split(sep)[0]));
}

test('the base stays small: at most 10 files and 500 lines', () => {
  expect(files.length).toBeLessThanOrEqual(10);
  const lines = files.reduce((sum, file) => sum + textOf(file).split('\n').length - 1, 0);
  expect(lines).toBeLessThanOrEqual(500);
});

describe.each(files)('the file of the base %s', (file) => {
  it('imports nothing else of src, and serves at least three folders', () => {
    for (const [, from] of textOf(file).matchAll(/ from '([^']+)'/g)) expect(from).toMatch(/^(?:\.\/|node:)/);
    expect(importersOf(file).size).toBeGreaterThanOrEqual(3);
  });

  it('contains no word of the product', () => {
    expect(
      textOf(file)
        .split('\n')
        .filter((line) => OF_THE_PRODUCT.test(line)),
    ).toEqual([]);
  });
});

test('chunks have all items in their order, and the last one the rest', async () => {
  expect([...chunksOf([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
  expect([...chunksOf([])]).toEqual([]);
  const double = (some: number[]) => Promise.resolve(some.map((one) => 2 * one));
  expect(await inChunks([1, 2, 3], double, 2)).toEqual([2, 4, 6]);
});

test('a short digest is the beginning of the SHA-256', () => {
  expect(shortDigest('abc')).toBe('ba7816bf8f01cfea');
});
