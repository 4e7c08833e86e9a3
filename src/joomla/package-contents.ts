import { buffer } from 'node:stream/consumers';
import type { Entry, ZipFile } from 'yauzl';
import { eachEntry } from '../packages/zip';
import {
  findManifest,
  isManifest,
  XML_TOO_BIG,
  type ManifestProblem,
  type PackageManifest,
} from './manifest';
import type { NamedPath } from './manifest-files';

/** Finds files that a package lacks although its manifest, or that of an extension inside it (one level), names them. */

interface ContentFault {
  /** the path within the package; `com_acme.zip: ` before it for a path within that zip */
  path: string;
  /** the end of a sentence about the path */
  problem: string;
  /** Joomla's last message; undefined if its update succeeds without the file */
  aborts: string | undefined;
}

/** The maximum size of a zip within the package that is examined, because it must be in memory. */
const MAX_INNER_BYTES = 64_000_000;
/** The beginning of a Git LFS pointer, which is packed instead of a file if LFS was not set up. */
const LFS_POINTER = 'version https://git-lfs.';

/** @param zip its path, or the zip itself @param manifest the zip's own */
export async function findContentFaults(
  zip: string | Buffer,
  manifest: PackageManifest,
  signal?: AbortSignal,
): Promise<ContentFault[]> {
  const { named } = manifest;
  const source = sourceOf(manifest);
  const wanted = new Map(
    named.flatMap(({ folder, name }) =>
      [join(source, folder), join(source, folder, name), join(source, name)].map((one) => [one, false]),
    ),
  ) as Map<string, 'file' | 'folder' | false>;
  const extensions = extensionsOf(manifest);
  const inner: ContentFault[] = [];
  await eachEntry(
    zip,
    async (file, entry) => {
      const { fileName } = entry;
      // Joomla only creates a folder for a file in it.
      if (fileName.endsWith('/')) return;
      if (wanted.has(fileName)) wanted.set(fileName, 'file');
      for (let end = fileName.lastIndexOf('/'); end > 0; end = fileName.lastIndexOf('/', end - 1)) {
        const folder = fileName.slice(0, end);
        if (wanted.has(folder)) wanted.set(folder, 'folder');
      }
      if (extensions.has(fileName)) inner.push(...(await findInnerFaults(file, entry, signal)));
    },
    signal,
  );
  return [...named.flatMap((one) => missing(one, source, wanted) ?? []), ...inner];
}

function sourceOf({ path }: PackageManifest): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : '';
}

/** Returns the paths of the extensions inside a package. */
function extensionsOf(manifest: PackageManifest): Set<string> {
  return new Set(
    manifest.named
      .filter(({ kind }) => kind === 'extension')
      .map(({ folder, name }) => join(sourceOf(manifest), folder, name)),
  );
}

export interface Lack {
  /** sentences */
  problem: string;
  /** the first paths */
  paths: string[];
  /** Joomla's last message; undefined if its update ends in success */
  joomla: string | undefined;
}

/** Returns what a package lacks of the files that its manifest names, for publishing and for the lint. */
export async function findLack(
  zip: string | Buffer,
  manifest: PackageManifest,
  signal?: AbortSignal,
): Promise<Lack | undefined> {
  const faults = await findContentFaults(zip, manifest, signal);
  if (faults.length === 0) return undefined;
  const joomla = faults.find(({ aborts }) => aborts !== undefined)?.aborts;
  const outcome =
    joomla === undefined
      ? 'Joomla would report success, although it is missing'
      : `Joomla would end the update with "${joomla}"`;
  return {
    problem: `The package lacks parts that its manifest (${manifest.path}) names: ${describeFaults(faults)}. ${outcome}.`,
    paths: faults.slice(0, MAX_SHOWN).map(({ path }) => path),
    joomla,
  };
}

/** Lists zips in a package whose manifests do not name the package, so that tools for many sites show them separately. */
export async function findUnnamedChildren(
  zip: string | Buffer,
  manifest: PackageManifest,
): Promise<string[]> {
  if (manifest.type !== 'package') return [];
  const extensions = extensionsOf(manifest);
  const unnamed: string[] = [];
  await eachEntry(zip, async (file, entry) => {
    const { fileName, uncompressedSize } = entry;
    if (!extensions.has(fileName) || !/\.zip$/i.test(fileName) || uncompressedSize > MAX_INNER_BYTES) return;
    // Skip a zip that cannot be read, which `findContentFaults` reports.
    const child = await findManifest(await buffer(await file.openReadStreamPromise(entry))).catch(
      () => undefined,
    );
    if (child !== undefined && isManifest(child) && child.packageName === '') unnamed.push(fileName);
  });
  return unnamed;
}

function missing(
  { folder, name, kind, aborts }: NamedPath,
  source: string,
  there: ReadonlyMap<string, 'file' | 'folder' | false>,
): ContentFault | undefined {
  const wanted = join(source, folder, name);
  const isIn = kind === 'extension' || there.get(join(source, folder)) === 'folder';
  const path = isIn ? wanted : join(source, name);
  const found = there.get(path);
  if (kind === 'extension' ? found : found === kind) return undefined;
  const problem = found ? `is a ${found} and not a ${kind}` : 'is missing';
  // Name the path within the folder, even if the whole folder is missing: "css" alone would mislead the seller.
  return { path: (found ? path : wanted) || name, problem, aborts };
}

/** Joins paths without empty parts and dots, which a file system ignores. */
function join(...parts: string[]): string {
  return parts
    .flatMap((part) => part.split('/'))
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

/** Finds the faults of a zip in the package, if Joomla installs it. Other kinds of archives are not examined. */
async function findInnerFaults(zip: ZipFile, entry: Entry, signal?: AbortSignal): Promise<ContentFault[]> {
  const { fileName: path, uncompressedSize } = entry;
  if (!/\.zip$/i.test(path) || uncompressedSize > MAX_INNER_BYTES) return [];
  const fault = (problem: string): ContentFault[] => [{ path, problem, aborts: abortsPackage(path) }];
  if (uncompressedSize === 0) return fault('is empty');
  const bytes = await buffer(await zip.openReadStreamPromise(entry));
  if (bytes.subarray(0, LFS_POINTER.length).toString('latin1') === LFS_POINTER)
    return fault('is a pointer of Git LFS and not the file itself');
  try {
    const manifest = await findManifest(bytes, signal);
    if (!isManifest(manifest)) return fault(describeNoManifest(manifest));
    // Do not examine archives inside it.
    const named = manifest.named.filter(({ kind }) => kind !== 'extension');
    const faults = await findContentFaults(bytes, { ...manifest, named }, signal);
    return faults.map((one) => ({
      path: `${path}: ${one.path}`,
      problem: one.problem,
      aborts: one.aborts && abortsPackage(path),
    }));
  } catch (error) {
    signal?.throwIfAborted();
    return fault(`is not a readable zip file (${(error as Error).message})`);
  }
}

function abortsPackage(path: string): string {
  return `Package Update: There was an error installing an extension: ${path.split('/').at(-1) ?? ''}`;
}

function describeNoManifest(found: ManifestProblem): string {
  if (found.none === 'malformed')
    return `has a manifest that is not well-formed: ${found.path}: ${found.fault}`;
  return found.none === 'too-much-xml' ? `cannot be examined: ${XML_TOO_BIG}` : 'has no manifest at its top';
}

const MAX_SHOWN = 5;

/** Describes faults as the end of a sentence: "a.php is missing; b.zip is empty; and 3 more". */
export function describeFaults(faults: ContentFault[]): string {
  const shown = faults.slice(0, MAX_SHOWN).map(({ path, problem }) => `"${path}" ${problem}`);
  const others = faults.length - shown.length;
  return [...shown, ...(others > 0 ? [`and ${others} more`] : [])].join('; ');
}
