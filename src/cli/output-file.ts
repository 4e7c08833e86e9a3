import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
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
    const fault = explainFileFault(error, target);
    throw fault === undefined ? error : new OperatorError(`${path} was not written: ${fault}.`);
  }
}

async function replaceFile<T>(target: string, produce: (sink: Sink) => Promise<T>): Promise<T> {
  const folder = dirname(target);
  const temporary = join(folder, `.${basename(target)}.${randomBytes(6).toString('hex')}.part`);
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

/** Cleans up before Ctrl-C or a stop ends this process: what was written so far holds customers' data. */
function onInterrupt(cleanUp: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const end = (signal: NodeJS.Signals) => {
    cleanUp();
    restore();
    process.kill(process.pid, signal);
  };
  const restore = () => signals.forEach((signal) => process.off(signal, end));
  signals.forEach((signal) => process.on(signal, end));
  return restore;
}

async function writeAndClose<T>(
  handle: FileHandle,
  produce: (sink: Sink) => Promise<T>,
  sync = false,
): Promise<T> {
  try {
    const result = await produce((text) => handle.writeFile(text));
    if (sync) await handle.sync();
    return result;
  } finally {
    await handle.close();
  }
}

async function writeTo(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}
