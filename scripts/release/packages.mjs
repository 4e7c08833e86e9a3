import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Fetches npm's packages for a release, including those for other machines, and collects the licences of all. */

export const root = join(import.meta.dirname, '../..');

export const node = JSON.parse(readFileSync(join(import.meta.dirname, 'node.json'), 'utf8'));
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

/** Returns the version and the hash in the lock file. */
export function locked(name) {
  const { version, integrity } = lock.packages[`node_modules/${name}`];
  return { version, integrity };
}

/**
 * Fetches a package with npm, for any machine, and unpacks it.
 * @param integrity the hash in npm's form
 * @returns the folder with its package.json, below `folder`
 * @throws Error if npm delivers another package
 */
export function fetchPackage(name, version, integrity, folder) {
  const into = join(folder, name.replace('/', '+'));
  mkdirSync(into, { recursive: true });
  const packed = execFileSync('npm', ['pack', '--silent', `${name}@${version}`, '--pack-destination', into], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();
  const file = join(into, basename(packed));
  const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (found !== integrity)
    throw new Error(`npm's ${name}@${version} is ${found}, and the repository expects ${integrity}.`);
  execFileSync('tar', ['-xzf', file, '-C', into]);
  return join(into, 'package');
}

/** Copies an installed package without the files that only compilers of its users read. */
export function copyPackage(name, to) {
  cpSync(join(root, 'node_modules', name), join(to, 'node_modules', name), {
    recursive: true,
    filter: (path) => !/\.d\.[cm]?ts$|\.map$/.test(path),
  });
}

const LICENCE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;

/** Returns the licences of packages by their paths below node_modules, without duplicates of a version. */
export function licencesOf(paths) {
  const texts = new Map();
  for (const path of [...paths].sort()) {
    const folder = join(root, path);
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => LICENCE.test(file));
    const text = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim());
    texts.set(`${name} ${version}`, [`Licence: ${license ?? 'see below'}`, ...text].join('\n\n'));
  }
  return [...texts].map(([title, text]) => `${title}\n${'-'.repeat(title.length)}\n\n${text}\n`).join('\n\n');
}

/** Returns the package of a bundled file, such as `node_modules/koa`; undefined for our own files. */
export function packageOf(path) {
  return /^(?:.*\/)?(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
}
