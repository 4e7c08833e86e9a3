import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createCode, CUSTOMER_CODE_TTL_MS } from '../../../src/access/one-time-codes';
import { SHOP, SHOP_NOW } from '../../support/sample-shop';
import {
  expectAccessible,
  expectClean,
  expectNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../support/browser';
import { everyPage, type EveryPage } from '../support/every-page';
import { giveShops } from '../support/shops';
import { signIn, startPagesSite, type PagesSite } from '../support/site';

/**
 * Every page in English and German, on a desk and on a phone, light, dark, and dark without scripts: axe-core finds
 * nothing, nothing scrolls sideways, the console is silent, and no file comes from elsewhere.
 */

let browser: Browser;
let site: PagesSite;
let pages: EveryPage;
beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), startPagesSite({ licences: 20, downloads: 20 })]);
  await giveShops(site.service.db);
  pages = await everyPage(site.service);
});
afterAll(async () => {
  await browser.close();
  await site.stop();
});

it('there are many', () => {
  const { operator, byMail, byKey, open } = pages;
  expect([operator.length > 40, byMail.length > 2, byKey.length, open.length > 4]).toEqual([
    true,
    true,
    1,
    true,
  ]);
});

const WIDTHS = [1280, 360];
const THEMES = [
  ['light', { dark: false }],
  ['dark', { dark: true }],
  ['dark without scripts', { dark: true, javaScript: false }],
] as const;

describe.each(WIDTHS)('%s pixels', (width) => {
  describe.each(['en', 'de'] as const)('%s', (language) => {
    it.each(THEMES)(
      '%s',
      async (_, theme) => {
        const found: string[] = [];
        const open = () => newPage(browser, { width, language, ...theme });
        const visit = async (page: Page, paths: string[]) => {
          for (const path of paths) {
            await page.goto(`${site.pages}${path}`);
            for (const check of [expectAccessible, expectNoSidewaysScroll])
              await check(page).catch((error: unknown) =>
                found.push(`${path}: ${String(error).slice(0, 1500)}`),
              );
          }
          try {
            expectClean(page);
          } catch (error) {
            found.push((error as Error).message.slice(0, 3000));
          }
          await page.context().close();
        };
        await visit(await open(), pages.open);
        const operator = await open();
        await signIn(operator, site);
        await visit(operator, pages.operator);
        const byKey = await open();
        await byKey.goto(`${site.pages}/my`);
        await byKey.locator('#f-key').fill(SHOP.jane.key);
        await byKey.locator('form[data-key-form] button').click();
        await visit(byKey, pages.byKey);
        const byMail = await open();
        const who = { kind: 'customer', email: SHOP.studio.email } as const;
        await byMail.goto(
          `${site.pages}/my/enter/${await createCode(site.service.db, who, CUSTOMER_CODE_TTL_MS, SHOP_NOW)}`,
        );
        await byMail.locator('main .btn-primary[type=submit]').click();
        await visit(byMail, pages.byMail);
        expect(found).toEqual([]);
      },
      600_000,
    );
  });
});
