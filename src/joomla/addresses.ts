import { OperatorError } from '../licensing/operator-error';
import { API_PATH } from '../api-path';

/**
 * The folder of a site, in a path that goes on to its API or pages, as an address copied from a browser does: what the
 * service's path is added to.
 *
 * @param path without a slash at its end
 */
export function siteFolder(path: string): string {
  return path.replace(/(?:\/api)?\/index\.php(?:\/.*)?$|\/api$/, '');
}

/** The address a version's package is downloaded from; Joomla appends `&dlid=KEY`. */
export function downloadAddress(baseUrl: string, productId: number, version: string): string {
  return `${baseUrl}${API_PATH}/downloads/${productId}?version=${encodeURIComponent(version)}`;
}

/** What a download asks this service for. */
export interface AskedDownload {
  productId: number;
  /** undefined: the latest */
  version: string | undefined;
}

/**
 * What a download address asks for, when it is one of this service.
 *
 * @param address as in the XML, blanks around it gone
 */
export function readDownloadAddress(address: string): AskedDownload | undefined {
  const [, path = '', query = ''] = /^https?:\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/i.exec(address) ?? [];
  const id = new RegExp(`${API_PATH.replaceAll('.', '\\.')}/downloads/([0-9]+)/?$`).exec(path)?.[1];
  if (id === undefined) return undefined;
  const version = new URLSearchParams(query.replaceAll('&amp;', '&').replaceAll('+', '%2B')).get('version');
  return { productId: Number(id), version: version?.trim() || undefined };
}

/**
 * An address a browser or updater can ask: http or https, without a user name.
 *
 * @throws OperatorError that begins with `what`
 */
export function requireWebAddress(text: string, what: string): URL {
  const address = text.trim();
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:\/\//i.test(address) || /\s/.test(address))
    throw new OperatorError(`${what} must be a complete address, as https://shop.example/.`);
  if (url.username || url.password) throw new OperatorError(`${what} must not hold a user name or password.`);
  return url;
}

/** `https://shop.example` of an address, without a user name or password it may hold. */
export function siteOf(address: string): string {
  return address.replace(/^(https?:\/\/)(?:[^/?#]*@)?([^/?#]*).*$/is, '$1$2');
}
