import { chunksOf } from '../../base/chunks';
import { OperatorError } from '../../licensing/operator-error';

/**
 * Legacy URLs: addresses of the seller's former system, which customers' sites keep requesting for years. The web
 * server responds with the present update XML or package (docs/moving-in-addresses.md).
 */

const SYSTEMS = ['ars', 'membershippro', 'edd', 'path'] as const;
type FormerSystem = (typeof SYSTEMS)[number];

/** One `--formerly`: the former system's name for something, and the product here. */
export interface Formerly {
  system: FormerSystem;
  /** the number of an update stream, a document or a download in that system; for `path`, the path */
  id: string;
  productId: number;
}

/**
 * A path of a site, without blanks, quotes and query characters, because it is written into configurations. At most one
 * `*`, because the time to match more grows with the square of a request's length.
 */
const PATH = /^\/(?=.)[A-Za-z0-9._~/-]*(?:\*[A-Za-z0-9._~/-]*)?$/;

/** Parses `ars=7:42` or `path=/old/updates.xml:42`. @throws OperatorError */
export function readFormerly(text: string): Formerly {
  const [, system = '', id = '', product = ''] = /^([a-z]+)=(.+):([0-9]{1,10})$/.exec(text.trim()) ?? [];
  if (!isSystem(system))
    throw new OperatorError(
      `"${text}" must be SYSTEM=ID:PRODUCT, such as ars=7:42. The systems are ${SYSTEMS.join(', ')}.`,
    );
  if (system === 'path' ? !PATH.test(id) : !/^[0-9]{1,10}$/.test(id))
    throw new OperatorError(
      system === 'path'
        ? `"${text}": the path must begin with / and contain only letters, digits, .-_~/ and one *, such as path=/old/updates.xml:42.`
        : `"${text}": the former system's id must be a number, such as ${system}=7:42.`,
    );
  return { system, id: system === 'path' ? id : String(Number(id)), productId: Number(product) };
}

/** Parses a list that is separated by commas or blanks. @throws OperatorError */
export function readFormerlyList(text: string): Formerly[] {
  return requireDifferent(
    text
      .split(/[\s,]+/)
      .filter((one) => one !== '')
      .map(readFormerly),
  );
}

/** Refuses a list that contains an address twice. @throws OperatorError */
export function requireDifferent(list: Formerly[]): Formerly[] {
  const names = list.map(nameOfFormerly);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new OperatorError(`${twice} is named twice.`);
  return list;
}

/** Returns the name of an address in the option and in logs: `ars=7`. */
export function nameOfFormerly({ system, id }: Pick<Formerly, 'system' | 'id'>): string {
  return `${system}=${id}`;
}

/** Returns the form of `--formerly` and LICENSING_FORMERLY. */
export function writeFormerly(one: Formerly): string {
  return `${nameOfFormerly(one)}:${one.productId}`;
}

function isSystem(text: string): text is FormerSystem {
  return (SYSTEMS as readonly string[]).includes(text);
}

/** The kinds of responses to a request for a legacy URL. */
export type FormerRequestKind = 'xml' | 'download' | 'edd';

/** The requests for one legacy URL. */
export interface FormerAddress {
  /** the name in logs, `ars=7` or `ars=7 download` */
  name: string;
  asked: FormerRequestKind;
  productId: number;
  /**
   * A pattern for `METHOD PATH?QUERY`, ignoring case, which means the same to JavaScript, nginx and Apache. It has no
   * quotes and no captures.
   */
  pattern: string;
}

/** The maximum number of ids in one line of a configuration. */
const BATCH_SIZE = 200;

/**
 * Returns patterns for all requests to legacy URLs, with their parameters in any order.
 * @param itemsOf the downloads of ARS's update streams, where they are known
 * @param folder the sub-folder of the site, such as `/joomla`, or empty
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
          ...[...chunksOf(items, BATCH_SIZE)].map((part): FormerAddress => ({
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

/** Reports whether a URL of this site is a legacy URL to which the web server responds with a product's update XML. */
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

/** Reports whether a path leads to a package. Any other path leads to an update XML. */
export function isPackagePath(path: string): boolean {
  return /\.zip$/i.test(path);
}

// The former system's own administration and the site's API do not match.
const ANY_PATH = '^(?:GET|HEAD) (?![^?]*/(?:administrator|api)/)';

/** Matches a parameter, even after "&amp;", which some sites have in the addresses of their update sites. */
const parameter = (text: string) => `[^?]*\\?(?:.*[&;])?${text}`;
const has = (text: string) => `(?=${parameter(text)})`;
const hasNot = (text: string) => `(?!${parameter(text)})`;
/** Matches whole numbers. PHP ignores the text after them. */
const number = (ids: string[]) => `0*(?:${ids.join('|')})(?![0-9])`;

/** Matches the option in the query, or the path of a component without a menu item. */
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

/** Matches a path. Joomla puts `index.php` and a language before it. */
function wholePath(path: string, folder: string): string {
  const isBelow = folder !== '' && path.startsWith(`${folder}/`);
  const rest = isBelow ? path.slice(folder.length) : path;
  const literal = (text: string) => text.replace(/[.~-]/g, '\\$&').replaceAll('*', '[^?]*');
  return `^(?:GET|HEAD) ${literal(isBelow ? folder : '')}(?:/index\\.php)?(?:/[a-z]{2,3}(?:-[a-z0-9]{2,8})?)?${literal(rest)}\\?`;
}

/** The parameters in which former systems send the key. Shorter values are ids of something. */
export const KEY_PARAMETERS = '(?:dlid|download_id|license_key|license|key)';
export const MIN_FORMER_KEY_LENGTH = 8;

/** Returns an example of a legacy URL without a key, which the doctor requests. */
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

/** Returns the sub-folder of a site's address, such as `/joomla`; empty without one. */
export function folderOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
}
