import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** Checks the pages in docs: the files and names that they mention, their length, and the heads of the decisions. */

const ROOT = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pagesOf = (folder: string) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

/** References, which stay in one piece because developers write programs by them. */
const REFERENCES = ['docs/contract.md', 'docs/export-format.md', 'docs/settings.md'];

test('a guide has at most 1,000 words', () => {
  const long = pagesOf('docs')
    .filter((page) => !REFERENCES.includes(page))
    .map((page) => [page, read(page).split(/\s+/).filter(Boolean).length] as const)
    .filter(([, words]) => words > 1_000);
  expect(long).toEqual([]);
});

test('the decisions have no gap in their numbers, a date, a status, and a row in the list', () => {
  const decisions = pagesOf('docs/decisions').filter((page) => !page.endsWith('README.md'));
  const numbers = decisions.map((page) => Number(basename(page).slice(0, 4)));
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  const head = /^# .+\n\n\*\*Date:\*\* \d{4}-\d\d-\d\d\. \*\*Status:\*\* (?:in force|superseded|not used)/;
  expect(decisions.filter((page) => !head.test(read(page)))).toEqual([]);
  const list = read('docs/decisions/README.md');
  expect(decisions.filter((page) => !list.includes(`](${basename(page)})`))).toEqual([]);
});

describe('the maintainers’ pages', () => {
  const files = filesBelow('.').filter(
    (path) => !/^(?:node_modules|dist|var|docs-site|release)\//.test(path),
  );
  const PATH = /^(?:[\w.@*-]+\/)*[\w.@*-]+\.(?:[cm]?js|tsx?|php|sql|conf|json|md|sh|service|txt)$/;
  const JOOMLAS = 'configuration.php';
  const spansOf = (text: string) => [...text.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);

  test.each([...pagesOf('docs/internals'), ...pagesOf('docs/decisions'), 'CONTRIBUTING.md'])(
    'the files that %s names exist',
    (page) => {
      const named = spansOf(withoutCode(read(page))).filter((span) => PATH.test(span) && span !== JOOMLAS);
      expect(named.filter((path) => findFiles(path).length === 0)).toEqual([]);
    },
  );

  test('each name in code.md is in the file before it', () => {
    const missing: string[] = [];
    let count = 0;
    for (const line of read('docs/internals/code.md').split('\n')) {
      let found: string[] = [];
      for (const span of spansOf(line)) {
        if (PATH.test(span)) found = findFiles(span);
        else if (found.length > 0 && /^[A-Za-z_]\w+$/.test(span)) {
          count++;
          const name = new RegExp(`\\b${span}\\b`);
          if (!found.some((file) => name.test(read(file)))) missing.push(`${found[0]}: ${span}`);
        }
      }
    }
    expect(missing).toEqual([]);
    expect(count).toBeGreaterThan(50);
  });

  /** Finds files by a path in the repository or in src, or by the end of a path. `*` stands for any name. */
  function findFiles(path: string): string[] {
    if (path.includes('*')) {
      const pattern = new RegExp(`(?:^|/)${path.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}$`);
      return files.filter((file) => pattern.test(file));
    }
    // A built file has the name of its source.
    const source = path.replace(/^dist\//, '').replace(/\.js$/, '.ts');
    for (const whole of [path, `src/${path}`, source]) if (existsSync(join(ROOT, whole))) return [whole];
    return files.filter((file) => file.endsWith(`/${path}`) || file.endsWith(`/${source}`));
  }
});

function withoutCode(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, '');
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return /^(?:node_modules|\.git|dist|var|docs-site|release)$/.test(path) ? [] : filesBelow(path);
  });
}
