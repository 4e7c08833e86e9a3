import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pagesBase } from '../../src/http/prefix';
import { temporaryFolder } from '../support/processes';
import { PREFIX, startTestService, type TestService } from '../support/service';
import { ask } from '../support/web-server';

/** Tests what surrounds the pages: their host name, the folder of the site, the seller's picture. */

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`;
const FORWARDED = { 'X-Forwarded-For': '192.0.2.1' };

let service: TestService;
beforeAll(async () => {
  const logo = join(temporaryFolder(), 'logo');
  writeFileSync(logo, LOGO);
  service = await startTestService({
    LICENSING_PAGES_HOST: 'licences.shop.example',
    LICENSING_SHOP_LOGO: logo,
  });
});
afterAll(() => service.stop());

describe('with a host name of their own', () => {
  const statusOf = async (path: string, headers: Record<string, string>) => {
    const { status } = await ask(service.url, PREFIX + path, { headers });
    return status;
  };

  it.each(['licences.shop.example', 'Licences.Shop.Example:8443', 'licences.shop.example.'])(
    "the operator's API answers at %s",
    async (host) => {
      expect(await statusOf('/manage/none', { ...FORWARDED, Host: host })).toBe(401);
    },
  );

  it.each(['shop.example', 'licences.shop.example.evil.example', 'localhost'])(
    'the operator’s API does not answer at %s',
    async (host) => {
      for (const path of ['/manage/none', '/manage', '/pages/licenses', '/pages/mylicenses', '/pages']) {
        const answer = await ask(service.url, PREFIX + path, { headers: { ...FORWARDED, Host: host } });
        expect([path, answer.status, answer.json()]).toEqual([
          path,
          404,
          { error: { code: 'NOT_FOUND', message: 'There is nothing at this address' } },
        ]);
      }
    },
  );

  it('a call of this machine that no web server passed on may use any name', async () => {
    expect(await statusOf('/manage/none', { Host: 'localhost' })).toBe(401);
  });

  it("customers' addresses, and the document, stay on every host", async () => {
    const headers = { ...FORWARDED, Host: 'shop.example' };
    expect(await statusOf('/pages/my/logo', headers)).toBe(200);
    expect(await statusOf('/docs/page.css', headers)).toBe(200);
    expect(await statusOf('/updates/42', headers)).toBe(200);
  });

  it('its log has no part of an address that was refused', async () => {
    await statusOf('/pages/enter/s3cretCode', { ...FORWARDED, Host: 'shop.example' });
    expect(service.logLines.join('')).toContain('"status":404');
    expect(service.logLines.join('')).not.toContain('s3cretCode');
  });
});

describe("the seller's picture", () => {
  it('runs no script, and is kept for an hour', async () => {
    const answer = await ask(service.url, `${PREFIX}/pages/my/logo`);
    expect(answer.body.toString()).toBe(LOGO);
    expect(answer.headers).toMatchObject({
      'content-type': 'image/svg+xml; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=3600',
    });
    const again = await ask(service.url, `${PREFIX}/pages/my/logo`, {
      headers: { 'If-None-Match': answer.headers.etag as string },
    });
    expect(again.status).toBe(304);
    expect((await ask(service.url, `${PREFIX}/pages/my/logo`, { method: 'POST' })).status).toBe(405);
  });
});

describe('the path of the pages as the browser knows it', () => {
  const base = (prefix: string | undefined, trusted = true) =>
    pagesBase({ req: { headers: { 'x-forwarded-prefix': prefix } } } as never, () => trusted);

  it.each(['/joomla', '/a/b.c_d-e~f', '/...'])('has the folder %s', (folder) => {
    expect(base(folder)).toBe(`${folder}${PREFIX}/pages`);
  });

  it.each([
    undefined,
    '',
    'joomla',
    '/joomla/',
    '//evil.example',
    '/..',
    '/a/../b',
    '/a"b',
    '/a b',
    '/%2f',
    '/\\evil.example',
    '/a\n',
    `/${'a'.repeat(300)}`,
  ])('has no folder for %j', (folder) => {
    expect(base(folder)).toBe(`${PREFIX}/pages`);
  });

  it('has no folder that a client names', () => {
    expect(base('/joomla', false)).toBe(`${PREFIX}/pages`);
  });
});
