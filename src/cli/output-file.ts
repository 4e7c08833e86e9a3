import { once } from 'node:events';
import type { Stats } from 'node:fs';
import { readFile, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { envFilePath, type Config } from '../settings/config';
import { explainReadFault } from '../packages/file-faults';
import { OperatorError } from '../licensing/operator-error';
import {
  lookAt,
  makeFolder,
  PRIVATE,
  replaceFile,
  requireReplaceable,
  writeInto,
  type FileKind,
  type ProtectedFile,
  type OutputFile,
  type Sink,
} from '../packages/replace-file';
import { asCaller, asServiceUser } from '../process/rights';
import { databaseFiles } from '../setup/database';
import { writeStandardOutput } from './standard-output';

/** Lists the files that no command overwrites: an SQLite database and the settings. */
export function ownFiles({ database }: Config): ProtectedFile[] {
  return [...databaseFiles(database), settingsFile()];
}

export function settingsFile(): ProtectedFile {
  return { path: envFilePath(), what: 'the settings file of this installation' };
}

/**
 * Writes a file atomically and only for its owner, because it contains customers' data. `-` is standard output.
 * @param own files that are never overwritten
 * @param kind files that may be overwritten
 * @throws OperatorError
 */
export async function writeOutput<T>(
  path: string,
  own: ProtectedFile[],
  kind: FileKind,
  produce: (sink: Sink) => Promise<T>,
): Promise<T> {
  if (path === '-') return produce(toStandardOutput);
  return asCaller(async () => {
    const place = await lookAt(path);
    await requireReplaceable(place, own, kind);
    const { there } = place;
    const write = (sink: Sink) => asServiceUser(() => produce(sink));
    // Write into a pipe or /dev/null, which cannot be replaced.
    return there === undefined || there.isFile() || there.isDirectory()
      ? replaceFile(place, PRIVATE, write)
      : writeInto(place, write);
  });
}

/**
 * Writes a zip that all users may read, and creates its folder.
 * @param judge throws to refuse the place
 * @throws OperatorError
 */
export function writeZip(
  path: string,
  zip: Buffer,
  judge: (place: OutputFile) => Promise<void>,
): Promise<void> {
  return asCaller(async () => {
    await makeFolder(dirname(path));
    const place = await lookAt(path);
    await judge(place);
    await replaceFile(place, 0o644, (_sink, handle) => handle.writeFile(zip));
  });
}

/**
 * Changes or creates a file atomically. Keeps the owner, so that the service can still read the file after root ran the
 * command, and keeps a link. Other users lose read access.
 * @throws OperatorError; the file is unchanged then
 */
export async function changeFile(path: string, change: (before: string) => string): Promise<void> {
  const place = await lookAt(path);
  const { target, there } = place;
  // Refuse a device or a pipe: a file in its place would break it for every user.
  if (there && !there.isFile()) throw new OperatorError(`${path} was not written: it is not a file.`);
  const text = change(there ? await readText(path, target) : '');
  await replaceFile(place, there ? there.mode & 0o640 : PRIVATE, async (sink, handle) => {
    await sink(text);
    if (there) await takeOwner(there, handle, path);
  });
}

async function readText(path: string, target: string): Promise<string> {
  try {
    return await readFile(target, 'utf8');
  } catch (error) {
    throw new OperatorError(
      `${path} was not written: the existing file cannot be read: ${explainReadFault(error)}.`,
    );
  }
}

async function takeOwner({ uid, gid }: Stats, handle: FileHandle, path: string): Promise<void> {
  await handle.chown(uid, gid).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    throw new OperatorError(
      `${path} was not written: it belongs to another owner or group, which a new file would not keep. Run this as its owner, or as root.`,
    );
  });
}

export async function toStandardOutput(text: string): Promise<void> {
  if (!writeStandardOutput(text)) await once(process.stdout, 'drain');
}
