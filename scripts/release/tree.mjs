import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { bundle } from './bundle.mjs';
import { copyPackage, fetchPackage, licencesOf, locked, node, packageOf, root } from './packages.mjs';

/** Builds the folders of a release: the parts for every machine, and the additions of each machine. */

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Folders that are copied unchanged. dist/docs-page and dist/pages are built before. */
export const AS_THEY_ARE = [
  ...['bin', 'deploy', 'dist/docs-page', 'dist/pages', 'docs', 'examples', 'mails', 'nginx', 'php'],
  ...['CHANGELOG.md', 'README.md', 'SECURITY.md'],
];

/** Folders only for maintainers, who have the repository. */
const LEFT_OUT = ['docs/decisions', 'docs/internals', 'deploy/container', 'deploy/debian', 'deploy/hosting'];

/** libsql and the packages that it loads */
const SQLITE = ['libsql', '@neon-rs/load'];

/** Returns the commands in `licensing --help`: each has its own compiled code (start/compile-cache.cjs). */
function commandNames() {
  const source = readFileSync(join(root, 'src/cli/commands.ts'), 'utf8');
  return [...source.matchAll(/^ {2}'?([a-z-]+)'?: async \(\)/gm)].map(([, name]) => name);
}

/** Builds the parts for all machines. @returns the packages that they contain, as paths below the repository */
export async function buildCommon(to) {
  for (const path of AS_THEY_ARE)
    cpSync(join(root, path), join(to, path), {
      recursive: true,
      filter: (from) => !LEFT_OUT.some((left) => from === join(root, left)),
    });
  const pictures = readdirSync(join(root, 'seeds')).filter((name) => name.endsWith('.zip'));
  for (const name of pictures) cpSync(join(root, 'seeds', name), join(to, 'seeds', name));
  const { inputs } = await bundle(join(to, 'dist/bundles'));

  const start = join(to, 'dist/src');
  mkdirSync(join(start, 'process'), { recursive: true });
  const [none, names] = ['COMMANDS = []', `COMMANDS = ${JSON.stringify(commandNames())}`];
  for (const name of ['cli', 'demo', 'hosting', 'main'])
    writeFileSync(join(start, `${name}.js`), startFile(name).replace(none, names));
  writeFileSync(join(start, 'process/compile-cache.js'), startFile('compile-cache'));
  const { code } = transformSync(readFileSync(join(root, 'src/process/node-version.ts'), 'utf8'), {
    swcrc: false,
    configFile: false,
    module: { type: 'commonjs' },
    jsc: { target: 'es2019', parser: { syntax: 'typescript' } },
  });
  writeFileSync(join(start, 'process/node-version.js'), code);

  const { name, version, description, license, engines } = manifest;
  const own = {
    ...{ name, version, description, license, private: true, engines },
    bin: { licensing: 'dist/src/cli.js' },
    scripts: {
      start: 'node dist/src/main.js',
      demo: 'node dist/src/demo.js',
      'demo:licensing': 'node dist/src/demo.js licensing',
    },
  };
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
  return [...new Set(Object.keys(inputs).flatMap((path) => packageOf(path) ?? []))];
}

function startFile(name) {
  return readFileSync(join(import.meta.dirname, 'start', `${name}.cjs`), 'utf8');
}

/** Adds a machine's Node and SQLite. @param machine x64 or arm64 */
export function addMachine(to, machine, packages, folder) {
  const { integrity, package: name } = node[machine];
  const unpacked = fetchPackage(name, node.version, integrity, folder);
  cpSync(join(unpacked, 'bin/node'), join(to, 'node'));
  const native = `@libsql/linux-${machine}-gnu`;
  const { version, integrity: hash } = locked(native);
  cpSync(fetchPackage(native, version, hash, folder), join(to, 'node_modules', native), { recursive: true });
  for (const one of SQLITE) copyPackage(one, to);
  const nodes = readFileSync(join(unpacked, 'LICENSE'), 'utf8');
  const sqlite = ['libsql', '@neon-rs/load', 'libsql/node_modules/detect-libc'];
  const paths = [...packages, ...sqlite.map((one) => `node_modules/${one}`)];
  writeFileSync(join(to, 'LICENSE'), terms(licencesOf(paths), nodes));
  writeFileSync(join(to, 'SETUP.txt'), SETUP);
}

const LINE = 'licensing setup --joomla-root /var/www/shop --url https://shop.example';

/** The closing instructions of the archive and of the .deb */
const SETUP = `licensing-gateway ${manifest.version}

As root, with your site's folder and address:

  bin/${LINE}

It prints each step with what it will change. With --dry-run it changes nothing.
docs/production.md says the same by hand.
`;

/** Returns the project's own terms: package.json's `license`, and the file LICENSE if it exists. */
export function ownTerms() {
  let text = '';
  try {
    text = `\n\n${readFileSync(join(root, 'LICENSE'), 'utf8').trim()}`;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  return `${manifest.name} ${manifest.version}: ${manifest.license}${text}\n`;
}

const RULE = '='.repeat(78);

/** Returns all terms. @param nodes Node's own licence; undefined if Node is not included */
export function terms(packages, nodes) {
  return [
    ownTerms(),
    `It contains these packages${nodes === undefined ? '' : ', and Node.js (the file node)'}, whose licences follow.\n`,
    packages,
    ...(nodes === undefined ? [] : [`${RULE}\nNode.js ${node.version} (the file node)\n${RULE}\n\n${nodes}`]),
  ].join('\n');
}

/** Sets the mode 755 for every folder and program, and 644 for every other file. */
export function setModes(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() || isProgram(path) ? 0o755 : 0o644);
  }
  chmodSync(folder, 0o755);
}

function isProgram(path) {
  if (path.endsWith('/node')) return true;
  return readFileSync(path).subarray(0, 2).toString() === '#!';
}

/** Creates a folder again after removing it. */
export function emptyFolder(path) {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
}
