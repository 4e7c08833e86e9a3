import { createCode, CUSTOMER_CODE_TTL_MS, OPERATOR_CODE_TTL_MS } from '../../../src/access/one-time-codes';
import { PREFIX, type TestService } from '../../support/service';

/** The pages over HTTP without a browser, with cookies and forms like those of a browser. */

export interface PagesAnswer {
  status: number;
  headers: Headers;
  html: string;
  /** The target of a redirect, below `pages`. */
  location: string | undefined;
}

export interface PagesOptions {
  /** The operator's scope. With `none`, no operator is signed in. */
  scope?: 'read' | 'write' | 'none';
  language?: 'en' | 'de';
}

export type Fields = Record<string, string | number | readonly string[]>;

export interface PagesClient {
  /** Cookies by name. All are sent with every path. */
  cookies: Map<string, string>;
  /** @param path below `pages`, with its query */
  get(path: string, headers?: Record<string, string>): Promise<PagesAnswer>;
  /** Sends a form with the `once` of the page that was shown last, unless `fields` has one. */
  post(path: string, fields?: Fields | FormData, headers?: Record<string, string>): Promise<PagesAnswer>;
  /** Sends a form, and opens the page that it leads to. */
  send(path: string, fields?: Fields | FormData): Promise<PagesAnswer>;
}

type Service = Pick<TestService, 'url' | 'db' | 'clock'>;

/** Signs in as an operator with a one-time link (`operator:root` in the history). */
export async function pagesClient(
  service: Service,
  { scope = 'write', language = 'en' }: PagesOptions = {},
): Promise<PagesClient> {
  const client = createClient(service.url, language);
  if (scope === 'none') return client;
  const who = { kind: 'operator', actor: 'operator:root', name: 'root', scope, operatorId: null } as const;
  const code = await createCode(service.db, who, OPERATOR_CODE_TTL_MS, service.clock.now);
  return signedIn(client, await client.post(`/enter/${code}`));
}

/** Opens the customer's page with a licence key, or with the link that is mailed to an address. */
export async function customerClient(
  service: Service,
  by: { key: string } | { email: string },
  { language = 'en' }: Pick<PagesOptions, 'language'> = {},
): Promise<PagesClient> {
  const client = createClient(service.url, language);
  if ('key' in by) return signedIn(client, await client.post('/my', { key: by.key }));
  const who = { kind: 'customer', email: by.email } as const;
  const code = await createCode(service.db, who, CUSTOMER_CODE_TTL_MS, service.clock.now);
  return signedIn(client, await client.post(`/my/enter/${code}`));
}

function signedIn(client: PagesClient, { status, html }: PagesAnswer): PagesClient {
  if (status !== 303) throw new Error(`Nobody was signed in: ${status} ${html}`);
  return client;
}

let clients = 0;

function createClient(url: string, language: string): PagesClient {
  // Each visitor has their own network, so that limits count them apart.
  const network = `10.77.${(++clients >> 8) & 255}.${clients & 255}`;
  const cookies = new Map<string, string>();
  let once: string | undefined;

  async function call(
    path: string,
    init: RequestInit,
    headers: Record<string, string>,
  ): Promise<PagesAnswer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${url}${PREFIX}/pages${path}`, {
      ...init,
      redirect: 'manual',
      headers: {
        'X-Forwarded-For': network,
        'Accept-Language': language,
        // Compression takes a third of the time for a page.
        'Accept-Encoding': 'identity',
        ...(cookie === '' ? {} : { Cookie: cookie }),
        ...headers,
      },
    });
    for (const one of response.headers.getSetCookie()) keep(cookies, one);
    const html = await response.text();
    once = formOf(html).once ?? once;
    const location = response.headers.get('location')?.replace(/^.*?\/pages(?=[/?]|$)/, '');
    return { status: response.status, headers: response.headers, html, location };
  }

  const client: PagesClient = {
    cookies,
    get: (path, headers = {}) => call(path, { method: 'GET' }, headers),
    post(path, fields = {}, headers = {}) {
      const own = { Origin: url, ...headers };
      if (fields instanceof FormData) return call(path, { method: 'POST', body: fields }, own);
      const body = new URLSearchParams(once === undefined || 'once' in fields ? {} : { once });
      for (const [name, value] of Object.entries(fields))
        for (const one of Array.isArray(value) ? (value as string[]) : [String(value)])
          body.append(name, one);
      return call(path, { method: 'POST', body }, own);
    },
    async send(path, fields) {
      const { status, html, location } = await client.post(path, fields);
      if (location === undefined) throw new Error(`POST ${path} led nowhere: ${status} ${textOf(html)}`);
      return client.get(location);
    },
  };
  return client;
}

/** Keeps a cookie of the answer, or deletes it. */
function keep(cookies: Map<string, string>, setCookie: string): void {
  const [pair = '', ...attributes] = setCookie.split(/; */);
  const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
  const isOver = attributes.some((one) => /^max-age=0$|^expires=Thu, 01 Jan 1970/i.test(one));
  if (value === '' || isOver) cookies.delete(name);
  else cookies.set(name, value);
}

/** Returns a form's hidden fields by name. @param action the end of the form's address; by default the first form in `main` */
export function formOf(html: string, action = ''): Record<string, string> {
  const main = html.slice(Math.max(0, html.indexOf('<main')));
  const forms = [...main.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)];
  const found = forms.find(([, attributes = '']) =>
    unescape(attributes)
      .replace(/\?[^"]*/, '')
      .includes(`${action}"`),
  );
  const [, attributes = '', inside = ''] = (action === '' ? forms[0] : found) ?? [];
  const fields = [...inside.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  // The id of an upload is part of the form's address.
  const once = /[?&]once=([\w-]+)/.exec(unescape(attributes))?.[1];
  return {
    ...(once === undefined ? {} : { once }),
    ...Object.fromEntries(fields.map(([, name = '', value = '']) => [name, unescape(value)])),
  };
}

/** Returns the text that a reader sees in a page's main part, with single spaces between words. */
export function textOf(html: string): string {
  const main = html.slice(Math.max(0, html.indexOf('<main')), html.indexOf('</main>') + 1 || undefined);
  return unescape(main.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}

function unescape(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
