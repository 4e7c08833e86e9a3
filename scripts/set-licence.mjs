import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * Writes the licences that the owner has chosen into package.json, the heads of PHP files and Joomla's manifests
 * (docs/licence.md). It replaces what an earlier run wrote.
 *
 *   node scripts/set-licence.mjs --owner NAME --program ID --joomla ID --examples ID
 *
 * Each ID is an SPDX identifier. `program` is the service, `joomla` the PHP that runs at sellers' and customers' sites,
 * and `examples` the code that sellers copy.
 */

/** Licences under which a Joomla extension may be passed on, because GPL-2.0-or-later allows their combination. */
const FOR_JOOMLA = [
  'GPL-2.0-or-later',
  'LGPL-2.1-or-later',
  'MIT',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  '0BSD',
];
const OPTIONS = ['owner', 'program', 'joomla', 'examples'];

const { values } = parseArgs({
  options: {
    ...Object.fromEntries(OPTIONS.map((name) => [name, { type: 'string' }])),
    root: { type: 'string', default: join(import.meta.dirname, '..') },
  },
});
const missing = OPTIONS.filter((name) => !values[name]);
if (missing.length > 0) fail(`Missing: ${missing.map((name) => `--${name}`).join(', ')}`);
for (const name of ['joomla', 'examples'])
  if (!FOR_JOOMLA.includes(values[name]))
    fail(`--${name} must be compatible with Joomla's GPL-2.0-or-later: ${FOR_JOOMLA.join(', ')}`);

// docs/webhooks.md has the receivers in full, so they have no head.
const files = ['php', 'examples']
  .flatMap(filesBelow)
  .filter((path) => !path.startsWith('examples/webhooks/'));
for (const path of files) {
  const id = path.startsWith('php/') ? values.joomla : values.examples;
  if (path.endsWith('.php')) change(path, (text) => withHead(text, id));
  if (path.endsWith('.xml')) change(path, (text) => withElements(text, id));
}
for (const path of ['package.json', 'package-lock.json'])
  change(path, (text) =>
    text.replace(/("license": )"[^"]*"/, (_all, name) => `${name}${JSON.stringify(values.program)}`),
  );
console.log(
  `Write the text of ${values.program} into LICENSE, and the other texts into php/LICENSE and examples/LICENSE.`,
);

function withHead(text, id) {
  const head = `// SPDX-FileCopyrightText: ${values.owner}\n// SPDX-License-Identifier: ${id}\n`;
  const body = text.replace(/^<\?php\n\n(?:\/\/ SPDX-.*\n)+\n?/, '<?php\n\n');
  return body.replace('<?php\n\n', () => `<?php\n\n${head}\n`);
}

/** Joomla shows both in the list of extensions. */
function withElements(text, id) {
  const plain = text.replace(/^ *<(?:copyright|license)>.*\n/gm, '');
  if (!plain.includes('<extension ')) return text;
  const elements = { copyright: values.owner, license: id };
  return plain.replace(
    /^( *)<author>.*\n/m,
    (author, indent) =>
      author +
      Object.entries(elements)
        .map(([name, value]) => `${indent}<${name}>${escapeXml(value)}</${name}>\n`)
        .join(''),
  );
}

function escapeXml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function change(path, write) {
  const whole = join(values.root, path);
  const text = readFileSync(whole, 'utf8');
  const written = write(text);
  if (written !== text) writeFileSync(whole, written);
}

function filesBelow(folder) {
  return readdirSync(join(values.root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(values.root.length + 1));
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
