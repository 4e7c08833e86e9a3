import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { OperatorError } from '../../licensing/operator-error';
import {
  lookAt,
  requireReplaceable,
  type FileKind,
  type OwnFile,
  type Place,
} from '../../packages/replace-file';
import { listUpdateXmlSettings, type Product } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import type { Formerly } from '../formerly/addresses';
import { findRemembered, type Remembered } from './remembered';

/** Where update XMLs go that were not given a file of their own, and what the addresses are. */
export interface XmlHome {
  /** LICENSING_XML_DIR */
  xmlDir: string;
  /** LICENSING_PUBLIC_URL; undefined: XMLs without a file of their own are not written */
  publicUrl: string | undefined;
  /** the site's folder, whose files it serves */
  joomlaRoot?: string | undefined;
  /** LICENSING_FORMERLY: addresses that are answered with our XMLs too */
  formerly?: readonly Formerly[];
}

/** The web server serves LICENSING_XML_DIR below this path of the site. */
export const XML_PATH = '/licensing-updates/';

/**
 * The file of a product's update XML and its address, null where that is not known. Undefined: it has no element, or
 * neither a file of its own nor LICENSING_PUBLIC_URL.
 */
export async function findXmlPlace(
  db: Db,
  { id, element }: Pick<Product, 'id' | 'element'>,
  home: XmlHome,
): Promise<{ out: string; url: string | null } | undefined> {
  if (element === null) return undefined;
  const { out, file = `${element}.xml`, baseUrl } = await findRemembered(db, id);
  if (out === undefined && home.publicUrl === undefined) return undefined;
  const path = out ?? join(home.xmlDir, basename(file));
  return { out: path, url: addressOf(path, baseUrl ?? home.publicUrl, home) };
}

/** Where customers' sites ask for the file; null: not known. */
export function addressOf(
  out: string,
  baseUrl: string | undefined,
  { xmlDir, publicUrl, joomlaRoot }: XmlHome,
): string | null {
  if (dirname(out) === xmlDir)
    return publicUrl === undefined ? null : publicUrl + XML_PATH + encodeURIComponent(basename(out));
  if (joomlaRoot === undefined || baseUrl === undefined) return null;
  const path = relative(joomlaRoot, out);
  if (path.startsWith('..') || isAbsolute(path)) return null;
  return `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** The name in LICENSING_XML_DIR. @throws OperatorError when another product's update XML has it */
export async function homeFile(
  db: Db,
  { id, element }: { id: number; element: string },
  remembered: Remembered,
  home: XmlHome | undefined,
): Promise<string | undefined> {
  if (home?.publicUrl === undefined) return undefined;
  // From an import, both may be any text.
  if (remembered.file !== undefined) return basename(remembered.file);
  const file = basename(`${element}.xml`);
  const out = join(home.xmlDir, file);
  const taken = (await listUpdateXmlSettings(db)).find(({ productId, json }) => {
    const other = JSON.parse(json) as Remembered;
    return productId !== id && (other.out ?? (other.file && join(home.xmlDir, other.file))) === out;
  });
  if (taken === undefined) return file;
  throw new OperatorError(
    `${out} is the update XML of product ${taken.productId} already, whose customers ask for it by this name.`,
    { facts: { reason: 'xml-of-another', product: id } },
  );
}

/** Any update XML that Joomla can read. */
const UPDATE_XML: FileKind = {
  name: 'an update XML',
  isOne: (beginning) => /^\s*(?:(?:<\?[^>]*>|<!--(?:(?!-->)[^])*-->)\s*)*<updates[\s/>]/.test(beginning),
};

/** @throws OperatorError when the file there must not be replaced */
export async function requirePlace(out: string, own: OwnFile[]): Promise<Place> {
  const place = await lookAt(out);
  const { there } = place;
  // Replacing a device or a pipe with a file would break it.
  if (there && !there.isFile() && !there.isDirectory())
    throw new OperatorError(`${out} is no file, and is not replaced by one. Name a file with --out.`);
  await requireReplaceable(place, own, UPDATE_XML);
  return place;
}

/** The file written before, if it is another one and still there. */
export async function findLeftBehind(
  before: string | undefined,
  { target }: Place,
): Promise<string | undefined> {
  if (before === undefined) return undefined;
  const earlier = await lookAt(before);
  return earlier.there && earlier.target !== target ? before : undefined;
}
