import type { IncomingMessage } from 'node:http';
import { API_PATH } from '../licensing/api';

/** Folders that a site can have: no `//`, which would name another host, and no `..`. */
const FOLDER = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/;
const MAX_FOLDER_LENGTH = 200;

/**
 * Returns the path of the pages in the browser, such as `/joomla/api/index.php/v1/licensing/pages` for a site in a
 * folder. Only the web server in front knows the folder (`X-Forwarded-Prefix`). Cookies and forms need this path.
 */
export function pagesBase(
  { req }: { req: IncomingMessage },
  isTrusted: (request: IncomingMessage) => boolean,
): string {
  return `${folderOf(req, isTrusted)}${API_PATH}/pages`;
}

function folderOf(request: IncomingMessage, isTrusted: (request: IncomingMessage) => boolean): string {
  const folder = request.headers['x-forwarded-prefix'];
  const isFolder = typeof folder === 'string' && folder.length <= MAX_FOLDER_LENGTH && FOLDER.test(folder);
  return isFolder && isTrusted(request) ? folder : '';
}
