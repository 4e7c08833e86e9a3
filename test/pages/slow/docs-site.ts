import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Router from '@koa/router';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Koa from 'koa';
import type { Browser, Page } from 'playwright-core';
import { API_PATH } from '../../../src/licensing/api';
import type { RequestState } from '../../../src/http/context';
import { mountGuide } from '../../../src/http/pages/guide';
import { eventually, temporaryFolder } from '../../support/processes';
import { expectAccessible, expectClean, newPage, openBrowser } from '../support/browser';

/** The site that `npm run docs` makes, opened from its files, and as the service serves it with the pages' policy. */

const site = join(temporaryFolder(), 'docs-site');
let browser: Browser;
let server: Server;
let served: string;

beforeAll(async () => {
  execFileSync('node', ['scripts/build-docs-site.mjs', site], { cwd: join(__dirname, '../../..') });
  const router = new Router<RequestState>({ prefix: API_PATH, sensitive: true });
  expect(mountGuide(router, site)('releases')).toBe('guide/releases.html');
  const app = new Koa<RequestState>().use(router.routes() as unknown as Koa.Middleware<RequestState>);
  server = createServer(app.callback() as never).listen(0, '127.0.0.1');
  browser = await openBrowser();
  served = `http://127.0.0.1:${(server.address() as AddressInfo).port}${API_PATH}/pages/guide`;
});
afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

const title = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();

test.each([
  ['from a file', () => pathToFileURL(site).href],
  ['by the service', () => served],
])('%s: the search finds a page, and links lead on', async (_, address) => {
  const page = await newPage(browser);
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(address())) elsewhere.push(request.url());
  });
  await page.goto(`${address()}/index.html`);
  expect(await title(page)).toBe('Documentation');
  await page.getByRole('navigation').getByText('Customer support').first().click();
  await page.getByRole('link', { name: 'Help a customer' }).first().click();
  await page.waitForURL(/support\.html$/);
  await page.keyboard.press('/');
  const field = page.locator('#tsd-search-input');
  await eventually(async () => {
    // A text that was typed before the index has loaded is never looked up, so it is typed again.
    await field.fill('');
    await field.fill('galera');
    await page.getByRole('option', { name: 'A cluster', exact: true }).click({ timeout: 2_000 });
  });
  await page.waitForURL(/cluster\.html/);
  expect(await title(page)).toBe('A cluster');
  expectClean(page);
  expect(elsewhere).toEqual([]);
});

test('on a phone nothing scrolls sideways', async () => {
  const page = await newPage(browser, { width: 360, dark: true });
  for (const name of ['index', 'settings', 'security', 'compare']) {
    await page.goto(`${served}/${name}.html`);
    expect([name, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, 360]);
  }
  expectClean(page);
});

test.each([{ dark: false }, { dark: true }])('axe finds nothing: %o', async (options) => {
  const page = await newPage(browser, options);
  for (const name of ['index', 'compare', 'support', 'operator']) {
    await page.goto(`${served}/${name}.html`);
    await page.locator('.tsd-navigation a').first().waitFor();
    await expectAccessible(page);
  }
  expectClean(page);
});
