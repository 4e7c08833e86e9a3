import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { emulateWebServer, unavailable } from '../../src/http/hosted';
import { htaccessLines } from '../../src/setup/htaccess';

/** What stands before the service on shared hosting, where the panel's server says the base and where it does not. */

const API = 'api/index.php/v1/licensing';

/** @returns the status and the text; undefined: the service is asked */
function answer(
  url: string,
  { base = '', folder = '', fails = false, accept = 'text/html', language = '' } = {},
) {
  let said: { status: number; text: string } | undefined;
  const response = {
    setHeader: () => undefined,
    writeHead: (status: number) => (said = { status, text: '' }),
    end: (text: string) => {
      if (said) said.text = text;
    },
  } as unknown as ServerResponse;
  const request = {
    url,
    method: 'GET',
    headers: { accept, 'accept-language': language },
  } as unknown as IncomingMessage;
  const listener = fails ? unavailable(base) : emulateWebServer(() => undefined, { base, folder });
  listener(request, response);
  return said;
}

describe("the panel's link to the application", () => {
  it.each([
    ['/licensing-app/', { base: '/licensing-app' }],
    ['/licensing-app', { base: '/licensing-app' }],
    // LiteSpeed says no base.
    ['/licensing-app/', {}],
    ['/licensing-app', {}],
    ['/joomla/licensing-app/', { folder: '/joomla' }],
    ['/joomla/licensing-app/', { base: '/joomla/licensing-app', folder: '/joomla' }],
  ])('%s shows the lines of the site, or where the seller finds why it cannot start', (url, place) => {
    const text = answer(url, place)?.text;
    for (const line of htaccessLines('/licensing-app').trim().split('\n')) expect(text).toContain(line);
    for (const [language, says] of [
      ['', 'The reason is in the log of the application'],
      ['fr, de-DE;q=0.8', 'Der Grund steht im Protokoll der Anwendung'],
    ] as const)
      expect(answer(url, { ...place, fails: true, language })).toMatchObject({
        status: 503,
        text: expect.stringContaining(says),
      });
  });

  it('has no lines where the application has an address of its own', () => {
    expect(answer('/')?.text).toContain('com_licensing.zip');
    expect(answer('/')?.text).not.toContain('RewriteRule');
  });

  it.each(['/licensing-app/a/b', '/licensing-app/?x=1', '/licensing-app/<b>', `/licensing-app/${API}/pages`])(
    '%s is another',
    (url) => {
      expect(answer(url)).toBeUndefined();
      expect(answer(url, { base: '/licensing-app' })).toBeUndefined();
    },
  );

  it('is for a person alone', () => {
    expect(answer('/licensing-app/', { accept: '*/*' })).toBeUndefined();
  });
});

it('leads a site in a folder to an application outside of it', () => {
  expect(htaccessLines('/licensing-app', '/joomla')).toBe(
    `RewriteRule ^api/index\\.php/v1/licensing(/.*)?$ /licensing-app/${API}$1 [L]\n`,
  );
});
