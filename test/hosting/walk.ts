import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { pageTexts } from '../../src/texts/operators/languages';
import { openAdministrator } from '../support/administrator';
import { createAuthority } from '../support/certificates';
import {
  BASE,
  giveToSeller,
  htaccess,
  openSite,
  runLicensing,
  startHosting,
  unpackHosting,
} from '../support/hosting';
import { stopJoomlaSites } from '../support/joomla-host';
import { makePackage } from '../support/packages';
import { sharedFolder } from '../support/processes';
import { PREFIX } from '../support/service';
import { get } from '../support/web-server';
import { expectClean, newPage, openBrowser } from '../pages/support/browser';
import { savePicture } from '../pages/support/pictures';

/**
 * Follows docs/shared-hosting.md as a seller does: only with files, variables and a browser, from the unpacked zip to a
 * customer's update, over https. With TEST_PICTURES it writes the pictures of that page.
 */

const SHOP = 'https://shop.example';
const GUIDE = join(__dirname, '../../docs/shared-hosting.md');
const { start } = pageTexts('en');
const PACKAGE = `<?xml version="1.0" encoding="utf-8"?>
<extension type="package" method="upgrade">
  <name>Gallery Pro</name>
  <packagename>gallerypro</packagename>
  <version>1.0.0</version>
  <updateservers><server type="extension" name="Gallery Pro">${SHOP}/licensing-updates/pkg_gallerypro.xml</server></updateservers>
  <dlid prefix="dlid=" suffix=""/>
</extension>
`;

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Sets up an unpacked zip and a site without the guide's lines, which Apache serves by https. */
async function setUp() {
  const home = sharedFolder();
  const site = await openSite();
  site.configure({ sitename: 'Acme Extensions' });
  closing.push(() => site.stop());
  writeFileSync(join(site.root, '.htaccess'), htaccess(''));
  // Joomla's API answers an address without a route this way.
  writeFileSync(
    join(site.root, 'api/index.php'),
    `<?php http_response_code(404); echo '{"errors":[{"title":"Resource not found","code":404}]}';`,
  );
  const app = unpackHosting(join(home, 'licensing'));
  const component = join(app, 'com_licensing.zip');
  // A zip contains the component, but a build does not.
  if (!existsSync(component)) await runLicensing(app, ['joomla-door', '--out', component]);
  giveToSeller(home);
  const authority = createAuthority();
  const hosting = await startHosting({
    root: site.root,
    app,
    certificate: authority.issue('DNS:shop.example'),
    variables: () => ({
      LICENSING_JOOMLA_ROOT: site.root,
      LICENSING_PUBLIC_URL: SHOP,
      // The seller in the tests has no home folder.
      LICENSING_PACKAGES_DIR: join(home, 'licensing-packages'),
    }),
  });
  closing.push(() => hosting.stop());
  closing.push(() => stopJoomlaSites());
  await openAdministrator(site, await site.addUser('ada', [8]), {
    root: `${SHOP}/`,
    connect: [`shop.example:443:127.0.0.1:${hosting.port}`],
    ca: authority.ca,
  });
  return { site, hosting, component };
}

const linesOf = (text: string) => text.trim().split(/\s*\n\s*/);

async function picture(page: Page, name: string, most: number): Promise<void> {
  if (process.env.TEST_PICTURES === undefined) return;
  await page.evaluate('scrollTo(0, 0)');
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.evaluate('Promise.all(document.getAnimations().map(({ finished }) => finished))');
    await savePicture(page, `hosting-${name}-${scheme}`, most);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

test('from the unpacked zip to a customer’s update, without a shell and without a token', async () => {
  const { site, hosting, component } = await setUp();
  const browser = await openBrowser({
    args: [`--host-resolver-rules=MAP shop.example:443 127.0.0.1:${hosting.port}`],
  });
  closing.push(() => browser.close());
  const page = await newPage(browser);
  const main = page.getByRole('main');
  const button = (name: string) => main.getByRole('button', { name, exact: true });
  const admin = `${SHOP}/administrator/index.php?option=com_`;

  // 3. The file manager adds the lines of the guide. Without them, the site's own rules take the application's address.
  const withLines = (lines: string) => writeFileSync(join(site.root, '.htaccess'), htaccess(lines));
  await page.goto(`${SHOP}${BASE}/`);
  expect(await page.locator('pre').innerText()).toContain('"uri"');
  const [lines = ''] = /^ *RewriteRule[^`]*/m.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  withLines(lines);

  // 4. The panel's link shows that the service runs.
  await page.reload();
  expect(await page.getByRole('heading').innerText()).toBe('The licence service runs');
  expect(linesOf(await page.locator('pre').innerText())).toEqual(linesOf(lines));
  await picture(page, 'runs', 290);

  // 5. The component is installed. It shows the lines if they are missing.
  await page.goto(`${admin}installer`);
  await page.getByLabel('Upload Package File').setInputFiles(component);
  await button('Upload & Install').click();
  await page.getByText('Installation of the component was successful.').waitFor();
  await page.getByRole('link', { name: 'Licensing' }).click();
  expect(await main.innerText()).toContain('Nothing waits for you.');
  await picture(page, 'door', 300);
  withLines('');
  await page.reload();
  expect(await main.innerText()).toContain('The web server does not pass requests to the licensing service');
  expect(linesOf(await main.locator('pre').first().innerText())).toEqual(linesOf(lines));
  withLines(lines);
  await page.reload();

  // The seller publishes and sells on the pages.
  await button('Open').click();
  await page.getByRole('heading', { name: start.title }).waitFor();
  const zip = await makePackage({ 'pkg_gallerypro.xml': PACKAGE }, 2_000_000);
  await picture(page, 'start', 700);
  await main.getByLabel(start.product.file).setInputFiles(zip.path);
  await button(start.product.begin).click();
  await page.getByText(start.product.doneTitle('Gallery Pro')).waitFor();
  await button(start.plan.submit).click();
  await main.getByRole('link', { name: start.release.publish('1.0.0') }).click();
  await page.waitForLoadState();
  await main.getByRole('button').first().click();
  await page.waitForLoadState();
  await page.goto(`${SHOP}${PREFIX}/pages/start`);
  await main.getByLabel(start.licence.customer).fill('me@shop.example');
  await button(start.licence.submit).click();
  const key = await page.locator('#license-key').inputValue();
  await picture(page, 'key', 560);
  expectClean(page);

  // A customer's Joomla gets the update.
  const xml = await get(hosting, '/licensing-updates/pkg_gallerypro.xml');
  expect([xml.status, xml.body.toString()]).toEqual([
    200,
    expect.stringContaining('<version>1.0.0</version>'),
  ]);
  const [, address = ''] = /<downloadurl[^>]*>([^<]*)</.exec(xml.body.toString()) ?? [];
  expect(address.startsWith(`${SHOP}${PREFIX}/downloads/1`)).toBe(true);
  const download = address.replace(SHOP, '').replaceAll('&amp;', '&');
  const as = (dlid: string) => get(hosting, `${download}${download.includes('?') ? '&' : '?'}dlid=${dlid}`);
  expect((await as(key.replace(/.$/, 'X'))).status).toBe(403);
  const sent = await as(key);
  expect([sent.status, sent.body.equals(readFileSync(zip.path))]).toEqual([200, true]);
  expect((await get(hosting, `${PREFIX}/updates/1`)).json()).toMatchObject({
    data: { update_available: true, version: '1.0.0' },
  });
});
