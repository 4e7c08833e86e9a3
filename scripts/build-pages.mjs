import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import subsetFont from 'subset-font';
import { fontFace, forOldBrowsers, LETTERS, WEIGHTS, withoutComments } from './page-style.mjs';

/**
 * Writes the style, the script, the fonts and the icons of the pages into dist/pages, texts also compressed.
 * manifest.json maps each file to the name under which it is served: the name contains a hash of the content, so that
 * browsers may keep a file for ever.
 */

const root = join(import.meta.dirname, '..');
const from = join(root, 'src/http/pages');
const to = join(root, 'dist/pages');
const require = createRequire(import.meta.url);
const ofPackage = (name, file) => join(require.resolve(`${name}/package.json`), '..', file);
/** The names of the icons, which the build of the program has compiled before. */
const { LINE_ICONS } = require(join(root, 'dist/src/http/pages/kit/line-icons.js'));

/** Reads the files of a folder in the order of their names */
const readFolder = (folder) =>
  readdirSync(join(from, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort()
    .map((name) => readFileSync(join(from, folder, name), 'utf8'));

/** Removes the indentation and empty lines. */
const withoutIndents = (text) => text.replace(/^\s+/gm, '');

/** Returns the name with a hash of the content: `licensing-0123456789abcdef.css`. */
function hashed(name, content) {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return name.replace('.', `-${hash}.`);
}

/** Kerning, accents and context, and figures of equal width. */
const FEATURES = ['kern', 'mark', 'mkmk', 'ccmp', 'locl', 'calt', 'tnum'];

function lettersOf(ranges) {
  return ranges
    .split(', ')
    .map((range) => {
      const [first, last = first] = range
        .slice(2)
        .split('-')
        .map((code) => parseInt(code, 16));
      return Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i)).join('');
    })
    .join('');
}

/** Returns a font of the package with only the letters and weights that the pages use. */
function makeFont(name) {
  const file = ofPackage('@fontsource-variable/inter', `files/${name}-opsz-normal.woff2`);
  return subsetFont(readFileSync(file), lettersOf(LETTERS[name]), {
    targetFormat: 'woff2',
    variationAxes: { wght: WEIGHTS },
    keepFeatures: FEATURES,
  });
}

const allIcons = JSON.parse(readFileSync(ofPackage('lucide-static', 'icon-nodes.json'), 'utf8'));
const fonts = await Promise.all(
  Object.keys(LETTERS).map(async (name) => [name, `${name}.woff2`, await makeFont(name)]),
);
const faces = fonts.map(([name, file, font]) => fontFace(name, hashed(file, font)));
const style = [...faces, forOldBrowsers(withoutComments(readFolder('style').join('\n')))].join('\n');
const icons = LINE_ICONS.map((name) => {
  const shapes = allIcons[name].map(
    ([tag, attributes]) =>
      `<${tag}${Object.entries(attributes)
        .map(([key, value]) => ` ${key}="${value}"`)
        .join('')}/>`,
  );
  return `<symbol id="${name}" viewBox="0 0 24 24">${shapes.join('')}</symbol>\n`;
});
const files = {
  'icons.svg': `<svg xmlns="http://www.w3.org/2000/svg">\n${icons.join('')}</svg>\n`,
  'licensing.css': withoutIndents(withoutComments(style)),
  // Wrap each script in a block, so that their names do not collide.
  'licensing.js': withoutIndents(
    withoutComments(
      `'use strict';\n${readFolder('script')
        .map((text) => `{\n${text.replace("'use strict';\n", '')}}\n`)
        .join('')}`,
    ),
  ),
  ...Object.fromEntries(fonts.map(([, file, font]) => [file, font])),
};

rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });
const write = (name, content) => writeFileSync(join(to, name), content);
const asJson = (value) => `${JSON.stringify(value, null, 2)}\n`;
const manifest = {};
for (const [name, content] of Object.entries(files)) {
  manifest[name] = hashed(name, content);
  write(name, content);
  // A font is compressed already.
  if (name.endsWith('.woff2')) continue;
  write(`${name}.br`, brotliCompressSync(content));
  write(`${name}.gz`, gzipSync(content, { level: 9 }));
}
write('manifest.json', asJson(manifest));
for (const name of ['@fontsource-variable/inter', 'lucide-static'])
  copyFileSync(ofPackage(name, 'LICENSE'), join(to, `LICENSE-${name.split('/').at(-1)}.txt`));
