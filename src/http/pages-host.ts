import type { IncomingMessage } from 'node:http';
import { API_PATH } from '../licensing/api';
import { TICKET_HEADER } from './ticket-header';

/** Limits the operator's pages and API to one host name, if LICENSING_PAGES_HOST is set. */

interface Asked {
  req: IncomingMessage;
  path: string;
}

interface PagesHost {
  pagesHost: string | undefined;
  isTrusted: (request: IncomingMessage) => boolean;
}

/** The operator's paths. Customers' pages and the styles of all pages remain on the site's host. */
const OPERATORS = new RegExp(
  `^${API_PATH.replaceAll('.', '\\.')}/(?:manage|pages(?!/(?:my|assets)(?:/|$)))(?:/|$)`,
);

/**
 * Reports whether a request for the operator's pages or API used another host name. A call from this machine that did
 * not pass a web server may use any name, such as `curl http://127.0.0.1:3080/...`.
 */
export function refusedHost({ req, path }: Asked, { pagesHost, isTrusted }: PagesHost): boolean {
  if (pagesHost === undefined || !OPERATORS.test(path)) return false;
  // Allow the component in Joomla, which calls on the site's host. With this header, no other credential is accepted.
  if (path === `${API_PATH}/manage/overview` && req.headers[TICKET_HEADER] !== undefined) return false;
  const isLocal = isTrusted(req) && req.headers['x-forwarded-for'] === undefined;
  return !isLocal && hostName(req.headers.host) !== pagesHost;
}

/** Returns a host name without the port, and without the dot that may end a full name. */
function hostName(host = ''): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}
