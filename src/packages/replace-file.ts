import { randomBytes } from 'node:crypto';
import { constants, rmSync, type Stats } from 'node:fs';
import { lstat, mkdir, open, readlink, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { onInterrupt } from '../process/interrupts';
import { explainFileFault, explainReadFault } from './file-faults';
import { OperatorError } from '../licensing/operator-error';

/** Writes text; resolves when more can be written. */
export type Sink = (text: string) => Promise<void>;

/** Writes a file's content; the handle is that of the new file. */
type Produce<T> = (sink: Sink, handle: FileHandle) => Promise<T>;

export interface OutputFile {
  /** the path that the user typed, for messages */
  path: string;
  /** the absolute path with links resolved, so that a link stays a link */
  target: string;
  /** the existing file; undefined if there is none */
  there: Stats | undefined;
}

/** A file that the installation needs. */
export interface ProtectedFile {
  path: string;
  /** completes "it is ..." */
  what: string;
}

/** A kind of file, which another file of the same kind may overwrite. */
export interface FileKind {
  /** completes "something else than ..." */
  name: string;
  isOne: (beginning: string) => boolean;
}

/** The mode of a file that only its owner can read. */
export const PRIVATE = 0o600;
/** The number of bytes to read, which is longer than any comment at the beginning of an XML file. */
const BEGINNING_BYTES = 65_536;

/** Examines the place where a file will be written. @throws OperatorError if another user's link leads there */
export async function lookAt(path: string): Promise<OutputFile> {
  const target = await resolveLinks(path, refuseForeignLink);
  return { path, target, there: await stat(target).catch(() => undefined) };
}

/** Creates a folder for files that a web server may read. @throws OperatorError */
export async function makeFolder(folder: string): Promise<void> {
  await resolveLinks(folder, refuseForeignLink);
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
  } catch (error) {
    const fault = explainFileFault(error, join(folder, 'file'));
    throw fault === undefined ? error : new OperatorError(`The folder ${folder} was not created: ${fault}.`);
  }
}

/** Refuses to overwrite a file that the installation needs, or a non-empty file of another kind. @throws OperatorError */
export async function requireReplaceable(
  place: OutputFile,
  own: ProtectedFile[],
  kind: FileKind,
): Promise<void> {
  await refuseProtected(place, own);
  const { path, target, there } = place;
  if (there?.isFile() && there.size > 0 && !kind.isOne(await readBeginning(path, target)))
    throw new OperatorError(
      `${path} was not written: it contains something other than ${kind.name}, which would be lost. Name another file, or remove this one first.`,
    );
}

/** Refuses to overwrite a file that the installation needs. @throws OperatorError */
export async function refuseProtected({ path, target }: OutputFile, own: ProtectedFile[]): Promise<void> {
  for (const one of own)
    if ((await resolveLinks(one.path)) === target)
      throw new OperatorError(`${path} was not written: it is ${one.what}. Name another file.`);
}

/**
 * Creates or replaces a file atomically, by renaming a temporary one, so that a failure or an interrupt changes nothing.
 * @param mode the finished file's, regardless of the umask; until then only its owner may read it
 * @throws OperatorError if it cannot be written there, and the errors of `produce`
 */
export function replaceFile<T>(place: OutputFile, mode: number, produce: Produce<T>): Promise<T> {
  const { target } = place;
  const folder = dirname(target);
  const temporary = join(folder, `.${basename(target)}.${randomBytes(6).toString('hex')}.part`);
  return inWords(place, async () => {
    const restore = onInterrupt(() => rmSync(temporary, { force: true }));
    try {
      const result = await writeAndClose(await open(temporary, 'wx', PRIVATE), async (sink, handle) => {
        const produced = await produce(sink, handle);
        // Skip this if possible, because a disk without permissions refuses chmod.
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

/** Writes into a target that cannot be replaced, such as a pipe. @throws OperatorError, and the errors of `produce` */
export function writeInto<T>(place: OutputFile, produce: Produce<T>): Promise<T> {
  return inWords(place, async () => {
    const { path, target } = place;
    const named = await lstat(target);
    // Refuse another user's pipe in a shared folder, because that user reads it. A shell's pipe has no name.
    if (named.isFIFO() && !isOursOrRoots(named.uid))
      throw new OperatorError(
        `${path} was not written: it is a pipe of another user. Name a file in a folder of your own.`,
      );
    // Open without O_TRUNC, so that a file that has replaced the pipe is not changed.
    return writeAndClose(await open(target, constants.O_WRONLY), async (sink, handle) => {
      if ((await handle.stat()).isFile())
        throw new OperatorError(`${path} was not written: it has changed meanwhile. Try again.`);
      return produce(sink, handle);
    });
  });
}

async function writeAndClose<T>(handle: FileHandle, produce: Produce<T>): Promise<T> {
  try {
    return await produce((text) => handle.writeFile(text), handle);
  } finally {
    await handle.close();
  }
}

/** Converts a file error about `target` to a message with the path that the user typed. */
async function inWords<T>({ path, target }: OutputFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const fault = explainFileFault(error, target);
    throw fault === undefined ? error : new OperatorError(`${path} was not written: ${fault}.`);
  }
}

/** The maximum number of links, which is more than real paths have. The kernel has the same limit. */
const MAX_LINKS = 40;

/** A link in a path. */
interface Link {
  /** the whole path, as the user typed it */
  path: string;
  link: string;
  owner: number;
  /** true if the link itself would be written */
  isLast: boolean;
}

/**
 * Follows every link of a path, even if the file does not exist yet. A dangling link stays in the path.
 * @param judge is called before a link is followed, and throws to refuse it
 */
async function resolveLinks(path: string, judge: (link: Link) => Promise<void> = allow): Promise<string> {
  let left = resolve(path).split(sep).slice(1);
  let at: string = sep;
  let links = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = join(at, name);
    const found = await lstat(next).catch(() => undefined);
    if (!found?.isSymbolicLink() || ++links > MAX_LINKS) {
      at = next;
      continue;
    }
    await judge({ path, link: next, owner: found.uid, isLast: left.length === 0 });
    const target = resolve(at, await readlink(next));
    // A link such as /dev/fd/63, whose text is not a file name.
    const leads = await lstat(target).then(
      () => true,
      () => false,
    );
    if (!leads) {
      at = next;
      continue;
    }
    left = [...target.split(sep).slice(1), ...left];
    at = sep;
  }
  return at;
}

const allow = () => Promise.resolve();

/**
 * Refuses another user's link. In a folder that others may write, such as /tmp, it could lead a command of root to any
 * file. The kernel protects its own look-ups in the same way (fs.protected_symlinks), but only in sticky folders.
 * @throws OperatorError
 */
async function refuseForeignLink({ path, link, owner, isLast }: Link): Promise<void> {
  if (isOursOrRoots(owner)) return;
  const folder = await lstat(dirname(link));
  // Allow a folder on the path to be a link if the owner of the folder above made it and no other user can write there.
  if (!isLast && owner === folder.uid && (folder.mode & 0o022) === 0) return;
  throw new OperatorError(
    `${path} was not written: ${link === resolve(path) ? 'it' : link} is a link of another user. Name a file in a folder of your own.`,
  );
}

function isOursOrRoots(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.();
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
      `${path} was not written: the existing file cannot be examined: ${explainReadFault(error)}. Name another file.`,
    );
  }
}
