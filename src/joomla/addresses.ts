import { OperatorError } from '../licensing/operator-error';
import { API_PATH } from '../licensing/api';

/** The site's folder in a path that was copied from a browser, and may continue to the site's API or pages. */
export function siteFolder(path: string): string {
  return path.replace(/(?:\/api)?\/index\.php(?:\/.*)?$|\/api$/, '');
}

/** A version's download address. Joomla appends `&dlid=KEY`. */
export function downloadAddress(baseUrl: string, productId: number, version: string): string {
  return `${baseUrl}${API_PATH}/downloads/${productId}?version=${encodeURIComponent(version)}`;
}

export interface AskedDownload {
  productId: number;
  /** undefined: the latest */
  version: string | undefined;
}

/** Parses a trimmed download address of this service; undefined for other addresses. */
export function readDownloadAddress(address: string): AskedDownload | undefined {
  const [, path = '', query = ''] = /^https?:\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/i.exec(address) ?? [];
  const id = new RegExp(`${API_PATH.replaceAll('.', '\\.')}/downloads/([0-9]+)/?$`).exec(path)?.[1];
  if (id === undefined) return undefined;
  const version = new URLSearchParams(query.replaceAll('&amp;', '&').replaceAll('+', '%2B')).get('version');
  return { productId: Number(id), version: version?.trim() || undefined };
}

/** Requires an http or https address without a user name. @throws OperatorError that begins with `what` */
export function requireWebAddress(text: string, what: string, field?: string): URL {
  const refuse = (message: string) =>
    new OperatorError(message, field === undefined ? {} : { code: 'INVALID_REQUEST', field });
  const address = text.trim();
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:\/\//i.test(address) || /\s/.test(address))
    throw refuse(`${what} must be a complete address, as https://shop.example/.`);
  if (url.username || url.password) throw refuse(`${what} must not hold a user name or password.`);
  return url;
}

/** The scheme and host of an address, without a user name or password. */
export function siteOf(address: string): string {
  return address.replace(/^(https?:\/\/)(?:[^/?#]*@)?([^/?#]*).*$/is, '$1$2');
}
