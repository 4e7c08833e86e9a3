import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/**
 * Writes the style and the script of the pages into dist/pages, also compressed. manifest.json maps each to the name
 * under which it is served: the name contains a hash of the content, so that browsers may keep a file for ever.
 */

const root = join(import.meta.dirname, '..');
const from = join(root, 'src/http/pages');
const to = join(root, 'dist/pages');
const bootstrap = (name) => createRequire(import.meta.url).resolve(`bootstrap/${name}`);

/** Reads the files of a folder in the order of their names */
const readFolder = (folder) =>
  readdirSync(join(from, folder))
    .sort()
    .map((name) => readFileSync(join(from, folder, name), 'utf8'));

/** Removes comments except those that begin with an exclamation mark: a licence. */
const withoutComments = (text) => text.replace(/\/\*(?!!)[^]*?\*\/\n?/g, '').replace(/^\s*\/\/.*\n/gm, '');

/** Removes the indentation and empty lines. */
const withoutIndents = (text) => text.replace(/^\s+/gm, '');

/**
 * Repeats every rule for the dark theme for "auto" on a dark system. Bootstrap has no such media query.
 * @throws Error if a later Bootstrap writes these rules in another way
 */
function darkBySystem(css) {
  const dark = /\[data-bs-theme=(["']?)dark\1\]/;
  const rules = [...css.matchAll(/([^{};]*\[data-bs-theme=[^{}]*)(\{[^{}]*\})/g)].flatMap(
    ([, selectors, body]) => {
      const repeated = selectors.split(',').filter((selector) => dark.test(selector));
      return repeated.map((selector) => selector.trim().replace(dark, '[data-bs-theme=auto]') + body);
    },
  );
  if (rules.length !== css.split(dark).length / 2 - 0.5 || !rules[0]?.includes('--bs-body-bg:'))
    throw new Error('The rules of the dark theme are not written as build-pages.mjs expects them.');
  return `@media (prefers-color-scheme:dark){\n${rules.join('\n')}\n}\n`;
}

const style = withoutIndents(
  withoutComments(
    [readFileSync(bootstrap('dist/css/bootstrap.min.css'), 'utf8'), ...readFolder('style')].join('\n'),
  ),
);
const files = {
  'licensing.css': style + darkBySystem(style),
  // Wrap each script in a block, so that their names do not collide.
  'licensing.js': withoutIndents(
    withoutComments(
      `'use strict';\n${readFolder('script')
        .map((text) => `{\n${text.replace("'use strict';\n", '')}}\n`)
        .join('')}`,
    ),
  ),
};

rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });
const manifest = {};
for (const [name, text] of Object.entries(files)) {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  manifest[name] = name.replace('.', `-${hash}.`);
  writeFileSync(join(to, name), text);
  writeFileSync(join(to, `${name}.br`), brotliCompressSync(text));
  writeFileSync(join(to, `${name}.gz`), gzipSync(text, { level: 9 }));
}
writeFileSync(join(to, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
copyFileSync(join(bootstrap('package.json'), '../LICENSE'), join(to, 'LICENSE.txt'));
