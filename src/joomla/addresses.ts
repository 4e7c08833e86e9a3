import { OperatorError } from '../licensing/operator-error';
import { API_PATH } from '../licensing/api';

/** Returns the site's folder from a path that was copied from a browser, without the site's API or pages. */
export function siteFolder(path: string): string {
  return path.replace(/(?:\/api)?\/index\.php(?:\/.*)?$|\/api$/, '');
}

/** Returns the download URL of a version. Joomla appends `&dlid=KEY`. */
export function downloadAddress(baseUrl: string, productId: number, version: string): string {
  return `${baseUrl}${API_PATH}/downloads/${productId}?version=${encodeURIComponent(version)}`;
}

export interface AskedDownload {
  productId: number;
  /** undefined for the latest version */
  version: string | undefined;
}

/** Parses a trimmed download URL of this service; undefined for other URLs. */
export function readDownloadAddress(address: string): AskedDownload | undefined {
  const [, path = '', query = ''] = /^https?:\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/i.exec(address) ?? [];
  const id = new RegExp(`${API_PATH.replaceAll('.', '\\.')}/downloads/([0-9]+)/?$`).exec(path)?.[1];
  if (id === undefined) return undefined;
  const version = new URLSearchParams(query.replaceAll('&amp;', '&').replaceAll('+', '%2B')).get('version');
  return { productId: Number(id), version: version?.trim() || undefined };
}

/** Requires an http or https URL without a user name. @throws OperatorError whose message begins with `what` */
export function requireWebAddress(text: string, what: string, field?: string): URL {
  const refuse = (message: string) =>
    new OperatorError(message, field === undefined ? {} : { code: 'INVALID_REQUEST', field });
  const address = text.trim();
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:\/\//i.test(address) || /\s/.test(address))
    throw refuse(`${what} must be a complete address, such as https://shop.example/.`);
  if (url.username || url.password) throw refuse(`${what} must not contain a user name or password.`);
  return url;
}

/** Returns the scheme and host of a URL, without a user name or password. */
export function schemeAndHostOf(address: string): string {
  return address.replace(/^(https?:\/\/)(?:[^/?#]*@)?([^/?#]*).*$/is, '$1$2');
}
