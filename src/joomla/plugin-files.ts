import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import { escapeXml } from './xml';

/** Packs zips of Joomla plugins from the files in the folder php. */

export type PackedFile = [name: string, content: Buffer];

/** Returns the version of this program, which the plugins have. @param root the program's folder */
export async function programVersion(root: string): Promise<string> {
  return (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

/** The placeholders of the files with their values, such as a vendor's and a product's names. */
export type Placeholders = Record<string, string>;

/** Returns a folder's files with the placeholders replaced, by name. */
export async function readFolder(folder: string, words: Placeholders): Promise<PackedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths.sort().map(async (path): Promise<PackedFile> => {
      const name = fillIn(path.slice(folder.length + 1).replaceAll(sep, '/'), 'name', words);
      return [name, Buffer.from(fillIn(await readFile(path, 'utf8'), name, words))];
    }),
  );
}

/** Replaces all placeholders in one pass, because a value may contain one. Values are escaped for the kind of file. */
export function fillIn(text: string, file: string, words: Placeholders): string {
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
  // Joomla reads these values unescaped, and then replaces \" with ".
  '.ini': (value) => value.replaceAll('\\', '/').replaceAll('"', '\\"'),
};

/** A fixed date, so that equal files always make an equal zip. */
const NO_DATE = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };

export async function pack(files: PackedFile[]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files) zip.addBuffer(content, name, { ...NO_DATE, mode: 0o100644 });
  zip.end();
  return buffer(zip.outputStream);
}
