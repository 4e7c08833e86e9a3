import { randomBytes } from 'node:crypto';
import { rmSync, type Stats } from 'node:fs';
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { onInterrupt } from './interrupts';
import { explainFileFault, explainReadFault } from './licensing/file-faults';
import { OperatorError } from './licensing/operator-error';

/** Takes text over, and resolves when there is room for more. */
export type Sink = (text: string) => Promise<void>;

/** Makes what a file holds; the handle is the new file's. */
export type Produce<T> = (sink: Sink, handle: FileHandle) => Promise<T>;

/** Where a file is to be written. */
export interface Place {
  /** as it was asked for, and as it is named in messages */
  path: string;
  /** absolute, with links resolved: a link goes on leading there */
  target: string;
  /** what is there; undefined: nothing */
  there: Stats | undefined;
}

/** A file that an installation lives on. */
export interface OwnFile {
  path: string;
  /** as the end of "it is ..." */
  what: string;
}

/** Files of which one may take another's place. */
export interface FileKind {
  /** as the end of "something else than ..." */
  name: string;
  /** whether a file that begins so is one */
  isOne: (beginning: string) => boolean;
}

/** Its owner's alone. */
export const PRIVATE = 0o600;
/** More than any comment at the beginning of an XML file. */
const BEGINNING_BYTES = 65_536;

/** Looks at what lies where a file is to be written. */
export async function lookAt(path: string): Promise<Place> {
  const target = await resolveLinks(path);
  return { path, target, there: await stat(target).catch(() => undefined) };
}

/**
 * Refuses a place whose file would be lost for good: one the installation lives on, or one that is not empty and of
 * another kind.
 *
 * @throws OperatorError
 */
export async function requireReplaceable(place: Place, own: OwnFile[], kind: FileKind): Promise<void> {
  await refuseOwn(place, own);
  const { path, target, there } = place;
  if (there?.isFile() && there.size > 0 && !kind.isOne(await readBeginning(path, target)))
    throw new OperatorError(
      `${path} was not written: it holds something else than ${kind.name}, which would be lost. Name another file, or remove this one first.`,
    );
}

/**
 * Refuses to write over a file the installation lives on.
 *
 * @throws OperatorError
 */
export async function refuseOwn({ path, target }: Place, own: OwnFile[]): Promise<void> {
  for (const one of own)
    if ((await resolveLinks(one.path)) === target)
      throw new OperatorError(`${path} was not written: it is ${one.what}. Name another file.`);
}

/**
 * Replaces a file as a whole, or makes it: under a temporary name beside it, synced, renamed. Until then an earlier one
 * stays as it is, and nothing is left of a new one that fails or is interrupted.
 *
 * @param mode of the file, whatever the umask; until it is whole only its owner may read it
 * @throws OperatorError when it cannot be written there, and what `produce` throws
 */
export function replaceFile<T>(place: Place, mode: number, produce: Produce<T>): Promise<T> {
  const { target } = place;
  const folder = dirname(target);
  const temporary = join(folder, `.${basename(target)}.${randomBytes(6).toString('hex')}.part`);
  return inWords(place, async () => {
    const restore = onInterrupt(() => rmSync(temporary, { force: true }));
    try {
      const result = await writeAndClose(await open(temporary, 'wx', PRIVATE), async (sink, handle) => {
        const produced = await produce(sink, handle);
        // A disk without permissions refuses to change them.
        if (mode !== PRIVATE) await handle.chmod(mode);
        await handle.sync();
        return produced;
      });
      await rename(temporary, target);
      const handle = await open(folder, 'r');
      await handle.sync().finally(() => handle.close());
      return result;
    } finally {
      restore();
      await rm(temporary, { force: true });
    }
  });
}

/**
 * Writes to what cannot be replaced, as a pipe.
 *
 * @throws OperatorError when that cannot be done, and what `produce` throws
 */
export function writeInto<T>(place: Place, produce: Produce<T>): Promise<T> {
  return inWords(place, async () => writeAndClose(await open(place.target, 'w'), produce));
}

async function writeAndClose<T>(handle: FileHandle, produce: Produce<T>): Promise<T> {
  try {
    return await produce((text) => handle.writeFile(text), handle);
  } finally {
    await handle.close();
  }
}

/** An error in words about the file that was asked for, if it is about that. */
async function inWords<T>({ path, target }: Place, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const fault = explainFileFault(error, target);
    throw fault === undefined ? error : new OperatorError(`${path} was not written: ${fault}.`);
  }
}

/** Also those on the way to a file that is not there yet. */
async function resolveLinks(path: string): Promise<string> {
  const absolute = resolve(path);
  const real = (one: string) => realpath(one).catch(() => undefined);
  const folder = dirname(absolute);
  return (await real(absolute)) ?? join((await real(folder)) ?? folder, basename(absolute));
}

async function readBeginning(path: string, target: string): Promise<string> {
  try {
    const handle = await open(target, 'r');
    try {
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(BEGINNING_BYTES) });
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new OperatorError(
      `${path} was not written: what is there cannot be looked at: ${explainReadFault(error)}. Name another file.`,
    );
  }
}
