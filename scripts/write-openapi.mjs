import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Writes docs/openapi.json from the build: the document that the service serves, in lines that can be compared. */

const root = join(import.meta.dirname, '..');
const load = createRequire(import.meta.url);
const { buildDocument } = load('../dist/src/http/document/openapi.js');
const { version } = load('../package.json');
writeFileSync(join(root, 'docs/openapi.json'), `${JSON.stringify(buildDocument(version), null, 2)}\n`);
