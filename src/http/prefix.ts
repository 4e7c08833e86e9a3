import type { IncomingMessage } from 'node:http';
import { API_PATH } from '../licensing/api';

/** Folders in which a site can be: no `//`, which would name another host, and no `..`. */
const FOLDER = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/;
const LONGEST_FOLDER = 200;

/**
 * The path of the pages as the browser knows it, such as `/joomla/api/index.php/v1/licensing/pages` for a site in a
 * folder, which only the web server in front knows (`X-Forwarded-Prefix`). Cookies and forms need it.
 */
export function pagesBase(
  { req }: { req: IncomingMessage },
  isTrusted: (request: IncomingMessage) => boolean,
): string {
  return `${folderOf(req, isTrusted)}${API_PATH}/pages`;
}

function folderOf(request: IncomingMessage, isTrusted: (request: IncomingMessage) => boolean): string {
  const folder = request.headers['x-forwarded-prefix'];
  const isFolder = typeof folder === 'string' && folder.length <= LONGEST_FOLDER && FOLDER.test(folder);
  return isFolder && isTrusted(request) ? folder : '';
}
