import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { Application, Converter, KindRouter, PageEvent, RendererEvent } from 'typedoc';
import { fontFace, forOldBrowsers, LETTERS, withoutComments } from './page-style.mjs';

/**
 * `npm run docs [FOLDER]`: builds a site with a search from the Markdown pages, in docs-site. It works from a file's
 * path, and requests nothing from other hosts. docs/README.md is its first page. Its headings divide the navigation.
 * Its colours and its font are those of the operator's pages, from dist/pages.
 */

const root = join(import.meta.dirname, '..');
const docs = join(root, 'docs');
const out = resolve(process.argv[2] ?? join(root, 'docs-site'));
const index = join(docs, 'README.md');

/** Each page's part, in the order of the index: `[path, part]`. */
const listed = new Map();
let part = '';
for (const [, heading, link] of readFileSync(index, 'utf8').matchAll(/^## (.+)$|\]\(([^)#]+\.md)\)/gm))
  if (heading) part = heading;
  else listed.set(join(docs, link), part);
const order = [...listed.keys()];
/** The pages of the last part. It lists the first pages of these folders, which list the others. */
const internals = part;
const machinery = ['internals', 'decisions']
  .flatMap((folder) => readdirSync(join(docs, folder)).map((name) => join(docs, folder, name)))
  .filter((path) => path.endsWith('.md') && !listed.has(path))
  .sort();
const missing = order.filter((path) => !existsSync(path));
if (missing.length > 0) throw new Error(`docs/README.md lists what is not there: ${missing.join(', ')}`);

/** A page's address is its path below docs, so that the service's pages can link to it. */
class Addresses extends KindRouter {
  getIdealBaseName(reflection) {
    const file = reflection.project.files.getReflectionPath(reflection);
    return file === undefined ? super.getIdealBaseName(reflection) : addressOf(file);
  }
}
const addressOf = (file) => {
  const below = relative(docs, file).replace(/\.md$/, '');
  // "README" is next to the first page, and CHANGELOG and CONTRIBUTING are above docs
  return below.startsWith('..') ? basename(below) : below;
};

const app = await Application.bootstrap({
  name: 'licensing-gateway',
  entryPoints: [],
  projectDocuments: [...order, ...machinery],
  readme: index,
  out,
  includeVersion: true,
  searchInDocuments: true,
  hideGenerator: true,
  visibilityFilters: {},
  // Do not link words that only look like an address, such as "mail.md".
  markdownItOptions: { html: true, linkify: false },
  disableSources: true,
  includeHierarchySummary: false,
  router: 'addresses',
  navigation: { includeGroups: true, includeFolders: false },
  groupOrder: [...new Set(listed.values())],
  sort: ['documents-first'],
  highlightLanguages: [
    'bash',
    'php',
    'xml',
    'sql',
    'json',
    'ini',
    'nginx',
    'apache',
    'http',
    'html',
    'javascript',
    'yaml',
    'csv',
  ],
  customCss: join(import.meta.dirname, 'docs-site.css'),
  treatWarningsAsErrors: true,
  validation: { invalidLink: true, invalidPath: true },
  logLevel: 'Warn',
});
app.renderer.defineRouter('addresses', Addresses);

app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, page) => {
  const file = page.project.files.getReflectionPath(page);
  const [, title] = /^# (.+)$/m.exec(readFileSync(file, 'utf8'));
  page.name = title.replaceAll('`', '');
  page.frontmatter.group = listed.get(file) ?? internals;
});

/** The script in each page, which becomes a file because the service's pages allow no inline script. */
const SCRIPT = /<script>([^<]*)<\/script>/;
/** A link without a dot in its name leads to a folder, which no page shows. */
const FOLDER = /<a href="(?:\.\.\/)*media\/[^".]+"[^>]*>(.*?)<\/a>/g;
let theme = '';
app.renderer.on(PageEvent.END, (page) => {
  const found = SCRIPT.exec(page.contents ?? '');
  if (found === null) return;
  theme = found[1];
  const base = relative(dirname(page.filename), out) || '.';
  page.contents = page.contents
    .replace(SCRIPT, `<script src="${base}/assets/theme.js"></script>`)
    .replace(FOLDER, '$1')
    .replace('<div class="col-content">', '<div class="col-content" role="main">')
    .replace('<div class="col-sidebar">', '<div class="col-sidebar" role="complementary">')
    // Let a wide table scroll sideways.
    .replaceAll('<table>', '<table tabindex="0">')
    // icons.js writes the icons into the page, because browsers do not load them from a file's path.
    .replace(/"[^"]*assets\/icons\.svg#/g, '"#');
});
app.renderer.on(RendererEvent.END, () => {
  writeFileSync(join(out, 'assets/theme.js'), `${theme}\n`);
  const built = join(root, 'dist/pages');
  const names = Object.keys(LETTERS);
  for (const file of [...names.map((name) => `${name}.woff2`), 'LICENSE-inter.txt'])
    copyFileSync(join(built, file), join(out, 'assets', file));
  const faces = names.map((name) => fontFace(name, `${name}.woff2`));
  const sources = [
    join(root, 'src/http/pages/style/10-tokens.css'),
    join(import.meta.dirname, 'docs-site.css'),
  ];
  const css = sources.map((path) => readFileSync(path, 'utf8')).join('\n');
  writeFileSync(join(out, 'assets/custom.css'), faces.join('') + forOldBrowsers(withoutComments(css)));
});

rmSync(out, { recursive: true, force: true });
const project = await app.convert();
if (project) await app.generateOutputs(project);
if (!project || app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;
