import { hash } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { API_PATH, API_TEXTS } from '../licensing/api';
import { htaccessLines } from '../setup/htaccess';
import { asCustomerLanguage, CUSTOMERS, type CustomerLanguage } from '../texts/customers/languages';

/**
 * Adapts requests under Phusion Passenger: removes the panel's base address from the path, and answers without the
 * reason if the start failed.
 */

/** Seconds in the `Retry-After` header. */
const RETRY_AFTER = 5;

/** The style of these pages, inline because no file can be loaded while the service does not run. */
const STYLE =
  'body{max-width:52rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}' +
  'h1{font-size:1.5rem}pre{padding:.75rem;border:1px solid;border-radius:.25rem;overflow-x:auto;font-size:.875rem}';

interface Place {
  /** the address that the panel gives the application, such as `/licensing-app`; empty for the host's root */
  base: string;
  /** the folder of the site in LICENSING_PUBLIC_URL, such as `/joomla`; empty if it has no folder */
  folder: string;
}

/** Forwards requests in the form that a web server with our own configuration sends. */
export function emulateWebServer(listener: RequestListener, { base, folder }: Place): RequestListener {
  return (request, response) => {
    takeBaseOff(request, base);
    // Replace the headers that a proxy would set, because no web server removes the client's own values.
    delete request.headers['x-request-id'];
    delete request.headers['x-forwarded-prefix'];
    if (folder !== '') request.headers['x-forwarded-prefix'] = folder;
    const own = ownAddress(request, base);
    if (own === undefined) listener(request, response);
    else sendPage(response, 200, 'The licence service runs', runs(own, folder));
  };
}

/** Removes the base from a path. LiteSpeed does not pass it on: there it is the part before the API's path. */
function takeBaseOff(request: IncomingMessage, base: string): void {
  const { url = '' } = request;
  const [path = ''] = url.split('?');
  if (base === '') request.url = url.slice(Math.max(0, path.indexOf(`${API_PATH}/`)));
  else if (url.startsWith(base) && /^[/?]?$/.test(url.charAt(base.length)))
    request.url = url.slice(base.length).replace(/^(?!\/)/, '/');
}

/**
 * Returns the base if a browser opens the panel's own link to the application, from which the base is already removed.
 * If the base is unknown, the path is the base.
 * @returns undefined for any other request
 */
function ownAddress({ url = '', method, headers }: IncomingMessage, base: string): string | undefined {
  if (method !== 'GET' || !/\btext\/html\b/i.test(headers.accept ?? '')) return undefined;
  if (base !== '') return url === '/' ? base : undefined;
  return /^((?:\/[\w.-]+){0,2})\/?$/.exec(url)?.[1];
}

function runs(base: string, folder: string): string {
  // An application with its own address needs no lines.
  const lines = base === '' ? '' : htaccessLines(base, folder);
  return `${
    lines &&
    `<p>To connect the site with it, add these lines to the site's <code>.htaccess</code>, below <code>RewriteEngine On</code> and above
Joomla's own rules:</p>
<pre>${escape(lines)}</pre>`
  }
<p>Then install <code>com_licensing.zip</code> in Joomla, and choose <i>Components &rarr; Licensing</i> there.</p>`;
}

/** Returns a listener that answers 503 after a failed start. The answer is public, so only the log has the reason. */
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

/** Returns the browser's first language that has texts. */
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
