import { hash } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { API_PATH, API_TEXTS } from '../licensing/api';
import { htaccessLines } from '../setup/htaccess';
import { asCustomerLanguage, CUSTOMERS, type CustomerLanguage } from '../texts/customers/languages';

/**
 * What stands before the service under Passenger: the address below which the panel put it comes off the path, and a
 * start that failed is answered without its reason.
 */

/** In seconds. */
const RETRY_AFTER = 5;

/** No file of the pages can be loaded while the service does not run. */
const STYLE =
  'body{max-width:52rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}' +
  'h1{font-size:1.5rem}pre{padding:.75rem;border:1px solid;border-radius:.25rem;overflow-x:auto;font-size:.875rem}';

interface Place {
  /** the address that the panel gives the application, such as `/licensing-app`; empty: the host's root */
  base: string;
  /** the site's folder of LICENSING_PUBLIC_URL, such as `/joomla`; empty: none */
  folder: string;
}

/** Passes requests on as a web server with our own configuration would. */
export function behindPassenger(listener: RequestListener, { base, folder }: Place): RequestListener {
  return (request, response) => {
    takeBaseOff(request, base);
    // What a client sends reaches us: no web server in front takes it away.
    delete request.headers['x-request-id'];
    delete request.headers['x-forwarded-prefix'];
    if (folder !== '') request.headers['x-forwarded-prefix'] = folder;
    const own = ownAddress(request, base);
    if (own === undefined) listener(request, response);
    else sendPage(response, 200, 'The licence service runs', runs(own, folder));
  };
}

/** LiteSpeed does not say the base: there it is whatever goes before the API's own path. */
function takeBaseOff(request: IncomingMessage, base: string): void {
  const { url = '' } = request;
  const [path = ''] = url.split('?');
  if (base === '') request.url = url.slice(Math.max(0, path.indexOf(`${API_PATH}/`)));
  else if (url.startsWith(base) && /^[/?]?$/.test(url.charAt(base.length)))
    request.url = url.slice(base.length).replace(/^(?!\/)/, '/');
}

/**
 * Whether it is the panel's own link to the application, of a request without the base; where that is not said, the path is
 * the base.
 * @returns the base; undefined: another request
 */
function ownAddress({ url = '', method, headers }: IncomingMessage, base: string): string | undefined {
  if (method !== 'GET' || !/\btext\/html\b/i.test(headers.accept ?? '')) return undefined;
  if (base !== '') return url === '/' ? base : undefined;
  return /^((?:\/[\w.-]+){0,2})\/?$/.exec(url)?.[1];
}

function runs(base: string, folder: string): string {
  // An address of its own needs no lines.
  const lines = base === '' ? '' : htaccessLines(base, folder);
  return `${
    lines &&
    `<p>The site leads to it once these lines stand in its <code>.htaccess</code>, below <code>RewriteEngine On</code> and above
Joomla's own rules:</p>
<pre>${escape(lines)}</pre>`
  }
<p>Then install <code>com_licensing.zip</code> in Joomla, and choose <i>Components &rarr; Licensing</i> there.</p>`;
}

/** Answers that the service could not start. Anybody may read it, so only the log has the reason. */
export function unavailable(base: string): RequestListener {
  return (request, response) => {
    takeBaseOff(request, base);
    sendUnavailable(request, response, base);
  };
}

function sendUnavailable(request: IncomingMessage, response: ServerResponse, base: string): void {
  response.setHeader('Retry-After', String(RETRY_AFTER));
  const [path = ''] = (request.url ?? '').split('?');
  if (path.startsWith(`${API_PATH}/pages`) || ownAddress(request, base) !== undefined) {
    const language = languageOf(request);
    const { notReady, notReadyHint, notReadyOwner } = CUSTOMERS[language].kit.errors;
    const html = `<p>${notReadyHint}</p>\n<p>${notReadyOwner}</p>`;
    sendPage(response, 503, notReady, html, language);
  } else if (path.startsWith(`${API_PATH}/downloads`))
    send(response, 503, 'text/plain; charset=utf-8', API_TEXTS.SERVICE_UNAVAILABLE);
  else
    send(
      response,
      503,
      'application/json; charset=utf-8',
      JSON.stringify({ error: { code: 'SERVICE_UNAVAILABLE', message: API_TEXTS.SERVICE_UNAVAILABLE } }),
    );
}

/** The first language of the browser that there is. */
function languageOf({ headers }: IncomingMessage): CustomerLanguage {
  const asked = (headers['accept-language'] ?? '').split(',').map((one) => one.trim().slice(0, 2));
  return asked.map(asCustomerLanguage).find((one) => one !== undefined) ?? 'en';
}

function sendPage(
  response: ServerResponse,
  status: number,
  title: string,
  html: string,
  language: CustomerLanguage = 'en',
): void {
  response.setHeader(
    'Content-Security-Policy',
    `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  response.setHeader('Referrer-Policy', 'no-referrer');
  send(
    response,
    status,
    'text/html; charset=utf-8',
    `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
${html}
</body>
</html>
`,
  );
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
