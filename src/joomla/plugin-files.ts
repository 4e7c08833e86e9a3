import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import { escapeXml } from './xml';

/** Zips of Joomla plugins, made from the files in the folder php. */

export type PackedFile = [name: string, content: Buffer];

/** The plugins have the version of this program. @param root its folder */
export async function readVersion(root: string): Promise<string> {
  return (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

/** What stands in the files for own values, such as a vendor's and a product's. */
export type Words = Record<string, string>;

/** A folder's files with their own values, by name. */
export async function readFolder(folder: string, words: Words): Promise<PackedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths.sort().map(async (path): Promise<PackedFile> => {
      const name = fillIn(path.slice(folder.length + 1).replaceAll(sep, '/'), 'name', words);
      return [name, Buffer.from(fillIn(await readFile(path, 'utf8'), name, words))];
    }),
  );
}

/** Replaces the words in one pass, because a value may contain a word; escaped for the kind of file. */
export function fillIn(text: string, file: string, words: Words): string {
  const escape = ESCAPES[/\.[a-z]+$/.exec(file)?.[0] ?? ''] ?? ((value: string) => value);
  const all = new RegExp(
    Object.keys(words)
      .map((word) => word.replaceAll('.', '\\.'))
      .join('|'),
    'g',
  );
  return text.replace(all, (word) => escape(words[word] ?? word));
}

const ESCAPES: Record<string, (value: string) => string> = {
  '.php': (value) => value.replace(/[\\']/g, '\\$&'),
  '.xml': escapeXml,
  // Joomla reads them raw, and then replaces \" by ".
  '.ini': (value) => value.replaceAll('\\', '/').replaceAll('"', '\\"'),
};

/** Equal files make an equal zip, whenever it is made. */
const NO_DATE = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };

export async function pack(files: PackedFile[]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files) zip.addBuffer(content, name, { ...NO_DATE, mode: 0o100644 });
  zip.end();
  return buffer(zip.outputStream);
}
