import { buffer } from 'node:stream/consumers';
import type { Entry, ZipFile } from 'yauzl';
import { eachEntry } from './zip';

/** Reads the dependencies of a package from the lock files in it and in its inner zips. */

export interface LockedPackage {
  /** the package manager, as a type of package URLs */
  type: 'composer' | 'npm';
  /** with its vendor or scope, such as `psr/log` or `@babel/core` */
  name: string;
  version: string;
  /** SPDX ids or names, of which one may be chosen */
  licenses: string[];
}

interface LockFiles {
  /** without duplicates of a name and version */
  packages: LockedPackage[];
  /** the paths of the lock files that were read */
  read: string[];
  /** the paths of lock files that cannot be read */
  broken: string[];
}

/** Limits of what is in memory, as in `joomla/package-contents.ts`: 3 MB of zip may claim to unpack to terabytes. */
const MAX_LOCK_BYTES = 10_000_000;
const MAX_INNER_BYTES = 64_000_000;
/** The maximum size of all lock files, and of all inner zips. */
const MAX_LOCKS_BYTES = 40_000_000;
const MAX_INNERS_BYTES = 512_000_000;

/** Reads a zip's lock files. A broken one is listed, and does not end the work. @throws the signal's reason */
export async function readLockFiles(zip: string, signal?: AbortSignal): Promise<LockFiles> {
  const files = new Map<string, Buffer>();
  const broken = new Set<string>();
  const left = { locks: MAX_LOCKS_BYTES, inners: MAX_INNERS_BYTES };
  const take = async (file: ZipFile, entry: Entry, path: string) => {
    left.locks -= entry.uncompressedSize;
    if (entry.uncompressedSize > MAX_LOCK_BYTES || left.locks < 0) broken.add(path);
    else
      try {
        files.set(path, await buffer(await file.openReadStreamPromise(entry)));
      } catch {
        signal?.throwIfAborted();
        broken.add(path);
      }
  };
  const visitInner = async (zip: Buffer, name: string) => {
    await eachEntry(
      zip,
      async (file, entry) => {
        if (isLockFile(entry.fileName)) await take(file, entry, `${name}: ${entry.fileName}`);
      },
      signal,
    );
  };
  await eachEntry(
    zip,
    async (file, entry) => {
      const { fileName, uncompressedSize } = entry;
      if (isLockFile(fileName)) await take(file, entry, fileName);
      if (!/\.zip$/i.test(fileName) || uncompressedSize > MAX_INNER_BYTES) return;
      left.inners -= uncompressedSize;
      if (left.inners < 0) return;
      const inner = await buffer(await file.openReadStreamPromise(entry));
      // Skip an inner zip that cannot be read, which the check of the package's contents reports.
      await visitInner(inner, fileName).catch(() => signal?.throwIfAborted());
    },
    signal,
  );
  return collect(files, broken);
}

const INSTALLED = 'vendor/composer/installed.json';
const LOCK_FILES = ['composer.lock', 'package-lock.json', INSTALLED];

/** Reports whether a path is a lock file of the package itself, instead of one that a dependency ships. */
function isLockFile(path: string): boolean {
  const name = LOCK_FILES.find((one) => path === one || path.endsWith(`/${one}`));
  return name !== undefined && !/(?:^|\/)(?:vendor|node_modules)\/./.test(path.slice(0, -name.length));
}

function collect(files: Map<string, Buffer>, broken: Set<string>): LockFiles {
  const packages = new Map<string, LockedPackage>();
  const read: string[] = [];
  const readOne = (path: string): boolean => {
    const bytes = files.get(path);
    if (bytes === undefined) return false;
    try {
      const found = packagesIn(path, JSON.parse(bytes.toString('utf8')));
      for (const one of found) packages.set(`${one.type} ${one.name} ${one.version}`, one);
      read.push(path);
      return true;
    } catch {
      broken.add(path);
      return false;
    }
  };
  for (const path of [...files.keys()].sort()) {
    // Composer writes both. The lock file also names what a build may have left out of `vendor`.
    const lock = path.endsWith(INSTALLED) ? `${path.slice(0, -INSTALLED.length)}composer.lock` : undefined;
    if (lock === undefined || !read.includes(lock)) readOne(path);
  }
  return { packages: [...packages.values()], read, broken: [...broken] };
}

type Json = Record<string, unknown>;

/** Returns the packages in a lock file. @throws Error for another form */
function packagesIn(path: string, value: unknown): LockedPackage[] {
  if (path.endsWith('package-lock.json')) {
    const { packages, dependencies } = asObject(value);
    return packages === undefined ? npmTree(asObject(dependencies ?? {})) : npmPackages(asObject(packages));
  }
  // Composer 1 wrote a list into `installed.json`.
  const list = Array.isArray(value) ? (value as unknown[]) : asObject(value).packages;
  if (!Array.isArray(list)) throw new Error('no list of packages');
  return list.map((one) => {
    const { name, version, license } = asObject(one);
    return {
      type: 'composer' as const,
      name: asWord(name),
      version: asWord(version),
      licenses: Array.isArray(license) ? license.filter(isWord) : [],
    };
  });
}

/** Reads a lock file of npm 7 or later, by the paths in `node_modules`. The packages of development are not shipped. */
function npmPackages(packages: Json): LockedPackage[] {
  return Object.entries(packages).flatMap(([path, entry]) => {
    const { name, version, license, dev, link } = asObject(entry);
    const at = path.lastIndexOf('node_modules/');
    if (at < 0 || dev === true || link === true) return [];
    return [
      {
        type: 'npm' as const,
        name: asWord(name ?? path.slice(at + 'node_modules/'.length)),
        version: asWord(version),
        licenses: isWord(license) ? [license] : [],
      },
    ];
  });
}

/** Reads a lock file of npm up to 6, whose packages are a tree. */
function npmTree(dependencies: Json): LockedPackage[] {
  return Object.entries(dependencies).flatMap(([name, entry]) => {
    const { version, dev, dependencies: inner } = asObject(entry);
    if (dev === true) return [];
    const own = { type: 'npm' as const, name: asWord(name), version: asWord(version), licenses: [] };
    return [own, ...npmTree(asObject(inner ?? {}))];
  });
}

function asObject(value: unknown): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw new Error('not an object');
}

/** Reports whether a value is a short text, such as a name. */
function isWord(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 255 && value.isWellFormed();
}

function asWord(value: unknown): string {
  if (isWord(value)) return value;
  throw new Error('not a name');
}
