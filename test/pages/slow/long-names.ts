import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createCode, CUSTOMER_CODE_TTL_MS } from '../../../src/access/one-time-codes';
import { SHOP, SHOP_NOW } from '../../support/sample-shop';
import { expectNoSidewaysScroll, newPage, openBrowser } from '../support/browser';
import { everyPage, type EveryPage } from '../support/every-page';
import { giveLongNames } from '../support/long-names';
import { giveShops } from '../support/shops';
import { signIn, startPagesSite, type PagesSite } from '../support/site';

/** Every page with long names: nothing scrolls sideways, and on a tablet no word is broken that fits into a line. */

let browser: Browser;
let site: PagesSite;
let pages: EveryPage;
beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), startPagesSite({ licences: 12, downloads: 20 })]);
  await giveShops(site.service.db);
  pages = await everyPage(site.service);
  await giveLongNames(site.service.db);
});
afterAll(async () => {
  await browser.close();
  await site.stop();
});

/** Words of up to 30 letters that are broken over two lines. Heads of tables are left out, because a narrow table hides them. */
const BROKEN = `(() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    if (node.parentElement.closest('thead, textarea, script, code, .visually-hidden')) continue;
    for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\d]{2,30}(?![\\p{L}\\d])(?<![\\p{L}\\d]{31})/gu)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const seen = [...range.getClientRects()].filter(({ width }) => width > 0);
      if (new Set(seen.map(({ top }) => Math.round(top))).size > 1) found.push(word);
    }
  }
  return found;
})()`;

describe.each([
  [360, 'en'],
  [360, 'de'],
  [768, 'en'],
  [768, 'de'],
] as const)('%s pixels, %s', (width, language) => {
  it('everything fits', async () => {
    const found: string[] = [];
    const open = () => newPage(browser, { width, language });
    const visit = async (page: Page, paths: string[]) => {
      for (const path of paths) {
        await page.goto(`${site.pages}${path}`);
        await expectNoSidewaysScroll(page).catch((error: unknown) =>
          found.push(`${path}: ${String(error).slice(0, 1500)}`),
        );
        const broken = width === 360 ? [] : await page.evaluate<string[]>(BROKEN);
        if (broken.length > 0) found.push(`${path}: ${broken.join(', ')}`);
      }
      await page.context().close();
    };
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
    const code = await createCode(site.service.db, who, CUSTOMER_CODE_TTL_MS, SHOP_NOW);
    await byMail.goto(`${site.pages}/my/enter/${code}`);
    await byMail.locator('main .btn-primary[type=submit]').click();
    await visit(byMail, pages.byMail);
    expect(found).toEqual([]);
  }, 600_000);
});
