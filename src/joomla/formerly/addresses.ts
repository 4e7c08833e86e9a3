import { chunksOf } from '../../base/chunks';
import { OperatorError } from '../../licensing/operator-error';

/**
 * Addresses of the system that a seller used before, which customers' sites go on asking for years. The web server answers
 * them in its place (docs/moving-in-addresses.md).
 */

const SYSTEMS = ['ars', 'membershippro', 'edd', 'path'] as const;
type FormerSystem = (typeof SYSTEMS)[number];

/** One `--formerly`: what the former system called it, and the product here. */
export interface Formerly {
  system: FormerSystem;
  /** the number of an update stream, a document or a download there; of `path`, the path */
  id: string;
  productId: number;
}

/**
 * A path of a site: no blank, quote or sign of a query, because configurations contain it as it stands. One `*`, because
 * the time to compare a request with more grows with the square of its length.
 */
const PATH = /^\/(?=.)[A-Za-z0-9._~/-]*(?:\*[A-Za-z0-9._~/-]*)?$/;

/** Reads `ars=7:42`, or `path=/old/updates.xml:42`. @throws OperatorError */
export function readFormerly(text: string): Formerly {
  const [, system = '', id = '', product = ''] = /^([a-z]+)=(.+):([0-9]{1,10})$/.exec(text.trim()) ?? [];
  if (!isSystem(system))
    throw new OperatorError(
      `"${text}" must be SYSTEM=ID:PRODUCT, such as ars=7:42. The systems are ${SYSTEMS.join(', ')}.`,
    );
  if (system === 'path' ? !PATH.test(id) : !/^[0-9]{1,10}$/.test(id))
    throw new OperatorError(
      system === 'path'
        ? `"${text}": the path must begin with / and have only letters, digits, .-_~/ and one * in it, such as path=/old/updates.xml:42.`
        : `"${text}": what the former system calls it must be a number, such as ${system}=7:42.`,
    );
  return { system, id: system === 'path' ? id : String(Number(id)), productId: Number(product) };
}

/** Several of them, with commas or blanks between. @throws OperatorError */
export function readFormerlyList(text: string): Formerly[] {
  return requireDifferent(
    text
      .split(/[\s,]+/)
      .filter((one) => one !== '')
      .map(readFormerly),
  );
}

/** @throws OperatorError when an address is there twice */
export function requireDifferent(list: Formerly[]): Formerly[] {
  const names = list.map(nameOfFormerly);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new OperatorError(`${twice} is named twice.`);
  return list;
}

/** As the option and the logs name it: `ars=7`. */
export function nameOfFormerly({ system, id }: Pick<Formerly, 'system' | 'id'>): string {
  return `${system}=${id}`;
}

/** As `--formerly` and LICENSING_FORMERLY have it. */
export function writeFormerly(one: Formerly): string {
  return `${nameOfFormerly(one)}:${one.productId}`;
}

function isSystem(text: string): text is FormerSystem {
  return (SYSTEMS as readonly string[]).includes(text);
}

/** What a request for a former address is answered with. */
export type Asked = 'xml' | 'download' | 'edd';

/** The requests that are for one former address. */
export interface FormerAddress {
  /** as logs name it, `ars=7` or `ars=7 download` */
  name: string;
  asked: Asked;
  productId: number;
  /**
   * Of `METHOD PATH?QUERY`, without regard to case. JavaScript, nginx and Apache read it alike. It has no quotes and no
   * captures.
   */
  pattern: string;
}

/** A configuration's line has room for so many numbers. */
const ITEMS_AT_ONCE = 200;

/**
 * The requests that belong to each former address, in any order of their parameters.
 * @param itemsOf the downloads of an update stream of ARS, where they are known
 * @param folder of a site in a sub-folder: `/joomla`, else empty
 */
export function formerAddresses(
  list: readonly Formerly[],
  itemsOf: ReadonlyMap<string, string[]>,
  folder: string,
): FormerAddress[] {
  return list.flatMap((one): FormerAddress[] => {
    const { system, id, productId } = one;
    const name = nameOfFormerly(one);
    switch (system) {
      case 'ars': {
        const items = itemsOf.get(id) ?? [];
        return [
          { name, asked: 'xml', productId, pattern: arsStream(id) },
          ...[...chunksOf(items, ITEMS_AT_ONCE)].map((part): FormerAddress => ({
            name: `${name} download`,
            asked: 'download',
            productId,
            pattern: arsItems(part),
          })),
        ];
      }
      case 'membershippro':
        return [{ name, asked: 'download', productId, pattern: membershipProDocument(id) }];
      case 'edd':
        return [{ name, asked: 'edd', productId, pattern: eddDownload(id) }];
      case 'path':
        return [
          { name, asked: isPackagePath(id) ? 'download' : 'xml', productId, pattern: wholePath(id, folder) },
        ];
    }
  });
}

/** Reports whether the web server answers a former address, at this site, with a product's update XML. */
export function isFormerXml(
  { pathname, search }: URL,
  list: readonly Formerly[],
  productId: number,
  folder: string,
): boolean {
  const request = `GET ${pathname}?${search.slice(1)}`;
  return formerAddresses(list, new Map(), folder).some(
    (one) => one.asked === 'xml' && one.productId === productId && new RegExp(one.pattern, 'i').test(request),
  );
}

/** The path of a package; any other is an update XML's. */
export function isPackagePath(path: string): boolean {
  return /\.zip$/i.test(path);
}

// Not the former system's own administration, nor the site's API.
const ANY_PATH = '^(?:GET|HEAD) (?![^?]*/(?:administrator|api)/)';

/** A parameter, also behind "&amp;", as some sites keep the addresses of their update sites. */
const parameter = (text: string) => `[^?]*\\?(?:.*[&;])?${text}`;
const has = (text: string) => `(?=${parameter(text)})`;
const hasNot = (text: string) => `(?!${parameter(text)})`;
/** Whole numbers; what follows them PHP does not read. */
const number = (ids: string[]) => `0*(?:${ids.join('|')})(?![0-9])`;

/** The option in the query, or the path of a component without a menu item. */
const ARS = `(?:${has('option=com_ars(?:&|$)')}|(?=[^?]*/component/ars[/.?]))`;

function arsStream(id: string): string {
  return `${ANY_PATH}${ARS}${has('view=updates?(?:&|$)')}${has('(?:task=(?:update\\.)?|layout=)stream(?:&|$)')}${has(`(?:stream_?)?id=${number([id])}`)}`;
}

function arsItems(ids: string[]): string {
  return `${ANY_PATH}${ARS}${has('view=(?:item|download)(?:&|$)')}${hasNot('(?:layout=|task=(?!(?:item\\.)?download(?:&|$)))')}${has(`(?:item_)?id=${number(ids)}`)}`;
}

function membershipProDocument(id: string): string {
  return `${ANY_PATH}${has('task=(?:[a-z_]+\\.)?download_update_package(?:&|$)')}${hasNot('option=(?!com_osmembership(?:&|$))')}${has(`document_id=${number([id])}`)}`;
}

function eddDownload(id: string): string {
  return `${ANY_PATH}${has('edd_action=get_version(?:&|$)')}${has(`item_id=${number([id])}`)}`;
}

/** Joomla puts `index.php` and a language before the path. */
function wholePath(path: string, folder: string): string {
  const isBelow = folder !== '' && path.startsWith(`${folder}/`);
  const rest = isBelow ? path.slice(folder.length) : path;
  const literal = (text: string) => text.replace(/[.~-]/g, '\\$&').replaceAll('*', '[^?]*');
  return `^(?:GET|HEAD) ${literal(isBelow ? folder : '')}(?:/index\\.php)?(?:/[a-z]{2,3}(?:-[a-z0-9]{2,8})?)?${literal(rest)}\\?`;
}

/** The parameters that have the key at former systems. Shorter texts are numbers of something. */
export const KEY_PARAMETERS = '(?:dlid|download_id|license_key|license|key)';
export const LEAST_KEY_LENGTH = 8;

/** An address of it without a key, as the doctor asks for it. */
export function exampleAddress({ system, id }: Formerly, folder: string): string {
  switch (system) {
    case 'ars':
      return `${folder}/index.php?option=com_ars&view=update&task=stream&format=xml&id=${id}`;
    case 'membershippro':
      return `${folder}/index.php?option=com_osmembership&task=download_update_package&document_id=${id}`;
    case 'edd':
      return `${folder}/?edd_action=get_version&item_id=${id}`;
    case 'path':
      return id.replaceAll('*', 'x');
  }
}

/** The sub-folder of a site's address, such as `/joomla`; empty without one. */
export function folderOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
}
