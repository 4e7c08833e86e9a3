import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { emulateWebServer, unavailable } from '../../src/http/hosted';
import { htaccessLines } from '../../src/setup/htaccess';

/** Tests the layer in front of the service on shared hosting, whether the panel's server passes on the base or not. */

const API = 'api/index.php/v1/licensing';

/** @returns the status and the text, or `undefined` if the layer passes the request to the service */
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
    // LiteSpeed does not pass on the base.
    ['/licensing-app/', {}],
    ['/licensing-app', {}],
    ['/joomla/licensing-app/', { folder: '/joomla' }],
    ['/joomla/licensing-app/', { base: '/joomla/licensing-app', folder: '/joomla' }],
  ])(
    '%s shows the lines for the site, or where the seller finds the reason why the service cannot start',
    (url, place) => {
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
    },
  );

  it('shows no lines if the application has an address of its own', () => {
    expect(answer('/')?.text).toContain('com_licensing.zip');
    expect(answer('/')?.text).not.toContain('RewriteRule');
  });

  it.each(['/licensing-app/a/b', '/licensing-app/?x=1', '/licensing-app/<b>', `/licensing-app/${API}/pages`])(
    'is not %s',
    (url) => {
      expect(answer(url)).toBeUndefined();
      expect(answer(url, { base: '/licensing-app' })).toBeUndefined();
    },
  );

  it('is only for browsers', () => {
    expect(answer('/licensing-app/', { accept: '*/*' })).toBeUndefined();
  });
});

it('the lines lead a site in a folder to an application outside the folder', () => {
  expect(htaccessLines('/licensing-app', '/joomla')).toBe(
    `RewriteRule ^api/index\\.php/v1/licensing(/.*)?$ /licensing-app/${API}$1 [L]\n`,
  );
});
