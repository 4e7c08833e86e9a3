import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Writes the scripts and styles of the page `docs` into dist/docs-page, from where they are served unchanged. */

const root = join(import.meta.dirname, '..');
const to = join(root, 'dist/docs-page');
const swagger = (name) => createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`);

mkdirSync(to, { recursive: true });
for (const name of ['page.js', 'page.css'])
  copyFileSync(join(root, 'src/http/document/page', name), join(to, name));
// Remove the address of the source map, which is not served: browsers would request it.
const withoutMap = (text) =>
  text.replace(/\n?(?:\/\/# sourceMappingURL=\S+|\/\*# sourceMappingURL=\S+ \*\/)\s*$/, '\n');
for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js'])
  writeFileSync(join(to, name), withoutMap(readFileSync(swagger(name), 'utf8')));
for (const name of ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'])
  copyFileSync(swagger(name), join(to, `${name.replace('.txt', '')}.txt`));
