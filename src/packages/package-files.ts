import { createHash, randomBytes } from 'node:crypto';
import { constants, createWriteStream, type Stats } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { LRUCache } from 'lru-cache';
import { DAY_MS } from '../base/days';
import { CodedError } from '../base/errors';
import { createBatches, dedupeInBatch } from '../licensing/core/batches';
import type { FindPackage } from '../licensing/download';
import { asCaller, asServiceUser } from '../process/rights';
import { toStorageError } from './file-faults';

/** These are for packages in a folder that the caller named. */
export { asCaller, asServiceUser };

/** Runs work with the rights of the caller or of the service's user. */
export type WithRights = <T>(work: () => Promise<T>) => Promise<T>;

/** A stored package, named by its SHA-256: equal packages share a file, and a published version can never change. */
export interface StoredPackage {
  /** in bytes */
  size: number;
  sha256: string;
  sha384: string;
  sha512: string;
}

export const INCOMING = '.incoming-';
/** The age after which a temporary file was left by a killed process, and is no longer being written. */
export const INCOMING_MAX_AGE_MS = DAY_MS;

export function packageFileName(sha256: string): string {
  return `${sha256}.zip`;
}

export function packagePath(dir: string, sha256: string): string {
  return join(dir, packageFileName(sha256));
}

/** Opens a file, following links. FIFOs and devices can block or never end. @throws NO_FILE for them, or a system error */
export async function openPackage(path: string): Promise<{ handle: FileHandle; stats: Stats }> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (stats.isFile()) return { handle, stats };
    const kind = stats.isDirectory() ? 'a folder' : stats.isFIFO() ? 'a pipe' : 'a device';
    throw new CodedError('NO_FILE', kind);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Returns the state of a package's file; undefined if it is missing or unreadable. */
export async function statPackage(dir: string, sha256: string): Promise<Stats | undefined> {
  // Check the name from the database: a forged value must not lead out of the folder.
  if (!/^[0-9a-f]{64}$/.test(sha256)) return undefined;
  try {
    const { handle, stats } = await openPackage(packagePath(dir, sha256));
    await handle.close();
    return stats;
  } catch {
    return undefined;
  }
}

/** The maximum number of packages whose files a process remembers. */
const MAX_OPENED = 200;

/**
 * Returns a function that looks for packages. Calls at the same time share a look-up. A file is opened again only after
 * a change: opening it each time took a tenth of a download's CPU time, and comparing its state a quarter of that.
 */
export function createPackageFinder(dir: string): FindPackage {
  const opened = new LRUCache<string, Stats>({ max: MAX_OPENED });

  async function find(sha256: string): Promise<Stats | undefined> {
    const before = opened.get(sha256);
    const now = before && (await stat(packagePath(dir, sha256)).catch(() => undefined));
    if (before && now && STATE.every((field) => before[field] === now[field])) return before;
    const found = await statPackage(dir, sha256);
    opened.set(sha256, found);
    return found;
  }

  return createBatches(dedupeInBatch((sha256: string) => sha256, find));
}

/** The fields that show whether a file is the same and as readable as before. `ctimeMs` changes with its rights too. */
const STATE = ['dev', 'ino', 'mode', 'uid', 'gid', 'size', 'mtimeMs', 'ctimeMs'] as const;

/** Compares a package's content with its name. @returns undefined if it is missing or unreadable */
export async function isPackageWhole(dir: string, sha256: string): Promise<boolean | undefined> {
  if (!(await statPackage(dir, sha256))) return undefined;
  const hash = createHash('sha256');
  const { handle } = await openPackage(packagePath(dir, sha256));
  await pipeline(handle.createReadStream({ highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex') === sha256;
}

/** A package that is being received, in a temporary file of the folder. It is not offered yet. */
export interface StagedPackage extends StoredPackage {
  path: string;
}

/** Copies a file into the folder and hashes it. @throws NO_FILE, or a system error, after deleting the copy */
export async function stageFile(
  dir: string,
  source: string,
  onProgress?: (bytes: number) => void,
  reading: WithRights = asCaller,
): Promise<StagedPackage> {
  const { handle, stats } = await reading(() => openPackage(source));
  // Stop at the first size, because a file that keeps growing must not fill the disk.
  const bytes = handle.createReadStream({ highWaterMark: 1 << 20, end: Math.max(stats.size, 1) - 1 });
  return stageBytes(dir, bytes, onProgress).finally(() => bytes.destroy());
}

/** Stores and hashes bytes as they arrive, like `stageFile`. @throws OperatorError if the folder cannot take them */
export async function stageBytes(
  dir: string,
  bytes: AsyncIterable<Buffer>,
  onProgress: (bytes: number) => void = () => undefined,
): Promise<StagedPackage> {
  const path = join(dir, `${INCOMING}${randomBytes(8).toString('hex')}`);
  try {
    await mkdir(dir, { recursive: true });
    await removeAbandoned(dir);
    return { ...(await copyAndHash(bytes, path, onProgress)), path };
  } catch (error) {
    await rm(path, { force: true }).catch(() => undefined);
    throw toStorageError(error, dir);
  }
}

/** Returns the path of a staged package, which has its final name once it is accepted. */
export async function pathOfStaged(dir: string, { path, sha256 }: StagedPackage): Promise<string> {
  return (await stat(path).catch(() => undefined)) ? path : packagePath(dir, sha256);
}

export function removeStaged({ path }: StagedPackage): Promise<void> {
  return rm(path, { force: true });
}

/**
 * Checks, syncs and renames a staged package, so that the whole package exists or none. It may be repeated.
 * @param check inspects the package, and throws to refuse it
 */
export async function acceptPackage(
  dir: string,
  { path: staged, ...stored }: StagedPackage,
  check: (path: string) => Promise<void>,
): Promise<StoredPackage> {
  const target = packagePath(dir, stored.sha256);
  const path = await pathOfStaged(dir, { ...stored, path: staged });
  await check(path);
  if (path === target) return stored;
  await makeOwn(path, target).catch((error: unknown) => {
    throw toStorageError(error, dir);
  });
  return stored;
}

async function makeOwn(path: string, target: string): Promise<void> {
  // nginx and the service are other users, so the folder must decide who may read packages, not the publisher's umask.
  await chmod(path, 0o644);
  await syncFile(path);
  await rename(path, target);
  await syncFile(dirname(target));
}

async function copyAndHash(
  source: AsyncIterable<Buffer>,
  target: string,
  onProgress: (bytes: number) => void,
): Promise<StoredPackage> {
  const hashes = ['sha256', 'sha384', 'sha512'].map((name) => createHash(name));
  let size = 0;
  await pipeline(
    source,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        for (const hash of hashes) hash.update(chunk);
        onProgress((size += chunk.length));
        yield chunk;
      }
    },
    createWriteStream(target, { flags: 'wx' }),
  );
  const [sha256, sha384, sha512] = hashes.map((hash) => hash.digest('hex')) as [string, string, string];
  return { size, sha256, sha384, sha512 };
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function removeAbandoned(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    if (!name.startsWith(INCOMING)) continue;
    const path = join(dir, name);
    const stats = await stat(path).catch(() => undefined);
    if (stats && Date.now() - stats.mtimeMs > INCOMING_MAX_AGE_MS) await rm(path, { force: true });
  }
}
