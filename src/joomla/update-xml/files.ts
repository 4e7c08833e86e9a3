import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  lookAt,
  makeFolder,
  replaceFile,
  requireReplaceable,
  type ProtectedFile,
} from '../../packages/replace-file';
import { compareVersions } from '../../licensing/versions';
import { CHANGELOG_XML, changelogBeside } from '../changelog';
import { descendants, ownText, parseXml } from '../xml';
import { requireTarget } from './location';

/** Reads and writes the files of a product's update XML, in an order that never takes back an offered version. */

/** The number of rollout buckets. nginx puts each address into one, and tries its file first (nginx/upstream.conf). */
export const ROLLOUT_BUCKETS = 100;

export interface XmlFiles {
  /** the path of the file for all sites without a file of their own */
  out: string;
  xml: string;
  changelog: string;
  /** by bucket, 0 to 99: the files for addresses that are offered something else */
  buckets: ReadonlyMap<number, string>;
  /** by version: the file with only this version, for an expired licence */
  upTo: ReadonlyMap<string, string>;
}

const BUCKET_FILE = /^([0-9]{2})\.xml$/;
const UP_TO_FILE = /^up-to-([0-9A-Za-z.+_-]+)\.xml$/;

/** Returns the name of the folder with the files of one product. */
function stemOf(out: string): string {
  return basename(out).replace(/\.xml$/i, '');
}

function bucketFolder(out: string): string {
  return join(dirname(out), 'rollout', stemOf(out));
}

function bucketPath(out: string, bucket: number): string {
  return join(bucketFolder(out), `${String(bucket).padStart(2, '0')}.xml`);
}

function upToFolder(out: string): string {
  return join(dirname(out), stemOf(out));
}

function upToPath(out: string, version: string): string {
  return join(upToFolder(out), `up-to-${version}.xml`);
}

/**
 * Writes the files that differ, and removes those that are no longer needed. The order keeps offered versions offered:
 * a larger share is written from the lowest bucket on, and buckets whose version all sites now get are removed after
 * the file for all sites is written. Versions that must no longer be offered are removed first.
 * @throws OperatorError
 */
export async function writeXmlFiles(files: XmlFiles, own: ProtectedFile[]): Promise<void> {
  const { out, xml, changelog, buckets, upTo } = files;
  const there = await readFiles(out);
  const leaving = [...there.buckets].filter(([bucket]) => !buckets.has(bucket)).reverse();
  const offered = versionsIn(xml)?.[0];
  const isStillOffered = (there: string) => {
    const before = versionsIn(there)?.[0];
    return before !== undefined && offered !== undefined && compareVersions(offered, before) >= 0;
  };
  const remove = (isLast: boolean) =>
    removeAll(
      leaving
        .filter(([, there]) => isStillOffered(there) === isLast)
        .map(([bucket]) => bucketPath(out, bucket)),
    );
  const place = await requireTarget(out, own);
  const log = await lookAt(changelogBeside(out));
  await requireReplaceable(log, own, CHANGELOG_XML);
  // Make it readable for the web server, and never writable for all users. The operator may restrict other readers.
  const mode = (place.there?.mode ?? 0) & 0o775 || 0o644;

  await remove(false);
  await removeAll(
    [...there.upTo.keys()].filter((version) => !upTo.has(version)).map((one) => upToPath(out, one)),
  );
  await writeBuckets(files, there.buckets, mode);
  for (const [version, text] of upTo)
    if (there.upTo.get(version) !== text) {
      await makeFolder(upToFolder(out));
      await replaceFile(await lookAt(upToPath(out, version)), mode, (sink) => sink(text));
    }
  await replaceFile(place, mode, (sink) => sink(xml));
  if (there.changelog !== changelog) await replaceFile(log, mode, (sink) => sink(changelog));
  await remove(true);
  if (buckets.size === 0) await removeEmpty(bucketFolder(out));
  if (upTo.size === 0) await removeEmpty(upToFolder(out));
}

/** Writes the buckets. Buckets with the same text are hard links to one file, so that the disk only syncs once. */
async function writeBuckets(
  { out, buckets }: XmlFiles,
  there: ReadonlyMap<number, string>,
  mode: number,
): Promise<void> {
  const written = new Map<string, string>();
  for (const [bucket, text] of [...buckets].sort(([a], [b]) => a - b)) {
    const path = bucketPath(out, bucket);
    const same = written.get(text);
    if (there.get(bucket) === text) {
      if (same === undefined) written.set(text, path);
      continue;
    }
    if (written.size === 0) await makeFolder(bucketFolder(out));
    if (same !== undefined && (await linkTo(same, path))) continue;
    await replaceFile(await lookAt(path), mode, (sink) => sink(text));
    written.set(text, path);
  }
}

/** Makes a hard link. @returns false if the disk does not support this */
async function linkTo(file: string, path: string): Promise<boolean> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.part`);
  try {
    await link(file, temporary);
    await rename(temporary, path);
    return true;
  } catch {
    return false;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function removeAll(paths: string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}

/** Removes the buckets of a file that is no longer written, because nginx would still try them first. */
export async function removeBucketFiles(out: string): Promise<void> {
  const left = await readFolder(bucketFolder(out), BUCKET_FILE);
  await removeAll(left.reverse().map(([, bucket]) => bucketPath(out, Number(bucket))));
  await removeEmpty(bucketFolder(out));
}

/** Removes a folder, unless it contains anything else. */
async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
}

/** Reads the present files; undefined for a file that is missing or cannot be read. */
export async function readFiles(out: string): Promise<{
  xml: string | undefined;
  changelog: string | undefined;
  buckets: Map<number, string>;
  upTo: Map<string, string>;
}> {
  const [xml, changelog] = await Promise.all([out, changelogBeside(out)].map(readIfThere));
  const buckets = new Map<number, string>();
  for (const [, bucket = '', text] of await readFolder(bucketFolder(out), BUCKET_FILE))
    buckets.set(Number(bucket), text);
  const upTo = new Map<string, string>();
  for (const [, version = '', text] of await readFolder(upToFolder(out), UP_TO_FILE)) upTo.set(version, text);
  return { xml, changelog, buckets, upTo };
}

async function readFolder(folder: string, names: RegExp): Promise<[string, string | undefined, string][]> {
  const found: [string, string | undefined, string][] = [];
  for (const name of (await readdir(folder).catch(() => [])).sort()) {
    const match = names.exec(name);
    if (match) found.push([name, match[1], (await readIfThere(join(folder, name))) ?? '']);
  }
  return found;
}

function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

/**
 * Reports whether the files are up to date. A missing changelog does not matter: it may be missing if an operator
 * copies the update XML by hand, and sites still get their updates.
 */
export function areFilesCurrent(there: Awaited<ReturnType<typeof readFiles>>, files: XmlFiles): boolean {
  return (
    there.xml === files.xml &&
    (there.changelog ?? files.changelog) === files.changelog &&
    isSame(there.buckets, files.buckets) &&
    // A superfluous file does no harm: its version is published, because a withdrawn version's file is removed.
    [...files.upTo].every(([version, text]) => there.upTo.get(version) === text)
  );
}

function isSame<Key>(a: ReadonlyMap<Key, string>, b: ReadonlyMap<Key, string>): boolean {
  return a.size === b.size && [...a].every(([key, text]) => b.get(key) === text);
}

/** Lists the versions of an update XML, in its order. */
export function versionsIn(xml: string | undefined): string[] | null {
  if (xml === undefined) return null;
  try {
    return descendants(parseXml(Buffer.from(xml)))
      .filter(({ tagName, parentNode }) => tagName === 'version' && parentNode?.nodeName === 'update')
      .map((version) => ownText(version).trim());
  } catch {
    return null;
  }
}
