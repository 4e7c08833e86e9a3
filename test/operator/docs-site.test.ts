import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { jsx } from 'hono/jsx';
import { GUIDES } from '../../src/http/pages/kit/operator-page';
import { Findings } from '../../src/http/pages/operator/doctor';
import { ViewProvider, type View } from '../../src/http/pages/view';
import type { Examined } from '../../src/doctor/finding';
import { pageTexts } from '../../src/texts/operators/languages';
import { temporaryFolder } from '../support/processes';

/** The site that `npm run docs` makes. test/pages/slow/docs-site.ts opens it in a browser. */

const ROOT = join(__dirname, '../..');

let site: string;
/** The pages by their paths in the site. */
const pages = new Map<string, string>();

beforeAll(() => {
  site = join(temporaryFolder(), 'docs-site');
  execFileSync('node', ['scripts/build-docs-site.mjs', site], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for (const name of readdirSync(site, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.html')) pages.set(name, readFileSync(join(site, name), 'utf8'));
});

const all = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map(([, found]) => found!);

test('every page of docs is in the index, and in the site', () => {
  const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8');
  const guides = readdirSync(join(ROOT, 'docs')).filter((name) => /^(?!README).+\.md$/.test(name));
  expect(guides.length).toBeGreaterThan(50);
  expect(guides.filter((name) => !index.includes(`](${name})`))).toEqual([]);
  expect(guides.filter((name) => !pages.has(name.replace('.md', '.html')))).toEqual([]);
});

test('the site has the help of the operator’s pages, and the pages that their texts name', () => {
  expect(Object.values(GUIDES).filter((name) => !pages.has(`${name}.html`))).toEqual([]);
  const texts = join(ROOT, 'src/texts/operators');
  const named = readdirSync(texts, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => all(readFileSync(join(texts, name), 'utf8'), /docs\/([\w-]+)\.md/g));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !pages.has(`${name}.html`))).toEqual([]);
});

test.each([
  [(page: string) => `/guide/${page}.html`, '(<a href="/guide/mail.html">docs/mail.md</a>)'],
  [() => undefined, '(docs/mail.md)'],
])('a remedy links to the page that it names, if the site was built', (guide, written) => {
  const say = () => ({ what: 'Mail', why: null, said: null, remedy: 'Correct <it> (docs/mail.md).' });
  const findings = [{ state: 'problem', say } as unknown as Examined];
  const value = { t: pageTexts('en'), guide } as unknown as View;
  const html: unknown = jsx(ViewProvider, { value }, jsx(Findings, { findings }));
  expect(String(html)).toContain(`Correct &lt;it&gt; ${written}.`);
});

test('every link leads to a page, and every anchor to a place on it', () => {
  const wrong: string[] = [];
  let links = 0;
  for (const [name, html] of pages)
    for (const link of all(html, /<a [^>]*href="([^"]*)"/g)) {
      if (/^(https?:|mailto:|#$)/.test(link)) continue;
      links++;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? name : normalize(join(dirname(name), decodeURI(path)));
      const to = pages.get(target);
      const holds =
        anchor === undefined
          ? existsSync(join(site, target))
          : to?.includes(` id="${decodeURIComponent(anchor)}"`);
      if (!holds) wrong.push(`${name}: ${link}`);
    }
  expect(wrong).toEqual([]);
  expect(links).toBeGreaterThan(1000);
});

test('nothing is loaded from another host, and no page has an inline script', () => {
  const loaded = new Set<string>();
  for (const [name, html] of pages) {
    for (const address of all(html, /<(?:link|script|img|source)\b[^>]* (?:href|src|srcset)="([^"]*)"/g))
      loaded.add(/^(data:|\w+:|\/)/.test(address) ? address : normalize(join(dirname(name), address)));
    expect([name, all(html, /(<script(?![^>]* src=)[^>]*>|<style|<iframe)/g)]).toEqual([name, []]);
  }
  expect([...loaded].filter((path) => !existsSync(join(site, path)))).toEqual([]);
  expect(loaded).toContain('assets/search.js');
});
