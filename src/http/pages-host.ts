import type { IncomingMessage } from 'node:http';
import { API_PATH } from '../licensing/api';
import { TICKET_HEADER } from './ticket-header';

/** With LICENSING_PAGES_HOST, the operator's pages and API answer on that host name alone. */

interface Asked {
  req: IncomingMessage;
  path: string;
}

interface PagesHost {
  pagesHost: string | undefined;
  isTrusted: (request: IncomingMessage) => boolean;
}

/** Customers' pages and the styles of all pages stay on the site's host. */
const OPERATORS = new RegExp(
  `^${API_PATH.replaceAll('.', '\\.')}/(?:manage|pages(?!/(?:my|assets)(?:/|$)))(?:/|$)`,
);

/**
 * Whether a request is for the operator's pages or API and came by another host name. A call of this machine that no
 * web server passed on may use any name, such as `curl http://127.0.0.1:3080/...`.
 */
export function refusedHost({ req, path }: Asked, { pagesHost, isTrusted }: PagesHost): boolean {
  if (pagesHost === undefined || !OPERATORS.test(path)) return false;
  // The component in Joomla asks on the site's host. With this header nothing else tells who asks.
  if (path === `${API_PATH}/manage/overview` && req.headers[TICKET_HEADER] !== undefined) return false;
  const isLocal = isTrusted(req) && req.headers['x-forwarded-for'] === undefined;
  return !isLocal && hostName(req.headers.host) !== pagesHost;
}

/** Without the port, and without the dot that may end a full name. */
function hostName(host = ''): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}
