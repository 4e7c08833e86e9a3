import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, type Stats } from 'node:fs';
import { open, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { onInterrupt } from '../interrupts';
import { explainFileFault } from '../licensing/file-faults';
import { OperatorError } from '../licensing/operator-error';

/** Takes text over, and resolves when there is room for more. */
export type Sink = (text: string) => Promise<void>;

/**
 * Writes a file as a whole: under a temporary name beside it, synced, renamed. Until then an earlier one stays as it
 * is. Only its owner may read it, since it holds what customers entrusted. `-` is standard output.
 *
 * @throws OperatorError when the file cannot be written there
 */
export async function writeOutput<T>(path: string, produce: (sink: Sink) => Promise<T>): Promise<T> {
  if (path === '-') return produce((text) => writeTo(process.stdout, text));
  const target = await realpath(path).catch(() => resolve(path));
  try {
    const there = await stat(target).catch(() => undefined);
    // A pipe or /dev/null is written to; it cannot be replaced.
    return there === undefined || there.isFile() || there.isDirectory()
      ? await replaceFile(target, produce)
      : await writeAndClose(await open(target, 'w'), produce);
  } catch (error) {
    throw inWords(error, path, target);
  }
}

/**
 * Changes a file of settings as a whole, in the same way, or makes it. One that is there keeps its owner, so that the
 * service can read it when this is run by root, and the link that leads to it; everybody loses the right to read it.
 *
 * @throws OperatorError when the file cannot be written there; it is as it was then
 */
export async function changeFile(path: string, change: (before: string) => string): Promise<void> {
  const target = await realpath(path).catch(() => resolve(path));
  try {
    const there = await stat(target).catch(() => undefined);
    // A device or a pipe would be replaced by a file, for everybody.
    if (there && !there.isFile()) throw new OperatorError(`${path} was not written: it is no file.`);
    const text = change(there ? await readFile(target, 'utf8') : '');
    await replaceFile(target, async (sink, handle) => {
      await sink(text);
      if (there) await takeAfter(there, handle, path);
    });
  } catch (error) {
    throw inWords(error, path, target);
  }
}

async function takeAfter({ uid, gid, mode }: Stats, handle: FileHandle, path: string): Promise<void> {
  await handle.chown(uid, gid).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    throw new OperatorError(
      `${path} was not written: its owner or group is another, which would lose it. Run this as its owner, or as root.`,
    );
  });
  await handle.chmod(mode & 0o640);
}

/** An error in words about the file that was asked for, if it is about that. */
function inWords(error: unknown, path: string, target: string): unknown {
  const fault = explainFileFault(error, target);
  return fault === undefined ? error : new OperatorError(`${path} was not written: ${fault}.`);
}

type Produce<T> = (sink: Sink, handle: FileHandle) => Promise<T>;

async function replaceFile<T>(target: string, produce: Produce<T>): Promise<T> {
  const folder = dirname(target);
  const temporary = join(folder, `.${basename(target)}.${randomBytes(6).toString('hex')}.part`);
  // What was written so far holds customers' data.
  const restore = onInterrupt(() => rmSync(temporary, { force: true }));
  try {
    const result = await writeAndClose(await open(temporary, 'wx', 0o600), produce, true);
    await rename(temporary, target);
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
    return result;
  } finally {
    restore();
    await rm(temporary, { force: true });
  }
}

async function writeAndClose<T>(handle: FileHandle, produce: Produce<T>, sync = false): Promise<T> {
  try {
    const result = await produce((text) => handle.writeFile(text), handle);
    if (sync) await handle.sync();
    return result;
  } finally {
    await handle.close();
  }
}

async function writeTo(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}
