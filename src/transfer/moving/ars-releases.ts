import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { decodeHTMLStrict } from 'entities';
import { explainReadFault } from '../../packages/file-faults';
import { importError } from '../refusals';
import { compareVersions, isVersion } from '../../licensing/versions';
import type { CatalogueProduct } from '../../licensing/catalogue';
import type { Db } from '../../store/engine/database';
import type { Row } from '../../store/export';
import { listReleases } from '../../store/releases';
import { momentOf, openSiteTables, trimmed, type SiteTables } from './site-tables';

/** Reads the versions of Akeeba Release System, and finds their packages on the site's disk. */

/** A version to publish. */
export interface ArsRelease {
  /** the id at the source */
  id: number;
  productId: number;
  version: string;
  file: string;
  changelog: string;
  date: Date | undefined;
}

export interface ArsReleases {
  /** the versions, in the order in which they must be published */
  releases: ArsRelease[];
  leftOut: { category: string; version: string | null; reason: string }[];
  /** the platforms of the newest version's packages at the source, such as `joomla/4.1`, keyed by product */
  environments: Map<number, string[]>;
}

const NEEDED = {
  ars_categories: ['id', 'title', 'directory', 'published'],
  ars_releases: ['id', 'category_id', 'version', 'notes', 'created', 'published'],
  ars_items: ['id', 'release_id', 'type', 'filename', 'published'],
};
const OPTIONAL = ['ars_updatestreams', 'ars_environments'];

/**
 * Reads the published versions that do not exist here yet.
 * @param map the product here, by the source's category; other categories are matched by the element of their update stream
 * @param root the site's folder, in which ARS stores the folders of its categories
 */
export async function readArsReleases(
  db: Db,
  products: CatalogueProduct[],
  { map, root, sitePrefix }: { map: Map<string, number>; root: string; sitePrefix: string | undefined },
): Promise<ArsReleases> {
  const tables = await openSiteTables(db, 'Akeeba Release System', sitePrefix, NEEDED, OPTIONAL);
  const elements = await readElements(tables);
  const environments = await readEnvironments(tables);
  const found: ArsReleases = { releases: [], leftOut: [], environments: new Map() };
  const items = await readItems(tables);
  const byCategory = new Map<string, Row[]>();
  for await (const row of tables.read('ars_releases', NEEDED.ars_releases, ['id']))
    if (Number(row.published) === 1) {
      const category = trimmed(row.category_id);
      byCategory.set(category, [...(byCategory.get(category) ?? []), row]);
    }
  const known = new Set<string>();
  for await (const category of tables.read('ars_categories', NEEDED.ars_categories, ['id'])) {
    const [id, title] = [trimmed(category.id), trimmed(category.title)];
    known.add(id);
    const releases = byCategory.get(id) ?? [];
    if (releases.length === 0) continue;
    const product = productOf(id, map, products, elements);
    const leaveOut = (version: string | null, reason: string) =>
      found.leftOut.push({ category: `${id} (${title})`, version, reason });
    if (typeof product === 'string') {
      leaveOut(null, product);
      continue;
    }
    const here = new Set((await listReleases(db, product.id)).map(({ version }) => version));
    const sorted = releases
      .map((row) => ({ row, version: trimmed(row.version) }))
      .filter(({ version }) => {
        if (!isVersion(version)) leaveOut(version, 'this service does not accept it as a version');
        return isVersion(version);
      })
      .sort((a, b) => compareVersions(a.version, b.version));
    for (const { row, version } of sorted) {
      const zips = zipsOf(items.get(trimmed(row.id)) ?? []);
      const [item, ...others] = zips;
      found.environments.set(product.id, environmentsOf(item, environments));
      if (here.has(version)) continue;
      if (item === undefined) leaveOut(version, 'it has no zip file');
      else if (others.length > 0)
        leaveOut(version, 'it has several zip files: publish the right one yourself');
      else {
        const file = fileOf(root, trimmed(category.directory), trimmed(item.filename));
        const fault = await faultOf(file, trimmed(item.sha256));
        if (fault !== undefined) leaveOut(version, fault);
        else
          found.releases.push({
            id: Number(row.id),
            productId: product.id,
            version,
            file: file as string,
            changelog: plainText(trimmed(row.notes)),
            date: momentOf(row.created),
          });
      }
    }
  }
  const unknown = [...map.keys()].find((id) => !known.has(id));
  if (unknown !== undefined) throw importError('no-category', [unknown], { field: 'releases' });
  return found;
}

/** Returns the elements of each category's update streams. */
async function readElements(tables: SiteTables): Promise<Map<string, Set<string>>> {
  const elements = new Map<string, Set<string>>();
  if (!tables.has('ars_updatestreams', 'element')) return elements;
  for await (const row of tables.read('ars_updatestreams', ['id', 'category', 'element'], ['id'])) {
    const category = trimmed(row.category);
    elements.set(category, (elements.get(category) ?? new Set()).add(trimmed(row.element)));
  }
  return elements;
}

async function readEnvironments(tables: SiteTables): Promise<Map<string, string>> {
  const titles = new Map<string, string>();
  if (tables.has('ars_environments', 'xmltitle'))
    for await (const row of tables.read('ars_environments', ['id', 'xmltitle'], ['id']))
      titles.set(trimmed(row.id), trimmed(row.xmltitle));
  return titles;
}

async function readItems(tables: SiteTables): Promise<Map<string, Row[]>> {
  const items = new Map<string, Row[]>();
  const columns = [...NEEDED.ars_items, 'sha256', 'updatestream', 'environments'];
  for await (const row of tables.read('ars_items', columns, ['id']))
    if (Number(row.published) === 1 && row.type === 'file' && /\.zip$/i.test(trimmed(row.filename)))
      items.set(trimmed(row.release_id), [...(items.get(trimmed(row.release_id)) ?? []), row]);
  return items;
}

/** Returns the items in an update stream, or all items if no item is in one. Other items are documentation, for example. */
function zipsOf(items: Row[]): Row[] {
  const streamed = items.filter(({ updatestream }) => Number(updatestream ?? 0) > 0);
  return streamed.length > 0 ? streamed : items;
}

/** Returns a category's product, or the reason that no product was found. */
function productOf(
  category: string,
  map: Map<string, number>,
  products: CatalogueProduct[],
  elements: Map<string, Set<string>>,
): CatalogueProduct | string {
  const named = map.get(category);
  if (named !== undefined)
    return products.find(({ id }) => id === named) ?? `there is no product ${named} here`;
  const wanted = elements.get(category) ?? new Set();
  const [only, ...others] = products.filter(({ element }) => element !== null && wanted.has(element));
  if (only !== undefined && others.length === 0) return only;
  return only === undefined
    ? 'no product here has the element of its update stream: name it'
    : 'several products here have elements of its update streams: name one';
}

function environmentsOf(item: Row | undefined, titles: Map<string, string>): string[] {
  try {
    const ids = JSON.parse(trimmed(item?.environments) || '[]') as unknown;
    return Array.isArray(ids) ? ids.flatMap((id) => titles.get(String(id)) ?? []) : [];
  } catch {
    return [];
  }
}

/**
 * Returns a target platform for environments such as `joomla/4` and `joomla/5.1`, written as in update XMLs here; null
 * without such a version. ARS writes an update for each environment.
 */
export function platformOf(environments: string[]): string | null {
  const patterns = environments.flatMap((title) => {
    const [, major, minor] = /^joomla\/(\d{1,3})(?:\.(\d{1,3}))?$/.exec(title) ?? [];
    if (major === undefined) return [];
    return minor === undefined ? `${major}\\.[0-9]+` : `${major}\\.${minor}\\.`;
  });
  const [only, ...others] = new Set(patterns);
  if (only === undefined) return null;
  return others.length === 0 ? only : `(${[only, ...others].join('|')})`;
}

/** Returns a file's path; undefined if it is outside the site's folder. */
function fileOf(root: string, directory: string, name: string): string | undefined {
  const path = resolve(join(root, directory, name));
  return path.startsWith(`${resolve(root)}${sep}`) ? path : undefined;
}

async function faultOf(file: string | undefined, sha256: string): Promise<string | undefined> {
  if (file === undefined) return 'its file is outside the site';
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  } catch (error) {
    return `its file cannot be read: ${explainReadFault(error)}`;
  }
  return sha256 === '' || hash.digest('hex') === sha256.toLowerCase()
    ? undefined
    : 'its file is not the one that was released there: the SHA-256 differs';
}

/** Converts notes from the HTML of ARS to the lines of text that this service stores. */
export function plainText(html: string): string {
  const bare = html
    .replace(/\r?\n\s*/g, ' ')
    .replace(/<li\b[^<>]*>/gi, '\n- ')
    .replace(/<(?:br|\/p|\/h\d|\/ul|\/ol|\/div)\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, '');
  return decodeHTMLStrict(bare)
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}
