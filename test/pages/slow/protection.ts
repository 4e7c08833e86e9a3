import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { pageTexts } from '../../../src/texts/operators/languages';
import { SHOP } from '../../support/sample-shop';
import { eventually } from '../../support/processes';
import { rows } from '../../support/service';
import { expectClean, newPage, openBrowser } from '../support/browser';
import { signIn, startPagesSite, type PagesSite } from '../support/site';

/** The pages' headers and cookies in a real browser. ../security.test.ts has the same rules without a browser. */

const t = pageTexts('en');

let browser: Browser;
let site: PagesSite;
let other: Server;
/** A site of another origin. */
let otherUrl: string;

beforeAll(async () => {
  // Playwright disables the back/forward cache, which people's browsers have.
  const options = { ignoreDefaultArgs: ['--disable-back-forward-cache'] };
  [browser, site] = await Promise.all([openBrowser(options), startPagesSite({ licences: 4, downloads: 4 })]);
  other = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(OTHER_PAGES[request.url ?? '']?.(site.pages) ?? '<p>Nothing</p>');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  otherUrl = `http://evil.test:${(other.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await browser.close();
  other.closeAllConnections();
  other.close();
  await site.stop();
});

const FRAMED = ['/', '/licenses', '/sign-in', '/my'];
const OTHER_PAGES: Record<string, (pages: string) => string> = {
  '/form': (pages) =>
    `<form method="post" action="${pages}/licenses/new"><input name="plan_id" value="${SHOP.plans.agency25}">
     <input name="once" value="forged"><button>Win</button></form>`,
  '/frames': (pages) =>
    ['/own', ...FRAMED.map((path) => pages + path)].map((src) => `<iframe src="${src}"></iframe>`).join(''),
  '/own': () => '<p>A frame of its own</p>',
};

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();
const issued = async () => (await rows(site.service.db, 'licenses')).length;

it('a form of another origin is refused, also with a session', async () => {
  const page = await newPage(browser);
  await signIn(page, site);
  const before = await issued();
  await page.goto(`${otherUrl}/form`);
  await page.locator('button').click();
  await page.waitForURL(`${site.pages}/licenses/new`);
  expect(await heading(page)).toBe(t.common.errors.forbidden);
  expect(await issued()).toBe(before);
  await page.goto(`${site.pages}/licenses`);
  expect(await heading(page)).toBe(t.licenses.title);
});

it('no page is shown in a frame of another origin', async () => {
  const page = await newPage(browser);
  await signIn(page, site);
  await page.goto(`${otherUrl}/frames`, { waitUntil: 'networkidle' });
  const [, own, ...framed] = page.frames();
  expect(await own!.locator('p').innerText()).toBe('A frame of its own');
  // The browser shows its own page about the refusal a moment after the answer.
  await eventually(() =>
    expect(framed.map((frame) => frame.url())).toEqual(FRAMED.map(() => 'chrome-error://chromewebdata/')),
  );
});

it('Back after signing out shows nothing of what was there', async () => {
  const page = await newPage(browser);
  await signIn(page, site, '/licenses');
  await page.getByText(SHOP.jane.email).waitFor();
  await page.locator('.account > summary').click();
  await page.getByRole('button', { name: t.common.signOut }).click();
  await page.waitForURL(/\/sign-in$/);
  await page.goBack();
  await page.waitForURL(/\/sign-in\?/);
  expect(await heading(page)).toBe(t.signIn.title);
  expect(await page.content()).not.toContain(SHOP.jane.email);
  expectClean(page);
});

it('a session that was idle ends, and signing in again goes on with what was begun', async () => {
  const { clock } = site.service;
  const page = await newPage(browser);
  await signIn(page, site);
  clock.now = new Date(clock.now.getTime() + 31 * 60_000);
  await page.getByRole('link', { name: t.common.nav.customers, exact: true }).click();
  await page.getByText(t.signIn.why.ended).waitFor();
  await page.locator('#f-token').fill(site.token);
  await page.getByRole('button', { name: t.signIn.submit, exact: true }).click();
  await page.waitForURL(`${site.pages}/customers`);
  expect(await heading(page)).toBe(t.customers.title);
});
