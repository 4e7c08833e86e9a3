import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { OperatorError } from '../../licensing/operator-error';
import {
  lookAt,
  requireReplaceable,
  type FileKind,
  type ProtectedFile,
  type OutputFile,
} from '../../packages/replace-file';
import { listUpdateXmlSettings, type Product } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import type { Formerly } from '../formerly/addresses';
import { readSavedOptions, type SavedOptions } from './saved-options';

/** The default folder of update XMLs, and the parts of their URLs. */
export interface XmlLocation {
  /** LICENSING_XML_DIR */
  xmlDir: string;
  /** LICENSING_PUBLIC_URL; without it, XMLs without a file of their own are not written */
  publicUrl: string | undefined;
  /** the site's folder, whose files it serves */
  joomlaRoot?: string | undefined;
  /** LICENSING_FORMERLY: the legacy URLs that are also served with our XMLs */
  formerly?: readonly Formerly[];
}

/** The path of the site below which the web server serves LICENSING_XML_DIR. */
export const XML_PATH = '/licensing-updates/';

/**
 * Returns the file of a product's update XML and its URL, or null if that is unknown. Undefined: the product has no
 * element, or neither a file of its own nor LICENSING_PUBLIC_URL.
 */
export async function locateUpdateXml(
  db: Db,
  { id, element }: Pick<Product, 'id' | 'element'>,
  home: XmlLocation,
): Promise<{ out: string; url: string | null } | undefined> {
  if (element === null) return undefined;
  const { out, file = `${element}.xml`, baseUrl } = await readSavedOptions(db, id);
  if (out === undefined && home.publicUrl === undefined) return undefined;
  const path = out ?? join(home.xmlDir, basename(file));
  return { out: path, url: addressOf(path, baseUrl ?? home.publicUrl, home) };
}

/** Returns the URL that customers' sites read; null if unknown. */
export function addressOf(
  out: string,
  baseUrl: string | undefined,
  { xmlDir, publicUrl, joomlaRoot }: XmlLocation,
): string | null {
  if (dirname(out) === xmlDir)
    return publicUrl === undefined ? null : publicUrl + XML_PATH + encodeURIComponent(basename(out));
  if (joomlaRoot === undefined || baseUrl === undefined) return null;
  const path = relative(joomlaRoot, out);
  if (path.startsWith('..') || isAbsolute(path)) return null;
  return `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** Returns the file name in LICENSING_XML_DIR. @throws OperatorError if another product's update XML has it */
export async function homeFile(
  db: Db,
  { id, element }: { id: number; element: string },
  remembered: SavedOptions,
  home: XmlLocation | undefined,
): Promise<string | undefined> {
  if (home?.publicUrl === undefined) return undefined;
  // Remove folders, because imported values may be any text.
  if (remembered.file !== undefined) return basename(remembered.file);
  const file = basename(`${element}.xml`);
  const out = join(home.xmlDir, file);
  const taken = (await listUpdateXmlSettings(db)).find(({ productId, json }) => {
    const other = JSON.parse(json) as SavedOptions;
    return productId !== id && (other.out ?? (other.file && join(home.xmlDir, other.file))) === out;
  });
  if (taken === undefined) return file;
  throw new OperatorError(
    `${out} is already the update XML of product ${taken.productId}, and its customers' sites request it by this name.`,
    { facts: { reason: 'xml-of-another', product: id } },
  );
}

/** The kind of file of any update XML that Joomla can read. */
const UPDATE_XML: FileKind = {
  name: 'an update XML',
  isOne: (beginning) => /^\s*(?:(?:<\?[^>]*>|<!--(?:(?!-->)[^])*-->)\s*)*<updates[\s/>]/.test(beginning),
};

/** Checks whether the file may be replaced. @throws OperatorError */
export async function requireTarget(out: string, own: ProtectedFile[]): Promise<OutputFile> {
  const place = await lookAt(out);
  const { there } = place;
  // Refuse a device or a pipe, which a file would break.
  if (there && !there.isFile() && !there.isDirectory())
    throw new OperatorError(`${out} is not a file, so it is not overwritten. Name a file with --out.`);
  await requireReplaceable(place, own, UPDATE_XML);
  return place;
}

/** Returns the file that was written before, if it is another one and still exists. */
export async function findOrphanedFile(
  before: string | undefined,
  { target }: OutputFile,
): Promise<string | undefined> {
  if (before === undefined) return undefined;
  const earlier = await lookAt(before);
  return earlier.there && earlier.target !== target ? before : undefined;
}
