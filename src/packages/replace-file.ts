import { randomBytes } from 'node:crypto';
import { rmSync, type Stats } from 'node:fs';
import { mkdir, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { onInterrupt } from '../process/interrupts';
import { explainFileFault, explainReadFault } from './file-faults';
import { OperatorError } from '../licensing/operator-error';

/** Writes text; resolves when there is room for more. */
export type Sink = (text: string) => Promise<void>;

/** Writes a file's content; the handle is the new file's. */
export type Produce<T> = (sink: Sink, handle: FileHandle) => Promise<T>;

export interface Place {
  /** as the user gave it; used in messages */
  path: string;
  /** absolute, with links resolved, so that a link stays a link */
  target: string;
  /** the existing file; undefined: none */
  there: Stats | undefined;
}

/** A file that the installation needs. */
export interface OwnFile {
  path: string;
  /** completes "it is ..." */
  what: string;
}

/** A kind of file; a file of this kind may be overwritten by another. */
export interface FileKind {
  /** completes "something else than ..." */
  name: string;
  isOne: (beginning: string) => boolean;
}

/** Readable by its owner only. */
export const PRIVATE = 0o600;
/** Longer than any comment at the beginning of an XML file. */
const BEGINNING_BYTES = 65_536;

/** Looks at the place where a file will be written. */
export async function lookAt(path: string): Promise<Place> {
  const target = await resolveLinks(path);
  return { path, target, there: await stat(target).catch(() => undefined) };
}

/** Makes a folder to write files into, which a web server may read. @throws OperatorError */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
  } catch (error) {
    const fault = explainFileFault(error, join(folder, 'file'));
    throw fault === undefined ? error : new OperatorError(`The folder ${folder} was not made: ${fault}.`);
  }
}

/** Refuses a file the installation needs, or a non-empty file of another kind. @throws OperatorError */
export async function requireReplaceable(place: Place, own: OwnFile[], kind: FileKind): Promise<void> {
  await refuseOwn(place, own);
  const { path, target, there } = place;
  if (there?.isFile() && there.size > 0 && !kind.isOne(await readBeginning(path, target)))
    throw new OperatorError(
      `${path} was not written: it holds something else than ${kind.name}, which would be lost. Name another file, or remove this one first.`,
    );
}

/** Refuses a file the installation needs. @throws OperatorError */
export async function refuseOwn({ path, target }: Place, own: OwnFile[]): Promise<void> {
  for (const one of own)
    if ((await resolveLinks(one.path)) === target)
      throw new OperatorError(`${path} was not written: it is ${one.what}. Name another file.`);
}

/**
 * Creates or replaces a file by renaming a temporary one, so that a failure or an interrupt changes nothing.
 * @param mode of the finished file, whatever the umask; until then only its owner may read it
 * @throws OperatorError when it cannot be written there; also throws what `produce` throws
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
        // Skipped where not needed: a disk without permissions refuses chmod.
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

/** For a target that cannot be replaced, such as a pipe. @throws OperatorError; also throws what `produce` throws */
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

/** Turns a file error about `target` into a message that names the path the user gave. */
async function inWords<T>({ path, target }: Place, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const fault = explainFileFault(error, target);
    throw fault === undefined ? error : new OperatorError(`${path} was not written: ${fault}.`);
  }
}

/** Also resolves the folder's links when the file does not exist yet. */
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
